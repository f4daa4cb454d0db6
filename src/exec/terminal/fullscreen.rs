//! Notices that a program takes the whole screen: the alternate one, or rows of the screen by their number.

use super::partial_escape::{Begins, PartialEscape};

/// Looks through a stream that arrives in pieces. No sequence that takes the screen is longer than what is carried over.
#[derive(Debug, Default)]
pub(crate) struct FullScreen {
    partial_escape: PartialEscape<24>,
}

impl FullScreen {
    /// Bytes of `bytes` before the sequence that takes the screen; 0 when it began in an earlier piece.
    pub(crate) fn scan(&mut self, bytes: &[u8]) -> Option<usize> {
        self.partial_escape.scan(bytes, takes).first().map(|at| at.from)
    }
}

/// Whether a sequence takes the screen.
fn takes(text: &[u8]) -> Begins<()> {
    match text {
        [_] => return Begins::Unfinished,
        [_, b'[', ..] => {}
        _ => return Begins::Nothing,
    }
    let body = &text[2..];
    let Some(end) = body.iter().position(|b| !(0x20..=0x3f).contains(b)) else { return Begins::Unfinished };
    let parameters = &body[..end];
    let first = parameters.split(|b| *b == b';').next().unwrap_or_default();
    let takes = match body[end] {
        b'h' => [&b"?1049"[..], b"?1047", b"?47"].contains(&first),
        // Home alone comes with clearing the screen, which is no layout.
        b'H' | b'f' => !matches!(first, b"" | b"0" | b"1"),
        b'd' => true,
        // The whole height is what `reset` asks for.
        b'r' => !parameters.is_empty() && !parameters.starts_with(b"?"),
        _ => false,
    };
    if takes { Begins::Found(2 + end + 1, ()) } else { Begins::Nothing }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layouts_are_told_from_colours_in_pieces_of_any_size() {
        let cases: &[(&[u8], Option<usize>)] = &[
            (b"plain", None),
            (b"\x1b[1;31mred\x1b[0m\x1b[K\x1b[2A\r", None),
            (b"\x1b[H\x1b[2J\x1b[3J", None),
            (b"\x1b[?25l\x1b[?2004h", None),
            (b"ab\x1b[?1049h", Some(2)),
            (b"\x1b[mab\x1b[12;1H", Some(5)),
            (b"\x1b[1;23r", Some(0)),
            (b"\x1b[5d", Some(0)),
        ];
        for (bytes, expected) in cases {
            assert_eq!(FullScreen::default().scan(bytes), *expected, "{bytes:?}");
            let mut scanner = FullScreen::default();
            let found = bytes.chunks(1).any(|piece| scanner.scan(piece).is_some());
            assert_eq!(found, expected.is_some(), "{bytes:?}");
        }
    }
}
