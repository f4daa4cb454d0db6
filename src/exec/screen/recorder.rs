//! Records what the terminals of sessions show: at most one screen in half a second while one changes, and its last.
//!
//! Nothing is parsed while a program prints. A screen is read when its time has come, from the end of what is in memory, on
//! a thread that is there only while a changed screen waits.

use super::view::View;
use super::viewport::Viewport;
use crate::exec::process::hub::Hub;
use crate::exec::process::record::Process;
use crate::exec::{ProcessEvent, now_ms};
use crate::lock::lock;
use crate::policy::redact::{RedactKind, redact};
use crate::recordings::{Frame, Head, Masks, Writer, masked, prune};
use crate::text::Snapshot;
use crate::text::clean::clean;
use std::collections::HashMap;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Between two screens of a terminal.
const GAP: Duration = Duration::from_millis(500);
/// Bytes that were printed last in which secrets are looked for: more than the longest key has.
const BEFORE: u64 = 16 * 1024;
/// Bytes of lines that are read of a command that is over before its first screen was due.
const LAST: u64 = 64 * 1024;

/// What the recorder knows of a process.
#[derive(Default)]
pub(crate) struct Recorded {
    /// It has a terminal, and belongs to a session.
    wanted: bool,
    /// Its screen waits to be read.
    queued: AtomicBool,
    /// Its last screen was read.
    done: AtomicBool,
}

impl Recorded {
    /// Of a process whose screens are wanted, or not.
    pub(crate) fn new(wanted: bool) -> Self {
        Self { wanted, ..Self::default() }
    }
}

/// The recorder of this program.
#[derive(Default)]
pub(crate) struct Recorder {
    state: Mutex<State>,
    wake: Condvar,
    /// What is recorded, by run.
    terminals: Mutex<Terminals>,
    /// It was told that nothing can be written.
    told: AtomicBool,
}

#[derive(Default)]
struct State {
    /// Changed screens, and when each is read.
    waiting: Vec<(Arc<Process>, Instant)>,
    /// The thread runs.
    running: bool,
    /// The program ends: nothing waits any more.
    hurries: bool,
}

#[derive(Default)]
struct Terminals {
    by_run: HashMap<String, Terminal>,
    /// Bytes of all recordings of the home as far as they are known; `None`: nobody has looked.
    all: Option<u64>,
}

/// A terminal that is recorded.
struct Terminal {
    /// `None` while its program is over before a first screen.
    view: Option<View>,
    /// `None` once it failed.
    writer: Option<Writer>,
}

impl Recorder {
    /// A process printed, or is over.
    pub(crate) fn touch(&self, hub: &Arc<Hub>, process: &Arc<Process>, over: bool) {
        let recorded = &process.recorded;
        if !recorded.wanted || recorded.done.load(Ordering::Relaxed) {
            return;
        }
        if recorded.queued.swap(true, Ordering::Relaxed) && !over {
            return;
        }
        let due = if over { Instant::now() } else { Instant::now() + GAP };
        let mut state = lock(&self.state);
        match state.waiting.iter_mut().find(|(waits, _)| Arc::ptr_eq(waits, process)) {
            Some((_, at)) => *at = due.min(*at),
            None => state.waiting.push((Arc::clone(process), due)),
        }
        if !state.running {
            state.running = true;
            let hub = Arc::clone(hub);
            let started = std::thread::Builder::new().name("exec-record".into()).spawn(move || hub.recorder.run(&hub));
            if let Err(error) = started {
                tracing::warn!("no thread to record terminals: {error}");
                state.running = false;
            }
        }
        drop(state);
        self.wake.notify_all();
    }

    /// Reads every screen that waits, and comes back when that is done or took too long. Blocks.
    pub(crate) fn finish(&self, limit: Duration) {
        let deadline = Instant::now() + limit;
        let mut state = lock(&self.state);
        state.hurries = true;
        self.wake.notify_all();
        while state.running {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return tracing::warn!("the last screens of some terminals were not recorded");
            }
            state = self.wake.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn run(&self, hub: &Hub) {
        while let Some(process) = self.next() {
            // What is printed from here on is another change.
            process.recorded.queued.store(false, Ordering::Relaxed);
            if catch_unwind(AssertUnwindSafe(|| self.take(hub, &process))).is_err() {
                tracing::error!("the recording of {} stopped early", process.id.0);
                lock(&self.terminals).by_run.insert(process.run(), Terminal { view: None, writer: None });
            }
        }
    }

    /// The next screen whose time has come; `None`: none waits.
    fn next(&self) -> Option<Arc<Process>> {
        let mut state = lock(&self.state);
        loop {
            let first = state.waiting.iter().enumerate().min_by_key(|(_, (_, due))| *due);
            let Some((at, due)) = first.map(|(at, (_, due))| (at, *due)) else {
                state.running = false;
                drop(state);
                self.wake.notify_all();
                return None;
            };
            let left = due.saturating_duration_since(Instant::now());
            if left.is_zero() || state.hurries {
                return Some(state.waiting.swap_remove(at).0);
            }
            state = self.wake.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Reads the screen of a process and keeps it.
    fn take(&self, hub: &Hub, process: &Arc<Process>) {
        let Some(limits) = &hub.options.recordings else { return };
        let over = process.over();
        if process.recorded.done.swap(over, Ordering::Relaxed) {
            return;
        }
        if !over && takes_hidden_input(process) {
            return;
        }
        let mut terminals = lock(&self.terminals);
        let run = process.run();
        let terminal = terminals.by_run.entry(run.clone()).or_insert_with(|| Terminal {
            view: None,
            writer: Some(Writer::new(limits, &process.task, head(hub, process))),
        });
        let mut written = 0;
        if terminal.writer.is_some() {
            match keep(hub, process, terminal, over) {
                Ok(bytes) => written = bytes,
                Err(error) => {
                    terminal.writer = None;
                    self.failed(hub, process, &error);
                }
            }
        }
        if over {
            terminals.by_run.remove(&run);
        }
        if written > 0 {
            let all = terminals.all.map_or(u64::MAX, |all| all + written);
            terminals.all = Some(if all > limits.all { prune(&limits.home, limits.all) } else { all });
        }
    }

    /// Told once: the terminal goes on as if nobody recorded it.
    fn failed(&self, hub: &Hub, process: &Process, error: &io::Error) {
        tracing::warn!("cannot record the terminal of {}: {error}", process.id.0);
        if !self.told.swap(true, Ordering::Relaxed) {
            let words = format!("terminals are not recorded: {error}");
            hub.outbox.post(ProcessEvent::Told(process.id.clone(), words));
        }
    }
}

/// Whether somebody types what must not be seen: a password on the terminal, or in the window of the helper.
fn takes_hidden_input(process: &Process) -> bool {
    let (secret, asking) = {
        let phase = process.phase.borrow();
        (phase.secret, phase.asking > 0)
    };
    let hides = || {
        lock(&process.tty).as_ref().is_some_and(|tty| {
            let modes = tty.key_modes();
            !modes.echo && !modes.raw
        })
    };
    secret || asking || hides()
}

fn head(hub: &Hub, process: &Process) -> Head {
    Head { id: process.run(), command: hub.kept_line(&process.command), started_at: process.started_at }
}

/// Keeps what the terminal shows now. Returns the bytes that were written.
fn keep(hub: &Hub, process: &Arc<Process>, terminal: &mut Terminal, over: bool) -> io::Result<u64> {
    let size = size(hub, process);
    let snapshot = if over && terminal.view.is_none() { last(process, size) } else { shown(process, terminal, size) };
    let Some(writer) = &mut terminal.writer else { return Ok(0) };
    let now = now_ms();
    let mut written = 0;
    if terminal.view.is_some() || !snapshot.is_blank() {
        // Somebody may have begun to type what must not be seen while the screen was read; then it is read again later.
        if !over && takes_hidden_input(process) {
            return Ok(0);
        }
        let rows = rows(hub, process, &snapshot);
        let cursor = snapshot.cursor.filter(|_| !over);
        written += writer.push(Frame::new(now, (snapshot.columns, rows.len() as u16), rows, cursor))?;
    }
    if over {
        let code = lock(&process.life).exit().map_or(-1, |exit| exit.code);
        written += writer.end(now, code)?;
    }
    Ok(written)
}

/// Columns and rows that it is shown in.
fn size(hub: &Hub, process: &Process) -> (u16, u16) {
    let fitted = lock(&process.out).fitted.is_some();
    let own = lock(&process.tty).as_ref().and_then(|tty| tty.size()).filter(|_| fitted);
    own.unwrap_or_else(|| *lock(&hub.size))
}

/// The screen after what was printed since the last look.
fn shown(process: &Process, terminal: &mut Terminal, size: (u16, u16)) -> Snapshot {
    // Another size lays lines out anew; a program with the whole screen does that by itself.
    let stays = terminal.view.take().filter(|view| view.size == size || view.screen.alternate());
    let view = terminal.view.insert(stays.unwrap_or_else(|| View::new(size)));
    if view.size != size {
        view.screen.resize(size);
        view.size = size;
    }
    view.feed(process);
    view.screen.seen().0
}

/// The last screen of a command that is over, on one no wider than it needs.
fn last(process: &Process, size: (u16, u16)) -> Snapshot {
    let (bytes, from, fitted) = {
        let out = lock(&process.out);
        let end = out.pane_end();
        let from = end.saturating_sub(LAST).max(out.pane_begin());
        (out.pane_bytes(from, end), from, out.fitted)
    };
    let mut screen = Viewport::for_lines(size, &bytes);
    screen.feed(&bytes, from, fitted);
    screen.settle();
    screen.seen().0
}

/// The rows as they may be kept: the same rules mask what enters a conversation.
fn rows(hub: &Hub, process: &Process, snapshot: &Snapshot) -> Vec<String> {
    let before = {
        let out = lock(&process.out);
        let end = out.pane_end();
        clean(&out.pane_bytes(end.saturating_sub(BEFORE).max(out.pane_begin()), end))
    };
    // Where a person typed, nobody knows which command printed.
    let typed = lock(&process.life).typed;
    let kind = if typed { RedactKind::Default } else { RedactKind::of_command(&process.command) };
    let known = hub.secrets.get();
    let masks = Masks {
        redact: &|text| {
            let text = known.map_or(text.into(), |known| known.mask(text, kind));
            if hub.masks() { redact(&text, kind).into_owned() } else { text.into_owned() }
        },
        certain: &|text| known.map_or(text.len(), |known| known.certain(text)),
    };
    masked(snapshot, &before, &masks)
}
