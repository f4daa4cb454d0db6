//! The file that names what runs in the background, so that the next run of this program finds what outlived this one:
//! `processes.json` in the home folder. Several runs share it; each changes only its own entries, and those of runs that
//! are gone.

use super::host_id::{HostId, Seen};
use crate::exec::process::procfs::Identity;
use crate::exec::{ProcessId, RemotePlace};
use crate::fs::write_whole;
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// For how long what was started somewhere else is kept here: nobody may come back to say that it ended. In milliseconds.
const KEPT: i64 = 14 * 24 * 3600 * 1000;
/// The shape of the file; another one is not read.
const VERSION: u32 = 1;

/// One process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Entry {
    pub(crate) id: String,
    pub(crate) task: String,
    /// Without its secrets.
    pub(crate) command: String,
    /// It had secrets: it cannot be started again by this line.
    #[serde(default, skip_serializing_if = "is_false")]
    pub(crate) masked: bool,
    /// A call waited for it: it was to end with its terminal.
    #[serde(default, skip_serializing_if = "is_false")]
    pub(crate) foreground: bool,
    /// It was ended because the window was closed, and nobody was told.
    #[serde(default, skip_serializing_if = "is_false")]
    pub(crate) hung_up: bool,
    pub(crate) cwd: PathBuf,
    pub(crate) pty: bool,
    pub(crate) log: PathBuf,
    /// Milliseconds since the epoch.
    pub(crate) started_at: i64,
    pub(crate) port: Option<u16>,
    /// It runs on another machine, and the numbers are those of its client here.
    #[serde(rename = "far", default, skip_serializing_if = "Option::is_none")]
    pub(crate) remote: Option<RemotePlace>,
    #[serde(flatten)]
    pub(crate) leader: Identity,
    /// The run of this program that it belongs to.
    pub(crate) owner: Identity,
    /// Where the numbers are from.
    #[serde(flatten)]
    pub(crate) whereabouts: HostId,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn is_false(value: &bool) -> bool {
    !value
}

/// What is found at the start.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Left {
    /// Still runs; it is ours now.
    pub(crate) living: Vec<Entry>,
    /// Has ended; told once.
    pub(crate) ended: Vec<Entry>,
    /// Of another machine or container that shares the home: left as it is.
    pub(crate) elsewhere: Vec<Entry>,
    /// On another machine, which has to be asked; it is ours now.
    pub(crate) remote: Vec<Entry>,
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
    whereabouts: HostId,
    owner: Option<Identity>,
    /// The window was closed: the next run is told of what ends now.
    hung_up: AtomicBool,
}

impl Register {
    /// `None`: nothing is written.
    pub(crate) fn new(path: Option<PathBuf>) -> Self {
        // Where processes cannot be told apart, none is ever taken for one of ours.
        let owner = Identity::of(std::process::id());
        Self { path, whereabouts: HostId::here(), owner, hung_up: AtomicBool::new(false) }
    }

    /// Names a process.
    pub(crate) fn put(&self, mut entry: Entry) {
        let Some(owner) = self.owner else { return };
        (entry.owner, entry.whereabouts) = (owner, self.whereabouts.clone());
        self.change(|all| {
            all.retain(|other| other.id != entry.id);
            all.push(entry);
        });
    }

    /// Nothing of the process with this leader runs any more. Another run of it may have the same id.
    pub(crate) fn remove(&self, id: &ProcessId, leader: Option<Identity>) {
        self.change(|all| all.retain(|entry| entry.id != id.0 || Some(entry.leader) != leader));
    }

    /// The window was closed: what ends from now on stays here for the next run to tell of.
    pub(crate) fn hang_up(&self) {
        self.hung_up.store(true, Ordering::Relaxed);
    }

    /// Nothing of the process with this leader runs any more, and that was told unless the window is closed.
    pub(crate) fn ended(&self, id: &ProcessId, leader: Option<Identity>) {
        if !self.hung_up.load(Ordering::Relaxed) {
            return self.remove(id, leader);
        }
        self.change(|all| {
            let of_it = all.iter_mut().filter(|entry| entry.id == id.0 && Some(entry.leader) == leader);
            of_it.for_each(|entry| entry.hung_up = true);
        });
    }

    /// Takes over what runs that are gone left behind; `lives` says what still runs, `now` is in milliseconds since the epoch.
    pub(crate) fn adopt(&self, now: i64, lives: impl Fn(&Entry) -> bool) -> Left {
        let mut left = Left::default();
        let Some(owner) = self.owner else { return left };
        self.change(|all| {
            for entry in std::mem::take(all) {
                match self.whereabouts.sees(&entry.whereabouts) {
                    Seen::Here if entry.owner.is_alive() => all.push(entry),
                    Seen::Here | Seen::Before if entry.hung_up => left.ended.push(entry),
                    // Its client here is nothing without us, and it needs no system of this machine.
                    Seen::Here | Seen::Before if entry.remote.is_some() => {
                        let whereabouts = self.whereabouts.clone();
                        let entry = Entry { owner, whereabouts, ..entry };
                        all.push(entry.clone());
                        left.remote.push(entry);
                    }
                    Seen::Here if lives(&entry) => {
                        let entry = Entry { owner, foreground: false, ..entry };
                        all.push(entry.clone());
                        left.living.push(entry);
                    }
                    Seen::Elsewhere if now - entry.started_at > KEPT => {}
                    Seen::Elsewhere => {
                        all.push(entry.clone());
                        left.elsewhere.push(entry);
                    }
                    // Its terminal took it along, as it should; its call says that it was interrupted.
                    Seen::Here | Seen::Before if entry.foreground => {}
                    Seen::Here | Seen::Before => left.ended.push(entry),
                }
            }
        });
        left
    }

    /// Whether it belongs to this run.
    pub(crate) fn is_ours(&self, entry: &Entry) -> bool {
        self.owner == Some(entry.owner)
    }

    fn change(&self, change: impl FnOnce(&mut Vec<Entry>)) {
        let Some(path) = &self.path else { return };
        if let Err(error) = changed(path, change) {
            tracing::warn!("cannot record background processes in {}: {error}", path.display());
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
        // Not synced: after a loss of power nothing of what it names runs.
        write_whole(path, &text)?;
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
            masked: false,
            foreground: id == "g",
            hung_up: false,
            cwd: "/".into(),
            pty: false,
            log: "/log".into(),
            started_at: 1,
            port: Some(8080),
            remote: None,
            leader,
            owner: Identity { pid: 1, start: 1 },
            whereabouts: HostId::default(),
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
        let here = HostId::here();
        let of = |whereabouts, owner| Register {
            path: Some(path.clone()),
            whereabouts,
            owner: Some(owner),
            hung_up: AtomicBool::new(false),
        };
        let dead = of(here.clone(), gone);
        // A call waited for the last one.
        for id in ["c", "d", "e", "g"] {
            dead.put(entry(id, own));
        }
        of(HostId { boot: "another".into(), ..here.clone() }, own).put(entry("f", own));
        // On another machine: whether its client lives here says nothing.
        let remote = |id: &str| Entry {
            remote: Some(RemotePlace { kind: "ssh".into(), ..RemotePlace::default() }),
            ..entry(id, own)
        };
        dead.put(remote("far"));
        of(HostId { boot: "another".into(), ..here.clone() }, own).put(remote("far before"));
        ours.put(remote("far of ours"));
        // The numbers are those of a process that runs here: it is another one there.
        of(HostId { namespace: 1, ..here.clone() }, gone).put(entry("container", own));
        of(HostId { boot: "another".into(), machine: "another".into(), ..here }, gone).put(entry("machine", own));
        let Left { living, ended, elsewhere, remote } =
            ours.adopt(KEPT, |entry| !["d", "g"].contains(&entry.id.as_str()));
        assert_eq!(ids(&remote), ["far", "far before"]);
        assert!(remote.iter().all(|entry| entry.owner == own && entry.whereabouts == HostId::here()));
        assert_eq!((ids(&living), ids(&ended)), (vec!["c", "e"], vec!["d", "f"]));
        assert_eq!(ids(&elsewhere), ["container", "machine"]);
        assert!(living.iter().all(|entry| entry.owner == own && entry.leader == own));
        let again = ours.adopt(KEPT, |_| true);
        assert_eq!((again.living, again.ended, again.remote), (Vec::new(), Vec::new(), Vec::new()), "told once");
        assert_eq!(again.elsewhere, elsewhere, "kept as they are");
        assert_eq!(ours.adopt(KEPT + 2, |_| true).elsewhere, [], "after a time nobody comes back for them");
        // The end of a run comes when the next one of the same id is there already.
        ours.remove(&ProcessId("a".into()), Some(gone));
        assert!(std::fs::read_to_string(&path).unwrap().contains("\"a\""), "it is another one's");
        ours.remove(&ProcessId("a".into()), Some(own));
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
        assert_eq!(register.adopt(KEPT, |_| true), Left::default());
        register.put(entry("a", Identity { pid: 7, start: 9 }));
        let text = std::fs::read_to_string(&path).unwrap();
        let contents: Contents = serde_json::from_str(&text).unwrap();
        assert_eq!((ids(&contents.processes), contents.processes[0].leader.start), (vec!["a"], 9));
    }
}
