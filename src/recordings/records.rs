//! The form of a recording on disk: records one after the other, each with its length, so that a torn last one is seen.
//!
//! Screens of a file are one deflate stream, flushed at each record: what follows may refer to all that came before in it.

use super::Head;
use super::delta::{Delta, Frame};
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use std::io::{self, Read as _, Write as _};

/// How a file begins.
const MAGIC: &[u8] = b"hermes recording 1\n";
/// Bytes before the content of a record: its length, its time, its kind.
const BEFORE: usize = 4 + 8 + 1;
/// Bytes that the screens of a file unpack to at most: a damaged one must not fill memory.
const UNPACKED: u64 = 256 * 1024 * 1024;

/// What a record holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Head,
    Screen,
    /// The program has ended; the content is its exit code.
    End,
}

impl Kind {
    fn byte(self) -> u8 {
        match self {
            Self::Head => b'h',
            Self::Screen => b's',
            Self::End => b'e',
        }
    }

    fn of(byte: u8) -> Option<Self> {
        [Self::Head, Self::Screen, Self::End].into_iter().find(|kind| kind.byte() == byte)
    }
}

/// One record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Record<'a> {
    pub(super) kind: Kind,
    /// Milliseconds since the epoch.
    pub(super) at: i64,
    content: &'a [u8],
}

/// A record as bytes.
pub(super) fn record(kind: Kind, at: i64, content: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(BEFORE + content.len());
    bytes.extend_from_slice(&(content.len() as u32).to_le_bytes());
    bytes.extend_from_slice(&at.to_le_bytes());
    bytes.push(kind.byte());
    bytes.extend_from_slice(content);
    bytes
}

/// How the file of a terminal begins.
pub(super) fn beginning(head: &Head) -> io::Result<Vec<u8>> {
    let head_record = record(Kind::Head, head.started_at, &serde_json::to_vec(head)?);
    Ok([MAGIC, &head_record].concat())
}

/// The records of a file, up to the first that is cut off or not understood.
pub(super) fn records(bytes: &[u8]) -> Vec<Record<'_>> {
    let mut found = Vec::new();
    let mut rest = bytes.strip_prefix(MAGIC).unwrap_or_default();
    while let Some((before, after)) = rest.split_first_chunk::<BEFORE>() {
        let [l0, l1, l2, l3, t0, t1, t2, t3, t4, t5, t6, t7, kind] = *before;
        let length = u32::from_le_bytes([l0, l1, l2, l3]) as usize;
        let at = i64::from_le_bytes([t0, t1, t2, t3, t4, t5, t6, t7]);
        let (Some(kind), Some(content)) = (Kind::of(kind), after.get(..length)) else { break };
        found.push(Record { kind, at, content });
        rest = &after[length..];
    }
    found
}

/// What is known of the terminal.
pub(super) fn head(records: &[Record<'_>]) -> Option<Head> {
    records.iter().find(|record| record.kind == Kind::Head).and_then(|it| serde_json::from_slice(it.content).ok())
}

/// The exit code, when the program has ended.
pub(super) fn exit_code(record: &Record<'_>) -> Option<i32> {
    record.content.try_into().ok().filter(|_| record.kind == Kind::End).map(i32::from_le_bytes)
}

/// Screens of a file up to a moment, told one after the other. Ends where the stream is damaged.
pub(super) fn screens(records: &[Record<'_>], until: i64, mut tell: impl FnMut(&Frame)) {
    let shown: Vec<&Record<'_>> = records.iter().filter(|it| it.kind == Kind::Screen && it.at <= until).collect();
    let packed: Vec<u8> = shown.iter().flat_map(|record| record.content).copied().collect();
    let mut text = Vec::new();
    // The stream has no end before the program has: what was unpacked until then counts.
    if let Err(error) = DeflateDecoder::new(packed.as_slice()).take(UNPACKED).read_to_end(&mut text) {
        tracing::trace!("the recording goes on: {error}");
    }
    let mut frame = Frame::default();
    for (record, line) in shown.iter().zip(text.split(|byte| *byte == b'\n')) {
        let Ok(delta) = serde_json::from_slice::<Delta>(line) else { return };
        delta.apply(&mut frame, record.at);
        tell(&frame);
    }
}

/// Packs the screens of one file.
pub(super) struct Packer(DeflateEncoder<Vec<u8>>);

impl Packer {
    pub(super) fn new() -> Self {
        Self(DeflateEncoder::new(Vec::new(), flate2::Compression::default()))
    }

    /// The record of one change.
    pub(super) fn screen(&mut self, delta: &Delta, at: i64) -> io::Result<Vec<u8>> {
        serde_json::to_writer(&mut self.0, delta)?;
        self.0.write_all(b"\n")?;
        self.0.flush()?;
        Ok(record(Kind::Screen, at, &std::mem::take(self.0.get_mut())))
    }
}
