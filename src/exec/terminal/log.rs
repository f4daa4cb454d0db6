//! What a process printed: the head, the tail, the count, and a spill file for what lies between.
//!
//! Reads go from the descriptor straight into the buffer that keeps the bytes, so that a flood costs one copy.

mod output;
mod ring;

pub(crate) use output::Output;

use super::spill::Spill;
use ring::Ring;
use std::os::fd::BorrowedFd;

/// Bytes kept from the beginning: 40 % of what is kept.
pub(crate) const HEAD: usize = 1024 * 1024;
/// Bytes kept from the end: 60 %.
pub(crate) const TAIL: usize = 1536 * 1024;
/// Bytes that go to the spill file at a time.
const SPILL_CHUNK: u64 = 256 * 1024;
/// First read of a process; grows with what it prints.
const FIRST_READ: usize = 64 * 1024;

/// What one read gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Got {
    Bytes(usize),
    /// Nothing there at the moment.
    Later,
    /// The spill file must catch up first.
    Full,
    End,
}

/// Output with bounded memory.
#[derive(Debug)]
pub(crate) struct Log {
    head: Vec<u8>,
    ring: Option<Ring>,
    total: u64,
    spill: Spill,
    /// The spill file gets everything, from the first byte on.
    keeps_all: bool,
}

impl Log {
    pub(crate) fn new(spill: Spill) -> Self {
        Self { head: Vec::new(), ring: None, total: 0, spill, keeps_all: false }
    }

    /// From now on the spill file gets everything.
    pub(crate) fn keep_all(&mut self) {
        self.keeps_all = true;
    }

    pub(crate) fn keeps_all(&self) -> bool {
        self.keeps_all
    }

    /// Takes what somebody else added to the file since. Whether that was anything.
    pub(crate) fn take_more(&mut self) -> bool {
        let before = self.total;
        loop {
            let bytes = self.spill.added(self.total, SPILL_CHUNK);
            if bytes.is_empty() {
                return self.total > before;
            }
            self.append(&bytes);
        }
    }

    /// Bytes printed so far.
    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// Reads once from a non-blocking descriptor.
    pub(crate) fn read_from(&mut self, fd: BorrowedFd<'_>) -> rustix::io::Result<Got> {
        let got = if self.head.len() < HEAD {
            let want = FIRST_READ.max(self.head.len()).min(HEAD - self.head.len());
            self.head.reserve(want);
            // The capacity may be larger than what was reserved: the head ends exactly at its bound.
            let before = self.head.len();
            let room = (HEAD - before).min(self.head.capacity() - before);
            self.head.resize(before + room, 0);
            let got = read(fd, &mut self.head[before..]);
            self.head.truncate(before + bytes_of(&got));
            got
        } else {
            let total = self.total;
            let room = self.spill.room(total);
            if room == 0 {
                return Ok(Got::Full);
            }
            let ring = self.ring.get_or_insert_with(|| Ring::new(TAIL, total));
            let run = ring.free_run();
            let most = run.len().min(room);
            let got = read(fd, &mut run[..most]);
            ring.advance(bytes_of(&got));
            got
        };
        self.total += bytes_of(&got) as u64;
        got
    }

    /// Adds bytes that were read elsewhere (a terminal hands out little at a time).
    pub(crate) fn append(&mut self, bytes: &[u8]) {
        let (first, rest) = bytes.split_at(bytes.len().min(HEAD - self.head.len()));
        self.head.extend_from_slice(first);
        self.total += first.len() as u64;
        if !rest.is_empty() {
            let total = self.total;
            let ring = self.ring.get_or_insert_with(|| Ring::new(TAIL, total));
            ring.append(rest);
            self.total += rest.len() as u64;
        }
    }

    /// Bytes that can be added now without losing what the spill file still has to take.
    pub(crate) fn room(&self) -> usize {
        HEAD - self.head.len() + self.spill.room(self.total)
    }

    /// Output has outgrown the head: someone must call [`Self::unspilled`] and [`Self::spilled`] from now on. True once.
    pub(crate) fn begin_spill(&mut self) -> bool {
        (self.keeps_all || self.ring.is_some()) && self.spill.begin()
    }

    /// The next bytes for the spill file, into `into`. False when there are none at the moment.
    pub(crate) fn unspilled(&self, into: &mut Vec<u8>) -> bool {
        into.clear();
        let from = self.spill.written();
        let to = self.total.min(from + SPILL_CHUNK).min(self.spill.limit());
        if self.spill.busy() {
            self.copy(from, to, into);
        }
        !into.is_empty()
    }

    /// Notes what was done with them.
    pub(crate) fn spilled(&mut self, result: std::io::Result<std::fs::File>, count: usize) {
        self.spill.note(result, count);
    }

    /// The file to write to, or where to make it.
    pub(crate) fn spill(&self) -> &Spill {
        &self.spill
    }

    /// Everything that belongs into the spill file is there (or cannot be).
    pub(crate) fn all_spilled(&self) -> bool {
        !self.spill.busy() || self.spill.written() >= self.total
    }

    /// The bytes of `from..to` that are in memory, in order. A hole between head and tail is left out.
    pub(crate) fn copy(&self, from: u64, to: u64, into: &mut Vec<u8>) {
        let (start, end) = (self.head.len().min(from as usize), self.head.len().min(to as usize));
        into.extend_from_slice(&self.head[start..end]);
        if let Some(ring) = &self.ring {
            ring.copy(from, to, into);
        }
    }

    /// First position from which everything to the end is in memory.
    pub(crate) fn tail_begin(&self) -> u64 {
        match &self.ring {
            Some(ring) if ring.begin > self.head.len() as u64 => ring.begin,
            _ => 0,
        }
    }

    /// The last `count` bytes, or fewer.
    pub(crate) fn tail(&self, count: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.copy(self.total.saturating_sub(count).max(self.tail_begin()), self.total, &mut bytes);
        bytes
    }

    /// Bytes of `from..to` from memory or the spill file; empty where neither has them.
    pub(crate) fn read_back(&self, from: u64, to: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        if from >= self.tail_begin() || to <= self.head.len() as u64 {
            self.copy(from, to, &mut bytes);
        } else {
            bytes = self.spill.read(from, to);
        }
        bytes
    }

    /// Head and tail as they are now.
    pub(crate) fn captured(&mut self) -> Captured {
        let begin = self.tail_begin();
        let mut tail = Vec::new();
        if let Some(ring) = &self.ring {
            ring.copy(ring.begin, ring.end, &mut tail);
        }
        let mut head = self.head.clone();
        if begin == 0 {
            head.append(&mut tail);
        }
        Captured {
            omitted: self.total - (head.len() + tail.len()) as u64,
            head,
            tail,
            total: self.total,
            spill: self.spill.path(),
            spilled: self.spill.written(),
        }
    }
}

/// Output of a finished (or moved) command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Captured {
    /// From the beginning; everything when `omitted` is 0.
    pub head: Vec<u8>,
    /// From the end; empty when `omitted` is 0.
    pub tail: Vec<u8>,
    /// Bytes between head and tail that are not in memory.
    pub omitted: u64,
    /// Bytes printed.
    pub total: u64,
    /// The raw output from its first byte, when it outgrew memory.
    pub spill: Option<std::path::PathBuf>,
    /// Bytes in the spill file.
    pub spilled: u64,
}

fn bytes_of(got: &rustix::io::Result<Got>) -> usize {
    match got {
        Ok(Got::Bytes(count)) => *count,
        _ => 0,
    }
}

/// One read; a terminal whose other side is closed (EIO on Linux) has ended.
pub(crate) fn read(fd: BorrowedFd<'_>, into: &mut [u8]) -> rustix::io::Result<Got> {
    match rustix::io::read(fd, into) {
        Ok(0) => Ok(Got::End),
        Ok(count) => Ok(Got::Bytes(count)),
        Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => Ok(Got::Later),
        Err(rustix::io::Errno::IO) => Ok(Got::End),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::fd::AsFd;

    fn log() -> (tempfile::TempDir, Log) {
        let folder = tempfile::tempdir().unwrap();
        let spill = Spill::new(folder.path().join("out.log"), 2 * 1024 * 1024);
        (folder, Log::new(spill))
    }

    fn spill(log: &mut Log) {
        log.begin_spill();
        let mut bytes = Vec::new();
        while log.unspilled(&mut bytes) {
            let result = log.spill().write(&bytes);
            log.spilled(result, bytes.len());
        }
        assert!(log.all_spilled());
    }

    fn pour(log: &mut Log, bytes: &[u8]) {
        for chunk in bytes.chunks(60_000) {
            let (reader, mut writer) = std::io::pipe().unwrap();
            writer.write_all(chunk).unwrap();
            drop(writer);
            loop {
                match log.read_from(reader.as_fd()).unwrap() {
                    Got::End => break,
                    Got::Full => spill(log),
                    _ => {}
                }
            }
        }
    }

    #[test]
    fn keeps_all_of_a_little() {
        let (_folder, mut log) = log();
        pour(&mut log, b"hello\n");
        let captured = log.captured();
        assert_eq!(captured.head, b"hello\n");
        assert_eq!((captured.omitted, captured.total, captured.spill), (0, 6, None));
        assert_eq!(log.tail(3), b"lo\n");
    }

    #[test]
    fn keeps_head_and_tail_of_much_and_spills_within_its_bound() {
        let (_folder, mut log) = log();
        let bytes: Vec<u8> = (0..700_000u32).flat_map(|n| format!("{n:06}").into_bytes()).collect();
        pour(&mut log, &bytes);
        spill(&mut log);
        let captured = log.captured();
        assert_eq!(captured.head, &bytes[..HEAD]);
        assert_eq!(captured.tail, &bytes[bytes.len() - TAIL..]);
        assert_eq!(captured.omitted as usize, bytes.len() - HEAD - TAIL);
        let spilled = std::fs::read(captured.spill.unwrap()).unwrap();
        assert_eq!(spilled, &bytes[..2 * 1024 * 1024]);
        assert_eq!(log.read_back(1_200_000, 1_200_010), &bytes[1_200_000..1_200_010]);
        let end = bytes.len();
        assert_eq!(log.read_back(end as u64 - 10, end as u64), &bytes[end - 10..]);
    }

    #[test]
    fn head_and_tail_join_without_a_hole() {
        let (_folder, mut log) = log();
        let bytes: Vec<u8> = (0..HEAD + 1000).map(|n| (n % 251) as u8).collect();
        pour(&mut log, &bytes);
        let captured = log.captured();
        assert_eq!((captured.head, captured.omitted), (bytes.clone(), 0));
        assert_eq!(log.tail(2000), &bytes[bytes.len() - 2000..]);
    }

    #[test]
    fn the_pane_shows_what_the_log_leaves_out() {
        let folder = tempfile::tempdir().unwrap();
        let mut output = Output::new(Spill::new(folder.path().join("x"), 100), true);
        output.append(b"one\nName? ", b"one\nName? ");
        output.append(b"World\n", b"");
        output.append(b"two\n", b"two\n");
        assert_eq!(output.pane_bytes(output.pane_begin(), output.pane_end()), b"one\nName? World\ntwo\n");
        assert_eq!(output.log.captured().head, b"one\nName? two\n");
    }
}
