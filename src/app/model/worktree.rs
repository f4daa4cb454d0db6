//! What a git worktree holds that the folder of the session does not: the files, the hunks of one, and what was set aside.

use crate::protocol::{Pick, Swap, TreeChanges, TreeFile, TreeHunk, TreeHunks};
use std::collections::{BTreeMap, BTreeSet};

/// The modal.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WorktreeModal {
    /// What was asked for: a name, a branch, or a folder.
    pub wanted: String,
    /// Who left it; empty: nobody of this session.
    pub by: String,
    pub changes: Option<TreeChanges>,
    /// Why there is nothing to see.
    pub problem: String,
    /// Index into what [`shown`](Self::shown) gives.
    pub selected: usize,
    /// The hunks of the selected file, once they are there.
    pub hunks: Option<TreeHunks>,
    /// Index into what [`hunks_shown`](Self::hunks_shown) gives.
    pub hunk: usize,
    /// The keys are for the hunks.
    pub in_hunks: bool,
    /// First line of the hunks that is shown; a frame sets it to where it came to rest.
    pub scroll: usize,
    /// Files that the person dropped from the list.
    pub dropped: BTreeSet<String>,
    /// What is left of files of which hunks were dropped, by path: what the file was, and the changes that stay.
    pub parts: BTreeMap<String, (String, Vec<Swap>)>,
    /// Files of which nothing was taken, and why.
    pub left: Vec<(String, String)>,
    pub busy: Busy,
}

/// What is being done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Busy {
    #[default]
    No,
    Looking,
    Taking,
    /// The worktree itself goes.
    Dropping,
}

impl WorktreeModal {
    /// The files that were not dropped.
    pub fn shown(&self) -> Vec<&TreeFile> {
        let files = self.changes.iter().flat_map(|changes| &changes.files);
        files.filter(|file| !self.dropped.contains(&file.path)).collect()
    }

    /// The selected one.
    pub fn file(&self) -> Option<&TreeFile> {
        self.shown().get(self.selected).copied()
    }

    /// The hunks of the selected file that were not dropped.
    pub fn hunks_shown(&self) -> Vec<&TreeHunk> {
        let (Some(file), Some(hunks)) = (self.file(), &self.hunks) else { return Vec::new() };
        if hunks.path != file.path {
            return Vec::new();
        }
        let part = self.parts.get(&file.path).filter(|(seen, _)| *seen == hunks.seen);
        let stays = |hunk: &&TreeHunk| part.is_none_or(|(_, kept)| hunk.swaps.iter().all(|swap| kept.contains(swap)));
        hunks.hunks.iter().filter(stays).collect()
    }

    /// Whether the keys can go to the hunks: there are some, or they are on their way.
    pub fn may_enter(&self) -> bool {
        let known = self.hunks.as_ref().zip(self.file()).is_some_and(|(hunks, file)| hunks.path == file.path);
        self.file().is_some() && (!known || !self.hunks_shown().is_empty())
    }

    /// Lines of all hunks, each with its head.
    pub fn lines(&self) -> usize {
        self.hunks_shown().iter().map(|hunk| 1 + hunk.lines.len()).sum()
    }

    /// The line that the head of a hunk stands on.
    pub fn line_of(&self, hunk: usize) -> usize {
        self.hunks_shown().iter().take(hunk).map(|hunk| 1 + hunk.lines.len()).sum()
    }

    /// What taking a file means: all of it but the hunks that were dropped.
    pub fn pick(&self, file: &TreeFile) -> Pick {
        Pick { path: file.path.clone(), from: file.from.clone(), part: self.parts.get(&file.path).cloned() }
    }

    /// Files that taking all would take.
    pub fn open(&self) -> Vec<&TreeFile> {
        self.shown().into_iter().filter(|file| !file.here && file.stuck.is_none()).collect()
    }
}
