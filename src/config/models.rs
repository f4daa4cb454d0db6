//! `models:`, models that run on this computer.

use serde::{Deserialize, Serialize};

/// Which profile a session has: `models.small_profile`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SmallProfile {
    /// By what the self-test measured.
    #[default]
    Auto,
    On,
    Off,
}

/// `models:`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ModelsConfig {
    /// Hosts that are asked before the ones of the table, as they serve a hub: `HOST/REPO/resolve/REVISION/FILE`.
    pub mirror: Vec<String>,
    /// Folder of the weights; empty: `models` in the home.
    pub dir: String,
    /// A `llama-server` to use; empty: the installed one, else the one that Hermes fetched.
    pub engine: String,
    /// Tokens of the window; 0: what fits into memory.
    pub context: u64,
    /// Minutes without a request after which a model gives its memory back; 0: never.
    pub idle_minutes: u64,
    pub small_profile: SmallProfile,
    /// Two short requests to a model that is chosen for the first time.
    pub self_test: bool,
}

impl Default for ModelsConfig {
    fn default() -> Self {
        Self {
            mirror: Vec::new(),
            dir: String::new(),
            engine: String::new(),
            context: 0,
            idle_minutes: 15,
            small_profile: SmallProfile::Auto,
            self_test: true,
        }
    }
}
