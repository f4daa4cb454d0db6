//! Substrings: the newest entries that hold them, by the index of trigrams or, where a word is too short for it, by a scan.

use super::filter::Filter;
use super::query::{Substrings, has_cjk};
use super::rank::{Seen, Wanted};
use super::{Found, index};
use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};

/// The newest entries that hold a word which are looked at, of those with Chinese, Japanese or Korean characters and of others:
/// each is read, and the index can't tell what of it a filter leaves.
const LOOKED_AT: (usize, usize) = (5000, 1000);

/// By the index. It takes `_` and `%` for wildcards, so what it finds is compared with the words themselves.
pub(super) fn indexed(
    conn: &Connection,
    substrings: &Substrings,
    filter: &Filter,
    wanted: Wanted,
) -> rusqlite::Result<Vec<Found>> {
    // The longest word is the rarest; that the others are there is seen in the text. One of several needs each of them.
    let longest = substrings.words.iter().max_by_key(|word| word.len());
    let asked: Vec<&String> =
        if substrings.any { substrings.words.iter().collect() } else { longest.into_iter().collect() };
    let patterns: Vec<Value> = asked.iter().map(|word| format!("%{word}%").into()).collect();
    let most = if asked.iter().any(|word| has_cjk(word)) { LOOKED_AT.0 } else { LOOKED_AT.1 };
    let table = index::TRIGRAMS;
    let one = |at: usize| {
        format!(
            "SELECT * FROM (SELECT rowid AS key FROM {table} WHERE text LIKE ?{at} ORDER BY rowid DESC LIMIT {most})"
        )
    };
    let all: Vec<String> = (1..=patterns.len()).map(one).collect();
    let from = format!("({}) t JOIN items i ON i.key = t.key", all.join(" UNION "));
    let mut text = conn.prepare_cached("SELECT text FROM item_text WHERE key = ?1")?;
    newest(conn, &from, patterns, "1", filter, wanted, |found| {
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
    let patterns: Vec<Value> = substrings.words.iter().map(like).collect();
    let tests: Vec<String> = (1..=patterns.len()).map(|at| format!("t.text LIKE ?{at} ESCAPE '\\'")).collect();
    let tests = tests.join(if substrings.any { " OR " } else { " AND " });
    let from = "item_text_parts t JOIN items i ON i.key = t.key";
    newest(conn, from, patterns, &tests, filter, wanted, |_| Ok(true))
}

/// The newest entries for which the tests of the words and a filter hold, and `also` what reads them.
fn newest(
    conn: &Connection,
    from: &str,
    patterns: Vec<Value>,
    tests: &str,
    filter: &Filter,
    wanted: Wanted,
    mut also: impl FnMut(&Found) -> rusqlite::Result<bool>,
) -> rusqlite::Result<Vec<Found>> {
    let conditions = filter.conditions(1 + patterns.len());
    let sql = format!(
        "SELECT {} FROM {from} JOIN sessions s ON s.key = i.session WHERE {} AND ({tests}) ORDER BY i.key DESC",
        super::FOUND,
        conditions.sql(),
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
