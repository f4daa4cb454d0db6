//! Going back in a session: what tools changed, what is left out of the conversation, and what a redo puts back.
//! Nothing is deleted here: a rewound item stays in its session, marked with the rewind that left it out.

mod children;

use super::db::Db;
use super::error::StoreError;
use super::items::{self, COLUMNS};
use super::journal::{self, Record};
use super::{Store, sessions};
use crate::protocol::{Body, Item, ItemId, Origin, SessionId};
use rusqlite::{Connection, OptionalExtension, Row, Transaction};
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// Prompts that are listed at most.
const PROMPTS: i64 = 1000;

/// A file, link or folder at one time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileState {
    /// SHA-256 in hex of its bytes, of the target of a link, of nothing for a folder; `None`: there is nothing.
    pub hash: Option<String>,
    /// Permission bits, with [`LINK`] or [`FOLDER`] when it is no regular file; `None`: not known.
    pub mode: Option<u32>,
}

/// In place of a command: the rewind followed a checkpoint that a step restored. Its `last_item` is the one before that step.
pub(super) const RESTORED: i64 = 0;
/// In place of a command: what was said after a restore that was redone. It is not reached any more.
const PASSED: i64 = -1;

/// The bits of the kind in the mode of a link.
pub const LINK: u32 = 0o120_000;
/// The bits of the kind in the mode of a folder.
pub const FOLDER: u32 = 0o040_000;
/// Where these bits stand; a regular file has none of them here.
const KIND: u32 = 0o170_000;

impl FileState {
    /// [`LINK`], [`FOLDER`], or 0 for a regular file and for nothing.
    pub fn kind(&self) -> u32 {
        self.mode.map_or(0, |mode| mode & KIND)
    }

    /// Whether it can only be put back from kept bytes.
    pub fn has_bytes(&self) -> bool {
        self.hash.is_some() && self.kind() != FOLDER
    }

    /// Whether both are the same, as far as both modes are known.
    pub fn is_like(&self, other: &Self) -> bool {
        let modes = match (self.mode, other.mode) {
            (Some(one), Some(two)) => one == two || self.hash.is_none(),
            _ => true,
        };
        self.hash == other.hash && modes
    }
}

/// A change that a tool made, or was about to make, to one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileChange {
    pub turn: u32,
    /// Milliseconds since the epoch.
    pub at: i64,
    /// The tool call.
    pub call: String,
    /// The other machine that the file is on, by a name that no other one has; empty: this one.
    pub place: String,
    /// Absolute, without links.
    #[serde(with = "journal::paths")]
    pub path: PathBuf,
    pub before: FileState,
    /// Bytes before.
    pub size: u64,
    /// After; without a hash: the file goes. File tools keep the mode, and say nothing of it.
    pub after: FileState,
    /// The command that made it, as [`Store::commands`] numbers them; `None`: a file tool.
    pub command: Option<i64>,
}

impl FileChange {
    /// Whether two changes are a file that left one place and the same file at another.
    pub fn is_move(from: &Self, to: &Self) -> bool {
        from.after.hash.is_none()
            && to.before.hash.is_none()
            && from.before.has_bytes()
            && from.before.hash == to.after.hash
    }
}

/// A file that a rewind put back, for the redo.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RewoundFile {
    /// As of its change.
    pub place: String,
    pub path: PathBuf,
    pub was: FileState,
    pub became: FileState,
}

/// A rewind to a prompt, or one command undone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rewind {
    pub key: i64,
    /// The prompt: it and all after it are left out.
    pub item: ItemId,
    pub conversation: bool,
    pub files: Vec<RewoundFile>,
    /// The command that was undone: `item` means nothing then, and only its changes are touched.
    pub command: Option<i64>,
}

impl Rewind {
    /// It followed a checkpoint that a step restored.
    pub fn is_restore(&self) -> bool {
        self.command == Some(RESTORED)
    }
}

/// A prompt that a session can go back to.
#[derive(Clone, Debug, PartialEq)]
pub struct Prompt {
    pub item: Item,
    /// Files that tools changed from there on.
    pub files: u64,
}

/// What came after a prompt.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Since {
    /// The prompt first.
    pub items: Vec<Item>,
    /// Changes that are in effect, also those of children that began since, oldest first.
    pub changes: Vec<FileChange>,
    /// Those children, but for what they did in worktrees.
    pub children: Vec<SessionId>,
}

fn path(row: &Row<'_>, column: usize) -> rusqlite::Result<PathBuf> {
    Ok(PathBuf::from(OsString::from_vec(row.get(column)?)))
}

fn bytes(path: &Path) -> &[u8] {
    path.as_os_str().as_bytes()
}

/// The turn of a prompt that is in the conversation.
fn turn_of(conn: &Connection, key: i64, item: ItemId) -> rusqlite::Result<Option<u32>> {
    conn.prepare_cached("SELECT turn FROM items WHERE session = ?1 AND id = ?2 AND role = 'user' AND rewound = 0")?
        .query_row((key, item.0), |row| row.get(0))
        .optional()
}

pub(super) const CHANGE: &str = "turn, at, call, path, before, mode, size, after, place, after_mode, command";

pub(super) fn change(row: &Row<'_>) -> rusqlite::Result<FileChange> {
    Ok(FileChange {
        turn: row.get(0)?,
        at: row.get(1)?,
        call: row.get(2)?,
        path: path(row, 3)?,
        before: FileState { hash: row.get(4)?, mode: row.get(5)? },
        size: u64::try_from(row.get::<_, i64>(6)?).unwrap_or(0),
        after: FileState { hash: row.get(7)?, mode: row.get(9)? },
        place: row.get(8)?,
        command: row.get(10)?,
    })
}

fn changes(conn: &Connection, key: i64, turn: u32) -> rusqlite::Result<Vec<FileChange>> {
    let sql = format!("SELECT {CHANGE} FROM changes WHERE session = ?1 AND turn >= ?2 AND undone = 0 ORDER BY at, key");
    conn.prepare_cached(&sql)?.query_map((key, turn), change)?.collect()
}

/// What a command changed and is in effect.
pub(super) fn changes_of(conn: &Connection, key: i64, command: i64) -> rusqlite::Result<Vec<FileChange>> {
    let sql = format!("SELECT {CHANGE} FROM changes WHERE session = ?1 AND command = ?2 AND undone = 0 ORDER BY key");
    conn.prepare_cached(&sql)?.query_map((key, command), change)?.collect()
}

fn prompts(conn: &Connection, key: i64) -> rusqlite::Result<Vec<Prompt>> {
    // The last turn in which each file was changed.
    let mut turns = conn
        .prepare_cached("SELECT max(turn) FROM changes WHERE session = ?1 AND undone = 0 GROUP BY place, path")?
        .query_map([key], |row| row.get(0))?
        .collect::<rusqlite::Result<Vec<u32>>>()?;
    turns.sort_unstable();
    let mut begun = children::began(conn, key)?;
    begun.sort_unstable();
    let sql = format!(
        "SELECT {COLUMNS} FROM items WHERE session = ?1 AND role = 'user' AND rewound = 0 ORDER BY id DESC LIMIT ?2"
    );
    let mut get = conn.prepare_cached(&sql)?;
    let mut rows = get.query((key, PROMPTS))?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let Some(item) = items::decode(row) else { continue };
        if matches!(item.body, Body::User { origin: Origin::Person, .. }) {
            let files = turns.len() - turns.partition_point(|turn| *turn < item.turn) + begun.len()
                - begun.partition_point(|at| *at < item.at);
            found.push(Prompt { item, files: files as u64 });
        }
    }
    Ok(found)
}

/// Items and names of the tools that ran in the conversation, oldest first: without calls that were not let through, or
/// stopped before they began.
fn ran(conn: &Connection, key: i64) -> rusqlite::Result<Vec<(ItemId, String)>> {
    let sql = "SELECT id, body ->> '$.name' FROM items WHERE session = ?1 AND role = 'tool' AND rewound = 0
               AND json_valid(body) AND body ->> '$.outcome' NOT IN ('denied', 'refused')
               AND coalesce(body ->> '$.view.approval', '') NOT LIKE 'not run%' ORDER BY id";
    let read = |row: &Row<'_>| Ok((ItemId(row.get(0)?), row.get::<_, Option<String>>(1)?.unwrap_or_default()));
    conn.prepare_cached(sql)?.query_map([key], read)?.collect()
}

pub(super) fn record(tx: &Transaction<'_>, key: i64, changes: &[FileChange]) -> rusqlite::Result<Vec<i64>> {
    let mut insert = tx.prepare_cached(
        "INSERT INTO changes (session, turn, at, call, path, before, mode, size, after, place, after_mode, command)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
    )?;
    let mut keys = Vec::with_capacity(changes.len());
    // Changes are undone by their times, which a clock that goes back must not turn round. Those of a command are written
    // down when it has ended, and may be older than what a file tool changed meanwhile.
    let last: i64 = tx
        .prepare_cached("SELECT coalesce(max(at), 0) FROM changes WHERE session = ?1")?
        .query_row([key], |row| row.get(0))?;
    let went_back = super::now() < last;
    for change in changes {
        let at = if change.command.is_none() || went_back { change.at.max(last) } else { change.at };
        let size = i64::try_from(change.size).unwrap_or(i64::MAX);
        let (before, after) = (&change.before, &change.after);
        insert.execute(rusqlite::params![
            key,
            change.turn,
            at,
            change.call,
            bytes(&change.path),
            before.hash,
            before.mode,
            size,
            after.hash,
            change.place,
            after.mode,
            change.command,
        ])?;
        keys.push(tx.last_insert_rowid());
    }
    Ok(keys)
}

/// Writes the row of a rewind; returns its number. That is the time, or the next after the newest: no other rewind ever
/// gets it, in no database of this home, so that a record of a journal means one rewind alone.
pub(super) fn begin(tx: &Transaction<'_>, key: i64, wanted: &Rewind) -> rusqlite::Result<i64> {
    tx.execute(
        "INSERT INTO rewinds (key, session, at, item, conversation, last_item, context_from, command)
         SELECT max(?2, coalesce((SELECT max(key) FROM rewinds), 0) + 1), key, ?2, ?3, ?4, last_item, context_from, ?5
         FROM sessions WHERE key = ?1",
        (key, super::now(), wanted.item.0, wanted.conversation, wanted.command),
    )?;
    Ok(tx.last_insert_rowid())
}

/// Keeps what a redo of a rewind puts back.
pub(super) fn insert_files(tx: &Transaction<'_>, number: i64, files: &[RewoundFile]) -> rusqlite::Result<()> {
    let mut file = tx.prepare_cached(
        "INSERT INTO rewind_files (rewind, path, was, was_mode, became, became_mode, place) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    )?;
    for moved in files {
        let (was, became) = (&moved.was, &moved.became);
        let path = bytes(&moved.path);
        file.execute((number, path, &was.hash, was.mode, &became.hash, became.mode, &moved.place))?;
    }
    Ok(())
}

/// What the journal is told of it; `None` inside: the conversation stays. `None`: there is no such prompt.
fn rewind(tx: &Transaction<'_>, key: i64, wanted: &Rewind) -> rusqlite::Result<Option<Option<Record>>> {
    let turn = match wanted.command {
        Some(_) => 0,
        None => match turn_of(tx, key, wanted.item)? {
            Some(turn) => turn,
            None => return Ok(None),
        },
    };
    let since = if wanted.command.is_none() { Some(children::said(tx, key, wanted.item)?) } else { None };
    let number = begin(tx, key, wanted)?;
    insert_files(tx, number, &wanted.files)?;
    let mut undo = tx.prepare_cached(
        "UPDATE changes SET undone = ?1 WHERE session = ?2 AND turn >= ?3 AND undone = 0 AND path = ?4 AND place = ?5
         AND (?6 IS NULL OR command = ?6)",
    )?;
    for moved in &wanted.files {
        let path = bytes(&moved.path);
        undo.execute((number, key, turn, path, &moved.place, wanted.command))?;
        if let Some(since) = since {
            children::undo(tx, (key, since), number, (&moved.place, path))?;
        }
    }
    if wanted.conversation {
        tx.execute(
            "UPDATE items SET rewound = ?1 WHERE session = ?2 AND id >= ?3 AND rewound = 0",
            (number, key, wanted.item.0),
        )?;
        // Before a compression there is no summary: the model reads from the start again.
        tx.execute("UPDATE sessions SET context_from = 1 WHERE key = ?1 AND context_from >= ?2", (key, wanted.item.0))?;
        tx.execute("DELETE FROM partials WHERE session = ?1", [key])?;
        let last = tx.query_row("SELECT last_item FROM sessions WHERE key = ?1", [key], |row| row.get(0))?;
        return Ok(Some(Some(Record::Rewind { number, first: wanted.item, last: ItemId(last) })));
    }
    Ok(Some(None))
}

fn last_rewind(conn: &Connection, key: i64) -> rusqlite::Result<Option<Rewind>> {
    // A summary says nothing: it may come between. The newest of all: an older one is no longer reached once something was
    // said after a newer one.
    let sql = "SELECT r.key, r.item, r.conversation, r.command FROM rewinds r
               WHERE r.session = ?1 AND r.redone = 0 AND (r.command > 0 OR NOT EXISTS (
                 SELECT 1 FROM items i WHERE i.session = r.session AND i.id > r.last_item AND CASE WHEN r.command = 0
                   THEN i.role = 'user' AND i.rewound = 0 AND json_valid(i.body) AND i.body ->> '$.origin' = 'person'
                   ELSE i.role <> 'summary' END))
               AND r.command IS NOT -1
               ORDER BY r.key DESC LIMIT 1";
    let read = |row: &Row<'_>| {
        let (key, item) = (row.get(0)?, ItemId(row.get(1)?));
        Ok(Rewind { key, item, conversation: row.get(2)?, files: Vec::new(), command: row.get(3)? })
    };
    let found = conn.prepare_cached(sql)?.query_row([key], read).optional()?;
    found.map(|rewind| Ok(Rewind { files: rewound_files(conn, rewind.key)?, ..rewind })).transpose()
}

fn rewound_files(conn: &Connection, number: i64) -> rusqlite::Result<Vec<RewoundFile>> {
    let mut get = conn.prepare_cached(
        "SELECT path, was, was_mode, became, became_mode, place FROM rewind_files WHERE rewind = ?1 ORDER BY place, path",
    )?;
    let files = get.query_map([number], |row| {
        Ok(RewoundFile {
            path: path(row, 0)?,
            was: FileState { hash: row.get(1)?, mode: row.get(2)? },
            became: FileState { hash: row.get(3)?, mode: row.get(4)? },
            place: row.get(5)?,
        })
    })?;
    files.collect()
}

fn redo(tx: &Transaction<'_>, key: i64, number: i64) -> rusqlite::Result<()> {
    tx.execute(
        "UPDATE sessions SET context_from = (SELECT context_from FROM rewinds WHERE key = ?2 AND session = ?1)
         WHERE key = ?1 AND EXISTS (SELECT 1 FROM rewinds WHERE key = ?2 AND session = ?1 AND conversation)",
        (key, number),
    )?;
    tx.execute("UPDATE items SET rewound = 0 WHERE session = ?1 AND rewound = ?2", (key, number))?;
    tx.execute("UPDATE changes SET undone = 0 WHERE session = ?1 AND undone = ?2", (key, number))?;
    children::redo(tx, key, number)?;
    // Its row stays: a journal may still tell of the rewind and not yet of its end.
    tx.execute("UPDATE rewinds SET redone = 1 WHERE key = ?1 AND session = ?2", (number, key))?;
    tx.execute("DELETE FROM rewind_files WHERE rewind = ?1", [number]).map(drop)
}

/// A redo; of a restore, the step that restored and what was said after it go in its place. What the journal is told of it.
fn redo_all(tx: &Transaction<'_>, key: i64, number: i64) -> rusqlite::Result<Vec<Record>> {
    let sql = "SELECT last_item FROM rewinds WHERE key = ?2 AND session = ?1 AND command = ?3";
    let restored: Option<i64> = tx.query_row(sql, (key, number, RESTORED), |row| row.get(0)).optional()?;
    redo(tx, key, number)?;
    let mut records = vec![Record::Redo { number }];
    if let Some(before) = restored {
        let item = ItemId(before + 1);
        let passed = begin(tx, key, &Rewind { item, conversation: true, command: Some(PASSED), ..Rewind::default() })?;
        let sql = "UPDATE items SET rewound = ?1 WHERE session = ?2 AND id > ?3 AND rewound = 0";
        tx.execute(sql, (passed, key, before))?;
        let last = tx.query_row("SELECT last_item FROM sessions WHERE key = ?1", [key], |row| row.get(0))?;
        records.push(Record::Rewind { number: passed, first: ItemId(before + 1), last: ItemId(last) });
    }
    Ok(records)
}

pub(super) fn read<T>(
    db: &Db,
    session: &SessionId,
    work: impl FnOnce(&Connection, i64) -> rusqlite::Result<T>,
) -> Result<T, StoreError> {
    let found = db.read("read the session", |conn| match sessions::key(conn, session)? {
        Some(key) => work(conn, key).map(Some),
        None => Ok(None),
    })?;
    found.ok_or_else(|| sessions::missing(session))
}

/// Items that only the journal has would come back later as if nothing had happened: they go into the database first.
pub(super) fn settled(db: &mut Db) -> Result<(), StoreError> {
    if super::journal::pending::flush(db) {
        return Ok(());
    }
    Err(StoreError::File {
        doing: "import",
        path: db.home.join(super::journal::FOLDER).display().to_string(),
        reason: "the database accepts no items now".to_owned(),
        remedy: "free some disk space and try again",
    })
}

impl Store {
    /// Writes down changes of files before they are made; returns their keys.
    pub async fn record_changes(&self, session: &SessionId, changes: Vec<FileChange>) -> Result<Vec<i64>, StoreError> {
        let session = session.clone();
        self.ask_beside(move |db| {
            sessions::change(db, "save the file history", &session, |tx, key| record(tx, key, &changes))
        })
        .await
    }

    /// Forgets changes that did not happen after all.
    pub async fn forget_changes(&self, keys: Vec<i64>) -> Result<(), StoreError> {
        self.ask_beside(move |db| {
            db.write("save the file history", |tx| {
                let mut forget = tx.prepare_cached("DELETE FROM changes WHERE key = ?1")?;
                keys.iter().try_for_each(|key| forget.execute([key]).map(drop))
            })
        })
        .await
    }

    /// What changed files hold after all, by the keys of their changes.
    pub async fn settle_changes(&self, moved: Vec<(i64, String)>) -> Result<(), StoreError> {
        if moved.is_empty() {
            return Ok(());
        }
        self.ask_beside(move |db| {
            db.write("save the file history", |tx| {
                let mut settle = tx.prepare_cached("UPDATE changes SET after = ?2 WHERE key = ?1")?;
                moved.iter().try_for_each(|(key, after)| settle.execute((key, after)).map(drop))
            })
        })
        .await
    }

    /// The prompts of a session that are in its conversation, newest first; and the tools that ran in it with the items of
    /// their results, oldest first.
    pub async fn prompts(&self, session: &SessionId) -> Result<(Vec<Prompt>, Vec<(ItemId, String)>), StoreError> {
        let session = session.clone();
        self.ask(move |db| read(db, &session, |conn, key| Ok((prompts(conn, key)?, ran(conn, key)?)))).await
    }

    /// What came after a prompt, the prompt first; no items when it is not in the conversation.
    pub async fn since(&self, session: &SessionId, item: ItemId) -> Result<Since, StoreError> {
        let session = session.clone();
        self.ask(move |db| {
            read(db, &session, |conn, key| {
                let Some(turn) = turn_of(conn, key, item)? else { return Ok(Since::default()) };
                let mut changes = changes(conn, key, turn)?;
                let said = children::said(conn, key, item)?;
                changes.extend(children::changes(conn, key, said)?);
                changes.sort_by_key(|change| change.at);
                let children = children::sessions(conn, key, said)?;
                Ok(Since { items: items::from(conn, key, item)?.items, changes, children })
            })
        })
        .await
    }

    /// All changes of a session that are in effect, oldest first.
    pub async fn changes(&self, session: &SessionId) -> Result<Vec<FileChange>, StoreError> {
        let session = session.clone();
        self.ask(move |db| read(db, &session, |conn, key| changes(conn, key, 0))).await
    }

    /// Leaves the prompt and what follows out of the conversation, or marks files as put back, or both, in one
    /// transaction; its `key` is ignored. `false`: the prompt is not in the conversation, and nothing changed.
    pub async fn rewind(&self, session: &SessionId, wanted: Rewind) -> Result<bool, StoreError> {
        let session = session.clone();
        self.ask(move |db| {
            settled(db)?;
            super::live::forget_stream(db, &session);
            let done = sessions::change(db, "rewind the session", &session, |tx, key| rewind(tx, key, &wanted))?;
            if let Some(Some(record)) = &done {
                journal::follow(db, &session, std::slice::from_ref(record));
            }
            Ok(done.is_some())
        })
        .await
    }

    /// The last rewind, while nothing was said since.
    pub async fn last_rewind(&self, session: &SessionId) -> Result<Option<Rewind>, StoreError> {
        let session = session.clone();
        self.ask(move |db| read(db, &session, last_rewind)).await
    }

    /// Takes a rewind back: its items are in the conversation again, its changes in effect.
    pub async fn redo(&self, session: &SessionId, key: i64) -> Result<(), StoreError> {
        let session = session.clone();
        self.ask(move |db| {
            settled(db)?;
            let records = sessions::change(db, "redo", &session, |tx, row| redo_all(tx, row, key))?;
            journal::follow(db, &session, &records);
            Ok(())
        })
        .await
    }
}
