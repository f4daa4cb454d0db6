//! Going back: the prompts to go back to, what that would mean, and what it meant.

use super::{Image, Item, ItemId};
use serde::{Deserialize, Serialize};

/// A prompt that can be gone back to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RewindPoint {
    pub item: ItemId,
    /// Milliseconds since the epoch.
    pub at: i64,
    /// Its start, on one line.
    pub text: String,
    /// Files that tools changed from there on.
    pub files: u64,
    /// Commands, and other tools that may change what the history does not keep, that ran from there on.
    pub commands: u64,
}

/// What going back to a prompt would mean, as of now.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RewindPreview {
    pub item: ItemId,
    /// The start of the prompt that comes back to the composer, on one line.
    pub text: String,
    pub files: Vec<FileBack>,
    /// Commands whose changes are not undone, by prompt.
    pub commands: Vec<RanCommands>,
    /// Prompts and items that would be left out of the conversation.
    pub prompts: usize,
    pub items: usize,
    /// The first of them.
    pub left_out: Vec<LeftOut>,
}

impl RewindPreview {
    /// Files that would be as they were, without those that somebody else changed. One that is so already counts: a
    /// rewind that was cut off is completed by choosing it again.
    pub fn ready(&self) -> usize {
        self.files.iter().filter(|file| matches!(file.fate, Fate::Ready | Fate::Already)).count()
    }

    /// Files that somebody else changed.
    pub fn foreign(&self) -> usize {
        self.files.iter().filter(|file| matches!(file.fate, Fate::Foreign(_))).count()
    }
}

/// A file that would be put back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileBack {
    /// As a person reads it: below the working folder where it lies there.
    pub path: String,
    pub kind: FileKind,
    /// Lines that putting it back adds and removes.
    pub added: u32,
    pub removed: u32,
    /// These lines, as a unified diff without its head, in short; empty: they can't be shown.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub diff: String,
    pub fate: Fate,
}

/// What putting a file back does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileKind {
    Modified,
    /// It is not there and comes back.
    Added,
    /// A tool made it, and it goes.
    Deleted,
    /// It goes back to where it was.
    Moved,
    /// Only its permissions change.
    Mode,
}

/// Whether a file would be put back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", content = "data", rename_all = "snake_case")]
pub enum Fate {
    Ready,
    /// It is as it was.
    Already,
    /// Not overwritten unless that is chosen; says how it is known.
    Foreign(String),
    /// It can't be put back; says why.
    Lost(String),
}

/// Commands of a turn.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RanCommands {
    /// The start of the prompt they ran for.
    pub prompt: String,
    /// One line each.
    pub commands: Vec<String>,
}

/// The start of something that would be left out, on one line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    pub who: Who,
    pub text: String,
}

/// Who said or did it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Who {
    Person,
    Model,
    Tool,
}

impl Who {
    /// What stands before the words of one: `you: `; nothing before a tool, which begins with its name.
    pub fn before(self) -> &'static str {
        match self {
            Who::Person => "you: ",
            Who::Model => "agent: ",
            Who::Tool => "",
        }
    }
}

/// A choice that was confirmed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RewindOrder {
    pub item: ItemId,
    pub conversation: bool,
    pub files: bool,
    /// What becomes of files that somebody else changed.
    pub theirs: Theirs,
}

/// What becomes of files that somebody else changed, when a rewind would put them back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Theirs {
    /// Nothing is done at all before the person has said so, with the names in view.
    #[default]
    Ask,
    /// They stay as they are, the others are put back.
    Leave,
    /// They are put back too; what they hold is kept for a redo.
    Overwrite,
}

/// What a rewind or a redo did to the conversation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Rewound {
    /// The newest page of what is in the conversation now.
    pub items: Vec<Item>,
    /// The prompt that goes back to the composer.
    pub prompt: Option<(String, Vec<Image>)>,
    /// The prompt that a redo took out of the composer again.
    pub taken: Option<String>,
}
