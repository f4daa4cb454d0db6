//! Typographic characters as their plain spelling, with a way back to where each came from.

use similar::{Algorithm, DiffOp, capture_diff_slices};
use std::ops::Range;

/// The plain spelling of a typographic character.
fn plain(c: char) -> Option<&'static str> {
    Some(match c {
        '“' | '”' => "\"",
        '‘' | '’' => "'",
        '—' => "--",
        '–' => "-",
        '…' => "...",
        '\u{a0}' => " ",
        _ => return None,
    })
}

/// Whether [`Plain::new`] would change anything.
pub fn is_plain(text: &str) -> bool {
    text.is_ascii() || !text.chars().any(|c| plain(c).is_some())
}

/// Text in plain spelling.
pub struct Plain {
    pub text: String,
    /// For each byte of `text`, where its character begins in the original; one more for the end.
    origin: Vec<usize>,
}

impl Plain {
    /// Spells `original` plainly.
    pub fn new(original: &str) -> Self {
        let (mut text, mut origin) = (String::with_capacity(original.len()), Vec::with_capacity(original.len() + 1));
        for (at, c) in original.char_indices() {
            let before = text.len();
            match plain(c) {
                Some(spelling) => text.push_str(spelling),
                None => text.push(c),
            }
            origin.resize(origin.len() + text.len() - before, at);
        }
        origin.push(original.len());
        Self { text, origin }
    }

    /// The part of the original that a part of the plain text stands for; a character is taken whole.
    pub fn original(&self, range: Range<usize>) -> Range<usize> {
        let start = self.origin[range.start];
        let mut end = range.end;
        while end > range.start && end < self.origin.len() - 1 && self.origin[end] == self.origin[end - 1] {
            end += 1;
        }
        start..self.origin[end]
    }
}

/// `new` with the typographic characters of `region` where the two agree in plain spelling.
pub fn keep_typography(region: &str, new: &str) -> String {
    // (character, plain length) at the first plain character of each original one; the others are `None`.
    let (mut flat, mut owners) = (Vec::new(), Vec::new());
    for c in region.chars() {
        let start = flat.len();
        match plain(c) {
            Some(spelling) => flat.extend(spelling.chars()),
            None => flat.push(c),
        }
        owners.push(Some((c, flat.len() - start)));
        owners.resize(flat.len(), None);
    }
    let new: Vec<char> = new.chars().collect();
    let mut out = String::new();
    for op in capture_diff_slices(Algorithm::Myers, &flat, &new) {
        match op {
            DiffOp::Equal { old_index, len, .. } => {
                let mut at = old_index;
                while at < old_index + len {
                    match owners[at] {
                        Some((c, width)) if at + width <= old_index + len => {
                            out.push(c);
                            at += width;
                        }
                        _ => {
                            out.push(flat[at]);
                            at += 1;
                        }
                    }
                }
            }
            DiffOp::Insert { new_index, new_len, .. } | DiffOp::Replace { new_index, new_len, .. } => {
                out.extend(&new[new_index..new_index + new_len]);
            }
            DiffOp::Delete { .. } => {}
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_lead_back() {
        let original = "a…b “q”";
        let plain = Plain::new(original);
        assert_eq!(plain.text, "a...b \"q\"");
        assert_eq!(&original[plain.original(0..4)], "a…");
        assert_eq!(&original[plain.original(1..2)], "…");
        assert_eq!(&original[plain.original(6..9)], "“q”");
    }

    #[test]
    fn unchanged_typography_stays() {
        assert_eq!(keep_typography("don’t stop", "don't go"), "don’t go");
        assert_eq!(keep_typography("a…b", "a...c"), "a…c");
        assert_eq!(keep_typography("a…b", "a..b"), "a..b");
        assert_eq!(keep_typography("plain 'x'", "plain 'y'"), "plain 'y'");
    }
}
