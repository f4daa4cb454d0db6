//! Text of other programs (servers, plugins): bounded, without anything that hides or moves the cursor.

use super::clean;

/// Text for a line of the screen: one line, nothing hidden, at most `most` characters.
pub fn line(text: &str, most: usize) -> String {
    let clean = clean::clean(text.as_bytes());
    let mut out = String::new();
    for (count, word) in clean.split_whitespace().enumerate() {
        if count > 0 {
            out.push(' ');
        }
        out.extend(word.chars().filter(|c| !hides(*c)));
        if out.chars().count() > most {
            break;
        }
    }
    if out.chars().count() > most {
        out = out.chars().take(most.saturating_sub(1)).collect();
        out.push('…');
    }
    out
}

/// Text of several lines for the model or the screen: nothing hidden, at most `most` characters.
pub fn text(text: &str, most: usize) -> String {
    let clean = clean::clean(text.as_bytes());
    clean.chars().filter(|c| !hides(*c)).take(most).collect()
}

/// What cannot be seen, but line feeds and tabs.
fn hides(c: char) -> bool {
    c.is_control() && c != '\n' && c != '\t'
        // Joiners stay: scripts and emoji need them, and they reorder nothing.
        || matches!(c, '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_hides() {
        assert_eq!(line("a\u{1b}[31m b\n\u{202e}c\u{200b}", 80), "a b c");
        assert_eq!(line("abcdefgh", 5), "abcd…");
        assert_eq!(text("\u{1f468}\u{200d}\u{1f4bb} \u{200c}", 80), "\u{1f468}\u{200d}\u{1f4bb} \u{200c}");
        assert_eq!(text("a\r\n\tb\u{7}", 80), "a\n\tb");
    }
}
