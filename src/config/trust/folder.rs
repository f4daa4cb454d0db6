//! A folder whose files all decide what runs: their fingerprint, their text, and a copy that is exactly what was looked at.

use super::scan::SHOWN;
use rustix::fs::OFlags;
use sha2::{Digest as _, Sha256};
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// Files of a folder that are looked at; a larger one is never trusted.
const FILES: usize = 20_000;
/// Bytes of them.
const BYTES: u64 = 128 * 1024 * 1024;
/// Bytes of one file that are shown.
const OF_ONE: usize = 16 * 1024;

/// Is given a file: its path inside the folder, its bytes, whether it is executable.
type Visit<'a> = dyn FnMut(&str, &[u8], bool) -> Result<(), String> + 'a;

/// Text and fingerprint of all files of a folder.
///
/// # Errors
/// Why it can never be trusted, in words.
pub(super) fn look(dir: &Path) -> Result<(String, String), String> {
    let mut text = String::new();
    let print = each(dir, &mut |shown, bytes, _| {
        if text.len() < SHOWN {
            text.push_str(&format!("--- {shown}\n{}\n", readable(bytes)));
        }
        Ok(())
    })?;
    Ok((text, print))
}

/// Copies a folder to `to`, which must not be there. What runs from there is what had this fingerprint, whatever happens
/// to the folder meanwhile.
///
/// # Errors
/// It is not what had the fingerprint, or cannot be copied; in words. What was written is left for the caller to remove.
pub fn copy(dir: &Path, fingerprint: &str, to: &Path) -> Result<(), String> {
    let print = each(dir, &mut |shown, bytes, executable| {
        let file = to.join(shown);
        let write = || {
            if let Some(parent) = file.parent() {
                std::fs::create_dir_all(parent)?;
            }
            let mode = if executable { 0o700 } else { 0o600 };
            std::fs::OpenOptions::new().write(true).create_new(true).mode(mode).open(&file)?.write_all(bytes)
        };
        write().map_err(|error| format!("{} cannot be written: {error}", file.display()))
    })?;
    if print == fingerprint { Ok(()) } else { Err("it changed since you trusted it".into()) }
}

/// Gives every file to `visit`. Each is read once. The fingerprint.
fn each(dir: &Path, visit: &mut Visit<'_>) -> Result<String, String> {
    let (mut hash, mut room) = (Sha256::new(), BYTES);
    for path in files(dir)? {
        let (bytes, mode) = regular(&path, room).map_err(|why| format!("{} {why}", path.display()))?;
        room -= bytes.len() as u64;
        let shown = path.strip_prefix(dir).unwrap_or(&path).to_string_lossy().into_owned();
        hash.update(format!("{shown}\0{}\0{}\0", mode & 0o111, bytes.len()));
        hash.update(&bytes);
        visit(&shown, &bytes, mode & 0o111 != 0)?;
    }
    Ok(hex(hash))
}

/// All files, those of the folder itself first: what decides is shown first.
fn files(dir: &Path) -> Result<Vec<PathBuf>, String> {
    let unreadable = |path: &Path, error| format!("cannot read {}: {error}", path.display());
    let (mut files, mut folders) = (Vec::new(), vec![dir.to_path_buf()]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).map_err(|error| unreadable(&folder, error))? {
            let path = entry.map_err(|error| unreadable(&folder, error))?.path();
            let meta = path.symlink_metadata().map_err(|error| unreadable(&path, error))?;
            if meta.is_symlink() {
                return Err(format!("{} is a link: its target could change unnoticed", path.display()));
            } else if meta.is_dir() {
                folders.push(path);
            } else {
                files.push(path);
            }
            if files.len() + folders.len() > FILES {
                return Err("it is too large to review; install it into your own plugins folder".into());
            }
        }
    }
    files.sort();
    files.sort_by_key(|path| path.parent() != Some(dir));
    Ok(files)
}

/// Bytes and mode of a file, of one open file: nothing changes between the two. A pipe or a device is not waited for.
pub(super) fn regular(path: &Path, most: u64) -> Result<(Vec<u8>, u32), String> {
    let read = || {
        let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32;
        let file = File::options().read(true).custom_flags(flags).open(path)?;
        let meta = file.metadata()?;
        let mut bytes = Vec::new();
        if meta.is_file() {
            file.take(most + 1).read_to_end(&mut bytes)?;
        }
        Ok::<_, std::io::Error>((meta, bytes))
    };
    let (meta, bytes) = read().map_err(|error| format!("cannot be read: {error}"))?;
    if !meta.is_file() {
        return Err("is not a regular file".into());
    }
    if bytes.len() as u64 > most {
        return Err("is too large to review".into());
    }
    Ok((bytes, meta.permissions().mode()))
}

/// A file for the eye. What is not shown has its digest there, so that a change of it shows.
pub(super) fn readable(bytes: &[u8]) -> String {
    let digest = || hex(Sha256::new_with_prefix(bytes))[..16].to_owned();
    match std::str::from_utf8(bytes) {
        Err(_) => format!("({} bytes, not text, {})", bytes.len(), digest()),
        Ok(text) if text.len() <= OF_ONE => text.trim_end().to_owned(),
        Ok(text) => {
            format!("{}\n… ({} bytes in total, {})", &text[..text.floor_char_boundary(OF_ONE)], bytes.len(), digest())
        }
    }
}

/// A digest in hex.
pub(super) fn hex(hash: Sha256) -> String {
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}
