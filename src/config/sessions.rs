//! `sessions:` of the configuration: when sessions are summarized, how long they are kept, how much they may take.

use serde::{Deserialize, Serialize};

/// `sessions:`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SessionsConfig {
    /// Minutes after the last turn until a session is summarized; 0: only when it is left.
    pub rest_minutes: f64,
    /// Days that the trash keeps a session; 0: until it is emptied.
    pub trash_days: u32,
    /// Days after its last use when a session is deleted; 0: never.
    pub prune_after_days: u32,
    /// Bytes of the database and the journals from which on a warning comes; 0: none does.
    pub budget_bytes: u64,
}

impl Default for SessionsConfig {
    fn default() -> Self {
        Self { rest_minutes: 5.0, trash_days: 30, prune_after_days: 0, budget_bytes: 8_000_000_000 }
    }
}
