//! Short messages over the status bar.

use crate::protocol::Level;

/// Notices, newest last.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Notices {
    pub shown: Vec<Notice>,
}

/// What a notice is about: a later one about the same takes its place, and it goes when that is settled.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum About {
    /// Nothing that another notice is about.
    #[default]
    Itself,
    /// A setting, by name.
    Setting(&'static str),
    /// A command that wants to be typed into.
    Input(crate::exec::ProcessId),
    /// The keys of copy mode.
    CopyMode,
    /// Questions that were put aside.
    Inbox,
    /// What was said to the running turn and it has not heard yet.
    Steer,
    /// MCP servers that became ready.
    Servers,
    /// The self-test of a model.
    SelfTest,
    /// Tabs of a window that was killed.
    LostTabs,
    /// What became of a session in the browser.
    Kept,
}

/// One notice.
#[derive(Clone, Debug, PartialEq)]
pub struct Notice {
    pub level: Level,
    pub text: String,
    pub about: About,
    /// Gone after this time (milliseconds since the epoch); errors stay until a key.
    pub until: Option<i64>,
}
