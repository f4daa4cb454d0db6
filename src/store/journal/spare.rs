//! Journals that nobody needs any more.

use super::{marker, name, take_in};
use crate::fs::remove;
use crate::protocol::SessionId;
use crate::store::db::Db;
use crate::store::life::on_disk;
use rusqlite::Connection;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// One that was touched since is left alone: its session may only begin.
const FRESH: Duration = Duration::from_secs(24 * 3600);
/// Whether the last check of the database found it sound: `state` has its time.
const SOUND: &str = "SELECT EXISTS (SELECT 1 FROM state WHERE name = 'checked' AND value > 0)";

/// A journal that can go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpareJournal {
    path: PathBuf,
    /// What it takes on the disk.
    pub bytes: u64,
}

impl SpareJournal {
    /// The name of the file.
    pub(in crate::store) fn name(&self) -> &str {
        self.path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
    }

    /// Deletes it from this home. The next entry of its session begins it anew, with what the database has.
    ///
    /// # Errors
    /// The system refuses.
    pub fn remove(&self, home: &Path) -> std::io::Result<bool> {
        Ok(remove::file(remove::File::Journal, home, &self.path)?)
    }
}

/// Whether another program works on this home.
pub(in crate::store) fn others_work(db: &Db) -> bool {
    marker::others(&db.home, &db.journal.marker, db.pid).iter().any(|left| left.is_alive)
        || db
            .conn
            .prepare("SELECT pid, born, marker FROM live WHERE NOT (pid = ?1 AND born = ?2)")
            .and_then(|mut get| {
                let read = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get::<_, String>(2)?));
                let rows = get.query_map([db.pid, db.born], read)?;
                Ok(rows.flatten().any(|(pid, born, marker)| marker::runs(&db.home, pid, born, &marker)))
            })
            .unwrap_or(false)
}

/// Those of sessions that are gone, when they hold no entry: one that does may be all that is left of its session. With
/// `rested_before` also those of sessions that were last used before that time, when the database was found sound.
pub(in crate::store) fn spare(
    conn: &Connection,
    home: &Path,
    me: i64,
    rested_before: Option<i64>,
) -> rusqlite::Result<Vec<SpareJournal>> {
    let mut get = conn.prepare("SELECT id, max(updated_at, coalesce(ended_at, 0)) FROM sessions")?;
    let rows = get.query_map([], |row| Ok((name(&SessionId(row.get(0)?)), row.get(1)?)))?;
    let used: HashMap<String, i64> = rows.collect::<rusqlite::Result<_>>()?;
    let is_sound: bool = conn.query_row(SOUND, [], |row| row.get(0))?;
    // One that stands in a marker is written to, or holds what the database may lack.
    let marked = marker::others(home, &marker::Marker::default(), me);
    let marked: HashSet<&String> = marked.iter().flat_map(|left| left.journals.iter().map(|(name, _)| name)).collect();
    let now = SystemTime::now();
    let mut spare = Vec::new();
    for path in take_in::journals(home) {
        let Some(name) = path.file_name().and_then(|name| name.to_str()).map(str::to_owned) else { continue };
        let Ok(about) = path.metadata() else { continue };
        let is_fresh = about.modified().ok().and_then(|at| now.duration_since(at).ok()).is_none_or(|age| age < FRESH);
        if marked.contains(&name) || is_fresh {
            continue;
        }
        let goes = match used.get(&name) {
            Some(used) => is_sound && rested_before.is_some_and(|before| *used < before),
            None => !take_in::holds_items(&path),
        };
        if goes {
            spare.push(SpareJournal { bytes: on_disk(&about), path });
        }
    }
    Ok(spare)
}

/// What the journal of a session takes on the disk.
pub(in crate::store) fn size(home: &Path, session: &SessionId) -> u64 {
    super::path(home, session).metadata().map_or(0, |about| on_disk(&about))
}

/// What all journals take on the disk.
pub(in crate::store) fn all_bytes(home: &Path) -> u64 {
    take_in::journals(home).iter().filter_map(|path| path.metadata().ok()).map(|about| on_disk(&about)).sum()
}
