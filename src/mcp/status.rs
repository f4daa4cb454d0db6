//! What people see of a server.

use super::catalog::RemotePrompt;
use super::state::State;

/// What a person sees of a server.
#[derive(Clone, Debug, PartialEq)]
pub struct Status {
    pub name: String,
    pub state: State,
    /// Why it is not ready; empty when it is.
    pub why: String,
    /// Program or address.
    pub place: String,
    /// Name and version, as it says.
    pub about: String,
    pub protocol: String,
    /// Names of its tools as the model sees them.
    pub tools: Vec<String>,
    /// Tokens of their schemas, estimated.
    pub tokens: u64,
    pub resources: usize,
    pub prompts: Vec<RemotePrompt>,
    /// What could not be used.
    pub problems: Vec<String>,
    /// The last of its standard error.
    pub stderr: String,
    /// Milliseconds from the start to the first lists.
    pub took_ms: Option<u64>,
}

impl Status {
    /// A server whose configuration cannot be used.
    pub(super) fn broken(name: &str, why: &str) -> Self {
        Self {
            name: name.to_owned(),
            state: State::Failed,
            why: why.to_owned(),
            place: String::new(),
            about: String::new(),
            protocol: String::new(),
            tools: Vec::new(),
            tokens: 0,
            resources: 0,
            prompts: Vec::new(),
            problems: Vec::new(),
            stderr: String::new(),
            took_ms: None,
        }
    }
}
