//! Databases of other programs, opened so that nothing of theirs changes.

use rusqlite::{Connection, OpenFlags};
use std::path::Path;
use std::time::Duration;

/// How long another program's lock is waited for.
const BUSY: Duration = Duration::from_millis(500);

/// Opens a database for reading. While its log lies next to it, its program may be running, and the log is read, too;
/// else it is read as it is, without a lock or a file of ours.
pub(super) fn open(path: &Path) -> Result<Connection, String> {
    super::files::open(path)?;
    let beside = |ending: &str| {
        let mut name = path.as_os_str().to_owned();
        name.push(ending);
        Path::new(&name).exists()
    };
    let mode = if beside("-wal") || beside("-shm") { "mode=ro" } else { "mode=ro&immutable=1" };
    let escaped = path.to_string_lossy().replace('%', "%25").replace('?', "%3f").replace('#', "%23");
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let told = |error: rusqlite::Error| format!("{}: {error}", path.display()).to_lowercase();
    let conn = Connection::open_with_flags(format!("file:{escaped}?{mode}"), flags).map_err(told)?;
    conn.busy_timeout(BUSY).map_err(told)?;
    conn.pragma_update(None, "query_only", true).map_err(told)?;
    Ok(conn)
}

/// The columns of a table; none when there is no such table.
pub(super) fn columns(conn: &Connection, table: &str) -> Vec<String> {
    let names = conn.prepare(&format!("PRAGMA table_info({table})")).and_then(|mut statement| {
        statement.query_map([], |row| row.get::<_, String>(1))?.collect::<rusqlite::Result<Vec<_>>>()
    });
    names.unwrap_or_default()
}

/// `wanted` columns of a table, those that it lacks as NULL: older versions have fewer.
pub(super) fn select(conn: &Connection, table: &str, wanted: &[&str]) -> String {
    let there = columns(conn, table);
    let column = |name: &&str| {
        if there.iter().any(|known| known == name) { format!("{table}.{name}") } else { format!("NULL AS {name}") }
    };
    wanted.iter().map(column).collect::<Vec<_>>().join(", ")
}
