//! Records of a journal: a head with length and checksum, then JSON, deflated where that makes it smaller. A record that is
//! torn or has a flipped byte is skipped: the next one is found by its mark and its checksum.

use crate::protocol::{Item, ItemId};
use crate::store::{Command, FileChange};
use flate2::{Compress, Compression, Crc, FlushCompress, read::DeflateDecoder};
use serde::{Deserialize, Serialize};
use std::io::Read as _;

/// What a head begins with: a line of its own, `~1j LENGTH CHECKSUM`, the last two in eight hexadecimal digits each.
const MARK: &[u8] = b"\n~1";
/// Bytes of a head with its line ends.
const HEAD: usize = MARK.len() + 1 + 1 + 8 + 1 + 8 + 1;
/// JSON shorter than this stays as it is: there is little to gain.
const SHORT: usize = 256;
/// The first level that looks for what stood before and gives letters codes of their own; the next ones cost more and save
/// next to nothing.
const LEVEL: u32 = 2;
/// A record that unfolds to more than this is damaged or not ours.
const LARGEST: u64 = 1 << 30;

/// One thing that happened to a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(clippy::large_enum_variant, reason = "nearly all are items, and none lives long")]
pub(in crate::store) enum Record {
    /// What a session is; a later one wins.
    Session(Head),
    Item(Item),
    /// The answer that streams: so many bytes of what stood before it stay, and this follows.
    Stream {
        turn: u32,
        at: i64,
        keep: [usize; 2],
        text: String,
        reasoning: String,
    },
    /// The rewind of this number left these items out of the conversation.
    Rewind {
        number: i64,
        first: ItemId,
        last: ItemId,
    },
    /// The rewind of this number was taken back.
    Redo {
        number: i64,
    },
    /// A named value of the session: grants, plan, effort. A later one wins; null: it has none.
    Fact {
        name: String,
        value: serde_json::Value,
    },
    /// A command began; with changes: it ended, and the database did not take that.
    Command {
        command: Command,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        changes: Option<Vec<FileChange>>,
    },
}

/// Enough to make a session's row anew.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(in crate::store) struct Head {
    pub id: String,
    #[serde(default)]
    pub title: Option<String>,
    #[serde(default)]
    pub source: String,
    #[serde(default)]
    pub cwd: String,
    #[serde(default)]
    pub model: String,
    #[serde(default)]
    pub started_at: i64,
}

/// Writes records; keeps the tables of the deflater, which are larger than most records.
pub(super) struct Packer {
    deflater: Compress,
    packed: Vec<u8>,
}

impl Default for Packer {
    fn default() -> Self {
        Self { deflater: Compress::new(Compression::new(LEVEL), false), packed: Vec::new() }
    }
}

impl Packer {
    /// Adds a record to the bytes that are to be written.
    pub fn put(&mut self, record: &Record, into: &mut Vec<u8>) -> serde_json::Result<()> {
        let json = serde_json::to_vec(record)?;
        if json.len() >= SHORT && self.deflate(&json) {
            frame(b'z', &self.packed, into);
        } else {
            frame(b'j', &json, into);
        }
        Ok(())
    }

    /// Whether that made it smaller.
    fn deflate(&mut self, json: &[u8]) -> bool {
        self.deflater.reset();
        self.packed.clear();
        self.packed.reserve(json.len());
        // The room is that of the text itself: what does not fit is no smaller.
        let done = self.deflater.compress_vec(json, &mut self.packed, FlushCompress::Finish);
        matches!(done, Ok(flate2::Status::StreamEnd))
    }
}

fn frame(kind: u8, payload: &[u8], into: &mut Vec<u8>) {
    into.extend_from_slice(MARK);
    into.push(kind);
    into.extend_from_slice(format!(" {:08x} {:08x}\n", payload.len(), sum(kind, payload)).as_bytes());
    into.extend_from_slice(payload);
}

fn sum(kind: u8, payload: &[u8]) -> u32 {
    let mut crc = Crc::new();
    crc.update(&[kind]);
    crc.update(payload);
    crc.sum()
}

/// What a journal holds.
#[derive(Debug, Default)]
pub(super) struct Read {
    pub records: Vec<Record>,
    /// Places where something stood that is no whole record.
    pub damaged: u64,
}

/// Reads whole records; what is torn or damaged is stepped over.
pub(super) fn read(bytes: &[u8]) -> Read {
    let mut read = Read::default();
    let (mut at, mut in_damage) = (0, false);
    while at < bytes.len() {
        match one(&bytes[at..]) {
            Some((record, length)) => {
                read.records.push(record);
                (at, in_damage) = (at + length, false);
            }
            None => {
                read.damaged += u64::from(!in_damage);
                in_damage = true;
                at = match memchr::memmem::find(&bytes[at + 1..], MARK) {
                    Some(next) => at + 1 + next,
                    None => bytes.len(),
                };
            }
        }
    }
    read
}

/// The record that begins here, and its length.
fn one(bytes: &[u8]) -> Option<(Record, usize)> {
    let head = bytes.get(..HEAD)?;
    if !head.starts_with(MARK) {
        return None;
    }
    let kind = head[MARK.len()];
    let mut words = std::str::from_utf8(&head[MARK.len() + 1..]).ok()?.split_ascii_whitespace();
    let length = usize::try_from(u32::from_str_radix(words.next()?, 16).ok()?).ok()?;
    let wanted = u32::from_str_radix(words.next()?, 16).ok()?;
    let payload = bytes.get(HEAD..HEAD.checked_add(length)?)?;
    if sum(kind, payload) != wanted {
        return None;
    }
    let record = match kind {
        b'j' => serde_json::from_slice(payload).ok()?,
        b'z' => {
            let mut json = Vec::with_capacity(payload.len() * 4);
            DeflateDecoder::new(payload).take(LARGEST).read_to_end(&mut json).ok()?;
            serde_json::from_slice(&json).ok()?
        }
        _ => return None,
    };
    Some((record, HEAD + length))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{Body, NoteKind};

    fn item(number: i64, text: &str) -> Record {
        let body = Body::Note { kind: NoteKind::Info, text: text.to_owned() };
        Record::Item(Item { id: ItemId(number), at: number, turn: 1, body })
    }

    fn written(records: &[Record]) -> (Vec<u8>, Vec<usize>) {
        let (mut packer, mut bytes, mut ends) = (Packer::default(), Vec::new(), Vec::new());
        for record in records {
            packer.put(record, &mut bytes).unwrap();
            ends.push(bytes.len());
        }
        (bytes, ends)
    }

    fn some() -> Vec<Record> {
        let long = "the same words again and again ".repeat(200);
        let noise: String = (0..3000).map(|_| fastrand::char(' '..'~')).collect();
        [item(1, "short"), item(2, &long), item(3, &noise), item(4, "\n~1j 00000005 00000000\nhello"), item(5, "")]
            .into()
    }

    #[test]
    fn records_come_back() {
        let records = some();
        let (bytes, ends) = written(&records);
        assert!(ends[1] - ends[0] < 1000, "long text is deflated");
        let read = read(&bytes);
        assert_eq!((read.records, read.damaged), (records, 0));
    }

    #[test]
    fn a_torn_end_costs_the_last_record_alone() {
        let records = some();
        let (bytes, ends) = written(&records);
        for cut in (0..bytes.len()).step_by(7) {
            let whole = ends.iter().filter(|end| **end <= cut).count();
            let read = read(&bytes[..cut]);
            assert_eq!(read.records, records[..whole], "cut at {cut}");
            assert_eq!(read.damaged, u64::from(cut > 0 && !ends.contains(&cut)));
        }
        // And what is written after it is read.
        let mut glued = bytes[..ends[1] + 30].to_vec();
        glued.extend_from_slice(&bytes[ends[3]..]);
        assert_eq!(read(&glued).records, [records[0].clone(), records[1].clone(), records[4].clone()]);
    }

    #[test]
    fn a_flipped_byte_costs_its_record_alone() {
        let records = some();
        let (bytes, ends) = written(&records);
        for at in 0..bytes.len() {
            let mut flipped = bytes.clone();
            flipped[at] ^= 1 << (at % 8);
            let hit = ends.iter().filter(|end| **end <= at).count();
            let mut wanted = records.clone();
            wanted.remove(hit);
            let got = read(&flipped).records;
            // Letters of a hexadecimal number may change their case and mean the same.
            assert!(got == wanted || got == records, "a flip at {at} lost more: {} records left", got.len());
        }
    }
}
