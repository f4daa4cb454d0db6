//! How many bytes saving costs: counted where they are written, added up in the database when a program ends.

use crate::store::actor::Shared;
use crate::store::db::Db;
use rusqlite::{Connection, Transaction};
use std::ffi::c_int;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Pages in the log from which on they are moved into the database: 16 MB.
const CHECKPOINT: c_int = 4000;
/// Bytes of a page in the log: its own and its head.
const FRAME: u64 = 4096 + 24;
/// Names in the table `state`.
const JOURNALS: &str = "written:journals";
const LOG: &str = "written:log";

/// Bytes of this process.
#[derive(Default)]
pub(in crate::store) struct Written {
    log: AtomicU64,
    /// What of both was added up already.
    noted: AtomicU64,
}

/// Counts what each commit adds to the log, and moves the log into the database when it is long.
pub(in crate::store) fn follow(conn: &mut Connection, shared: Arc<Shared>) -> rusqlite::Result<()> {
    let mut before = 0;
    conn.wal_hook(Some(move |log: &mut rusqlite::hooks::Wal, pages: c_int| {
        // A log that was moved begins again.
        let new = if pages > before { pages - before } else { pages };
        before = pages;
        shared.written.log.fetch_add(u64::from(new.unsigned_abs()) * FRAME, Ordering::Relaxed);
        if pages >= CHECKPOINT {
            // Another process may be at it; then a later commit does it.
            let _ = log.checkpoint();
        }
        Ok(())
    }))
}

/// Adds what this process wrote to the sums. One small row: it is done with other work, once, at the end.
pub(in crate::store) fn note(tx: &Transaction<'_>, journals: u64, shared: &Shared) -> rusqlite::Result<()> {
    let log = shared.written.log.swap(0, Ordering::Relaxed);
    let already = shared.written.noted.swap(journals, Ordering::Relaxed);
    let sql = "INSERT INTO state (name, value) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET value = value + ?2";
    for (name, bytes) in [(JOURNALS, journals.saturating_sub(already)), (LOG, log)] {
        tx.execute(sql, (name, i64::try_from(bytes).unwrap_or(i64::MAX)))?;
    }
    Ok(())
}

/// Bytes that this process wrote since its start.
pub(in crate::store) fn here(db: &Db) -> u64 {
    db.journal.written + db.shared.written.log.load(Ordering::Relaxed)
}

/// Bytes that went to journals and to the log of the database: the sums of programs that ended, and this one's.
pub(super) fn sums(db: &Db) -> Result<(u64, u64), crate::store::StoreError> {
    let noted = |conn: &Connection, name: &str| -> rusqlite::Result<u64> {
        let sum = conn.query_row("SELECT coalesce(sum(value), 0) FROM state WHERE name = ?1", [name], |row| {
            row.get::<_, i64>(0)
        })?;
        Ok(u64::try_from(sum).unwrap_or(0))
    };
    let (journals, log) = db.read("read what was written", |conn| Ok((noted(conn, JOURNALS)?, noted(conn, LOG)?)))?;
    let already = db.shared.written.noted.load(Ordering::Relaxed);
    let now = db.shared.written.log.load(Ordering::Relaxed);
    Ok((journals + db.journal.written.saturating_sub(already), log + now))
}
