//! A folder that sessions work in, and what commands change in it.

use super::baseline;
use super::entry::Keeper;
use super::leave_out::LeaveOut;
use super::state::{Own, Phase, Recorded, State};
use crate::config::{CheckpointsConfig, Paths};
use crate::lock::lock;
use crate::store::{Blobs, FileState};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// What a workspace needs to know of the home and the configuration.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where bytes are kept.
    pub blobs: Blobs,
    /// The file that remembers the last baseline.
    pub known: PathBuf,
    /// `checkpoints.baseline_bytes`; 0: nothing is recorded.
    pub baseline_bytes: u64,
    /// Folders of this program, left out when they lie in the workspace.
    pub ours: Vec<PathBuf>,
    /// The person's home, which is no project.
    pub user_home: Option<PathBuf>,
}

impl Settings {
    /// Those of a folder.
    pub fn of(paths: &Paths, config: &CheckpointsConfig, root: &Path) -> Self {
        let name = crate::store::hash(root.as_os_str().as_encoded_bytes());
        Self {
            blobs: Blobs::new(paths.history()),
            known: paths.trees().join(&name[..16]),
            baseline_bytes: config.baseline_bytes,
            ours: vec![paths.root().to_owned()],
            user_home: crate::environment::user_home(),
        }
    }
}

/// A folder and its state. All calls may block for as long as it takes to look at what was touched.
pub struct Workspace {
    pub(super) root: PathBuf,
    pub(super) settings: Settings,
    pub(super) rules: Mutex<LeaveOut>,
    pub(super) state: Mutex<State>,
    /// The baseline is ready, or there is none; or nobody owes changes any more.
    pub(super) settled: Condvar,
}

/// A command that runs. Dropped without [`Workspace::end`], it was not recorded.
pub struct Mark {
    workspace: Arc<Workspace>,
    number: u32,
    base: Option<String>,
}

impl Drop for Mark {
    fn drop(&mut self) {
        lock(&self.workspace.state).open.remove(&self.number);
    }
}

impl Mark {
    /// What stands for the folder as it was before, for [`super::Owed::changes`] when the program is killed; `None`: nothing.
    pub fn base(&self) -> Option<String> {
        self.base.clone()
    }

    /// The command has ended: what changed since it began.
    pub fn end(self) -> Recorded {
        let mut state = lock(&self.workspace.state);
        state.catch_up(&self.workspace.rules, Own::default());
        state.end(self.number)
    }
}

impl Workspace {
    /// A workspace that nobody has looked at.
    pub(super) fn new(root: PathBuf, settings: Settings) -> Self {
        let home = settings.user_home.as_ref().and_then(|home| home.canonicalize().ok());
        let phase = if settings.baseline_bytes == 0 {
            Phase::Off("`checkpoints.baseline_bytes` is 0".into())
        } else if home.is_some_and(|home| home.starts_with(&root)) {
            Phase::Off(format!("{} is not a project folder: start Hermes in one", root.display()))
        } else {
            Phase::NotBegun
        };
        let keeper = Keeper { blobs: settings.blobs.clone(), most: settings.baseline_bytes, taken: 0 };
        Self {
            rules: Mutex::new(LeaveOut::new(&root, &settings.ours)),
            state: Mutex::new(State::new(root.clone(), keeper, phase)),
            settled: Condvar::new(),
            root,
            settings,
        }
    }

    /// The folder, without links.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Takes the baseline in the background, once.
    pub fn prepare(self: &Arc<Self>) {
        {
            let mut state = lock(&self.state);
            if state.phase != Phase::NotBegun {
                return;
            }
            state.phase = Phase::Looking(0);
        }
        let workspace = Arc::downgrade(self);
        let thread = std::thread::Builder::new().name("baseline".into()).spawn(move || baseline::take(&workspace));
        if let Err(error) = thread {
            self.settle(Phase::Off(format!("the folder could not be saved: {error}")));
        }
    }

    /// The baseline is ready, or there is none.
    pub(super) fn settle(&self, phase: Phase) {
        let mut state = lock(&self.state);
        if phase != Phase::Ready {
            state.watch = None;
            state.tree.clear();
        }
        // What commands touched while they were not in the baseline is told by now, and so not told as known.
        state.catch_up(&self.rules, Own::default());
        state.listed = Default::default();
        state.phase = phase;
        self.settled.notify_all();
    }

    /// Waits until the baseline is ready and no changes are owed, at most this long. `false`: it is not.
    ///
    /// # Errors
    /// Why there is none.
    pub fn ready(&self, most: Duration) -> Result<bool, String> {
        self.wait(most, 0)
    }

    /// The same while so many owe changes.
    pub(super) fn wait(&self, most: Duration, owed: usize) -> Result<bool, String> {
        let until = Instant::now() + most;
        let mut state = lock(&self.state);
        loop {
            match &state.phase {
                Phase::Ready if state.owed <= owed => return Ok(true),
                Phase::Off(why) => return Err(why.clone()),
                Phase::Ready | Phase::NotBegun | Phase::Looking(_) => {}
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(false);
            }
            state = self.settled.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Files that the baseline has come to, while it is taken.
    pub fn progress(&self) -> Option<usize> {
        match lock(&self.state).phase {
            Phase::Looking(files) => Some(files),
            Phase::NotBegun | Phase::Ready | Phase::Off(_) => None,
        }
    }

    /// Whether a command has begun in it.
    pub fn has_begun(&self) -> bool {
        lock(&self.state).begun > 0
    }

    /// A command of this listener begins. What changed until now was not its work.
    ///
    /// # Errors
    /// Why nothing of it is recorded.
    pub fn begin(self: &Arc<Self>, by: Option<u32>) -> Result<Mark, String> {
        let mut state = lock(&self.state);
        if let Phase::Off(why) = &state.phase {
            return Err(why.clone());
        }
        state.catch_up(&self.rules, Own::default());
        let base = state.standing();
        Ok(Mark { number: state.begin(by), base, workspace: Arc::clone(self) })
    }

    /// These files are about to be changed by something that is no command, and that keeps what they were: what was touched
    /// before is looked at first.
    pub fn before(&self) {
        let mut state = lock(&self.state);
        state.look_if_asked(&self.rules, Own::default());
    }

    /// A tool is about to write these for a listener, until [`Self::ours`] is called: other tools may look meanwhile.
    pub fn writes(&self, paths: &[PathBuf], by: Option<u32>) {
        // Nobody would clear away what a call without a listener gave up.
        if by.is_none() {
            return;
        }
        lock(&self.state).writing.extend(paths.iter().map(|path| (path.clone(), by)));
    }

    /// They were changed for this listener: no command that runs did that.
    pub fn ours(&self, paths: &[PathBuf], by: Option<u32>) {
        let mut state = lock(&self.state);
        state.look_if_asked(&self.rules, Own { paths, by });
        for path in paths {
            if let Some(at) = state.writing.iter().position(|(own, whose)| own == path && *whose == by) {
                state.writing.swap_remove(at);
            }
        }
    }

    /// Everything in it as it is now, by path below the root: what is kept, and the rest with the reason.
    pub fn snapshot(&self) -> (BTreeMap<PathBuf, FileState>, Vec<(PathBuf, &'static str)>) {
        let mut state = lock(&self.state);
        state.catch_up(&self.rules, Own::default());
        let (mut kept, mut rest) = (BTreeMap::new(), Vec::new());
        for (path, entry) in &state.tree {
            match (entry.state(), entry.content.why()) {
                (Some(state), _) => drop(kept.insert(path.clone(), state)),
                (None, why) => rest.push((path.clone(), why.unwrap_or_default())),
            }
        }
        (kept, rest)
    }

    /// What is left out as a whole.
    pub fn left_out(&self) -> Vec<PathBuf> {
        lock(&self.state).left_out.iter().cloned().collect()
    }
}
