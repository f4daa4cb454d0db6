//! The folders of recordings: their names, what they take, and what is dropped.

use super::Head;
use crate::fs::remove;
use crate::protocol::SessionId;
use std::io;
use std::path::{Path, PathBuf};

/// Where they are in the home.
const FOLDER: &str = "recordings";
/// How their files end.
pub(super) const ENDING: &str = ".rec";
/// What a file takes on most disks, however small it is.
const BLOCK: u64 = 4096;

/// What recordings take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Used {
    pub files: u64,
    /// On the disk: each file takes whole blocks.
    pub bytes: u64,
}

/// The folder of a session's recordings. Sessions that were taken in from elsewhere may have any name.
#[must_use]
pub fn folder(home: &Path, session: &str) -> PathBuf {
    home.join(FOLDER).join(SessionId::from(session).file_name())
}

/// How the names of a terminal's files begin.
pub(super) fn stem(head: &Head) -> String {
    format!("{:013}-{}.", head.started_at, SessionId::from(head.id.as_str()).file_name())
}

/// The name of a terminal's file by its number. In the order of their names they are in that of time.
pub(super) fn file_name(head: &Head, number: u32) -> String {
    format!("{}{number:05}{ENDING}", stem(head))
}

/// A recording on the disk.
struct Kept {
    path: PathBuf,
    bytes: u64,
    changed: std::time::SystemTime,
}

fn all(home: &Path) -> Vec<Kept> {
    let mut found = Vec::new();
    let sessions = std::fs::read_dir(home.join(FOLDER)).into_iter().flatten().flatten();
    for session in sessions.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
        let files = std::fs::read_dir(session.path()).into_iter().flatten().flatten();
        for file in files.filter(|file| file.file_name().to_string_lossy().ends_with(ENDING)) {
            let Ok(about) = file.metadata() else { continue };
            let changed = about.modified().unwrap_or(std::time::UNIX_EPOCH);
            found.push(Kept { path: file.path(), bytes: about.len().div_ceil(BLOCK) * BLOCK, changed });
        }
    }
    found
}

/// What all recordings of a home take.
#[must_use]
pub fn used(home: &Path) -> Used {
    all(home).iter().fold(Used::default(), |sum, kept| Used { files: sum.files + 1, bytes: sum.bytes + kept.bytes })
}

/// The folders of recordings, with what each takes on the disk and when something of it was changed last.
#[must_use]
pub fn folders(home: &Path) -> Vec<(PathBuf, u64, std::time::SystemTime)> {
    let mut found: Vec<(PathBuf, u64, std::time::SystemTime)> = Vec::new();
    for kept in all(home) {
        let Some(folder) = kept.path.parent() else { continue };
        match found.iter_mut().find(|(known, ..)| known == folder) {
            Some((_, bytes, changed)) => {
                *bytes += kept.bytes;
                *changed = (*changed).max(kept.changed);
            }
            None => found.push((folder.to_owned(), kept.bytes, kept.changed)),
        }
    }
    found
}

/// Drops the oldest recordings when all together take more than `limit` bytes, so that a tenth of it is free again. Returns
/// what is left.
#[must_use]
pub fn prune(home: &Path, limit: u64) -> u64 {
    let mut kept = all(home);
    let mut bytes: u64 = kept.iter().map(|kept| kept.bytes).sum();
    if bytes <= limit {
        return bytes;
    }
    kept.sort_by(|a, b| a.changed.cmp(&b.changed).then_with(|| a.path.cmp(&b.path)));
    for oldest in kept {
        if bytes <= limit / 10 * 9 {
            break;
        }
        if drop_file(home, &oldest.path) {
            bytes -= oldest.bytes;
        }
    }
    bytes
}

/// Drops one file; whether it is gone.
pub(super) fn drop_file(home: &Path, path: &Path) -> bool {
    match remove::file(remove::File::Recording, home, path) {
        Ok(_) => {
            remove::emptied(home, path.parent().unwrap_or(path));
            true
        }
        Err(error) => {
            tracing::warn!("{error}");
            false
        }
    }
}

/// Removes what was recorded of a session.
///
/// # Errors
/// A file cannot be removed; those before it are gone.
pub fn remove(home: &Path, session: &str) -> io::Result<()> {
    clear(home, &folder(home, session))
}

/// Removes the recordings in one of [`folders`].
///
/// # Errors
/// As [`remove`].
pub fn clear(home: &Path, folder: &Path) -> io::Result<()> {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    for entry in entries {
        let path = entry?.path();
        if path.extension().is_some_and(|ending| ending == "rec") {
            remove::file(remove::File::Recording, home, &path)?;
        }
    }
    remove::emptied(home, folder);
    Ok(())
}
