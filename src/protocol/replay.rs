//! A session on a time line: what each moment adds, without what was said.

use super::{Item, ItemId, Todo, Usage};
use crate::text::Line;
use serde::{Deserialize, Serialize};

/// An item as the time line knows it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Beat {
    pub item: ItemId,
    /// Milliseconds since the epoch.
    pub at: i64,
    pub turn: u32,
    /// It is a prompt of the person.
    pub prompt: bool,
    /// Of an answer.
    pub usage: Option<Usage>,
    /// The plan, where the item changed it.
    pub plan: Option<Vec<Todo>>,
    /// Files that it changed: path, lines added and removed.
    pub files: Vec<(String, u32, u32)>,
    /// The rewind that left it out of the conversation later; zero: it is there.
    pub rewound: i64,
}

/// A place on the time line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stop {
    /// Milliseconds since the epoch, never before the stop before it.
    pub at: i64,
    /// The newest item of the moment.
    pub item: Option<ItemId>,
    /// The item came at this stop; otherwise a screen changed.
    pub is_item: bool,
    /// The turn of the item.
    pub turn: u32,
}

/// A part of a time line: the newest items before one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReplayPage {
    pub title: String,
    /// In time order.
    pub beats: Vec<Beat>,
    /// Older ones exist.
    pub more: bool,
    /// Only with the newest page: what was recorded of terminals, and files that commands changed with the time of it.
    pub terminals: Vec<RecordedTerminal>,
    pub changed: Vec<(i64, String)>,
}

/// A terminal that was recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordedTerminal {
    /// What it is looked up by: its process and the time of its start.
    pub key: (String, i64),
    pub command: String,
    /// Milliseconds since the epoch.
    pub started_at: i64,
    pub ended_at: i64,
    /// `None`: it still runs, or nobody saw its end.
    pub code: Option<i32>,
    /// When its screen changed, in order.
    pub changes: Vec<i64>,
}

/// What a moment shows beside the figures: the end of the conversation, and screens by the index of their terminal.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReplayMoment {
    pub items: Vec<Item>,
    pub screens: Vec<(usize, Vec<Line>)>,
}
