//! Making hidden characters visible: what a person approves must be what runs.

/// A text in which nothing hides, with the way back to the bytes it came from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Visible {
    /// Only printable characters and line feeds.
    pub text: String,
    /// Byte ranges of `text` that stand for hidden characters.
    pub marks: Vec<std::ops::Range<usize>>,
    /// Source offset and offset in `text`, at each place where the distance between them changes.
    shifts: Vec<(usize, usize)>,
}

impl Visible {
    /// Where a byte of the source ended up.
    pub fn at(&self, source: usize) -> usize {
        let index = self.shifts.partition_point(|(from, _)| *from <= source);
        match index.checked_sub(1).and_then(|last| self.shifts.get(last)) {
            Some((from, to)) => (to + (source - from)).min(self.text.len()),
            None => source.min(self.text.len()),
        }
    }
}

/// Shows control characters as pictures (`␛`), and bidi marks, zero-width and other invisible ones as `⟨U+202E⟩`. Line
/// feeds stay line feeds.
pub fn visible(source: &str) -> Visible {
    let mut out = Visible { text: String::with_capacity(source.len()), ..Visible::default() };
    for (at, character) in source.char_indices() {
        let start = out.text.len();
        match character {
            '\n' => {
                out.text.push('\n');
                continue;
            }
            '\u{0}'..='\u{1f}' => out.text.extend(char::from_u32(0x2400 + u32::from(character))),
            '\u{7f}' => out.text.push('␡'),
            _ if hides(character) => out.text.push_str(&format!("⟨U+{:04X}⟩", u32::from(character))),
            _ => {
                out.text.push(character);
                continue;
            }
        }
        out.marks.push(start..out.text.len());
        out.shifts.push((at, start));
        out.shifts.push((at + character.len_utf8(), out.text.len()));
    }
    out
}

/// Characters that show nothing or reorder what is around them.
fn hides(character: char) -> bool {
    matches!(
        character,
        '\u{80}'..='\u{9f}'
            | '\u{a0}'
            | '\u{ad}'
            | '\u{34f}'
            | '\u{61c}'
            | '\u{115f}'
            | '\u{1160}'
            | '\u{17b4}'
            | '\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{2000}'..='\u{200f}'
            | '\u{2028}'..='\u{202f}'
            | '\u{205f}'..='\u{206f}'
            | '\u{3000}'
            | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_hides() {
        for (source, shown) in [
            ("rm -rf build", "rm -rf build"),
            ("a\u{1b}[2Kb", "a␛[2Kb"),
            ("safe\u{202e}gnp.exe", "safe⟨U+202E⟩gnp.exe"),
            ("one\ntwo\r", "one\ntwo␍"),
            ("zero\u{200b}width", "zero⟨U+200B⟩width"),
        ] {
            assert_eq!(visible(source).text, shown);
        }
    }

    #[test]
    fn offsets_follow() {
        let shown = visible("a\u{1b}b\u{202e}c");
        assert_eq!(&shown.text[shown.at(2)..shown.at(3)], "b");
        assert_eq!(&shown.text[shown.at(6)..shown.at(7)], "c");
        assert_eq!(&shown.text[shown.at(3)..shown.at(6)], "⟨U+202E⟩");
        assert_eq!(shown.at(1000), shown.text.len());
    }
}
