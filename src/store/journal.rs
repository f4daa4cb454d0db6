//! The spare of the database: one file a session that records are only added to, each with its length and a checksum.
//!
//! An append is one write here, which the operating system keeps when the program is killed. The database takes the items a
//! moment later, many in one transaction ([`pending`]); what it lacks after a kill comes from here ([`take_in`]). The
//! database is the truth: what a journal says otherwise is not believed while the database can be read.

pub(super) mod lines;
pub(super) mod marker;
pub(super) mod paths;
pub(super) mod pending;
mod record;
mod spare;
pub(super) mod take_in;

pub(super) use record::{Head, Record};
pub use spare::SpareJournal;
pub(super) use spare::{all_bytes, others_work, size, spare};

use super::db::Db;
use super::error::StoreError;
use super::{items, resume, sessions};
use crate::fs::remove;
use crate::protocol::{Item, ItemId, SessionId};
use record::Packer;
use rusqlite::Connection;
use std::collections::{BTreeSet, HashMap};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The folder in the home.
pub(super) const FOLDER: &str = "journal";
/// The ending of a journal.
const ENDING: &str = ".journal";
/// A session whose items are larger than this gets no journal of what it had before: reading it would take seconds.
const SEEDED: i64 = 64 << 20;
/// Names longer than this end in a hash of the session's id.
const NAME: usize = 160;

/// What this process writes to journals.
#[derive(Default)]
pub(super) struct Journal {
    packer: Packer,
    buffer: Vec<u8>,
    marker: marker::Marker,
    /// Files that the disk itself may not have yet.
    unsynced: BTreeSet<PathBuf>,
    /// Streamed text as the journal has it.
    streamed: HashMap<SessionId, super::actor::Streamed>,
    /// Bytes written since the start.
    pub written: u64,
}

/// The journal of a session.
fn path(home: &Path, session: &SessionId) -> PathBuf {
    home.join(FOLDER).join(name(session))
}

/// The file's name. A long one ends in a hash.
pub(super) fn name(session: &SessionId) -> String {
    let mut name = session.file_name();
    if name.len() > NAME {
        name.truncate(NAME - 33);
        // Half an escape at the cut means nothing to anybody.
        name.push('-');
        name.push_str(&super::hash(session.0.as_bytes())[..32]);
    }
    name.push_str(ENDING);
    name
}

/// Adds records to a session's journal in one write. The first write to a new file puts what the database has of the session
/// before them.
pub(super) fn append(db: &mut Db, session: &SessionId, records: &[Record]) -> Result<(), StoreError> {
    let path = path(&db.home, session);
    let done = add(db, session, &path, records, true).map(|()| {
        db.journal.unsynced.insert(path.clone());
    });
    done.map_err(|error| StoreError::file("write to the journal", &path, &error))
}

/// Begins the journal of a session that was imported. That it can't be written is told as trouble.
pub(super) fn begin(db: &mut Db, new: &super::NewSession, items: &[Item]) {
    if db.in_memory {
        return;
    }
    let known = sessions::meta(&db.conn, &new.id).ok().flatten().map(|(_, meta)| head(&meta));
    let head = known.unwrap_or_else(|| Head { id: new.id.0.clone(), ..Head::default() });
    let records: Vec<Record> = std::iter::once(Record::Session(head)).chain(of_items(items)).collect();
    let path = path(&db.home, &new.id);
    // No fsync: there may be thousands of them, and where they came from they still are.
    let done = add(db, &new.id, &path, &records, false);
    let trouble = done.err().map(|error| StoreError::file("write to the journal", &path, &error).to_string());
    db.shared.set_journal_trouble(trouble);
}

fn add(db: &mut Db, session: &SessionId, path: &Path, records: &[Record], with_what_was: bool) -> std::io::Result<()> {
    let length = match fs::metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => 0,
        about => about?.len(),
    };
    let journal = &mut db.journal;
    journal.buffer.clear();
    if length == 0 && with_what_was {
        // Without what was before it would never get it: the caller has the database.
        for record in seed(&db.conn, session).map_err(std::io::Error::other)? {
            journal.packer.put(&record, &mut journal.buffer)?;
        }
    }
    for record in records {
        journal.packer.put(record, &mut journal.buffer)?;
    }
    if journal.buffer.is_empty() {
        return Ok(());
    }
    journal.written += journal.marker.note(&db.home, (db.pid, db.born), session, length)?;
    if length == 0 {
        // All of its beginning at once: half of it would be taken for all.
        let begun = begun(path);
        open(&begun, true)?.write_all(&journal.buffer)?;
        fs::rename(&begun, path)?;
    } else {
        // Half a record that a full disk leaves is stepped over by whoever reads; another process may write behind it already.
        open(path, false)?.write_all(&journal.buffer)?;
    }
    journal.written += journal.buffer.len() as u64;
    // A seed or a picture must not keep its room for good.
    journal.buffer.shrink_to(1 << 20);
    Ok(())
}

/// The name of a journal while its beginning is written.
fn begun(path: &Path) -> PathBuf {
    path.with_extension("journal.new")
}

fn open(path: &Path, is_new: bool) -> std::io::Result<File> {
    let open = || {
        let mut options = OpenOptions::new();
        options.create(true).mode(0o600);
        if is_new { options.write(true).truncate(true) } else { options.append(true) }.open(path)
    };
    match open() {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let folder = path.parent().unwrap_or(path);
            DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
            open()
        }
        opened => opened,
    }
}

/// What the database has of a session, as records.
fn seed(conn: &Connection, session: &SessionId) -> rusqlite::Result<Vec<Record>> {
    let Some((key, meta)) = sessions::meta(conn, session)? else {
        return Ok(vec![Record::Session(Head { id: session.0.clone(), ..Head::default() })]);
    };
    let mut records = vec![Record::Session(head(&meta))];
    let bytes: i64 =
        conn.query_row("SELECT coalesce(sum(length(body)), 0) FROM items WHERE session = ?1", [key], |row| row.get(0))?;
    if bytes > SEEDED {
        tracing::info!(%session, bytes, "the journal of this session begins here");
        return Ok(records);
    }
    let sql = format!("SELECT {}, rewound FROM items WHERE session = ?1 ORDER BY id", items::COLUMNS);
    let mut get = conn.prepare(&sql)?;
    let mut rows = get.query([key])?;
    let mut out: Option<(i64, ItemId, ItemId)> = None;
    let mut rewinds = Vec::new();
    while let Some(row) = rows.next()? {
        let Some(item) = items::decode(row) else { continue };
        let rewound: i64 = row.get(4)?;
        match &mut out {
            Some((number, _, last)) if *number == rewound => *last = item.id,
            _ => {
                rewinds.extend(out.take());
                out = (rewound != 0).then_some((rewound, item.id, item.id));
            }
        }
        records.extend(of_items(&[item]));
    }
    rewinds.extend(out);
    records.extend(rewinds.into_iter().map(|(number, first, last)| Record::Rewind { number, first, last }));
    records.extend(resume::values(conn, key)?.into_iter().map(|(name, value)| Record::Fact { name, value }));
    Ok(records)
}

fn head(meta: &super::SessionMeta) -> Head {
    let row = &meta.row;
    Head {
        id: row.id.clone(),
        title: row.title.clone(),
        source: meta.source.clone(),
        cwd: row.cwd.clone(),
        model: row.model.clone(),
        started_at: row.started_at,
    }
}

/// What the journal of a session holds.
#[cfg(test)]
pub(super) fn records(home: &Path, session: &SessionId) -> Vec<Record> {
    record::read(&std::fs::read(path(home, session)).unwrap_or_default()).records
}

/// Journals that the disk itself may not have yet.
#[cfg(test)]
pub(super) fn unsynced(db: &Db) -> usize {
    db.journal.unsynced.len()
}

/// Journals of sessions that no program works in, for a database that is new.
pub(super) fn orphans(home: &Path) -> usize {
    let files = take_in::journals(home).into_iter().filter(|path| path.metadata().is_ok_and(|about| about.len() > 0));
    let names: Vec<String> =
        files.filter_map(|path| path.file_name().and_then(|name| name.to_str()).map(str::to_owned)).collect();
    // After the files: a program notes its journals before it writes to them.
    let pid = i64::from(std::process::id());
    let others = marker::others(home, &marker::Marker::default(), pid);
    let live: Vec<&String> = others
        .iter()
        .filter(|left| left.is_alive || left.is_ours)
        .flat_map(|left| left.journals.iter().map(|(name, _)| name))
        .collect();
    names.iter().filter(|name| !live.contains(name)).count()
}

/// Items as records, each text once.
pub(super) fn of_items(items: &[Item]) -> Vec<Record> {
    let folded = |item: &Item| match items::once::folded(&item.body) {
        Some(body) => Item { body, ..*item },
        None => item.clone(),
    };
    items.iter().map(|item| Record::Item(folded(item))).collect()
}

/// Puts what the database has taken already into the journal, too. That it can't be written is told as trouble: the session
/// itself is saved.
pub(super) fn follow(db: &mut Db, session: &SessionId, records: &[Record]) {
    if db.in_memory {
        return;
    }
    let done = append(db, session, records);
    db.shared.set_journal_trouble(done.err().map(|error| error.to_string()));
}

/// Writes down what a session is now, when it has a journal.
pub(super) fn follow_head(db: &mut Db, session: &SessionId) {
    if db.in_memory || !path(&db.home, session).exists() {
        return;
    }
    if let Ok(Some((_, meta))) = sessions::meta(&db.conn, session) {
        follow(db, session, &[Record::Session(head(&meta))]);
    }
}

/// Writes down a named value of a session, when it has a journal.
pub(super) fn follow_fact(db: &mut Db, session: &SessionId, name: String, value: serde_json::Value) {
    if !db.in_memory && path(&db.home, session).exists() {
        follow(db, session, &[Record::Fact { name, value }]);
    }
}

/// Keeps streamed text: what is new of it. `false`: it can't be written.
pub(super) fn stream(db: &mut Db, session: &SessionId, text: super::actor::Streamed, at: i64) -> bool {
    if db.in_memory {
        return false;
    }
    let before = db.journal.streamed.remove(session).filter(|before| before.turn == text.turn).unwrap_or_default();
    let keep = [common(&before.text, &text.text), common(&before.reasoning, &text.reasoning)];
    let record = Record::Stream {
        turn: text.turn,
        at,
        keep,
        text: text.text[keep[0]..].to_owned(),
        reasoning: text.reasoning[keep[1]..].to_owned(),
    };
    match append(db, session, &[record]) {
        Ok(()) => {
            db.journal.streamed.insert(session.clone(), text);
            true
        }
        Err(error) => {
            tracing::warn!(%error, "streamed text goes to the database");
            false
        }
    }
}

/// Bytes that both begin with, up to the start of a character.
fn common(one: &str, two: &str) -> usize {
    let same = one.bytes().zip(two.bytes()).take_while(|(a, b)| a == b).count();
    (0..=same).rev().find(|at| two.is_char_boundary(*at)).unwrap_or(0)
}

/// Forgets that text streams in a session: its item is there, or it is no longer wanted.
pub(super) fn unstream(db: &mut Db, session: &SessionId) {
    db.journal.streamed.remove(session);
}

/// The streamed text that only the journal has, of one session or of all.
pub(super) fn take_streams(db: &mut Db, session: Option<&SessionId>) -> HashMap<SessionId, super::actor::Streamed> {
    match session {
        Some(session) => db.journal.streamed.remove_entry(session).into_iter().collect(),
        None => std::mem::take(&mut db.journal.streamed),
    }
}

/// The name of the marker of this process, which it keeps locked; empty: there is none.
pub(super) fn enlist(db: &mut Db) -> String {
    if db.in_memory {
        return String::new();
    }
    db.journal.marker.name(&db.home, (db.pid, db.born)).unwrap_or_else(|error| {
        tracing::debug!(%error, "other processes know this one by its number alone");
        String::new()
    })
}

/// What the journals got survives a power loss when this returns.
pub(super) fn sync(db: &mut Db) -> Result<(), StoreError> {
    let mut failed = None;
    db.journal.unsynced.retain(|path| match File::open(path).and_then(|file| file.sync_data()) {
        // Its session was deleted.
        Err(error) if error.kind() == ErrorKind::NotFound => false,
        Err(error) => {
            failed.get_or_insert(StoreError::file("write to the disk", path, &error));
            true
        }
        Ok(()) => false,
    });
    if let Some(error) = failed {
        return Err(error);
    }
    db.journal.marker.sync().map_err(|error| StoreError::file("write to the disk", &db.home.join(FOLDER), &error))
}

/// Says that the database has all that this process wrote.
pub(super) fn leave(db: &mut Db) {
    db.journal.marker.remove(&db.home);
}

/// Removes the journal of a session that is deleted.
pub(super) fn forget(home: &Path, session: &SessionId) -> Result<(), StoreError> {
    let journal = path(home, session);
    for path in [begun(&journal), lines::path(home, session), journal] {
        if let Err(error) = remove::file(remove::File::Journal, home, &path) {
            return Err(StoreError::file("remove the journal", &path, &error.into()));
        }
    }
    Ok(())
}
