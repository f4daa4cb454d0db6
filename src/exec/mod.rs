//! Child processes: every command is a real terminal that can be watched, typed into, put aside and ended.
//!
//! Owns: PTYs and pipes, process groups, the process table, output rings and spill files, screens. Does not own: whether
//! a command may run (the gate decided), what the model is told (the tool formats).

use crate::text::Snapshot;
use std::path::PathBuf;
use std::time::Duration;

/// `proc_<12 hex>`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProcessId(pub String);

/// A command to start.
#[derive(Clone, Debug, PartialEq)]
pub struct Spawn {
    pub command: String,
    pub cwd: PathBuf,
    /// Everything on the PTY, not only input and the controlling terminal.
    pub pty: bool,
    pub background: bool,
    /// Names the shell state that cwd and exported variables persist in.
    pub task: String,
    /// Columns and rows of its terminal.
    pub size: (u16, u16),
    /// A headless run: nothing on standard input, nobody can type.
    pub headless: bool,
}

/// A process as the table shows it.
#[derive(Clone, Debug, PartialEq)]
pub struct ProcessInfo {
    pub id: ProcessId,
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
}

/// Where a process is in its life.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProcessState {
    Running,
    /// Blocked reading its terminal, with a prompt on the screen.
    NeedsInput,
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
    FailedToStart,
}

/// Facts about processes, for the UI (merged: a slow reader sees the newest state).
#[derive(Clone, Debug, PartialEq)]
pub enum ProcessEvent {
    Started(ProcessInfo),
    /// Anything in the row changed: state, port, bytes.
    Changed(ProcessInfo),
    Exited(ProcessInfo),
    /// The screen of a watched process, at most one a frame.
    Screen(ProcessId, std::sync::Arc<Snapshot>),
}

/// Orders of the UI.
#[derive(Clone, Debug, PartialEq)]
pub enum ProcessCommand {
    /// Send screens of this process, at this size; `None` stops.
    Watch(Option<ProcessId>, (u16, u16)),
    /// Scroll the watched screen back by rows from the end; 0 follows.
    Scroll(ProcessId, usize),
    Write(ProcessId, Vec<u8>),
    /// INT, then TERM, then KILL, on the group.
    Kill(ProcessId),
    /// A running foreground command goes on in the background; the agent is told.
    Background(ProcessId),
    Forget(ProcessId),
}

/// The handle to all processes of this program. Cheap to clone.
#[derive(Clone)]
pub struct Exec {}
