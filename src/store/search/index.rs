//! The full-text indexes follow the items: an append stays cheap, and whoever searches waits for the rest.

use super::parts;
use crate::store::db::{self, Db};
use crate::store::error::{StoreError, is_damage};
use rusqlite::Transaction;

/// The index of substrings: what was said, and items with Chinese, Japanese or Korean characters.
pub(super) const TRIGRAMS: &str = "item_trigrams";
/// The index of summaries.
const SUMMARIES: &str = "summary_words";

/// Whether SQLite complains of a search index: these are checked, and made anew, by themselves. The words of items are in
/// tables whose names begin alike.
pub(in crate::store) fn is_named_in(fault: &str) -> bool {
    [parts::FIRST, TRIGRAMS, SUMMARIES].iter().any(|index| fault.contains(index))
}

/// What the indexes take their text from.
const WORDS_OF: &str = "item_text";
const TRIGRAMS_OF: &str = "item_text_parts";

/// Items that are indexed in one transaction, which a job waits for: some 0.1 s. What a batch writes is merged with others
/// later, so small ones write the same many times.
pub(in crate::store) const BATCH: i64 = 1024;

/// Indexes items that are not indexed yet, up to [`BATCH`] of them; `true` when more are left.
pub(in crate::store) fn follow(db: &mut Db) -> Result<bool, StoreError> {
    let ask = |conn: &rusqlite::Connection| behind(conn).map(|items| items > 0);
    if db.read("look for an older index", indexed)? < 0 {
        clear(db)?;
    }
    if !db.read("look for items to index", ask)? {
        return Ok(false);
    }
    let step = |tx: &Transaction<'_>| {
        let done = indexed(tx)?;
        let part = parts::of(tx, done + 1)?;
        let upto: Option<i64> = tx
            .prepare_cached(
                "SELECT max(key) FROM (SELECT key FROM items WHERE key > ?1 AND key < ?3 ORDER BY key LIMIT ?2)",
            )?
            .query_row((done, BATCH, part.end), |row| row.get(0))?;
        // Without items up to where the next part begins that one goes on.
        let upto = upto.unwrap_or(part.end - 1);
        for (index, view) in [(part.table.as_str(), WORDS_OF), (TRIGRAMS, TRIGRAMS_OF)] {
            let sql =
                format!("INSERT INTO {index} (rowid, text) SELECT key, text FROM {view} WHERE key > ?1 AND key <= ?2");
            tx.prepare_cached(&sql)?.execute((done, upto))?;
        }
        tx.prepare_cached("UPDATE state SET value = ?1 WHERE name = 'indexed'")?.execute([upto])?;
        ask(tx)
    };
    match db::immediate(&mut db.conn, step) {
        Err(error) if is_damage(&error) => clear(db).map(|()| true),
        done => done.map_err(|error| db.fault("index the items", &error)),
    }
}

/// About how many items are not indexed yet.
pub(in crate::store) fn behind(conn: &rusqlite::Connection) -> rusqlite::Result<i64> {
    let sql = "SELECT coalesce((SELECT max(key) FROM items), 0) - (SELECT value FROM state WHERE name = 'indexed')";
    conn.prepare_cached(sql)?.query_row([], |row| row.get(0))
}

/// Indexes everything that is left.
pub(in crate::store) fn catch_up(db: &mut Db) -> Result<(), StoreError> {
    while follow(db)? {}
    db.unindexed = false;
    Ok(())
}

/// Makes the indexes again from the items.
pub(in crate::store) fn rebuild(db: &mut Db) -> Result<(), StoreError> {
    clear(db)?;
    catch_up(db)
}

fn clear(db: &mut Db) -> Result<(), StoreError> {
    // FTS5's own `rebuild` can't read the views: it knows no `json_each`.
    db.write("rebuild the search index", |tx| {
        parts::clear(tx)?;
        tx.execute(&format!("INSERT INTO {TRIGRAMS} ({TRIGRAMS}) VALUES ('delete-all')"), [])?;
        tx.execute(&format!("INSERT INTO {SUMMARIES} ({SUMMARIES}) VALUES ('rebuild')"), [])?;
        tx.execute("UPDATE state SET value = 0 WHERE name = 'indexed'", []).map(drop)
    })
}

/// Whether the indexes agree with themselves.
pub(in crate::store) fn is_sound(db: &mut Db) -> bool {
    let check = |tx: &Transaction<'_>| {
        let words = parts::all(tx)?.into_iter().map(|part| part.table);
        for index in words.chain([TRIGRAMS, SUMMARIES].map(str::to_owned)) {
            tx.execute(&format!("INSERT INTO {index} ({index}) VALUES ('integrity-check')"), [])?;
        }
        Ok(())
    };
    db.write("check the search index", check).is_ok()
}

/// Merges the indexes that hold items between these keys: only then is what was taken out of them gone.
pub(in crate::store) fn merge(db: &mut Db, (first, last): (i64, i64)) -> Result<(), StoreError> {
    let parts = db.read("look for the search indexes", parts::all)?;
    let touched = parts.into_iter().filter(|part| part.first <= last && part.end > first).map(|part| part.table);
    for index in touched.chain([TRIGRAMS.to_owned(), "summary_words".to_owned()]) {
        db.write("merge the search index", |tx| {
            tx.execute(&format!("INSERT INTO {index} ({index}) VALUES ('optimize')"), []).map(drop)
        })?;
    }
    Ok(())
}

/// The last key that is indexed; below zero: all of it is of an older form.
fn indexed(conn: &rusqlite::Connection) -> rusqlite::Result<i64> {
    conn.prepare_cached("SELECT value FROM state WHERE name = 'indexed'")?.query_row([], |row| row.get(0))
}

/// Takes a session's items out of the indexes, before they are deleted.
pub(in crate::store) fn forget(tx: &Transaction<'_>, session: i64) -> rusqlite::Result<()> {
    let done = indexed(tx)?;
    let out_of = |index: &str, view: &str, first: i64, end: i64| {
        let sql = format!(
            "INSERT INTO {index} ({index}, rowid, text) SELECT 'delete', key, text FROM {view}
             WHERE key IN (SELECT key FROM items WHERE session = ?1 AND key >= ?2 AND key < ?3)"
        );
        tx.execute(&sql, (session, first, end.min(done.saturating_add(1))))
    };
    for part in parts::all(tx)? {
        out_of(&part.table, WORDS_OF, part.first, part.end)?;
    }
    out_of(TRIGRAMS, TRIGRAMS_OF, 0, i64::MAX).map(drop)
}

/// After a deletion: SQLite gives the highest keys out again, and then they must count as not indexed.
pub(in crate::store) fn clamp(tx: &Transaction<'_>) -> rusqlite::Result<()> {
    tx.execute(
        "UPDATE state SET value = min(value, coalesce((SELECT max(key) FROM items), 0)) WHERE name = 'indexed'",
        [],
    )?;
    Ok(())
}
