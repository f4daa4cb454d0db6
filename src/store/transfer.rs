//! Sessions from elsewhere: taken in once, however often they come.

use super::db::Db;
use super::error::StoreError;
use super::{Imported, NewSession, items, sessions};
use crate::protocol::{Body, Item, ItemId, SessionId};
use rusqlite::Transaction;

/// Sessions in one transaction.
const BATCH: usize = 50;

/// Takes sessions in; what became of each, in order.
pub(super) fn import(db: &mut Db, sessions: &[(NewSession, Vec<Item>)]) -> Result<Vec<Imported>, StoreError> {
    let mut outcomes = Vec::with_capacity(sessions.len());
    for batch in sessions.chunks(BATCH) {
        outcomes.extend(db.write("import sessions", |tx| {
            batch.iter().map(|(new, items)| one(tx, new, items)).collect::<rusqlite::Result<Vec<_>>>()
        })?);
    }
    db.unindexed = true;
    Ok(outcomes)
}

fn one(tx: &Transaction<'_>, new: &NewSession, items: &[Item]) -> rusqlite::Result<Imported> {
    let Some(key) = sessions::key(tx, &new.id)? else {
        sessions::insert(tx, new)?;
        items::append_in(tx, &new.id, items)?;
        return Ok(Imported::New(items.len()));
    };
    let mut there = items::from(tx, key, ItemId(0))?.items;
    there.retain(|item| !matches!(item.body, Body::Summary(_) | Body::Note { .. }));
    let same = there.iter().zip(items).take_while(|(old, new)| is_same(&old.body, &new.body)).count();
    if same == items.len() {
        return Ok(Imported::Same);
    }
    if same < there.len() {
        return Ok(Imported::Differs);
    }
    let more: Vec<Item> = items[same..].iter().map(|item| Item { id: ItemId(0), ..item.clone() }).collect();
    items::append_in(tx, &new.id, &more)?;
    Ok(Imported::Extended(more.len()))
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

/// A fresh id: local time and six hexadecimal digits.
pub fn new_session_id() -> SessionId {
    let time = chrono::Local::now().format("%Y%m%d_%H%M%S");
    SessionId(format!("{time}_{:06x}", fastrand::u32(..1 << 24)))
}
