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
use std::collections::HashMap;

/// Entries that are ranked: the newest that match.
pub(super) const RANKED: usize = if cfg!(test) { 50 } else { 5000 };
/// Up to so many entries of fitting sessions are told by their keys, else each match is looked up.
const BY_KEYS: i64 = 200_000;
/// Matches that are looked up at once.
const CHUNK: usize = 5000;
/// Entries whose age counts: the best of those that are ranked.
const AGED: usize = 200;
/// Milliseconds after which being new is worth half.
const AGE: f64 = 30.0 * 24.0 * 3_600_000.0;

/// Keys of entries, one bit each.
struct Keys(Vec<u64>);

impl Keys {
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

/// Entries of sessions that are archived or in the trash, and how many they are; none where these are asked for.
fn hidden(conn: &Connection, filter: &Filter) -> rusqlite::Result<(Keys, usize)> {
    let mut keys = Keys(Vec::new());
    let mut count = 0;
    if filter.shelf == Shelf::Shown {
        let sql = "SELECT i.key FROM sessions s JOIN items i ON i.session = s.key
                   WHERE s.archived_at IS NOT NULL OR s.trashed_at IS NOT NULL";
        let mut statement = conn.prepare_cached(sql)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            keys.put(row.get(0)?);
            count += 1;
        }
    }
    Ok((keys, count))
}

/// A filter, made ready for one search.
struct Narrow {
    /// Entries of the sessions that fit; `None`: all may, or the conditions ask for them.
    keys: Option<Keys>,
    /// What is asked of an entry and its session besides; its places begin at 2.
    rest: Conditions,
}

impl Narrow {
    fn of(conn: &Connection, filter: &Filter) -> rusqlite::Result<Self> {
        let sessions = filter.of_sessions(1);
        if sessions.is_empty() {
            return Ok(Self { keys: None, rest: filter.of_items(2) });
        }
        let sql = format!("SELECT s.key, s.item_count FROM sessions s WHERE {}", sessions.sql());
        let mut statement = conn.prepare_cached(&sql)?;
        let rows = statement.query_map(params_from_iter(&sessions.values), |row| Ok((row.get(0)?, row.get(1)?)))?;
        let fitting: Vec<(i64, i64)> = rows.collect::<Result<_, _>>()?;
        if fitting.iter().map(|(_, items)| items).sum::<i64>() > BY_KEYS {
            return Ok(Self { keys: None, rest: filter.conditions(2) });
        }
        let mut keys = Keys(Vec::new());
        let mut items = conn.prepare_cached("SELECT key FROM items WHERE session = ?1")?;
        for (session, _) in fitting {
            let mut rows = items.query([session])?;
            while let Some(row) = rows.next()? {
                keys.put(row.get(0)?);
            }
        }
        Ok(Self { keys: Some(keys), rest: filter.of_items(2) })
    }

    fn may(&self, key: i64) -> bool {
        self.keys.as_ref().is_none_or(|keys| keys.has(key))
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
    limit: usize,
) -> rusqlite::Result<Matches<Found>> {
    let narrow = if filter.is_empty() { None } else { Some(Narrow::of(conn, filter)?) };
    let (hidden, out_of_sight) = hidden(conn, filter)?;
    let mut scored: Vec<(i64, f64)> = Vec::new();
    let mut only_newest = false;
    for part in parts {
        let room = RANKED - scored.len();
        let found = match &narrow {
            None => {
                let mut found = newest(conn, part, fts, room + 1 + out_of_sight)?;
                found.retain(|(key, _)| !hidden.has(*key));
                found
            }
            Some(narrow) => fitting(conn, part, fts, narrow, &hidden, room + 1)?,
        };
        only_newest = found.len() > room;
        scored.extend(found.into_iter().take(room));
        if only_newest {
            break;
        }
    }
    scored.sort_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)));
    scored.truncate(limit.max(AGED));
    let mut rows = aged(conn, &scored)?;
    rows.truncate(limit);
    Ok(Matches { rows, only_newest })
}

/// The newest matches of a part with their scores: less is better.
fn newest(conn: &Connection, part: &Part, fts: &str, limit: usize) -> rusqlite::Result<Vec<(i64, f64)>> {
    let table = &part.table;
    let sql = format!("SELECT rowid, rank FROM {table} WHERE {table} MATCH ?1 ORDER BY rowid DESC LIMIT ?2");
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    conn.prepare_cached(&sql)?.query_map((fts, limit), |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
}

/// The newest matches of a part that a filter holds for: ranked are those among the newest of all.
fn fitting(
    conn: &Connection,
    part: &Part,
    fts: &str,
    narrow: &Narrow,
    hidden: &Keys,
    limit: usize,
) -> rusqlite::Result<Vec<(i64, f64)>> {
    let ranked = newest(conn, part, fts, RANKED)?;
    let oldest = ranked.last().map(|(key, _)| *key).filter(|_| ranked.len() == RANKED);
    let ranks: HashMap<i64, f64> = ranked.iter().copied().collect();
    let fit = narrow.fitting(conn, ranked.iter().map(|(key, _)| *key).filter(|key| narrow.may(*key)).collect())?;
    let mut kept: Vec<(i64, f64)> =
        fit.into_iter().map(|key| (key, ranks.get(&key).copied().unwrap_or_default())).collect();
    let Some(oldest) = oldest.filter(|_| kept.len() < limit) else {
        kept.truncate(limit);
        return Ok(kept);
    };
    let table = &part.table;
    let sql = format!("SELECT rowid FROM {table} WHERE {table} MATCH ?1 AND rowid < ?2 ORDER BY rowid DESC");
    let mut statement = conn.prepare_cached(&sql)?;
    let mut rows = statement.query((fts, oldest))?;
    let mut chunk = Vec::new();
    loop {
        let row = rows.next()?;
        let is_end = row.is_none();
        if let Some(row) = row {
            let key = row.get(0)?;
            if narrow.may(key) && !hidden.has(key) {
                chunk.push(key);
            }
        }
        if is_end || chunk.len() >= CHUNK {
            kept.extend(narrow.fitting(conn, std::mem::take(&mut chunk))?.into_iter().map(|key| (key, 0.0)));
            if is_end || kept.len() >= limit {
                kept.truncate(limit);
                return Ok(kept);
            }
        }
    }
}

/// The entries of these keys, best first: what is new counts up to twice as much.
fn aged(conn: &Connection, scored: &[(i64, f64)]) -> rusqlite::Result<Vec<Found>> {
    let mut statement = conn.prepare_cached(&format!("SELECT {} FROM items i WHERE i.key = ?1", super::FOUND))?;
    let mut rows = Vec::with_capacity(scored.len());
    for (key, score) in scored {
        let mut found = statement.query_map([key as &dyn ToSql], super::found)?;
        // The index may know an entry that is gone.
        if let Some(found) = found.next() {
            rows.push((found?, *score));
        }
    }
    let best = rows.len().min(AGED);
    let now = rows[..best].iter().map(|(found, _)| found.at).max().unwrap_or_default();
    let weigh = |found: &Found, score: f64| score * (1.0 + 1.0 / (1.0 + (now - found.at) as f64 / AGE));
    rows[..best].sort_by(|(a, x), (b, y)| weigh(a, *x).total_cmp(&weigh(b, *y)).then(b.key.cmp(&a.key)));
    Ok(rows.into_iter().map(|(found, _)| found).collect())
}

/// The newest entries that hold some substrings, without an index.
pub(super) fn scanned(
    conn: &Connection,
    substrings: &super::query::Substrings,
    filter: &Filter,
    limit: usize,
) -> rusqlite::Result<Vec<Found>> {
    let patterns: Vec<Value> = substrings
        .words
        .iter()
        .map(|word| format!("%{}%", crate::store::sessions::like_escaped(word)).into())
        .collect();
    let tests: Vec<String> = (2..patterns.len() + 2).map(|at| format!("t.text LIKE ?{at} ESCAPE '\\'")).collect();
    let conditions = filter.conditions(2 + patterns.len());
    let sql = format!(
        "SELECT {} FROM item_text_cjk t JOIN items i ON i.key = t.key JOIN sessions s ON s.key = i.session
         WHERE {} AND ({}) ORDER BY i.key DESC LIMIT ?1",
        super::FOUND,
        conditions.sql(),
        tests.join(if substrings.any { " OR " } else { " AND " })
    );
    let limit = Value::from(i64::try_from(limit).unwrap_or(i64::MAX));
    let values = std::iter::once(&limit).chain(&patterns).chain(&conditions.values);
    conn.prepare(&sql)?.query_map(params_from_iter(values), super::found)?.collect()
}
