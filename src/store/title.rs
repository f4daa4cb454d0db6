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

/// The title itself, or with the first free ` #2`, ` #3` … when another session has it.
pub(super) fn unique(conn: &Connection, session: i64, title: &str) -> rusqlite::Result<String> {
    let mut taken = conn.prepare_cached("SELECT 1 FROM sessions WHERE title = ?1 AND key <> ?2")?;
    let mut name = title.to_owned();
    let mut number = 2;
    while taken.query_row((&name, session), |_| Ok(())).optional()?.is_some() {
        let suffix = format!(" #{number}");
        let room = TITLE_CHARS - suffix.len();
        let base: String = title.chars().take(room).collect();
        name = format!("{}{suffix}", base.trim_end());
        number += 1;
    }
    Ok(name)
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
    fn a_title_is_one_line_of_bounded_length() {
        assert_eq!(sanitize_title("  a \u{200b}\r\n\t b  ").as_deref(), Some("a b"));
        assert_eq!(sanitize_title(" \u{7}\u{feff} "), None);
        let long = sanitize_title(&"é ".repeat(300)).expect("a title");
        assert!(long.chars().count() <= TITLE_CHARS && long.ends_with('é'));
    }
}
