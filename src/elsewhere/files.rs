//! Files of other agents, read with bounds: regular files only, lines that may be broken, heads and tails for lists.

use super::build::Builder;
use serde_json::Value;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// Bytes of a line; a picture in a prompt fits. What is longer is skipped and counted.
const LINE: usize = 8 << 20;
/// Bytes of a file.
const FILE: u64 = 256 << 20;
/// Files that are looked at below a folder, and how deep.
const WALKED: usize = 50_000;
const DEPTH: usize = 5;
/// Bytes from the start of a file for a list: Codex puts its instructions into the first line.
const HEAD: u64 = 128 << 10;
/// Bytes from its end.
const TAIL: u64 = 16 << 10;

/// A file as it is in a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub path: PathBuf,
    /// Milliseconds since the epoch.
    pub changed_at: i64,
    pub size: u64,
}

/// Regular files below a folder whose name the test takes, newest first. Links to folders are not followed.
pub(super) fn walk(folder: &Path, takes: impl Fn(&str) -> bool) -> Vec<Entry> {
    let (mut found, mut open, mut seen) = (Vec::new(), vec![(folder.to_owned(), 0)], 0);
    while let Some((folder, depth)) = open.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            seen += 1;
            if seen > WALKED {
                break;
            }
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() {
                if depth < DEPTH {
                    open.push((entry.path(), depth + 1));
                }
            } else if kind.is_file()
                && entry.file_name().to_str().is_some_and(&takes)
                && let Ok(about) = entry.metadata()
            {
                found.push(Entry { path: entry.path(), changed_at: changed_at(&about), size: about.len() });
            }
        }
    }
    found.sort_by(|a, b| b.changed_at.cmp(&a.changed_at).then_with(|| b.path.cmp(&a.path)));
    found
}

/// When a file was changed last, in milliseconds since the epoch.
pub(super) fn changed_at(about: &Metadata) -> i64 {
    let since = about.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    since.and_then(|since| i64::try_from(since.as_millis()).ok()).unwrap_or_default()
}

/// Opens a regular file; a pipe or a device is refused and never waited for.
pub(super) fn open(path: &Path) -> Result<File, String> {
    let told = |error: std::io::Error| format!("{}: {}", path.display(), error.to_string().to_lowercase());
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path).map_err(told)?;
    let about = file.metadata().map_err(told)?;
    if !about.is_file() {
        return Err(format!("{}: not a regular file", path.display()));
    }
    Ok(file)
}

/// A file of JSON lines, as long as it was when it was opened: another program may go on writing.
pub(super) struct Records {
    path: PathBuf,
    size: u64,
}

impl Records {
    pub fn open(path: &Path) -> Result<Self, String> {
        let size = open(path)?.metadata().map_err(|error| error.to_string())?.len();
        Ok(Self { path: path.to_owned(), size })
    }

    /// Hands on the values one after another, none of which is kept here, and tells the builder of what was left out: lines that
    /// were broken or too long, and what lies beyond [`FILE`].
    pub fn read(
        &self,
        builder: &mut Builder<'_>,
        mut each: impl FnMut(&mut Builder<'_>, &Value),
    ) -> Result<(), String> {
        let broken = self.each(|value| each(builder, value))?;
        builder.leave_out_many("broken lines", broken);
        builder.leave_out_many("bytes beyond the first 256 MB", self.size.saturating_sub(FILE));
        Ok(())
    }

    /// The same without a builder; returns the number of broken lines.
    pub fn each(&self, mut each: impl FnMut(&Value)) -> Result<u64, String> {
        let mut reader = BufReader::with_capacity(64 << 10, open(&self.path)?.take(self.size.min(FILE)));
        let (mut broken, mut line) = (0, Vec::new());
        loop {
            line.clear();
            match read_line(&mut reader, &mut line) {
                Ok(None) => return Ok(broken),
                Ok(Some(whole)) => {
                    let text = String::from_utf8_lossy(&line);
                    let text = text.trim_start_matches('\u{feff}').trim();
                    match whole.then(|| serde_json::from_str(text)) {
                        _ if whole && text.is_empty() => {}
                        Some(Ok(value @ Value::Object(_))) => each(&value),
                        _ => broken += 1,
                    }
                }
                Err(error) => return Err(format!("{}: {}", self.path.display(), error.to_string().to_lowercase())),
            }
        }
    }
}

/// One line, at most [`LINE`] of it: whether that is all of it; `None` at the end.
fn read_line(reader: &mut impl BufRead, line: &mut Vec<u8>) -> std::io::Result<Option<bool>> {
    let (mut any, mut whole) = (false, true);
    loop {
        let here = reader.fill_buf()?;
        if here.is_empty() {
            return Ok(any.then_some(whole));
        }
        any = true;
        let end = here.iter().position(|byte| *byte == b'\n');
        let used = end.map_or(here.len(), |end| end + 1);
        if line.len() + used <= LINE {
            line.extend_from_slice(&here[..used]);
        } else {
            whole = false;
        }
        reader.consume(used);
        if end.is_some() {
            return Ok(Some(whole));
        }
    }
}

/// What a list needs of a file: the values of its first lines and of its last ones, and whether these are all.
pub(super) struct Ends {
    pub head: Vec<Value>,
    pub tail: Vec<Value>,
    pub whole: bool,
}

/// Reads both ends of a file. Lines that are cut by the bounds are left out.
pub(super) fn ends(path: &Path) -> Result<Ends, String> {
    let told = |error: std::io::Error| format!("{}: {}", path.display(), error.to_string().to_lowercase());
    let mut file = open(path)?;
    let size = file.metadata().map_err(told)?.len();
    let mut bytes = Vec::new();
    Read::by_ref(&mut file).take(HEAD).read_to_end(&mut bytes).map_err(told)?;
    let whole = size <= HEAD;
    let head = values(&bytes, false, !whole);
    let mut tail = Vec::new();
    if !whole {
        bytes.clear();
        file.seek(SeekFrom::Start(size.saturating_sub(TAIL).max(HEAD))).map_err(told)?;
        file.take(TAIL).read_to_end(&mut bytes).map_err(told)?;
        tail = values(&bytes, true, false);
    }
    Ok(Ends { head, tail, whole })
}

/// The objects among these lines, without a first or a last one that may be cut.
fn values(bytes: &[u8], first_is_cut: bool, last_is_cut: bool) -> Vec<Value> {
    let text = String::from_utf8_lossy(bytes);
    let mut lines: Vec<&str> = text.lines().skip(usize::from(first_is_cut)).collect();
    if last_is_cut {
        lines.pop();
    }
    lines.into_iter().filter_map(|line| serde_json::from_str(line.trim()).ok()).filter(Value::is_object).collect()
}

/// One small JSON file.
pub(super) fn json(path: &Path) -> Option<Value> {
    let mut text = Vec::new();
    open(path).ok()?.take(LINE as u64).read_to_end(&mut text).ok()?;
    serde_json::from_slice(&text).ok()
}

/// A time as records have it: RFC 3339, or milliseconds or seconds since the epoch; in milliseconds.
pub(super) fn time(value: &Value) -> Option<i64> {
    match value {
        Value::String(text) => chrono::DateTime::parse_from_rfc3339(text).ok().map(|time| time.timestamp_millis()),
        Value::Number(number) => {
            let number = number.as_f64().filter(|number| number.is_finite() && *number > 0.0)?;
            // Seconds until the year 5138.
            Some(if number < 1e11 { (number * 1000.0).round() as i64 } else { number.round() as i64 })
        }
        _ => None,
    }
}
