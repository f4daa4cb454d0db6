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
