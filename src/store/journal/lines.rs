//! Journals as older versions wrote them: items that the database had refused, a line of JSON each. They are moved into the
//! database, and nothing is written in this form.

use super::take_in;
use super::{FOLDER, Head, Record};
use crate::fs::remove;
use crate::protocol::{Item, SessionId};
use crate::store::db::Db;
use crate::store::error::StoreError;
use serde::Deserialize;
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The ending of such a file; behind it may stand the number of a process that takes it in.
const ENDING: &str = ".jsonl";
/// The ending of files with lines that could not be read; kept for the person, never taken in.
const BAD: &str = ".bad";

/// One line of a journal: enough to make the session anew.
#[derive(Deserialize)]
struct Entry {
    session: String,
    #[serde(default)]
    cwd: String,
    #[serde(default)]
    model: String,
    item: Item,
}

fn put(mut file: &File, bytes: &[u8]) -> std::io::Result<()> {
    file.write_all(bytes)?;
    file.sync_data()
}

/// The file of lines of a session.
pub(super) fn path(home: &Path, session: &SessionId) -> PathBuf {
    home.join(FOLDER).join(format!("{}{ENDING}", session.file_name()))
}

/// Moves all lines into the database; what it refuses stays. Returns the items moved.
pub(super) fn take_in(db: &mut Db) -> u64 {
    let entries = fs::read_dir(db.home.join(FOLDER)).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let files: Vec<_> = names.filter(|name| name.contains(ENDING) && !name.ends_with(BAD)).collect();
    let mut moved = 0;
    for name in files {
        match take_file(db, &db.home.join(FOLDER).join(name)) {
            Ok(count) => moved += count,
            Err(error) => db.shared.set_trouble(Some(error.to_string())),
        }
    }
    db.unindexed |= moved > 0;
    moved
}

fn take_file(db: &mut Db, path: &Path) -> Result<u64, StoreError> {
    // The new name keeps a writer in another process from adding to a file that is about to go.
    // What another process had claimed and left gets our number in place of its own.
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let name = name.split_once(ENDING).map_or(name, |(name, _)| name);
    let claimed = path.with_file_name(format!("{name}{ENDING}.{}", db.pid));
    let bytes = match fs::rename(path, &claimed).and_then(|()| fs::read(&claimed)) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(0),
        Err(error) => return Err(StoreError::file("read the journal", path, &error)),
    };
    let (mut entries, mut bad): (Vec<Entry>, Vec<u8>) = (Vec::new(), Vec::new());
    for line in bytes.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty()) {
        match serde_json::from_slice(line) {
            Ok(entry) => entries.push(entry),
            Err(_) => {
                bad.extend_from_slice(line);
                bad.push(b'\n');
            }
        }
    }
    let moved = db.write("import the journal", |tx| {
        let mut moved = 0;
        for entry in entries {
            let Entry { session, cwd, model, item } = entry;
            let head = Head { id: session.clone(), cwd, model, ..Head::default() };
            let records = vec![Record::Session(head), Record::Item(item)];
            moved += take_in::place_all(tx, &SessionId(session), records)?;
        }
        Ok(moved)
    });
    match moved {
        Ok(moved) => {
            if !bad.is_empty() {
                let kept = bad_name(path);
                let file = OpenOptions::new().create(true).append(true).mode(0o600).open(&kept);
                file.and_then(|file| put(&file, &bad))
                    .map_err(|error| StoreError::file("keep unreadable lines of the journal in", &kept, &error))?;
                tracing::warn!(path = %kept.display(), "could not read some journal lines; they are kept there");
            }
            remove::file(remove::File::Journal, &db.home, &claimed)
                .map_err(|error| StoreError::file("remove the journal", &claimed, &error.into()))?;
            Ok(moved)
        }
        Err(error) => {
            // Back under its name; when that fails the claimed name is taken in all the same next time.
            let _ = fs::rename(&claimed, path);
            Err(error)
        }
    }
}

fn bad_name(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(BAD);
    PathBuf::from(name)
}
