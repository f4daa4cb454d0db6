//! The files of a plugin. All that it may load counts: what is read by its bytes, the rest by what `stat` says of it, which
//! no program can set back.

use super::{fold, hex, marks};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::Metadata;
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// Bytes of a file that is read, and files that are.
const BYTES: u64 = 4 << 20;
const READ: usize = 400;
/// Folders that tools fill with what is loaded: too much to read.
const FILLED: &[&str] = &[".venv", "node_modules", "__pycache__"];

/// What `stat` says of all files, folded into a number.
pub(super) fn stamp(root: &Path) -> u64 {
    let files = files(root);
    files.iter().filter_map(|file| about(file)).fold(files.len() as u64, |sum, about| fold(sum, &about))
}

/// A line for each file that is read, and one for each folder with others.
pub(super) fn lines(root: &Path) -> String {
    let (mut out, mut read) = (String::new(), 0);
    let mut rest: BTreeMap<PathBuf, (usize, Sha256)> = BTreeMap::new();
    for file in files(root) {
        let name = file.strip_prefix(root).unwrap_or(&file);
        let is_read = read < READ && !name.iter().any(|part| FILLED.iter().any(|filled| part == *filled));
        if let Some(hash) = is_read.then(|| hash(&file)).flatten() {
            read += 1;
            // Writing to a string cannot fail.
            let _ = writeln!(out, "{}  {hash}", name.display());
            continue;
        }
        let (count, sum) = rest.entry(name.parent().unwrap_or(name).to_path_buf()).or_default();
        *count += 1;
        sum.update(name.as_os_str().as_encoded_bytes());
        sum.update([0]);
        for mark in about(&file).iter().flat_map(marks) {
            sum.update(mark.to_le_bytes());
        }
    }
    for (folder, (count, sum)) in rest {
        let files = if count == 1 { "file" } else { "files" };
        let hash = hex(&sum.finalize()[..16]);
        // Writing to a string cannot fail.
        let _ = writeln!(out, "./{}  {count} {files} too large to compare  {hash}", folder.display());
    }
    out
}

/// Of all bytes; `None` of a file that is not read: too large, none of bytes (a pipe would hold up the reader), closed.
pub(super) fn hash(path: &Path) -> Option<String> {
    let about = std::fs::metadata(path).ok()?;
    if !about.is_file() || about.len() > BYTES {
        return None;
    }
    let mut bytes = Vec::new();
    std::fs::File::open(path).ok()?.take(BYTES + 1).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 <= BYTES).then(|| hex(&Sha256::digest(&bytes)[..16]))
}

/// Of the file that a link leads to, or of the link when that is gone.
fn about(path: &Path) -> Option<Metadata> {
    std::fs::metadata(path).or_else(|_| path.symlink_metadata()).ok()
}

/// The files below a folder, in order. Links to folders are not followed: they count as files.
fn files(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![root.to_path_buf()];
    while let Some(dir) = open.pop() {
        for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            let name = entry.file_name();
            // What is never loaded: what a plugin writes down while it runs, and where it came from.
            let is_idle = if is_folder { name == ".git" } else { name.as_encoded_bytes().ends_with(b".log") };
            match (is_idle, is_folder) {
                (true, _) => {}
                (false, true) => open.push(entry.path()),
                (false, false) => found.push(entry.path()),
            }
        }
    }
    found.sort();
    found
}
