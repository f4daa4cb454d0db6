//! A copy of the database before its schema is changed, in `HERMES_HOME/backups`: an older version can go on with it.

use crate::fs::remove;
use rusqlite::Connection;
use std::fs::{self, DirBuilder, OpenOptions};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The folder in the home.
pub(in crate::store) const FOLDER: &str = "backups";
/// Copies that are kept, the newest.
const KEPT: usize = 3;

/// Copies the database as it is and returns where to; older copies beyond [`KEPT`] go.
pub(super) fn before_migration(conn: &Connection, path: &Path, from: i64) -> rusqlite::Result<PathBuf> {
    let home = path.parent().unwrap_or(path);
    let folder = home.join(FOLDER);
    let refused = |error: std::io::Error| rusqlite::Error::ToSqlConversionFailure(Box::new(error));
    DirBuilder::new().recursive(true).mode(0o700).create(&folder).map_err(refused)?;
    let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or("state");
    let stamp = chrono::Local::now().format("%Y%m%d-%H%M%S");
    let name = format!("{stem}-schema-{from}-{stamp}-{:06x}.db", fastrand::u32(..1 << 24));
    let target = folder.join(name);
    // SQLite writes into an empty file that is there, and its permissions stay.
    OpenOptions::new().create_new(true).write(true).mode(0o600).open(&target).map_err(refused)?;
    let copied = conn.execute("VACUUM INTO ?1", [target.to_string_lossy()]);
    if let Err(error) = copied {
        forget(home, &target);
        return Err(error);
    }
    for old in copies(home).into_iter().skip(KEPT) {
        forget(home, &old);
    }
    Ok(target)
}

fn forget(home: &Path, path: &Path) {
    if let Err(error) = remove::file(remove::File::Backup, home, path) {
        tracing::warn!("{error}");
    }
}

/// All copies of a home, the newest first.
fn copies(home: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(home.join(FOLDER)).into_iter().flatten().flatten();
    let mut found: Vec<_> = entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "db"))
        .map(|path| (path.metadata().and_then(|about| about.modified()).ok(), path))
        .collect();
    found.sort();
    found.into_iter().rev().map(|(_, path)| path).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn copies_are_private_and_few() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("state.db");
        let conn = Connection::open(&path).unwrap();
        conn.execute_batch("CREATE TABLE t (x); INSERT INTO t VALUES (7)").unwrap();
        let last = (0..5).map(|_| before_migration(&conn, &path, 4).unwrap()).last().unwrap();
        assert_eq!(copies(home.path()).len(), KEPT);
        assert_eq!(fs::metadata(&last).unwrap().permissions().mode() & 0o777, 0o600);
        let copy = Connection::open(&last).unwrap();
        assert_eq!(copy.query_row("SELECT x FROM t", [], |row| row.get::<_, i64>(0)).unwrap(), 7);
    }
}
