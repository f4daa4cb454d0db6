//! The UI's jobs, and what it is told.

use super::db::Db;
use super::error::StoreError;
use super::life::{self, Shelf};
use super::{StoreJob, StoreReply, drafts, items, rewind, search, sessions, uses};
use crate::protocol::ItemId;

/// Items of a preview.
const PREVIEW_ITEMS: usize = 20;
/// Items of a preview that begin after a hit's.
const AFTER_HIT: i64 = 6;

/// Whether a job says nothing of items.
pub(super) fn is_beside(job: &StoreJob) -> bool {
    match job {
        StoreJob::SaveDraft { .. }
        | StoreJob::LoadDraft { .. }
        | StoreJob::SaveQueue { .. }
        | StoreJob::LoadQueue { .. }
        | StoreJob::LoadHistory { .. }
        | StoreJob::AddHistory(_)
        | StoreJob::LoadUses
        | StoreJob::SaveUse { .. } => true,
        StoreJob::ListSessions { .. }
        | StoreJob::Preview { .. }
        | StoreJob::LoadOlder { .. }
        | StoreJob::ChangeSession { .. }
        | StoreJob::Tree(_)
        | StoreJob::DeleteSession(_) => false,
    }
}

/// Does a job; `None` when it is done and there is nothing to tell.
pub(super) fn run(db: &mut Db, job: StoreJob) -> Option<StoreReply> {
    match answer(db, job) {
        Ok(reply) => reply,
        Err(error) => Some(StoreReply::Failed(error.to_string())),
    }
}

fn answer(db: &mut Db, job: StoreJob) -> Result<Option<StoreReply>, StoreError> {
    Ok(match job {
        StoreJob::ListSessions { query, here, shelf, limit } => {
            let here = here.as_deref();
            let (rows, of) = if query.trim().is_empty() && shelf == Shelf::Shown {
                (db.read("list sessions", |conn| sessions::list(conn, here, limit))?, None)
            } else {
                let found = search::list(db, &query, here, shelf, limit)?;
                let of = found.bound();
                (found.rows, of)
            };
            Some(StoreReply::Sessions { query, rows, of })
        }
        StoreJob::Preview { session, hit } => {
            let before = hit.map_or(i64::MAX, |hit| hit.0.saturating_add(AFTER_HIT));
            let page = items::page_of(db, &session, ItemId(before), PREVIEW_ITEMS)?;
            Some(StoreReply::Preview { session, items: page.items })
        }
        StoreJob::LoadOlder { session, before, limit } => {
            let page = items::page_of(db, &session, before, limit)?;
            Some(StoreReply::Older { session, items: page.items, more: page.more })
        }
        StoreJob::SaveDraft { session, cwd, text } => {
            drafts::save(db, session.as_ref(), &cwd, &text)?;
            None
        }
        StoreJob::LoadDraft { session, cwd } => {
            let text = drafts::load(db, session.as_ref(), &cwd)?;
            Some(StoreReply::Draft { session, text })
        }
        StoreJob::SaveQueue { session, cwd, prompts } => {
            drafts::save_queue(db, session.as_ref(), &cwd, &prompts)?;
            None
        }
        StoreJob::LoadQueue { session, cwd } => {
            let prompts = drafts::load_queue(db, session.as_ref(), &cwd)?;
            Some(StoreReply::Queue { session, prompts })
        }
        StoreJob::LoadHistory { limit } => Some(StoreReply::History(drafts::history(db, limit)?)),
        StoreJob::AddHistory(prompt) => {
            drafts::add_history(db, &prompt)?;
            None
        }
        StoreJob::LoadUses => Some(StoreReply::Uses(uses::load(db)?)),
        StoreJob::SaveUse { name, rank } => {
            uses::save(db, &name, rank)?;
            None
        }
        StoreJob::DeleteSession(session) => {
            sessions::delete(db, &session)?;
            Some(StoreReply::SessionChanged(session))
        }
        StoreJob::ChangeSession { session, change } => {
            life::change(db, &session, change)?;
            Some(StoreReply::SessionChanged(session))
        }
        StoreJob::Tree(session) => {
            let branches = rewind::read(db, &session, life::tree)?;
            Some(StoreReply::Tree { session, branches })
        }
    })
}
