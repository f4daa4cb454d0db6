//! How a path is written after `@`: as it is, or in quotes where it would not be read as one reference: `@file:"my notes.md"`.

/// Quotes around a path; one that is not in it is taken.
const QUOTES: [char; 3] = ['"', '\'', '`'];
/// Words before a quoted path.
const KINDS: [&str; 2] = ["file:", "folder:"];
/// Signs at the end of a reference that belong to the sentence.
const SENTENCE: [char; 9] = [',', '.', ';', ':', '!', '?', ')', ']', '}'];

/// A reference that ends at the cursor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reference<'a> {
    /// All of it, from the sign on.
    pub word: &'a str,
    pub path: &'a str,
    /// The quote that is open.
    pub quote: Option<char>,
}

/// The reference that the text before the cursor ends with.
pub fn before(text: &str) -> Option<Reference<'_>> {
    let begins = |at: usize| text[..at].chars().next_back().is_none_or(char::is_whitespace);
    let mut words = text.match_indices('@').filter(|(at, _)| begins(*at)).map(|(at, _)| &text[at..]);
    // In an open quote stand blanks, and signs that begin nothing.
    words.find_map(open).or_else(|| {
        let start =
            text.rfind(char::is_whitespace).map_or(0, |at| at + text[at..].chars().next().map_or(1, char::len_utf8));
        let word = &text[start..];
        let path = word.strip_prefix('@')?;
        let path = KINDS.iter().find_map(|kind| path.strip_prefix(kind)).unwrap_or(path);
        Some(Reference { word, path, quote: None })
    })
}

/// A reference whose quote is open.
fn open(word: &str) -> Option<Reference<'_>> {
    let quoted = KINDS.iter().find_map(|kind| word.strip_prefix('@')?.strip_prefix(kind))?;
    let quote = quoted.chars().next().filter(|first| QUOTES.contains(first))?;
    let path = &quoted[quote.len_utf8()..];
    (!path.contains(quote)).then_some(Reference { word, path, quote: Some(quote) })
}

/// What stands before a path, and after it. A folder ends with a slash.
pub fn around(path: &str) -> (String, String) {
    let plain = !path.contains(|c: char| c.is_whitespace() || QUOTES.contains(&c))
        && !path.ends_with(SENTENCE)
        && !KINDS.iter().any(|kind| path.starts_with(kind));
    match QUOTES.iter().find(|quote| !path.contains(**quote)).filter(|_| !plain) {
        Some(quote) => (format!("@{}{quote}", KINDS[usize::from(path.ends_with('/'))]), quote.to_string()),
        None => ("@".to_owned(), String::new()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_quoted_where_it_would_not_be_read_as_one() {
        for (path, text) in [
            ("src/lib.rs", "@src/lib.rs"),
            ("my file.txt", r#"@file:"my file.txt""#),
            ("my dir/", r#"@folder:"my dir/""#),
            ("a\u{a0}b", "@file:\"a\u{a0}b\""),
            (r#"12" disks/a"#, r#"@file:'12" disks/a'"#),
            (r#"it's "it""#, r#"@file:`it's "it"`"#),
            ("why?", r#"@file:"why?""#),
            ("a (1).txt", r#"@file:"a (1).txt""#),
            (".github/", "@.github/"),
            ("folder:x", r#"@file:"folder:x""#),
        ] {
            let (lead, end) = around(path);
            assert_eq!(format!("{lead}{path}{end}"), text);
            // What is inserted is found again from inside.
            let written = format!("see {lead}{path}");
            let found = before(&written).expect("a reference");
            assert_eq!((found.path, found.quote.map(String::from).unwrap_or_default()), (path, end));
        }
    }

    #[test]
    fn the_reference_at_the_cursor_is_found() {
        for (text, path, word) in [
            ("see @sr", "sr", "@sr"),
            ("@", "", "@"),
            ("@file:src/l", "src/l", "@file:src/l"),
            (r#"see @folder:"my dir/"#, "my dir/", r#"@folder:"my dir/"#),
            (r#"@file:"a b" and @c"#, "c", "@c"),
            (r#"@file:'it @x y"#, "it @x y", r#"@file:'it @x y"#),
            ("日本 @日", "日", "@日"),
            ("a\u{3000}@x", "x", "@x"),
        ] {
            let found = before(text).expect(text);
            assert_eq!((found.path, found.word), (path, word), "{text}");
        }
        for text in ["", "mail@example", r#"@file:"a b" "#, "@file:\"a b\" c"] {
            assert_eq!(before(text), None, "{text}");
        }
    }
}
