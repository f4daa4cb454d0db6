//! Which session a person means by an id, the start of one, or a title.

use super::error::StoreError;
use super::sessions::like_escaped;
use crate::protocol::SessionId;
use rusqlite::{Connection, OptionalExtension};
use std::collections::HashSet;

/// Sessions looked at for a suggestion.
const NEAR_POOL: i64 = 500;

/// What a lookup came to; the caller knows the file for the error.
pub(super) type Resolved = Result<SessionId, StoreError>;

/// Digits at the end of an id of ours.
const SHORT: usize = 6;

/// The short form of an id: the last six digits of one of ours, else all of it.
pub fn short_id(id: &str) -> &str {
    let digits = |text: &str, count| text.len() == count && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let mut parts = id.split('_');
    match (parts.next(), parts.next(), parts.next(), parts.next()) {
        (Some(day), Some(time), Some(short), None) if digits(day, 8) && digits(time, 6) && digits(short, SHORT) => {
            short
        }
        _ => id,
    }
}

/// By id, unique start of an id, its last six digits, title, or unique start of a title, in this order.
pub(super) fn resolve(conn: &Connection, query: &str) -> rusqlite::Result<Resolved> {
    let query = query.trim();
    let one = |sql: &str, value: &str| -> rusqlite::Result<Option<String>> {
        conn.prepare_cached(sql)?.query_row([value], |row| row.get(0)).optional()
    };
    if query.is_empty() {
        return Ok(Err(StoreError::NotFound { query: String::new(), near: Vec::new() }));
    }
    if let Some(id) = one("SELECT id FROM sessions WHERE id = ?1", query)? {
        return Ok(Ok(SessionId(id)));
    }
    let escaped = like_escaped(query);
    let by_id = some(conn, "s.id LIKE ?1 ESCAPE '\\'", &format!("{escaped}%"))?;
    if let [(id, _)] = by_id.as_slice() {
        return Ok(Ok(SessionId(id.clone())));
    }
    if query.len() == SHORT && query.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        let by_end = some(conn, "s.id LIKE ?1 ESCAPE '\\'", &format!("%\\_{escaped}"))?;
        if let [(id, _)] = by_end.as_slice() {
            return Ok(Ok(SessionId(id.clone())));
        }
    }
    let exact = one("SELECT id FROM sessions WHERE title = ?1", query)?;
    let exact = match exact {
        Some(id) => Some(id),
        None => one("SELECT id FROM sessions WHERE title = ?1 COLLATE NOCASE ORDER BY updated_at DESC LIMIT 1", query)?,
    };
    if let Some(id) = exact {
        return Ok(Ok(SessionId(id)));
    }
    let by_title = some(conn, "s.title LIKE ?1 ESCAPE '\\'", &format!("{escaped}%"))?;
    if let [(id, _)] = by_title.as_slice() {
        return Ok(Ok(SessionId(id.clone())));
    }
    let matches: Vec<String> = by_id.iter().chain(&by_title).map(|(id, title)| label(id, title.as_deref())).collect();
    Ok(Err(if matches.is_empty() {
        StoreError::NotFound { query: query.to_owned(), near: near(conn, query)? }
    } else {
        StoreError::Ambiguous { query: query.to_owned(), matches }
    }))
}

fn label(id: &str, title: Option<&str>) -> String {
    title.map_or_else(|| id.to_owned(), |title| format!("{id} ({title})"))
}

fn some(conn: &Connection, filter: &str, value: &str) -> rusqlite::Result<Vec<(String, Option<String>)>> {
    let sql = format!(
        "SELECT s.id, s.title FROM sessions s WHERE {filter} AND s.item_count > 0 ORDER BY s.updated_at DESC LIMIT 6"
    );
    conn.prepare_cached(&sql)?.query_map([value], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
}

/// Up to three sessions whose title, id or first prompt looks like the query.
fn near(conn: &Connection, query: &str) -> rusqlite::Result<Vec<String>> {
    let wanted = pairs(query);
    let may_be_id = query.len() >= 8 && query.chars().all(|c| c.is_ascii_hexdigit() || c == '_');
    let mut sql = conn.prepare_cached(
        "SELECT id, title, preview FROM sessions WHERE item_count > 0 ORDER BY updated_at DESC LIMIT ?1",
    )?;
    let mut rows = sql.query([NEAR_POOL])?;
    let mut scored: Vec<(usize, String)> = Vec::new();
    while let Some(row) = rows.next()? {
        let (id, title, preview): (String, Option<String>, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
        // Ids all look alike: only what may be a mistyped one is compared with them.
        let typed_id = if may_be_id { id.as_str() } else { "" };
        let texts = [typed_id, title.as_deref().unwrap_or(""), preview.as_str()];
        let score = texts.iter().map(|text| pairs(text).intersection(&wanted).count()).max().unwrap_or(0);
        // At least half of the query's pairs of letters.
        if score > 0 && score * 2 >= wanted.len() {
            scored.push((score, label(&id, title.as_deref())));
        }
    }
    scored.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
    Ok(scored.into_iter().take(3).map(|(_, label)| label).collect())
}

fn pairs(text: &str) -> HashSet<(char, char)> {
    let letters: Vec<char> = text.to_lowercase().chars().filter(|c| c.is_alphanumeric()).collect();
    letters.windows(2).map(|pair| (pair[0], pair[1])).collect()
}
