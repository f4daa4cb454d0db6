//! Titles of sessions: one clean line, unique.

use rusqlite::{Connection, OptionalExtension};

/// Characters of a title at most.
pub const TITLE_CHARS: usize = 100;

/// One line without control, zero-width and direction characters, blanks collapsed, cut at [`TITLE_CHARS`]; `None` when
/// nothing is left.
pub fn sanitize_title(title: &str) -> Option<String> {
    let mut clean = String::with_capacity(title.len().min(4 * TITLE_CHARS));
    let mut blank = false;
    let mut count = 0;
    for c in title.chars() {
        if c.is_whitespace() {
            blank = count > 0;
            continue;
        }
        if c.is_control() || is_invisible(c) {
            continue;
        }
        let needed = 1 + usize::from(blank);
        if count + needed > TITLE_CHARS {
            break;
        }
        if blank {
            clean.push(' ');
        }
        clean.push(c);
        count += needed;
        blank = false;
    }
    (!clean.is_empty()).then_some(clean)
}

/// Zero-width and direction characters, which would make two titles look alike.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{00ad}' | '\u{061c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}')
}

/// The title itself, or with a free ` #2`, ` #3` … when another session has it: the one after the last, found by doubling and
/// halving, so that thousands of sessions of one title are told apart quickly.
pub(super) fn unique(conn: &Connection, session: i64, title: &str) -> rusqlite::Result<String> {
    let mut taken = conn.prepare_cached("SELECT 1 FROM sessions WHERE title = ?1 AND key <> ?2")?;
    let mut is_taken =
        |name: &str| taken.query_row((name, session), |_| Ok(())).optional().map(|found| found.is_some());
    if !is_taken(title)? {
        return Ok(title.to_owned());
    }
    let (mut last, mut free) = (1, 2);
    while is_taken(&numbered(title, free))? {
        (last, free) = (free, free * 2);
    }
    while free - last > 1 {
        let middle = last + (free - last) / 2;
        if is_taken(&numbered(title, middle))? { last = middle } else { free = middle }
    }
    Ok(numbered(title, free))
}

fn numbered(title: &str, number: u64) -> String {
    let suffix = format!(" #{number}");
    let base: String = title.chars().take(TITLE_CHARS - suffix.len()).collect();
    format!("{}{suffix}", base.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_come_out_as_in_the_cases() {
        let cases = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases/title-sanitize.jsonl"));
        for line in cases.lines() {
            let case: serde_json::Value = serde_json::from_str(line).expect("a case");
            let title = case["title"].as_str().expect("a title");
            assert_eq!(sanitize_title(title).as_deref(), case["result"].as_str(), "{title:?}");
        }
    }

    #[test]
    fn a_title_that_is_taken_gets_the_next_number_in_a_few_looks() {
        let conn = Connection::open_in_memory().expect("a database");
        conn.execute_batch("CREATE TABLE sessions (key INTEGER PRIMARY KEY, title TEXT UNIQUE)").expect("a table");
        let long = "x".repeat(TITLE_CHARS);
        for title in ["Fix it", &long] {
            for number in 1..=300 {
                conn.execute("INSERT INTO sessions (title) VALUES (NULL)", []).expect("a row");
                let key = conn.last_insert_rowid();
                let name = unique(&conn, key, title).expect("a title");
                let suffix = if number == 1 { String::new() } else { format!(" #{number}") };
                assert!(name.ends_with(&suffix) && name.chars().count() <= TITLE_CHARS, "{name}");
                conn.execute("UPDATE sessions SET title = ?2 WHERE key = ?1", (key, &name)).expect("unique");
            }
        }
        assert_eq!(unique(&conn, 1, "Fix it").expect("a title"), "Fix it", "it has it itself");
    }

    #[test]
    fn a_title_is_one_line_of_bounded_length() {
        assert_eq!(sanitize_title("  a \u{200b}\r\n\t b  ").as_deref(), Some("a b"));
        assert_eq!(sanitize_title(" \u{7}\u{feff} "), None);
        let long = sanitize_title(&"é ".repeat(300)).expect("a title");
        assert!(long.chars().count() <= TITLE_CHARS && long.ends_with('é'));
    }
}
