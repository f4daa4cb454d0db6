//! The package of the engine, unpacked: a wheel is a zip archive.

use super::super::LocalError;
use super::super::fetch::Wanted;
use super::super::shelf::FROM;
use super::super::table::EngineRow;
use super::find::{READY, place};
use crate::fs::remove::{self, Tree};
use crate::fs::{WriteError, ensure_dir, write_atomic};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Bytes that the files of a package may have together.
const MOST: u64 = 2 << 30;

/// What is fetched: from the mirrors as `MIRROR/engines/FILE`, then from where the table says.
pub fn wanted(row: &EngineRow, home: &Path, mirrors: &[String]) -> Wanted {
    let file = row.url.rsplit('/').next().unwrap_or_default();
    let mirrors = mirrors.iter().map(|mirror| format!("{}/engines/{file}", mirror.trim_end_matches('/')));
    Wanted {
        title: format!("llama.cpp's server ({} {})", row.name, row.version),
        from: mirrors.chain([row.url.clone()]).collect(),
        bytes: Some(row.bytes),
        sha256: Some(row.sha256.clone()),
        file: home.join("engines").join(file),
    }
}

/// Unpacks what was fetched and deletes the archive. Blocks.
///
/// # Errors
/// It can't be read or written; nothing half stays.
pub fn unpack(row: &EngineRow, home: &Path, archive: &Path) -> Result<(), LocalError> {
    let folder = place(home, row);
    let engines = folder.parent().unwrap_or(home);
    ensure_dir(engines).map_err(LocalError::Write)?;
    let path = engines.join("lock");
    let locked = File::create(&path).and_then(|file| file.lock().map(|()| file));
    let _lock = locked.map_err(|error| LocalError::Write(WriteError::new(&path, &error)))?;
    // Another window was first.
    if folder.join(READY).exists() {
        return discard(home, archive);
    }
    remove::tree(Tree::Engine, home, &folder)?;
    let unpacked = || {
        ensure_dir(&folder)?;
        // Marked first: what is left of a run that was killed can be deleted.
        remove::mark(Tree::Engine, &folder).map_err(|error| WriteError::new(&folder, &error))?;
        extract(archive, &folder)?;
        write_atomic(&folder.join(READY), "")
    };
    unpacked().map_err(LocalError::Write)?;
    discard(home, archive)
}

/// Deletes an archive, and what says where it comes from.
fn discard(home: &Path, archive: &Path) -> Result<(), LocalError> {
    remove::file(remove::File::Archive, home, &archive.with_extension(format!("whl.{FROM}")))?;
    remove::file(remove::File::Archive, home, archive)?;
    Ok(())
}

fn extract(archive: &Path, folder: &Path) -> Result<(), WriteError> {
    let fail = |path: &Path, error: io::Error| WriteError::new(path, &error);
    let file = File::open(archive).map_err(|error| fail(archive, error))?;
    let mut zip = zip::ZipArchive::new(file).map_err(|error| fail(archive, io::Error::other(error)))?;
    let mut left = MOST;
    for at in 0..zip.len() {
        let mut entry = zip.by_index(at).map_err(|error| fail(archive, io::Error::other(error)))?;
        // No way out of the folder.
        let Some(name) = entry.enclosed_name().filter(|_| entry.is_file()) else { continue };
        let path: PathBuf = folder.join(name);
        if let Some(parent) = path.parent() {
            ensure_dir(parent)?;
        }
        let mut out = File::create(&path).map_err(|error| fail(&path, error))?;
        let wrote = io::copy(&mut entry.by_ref().take(left), &mut out).map_err(|error| fail(&path, error))?;
        left = left.saturating_sub(wrote);
        if left == 0 {
            return Err(fail(archive, io::Error::other("it unpacks to more than 2 GiB")));
        }
    }
    Ok(())
}
