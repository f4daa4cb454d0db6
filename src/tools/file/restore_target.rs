//! Where files that tools changed can be looked at and put back: this machine, and the one where work is done now.

use super::disk::Disk;
use super::edit::MAX_BYTES;
use super::write;
use crate::backends::{Backends, Files, Kind, Remote};
use crate::store::{FOLDER, FileState, LINK, hash};
use std::fs;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

/// The machines whose files can be looked at and put back: this one, and the other one where work is done now.
#[derive(Clone, Default)]
pub struct RestoreTarget {
    there: Option<Arc<Remote>>,
}

impl RestoreTarget {
    /// As it is now.
    pub fn of(backends: &Backends) -> Self {
        Self { there: backends.current() }
    }

    /// The name of the machine where work is done, as a change keeps it: empty for this one. Not that for people, which
    /// several machines may have, one after another.
    pub fn place(&self) -> String {
        let name = |there: &Arc<Remote>| there.identity().unwrap_or_else(|_| there.label().to_owned());
        self.there.as_ref().map_or_else(String::new, name)
    }

    /// The machine of this name, when it is another one and work is done there.
    fn at(&self, place: &str) -> Result<&Remote, String> {
        let away = || format!("it is on {place}, which is not the current backend: switch with /backend first");
        let there = self.there.as_deref().ok_or_else(away)?;
        // One of another kind need not be reached to be told apart.
        let kind = there.backend().traits().kind;
        let is_alike = place.strip_prefix(kind).is_some_and(|rest| rest.starts_with(' '));
        if is_alike && there.identity().map_err(|error| error.to_string())? == place { Ok(there) } else { Err(away()) }
    }

    fn far(&self, place: &str) -> std::io::Result<&Remote> {
        self.at(place).map_err(std::io::Error::other)
    }

    /// Looks at a path of a machine without following links.
    pub fn look(&self, place: &str, path: &Path) -> Now {
        if place.is_empty() {
            return look(path);
        }
        self.at(place).map_or_else(Now::Other, |there| look_there(there, path))
    }

    /// Permission bits of a file where work is done now.
    pub fn mode(&self, path: &Path) -> Option<u32> {
        match &self.there {
            Some(there) => there.about(path).ok().map(|about| about.mode),
            None => fs::symlink_metadata(path).ok().map(|about| about.permissions().mode() & 0o7777),
        }
    }

    /// The bytes of a file of at most [`MAX_BYTES`], or the target of a link.
    ///
    /// # Errors
    /// When it cannot be read, or is larger.
    pub fn read(&self, place: &str, path: &Path) -> std::io::Result<Vec<u8>> {
        if place.is_empty() && fs::symlink_metadata(path)?.is_symlink() {
            return Ok(fs::read_link(path)?.as_os_str().as_bytes().to_vec());
        }
        if place.is_empty() { Disk.read(path, MAX_BYTES) } else { self.far(place)?.read(path, MAX_BYTES) }
    }

    /// Deletes a file, a link or an empty folder.
    ///
    /// # Errors
    /// When it cannot be.
    pub fn remove(&self, place: &str, path: &Path) -> std::io::Result<()> {
        if place.is_empty() { write::remove(path) } else { self.far(place)?.delete(path) }
    }

    /// Replaces what is at a path by a file, a link or a folder of this state and these bytes.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&self, place: &str, path: &Path, bytes: &[u8], state: &FileState) -> std::io::Result<()> {
        match (place, state.kind()) {
            ("", LINK) => write::link(path, bytes),
            ("", FOLDER) => write::folder(path, state.mode.unwrap_or(0o755)),
            ("", _) => write::atomic_as(path, bytes, state.mode),
            (place, _) => self.far(place)?.write_as(path, bytes, state.mode),
        }
    }
}

fn look_there(there: &Remote, path: &Path) -> Now {
    let other = |error: std::io::Error| Now::Other(error.to_string());
    match there.about(path) {
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Now::Missing,
        Err(error) => other(error),
        Ok(about) if about.kind != Kind::File => Now::Other("it is no longer a regular file".into()),
        Ok(about) if about.len > MAX_BYTES => Now::Other(format!("it now has {} bytes", about.len)),
        Ok(_) if there.resolve(path) != path => Now::Other("its path now contains a link".into()),
        Ok(about) => match there.read(path, MAX_BYTES) {
            Ok(bytes) => Now::File { hash: hash(&bytes), mode: about.mode },
            Err(error) => other(error),
        },
    }
}

/// What stands at a path now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Now {
    Missing,
    File {
        hash: String,
        mode: u32,
    },
    /// The hash of its target.
    Link {
        hash: String,
    },
    Folder {
        mode: u32,
    },
    /// Something that is neither read nor replaced; says what.
    Other(String),
}

impl Now {
    /// The hash of what is there, `Some(None)` when there is nothing; `None` for something that is neither read nor replaced.
    pub fn hash(&self) -> Option<Option<String>> {
        self.state().map(|state| state.hash)
    }

    /// The same as it is written down.
    pub fn state(&self) -> Option<FileState> {
        match self {
            Self::Missing => Some(FileState::default()),
            Self::File { hash, mode } => Some(FileState { hash: Some(hash.clone()), mode: Some(*mode) }),
            Self::Link { hash } => Some(FileState { hash: Some(hash.clone()), mode: Some(LINK | 0o777) }),
            Self::Folder { mode } => Some(FileState { hash: Some(hash(b"")), mode: Some(FOLDER | mode) }),
            Self::Other(_) => None,
        }
    }
}

/// Looks at a path without following links, its folders' included.
fn look(path: &Path) -> Now {
    let mut folder = path.parent();
    while let Some(at) = folder {
        match at.canonicalize() {
            Ok(real) if real == at => break,
            Ok(_) => return Now::Other(format!("{} is now a link", at.display())),
            Err(error) if error.kind() == ErrorKind::NotFound && at.symlink_metadata().is_err() => folder = at.parent(),
            Err(error) => return Now::Other(error.to_string().to_lowercase()),
        }
    }
    let about = match fs::symlink_metadata(path) {
        Ok(about) => about,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return Now::Missing,
        Err(error) => return Now::Other(error.to_string().to_lowercase()),
    };
    let mode = about.permissions().mode() & 0o7777;
    if about.is_symlink() {
        return match fs::read_link(path) {
            Ok(target) => Now::Link { hash: hash(target.as_os_str().as_bytes()) },
            Err(error) => Now::Other(format!("it could not be read: {error}")),
        };
    }
    if about.is_dir() {
        return Now::Folder { mode };
    }
    if !about.is_file() {
        return Now::Other("it is no longer a regular file".into());
    }
    if about.len() > MAX_BYTES {
        return Now::Other(format!("it now has {} bytes", about.len()));
    }
    match fs::read(path) {
        Ok(bytes) => Now::File { hash: hash(&bytes), mode },
        Err(error) => Now::Other(format!("it could not be read: {error}")),
    }
}
