//! The word under a column: what a double click takes.

use super::width::grapheme_width;

/// Whether a character belongs to a word as people copy them: names, paths, addresses, options, versions.
fn is_word(c: char) -> bool {
    c.is_alphanumeric() || "_-./~:@%+#=?&".contains(c)
}

/// First column of the word at `column` and the column after it; a blank or a sign is a word of its own.
pub fn word_at(text: &str, column: usize) -> (usize, usize) {
    let (mut start, mut at) = (0, 0);
    let mut inside = false;
    for c in text.chars() {
        let cells = grapheme_width(c.encode_utf8(&mut [0; 4]));
        let word = is_word(c) || (cells == 0 && inside);
        if !(word && inside) {
            if at > column {
                return (start, at);
            }
            start = at;
        }
        inside = word;
        at += cells;
    }
    // Beyond the end there is nothing but the column itself.
    if column < at { (start, at) } else { (column, column + 1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_names_paths_and_addresses() {
        let text = "see (src/app/run.rs:12) at https://x.dev/a?b=1, 日本語 ok";
        for (at, word) in [
            (0, "see"),
            (3, " "),
            (4, "("),
            (8, "src/app/run.rs:12"),
            (22, ")"),
            (30, "https://x.dev/a?b=1"),
            (46, ","),
            (49, "日本語"),
            (56, "ok"),
        ] {
            let (from, to) = word_at(text, at);
            let (before, _) = super::super::width::fit_start(text, from);
            let (taken, _) = super::super::width::fit_start(&text[before.len()..], to - from);
            assert_eq!(taken, word, "column {at}");
        }
        assert_eq!(word_at("ab", 7), (7, 8));
        assert_eq!(word_at("", 0), (0, 1));
    }
}
