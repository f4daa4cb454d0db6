//! Sessions from elsewhere: taken in once, however often they come.

mod carried;

pub use carried::{Carried, Charge, Parent};

use super::db::Db;
use super::error::StoreError;
use super::{Imported, NewSession, items, journal, sessions, title};
use crate::protocol::{Body, Item, ItemId, SessionId};
use rusqlite::Transaction;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// Sessions in one transaction.
const BATCH: usize = 50;

/// A session that comes from elsewhere.
#[derive(Clone, Debug, PartialEq)]
pub struct Incoming {
    pub new: NewSession,
    /// In time order. Summaries name the entries that they stand for by the ids given here.
    pub items: Vec<Item>,
    /// Numbered when another session has it.
    pub title: Option<String>,
    /// Named values of the session; for one that is there already only the first counts, which says where it came from.
    pub facts: Vec<(String, Value)>,
    /// What it is beyond its items, where that is known; its names and its start stand above.
    pub carried: Option<Box<Carried>>,
}

/// Takes sessions in; what became of each, in order.
pub(super) fn import(db: &mut Db, sessions: &[Incoming]) -> Result<Vec<Imported>, StoreError> {
    let mut outcomes = Vec::with_capacity(sessions.len());
    for batch in sessions.chunks(BATCH) {
        let done = db.write("import sessions", |tx| {
            let done = batch.iter().map(|one| take_in(tx, one)).collect::<rusqlite::Result<Vec<_>>>()?;
            carried::tie(tx)?;
            Ok(done)
        })?;
        for (Incoming { new, .. }, (outcome, added)) in batch.iter().zip(&done) {
            match outcome {
                Imported::New(_) => journal::begin(db, new, added),
                Imported::Extended(_) => journal::follow(db, &new.id, &journal::of_items(added)),
                Imported::Same | Imported::Differs => {}
            }
        }
        outcomes.extend(done.into_iter().map(|(outcome, _)| outcome));
    }
    db.unindexed = true;
    Ok(outcomes)
}

/// With the items that were added, under their numbers.
fn take_in(tx: &Transaction<'_>, incoming: &Incoming) -> rusqlite::Result<(Imported, Vec<Item>)> {
    let Incoming { new, items, title: name, facts, carried } = incoming;
    let added = |items: &[Item]| -> rusqlite::Result<Vec<Item>> {
        let ids = items::append_in(tx, &new.id, items)?;
        Ok(items.iter().zip(ids).map(|(item, id)| Item { id, ..item.clone() }).collect())
    };
    let Some(key) = sessions::key(tx, &new.id)? else {
        let key = sessions::insert(tx, new)?;
        let items = added(items)?;
        if let Some(clean) = name.as_deref().and_then(title::sanitize_title) {
            let name = title::unique(tx, key, &clean)?;
            tx.execute("UPDATE sessions SET title = ?2 WHERE key = ?1", (key, name))?;
        }
        keep(tx, key, facts)?;
        if let Some(carried) = carried {
            carried::put(tx, key, carried)?;
        }
        return Ok((Imported::New(items.len()), items));
    };
    let is_compared = |item: &&Item| !matches!(item.body, Body::Summary(_) | Body::Note { .. });
    let page = items::from(tx, key, ItemId(0))?.items;
    let there: Vec<&Item> = page.iter().filter(is_compared).collect();
    let coming: Vec<&Item> = items.iter().filter(is_compared).collect();
    let same = there.iter().zip(&coming).take_while(|(old, new)| is_same(&old.body, &new.body)).count();
    if same < coming.len() && same < there.len() {
        return Ok((Imported::Differs, Vec::new()));
    }
    keep(tx, key, facts.get(..1).unwrap_or_default())?;
    let Some(first) = coming.get(same) else { return Ok((Imported::Same, Vec::new())) };
    // Entries have other numbers here where something stands between them.
    let mut numbers: BTreeMap<ItemId, ItemId> = coming.iter().zip(&there).map(|(new, old)| (new.id, old.id)).collect();
    let last: i64 = tx.query_row("SELECT last_item FROM sessions WHERE key = ?1", [key], |row| row.get(0))?;
    let mut more: Vec<Item> = items.iter().skip_while(|item| item.id < first.id).cloned().collect();
    for (item, number) in more.iter_mut().zip(last + 1..) {
        numbers.insert(item.id, ItemId(number));
        item.id = ItemId(number);
    }
    for item in &mut more {
        if let Body::Summary(summary) = &mut item.body {
            let here = |id: ItemId| numbers.range(..=id).next_back().map_or(id, |(_, here)| *here);
            (summary.from, summary.to) = (here(summary.from), here(summary.to));
        }
    }
    Ok((Imported::Extended(more.len()), added(&more)?))
}

fn keep(tx: &Transaction<'_>, key: i64, facts: &[(String, Value)]) -> rusqlite::Result<()> {
    let sql = "INSERT OR REPLACE INTO session_meta (session, name, value) VALUES (?1, ?2, ?3)";
    let mut insert = tx.prepare_cached(sql)?;
    for (name, value) in facts {
        insert.execute((key, name, value.to_string()))?;
    }
    Ok(())
}

/// Whether two bodies say the same in what a file of ours carries.
fn is_same(a: &Body, b: &Body) -> bool {
    match (a, b) {
        (Body::User { text: a, images: x, .. }, Body::User { text: b, images: y, .. }) => a == b && x == y,
        (Body::Assistant(a), Body::Assistant(b)) => {
            let calls = |body: &crate::protocol::AssistantBody| {
                body.calls.iter().map(|call| (call.name.clone(), call.args.clone())).collect::<Vec<_>>()
            };
            a.text == b.text && calls(a) == calls(b)
        }
        (Body::Tool(a), Body::Tool(b)) => a.name == b.name && a.content == b.content,
        _ => false,
    }
}

/// The fact of this name of every session that has it.
pub(super) fn facts(db: &mut Db, name: &str) -> Result<BTreeMap<SessionId, Value>, StoreError> {
    db.read("read the sessions' state", |conn| {
        let sql = "SELECT s.id, m.value FROM session_meta m JOIN sessions s ON s.key = m.session WHERE m.name = ?1";
        let mut statement = conn.prepare_cached(sql)?;
        let rows = statement.query_map([name], |row| Ok((SessionId(row.get(0)?), row.get::<_, String>(1)?)))?;
        let read = |row: rusqlite::Result<(SessionId, String)>| {
            row.map(|(id, value)| (id, serde_json::from_str(&value).unwrap_or_default()))
        };
        rows.map(read).collect()
    })
}

/// Whether a file holds something that is not ours: by its first bytes, without SQLite. One that is just being made is
/// nobody's.
pub fn is_foreign(path: &Path) -> bool {
    super::open::look(path) == super::open::Found::Foreign
}

/// A fresh id: local time and six hexadecimal digits.
pub fn new_session_id() -> SessionId {
    let time = chrono::Local::now().format("%Y%m%d_%H%M%S");
    SessionId(format!("{time}_{:06x}", fastrand::u32(..1 << 24)))
}
