//! The database's identity and its migrations.

use rusqlite::{Connection, Transaction};

/// `application_id` of our databases: the letters `HRMS`. It stands in bytes 68..72 of the file.
pub const APPLICATION_ID: i32 = 0x4852_4D53;

/// One script a version; script n takes the database from `user_version` n to n + 1. Never edited once released.
const MIGRATIONS: &[&str] = &[
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/assets/migrations/0001_sessions.sql")),
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/assets/migrations/0002_rewind.sql")),
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/assets/migrations/0003_audit.sql")),
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/assets/migrations/0004_places.sql")),
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/assets/migrations/0005_checkpoints.sql")),
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/assets/migrations/0006_search.sql")),
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/assets/migrations/0007_life.sql")),
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/assets/migrations/0008_substrings.sql")),
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/assets/migrations/0009_tool_uses.sql")),
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/assets/migrations/0010_marks.sql")),
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/assets/migrations/0011_plain_words.sql")),
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/assets/migrations/0012_running_commands.sql")),
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/assets/migrations/0013_inner_calls.sql")),
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/assets/migrations/0014_reservations.sql")),
];

/// The `user_version` that this program writes.
pub(super) const VERSION: i64 = MIGRATIONS.len() as i64;

/// The `user_version` that the database has.
pub(super) fn version(conn: &Connection) -> rusqlite::Result<i64> {
    conn.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// Brings the database to [`VERSION`]. The identity is set in the same transaction as the first table, and before WAL is
/// turned on: a database of ours has its id in the file itself from its first byte on, whenever the program is killed.
pub(super) fn migrate(tx: &Transaction<'_>) -> rusqlite::Result<()> {
    migrate_to(tx, VERSION)
}

/// Brings it to an earlier version, as older programs left it.
pub(super) fn migrate_to(tx: &Transaction<'_>, to: i64) -> rusqlite::Result<()> {
    let from = version(tx)?;
    if from == 0 {
        tx.pragma_update(None, "application_id", APPLICATION_ID)?;
    }
    let scripts = usize::try_from(from).unwrap_or(usize::MAX)..usize::try_from(to).unwrap_or(0);
    for script in MIGRATIONS.get(scripts).unwrap_or_default() {
        tx.execute_batch(script)?;
    }
    tx.pragma_update(None, "user_version", to)
}
