//! The open database as the actor holds it: the connection, its place, and writing with bounded patience.

use super::actor::Shared;
use super::error::{StoreError, is_busy};
use rusqlite::{Connection, Transaction, TransactionBehavior};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Tries for the write lock, each with SQLite's own wait of [`BUSY`] and a pause of 20 to 150 ms between them.
pub(super) const TRIES: u32 = 15;

/// How long SQLite waits for a lock by itself.
pub(super) const BUSY: Duration = Duration::from_millis(100);

/// The one connection and what belongs to it. Lives on the actor's thread.
pub(super) struct Db {
    pub conn: Connection,
    /// Where the database is, or would be when it is in memory.
    pub path: PathBuf,
    pub home: PathBuf,
    /// Nothing is kept when the program ends.
    pub in_memory: bool,
    /// Items may be missing in the search indexes.
    pub unindexed: bool,
    pub journal: super::journal::Journal,
    pub pending: super::journal::pending::Pending,
    /// Tries for the write lock after the first.
    pub tries: u32,
    /// Another program held it the last time: who waits for this thread must not wait that long for each job.
    pub is_locked: bool,
    pub shared: Arc<Shared>,
    /// This process, as the table `live` names it.
    pub pid: i64,
    pub born: i64,
}

impl Db {
    /// Runs one write transaction: committed whole, or not at all.
    pub fn write<T>(
        &mut self,
        doing: &'static str,
        work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        self.try_write(work).map_err(|error| StoreError::database(doing, &self.path, &error))
    }

    /// The same with SQLite's error.
    pub fn try_write<T>(&mut self, work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>) -> rusqlite::Result<T> {
        // Who is refused all the time must not hold up everybody who waits for this thread.
        let tries = if self.is_locked { 0 } else { self.tries };
        let done = immediate_within(&mut self.conn, tries, work);
        self.is_locked = done.as_ref().is_err_and(is_busy);
        done
    }

    /// Runs reads that see one state of the database.
    pub fn read<T>(
        &self,
        doing: &'static str,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        let snapshot = || {
            let tx = self.conn.unchecked_transaction()?;
            work(&tx)
        };
        snapshot().map_err(|error| self.fault(doing, &error))
    }

    /// The error of this database.
    pub fn fault(&self, doing: &'static str, error: &rusqlite::Error) -> StoreError {
        StoreError::database(doing, &self.path, error)
    }
}

/// A transaction that has the write lock from its start, so that nothing in it can meet a lock.
pub(super) fn immediate<T>(
    conn: &mut Connection,
    work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<T> {
    immediate_within(conn, TRIES, work)
}

/// The same with so many tries for the lock after the first.
pub(super) fn immediate_within<T>(
    conn: &mut Connection,
    most: u32,
    work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<T> {
    let mut tries = 0;
    let tx = loop {
        // The transaction is unchecked only for the borrow checker's sake: this is the connection's one owner.
        match Transaction::new_unchecked(conn, TransactionBehavior::Immediate) {
            Err(error) if is_busy(&error) && tries < most => {
                tries += 1;
                std::thread::sleep(Duration::from_millis(fastrand::u64(20..150)));
            }
            begun => break begun?,
        }
    };
    let done = work(&tx)?;
    tx.commit()?;
    Ok(done)
}

/// When a process started, in the system's own unit; `None` when there is no such process. Told apart from a later process
/// of the same id where `/proc` says it.
pub(super) fn birth(pid: i64) -> Option<i64> {
    if !Path::new("/proc/self/stat").exists() {
        let pid = rustix::process::Pid::from_raw(i32::try_from(pid).ok()?)?;
        return rustix::process::test_kill_process(pid).ok().map(|()| 0);
    }
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name stands in parentheses and may hold anything; fields count from behind it: state, …, start time as the 20th.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?;
    if matches!(state, "Z" | "X") {
        return None;
    }
    fields.nth(18)?.parse().ok()
}
