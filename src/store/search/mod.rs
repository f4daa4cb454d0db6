//! Full-text search over what was said and done: hits, and sessions by their best hit.

pub mod filter;
pub(super) mod index;
mod inside;
mod parts;
pub(super) mod query;
mod rank;

pub use query::sanitize_query;

use crate::protocol::ItemId;
use crate::store::db::Db;
use crate::store::error::{StoreError, is_damage};
use crate::store::life::{self, Shelf};
use crate::store::{SearchHit, SessionRow, sessions};
use filter::Filter;
use parts::Part;
use query::Substrings;
use rank::Wanted;
use rusqlite::Connection;
use std::collections::HashMap;

/// What a search found, best first.
#[derive(Clone, Debug, PartialEq)]
pub struct Matches<T> {
    pub rows: Vec<T>,
    /// More entries match than are ranked: these are the best of the newest.
    pub only_newest: bool,
}

impl<T> Matches<T> {
    /// What was ranked, when that is not all: `the newest 5,000 matches`.
    pub fn bound(&self) -> Option<String> {
        let ranked = crate::text::format::count(rank::RANKED as u64);
        self.only_newest.then(|| format!("the newest {ranked} matches"))
    }

    fn none() -> Self {
        Self { rows: Vec::new(), only_newest: false }
    }
}

/// A hit before its session and snippet are read.
struct Found {
    key: i64,
    session: i64,
    item: ItemId,
    role: String,
    at: i64,
}

const FOUND: &str = "i.key, i.session, i.id, i.role, i.at";

fn found(row: &rusqlite::Row<'_>) -> rusqlite::Result<Found> {
    Ok(Found { key: row.get(0)?, session: row.get(1)?, item: ItemId(row.get(2)?), role: row.get(3)?, at: row.get(4)? })
}

/// How the query is put to the indexes.
enum Ask {
    Words(String),
    /// In the index of trigrams.
    Inside(Substrings),
    /// Shorter than three characters, which only a scan finds.
    Scan(Substrings),
}

impl Ask {
    fn of(query: &str, typed: bool) -> Option<Self> {
        if query::has_cjk(query) {
            let substrings = Substrings::of(query);
            return if substrings.have_trigrams() {
                Some(Self::Inside(substrings))
            } else {
                (!substrings.words.is_empty()).then_some(Self::Scan(substrings))
            };
        }
        let fts = if typed { query::sanitize_typed(query) } else { query::sanitize_query(query) };
        (!fts.is_empty()).then_some(Self::Words(fts))
    }

    /// The same inside of words, where no whole ones were found.
    fn inside(query: &str) -> Option<Self> {
        // A phrase that stands nowhere is no word.
        let is_plain = !query.contains('"') && query.split_whitespace().all(|word| word != "NOT");
        let substrings = Substrings::of(query);
        (is_plain && substrings.have_trigrams()).then_some(Self::Inside(substrings))
    }

    fn of_summaries(&self) -> life::Asked<'_> {
        match self {
            Self::Words(fts) => life::Asked::Words(fts),
            Self::Inside(parts) | Self::Scan(parts) => life::Asked::Parts { words: &parts.words, any: parts.any },
        }
    }
}

/// Hits, best first; newest first where substrings are scanned for.
pub(in crate::store) fn hits(
    db: &mut Db,
    query: &str,
    filter: &Filter,
    limit: usize,
) -> Result<Matches<SearchHit>, StoreError> {
    run(db, query, false, |conn, ask| {
        let Matches { rows, only_newest } = find(conn, ask, filter, Wanted::entries(limit))?;
        let mut rows = with_sessions(conn, ask, rows)?;
        // What only a summary says is found, however many entries there are.
        let more = life::hits(conn, &ask.of_summaries(), filter, &rows)?;
        rows.truncate(limit.saturating_sub(more.len()));
        rows.extend(more);
        rows.truncate(limit);
        Ok(Matches { rows, only_newest })
    })
}

/// Sessions whose name holds the query, then those with hits, each with its best one as the snippet. Words like `role:tool`
/// narrow it, and win over the shelf.
pub(in crate::store) fn list(
    db: &mut Db,
    query: &str,
    here: Option<&str>,
    shelf: Shelf,
    limit: usize,
) -> Result<Matches<SessionRow>, StoreError> {
    let (query, mut filter) = Filter::read(query, here);
    if life::is_shown(&filter) {
        filter.shelf = shelf;
    }
    let trimmed = query.trim();
    if trimmed.is_empty() {
        let rows = db.read("list sessions", |conn| sessions::fitting(conn, &filter, limit))?;
        return Ok(Matches { rows, only_newest: false });
    }
    let is_narrow = filter != Filter::here(here);
    let mut rows = if is_narrow {
        Vec::new()
    } else {
        db.read("list sessions", |conn| sessions::named(conn, trimmed, here, limit))?
    };
    let found = run(db, &query, true, |conn, ask| {
        let Matches { rows, only_newest } = find(conn, ask, &filter, Wanted::sessions(limit))?;
        let mut rows: Vec<SessionRow> = with_sessions(conn, ask, rows)?.into_iter().map(|hit| hit.session).collect();
        for row in life::rows(conn, &ask.of_summaries(), &filter, limit)? {
            if !rows.iter().any(|known| known.id == row.id) {
                rows.push(row);
            }
        }
        Ok(Matches { rows, only_newest })
    })?;
    let only_newest = found.only_newest;
    for row in found.rows {
        match rows.iter_mut().find(|named: &&mut SessionRow| named.id == row.id) {
            Some(named) => (named.snippet, named.hit) = (row.snippet, row.hit),
            None => rows.push(row),
        }
    }
    rows.truncate(limit);
    Ok(Matches { rows, only_newest })
}

fn run<T>(
    db: &mut Db,
    query: &str,
    typed: bool,
    find: impl Fn(&Connection, &Ask) -> rusqlite::Result<Matches<T>>,
) -> Result<Matches<T>, StoreError> {
    let Some(ask) = Ask::of(query, typed) else { return Ok(Matches::none()) };
    if let Err(error) = index::catch_up(db) {
        // A full disk must not hide what is indexed already.
        tracing::warn!(%error, "the newest items can't be searched");
    }
    match find(&db.conn, &ask) {
        Ok(found) if found.rows.is_empty() && matches!(ask, Ask::Words(_)) => match Ask::inside(query) {
            Some(ask) => find(&db.conn, &ask).map_err(|error| db.fault("search", &error)),
            None => Ok(found),
        },
        Ok(found) => Ok(found),
        Err(error) if is_damage(&error) => {
            index::rebuild(db)?;
            find(&db.conn, &ask).map_err(|error| db.fault("search", &error))
        }
        // Whatever FTS5 still does not take is searched for word by word.
        Err(_) if matches!(ask, Ask::Words(_)) => {
            let plain = query::quote_all(query);
            if plain.is_empty() {
                return Ok(Matches::none());
            }
            find(&db.conn, &Ask::Words(plain)).map_err(|error| db.fault("search", &error))
        }
        Err(error) => Err(db.fault("search", &error)),
    }
}

fn find(conn: &Connection, ask: &Ask, filter: &Filter, wanted: Wanted) -> rusqlite::Result<Matches<Found>> {
    let rows = match ask {
        Ask::Words(fts) => return rank::best(conn, &parts::all(conn)?, fts, filter, wanted),
        Ask::Inside(substrings) => inside::indexed(conn, substrings, filter, wanted)?,
        Ask::Scan(substrings) => inside::scanned(conn, substrings, filter, wanted)?,
    };
    Ok(Matches { rows, only_newest: false })
}

fn with_sessions(conn: &Connection, ask: &Ask, found: Vec<Found>) -> rusqlite::Result<Vec<SearchHit>> {
    let mut snippets = match ask {
        Ask::Words(fts) => snippets(conn, fts, &found)?,
        Ask::Inside(_) | Ask::Scan(_) => HashMap::new(),
    };
    let sql = format!("SELECT {} FROM sessions s WHERE s.key = ?1", sessions::COLUMNS);
    let mut of_session = conn.prepare_cached(&sql)?;
    let mut of_item = conn.prepare_cached("SELECT text FROM item_text WHERE key = ?1")?;
    let read = |hit: Found| {
        let mut session = of_session.query_row([hit.session], sessions::row)?;
        let snippet = match ask {
            Ask::Words(_) => snippets.remove(&hit.key).unwrap_or_default(),
            Ask::Inside(substrings) | Ask::Scan(substrings) => {
                let text: Option<String> = of_item.query_row([hit.key], |row| row.get(0))?;
                substrings.snippet(&text.unwrap_or_default())
            }
        };
        let snippet = if hit.role == "tool" { in_words(&snippet) } else { snippet };
        session.snippet = Some(snippet.split_whitespace().collect::<Vec<_>>().join(" "));
        session.hit = Some(hit.item);
        Ok(SearchHit { session, item: hit.item, role: hit.role, at: hit.at })
    };
    found.into_iter().map(read).collect()
}

/// Snippets of hits by their keys: one look at each part, since what a prefix stands for is gathered at each look.
fn snippets(conn: &Connection, fts: &str, found: &[Found]) -> rusqlite::Result<HashMap<i64, String>> {
    let mut all = HashMap::new();
    for Part { first, end, table } in parts::all(conn)? {
        let mut keys: Vec<i64> = found.iter().map(|hit| hit.key).filter(|key| (first..end).contains(key)).collect();
        keys.sort_unstable();
        let (Some(low), Some(high)) = (keys.first(), keys.last()) else { continue };
        // The plus keeps the list from being asked for row by row.
        let sql = format!(
            "SELECT rowid, snippet({table}, 0, '>>>', '<<<', '…', 40) FROM {table}
             WHERE {table} MATCH ?1 AND rowid >= ?2 AND rowid <= ?3 AND +rowid IN (SELECT value FROM json_each(?4))"
        );
        let mut statement = conn.prepare_cached(&sql)?;
        let rows = statement.query_map((fts, low, high, rank::list(&keys)), |row| Ok((row.get(0)?, row.get(1)?)))?;
        for row in rows {
            let (key, snippet) = row?;
            all.insert(key, snippet);
        }
    }
    Ok(all)
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
