//! The file that names what runs in the background, so that the next run of this program finds what outlived this one:
//! `processes.json` in the home folder. Several runs share it; each changes only its own entries, and those of runs that
//! are gone.

use super::ProcessId;
use super::procfs::{self, Identity};
use crate::config::paths::write_atomic;
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The shape of the file; another one is not read.
const VERSION: u32 = 1;

/// One process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Entry {
    pub(crate) id: String,
    pub(crate) task: String,
    pub(crate) command: String,
    pub(crate) cwd: PathBuf,
    pub(crate) pty: bool,
    pub(crate) log: PathBuf,
    /// Milliseconds since the epoch.
    pub(crate) started_at: i64,
    pub(crate) port: Option<u16>,
    #[serde(flatten)]
    pub(crate) leader: Identity,
    /// The run of this program that it belongs to.
    pub(crate) owner: Identity,
    /// The run of the system that the numbers are from.
    pub(crate) boot: String,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Contents {
    version: u32,
    processes: Vec<Entry>,
}

/// The file, and who we are in it.
#[derive(Debug)]
pub(crate) struct Register {
    path: Option<PathBuf>,
    boot: String,
    owner: Option<Identity>,
}

impl Register {
    /// `None`: nothing is written.
    pub(crate) fn new(path: Option<PathBuf>) -> Self {
        // Where processes cannot be told apart, none is ever taken for one of ours.
        let owner = Identity::of(std::process::id());
        Self { path, boot: procfs::boot(), owner }
    }

    /// Names a process.
    pub(crate) fn put(&self, mut entry: Entry) {
        let Some(owner) = self.owner else { return };
        (entry.owner, entry.boot) = (owner, self.boot.clone());
        self.change(|all| {
            all.retain(|other| other.id != entry.id);
            all.push(entry);
        });
    }

    /// Nothing of it runs any more.
    pub(crate) fn remove(&self, id: &ProcessId) {
        self.change(|all| all.retain(|entry| entry.id != id.0));
    }

    /// Takes over what runs that are gone left behind: what still runs, by `lives`, and what has ended.
    pub(crate) fn adopt(&self, lives: impl Fn(&Entry) -> bool) -> (Vec<Entry>, Vec<Entry>) {
        let (mut living, mut ended) = (Vec::new(), Vec::new());
        let Some(owner) = self.owner else { return (living, ended) };
        self.change(|all| {
            for entry in std::mem::take(all) {
                let here = entry.boot == self.boot;
                if here && entry.owner.is_alive() {
                    all.push(entry);
                } else if here && lives(&entry) {
                    let entry = Entry { owner, ..entry };
                    all.push(entry.clone());
                    living.push(entry);
                } else {
                    ended.push(entry);
                }
            }
        });
        (living, ended)
    }

    fn change(&self, change: impl FnOnce(&mut Vec<Entry>)) {
        let Some(path) = &self.path else { return };
        if let Err(error) = changed(path, change) {
            tracing::warn!("what runs in the background is not noted in {}: {error}", path.display());
        }
    }
}

fn changed(path: &Path, change: impl FnOnce(&mut Vec<Entry>)) -> Result<(), Box<dyn std::error::Error>> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    // Held until the end of this function; the system lets go of it with the descriptor.
    let lock =
        File::options().create(true).truncate(false).write(true).mode(0o600).open(path.with_extension("lock"))?;
    flock(&lock, FlockOperation::LockExclusive)?;
    let before = match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(error.into()),
    };
    let read = serde_json::from_slice::<Contents>(&before).ok().filter(|contents| contents.version == VERSION);
    let was_broken = read.is_none() && !before.is_empty();
    let mut contents = read.unwrap_or_default();
    contents.version = VERSION;
    let known = contents.processes.clone();
    change(&mut contents.processes);
    if contents.processes != known || was_broken {
        let mut text = serde_json::to_string_pretty(&contents)?;
        text.push('\n');
        write_atomic(path, &text)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(id: &str, leader: Identity) -> Entry {
        Entry {
            id: id.into(),
            task: "t".into(),
            command: "serve".into(),
            cwd: "/".into(),
            pty: false,
            log: "/log".into(),
            started_at: 1,
            port: Some(8080),
            leader,
            owner: Identity { pid: 1, start: 1 },
            boot: String::new(),
        }
    }

    fn ids(entries: &[Entry]) -> Vec<&str> {
        entries.iter().map(|entry| entry.id.as_str()).collect()
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn only_what_a_run_that_is_gone_left_behind_is_taken() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("processes.json");
        let ours = Register::new(Some(path.clone()));
        let own = Identity::of(std::process::id()).unwrap();
        ours.put(entry("a", own));
        ours.put(entry("a", own));
        ours.put(entry("b", own));
        let gone = Identity { pid: own.pid, start: own.start + 1 };
        let dead = Register { path: Some(path.clone()), boot: procfs::boot(), owner: Some(gone) };
        for id in ["c", "d", "e"] {
            dead.put(entry(id, own));
        }
        let long_ago = Register { path: Some(path.clone()), boot: "another".into(), owner: Some(own) };
        long_ago.put(entry("f", own));
        let (living, ended) = ours.adopt(|entry| entry.id != "d");
        assert_eq!((ids(&living), ids(&ended)), (vec!["c", "e"], vec!["d", "f"]));
        assert!(living.iter().all(|entry| entry.owner == own && entry.leader == own));
        assert_eq!(ours.adopt(|_| true), (Vec::new(), Vec::new()), "told once");
        ours.remove(&ProcessId("a".into()));
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(!text.contains("\"a\"") && text.contains("\"c\"") && !text.contains("\"f\""), "{text}");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_file_that_is_broken_is_begun_anew() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("processes.json");
        std::fs::write(&path, "{ cut").unwrap();
        let register = Register::new(Some(path.clone()));
        assert_eq!(register.adopt(|_| true), (Vec::new(), Vec::new()));
        register.put(entry("a", Identity { pid: 7, start: 9 }));
        let text = std::fs::read_to_string(&path).unwrap();
        let contents: Contents = serde_json::from_str(&text).unwrap();
        assert_eq!((ids(&contents.processes), contents.processes[0].leader.start), (vec!["a"], 9));
    }
}
