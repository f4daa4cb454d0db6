//! What children changed belongs to the turn of the call that began them. What they did in worktrees is not: it stays on their
//! branches.

use super::{CHANGE, FileChange, change};
use crate::protocol::{ItemId, SessionId};
use rusqlite::Connection;

/// The children of session ?1 that began at the time ?2 or later, and all below them; without those that work in a worktree.
const KIN: &str = "WITH RECURSIVE kin(key) AS (
    SELECT s.key FROM sessions s JOIN sessions p ON p.key = s.parent WHERE s.parent = ?1 AND s.source = 'child'
      AND s.started_at >= ?2 AND NOT (s.cwd LIKE '%-worktrees/%' AND substr(s.cwd, 1, length(p.cwd)) <> p.cwd)
    UNION SELECT s.key FROM sessions s JOIN kin ON s.parent = kin.key WHERE s.source = 'child')";

/// When a prompt was said.
pub(super) fn said(conn: &Connection, key: i64, item: ItemId) -> rusqlite::Result<i64> {
    conn.prepare_cached("SELECT at FROM items WHERE session = ?1 AND id = ?2")?
        .query_row((key, item.0), |row| row.get(0))
}

/// The children that began since then.
pub(super) fn sessions(conn: &Connection, key: i64, since: i64) -> rusqlite::Result<Vec<SessionId>> {
    let sql = format!("{KIN} SELECT id FROM sessions WHERE key IN (SELECT key FROM kin) ORDER BY started_at, key");
    conn.prepare_cached(&sql)?.query_map((key, since), |row| row.get(0).map(SessionId))?.collect()
}

/// Changes that are in effect of children that began since then.
pub(super) fn changes(conn: &Connection, key: i64, since: i64) -> rusqlite::Result<Vec<FileChange>> {
    let sql = format!(
        "{KIN} SELECT {CHANGE} FROM changes WHERE session IN (SELECT key FROM kin) AND undone = 0 ORDER BY at, key"
    );
    conn.prepare_cached(&sql)?.query_map((key, since), change)?.collect()
}

/// Marks what they changed in a file as put back by a rewind.
pub(super) fn undo(
    conn: &Connection,
    (key, since): (i64, i64),
    number: i64,
    (place, path): (&str, &[u8]),
) -> rusqlite::Result<()> {
    let sql = format!(
        "{KIN} UPDATE changes SET undone = ?3 WHERE session IN (SELECT key FROM kin) AND undone = 0 AND path = ?4 AND place = ?5"
    );
    conn.prepare_cached(&sql)?.execute((key, since, number, path, place)).map(drop)
}

/// They are in effect again.
pub(super) fn redo(conn: &Connection, key: i64, number: i64) -> rusqlite::Result<()> {
    let sql = format!("{KIN} UPDATE changes SET undone = 0 WHERE session IN (SELECT key FROM kin) AND undone = ?3");
    conn.prepare_cached(&sql)?.execute((key, i64::MIN, number)).map(drop)
}

/// When the last child began that changed a file, for each file that children changed.
pub(super) fn began(conn: &Connection, key: i64) -> rusqlite::Result<Vec<i64>> {
    let sql = format!(
        "{KIN} SELECT max(s.started_at) FROM changes c JOIN sessions s ON s.key = c.session
         WHERE c.session IN (SELECT key FROM kin) AND c.undone = 0 AND NOT EXISTS (
           SELECT 1 FROM changes o WHERE o.session = ?1 AND o.undone = 0 AND o.path = c.path AND o.place = c.place)
         GROUP BY c.place, c.path"
    );
    conn.prepare_cached(&sql)?.query_map((key, i64::MIN), |row| row.get(0))?.collect()
}
