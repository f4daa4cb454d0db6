//! One process: what is known of it, shared by its reader thread, the table and the tools.

use super::lifecycle::Life;
use super::outbox::Outbox;
use super::procfs::Identity;
use super::spawn::Tty;
use crate::exec::outlive::detached::{Detached, RemoteWork};
use crate::exec::screen::recorder::Recorded;
use crate::exec::terminal::input::{Input, Kind};
use crate::exec::terminal::log::{Captured, Output};
use crate::exec::{Ending, Exit, Launch, Origin, ProcessEvent, ProcessId, ProcessInfo, ProcessState, Vitals, now_ms};
use crate::lock::lock;
use std::io::Write;
use std::path::PathBuf;
use std::sync::atomic::{AtomicI64, AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// Bytes that may wait to be typed; more is refused.
const INPUT_LIMIT: usize = 1024 * 1024;

/// What waiting tasks look at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Phase {
    /// The leader has exited and its output is in the log.
    pub(crate) exited: bool,
    /// And nothing that it started holds its output or terminal any more.
    pub(crate) closed: bool,
    /// It was in the foreground and is no more.
    pub(crate) moved: bool,
    /// It was stopped when that happened.
    pub(crate) stopped: bool,
    /// It waits for input.
    pub(crate) waits: bool,
    /// What it waits for must not be seen.
    pub(crate) secret: bool,
    /// The person has its keys.
    pub(crate) held: bool,
    /// Programs in it that ask the person with the helper.
    pub(crate) asking: usize,
}

impl Phase {
    /// The person does something about it: its time stands still.
    pub(crate) fn is_in_hand(&self) -> bool {
        self.held || self.asking > 0
    }
}

/// A process of the table.
pub(crate) struct Process {
    pub(crate) id: ProcessId,
    /// The task that started it.
    pub(crate) task: String,
    /// The task that it was handed over to; `None`: it is still that one's.
    pub(crate) heir: Mutex<Option<String>>,
    pub(crate) command: String,
    pub(crate) cwd: PathBuf,
    pub(crate) pid: u32,
    /// The leader, told from any later process with its number; `None` where the system does not say. Looked at once, and
    /// only for what lasts: [`Self::identify`].
    pub(crate) identity: OnceLock<Option<Identity>>,
    /// What belongs to it beside its leader, as far as it was seen last.
    pub(crate) kin: Mutex<Vec<Identity>>,
    /// Milliseconds since the epoch.
    pub(crate) started_at: i64,
    pub(crate) started: Instant,
    pub(crate) out: Mutex<Output>,
    /// Signalled when output came or was spilled, for the spill writer and the reader.
    pub(crate) flow: Condvar,
    pub(crate) life: Mutex<Life>,
    /// Signalled whenever `life` says more of the end.
    pub(crate) ended: Condvar,
    pub(crate) phase: watch::Sender<Phase>,
    pub(crate) tty: Mutex<Option<Tty>>,
    pub(crate) input: Mutex<Input>,
    /// Wakes the reader thread.
    pub(crate) wake: std::io::PipeWriter,
    /// It runs on another machine, and its client program here.
    pub(crate) remote: Option<std::sync::Arc<dyn crate::exec::RemoteCommand>>,
    /// How many panes show it.
    pub(crate) watchers: AtomicU32,
    /// Whether its screens are kept.
    pub(crate) recorded: Recorded,
    /// When it printed last (milliseconds since the epoch).
    pub(crate) last_output: AtomicI64,
    /// What it was started with, to start it again.
    pub(crate) launch: Launch,
    /// How its runs before this one ended, oldest first.
    pub(crate) exits: Vec<Exit>,
    /// It was started by a run of this program that is gone.
    pub(crate) detached: Option<Detached>,
    /// Where facts about it go.
    pub(crate) outbox: Arc<Outbox>,
}

/// Names a run of a process after so many others.
pub(crate) fn run_of(id: &ProcessId, before: usize) -> String {
    if before == 0 { id.0.clone() } else { format!("{}-{}", id.0, before + 1) }
}

impl Process {
    /// The row of the table.
    pub(crate) fn info(&self) -> ProcessInfo {
        let (output_bytes, log) = {
            let out = lock(&self.out);
            (out.log.total(), out.log.spill().state())
        };
        let life = lock(&self.life);
        let state = match life.exit() {
            Some(exit) if !life.has_survivors() => ProcessState::Exited(exit.clone()),
            _ if life.stopped => ProcessState::Stopped,
            _ if life.needs_input || life.helpers > 0 => ProcessState::NeedsInput,
            _ => ProcessState::Running,
        };
        ProcessInfo {
            id: self.id.clone(),
            task: self.owner(),
            command: self.command.clone(),
            cwd: self.cwd.clone(),
            pid: self.pid,
            background: life.background,
            started_at: self.started_at,
            state,
            port: life.port,
            output_bytes,
            vitals: Vitals {
                ending: life.next_signal(),
                usage: life.sample.as_ref().map(|sample| sample.usage).filter(|_| life.exit().is_none()),
                last_output: Some(self.last_output.load(Ordering::Relaxed)).filter(|at| *at > 0),
                log,
                place: self.place(),
                unreachable: self.unreached().and_then(|unreached| lock(&unreached.why).clone()),
                origin: match &self.detached {
                    None if self.remote.as_ref().is_some_and(|remote| remote.since().is_some()) => Origin::Earlier,
                    None => Origin::Ours,
                    Some(detached) if detached.is_elsewhere() => Origin::Elsewhere,
                    Some(_) => Origin::Earlier,
                },
                apart: life.apart && life.has_survivors(),
                restarts: u32::try_from(self.exits.len()).unwrap_or(u32::MAX),
            },
        }
    }

    /// Names this run among those with its id.
    pub(crate) fn run(&self) -> String {
        run_of(&self.id, self.exits.len())
    }

    /// The task that it belongs to.
    pub(crate) fn owner(&self) -> String {
        lock(&self.heir).clone().unwrap_or_else(|| self.task.clone())
    }

    /// Tells that something in its row changed.
    pub(crate) fn changed(&self) {
        self.outbox.row(ProcessEvent::Changed, self);
    }

    /// It prints: the silence is over.
    pub(crate) fn printed_now(&self) {
        self.last_output.store(now_ms(), Ordering::Relaxed);
    }

    /// A pane shows it.
    pub(crate) fn is_watched(&self) -> bool {
        self.watchers.load(Ordering::Relaxed) > 0
    }

    /// While it is being ended: which signal comes after this time.
    pub(crate) fn will_get(&self, signal: &'static str, after: Duration) {
        if after.is_zero() {
            return;
        }
        let after = i64::try_from(after.as_millis()).unwrap_or(i64::MAX);
        lock(&self.life).will_get(Ending { signal, at: now_ms().saturating_add(after) });
        self.changed();
    }

    /// Head and tail of its output.
    pub(crate) fn captured(&self) -> Captured {
        lock(&self.out).log.captured()
    }

    /// Nothing of it runs any more.
    pub(crate) fn over(&self) -> bool {
        lock(&self.life).is_over()
    }

    /// It is another machine's or container's: its numbers mean nothing here.
    pub(crate) fn is_elsewhere(&self) -> bool {
        self.detached.as_ref().is_some_and(Detached::is_elsewhere)
    }

    /// Why nothing can be done about it from here.
    pub(crate) fn elsewhere(&self) -> crate::exec::ExecError {
        let Some(unreached) = self.unreached() else { return crate::exec::ExecError::Foreign(self.id.clone()) };
        match &*lock(&unreached.why) {
            Some(why) => crate::exec::ExecError::Unreachable(self.id.clone(), Arc::clone(why)),
            None => crate::exec::ExecError::RemoteSearch(self.id.clone()),
        }
    }

    /// It is on another machine that was not reached so far.
    pub(crate) fn unreached(&self) -> Option<&RemoteWork> {
        self.detached.as_ref().and_then(|detached| detached.unreached.as_ref())
    }

    /// The other machine that it is on.
    fn place(&self) -> Option<Arc<str>> {
        let remote = || self.remote.as_ref().and_then(|remote| remote.place());
        self.unreached().map(|unreached| unreached.place.label.as_str().into()).or_else(|| Some(remote()?.label.into()))
    }

    /// Who its leader is. Must be asked for the first time before the leader is waited for: its number may be a stranger's
    /// then.
    pub(crate) fn identify(&self) -> Option<Identity> {
        let life = lock(&self.life);
        if life.is_reaped() {
            return self.identity.get().copied().flatten();
        }
        *self.identity.get_or_init(|| Identity::of(self.pid))
    }

    /// Waits until its life is as wanted, or until the deadline; whether it is.
    pub(crate) fn wait_until(&self, deadline: Instant, wanted: impl Fn(&Life) -> bool) -> bool {
        let mut life = lock(&self.life);
        while !wanted(&life) {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            life = self.ended.wait_timeout(life, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }

    /// Gives its terminal the pane's size, once: what is printed from `position` on (by default from now on) is laid out
    /// for it.
    pub(crate) fn fit(&self, position: Option<u64>, size: (u16, u16)) {
        {
            let mut out = lock(&self.out);
            if out.fitted.is_some() {
                return;
            }
            out.fitted = Some(position.unwrap_or_else(|| out.pane_end()));
        }
        self.resize(size);
    }

    /// Tells the program another size, unless its terminal is still the wide one.
    pub(crate) fn resize(&self, size: (u16, u16)) {
        if lock(&self.out).fitted.is_none() {
            return;
        }
        if let Some(tty) = &*lock(&self.tty)
            && tty.size() != Some(size)
        {
            if let Err(error) = tty.resize(size) {
                tracing::debug!("resizing {}: {error}", self.id.0);
            }
            if let Some(remote) = &self.remote {
                remote.resized(size);
            }
        }
    }

    /// A program that lays out by itself sets the terminal as it needs it. One that left it alone is a script that prints
    /// on the alternate screen: from now on its line feeds return the carriage as on any terminal.
    pub(crate) fn return_carriages(&self) {
        if let Some(tty) = &*lock(&self.tty)
            && let Err(error) = tty.return_carriages()
        {
            tracing::debug!("the terminal of {}: {error}", self.id.0);
        }
    }

    /// Queues keys for its terminal.
    pub(crate) fn type_in(&self, bytes: &[u8], kind: Kind) -> Result<(), crate::exec::ExecError> {
        self.queue(bytes.len(), |input| input.push(bytes, kind))
    }

    /// Queues a secret: it is typed only while the terminal does not show it, and overwritten then.
    pub(crate) fn type_secret(&self, bytes: Vec<u8>) -> Result<(), crate::exec::ExecError> {
        self.queue(bytes.len(), |input| input.push_secret(bytes))
    }

    fn queue(&self, count: usize, push: impl FnOnce(&mut Input)) -> Result<(), crate::exec::ExecError> {
        if lock(&self.tty).is_none() {
            return Err(self.no_terminal());
        }
        if self.over() {
            return Err(crate::exec::ExecError::Ended(self.id.clone()));
        }
        {
            let mut input = lock(&self.input);
            if input.len() + count > INPUT_LIMIT {
                return Err(crate::exec::ExecError::InputFull(self.id.clone()));
            }
            push(&mut input);
        }
        self.rouse();
        Ok(())
    }

    /// Why nothing can be typed into it.
    pub(crate) fn no_terminal(&self) -> crate::exec::ExecError {
        match (self.over(), &self.detached) {
            (true, _) => crate::exec::ExecError::Ended(self.id.clone()),
            (false, Some(_)) => crate::exec::ExecError::Detached(self.id.clone()),
            (false, None) => crate::exec::ExecError::NoTerminal(self.id.clone()),
        }
    }

    /// Makes the reader thread look again.
    pub(crate) fn rouse(&self) {
        if let Err(error) = (&self.wake).write_all(&[0]) {
            tracing::debug!("the reader of {} exited: {error}", self.id.0);
        }
    }
}
