//! The part of a file that has come, and beside it where it comes from: a part is never gone on with by another file.

use super::super::shelf::{FROM, PART};
use super::{FetchError, Progress, REPORT, Wanted};
use crate::fs::{WriteError, write_whole};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fs::{File, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// Where a part comes from: kept in `NAME.from`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Origin {
    pub url: String,
    /// What the host calls this version of it; empty: it does not say.
    pub etag: String,
    /// Of the whole file.
    pub bytes: Option<u64>,
    /// Of the whole file, as it was known beforehand.
    pub sha256: Option<String>,
}

impl Origin {
    /// Whether what is wanted is this file. Where a hash is known, any host has the same.
    fn is_of(&self, wanted: &Wanted) -> bool {
        let known = |one: Option<u64>, other: Option<u64>| one.zip(other).is_none_or(|(one, other)| one == other);
        let same = match (&wanted.sha256, &self.sha256) {
            (Some(hash), known) => known.as_ref() == Some(hash),
            (None, _) => wanted.from.contains(&self.url) && is_strong(&self.etag),
        };
        same && known(self.bytes, wanted.bytes)
    }
}

/// Whether a tag stands for the same bytes: a weak one means only that they say the same.
fn is_strong(etag: &str) -> bool {
    !etag.is_empty() && !etag.starts_with("W/")
}

/// What came so far. Locked, so that one process writes it.
pub(super) struct Part {
    path: PathBuf,
    file: File,
    pub done: u64,
    hash: Sha256,
    origin: Origin,
}

impl Part {
    pub(super) fn open(wanted: &Wanted) -> Result<Self, FetchError> {
        let path = beside(&wanted.file, PART);
        let fail = |error: std::io::Error| WriteError::new(&path, &error);
        let file = File::options().read(true).write(true).create(true).truncate(false).open(&path).map_err(fail)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(FetchError::Busy { title: wanted.title.clone() }),
            // Some network disks have no locks.
            Err(TryLockError::Error(error)) => tracing::warn!("no lock on {}: {error}", path.display()),
        }
        let done = file.metadata().map_err(fail)?.len();
        let too_long = wanted.bytes.is_some_and(|bytes| done > bytes);
        let told = std::fs::read_to_string(beside(&wanted.file, FROM)).ok();
        let origin: Option<Origin> = told.and_then(|text| serde_json::from_str(&text).ok());
        // Where nothing is kept of it, only a hash can tell at the end that two files were mixed.
        let same = origin.as_ref().map_or(wanted.sha256.is_some(), |origin| origin.is_of(wanted));
        let mut part = Self { path, file, done, hash: Sha256::new(), origin: origin.unwrap_or_default() };
        if too_long || !same {
            part.restart()?;
        }
        Ok(part)
    }

    /// Whether what came is of the version that a host has now, as far as it says.
    pub(super) fn is_version(&self, url: &str, etag: &str, bytes: Option<u64>) -> bool {
        self.origin.url == url && self.origin.etag == etag && self.origin.bytes == bytes
    }

    /// Keeps where the first bytes come from.
    pub(super) fn begins(
        &mut self,
        wanted: &Wanted,
        url: &str,
        etag: &str,
        bytes: Option<u64>,
    ) -> Result<(), WriteError> {
        let origin = Origin { url: url.to_owned(), etag: etag.to_owned(), bytes, sha256: wanted.sha256.clone() };
        if self.origin != origin {
            let text = serde_json::to_string_pretty(&origin).unwrap_or_default();
            write_whole(&beside(&wanted.file, FROM), &text)?;
            self.origin = origin;
        }
        Ok(())
    }

    /// Reads what is here into the hash: some 2 s a gigabyte, on a thread that may block.
    pub(super) async fn read_again(
        &mut self,
        wanted: &Wanted,
        pause: &CancellationToken,
        tell: &(dyn Fn(Progress) + Sync),
    ) -> Result<(), FetchError> {
        if self.done == 0 {
            return Ok(());
        }
        // It shares its position with ours: at the end both stand where the next bytes go.
        let file = self.file.try_clone().map_err(|error| WriteError::new(&self.path, &error))?;
        let (steps, mut told) = mpsc::unbounded_channel();
        let stop = pause.clone();
        let mut work = tokio::task::spawn_blocking(move || hashed(file, &stop, &steps));
        let of = wanted.bytes.unwrap_or(self.done);
        let read = loop {
            tokio::select! {
                Some(done) = told.recv() => tell(Progress::Checking { done, of }),
                read = &mut work => break read.unwrap_or_else(|error| Err(std::io::Error::other(error))),
            }
        };
        let Some((hash, done)) = read.map_err(|error| WriteError::new(&self.path, &error))? else {
            return Err(FetchError::Paused);
        };
        (self.hash, self.done) = (hash, done);
        Ok(())
    }

    pub(super) fn write(&mut self, piece: &[u8]) -> Result<(), WriteError> {
        self.file.write_all(piece).map_err(|error| WriteError::new(&self.path, &error))?;
        self.hash.update(piece);
        self.done += piece.len() as u64;
        Ok(())
    }

    /// Waits, where that may block, until the disk has it.
    pub(super) async fn flush(&self) -> Result<(), WriteError> {
        let fail = |error: std::io::Error| WriteError::new(&self.path, &error);
        let file = self.file.try_clone().map_err(fail)?;
        let synced = tokio::task::spawn_blocking(move || file.sync_data()).await;
        synced.unwrap_or_else(|error| Err(std::io::Error::other(error))).map_err(fail)
    }

    pub(super) fn restart(&mut self) -> Result<(), WriteError> {
        let fail = |error: std::io::Error| WriteError::new(&self.path, &error);
        self.file.set_len(0).map_err(fail)?;
        self.file.seek(SeekFrom::Start(0)).map_err(fail)?;
        (self.done, self.hash) = (0, Sha256::new());
        Ok(())
    }

    /// The whole of it is here: it is checked and gets its name.
    pub(super) async fn settle(&mut self, wanted: &Wanted, host: &str) -> Result<(), FetchError> {
        let found: String =
            std::mem::take(&mut self.hash).finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        if let Some(hash) = wanted.sha256.as_ref().filter(|hash| **hash != found) {
            self.restart()?;
            return Err(FetchError::Hash {
                title: wanted.title.clone(),
                host: host.to_owned(),
                wanted: hash.clone(),
                found,
            });
        }
        self.flush().await?;
        std::fs::rename(&self.path, &wanted.file).map_err(|error| WriteError::new(&wanted.file, &error))?;
        Ok(())
    }
}

fn beside(file: &Path, end: &str) -> PathBuf {
    let mut name = file.to_path_buf().into_os_string();
    name.push(format!(".{end}"));
    PathBuf::from(name)
}

/// The hash of all that a file has, and its length; `None`: it was stopped.
fn hashed(
    mut file: File,
    stop: &CancellationToken,
    told: &mpsc::UnboundedSender<u64>,
) -> std::io::Result<Option<(Sha256, u64)>> {
    file.seek(SeekFrom::Start(0))?;
    let (mut block, mut read, mut hash, mut at) = (vec![0; 1 << 20], 0, Sha256::new(), Instant::now());
    while !stop.is_cancelled() {
        let count = file.read(&mut block)?;
        if count == 0 {
            return Ok(Some((hash, read)));
        }
        hash.update(block.get(..count).unwrap_or_default());
        read += count as u64;
        if at.elapsed() > REPORT {
            at = Instant::now();
            // Nobody has to hear it.
            let _ = told.send(read);
        }
    }
    Ok(None)
}
