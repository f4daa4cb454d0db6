//! `context:` of the configuration: what the layers of a request may take.

use serde::{Deserialize, Serialize};

/// `context:`, in tokens. What is not set goes with the model's window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ContextConfig {
    /// The layers of the prompt together.
    pub total_tokens: Option<u64>,
    pub identity_tokens: Option<u64>,
    pub project_tokens: Option<u64>,
    pub skills_tokens: Option<u64>,
    pub profile_tokens: Option<u64>,
    pub learnings_tokens: Option<u64>,
    pub memory_tokens: Option<u64>,
    pub runtime_tokens: Option<u64>,
}
