//! Folders that vanish with the program: each names the process that made it, which holds a lock in it. One that was
//! killed leaves its folders behind; the next start removes them.

use super::process::procfs;
use super::process::procfs::Identity;
use crate::fs::remove::{self, OWNER, Tree, scratch_owner};
use rustix::fs::{FlockOperation, flock};
use rustix::process::getuid;
use std::fs::{DirBuilder, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// A private folder, removed with this value.
#[derive(Debug)]
pub struct Scratch {
    path: PathBuf,
    /// Locked as long as it is open; not handed to children.
    _owner: File,
}

impl Scratch {
    /// Makes a folder (mode 0700) of this kind, one of [`remove::SCRATCH`], in `parent`.
    pub fn new(parent: &Path, kind: &str) -> io::Result<Self> {
        let parent = &std::path::absolute(parent)?;
        let mut tries = 0;
        let path = loop {
            let path = parent.join(format!("hermes-{kind}-{}-{:06x}", std::process::id(), fastrand::u32(..1 << 24)));
            match DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => break path,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && tries < 100 => tries += 1,
                Err(error) => return Err(error),
            }
        };
        let mut owner = File::create_new(path.join(OWNER))?;
        flock(&owner, FlockOperation::NonBlockingLockExclusive)?;
        // After the lock: whoever reads this without one knows that the owner is gone.
        if let Some(Identity { pid, start }) = Identity::of(std::process::id()) {
            owner.write_all(format!("{pid} {start} {}\n", procfs::boot()).as_bytes())?;
        }
        Ok(Self { path, _owner: owner })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes the folder before its value goes.
    pub fn discard(&self) {
        remove(&self.path);
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        remove(&self.path);
    }
}

/// The folders in which such folders are made: that of temporary files and, where the path of a socket in it would be too
/// long, the system's.
pub fn rooms() -> Vec<PathBuf> {
    let mut rooms = vec![std::env::temp_dir(), PathBuf::from("/tmp")];
    rooms.dedup();
    rooms
}

/// Removes the folders in `parent` whose owner is dead. Blocks; returns how many there were.
pub fn sweep(parent: &Path) -> usize {
    let Ok(entries) = std::fs::read_dir(parent) else { return 0 };
    let dead = entries.flatten().map(|entry| entry.path()).filter(|path| is_abandoned(path));
    dead.inspect(|path| remove(path)).count()
}

/// Whether this is a folder that a dead process of this user made here. When in doubt it is not.
fn is_abandoned(path: &Path) -> bool {
    let pid = path.file_name().and_then(|name| name.to_str()).and_then(scratch_owner);
    let Some(pid) = pid.and_then(|pid| u32::try_from(pid).ok()) else { return false };
    let ours = path.symlink_metadata().is_ok_and(|meta| meta.is_dir() && meta.uid() == getuid().as_raw());
    ours && unlocked(&path.join(OWNER)).is_some_and(|words| is_dead(pid, &words))
}

/// Whether the owner with this number is gone, by what it wrote about itself: another process may have the number now, in
/// another run of the system or beside another process namespace.
fn is_dead(pid: u32, words: &str) -> bool {
    let mut words = words.split_ascii_whitespace();
    match (words.next(), words.next().and_then(|start| start.parse().ok()), words.next()) {
        (Some(number), Some(start), Some(boot)) if number == pid.to_string() => {
            boot != procfs::boot() || !Identity { pid, start }.is_alive()
        }
        // Killed before it could say more, or of a system that does not tell: only a free number is certain.
        _ => match rustix::process::Pid::from_raw(pid as i32) {
            Some(pid) => matches!(rustix::process::test_kill_process(pid), Err(rustix::io::Errno::SRCH)),
            None => false,
        },
    }
}

/// What the owner wrote, when nobody holds the lock, not even in another container with process ids of its own. Without the
/// file: in doubt, somebody does.
fn unlocked(owner: &Path) -> Option<String> {
    let file = File::open(owner).ok()?;
    flock(&file, FlockOperation::NonBlockingLockExclusive).ok()?;
    let mut words = String::new();
    file.take(remove::OWNER_MOST).read_to_string(&mut words).ok()?;
    Some(words)
}

fn remove(path: &Path) {
    let parent = path.parent().unwrap_or(Path::new("/"));
    if let Err(error) = remove::tree(Tree::Scratch, parent, path) {
        tracing::debug!("{error}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_folders_of_the_dead_are_removed() {
        let parent = tempfile::tempdir().unwrap();
        let alive = Scratch::new(parent.path(), "shell").unwrap();
        // A child that has been waited for: its id is free.
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let dead = child.id();
        child.wait().unwrap();
        let make = |name: &str, owned: bool| {
            let path = parent.path().join(name);
            std::fs::create_dir(&path).unwrap();
            std::fs::write(path.join("state"), "x").unwrap();
            if owned {
                std::fs::write(path.join(OWNER), "").unwrap();
            }
            path
        };
        let left = [format!("hermes-shell-{dead}-0a1b2c"), format!("hermes-demo-{dead}-000000")];
        let left = left.map(|name| make(&name, true));
        let kept = [
            make(&format!("hermes-shell-{dead}-1a1b2c"), false),
            make(&format!("hermes-other-{dead}-0a1b2c"), true),
            make(&format!("hermes-shell-{dead}-notes"), true),
            make(&format!("other-shell-{dead}-0a1b2c"), true),
            make("hermes-shell-Ab3xYz", true),
            make(&format!("hermes-shell-{}-0a1b2c", std::process::id()), true),
        ];
        // Another container's process: dead by its number here, alive by its lock.
        let locked = make(&format!("hermes-demo-{dead}-0f0f0f"), true);
        let lock = File::open(locked.join(OWNER)).unwrap();
        flock(&lock, FlockOperation::NonBlockingLockExclusive).unwrap();
        let link = parent.path().join(format!("hermes-demo-{dead}-0e0e0e"));
        std::os::unix::fs::symlink(&kept[0], &link).unwrap();
        // Killed, and another process has its number: known by its start, or by the run of the system.
        let own = Identity::of(std::process::id());
        let words = own.into_iter().flat_map(|own| {
            let (pid, start, boot) = (own.pid, own.start, procfs::boot());
            [format!("{pid} {} {boot}\n", start + 1), format!("{pid} {start} another-boot\n")]
        });
        let reused: Vec<PathBuf> = words
            .enumerate()
            .map(|(at, words)| {
                let path = make(&format!("hermes-askpass-{}-{at:06x}", std::process::id()), true);
                std::fs::write(path.join(OWNER), words).unwrap();
                path
            })
            .collect();
        // What this very process wrote, and what another name stands for.
        let mine = make(&format!("hermes-askpass-{}-0000ff", std::process::id()), true);
        std::fs::copy(alive.path().join(OWNER), mine.join(OWNER)).unwrap();
        assert_eq!(sweep(parent.path()), 2 + reused.len());
        assert!(reused.iter().all(|path| !path.exists()) && mine.exists());
        assert!(left.iter().all(|path| !path.exists()));
        assert!(kept.iter().all(|path| path.join("state").exists()) && link.exists() && locked.exists());
        assert!(alive.path().exists());
        let path = alive.path().to_owned();
        drop(alive);
        assert!(!path.exists());
    }
}
