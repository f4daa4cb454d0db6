//! A row that a program draws again where it stands: line editors do so when they are told of another size.

/// What the beginning of some output is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Redraw {
    /// The row again, up to here.
    Whole(usize),
    /// It may become that.
    Begun,
    None,
}

/// What stands in a row after these bytes, which hold no end of a line: what came after the last return of the carriage,
/// without escape sequences.
pub(super) fn row(bytes: &[u8]) -> Vec<u8> {
    let begin = bytes.iter().rposition(|byte| *byte == b'\r').map_or(0, |at| at + 1);
    let (mut row, mut at) = (Vec::new(), begin);
    while let Some(&byte) = bytes.get(at) {
        match escape(&bytes[at..]) {
            Some(length) => at += length,
            // One that is cut off shows nothing.
            None if byte == 0x1b => break,
            None => {
                row.push(byte);
                at += 1;
            }
        }
    }
    row
}

/// Whether `bytes` begin with a return of the carriage and what stands in the row, among escape sequences.
pub(super) fn of(bytes: &[u8], row: &[u8]) -> Redraw {
    let (mut at, mut returned, mut drawn) = (0, false, 0);
    while let Some(&byte) = bytes.get(at) {
        if returned && drawn == row.len() {
            return Redraw::Whole(at);
        }
        if byte == 0x1b {
            match escape(&bytes[at..]) {
                Some(length) => at += length,
                None if bytes.len() - at < LONGEST => return Redraw::Begun,
                None => return Redraw::None,
            }
        } else if byte == b'\r' {
            (returned, drawn) = (true, 0);
            at += 1;
        } else if returned && byte == row[drawn] {
            drawn += 1;
            at += 1;
        } else {
            return Redraw::None;
        }
    }
    match returned {
        true if drawn == row.len() => Redraw::Whole(at),
        true => Redraw::Begun,
        false => Redraw::None,
    }
}

/// Bytes of an escape sequence that is waited for.
const LONGEST: usize = 32;

/// The length of the control sequence that these bytes begin with, when all of it is there.
fn escape(bytes: &[u8]) -> Option<usize> {
    let rest = bytes.strip_prefix(b"\x1b[")?;
    let end = rest.iter().take(LONGEST).position(|byte| (0x40..=0x7e).contains(byte))?;
    Some(end + 3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_known_again_among_sequences() {
        assert_eq!(row(b"old\r\x1b[K\x1b[1mname?\x1b[m al"), b"name? al");
        assert_eq!(row(b"name? \x1b[3"), b"name? ");
        let of = |bytes: &str| of(bytes.as_bytes(), b"name? al");
        for (bytes, expected) in [
            ("\r\x1b[Kname? al", Redraw::Whole(12)),
            ("\x1b[?2004h\r\x1b[Kname? alx", Redraw::Whole(20)),
            ("\r\rname? al\r\n", Redraw::Whole(10)),
            ("\r", Redraw::Begun),
            ("\r\x1b[", Redraw::Begun),
            ("\r\x1b[Kname", Redraw::Begun),
            ("\r\n", Redraw::None),
            ("name? al", Redraw::None),
            ("\x1b[K", Redraw::None),
            ("\rother", Redraw::None),
            ("", Redraw::None),
        ] {
            assert_eq!(of(bytes), expected, "{bytes:?}");
        }
        assert_eq!(super::of(b"\r\x1b[K", b""), Redraw::Whole(1), "an empty row is soon drawn");
        assert_eq!(super::of(b"\r\x1b0123456789012345678901234567890123456789", b"a"), Redraw::None);
    }
}
