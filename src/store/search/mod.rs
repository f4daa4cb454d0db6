//! Full-text search over what was said and done: hits, and sessions by their best hit.

pub mod filter;
pub(super) mod index;
pub(super) mod query;

pub use query::sanitize_query;

use crate::protocol::ItemId;
use crate::store::db::Db;
use crate::store::error::{StoreError, is_damage};
use crate::store::sessions::{self, like_escaped};
use crate::store::{SearchHit, SessionRow};
use filter::Filter;
use query::Substrings;
use rusqlite::{Connection, ToSql};
use std::collections::HashSet;

/// Hits that are looked at to find the sessions of a list.
const LIST_HITS: usize = 3000;
/// Tokens of a snippet.
const SNIPPET: &str = "snippet(item_words, 0, '>>>', '<<<', '…', 40)";

/// A hit before its session and snippet are read.
struct Found {
    key: i64,
    session: i64,
    item: ItemId,
    role: String,
    at: i64,
}

/// How the query is put to the indexes.
enum Ask {
    Words(String),
    Trigrams(String, Substrings),
    Scan(Substrings),
}

impl Ask {
    fn of(query: &str, typed: bool) -> Option<Self> {
        if query::has_cjk(query) {
            let substrings = Substrings::of(query);
            return match substrings.trigrams() {
                Some(fts) => Some(Self::Trigrams(fts, substrings)),
                None => (!substrings.words.is_empty()).then_some(Self::Scan(substrings)),
            };
        }
        let fts = if typed { query::sanitize_typed(query) } else { query::sanitize_query(query) };
        (!fts.is_empty()).then_some(Self::Words(fts))
    }
}

/// Hits, best first; newest first where substrings are scanned for.
pub(in crate::store) fn hits(
    db: &mut Db,
    query: &str,
    filter: &Filter,
    limit: usize,
) -> Result<Vec<SearchHit>, StoreError> {
    let find = |conn: &Connection, ask: &Ask| {
        let found = find(conn, ask, filter, limit)?;
        found.into_iter().map(|hit| with_session(conn, ask, hit)).collect()
    };
    run(db, query, false, find)
}

/// Sessions whose name holds the query, then those with hits, each with its best one as the snippet. Words like `role:tool`
/// narrow it.
pub(in crate::store) fn list(
    db: &mut Db,
    query: &str,
    here: Option<&str>,
    limit: usize,
) -> Result<Vec<SessionRow>, StoreError> {
    let (query, filter) = Filter::read(query, here);
    let trimmed = query.trim();
    if trimmed.is_empty() {
        return db.read("list sessions", |conn| sessions::fitting(conn, &filter, limit));
    }
    let is_narrow = filter != Filter::here(here);
    let mut rows = if is_narrow {
        Vec::new()
    } else {
        db.read("list sessions", |conn| sessions::named(conn, trimmed, here, limit))?
    };
    let found: Vec<SessionRow> = run(db, &query, true, |conn, ask| {
        let mut seen = HashSet::new();
        let mut best = Vec::new();
        for hit in find(conn, ask, &filter, LIST_HITS.max(limit))? {
            if best.len() < limit && seen.insert(hit.session) {
                best.push(with_session(conn, ask, hit)?.session);
            }
        }
        Ok(best)
    })?;
    for row in found {
        match rows.iter_mut().find(|named| named.id == row.id) {
            Some(named) => (named.snippet, named.hit) = (row.snippet, row.hit),
            None => rows.push(row),
        }
    }
    rows.truncate(limit);
    Ok(rows)
}

fn run<T>(
    db: &mut Db,
    query: &str,
    typed: bool,
    find: impl Fn(&Connection, &Ask) -> rusqlite::Result<Vec<T>>,
) -> Result<Vec<T>, StoreError> {
    let Some(ask) = Ask::of(query, typed) else { return Ok(Vec::new()) };
    if let Err(error) = index::catch_up(db) {
        // A full disk must not hide what is indexed already.
        tracing::warn!(%error, "the newest items can't be searched");
    }
    match find(&db.conn, &ask) {
        Ok(found) => Ok(found),
        Err(error) if is_damage(&error) => {
            index::rebuild(db)?;
            find(&db.conn, &ask).map_err(|error| db.fault("search", &error))
        }
        // Whatever FTS5 still does not take is searched for word by word.
        Err(_) if matches!(ask, Ask::Words(_)) => {
            let plain = query::quote_all(query);
            if plain.is_empty() {
                return Ok(Vec::new());
            }
            find(&db.conn, &Ask::Words(plain)).map_err(|error| db.fault("search", &error))
        }
        Err(error) => Err(db.fault("search", &error)),
    }
}

fn find(conn: &Connection, ask: &Ask, filter: &Filter, limit: usize) -> rusqlite::Result<Vec<Found>> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    match ask {
        Ask::Words(fts) => ranked(conn, "item_words", fts, filter, limit),
        Ask::Trigrams(fts, _) => ranked(conn, "item_trigrams", fts, filter, limit),
        Ask::Scan(substrings) => scanned(conn, substrings, filter, limit),
    }
}

const FOUND: &str = "i.key, i.session, i.id, i.role, i.at";

fn found(row: &rusqlite::Row<'_>) -> rusqlite::Result<Found> {
    Ok(Found { key: row.get(0)?, session: row.get(1)?, item: ItemId(row.get(2)?), role: row.get(3)?, at: row.get(4)? })
}

fn ranked(conn: &Connection, table: &str, fts: &str, filter: &Filter, limit: i64) -> rusqlite::Result<Vec<Found>> {
    let (conditions, more) = filter.conditions(3);
    // Without a filter the index itself keeps the best, and only those are joined.
    let sql = if filter.is_empty() {
        format!(
            "SELECT {FOUND} FROM (SELECT rowid AS hit, rank AS score FROM {table} WHERE {table} MATCH ?1
               ORDER BY rank LIMIT ?2) JOIN items i ON i.key = hit ORDER BY score, i.key DESC"
        )
    } else {
        format!(
            "SELECT {FOUND} FROM {table} JOIN items i ON i.key = {table}.rowid JOIN sessions s ON s.key = i.session
             WHERE {table} MATCH ?1 AND {conditions} ORDER BY {table}.rank, i.key DESC LIMIT ?2"
        )
    };
    let mut values: Vec<&dyn ToSql> = vec![&fts, &limit];
    values.extend(more.iter().map(|value| value.as_ref()));
    conn.prepare_cached(&sql)?.query_map(values.as_slice(), found)?.collect()
}

fn scanned(conn: &Connection, substrings: &Substrings, filter: &Filter, limit: i64) -> rusqlite::Result<Vec<Found>> {
    let patterns: Vec<String> = substrings.words.iter().map(|word| format!("%{}%", like_escaped(word))).collect();
    let tests: Vec<String> = (2..patterns.len() + 2).map(|at| format!("t.text LIKE ?{at} ESCAPE '\\'")).collect();
    let (conditions, more) = filter.conditions(2 + patterns.len());
    let sql = format!(
        "SELECT {FOUND} FROM item_text_cjk t JOIN items i ON i.key = t.key JOIN sessions s ON s.key = i.session
         WHERE {conditions} AND ({}) ORDER BY i.key DESC LIMIT ?1",
        tests.join(if substrings.any { " OR " } else { " AND " })
    );
    let mut values: Vec<&dyn ToSql> = vec![&limit];
    values.extend(patterns.iter().map(|pattern| pattern as &dyn ToSql));
    values.extend(more.iter().map(|value| value.as_ref()));
    conn.prepare(&sql)?.query_map(values.as_slice(), found)?.collect()
}

fn with_session(conn: &Connection, ask: &Ask, hit: Found) -> rusqlite::Result<SearchHit> {
    let sql = format!("SELECT {} FROM sessions s WHERE s.key = ?1", sessions::COLUMNS);
    let mut session = conn.prepare_cached(&sql)?.query_row([hit.session], sessions::row)?;
    let snippet: String = match ask {
        Ask::Words(fts) => conn
            .prepare_cached(&format!("SELECT {SNIPPET} FROM item_words WHERE item_words MATCH ?1 AND rowid = ?2"))?
            .query_row((fts, hit.key), |row| row.get(0))?,
        Ask::Trigrams(_, substrings) | Ask::Scan(substrings) => {
            let text: Option<String> = conn
                .prepare_cached("SELECT text FROM item_text WHERE key = ?1")?
                .query_row([hit.key], |row| row.get(0))?;
            substrings.snippet(&text.unwrap_or_default())
        }
    };
    let snippet = if hit.role == "tool" { in_words(&snippet) } else { snippet };
    session.snippet = Some(snippet.split_whitespace().collect::<Vec<_>>().join(" "));
    session.hit = Some(hit.item);
    Ok(SearchHit { session, item: hit.item, role: hit.role, at: hit.at })
}

/// A piece of a result without the signs of its JSON: in one pass, since an escape may follow another.
fn in_words(snippet: &str) -> String {
    let mut text = String::with_capacity(snippet.len());
    let mut before = ' ';
    let mut chars = snippet.chars().peekable();
    while let Some(c) = chars.next() {
        let after = chars.peek().copied().unwrap_or(' ');
        match c {
            '\\' if matches!(after, 'n' | 't' | 'r' | '"' | '\\') => {
                chars.next();
                text.push(if matches!(after, '"' | '\\') { after } else { ' ' });
                before = 'x';
                continue;
            }
            '"' => {}
            ':' | ',' if before == '"' || after == '"' => text.extend([c, ' ']),
            '{' if after == '"' || matches!(before, '[' | ':') => {}
            '[' if matches!(after, '"' | '{') => {}
            '}' if matches!(before, '"' | ']' | '}') || matches!(after, ']' | '}' | ',') => {}
            ']' if matches!(before, '"' | '}') => {}
            _ => text.push(c),
        }
        before = c;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::in_words;

    #[test]
    fn a_piece_of_json_is_shown_in_words() {
        let json =
            r#"search_files {"total_count":3,"matches":[{"path":"src/>>>cart<<<.py","content":"def \"x\":\n pass"}]}"#;
        let words = r#"search_files total_count: 3, matches: path: src/>>>cart<<<.py, content: def "x":  pass"#;
        assert_eq!(in_words(json), words);
        assert_eq!(in_words(r#"{"output":"C:\\new\\reports arr[0]"}"#), r"output: C:\new\reports arr[0]");
    }
}
