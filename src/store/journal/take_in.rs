//! What journals hold beyond the database comes into it: after a kill, and when a damaged or lost database is made anew.

use super::record::{self, Record};
use super::{ENDING, FOLDER, Head, lines, marker};
use crate::protocol::{Item, ItemId, SessionId};
use crate::store::db::Db;
use crate::store::error::StoreError;
use crate::store::{NewSession, commands, items, sessions};
use rusqlite::{OptionalExtension, Transaction};
use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File};
use std::io::{ErrorKind, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

/// What came of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::store) struct Taken {
    pub items: u64,
    /// Programs that ended without putting everything into the database.
    pub unclean: u64,
    /// Records that could not be read.
    pub damaged: u64,
}

/// Takes in what programs left that were killed, and what the database refused in older versions.
pub(in crate::store) fn after_kills(db: &mut Db) -> Taken {
    let mut taken = Taken::default();
    if db.in_memory {
        return taken;
    }
    taken.items += lines::take_in(db);
    for left in marker::others(&db.home, &db.journal.marker, db.pid) {
        if left.is_alive || left.is_ours {
            continue;
        }
        taken.unclean += 1;
        let mut whole = true;
        for (name, from) in &left.journals {
            whole &= told(db, &db.home.join(FOLDER).join(name), *from, &mut taken);
        }
        if whole {
            left.remove(&db.home);
        }
    }
    taken
}

/// Takes in what others left of one session that is about to be opened; one whose program still runs is left alone.
pub(in crate::store) fn of_session(db: &mut Db, session: &SessionId) {
    if db.in_memory {
        return;
    }
    let wanted = super::name(session);
    for left in marker::others(&db.home, &db.journal.marker, db.pid) {
        if left.is_alive {
            continue;
        }
        for (name, from) in left.journals.iter().filter(|(name, _)| *name == wanted) {
            told(db, &db.home.join(FOLDER).join(name), *from, &mut Taken::default());
        }
    }
}

/// Takes in everything that all journals hold.
pub(in crate::store) fn all(db: &mut Db) -> Taken {
    let mut taken = Taken::default();
    if db.in_memory {
        return taken;
    }
    taken.items += lines::take_in(db);
    for path in journals(&db.home) {
        told(db, &path, 0, &mut taken);
    }
    taken
}

/// All journals of a home.
pub(in crate::store) fn journals(home: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(home.join(FOLDER)).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| path.to_str().is_some_and(|path| path.ends_with(ENDING)))
        .collect();
    paths.sort();
    paths
}

/// Whether a journal has an entry or text of an answer. One that can't be read counts as one that has.
pub(super) fn holds_items(path: &Path) -> bool {
    let is_said = |record: &Record| matches!(record, Record::Item(_) | Record::Stream { .. });
    match read(path, 0) {
        Ok(Some(read)) => read.damaged > 0 || read.records.iter().any(is_said),
        Ok(None) => false,
        Err(_) => true,
    }
}

/// Whether it worked; an error is told as trouble.
fn told(db: &mut Db, path: &Path, from: u64, taken: &mut Taken) -> bool {
    match one(db, path, from) {
        Ok(more) => {
            taken.items += more.items;
            taken.damaged += more.damaged;
            true
        }
        Err(error) => {
            db.shared.set_trouble(Some(error.to_string()));
            false
        }
    }
}

/// Takes in one journal from an offset on; all of it when the database lacks the session.
fn one(db: &mut Db, path: &Path, from: u64) -> Result<Taken, StoreError> {
    let fault = |error: std::io::Error| StoreError::file("read the journal", path, &error);
    let Some(mut read) = read(path, from).map_err(fault)? else { return Ok(Taken::default()) };
    let Some(session) = session_of(path, &read.records) else { return Ok(Taken::default()) };
    let is_known = db.read("look for the session", |conn| sessions::key(conn, &session))?.is_some();
    if !is_known && from > 0 {
        let Some(whole) = self::read(path, 0).map_err(fault)? else { return Ok(Taken::default()) };
        read = whole;
    }
    let session = session_of(path, &read.records).unwrap_or(session);
    let damaged = read.damaged;
    let items = db.write("import the journal", |tx| place_all(tx, &session, read.records))?;
    db.unindexed |= items > 0;
    Ok(Taken { items, damaged, unclean: 0 })
}

/// `None`: there is none.
fn read(path: &Path, from: u64) -> std::io::Result<Option<record::Read>> {
    let mut file = match File::open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        opened => opened?,
    };
    // One that is shorter was deleted with its session and begun anew.
    let from = if file.metadata()?.len() < from { 0 } else { from };
    file.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(Some(record::read(&bytes)))
}

/// By the record that says so, else by the name of the file.
fn session_of(path: &Path, records: &[Record]) -> Option<SessionId> {
    let said = records.iter().find_map(|record| match record {
        Record::Session(head) if !head.id.is_empty() => Some(SessionId(head.id.clone())),
        _ => None,
    });
    said.or_else(|| {
        let name = path.file_name()?.to_str()?.strip_suffix(ENDING)?;
        let mut bytes = Vec::with_capacity(name.len());
        let mut rest = name.bytes();
        while let Some(byte) = rest.next() {
            if byte == b'%' {
                let digits = [rest.next()?, rest.next()?];
                bytes.push(u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?);
            } else {
                bytes.push(byte);
            }
        }
        String::from_utf8(bytes).ok().map(SessionId)
    })
}

/// Returns the items that were missing.
pub(super) fn place_all(tx: &Transaction<'_>, session: &SessionId, records: Vec<Record>) -> rusqlite::Result<u64> {
    let mut heads = records.iter().filter_map(|record| match record {
        Record::Session(head) => Some(head),
        _ => None,
    });
    let head = heads.next_back().cloned();
    let (key, is_new) = match sessions::key(tx, session)? {
        Some(key) => (key, false),
        None if !records.iter().any(|record| matches!(record, Record::Item(_) | Record::Stream { .. })) => {
            return Ok(0);
        }
        None => (make(tx, session, head.as_ref(), &records)?, true),
    };
    let mut places = Places { tx, session, key, times: None };
    let mut moved = 0;
    let mut stream: Option<(u32, i64, String, String)> = None;
    let mut facts = BTreeMap::new();
    for record in records {
        match record {
            Record::Session(_) => {}
            Record::Item(mut item) => {
                items::once::unfold(&mut item.body);
                if items::ends_stream(std::slice::from_ref(&item)) {
                    stream = None;
                }
                moved += u64::from(places.place(item)?);
            }
            Record::Stream { turn, at, keep, text, reasoning } => {
                let old = stream.take().filter(|old| old.0 == turn).unwrap_or_default();
                stream = Some((turn, at, joined(old.2, keep[0], &text), joined(old.3, keep[1], &reasoning)));
            }
            Record::Rewind { number, first, last } => {
                stream = None;
                leave_out(tx, key, number, first, last)?;
            }
            Record::Redo { number } => put_back(tx, key, number)?,
            Record::Fact { name, value } => drop(facts.insert(name, value)),
            Record::Command { command, changes } => commands::take_in(tx, key, command, changes, is_new)?,
        }
    }
    // A session that is there has its own.
    for (name, value) in facts.iter().filter(|_| is_new) {
        crate::store::resume::put_value(tx, key, name, value)?;
    }
    if let Some((turn, at, text, reasoning)) = stream {
        crate::store::live::put_partial(tx, session, turn, at, &text, &reasoning)?;
    }
    if let Some(title) = head.and_then(|head| head.title).filter(|_| is_new) {
        let title = crate::store::title::unique(tx, key, &title)?;
        tx.execute("UPDATE sessions SET title = ?2 WHERE key = ?1", (key, title))?;
    }
    Ok(moved)
}

fn joined(mut old: String, keep: usize, more: &str) -> String {
    // A record before this one may be damaged: then what is left is shown.
    if old.is_char_boundary(keep) {
        old.truncate(keep);
    }
    old.push_str(more);
    old
}

fn make(tx: &Transaction<'_>, session: &SessionId, head: Option<&Head>, records: &[Record]) -> rusqlite::Result<i64> {
    let first = records.iter().find_map(|record| match record {
        Record::Item(item) => Some(item.at),
        _ => None,
    });
    let mut new = NewSession::bare(session.clone(), first.unwrap_or_else(crate::store::now));
    if let Some(head) = head {
        (new.cwd, new.model) = (head.cwd.clone(), head.model.clone());
        if !head.source.is_empty() {
            new.source.clone_from(&head.source);
        }
        if head.started_at > 0 {
            new.started_at = head.started_at;
        }
    }
    sessions::insert(tx, &new)
}

/// Where the items of a session belong.
struct Places<'a> {
    tx: &'a Transaction<'a>,
    session: &'a SessionId,
    key: i64,
    /// Numbers of the items of a time, read when a first item is missing at its own number.
    times: Option<HashMap<i64, Vec<i64>>>,
}

impl Places<'_> {
    /// One item: at its own number when that is free, else after the last. `false` when it is there already, be it under
    /// another number, which it got because another process had taken its own.
    fn place(&mut self, item: Item) -> rusqlite::Result<bool> {
        let last: i64 = self
            .tx
            .prepare_cached("SELECT last_item FROM sessions WHERE key = ?1")?
            .query_row([self.key], |row| row.get(0))?;
        if item.id.0 <= last {
            match self.at(item.id.0)? {
                Some(Some(there)) if there == item => return Ok(false),
                there => {
                    if self.is_elsewhere(&item)? {
                        return Ok(false);
                    }
                    // An earlier number than the last: the counts follow as if it were appended, and then it moves to its
                    // place.
                    if there.is_none() && item.id.0 > 0 {
                        let wanted = item.id;
                        for id in items::append_in(self.tx, self.session, &[item])? {
                            let sql = "UPDATE items SET id = ?3 WHERE session = ?1 AND id = ?2";
                            self.tx.execute(sql, (self.key, id.0, wanted.0))?;
                        }
                        let sql = "UPDATE sessions SET last_item = ?2 WHERE key = ?1";
                        self.tx.execute(sql, (self.key, last))?;
                        return Ok(true);
                    }
                }
            }
        } else if self.is_elsewhere(&item)? {
            return Ok(false);
        }
        self.note(&item, last);
        items::append_in(self.tx, self.session, &[item]).map(|_| true)
    }

    /// What stands at a number; `None` inside: a row that can't be read.
    fn at(&self, number: i64) -> rusqlite::Result<Option<Option<Item>>> {
        let sql = format!("SELECT {} FROM items WHERE session = ?1 AND id = ?2", items::COLUMNS);
        self.tx.prepare_cached(&sql)?.query_row((self.key, number), |row| Ok(items::decode(row))).optional()
    }

    fn is_elsewhere(&mut self, item: &Item) -> rusqlite::Result<bool> {
        if self.times.is_none() {
            let mut times: HashMap<i64, Vec<i64>> = HashMap::new();
            let mut get = self.tx.prepare_cached("SELECT at, id FROM items WHERE session = ?1")?;
            let mut rows = get.query([self.key])?;
            while let Some(row) = rows.next()? {
                times.entry(row.get(0)?).or_default().push(row.get(1)?);
            }
            self.times = Some(times);
        }
        let numbers = self.times.as_ref().and_then(|times| times.get(&item.at)).cloned().unwrap_or_default();
        for number in numbers {
            let there = self.at(number)?.flatten();
            if there.is_some_and(|there| there.turn == item.turn && there.at == item.at && there.body == item.body) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The next is not to be taken for missing when it stands there twice in the journal.
    fn note(&mut self, item: &Item, last: i64) {
        let number = if item.id.0 > last { item.id.0 } else { last + 1 };
        if let Some(times) = &mut self.times {
            times.entry(item.at).or_default().push(number);
        }
    }
}

/// Whether the database has the rewind of this number. Then it is believed, and not the journal: a record may be missing
/// that the program was about to write when it was killed.
fn has(tx: &Transaction<'_>, key: i64, number: i64) -> rusqlite::Result<bool> {
    tx.prepare_cached("SELECT EXISTS (SELECT 1 FROM rewinds WHERE key = ?2 AND session = ?1)")?
        .query_row((key, number), |row| row.get(0))
}

/// A rewind that the database lacks can't be redone: its files are not known. What it left out stays out.
fn leave_out(tx: &Transaction<'_>, key: i64, number: i64, first: ItemId, last: ItemId) -> rusqlite::Result<()> {
    if has(tx, key, number)? {
        return Ok(());
    }
    let sql = "UPDATE items SET rewound = ?4 WHERE session = ?1 AND id BETWEEN ?2 AND ?3 AND rewound = 0";
    tx.execute(sql, (key, first.0, last.0, -number.abs())).map(drop)
}

fn put_back(tx: &Transaction<'_>, key: i64, number: i64) -> rusqlite::Result<()> {
    if has(tx, key, number)? {
        return Ok(());
    }
    let sql = "UPDATE items SET rewound = 0 WHERE session = ?1 AND rewound = ?2";
    tx.execute(sql, (key, -number.abs())).map(drop)
}
