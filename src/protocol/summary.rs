//! A compaction: a summary that the model reads in place of a stretch of the conversation.

use super::{ItemId, Usage};
use serde::{Deserialize, Serialize};

/// What stands for a stretch of the conversation. The last one of a session counts; the entries that it stands for stay
/// in the session, are shown and found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SummaryBody {
    /// Markdown; empty: the model reads every entry again.
    pub text: String,
    /// The first and the last entry that it stands for.
    pub from: ItemId,
    pub to: ItemId,
    /// One of them that is sent word for word all the same: the prompt of a turn that is longer than what stays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<ItemId>,
    /// Entries that it stands for, notes not counted.
    pub entries: u64,
    /// What is carried as it is: the open entries of the plan. Empty if there is nothing.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub state: String,
    /// Tokens of the next request before and after.
    pub before: u64,
    pub after: u64,
    pub by: SummaryBy,
    /// What the person asked it to keep in view.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub focus: String,
    /// Tokens of the calls that wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
}

/// Who wrote a summary.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", content = "data", rename_all = "snake_case")]
pub enum SummaryBy {
    /// `PROVIDER:MODEL`.
    Model(String),
    /// No model could: the start of each entry.
    #[default]
    Extract,
    /// The person changed the one before.
    Person,
    /// The person took the one before back.
    Undo,
}

impl SummaryBody {
    /// Whether it stands for this entry.
    pub fn covers(&self, id: ItemId) -> bool {
        !self.text.is_empty() && self.from <= id && id <= self.to && self.prompt != Some(id)
    }

    /// One line: `compacted 42 entries · 91,200 → 14,300 tokens · by openai:gpt-5-mini`.
    pub fn line(&self) -> String {
        use crate::text::format::{count, plural};
        let entries = plural(self.entries, "entry", "entries");
        let tokens = format!("{} → {} tokens", count(self.before), count(self.after));
        match &self.by {
            SummaryBy::Model(model) => format!("compacted {entries} · {tokens} · by {model}"),
            SummaryBy::Extract => format!("compacted {entries} · {tokens} · an extract"),
            SummaryBy::Person => format!("edited the summary of {entries}"),
            SummaryBy::Undo if self.text.is_empty() => format!("undid the compaction · {tokens}"),
            SummaryBy::Undo => format!("undid the last change of the summary · {tokens}"),
        }
    }
}

/// What a person wants of a compaction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", content = "data", rename_all = "snake_case")]
pub enum CompactOrder {
    /// Compact, with this in view (may be empty): now, or at the next step of a running turn.
    Now(String),
    /// This summary reads like this from now on, if it is still the one that counts.
    Edit { of: ItemId, text: String },
    /// Answered with `SummaryRead`: to edit it, or to see what it stands for.
    Read { edit: bool },
    /// As it was before the last compaction.
    Undo,
}
