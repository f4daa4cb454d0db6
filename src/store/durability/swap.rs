//! A database that was made anew takes the place of others. At no moment is there none: whenever the program is killed or
//! the disk refuses, the old one is in its place, or the new one.

use super::beside;
use crate::fs::remove;
use crate::store::open::{self, Found};
use rusqlite::Connection;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The name in the home of a new database that is whole and on the disk.
pub(in crate::store) const WHOLE: &str = "repaired.db";

/// Closes a new database so that its file alone holds everything, on the disk.
///
/// # Errors
/// In words: what is in its log does not fit into it, or does not reach the disk.
pub(super) fn seal(fresh: Connection, path: &Path) -> Result<(), String> {
    // Leaving WAL moves the log into the file, or fails; a close would fail silently.
    let mode: rusqlite::Result<String> = fresh.query_row("PRAGMA journal_mode = DELETE", [], |row| row.get(0));
    let mode = mode.map_err(|error| crate::store::error::reason(&error))?;
    fresh.close().map_err(|(_, error)| crate::store::error::reason(&error))?;
    if !mode.eq_ignore_ascii_case("delete") || beside(path, "-wal").exists() {
        return Err("its log is still needed".to_owned());
    }
    File::open(path).and_then(|file| file.sync_all()).map_err(|error| error.to_string().to_lowercase())
}

/// One step of the change.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// The file gets a second name.
    Keep(PathBuf, PathBuf),
    Move(PathBuf, PathBuf),
    /// The index of a log that is elsewhere now is worthless.
    DropIndex(PathBuf),
}

/// How the new database `fresh` takes the place at `target` of all `sources`, which get names with `stamp` in them.
pub(super) fn steps(home: &Path, fresh: &Path, sources: &[PathBuf], target: &Path, stamp: &str) -> Vec<Step> {
    let whole = home.join(WHOLE);
    let mut steps = vec![Step::Keep(whole.clone(), kept(&whole, stamp)), Step::Move(fresh.to_owned(), whole.clone())];
    let kept = |source: &Path| kept(source, stamp);
    let set_aside_log = |steps: &mut Vec<Step>, source: &Path| {
        steps.push(Step::Move(beside(source, "-wal"), beside(&kept(source), "-wal")));
        steps.push(Step::DropIndex(beside(source, "-shm")));
    };
    // Two names of one file say that it is being replaced: see `finish`.
    if sources.iter().any(|source| source == target) {
        steps.push(Step::Keep(target.to_owned(), kept(target)));
        // Before the file: a log must never meet another database.
        set_aside_log(&mut steps, target);
    }
    steps.push(Step::Move(whole.clone(), target.to_owned()));
    for source in sources.iter().filter(|source| *source != target && **source != whole) {
        set_aside_log(&mut steps, source);
        steps.push(Step::Move(source.clone(), kept(source)));
    }
    steps
}

/// The name that a database has once it was replaced.
pub(super) fn kept(source: &Path, stamp: &str) -> PathBuf {
    beside(source, &format!(".before-{stamp}"))
}

/// Does one step. What is not there needs none.
pub(super) fn run(home: &Path, step: &Step) -> io::Result<()> {
    let done = match step {
        // Some file systems have no second names.
        Step::Keep(from, to) => fs::hard_link(from, to).or_else(|_| fs::copy(from, to).map(drop)),
        Step::Move(from, to) => fs::rename(from, to),
        Step::DropIndex(path) => {
            if let Err(error) = remove::file(remove::File::LogIndex, home, path) {
                tracing::debug!("{error}");
            }
            Ok(())
        }
    };
    match done {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

/// Ends a change that was cut off. The old database that still stands in its place has a second name by then. One that has
/// none, or was written to since, is in use, and the next repair takes the new one in.
pub(in crate::store) fn finish(home: &Path) {
    let whole = home.join(WHOLE);
    let Ok(made) = fs::metadata(&whole).and_then(|about| about.modified()) else { return };
    if open::look(&whole) != Found::Ours {
        return;
    }
    let target = super::primary(home);
    let may_go = match fs::metadata(&target) {
        Ok(about) => about.nlink() > 1 && about.modified().is_ok_and(|changed| changed <= made),
        Err(error) => error.kind() == ErrorKind::NotFound,
    };
    if !may_go {
        return;
    }
    let rest = [
        Step::Move(beside(&target, "-wal"), beside(&kept(&target, "repair"), "-wal")),
        Step::DropIndex(beside(&target, "-shm")),
        Step::Move(whole.clone(), target),
    ];
    if let Err(error) = rest.iter().try_for_each(|step| run(home, step)) {
        tracing::warn!("a repaired database is left at {}: {error}", whole.display());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{Body, Item, ItemId, NoteKind, SessionId};
    use crate::store::Store;

    async fn keep(store: &Store, session: &str) {
        let body = Body::Note { kind: NoteKind::Info, text: "hello".to_owned() };
        let item = Item { id: ItemId(1), at: 1, turn: 1, body };
        store.append(&SessionId(session.to_owned()), vec![item]).await.unwrap();
    }

    #[tokio::test]
    async fn a_repair_that_is_cut_off_anywhere_leaves_a_database() {
        for stop in 0.. {
            let folder = tempfile::tempdir().unwrap();
            let home = folder.path();
            let store = Store::spawn(home);
            keep(&store, "one").await;
            store.close().await;
            // What was said in the meantime, in a file of another day.
            fs::copy(home.join("state.db"), home.join("hermes-20260101.db")).unwrap();
            fs::remove_dir_all(home.join("journal")).unwrap();
            let fresh = home.join("repair-now.tmp");
            fs::copy(home.join("state.db"), &fresh).unwrap();
            fs::write(home.join("state.db-wal"), "a log").unwrap();
            let target = home.join("state.db");
            let sources = [target.clone(), home.join("hermes-20260101.db")];
            let steps = steps(home, &fresh, &sources, &target, "now");
            for step in &steps[..stop] {
                run(home, step).unwrap();
                assert!(target.exists(), "{step:?}");
            }
            let again = Store::spawn(home);
            assert_eq!(again.opened().await.warning, None, "after {stop}");
            assert_eq!(again.list("", None, 9).await.unwrap().len(), 1, "after {stop}");
            keep(&again, "two").await;
            again.repair().await.unwrap();
            assert_eq!(again.list("", None, 9).await.unwrap().len(), 2, "after {stop}");
            again.close().await;
            assert!(!home.join(WHOLE).exists(), "after {stop}");
            if stop == steps.len() {
                return;
            }
        }
    }

    #[test]
    fn a_new_database_whose_log_stays_is_no_new_database() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("repair-now.tmp");
        let fresh = open::fresh(&path).unwrap();
        fresh.execute("INSERT INTO history (text) VALUES ('hello')", []).unwrap();
        // Who reads keeps the log in its place, as a full disk does.
        let reader = open::connect(&path).unwrap();
        reader.execute_batch("BEGIN; SELECT * FROM history").unwrap();
        assert!(seal(fresh, &path).is_err());
        drop(reader);
        let fresh = open::fresh(&path).unwrap();
        assert_eq!(seal(fresh, &path), Ok(()));
        assert!(!beside(&path, "-wal").exists());
    }
}
