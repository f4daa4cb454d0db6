//! What is told of a process: its row, its state, how it ended.

use crate::exec::{ProcessId, Usage};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// A process as the table shows it.
#[derive(Clone, Debug, PartialEq)]
pub struct ProcessInfo {
    pub id: ProcessId,
    /// The task that it works for: the id of a session, and what is beside it after a colon (`:checks`).
    pub task: String,
    pub command: String,
    pub cwd: PathBuf,
    pub pid: u32,
    pub background: bool,
    /// Milliseconds since the epoch.
    pub started_at: i64,
    pub state: ProcessState,
    /// Found in its output: `:5173`.
    pub port: Option<u16>,
    /// Bytes printed so far.
    pub output_bytes: u64,
    pub vitals: Vitals,
}

/// How a process is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Vitals {
    /// The signal that comes next, while it is being ended.
    pub ending: Option<Ending>,
    /// Looked at only while it is shown or asked about.
    pub usage: Option<Usage>,
    /// When it printed last (milliseconds since the epoch).
    pub last_output: Option<i64>,
    pub log: LogState,
    /// Whose it is.
    pub origin: Origin,
    /// The other machine that it runs on: `ssh dev@host`.
    pub place: Option<Arc<str>>,
    /// Why it could not be looked for on that machine, and where its files are there.
    pub unreachable: Option<Arc<str>>,
    /// What is left of it has neither its output nor its terminal: a server that went off by itself.
    pub apart: bool,
    /// How often it was started again.
    pub restarts: u32,
}

/// Which run of this program started a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Origin {
    /// This one.
    #[default]
    Ours,
    /// One that is gone: its log can be read and it can be ended, not typed into.
    Earlier,
    /// One on another machine or in another container that shares the home folder: it is only shown. So is one on a
    /// machine that is not reached, which [`Vitals::place`] names.
    Elsewhere,
}

/// A signal that is on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ending {
    /// `TERM` or `KILL`.
    pub signal: &'static str,
    /// Milliseconds since the epoch.
    pub at: i64,
}

/// The file that keeps the whole output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogState {
    #[default]
    Whole,
    /// It has reached its bound: the beginning is in it, the end in memory.
    Full,
    /// The disk refused: only beginning and end are kept, in memory.
    Failed,
}

/// Where a process is in its life.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProcessState {
    Running,
    /// Blocked reading its terminal, with a prompt on the screen.
    NeedsInput,
    /// Stopped by Ctrl-Z, or by a signal: it does nothing until it is continued.
    Stopped,
    Exited(Exit),
}

/// How a process ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exit {
    /// 128 + n for signal n; 124 timed out; 130 stopped.
    pub code: i32,
    pub reason: ExitReason,
    pub duration: Duration,
}

/// Why a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitReason {
    Exited,
    Signalled,
    TimedOut,
    /// Stopped with the turn.
    Stopped,
    /// `process kill`, or a key.
    Killed,
    /// It could not be watched any more, and was ended.
    Unwatched,
    /// It ended while no run of this program looked: how is not known.
    Unseen,
    /// An earlier run ended it when its window was closed.
    HungUp,
}
