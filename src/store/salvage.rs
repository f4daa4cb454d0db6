//! Reads what can be read of a damaged database and puts it into a sound one.

mod undo;

use super::durability::beside;
use super::error::StoreError;
use super::{db, items, open};
use crate::protocol::SessionId;
use rusqlite::types::{Type, Value};
use rusqlite::{Connection, ErrorCode, Row, Transaction};
use std::collections::HashMap;
use std::path::Path;

/// Rows that are asked for at once; after damage each is asked for by itself.
const STRIDE: i64 = 256;
/// Keys in a row without a row that end a table: as many as a damaged page can hide, and when its size can't be read.
const DARK: i64 = 1 << 20;
const DARK_AT_THE_END: i64 = 64 * STRIDE;

/// What came over.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Saved {
    pub sessions: u64,
    pub items: u64,
    pub unreadable: u64,
}

/// Copies sessions with their items from the file into `fresh`. Works on a copy: opening a database may change it. A
/// session that `fresh` has already gets only the items that it lacks.
pub(super) fn copy(source: &Path, home: &Path, fresh: &mut Connection) -> Result<Saved, StoreError> {
    let copy_failed = |error: &std::io::Error| StoreError::file("copy", source, error);
    let folder = tempfile::Builder::new().prefix("repair-").tempdir_in(home).map_err(|error| copy_failed(&error))?;
    let copied = folder.path().join("copy.db");
    std::fs::copy(source, &copied).map_err(|error| copy_failed(&error))?;
    let log = beside(source, "-wal");
    if log.exists() {
        std::fs::copy(&log, beside(&copied, "-wal")).map_err(|error| copy_failed(&error))?;
    }
    let mut saved = Saved::default();
    let old = match open::connect(&copied) {
        Ok(old) => old,
        Err(error) => {
            tracing::warn!(%error, path = %source.display(), "nothing can be read");
            saved.unreadable += 1;
            return Ok(saved);
        }
    };
    db::immediate(fresh, |tx| {
        let mut keys = Keys { old: &old, tx, known: HashMap::new() };
        let has = |what: &str| old.prepare(what).is_ok();
        let life = has("SELECT 1 FROM session_summaries");
        let mut moved = undo::Moved::default();
        saved.unreadable += each(&old, "sessions", |row| session(tx, row, life, &mut saved.sessions))?;
        saved.unreadable += undo::marks(&mut keys, has, &mut moved)?;
        saved.unreadable += each(&old, "items", |row| item(&mut keys, &moved, row, &mut saved.items))?;
        if has("SELECT 1 FROM changes") {
            saved.unreadable += undo::changes(&mut keys, &moved)?;
        }
        saved.unreadable += each(&old, "history", |row| {
            tx.execute("INSERT INTO history (text) VALUES (?1)", [row.get::<_, String>("text")?]).map(drop)
        })?;
        if old.prepare("SELECT 1 FROM audit").is_ok() {
            saved.unreadable += audit(&old, tx)?;
        }
        if life {
            let sql = "SELECT session, parent, item, turn, at FROM lineage";
            saved.unreadable += rest(&old, sql, |row| {
                let session = keys.new_key(row.get(0)?, row.get(4)?)?;
                let parent: Option<i64> = row.get(1)?;
                let parent = parent.map(|parent| keys.new_key(parent, 0)).transpose()?;
                let (item, turn, at): (i64, i64, i64) = (row.get(2)?, row.get(3)?, row.get(4)?);
                tx.execute("UPDATE sessions SET parent = ?2 WHERE key = ?1", (session, parent))?;
                let sql = "INSERT OR IGNORE INTO lineage (session, parent, item, turn, at) VALUES (?1, ?2, ?3, ?4, ?5)";
                tx.execute(sql, (session, parent, item, turn, at)).map(drop)
            })?;
        }
        for (from, into) in SMALL.into_iter().chain(LIFE.into_iter().filter(|_| life)) {
            saved.unreadable += rest(&old, from, |row| {
                // The first column is a session's key, or NULL.
                let mut values: Vec<Value> =
                    (0..row.as_ref().column_count()).map(|at| row.get(at)).collect::<Result<_, _>>()?;
                if let Some(Value::Integer(key)) = values.first() {
                    values[0] = Value::Integer(keys.new_key(*key, 0)?);
                }
                tx.prepare_cached(into)?.execute(rusqlite::params_from_iter(values)).map(drop)
            })?;
        }
        Ok(())
    })
    .map_err(|error| StoreError::database("save sessions", source, &error))?;
    Ok(saved)
}

/// Small tables: how their rows are read, the session's key first, and written.
const SMALL: [(&str, &str); 4] = [
    (
        "SELECT session, turn, at, text, reasoning FROM partials",
        "INSERT OR IGNORE INTO partials (session, turn, at, text, reasoning) VALUES (?1, ?2, ?3, ?4, ?5)",
    ),
    ("SELECT session, text FROM prompts", "INSERT OR IGNORE INTO prompts (session, text) VALUES (?1, ?2)"),
    (
        "SELECT session, name, value FROM session_meta",
        "INSERT OR IGNORE INTO session_meta (session, name, value) VALUES (?1, ?2, ?3)",
    ),
    (
        "SELECT NULL, place, at, text FROM drafts",
        "INSERT OR IGNORE INTO drafts (place, at, text) SELECT ?2, ?3, ?4 WHERE ?1 IS NULL",
    ),
];

/// The audit log: as it is where none is yet, else behind what is there.
fn audit(old: &Connection, tx: &Transaction<'_>) -> rusqlite::Result<u64> {
    let empty: bool = tx.query_row("SELECT NOT EXISTS (SELECT 1 FROM audit)", [], |row| row.get(0))?;
    // What follows a row that cannot be read would not hold in the chain anyway.
    let unreadable = rest(old, "SELECT key, at, session, body, hash FROM audit ORDER BY key", |row| {
        let body: String = row.get("body")?;
        if empty {
            let sql = "INSERT INTO audit (key, at, session, body, hash) VALUES (?1, ?2, ?3, ?4, ?5)";
            let (key, at, session): (i64, i64, String) = (row.get("key")?, row.get("at")?, row.get("session")?);
            return tx.prepare_cached(sql)?.execute((key, at, session, body, row.get::<_, String>("hash")?)).map(drop);
        }
        let read = serde_json::from_str(&body);
        let record = read.map_err(|error| rusqlite::Error::FromSqlConversionFailure(0, Type::Text, Box::new(error)))?;
        super::audit::add(tx, &record).map(drop)
    })?;
    let head: Option<i64> =
        old.query_row("SELECT value FROM state WHERE name = 'audit:head'", [], |row| row.get(0)).unwrap_or(None);
    if let Some(head) = head.filter(|_| empty) {
        tx.execute("INSERT OR REPLACE INTO state (name, value) VALUES ('audit:head', ?1)", [head])?;
    }
    Ok(unreadable)
}

/// What each call used, what sessions say in short, what was learned; not in databases of earlier schemas.
const LIFE: [(&str, &str); 3] = [
    (
        "SELECT session, at, item, model, role, input, cached, cache_write, output, reasoning, cost FROM usage ORDER BY key",
        "INSERT INTO usage (session, at, item, model, role, input, cached, cache_write, output, reasoning, cost)
           SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11
           WHERE NOT EXISTS (SELECT 1 FROM usage WHERE session IS ?1 AND at = ?2 AND role = ?5 AND item IS ?3)",
    ),
    (
        "SELECT session, summary, keywords, created_at, by, upto FROM session_summaries",
        "INSERT OR IGNORE INTO session_summaries (session, summary, keywords, created_at, by, upto)
           VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    ),
    (
        "SELECT NULL, pattern, error_type, fix, context, tags, created_at, times_used FROM learnings ORDER BY id",
        "INSERT INTO learnings (pattern, error_type, fix, context, tags, created_at, times_used)
           SELECT ?2, ?3, ?4, ?5, ?6, ?7, ?8
           WHERE ?1 IS NULL AND NOT EXISTS (SELECT 1 FROM learnings WHERE pattern = ?2 AND fix = ?4 AND context = ?5)",
    ),
];

/// How a session is kept.
fn kept(tx: &Transaction<'_>, row: &Row<'_>) -> rusqlite::Result<()> {
    let old = row.as_ref();
    let at = |name: &str| old.column_index(name).and_then(|column| row.get::<_, Value>(column)).unwrap_or(Value::Null);
    let tags = if let Value::Text(tags) = at("tags") { tags } else { String::new() };
    tx.execute(
        "UPDATE sessions SET user_id = ?2, ended_at = ?3, branch = ?4, tags = ?5, pinned_at = ?6, archived_at = ?7,
           trashed_at = ?8 WHERE id = ?1",
        rusqlite::params![
            at("id"),
            at("user_id"),
            at("ended_at"),
            at("branch"),
            tags,
            at("pinned_at"),
            at("archived_at"),
            at("trashed_at"),
        ],
    )
    .map(drop)
}

/// Calls `take` with rows until one can't be read. Returns how many failed.
fn rest(old: &Connection, sql: &str, mut take: impl FnMut(&Row<'_>) -> rusqlite::Result<()>) -> rusqlite::Result<u64> {
    let Ok(mut read) = old.prepare(sql) else { return Ok(1) };
    let Ok(mut rows) = read.query([]) else { return Ok(1) };
    let mut failed = 0;
    loop {
        match rows.next() {
            Ok(Some(row)) => failed += u64::from(!taken(take(row))?),
            Ok(None) => return Ok(failed),
            Err(_) => return Ok(failed + 1),
        }
    }
}

/// Whether a row came over. A new database that takes no row, on a full disk, is an error and no damage of the old one.
fn taken(outcome: rusqlite::Result<()>) -> rusqlite::Result<bool> {
    match outcome {
        Ok(()) => Ok(true),
        Err(rusqlite::Error::SqliteFailure(failure, why))
            if !matches!(
                failure.code,
                ErrorCode::ConstraintViolation | ErrorCode::TypeMismatch | ErrorCode::TooBig
            ) =>
        {
            Err(rusqlite::Error::SqliteFailure(failure, why))
        }
        Err(_) => Ok(false),
    }
}

/// Sessions of the old database by their keys in the new one.
struct Keys<'a> {
    old: &'a Connection,
    tx: &'a Transaction<'a>,
    known: HashMap<i64, i64>,
}

impl Keys<'_> {
    /// A session whose row can't be read gets a name of its own.
    fn new_key(&mut self, old_key: i64, at: i64) -> rusqlite::Result<i64> {
        if let Some(key) = self.known.get(&old_key) {
            return Ok(*key);
        }
        let read = self.old.query_row("SELECT id FROM sessions WHERE key = ?1", [old_key], |row| row.get(0));
        let id = SessionId(read.unwrap_or_else(|_| format!("recovered-{old_key}")));
        let key = match super::sessions::key(self.tx, &id)? {
            Some(key) => key,
            None => super::sessions::insert(self.tx, &super::NewSession::bare(id, at))?,
        };
        self.known.insert(old_key, key);
        Ok(key)
    }
}

/// Calls `take` with every row of a table that can be read, in the order of its keys. Returns how many could not.
fn each(
    old: &Connection,
    table: &str,
    mut take: impl FnMut(&Row<'_>) -> rusqlite::Result<()>,
) -> rusqlite::Result<u64> {
    let last: Option<i64> =
        old.query_row(&format!("SELECT max(key) FROM {table}"), [], |row| row.get(0)).unwrap_or(None);
    let Ok(mut many) = old.prepare(&format!("SELECT * FROM {table} WHERE key > ?1 ORDER BY key LIMIT ?2")) else {
        return Ok(1);
    };
    let Ok(mut one) = old.prepare(&format!("SELECT * FROM {table} WHERE key = ?1")) else { return Ok(1) };
    let (mut from, mut unreadable, mut dark) = (0_i64, 0, 0);
    // A key may be damaged, too: whatever the last one says, a search in the dark ends.
    let most = if last.is_some() { DARK } else { DARK_AT_THE_END };
    while dark < most {
        let before = from;
        let mut is_broken = false;
        let mut rows = many.query((from, STRIDE))?;
        loop {
            match rows.next() {
                Ok(Some(row)) => {
                    from = row.get("key").unwrap_or(from.saturating_add(1));
                    unreadable += u64::from(!taken(take(row))?);
                }
                Ok(None) => break,
                Err(_) => {
                    is_broken = true;
                    break;
                }
            }
        }
        drop(rows);
        if from > before {
            dark = 0;
        } else if !is_broken {
            break;
        }
        if !is_broken {
            continue;
        }
        let end = from.saturating_add(STRIDE).min(last.unwrap_or(i64::MAX));
        for key in from.saturating_add(1)..=end {
            let mut rows = one.query([key])?;
            match rows.next() {
                Ok(Some(row)) => {
                    unreadable += u64::from(!taken(take(row))?);
                    dark = 0;
                }
                Ok(None) => dark += 1,
                Err(_) => (unreadable, dark) = (unreadable + 1, dark + 1),
            }
        }
        if end <= from {
            break;
        }
        from = end;
    }
    Ok(unreadable)
}

/// `life`: the row says how it is kept, too. What came over first is the newer.
fn session(tx: &Transaction<'_>, row: &Row<'_>, life: bool, count: &mut u64) -> rusqlite::Result<()> {
    let id: String = row.get("id")?;
    let mut title: Option<String> = row.get("title").unwrap_or(None);
    if let Some(wanted) = &title {
        title = Some(super::title::unique(tx, 0, wanted)?);
    }
    let text = |column| row.get::<_, String>(column).unwrap_or_default();
    let number = |column| row.get::<_, i64>(column).unwrap_or(0);
    let added = tx.execute(
        "INSERT OR IGNORE INTO sessions (id, title, source, cwd, model, preview, started_at, updated_at, context_from,
           input_tokens, cached_tokens, cache_write_tokens, output_tokens, reasoning_tokens, cost)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)",
        rusqlite::params![
            id,
            title,
            text("source"),
            text("cwd"),
            text("model"),
            text("preview"),
            number("started_at"),
            number("updated_at"),
            number("context_from").max(1),
            number("input_tokens"),
            number("cached_tokens"),
            number("cache_write_tokens"),
            number("output_tokens"),
            number("reasoning_tokens"),
            row.get::<_, Option<f64>>("cost").unwrap_or(None),
        ],
    )?;
    *count += added as u64;
    if added > 0 && life { kept(tx, row) } else { Ok(()) }
}

fn item(keys: &mut Keys<'_>, moved: &undo::Moved, row: &Row<'_>, count: &mut u64) -> rusqlite::Result<()> {
    let (number, at, turn): (i64, i64, i64) = (row.get("id")?, row.get("at")?, row.get("turn")?);
    let body: String = row.get("body")?;
    let rewound = moved.rewind(row.get("rewound").unwrap_or(0));
    let parsed = serde_json::from_str(&body)
        .map_err(|error| rusqlite::Error::FromSqlConversionFailure(0, Type::Text, Box::new(error)))?;
    let key = keys.new_key(row.get("session")?, at)?;
    let sql = "INSERT OR IGNORE INTO items (session, id, at, turn, role, cjk, body, rewound) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
    let values = (key, number, at, turn, items::role(&parsed), super::query::has_cjk(&body), &body, rewound);
    *count += keys.tx.prepare_cached(sql)?.execute(values)? as u64;
    Ok(())
}
