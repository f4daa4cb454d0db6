//! Child processes: every command is a real terminal that can be watched, typed into, put aside and ended.
//!
//! Owns: PTYs and pipes, process groups, the process table, output rings and spill files, screens. Does not own: whether
//! a command may run (the gate decided), what the model is told (the tool formats).

mod askpass;
mod asks;
mod away;
mod blocked;
mod browse;
mod carry;
mod confine;
mod course;
mod detached;
mod echo;
mod end;
mod env;
mod error;
mod events;
mod far;
mod finish;
mod front;
mod fullscreen;
mod glass;
mod handle;
mod hidden;
mod hub;
mod info;
mod input;
mod keep;
mod keeper;
mod keys;
mod kin;
mod launch;
mod link;
mod log;
mod login;
mod notice;
mod once;
mod options;
mod orders;
mod outbox;
mod piped;
mod plain;
mod port;
mod process;
mod procfs;
mod query;
mod reader;
mod recover;
mod register;
mod repo;
mod sandbox;
mod scratch;
mod screens;
mod search;
mod shell;
mod spawn;
mod spill;
mod stopped;
mod table;
#[cfg(test)]
mod tests;
mod usage;
mod waiting;
mod whereabouts;
mod who;

pub use askpass::{HELPER, ask as ask_for_helper};
pub use asks::{Ask, AskId};
pub use browse::browse;
pub use confine::confine;
pub use env::keeps_back;
pub use error::ExecError;
pub use events::{Hit, ProcessCommand, ProcessEvent, Scroll, Way};
pub use far::{Far, FarEnd, FarLeft, FarPlace, FarSignal, Lost, Seek, Sought, Variables, exported, left_behind};
pub use front::Front;
pub use handle::{Finished, Launch, Running, Waited};
pub use hidden::Hidden;
pub use info::{Ending, Exit, ExitReason, LogState, Origin, ProcessInfo, ProcessState, Vitals};
pub use keeper::keep;
pub use keys::{Keys, key as key_bytes};
pub use link::{Link, LinkError, Said};
pub use log::Captured;
pub use notice::Notice;
pub use once::{Bounds, Done, Most, Once, OnceError, Rest};
pub use options::ExecOptions;
pub use piped::{Piped, PipedEnds};
pub use plain::{plain, plain_rest};
pub use repo::{Repo, RepoError};
pub use sandbox::{Guard, Sandbox, SandboxError, Support, probe, protected};
pub use scratch::{Scratch, rooms, sweep};
pub use screens::Sight;
pub use spawn::bare;
pub use table::{LogPage, Report};
pub use usage::Usage;

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
    hub: Arc<hub::Hub>,
}

/// Milliseconds since the epoch.
fn now_ms() -> i64 {
    std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
