//! Bytes of files as they were, in a folder of their own, each named by its hash. Private: they may hold secrets.

use crate::fs::remove;
use sha2::{Digest, Sha256};
use std::fs::{self, DirBuilder, File, FileTimes, Permissions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Larger files are not kept (`checkpoints.max_file_size_mb` of Python Hermes).
pub const LARGEST: u64 = 10 * 1024 * 1024;
/// How long bytes are kept that nobody kept again.
const AGE: Duration = Duration::from_secs(30 * 24 * 3600);

/// How long bytes count as just kept.
const FRESH: Duration = Duration::from_secs(24 * 3600);
/// Bytes from which sharing blocks is worth a try.
const SHARED: u64 = 64 * 1024;

/// Makes `copy` share the blocks of `source`. `false`: it can't, or `source` is no longer as long as these bytes.
#[cfg(target_os = "linux")]
fn share(source: &File, copy: &File, bytes: &[u8]) -> bool {
    rustix::fs::ioctl_ficlone(copy, source).is_ok()
        && copy.metadata().is_ok_and(|about| about.len() == bytes.len() as u64)
}

#[cfg(not(target_os = "linux"))]
fn share(_: &File, _: &File, _: &[u8]) -> bool {
    false
}

fn touch(file: &File) -> io::Result<()> {
    file.set_times(FileTimes::new().set_modified(SystemTime::now()))
}

/// The folder of kept bytes.
#[derive(Clone, Debug)]
pub struct Blobs {
    folder: PathBuf,
}

/// SHA-256 in hex, the name under which bytes are kept.
pub fn hash(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    Sha256::digest(bytes).iter().fold(String::with_capacity(64), |mut name, byte| {
        // Writing to a string cannot fail.
        let _ = write!(name, "{byte:02x}");
        name
    })
}

impl Blobs {
    /// The kept bytes in this folder, which need not exist.
    pub fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// Keeps bytes and returns their hash. They are on the disk when this returns.
    pub fn keep(&self, bytes: &[u8]) -> io::Result<String> {
        let name = hash(bytes);
        if let Some(file) = self.again(&name, bytes)? {
            // They may be kept by `keep_soon`, and on their way.
            file.sync_data()?;
        } else {
            let mut file = self.new_file()?;
            file.write_all(bytes)?;
            file.as_file().sync_data()?;
            file.persist(self.folder.join(&name)).map_err(|error| error.error)?;
        }
        File::open(&self.folder)?.sync_all()?;
        Ok(name)
    }

    /// Keeps many in a row, which may still be on their way to the disk when this returns: bytes that a loss of power takes
    /// are missed by name, and never taken for others. Blocks are shared with `source`, which holds the same bytes, where
    /// the file system can do that.
    pub fn keep_soon(&self, bytes: &[u8], source: Option<&File>) -> io::Result<String> {
        let name = hash(bytes);
        if self.again(&name, bytes)?.is_some() {
            return Ok(name);
        }
        let mut file = self.new_file()?;
        if !source.filter(|_| bytes.len() as u64 >= SHARED).is_some_and(|source| share(source, file.as_file(), bytes)) {
            file.as_file().set_len(0)?;
            file.write_all(bytes)?;
        }
        file.persist(self.folder.join(&name)).map_err(|error| error.error)?;
        Ok(name)
    }

    /// Whether bytes are kept, and will be for a while: their age counts from now on.
    pub fn hold(&self, name: &str) -> bool {
        let path = self.folder.join(name);
        let Ok(about) = fs::symlink_metadata(&path) else { return false };
        let is_fresh = about.modified().is_ok_and(|at| at.elapsed().is_ok_and(|age| age < FRESH));
        is_fresh || File::options().write(true).open(path).is_ok_and(|file| touch(&file).is_ok())
    }

    /// The file of these bytes when it is there and holds them; their age counts from now on. One that a loss of power or a
    /// shared block spoiled is none: it is written anew.
    fn again(&self, name: &str, bytes: &[u8]) -> io::Result<Option<File>> {
        let Ok(mut file) = File::options().read(true).write(true).open(self.folder.join(name)) else { return Ok(None) };
        if file.metadata()?.len() != bytes.len() as u64 {
            return Ok(None);
        }
        let mut kept = Vec::with_capacity(bytes.len());
        file.read_to_end(&mut kept)?;
        if kept != bytes {
            return Ok(None);
        }
        touch(&file)?;
        Ok(Some(file))
    }

    fn new_file(&self) -> io::Result<tempfile::NamedTempFile> {
        self.make_folder()?;
        tempfile::Builder::new().prefix(".new-").permissions(Permissions::from_mode(0o600)).tempfile_in(&self.folder)
    }

    fn make_folder(&self) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
        let about = fs::symlink_metadata(&self.folder)?;
        if !about.is_dir() {
            return Err(io::Error::other(format!("{} is not a folder", self.folder.display())));
        }
        if about.permissions().mode() & 0o077 != 0 {
            fs::set_permissions(&self.folder, Permissions::from_mode(0o700))?;
        }
        Ok(())
    }

    /// The bytes of a hash; `None` when they are no longer kept, or are not what the name says.
    pub fn read(&self, name: &str) -> io::Result<Option<Vec<u8>>> {
        match fs::read(self.folder.join(name)) {
            Ok(bytes) => Ok((hash(&bytes) == name).then_some(bytes)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Whether bytes are kept.
    pub fn has(&self, name: &str) -> bool {
        self.folder.join(name).is_file()
    }

    /// Removes what is too old, and the oldest while the folder holds more than so many bytes. Returns the number of files
    /// removed.
    pub fn sweep(&self, most: u64) -> io::Result<usize> {
        self.sweep_to(SystemTime::now(), AGE, most)
    }

    /// Those of these that can go when nobody knows them any more, with what they take on the disk: what was kept a moment
    /// ago may be somebody's who is yet to write it down.
    pub fn spare(&self, names: impl IntoIterator<Item = String>) -> Vec<(String, u64)> {
        let size = |name: &str| {
            let about = fs::symlink_metadata(self.folder.join(name)).ok().filter(fs::Metadata::is_file)?;
            let age = about.modified().ok()?.elapsed().ok()?;
            (age >= FRESH).then(|| super::on_disk(&about))
        };
        names.into_iter().filter_map(|name| size(&name).map(|bytes| (name, bytes))).collect()
    }

    /// Removes one; `false`: it was gone.
    pub fn forget(&self, name: &str) -> io::Result<bool> {
        self.remove(&self.folder.join(name))
    }

    /// Kept files and their bytes.
    pub fn size(&self) -> (u64, u64) {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let sizes =
            entries.filter(|entry| is_ours(&entry.path())).filter_map(|entry| Some(entry.metadata().ok()?.len()));
        sizes.fold((0, 0), |(files, bytes), size| (files + 1, bytes + size))
    }

    fn sweep_to(&self, now: SystemTime, age: Duration, most: u64) -> io::Result<usize> {
        let entries = match fs::read_dir(&self.folder) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(0),
            entries => entries?,
        };
        let mut kept: Vec<(SystemTime, u64, PathBuf)> = Vec::new();
        for entry in entries.flatten() {
            let Ok(about) = entry.metadata() else { continue };
            if about.is_file() && is_ours(&entry.path()) {
                kept.push((about.modified().unwrap_or(now), about.len(), entry.path()));
            }
        }
        kept.sort();
        let mut total: u64 = kept.iter().map(|(_, size, _)| size).sum();
        let mut removed = 0;
        for (at, size, path) in kept {
            let old = now.duration_since(at).is_ok_and(|past| past > age);
            if !old && total <= most {
                break;
            }
            // One that was kept again meanwhile is needed again; one that is gone was another program's to remove.
            let touched = fs::symlink_metadata(&path).and_then(|about| about.modified()).is_ok_and(|now| now != at);
            if touched {
                continue;
            }
            match self.remove(&path) {
                Ok(gone) => removed += usize::from(gone),
                Err(error) => {
                    tracing::warn!(%error, "could not remove a history file");
                    continue;
                }
            }
            total -= size;
        }
        Ok(removed)
    }

    fn remove(&self, path: &Path) -> io::Result<bool> {
        // `history` of the home.
        let home = self.folder.parent().unwrap_or(&self.folder);
        Ok(remove::file(remove::File::Kept, home, path)?)
    }
}

/// Whether a file has a name that we give.
fn is_ours(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.starts_with(".new-") || name.len() == 64 && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_somebody_else_stops_no_tidying() {
        let home = tempfile::tempdir().unwrap();
        let blobs = Blobs::new(home.path().join("history"));
        let name = blobs.keep(b"old").unwrap();
        fs::write(blobs.folder.join("notes"), "mine").unwrap();
        let later = SystemTime::now() + AGE + Duration::from_secs(60);
        assert_eq!(blobs.sweep_to(later, AGE, u64::MAX).unwrap(), 1);
        assert!(!blobs.has(&name) && blobs.folder.join("notes").exists());
    }

    #[test]
    fn bytes_come_back_and_only_their_owner_reads_them() {
        let home = tempfile::tempdir().unwrap();
        let blobs = Blobs::new(home.path().join("history"));
        let name = blobs.keep(b"token=1\0\xff").unwrap();
        assert_eq!(name, blobs.keep(b"token=1\0\xff").unwrap());
        assert_eq!(blobs.read(&name).unwrap().as_deref(), Some(b"token=1\0\xff".as_slice()));
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&blobs.folder), mode(&blobs.folder.join(&name))), (0o700, 0o600));
        assert_eq!(fs::read_dir(&blobs.folder).unwrap().count(), 1);
        // A file that was tampered with is not taken for what it was.
        fs::write(blobs.folder.join(&name), b"something").unwrap();
        assert_eq!(blobs.read(&name).unwrap(), None);
        assert_eq!(blobs.read(&hash(b"never")).unwrap(), None);
        // It is repaired by whoever keeps the same bytes again, also when it is as long as they are.
        for keep in
            [|blobs: &Blobs| blobs.keep(b"token=1\0\xff"), |blobs: &Blobs| blobs.keep_soon(b"token=1\0\xff", None)]
        {
            fs::write(blobs.folder.join(&name), b"token=2\0\xff").unwrap();
            assert_eq!(keep(&blobs).unwrap(), name);
            assert!(blobs.read(&name).unwrap().is_some());
        }
    }

    #[test]
    fn the_old_and_then_the_oldest_go() {
        let home = tempfile::tempdir().unwrap();
        let blobs = Blobs::new(home.path().join("history"));
        let now = SystemTime::now();
        let keep = |bytes: &[u8], days: u64| {
            let name = blobs.keep(bytes).unwrap();
            let file = File::options().write(true).open(blobs.folder.join(&name)).unwrap();
            file.set_times(FileTimes::new().set_modified(now - Duration::from_secs(days * 24 * 3600))).unwrap();
            name
        };
        let (ancient, old, new) = (keep(b"aaaa", 40), keep(b"bbbb", 3), keep(b"cccc", 1));
        fs::write(blobs.folder.join("mine.txt"), "a person's").unwrap();
        assert_eq!(blobs.sweep_to(now, AGE, 1000).unwrap(), 1);
        assert!(!blobs.has(&ancient) && blobs.has(&old) && blobs.has(&new));
        assert_eq!(blobs.sweep_to(now, AGE, 7).unwrap(), 1);
        assert!(!blobs.has(&old) && blobs.has(&new));
        // What is not ours is never removed, nor anything outside the folder.
        fs::remove_file(blobs.folder.join(&new)).unwrap();
        assert_eq!(blobs.sweep_to(now, AGE, 0).unwrap(), 0);
        let outside = home.path().join(hash(b"x"));
        fs::write(&outside, "x").unwrap();
        assert!(blobs.remove(&outside).is_err());
        assert!(outside.exists() && blobs.folder.join("mine.txt").exists());
    }
}
