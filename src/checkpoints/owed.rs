//! What commands changed whose program was killed while they ran: the folder as it was before, against what it is now.

use super::base;
use super::entry::Entry;
use super::known::Tree;
use super::state::{Before, Found, Open, Own, Recorded, State};
use super::workspace::Workspace;
use crate::lock::lock;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// The longest wait for a large folder to be read.
const LONG: Duration = Duration::from_secs(600);
/// Clocks of disks tick slowly, and may be a little off (nanoseconds).
const SLACK: i64 = 2_000_000_000;

/// Changes that are yet to be found: until it is dropped, commands that begin wait for a moment.
pub struct Owed(Arc<Workspace>);

impl Drop for Owed {
    fn drop(&mut self) {
        let mut state = lock(&self.0.state);
        state.owed = state.owed.saturating_sub(1);
        self.0.settled.notify_all();
    }
}

impl Workspace {
    /// Whether a command began from this folder: `base` is what stood for it.
    pub fn is_before(&self, base: &str) -> bool {
        base::is_of(&self.settings.known, base)
    }

    /// Commands are known that ran when their program was killed.
    pub fn owe(self: &Arc<Self>) -> Owed {
        lock(&self.state).owed += 1;
        Owed(Arc::clone(self))
    }
}

impl Owed {
    /// What changed since a command began, from the folder as it was then; `began` in milliseconds since the epoch. Blocks
    /// until the folder is read.
    ///
    /// # Errors
    /// Why that can't be known.
    pub fn changes(&self, base: &str, began: i64) -> Result<Recorded, String> {
        let workspace = &self.0;
        workspace.prepare();
        if !workspace.wait(LONG, usize::MAX)? {
            return Err("the folder could not be read in time".into());
        }
        let before = base::read(&workspace.settings.known, base).ok_or("the folder as it was before is not known")?;
        let mut state = lock(&workspace.state);
        state.catch_up(&workspace.rules, Own::default());
        Ok(changed(&state, &before, began))
    }
}

/// What became another one since a time.
fn changed(state: &State, before: &Tree, began: i64) -> Recorded {
    let since = began.saturating_mul(1_000_000).saturating_sub(SLACK);
    let is_new = |path: &Path, now: &Entry| {
        // What is in a folder that was moved keeps its own times.
        let of = |folder: &Path| !before.entries.contains_key(folder) && times(state, folder) >= since;
        now.stamp.changed >= since || path.ancestors().skip(1).any(of)
    };
    let out_of = |out: &BTreeSet<PathBuf>, path: &Path| path.ancestors().any(|above| out.contains(above));
    let mut open = Open { began: 0, by: None, found: BTreeMap::new(), gaps: BTreeSet::new() };
    let paths: BTreeSet<&PathBuf> = before.entries.keys().chain(state.tree.keys()).collect();
    for path in paths {
        let (then, now) = (before.entries.get(path), state.tree.get(path));
        let known = match (then, now) {
            (Some(then), Some(now)) => !then.is_like(now) && is_new(path, now),
            (None, Some(_)) if path.to_str().is_none() => {
                open.gaps.insert(format!("{} has a name that is not UTF-8", path.display()));
                false
            }
            (None, Some(now)) => !out_of(&before.left_out, path) && is_new(path, now),
            (Some(_), None) => !out_of(&state.left_out, path),
            (None, None) => false,
        };
        if known {
            let before = then.cloned().map_or(Before::Nothing, Before::Entry);
            open.found.insert(path.clone(), Found { before, after: now.cloned(), at: began });
        }
    }
    open.recorded(&state.root)
}

fn times(state: &State, path: &Path) -> i64 {
    state.tree.get(path).map_or(i64::MIN, |entry| entry.stamp.changed)
}
