//! The parts of the index of words: which there are, and which one an item belongs to.

use rusqlite::{Connection, Transaction};

/// Items after which a part is full.
const SIZE: i64 = if cfg!(test) { 64 } else { 131_072 };
/// The part that a database begins with.
pub(super) const FIRST: &str = "item_words";

/// An FTS5 table with the words of some items.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::store) struct Part {
    /// Keys of items from here on …
    pub first: i64,
    /// … and below this one.
    pub end: i64,
    pub table: String,
}

/// All parts, newest first.
pub(in crate::store) fn all(conn: &Connection) -> rusqlite::Result<Vec<Part>> {
    let mut end = i64::MAX;
    let mut statement = conn.prepare_cached("SELECT first, name FROM search_parts ORDER BY first DESC")?;
    let parts = statement.query_map([], |row| {
        let first = row.get(0)?;
        Ok(Part { first, end: std::mem::replace(&mut end, first), table: row.get(1)? })
    })?;
    parts.collect()
}

/// The part for the item with this key, and where it ends; a full last one is followed by a new one.
pub(super) fn of(tx: &Transaction<'_>, key: i64) -> rusqlite::Result<Part> {
    let parts = all(tx)?;
    let number = parts.len();
    let part = parts.into_iter().find(|part| part.first <= key);
    match part {
        Some(part) if part.end < i64::MAX => Ok(part),
        Some(part) if key - part.first < SIZE => Ok(Part { end: part.first + SIZE, ..part }),
        Some(_) | None => {
            let table = if number == 0 { FIRST.to_owned() } else { format!("{FIRST}_{number}") };
            tx.execute_batch(&format!(
                "CREATE VIRTUAL TABLE IF NOT EXISTS {table} USING fts5(
                   text, content = 'item_text', content_rowid = 'key', tokenize = \"unicode61 remove_diacritics 2\");
                 INSERT INTO {table} ({table}, rank) VALUES ('automerge', 8);
                 INSERT INTO {table} ({table}, rank) VALUES ('hashsize', 8388608);"
            ))?;
            tx.execute("INSERT INTO search_parts (first, name) VALUES (?1, ?2)", (key, &table))?;
            Ok(Part { first: key, end: key + SIZE, table })
        }
    }
}

/// Removes all parts but an empty first one.
pub(super) fn clear(tx: &Transaction<'_>) -> rusqlite::Result<()> {
    for part in all(tx)? {
        if part.table == FIRST {
            tx.execute(&format!("INSERT INTO {FIRST} ({FIRST}) VALUES ('delete-all')"), [])?;
        } else {
            tx.execute_batch(&format!("DROP TABLE {}", part.table))?;
        }
    }
    tx.execute("DELETE FROM search_parts", [])?;
    tx.execute("INSERT INTO search_parts (first, name) VALUES (0, ?1)", [FIRST]).map(drop)
}
