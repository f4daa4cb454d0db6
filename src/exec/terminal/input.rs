//! What waits to be typed into a process: keys, and secrets, which are typed only where they are not shown and overwritten
//! as soon as they are typed or given up.

use std::collections::VecDeque;

/// A queue of bytes in pieces that are typed one after the other.
#[derive(Default)]
pub(crate) struct Input {
    pieces: VecDeque<Piece>,
}

struct Piece {
    bytes: Vec<u8>,
    /// So many are typed already.
    typed: usize,
    kind: Kind,
}

/// Whose keys they are, and who may see them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The person's: the agent never learns what they are.
    Person,
    /// The agent's, or answers of ours to a program that asks its terminal.
    Other,
    /// A password.
    Secret,
}

impl Drop for Piece {
    fn drop(&mut self) {
        if self.kind == Kind::Secret {
            wipe(&mut self.bytes);
        }
    }
}

/// Overwrites bytes that nobody reads again.
pub(crate) fn wipe(bytes: &mut [u8]) {
    bytes.fill(0);
    // Otherwise the compiler may see that nobody reads them again.
    std::hint::black_box(bytes);
}

impl Input {
    /// How many bytes wait.
    pub(crate) fn len(&self) -> usize {
        self.pieces.iter().map(|piece| piece.bytes.len() - piece.typed).sum()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Appends keys.
    pub(crate) fn push(&mut self, bytes: &[u8], kind: Kind) {
        match self.pieces.back_mut().filter(|piece| piece.kind == kind) {
            Some(piece) => piece.bytes.extend_from_slice(bytes),
            None if bytes.is_empty() => {}
            None => self.pieces.push_back(Piece { bytes: bytes.to_vec(), typed: 0, kind }),
        }
    }

    /// Appends a secret; these very bytes are overwritten later.
    pub(crate) fn push_secret(&mut self, bytes: Vec<u8>) {
        if !bytes.is_empty() {
            self.pieces.push_back(Piece { bytes, typed: 0, kind: Kind::Secret });
        }
    }

    /// What comes next, and whose it is.
    pub(crate) fn next(&self) -> Option<(&[u8], Kind)> {
        self.pieces.front().map(|piece| (&piece.bytes[piece.typed..], piece.kind))
    }

    /// So many bytes of what came next are typed.
    pub(crate) fn typed(&mut self, count: usize) {
        let Some(piece) = self.pieces.front_mut() else { return };
        let end = (piece.typed + count).min(piece.bytes.len());
        if piece.kind == Kind::Secret {
            wipe(&mut piece.bytes[piece.typed..end]);
        }
        piece.typed = end;
        if end == piece.bytes.len() {
            self.pieces.pop_front();
        }
    }

    /// Gives up what comes next: what is left of it is not typed.
    pub(crate) fn give_up(&mut self) {
        self.pieces.pop_front();
    }

    /// Nothing is typed any more.
    pub(crate) fn clear(&mut self) {
        self.pieces.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_keep_their_order_and_secrets_stay_apart() {
        let mut input = Input::default();
        assert!(input.is_empty() && input.next().is_none());
        input.push(b"ab", Kind::Person);
        input.push(b"c", Kind::Person);
        input.push_secret(b"key\r".to_vec());
        input.push(b"", Kind::Other);
        input.push(b"d", Kind::Person);
        input.push(b"e", Kind::Other);
        assert_eq!(input.len(), 9);
        assert_eq!(input.next(), Some((&b"abc"[..], Kind::Person)));
        input.typed(2);
        assert_eq!(input.next(), Some((&b"c"[..], Kind::Person)));
        input.typed(1);
        assert_eq!(input.next(), Some((&b"key\r"[..], Kind::Secret)));
        input.typed(1);
        assert_eq!((input.next(), input.len()), (Some((&b"ey\r"[..], Kind::Secret)), 5));
        input.give_up();
        assert_eq!(input.next(), Some((&b"d"[..], Kind::Person)));
        input.clear();
        assert!(input.is_empty());
        assert_eq!(input.next(), None);
    }

    #[test]
    fn what_was_typed_of_a_secret_is_overwritten_at_once() {
        let mut input = Input::default();
        input.push_secret(b"open sesame".to_vec());
        input.typed(4);
        assert_eq!(input.pieces[0].bytes, b"\0\0\0\0 sesame");
        let mut bytes = *b"open";
        wipe(&mut bytes);
        assert_eq!(bytes, [0; 4]);
    }
}
