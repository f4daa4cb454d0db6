//! `recordings:` of the configuration: what is kept of what terminals show.

use serde::{Deserialize, Serialize};

/// `recordings:`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RecordingsConfig {
    /// Terminals of sessions are recorded.
    pub enabled: bool,
    /// Bytes of one terminal.
    pub terminal_bytes: u64,
    /// Bytes that all recordings may take together.
    pub budget_bytes: u64,
}

impl Default for RecordingsConfig {
    fn default() -> Self {
        Self { enabled: true, terminal_bytes: 4 * 1024 * 1024, budget_bytes: 256 * 1024 * 1024 }
    }
}
