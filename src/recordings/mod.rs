//! What the screens of terminals showed and when, on disk: a folder for each session, files for each terminal.
//!
//! Owns the files below `recordings/` of the home, how they are written, bounded and read. Does not own when a screen is
//! looked at (`exec`), or how it is shown (`ui`).

mod asciicast;
mod delta;
mod home;
mod mask;
mod read;
mod records;
#[cfg(test)]
mod tests;
mod writer;

pub use asciicast::write as write_asciicast;
pub use delta::Frame;
pub use home::{Used, clear, folder, folders, prune, remove, used};
pub use mask::{Masks, masked};
pub use read::{Terminal, terminal, terminals};
pub use writer::Writer;

use serde::{Deserialize, Serialize};

/// How much is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The home folder whose recordings these are.
    pub home: std::path::PathBuf,
    /// Bytes of one terminal.
    pub terminal: u64,
    /// Bytes of all terminals of the home.
    pub all: u64,
}

/// What is known of a recorded terminal from its start.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// Names it among those of its session: the process, and which run of it.
    pub id: String,
    /// The command line, without secrets.
    pub command: String,
    /// Milliseconds since the epoch.
    pub started_at: i64,
}
