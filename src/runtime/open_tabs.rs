//! Which sessions are open in this window, on the disk: a window that was killed comes back with them.
//!
//! Each window has a list and a lock in `HERMES_HOME/run`. A list whose lock nobody holds is of a window that was killed; one
//! that is left in order becomes the last list, which `hermes -c --all` opens.

use crate::app::model::tab::KeptTab;
use crate::config::paths::Paths;
use crate::fs::remove;
use crate::fs::{ensure_dir, write_atomic};
use rustix::fs::{FlockOperation, flock};
use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

/// The list of the window that was left last.
const LAST: &str = "tabs.json";
/// Lists that are older than these many others are dropped: nobody came back for them.
const LISTS: usize = 16;

/// The list of this window, and its lock while it is open.
#[derive(Debug)]
pub struct OpenTabs {
    home: PathBuf,
    dir: PathBuf,
    list: PathBuf,
    lock: Option<File>,
}

impl OpenTabs {
    /// Nothing is written before the first list.
    pub fn new(paths: &Paths) -> Self {
        let dir = paths.run();
        let list = dir.join(format!("{}.tabs", std::process::id()));
        Self { home: paths.home.clone(), dir, list, lock: None }
    }

    /// Writes the list. Blocks.
    ///
    /// # Errors
    /// When the folder or the file can't be written.
    pub fn save(&mut self, sessions: &[KeptTab]) -> io::Result<()> {
        if self.lock.is_none() {
            ensure_dir(&self.dir).map_err(io::Error::other)?;
            let lock = OpenOptions::new().create(true).truncate(false).write(true).open(lock_of(&self.list))?;
            flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
            self.lock = Some(lock);
        }
        write(&self.list, sessions)
    }

    /// The window is left in order: its list is the last one. Blocks.
    pub fn close(&mut self) {
        if self.lock.take().is_some() {
            if let Err(error) = std::fs::rename(&self.list, self.dir.join(LAST)) {
                tracing::debug!("the list of tabs was not kept: {error}");
            }
            remove(&self.home, &lock_of(&self.list));
        }
    }
}

/// The sessions of windows that were killed, the newest window first; their lists become the last one. Blocks.
pub fn lost(paths: &Paths) -> Vec<KeptTab> {
    let dir = paths.run();
    let Ok(entries) = std::fs::read_dir(&dir) else { return Vec::new() };
    let mut lists: Vec<PathBuf> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|e| e == "tabs"))
        .collect();
    lists.sort_by_key(|path| std::cmp::Reverse(std::fs::metadata(path).and_then(|about| about.modified()).ok()));
    let mut found: Vec<KeptTab> = Vec::new();
    for list in lists.into_iter().take(LISTS) {
        let held = File::open(lock_of(&list))
            .is_ok_and(|lock| flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err());
        if held {
            continue;
        }
        for session in read(&list) {
            if !found.contains(&session) {
                found.push(session);
            }
        }
        remove(&paths.home, &list);
        remove(&paths.home, &lock_of(&list));
    }
    if !found.is_empty()
        && let Err(error) = write(&dir.join(LAST), &found)
    {
        tracing::warn!("the tabs of a killed window were not kept: {error}");
    }
    found
}

/// The sessions of the window that was left or killed last. Blocks.
pub fn last(paths: &Paths) -> Vec<KeptTab> {
    let lost = lost(paths);
    if lost.is_empty() { read(&paths.run().join(LAST)) } else { lost }
}

fn remove(home: &Path, file: &Path) {
    if let Err(error) = remove::file(remove::File::Window, home, file) {
        tracing::debug!("{error}");
    }
}

fn lock_of(list: &Path) -> PathBuf {
    list.with_extension("lock")
}

fn read(list: &Path) -> Vec<KeptTab> {
    let text = std::fs::read_to_string(list).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}

fn write(list: &Path, sessions: &[KeptTab]) -> io::Result<()> {
    let text = serde_json::to_string(sessions).map_err(io::Error::other)?;
    write_atomic(list, &text).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(names: &[&str]) -> Vec<KeptTab> {
        names.iter().map(|name| KeptTab::Session((*name).into())).collect()
    }

    #[test]
    fn a_killed_window_is_found_and_a_running_or_left_one_is_not() {
        let home = tempfile::tempdir().unwrap();
        let paths = Paths::at(home.path());
        let mut running = OpenTabs::new(&paths);
        let draft = KeptTab::Draft { cwd: "/p".into(), text: "half".into() };
        running.save(&[&ids(&["a", "b"])[..], std::slice::from_ref(&draft)].concat()).unwrap();
        assert_eq!(lost(&paths), ids(&[]), "it runs");
        // Another one, whose lock went with its process.
        std::fs::write(paths.run().join("1.tabs"), r#"["c","d"]"#).unwrap();
        std::fs::write(paths.run().join("1.lock"), "").unwrap();
        assert_eq!(lost(&paths), ids(&["c", "d"]));
        assert_eq!(lost(&paths), ids(&[]), "offered once");
        assert_eq!(last(&paths), ids(&["c", "d"]), "and kept for -c --all");
        running.close();
        assert_eq!((lost(&paths), last(&paths)), (ids(&[]), [&ids(&["a", "b"])[..], &[draft]].concat()));
    }

    #[test]
    fn a_broken_list_is_none() {
        let home = tempfile::tempdir().unwrap();
        let paths = Paths::at(home.path());
        std::fs::create_dir_all(paths.run()).unwrap();
        std::fs::write(paths.run().join("1.tabs"), "{").unwrap();
        assert_eq!(last(&paths), ids(&[]));
    }
}
