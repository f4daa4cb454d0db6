//! Why an order about a process is not carried out.

use super::{ProcessId, SandboxError};
use std::path::PathBuf;
use std::sync::Arc;

/// A process could not be started or is not what an order needs.
#[derive(Debug, thiserror::Error)]
pub enum ExecError {
    #[error("no process {}: `list` shows those that are tracked", .0.0)]
    NotFound(ProcessId),
    #[error("process {} has no terminal to type into: start it with pty in an interactive session", .0.0)]
    NoTerminal(ProcessId),
    #[error("process {} has already ended", .0.0)]
    Ended(ProcessId),
    #[error("process {} does not read its input: 1 MiB is waiting", .0.0)]
    InputFull(ProcessId),
    #[error("process {} outlived the run that started it: it can be read and ended, not typed into", .0.0)]
    Detached(ProcessId),
    #[error("process {} is shown in the pane, which gives it its size", .0.0)]
    Shown(ProcessId),
    #[error("{0:?} is no signal that can be sent: use INT, TERM, KILL, HUP, QUIT, USR1, USR2, STOP, CONT or WINCH")]
    NoSignal(String),
    #[error("process {} is of another machine or container, which shares this home folder: end it or start it again there", .0.0)]
    Foreign(ProcessId),
    #[error("process {} is on another machine, which is being looked for: try again in a moment", .0.0)]
    Sought(ProcessId),
    #[error("process {} is {}", .0.0, .1)]
    Away(ProcessId, Arc<str>),
    #[error("process {} cannot be started again: its command line held a secret, which was not kept on disk; run the line anew", .0.0)]
    Masked(ProcessId),
    #[error("process {} does not end", .0.0)]
    StillRuns(ProcessId),
    #[error("process {} cannot be started again from here: commands run on another machine; kill it and run its command anew", .0.0)]
    Elsewhere(ProcessId),
    #[error("{0} processes are running already: end one first")]
    TooMany(usize),
    #[error(
        "no room for one more background process: {open} of {most} descriptors are in use, and the rest is kept for \
         commands in the foreground; end one, or start hermes with a higher limit (ulimit -n)"
    )]
    Descriptors { open: u64, most: u64 },
    #[error("cannot prepare the shell in the temporary folder: {0}; is it writable and not full?")]
    Shell(std::io::Error),
    #[error("the working folder {} is gone: nothing was run; make it again, or name another one", .0.display())]
    Folder(PathBuf),
    #[error(transparent)]
    Sandbox(SandboxError),
    #[error("cannot start `{command}`: {source}")]
    Spawn { command: String, source: std::io::Error },
}
