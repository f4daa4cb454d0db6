//! Items of a session: appended in one transaction with everything that is derived from them, read in pages.

pub(super) mod once;

use super::db::Db;
use super::error::{StoreError, is_damage};
use super::life::{self, Spent};
use super::query::has_cjk;
use super::{Page, sessions};
use crate::policy::redact::{RedactKind, redact};
use crate::protocol::{Body, Item, ItemId, Origin, SessionId, Usage};
use rusqlite::{Connection, OptionalExtension as _, Row, Transaction};
use std::collections::BTreeMap;

/// Characters of the first prompt that lists show.
const PREVIEW_CHARS: usize = 200;

/// Whether these items end the answer that streams: notes may come in the middle of it.
pub(super) fn ends_stream(items: &[Item]) -> bool {
    items.iter().any(|item| !matches!(item.body, Body::Summary(_) | Body::Note { .. }))
}

/// Appends items inside a transaction and returns the ids that they got. A session that nobody created gets a row without folder and model.
pub(super) fn append_in(tx: &Transaction<'_>, session: &SessionId, items: &[Item]) -> rusqlite::Result<Vec<ItemId>> {
    let Some(first) = items.first() else { return Ok(Vec::new()) };
    let key = match sessions::key(tx, session)? {
        Some(key) => key,
        None => sessions::insert(tx, &super::NewSession::bare(session.clone(), first.at))?,
    };
    let mut last: i64 =
        tx.prepare_cached("SELECT last_item FROM sessions WHERE key = ?1")?.query_row([key], |row| row.get(0))?;
    let mut insert = tx.prepare_cached(
        "INSERT INTO items (session, id, at, turn, role, cjk, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    )?;
    let mut ids = Vec::with_capacity(items.len());
    let (mut turn, mut at, mut preview) = (0, 0, String::new());
    let (mut messages, mut results) = (0, 0);
    let mut usage = Usage::default();
    for item in items {
        // Another process may have written meanwhile; then the next free number is taken.
        last = if item.id.0 > last { item.id.0 } else { last + 1 };
        let body = encode(&item.body)?;
        insert.execute((key, last, item.at, item.turn, role(&item.body), has_cjk(&body), &body))?;
        ids.push(ItemId(last));
        turn = turn.max(item.turn);
        at = at.max(item.at);
        messages += i64::from(matches!(item.body, Body::User { .. } | Body::Assistant(_)));
        results += i64::from(matches!(item.body, Body::Tool(_)));
        if let Body::User { text, origin: Origin::Person, .. } = &item.body
            && preview.is_empty()
        {
            preview = preview_of(text);
        }
        if let Some(spent) = Spent::of(&item.body, item.at, ItemId(last)) {
            add(&mut usage, Some(&spent.usage));
            life::spend(tx, key, &spent)?;
        }
    }
    tx.prepare_cached(
        "UPDATE sessions SET item_count = item_count + ?2, last_item = ?3, last_turn = max(last_turn, ?4),
           updated_at = max(updated_at, ?5), preview = CASE preview WHEN '' THEN ?6 ELSE preview END,
           message_count = message_count + ?7, tool_call_count = tool_call_count + ?8
         WHERE key = ?1",
    )?
    .execute((key, i64::try_from(items.len()).unwrap_or(i64::MAX), last, turn, at, preview, messages, results))?;
    sessions::add_usage(tx, key, &usage)?;
    if ends_stream(items) {
        tx.prepare_cached("DELETE FROM partials WHERE session = ?1")?.execute([key])?;
    }
    Ok(ids)
}

fn add(sum: &mut Usage, more: Option<&Usage>) {
    let Some(more) = more else { return };
    sum.input += more.input;
    sum.cached += more.cached;
    sum.cache_write += more.cache_write;
    sum.output += more.output;
    sum.reasoning += more.reasoning;
    sum.cost = match (sum.cost, more.cost) {
        (None, cost) | (cost, None) => cost,
        (Some(a), Some(b)) => Some(a + b),
    };
}

/// The start of a prompt on one line, without keys.
pub(super) fn preview_of(text: &str) -> String {
    // What is shown is its start; a key that the cut goes through is one all the same.
    let start = text.char_indices().nth(PREVIEW_CHARS * 8).map_or(text, |(cut, _)| &text[..cut]);
    let text = redact(start, RedactKind::Default);
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
        if let Some((cut, _)) = line.char_indices().nth(PREVIEW_CHARS) {
            line.truncate(cut);
            break;
        }
    }
    line
}

pub(super) fn role(body: &Body) -> &'static str {
    match body {
        Body::User { .. } => "user",
        Body::Assistant(_) => "assistant",
        Body::Tool(_) => "tool",
        Body::Summary(_) => "summary",
        Body::Note { .. } => "note",
    }
}

fn encode(body: &Body) -> rusqlite::Result<String> {
    let stored = once::folded(body);
    serde_json::to_string(stored.as_ref().unwrap_or(body))
        .map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))
}

/// Columns that [`decode`] takes, in its order.
pub(super) const COLUMNS: &str = "id, at, turn, body";

/// An item, or `None` when the row can't be understood.
pub(super) fn decode(row: &Row<'_>) -> Option<Item> {
    let body = row.get_ref(3).ok()?.as_str().ok()?;
    let mut body = serde_json::from_str(body).ok()?;
    once::unfold(&mut body);
    Some(Item { id: ItemId(row.get(0).ok()?), at: row.get(1).ok()?, turn: row.get(2).ok()?, body })
}

/// Reads items, counting rows that can't be understood. Damage ends the reading, not the session.
fn collect(mut rows: rusqlite::Rows<'_>) -> rusqlite::Result<(Vec<Item>, u64)> {
    let (mut items, mut skipped) = (Vec::new(), 0);
    loop {
        match rows.next() {
            Ok(Some(row)) => match decode(row) {
                Some(item) => items.push(item),
                None => skipped += 1,
            },
            Ok(None) => break,
            Err(error) if is_damage(&error) => {
                skipped += 1;
                break;
            }
            Err(error) => return Err(error),
        }
    }
    Ok((items, skipped))
}

/// The newest items before `before`, in time order.
pub(super) fn page(conn: &Connection, key: i64, before: ItemId, limit: usize) -> rusqlite::Result<Page> {
    page_of_those(conn, key, before, limit, "rewound = 0")
}

/// Those of them for which a condition holds, which may name the first two places.
fn page_of_those(conn: &Connection, key: i64, before: ItemId, limit: usize, which: &str) -> rusqlite::Result<Page> {
    let sql =
        format!("SELECT {COLUMNS} FROM items WHERE session = ?1 AND id < ?2 AND {which} ORDER BY id DESC LIMIT ?3");
    let wanted = i64::try_from(limit).unwrap_or(i64::MAX).saturating_add(1);
    let (mut items, skipped) = collect(conn.prepare_cached(&sql)?.query((key, before.0, wanted))?)?;
    let more = items.len() + usize::try_from(skipped).unwrap_or(usize::MAX) > limit;
    items.truncate(limit);
    items.reverse();
    Ok(Page { items, more, skipped })
}

/// One item of a session, whatever was rewound.
pub(super) fn one(db: &Db, session: &SessionId, item: ItemId) -> Result<Option<Item>, StoreError> {
    db.read("read the entry", |conn| {
        let sql =
            format!("SELECT {COLUMNS} FROM items WHERE session = (SELECT key FROM sessions WHERE id = ?1) AND id = ?2");
        let found = conn.prepare_cached(&sql)?.query_row((&session.0, item.0), |row| Ok(decode(row))).optional()?;
        Ok(found.flatten())
    })
}

/// All items from one on, in time order.
pub(super) fn from(conn: &Connection, key: i64, first: ItemId) -> rusqlite::Result<Page> {
    let sql = format!("SELECT {COLUMNS} FROM items WHERE session = ?1 AND id >= ?2 AND rewound = 0 ORDER BY id");
    let (items, skipped) = collect(conn.prepare_cached(&sql)?.query((key, first.0))?)?;
    Ok(Page { items, more: false, skipped })
}

/// All answers since the session began, those that a rewind left out too. What a fork brought along is older.
pub(super) fn answers(conn: &Connection, key: i64) -> rusqlite::Result<Vec<Item>> {
    let sql = format!(
        "SELECT {COLUMNS} FROM items WHERE session = ?1 AND role = 'assistant'
           AND at >= (SELECT started_at FROM sessions WHERE key = ?1) ORDER BY id"
    );
    Ok(collect(conn.prepare_cached(&sql)?.query([key])?)?.0)
}

/// The newest items before one with what rewinds left out, and for each of those the number of its rewind.
pub(super) fn recorded(
    db: &Db,
    session: &SessionId,
    before: ItemId,
    limit: usize,
) -> Result<(Page, BTreeMap<ItemId, i64>), StoreError> {
    db.read("read the session", |conn| {
        let Some(key) = sessions::key(conn, session)? else { return Ok(Default::default()) };
        let page = page_of_those(conn, key, before, limit, "1")?;
        let first = page.items.first().map_or(before, |item| item.id);
        let sql = "SELECT id, rewound FROM items WHERE session = ?1 AND id >= ?2 AND id < ?3 AND rewound <> 0";
        let read = |row: &Row<'_>| Ok((ItemId(row.get(0)?), row.get(1)?));
        let rewound = conn.prepare_cached(sql)?.query_map((key, first.0, before.0), read)?.collect::<Result<_, _>>()?;
        Ok((page, rewound))
    })
}

/// The newest items up to one, as the conversation was when it came.
pub(super) fn seen_at(db: &Db, session: &SessionId, upto: ItemId, limit: usize) -> Result<Vec<Item>, StoreError> {
    let which = "rewound IN (0, (SELECT o.rewound FROM items o WHERE o.session = ?1 AND o.id = ?2 - 1))";
    db.read("read the session", |conn| match sessions::key(conn, session)? {
        Some(key) => Ok(page_of_those(conn, key, ItemId(upto.0 + 1), limit, which)?.items),
        None => Ok(Vec::new()),
    })
}

/// The newest items of a session before one, in time order; empty when there is no such session.
pub(super) fn page_of(db: &Db, session: &SessionId, before: ItemId, limit: usize) -> Result<Page, StoreError> {
    db.read("read the session", |conn| match sessions::key(conn, session)? {
        Some(key) => page(conn, key, before, limit),
        None => Ok(Page::default()),
    })
}
