//! Files of this machine, as those of every place.

use super::write;
use crate::backends::{About, Files, Kind};
use std::fs;
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

    fn write_as(&self, path: &Path, bytes: &[u8], mode: Option<u32>) -> io::Result<()> {
        write::atomic_as(path, bytes, mode)
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

    fn names(&self, folder: &Path, most: usize) -> io::Result<Vec<String>> {
        let entries = fs::read_dir(folder)?.flatten().take(most);
        Ok(entries.filter_map(|entry| entry.file_name().into_string().ok()).collect())
    }
}
