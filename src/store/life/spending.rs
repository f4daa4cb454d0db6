//! What calls of models used: sums of the table `usage`, over a session or since a time.

use crate::protocol::{SessionId, Usage};
use crate::store::life::Spent;
use crate::store::{Store, StoreError};
use rusqlite::{Connection, Row};

/// What was spent, for budgets.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tally {
    /// Of all requests and replies.
    pub tokens: u64,
    /// US dollars, of the calls with a known price.
    pub cost: f64,
    /// Calls without a known price.
    pub unpriced: u64,
}

impl Tally {
    /// Counts one call.
    pub fn add(&mut self, usage: &Usage) {
        self.tokens += usage.input + usage.output;
        self.cost += usage.cost.unwrap_or(0.0);
        self.unpriced += u64::from(usage.cost.is_none());
    }

    /// Both together.
    pub fn plus(&mut self, more: &Self) {
        self.tokens = self.tokens.saturating_add(more.tokens);
        self.cost += more.cost;
        self.unpriced += more.unpriced;
    }

    /// What is left without a part of it.
    pub fn minus(&mut self, part: &Self) {
        self.tokens = self.tokens.saturating_sub(part.tokens);
        self.cost = (self.cost - part.cost).max(0.0);
        self.unpriced = self.unpriced.saturating_sub(part.unpriced);
    }

    pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let count = |column| row.get::<_, i64>(column).map(|count| u64::try_from(count).unwrap_or(0));
        Ok(Self { tokens: count(0)?, cost: row.get(1)?, unpriced: count(2)? })
    }
}

/// Calls of one model for one purpose.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Calls {
    /// `PROVIDER:MODEL`; empty: not known.
    pub model: String,
    /// As in [`Spent::role`](super::Spent).
    pub role: String,
    pub calls: u64,
    /// Sums; `cost` of the calls with a known price, `None` when there is none.
    pub usage: Usage,
    /// Calls without a known price.
    pub unpriced: u64,
}

pub(super) const TALLY: &str = "SELECT coalesce(sum(u.input + u.output), 0), coalesce(sum(u.cost), 0.0), \
    count(*) FILTER (WHERE u.cost IS NULL) FROM usage u";

fn calls(conn: &Connection, session: &SessionId) -> rusqlite::Result<Vec<Calls>> {
    let sql = "WITH RECURSIVE kin(key) AS (SELECT key FROM sessions WHERE id = ?1 UNION
           SELECT s.key FROM sessions s JOIN kin ON s.parent = kin.key WHERE s.source = 'child')
         SELECT u.model, CASE WHEN s.id = ?1 THEN u.role ELSE 'children' END AS role, count(*), sum(u.input), sum(u.cached), sum(u.cache_write), sum(u.output),
           sum(u.reasoning), sum(u.cost), count(*) FILTER (WHERE u.cost IS NULL)
         FROM usage u JOIN sessions s ON s.key = u.session WHERE u.session IN (SELECT key FROM kin) GROUP BY u.model, 2
         ORDER BY min(u.key)";
    let mut read = conn.prepare_cached(sql)?;
    let rows = read.query_map([&session.0], |row| {
        let count = |column| row.get::<_, i64>(column).map(|count| u64::try_from(count).unwrap_or(0));
        let usage = Usage {
            input: count(3)?,
            cached: count(4)?,
            cache_write: count(5)?,
            output: count(6)?,
            reasoning: count(7)?,
            cost: row.get(8)?,
        };
        Ok(Calls { model: row.get(0)?, role: row.get(1)?, calls: count(2)?, usage, unpriced: count(9)? })
    })?;
    rows.collect()
}

impl Store {
    /// What a session and its children (with the purpose `children`) spent, by model and purpose, the first used first.
    pub async fn calls_of(&self, session: &SessionId) -> Result<Vec<Calls>, StoreError> {
        let session = session.clone();
        self.ask(move |db| db.read("read what was used", |conn| calls(conn, &session))).await
    }

    /// What a session and its children spent so far; what it brought along from another one was paid for by that.
    pub async fn spent_in(&self, session: &SessionId) -> Result<Tally, StoreError> {
        let session = session.clone();
        self.ask(move |db| {
            db.read("read what was used", |conn| {
                let sql = format!(
                    "WITH RECURSIVE kin(key) AS (SELECT key FROM sessions WHERE id = ?1 UNION
                       SELECT s.key FROM sessions s JOIN kin ON s.parent = kin.key WHERE s.source = 'child')
                     {TALLY} WHERE u.session IN (SELECT key FROM kin)"
                );
                conn.prepare_cached(&sql)?.query_row([&session.0], Tally::read)
            })
        })
        .await
    }

    /// What all sessions of all processes of the home spent since a time, in milliseconds since the epoch.
    pub async fn spent_since(&self, at: i64) -> Result<Tally, StoreError> {
        self.ask(move |db| {
            db.read("read what was used", |conn| {
                conn.prepare_cached(&format!("{TALLY} WHERE u.at >= ?1"))?.query_row([at], Tally::read)
            })
        })
        .await
    }

    /// Bytes that this process wrote to journals and to the log of the database.
    pub async fn written(&self) -> u64 {
        self.ask_beside(|db| Ok(crate::store::durability::written::here(db))).await.unwrap_or_default()
    }

    /// Counts a call that belongs to no session.
    pub async fn spent_apart(&self, spent: Spent) -> Result<(), StoreError> {
        self.ask(move |db| db.write("save what was used", |tx| super::row(tx, None, &spent))).await
    }
}
