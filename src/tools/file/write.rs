//! Writing a file so that a reader sees the old bytes or the new ones, never half of each; and deleting one.

use std::ffi::OsStr;
use std::fs::{self, File, Metadata, Permissions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

/// Modification time in nanoseconds since the epoch, and size in bytes.
pub type Stamp = (u128, u64);

/// The stamp of a file as it is now; `None` when it is not there.
pub fn stamp(path: &Path) -> Option<Stamp> {
    fs::metadata(path).ok().map(|meta| stamp_of(&meta))
}

/// The stamp in these metadata.
pub fn stamp_of(meta: &Metadata) -> Stamp {
    let nanos = i128::from(meta.mtime()) * 1_000_000_000 + i128::from(meta.mtime_nsec());
    (nanos.max(0) as u128, meta.len())
}

/// Replaces the file by way of a temporary one beside it, keeping mode and owner. Missing folders are made.
pub fn atomic(path: &Path, bytes: &[u8]) -> io::Result<()> {
    atomic_as(path, bytes, None)
}

/// The same with these permission bits, which the file has from its first moment.
pub fn atomic_as(path: &Path, bytes: &[u8], mode: Option<u32>) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(folder)?;
    let existing = fs::metadata(path).ok();
    // 0o666 minus the umask, as for any new file.
    let wanted = mode;
    let mode = wanted.unwrap_or_else(|| existing.as_ref().map_or(0o666, |meta| meta.mode() & 0o7777));
    let made = tempfile::Builder::new()
        .prefix(".hermes-")
        .suffix(".tmp")
        .permissions(Permissions::from_mode(mode))
        .tempfile_in(folder);
    let mut temp = match (made, &existing) {
        (Ok(temp), _) => temp,
        // The folder is closed but the file is open: written in place.
        (Err(error), Some(_)) if error.kind() == ErrorKind::PermissionDenied => return in_place(path, bytes),
        (Err(error), _) => return Err(error),
    };
    temp.write_all(bytes)?;
    if let Some(meta) = &existing {
        let own = temp.as_file().metadata()?;
        if (own.uid(), own.gid()) != (meta.uid(), meta.gid()) {
            // Only root may give a file away; for others the file becomes theirs, as with any editor.
            let _ = std::os::unix::fs::fchown(temp.as_file(), Some(meta.uid()), Some(meta.gid()));
        }
        temp.as_file().set_permissions(Permissions::from_mode(mode))?;
    }
    if let Some(mode) = wanted {
        // The umask took its part of it when the file was made.
        temp.as_file().set_permissions(Permissions::from_mode(mode))?;
    }
    temp.as_file().sync_data()?;
    temp.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// Deletes a file, a link or an empty folder of the person, by a call that went through the gate, or by a rewind that the
/// person confirmed. What was in it is in the history.
pub fn remove(path: &Path) -> io::Result<()> {
    if fs::symlink_metadata(path)?.is_dir() { fs::remove_dir(path) } else { fs::remove_file(path) }
}

/// Puts a link to `target` at a path, in place of the file or link there. Missing folders are made.
pub fn link(path: &Path, target: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(folder)?;
    let target = OsStr::from_bytes(target);
    let made = tempfile::Builder::new()
        .prefix(".hermes-")
        .suffix(".tmp")
        .make_in(folder, |temp| std::os::unix::fs::symlink(target, temp))?;
    fs::rename(made.path(), path)?;
    // It is at its place: nothing is left to be cleaned up.
    made.into_temp_path().keep().map(drop).map_err(|error| error.error)
}

/// Makes a folder with these permission bits, or sets those of the one that is there.
pub fn folder(path: &Path, mode: u32) -> io::Result<()> {
    fs::create_dir_all(path)?;
    fs::set_permissions(path, Permissions::from_mode(mode & 0o7777))
}

fn in_place(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = File::options().write(true).truncate(true).open(path)?;
    file.write_all(bytes)?;
    file.sync_data()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mode_is_kept_and_nothing_is_left_behind() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("deep/er/run.sh");
        atomic(&path, b"one").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o751)).unwrap();
        atomic(&path, b"two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o751);
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
        assert_eq!(stamp(&path).unwrap().1, 3);
    }
}
