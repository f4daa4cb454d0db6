//! Which entries match, and in what order: by how well they fit and how new they are.
//!
//! Parts of the index are asked newest first until enough is found, so that a word that stands everywhere costs no more than
//! any other.

use super::filter::{Conditions, Filter};
use super::parts::Part;
use super::{Found, Matches};
use crate::store::life::Shelf;
use rusqlite::types::Value;
use rusqlite::{Connection, ToSql, params_from_iter};
use std::collections::HashSet;

/// Entries that are ranked: the newest that match.
pub(super) const RANKED: usize = if cfg!(test) { 50 } else { 5000 };
/// Up to so many entries of fitting sessions are told by their keys, else each match is looked up.
const BY_KEYS: i64 = 200_000;
/// The same of sessions out of sight, which every search without a filter has to leave out.
const BY_HIDDEN_KEYS: i64 = if cfg!(test) { 20 } else { 20_000 };
/// Matches that are looked up at once.
const CHUNK: usize = 5000;
/// Entries whose age counts: the best of those that are ranked.
const AGED: usize = 200;
/// Entries that are looked up to find those of different sessions.
const LOOKED_AT: usize = 2000;
/// Milliseconds after which being new is worth half.
const AGE: f64 = 30.0 * 24.0 * 3_600_000.0;

/// How many are wanted, and of what.
#[derive(Clone, Copy)]
pub(super) struct Wanted {
    pub limit: usize,
    /// Of each session only the best.
    one_each: bool,
}

impl Wanted {
    pub fn entries(limit: usize) -> Self {
        Self { limit, one_each: false }
    }

    pub fn sessions(limit: usize) -> Self {
        Self { limit, one_each: true }
    }
}

/// The sessions of which there is one.
#[derive(Default)]
pub(super) struct Seen(HashSet<i64>);

impl Seen {
    pub fn is_new(&mut self, found: &Found, wanted: Wanted) -> bool {
        !wanted.one_each || self.0.insert(found.session)
    }
}

/// Keys of entries, one bit each.
#[derive(Default)]
struct Keys(Vec<u64>);

impl Keys {
    /// Those of all entries of some sessions.
    fn of(conn: &Connection, sessions: &[(i64, i64)]) -> rusqlite::Result<Self> {
        let mut keys = Self::default();
        let mut items = conn.prepare_cached("SELECT key FROM items WHERE session = ?1")?;
        for (session, _) in sessions {
            let mut rows = items.query([session])?;
            while let Some(row) = rows.next()? {
                keys.put(row.get(0)?);
            }
        }
        Ok(keys)
    }

    fn put(&mut self, key: i64) {
        let Ok(key) = usize::try_from(key) else { return };
        if self.0.len() <= key / 64 {
            self.0.resize(key / 64 + 1, 0);
        }
        self.0[key / 64] |= 1 << (key % 64);
    }

    fn has(&self, key: i64) -> bool {
        usize::try_from(key).is_ok_and(|key| self.0.get(key / 64).is_some_and(|bits| bits >> (key % 64) & 1 == 1))
    }
}

/// A filter, made ready for one search.
struct Narrow {
    /// Entries of the sessions that fit; `None`: all may, or the conditions ask for them.
    keys: Option<Keys>,
    /// Entries of sessions that are archived or in the trash, where they are left out and few.
    hidden: Keys,
    /// What is asked of an entry and its session besides; its places begin at 2.
    rest: Conditions,
}

impl Narrow {
    fn of(conn: &Connection, filter: &Filter) -> rusqlite::Result<Self> {
        let sessions = filter.of_sessions(1);
        if sessions.is_empty() {
            return Self::of_all(conn, filter);
        }
        let shown = if filter.hides() { Shelf::Shown.condition() } else { "1" };
        let sql = format!("SELECT s.key, s.item_count FROM sessions s WHERE {} AND {shown}", sessions.sql());
        let found = with_counts(conn, &sql, &sessions.values)?;
        Ok(if entries(&found) > BY_KEYS {
            Self { keys: None, hidden: Keys::default(), rest: filter.conditions(2) }
        } else {
            Self { keys: Some(Keys::of(conn, &found)?), hidden: Keys::default(), rest: filter.of_items(2) }
        })
    }

    /// Entries of any session, but of those out of sight.
    fn of_all(conn: &Connection, filter: &Filter) -> rusqlite::Result<Self> {
        let hidden = if filter.hides() {
            let sql = "SELECT s.key, s.item_count FROM sessions s
                       WHERE s.archived_at IS NOT NULL OR s.trashed_at IS NOT NULL OR s.source = 'child'";
            with_counts(conn, sql, &[])?
        } else {
            Vec::new()
        };
        Ok(if entries(&hidden) > BY_HIDDEN_KEYS {
            Self { keys: None, hidden: Keys::default(), rest: filter.conditions(2) }
        } else {
            Self { keys: None, hidden: Keys::of(conn, &hidden)?, rest: filter.of_items(2) }
        })
    }

    fn may(&self, key: i64) -> bool {
        self.keys.as_ref().is_none_or(|keys| keys.has(key)) && !self.hidden.has(key)
    }

    /// Whether every entry fits.
    fn is_open(&self) -> bool {
        self.keys.is_none() && self.hidden.0.is_empty() && self.rest.is_empty()
    }

    /// Those of some keys whose entries fit.
    fn fitting(&self, conn: &Connection, keys: Vec<i64>) -> rusqlite::Result<Vec<i64>> {
        if self.rest.is_empty() {
            return Ok(keys);
        }
        let sql = format!(
            "SELECT i.key FROM items i JOIN sessions s ON s.key = i.session
             WHERE i.key IN (SELECT value FROM json_each(?1)) AND {} ORDER BY i.key DESC",
            self.rest.sql()
        );
        let list: Value = list(&keys).into();
        let values = std::iter::once(&list).chain(&self.rest.values);
        conn.prepare_cached(&sql)?.query_map(params_from_iter(values), |row| row.get(0))?.collect()
    }
}

/// Sessions with the numbers of their entries.
fn with_counts(conn: &Connection, sql: &str, values: &[Value]) -> rusqlite::Result<Vec<(i64, i64)>> {
    let mut statement = conn.prepare_cached(sql)?;
    statement.query_map(params_from_iter(values), |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
}

fn entries(sessions: &[(i64, i64)]) -> i64 {
    sessions.iter().map(|(_, entries)| entries).sum()
}

/// Keys as a list for `json_each`.
pub(super) fn list(keys: &[i64]) -> String {
    let keys: Vec<String> = keys.iter().map(i64::to_string).collect();
    format!("[{}]", keys.join(","))
}

/// The best matches of a query of FTS5 in these parts, newest part first.
pub(super) fn best(
    conn: &Connection,
    parts: &[Part],
    fts: &str,
    filter: &Filter,
    wanted: Wanted,
) -> rusqlite::Result<Matches<Found>> {
    let narrow = Narrow::of(conn, filter)?;
    let mut scored: Vec<(i64, f64)> = Vec::new();
    let mut only_newest = false;
    for part in parts {
        let room = RANKED - scored.len();
        let found = fitting(conn, part, fts, &narrow, room + 1)?;
        only_newest = found.len() > room;
        scored.extend(found.into_iter().take(room));
        if only_newest {
            break;
        }
    }
    scored.sort_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)));
    let mut rows = aged(conn, &scored, wanted)?;
    rows.truncate(wanted.limit);
    Ok(Matches { rows, only_newest })
}

/// The newest matches of a part with their scores: less is better.
fn newest(conn: &Connection, part: &Part, fts: &str, limit: usize) -> rusqlite::Result<Vec<(i64, f64)>> {
    let table = &part.table;
    let sql = format!("SELECT rowid, rank FROM {table} WHERE {table} MATCH ?1 ORDER BY rowid DESC LIMIT ?2");
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    conn.prepare_cached(&sql)?.query_map((fts, limit), |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
}

/// The newest matches of a part that a filter holds for.
fn fitting(
    conn: &Connection,
    part: &Part,
    fts: &str,
    narrow: &Narrow,
    limit: usize,
) -> rusqlite::Result<Vec<(i64, f64)>> {
    if narrow.is_open() {
        return newest(conn, part, fts, limit);
    }
    let table = &part.table;
    let sql = format!("SELECT rowid FROM {table} WHERE {table} MATCH ?1 ORDER BY rowid DESC");
    let mut statement = conn.prepare_cached(&sql)?;
    let mut rows = statement.query([fts])?;
    let (mut kept, mut chunk) = (Vec::new(), Vec::new());
    loop {
        let row = rows.next()?;
        let is_end = row.is_none();
        if let Some(row) = row {
            let key = row.get(0)?;
            if narrow.may(key) {
                chunk.push(key);
            }
        }
        if is_end || chunk.len() >= CHUNK {
            kept.extend(narrow.fitting(conn, std::mem::take(&mut chunk))?);
            if is_end || kept.len() >= limit {
                kept.truncate(limit);
                return ranks(conn, part, fts, &kept);
            }
        }
    }
}

/// Matches of a part by their keys, newest first, with their scores: to weigh all that match takes far longer than to find
/// them.
fn ranks(conn: &Connection, part: &Part, fts: &str, keys: &[i64]) -> rusqlite::Result<Vec<(i64, f64)>> {
    let (Some(last), Some(first)) = (keys.first(), keys.last()) else { return Ok(Vec::new()) };
    let table = &part.table;
    // The plus keeps the list from being asked for row by row.
    let sql = format!(
        "SELECT rowid, rank FROM {table} WHERE {table} MATCH ?1 AND rowid >= ?2 AND rowid <= ?3
           AND +rowid IN (SELECT value FROM json_each(?4)) ORDER BY rowid DESC"
    );
    let mut statement = conn.prepare_cached(&sql)?;
    statement.query_map((fts, first, last, list(keys)), |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
}

/// The best of these entries, best first: what is new counts up to twice as much.
fn aged(conn: &Connection, scored: &[(i64, f64)], wanted: Wanted) -> rusqlite::Result<Vec<Found>> {
    let mut statement = conn.prepare_cached(&format!("SELECT {} FROM items i WHERE i.key = ?1", super::FOUND))?;
    let mut rows = Vec::new();
    let mut seen = Seen::default();
    for (key, score) in scored.iter().take(LOOKED_AT.max(wanted.limit)) {
        let mut found = statement.query_map([key as &dyn ToSql], super::found)?;
        // The index may know an entry that is gone.
        let Some(found) = found.next().transpose()? else { continue };
        if seen.is_new(&found, wanted) {
            rows.push((found, *score));
            if rows.len() >= wanted.limit.max(AGED) {
                break;
            }
        }
    }
    let best = rows.len().min(AGED);
    let now = rows[..best].iter().map(|(found, _)| found.at).max().unwrap_or_default();
    let weigh = |found: &Found, score: f64| score * (1.0 + 1.0 / (1.0 + (now - found.at) as f64 / AGE));
    rows[..best].sort_by(|(a, x), (b, y)| weigh(a, *x).total_cmp(&weigh(b, *y)).then(b.key.cmp(&a.key)));
    Ok(rows.into_iter().map(|(found, _)| found).collect())
}
