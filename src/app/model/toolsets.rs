//! Toolsets as the screen shows them.

/// One toolset that has tools here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolsetRow {
    pub name: String,
    pub tools: usize,
    /// Of these, tools that the session lets the model have.
    pub on: usize,
    /// Of these, tools that cannot be used.
    pub unavailable: usize,
    /// Why they cannot.
    pub why: String,
    /// Tokens of the schemas, estimated.
    pub tokens: u64,
}
