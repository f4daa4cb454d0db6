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
mod far;
mod finish;
mod front;
mod fullscreen;
mod glass;
mod handle;
mod hidden;
mod hub;
mod input;
mod keep;
mod keeper;
mod keys;
mod launch;
mod link;
mod log;
mod login;
mod notice;
mod once;
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
pub use far::{Far, FarEnd, FarLeft, FarPlace, FarSignal, Lost, Seek, Sought, Variables, exported, left_behind};
pub use front::Front;
pub use handle::{Finished, Launch, Running, Waited};
pub use hidden::Hidden;
pub use keeper::keep;
pub use keys::{Keys, key as key_bytes};
pub use link::{Link, LinkError, Said};
pub use log::Captured;
pub use notice::Notice;
pub use once::{Bounds, Done, Most, Once, OnceError, Rest};
pub use piped::{Piped, PipedEnds};
pub use plain::{plain, plain_rest};
pub use repo::{Repo, RepoError};
pub use sandbox::{Guard, Sandbox, SandboxError, Support, probe, protected};
pub use scratch::{Scratch, rooms, sweep};
pub use screens::Sight;
pub use spawn::bare;
pub use table::{LogPage, Report};
pub use usage::Usage;

use crate::text::Snapshot;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// `proc_<12 hex>`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProcessId(pub String);

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
    pub away: Option<Arc<str>>,
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
    /// Lines that were asked for, as a screen that is high enough for them.
    Lines(ProcessId, std::sync::Arc<Snapshot>),
    /// A program wants an answer of the person.
    Asks(Ask),
    /// It wants none any more, or has got it.
    AskClosed(ProcessId, AskId),
    /// A program has a word for the person: touch the key.
    Told(ProcessId, String),
    /// The line with the words that were looked for, which the view has moved to; `None`: there is no other one.
    Found(ProcessId, Option<Hit>),
}

/// Columns of a terminal that nobody looks at through a program of its own: what asks for the width cuts nothing off.
pub(crate) const WIDE: u16 = 1000;

/// Lines that one answer holds at most: memory for them is needed twice for a moment.
pub const LINES: i64 = 1000;

/// A line with words that were looked for, among all that have them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hit {
    /// Counted from the oldest one, which is 1.
    pub nth: usize,
    pub of: usize,
}

/// How the view of a watched process moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scroll {
    /// By lines; up is positive. Once it is above the end it stays with its lines while more is printed.
    By(i64),
    /// Stays with the lines that are shown.
    Hold,
    /// To the end, and along with it.
    Follow,
}

/// Orders of the UI.
#[derive(Clone, Debug, PartialEq)]
pub enum ProcessCommand {
    /// Send screens of this process, at this size; `None` stops.
    Watch(Option<ProcessId>, (u16, u16)),
    /// The same for the second pane.
    WatchBeside(Option<ProcessId>, (u16, u16)),
    /// Move the view of the watched process; its screens say where it came to rest.
    Scroll(ProcessId, Scroll),
    /// Send these lines of the watched process (first and last, as its screens number them), at most [`LINES`].
    Lines(ProcessId, (i64, i64)),
    /// What the person types.
    Write(ProcessId, Vec<u8>),
    /// The person has the keys of this process, or of none: the agent waits with its own hands.
    TakeOver(Option<ProcessId>),
    /// The answer to a question; `None`: the person gives none.
    Answer(AskId, Option<Hidden>),
    /// INT, then TERM, then KILL, on the group.
    Kill(ProcessId),
    /// A running foreground command goes on in the background; the agent is told.
    Background(ProcessId),
    Forget(ProcessId),
    /// Goes on, or does not, when this program is left.
    Keep(ProcessId, bool),
    /// Move the view to the next line with these words: up, or down again. Lower-case words find both cases.
    Find(ProcessId, String, Way),
}

/// Where to look for words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    Up,
    Down,
}

/// What commands of this program have in common.
#[derive(Clone, Debug, PartialEq)]
pub struct ExecOptions {
    /// Folder for output that outgrows memory.
    pub spill: PathBuf,
    /// Largest size of one spill file in bytes.
    pub spill_limit: u64,
    /// Names of variables that reach children although they look like secrets (`terminal.env_passthrough`).
    pub env_passthrough: Vec<String>,
    /// Names of variables that never reach children, whatever they look like: those that the configuration reads keys from.
    pub secret_names: Vec<String>,
    /// Files to source instead of asking the login shell (`terminal.shell_init_files`).
    pub shell_init_files: Vec<PathBuf>,
    /// Ask the login shell for its environment before the first command.
    pub login_env: bool,
    /// Nobody can type.
    pub headless: bool,
    /// Between SIGTERM and SIGKILL for `kill` (`terminal.daemon_term_grace_seconds`).
    pub term_grace: Duration,
    /// Columns and rows of terminals before a pane tells its size.
    pub size: (u16, u16),
    /// This program, for work that is done in a process of its own; `None` when there is no such program.
    pub program: Option<PathBuf>,
    /// The answer to `sudo` (`SUDO_PASSWORD` of the environment or `.env`).
    pub sudo_password: Option<Hidden>,
    /// Processes that are tracked at most, ended ones included (`terminal.max_processes`).
    pub max_processes: usize,
    /// The file that names what runs in the background, for the next run of this program.
    pub register: Option<PathBuf>,
}

impl Default for ExecOptions {
    fn default() -> Self {
        Self {
            spill: std::env::temp_dir(),
            spill_limit: 64 * 1024 * 1024,
            env_passthrough: Vec::new(),
            secret_names: Vec::new(),
            shell_init_files: Vec::new(),
            login_env: true,
            headless: false,
            term_grace: Duration::from_secs(2),
            size: (120, 30),
            program: None,
            sudo_password: None,
            max_processes: 200,
            register: None,
        }
    }
}

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
    #[error("cannot prepare the shell in the temporary folder: {0}; is it writable and not full?")]
    Shell(std::io::Error),
    #[error("the working folder {} is gone: nothing was run; make it again, or name another one", .0.display())]
    Folder(PathBuf),
    #[error(transparent)]
    Sandbox(SandboxError),
    #[error("cannot start `{command}`: {source}")]
    Spawn { command: String, source: std::io::Error },
}

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
