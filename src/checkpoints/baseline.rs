//! The first look at a workspace: everything that is in it, with its bytes. Runs on a thread of its own.

use super::base::Base;
use super::entry::{Content, Entry, Keeper};
use super::known;
use super::state::{MOST_IGNORED, Phase, names};
use super::watch::Watch;
use super::workspace::Workspace;
use crate::lock::lock;
use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Weak;

/// Files of a workspace; one with more is no project.
const MOST_FILES: usize = 300_000;

/// Takes it. Ends early when nobody holds the workspace any more.
pub(super) fn take(workspace: &Weak<Workspace>) {
    let Some(begun) = workspace.upgrade() else { return };
    let file = begun.settings.known.clone();
    let mut pass = Pass {
        known: known::read(&file),
        keeper: Keeper { blobs: begun.settings.blobs.clone(), most: begun.settings.baseline_bytes, taken: 0 },
        folders: vec![(PathBuf::new(), false)],
        files: 0,
        ignored: 0,
    };
    {
        let mut state = lock(&begun.state);
        state.watch = Watch::new(&begun.root).inspect_err(|error| tracing::info!(%error, "no watch")).ok();
        state.git = super::leave_out::git(&begun.root);
        for folder in [state.git.clone(), state.git.join("logs")] {
            if begun.root.join(&folder).is_dir() {
                state.watch_folder(&folder);
            }
        }
    }
    drop(begun);
    while let Some((folder, ignored)) = pass.folders.pop() {
        let Some(workspace) = workspace.upgrade() else { return };
        pass.folder(&workspace, &folder, ignored);
        if pass.files > MOST_FILES {
            let why = format!("{} holds more than {MOST_FILES} files", workspace.root.display());
            return workspace.settle(Phase::Off(why));
        }
    }
    let Some(workspace) = workspace.upgrade() else { return };
    let (tree, left_out) = {
        let mut state = lock(&workspace.state);
        state.touched = Some(BTreeSet::new());
        (state.tree.clone(), state.left_out.clone())
    };
    let base = Base::write(&file, &tree, &left_out);
    if let Err(error) = &base {
        tracing::warn!(%error, "the next baseline will read everything again");
    }
    lock(&workspace.state).base = base.ok();
    workspace.settle(Phase::Ready);
}

struct Pass {
    known: HashMap<PathBuf, Entry>,
    keeper: Keeper,
    /// To be looked at, and whether git ignores it.
    folders: Vec<(PathBuf, bool)>,
    files: usize,
    ignored: usize,
}

impl Pass {
    /// Looks at what is in a folder. It is watched first: what changes meanwhile is looked at again.
    fn folder(&mut self, workspace: &Workspace, folder: &Path, ignored: bool) {
        let (begun, told) = {
            let mut state = lock(&workspace.state);
            state.watch_folder(folder);
            (state.begun, state.told)
        };
        lock(&workspace.rules).read(folder);
        let taken = self.keeper.taken;
        let mut found = Vec::new();
        let mut left_out = Vec::new();
        let listed = std::fs::read_dir(workspace.root.join(folder));
        if listed.is_err_and(|error| error.kind() == std::io::ErrorKind::PermissionDenied) {
            // What is in it must not look new when it can be read one day.
            left_out.push(folder.to_owned());
        }
        for name in names(&workspace.root.join(folder)) {
            let path = folder.join(name);
            let place = workspace.root.join(&path);
            let is_folder = std::fs::symlink_metadata(&place).is_ok_and(|about| about.is_dir());
            let (out, ignored) = {
                let rules = lock(&workspace.rules);
                (rules.out(&path, is_folder), ignored || rules.ignored(&path, is_folder))
            };
            self.ignored += usize::from(ignored);
            if out || ignored && self.ignored > MOST_IGNORED {
                left_out.push(path);
                continue;
            }
            let known = self.known.remove(&path).filter(|known| self.holds(known));
            // What can't be looked at is not known: a command that changes it has a gap.
            let Ok(Some(entry)) = self.keeper.look(&place, known.as_ref(), ignored) else { continue };
            if known.is_some_and(|known| known.stamp == entry.stamp) {
                self.keeper.taken += entry.stamp.size;
            }
            if entry.is_folder() {
                self.folders.push((path.clone(), ignored));
            } else {
                self.files += 1;
            }
            found.push((path, entry));
        }
        let mut state = lock(&workspace.state);
        state.keeper.taken += self.keeper.taken - taken;
        state.ignored = self.ignored;
        if state.told != told {
            // Something may have been told of before it stood in the tree.
            state.look_again(found.iter().map(|(path, _)| path.clone()));
        }
        for (path, entry) in found {
            // A command that ended meanwhile may have looked at it: what it saw is newer.
            let seen = state.begun;
            state.tree.entry(path).or_insert(Entry { seen, ..entry });
        }
        state.left_out.extend(left_out);
        // Names that came after the list was read are told by the watch, and are new.
        state.listed.insert(folder.to_owned(), begun);
        state.phase = Phase::Looking(self.files);
    }

    fn holds(&self, known: &Entry) -> bool {
        match known.content {
            Content::Kept(hash) => self.keeper.blobs.hold(&super::entry::hex(&hash)),
            _ => false,
        }
    }
}
