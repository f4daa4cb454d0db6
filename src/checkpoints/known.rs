//! What the last baseline of a folder found, so that the next one reads only what was touched since. A file of the cache.

use super::entry::{Content, Entry, Stamp, hex, unhex};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// The first line; another one is not read.
pub(super) const FORM: &str = "hermes tree 2";

/// A folder as it was.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Tree {
    pub entries: BTreeMap<PathBuf, Entry>,
    pub left_out: BTreeSet<PathBuf>,
}

/// Reads the file: files whose bytes are kept and whose stamp can be trusted. Empty when there is none that can be read.
pub(super) fn read(file: &Path) -> HashMap<PathBuf, Entry> {
    let Ok(bytes) = std::fs::read(file) else { return HashMap::new() };
    // Its program may be writing the end now.
    let Some(tree) = tree(&String::from_utf8_lossy(&bytes)) else { return HashMap::new() };
    let is_trusted = |entry: &Entry| !entry.racy && entry.state().is_some_and(|state| state.kind() == 0);
    tree.entries.into_iter().filter(|(_, entry)| is_trusted(entry)).collect()
}

/// Hashes of the bytes that the baselines in a folder know.
pub(super) fn hashes(trees: &Path) -> impl Iterator<Item = String> {
    let files = std::fs::read_dir(trees).into_iter().flatten().flatten().map(|entry| entry.path());
    let texts = files.filter_map(|file| Some(String::from_utf8_lossy(&std::fs::read(file).ok()?).into_owned()));
    let kept = |text: String| {
        let records = text.split('\0').filter_map(|record| match Record::read(record)? {
            Record::Is(_, Entry { content: Content::Kept(hash), .. }) => Some(hex(&hash)),
            Record::Is(..) | Record::Gone(_) | Record::LeftOut(_) => None,
        });
        records.collect::<Vec<_>>()
    };
    texts.flat_map(kept)
}

/// What such a text says, the later records of a path before its earlier ones.
pub(super) fn tree(text: &str) -> Option<Tree> {
    let mut records = text.split('\0');
    if records.next() != Some(FORM) {
        return None;
    }
    let mut tree = Tree::default();
    for record in records.filter_map(Record::read) {
        match record {
            Record::Is(path, entry) => drop(tree.entries.insert(path, entry)),
            Record::Gone(path) => {
                tree.entries.remove(&path);
                tree.left_out.remove(&path);
            }
            Record::LeftOut(path) => drop(tree.left_out.insert(path)),
        }
    }
    Some(tree)
}

enum Record {
    Is(PathBuf, Entry),
    Gone(PathBuf),
    LeftOut(PathBuf),
}

impl Record {
    fn read(text: &str) -> Option<Self> {
        if let Some(path) = text.strip_prefix("- ") {
            return Some(Self::Gone(path.into()));
        }
        if let Some(path) = text.strip_prefix("x ") {
            return Some(Self::LeftOut(path.into()));
        }
        let mut fields = text.splitn(7, ' ');
        let mut number = || fields.next()?.parse::<i64>().ok();
        let (modified, changed, size, inode, mode) = (number()?, number()?, number()?, number()?, number()?);
        let content = fields.next()?;
        let (content, racy) = content.strip_suffix('?').map_or((content, false), |content| (content, true));
        let content = match content {
            "large" => Content::TooLarge,
            "room" => Content::NoRoom,
            "ignored" => Content::Ignored,
            "unreadable" => Content::Unreadable,
            "special" => Content::Special,
            hash => Content::Kept(unhex(hash)?),
        };
        let stamp = Stamp { modified, changed, size: size.try_into().ok()?, inode: inode.try_into().ok()? };
        let entry = Entry { stamp, mode: mode.try_into().ok()?, content, racy, seen: 0 };
        Some(Self::Is(fields.next()?.into(), entry))
    }
}

/// Adds a record: what is at a path, or that nothing is. A name that is no text is left out.
pub(super) fn put(text: &mut String, path: &Path, entry: Option<&Entry>) {
    let Some(path) = path.to_str() else { return };
    let Some(entry) = entry else {
        text.extend(["\0- ", path]);
        return;
    };
    let content = match entry.content {
        Content::Kept(hash) => hex(&hash),
        Content::TooLarge => "large".to_owned(),
        Content::NoRoom => "room".to_owned(),
        Content::Ignored => "ignored".to_owned(),
        Content::Unreadable => "unreadable".to_owned(),
        Content::Special => "special".to_owned(),
    };
    let Stamp { modified, changed, size, inode } = entry.stamp;
    let racy = if entry.racy { "?" } else { "" };
    // Writing to a string cannot fail.
    let _ = write!(text, "\0{modified} {changed} {size} {inode} {} {content}{racy} {path}", entry.mode);
}

/// Adds that a path is left out.
pub(super) fn put_left_out(text: &mut String, path: &Path) {
    text.extend(path.to_str().iter().flat_map(|path| ["\0x ", *path]));
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
        let mut text = FORM.to_owned();
        tree.iter().for_each(|(path, entry)| put(&mut text, path, Some(entry)));
        put_left_out(&mut text, Path::new("target"));
        std::fs::write(&file, &text).unwrap();
        let known = read(&file);
        assert_eq!(known.len(), 1, "{known:?}");
        assert_eq!(known[Path::new("a b\nc")], Entry { seen: 0, ..entry(Content::Kept([7; 32]), false) });
        let whole = super::tree(&text).unwrap();
        assert_eq!((whole.entries.len(), whole.left_out.len()), (3, 1), "{whole:?}");
        assert_eq!(whole.entries[Path::new("large")].content, Content::TooLarge);
        put(&mut text, Path::new("a b\nc"), None);
        assert_eq!(super::tree(&text).unwrap().entries.len(), 2);
        std::fs::write(&file, "hermes tree 1\0x").unwrap();
        assert!(read(&file).is_empty());
    }
}
