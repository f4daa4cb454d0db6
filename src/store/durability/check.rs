//! Is the database still sound? Asked on a second connection that only reads, on a thread of its own, and never in the way
//! of a start or a job: after a program was killed, and once a week.

use crate::store::actor::Shared;
use crate::store::db::Db;
use rusqlite::{Connection, OpenFlags};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// The name in the table `state` of when it was asked, in milliseconds since the epoch; negative: it was
/// damaged then; 0: the answer is due.
const CHECKED: &str = "checked";
/// A week, in milliseconds.
const EVERY: i64 = 7 * 24 * 3600 * 1000;
/// The start has the disk for itself first.
const AFTER: Duration = Duration::from_secs(2);

/// Begins a check when it is time for one. A clock that went back makes it time, too.
pub(in crate::store) fn begin(db: &mut Db, was_killed: bool) {
    if db.in_memory {
        return;
    }
    let now = crate::store::now();
    let last = last(&db.conn);
    // A database that nobody checked yet is new, or was never killed under: its week begins now.
    let Some(last) = last else {
        note(db, now);
        return;
    };
    let is_due = last <= 0 || now - last > EVERY || last > now + EVERY;
    if was_killed && !is_due {
        // One that is not finished is begun again by the next start.
        note(db, 0);
    }
    if was_killed || is_due {
        spawn(&db.path, db.shared.clone(), AFTER);
    }
}

fn last(conn: &Connection) -> Option<i64> {
    conn.query_row("SELECT value FROM state WHERE name = ?1", [CHECKED], |row| row.get(0)).ok()
}

fn note(db: &mut Db, at: i64) {
    let noted = db.write("save when the database was checked", |tx| {
        tx.execute("INSERT OR REPLACE INTO state (name, value) VALUES (?1, ?2)", (CHECKED, at)).map(drop)
    });
    if let Err(error) = noted {
        tracing::debug!(%error, "the check is done again at the next start");
    }
}

fn spawn(path: &Path, shared: Arc<Shared>, after: Duration) {
    let path = path.to_owned();
    let run = move || {
        std::thread::sleep(after);
        match faults(&path) {
            Ok(faults) => shared.found(faults),
            Err(error) => tracing::debug!(%error, "could not check the database now"),
        }
    };
    if let Err(error) = std::thread::Builder::new().name("store-check".to_owned()).spawn(run) {
        tracing::debug!(%error, "no thread for the check of the database");
    }
}

/// What is wrong with the database, in SQLite's words; `None`: nothing.
fn faults(path: &Path) -> rusqlite::Result<Option<String>> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(path, flags)?;
    conn.busy_timeout(Duration::from_secs(5))?;
    match conn.query_row("PRAGMA integrity_check(1)", [], |row| row.get::<_, String>(0)) {
        Ok(text) if text == "ok" || crate::store::index::is_named_in(&text) => Ok(None),
        Ok(text) => Ok(Some(text)),
        Err(error) if crate::store::error::is_damage(&error) => Ok(Some(crate::store::error::reason(&error))),
        Err(error) => Err(error),
    }
}

/// Takes over what a check found: keeps it, and warns of damage.
pub(in crate::store) fn take_over(db: &mut Db) {
    let Some(faults) = db.shared.take_found() else { return };
    let now = crate::store::now();
    match faults {
        None => note(db, now),
        Some(why) => {
            note(db, -now);
            let why = why.split_whitespace().collect::<Vec<_>>().join(" ");
            let path = db.path.display();
            let told = format!("{path} is damaged ({why}); recover it with `hermes sessions repair`");
            db.shared.set_damage(Some(told));
        }
    }
}

/// After a repair all is sound.
pub(super) fn repaired(db: &mut Db) {
    db.shared.set_damage(None);
    note(db, crate::store::now());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damage_is_found_and_a_sound_file_is_sound() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("a.db");
        let conn = Connection::open(&path).unwrap();
        conn.execute_batch("CREATE TABLE t (x TEXT); CREATE INDEX i ON t (x)").unwrap();
        for number in 0..500 {
            conn.execute("INSERT INTO t VALUES (?1)", [format!("row {number} {}", "x".repeat(50))]).unwrap();
        }
        drop(conn);
        assert_eq!(faults(&path).unwrap(), None);
        let mut bytes = std::fs::read(&path).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle..middle + 4096].fill(0xa5);
        std::fs::write(&path, bytes).unwrap();
        assert!(faults(&path).unwrap().is_some());
    }

    #[tokio::test]
    async fn a_damaged_index_of_summaries_is_no_damaged_database() {
        let home = tempfile::tempdir().unwrap();
        let store = crate::store::Store::spawn(home.path());
        let one = crate::protocol::SessionId("one".into());
        let body = crate::protocol::Body::Note { kind: crate::protocol::NoteKind::Info, text: "x".into() };
        let item = crate::protocol::Item { id: crate::protocol::ItemId(1), at: 1, turn: 1, body };
        store.append(&one, vec![item]).await.unwrap();
        let summary = crate::store::Summary { text: "a walrus".into(), by: "extract".into(), ..Default::default() };
        store.save_summary(&one, summary, None).await.unwrap();
        store.close().await;
        let path = home.path().join("state.db");
        let conn = Connection::open(&path).unwrap();
        conn.execute("UPDATE summary_words_data SET block = zeroblob(length(block)) WHERE id > 10", []).unwrap();
        let answer: String = conn.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0)).unwrap();
        assert!(answer.contains("summary_words"), "{answer}");
        drop(conn);
        assert_eq!(faults(&path).unwrap(), None);
    }
}
