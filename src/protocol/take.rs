//! What a git worktree holds that the folder of a session does not: the files, their hunks, and the order to take some of it.

use super::FileKind;
use serde::{Deserialize, Serialize};

/// A worktree that a child or a session left, and what is in it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TreeChanges {
    /// The name of its folder: `app-fix`.
    pub name: String,
    /// Its top folder.
    pub folder: String,
    /// None: its HEAD is on no branch.
    pub branch: Option<String>,
    /// The commit that both sides have in common: all is compared with it.
    pub base: String,
    pub files: Vec<TreeFile>,
    /// Files that are not in the list.
    pub more: u64,
    /// What would be lost with it, in words; empty: nothing is in it that is nowhere else.
    pub stays: Vec<String>,
    /// All that as one word: a yes to drop it is about nothing else.
    pub mark: String,
}

/// A file that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeFile {
    /// Below the top folder.
    pub path: String,
    /// Where it was, when it was moved.
    pub from: Option<String>,
    pub kind: FileKind,
    pub added: u32,
    pub removed: u32,
    /// Not text: it can only be taken whole.
    pub binary: bool,
    /// In no commit of the worktree, or not as it is now.
    pub loose: bool,
    /// The folder of the session has it as the worktree has it.
    pub here: bool,
    /// Why it can't be taken.
    pub stuck: Option<String>,
}

/// The differences of one file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TreeHunks {
    pub path: String,
    /// What the file in the worktree was when they were made: an order about anything else is refused.
    pub seen: String,
    pub hunks: Vec<TreeHunk>,
    /// What is not shown, or why nothing is.
    pub note: String,
}

/// A place of a file that differs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeHunk {
    /// Lines that it replaces.
    pub swaps: Vec<Swap>,
    /// The numbers of its first lines, from 1 on.
    pub old: usize,
    pub new: usize,
    /// Its lines with their signs, as in a unified diff.
    pub lines: Vec<String>,
    /// The folder of the session has it already.
    pub here: bool,
}

/// Lines of the old side that lines of the new one replace, from 0 on, ends excluded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Swap {
    pub old: (usize, usize),
    pub new: (usize, usize),
}

/// Takes changes of a worktree into the folder of the session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TakeOrder {
    pub folder: String,
    pub base: String,
    pub picks: Vec<Pick>,
}

/// A file of which something is taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pick {
    pub path: String,
    pub from: Option<String>,
    /// Only these changes of it, and what the file was when they were shown; `None`: all of it, as it is now.
    pub part: Option<(String, Vec<Swap>)>,
}

/// What came of an order to take.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Taken {
    /// The worktree.
    pub folder: String,
    /// Files that hold now what was taken of them.
    pub files: Vec<String>,
    /// Files of which nothing was taken, and why.
    pub left: Vec<(String, String)>,
}
