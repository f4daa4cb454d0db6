//! Figures over time: tokens by day, tools, models and projects. From the tables `usage`, `tool_uses` and `sessions`; no
//! entry is read but those that came since the last time.

use crate::protocol::{Day, Figures, Project, Spending, ToolUse};
use crate::store::Store;
use crate::store::db::{BUSY, Db};
use crate::store::error::StoreError;
use chrono::{DateTime, Days, Local, NaiveDate};
use rusqlite::{Connection, OpenFlags, Transaction};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Entries that are counted in one transaction, so that no job waits long behind it.
const BATCH: i64 = 2000;
/// A quarter of an hour in milliseconds: no time zone has borders of days between two of them.
const QUARTER: i64 = 15 * 60 * 1000;
/// Projects that are listed.
const PROJECTS: i64 = 50;
/// Days that are listed at most, the newest.
const DAYS: u64 = 3660;

/// Counts the next entries; `true` when more are left.
fn count(db: &mut Db) -> Result<bool, StoreError> {
    db.write("count the tools", |tx| {
        let counted = "SELECT value FROM state WHERE name = 'tools'";
        let done: i64 = tx.prepare_cached(counted)?.query_row([], |row| row.get(0))?;
        let last: Option<i64> = tx
            .prepare_cached("SELECT max(key) FROM (SELECT key FROM items WHERE key > ?1 ORDER BY key LIMIT ?2)")?
            .query_row((done, BATCH), |row| row.get(0))?;
        let Some(last) = last else { return Ok(false) };
        // What a fork brought along is older than it, and was counted where it ran.
        tx.prepare_cached(
            "INSERT INTO tool_uses (at, name, failed, ms)
             SELECT i.at, i.body ->> '$.name', coalesce(i.body ->> '$.outcome', 'ok') <> 'ok',
               max(coalesce(i.body ->> '$.duration_ms', 0), 0)
             FROM items i JOIN sessions s ON s.key = i.session
             WHERE i.key > ?1 AND i.key <= ?2 AND i.role = 'tool' AND i.at >= s.started_at
               AND json_valid(i.body) AND typeof(i.body ->> '$.name') = 'text' ORDER BY i.key",
        )?
        .execute((done, last))?;
        tx.prepare_cached("UPDATE state SET value = ?1 WHERE name = 'tools'")?.execute([last])?;
        Ok(true)
    })
}

/// After a deletion: SQLite gives the highest keys out again, and then they must count as not counted.
pub(in crate::store) fn clamp(tx: &Transaction<'_>) -> rusqlite::Result<()> {
    let sql = "UPDATE state SET value = min(value, coalesce((SELECT max(key) FROM items), 0)) WHERE name = 'tools'";
    tx.prepare_cached(sql)?.execute([]).map(drop)
}

fn read(conn: &Connection, since: Option<i64>) -> rusqlite::Result<Figures> {
    let (days, models) = spending(conn, since)?;
    Ok(Figures { days, models, tools: tools(conn, since)?, projects: projects(conn, since)? })
}

fn number(value: i64) -> u64 {
    u64::try_from(value).unwrap_or(0)
}

type Spent = (Vec<Day>, Vec<(String, Spending)>);

fn spending(conn: &Connection, since: Option<i64>) -> rusqlite::Result<Spent> {
    let sql = format!(
        "SELECT at / {QUARTER}, model, count(*), sum(input), sum(cached), sum(output), total(cost), count(*) - count(cost)
         FROM usage WHERE at >= ?1 GROUP BY 1, 2"
    );
    let mut statement = conn.prepare(&sql)?;
    let mut rows = statement.query([since.unwrap_or(0)])?;
    let (mut days, mut models) = (BTreeMap::<NaiveDate, Spending>::new(), BTreeMap::<String, Spending>::new());
    while let Some(row) = rows.next()? {
        let count = |column| row.get::<_, i64>(column).map(number);
        let spent = Spending {
            calls: count(2)?,
            input: count(3)?,
            cached: count(4)?,
            output: count(5)?,
            cost: row.get(6)?,
            unpriced: count(7)?,
        };
        let at = DateTime::from_timestamp_millis(row.get::<_, i64>(0)?.saturating_mul(QUARTER)).unwrap_or_default();
        days.entry(at.with_timezone(&Local).date_naive()).or_default().add(&spent);
        models.entry(row.get(1)?).or_default().add(&spent);
    }
    let mut models: Vec<(String, Spending)> = models.into_iter().collect();
    models.sort_by(|(_, a), (_, b)| b.cost.total_cmp(&a.cost).then_with(|| b.tokens().cmp(&a.tokens())));
    Ok((every_day(&days, since), models))
}

/// Each day from the first one to today.
fn every_day(known: &BTreeMap<NaiveDate, Spending>, since: Option<i64>) -> Vec<Day> {
    let today = Local::now().date_naive();
    let begin = since.and_then(DateTime::from_timestamp_millis).map(|at| at.with_timezone(&Local).date_naive());
    let Some(first) = known.keys().next().copied() else { return Vec::new() };
    // A clock that is wrong makes no list of a thousand years.
    let longest = today.checked_sub_days(Days::new(DAYS)).unwrap_or(today);
    let mut date = begin.unwrap_or(first).max(longest);
    let last = known.keys().next_back().copied().unwrap_or(today).clamp(today, today + Days::new(1));
    let mut days = Vec::new();
    while date <= last {
        let spent = known.get(&date).copied().unwrap_or_default();
        days.push(Day { date: date.to_string(), spent });
        date = date + Days::new(1);
    }
    days
}

fn tools(conn: &Connection, since: Option<i64>) -> rusqlite::Result<Vec<ToolUse>> {
    let mut statement = conn.prepare("SELECT name, ms, failed FROM tool_uses WHERE at >= ?1 ORDER BY name, ms")?;
    let mut rows = statement.query([since.unwrap_or(0)])?;
    let mut tools: Vec<ToolUse> = Vec::new();
    let mut times: Vec<u64> = Vec::new();
    while let Some(row) = rows.next()? {
        let name = row.get_ref(0)?.as_str()?;
        if tools.last().is_none_or(|tool| tool.name != name) {
            settle(&mut tools, &mut times);
            tools.push(ToolUse { name: name.to_owned(), ..ToolUse::default() });
        }
        if let Some(tool) = tools.last_mut() {
            let ms = number(row.get(1)?);
            times.push(ms);
            tool.calls += 1;
            tool.total += ms;
            tool.failed += u64::from(row.get::<_, bool>(2)?);
        }
    }
    settle(&mut tools, &mut times);
    tools.sort_by(|a, b| b.calls.cmp(&a.calls).then_with(|| a.name.cmp(&b.name)));
    Ok(tools)
}

/// The times of the last tool, in order, are all there.
fn settle(tools: &mut [ToolUse], times: &mut Vec<u64>) {
    if let (Some(tool), false) = (tools.last_mut(), times.is_empty()) {
        let rank = |part: usize| times[(times.len() * part).div_ceil(100).max(1) - 1];
        (tool.median, tool.p95) = (rank(50), rank(95));
    }
    times.clear();
}

fn projects(conn: &Connection, since: Option<i64>) -> rusqlite::Result<Vec<Project>> {
    let sql = "SELECT cwd, count(*), sum(input_tokens + output_tokens), sum(cost) FROM sessions
               WHERE item_count > 0 AND updated_at >= ?1 AND trashed_at IS NULL
               GROUP BY cwd ORDER BY 2 DESC, 3 DESC LIMIT ?2";
    let project = |row: &rusqlite::Row<'_>| {
        Ok(Project {
            folder: row.get(0)?,
            sessions: number(row.get(1)?),
            tokens: number(row.get(2)?),
            cost: row.get(3)?,
        })
    };
    conn.prepare(sql)?.query_map((since.unwrap_or(0), PROJECTS), project)?.collect()
}

/// The same on a connection of its own. Blocks.
fn read_at(path: &PathBuf, since: Option<i64>) -> rusqlite::Result<Figures> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(path, flags)?;
    conn.busy_timeout(BUSY)?;
    let tx = conn.unchecked_transaction()?;
    read(&tx, since)
}

impl Store {
    /// Counts the calls of tools that are not counted yet, a few thousand entries at a time; before sessions are deleted.
    pub async fn count_tools(&self) -> Result<(), StoreError> {
        while self.ask(count).await? {}
        Ok(())
    }

    /// Figures from a time on, in milliseconds since the epoch. Tools are counted first where that is due, a few thousand
    /// entries at a time; then all is read beside the thread of the store, for which nobody waits.
    pub async fn figures(&self, since: Option<i64>) -> Result<Figures, StoreError> {
        self.count_tools().await?;
        let path = PathBuf::from(self.opened().await.path);
        if path.is_absolute() {
            let beside = path.clone();
            let found = tokio::task::spawn_blocking(move || read_at(&beside, since)).await;
            if let Ok(found) = found {
                return found.map_err(|error| StoreError::database("read the figures", &path, &error));
            }
        }
        self.ask(move |db| db.read("read the figures", |conn| read(conn, since))).await
    }
}
