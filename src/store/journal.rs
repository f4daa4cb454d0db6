//! The spare: items that the database would not take stand in one file a session until it takes them again.

use super::db::Db;
use super::error::StoreError;
use super::{NewSession, items, sessions};
use crate::fs::remove;
use crate::protocol::{Item, ItemId, SessionId};
use rusqlite::OptionalExtension;
use serde::{Deserialize, Serialize};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The folder in the home.
pub(super) const FOLDER: &str = "journal";

/// The ending of files with lines that could not be read; kept for the person, never taken in.
const BAD: &str = "bad";

/// One line of a journal: enough to make the session anew.
#[derive(Serialize, Deserialize)]
struct Entry {
    session: String,
    #[serde(default)]
    cwd: String,
    #[serde(default)]
    model: String,
    item: Item,
}

/// Writes items to the journal because the database refused them with this error. Returns their ids; the error itself when
/// the journal can't be written either.
pub(super) fn keep(
    db: &mut Db,
    session: &SessionId,
    items: &[Item],
    error: StoreError,
) -> Result<Vec<ItemId>, StoreError> {
    if db.in_memory {
        return Err(error);
    }
    let known = sessions::meta(&db.conn, session).ok().flatten().map(|(_, meta)| meta);
    let (row, mut last) = known.map(|meta| (meta.row, meta.last_item.0)).unwrap_or_default();
    let mut text = String::new();
    let mut ids = Vec::with_capacity(items.len());
    for item in items {
        last = if item.id.0 > last { item.id.0 } else { last + 1 };
        let item = Item { id: ItemId(last), ..item.clone() };
        ids.push(item.id);
        let entry = Entry { session: session.0.clone(), cwd: row.cwd.clone(), model: row.model.clone(), item };
        let Ok(line) = serde_json::to_string(&entry) else { return Err(error) };
        text.push_str(&line);
        text.push('\n');
    }
    let path = path(&db.home, session);
    if let Err(second) = write(&path, &text) {
        tracing::warn!(%second, path = %path.display(), "the journal can't be written either");
        db.shared.set_trouble(Some(error.to_string()));
        return Err(error);
    }
    db.journaled = true;
    db.shared.set_trouble(Some(format!("{error}; until then items go to {}", path.display())));
    Ok(ids)
}

/// One write and one fsync: the lines are whole or missing, also on a disk that is full.
fn write(path: &Path, text: &str) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    let file = OpenOptions::new().create(true).append(true).read(true).mode(0o600).open(path)?;
    let length = file.metadata()?.len();
    let mut last = [b'\n'];
    if length > 0 {
        file.read_exact_at(&mut last, length - 1)?;
    }
    // Half a line that a crash left must not spoil the next.
    let glued = if last == [b'\n'] { "" } else { "\n" };
    put(&file, format!("{glued}{text}").as_bytes()).inspect_err(|_| {
        if let Err(error) = file.set_len(length) {
            tracing::warn!(%error, path = %path.display(), "the journal contains a partial line");
        }
    })
}

fn put(mut file: &File, bytes: &[u8]) -> std::io::Result<()> {
    file.write_all(bytes)?;
    file.sync_data()
}

/// The journal of a session. Everything but letters, digits, `-` and `_` is written as `%` and two digits.
fn path(home: &Path, session: &SessionId) -> PathBuf {
    let mut name = String::new();
    for byte in session.0.bytes() {
        if byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_' {
            name.push(char::from(byte));
        } else {
            name.push_str(&format!("%{byte:02x}"));
        }
    }
    home.join(FOLDER).join(format!("{name}.jsonl"))
}

/// Moves everything in the journal folder into the database; what it still refuses stays. Returns the items moved.
pub(super) fn take_in(db: &mut Db) -> u64 {
    if !db.journaled || db.in_memory {
        return 0;
    }
    let Ok(entries) = fs::read_dir(db.home.join(FOLDER)) else {
        db.journaled = false;
        return 0;
    };
    let (mut moved, mut left) = (0, false);
    for entry in entries.flatten() {
        if entry.path().extension().is_some_and(|ending| ending == BAD) {
            continue;
        }
        match take_file(db, &entry.path()) {
            Ok(count) => moved += count,
            Err(error) => {
                left = true;
                db.shared.set_trouble(Some(error.to_string()));
            }
        }
    }
    db.journaled = left;
    if moved > 0 {
        db.unindexed = true;
    }
    moved
}

fn take_file(db: &mut Db, path: &Path) -> Result<u64, StoreError> {
    // The new name keeps a writer in another process from adding to a file that is about to go.
    let mut claimed = path.as_os_str().to_owned();
    claimed.push(format!(".{}", db.pid));
    let claimed = PathBuf::from(claimed);
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
            moved += u64::from(place(tx, entry)?);
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
    name.push(format!(".{BAD}"));
    PathBuf::from(name)
}

/// One journaled item: at its own number when that is free, else after the last. `false` when it is there already.
fn place(tx: &rusqlite::Transaction<'_>, entry: Entry) -> rusqlite::Result<bool> {
    let session = SessionId(entry.session);
    let Some(key) = sessions::key(tx, &session)? else {
        let mut new = NewSession::bare(session.clone(), entry.item.at);
        (new.cwd, new.model) = (entry.cwd, entry.model);
        sessions::insert(tx, &new)?;
        return items::append_in(tx, &session, &[entry.item]).map(|_| true);
    };
    let sql = format!("SELECT {} FROM items WHERE session = ?1 AND id = ?2", items::COLUMNS);
    let there = tx.prepare_cached(&sql)?.query_row((key, entry.item.id.0), |row| Ok(items::decode(row))).optional()?;
    match there {
        Some(Some(item)) if item == entry.item => return Ok(false),
        Some(_) => {}
        None => {
            // An earlier number than the last: the counts follow as if it were appended, and then it moves to its place.
            let wanted = entry.item.id;
            let last: i64 = tx.query_row("SELECT last_item FROM sessions WHERE key = ?1", [key], |row| row.get(0))?;
            if wanted.0 > 0 && wanted.0 <= last {
                let ids = items::append_in(tx, &session, &[entry.item])?;
                for id in ids {
                    tx.execute("UPDATE items SET id = ?3 WHERE session = ?1 AND id = ?2", (key, id.0, wanted.0))?;
                }
                tx.execute("UPDATE sessions SET last_item = ?2 WHERE key = ?1", (key, last))?;
                return Ok(true);
            }
        }
    }
    items::append_in(tx, &session, &[entry.item]).map(|_| true)
}

/// Removes the journal of a deleted session.
pub(super) fn forget(db: &Db, session: &SessionId) -> Result<(), StoreError> {
    if !db.journaled {
        return Ok(());
    }
    let path = path(&db.home, session);
    match remove::file(remove::File::Journal, &db.home, &path) {
        Err(error) => Err(StoreError::file("remove the journal", &path, &error.into())),
        Ok(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_a_line_does_not_spoil_the_next() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("journal/s.jsonl");
        write(&path, "one\n").unwrap();
        fs::write(&path, "one\nhal").unwrap();
        write(&path, "two\n").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "one\nhal\ntwo\n");
    }
}
