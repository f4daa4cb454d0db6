//! A world that asks the machine once for each thing: a line names the same paths again and again.

use crate::policy::World;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Answers that are kept.
const MAX_KEPT: usize = 8192;

/// The machine, with its answers kept for one line.
pub(super) struct Memo<'w> {
    world: &'w dyn World,
    home: PathBuf,
    own: PathBuf,
    resolved: Mutex<HashMap<PathBuf, PathBuf>>,
    matched: Mutex<HashMap<(String, PathBuf, usize), Vec<PathBuf>>>,
}

impl<'w> Memo<'w> {
    pub fn new(world: &'w dyn World) -> Self {
        let (home, own) = (world.home(), world.hermes_home());
        Self { world, home, own, resolved: Mutex::default(), matched: Mutex::default() }
    }
}

impl World for Memo<'_> {
    fn home(&self) -> PathBuf {
        self.home.clone()
    }

    fn hermes_home(&self) -> PathBuf {
        self.own.clone()
    }

    fn variable(&self, name: &str) -> Option<String> {
        self.world.variable(name)
    }

    fn glob(&self, pattern: &str, cwd: &Path, limit: usize) -> Vec<PathBuf> {
        let key = (pattern.to_owned(), cwd.to_path_buf(), limit);
        let mut kept = self.matched.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = kept.get(&key) {
            return found.clone();
        }
        let found = self.world.glob(pattern, cwd, limit);
        if kept.len() < MAX_KEPT {
            kept.insert(key, found.clone());
        }
        found
    }

    fn resolve(&self, path: &Path) -> PathBuf {
        let mut kept = self.resolved.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = kept.get(path) {
            return found.clone();
        }
        let found = self.world.resolve(path);
        if kept.len() < MAX_KEPT {
            kept.insert(path.to_path_buf(), found.clone());
        }
        found
    }
}
