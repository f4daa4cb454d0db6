//! What others change in a workspace, for whoever listens: a session hears of what neither its tools nor its commands did.

use super::entry::{Content, Entry, hex};
use super::state::{Own, Phase, State};
use super::watch::Bell;
use super::workspace::Workspace;
use crate::lock::lock;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Paths that one listener remembers until it asks; the rest is counted.
const MOST: usize = 2_000;

/// What became of a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fate {
    Modified,
    Created,
    Removed,
    /// It was at this path before (absolute).
    Renamed(PathBuf),
}

/// A file that somebody else changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Strange {
    /// Absolute.
    pub path: PathBuf,
    pub fate: Fate,
    /// SHA-256 of what it holds now; `None`: nothing, or not known.
    pub hash: Option<String>,
    /// Git ignores it.
    pub ignored: bool,
    /// A command of the listener runs since before it changed, and may have done it.
    pub unsure: bool,
}

/// What was heard since the last time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Heard {
    /// By path.
    pub files: Vec<Strange>,
    /// Files beyond what is remembered.
    pub more: usize,
    /// Everything was watched: what is not here did not change.
    pub whole: bool,
    /// Whether others changed git's records (branch, commits); `None`: they are not watched.
    pub git: Option<bool>,
}

/// Somebody who listens. Dropped, it hears no more.
pub struct Listener {
    workspace: Arc<Workspace>,
    number: u32,
}

impl Drop for Listener {
    fn drop(&mut self) {
        lock(&self.workspace.state).listeners.remove(&self.number);
    }
}

impl Listener {
    /// What others changed since the last call. Looks at what the watch told of, and at nothing else: may block for as long
    /// as that takes.
    pub fn hear(&self) -> Heard {
        self.workspace.hear(self.number, false)
    }

    /// The same, and the next call tells it again.
    pub fn overhear(&self) -> Heard {
        self.workspace.hear(self.number, true)
    }

    /// What tells that something happens in the workspace; `None`: nothing is watched. To be made in a runtime.
    pub fn bell(&self) -> Option<Bell> {
        lock(&self.workspace.state).watch.as_ref()?.bell()
    }

    /// Whether all that changes in the workspace is told, and by whom.
    pub fn is_watched(&self) -> bool {
        lock(&self.workspace.state).is_watched()
    }

    /// Its number in the workspace.
    pub fn number(&self) -> u32 {
        self.number
    }
}

impl Workspace {
    /// Begins to listen. What changed until now is not heard.
    pub fn listen(self: &Arc<Self>) -> Listener {
        let mut state = lock(&self.state);
        let number = state.listen();
        state.look_if_asked(&self.rules, Own::default());
        state.heard(number, false);
        Listener { workspace: Arc::clone(self), number }
    }

    fn hear(&self, number: u32, again: bool) -> Heard {
        let mut state = lock(&self.state);
        if state.watch.is_some() {
            state.catch_up(&self.rules, Own::default());
        }
        // Between two steps no tool of its own writes: what is left here was given up.
        state.writing.retain(|(_, by)| *by != Some(number));
        let mut heard = state.heard(number, again);
        let rules = lock(&self.rules);
        for file in &mut heard.files {
            file.ignored = rules.ignored(&file.path, false);
            file.path = self.root.join(&file.path);
            if let Fate::Renamed(from) = &mut file.fate {
                *from = self.root.join(&*from);
            }
        }
        heard
    }
}

/// A change of a path, first to last.
#[derive(Clone)]
struct Change {
    before: Option<Entry>,
    /// What was there before is not known: the baseline had not come to it.
    unknown: bool,
    after: Option<Entry>,
    /// Commands of the listener that ran when it was seen.
    during: BTreeSet<u32>,
}

/// What a listener has not been told yet.
#[derive(Clone, Default)]
pub(super) struct Hearing {
    found: BTreeMap<PathBuf, Change>,
    more: usize,
    /// Commands of the listener that ran when git's records last changed.
    git: Option<BTreeSet<u32>>,
}

impl State {
    fn is_watched(&self) -> bool {
        self.watch.is_some() && self.phase == Phase::Ready
    }

    fn listen(&mut self) -> u32 {
        self.listened += 1;
        self.listeners.insert(self.listened, Hearing::default());
        self.listened
    }

    /// A path changed: everybody hears of it but `by`.
    pub(super) fn tell(&mut self, path: &Path, before: Option<&Entry>, after: Option<&Entry>, by: Option<u32>) {
        let is_no_file =
            |entry: Option<&Entry>| entry.is_some_and(|entry| entry.is_folder() || entry.content == Content::Special);
        if self.listeners.is_empty() || is_no_file(before) || is_no_file(after) {
            return;
        }
        let unknown = before.is_none() && !self.is_known_absent(path);
        for (number, hearing) in self.listeners.iter_mut().filter(|(number, _)| by != Some(**number)) {
            let running = self.open.iter().filter(|(_, open)| open.by == Some(*number)).map(|(command, _)| *command);
            if !hearing.found.contains_key(path) && hearing.found.len() >= MOST {
                hearing.more += 1;
                continue;
            }
            let change = hearing.found.entry(path.to_owned()).or_insert_with(|| Change {
                before: before.cloned(),
                unknown,
                after: None,
                during: BTreeSet::new(),
            });
            change.after = after.cloned();
            change.during = running.collect();
        }
    }

    /// Git's records changed.
    pub(super) fn tell_git(&mut self) {
        for (number, hearing) in &mut self.listeners {
            let running = self.open.iter().filter(|(_, open)| open.by == Some(*number)).map(|(command, _)| *command);
            hearing.git = Some(running.collect());
        }
    }

    fn heard(&mut self, number: u32, again: bool) -> Heard {
        let whole = self.is_watched();
        let has_git = whole && self.root.join(&self.git).is_dir();
        let Some(hearing) = self.listeners.get_mut(&number) else { return Heard::default() };
        let Hearing { found, more, git } = if again { hearing.clone() } else { std::mem::take(hearing) };
        let git = git.is_some_and(|during| during.iter().all(|command| self.open.contains_key(command)));
        let mut files = Vec::new();
        for (path, change) in found {
            // A command of the listener that has ended since is taken for its author.
            if change.during.iter().any(|command| !self.open.contains_key(command)) {
                continue;
            }
            let fate = match (&change.before, &change.after) {
                (None, None) => continue,
                (Some(before), Some(after)) if before.is_like(after) => continue,
                (None, Some(_)) if change.unknown => Fate::Modified,
                (None, Some(_)) => Fate::Created,
                (Some(_), Some(_)) => Fate::Modified,
                (Some(_), None) => Fate::Removed,
            };
            let was = change.before.as_ref().and_then(hash);
            let hash = change.after.as_ref().and_then(hash);
            files.push((Strange { path, fate, hash, ignored: false, unsure: !change.during.is_empty() }, was));
        }
        Heard { files: with_renames(files), more, whole, git: has_git.then_some(git) }
    }
}

fn hash(entry: &Entry) -> Option<String> {
    match &entry.content {
        Content::Kept(hash) if entry.stamp.size > 0 => Some(hex(hash)),
        _ => None,
    }
}

/// A file that is gone and one with the same bytes that is new are one that was renamed.
fn with_renames(files: Vec<(Strange, Option<String>)>) -> Vec<Strange> {
    let mut gone: BTreeMap<String, PathBuf> = BTreeMap::new();
    for (file, was) in &files {
        if let (Fate::Removed, Some(was)) = (&file.fate, was) {
            gone.insert(was.clone(), file.path.clone());
        }
    }
    let mut from = BTreeSet::new();
    let mut out: Vec<Strange> = Vec::with_capacity(files.len());
    for (mut file, _) in files {
        if file.fate == Fate::Created
            && let Some(old) = file.hash.as_ref().and_then(|hash| gone.remove(hash))
        {
            from.insert(old.clone());
            file.fate = Fate::Renamed(old);
        }
        out.push(file);
    }
    out.retain(|file| file.fate != Fate::Removed || !from.contains(&file.path));
    out
}
