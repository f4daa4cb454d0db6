//! Questions that programs ask their terminal, and the answers of a plain xterm. Unanswered, editors and menus stall.

/// Bytes carried over from one read to the next: longer than any question.
const CARRY: usize = 32;

/// A question of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Query {
    /// `CSI c`: what are you?
    Device,
    /// `CSI > c`: which version?
    Version,
    /// `CSI 5 n`: are you well?
    Status,
    /// `CSI 6 n`: where is the cursor?
    Cursor,
    /// `OSC 10 ; ?`
    Foreground,
    /// `OSC 11 ; ?`
    Background,
}

impl Query {
    /// The bytes a terminal would send. `cursor` gives column and row from 0, when it is asked for.
    pub(crate) fn answer(self, cursor: impl FnOnce() -> (u16, u16)) -> Vec<u8> {
        match self {
            // A VT220 with colours.
            Query::Device => b"\x1b[?62;22c".to_vec(),
            Query::Version => b"\x1b[>1;10;0c".to_vec(),
            Query::Status => b"\x1b[0n".to_vec(),
            Query::Cursor => {
                let (column, row) = cursor();
                format!("\x1b[{};{}R", row + 1, column + 1).into_bytes()
            }
            // Light on dark: programs choose colours that can be read on either when they are told dark.
            Query::Foreground => b"\x1b]10;rgb:d0d0/d0d0/d0d0\x1b\\".to_vec(),
            Query::Background => b"\x1b]11;rgb:1010/1010/1010\x1b\\".to_vec(),
        }
    }
}

const QUESTIONS: &[(&[u8], Query)] = &[
    (b"\x1b[c", Query::Device),
    (b"\x1b[0c", Query::Device),
    (b"\x1b[>c", Query::Version),
    (b"\x1b[>0c", Query::Version),
    (b"\x1b[5n", Query::Status),
    (b"\x1b[6n", Query::Cursor),
    (b"\x1b]10;?", Query::Foreground),
    (b"\x1b]11;?", Query::Background),
];

/// Finds questions in a stream that arrives in pieces.
#[derive(Debug, Default)]
pub(crate) struct Queries {
    carry: Vec<u8>,
}

impl Queries {
    /// Questions that end in `bytes`, each with the position in `bytes` after it.
    pub(crate) fn scan(&mut self, bytes: &[u8]) -> Vec<(usize, Query)> {
        let mut found = Vec::new();
        if self.carry.is_empty() && !bytes.contains(&0x1b) {
            return found;
        }
        let carried = self.carry.len();
        let mut text = std::mem::take(&mut self.carry);
        text.extend_from_slice(bytes);
        let mut at = 0;
        while let Some(next) = text[at..].iter().position(|&b| b == 0x1b) {
            let start = at + next;
            let rest = &text[start..];
            if let Some((question, query)) = QUESTIONS.iter().find(|(question, _)| rest.starts_with(question)) {
                found.push(((start + question.len()).saturating_sub(carried), *query));
            } else if rest.len() < CARRY && QUESTIONS.iter().any(|(question, _)| question.starts_with(rest)) {
                self.carry = rest.to_vec();
            }
            at = start + 1;
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_questions_in_pieces() {
        let mut queries = Queries::default();
        assert_eq!(queries.scan(b"text \x1b[31mred\x1b[6n"), [(17, Query::Cursor)]);
        assert_eq!(queries.scan(b"\x1b["), []);
        assert_eq!(queries.scan(b"c and \x1b]11;?\x1b\\"), [(1, Query::Device), (12, Query::Background)]);
        assert_eq!(queries.scan(b"plain"), []);
        assert_eq!(queries.scan(b"\x1b"), []);
        assert_eq!(queries.scan(b"[5"), []);
        assert_eq!(queries.scan(b"n"), [(1, Query::Status)]);
        assert_eq!(queries.scan(b"\x1b[>c\x1b[c"), [(4, Query::Version), (7, Query::Device)]);
    }

    #[test]
    fn the_cursor_counts_from_one() {
        assert_eq!(Query::Cursor.answer(|| (3, 7)), b"\x1b[8;4R");
    }
}
