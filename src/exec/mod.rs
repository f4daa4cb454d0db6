//! Child processes: every command is a real terminal to watch, type into, send to the background and kill.
//!
//! `process` starts, tracks and ends them, `terminal` is what passes over their terminals, `screen` what a pane shows of one,
//! `outlive` what is left of them when this program is gone; `sandbox` holds them, `askpass` answers their questions for
//! passwords, and `child` runs those that need no terminal.
//!
//! Owns: PTYs and pipes, process groups, the process table, output rings and spill files, screens. Does not own: whether
//! a command may run (the gate), or what the model sees of it (the tool).

mod askpass;
mod child;
mod error;
mod options;
mod outlive;
mod process;
mod sandbox;
mod scratch;
mod screen;
mod terminal;
#[cfg(test)]
mod tests;

pub use askpass::asks::{Ask, AskId};
pub use askpass::hidden::Hidden;
pub use askpass::{HELPER, ask as ask_for_helper};
pub use child::browse::browse;
pub use child::daemon::{Daemon, DaemonEnd, DaemonId};
pub use child::door::Door;
pub use child::link::{Link, LinkError, Said};
pub use child::oneshot::{Limits, Oneshot, OneshotError, OneshotOutput, OutputLimit, Remainder};
pub use child::piped::{Piped, PipedEnds};
pub use child::repo::{Repo, RepoError};
pub use child::script::{Kept, Script, ScriptEnd};
pub use error::ExecError;
pub use options::ExecOptions;
pub use outlive::detached::MARK;
pub use outlive::host_name;
pub use outlive::terminal_keeper::keep;
pub use process::env::keeps_back;
pub use process::events::{Hit, ProcessCommand, ProcessEvent, Scroll, Way};
pub use process::handle::{Finished, Launch, Running, Waited};
pub use process::info::{Ending, Exit, ExitReason, LogState, Origin, ProcessInfo, ProcessState, Vitals};
pub use process::lineage::{command_above, is_there};
pub use process::notice::Notice;
pub use process::remote::{
    RemoteCommand, RemoteEnd, RemoteFinder, RemoteLeftovers, RemoteLost, RemotePlace, RemoteSearch, RemoteSignal,
    Variables, exported, left_behind,
};
pub use process::spawn::bare;
pub use process::table::{LogPage, Report};
pub use process::usage::Usage;
pub use sandbox::confine::confine;
pub use sandbox::{Guard, Sandbox, SandboxError, Support, probe, protected};
pub use scratch::{Scratch, rooms, sweep};
pub use screen::view::Sight;
pub use terminal::foreground::ForegroundReader;
pub use terminal::keys::{Keys, key as key_bytes};
pub use terminal::log::Captured;
pub use terminal::plain::{plain, plain_rest};

pub use crate::protocol::ProcessId;
use std::path::PathBuf;
use std::sync::Arc;

/// A command to start.
#[derive(Clone, Debug, PartialEq)]
pub struct Spawn {
    pub command: String,
    pub cwd: PathBuf,
    /// A terminal of the pane's size from the start, and one even where nobody can type.
    pub pty: bool,
    pub background: bool,
    /// Names the shell state that cwd and exported variables persist in.
    pub task: String,
    /// Columns and rows of its terminal.
    pub size: (u16, u16),
    /// A headless run: nothing on standard input, nobody can type.
    pub headless: bool,
    /// What it is held in; `None`: it has the person's rights.
    pub sandbox: Option<Sandbox>,
}

/// Columns of a terminal that nobody looks at through a program of its own: what asks for the width cuts nothing off.
pub(crate) const WIDE: u16 = 1000;

/// Lines that one answer holds at most: memory for them is needed twice for a moment.
pub const LINES: i64 = 1000;

/// The handle to all processes of this program. Cheap to clone.
#[derive(Clone)]
pub struct Exec {
    hub: Arc<process::hub::Hub>,
}

/// Milliseconds since the epoch.
fn now_ms() -> i64 {
    std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
