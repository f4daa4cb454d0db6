//! What the last baseline of a folder found, so that the next one reads only what was touched since. A file of the cache.

use super::entry::{Content, Entry, Stamp, hex, unhex};
use crate::fs::write_whole;
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// The first line; another one is not read.
const FORM: &str = "hermes tree 1";

/// Reads the file; empty when there is none that can be read.
pub(super) fn read(file: &Path) -> HashMap<PathBuf, Entry> {
    let Ok(text) = std::fs::read_to_string(file) else { return HashMap::new() };
    let mut records = text.split('\0');
    if records.next() != Some(FORM) {
        return HashMap::new();
    }
    records.filter_map(record).collect()
}

/// Hashes of the bytes that the baselines in a folder know.
pub(super) fn hashes(trees: &Path) -> impl Iterator<Item = String> {
    let files = std::fs::read_dir(trees).into_iter().flatten().flatten().map(|entry| entry.path());
    files.flat_map(|file| read(&file).into_values()).filter_map(|entry| match entry.content {
        Content::Kept(hash) => Some(hex(&hash)),
        _ => None,
    })
}

fn record(text: &str) -> Option<(PathBuf, Entry)> {
    let mut fields = text.splitn(7, ' ');
    let mut number = || fields.next()?.parse::<i64>().ok();
    let (modified, changed, size, inode, mode) = (number()?, number()?, number()?, number()?, number()?);
    let content = Content::Kept(unhex(fields.next()?)?);
    let stamp = Stamp { modified, changed, size: size.try_into().ok()?, inode: inode.try_into().ok()? };
    let entry = Entry { stamp, mode: mode.try_into().ok()?, content, racy: false, seen: 0 };
    Some((fields.next()?.into(), entry))
}

/// Writes it: files whose bytes are kept and whose stamp can be trusted.
pub(super) fn write(file: &Path, tree: &BTreeMap<PathBuf, Entry>) {
    let mut text = FORM.to_owned();
    for (path, entry) in tree {
        let (Content::Kept(hash), Some(path)) = (entry.content, path.to_str()) else { continue };
        if entry.racy || entry.state().is_none_or(|state| state.kind() != 0) {
            continue;
        }
        let Stamp { modified, changed, size, inode } = entry.stamp;
        // Writing to a string cannot fail.
        let _ = write!(text, "\0{modified} {changed} {size} {inode} {} {} {path}", entry.mode, hex(&hash));
    }
    if let Err(error) = write_whole(file, &text) {
        tracing::warn!(%error, "the next baseline will read everything again");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read_again_and_nothing_that_is_not_ours() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("tree");
        let entry = |hash, racy| Entry {
            stamp: Stamp { modified: -1, changed: 2, size: 3, inode: 4 },
            mode: 0o644,
            content: hash,
            racy,
            seen: 7,
        };
        let tree = BTreeMap::from([
            (PathBuf::from("a b\nc"), entry(Content::Kept([7; 32]), false)),
            (PathBuf::from("fresh"), entry(Content::Kept([8; 32]), true)),
            (PathBuf::from("large"), entry(Content::TooLarge, false)),
        ]);
        write(&file, &tree);
        let known = read(&file);
        assert_eq!(known.len(), 1, "{known:?}");
        assert_eq!(known[Path::new("a b\nc")], Entry { seen: 0, ..entry(Content::Kept([7; 32]), false) });
        std::fs::write(&file, "hermes tree 2\0x").unwrap();
        assert!(read(&file).is_empty());
    }
}
