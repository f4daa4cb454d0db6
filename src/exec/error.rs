//! Why an order about a process is not carried out.

use super::{ProcessId, SandboxError};
use std::path::PathBuf;
use std::sync::Arc;

/// A process could not be started or is not what an order needs.
#[derive(Debug, thiserror::Error)]
pub enum ExecError {
    #[error("no process {}: see `list`", .0.0)]
    NotFound(ProcessId),
    #[error("process {} has no terminal for input: start it with pty in an interactive session", .0.0)]
    NoTerminal(ProcessId),
    #[error("process {} has already exited", .0.0)]
    Ended(ProcessId),
    #[error("process {} is not reading its input: 1 MiB is waiting", .0.0)]
    InputFull(ProcessId),
    #[error("process {} is from an earlier run: you can read and kill it, not type into it", .0.0)]
    Detached(ProcessId),
    #[error("process {} is shown in the pane, which sets its size", .0.0)]
    Shown(ProcessId),
    #[error("{0:?} is not a supported signal: use INT, TERM, KILL, HUP, QUIT, USR1, USR2, STOP, CONT or WINCH")]
    NoSignal(String),
    #[error("process {} is on another host that shares this home folder: kill or restart it there", .0.0)]
    Foreign(ProcessId),
    #[error("process {} is on another host, which is reconnecting: try again in a moment", .0.0)]
    RemoteSearch(ProcessId),
    #[error("process {} is {}", .0.0, .1)]
    Unreachable(ProcessId, Arc<str>),
    #[error("process {} cannot be restarted: its command line contained a secret, which is not stored on disk; run the command again", .0.0)]
    Masked(ProcessId),
    #[error("process {} does not exit", .0.0)]
    StillRuns(ProcessId),
    #[error("process {} cannot be restarted from here: commands run on another host; kill it and run its command again", .0.0)]
    Elsewhere(ProcessId),
    #[error("{0} processes are already running: kill one first")]
    TooMany(usize),
    #[error(
        "too many background processes: {open} of {most} descriptors are in use, and the rest are reserved for foreground commands; kill one, or start hermes with a higher limit (ulimit -n)"
    )]
    Descriptors { open: u64, most: u64 },
    #[error("cannot prepare the shell in the temporary folder: {0}; check that it is writable and not full")]
    Shell(std::io::Error),
    #[error("the working folder {} no longer exists: nothing was run; recreate it, or use another", .0.display())]
    Folder(PathBuf),
    #[error(transparent)]
    Sandbox(SandboxError),
    #[error("cannot start `{command}`: {source}")]
    Spawn { command: String, source: std::io::Error },
}
