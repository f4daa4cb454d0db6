//! What of ours outlives a crash elsewhere (an allocation, an instance) has one of a few names of this home. Who holds a
//! name holds a lock that goes with the process, however it ends: a thing whose name is free belongs to nobody any more.

use super::keys::mark;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read as _, Seek as _, Write as _};
use std::path::Path;

/// Programs of one home that can work in a kind of place at the same moment.
const MAX_PROGRAMS: u32 = 32;

/// A name that is this process's as long as the value lives.
pub(crate) struct Slot {
    pub(crate) name: String,
    /// What the owner before wrote down: how what has the name was made. Empty at first.
    pub(crate) before: String,
    file: File,
}

/// The names of a home for one kind of place.
pub(crate) struct Slots {
    /// The one that was taken.
    pub(crate) own: Slot,
    /// Others that nobody holds now.
    pub(crate) free: Vec<Slot>,
}

impl Slots {
    /// Takes the first free name of `home` for a `kind` of place, and finds the others that were used once and are free.
    ///
    /// # Errors
    /// When the home cannot be written, or all names are held.
    pub(crate) fn take(home: &Path, kind: &str) -> std::io::Result<Self> {
        let mark = mark(home)?;
        let folder = home.join("sandboxes").join("slots");
        std::fs::create_dir_all(&folder)?;
        let mut own = None;
        let mut free = Vec::new();
        for number in 1..=MAX_PROGRAMS {
            let path = folder.join(format!("{kind}-{number}"));
            // One more than was ever used is enough to find.
            if own.is_some() && !path.exists() {
                break;
            }
            let mut file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path)?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => continue,
                Err(TryLockError::Error(error)) => return Err(error),
            }
            let mut before = String::new();
            file.read_to_string(&mut before)?;
            let slot = Slot { name: format!("hermes-{mark}-{number}"), before, file };
            if own.is_none() { own = Some(slot) } else { free.push(slot) }
        }
        let none = || std::io::Error::other(format!("{MAX_PROGRAMS} other programs from this home already use it"));
        Ok(Self { own: own.ok_or_else(none)?, free })
    }
}

impl Slot {
    /// Notes how what has the name is made, for whoever finds it after a crash.
    ///
    /// # Errors
    /// When the disk is full.
    pub(crate) fn note(&mut self, made: &str) -> std::io::Result<()> {
        self.file.rewind()?;
        self.file.set_len(0)?;
        self.file.write_all(made.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_process_s_and_is_found_again_after_it() {
        let home = tempfile::tempdir().unwrap();
        let mut first = Slots::take(home.path(), "slurm").unwrap();
        first.own.note("--partition=short").unwrap();
        let second = Slots::take(home.path(), "slurm").unwrap();
        assert_ne!(first.own.name, second.own.name);
        assert!(second.free.is_empty() && second.own.before.is_empty());
        let other = Slots::take(home.path(), "apptainer").unwrap();
        assert_eq!(other.own.name, first.own.name, "kinds do not share names");
        let name = first.own.name.clone();
        drop((first, second));
        let again = Slots::take(home.path(), "slurm").unwrap();
        assert_eq!((again.own.name.as_str(), again.own.before.as_str()), (name.as_str(), "--partition=short"));
        assert_eq!(again.free.len(), 1, "the second name is free as well");
    }

    #[test]
    fn two_homes_have_no_name_in_common() {
        let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let name = |home: &tempfile::TempDir| Slots::take(home.path(), "slurm").unwrap().own.name;
        assert_ne!(name(&one), name(&two));
    }
}
