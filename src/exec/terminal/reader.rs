//! The thread of one process: reads its output, types its input, notices its end. Sleeps in `poll` otherwise.

mod intake;
mod typing;

use super::echo::Echo;
use super::fullscreen::FullScreen;
use super::log;
use super::query::Queries;
use super::waiting;
use crate::exec::process::hub::Hub;
use crate::exec::process::kin::Stray;
use crate::exec::process::notice::Matches;
use crate::exec::process::record::Process;
use crate::exec::process::shell::StateFile;
use crate::exec::process::spawn::Spawned;
use crate::lock::lock;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{PipeReader, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Child;
use std::sync::Arc;
use std::sync::mpsc::{SendError, SyncSender, sync_channel};
use std::time::{Duration, Instant};

/// Silence after which a process may be waiting for keys.
const SILENCE: Duration = Duration::from_millis(300);
/// A process that was silent for this long is not looked at again before it prints.
const LAST_LOOK: Duration = Duration::from_secs(600);
/// A command that lasted this long is worth a line in the register: it may outlive us. Most are over by then.
const LASTING: Duration = Duration::from_millis(20);
/// A program that writes line by line without buffering is read in gulps: once this many small reads followed each other
/// within `HURRY`, the pipe is left alone for `GULP` at a time, and the program need not wake this thread for each line.
const SMALL_READS: u32 = 8;
const SMALL: usize = 32 * 1024;
const HURRY: Duration = Duration::from_micros(500);
const GULP: Duration = Duration::from_millis(1);
/// A terminal hands out at most 4 KiB at a time: this much is gathered before it is looked at.
const GATHER: usize = 64 * 1024;
/// What the thread owns.
pub(crate) struct Reader {
    pub(in crate::exec) process: Arc<Process>,
    pub(in crate::exec) hub: Arc<Hub>,
    pub(in crate::exec) child: Child,
    pub(in crate::exec) pipe: Option<OwnedFd>,
    pub(in crate::exec) tty: Option<Arc<OwnedFd>>,
    exit: OwnedFd,
    wake: PipeReader,
    /// The shell state belongs to the task.
    pub(in crate::exec) keep: bool,
    /// Where a shell of this machine leaves it.
    pub(in crate::exec) state: Option<StateFile>,
    pub(in crate::exec) gone: bool,
    /// What it left behind that is our child by now.
    pub(in crate::exec) strays: Vec<Stray>,
    /// It has a line in the register.
    pub(in crate::exec) noted: bool,
    queries: Queries,
    /// `None` once the program has taken the screen.
    fullscreen: Option<FullScreen>,
    echo: Echo,
    /// Of [`GATHER`] bytes, when there is a terminal.
    gathered: Vec<u8>,
    matches: Option<Matches>,
    /// Ports are looked for until one is found or this much was printed.
    seek_port: bool,
    headless: bool,
    quiet_since: Instant,
    look_after: Duration,
    bytes_shown: Instant,
    small_reads: u32,
    last_round: Instant,
}

/// What a process is started for.
pub(crate) struct Duty {
    pub(crate) keep: bool,
    pub(crate) state: Option<StateFile>,
    pub(crate) headless: bool,
    pub(crate) patterns: Vec<String>,
}

/// A thread that waits for the process that it will look after.
pub(crate) struct Seat {
    reader: SyncSender<Reader>,
}

impl Seat {
    /// Starts the thread. It ends when nothing comes.
    pub(crate) fn new() -> std::io::Result<Self> {
        let (reader, taken) = sync_channel::<Reader>(1);
        std::thread::Builder::new().name("exec-read".into()).spawn(move || {
            if let Ok(reader) = taken.recv() {
                reader.run();
            }
        })?;
        Ok(Self { reader })
    }

    /// Gives it its process.
    pub(crate) fn take(self, reader: Reader) {
        // The thread waits for just this; if it is gone all the same, its work is done here.
        if let Err(SendError(mut reader)) = self.reader.send(reader) {
            reader.break_off();
            reader.close();
        }
    }
}

impl Reader {
    /// For a started child; its terminal's master is already with the process.
    pub(crate) fn new(
        hub: Arc<Hub>,
        process: Arc<Process>,
        spawned: Spawned,
        tty: Option<Arc<OwnedFd>>,
        wake: PipeReader,
        duty: Duty,
    ) -> Self {
        let background = lock(&process.life).background;
        Self {
            child: spawned.child,
            pipe: spawned.pipe,
            exit: spawned.exit,
            wake,
            keep: duty.keep,
            state: duty.state,
            gone: false,
            strays: Vec::new(),
            noted: false,
            queries: Queries::default(),
            fullscreen: Some(FullScreen::default()),
            echo: Echo::default(),
            gathered: vec![0; if tty.is_some() { GATHER } else { 0 }],
            matches: (!duty.patterns.is_empty()).then(|| Matches::new(duty.patterns)),
            seek_port: background,
            headless: duty.headless,
            quiet_since: Instant::now(),
            look_after: SILENCE,
            bytes_shown: Instant::now(),
            small_reads: 0,
            last_round: Instant::now(),
            tty,
            process,
            hub,
        }
    }

    /// Looks after the process until it is over or left to itself. However that breaks off, it ends with it.
    fn run(mut self) {
        // What a panic leaves half done is not read again but to end it.
        if catch_unwind(AssertUnwindSafe(|| self.attend())).is_err() {
            tracing::error!("the reader of {} stopped early", self.process.id.0);
        }
        self.break_off();
        self.close();
    }

    fn attend(&mut self) {
        let mut held = false;
        loop {
            if !held && lock(&self.process.life).background {
                held = true;
                self.outlive();
            }
            if self.until_noted() == Some(Duration::ZERO) {
                self.note();
            }
            if self.gone && !self.has_left() || lock(&self.process.life).is_abandoned() {
                break;
            }
            self.goes_apart();
            if self.small_reads >= SMALL_READS && !self.gone {
                self.pause();
            }
            let timeout = self.timeout();
            let Some(ready) = self.wait(timeout) else { break };
            if ready.wake {
                self.drain_wake();
            }
            // Before the end: what was printed belongs to the result.
            if ready.pipe || ready.tty {
                let count = self.read_pipe(8) + self.read_tty(8);
                let now = Instant::now();
                let hurried =
                    self.pipe.is_some() && count < SMALL && now.duration_since(self.last_round) < HURRY + GULP;
                self.small_reads = if hurried { self.small_reads.saturating_add(1) } else { 0 };
                self.last_round = now;
            }
            if ready.type_in {
                self.type_in();
            }
            if ready.exit && !self.gone {
                self.leader_exited();
            }
            if ready.stray {
                self.stray_exited();
            }
            if !ready.pipe && !ready.tty {
                self.look();
            }
        }
    }

    /// `None` sleeps until something happens.
    fn timeout(&self) -> Option<Duration> {
        [self.until_look(), self.until_noted()].into_iter().flatten().min()
    }

    /// Until a command in the foreground has lasted long enough to be noted.
    fn until_noted(&self) -> Option<Duration> {
        (!self.noted && !self.gone).then(|| LASTING.saturating_sub(self.process.started.elapsed()))
    }

    /// Until the silence is worth a look.
    fn until_look(&self) -> Option<Duration> {
        if self.tty.is_none() || self.headless {
            return None;
        }
        if self.look_after > LAST_LOOK && !self.echo.holds() {
            return None;
        }
        Some(self.look_after.saturating_sub(self.quiet_since.elapsed()))
    }

    pub(in crate::exec) fn wait(&self, timeout: Option<Duration>) -> Option<Ready> {
        let typing = self.tty.is_some() && !lock(&self.process.input).is_empty();
        let tty_events = if typing { PollFlags::IN | PollFlags::OUT } else { PollFlags::IN };
        let mut fds = Vec::with_capacity(4 + self.strays.len());
        fds.push(PollFd::new(&self.wake, PollFlags::IN));
        let exit = (!self.gone).then(|| {
            fds.push(PollFd::new(&self.exit, PollFlags::IN));
            fds.len() - 1
        });
        let pipe = self.pipe.as_ref().map(|fd| {
            fds.push(PollFd::new(fd, PollFlags::IN));
            fds.len() - 1
        });
        let tty = self.tty.as_ref().map(|fd| {
            fds.push(PollFd::new(fd, tty_events));
            fds.len() - 1
        });
        let strays = fds.len();
        fds.extend(self.strays.iter().map(|stray| PollFd::new(&stray.end, PollFlags::IN)));
        let timeout = timeout.map(|t| Timespec { tv_sec: t.as_secs() as i64, tv_nsec: i64::from(t.subsec_nanos()) });
        match poll(&mut fds, timeout.as_ref()) {
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => return Some(Ready::default()),
            Err(error) => {
                tracing::error!("cannot wait for {}: {error}", self.process.id.0);
                return None;
            }
        }
        let any = PollFlags::IN | PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL;
        let is = |index: Option<usize>, flags: PollFlags| index.is_some_and(|i| fds[i].revents().intersects(flags));
        Some(Ready {
            wake: is(Some(0), any),
            exit: is(exit, any),
            pipe: is(pipe, any),
            tty: is(tty, any),
            type_in: is(tty, PollFlags::OUT),
            stray: (strays..fds.len()).any(|index| is(Some(index), any)),
        })
    }

    /// Lets output gather, unless the leader exits or someone types.
    fn pause(&self) {
        let mut fds = [PollFd::new(&self.wake, PollFlags::IN), PollFd::new(&self.exit, PollFlags::IN)];
        let gulp = Timespec { tv_sec: 0, tv_nsec: i64::from(GULP.subsec_nanos()) };
        if let Err(error) = poll(&mut fds, Some(&gulp)) {
            tracing::debug!("pause: {error}");
        }
    }

    fn drain_wake(&mut self) {
        let mut bytes = [0; 64];
        // The pipe had something to read, so this does not block; leftovers wake again.
        if let Err(error) = self.wake.read(&mut bytes) {
            tracing::debug!("wake pipe: {error}");
        }
        self.restart_silence();
    }

    /// In the background: its whole output goes to its file, and it goes on when this program does not.
    fn outlive(&mut self) {
        lock(&self.process.out).log.keep_all();
        self.spill(log::HEAD as u64 + 1);
        // On another machine it goes on by itself, and a later run follows it with a client of its own.
        if self.process.remote.is_none() {
            self.hub.keeper.hold(&self.process, self.pipe.as_ref().map(|pipe| pipe.as_fd()));
        }
        self.note();
    }

    /// The next run of this program finds it if it outlives this one, whether it was meant to or ignores the hang-up of its
    /// terminal.
    fn note(&mut self) {
        self.noted = true;
        if let Some(entry) = self.process.entry(&self.hub) {
            self.hub.register.put(entry);
        }
    }

    fn restart_silence(&mut self) {
        self.quiet_since = Instant::now();
        self.look_after = SILENCE;
    }

    /// After a silence: does it wait for keys?
    fn look(&mut self) {
        if self.until_look() != Some(Duration::ZERO) {
            return;
        }
        if self.release_echo(false) {
            return;
        }
        self.look_after *= 2;
        self.quiet_since = Instant::now();
        if waiting::look(&self.hub, &self.process) {
            self.process.changed();
        }
    }
}

/// What `poll` found.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::exec) struct Ready {
    wake: bool,
    exit: bool,
    pipe: bool,
    tty: bool,
    type_in: bool,
    stray: bool,
}
