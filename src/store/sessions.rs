//! Rows of sessions: made, named, listed, found, deleted.

use super::db::Db;
use super::error::StoreError;
use super::filter::Filter;
use super::{NewSession, SessionMeta, SessionRow, index, life, title};
use crate::fs::remove;
use crate::protocol::{ItemId, SessionId, Usage};
use rusqlite::{Connection, OptionalExtension, Row, Transaction};
use std::path::Path;

/// Sessions that stayed empty are removed this long after their start, in milliseconds: their program was killed.
const EMPTY_KEPT: i64 = 24 * 3600 * 1000;

/// Columns that [`row`] takes, in its order.
pub(super) const COLUMNS: &str = "s.id, s.title, s.preview, s.cwd, s.model, s.started_at, s.updated_at, s.item_count,
  nullif(s.summary, ''), s.tags, s.pinned_at IS NOT NULL, s.archived_at IS NOT NULL, s.trashed_at";
/// How many they are.
pub(super) const COLUMN_COUNT: usize = 13;

pub(super) fn row(row: &Row<'_>) -> rusqlite::Result<SessionRow> {
    let mut read = SessionRow {
        id: row.get(0)?,
        title: row.get(1)?,
        preview: row.get(2)?,
        cwd: row.get(3)?,
        model: row.get(4)?,
        started_at: row.get(5)?,
        updated_at: row.get(6)?,
        items: u64::try_from(row.get::<_, i64>(7)?).unwrap_or(0),
        ..SessionRow::default()
    };
    life::fields(row, 8, &mut read)?;
    Ok(read)
}

pub(super) fn key(conn: &Connection, session: &SessionId) -> rusqlite::Result<Option<i64>> {
    conn.prepare_cached("SELECT key FROM sessions WHERE id = ?1")?.query_row([&session.0], |row| row.get(0)).optional()
}

/// A new row; the session must not exist.
pub(super) fn insert(tx: &Transaction<'_>, new: &NewSession) -> rusqlite::Result<i64> {
    tx.prepare_cached(
        "INSERT INTO sessions (id, source, cwd, model, started_at, updated_at) VALUES (?1, ?2, ?3, ?4, ?5, ?5)",
    )?
    .execute((&new.id.0, &new.source, &new.cwd, &new.model, new.started_at))?;
    Ok(tx.last_insert_rowid())
}

/// Makes the session if it is not there and says that this process works in it. A row that an item made, when this was
/// refused before, gets what it lacks.
pub(super) fn create(db: &mut Db, new: &NewSession) -> Result<(), StoreError> {
    let (me, marker) = ((db.pid, db.born), super::journal::enlist(db));
    db.pending.forget_known();
    let is_filled = db.write("start a session", |tx| {
        tx.prepare_cached(
            "DELETE FROM sessions WHERE item_count = 0 AND started_at < ?1
               AND key NOT IN (SELECT session FROM live)",
        )?
        .execute([new.started_at - EMPTY_KEPT])?;
        let (key, is_filled) = match key(tx, &new.id)? {
            Some(key) => {
                let sql = "UPDATE sessions SET cwd = ?2, model = ?3, source = ?4, started_at = min(started_at, ?5)
                           WHERE key = ?1 AND cwd = ''";
                let values = (key, &new.cwd, &new.model, &new.source, new.started_at);
                (key, tx.prepare_cached(sql)?.execute(values)? > 0)
            }
            // Items may wait, and be in the journal: it knows neither folder nor model.
            None => (insert(tx, new)?, true),
        };
        super::live::enter(tx, key, me, &marker)?;
        Ok(is_filled)
    })?;
    if is_filled {
        super::journal::follow_head(db, &new.id);
    }
    Ok(())
}

/// Runs a change on the session's row, which must be there.
pub(super) fn change<T>(
    db: &mut Db,
    doing: &'static str,
    session: &SessionId,
    work: impl FnOnce(&Transaction<'_>, i64) -> rusqlite::Result<T>,
) -> Result<T, StoreError> {
    db.write(doing, |tx| key(tx, session)?.map(|key| work(tx, key)).transpose())?.ok_or_else(|| missing(session))
}

pub(super) fn missing(session: &SessionId) -> StoreError {
    StoreError::NotFound { query: session.0.clone(), near: Vec::new() }
}

/// Sets or clears the title; returns it as it was kept.
pub(super) fn set_title(db: &mut Db, session: &SessionId, wanted: &str) -> Result<Option<String>, StoreError> {
    let clean = title::sanitize_title(wanted);
    let name = change(db, "save the title", session, |tx, key| {
        let name = clean.map(|clean| title::unique(tx, key, &clean)).transpose()?;
        tx.execute("UPDATE sessions SET title = ?2 WHERE key = ?1", (key, &name))?;
        Ok(name)
    })?;
    super::journal::follow_head(db, session);
    Ok(name)
}

pub(super) fn add_usage(conn: &Connection, key: i64, usage: &Usage) -> rusqlite::Result<()> {
    if *usage == Usage::default() {
        return Ok(());
    }
    let tokens = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
    conn.prepare_cached(
        "UPDATE sessions SET input_tokens = input_tokens + ?2, cached_tokens = cached_tokens + ?3,
           cache_write_tokens = cache_write_tokens + ?4, output_tokens = output_tokens + ?5,
           reasoning_tokens = reasoning_tokens + ?6,
           cost = CASE WHEN ?7 IS NULL THEN cost ELSE coalesce(cost, 0) + ?7 END
         WHERE key = ?1",
    )?
    .execute((
        key,
        tokens(usage.input),
        tokens(usage.cached),
        tokens(usage.cache_write),
        tokens(usage.output),
        tokens(usage.reasoning),
        usage.cost,
    ))?;
    Ok(())
}

/// What is known about one session, and its key.
pub(super) fn meta(conn: &Connection, session: &SessionId) -> rusqlite::Result<Option<(i64, SessionMeta)>> {
    let sql = format!(
        "SELECT {COLUMNS}, s.key, s.source, s.last_item, s.last_turn, s.context_from, s.input_tokens, s.cached_tokens,
           s.cache_write_tokens, s.output_tokens, s.reasoning_tokens, s.cost, s.branch FROM sessions s WHERE s.id = ?1"
    );
    let found = conn.prepare_cached(&sql)?.query_row([&session.0], |found| {
        let tokens = |column| found.get::<_, i64>(column).map(|count| u64::try_from(count).unwrap_or(0));
        let usage = Usage {
            input: tokens(COLUMN_COUNT + 5)?,
            cached: tokens(COLUMN_COUNT + 6)?,
            cache_write: tokens(COLUMN_COUNT + 7)?,
            output: tokens(COLUMN_COUNT + 8)?,
            reasoning: tokens(COLUMN_COUNT + 9)?,
            cost: found.get(COLUMN_COUNT + 10)?,
        };
        let meta = SessionMeta {
            row: row(found)?,
            source: found.get(COLUMN_COUNT + 1)?,
            last_item: ItemId(found.get(COLUMN_COUNT + 2)?),
            last_turn: found.get(COLUMN_COUNT + 3)?,
            context_from: ItemId(found.get(COLUMN_COUNT + 4)?),
            usage,
            branch: found.get(COLUMN_COUNT + 11)?,
        };
        Ok((found.get(COLUMN_COUNT)?, meta))
    });
    found.optional()
}

/// Sessions with items, the pinned ones first, newest first. What is archived or in the trash is left out.
pub(super) fn list(conn: &Connection, here: Option<&str>, limit: usize) -> rusqlite::Result<Vec<SessionRow>> {
    let pinned = newest(conn, here, "s.pinned_at IS NOT NULL", limit)?;
    let rest = newest(conn, here, "s.pinned_at IS NULL", limit - pinned.len())?;
    Ok([pinned, rest].concat())
}

/// The session used last.
pub(super) fn latest(conn: &Connection, here: Option<&str>) -> rusqlite::Result<Option<SessionId>> {
    Ok(newest(conn, here, "1", 1)?.pop().map(|row| SessionId(row.id)))
}

fn newest(conn: &Connection, here: Option<&str>, which: &str, limit: usize) -> rusqlite::Result<Vec<SessionRow>> {
    let filter = if here.is_some() { "s.cwd = ?1" } else { "?1 IS NULL" };
    let shown = life::Shelf::Shown.condition();
    let sql = format!(
        "SELECT {COLUMNS} FROM sessions s WHERE {filter} AND {which} AND {shown} AND s.item_count > 0
         ORDER BY s.updated_at DESC, s.key DESC LIMIT ?2"
    );
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    conn.prepare_cached(&sql)?.query_map((here, limit), row)?.collect()
}

/// Sessions whose title or id holds the text, newest first. Both are looked for in their indexes alone.
pub(super) fn named(
    conn: &Connection,
    text: &str,
    here: Option<&str>,
    limit: usize,
) -> rusqlite::Result<Vec<SessionRow>> {
    let sql = format!(
        "SELECT {COLUMNS} FROM sessions s WHERE s.item_count > 0 AND {} AND (?2 IS NULL OR s.cwd = ?2)
           AND s.key IN (SELECT key FROM sessions WHERE title IS NOT NULL AND title LIKE ?1 ESCAPE '\\'
                         UNION SELECT key FROM sessions WHERE id LIKE ?1 ESCAPE '\\')
         ORDER BY s.updated_at DESC, s.key DESC LIMIT ?3",
        life::Shelf::Shown.condition()
    );
    let pattern = format!("%{}%", like_escaped(text));
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    conn.prepare_cached(&sql)?.query_map((pattern, here, limit), row)?.collect()
}

/// Sessions that a filter holds for, newest first: the times are those of the sessions, unless entries are asked for.
pub(super) fn fitting(conn: &Connection, filter: &Filter, limit: usize) -> rusqlite::Result<Vec<SessionRow>> {
    let (fits, conditions) = match filter.of_whole_sessions(2) {
        Some(conditions) => (conditions.sql(), conditions),
        None => {
            let conditions = filter.conditions(2);
            (format!("EXISTS (SELECT 1 FROM items i WHERE i.session = s.key AND {})", conditions.sql()), conditions)
        }
    };
    let sql = format!(
        "SELECT {COLUMNS} FROM sessions s WHERE s.item_count > 0 AND {fits}
         ORDER BY s.pinned_at IS NULL, s.updated_at DESC, s.key DESC LIMIT ?1"
    );
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut values: Vec<&dyn rusqlite::ToSql> = vec![&limit];
    values.extend(conditions.values.iter().map(|value| value as &dyn rusqlite::ToSql));
    conn.prepare(&sql)?.query_map(values.as_slice(), row)?.collect()
}

/// The text with the wildcards of `LIKE` escaped by a backslash.
pub(super) fn like_escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_")
}

/// Deletes a session with all that belongs to it; `false` when there was none. One that another process works in stays.
pub(super) fn delete(db: &mut Db, session: &SessionId) -> Result<bool, StoreError> {
    let mut busy = None;
    let (me, home) = ((db.pid, db.born), db.home.clone());
    let gone = delete_if(db, session, |tx, key| {
        busy = super::live::other(tx, &home, key, me)?;
        Ok(busy.is_none())
    })?;
    match busy {
        Some(pid) => Err(StoreError::InUse { session: session.0.clone(), pid }),
        None => {
            super::live::forget_stream(db, session);
            Ok(gone)
        }
    }
}

/// The same where `may` says so of its key, in the transaction that deletes it.
pub(super) fn delete_if(
    db: &mut Db,
    session: &SessionId,
    may: impl FnOnce(&Transaction<'_>, i64) -> rusqlite::Result<bool>,
) -> Result<bool, StoreError> {
    let home = db.home.clone();
    let in_memory = db.in_memory;
    db.pending.forget_known();
    let mut forgotten = Ok(());
    let deleted = db.write("delete the session", |tx| {
        let Some(key) = key(tx, session)? else { return Ok(false) };
        if !may(tx, key)? {
            return Ok(false);
        }
        index::forget(tx, key)?;
        for place in [super::drafts::place(Some(session), ""), super::drafts::queue_place(Some(session), "")] {
            tx.execute("DELETE FROM drafts WHERE place = ?1", [place])?;
        }
        tx.execute("DELETE FROM sessions WHERE key = ?1", [key])?;
        index::clamp(tx)?;
        life::clamp(tx)?;
        // Before the commit: a journal that outlives its session would bring it back. The other way round it is written anew.
        if !in_memory {
            forgotten = super::journal::forget(&home, session);
        }
        // Any error takes the deletion back.
        if forgotten.is_err() { Err(rusqlite::Error::QueryReturnedNoRows) } else { Ok(true) }
    });
    forgotten?;
    let gone = deleted?;
    if gone {
        super::live::forget_stream(db, session);
        forget_files(&db.home, session);
    }
    Ok(gone)
}

/// Removes what a session that is gone has outside the database. What can't be removed is a matter for the log: the session
/// is gone whatever becomes of it.
fn forget_files(home: &Path, session: &SessionId) {
    if let Err(error) = crate::recordings::remove(home, &session.0) {
        tracing::warn!("recordings of {session} are left: {error}");
    }
    // Other names have no checkpoints.
    if session.0.starts_with('.') || session.0.contains('/') {
        return;
    }
    // Each keeps bytes of files from being dropped.
    let folder = home.join("checkpoints").join(&session.0);
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        if let Err(error) = remove::file(remove::File::Checkpoint, home, &entry.path()) {
            tracing::warn!("a checkpoint of {session} is left: {error}");
        }
    }
}
