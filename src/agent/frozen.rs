//! The policy of a session: its files as they were read, and whether somebody changed them since.

use crate::config::held::{Change, Held};
use crate::config::{Loaded, Paths};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// The files of the policy as one session read them.
#[derive(Debug, Default)]
pub struct Frozen {
    held: Mutex<Held>,
    /// What the person was told last.
    told: Mutex<Vec<Change>>,
}

impl Frozen {
    /// Reads the files. Blocks.
    pub fn read(paths: &Paths, loaded: &Loaded, cwd: &Path) -> Self {
        Self { held: Mutex::new(Held::read(paths, cwd, &plugins(paths, loaded))), told: Mutex::default() }
    }

    /// Reads them anew: what is there now holds. Blocks.
    pub fn read_again(&self, paths: &Paths, loaded: &Loaded, cwd: &Path) {
        *self.held.lock().unwrap_or_else(PoisonError::into_inner) = Held::read(paths, cwd, &plugins(paths, loaded));
    }

    /// What is not as it was. Blocks, for a few `stat`s when nothing was touched.
    pub fn changes(&self) -> Vec<Change> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner).changes()
    }

    /// The changes, when they are others than those that were told last; none any more is news, too.
    pub fn news(&self, changes: &[Change]) -> Option<Vec<Change>> {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if *told == changes {
            return None;
        }
        *told = changes.to_vec();
        Some(told.clone())
    }

    /// What is on disk now is known; what the session read before goes on to hold.
    pub fn keep(&self) {
        self.held.lock().unwrap_or_else(PoisonError::into_inner).accept();
    }

    /// Does work of the person's that writes these files.
    pub fn ours<T>(&self, work: impl FnOnce() -> T) -> T {
        self.held.lock().unwrap_or_else(PoisonError::into_inner).ours(work)
    }
}

/// The folders of the plugins that run. A project's run from copies that nobody writes.
fn plugins(paths: &Paths, loaded: &Loaded) -> Vec<PathBuf> {
    let config = &loaded.config.plugins;
    let runs = |name: &&String| !config.disabled.contains(name);
    config.enabled.iter().filter(runs).map(|name| paths.plugins().join(name)).filter(|dir| dir.is_dir()).collect()
}
