//! What a person types into a search, made into a query that FTS5 takes.

/// Characters from which on a word that is typed is a prefix.
const SHORTEST: usize = 3;
/// Characters of a query that count.
const QUERY_CHARS: usize = 2048;

/// An FTS5 expression: words joined by *and*; `"phrases"`, `word*`, `AND`, `OR` and `NOT` keep their meaning, everything
/// else that means something to FTS5 is removed or quoted. Empty when nothing is left to search for.
pub fn sanitize_query(query: &str) -> String {
    let query: String = query.chars().take(QUERY_CHARS).collect();
    let mut words: Vec<Word> = Vec::new();
    let mut rest = query.as_str();
    // Balanced phrases stay as they are, glued to their neighbours where they were.
    while let Some(open) = rest.find('"') {
        let Some(length) = rest[open + 1..].find('"') else { break };
        let (before, phrase, after) = (&rest[..open], &rest[open..open + length + 2], &rest[open + length + 2..]);
        push_words(before, &mut words);
        if phrase.chars().any(char::is_alphanumeric) {
            let glued = !before.is_empty() && !before.ends_with(char::is_whitespace);
            words.push(Word { text: phrase.replace('\0', " "), glued, operator: false });
        }
        let first = words.len();
        rest = after;
        if !rest.is_empty() && !rest.starts_with(char::is_whitespace) {
            let end = rest.find(|c: char| c.is_whitespace() || c == '"').unwrap_or(rest.len());
            // `"phrase"*` asks for its last word as a prefix.
            if rest[..end].starts_with('*') && words.last().is_some_and(|word| word.text.ends_with('"')) {
                if let Some(word) = words.last_mut() {
                    word.text.push('*');
                }
                rest = &rest[1..];
                continue;
            }
            push_words(&rest[..end], &mut words);
            if let Some(word) = words.get_mut(first) {
                word.glued = true;
            }
            rest = &rest[end..];
        }
    }
    push_words(rest, &mut words);
    join(words)
}

/// The query of a search while it is typed: its last word is a prefix, unless it is so short that it stands everywhere.
pub fn sanitize_typed(query: &str) -> String {
    let mut fts = sanitize_query(query);
    let last = query.chars().rev().take_while(|c| c.is_alphanumeric()).count();
    if last >= SHORTEST && fts.chars().next_back().is_some_and(|c| c.is_alphanumeric() || c == '"') {
        fts.push('*');
    }
    fts
}

/// The same words without any operator, each quoted: for the rare query that FTS5 still refuses.
pub fn quote_all(query: &str) -> String {
    let words = query.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.take(64).map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(" ")
}

struct Word {
    text: String,
    /// Follows the word before it without a blank.
    glued: bool,
    operator: bool,
}

fn push_words(text: &str, words: &mut Vec<Word>) {
    // Operators of FTS5 that are never kept; they separate words.
    let separates = |c: char| c.is_whitespace() || c.is_control() || "+{}():\"^".contains(c);
    for raw in text.split(separates).filter(|raw| !raw.is_empty()) {
        let stem = raw.trim_matches('*');
        let prefix = if raw.ends_with('*') { "*" } else { "" };
        if !stem.chars().any(char::is_alphanumeric) {
            continue;
        }
        // A bare word of FTS5 is made of letters, digits and everything outside ASCII; an underscore would be a bare word
        // too, but the tokenizer splits there, so that only a phrase keeps the parts together.
        let bare = stem.chars().all(|c| c.is_ascii_alphanumeric() || !c.is_ascii());
        let operator = matches!(stem, "AND" | "OR" | "NOT") && prefix.is_empty();
        let text = if bare { format!("{stem}{prefix}") } else { format!("\"{stem}\"{prefix}") };
        words.push(Word { text, glued: false, operator });
    }
}

/// Operators stand only between words; of several in a row the last counts.
fn join(words: Vec<Word>) -> String {
    let mut out = String::new();
    let mut operator: Option<String> = None;
    for word in words {
        if word.operator {
            operator = Some(word.text);
            continue;
        }
        if !out.is_empty() {
            if let Some(operator) = &operator {
                out.push(' ');
                out.push_str(operator);
            }
            if !word.glued || operator.is_some() {
                out.push(' ');
            }
        }
        operator = None;
        out.push_str(&word.text);
    }
    out
}

/// Whether the text holds a Chinese, Japanese or Korean character: FTS5 takes a whole run of them for one word.
pub fn has_cjk(text: &str) -> bool {
    // Everything below U+1100 is at most three bytes that start under 0xe1, so plain text is decided by its bytes alone.
    text.bytes().any(|byte| byte >= 0xe1) && text.chars().any(is_cjk)
}

fn is_cjk(c: char) -> bool {
    matches!(c, '\u{1100}'..='\u{11ff}' | '\u{2e80}'..='\u{2fdf}' | '\u{3040}'..='\u{30ff}' | '\u{3100}'..='\u{31ff}'
        | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{a960}'..='\u{a97f}' | '\u{ac00}'..='\u{d7ff}'
        | '\u{f900}'..='\u{faff}' | '\u{ff66}'..='\u{ff9d}' | '\u{20000}'..='\u{3134f}')
}

/// A search with such characters, by substrings.
#[derive(Debug, PartialEq, Eq)]
pub struct Substrings {
    pub words: Vec<String>,
    /// One of them is enough.
    pub any: bool,
}

impl Substrings {
    /// The words of a query; operators but `OR` are dropped.
    pub fn of(query: &str) -> Self {
        let query: String = query.chars().take(QUERY_CHARS).collect();
        let mut any = false;
        let mut words = Vec::new();
        for word in query.split(|c: char| c.is_whitespace() || c.is_control() || c == '"') {
            let word = word.trim_matches(|c: char| !c.is_alphanumeric());
            match word {
                "" | "AND" | "NOT" => {}
                "OR" => any = true,
                word => words.push(word.to_owned()),
            }
        }
        words.truncate(32);
        Self { words, any }
    }

    /// Whether each word is long enough for the index of trigrams.
    pub fn have_trigrams(&self) -> bool {
        !self.words.is_empty() && self.words.iter().all(|word| word.chars().count() >= 3)
    }

    /// Whether a text holds them, whatever the case of Latin letters.
    pub fn are_in(&self, text: &str) -> bool {
        let text = text.to_ascii_lowercase();
        let mut held = self.words.iter().map(|word| text.contains(&word.to_ascii_lowercase()));
        if self.any { held.any(|held| held) } else { held.all(|held| held) }
    }

    /// A stretch of the text around the first word found, with `>>>` and `<<<` around each.
    pub fn snippet(&self, text: &str) -> String {
        const AROUND: usize = 60;
        // Bytes stay where they are: only Latin letters change.
        let small = text.to_ascii_lowercase();
        let words: Vec<String> = self.words.iter().map(|word| word.to_ascii_lowercase()).collect();
        let found = words.iter().filter_map(|word| small.find(word.as_str())).min().unwrap_or(0);
        let start = text[..found].char_indices().rev().nth(AROUND - 1).map_or(0, |(at, _)| at);
        let end = text[found..].char_indices().nth(2 * AROUND).map_or(text.len(), |(at, _)| found + at);
        let mut window = String::new();
        let mut at = start;
        while at < end {
            let hit = words.iter().find(|word| small[at..end].starts_with(word.as_str()));
            let next = match hit {
                Some(word) => at + word.len(),
                None => at + text[at..].chars().next().map_or(1, char::len_utf8),
            };
            let piece = &text[at..next];
            match hit {
                Some(_) => window.extend([">>>", piece, "<<<"]),
                None => window.push_str(if matches!(piece, "\n" | "\r" | "\t") { " " } else { piece }),
            }
            at = next;
        }
        format!("{}{window}{}", if start > 0 { "…" } else { "" }, if end < text.len() { "…" } else { "" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_come_out_as_in_the_cases() {
        let cases = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases/fts-sanitize.jsonl"));
        for line in cases.lines() {
            let case: serde_json::Value = serde_json::from_str(line).expect("a case");
            let query = case["query"].as_str().expect("a query");
            assert_eq!(sanitize_query(query), case["sanitized"].as_str().expect("a result"), "{query:?}");
        }
    }

    #[test]
    fn operators_stand_only_between_words() {
        assert_eq!(sanitize_query("a AND NOT b OR"), "a NOT b");
        assert_eq!(sanitize_query("OR \"x y\" AND"), "\"x y\"");
        assert_eq!(sanitize_query("don't src/main.rs; -x --"), "\"don't\" \"src/main.rs;\" \"-x\"");
        assert_eq!(sanitize_query("\"a b\"* title:x"), "\"a b\"* title x");
    }

    #[test]
    fn a_search_while_typed_takes_its_last_word_as_a_prefix() {
        assert_eq!(sanitize_typed("fix flak"), "fix flak*");
        assert_eq!(sanitize_typed("fix fl"), "fix fl");
        assert_eq!(sanitize_typed("src/mai"), "\"src/mai\"*");
        assert_eq!(sanitize_typed("done \"x\""), "done \"x\"");
        assert_eq!(sanitize_typed(""), "");
    }

    #[test]
    fn every_sanitized_query_is_accepted_by_fts5() {
        let conn = rusqlite::Connection::open_in_memory().expect("memory");
        conn.execute_batch("CREATE VIRTUAL TABLE t USING fts5(text)").expect("fts5");
        let mut random = fastrand::Rng::with_seed(11);
        let alphabet: Vec<char> = "ab \"*+-{}():^._'/\\,;?!@#$%&=<>|~[]`NOTANDRé語\0\n".chars().collect();
        for _ in 0..4000 {
            let query: String = (0..random.usize(0..14)).map(|_| alphabet[random.usize(0..alphabet.len())]).collect();
            for fts in [sanitize_query(&query), sanitize_typed(&query), quote_all(&query)] {
                if !fts.is_empty() {
                    let found = conn.query_row("SELECT count(*) FROM t WHERE t MATCH ?1", [&fts], |row| row.get(0));
                    assert_eq!(found.ok(), Some(0_i64), "{query:?} became {fts:?}");
                }
            }
        }
    }

    #[test]
    fn substrings_are_marked_in_their_surroundings() {
        let query = Substrings::of("\"修复测试\" OR bug");
        assert!(query.any && has_cjk("ok 修") && !has_cjk("naïve – ok 😀"));
        assert!(query.have_trigrams() && !Substrings::of("修复").have_trigrams());
        assert!(query.are_in("a Bug") && !query.are_in("fine"));
        assert_eq!(Substrings::of("aDCO").snippet("the loadConfig\nfile"), "the lo>>>adCo<<<nfig file");
        let text = format!("{}请修复测试吧", "长".repeat(100));
        let snippet = query.snippet(&text);
        assert!(snippet.starts_with('…') && snippet.ends_with("请>>>修复测试<<<吧"), "{snippet}");
    }
}
