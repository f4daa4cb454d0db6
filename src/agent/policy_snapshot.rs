//! The policy of a session: its files as they were read, and whether someone changed them since. What they loosen waits for
//! the user; what they tighten holds at once.

use crate::config::load::{Sources, load};
use crate::config::policy_files::{PolicyFiles, version};
use crate::config::{Loaded, Paths};
use crate::lock::lock;
use crate::policy::permissions::Permission;
use crate::policy::rule::Action;
use crate::policy::unreviewed::Stricter;
use crate::protocol::PolicyChange;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, Weak};

/// The files of the policy as one session read them. Whatever writes or reads one of them for the person goes through this.
#[derive(Debug)]
pub struct PolicySnapshot {
    paths: Paths,
    sources: Arc<Sources>,
    state: Mutex<State>,
    /// Those of all sessions of this program: what it writes for the person is no news to any of them.
    all: Arc<Snapshots>,
}

/// The snapshots of the sessions that are open.
#[derive(Debug, Default)]
pub struct Snapshots(Mutex<Vec<Weak<PolicySnapshot>>>);

impl Snapshots {
    /// In the order in which they were made, so that two threads that lock several never wait for each other.
    fn open(&self) -> Vec<Arc<PolicySnapshot>> {
        let mut all = lock(&self.0);
        all.retain(|one| one.strong_count() > 0);
        all.iter().filter_map(Weak::upgrade).collect()
    }
}

#[derive(Debug, Default)]
struct State {
    files: PolicyFiles,
    changes: Vec<PolicyChange>,
    /// What the changed files forbid beyond what they did.
    stricter: Arc<Stricter>,
    /// What the person was told last.
    reported: Vec<PolicyChange>,
}

impl PolicySnapshot {
    /// Nothing is held before [`PolicySnapshot::begin`].
    pub fn new(paths: Paths, sources: Arc<Sources>, all: &Arc<Snapshots>) -> Arc<Self> {
        let new = Arc::new(Self { paths, sources, state: Mutex::default(), all: Arc::clone(all) });
        lock(&all.0).push(Arc::downgrade(&new));
        new
    }

    /// Another one that knows the files as this one does.
    #[must_use]
    pub fn another(&self) -> Arc<Self> {
        let new = Self::new(self.paths.clone(), Arc::clone(&self.sources), &self.all);
        self.share_with(&new);
        new
    }

    /// What this one knows of the files counts for `other`, too.
    pub fn share_with(&self, other: &Self) {
        if std::ptr::eq(self, other) {
            return;
        }
        let files = self.state().files.clone();
        *other.state() = State { files, ..State::default() };
    }

    /// Reads the files for a session that begins with this configuration; of those that are known what is known counts.
    /// Blocks.
    pub fn begin(&self, loaded: &Loaded, cwd: &Path) {
        let new = PolicyFiles::read(&self.paths, cwd, &plugins(&self.paths, loaded));
        let mut state = self.state();
        state.files.replaced_by(new);
        *state = State { files: std::mem::take(&mut state.files), ..State::default() };
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// Looks at the files. Blocks, for a few `stat`s when nothing was touched.
    fn looked(&self) -> MutexGuard<'_, State> {
        let mut state = self.state();
        let changes = state.files.changes();
        if changes != state.changes {
            state.stricter = if changes.is_empty() { Arc::default() } else { self.stricter() };
            state.changes = changes;
        }
        state
    }

    /// What the files forbid or ask about as they are now.
    fn stricter(&self) -> Arc<Stricter> {
        let loaded = load(&self.sources);
        let lines = loaded.permissions.all.iter().filter(|line| line.action != Action::Allow).cloned();
        let denied = loaded.config.approvals.deny.iter().map(|entry| Permission::entry(Action::Deny, entry));
        Arc::new(Stricter { permissions: lines.chain(denied).collect(), unreadable: loaded.permissions.unreadable })
    }

    /// What is not as it was. Blocks.
    pub fn changes(&self) -> Vec<PolicyChange> {
        self.looked().changes.clone()
    }

    /// Whether anything is not as it was, and what is stricter for it. Blocks.
    pub fn now(&self) -> (bool, Arc<Stricter>) {
        let state = self.looked();
        (!state.changes.is_empty(), Arc::clone(&state.stricter))
    }

    /// The changes, when they are others than those that were told last; none any more is news, too. Blocks.
    pub fn news(&self) -> Option<Vec<PolicyChange>> {
        let mut state = self.looked();
        if state.reported == state.changes {
            return None;
        }
        state.reported = state.changes.clone();
        Some(state.reported.clone())
    }

    /// This version is known, and what the session read before goes on to hold. False when it is no longer the one on disk.
    pub fn keep(&self, shown: &str) -> bool {
        let mut state = self.looked();
        let is_shown = version(&state.changes) == shown;
        if is_shown {
            state.accept();
        }
        is_shown
    }

    /// Reads files of the policy when they are as they were shown (`""`: as the session knows them), before and after; what
    /// was read counts then. `None` when they are not. Blocks.
    pub fn read_as<T>(&self, shown: &str, read: impl FnOnce() -> T) -> Option<T> {
        let mut state = self.looked();
        if version(&state.changes) != shown {
            return None;
        }
        let done = read();
        if !state.files.is_untouched() {
            return None;
        }
        state.accept();
        Some(done)
    }

    /// Holds the files that a configuration names that was just read. What somebody else wrote meanwhile is a change.
    pub fn follow(&self, loaded: &Loaded, cwd: &Path) {
        let new = PolicyFiles::read(&self.paths, cwd, &plugins(&self.paths, loaded));
        self.state().files.replaced_by(new);
    }

    /// Does work of the person's that writes these files, in whichever session they ask for it.
    pub fn ours<T>(&self, work: impl FnOnce() -> T) -> T {
        let open = self.all.open();
        let mut states: Vec<_> = open.iter().map(|one| one.state()).collect();
        let mut files: Vec<&mut PolicyFiles> = states.iter_mut().map(|state| &mut state.files).collect();
        PolicyFiles::ours(&mut files, work)
    }
}

impl State {
    fn accept(&mut self) {
        self.files.accept();
        self.changes.clear();
        self.stricter = Arc::default();
    }
}

/// The folders of the plugins that run. A project's run from copies that nobody writes.
fn plugins(paths: &Paths, loaded: &Loaded) -> Vec<PathBuf> {
    let config = &loaded.config.plugins;
    let runs = |name: &&String| !config.disabled.contains(name);
    config.enabled.iter().filter(runs).map(|name| paths.plugins().join(name)).filter(|dir| dir.is_dir()).collect()
}
