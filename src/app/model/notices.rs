//! Short messages over the status bar.

use crate::agent::event::Level;

/// Notices, newest last.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Notices {
    pub shown: Vec<Notice>,
}

/// One notice.
#[derive(Clone, Debug, PartialEq)]
pub struct Notice {
    pub level: Level,
    pub text: String,
    /// Gone after this time (milliseconds since the epoch); errors stay until a key.
    pub until: Option<i64>,
}
