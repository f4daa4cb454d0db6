//! What stands beside the conversation.

use crate::protocol::{Goal, OutsideFile, Todo};

/// Plan, context, files, processes, memory. Sections with nothing in them fold away.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sidebar {
    /// `None`: by width.
    pub shown: Option<bool>,
    pub plan: Vec<Todo>,
    /// What the session works towards by itself.
    pub goal: Option<Goal>,
    pub git: Option<Git>,
    /// Files that tools changed in this session: path, added, removed.
    pub files: Vec<(String, u32, u32)>,
    /// Files that others changed since the turn before this one, oldest first.
    pub outside: Vec<OutsideFile>,
    pub knowledge: Knowledge,
    pub scroll: u16,
    /// Columns, as the person set them; `None`: by width.
    pub width: Option<u16>,
}

/// State of the repository around the working folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Git {
    pub branch: String,
    /// Changed and untracked files.
    pub dirty: usize,
}

/// What the prompt was made of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Knowledge {
    /// Percent of the limit and newest entries.
    pub notes: Option<(u8, Vec<String>)>,
    pub profile: Option<(u8, Vec<String>)>,
    /// Names of skills.
    pub skills: Vec<String>,
    /// Names of context files, with what was wrong with them.
    pub context_files: Vec<(String, Option<String>)>,
    /// Tools that the model can use.
    pub tools: usize,
    /// Tools that are not available, with the reason.
    pub unavailable: Vec<(String, String)>,
}
