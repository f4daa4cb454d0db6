//! Pasted text: made harmless, folded when large, put back when sent.

use crate::app::model::composer::{Composer, Paste};
use std::borrow::Cow;
use tui_textarea::TextArea;

/// Text without carriage returns and with control characters made visible; borrowed when there is nothing to change.
/// One pass over the bytes, so that a paste of many megabytes costs milliseconds.
pub fn harmless(text: &str) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    let control = |(i, &byte): (usize, &u8)| match byte {
        b'\n' | b'\t' => false,
        0..0x20 | 0x7f => true,
        // C1 control characters are C2 80 to C2 9F in UTF-8
        0xc2 => bytes.get(i + 1).is_some_and(|next| *next < 0xa0),
        _ => false,
    };
    if !bytes.iter().enumerate().any(control) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 64);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\n' | '\t' => out.push(c),
            '\r' => {
                if chars.peek() != Some(&'\n') {
                    out.push('\n');
                }
            }
            // the control pictures of Unicode stand at U+2400 in the same order
            '\0'..'\x20' => out.push(char::from_u32(0x2400 + c as u32).unwrap_or('\u{fffd}')),
            '\x7f' => out.push('\u{2421}'),
            '\u{80}'..='\u{9f}' => out.push('\u{fffd}'),
            _ => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// Whether a paste of this text is folded.
pub fn is_large(text: &str, lines: usize, chars: usize) -> bool {
    text.len() >= chars && (text.len() >= chars.saturating_mul(4) || text.chars().count() >= chars)
        || text.bytes().filter(|byte| *byte == b'\n').count() >= lines
}

/// Folds a text into the composer and returns what stands for it.
pub fn fold(composer: &mut Composer, text: String) -> String {
    composer.folded += 1;
    let lines = text.bytes().filter(|byte| *byte == b'\n').count() + usize::from(!text.ends_with('\n'));
    let unit = if lines == 1 { "line" } else { "lines" };
    let placeholder = format!("[Pasted text #{}: {lines} {unit}]", composer.folded);
    composer.pastes.push(Paste { placeholder: placeholder.clone(), text });
    placeholder
}

/// A text with every folded paste put back where its placeholder stands.
pub fn unfold(text: &str, pastes: &[Paste]) -> String {
    let mut out = String::with_capacity(text.len() + pastes.iter().map(|paste| paste.text.len()).sum::<usize>());
    let mut rest = text;
    while let Some(start) = rest.find("[Pasted text #") {
        let (before, from) = rest.split_at(start);
        out.push_str(before);
        match pastes.iter().find(|paste| from.starts_with(&paste.placeholder)) {
            Some(paste) => {
                out.push_str(&paste.text);
                rest = &from[paste.placeholder.len()..];
            }
            None => {
                out.push('[');
                rest = &from[1..];
            }
        }
    }
    out.push_str(rest);
    out
}

/// The length in characters of the placeholder that ends at the cursor, when Backspace meets one.
pub fn placeholder_before(area: &TextArea<'static>, pastes: &[Paste]) -> Option<usize> {
    let cursor = area.cursor();
    let before: String = area.lines().get(cursor.0)?.chars().take(cursor.1).collect();
    let paste = pastes.iter().find(|paste| before.ends_with(&paste.placeholder))?;
    Some(paste.placeholder.chars().count())
}

// Control characters are made harmless before text gets here, so these two cannot stand in a draft.
const RECORD: char = '\u{1e}';
const UNIT: char = '\u{1f}';

/// A draft with its folded pastes as one text for the store.
pub fn encode_draft(text: &str, pastes: &[Paste]) -> String {
    let mut out = text.to_owned();
    for paste in pastes.iter().filter(|paste| text.contains(&paste.placeholder)) {
        out.push(RECORD);
        out.push_str(&paste.placeholder);
        out.push(UNIT);
        out.push_str(&paste.text);
    }
    out
}

/// A stored draft: its text and folded pastes.
pub fn decode_draft(stored: &str) -> (String, Vec<Paste>) {
    let mut records = stored.split(RECORD);
    let text = records.next().unwrap_or_default().to_owned();
    let pastes = records
        .filter_map(|record| record.split_once(UNIT))
        .map(|(placeholder, text)| Paste { placeholder: placeholder.to_owned(), text: text.to_owned() })
        .collect();
    (text, pastes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_become_visible_and_line_ends_one_kind() {
        for (text, clean) in [
            ("plain\n\ttext ä€", "plain\n\ttext ä€"),
            ("a\r\nb\rc", "a\nb\nc"),
            ("\x1b[31mred\x07", "␛[31mred␇"),
            ("nul\0del\x7f", "nul␀del␡"),
            ("c1\u{9b}31m", "c1\u{fffd}31m"),
        ] {
            assert_eq!(harmless(text), clean, "{text:?}");
        }
        assert!(matches!(harmless("plain ä\u{a0}"), Cow::Borrowed(_)), "nothing to change copies nothing");
    }

    #[test]
    fn thresholds_count_characters_and_lines() {
        assert!(!is_large("a\nb", 5, 10));
        assert!(is_large("a\nb\nc\nd\ne\nf", 5, 100));
        assert!(is_large("0123456789", 5, 10));
        assert!(!is_large("äääää", 5, 10), "ten bytes are five characters");
    }

    #[test]
    fn folded_pastes_come_back_in_place() {
        let mut composer = Composer::default();
        let one = fold(&mut composer, "a\nb\n".into());
        let two = fold(&mut composer, format!("has {one} in it"));
        assert_eq!(one, "[Pasted text #1: 2 lines]");
        let text = format!("x {two} y {one} z [Pasted text #9: 1 line]");
        assert_eq!(
            unfold(&text, &composer.pastes),
            format!("x has {one} in it y a\nb\n z [Pasted text #9: 1 line]"),
            "a placeholder inside a paste is text"
        );
    }

    #[test]
    fn drafts_keep_their_pastes() {
        let mut composer = Composer::default();
        let kept = fold(&mut composer, "kept".into());
        fold(&mut composer, "its placeholder was deleted".into());
        let stored = encode_draft(&format!("see {kept}"), &composer.pastes);
        let (text, pastes) = decode_draft(&stored);
        assert_eq!(unfold(&text, &pastes), "see kept");
        assert_eq!(pastes.len(), 1);
    }
}
