//! The file that keeps output which outgrew memory: made when needed, bounded, readable by position.

use std::fs::File;
use std::io::Write;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::PathBuf;

/// A bounded file that may never come to be.
#[derive(Debug)]
pub(crate) struct Spill {
    path: PathBuf,
    limit: u64,
    written: u64,
    file: Option<File>,
    /// The disk refused; nothing more is tried, memory still holds head and tail.
    failed: bool,
}

impl Spill {
    /// `limit` is the largest size in bytes.
    pub(crate) fn new(path: PathBuf, limit: u64) -> Self {
        Self { path, limit, written: 0, file: None, failed: limit == 0 }
    }

    /// Appends `bytes`, after `head` when it is the first time.
    pub(crate) fn write(&mut self, head: &[u8], bytes: &[u8]) {
        if self.failed || self.written >= self.limit {
            return;
        }
        if self.file.is_none() {
            match self.create() {
                Ok(file) => self.file = Some(file),
                Err(error) => return self.give_up(&error),
            }
            self.put(head);
        }
        self.put(bytes);
    }

    fn create(&self) -> std::io::Result<File> {
        if let Some(folder) = self.path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        // Output may hold secrets: only the user reads it.
        File::options().create(true).truncate(true).write(true).read(true).mode(0o600).open(&self.path)
    }

    fn put(&mut self, bytes: &[u8]) {
        let room = (self.limit - self.written).min(bytes.len() as u64) as usize;
        let Some(file) = &mut self.file else { return };
        match file.write_all(&bytes[..room]) {
            Ok(()) => self.written += room as u64,
            Err(error) => self.give_up(&error),
        }
    }

    fn give_up(&mut self, error: &std::io::Error) {
        self.failed = true;
        tracing::warn!("could not keep output in {}: {error}", self.path.display());
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

    /// Another handle that appends to the file.
    pub(crate) fn append_handle(&self) -> std::io::Result<File> {
        match &self.file {
            Some(_) => File::options().append(true).open(&self.path),
            None => Err(std::io::Error::other("no spill file")),
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
}
