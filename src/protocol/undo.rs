//! Undoing one command: the commands that changed files, what undoing one would mean, and the order.

use super::{FileBack, Theirs};
use serde::{Deserialize, Serialize};

/// A command that changed files, or that could not be watched.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UndoPoint {
    pub command: i64,
    /// Milliseconds since the epoch.
    pub at: i64,
    /// The tool call that ran it.
    pub call: String,
    /// The command, on one line; only a very long one is cut.
    pub line: String,
    /// Changes that are in effect; none: it was undone.
    pub files: u64,
}

/// What undoing a command would mean, as of now.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UndoPreview {
    pub command: i64,
    pub files: Vec<FileBack>,
    /// What of it can't be undone, in words.
    pub gaps: Vec<String>,
}

impl UndoPreview {
    /// Files that would be as they were, without those that somebody else changed.
    pub fn ready(&self) -> usize {
        self.files.iter().filter(|file| matches!(file.fate, super::Fate::Ready | super::Fate::Already)).count()
    }

    /// Files that somebody else changed since.
    pub fn foreign(&self) -> usize {
        self.files.iter().filter(|file| matches!(file.fate, super::Fate::Foreign(_))).count()
    }
}

/// A choice that was confirmed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UndoOrder {
    pub command: i64,
    /// What becomes of files that somebody else changed: nothing is asked any more.
    pub theirs: Theirs,
}
