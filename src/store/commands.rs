//! Commands of a session and what each changed, to be undone one at a time: written down when one begins, so that a program
//! that is killed leaves word of it, and completed when it has ended.

use super::error::StoreError;
use super::journal::{self, Record, pending};
use super::rewind::{self, RESTORED, changes_of, insert_files, read, record, settled};
use super::{FileChange, Rewind, RewoundFile, Store, sessions};
use crate::protocol::{ItemId, SessionId};
use rusqlite::{Connection, OptionalExtension, Row, Transaction};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

/// Commands that are listed at most.
const LISTED: i64 = 500;

/// A command that ran.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Command {
    /// Given by the store.
    #[serde(skip)]
    pub key: i64,
    pub turn: u32,
    /// When it began, in milliseconds since the epoch.
    pub at: i64,
    /// The tool call.
    pub call: String,
    pub line: String,
    /// What of it can't be undone, in words.
    pub gaps: Vec<String>,
    /// It runs, or its program was killed while it did.
    #[serde(skip)]
    pub running: bool,
    /// Where the folder stands as it was before, while it runs; `None`: nowhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// Files that it changed, and how many of these changes are in effect.
    #[serde(skip)]
    pub files: u64,
    #[serde(skip)]
    pub standing: u64,
}

impl Command {
    /// Whether both are the same command of a session.
    pub fn is(&self, other: &Self) -> bool {
        (self.turn, self.at, &self.call) == (other.turn, other.at, &other.call)
    }
}

/// The gap of a command that has not ended.
const UNENDED: &str = "what it changed: it still runs, or its program was killed and nobody has looked since";
/// The gap of one in a fork.
const FORKED: &str = "what it changed: it still ran when the session was forked";
/// The gap of one whose end only the lost database knew.
const LOST: &str = "what it changed: the database that knew it was lost";

/// The newest changes that are looked through for those of other sessions.
const LATELY: i64 = 500;

/// What a session left at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrote {
    pub path: PathBuf,
    /// SHA-256; `None`: nothing.
    pub after: Option<String>,
    pub session: SessionId,
    pub title: Option<String>,
}

fn lately(conn: &Connection, not: &SessionId, since: i64) -> rusqlite::Result<Vec<Wrote>> {
    let sql = "SELECT changes.path, changes.after, sessions.id, sessions.title
               FROM (SELECT * FROM changes ORDER BY key DESC LIMIT ?3) AS changes
               JOIN sessions ON sessions.key = changes.session
               WHERE sessions.id <> ?1 AND changes.at >= max(?2, sessions.started_at) AND changes.place = '' AND changes.undone = 0
               ORDER BY changes.key DESC";
    let read = |row: &Row<'_>| {
        Ok(Wrote {
            path: OsString::from_vec(row.get(0)?).into(),
            after: row.get(1)?,
            session: SessionId(row.get(2)?),
            title: row.get(3)?,
        })
    };
    conn.prepare_cached(sql)?.query_map((&not.0, since, LATELY), read)?.collect()
}

/// Its number, and whether it runs.
fn find(tx: &Transaction<'_>, key: i64, command: &Command) -> rusqlite::Result<Option<(i64, bool)>> {
    tx.prepare_cached("SELECT key, running FROM commands WHERE session = ?1 AND turn = ?2 AND at = ?3 AND call = ?4")?
        .query_row((key, command.turn, command.at, &command.call), |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()
}

fn insert(tx: &Transaction<'_>, key: i64, command: &Command, running: bool) -> rusqlite::Result<i64> {
    tx.prepare_cached(
        "INSERT INTO commands (session, turn, at, call, line, gaps, running, base) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    )?
    .execute((
        key,
        command.turn,
        command.at,
        &command.call,
        &command.line,
        in_json(&command.gaps),
        running,
        command.base.as_ref().filter(|_| running),
    ))?;
    Ok(tx.last_insert_rowid())
}

fn in_json(gaps: &[String]) -> String {
    serde_json::to_string(gaps).unwrap_or_else(|_| "[]".into())
}

/// A command runs; nothing changes when it is known already.
pub(super) fn begin(tx: &Transaction<'_>, key: i64, command: &Command) -> rusqlite::Result<()> {
    if find(tx, key, command)?.is_none() {
        insert(tx, key, command, true)?;
    }
    Ok(())
}

/// A command has ended, be its begin known or not. What an end said before holds.
pub(super) fn end(tx: &Transaction<'_>, key: i64, command: &Command, changes: &[FileChange]) -> rusqlite::Result<()> {
    let number = match find(tx, key, command)? {
        Some((_, false)) => return Ok(()),
        Some((number, true)) => {
            let sql = "UPDATE commands SET line = ?2, gaps = ?3, running = 0, base = NULL WHERE key = ?1";
            tx.prepare_cached(sql)?.execute((number, &command.line, in_json(&command.gaps)))?;
            number
        }
        None => insert(tx, key, command, false)?,
    };
    let changes: Vec<FileChange> =
        changes.iter().map(|change| FileChange { command: Some(number), ..change.clone() }).collect();
    record(tx, key, &changes).map(drop)
}

/// Copies what commands and tools changed before a turn, as far as it is in effect, for a fork: there it is undone as here.
pub(super) fn copy(tx: &Transaction<'_>, from: i64, to: i64, end_turn: u32) -> rusqlite::Result<()> {
    let mut old = tx.prepare_cached("SELECT key FROM commands WHERE session = ?1 AND turn < ?2 ORDER BY key")?;
    let old: Vec<i64> = old.query_map((from, end_turn), |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    let mut new = HashMap::with_capacity(old.len());
    let mut put = tx.prepare_cached(
        "INSERT INTO commands (session, turn, at, call, line, gaps)
         SELECT ?2, turn, at, call, line, CASE running WHEN 0 THEN gaps ELSE json_insert(gaps, '$[#]', ?3) END
         FROM commands WHERE key = ?1",
    )?;
    for key in old {
        put.execute((key, to, FORKED))?;
        new.insert(key, tx.last_insert_rowid());
    }
    let sql =
        format!("SELECT {} FROM changes WHERE session = ?1 AND turn < ?2 AND undone = 0 ORDER BY key", rewind::CHANGE);
    let mut get = tx.prepare_cached(&sql)?;
    let changes: Vec<FileChange> = get.query_map((from, end_turn), rewind::change)?.collect::<rusqlite::Result<_>>()?;
    let of =
        |change: FileChange| FileChange { command: change.command.and_then(|key| new.get(&key).copied()), ..change };
    let changes: Vec<FileChange> = changes.into_iter().map(of).collect();
    record(tx, to, &changes).map(drop)
}

/// Takes a command in that a journal tells of. The ends are most often in the database alone: of a session that it lost,
/// nothing says which of its commands had ended.
pub(super) fn take_in(
    tx: &Transaction<'_>,
    key: i64,
    mut command: Command,
    changes: Option<Vec<FileChange>>,
    is_new: bool,
) -> rusqlite::Result<()> {
    match changes {
        Some(changes) => end(tx, key, &command, &changes),
        None if is_new => {
            command.gaps.push(LOST.to_owned());
            end(tx, key, &command, &[])
        }
        None => begin(tx, key, &command),
    }
}

/// Columns that [`command`] takes, in its order.
const COLUMNS: &str = "key, turn, at, call, line, gaps, (SELECT count(*) FROM changes WHERE command = commands.key),
  (SELECT count(*) FROM changes WHERE command = commands.key AND undone = 0), running, base";

fn command(row: &Row<'_>) -> rusqlite::Result<Command> {
    let count = |column| row.get::<_, i64>(column).map(|count| u64::try_from(count).unwrap_or(0));
    Ok(Command {
        key: row.get(0)?,
        turn: row.get(1)?,
        at: row.get(2)?,
        call: row.get(3)?,
        line: row.get(4)?,
        gaps: serde_json::from_str(&row.get::<_, String>(5)?).unwrap_or_default(),
        files: count(6)?,
        standing: count(7)?,
        running: row.get(8)?,
        base: row.get(9)?,
    })
}

/// As it is told: what one that runs changes nobody knows yet.
fn told(row: &Row<'_>) -> rusqlite::Result<Command> {
    let mut command = command(row)?;
    if command.running {
        command.gaps.push(UNENDED.to_owned());
    }
    Ok(command)
}

fn running(conn: &Connection, key: i64) -> rusqlite::Result<Vec<Command>> {
    let sql = format!("SELECT {COLUMNS} FROM commands WHERE session = ?1 AND running = 1 ORDER BY key");
    conn.prepare_cached(&sql)?.query_map([key], command)?.collect()
}

fn list(conn: &Connection, key: i64, from: u32) -> rusqlite::Result<Vec<Command>> {
    let sql = format!("SELECT {COLUMNS} FROM commands WHERE session = ?1 AND turn >= ?2 ORDER BY key DESC LIMIT ?3");
    conn.prepare_cached(&sql)?.query_map((key, from, LISTED), told)?.collect()
}

fn one(conn: &Connection, key: i64, number: i64) -> rusqlite::Result<Option<Command>> {
    let sql = format!("SELECT {COLUMNS} FROM commands WHERE session = ?1 AND key = ?2");
    conn.prepare_cached(&sql)?.query_row((key, number), told).optional()
}

impl Store {
    /// Writes down that a command is about to begin: a kill from now on leaves word of it.
    pub async fn begin_command(&self, session: &SessionId, command: Command) -> Result<(), StoreError> {
        let session = session.clone();
        self.ask_beside(move |db| pending::begin(db, &session, command)).await
    }

    /// Commands of a session that run, or ran when their program was killed, oldest first.
    pub async fn running_commands(&self, session: &SessionId) -> Result<Vec<Command>, StoreError> {
        let session = session.clone();
        self.ask(move |db| read(db, &session, running)).await
    }

    /// Where folders stand as they were before commands that run, in all sessions.
    pub async fn bases(&self) -> Result<Vec<String>, StoreError> {
        let sql = "SELECT base FROM commands WHERE running = 1 AND base IS NOT NULL";
        self.ask(move |db| {
            db.read("read the file history", |conn| conn.prepare(sql)?.query_map((), |row| row.get(0))?.collect())
        })
        .await
    }

    /// Writes down a command that has ended, with what it changed: with the next items, when the database refuses it now.
    pub async fn record_command(
        &self,
        session: &SessionId,
        command: Command,
        changes: Vec<FileChange>,
    ) -> Result<(), StoreError> {
        let session = session.clone();
        self.ask_beside(move |db| pending::end(db, &session, command, changes)).await
    }

    /// A command of a session, however old.
    pub async fn command(&self, session: &SessionId, key: i64) -> Result<Option<Command>, StoreError> {
        let session = session.clone();
        self.ask(move |db| read(db, &session, |conn, of| one(conn, of, key))).await
    }

    /// The newest commands of a session from this turn on, newest first.
    pub async fn commands(&self, session: &SessionId, from: u32) -> Result<Vec<Command>, StoreError> {
        let session = session.clone();
        self.ask(move |db| read(db, &session, |conn, key| list(conn, key, from))).await
    }

    /// What other sessions than this one wrote on this machine since a time, newest first; bounded.
    pub async fn wrote_lately(&self, not: &SessionId, since: i64) -> Result<Vec<Wrote>, StoreError> {
        let not = not.clone();
        self.ask(move |db| db.read("read the file history", |conn| lately(conn, &not, since))).await
    }

    /// A step restored a checkpoint: leaves items out of the conversation, from the first to the last of these, and keeps
    /// what a redo needs. `step`: the first item of the step, which a redo leaves out.
    pub async fn leave_out(
        &self,
        session: &SessionId,
        (first, step, last): (ItemId, ItemId, ItemId),
        files: Vec<RewoundFile>,
    ) -> Result<(), StoreError> {
        let session = session.clone();
        self.ask(move |db| {
            settled(db)?;
            let number = sessions::change(db, "rewind the session", &session, |tx, key| {
                let left_out = Rewind { item: first, conversation: true, command: Some(RESTORED), ..Rewind::default() };
                let number = rewind::begin(tx, key, &left_out)?;
                // What was said after this step counts, and not what is left out.
                tx.execute("UPDATE rewinds SET last_item = ?2 WHERE key = ?1", (number, step.0 - 1))?;
                insert_files(tx, number, &files)?;
                let sql = "UPDATE items SET rewound = ?1 WHERE session = ?2 AND id BETWEEN ?3 AND ?4 AND rewound = 0";
                tx.execute(sql, (number, key, first.0, last.0)).map(|_| number)
            })?;
            journal::follow(db, &session, &[Record::Rewind { number, first, last }]);
            Ok(())
        })
        .await
    }

    /// What a command changed and is in effect.
    pub async fn changes_of(&self, session: &SessionId, command: i64) -> Result<Vec<FileChange>, StoreError> {
        let session = session.clone();
        self.ask(move |db| read(db, &session, |conn, key| changes_of(conn, key, command))).await
    }
}
