//! Rows as a terminal shows them: text among escape sequences.

/// Bytes of an escape sequence that is waited for.
pub(super) const LONGEST: usize = 256;

/// The length of the escape sequence that these bytes begin with; `None`: it is not whole.
pub(super) fn escape(bytes: &[u8]) -> Option<usize> {
    let ends =
        |from: usize, is_end: &dyn Fn(&u8) -> bool| bytes.get(from..)?.iter().position(is_end).map(|at| from + at + 1);
    match bytes.get(1)? {
        b'[' => ends(2, &|byte| (0x40..=0x7e).contains(byte)),
        // A text for the terminal: up to a bell, or to `ESC \`.
        b']' | b'P' | b'_' | b'^' => {
            let bell = ends(2, &|byte| *byte == 0x07);
            let string = bytes.windows(2).skip(2).position(|pair| pair == b"\x1b\\").map(|at| at + 4);
            bell.into_iter().chain(string).min()
        }
        b'O' | b'(' | b')' | b'#' | b'%' => (bytes.len() > 2).then_some(3),
        _ => Some(2),
    }
}

/// What is printed of these bytes: no escape sequences, and of control characters only the return of the carriage.
pub(super) fn printed(bytes: &[u8]) -> Vec<u8> {
    let (mut text, mut at) = (Vec::new(), 0);
    while let Some(&byte) = bytes.get(at) {
        if byte == 0x1b {
            // One that is cut off shows nothing.
            let Some(length) = escape(&bytes[at..]) else { break };
            at += length;
            continue;
        }
        if byte >= 0x20 && byte != 0x7f || byte == b'\r' {
            text.push(byte);
        }
        at += 1;
    }
    text
}

/// What stands in a row after these bytes, which hold no end of a line: what came after the last return of the carriage.
pub(super) fn row(bytes: &[u8]) -> Vec<u8> {
    let text = printed(bytes);
    let begin = text.iter().rposition(|byte| *byte == b'\r').map_or(0, |at| at + 1);
    text[begin..].to_vec()
}

/// Whether one text is in another.
pub(super) fn holds(bytes: &[u8], text: &[u8]) -> bool {
    text.is_empty() || bytes.windows(text.len()).any(|window| window == text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_read_among_sequences() {
        assert_eq!(row(b"old\r\x1b[K\x1b[1mname?\x1b[m al"), b"name? al");
        assert_eq!(row(b"name? \x1b[3"), b"name? ");
        assert_eq!(printed(b"\x1b]0;title\x07a\x1b]8;;x\x1b\\b\x1b(Bc\x08\x07\x1bMd"), b"abcd");
        for (bytes, length) in [
            ("\x1b[?2004h", Some(8)),
            ("\x1b[", None),
            ("\x1b", None),
            ("\x1b]0;x", None),
            ("\x1b]0;x\x1b\\rest", Some(7)),
            ("\x1bOA", Some(3)),
            ("\x1bO", None),
            ("\x1b7", Some(2)),
        ] {
            assert_eq!(escape(bytes.as_bytes()), length, "{bytes:?}");
        }
        assert!(holds(b"a name", b"name") && !holds(b"nam", b"name") && holds(b"", b""));
    }
}
