//! Commands of a session and what each changed: written down when one has ended, to be undone one at a time.

use super::error::StoreError;
use super::journal::{self, Record, pending};
use super::rewind::{RESTORED, begin, changes_of, insert_files, read, record, settled};
use super::{FileChange, Rewind, RewoundFile, Store, sessions};
use crate::protocol::{ItemId, SessionId};
use rusqlite::{Connection, OptionalExtension, Row, Transaction};
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

/// Commands that are listed at most.
const LISTED: i64 = 500;

/// A command that ran.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Command {
    /// Given by the store.
    pub key: i64,
    pub turn: u32,
    /// When it began, in milliseconds since the epoch.
    pub at: i64,
    /// The tool call.
    pub call: String,
    pub line: String,
    /// What of it can't be undone, in words.
    pub gaps: Vec<String>,
    /// Files that it changed, and how many of these changes are in effect.
    pub files: u64,
    pub standing: u64,
}

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
               WHERE sessions.id <> ?1 AND changes.at >= ?2 AND changes.place = '' AND changes.undone = 0
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

pub(super) fn insert(
    tx: &Transaction<'_>,
    key: i64,
    command: &Command,
    changes: &[FileChange],
) -> rusqlite::Result<()> {
    let gaps = serde_json::to_string(&command.gaps).unwrap_or_else(|_| "[]".into());
    tx.execute(
        "INSERT INTO commands (session, turn, at, call, line, gaps) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        (key, command.turn, command.at, &command.call, &command.line, gaps),
    )?;
    let number = tx.last_insert_rowid();
    let changes: Vec<FileChange> =
        changes.iter().map(|change| FileChange { command: Some(number), ..change.clone() }).collect();
    record(tx, key, &changes).map(drop)
}

/// Columns that [`command`] takes, in its order.
const COLUMNS: &str = "key, turn, at, call, line, gaps, (SELECT count(*) FROM changes WHERE command = commands.key),
  (SELECT count(*) FROM changes WHERE command = commands.key AND undone = 0)";

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
    })
}

fn list(conn: &Connection, key: i64, from: u32) -> rusqlite::Result<Vec<Command>> {
    let sql = format!("SELECT {COLUMNS} FROM commands WHERE session = ?1 AND turn >= ?2 ORDER BY key DESC LIMIT ?3");
    conn.prepare_cached(&sql)?.query_map((key, from, LISTED), command)?.collect()
}

fn one(conn: &Connection, key: i64, number: i64) -> rusqlite::Result<Option<Command>> {
    let sql = format!("SELECT {COLUMNS} FROM commands WHERE session = ?1 AND key = ?2");
    conn.prepare_cached(&sql)?.query_row((key, number), command).optional()
}

impl Store {
    /// Writes down a command that has ended, with what it changed: with the next items, when the database refuses it now.
    pub async fn record_command(
        &self,
        session: &SessionId,
        command: Command,
        changes: Vec<FileChange>,
    ) -> Result<(), StoreError> {
        let session = session.clone();
        self.ask_beside(move |db| {
            let work = |tx: &Transaction<'_>, key| insert(tx, key, &command, &changes);
            match sessions::change(db, "save the file history", &session, work) {
                Err(_) if pending::later(db, &session, &command, &changes) => Ok(()),
                done => done,
            }
        })
        .await
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
                let number = begin(tx, key, &left_out)?;
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
