//! The file that keeps output which outgrew memory: made when needed, bounded, readable by position.
//!
//! A thread of its own writes it beside the reader, so that a flood runs as fast as its reader does; the ring between
//! them bounds how far it may lag.

use super::log::TAIL;
use crate::exec::LogState;
use crate::exec::process::record::Process;
use crate::lock::lock;
use std::fs::{DirBuilder, File};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

/// How long the end of a command waits for its spill file.
const CATCH_UP: Duration = Duration::from_secs(3);

/// A bounded file that may never come to be.
#[derive(Debug)]
pub(crate) struct Spill {
    path: PathBuf,
    limit: u64,
    written: u64,
    file: Option<File>,
    begun: bool,
    /// The disk refused; nothing more is tried, memory still holds head and tail.
    failed: bool,
}

impl Spill {
    /// `limit` is the largest size in bytes.
    pub(crate) fn new(path: PathBuf, limit: u64) -> Self {
        Self { path, limit, written: 0, file: None, begun: false, failed: limit == 0 }
    }

    /// A file that somebody else writes to, or wrote to; it is only read.
    pub(crate) fn reopened(path: PathBuf) -> Self {
        let file = match File::open(&path) {
            Ok(file) => Some(file),
            Err(error) => {
                tracing::warn!("cannot read the log {}: {error}", path.display());
                None
            }
        };
        Self { path, limit: 0, written: 0, failed: false, file, begun: true }
    }

    /// At most `most` bytes that were added to it after `from`.
    pub(crate) fn added(&mut self, from: u64, most: u64) -> Vec<u8> {
        let Some(file) = &self.file else { return Vec::new() };
        let end = file.metadata().map_or(0, |about| about.len()).min(from + most);
        self.written = self.written.max(end);
        self.read(from, end)
    }

    /// What became of the output that belongs into it.
    pub(crate) fn state(&self) -> LogState {
        match (self.failed && self.limit > 0, self.limit > 0 && self.written >= self.limit) {
            (true, _) => LogState::Failed,
            (false, true) => LogState::Full,
            (false, false) => LogState::Whole,
        }
    }

    /// Where it is, or will be.
    pub(crate) fn target_path(&self) -> &Path {
        &self.path
    }

    /// True the first time.
    pub(crate) fn begin(&mut self) -> bool {
        !std::mem::replace(&mut self.begun, true) && !self.failed
    }

    /// More may be written.
    pub(crate) fn busy(&self) -> bool {
        self.begun && !self.failed && self.written < self.limit
    }

    /// Bytes that the ring may take at `total` before it would overwrite what is not written yet.
    pub(crate) fn room(&self, total: u64) -> usize {
        if self.failed || self.written >= self.limit || total <= self.written {
            return TAIL;
        }
        let waiting = total - self.written.max(super::log::HEAD as u64).min(total);
        (TAIL as u64).saturating_sub(waiting) as usize
    }

    /// Appends `bytes` to the file (made the first time) and gives a handle of it; [`Self::note`] takes the result.
    /// Needs no lock, so that reading goes on meanwhile.
    #[cfg(test)]
    pub(crate) fn write(&self, bytes: &[u8]) -> std::io::Result<File> {
        write(self.target(), bytes)
    }

    fn target(&self) -> Target {
        match self.file.as_ref().map(File::try_clone) {
            Some(Ok(file)) => Target::Open(file),
            Some(Err(error)) => Target::Broken(error),
            None => Target::New(self.path.clone()),
        }
    }

    pub(crate) fn note(&mut self, result: std::io::Result<File>, count: usize) {
        match result {
            Ok(file) => {
                self.file.get_or_insert(file);
                self.written += count as u64;
            }
            Err(error) => {
                self.failed = true;
                if is_full(&error) {
                    // The file is empty now.
                    (self.file, self.written) = (None, 0);
                }
                tracing::warn!("could not keep output in {}: {error}", self.path.display());
            }
        }
    }

    /// Bytes `from..to` as far as they were written.
    pub(crate) fn read(&self, from: u64, to: u64) -> Vec<u8> {
        let to = to.min(self.written);
        let Some(file) = &self.file else { return Vec::new() };
        let mut bytes = vec![0; to.saturating_sub(from) as usize];
        match file.read_exact_at(&mut bytes, from) {
            Ok(()) => bytes,
            Err(_) => Vec::new(),
        }
    }

    /// The file, when there is one.
    pub(crate) fn path(&self) -> Option<PathBuf> {
        self.file.as_ref().map(|_| self.path.clone())
    }

    /// Bytes in it.
    pub(crate) fn written(&self) -> u64 {
        self.written
    }

    /// Bytes that it may hold.
    pub(crate) fn limit(&self) -> u64 {
        self.limit
    }
}

/// Where bytes go.
enum Target {
    Open(File),
    New(PathBuf),
    Broken(std::io::Error),
}

fn write(target: Target, bytes: &[u8]) -> std::io::Result<File> {
    let mut file = match target {
        Target::Open(file) => file,
        Target::Broken(error) => return Err(error),
        Target::New(path) => {
            if let Some(folder) = path.parent() {
                DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
            }
            // Output may hold secrets: only the user reads it. Its name is its own: what another process kept stays.
            File::options().create_new(true).write(true).read(true).mode(0o600).open(path)?
        }
    };
    if let Err(error) = file.write_all(bytes) {
        if is_full(&error) {
            // A beginning without its end is worth less than room for everything else that has to be saved.
            file.set_len(0)?;
        }
        return Err(error);
    }
    Ok(file)
}

/// No more fits on the disk.
fn is_full(error: &std::io::Error) -> bool {
    matches!(error.kind(), std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded)
}

/// Starts the writer of a process whose output has outgrown memory.
pub(crate) fn start(process: &Arc<Process>) {
    let writer = Arc::clone(process);
    let started = std::thread::Builder::new().name("exec-spill".into()).spawn(move || run(&writer));
    if let Err(error) = started {
        lock(&process.out).log.spilled(Err(error), 0);
    }
}

fn run(process: &Process) {
    let mut bytes = Vec::new();
    loop {
        let target = {
            let mut out = lock(&process.out);
            loop {
                if out.log.unspilled(&mut bytes) {
                    break;
                }
                if out.ended || !out.log.spill().busy() {
                    return;
                }
                out = process.flow.wait(out).unwrap_or_else(PoisonError::into_inner);
            }
            out.log.spill().target()
        };
        let result = write(target, &bytes);
        let state = {
            let mut out = lock(&process.out);
            out.log.spilled(result, bytes.len());
            out.log.spill().state()
        };
        process.flow.notify_all();
        if state != LogState::Whole {
            process.changed();
        }
    }
}

/// Waits until `count` more bytes fit without losing what is not written yet.
pub(crate) fn wait_for_room(process: &Process, count: usize) {
    let mut out = lock(&process.out);
    while out.log.room() < count {
        out = process.flow.wait(out).unwrap_or_else(PoisonError::into_inner);
    }
}

/// Waits until the file is complete, or the disk is too slow for that.
pub(crate) fn catch_up(process: &Process) {
    let deadline = Instant::now() + CATCH_UP;
    let mut out = lock(&process.out);
    while !out.log.all_spilled() {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        out = process.flow.wait_timeout(out, left).unwrap_or_else(PoisonError::into_inner).0;
    }
}
