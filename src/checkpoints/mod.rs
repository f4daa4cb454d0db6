//! Workspaces as they were: what is known of a folder before a command runs in it, so that what the command changed can be
//! told, and undone. Works without version control and never touches it.
//!
//! A workspace is looked at once, in the background (`baseline`): bytes are kept by hash, among those that file tools keep.
//! From then on a watch (`watch`) says what to look at again, and around a command only that is looked at (`workspace`).

mod base;
mod baseline;
mod entry;
mod known;
mod leave_out;
mod named;
mod outside;
mod owed;
mod state;
#[cfg(test)]
mod tests;
mod watch;
mod workspace;

pub use named::{NO_SESSION, Named, NamedError, Shelf};
pub use outside::{Fate, Heard, Listener, Strange};
pub use owed::Owed;
pub use state::{FoundChange, Recorded};
pub use watch::Bell;
pub use workspace::{Mark, Settings, Workspace};

use crate::config::Paths;
use crate::lock::lock;
use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, Weak};

/// Hashes of bytes that baselines and named checkpoints of a home need, without these checkpoints. Reads all of them.
pub fn known_hashes(paths: &Paths, without: &[Named]) -> BTreeSet<String> {
    let mut known = Shelf::new(&paths.home).hashes(without);
    known.extend(known::hashes(&paths.trees()));
    known
}

/// Deletes what programs that were killed left of working folders as they were, but for what these commands began from.
pub fn sweep_bases(paths: &Paths, needed: &[String]) {
    base::sweep(&paths.trees(), needed);
}

/// The workspaces that sessions work in: one for each folder, as long as a session holds it. A folder has one state, whoever
/// looks at it.
#[derive(Clone, Default)]
pub struct Checkpoints {
    open: Arc<Mutex<HashMap<PathBuf, Weak<Workspace>>>>,
}

impl Checkpoints {
    /// The workspace of a folder; nothing of it is looked at yet.
    pub fn of(&self, root: &Path, settings: Settings) -> Arc<Workspace> {
        let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
        let mut open = lock(&self.open);
        open.retain(|_, workspace| workspace.strong_count() > 0);
        if let Some(known) = open.get(&root).and_then(Weak::upgrade) {
            return known;
        }
        let workspace = Arc::new(Workspace::new(root.clone(), settings));
        open.insert(root, Arc::downgrade(&workspace));
        workspace
    }
}
