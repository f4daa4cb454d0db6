//! What holds only while a program works in a session: the streamed text, and who is at it.

use super::actor::Streamed;
use super::db::Db;
use super::journal::marker::runs;
use crate::protocol::{AssistantBody, Body, Item, SessionId};
use rusqlite::{Connection, OptionalExtension, Transaction};
use std::path::Path;

/// Writes the newest streamed text of every session that has some.
pub(super) fn write_streams(db: &mut Db) {
    let streams = db.shared.take_streams();
    if streams.is_empty() {
        return;
    }
    let at = super::now();
    let refused = streams.into_iter().filter_map(|(session, part)| {
        let kept = part.clone();
        (!super::journal::stream(db, &session, part, at)).then_some((session, kept))
    });
    let refused: Vec<_> = refused.collect();
    put_partials(db, refused, at);
}

/// Puts the streamed text that only the journal has into the database: of one session that is opened again, or of all when
/// the program ends.
pub(super) fn settle_streams(db: &mut Db, session: Option<&SessionId>) {
    write_streams(db);
    let streams = super::journal::take_streams(db, session).into_iter().collect();
    put_partials(db, streams, super::now());
}

fn put_partials(db: &mut Db, streams: Vec<(SessionId, Streamed)>, at: i64) {
    if streams.is_empty() {
        return;
    }
    let written = db.write("save the answer so far", |tx| {
        streams
            .iter()
            .try_for_each(|(session, part)| put_partial(tx, session, part.turn, at, &part.text, &part.reasoning))
    });
    if let Err(error) = written {
        // The item itself is still to come and goes through the journal when it must.
        tracing::warn!(%error, "streamed text is not saved");
        db.shared.set_trouble(Some(error.to_string()));
    }
}

/// Keeps the streamed text of a session in place of what it had.
pub(super) fn put_partial(
    tx: &Transaction<'_>,
    session: &SessionId,
    turn: u32,
    at: i64,
    text: &str,
    reasoning: &str,
) -> rusqlite::Result<()> {
    let mut put = tx.prepare_cached(
        "INSERT INTO partials (session, turn, at, text, reasoning)
         SELECT key, ?2, ?3, ?4, ?5 FROM sessions WHERE id = ?1
         ON CONFLICT (session) DO UPDATE SET turn = excluded.turn, at = excluded.at, text = excluded.text,
           reasoning = excluded.reasoning",
    )?;
    put.execute((&session.0, turn, at, text, reasoning)).map(drop)
}

/// The streamed text that a session was left with.
pub(super) fn partial(conn: &Connection, session: i64) -> rusqlite::Result<Option<Item>> {
    let mut get = conn.prepare_cached("SELECT turn, at, text, reasoning FROM partials WHERE session = ?1")?;
    let row = get.query_row([session], |row| {
        let body = AssistantBody { text: row.get(2)?, reasoning: row.get(3)?, ..AssistantBody::default() };
        Ok(Item { id: Default::default(), turn: row.get(0)?, at: row.get(1)?, body: Body::Assistant(body) })
    });
    row.optional()
}

/// Another process that works in this session now.
pub(super) fn other(conn: &Connection, home: &Path, session: i64, me: (i64, i64)) -> rusqlite::Result<Option<i64>> {
    // The same process has one store; a row of its own is left from an earlier one.
    Ok(worker(conn, home, session)?.filter(|worker| *worker != me).map(|(pid, _)| pid))
}

/// The process that works in this session now, be it this one: its number and its start.
pub(super) fn worker(conn: &Connection, home: &Path, session: i64) -> rusqlite::Result<Option<(i64, i64)>> {
    let mut get = conn.prepare_cached("SELECT pid, born, marker FROM live WHERE session = ?1")?;
    let row = get.query_row([session], |row| Ok((row.get(0)?, row.get(1)?, row.get::<_, String>(2)?))).optional()?;
    Ok(row.filter(|(pid, born, marker)| runs(home, *pid, *born, marker)).map(|(pid, born, _)| (pid, born)))
}

/// Forgets programs that were killed: their sessions are nobody's.
pub(super) fn bury(db: &mut Db) {
    if db.in_memory {
        return;
    }
    let dead = db.read("look for programs that have exited", |conn| {
        let mut get = conn.prepare("SELECT DISTINCT pid, born, marker FROM live")?;
        let rows = get.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
        let rows: Vec<(i64, i64, String)> = rows.collect::<rusqlite::Result<_>>()?;
        let is_dead = |(pid, born, marker): &(i64, i64, String)| !runs(&db.home, *pid, *born, marker);
        Ok(rows.into_iter().filter(is_dead).collect::<Vec<_>>())
    });
    let buried = match dead {
        Ok(dead) if dead.is_empty() => return,
        Ok(dead) => db.write("forget programs that have exited", |tx| {
            let mut forget = tx.prepare_cached("DELETE FROM live WHERE pid = ?1 AND born = ?2 AND marker = ?3")?;
            dead.iter().try_for_each(|(pid, born, marker)| forget.execute((pid, born, marker)).map(drop))
        }),
        Err(error) => Err(error),
    };
    if let Err(error) = buried {
        tracing::debug!(%error, "the next start tries again");
    }
}

/// Whether this process works in the session, as far as is written down.
pub(super) fn is_mine(conn: &Connection, session: &SessionId, pid: i64, born: i64) -> rusqlite::Result<bool> {
    let sql = "SELECT EXISTS (SELECT 1 FROM live WHERE session = (SELECT key FROM sessions WHERE id = ?1)
               AND pid = ?2 AND born = ?3)";
    conn.prepare_cached(sql)?.query_row((&session.0, pid, born), |row| row.get(0))
}

/// Says that this process works in the session, which is thrown away by nobody then.
pub(super) fn enter(conn: &Connection, session: i64, (pid, born): (i64, i64), marker: &str) -> rusqlite::Result<()> {
    conn.prepare_cached("INSERT OR REPLACE INTO live (session, pid, born, marker) VALUES (?1, ?2, ?3, ?4)")?
        .execute((session, pid, born, marker))?;
    conn.prepare_cached(
        "UPDATE sessions SET ended_at = NULL, trashed_at = NULL
         WHERE key = ?1 AND (ended_at IS NOT NULL OR trashed_at IS NOT NULL)",
    )?
    .execute([session])
    .map(drop)
}

/// This process leaves one session.
pub(super) fn exit(conn: &Connection, session: i64, pid: i64, born: i64) -> rusqlite::Result<()> {
    conn.prepare_cached("DELETE FROM live WHERE session = ?1 AND pid = ?2 AND born = ?3")?
        .execute((session, pid, born))
        .map(drop)
}

/// This process leaves all its sessions; those that stayed empty go.
pub(super) fn leave(db: &mut Db) {
    let (pid, born) = (db.pid, db.born);
    let (journals, shared) = (db.journal.written, db.shared.clone());
    let left = db.write("close the sessions", |tx| {
        super::durability::written::note(tx, journals, &shared)?;
        tx.execute(
            "DELETE FROM sessions WHERE item_count = 0 AND key IN (SELECT session FROM live WHERE pid = ?1 AND born = ?2)",
            (pid, born),
        )?;
        tx.execute("DELETE FROM live WHERE pid = ?1 AND born = ?2", (pid, born))
    });
    if let Err(error) = left {
        tracing::debug!(%error, "sessions stay marked as open; the next program sees that this one has exited");
    }
}

/// Forgets streamed text that is not on disk yet.
pub(super) fn forget_stream(db: &mut Db, session: &SessionId) {
    db.shared.unstream(session);
    super::journal::unstream(db, session);
}
