//! `delegation:` of the configuration: what sessions that work for another one may use.

use serde::{Deserialize, Serialize};

/// `delegation:`. A child never gets more than what is left of its parent's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DelegationConfig {
    /// Children of one session that work at once; others wait.
    pub max_concurrent_children: usize,
    /// Levels below the session of a person.
    pub max_spawn_depth: u32,
    /// Steps of a child.
    pub max_iterations: u32,
    /// 0: no limit.
    pub child_timeout_seconds: u64,
    /// Tokens of a child, input and output; 0: no limit.
    pub max_tokens: u64,
    /// Tokens of a child's replies; 0: no limit.
    pub max_output_tokens: u64,
    /// US dollars of a child; unset: no limit.
    pub max_cost: Option<f64>,
    /// Characters of a child's summary.
    pub max_summary_chars: usize,
    /// `MODEL` or `PROVIDER:MODEL`; empty: the parent's.
    pub model: String,
    /// What keeps children apart that may write, where a call says nothing of it.
    pub isolation: Isolation,
}

/// What keeps the files of a child apart from those of others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Isolation {
    /// It works in the folder of its parent.
    #[default]
    None,
    /// It works in a git worktree that only it has.
    Worktree,
}

impl Default for DelegationConfig {
    fn default() -> Self {
        Self {
            max_concurrent_children: 3,
            max_spawn_depth: 2,
            max_iterations: 50,
            child_timeout_seconds: 0,
            max_tokens: 0,
            max_output_tokens: 0,
            max_cost: None,
            max_summary_chars: 24_000,
            model: String::new(),
            isolation: Isolation::None,
        }
    }
}
