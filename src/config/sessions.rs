//! `sessions:` of the configuration: when sessions are summarized, how long the trash keeps them.

use serde::{Deserialize, Serialize};

/// `sessions:`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SessionsConfig {
    /// Minutes after the last turn until a session is summarized; 0: only when it is left.
    pub rest_minutes: f64,
    /// Days that the trash keeps a session; 0: until it is emptied.
    pub trash_days: u32,
}

impl Default for SessionsConfig {
    fn default() -> Self {
        Self { rest_minutes: 5.0, trash_days: 30 }
    }
}
