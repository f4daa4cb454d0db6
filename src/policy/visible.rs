//! Makes characters visible that a terminal would act on or hide, for the modal.

use super::shell::{is_control, is_invisible};
use std::ops::Range;

/// A text with hidden characters spelled out, and where each byte of the original went.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Visible {
    pub text: String,
    /// For each byte of the original the byte of `text` where its character starts; one more for the end.
    map: Vec<usize>,
}

impl Visible {
    /// The bytes of `text` that show a span of the original.
    pub fn span(&self, span: &Range<usize>) -> Range<usize> {
        let last = self.map.len().saturating_sub(1);
        let at = |i: usize| self.map.get(i.min(last)).copied().unwrap_or(0);
        at(span.start)..at(span.end).max(at(span.start))
    }
}

/// `text` with `␛` for escape, `⟨U+202E⟩` for characters without a picture. Line feeds stay, tabs become `⇥`.
pub fn visible(text: &str) -> String {
    visible_with_map(text).text
}

/// Like [`visible`], with a map for spans.
pub fn visible_with_map(text: &str) -> Visible {
    let mut out = Visible { text: String::with_capacity(text.len()), map: Vec::with_capacity(text.len() + 1) };
    for c in text.chars() {
        out.map.extend(std::iter::repeat_n(out.text.len(), c.len_utf8()));
        match c {
            '\n' => out.text.push('\n'),
            '\t' => out.text.push('⇥'),
            '\u{7f}' => out.text.push('␡'),
            // The pictures of control codes are in the same order.
            '\0'..='\u{1f}' => out.text.extend(char::from_u32(0x2400 + c as u32)),
            c if is_control(c)
                || is_invisible(c)
                || matches!(c, '\u{a0}' | '\u{2028}' | '\u{2029}' | '\u{e000}'..='\u{f8ff}') =>
            {
                out.text.push_str(&format!("⟨U+{:04X}⟩", c as u32));
            }
            c => out.text.push(c),
        }
    }
    out.map.push(out.text.len());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_what_hides() {
        assert_eq!(visible("a\u{1b}[1mb\u{202e}c\rd"), "a␛[1mb⟨U+202E⟩c␍d");
        assert_eq!(visible("plain é"), "plain é");
    }

    #[test]
    fn spans_follow() {
        let shown = visible_with_map("\u{1b}rm é\u{200b}x");
        assert_eq!(&shown.text[shown.span(&(1..3))], "rm");
        assert_eq!(&shown.text[shown.span(&(4..9))], "é⟨U+200B⟩");
        assert_eq!(shown.span(&(90..99)), shown.text.len()..shown.text.len());
    }
}
