//! Sessions that work for another one, as a screen shows them: a row each under the call that started them.

use super::{SessionId, Usage};
use crate::text::format;
use serde::{Deserialize, Serialize};

/// One child of a session.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ChildRow {
    /// Known once it is open.
    pub session: Option<SessionId>,
    /// What its questions say it is called: `scout`, else `child 2`.
    pub name: String,
    pub goal: String,
    /// `PROVIDER:MODEL`.
    pub model: String,
    pub state: ChildState,
    /// What it does now: `reading src/main.rs`. Empty between its calls.
    pub doing: String,
    /// When it began and ended, in milliseconds since the epoch; 0: it has not.
    pub began: i64,
    pub ended: i64,
    pub steps: u32,
    pub used: Usage,
    /// What is left of its limits, in words: `12K tokens left`. Empty: none is set.
    pub left: String,
    /// The git worktree that it works in, or left.
    pub worktree: Option<ChildTree>,
}

/// The git worktree of a child.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ChildTree {
    pub branch: String,
    pub folder: String,
}

/// Where a child is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChildState {
    /// For others to end: only so many work at once.
    #[default]
    Waiting,
    Working,
    /// A question of it is open.
    Asks,
    Completed,
    Failed,
    Stopped,
    /// A limit of its steps, tokens, money or time was reached.
    Limit,
}

impl ChildState {
    /// As results and rows say it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Working => "working",
            Self::Asks => "needs an answer",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Stopped => "stopped",
            Self::Limit => "limit reached",
        }
    }

    /// Whether nothing more comes of it.
    pub fn is_over(self) -> bool {
        match self {
            Self::Waiting | Self::Working | Self::Asks => false,
            Self::Completed | Self::Failed | Self::Stopped | Self::Limit => true,
        }
    }
}

impl ChildRow {
    /// Branch, steps, tokens, money and what is left, as far as they are known; what is not is empty.
    pub fn parts(&self) -> [String; 5] {
        let tokens = self.used.input + self.used.output;
        let tokens = (tokens > 0).then(|| format::tokens(i64::try_from(tokens).unwrap_or(i64::MAX)));
        [
            self.worktree.as_ref().map(|tree| tree.branch.clone()).unwrap_or_default(),
            format::plural(u64::from(self.steps), "step", "steps"),
            tokens.map(|tokens| format!("{tokens} tokens")).unwrap_or_default(),
            self.used.cost.map(format::dollars).unwrap_or_default(),
            self.left.clone(),
        ]
    }

    /// `3 steps · 4.2K tokens · $0.012`, as far as it is known.
    pub fn figures(&self) -> String {
        let parts: Vec<String> = self.parts().into_iter().skip(1).filter(|part| !part.is_empty()).collect();
        parts.join(" · ")
    }
}
