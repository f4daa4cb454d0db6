//! `checkpoints:` of the configuration: what is kept of files so that changes can be undone.

use serde::{Deserialize, Serialize};

/// `checkpoints:`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CheckpointsConfig {
    /// Bytes of a working folder that are saved before commands run in it; 0: commands are not recorded.
    pub baseline_bytes: u64,
    /// Bytes that all saved files may take together.
    pub budget_bytes: u64,
    /// The agent hears of files that others change.
    pub tell_changes: bool,
}

impl Default for CheckpointsConfig {
    fn default() -> Self {
        Self { baseline_bytes: 2_000_000_000, budget_bytes: 4_000_000_000, tell_changes: true }
    }
}
