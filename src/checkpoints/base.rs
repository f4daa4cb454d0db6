//! A folder as it was before a command that runs, in a file: the baseline, and what was found changed since, up to a length.
//! A program that is killed leaves it behind, and the next one finds what the command changed.

use super::entry::Entry;
use super::known;
use crate::fs::remove;
use rustix::fs::{FlockOperation, flock};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// How the name of such a file ends.
const ENDING: &str = ".run";
/// A file that is younger may be one that its program is about to lock.
const FRESH: Duration = Duration::from_secs(60);

/// That of a workspace of this process, which keeps it locked. It goes when the workspace does.
pub(super) struct Base {
    file: File,
    path: PathBuf,
    length: u64,
}

impl Drop for Base {
    fn drop(&mut self) {
        forget(&self.path);
    }
}

impl Base {
    /// Writes what is in a folder now, also for the next baseline of this folder: `known`.
    pub(super) fn write(known: &Path, tree: &BTreeMap<PathBuf, Entry>, out: &BTreeSet<PathBuf>) -> io::Result<Self> {
        let name = known.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let path = known.with_file_name(format!("{name}.{:08x}{ENDING}", fastrand::u32(..)));
        let mut text = known::FORM.to_owned();
        tree.iter().for_each(|(path, entry)| known::put(&mut text, path, Some(entry)));
        out.iter().for_each(|path| known::put_left_out(&mut text, path));
        crate::fs::write_whole(&path, &text).map_err(io::Error::other)?;
        let base = Self { file: OpenOptions::new().append(true).open(&path)?, length: text.len() as u64, path };
        flock(&base.file, FlockOperation::NonBlockingLockExclusive)?;
        // The same file under the other name: what is added serves the next baseline, too.
        let link = base.path.with_extension("new");
        if std::fs::hard_link(&base.path, &link).and_then(|()| std::fs::rename(&link, known)).is_err() {
            crate::fs::write_whole(known, &text).map_err(io::Error::other)?;
        }
        Ok(base)
    }

    /// Adds what became of these paths. Returns what stands for the folder as it is now.
    pub(super) fn add(
        &mut self,
        touched: &BTreeSet<PathBuf>,
        tree: &BTreeMap<PathBuf, Entry>,
        out: &BTreeSet<PathBuf>,
    ) -> io::Result<String> {
        let mut text = String::new();
        for path in touched {
            if out.contains(path) {
                known::put_left_out(&mut text, path);
            } else {
                known::put(&mut text, path, tree.get(path));
            }
        }
        self.file.write_all(text.as_bytes())?;
        self.length += text.len() as u64;
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        Ok(format!("{name} {}", self.length))
    }
}

/// Whether such a word is of the folder whose baseline is `known`.
pub(super) fn is_of(known: &Path, word: &str) -> bool {
    let known = known.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let name = word.split_once(' ').and_then(|(name, _)| name.strip_prefix(known)?.strip_prefix('.'));
    let random = name.and_then(|name| name.strip_suffix(ENDING));
    random.is_some_and(|random| random.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// What such a word stands for, when it is of the folder whose baseline is `known`.
pub(super) fn read(known: &Path, word: &str) -> Option<known::Tree> {
    if !is_of(known, word) {
        return None;
    }
    let (name, length) = word.split_once(' ')?;
    let mut bytes = std::fs::read(known.with_file_name(name)).ok()?;
    let length = usize::try_from(length.parse::<u64>().ok()?).ok().filter(|length| *length <= bytes.len())?;
    bytes.truncate(length);
    known::tree(&String::from_utf8(bytes).ok()?)
}

/// Deletes those in a folder that no program works with and no word needs.
pub(super) fn sweep(trees: &Path, needed: &[String]) {
    let entries = std::fs::read_dir(trees).into_iter().flatten().flatten();
    for path in entries.map(|entry| entry.path()) {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let is_needed = needed.iter().any(|word| word.split_once(' ').is_some_and(|(of, _)| of == name));
        if name.ends_with(ENDING) && !is_needed && is_left(&path) {
            forget(&path);
        }
    }
}

fn is_left(path: &Path) -> bool {
    let is_old = |file: &File| {
        let touched = file.metadata().and_then(|about| about.modified()).ok();
        touched.and_then(|at| SystemTime::now().duration_since(at).ok()).is_some_and(|age| age > FRESH)
    };
    File::open(path).is_ok_and(|file| is_old(&file) && flock(&file, FlockOperation::NonBlockingLockShared).is_ok())
}

fn forget(path: &Path) {
    // `cache/trees` of the home.
    let Some(home) = path.ancestors().nth(3) else { return };
    if let Err(error) = remove::file(remove::File::Tree, home, path) {
        tracing::debug!("{error}");
    }
}
