//! A ring of bytes that counts from the first one ever appended.

/// A ring that overwrites its oldest bytes. Positions count from the first byte ever appended.
#[derive(Debug)]
pub(super) struct Ring {
    bytes: Vec<u8>,
    pub(super) end: u64,
    pub(super) begin: u64,
}

impl Ring {
    /// Zeroed pages come from the system when they are first touched.
    pub(super) fn new(capacity: usize, at: u64) -> Self {
        Self { bytes: vec![0; capacity], end: at, begin: at }
    }

    pub(super) fn free_run(&mut self) -> &mut [u8] {
        let at = self.index(self.end);
        &mut self.bytes[at..]
    }

    pub(super) fn advance(&mut self, count: usize) {
        self.end += count as u64;
        self.begin = self.begin.max(self.end.saturating_sub(self.bytes.len() as u64));
    }

    pub(super) fn index(&self, position: u64) -> usize {
        (position % self.bytes.len() as u64) as usize
    }

    pub(super) fn append(&mut self, mut bytes: &[u8]) {
        if bytes.len() > self.bytes.len() {
            let skipped = bytes.len() - self.bytes.len();
            self.advance(skipped);
            bytes = &bytes[skipped..];
        }
        while !bytes.is_empty() {
            let run = self.free_run();
            let count = run.len().min(bytes.len());
            run[..count].copy_from_slice(&bytes[..count]);
            self.advance(count);
            bytes = &bytes[count..];
        }
    }

    pub(super) fn copy(&self, from: u64, to: u64, into: &mut Vec<u8>) {
        let (mut at, to) = (from.max(self.begin), to.min(self.end));
        while at < to {
            let index = self.index(at);
            let count = ((to - at) as usize).min(self.bytes.len() - index);
            into.extend_from_slice(&self.bytes[index..index + count]);
            at += count as u64;
        }
    }
}
