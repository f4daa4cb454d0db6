//! Opening a session again: what was cut off is ended properly first, so that every session can go on.

use super::audit::{self, AuditBy, Kind, Record};
use super::db::Db;
use super::error::StoreError;
use super::{Opening, items, live, sessions};
use crate::protocol::{Body, Item, ItemId, NoteKind, Outcome, SessionId, StopReason, ToolBody, ToolCall, ToolView};
use rusqlite::{Connection, OptionalExtension, Transaction};
use std::collections::BTreeMap;

/// What a tool call without a result is told to have come to.
pub const INTERRUPTED_RESULT: &str = "[interrupted: the program exited before this call did; its effects are unknown]";
const INTERRUPTED_NOTE: &str = "the program exited during this turn";

/// Opens a session for work. On a disk that takes nothing the same is returned without being kept.
///
/// Of tools with these names the audit log keeps only what was asked about: a call of theirs that was cut off is no row.
pub(super) fn open(db: &mut Db, session: &SessionId, limit: usize, readers: &[String]) -> Result<Opening, StoreError> {
    live::settle_streams(db, Some(session));
    super::journal::take_in::of_session(db, session);
    db.pending.forget_known();
    let (me, marker, home) = ((db.pid, db.born), super::journal::enlist(db), db.home.clone());
    let mut ended: Vec<Item> = Vec::new();
    let opened = db.write("open the session", |tx| {
        let Some(key) = sessions::key(tx, session)? else { return Ok(None) };
        let other = live::other(tx, &home, key, me)?;
        if other.is_none() {
            let ends = loose_ends(tx, key)?;
            log_loose_ends(tx, session, key, readers)?;
            let ids = items::append_in(tx, session, &ends)?;
            ended = ends.into_iter().zip(ids).map(|(item, id)| Item { id, ..item }).collect();
            tx.prepare_cached("DELETE FROM partials WHERE session = ?1")?.execute([key])?;
            live::enter(tx, key, me, &marker)?;
        }
        read(tx, session, limit, other)
    });
    let opening = match opened {
        Ok(opening) => {
            db.unindexed = true;
            if !ended.is_empty() {
                super::journal::follow(db, session, &super::journal::of_items(&ended));
            }
            opening
        }
        Err(error) => {
            let unsaved = db.read("open the session", |conn| {
                let Some(mut opening) = read(conn, session, limit, None)? else { return Ok(None) };
                if let Some(key) = sessions::key(conn, session)? {
                    let mut last = opening.meta.last_item.0;
                    opening.items.extend(loose_ends(conn, key)?.into_iter().map(|mut item| {
                        last += 1;
                        item.id = ItemId(last);
                        item
                    }));
                    opening.meta.last_item = ItemId(last);
                }
                Ok(Some(opening))
            })?;
            db.shared.set_trouble(Some(error.to_string()));
            unsaved
        }
    };
    opening.ok_or_else(|| sessions::missing(session))
}

fn read(
    conn: &Connection,
    session: &SessionId,
    limit: usize,
    live_elsewhere: Option<i64>,
) -> rusqlite::Result<Option<Opening>> {
    let Some((key, meta)) = sessions::meta(conn, session)? else { return Ok(None) };
    let page = items::page(conn, key, ItemId(i64::MAX), limit)?;
    Ok(Some(Opening {
        meta,
        items: page.items,
        more: page.more,
        skipped: page.skipped,
        prompt: prompt(conn, key)?,
        values: values(conn, key)?,
        live_elsewhere,
    }))
}

pub(super) fn prompt(conn: &Connection, key: i64) -> rusqlite::Result<Option<String>> {
    let mut get = conn.prepare_cached("SELECT text FROM prompts WHERE session = ?1")?;
    get.query_row([key], |row| row.get(0)).optional()
}

/// The session's named values; one that is no JSON is left out.
pub(super) fn values(conn: &Connection, key: i64) -> rusqlite::Result<BTreeMap<String, serde_json::Value>> {
    let mut get = conn.prepare_cached("SELECT name, value FROM session_meta WHERE session = ?1")?;
    let rows = get.query_map([key], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)))?;
    let mut found = BTreeMap::new();
    for row in rows {
        let (name, value) = row?;
        if let Ok(value) = serde_json::from_str(&value) {
            found.insert(name, value);
        }
    }
    Ok(found)
}

/// Keeps a named value; null removes it.
pub(super) fn put_value(tx: &Transaction<'_>, key: i64, name: &str, value: &serde_json::Value) -> rusqlite::Result<()> {
    if value.is_null() {
        return tx.execute("DELETE FROM session_meta WHERE session = ?1 AND name = ?2", (key, name)).map(drop);
    }
    let sql = "INSERT OR REPLACE INTO session_meta (session, name, value) VALUES (?1, ?2, ?3)";
    tx.prepare_cached(sql)?.execute((key, name, value.to_string())).map(drop)
}

/// Items that end what was cut off: the streamed answer, calls without a result, and a note.
fn loose_ends(conn: &Connection, key: i64) -> rusqlite::Result<Vec<Item>> {
    let at = super::now();
    let mut ends = Vec::new();
    let streamed = live::partial(conn, key)?;
    let (turn, calls) = dangling(conn, key)?;
    for call in calls {
        let body = Body::Tool(ToolBody {
            call_id: call.id,
            name: call.name,
            content: INTERRUPTED_RESULT.to_owned(),
            outcome: Outcome::Interrupted,
            view: ToolView { summary: "interrupted".to_owned(), ..ToolView::default() },
            ..ToolBody::default()
        });
        ends.push(Item { id: ItemId(0), at, turn, body });
    }
    if let Some(Item { at, turn, body: Body::Assistant(mut body), .. }) = streamed
        && !(body.text.trim().is_empty() && body.reasoning.trim().is_empty())
    {
        body.stop = StopReason::Cancelled;
        ends.push(Item { id: ItemId(0), at, turn, body: Body::Assistant(body) });
    }
    if let Some(turn) = ends.last().map(|item| item.turn) {
        let body = Body::Note { kind: NoteKind::Interrupted, text: INTERRUPTED_NOTE.to_owned() };
        ends.push(Item { id: ItemId(0), at, turn, body });
    }
    Ok(ends)
}

/// Puts into the audit log that calls were cut off. One whose row is there has no end; of one without a row, which waited for
/// its turn or for an answer, or whose row was not saved yet, nobody knows whether it ran.
fn log_loose_ends(tx: &Transaction<'_>, session: &SessionId, key: i64, readers: &[String]) -> rusqlite::Result<()> {
    let mut known = tx.prepare_cached(
        "SELECT body ->> 'kind' FROM audit WHERE session = ?1 AND body ->> 'call' = ?2 ORDER BY key DESC LIMIT 1",
    )?;
    for call in dangling(tx, key)?.1 {
        let last: Option<String> = known.query_row((&session.0, &call.id), |row| row.get(0)).optional()?;
        let row = Record {
            at: super::now(),
            session: session.0.clone(),
            call: call.id,
            tool: call.name,
            outcome: Outcome::Interrupted.word().into(),
            ..Record::default()
        };
        let row = match last.as_deref() {
            Some("end") => continue,
            Some(_) => Record { kind: Kind::End, ..row },
            None if readers.contains(&row.tool) => continue,
            None => Record {
                kind: Kind::Call,
                what: audit::bounded(&what(&call.args)),
                by: AuditBy::Nobody,
                why: "the program exited: outcome unknown".into(),
                ..row
            },
        };
        audit::add(tx, &row)?;
    }
    Ok(())
}

/// The command among the arguments of a call, or all of them. Secrets in what is stored are masked already.
fn what(args: &str) -> String {
    let fields: Option<serde_json::Value> = serde_json::from_str(args).ok();
    let command = fields.as_ref().and_then(|fields| fields.get("command")).and_then(serde_json::Value::as_str);
    command.unwrap_or(args).to_owned()
}

/// Calls of the last answer that have no result, in their order, and their turn. Earlier answers had theirs before it.
fn dangling(conn: &Connection, key: i64) -> rusqlite::Result<(u32, Vec<ToolCall>)> {
    let sql = format!("SELECT {} FROM items WHERE session = ?1 AND rewound = 0 ORDER BY id DESC", items::COLUMNS);
    let mut get = conn.prepare_cached(&sql)?;
    let mut rows = get.query([key])?;
    let mut answered: Vec<String> = Vec::new();
    while let Some(row) = rows.next()? {
        let Some(item) = items::decode(row) else { continue };
        match item.body {
            Body::Tool(tool) => answered.push(tool.call_id),
            Body::Assistant(body) => {
                let mut calls = body.calls;
                calls.retain(|call| {
                    let result = answered.iter().position(|id| *id == call.id);
                    result.map(|at| answered.swap_remove(at)).is_none()
                });
                return Ok((item.turn, calls));
            }
            Body::User { .. } | Body::Summary(_) | Body::Note { .. } => {}
        }
    }
    Ok((0, Vec::new()))
}
