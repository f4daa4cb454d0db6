//! Items that the journal has and the database is yet to take. They keep for a moment, so that many go in one transaction: a
//! page of the database is then written once and not once an item.

use super::{Record, of_items, take_in};
use crate::protocol::{Item, ItemId, SessionId};
use crate::store::db::Db;
use crate::store::error::{StoreError, is_busy};
use crate::store::{Command, FileChange, commands, items, live, sessions};
use rusqlite::{Connection, OptionalExtension, Transaction};
use std::collections::HashMap;
use std::time::Duration;
use tokio::time::Instant;

/// Items reach the database this long after the first of them; other processes see them then.
const AFTER: Duration = Duration::from_secs(2);
/// More bytes than this go at once.
const MOST: usize = 1 << 20;
/// Pauses between attempts while the database refuses, shortest and longest, in milliseconds.
const AGAIN: (u64, u64) = (400, 900);
/// Commands that wait at most.
const COMMANDS: usize = 256;
/// A lock of another process is worth a word after this long.
const PATIENCE: Duration = Duration::from_secs(3);

/// What waits.
#[derive(Default)]
pub(in crate::store) struct Pending {
    items: Vec<(SessionId, Item)>,
    /// Commands that began; with what they changed: that ended, and were refused.
    commands: Vec<(SessionId, Command, Option<Vec<FileChange>>)>,
    bytes: usize,
    due: Option<Instant>,
    /// The database does not take them since then.
    refused: Option<Instant>,
    known: HashMap<SessionId, Known>,
    /// SQLite's count of what others committed, as of `known`.
    version: i64,
}

#[derive(Clone, Copy)]
struct Known {
    last: i64,
    /// This process works in it, and no other one.
    is_ours: bool,
}

impl Pending {
    /// When the database is to take them.
    pub fn due(&self) -> Option<Instant> {
        self.due
    }

    pub fn is_empty(&self) -> bool {
        self.items.is_empty() && self.commands.is_empty()
    }

    /// What is known of sessions may no longer be so.
    pub fn forget_known(&mut self) {
        self.known.clear();
    }
}

/// Appends items and returns the ids that they got. They survive the program's death when this returns: the journal has
/// them, or the database; only when both refuse is there an error, and nothing was kept.
pub(in crate::store) fn append(db: &mut Db, session: &SessionId, items: &[Item]) -> Result<Vec<ItemId>, StoreError> {
    if items::ends_stream(items) {
        live::forget_stream(db, session);
    }
    if db.in_memory {
        let done = db.write("save the item", |tx| items::append_in(tx, session, items));
        db.unindexed = true;
        return done;
    }
    let Some(known) = known(db, session) else { return at_once(db, session, items) };
    if !known.is_ours {
        return at_once(db, session, items);
    }
    let numbered = numbered(items, known.last);
    if let Err(error) = super::append(db, session, &of_items(&numbered)) {
        db.shared.set_journal_trouble(Some(error.to_string()));
        return at_once(db, session, items);
    }
    db.shared.set_journal_trouble(None);
    Ok(wait(db, session, numbered))
}

/// Into the database first, which says which numbers are free, and then into the journal: for sessions that another process
/// may write to as well, and when the journal can't be written.
fn at_once(db: &mut Db, session: &SessionId, items: &[Item]) -> Result<Vec<ItemId>, StoreError> {
    flush(db);
    let waiting = !db.pending.is_empty();
    let done = if waiting {
        Err(StoreError::Closed)
    } else {
        db.write("save the item", |tx| items::append_in(tx, session, items))
    };
    match done {
        Ok(ids) => {
            db.unindexed = true;
            db.pending.known.remove(session);
            db.shared.set_trouble(None);
            let numbered: Vec<Item> =
                items.iter().zip(&ids).map(|(item, id)| Item { id: *id, ..item.clone() }).collect();
            super::follow(db, session, &of_items(&numbered));
            Ok(ids)
        }
        Err(error) => {
            let last = last(&db.conn, session).ok().flatten().unwrap_or(0).max(db.pending.last(session));
            let numbered = numbered(items, last);
            let kept = super::append(db, session, &of_items(&numbered));
            let refusal = if waiting { db.shared.trouble().unwrap_or_default() } else { error.to_string() };
            match kept {
                Ok(()) => {
                    let ids = wait(db, session, numbered);
                    db.pending.refused.get_or_insert_with(Instant::now);
                    refused(db, &refusal);
                    Ok(ids)
                }
                Err(second) => {
                    tracing::warn!(%second, "the journal can't be written either");
                    db.shared.set_trouble(Some(refusal));
                    Err(if waiting { second } else { error })
                }
            }
        }
    }
}

/// Writes down that a command begins: the journal has it when this returns, and the database a moment later; or the
/// database at once, when the journal can't be written.
pub(in crate::store) fn begin(db: &mut Db, session: &SessionId, command: Command) -> Result<(), StoreError> {
    if !db.in_memory && db.pending.commands.len() < COMMANDS {
        let record = Record::Command { command: command.clone(), changes: None };
        match super::append(db, session, &[record]) {
            Ok(()) => {
                keep(db, session, command, None);
                return Ok(());
            }
            Err(error) => db.shared.set_journal_trouble(Some(error.to_string())),
        }
    }
    sessions::change(db, "save the file history", session, |tx, key| commands::begin(tx, key, &command))
}

/// Writes down that a command has ended. What the database refuses is kept until it takes something again, and the journal
/// has it meanwhile; an error when there is no room for it, or nothing is saved anyway.
pub(in crate::store) fn end(
    db: &mut Db,
    session: &SessionId,
    command: Command,
    changes: Vec<FileChange>,
) -> Result<(), StoreError> {
    let work = |tx: &Transaction<'_>, key| commands::end(tx, key, &command, &changes);
    match sessions::change(db, "save the file history", session, work) {
        Ok(()) => {
            db.pending.commands.retain(|(of, began, _)| of != session || !began.is(&command));
            Ok(())
        }
        Err(error) if db.in_memory || db.pending.commands.len() >= COMMANDS => Err(error),
        Err(_) => {
            let record = Record::Command { command: command.clone(), changes: Some(changes.clone()) };
            super::follow(db, session, &[record]);
            keep(db, session, command, Some(changes));
            Ok(())
        }
    }
}

fn keep(db: &mut Db, session: &SessionId, command: Command, changes: Option<Vec<FileChange>>) {
    let pending = &mut db.pending;
    pending.commands.push((session.clone(), command, changes));
    pending.due.get_or_insert_with(|| Instant::now() + AFTER);
}

fn refused(db: &Db, why: &str) {
    let place = super::path(&db.home, &SessionId(String::new()));
    let folder = place.parent().unwrap_or(&place);
    let told = format!("{why}; until then items go to {}", folder.display());
    db.shared.set_trouble(Some(told));
}

/// Items with the numbers that they get after this one.
fn numbered(items: &[Item], mut last: i64) -> Vec<Item> {
    let number = |item: &Item| {
        last = if item.id.0 > last { item.id.0 } else { last + 1 };
        Item { id: ItemId(last), ..item.clone() }
    };
    items.iter().map(number).collect()
}

fn wait(db: &mut Db, session: &SessionId, items: Vec<Item>) -> Vec<ItemId> {
    let ids: Vec<ItemId> = items.iter().map(|item| item.id).collect();
    let pending = &mut db.pending;
    if let (Some(known), Some(id)) = (pending.known.get_mut(session), ids.last()) {
        known.last = id.0;
    }
    pending.bytes += items.iter().map(size).sum::<usize>();
    pending.items.extend(items.into_iter().map(|item| (session.clone(), item)));
    let due = if pending.bytes > MOST && pending.refused.is_none() { Duration::ZERO } else { AFTER };
    let due = Instant::now() + due;
    pending.due = Some(pending.due.map_or(due, |before| before.min(due)));
    ids
}

/// About the bytes of an item.
fn size(item: &Item) -> usize {
    use crate::protocol::Body;
    match &item.body {
        Body::User { text, images, context, .. } => {
            text.len() + context.len() + images.iter().map(|image| image.data.len()).sum::<usize>()
        }
        Body::Assistant(body) => body.text.len() + body.reasoning.len(),
        Body::Tool(body) => body.content.len() + body.view.output.len(),
        Body::Summary(body) => body.text.len(),
        Body::Note { text, .. } => text.len(),
    }
}

impl Pending {
    fn last(&self, session: &SessionId) -> i64 {
        self.items.iter().rev().find(|(of, _)| of == session).map_or(0, |(_, item)| item.id.0)
    }
}

/// What is known of a session; `None`: nobody made it, or the database can't be read now.
fn known(db: &mut Db, session: &SessionId) -> Option<Known> {
    let version: i64 = db.conn.prepare_cached("PRAGMA data_version").ok()?.query_row([], |row| row.get(0)).ok()?;
    if db.pending.version != version {
        db.pending.known.clear();
        db.pending.version = version;
    }
    if let Some(known) = db.pending.known.get(session) {
        return Some(*known);
    }
    let last = last(&db.conn, session).ok()??.max(db.pending.last(session));
    let is_ours = live::is_mine(&db.conn, session, db.pid, db.born).ok()?;
    let known = Known { last, is_ours };
    db.pending.known.insert(session.clone(), known);
    Some(known)
}

fn last(conn: &Connection, session: &SessionId) -> rusqlite::Result<Option<i64>> {
    conn.prepare_cached("SELECT last_item FROM sessions WHERE id = ?1")?
        .query_row([&session.0], |row| row.get(0))
        .optional()
}

/// Puts what waits into the database. Whether nothing waits any more; a refusal is told as trouble, and tried again.
pub(in crate::store) fn flush(db: &mut Db) -> bool {
    if db.pending.is_empty() {
        return true;
    }
    let waiting = std::mem::take(&mut db.pending.items);
    let commands = std::mem::take(&mut db.pending.commands);
    let work = |tx: &Transaction<'_>| {
        put(tx, &waiting)?;
        // A session that is gone needs no undo.
        commands.iter().try_for_each(|(session, command, changes)| match sessions::key(tx, session)? {
            Some(key) => match changes {
                Some(changes) => commands::end(tx, key, command, changes),
                None => commands::begin(tx, key, command),
            },
            None => Ok(()),
        })
    };
    match db.try_write(work) {
        Ok(()) => {
            let pending = &mut db.pending;
            (pending.bytes, pending.due, pending.refused) = (0, None, None);
            db.unindexed = true;
            db.shared.set_trouble(None);
            // Pages that were written are of no use here; the operating system has them.
            if let Err(error) = db.conn.release_memory() {
                tracing::debug!(%error, "the database keeps its pages");
            }
            true
        }
        Err(error) => {
            let told = db.fault("save the item", &error);
            (db.pending.items, db.pending.commands) = (waiting, commands);
            let since = *db.pending.refused.get_or_insert_with(Instant::now);
            db.pending.due = Some(Instant::now() + Duration::from_millis(fastrand::u64(AGAIN.0..AGAIN.1)));
            if !is_busy(&error) || since.elapsed() >= PATIENCE {
                refused(db, &told.to_string());
            }
            false
        }
    }
}

/// Rows of a session go in one go where they follow its last; else each finds its place.
fn put(tx: &Transaction<'_>, waiting: &[(SessionId, Item)]) -> rusqlite::Result<()> {
    for run in waiting.chunk_by(|one, next| one.0 == next.0) {
        let Some((session, first)) = run.first() else { continue };
        let items: Vec<Item> = run.iter().map(|(_, item)| item.clone()).collect();
        let follows = match sessions::key(tx, session)? {
            Some(_) => last(tx, session)?.is_some_and(|last| last < first.id.0),
            None => true,
        };
        if follows {
            items::append_in(tx, session, &items)?;
        } else {
            take_in::place_all(tx, session, of_items(&items))?;
        }
    }
    Ok(())
}
