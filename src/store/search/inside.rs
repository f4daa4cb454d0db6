//! Substrings: the newest entries that hold them, by the index of trigrams or, where a word is too short for it, by a scan.

use super::filter::Filter;
use super::query::Substrings;
use super::rank::{Seen, Wanted};
use super::{Found, index};
use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};

/// By the index. It takes `_` and `%` for wildcards, so what it finds is compared with the words themselves.
pub(super) fn indexed(
    conn: &Connection,
    substrings: &Substrings,
    filter: &Filter,
    wanted: Wanted,
) -> rusqlite::Result<Vec<Found>> {
    let patterns = substrings.words.iter().map(|word| format!("%{word}%").into()).collect();
    let table = index::TRIGRAMS;
    // Each pattern by itself: the index can't tell what holds one of several.
    let found = |at: usize| format!("t.rowid IN (SELECT rowid FROM {table} WHERE text LIKE ?{at})");
    let from = format!("{table} t JOIN items i ON i.key = t.rowid");
    let mut text = conn.prepare_cached("SELECT text FROM item_text WHERE key = ?1")?;
    newest(conn, &from, patterns, found, substrings, filter, wanted, |found| {
        let text: Option<String> = text.query_row([found.key], |row| row.get(0))?;
        Ok(text.is_some_and(|text| substrings.are_in(&text)))
    })
}

/// By reading everything that may hold them.
pub(super) fn scanned(
    conn: &Connection,
    substrings: &Substrings,
    filter: &Filter,
    wanted: Wanted,
) -> rusqlite::Result<Vec<Found>> {
    let like = |word: &String| format!("%{}%", crate::store::sessions::like_escaped(word)).into();
    let patterns = substrings.words.iter().map(like).collect();
    let test = |at: usize| format!("t.text LIKE ?{at} ESCAPE '\\'");
    let from = "item_text_parts t JOIN items i ON i.key = t.key";
    newest(conn, from, patterns, test, substrings, filter, wanted, |_| Ok(true))
}

/// The newest entries for which the tests of the words and a filter hold, and `also` what reads them.
#[expect(clippy::too_many_arguments, reason = "two callers, and all of it is the query")]
fn newest(
    conn: &Connection,
    from: &str,
    patterns: Vec<Value>,
    test: impl Fn(usize) -> String,
    substrings: &Substrings,
    filter: &Filter,
    wanted: Wanted,
    mut also: impl FnMut(&Found) -> rusqlite::Result<bool>,
) -> rusqlite::Result<Vec<Found>> {
    let tests: Vec<String> = (1..=patterns.len()).map(test).collect();
    let conditions = filter.conditions(1 + patterns.len());
    let sql = format!(
        "SELECT {} FROM {from} JOIN sessions s ON s.key = i.session WHERE {} AND ({}) ORDER BY i.key DESC",
        super::FOUND,
        conditions.sql(),
        tests.join(if substrings.any { " OR " } else { " AND " })
    );
    let mut statement = conn.prepare(&sql)?;
    let mut rows = statement.query(params_from_iter(patterns.iter().chain(&conditions.values)))?;
    let (mut found, mut seen) = (Vec::new(), Seen::default());
    while found.len() < wanted.limit
        && let Some(row) = rows.next()?
    {
        let entry = super::found(row)?;
        if also(&entry)? && seen.is_new(&entry, wanted) {
            found.push(entry);
        }
    }
    Ok(found)
}
