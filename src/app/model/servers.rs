//! MCP servers as the screen shows them.

/// Where a server is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ServerState {
    #[default]
    Off,
    Connecting,
    Ready,
    /// Tried again in a while.
    Waiting,
    Asleep,
    NeedsLogin,
    Failed,
}

/// One server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerRow {
    pub name: String,
    pub state: ServerState,
    /// Why it is not ready.
    pub why: String,
    pub tools: usize,
    /// Tokens of their schemas, estimated.
    pub tokens: u64,
    pub resources: usize,
    /// Name, what it is for, and what it takes.
    pub prompts: Vec<(String, String, Vec<String>)>,
    /// The last line of its standard error.
    pub last_words: String,
    /// Tools and words that could not be used.
    pub problems: usize,
}

/// Facts of the servers beside their rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerFact {
    /// The configuration was read again: what changed for the servers, or why it cannot be used and they stay.
    Read { result: Result<ServerChanges, String>, why: ReadWhy },
    /// Somebody else changed the configuration.
    ConfigChanged,
    /// Where a person logs in to a server.
    LoginAt { name: String, address: String },
    /// The end of a login.
    LoggedIn { name: String, result: Result<(), String> },
}

/// Why the configuration was read again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadWhy {
    /// `/mcp reload`: told also when nothing changed.
    Asked,
    /// Together with everything else (`/reload`, `/trust`).
    Along,
    /// The file was changed by somebody else, and the person takes it.
    Changed,
}

/// Names of servers that another configuration makes new, changed or gone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerChanges {
    pub new: Vec<String>,
    pub changed: Vec<String>,
    pub gone: Vec<String>,
}
