//! Files that a reader sees whole or not at all, and folders that are the owner's alone.

use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// Something could not be written, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot write {path}: {reason}; {remedy}")]
pub struct WriteError {
    pub path: PathBuf,
    pub reason: String,
    pub remedy: &'static str,
}

impl WriteError {
    /// What the system said about a file or folder, with the remedy.
    pub fn new(path: &Path, error: &io::Error) -> Self {
        let remedy = match error.kind() {
            ErrorKind::PermissionDenied => "make it writable, or set HERMES_HOME to a writable folder",
            ErrorKind::ReadOnlyFilesystem => "set HERMES_HOME to a folder on a writable disk",
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => "free some disk space",
            ErrorKind::NotADirectory | ErrorKind::AlreadyExists => "a file is in the way of a folder: move it",
            _ => "check the folder and its permissions",
        };
        Self { path: path.to_path_buf(), reason: error.to_string(), remedy }
    }
}

/// Makes a folder and its missing parents, each readable by its owner only (0700). Folders that exist keep their mode.
///
/// # Errors
/// [`WriteError`] with the folder and the remedy.
pub fn ensure_dir(dir: &Path) -> Result<(), WriteError> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(dir).map_err(|error| WriteError::new(dir, &error))
}

/// Writes a file so that a reader sees the old or the new text, never a part. A new file gets mode 0600, an existing one
/// keeps its mode; a symlink stays a symlink and its target is written.
///
/// # Errors
/// [`WriteError`] with the path and the remedy.
pub fn write_atomic(path: &Path, text: &str) -> Result<(), WriteError> {
    replace(path, text, true)
}

/// As [`write_atomic`], but it may be lost with the power: for what means nothing after a start of the system.
pub fn write_whole(path: &Path, text: &str) -> Result<(), WriteError> {
    replace(path, text, false)
}

fn replace(path: &Path, text: &str, durable: bool) -> Result<(), WriteError> {
    let path = &std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let fail = |error: io::Error| WriteError::new(path, &error);
    let dir = path.parent().unwrap_or(Path::new("."));
    ensure_dir(dir)?;
    let mut file = tempfile::NamedTempFile::new_in(dir).map_err(fail)?;
    file.write_all(text.as_bytes()).map_err(fail)?;
    if let Ok(old) = std::fs::metadata(path) {
        file.as_file().set_permissions(old.permissions()).map_err(fail)?;
    }
    if durable {
        file.as_file().sync_all().map_err(fail)?;
    }
    file.persist(path).map_err(|error| fail(error.error))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn writing_creates_private_folders_and_keeps_modes() {
        let dir = tempfile::tempdir().unwrap();
        let (home, file) = (dir.path().join("home"), dir.path().join("home/config.yaml"));
        write_atomic(&file, "a: 1\n").unwrap();
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&home), mode(&file)), (0o700, 0o600));
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o640)).unwrap();
        write_atomic(&file, "a: 2\n").unwrap();
        assert_eq!(mode(&file), 0o640);
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "a: 2\n");
    }

    #[test]
    fn symlinks_stay() {
        let dir = tempfile::tempdir().unwrap();
        let (real, link) = (dir.path().join("real.yaml"), dir.path().join("config.yaml"));
        std::fs::write(&real, "a: 1\n").unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        write_atomic(&link, "a: 2\n").unwrap();
        assert!(link.symlink_metadata().unwrap().is_symlink());
        assert_eq!(std::fs::read_to_string(&real).unwrap(), "a: 2\n");
    }
}
