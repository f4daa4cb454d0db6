//! Sessions that were not used for long are deleted for good, and the database gives back what they took.

use crate::protocol::SessionId;
use crate::store::db::{BUSY, Db};
use crate::store::error::{StoreError, is_busy};
use crate::store::journal::marker::runs;
use crate::store::search::index;
use crate::store::{SessionRow, SpareJournal, Store, durability, journal, sessions};
use rusqlite::{Connection, OpenFlags, OptionalExtension as _, Row};
use std::collections::HashSet;
use std::fs;
use std::path::Path;

/// What an entry takes beside its text: its row and its place in the indexes.
const ROW: i64 = 120;
/// Entries up to which all of them are measured, to tell what some take.
const MEASURED: i64 = 300_000;
/// Bytes of a database without sessions.
const EMPTY: i64 = 300 << 10;
/// A database with more than this is not written anew while another program uses it: that one would wait.
const SHARED: u64 = 256 << 20;
/// Free pages below this, or below a hundredth of the file, are left for what is written next.
const WORTHWHILE: u64 = 64 << 10;

/// Which sessions are old: times in milliseconds since the epoch, `None` for none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cut {
    /// Those last used before this time.
    pub used_before: Option<i64>,
    /// Those in the trash since before this time.
    pub trashed_before: Option<i64>,
    /// Journals of those that no program used since this time, though the sessions stay: the database has all of them.
    pub journals_before: Option<i64>,
}

/// What a cut would take.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Aged {
    /// The newest first.
    pub sessions: Vec<SessionRow>,
    /// What the database would be smaller by, about; with the pages that are free already.
    pub bytes: u64,
    /// Old ones that stay: pinned, open in a program, with text that was not sent.
    pub pinned: u64,
    pub open: u64,
    pub unsent: u64,
    /// What their journals take on the disk.
    pub journals: u64,
    /// Names of bytes of files that no other session knows.
    pub hashes: HashSet<String>,
    /// The ids of all sessions, also of those that stay.
    pub ids: HashSet<String>,
    /// Journals beside theirs that nobody needs.
    pub spare_journals: Vec<SpareJournal>,
    /// What the database and all journals take on the disk.
    pub taken: u64,
}

/// What was left of a session when it went.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    /// Names of the bytes of files that it knew.
    pub hashes: HashSet<String>,
    /// The first and last key of its entries.
    keys: Option<(i64, i64)>,
}

impl Pruned {
    /// Both.
    pub fn and(&mut self, other: Self) {
        self.hashes.extend(other.hashes);
        self.keys = match (self.keys, other.keys) {
            (Some(one), Some(two)) => Some((one.0.min(two.0), one.1.max(two.1))),
            (one, two) => one.or(two),
        };
    }
}

/// Columns that tell whether a session may go.
const STATE: &str = "s.pinned_at IS NOT NULL, s.trashed_at, max(s.updated_at, coalesce(s.ended_at, 0)),
  EXISTS (SELECT 1 FROM drafts WHERE place IN ('session:' || s.id, 'queue:session:' || s.id)), l.pid, l.born, l.marker";

/// Why an old session stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stays {
    Young,
    Open,
    Pinned,
    Unsent,
}

/// The columns of [`STATE`] from `at` on; `None`: it goes.
fn stays(row: &Row<'_>, at: usize, home: &Path, cut: Cut) -> rusqlite::Result<Option<Stays>> {
    let is_before = |time: Option<i64>, cut: Option<i64>| time.zip(cut).is_some_and(|(time, cut)| time < cut);
    let is_over = is_before(row.get(at + 1)?, cut.trashed_before);
    if !is_over && !is_before(Some(row.get(at + 2)?), cut.used_before) {
        return Ok(Some(Stays::Young));
    }
    let live: Option<i64> = row.get(at + 4)?;
    if let Some(pid) = live
        && runs(home, pid, row.get(at + 5)?, &row.get::<_, String>(at + 6)?)
    {
        return Ok(Some(Stays::Open));
    }
    // What lies in the trash long enough was given up with all that belongs to it.
    let why = match (is_over, row.get(at)?, row.get(at + 3)?) {
        (true, _, _) | (_, false, false) => None,
        (_, true, _) => Some(Stays::Pinned),
        (_, _, true) => Some(Stays::Unsent),
    };
    Ok(why)
}

/// `me`: this process.
fn aged(conn: &Connection, path: &Path, me: i64, cut: Cut) -> rusqlite::Result<Aged> {
    let home = path.parent().unwrap_or(path);
    let sql = format!(
        "SELECT {}, {STATE}, (SELECT coalesce(sum(octet_length(body) + {ROW}), 0) FROM items i WHERE i.session = s.key),
           s.key
         FROM sessions s LEFT JOIN live l ON l.session = s.key
         WHERE s.item_count > 0 AND (s.updated_at < ?1 OR s.trashed_at < ?2) ORDER BY s.updated_at DESC",
        sessions::COLUMNS
    );
    let (mut found, mut taken, mut items) = (Aged::default(), 0, 0);
    let mut going = HashSet::new();
    let mut statement = conn.prepare(&sql)?;
    let mut rows = statement.query((cut.used_before, cut.trashed_before))?;
    while let Some(row) = rows.next()? {
        match stays(row, sessions::COLUMN_COUNT, home, cut)? {
            None => {
                taken += row.get::<_, i64>(sessions::COLUMN_COUNT + 7)?;
                items += row.get::<_, i64>(7)?;
                going.insert(row.get::<_, i64>(sessions::COLUMN_COUNT + 8)?);
                let row = sessions::row(row)?;
                found.journals += journal::size(home, &SessionId(row.id.clone()));
                found.sessions.push(row);
            }
            Some(Stays::Young) => {}
            Some(Stays::Pinned) => found.pinned += 1,
            Some(Stays::Open) => found.open += 1,
            Some(Stays::Unsent) => found.unsent += 1,
        }
    }
    found.bytes = share(conn, taken, items)?;
    found.ids = conn.prepare("SELECT id FROM sessions")?.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    if !going.is_empty() {
        found.hashes = only_of(conn, &going)?;
    }
    found.spare_journals = journal::spare(conn, home, me, cut.journals_before)?;
    let gone: HashSet<String> = found.sessions.iter().map(|row| journal::name(&SessionId(row.id.clone()))).collect();
    found.spare_journals.retain(|journal| !gone.contains(journal.name()));
    let files = ["", "-wal", "-shm"].map(|suffix| durability::beside(path, suffix));
    found.taken = files.iter().filter_map(|file| file.metadata().ok()).map(|about| on_disk(&about)).sum::<u64>()
        + journal::all_bytes(home);
    Ok(found)
}

/// Names of bytes that these sessions know and no other one does.
fn only_of(conn: &Connection, going: &HashSet<i64>) -> rusqlite::Result<HashSet<String>> {
    let sql = "SELECT session, before, after FROM changes
               UNION ALL SELECT r.session, f.was, f.became FROM rewind_files f JOIN rewinds r ON r.key = f.rewind";
    let (mut theirs, mut others) = (HashSet::new(), HashSet::new());
    let mut statement = conn.prepare(sql)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let set = if going.contains(&row.get(0)?) { &mut theirs } else { &mut others };
        set.extend(row.get::<_, Option<String>>(1)?);
        set.extend(row.get::<_, Option<String>>(2)?);
    }
    theirs.retain(|hash| !others.contains(hash));
    Ok(theirs)
}

/// What a cut would take of a home, read beside every program that works on it; `None` without a database that this version
/// can read. Blocks.
pub fn aged_at(home: &Path, cut: Cut) -> Option<Aged> {
    let path = durability::primary(home);
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(&path, flags).ok()?;
    conn.busy_timeout(BUSY).ok()?;
    let read = || {
        let tx = conn.unchecked_transaction()?;
        aged(&tx, &path, i64::from(std::process::id()), cut)
    };
    read().inspect_err(|error| tracing::debug!(%error, "could not look for old sessions")).ok()
}

/// What a database gives back without entries of so many bytes: their share of what it holds, and what is free in it.
fn share(conn: &Connection, taken: i64, items: i64) -> rusqlite::Result<u64> {
    let Pages { size, count, free } = Pages::of(conn)?;
    let held = ((count - free) * size - EMPTY).max(0);
    let all: i64 = conn.query_row("SELECT coalesce(sum(item_count), 0) FROM sessions", [], |row| row.get(0))?;
    let (part, whole) = if items == 0 {
        (0, 1)
    } else if all <= MEASURED {
        let sql = format!("SELECT coalesce(sum(octet_length(body) + {ROW}), 0) FROM items");
        (taken, conn.query_row(&sql, [], |row| row.get(0))?)
    } else {
        (items, all)
    };
    let part = part.min(whole) as f64 / whole.max(1) as f64;
    Ok((part * held as f64) as u64 + u64::try_from(free * size).unwrap_or(0))
}

/// The pages of a database.
struct Pages {
    size: i64,
    count: i64,
    free: i64,
}

impl Pages {
    fn of(conn: &Connection) -> rusqlite::Result<Self> {
        let get = |name| conn.pragma_query_value(None, name, |row| row.get(0));
        Ok(Self { size: get("page_size")?, count: get("page_count")?, free: get("freelist_count")? })
    }
}

/// Deletes a session that is still old; `None`: it is not, or it is gone.
fn prune(db: &mut Db, session: &SessionId, cut: Cut) -> Result<Option<Pruned>, StoreError> {
    let (mut pruned, home) = (Pruned::default(), db.home.clone());
    let state = format!("SELECT {STATE} FROM sessions s LEFT JOIN live l ON l.session = s.key WHERE s.key = ?1");
    let gone = sessions::delete_if(db, session, |tx, key| {
        let goes = tx.query_row(&state, [key], |row| stays(row, 0, &home, cut).map(|stays| stays.is_none()))?;
        if goes {
            let keys = "SELECT min(key), max(key) FROM items WHERE session = ?1 HAVING min(key) IS NOT NULL";
            pruned.keys = tx.query_row(keys, [key], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
            pruned.hashes = hashes(tx, "session = ?1", "WHERE r.session = ?1", &[&key])?;
        }
        Ok(goes)
    })?;
    Ok(gone.then_some(pruned))
}

/// Names of bytes in changes and rewinds.
fn hashes(
    conn: &Connection,
    of_changes: &str,
    of_rewinds: &str,
    values: &[&dyn rusqlite::ToSql],
) -> rusqlite::Result<HashSet<String>> {
    let sql = format!(
        "SELECT before, after FROM changes WHERE {of_changes}
         UNION ALL SELECT f.was, f.became FROM rewind_files f JOIN rewinds r ON r.key = f.rewind {of_rewinds}"
    );
    let mut statement = conn.prepare(&sql)?;
    let mut rows = statement.query(values)?;
    let mut found = HashSet::new();
    while let Some(row) = rows.next()? {
        found.extend(row.get::<_, Option<String>>(0)?);
        found.extend(row.get::<_, Option<String>>(1)?);
    }
    Ok(found)
}

/// Gives the free pages of the database back to the disk: merges the search indexes that `pruned` stood in, and writes the
/// file anew. Returns why not, in words, where that must wait.
fn shrink(db: &mut Db, pruned: &Pruned, below: u64) -> Result<Option<String>, StoreError> {
    let doing = "shrink the database";
    if db.in_memory {
        return Ok(None);
    }
    let size = |db: &Db| {
        let pages = Pages::of(&db.conn).map_err(|error| db.fault(doing, &error))?;
        let bytes = |count: i64| u64::try_from(count * pages.size).unwrap_or(0);
        Ok((bytes(pages.count), bytes(pages.free)))
    };
    let (all, _) = size(db)?;
    if all > below {
        return Ok(Some("the database is large: `hermes sessions prune` shrinks it".to_owned()));
    }
    if all > SHARED && journal::others_work(db) {
        return Ok(Some("another hermes uses the database: prune again once it has ended".to_owned()));
    }
    if let Some(keys) = pruned.keys {
        index::merge(db, keys)?;
    }
    let (all, free) = size(db)?;
    if free < WORTHWHILE && free < all / 100 {
        durability::truncate_log(db);
        return Ok(None);
    }
    // SQLite writes a copy into the folder of temporary files, and that into the log.
    if room(&db.home).is_some_and(|room| room < (all - free).saturating_mul(2)) {
        return Ok(Some("the disk has too little room to rewrite the database".to_owned()));
    }
    match db.conn.execute_batch("VACUUM") {
        Ok(()) => {}
        Err(error) if is_busy(&error) => {
            return Ok(Some("another hermes is writing to the database: prune again later".to_owned()));
        }
        Err(error) => return Err(db.fault(doing, &error)),
    }
    durability::truncate_log(db);
    Ok(None)
}

/// Bytes that are free on the disk of a folder.
fn room(folder: &std::path::Path) -> Option<u64> {
    let about = rustix::fs::statvfs(folder).ok()?;
    about.f_bavail.checked_mul(about.f_frsize)
}

impl Store {
    /// What a cut would take. Reads the rows of what is old, and in a small database all entries.
    pub async fn aged(&self, cut: Cut) -> Result<Aged, StoreError> {
        self.ask(move |db| db.read("look for old sessions", |conn| aged(conn, &db.path, db.pid, cut))).await
    }

    /// Deletes a session that is old by this cut, with all that belongs to it in the database; `None`: it is no longer old.
    pub async fn prune(&self, session: &SessionId, cut: Cut) -> Result<Option<Pruned>, StoreError> {
        let session = session.clone();
        self.ask(move |db| prune(db, &session, cut)).await
    }

    /// Gives what was free in the database back to the disk, once for all that was pruned; not in one of more than `below`
    /// bytes. Returns why that must wait, in words.
    pub async fn shrink(&self, pruned: Pruned, below: u64) -> Result<Option<String>, StoreError> {
        self.ask(move |db| shrink(db, &pruned, below)).await
    }

    /// Remembers that something holds, or no longer does; `true` when it holds and did not before.
    pub async fn is_news(&self, name: &'static str, holds: bool) -> Result<bool, StoreError> {
        self.ask_beside(move |db| {
            db.write("save what was said", |tx| {
                let sql = if holds {
                    "INSERT OR IGNORE INTO state (name, value) VALUES (?1, 1)"
                } else {
                    "DELETE FROM state WHERE name = ?1"
                };
                Ok(tx.execute(sql, [name])? > 0 && holds)
            })
        })
        .await
    }

    /// Names of bytes that the changes and rewinds of any session know.
    pub async fn known_hashes(&self) -> Result<HashSet<String>, StoreError> {
        self.ask(|db| db.read("read the changes", |conn| hashes(conn, "1", "", &[]))).await
    }
}

/// Bytes that a file takes on the disk.
pub fn on_disk(about: &fs::Metadata) -> u64 {
    use std::os::unix::fs::MetadataExt as _;
    about.blocks().saturating_mul(512)
}
