//! What lies between the ends of output that outgrew memory: looked through in its file for lines that look like errors.

use crate::exec::{Captured, plain};
use crate::text::digest::Found;
use crate::text::digest::alarm::{self, Alarm};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Bytes of the file that are read at a time, and at most: a flood costs no more time than this.
const CHUNK: usize = 1024 * 1024;
const MAX_READ_BYTES: u64 = 32 * 1024 * 1024;
/// Errors that are taken, and warnings.
const ENOUGH: usize = 20;
/// Bytes of a line that are looked at.
const LINE: usize = 4_096;
/// Characters of a line that are kept.
const CHARS: usize = 300;

/// What was found.
#[derive(Default)]
pub(super) struct Gap {
    pub found: Vec<Found>,
    /// The number of the first line behind it, when all of it was counted.
    pub first_after: Option<u64>,
}

/// Looks at what lies between the first `head_end` bytes of the head and the tail from `tail_begin` on.
pub(super) fn look(captured: &Captured, head_end: usize, tail_begin: usize) -> Gap {
    let mut eye = Eye { line: alarm::count(&captured.head[..head_end]) + 1, counts: [0; 2], found: Vec::new() };
    eye.see(&captured.head[head_end..]);
    let (from, to) = (captured.head.len() as u64, captured.total - captured.tail.len() as u64);
    let reached = captured.spill.as_ref().and_then(|path| {
        let end = to.min(captured.spilled).min(from + MAX_READ_BYTES);
        between(path, from, end, &mut eye).map_err(|error| tracing::warn!("{}: {error}", path.display())).ok()?;
        Some(end)
    });
    let counted = reached == Some(to);
    eye.see(&captured.tail[..tail_begin]);
    Gap { first_after: counted.then_some(eye.line), found: eye.found }
}

fn between(path: &std::path::Path, mut at: u64, to: u64, eye: &mut Eye) -> io::Result<()> {
    let file = File::open(path)?;
    let mut buffer = vec![0; CHUNK];
    let mut kept = 0;
    while at < to {
        let want = usize::try_from(to - at).unwrap_or(CHUNK).min(CHUNK - kept);
        let got = file.read_at(&mut buffer[kept..kept + want], at)?;
        if got == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        at += got as u64;
        let filled = kept + got;
        // Whole lines, but for one that fills everything.
        let end = memchr::memrchr(b'\n', &buffer[..filled]).map_or(filled, |at| at + 1);
        let end = if at >= to { filled } else { end };
        eye.see(&buffer[..end]);
        buffer.copy_within(end..filled, 0);
        kept = filled - end;
    }
    Ok(())
}

/// Looks at bytes in their order and counts lines.
struct Eye {
    line: u64,
    /// Errors and warnings that were found.
    counts: [usize; 2],
    found: Vec<Found>,
}

impl Eye {
    fn see(&mut self, bytes: &[u8]) {
        if self.counts[0] < ENOUGH {
            for (range, before) in alarm::candidates(bytes) {
                let raw = &bytes[range.start..range.end.min(range.start + LINE)];
                let text = plain(raw);
                let Some(alarm) = alarm::of(&text) else { continue };
                let count = &mut self.counts[usize::from(alarm == Alarm::Warning)];
                *count += 1;
                if *count <= ENOUGH {
                    let text = text.trim().chars().take(CHARS).collect();
                    self.found.push(Found { line: Some(self.line + before), text, alarm });
                }
                if self.counts[0] >= ENOUGH {
                    break;
                }
            }
        }
        self.line += alarm::count(bytes);
    }
}
