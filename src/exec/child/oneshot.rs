//! A child that is told something, answers and ends: a hook, the reader of a document, an installer. One runner for all,
//! bounded in time and in output; the child leads a session of its own, which ends with it when it has to be ended.
//!
//! The work is one loop over the child's pipes on a thread that may block. [`Oneshot::run`] is the same for those who wait.

mod streams;

use super::piped::{quietly, signal_members};
use crate::exec::Exec;
use crate::exec::process::spawn::{lead_session, watch_exit};
use rustix::event::PollFlags;
use rustix::process::{Pid, Signal, kill_process_group};
use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use streams::{Feed, Stream, wait};
use tokio_util::sync::CancellationToken;

/// Between two looks at whether somebody wants it stopped.
const GLANCE: Duration = Duration::from_millis(25);
/// How long output is waited for once the child itself has ended: something it left behind may hold the pipe.
const DRAIN: Duration = Duration::from_millis(200);
/// Between TERM and KILL.
const GRACE: Duration = Duration::from_millis(300);

/// Time and bytes that a child may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    pub time: Duration,
    pub stdout: OutputLimit,
    pub stderr: OutputLimit,
}

/// Bytes of a stream, and what happens to more of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputLimit {
    /// Nothing of it is wanted: the child has no such stream.
    None,
    /// These are kept; what comes after is read and dropped, so that the child does not block.
    First(usize),
    /// The last ones are kept.
    Last(usize),
    /// More of them are an error, and the child is ended.
    All(usize),
}

/// What becomes of processes that the child leaves behind when it ends by itself. When it has to be ended, so are they.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remainder {
    /// They go on: whoever wrote the command wanted them.
    Stays,
    Ends,
}

/// A child to run.
#[derive(Debug)]
pub struct Oneshot {
    /// Program, arguments, folder and environment.
    pub command: Command,
    /// For its standard input; nothing when empty.
    pub input: Vec<u8>,
    pub bounds: Limits,
    pub rest: Remainder,
}

/// What it left.
#[derive(Debug)]
pub struct OneshotOutput {
    pub status: ExitStatus,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
}

/// It was ended, or never began.
#[derive(Debug, thiserror::Error)]
pub enum OneshotError {
    #[error("could not be run: {0}")]
    Io(#[from] io::Error),
    #[error("timed out after {} s", seconds(*.0))]
    TimedOut(Duration),
    #[error("printed too much")]
    TooMuch,
    #[error("stopped")]
    Stopped,
}

/// What somebody wants of a child that runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Attention {
    GoOn,
    /// Told first, ended when it does not listen.
    Stop,
    /// Nobody waits any more.
    Kill,
}

impl Oneshot {
    /// Runs it to its end on this thread. Comes back within its time and a moment.
    ///
    /// # Errors
    /// It was ended, or could not be run; nothing of it runs then.
    pub fn block(self, stopped: &dyn Fn() -> bool) -> Result<OneshotOutput, OneshotError> {
        self.work(&|| if stopped() { Attention::Stop } else { Attention::GoOn })
    }

    /// The same for those who wait. Whoever drops the future ends the child.
    ///
    /// # Errors
    /// As [`block`](Self::block).
    pub async fn run(self, cancel: &CancellationToken) -> Result<OneshotOutput, OneshotError> {
        struct Left(Arc<AtomicBool>);
        impl Drop for Left {
            fn drop(&mut self) {
                self.0.store(true, Ordering::Relaxed);
            }
        }
        let (alone, cancel) = (Arc::new(AtomicBool::new(false)), cancel.clone());
        let _left = Left(Arc::clone(&alone));
        let work = tokio::task::spawn_blocking(move || {
            self.work(&|| match (alone.load(Ordering::Relaxed), cancel.is_cancelled()) {
                (true, _) => Attention::Kill,
                (_, true) => Attention::Stop,
                _ => Attention::GoOn,
            })
        });
        work.await.unwrap_or_else(|error| Err(io::Error::other(error).into()))
    }

    fn work(mut self, wish: &dyn Fn() -> Attention) -> Result<OneshotOutput, OneshotError> {
        let deadline = Instant::now() + self.bounds.time;
        let mut child = self.start()?;
        let done = self.talk(&mut child, deadline, wish);
        match (&done, self.rest) {
            (Ok(_), Remainder::Stays) => {}
            (Ok(_), Remainder::Ends) => signal(&child, Signal::KILL),
            (Err(_), _) => {
                if wish() != Attention::Kill {
                    signal(&child, Signal::TERM);
                    ended_within(&child, GRACE);
                }
                signal(&child, Signal::KILL);
            }
        }
        // Not before this is its number anybody else's.
        let status = child.wait();
        let (stdout, stderr) = done?;
        Ok(OneshotOutput { status: status?, stdout, stderr })
    }

    fn start(&mut self) -> io::Result<Child> {
        let stream = |most| if most == OutputLimit::None { Stdio::null() } else { Stdio::piped() };
        let stdin = if self.input.is_empty() { Stdio::null() } else { Stdio::piped() };
        self.command.stdin(stdin).stdout(stream(self.bounds.stdout)).stderr(stream(self.bounds.stderr));
        // Neither our terminal nor the signals of its keys are for the child.
        lead_session(&mut self.command, None);
        self.command.spawn()
    }

    /// Feeds it, hears it out, and comes back when it has exited: its two streams.
    fn talk(
        &self,
        child: &mut Child,
        deadline: Instant,
        wish: &dyn Fn() -> Attention,
    ) -> Result<(Vec<u8>, Vec<u8>), OneshotError> {
        let exit = watch_exit(child.id())?;
        let mut feed = Feed::new(child.stdin.take(), &self.input)?;
        let mut stdout = Stream::new(child.stdout.take().map(OwnedFd::from), self.bounds.stdout)?;
        let mut stderr = Stream::new(child.stderr.take().map(OwnedFd::from), self.bounds.stderr)?;
        let mut exited: Option<Instant> = None;
        loop {
            let now = Instant::now();
            let drained = exited.is_some_and(|since| now >= since + DRAIN);
            if exited.is_some() && (drained || (stdout.is_over() && stderr.is_over())) {
                return Ok((stdout.kept, stderr.kept));
            }
            if wish() != Attention::GoOn {
                return Err(OneshotError::Stopped);
            }
            if now >= deadline && exited.is_none() {
                return Err(OneshotError::TimedOut(self.bounds.time));
            }
            let until = exited.map_or(deadline, |since| since + DRAIN);
            let ready = wait(
                [
                    exited.is_none().then(|| (exit.as_fd(), PollFlags::IN)),
                    feed.fd().map(|fd| (fd, PollFlags::OUT)),
                    stdout.fd().map(|fd| (fd, PollFlags::IN)),
                    stderr.fd().map(|fd| (fd, PollFlags::IN)),
                ],
                until.saturating_duration_since(now).min(GLANCE),
            )?;
            if ready[1] {
                feed.go_on();
            }
            if ready[2] {
                stdout.read()?;
            }
            if ready[3] {
                stderr.read()?;
            }
            if ready[0] {
                exited = Some(Instant::now());
            }
        }
    }
}

impl Exec {
    /// Runs this program again with `arguments`, an empty environment and nothing on its standard input. Blocks; the child
    /// is gone when this returns. `None` when nobody said which program this is ([`crate::exec::ExecOptions::program`]).
    pub fn this_program(
        &self,
        arguments: &[&OsStr],
        bounds: Limits,
        cancel: &CancellationToken,
    ) -> Option<Result<OneshotOutput, OneshotError>> {
        let mut command = Command::new(self.hub.options.program.as_ref()?);
        command.args(arguments).env_clear().current_dir("/");
        let once = Oneshot { command, input: Vec::new(), bounds, rest: Remainder::Ends };
        Some(once.block(&|| cancel.is_cancelled()))
    }
}

/// `0.4`, `60`.
fn seconds(time: Duration) -> String {
    let text = format!("{:.1}", time.as_secs_f64());
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

/// To all of its session. It was not waited for yet, so its number is its own.
fn signal(child: &Child, signal: Signal) {
    signal_members(child.id(), signal);
    if let Some(leader) = Pid::from_raw(child.id() as i32) {
        quietly(kill_process_group(leader, signal));
    }
}

/// Waits this long for its end, without taking it off the table.
fn ended_within(child: &Child, most: Duration) {
    let deadline = Instant::now() + most;
    let Ok(exit) = watch_exit(child.id()) else { return };
    while Instant::now() < deadline {
        if let Ok([true]) | Err(_) = wait([Some((exit.as_fd(), PollFlags::IN))], GLANCE) {
            return;
        }
    }
}

#[cfg(test)]
mod tests;
