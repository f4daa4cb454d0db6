//! What one kind of place must know: how it is made ready, how its client is called, why it is gone.

use crate::exec::{Limits, Oneshot, OneshotError, OneshotOutput, OutputLimit, Remainder, Variables};
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Says that a place is being left: what waits for it to be ready waits no longer. Clones are the same.
#[derive(Clone, Debug, Default)]
pub struct Leaving(Arc<AtomicBool>);

impl Leaving {
    /// What is said to those who waited.
    pub(crate) const GIVEN_UP: &str = "abandoned: the backend is being left";
    /// How long a wait goes on without a look.
    pub(crate) const LOOK: Duration = Duration::from_millis(50);

    pub(crate) fn set(&self, leaves: bool) {
        self.0.store(leaves, Ordering::Relaxed);
    }

    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Waits so long.
    ///
    /// # Errors
    /// When the place is left meanwhile.
    pub(crate) fn pause(&self, time: Duration) -> Result<(), String> {
        let until = Instant::now() + time;
        loop {
            if self.is_set() {
                return Err(Self::GIVEN_UP.to_owned());
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            std::thread::sleep(left.min(Self::LOOK));
        }
    }
}

/// Starts client programs: none of them sees a key of this program.
#[derive(Clone, Debug, Default)]
pub struct Programs {
    variables: Arc<Variables>,
    leaving: Leaving,
}

impl Programs {
    /// They get these variables.
    pub fn new(variables: Variables) -> Self {
        Self { variables: Arc::new(variables), leaving: Leaving::default() }
    }

    /// The same for one place: what runs is given up when that is left.
    pub(crate) fn of(&self, leaving: &Leaving) -> Self {
        Self { variables: Arc::clone(&self.variables), leaving: leaving.clone() }
    }

    /// The same with more variables.
    pub(crate) fn with(&self, more: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        let mut variables = (*self.variables).clone();
        variables.extend(more);
        Self { variables: Arc::new(variables), leaving: self.leaving.clone() }
    }

    /// Where a program is on the search path that they get.
    pub(crate) fn find(&self, program: &str) -> Option<PathBuf> {
        if program.contains('/') {
            return Some(PathBuf::from(program)).filter(|found| found.is_file());
        }
        let path = self.variables.get(OsStr::new("PATH"))?;
        std::env::split_paths(path).map(|folder| folder.join(program)).find(|found| found.is_file())
    }

    /// A program, to be given its arguments.
    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env_clear().envs(self.variables.iter());
        command
    }

    /// Runs a program to its end; what it printed.
    ///
    /// # Errors
    /// In its own words.
    pub(crate) fn run<I: AsRef<OsStr>>(&self, program: &str, words: &[I], time: Duration) -> Result<String, String> {
        let mut command = self.command(program);
        command.args(words);
        let bounds = Limits { time, stdout: OutputLimit::First(1024 * 1024), stderr: OutputLimit::Last(4096) };
        // What it leaves running (the monitor of a container) is meant to.
        let once = Oneshot { command, input: Vec::new(), bounds, rest: Remainder::Stays };
        let OneshotOutput { status, stdout, stderr } =
            once.block(&|| self.leaving.is_set()).map_err(|error| match error {
                OneshotError::Stopped => Leaving::GIVEN_UP.to_owned(),
                OneshotError::Io(error) if error.kind() == std::io::ErrorKind::NotFound => {
                    format!("{program} not found: is it installed?")
                }
                error => format!("{program} {error}"),
            })?;
        let (out, words) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
        if status.success() {
            // Some say on standard error what they did.
            return Ok(if out.trim().is_empty() { words.trim().to_owned() } else { out.trim().to_owned() });
        }
        let last = words.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or("failed with no output");
        Err(last.to_owned())
    }
}

/// What a client's command is connected to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Terminal {
    /// Pipes: nothing is changed on the way.
    None,
    /// A terminal there for what it prints, nothing to read.
    Output,
    /// A terminal there, and what is typed here.
    Full,
}

/// What is the same for a place as long as its configuration is.
#[derive(Clone, Debug, Default)]
pub struct Traits {
    /// As `terminal.backend` and permissions name it: `ssh`, `docker`.
    pub kind: &'static str,
    /// For people: `ssh dev@host`.
    pub label: String,
    /// Where work begins; `None`: in the home folder there.
    pub cwd: Option<PathBuf>,
    /// A container of ours without a folder of this machine in it.
    pub isolated: bool,
    /// What runs there is a descendant of its client here, and gets its signals.
    pub signals_here: bool,
    /// Its client does not pass on the size of its terminal: that goes over the link.
    pub size_over_link: bool,
    /// The exit code with which the client says that the connection broke, when it has one of its own.
    pub broken: Option<i32>,
    /// Variables that commands there get.
    pub variables: Vec<(String, String)>,
    /// How long making it ready may take: an image is fetched, a queue is waited in.
    pub patience: Duration,
    /// Whether it is being left.
    pub leaving: Leaving,
}

/// A kind of place. Methods that reach it block, within bounds.
pub trait Backend: Send + Sync {
    fn traits(&self) -> &Traits;

    /// Makes it ready: finds or starts the container, the job, the sandbox. Cheap when it is ready. One call at a time; others
    /// may be asked meanwhile, so no lock is held while it waits. Given up when [`Traits::leaving`] says so.
    ///
    /// # Errors
    /// Says what went wrong and what to do.
    fn start(&self) -> Result<(), PlaceError>;

    /// What tells its files from those of all other places, for people to read; `machine` is what it calls itself. Only after
    /// [`start`](Self::start).
    fn identity(&self, machine: &str) -> String;

    /// The client that runs these words there. Only after [`start`](Self::start).
    fn client(&self, words: &[&str], terminal: Terminal) -> Command;

    /// What the person should know of how it was made ready, said with the next command: a bound that cannot be had.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }

    /// What [`start`](Self::start) waits for now, when that is somebody else's turn: a queue. Asked while it waits.
    fn waiting(&self) -> Option<String> {
        None
    }

    /// Whether what an earlier run of this program left running may still be there to be found by [`start`](Self::start).
    /// Makes and starts nothing. By default the place goes with the program, and all that ran in it.
    ///
    /// # Errors
    /// When that cannot be told now.
    fn remains(&self) -> Result<bool, PlaceError> {
        Ok(false)
    }

    /// Why it does not answer any more and what comes next, asked of whoever keeps it; `None` when it seems to be there.
    fn why_gone(&self) -> Option<String>;

    /// Ends all that runs there, because nothing there can be reached any more; what was done and what comes next. `None`
    /// where that is not ours to do.
    fn clear(&self) -> Option<String> {
        None
    }

    /// This program ends, or works somewhere else from now on: what need not stay goes, and what is to be kept is kept first.
    ///
    /// # Errors
    /// When something could not be kept; says what, where it is and what to do.
    fn stop(&self) -> Result<(), String>;
}

/// Another machine cannot be worked on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlaceError {
    /// The configuration lacks something; names the key.
    #[error("{0}")]
    Config(String),
    /// It cannot be reached or made ready.
    #[error("{place} is unavailable: {why}")]
    Unreachable { place: String, why: String },
    /// It went away in the middle of something.
    #[error("{place}: {why}")]
    RemoteLost { place: String, why: String },
}

impl PlaceError {
    pub(crate) fn unreachable(place: &str, why: impl Into<String>) -> Self {
        Self::Unreachable { place: place.to_owned(), why: why.into() }
    }
}
