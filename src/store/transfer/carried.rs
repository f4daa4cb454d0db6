//! What a session is beyond its items, as it goes from one home to another: its folder and names, where it came from, and
//! what it used that no item tells of. Grants, the backend and a raised budget stay where they were given.

use crate::protocol::{SessionId, Usage};
use crate::store::error::StoreError;
use crate::store::life::{self, stored_tags};
use crate::store::{SessionMeta, Store, Summary, sessions};
use rusqlite::{Connection, OptionalExtension as _, Row, Transaction};
use serde::{Deserialize, Serialize};

/// The fact of a session whose parent is not here: it is tied to it when it comes.
const PARENT: &str = "parent";
/// Tokens of one call that are believed; sums of more would not fit.
const MOST_TOKENS: u64 = 1 << 40;

/// The session as its row has it. Times are milliseconds since the epoch.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Carried {
    pub folder: String,
    /// `PROVIDER:MODEL`.
    pub model: String,
    /// `tui`, `print` or `import`.
    pub source: String,
    pub started_at: i64,
    pub ended_at: Option<i64>,
    /// Of the repository.
    pub branch: Option<String>,
    pub title: Option<String>,
    pub tags: Vec<String>,
    pub pinned: bool,
    pub archived: bool,
    pub summary: Option<Summary>,
    pub parent: Option<Parent>,
    /// Calls of models that no item of the file tells of.
    pub usage: Vec<Charge>,
}

/// Where a fork branched.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Parent {
    pub session: String,
    /// The last item that it has of its parent, and the turn of that item.
    pub item: i64,
    pub turn: u32,
    pub at: i64,
}

/// A call of a model that was paid for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Charge {
    pub at: i64,
    pub item: Option<i64>,
    pub model: String,
    /// As in [`Spent::role`](crate::store::Spent).
    pub role: String,
    #[serde(flatten)]
    pub usage: Usage,
}

impl Store {
    /// What a session is beyond its items.
    pub async fn carried(&self, session: &SessionId) -> Result<Carried, StoreError> {
        let summary = self.summary(session).await?.filter(|summary| !summary.text.is_empty());
        let session = session.clone();
        self.ask(move |db| {
            let found = db.read("read the session", |conn| {
                let Some((key, meta)) = sessions::meta(conn, &session)? else { return Ok(None) };
                of(conn, key, meta, summary.clone()).map(Some)
            })?;
            found.ok_or_else(|| sessions::missing(&session))
        })
        .await
    }
}

fn of(conn: &Connection, key: i64, meta: SessionMeta, summary: Option<Summary>) -> rusqlite::Result<Carried> {
    let row = meta.row;
    let ended_at = conn.query_row("SELECT ended_at FROM sessions WHERE key = ?1", [key], |row| row.get(0))?;
    Ok(Carried {
        folder: row.cwd,
        model: row.model,
        source: meta.source,
        started_at: row.started_at,
        ended_at,
        branch: meta.branch,
        title: row.title,
        tags: row.tags,
        pinned: row.pinned,
        archived: row.archived,
        summary,
        parent: parent(conn, key)?,
        usage: charges(conn, key, row.started_at)?,
    })
}

fn parent(conn: &Connection, key: i64) -> rusqlite::Result<Option<Parent>> {
    let sql =
        "SELECT p.id, l.item, l.turn, l.at FROM lineage l JOIN sessions p ON p.key = l.parent WHERE l.session = ?1
               UNION ALL SELECT value ->> '$.session', value ->> '$.item', value ->> '$.turn', value ->> '$.at'
               FROM session_meta WHERE session = ?1 AND name = ?2 LIMIT 1";
    let read =
        |row: &Row<'_>| Ok(Parent { session: row.get(0)?, item: row.get(1)?, turn: row.get(2)?, at: row.get(3)? });
    conn.query_row(sql, (key, PARENT), read).optional()
}

/// Those that appending the items of the conversation would not write: of other calls, of what a rewind left out, and none
/// of what a fork brought along.
fn charges(conn: &Connection, key: i64, started_at: i64) -> rusqlite::Result<Vec<Charge>> {
    let sql = "SELECT at, item, model, role, input, cached, cache_write, output, reasoning, cost FROM usage u
               WHERE session = ?1 AND NOT EXISTS (SELECT 1 FROM items i
                 WHERE i.session = ?1 AND i.id = u.item AND i.rewound = 0 AND u.at >= ?2 AND u.role IN ('answer', 'compaction'))
               ORDER BY key";
    let read = |row: &Row<'_>| {
        let tokens = |column| row.get::<_, i64>(column).map(|count| u64::try_from(count).unwrap_or(0));
        let usage = Usage {
            input: tokens(4)?,
            cached: tokens(5)?,
            cache_write: tokens(6)?,
            output: tokens(7)?,
            reasoning: tokens(8)?,
            cost: row.get(9)?,
        };
        Ok(Charge { at: row.get(0)?, item: row.get(1)?, model: row.get(2)?, role: row.get(3)?, usage })
    };
    conn.prepare(sql)?.query_map((key, started_at), read)?.collect()
}

/// Gives a session that was just taken in what came with it; its items are there, its title is not among it.
pub(super) fn put(tx: &Transaction<'_>, key: i64, carried: &Carried) -> rusqlite::Result<()> {
    let Carried { ended_at, branch, tags, pinned, archived, summary, parent, usage, started_at, .. } = carried;
    let now = crate::store::now();
    tx.execute(
        "UPDATE sessions SET ended_at = ?2, branch = ?3, tags = ?4, pinned_at = CASE WHEN ?5 THEN ?7 END,
           archived_at = CASE WHEN ?6 THEN ?7 END WHERE key = ?1",
        (key, ended_at, branch, stored_tags(tags), pinned, archived, now),
    )?;
    if let Some(summary) = summary {
        tx.execute(
            "INSERT INTO session_summaries (session, summary, keywords, created_at, by, upto) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            (key, &summary.text, summary.keywords.join(", "), now, &summary.by, summary.upto.0),
        )?;
    }
    if let Some(parent) = parent {
        super::keep(tx, key, &[(PARENT.to_owned(), serde_json::to_value(parent).unwrap_or_default())])?;
    }
    // What a fork brought along was paid for by the session it came from.
    tx.execute("DELETE FROM usage WHERE session = ?1 AND at < ?2", (key, started_at))?;
    for charge in usage {
        let Usage { input, cached, cache_write, output, reasoning, .. } = charge.usage;
        let tokens = [input, cached, cache_write, output, reasoning].map(|count| count.min(MOST_TOKENS).cast_signed());
        tx.prepare_cached(
            "INSERT INTO usage (session, at, item, model, role, input, cached, cache_write, output, reasoning, cost)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
        )?
        .execute(rusqlite::params![
            key,
            charge.at,
            charge.item,
            charge.model,
            charge.role,
            tokens[0],
            tokens[1],
            tokens[2],
            tokens[3],
            tokens[4],
            charge.usage.cost
        ])?;
    }
    life::sum_up(tx, key)
}

/// Ties forks to parents that are here by now.
pub(super) fn tie(tx: &Transaction<'_>) -> rusqlite::Result<()> {
    tx.execute(
        "INSERT OR IGNORE INTO lineage (session, parent, item, turn, at)
         SELECT m.session, p.key, m.value ->> '$.item', m.value ->> '$.turn', m.value ->> '$.at'
         FROM session_meta m JOIN sessions p ON p.id = m.value ->> '$.session' WHERE m.name = ?1 AND p.key <> m.session",
        [PARENT],
    )?;
    tx.execute(
        "UPDATE sessions SET parent = (SELECT l.parent FROM lineage l WHERE l.session = sessions.key)
         WHERE key IN (SELECT m.session FROM session_meta m JOIN lineage l ON l.session = m.session WHERE m.name = ?1)",
        [PARENT],
    )?;
    tx.execute(
        "DELETE FROM session_meta WHERE name = ?1 AND session IN (SELECT session FROM lineage WHERE parent IS NOT NULL)",
        [PARENT],
    )
    .map(drop)
}
