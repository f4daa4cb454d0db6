//! Notices that a program takes the whole screen: the alternate one, or rows of the screen by their number.

/// Bytes of an unfinished sequence that are carried over to the next read.
const CARRY: usize = 24;

/// Looks through a stream that arrives in pieces.
#[derive(Debug, Default)]
pub(crate) struct FullScreen {
    carry: Vec<u8>,
}

impl FullScreen {
    /// Bytes of `bytes` before the sequence that takes the screen; 0 when it began in an earlier piece.
    pub(crate) fn scan(&mut self, bytes: &[u8]) -> Option<usize> {
        if self.carry.is_empty() && !bytes.contains(&0x1b) {
            return None;
        }
        let carried = self.carry.len();
        let mut text = std::mem::take(&mut self.carry);
        text.extend_from_slice(bytes);
        let mut at = 0;
        while let Some(next) = text[at..].iter().position(|&b| b == 0x1b) {
            let start = at + next;
            match sequence(&text[start..]) {
                Sequence::Takes => return Some(start.saturating_sub(carried)),
                Sequence::Unfinished if text.len() - start < CARRY => {
                    self.carry = text[start..].to_vec();
                    return None;
                }
                _ => at = start + 1,
            }
        }
        None
    }
}

enum Sequence {
    Takes,
    Unfinished,
    Other,
}

fn sequence(text: &[u8]) -> Sequence {
    match text {
        [_] => return Sequence::Unfinished,
        [_, b'[', ..] => {}
        _ => return Sequence::Other,
    }
    let body = &text[2..];
    let Some(end) = body.iter().position(|b| !(0x20..=0x3f).contains(b)) else { return Sequence::Unfinished };
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
    if takes { Sequence::Takes } else { Sequence::Other }
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
