//! Files of a home that nobody needs any more, whatever becomes of its sessions.

use super::Part;
use crate::checkpoints::{NO_SESSION, Named};
use crate::config::Paths;
use crate::fs::remove;
use crate::recordings;
use crate::store::on_disk;
use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

const DAY: Duration = Duration::from_secs(24 * 3600);
/// Copies of the database from before a new version changed it.
pub const OLD_BACKUP: Duration = Duration::from_secs(30 * 24 * 3600);
/// What a program left in its cache for longer than this is of no use to it.
pub const STALE: Duration = Duration::from_secs(7 * 24 * 3600);
/// Days after which a checkpoint goes whose session is gone.
const ORPHAN_DAYS: i64 = 30;

/// They.
#[derive(Clone, Debug, Default)]
pub(super) struct Files {
    home: PathBuf,
    /// Folders of recordings of sessions that are gone.
    recordings: Vec<(PathBuf, u64)>,
    backups: Vec<(PathBuf, u64)>,
    spilled: Vec<(PathBuf, u64)>,
}

impl Files {
    /// Looks for them; `ids` are those of all sessions.
    pub fn spare(paths: &Paths, ids: &HashSet<String>) -> Self {
        let home = paths.home.clone();
        let known: HashSet<PathBuf> = ids.iter().map(|id| recordings::folder(&home, id)).collect();
        // One that begins now stands in the database a moment later.
        let recordings = recordings::folders(&home)
            .into_iter()
            .filter(|(folder, _, changed)| {
                !known.contains(folder) && is_older(*changed, DAY) && !has_journal(&home, folder)
            })
            .map(|(folder, bytes, _)| (folder, bytes))
            .collect();
        let mut backups = old(&home.join("backups"), 1, OLD_BACKUP);
        backups.retain(|(path, _)| path.extension().is_some_and(|ending| ending == "db"));
        Self { recordings, backups, spilled: old(&paths.spill(), 3, STALE), home }
    }

    pub fn home(&self) -> &Path {
        &self.home
    }

    /// How many recordings without a session there are, and what they take.
    pub fn recordings(&self) -> (usize, u64) {
        (self.recordings.len(), self.recordings.iter().map(|(_, bytes)| bytes).sum())
    }

    /// All others, by kind.
    pub fn parts(&self) -> [Part; 2] {
        let part = |kind, files: &[(PathBuf, u64)]| Part {
            kind,
            count: files.len() as u64,
            bytes: files.iter().map(|(_, bytes)| bytes).sum(),
        };
        [part("old backups", &self.backups), part("spilled output", &self.spilled)]
    }

    /// Deletes them; returns those that are still there.
    pub fn remove(&self) -> Vec<(PathBuf, io::Error)> {
        let mut failed = Vec::new();
        for (folder, _) in &self.recordings {
            if let Err(error) = recordings::clear(&self.home, folder) {
                failed.push((folder.clone(), error));
            }
        }
        let backups = self.backups.iter().map(|(path, _)| (remove::File::Backup, path));
        let spilled = self.spilled.iter().map(|(path, _)| (remove::File::Spill, path));
        for (kind, path) in backups.chain(spilled) {
            if let Err(error) = remove::file(kind, &self.home, path) {
                failed.push((path.clone(), error.into()));
            }
            if kind == remove::File::Spill
                && let Some(folder) = path.parent()
            {
                remove::emptied(&self.home, folder);
            }
        }
        failed
    }
}

/// Whether a checkpoint belongs to a session that is gone, and is old.
pub(super) fn is_orphan(named: &Named, ids: &HashSet<String>) -> bool {
    named.session != NO_SESSION && !ids.contains(&named.session) && named.at < super::now() - ORPHAN_DAYS * super::DAY
}

/// A session that the database lost may come back from its journal, and then its recordings are its again.
fn has_journal(home: &Path, folder: &Path) -> bool {
    let name = folder.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    home.join("journal").join(format!("{name}.journal")).exists()
}

fn is_older(changed: SystemTime, age: Duration) -> bool {
    changed.elapsed().is_ok_and(|past| past > age)
}

/// Regular files in a folder, so many folders deep, that were not changed for so long.
fn old(folder: &Path, deep: usize, age: Duration) -> Vec<(PathBuf, u64)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let Ok(about) = entry.metadata() else { continue };
        if about.is_dir() && deep > 1 {
            found.extend(old(&entry.path(), deep - 1, age));
        } else if about.is_file() && about.modified().is_ok_and(|at| is_older(at, age)) {
            found.push((entry.path(), on_disk(&about)));
        }
    }
    found
}

/// What a file takes on the disk; 0: it is not there.
pub(super) fn bytes_of(path: &Path) -> u64 {
    path.symlink_metadata().map_or(0, |about| on_disk(&about))
}

/// What is in a folder takes so much on the disk.
pub(super) fn bytes_in(folder: &Path) -> u64 {
    let mut sum = 0;
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let Ok(about) = entry.metadata() else { continue };
        sum += on_disk(&about) + if about.is_dir() { bytes_in(&entry.path()) } else { 0 };
    }
    sum
}

/// What those parts of a home take that anything may go from.
pub(super) fn taken(paths: &Paths) -> u64 {
    let folders = ["journal", "recordings", "checkpoints", "history", "backups"].map(|name| paths.home.join(name));
    let below: u64 = folders.iter().chain([&paths.spill()]).map(|folder| bytes_in(folder)).sum();
    let files = std::fs::read_dir(&paths.home).into_iter().flatten().flatten();
    let files = files.filter(|entry| entry.file_name().to_str().is_some_and(|name| name.contains(".db")));
    below + files.map(|entry| bytes_of(&entry.path())).sum::<u64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_old_and_nobodys_is_spare() {
        let home = tempfile::tempdir().unwrap();
        let paths = Paths::at(home.path());
        let put = |name: &str, days: u64| {
            let path = home.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, "x").unwrap();
            let at = SystemTime::now() - DAY * u32::try_from(days).unwrap();
            std::fs::File::options().write(true).open(&path).unwrap().set_modified(at).unwrap();
        };
        put("backups/state-schema-4-a.db", 40);
        put("backups/state-schema-5-b.db", 3);
        put("backups/notes.txt", 400);
        put("cache/spill/1/2.log", 8);
        put("cache/spill/1/3.log", 2);
        put("cache/spill/9/call/2.log", 8);
        put("recordings/gone/1.rec", 2);
        put("recordings/lost/1.rec", 2);
        put("journal/lost.journal", 2);
        put("recordings/begins/1.rec", 0);
        put("recordings/here/1.rec", 9);
        let files = Files::spare(&paths, &HashSet::from(["here".to_owned()]));
        let names = |files: &[(PathBuf, u64)]| {
            let mut names: Vec<String> =
                files.iter().map(|(path, _)| path.strip_prefix(home.path()).unwrap().display().to_string()).collect();
            names.sort();
            names
        };
        assert_eq!(names(&files.recordings), ["recordings/gone"]);
        assert_eq!(names(&files.backups), ["backups/state-schema-4-a.db"]);
        assert_eq!(names(&files.spilled), ["cache/spill/1/2.log", "cache/spill/9/call/2.log"]);
        let (before, said) = (taken(&paths), files.parts().iter().map(|part| part.bytes).sum::<u64>());
        assert!(files.remove().is_empty());
        assert!(!home.path().join("recordings/gone").exists() && !home.path().join("cache/spill/9/call").exists());
        assert!(home.path().join("recordings/lost/1.rec").exists() && home.path().join("cache/spill/1/3.log").exists());
        assert!(before - taken(&paths) >= said);
    }
}
