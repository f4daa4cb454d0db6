//! What requests that are under way may cost at most, over all programs of a home: a counter that each request adds to before
//! it is sent, and takes itself out of when it is known what it cost.

use super::Spent;
use crate::protocol::Usage;
use crate::store::db::Db;
use crate::store::journal::marker::runs;
use crate::store::life::spending::TALLY;
use crate::store::{Store, StoreError, Tally};
use rusqlite::{Connection, Transaction};
use std::path::Path;

/// What one request may cost.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Worst {
    /// Input and the largest output.
    pub tokens: u64,
    /// US dollars; 0 where no price is known.
    pub cost: f64,
}

/// A request that is about to be sent.
#[derive(Clone, Debug, Default)]
pub struct Claim {
    /// Milliseconds since the epoch.
    pub at: i64,
    /// `PROVIDER:MODEL`.
    pub model: String,
    /// What it is made of: spent even when its program is killed.
    pub input: Usage,
}

/// What the others left of a day.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DayOf {
    pub spent: Tally,
    /// Of requests that are under way.
    pub reserved: Tally,
}

/// A row of one that may be dead.
struct Row {
    key: i64,
    who: (i64, i64, String),
    spent: Spent,
}

fn rows(conn: &Connection) -> rusqlite::Result<Vec<Row>> {
    let mut read =
        conn.prepare_cached("SELECT key, pid, born, marker, at, model, input, input_cost FROM reservations")?;
    let row = |row: &rusqlite::Row<'_>| {
        let input = u64::try_from(row.get::<_, i64>(6)?).unwrap_or(0);
        let usage = Usage { input, cost: row.get(7)?, ..Usage::default() };
        let spent = Spent { at: row.get(4)?, item: None, model: row.get(5)?, role: "estimate", usage };
        Ok(Row { key: row.get(0)?, who: (row.get(1)?, row.get(2)?, row.get(3)?), spent })
    };
    read.query_map([], row)?.collect()
}

/// Requests of programs that were killed are counted with what was sent.
fn settle_dead(tx: &Transaction<'_>, home: &Path, me: (i64, i64)) -> rusqlite::Result<()> {
    for row in rows(tx)? {
        let (pid, born, marker) = &row.who;
        if (*pid, *born) != me && !runs(home, *pid, *born, marker) {
            super::row(tx, None, &row.spent)?;
            forget(tx, row.key)?;
        }
    }
    Ok(())
}

fn forget(conn: &Connection, key: i64) -> rusqlite::Result<()> {
    conn.prepare_cached("DELETE FROM reservations WHERE key = ?1")?.execute([key]).map(drop)
}

fn day(conn: &Connection, since: i64) -> rusqlite::Result<DayOf> {
    let spent = conn.prepare_cached(&format!("{TALLY} WHERE u.at >= ?1"))?.query_row([since], Tally::read)?;
    let sum = "SELECT coalesce(sum(tokens), 0), coalesce(sum(cost), 0.0), 0 FROM reservations";
    Ok(DayOf { spent, reserved: conn.prepare_cached(sum)?.query_row([], Tally::read)? })
}

fn reserve<R>(
    db: &mut Db,
    since: i64,
    claim: &Claim,
    choose: impl FnOnce(DayOf) -> Result<Worst, R>,
) -> Result<Result<(i64, Worst), R>, StoreError> {
    let (me, marker, home) = ((db.pid, db.born), crate::store::journal::enlist(db), db.home.clone());
    db.write("reserve what a request may cost", |tx| {
        settle_dead(tx, &home, me)?;
        let worst = match choose(day(tx, since)?) {
            Ok(worst) => worst,
            Err(refused) => return Ok(Err(refused)),
        };
        let whole = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
        tx.prepare_cached(
            "INSERT INTO reservations (at, pid, born, marker, model, tokens, cost, input, input_cost)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        )?
        .execute(rusqlite::params![
            claim.at,
            me.0,
            me.1,
            marker,
            claim.model,
            whole(worst.tokens),
            worst.cost,
            whole(claim.input.input),
            claim.input.cost,
        ])?;
        Ok(Ok((tx.last_insert_rowid(), worst)))
    })
}

impl Store {
    /// Reserves for a request what `choose` says, who hears what the day since this time spent and what others reserved.
    /// The reservation, with its key; or why `choose` wants none.
    pub async fn reserve<R: Send + 'static>(
        &self,
        since: i64,
        claim: Claim,
        choose: impl FnOnce(DayOf) -> Result<Worst, R> + Send + 'static,
    ) -> Result<Result<(i64, Worst), R>, StoreError> {
        self.ask(move |db| reserve(db, since, &claim, choose)).await
    }

    /// What a request cost is known: its reservation goes. Not waited for.
    pub fn release(&self, key: i64) {
        self.send_soon(move |db| {
            if let Err(error) = db.write("release what a request reserved", |tx| forget(tx, key)) {
                tracing::warn!(%error, "a day's budget seems fuller than it is until this program ends");
            }
        });
    }
}
