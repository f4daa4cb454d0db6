//! The handle: starts commands and waits for them.

use super::end::{self, Graces};
use super::hub::Hub;
use super::lifecycle::End;
use super::notice::Notice;
use super::outbox::Outbox;
use super::record::{Phase, Process};
use super::spawn;
use crate::exec::sandbox::Guard;
use crate::exec::{
    Captured, Exec, ExecError, ExecOptions, Exit, ExitReason, ProcessEvent, ProcessId, RemoteCommand, RemoteEnd, Spawn,
};
use crate::lock::lock;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tokio::sync::mpsc;

/// Events that may wait for the UI before they are merged.
const EVENTS: usize = 256;

/// A command to start, and what to do with its output.
#[derive(Clone)]
pub struct Launch {
    pub spawn: Spawn,
    /// Where output goes that outgrows memory; by default a file in the folder of the options.
    pub spill: Option<PathBuf>,
    /// Tell the agent when it ends.
    pub notify_on_complete: bool,
    /// Tell the agent when a line holds one of these.
    pub watch_patterns: Vec<String>,
    /// It runs on another machine: its client program is started in its place, everything on its terminal.
    pub remote: Option<Arc<dyn RemoteCommand>>,
    /// How many `sudo`s of the line were judged and made to ask here: a kept password is told only where that
    /// is all of the line.
    pub sudos: usize,
}

impl From<Spawn> for Launch {
    fn from(spawn: Spawn) -> Self {
        Self { spawn, spill: None, notify_on_complete: false, watch_patterns: Vec::new(), remote: None, sudos: 0 }
    }
}

/// A started command. Dropping it leaves the command alone.
#[derive(Clone)]
pub struct Running {
    pub id: ProcessId,
    pub pid: u32,
    pub(in crate::exec) process: Arc<Process>,
    pub(in crate::exec) guard: Guard,
}

/// What waiting for a command gave.
#[derive(Clone, Debug, PartialEq)]
pub enum Waited {
    Finished(Finished),
    /// The person sent it to the background; this is its output so far.
    Moved(Captured),
}

/// A finished command.
#[derive(Clone, Debug, PartialEq)]
pub struct Finished {
    pub exit: Exit,
    pub output: Captured,
    /// The folder that the shell was in; `None` when it could not say (killed, replaced by `exec`, its own exit trap).
    pub cwd_after: Option<PathBuf>,
    /// Names of variables that it exported and that later commands do not get: they make programs run something else.
    pub not_kept: Vec<String>,
    /// What another machine did to it and what to do, when that was not its own end.
    pub lost: Option<crate::exec::RemoteLost>,
    /// What it started still holds its output or its terminal; it is in the table under the same id.
    pub survivors: bool,
}

impl Running {
    /// Waits until the leader has exited, or until the person moves it to the background. Can be called again.
    pub async fn wait(&self) -> Waited {
        let mut phase = self.process.phase.subscribe();
        let seen = phase.wait_for(|phase| phase.exited || phase.moved).await.map(|phase| *phase);
        let (end, survivors) = {
            let life = lock(&self.process.life);
            (life.end().cloned(), life.has_survivors())
        };
        // After its end: nothing is printed any more that belongs to it.
        let output = self.process.captured();
        match (seen, end) {
            (Ok(_), Some(End { exit, left, .. })) => {
                let RemoteEnd { cwd: cwd_after, not_kept, lost } = left;
                Waited::Finished(Finished { exit, output, cwd_after, not_kept, lost, survivors })
            }
            _ => Waited::Moved(output),
        }
    }

    /// Waits until the leader has exited, wherever it runs by then.
    pub async fn exited(&self) {
        self.reaches(|phase| phase.exited).await;
    }

    /// Waits until nothing that it started holds its output or terminal any more.
    pub async fn closed(&self) {
        self.reaches(|phase| phase.closed).await;
    }

    async fn reaches(&self, there: impl FnMut(&Phase) -> bool) {
        // The sender is part of the process, which this value holds.
        if let Err(error) = self.process.phase.subscribe().wait_for(there).await {
            tracing::debug!("{}: {error}", self.id.0);
        }
    }

    /// Ends it with short graces; returns at once, `wait` tells the end. A second call kills.
    pub fn stop(&self, reason: ExitReason) {
        end::end(&self.process, reason, Graces::SHORT);
    }

    /// What to look at once it has ended, when it ran in a sandbox.
    pub fn guard(&self) -> &Guard {
        &self.guard
    }

    /// Its output so far.
    pub fn captured(&self) -> Captured {
        self.process.captured()
    }
}

impl Exec {
    /// A table without processes, and the events for the UI (drop the receiver when there is none). Touches neither the
    /// disk nor the shell.
    pub fn new(options: ExecOptions) -> (Self, mpsc::Receiver<ProcessEvent>) {
        let (sender, receiver) = mpsc::channel(EVENTS);
        spawn::make_room(options.max_processes);
        super::kin::adopt_orphans();
        let hub = Hub::new(options, Arc::new(Outbox::new(sender)));
        (Self { hub: Arc::new(hub) }, receiver)
    }

    /// The environment that commands start with, without keys and tokens: for children that run beside the shell.
    pub async fn environment(&self) -> std::collections::BTreeMap<String, String> {
        let base = self.hub.base().await;
        let text = |value: &std::ffi::OsString| value.to_str().map(str::to_owned);
        base.iter().filter_map(|(name, value)| Some((text(name)?, text(value)?))).collect()
    }

    /// What the next command of this task will start with; asks the login shell the first time.
    pub async fn environment_of(&self, task: &str) -> Arc<std::collections::BTreeMap<OsString, OsString>> {
        self.hub.env_of(task).await
    }

    /// Asks the login shell for its environment now, so that the first command need not wait. Call it when a turn
    /// starts; needs a tokio runtime.
    pub fn warm_up(&self) {
        let exec = self.clone();
        tokio::spawn(async move {
            exec.hub.base().await;
        });
    }

    /// Whether secrets in notices are masked from now on; they are until this says otherwise.
    pub fn mask_notices(&self, masks: bool) {
        self.hub.masks.store(masks, Ordering::Relaxed);
    }

    /// Nobody can type: a headless run.
    pub fn headless(&self) -> bool {
        self.hub.options.headless
    }

    /// Whether this system has what keeps a command from writing. The first time it tries, in a child.
    pub async fn can_hold(&self) -> bool {
        self.hub.can_hold().await
    }

    /// Columns and rows of new terminals: the pane's, once there was one.
    pub fn size(&self) -> (u16, u16) {
        *lock(&self.hub.size)
    }

    /// Starts a command with the defaults of [`Launch`].
    pub async fn start(&self, spawn: Spawn) -> Result<Running, ExecError> {
        self.launch(spawn.into()).await
    }

    /// Starts a command: in a session of its own, with the exported variables of its task.
    pub async fn launch(&self, launch: Launch) -> Result<Running, ExecError> {
        self.hub.make_room()?;
        if launch.spawn.background {
            spawn::leave_reserve()?;
        }
        self.launch_as(launch, new_id(), Vec::new()).await
    }

    /// Whether one more can be started.
    ///
    /// # Errors
    /// All that are tracked still run.
    pub fn room(&self) -> Result<(), ExecError> {
        self.hub.make_room()
    }

    /// Notices of the background processes of a task, for whoever works on it.
    pub fn notices_of(&self, task: &str) -> mpsc::Receiver<Notice> {
        self.hub.notices.of(task)
    }

    /// The model has already seen how this process ended (by `wait`, `poll`, `log` or `kill`): a notice would repeat it.
    pub fn is_consumed(&self, id: &ProcessId) -> bool {
        self.hub.find(id).is_ok_and(|process| lock(&process.life).end().is_some_and(|end| end.seen))
    }
}

fn new_id() -> ProcessId {
    ProcessId(format!("proc_{:012x}", fastrand::u64(..1 << 48)))
}
