//! What a session works towards by itself, turn after turn.

use serde::{Deserialize, Serialize};

/// A goal, and how near it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Goal {
    /// As the person wrote it, without its checks.
    pub text: String,
    /// Commands that must exit with 0. Without any a model judges.
    pub checks: Vec<String>,
    pub state: GoalState,
    /// What was missing after the last turn, or why it ended.
    pub why: String,
    /// Turns that were judged.
    pub rounds: u32,
    /// Judgements in a row that saw no way on.
    pub stuck: u32,
    /// What the output of the last check that failed was like; 0: none did.
    pub like: u64,
    /// Somebody judges now.
    #[serde(skip)]
    pub judging: bool,
}

/// Where a goal is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GoalState {
    /// The session goes on by itself after each turn.
    #[default]
    Working,
    /// Nothing goes on before a person says so.
    Paused,
    Met,
    Stuck,
}

impl GoalState {
    /// As it is shown.
    pub fn word(self) -> &'static str {
        match self {
            Self::Working => "working on it",
            Self::Paused => "paused",
            Self::Met => "met",
            Self::Stuck => "stuck",
        }
    }
}

/// What a person says of the goal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", content = "data", rename_all = "snake_case")]
pub enum GoalOrder {
    /// Works towards this from now on. A line `check: COMMAND` names a command that must exit with 0.
    Set(String),
    Resume,
    Pause,
    Clear,
}
