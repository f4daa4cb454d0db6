//! The thread of one process: reads its output, types its input, notices its end. Sleeps in `poll` otherwise.

use super::ProcessEvent;
use super::echo::{Discipline, Echo};
use super::fullscreen::FullScreen;
use super::hub::Hub;
use super::log::{self, Got};
use super::notice::{Mask, Matches, Notice};
use super::port;
use super::process::{Process, lock};
use super::query::Queries;
use super::spawn::Spawned;
use super::waiting;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::LocalModes;
use std::io::{PipeReader, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
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
/// Rows of the process table show bytes at most this often.
const BYTES_SHOWN: Duration = Duration::from_millis(250);
/// A program that writes line by line without buffering is read in gulps: once this many small reads followed each other
/// within `HURRY`, the pipe is left alone for `GULP` at a time, and the program need not wake this thread for each line.
const SMALL_READS: u32 = 8;
const SMALL: usize = 32 * 1024;
const HURRY: Duration = Duration::from_micros(500);
const GULP: Duration = Duration::from_millis(1);
/// A terminal hands out at most 4 KiB at a time: this much is gathered before it is looked at.
const GATHER: usize = 64 * 1024;
/// A terminal that hands out less than this at once has no more.
const DRAINED: usize = 2048;

/// What the thread owns.
pub(crate) struct Reader {
    pub(super) process: Arc<Process>,
    pub(super) hub: Arc<Hub>,
    pub(super) child: Child,
    pub(super) pipe: Option<OwnedFd>,
    pub(super) tty: Option<OwnedFd>,
    exit: OwnedFd,
    wake: PipeReader,
    /// The shell state belongs to the task.
    pub(super) keep: bool,
    /// Where a shell of this machine leaves it.
    pub(super) state: Option<PathBuf>,
    pub(super) gone: bool,
    /// It has a line in the register.
    pub(super) noted: bool,
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

/// Questions that are answered of one read, and those among them that take a screen.
const ANSWERS: usize = 256;
const SCREENS: usize = 16;
/// Bytes of answers and keys that may wait unread before questions are answered no more.
const ANSWERS_WAIT: usize = 1024;

/// What a process is started for.
pub(crate) struct Duty {
    pub(crate) keep: bool,
    pub(crate) state: Option<PathBuf>,
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
        tty: Option<OwnedFd>,
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
            tracing::error!("the reader of {} broke off", self.process.id.0);
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
            if self.gone && self.pipe.is_none() && self.tty.is_none() || lock(&self.process.life).abandoned {
                break;
            }
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
        if self.gone || self.tty.is_none() || self.headless {
            return None;
        }
        if self.look_after > LAST_LOOK && !self.echo.holds() {
            return None;
        }
        Some(self.look_after.saturating_sub(self.quiet_since.elapsed()))
    }

    pub(super) fn wait(&self, timeout: Option<Duration>) -> Option<Ready> {
        let typing = self.tty.is_some() && !lock(&self.process.input).is_empty();
        let tty_events = if typing { PollFlags::IN | PollFlags::OUT } else { PollFlags::IN };
        let mut fds = Vec::with_capacity(4);
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

    /// Reads the pipe at most `times`; returns the bytes read.
    pub(super) fn read_pipe(&mut self, times: usize) -> usize {
        let mut sum = 0;
        for _ in 0..times {
            let Some(fd) = &self.pipe else { break };
            let (before, got) = {
                let mut out = lock(&self.process.out);
                (out.log.total(), out.read_log(fd.as_fd()))
            };
            match got {
                Ok(Got::Bytes(count)) => {
                    sum += count;
                    self.spill(before + count as u64);
                    self.printed(before, count);
                }
                Ok(Got::Full) => super::spill::wait_for_room(&self.process, 64 * 1024),
                Ok(Got::Later) => break,
                Ok(Got::End) => self.pipe = None,
                Err(error) => {
                    tracing::warn!("reading {}: {error}", self.process.id.0);
                    self.pipe = None;
                }
            }
        }
        sum
    }

    /// Takes what the terminal has at most `times`; returns the bytes read.
    pub(super) fn read_tty(&mut self, times: usize) -> usize {
        let mut sum = 0;
        for _ in 0..times {
            let (count, drained) = self.gather();
            sum += count;
            let bytes = std::mem::take(&mut self.gathered);
            if count > 0 {
                self.took(&bytes[..count]);
            }
            self.gathered = bytes;
            if drained {
                break;
            }
        }
        sum
    }

    /// Reads what the terminal has now, as far as the buffer goes: the bytes, and whether that was all.
    fn gather(&mut self) -> (usize, bool) {
        let mut count = 0;
        while let Some(fd) = &self.tty
            && count < self.gathered.len()
        {
            match log::read(fd.as_fd(), &mut self.gathered[count..]) {
                Ok(Got::Bytes(more)) => {
                    count += more;
                    // To be told that there is nothing costs as much as to be woken when there is.
                    if more < DRAINED {
                        return (count, true);
                    }
                }
                Ok(Got::Later | Got::Full) => return (count, true),
                Ok(Got::End) => self.tty = None,
                Err(error) => {
                    tracing::warn!("reading the terminal of {}: {error}", self.process.id.0);
                    self.tty = None;
                }
            }
        }
        (count, self.tty.is_none())
    }

    /// Keeps what the terminal showed, and does what it asks for.
    fn took(&mut self, bytes: &[u8]) {
        super::spill::wait_for_room(&self.process, bytes.len() + 4096);
        let kept = self.echo.left(bytes, Instant::now());
        let (before, start) = {
            let mut out = lock(&self.process.out);
            let (before, start) = (out.log.total(), out.pane_end());
            out.append(bytes, &kept);
            (before, start)
        };
        if let Some(at) = self.fullscreen.as_mut().and_then(|scanner| scanner.scan(bytes)) {
            self.fullscreen = None;
            self.process.fit(Some(start + at as u64), *lock(&self.hub.size));
            self.process.return_carriages();
        }
        self.spill(before + kept.len() as u64);
        self.answer(bytes, start);
        self.printed(before, kept.len());
    }

    /// What was held back as the beginning of an echo is output after all; false when there was nothing.
    pub(super) fn release_echo(&mut self) -> bool {
        let kept = self.echo.give_up();
        if kept.is_empty() {
            return false;
        }
        let before = {
            let mut out = lock(&self.process.out);
            let before = out.log.total();
            out.append(&[], &kept);
            before
        };
        self.spill(before + kept.len() as u64);
        self.printed(before, kept.len());
        true
    }

    /// In the background: its whole output goes to its file, and it goes on when this program does not.
    fn outlive(&mut self) {
        lock(&self.process.out).log.keep_all();
        self.spill(log::HEAD as u64 + 1);
        // On another machine it goes on by itself, and a later run follows it with a client of its own.
        if self.process.far.is_none() {
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

    /// Output has reached `total` bytes: what outgrew memory goes to the spill file, and all of a background process.
    fn spill(&self, total: u64) {
        if total <= log::HEAD as u64 && !lock(&self.process.out).log.keeps_all() {
            return;
        }
        if lock(&self.process.out).log.begin_spill() {
            super::spill::start(&self.process);
        }
        self.process.flow.notify_all();
    }

    /// Answers what a program asks its terminal. `start` is where `bytes` begin in the pane's stream.
    fn answer(&mut self, bytes: &[u8], start: u64) {
        let questions = self.queries.scan(bytes);
        if questions.is_empty() {
            return;
        }
        let process = &self.process;
        let size = self.hub.size_of(process);
        let mut screen = super::screens::Reading::new(size);
        let mut answers = Vec::new();
        // A text full of questions is no program that reads answers.
        if lock(&process.input).len() > ANSWERS_WAIT {
            return;
        }
        let mut screens = 0;
        // Programs ask for all that they want to know at once, and wait for the answer to the last.
        for (end, question) in questions.into_iter().take(ANSWERS) {
            screens += usize::from(question.takes_screen());
            if question.takes_screen() && screens > SCREENS {
                continue;
            }
            answers.extend(question.answer(size, || screen.at(process, start + end as u64)));
        }
        lock(&process.input).push(&answers);
    }

    fn type_in(&mut self) {
        // What was printed before the keys must not be taken for their echo.
        self.read_tty(1);
        let Some(fd) = &self.tty else { return };
        let mut input = lock(&self.process.input);
        // After the lock: nothing that takes long comes between this and the typing.
        let modes = lock(&self.process.tty).as_ref().and_then(|tty| tty.modes());
        let Some((run, secret)) = input.next() else { return };
        let shows = modes.as_ref().is_none_or(|modes| modes.local_modes.contains(LocalModes::ECHO));
        if secret && shows {
            input.give_up();
            drop(input);
            waiting::held_back(&self.hub, &self.process);
            return;
        }
        match rustix::io::write(fd, run) {
            Ok(count) => {
                if let Some(modes) = modes {
                    self.echo.typed(&run[..count], &Discipline::from(&modes), Instant::now());
                }
                input.typed(count);
            }
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => {}
            Err(error) => {
                tracing::debug!("typing into {}: {error}", self.process.id.0);
                input.clear();
            }
        }
    }

    /// `count` new bytes of the log begin at `before`; 0 when only the pane got something.
    fn printed(&mut self, before: u64, count: usize) {
        self.restart_silence();
        let found = (count > 0).then(|| self.examine(before, count)).flatten();
        let mut changed = {
            let mut life = lock(&self.process.life);
            let awake = std::mem::take(&mut life.needs_input);
            if let Some(port) = found {
                life.port = Some(port);
            }
            awake || found.is_some()
        };
        if changed {
            waiting::went_on(&self.hub, &self.process);
        }
        self.process.printed_now();
        self.hub.touch(&self.process);
        if self.bytes_shown.elapsed() >= BYTES_SHOWN {
            changed = true;
        }
        if changed {
            self.bytes_shown = Instant::now();
            self.hub.outbox.post(ProcessEvent::Changed(self.process.info()));
        }
    }

    /// Looks for ports and patterns in new output; foreground commands without patterns never get further.
    fn examine(&mut self, before: u64, count: usize) -> Option<u16> {
        if self.matches.is_none() && !self.seek_port {
            return None;
        }
        let mut bytes = Vec::new();
        let mut port = None;
        if self.seek_port {
            let out = lock(&self.process.out);
            let total = out.log.total();
            out.log.copy(0, total.min(port::SEEK), &mut bytes);
            drop(out);
            port = port::find(&bytes);
            self.seek_port = port.is_none() && total < port::SEEK;
        }
        if let Some(matches) = &mut self.matches {
            bytes.clear();
            lock(&self.process.out).log.copy(before, before + count as u64, &mut bytes);
            let mask = Mask::of(&self.process.command, self.hub.masks());
            if let Some(found) = matches.take(&bytes, Instant::now(), &self.hub.notices, mask) {
                if found.gave_up {
                    lock(&self.process.life).notify = true;
                    self.matches = None;
                }
                self.hub.notices.post(Notice::Matched {
                    id: self.process.id.clone(),
                    task: self.process.task.clone(),
                    command: self.process.command.clone(),
                    pattern: found.pattern,
                    lines: found.lines,
                    suppressed: found.suppressed,
                });
            }
        }
        port
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
        if self.release_echo() {
            return;
        }
        self.look_after *= 2;
        self.quiet_since = Instant::now();
        if waiting::look(&self.hub, &self.process) {
            self.hub.outbox.post(ProcessEvent::Changed(self.process.info()));
        }
    }
}

/// What `poll` found.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ready {
    wake: bool,
    exit: bool,
    pipe: bool,
    tty: bool,
    type_in: bool,
}
