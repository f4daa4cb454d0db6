//! The life of a session beyond its items: what it used, how it is kept and found again, what it says in short, and where
//! it came from.

mod figures;
mod lineage;
mod prune;
mod reserve;
mod shelf;
mod spending;
mod summaries;

pub use lineage::Branch;
pub use prune::{Aged, Cut, Pruned, aged_at, on_disk};
pub use reserve::{Claim, DayOf, Worst};
pub use shelf::{SessionChange, Shelf, TAG_CHARS, tags_of};
pub use spending::{Calls, Tally};
pub use summaries::Summary;

pub(super) use figures::clamp;
pub(super) use lineage::tree;
pub(super) use shelf::{change, fields, is_shown, stored as stored_tags};
pub(super) use summaries::{Asked, hits, rows};

use super::error::StoreError;
use super::{Store, live, sessions};
use crate::protocol::{Body, ItemId, SessionId, SummaryBy, Usage};
use rusqlite::Connection;

/// A call of a model that was paid for: one row of the table `usage`.
#[derive(Clone, Debug, PartialEq)]
pub struct Spent {
    /// Milliseconds since the epoch.
    pub at: i64,
    /// The item that came of it.
    pub item: Option<ItemId>,
    /// `PROVIDER:MODEL`; empty: the session's.
    pub model: String,
    /// What for: `answer`, `compaction`, `summary`, `approval`, `sampling`, `test`; `estimate`: a call whose provider did not
    /// say what it used.
    pub role: &'static str,
    pub usage: Usage,
}

impl Spent {
    /// What an item tells of a call.
    pub(super) fn of(body: &Body, at: i64, item: ItemId) -> Option<Self> {
        let (role, model, usage) = match body {
            Body::Assistant(body) => ("answer", body.model.clone(), body.usage?),
            Body::Summary(body) => {
                let model = if let SummaryBy::Model(model) = &body.by { model.clone() } else { String::new() };
                ("compaction", model, body.usage?)
            }
            Body::User { .. } | Body::Tool(_) | Body::Note { .. } => return None,
        };
        Some(Self { at, item: Some(item), model, role, usage })
    }
}

/// Writes a row of usage.
pub(super) fn spend(conn: &Connection, session: i64, spent: &Spent) -> rusqlite::Result<()> {
    row(conn, Some(session), spent)
}

/// The same for a call that may belong to no session.
fn row(conn: &Connection, session: Option<i64>, spent: &Spent) -> rusqlite::Result<()> {
    let tokens = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
    let usage = &spent.usage;
    conn.prepare_cached(
        "INSERT INTO usage (session, at, item, model, role, input, cached, cache_write, output, reasoning, cost)
         SELECT ?1, ?2, ?3, coalesce(nullif(?4, ''), (SELECT model FROM sessions WHERE key = ?1), ''), ?5, ?6, ?7, ?8, ?9,
           ?10, ?11
         WHERE ?1 IS NULL OR EXISTS (SELECT 1 FROM sessions WHERE key = ?1)",
    )?
    .execute(rusqlite::params![
        session,
        spent.at,
        spent.item.map(|item| item.0),
        spent.model,
        spent.role,
        tokens(usage.input),
        tokens(usage.cached),
        tokens(usage.cache_write),
        tokens(usage.output),
        tokens(usage.reasoning),
        usage.cost,
    ])?;
    Ok(())
}

/// Makes the sums of a session those of its rows of usage.
pub(super) fn sum_up(conn: &Connection, session: i64) -> rusqlite::Result<()> {
    conn.execute(
        "UPDATE sessions SET (input_tokens, cached_tokens, cache_write_tokens, output_tokens, reasoning_tokens, cost) =
           (SELECT coalesce(sum(input), 0), coalesce(sum(cached), 0), coalesce(sum(cache_write), 0),
              coalesce(sum(output), 0), coalesce(sum(reasoning), 0), sum(cost) FROM usage WHERE session = ?1)
         WHERE key = ?1",
        [session],
    )
    .map(drop)
}

impl Store {
    /// Counts a call that no item tells of: it joins the sums of the session.
    pub async fn spent(&self, session: &SessionId, spent: Spent) -> Result<(), StoreError> {
        let session = session.clone();
        self.ask(move |db| {
            sessions::change(db, "save what was used", &session, |tx, key| {
                spend(tx, key, &spent)?;
                sessions::add_usage(tx, key, &spent.usage)
            })
        })
        .await
    }

    /// The session is left: it is no longer worked in, and any other window may have it.
    pub async fn ended(&self, session: &SessionId) -> Result<(), StoreError> {
        let session = session.clone();
        self.ask(move |db| {
            let (pid, born, has_all) = (db.pid, db.born, db.pending.is_empty());
            // What this process still adds may meet what others add.
            db.pending.forget_known();
            sessions::change(db, "save the end of the session", &session, |tx, key| {
                live::exit(tx, key, pid, born)?;
                if has_all {
                    tx.execute("DELETE FROM sessions WHERE key = ?1 AND item_count = 0", [key])?;
                }
                tx.execute("UPDATE sessions SET ended_at = ?2 WHERE key = ?1", (key, super::now())).map(drop)
            })
        })
        .await
    }

    /// The branch of the repository that the session works in.
    pub async fn set_branch(&self, session: &SessionId, branch: &str) -> Result<(), StoreError> {
        let (session, branch) = (session.clone(), branch.to_owned());
        self.ask(move |db| {
            sessions::change(db, "save the branch", &session, |tx, key| {
                tx.execute("UPDATE sessions SET branch = ?2 WHERE key = ?1", (key, branch)).map(drop)
            })
        })
        .await
    }
}
