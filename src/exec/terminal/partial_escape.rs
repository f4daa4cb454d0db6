//! Escape sequences in a stream that arrives in pieces: what a piece leaves unfinished is looked at with the next one.

/// What begins at an escape.
pub(crate) enum Begins<T> {
    /// A sequence of this many bytes.
    Found(usize, T),
    /// It may become one.
    Unfinished,
    Nothing,
}

/// Where a sequence stands in a piece: from its first byte, or 0 when that came earlier, to after its last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct At<T> {
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) what: T,
}

/// The unfinished end of the pieces so far, which is never longer than `MAX_BYTES` bytes.
#[derive(Debug, Default)]
pub(crate) struct PartialEscape<const MAX_BYTES: usize> {
    bytes: Vec<u8>,
}

impl<const MAX_BYTES: usize> PartialEscape<MAX_BYTES> {
    /// The sequences that end in `bytes`, as `look` knows them by the text from their escape on.
    pub(crate) fn scan<T>(&mut self, bytes: &[u8], look: impl Fn(&[u8]) -> Begins<T>) -> Vec<At<T>> {
        let mut found = Vec::new();
        if self.bytes.is_empty() && !bytes.contains(&0x1b) {
            return found;
        }
        let carried = self.bytes.len();
        let mut text = std::mem::take(&mut self.bytes);
        text.extend_from_slice(bytes);
        let mut at = 0;
        while let Some(next) = text[at..].iter().position(|&b| b == 0x1b) {
            let start = at + next;
            at = start + 1;
            match look(&text[start..]) {
                Begins::Found(length, what) => {
                    at = start + length;
                    found.push(At { from: start.saturating_sub(carried), to: at.saturating_sub(carried), what });
                }
                Begins::Unfinished if text.len() - start < MAX_BYTES => {
                    self.bytes = text.split_off(start);
                    break;
                }
                Begins::Unfinished | Begins::Nothing => {}
            }
        }
        found
    }
}
