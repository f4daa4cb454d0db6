//! Files of this machine, as those of every place.

use super::write;
use crate::places::{About, Files, Kind};
use std::fs::{self, Permissions};
use std::io::{self, Error, ErrorKind};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// This machine.
pub struct Disk;

impl Files for Disk {
    fn about(&self, path: &Path) -> io::Result<About> {
        let meta = fs::metadata(path)?;
        let kind = match () {
            () if meta.is_dir() => Kind::Folder,
            () if meta.is_file() => Kind::File,
            () => Kind::Other,
        };
        let (modified, len) = write::stamp_of(&meta);
        Ok(About { kind, len, modified, mode: meta.permissions().mode() & 0o7777 })
    }

    fn read(&self, path: &Path, most: u64) -> io::Result<Vec<u8>> {
        if fs::metadata(path)?.len() > most {
            return Err(Error::from(ErrorKind::FileTooLarge));
        }
        fs::read(path)
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        write::atomic(path, bytes)
    }

    fn delete(&self, path: &Path) -> io::Result<()> {
        write::remove(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        if let Some(folder) = to.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::rename(from, to)
    }

    fn set_mode(&self, path: &Path, mode: u32) -> io::Result<()> {
        fs::set_permissions(path, Permissions::from_mode(mode))
    }

    fn names(&self, folder: &Path, most: usize) -> io::Result<Vec<String>> {
        let entries = fs::read_dir(folder)?.flatten().take(most);
        Ok(entries.filter_map(|entry| entry.file_name().into_string().ok()).collect())
    }
}
