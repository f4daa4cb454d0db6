//! The handle: starts commands and waits for them.

use super::detached::MARK;
use super::end::{self, Graces};
use super::hub::Hub;
use super::log::Output;
use super::notice::Notice;
use super::outbox::Outbox;
use super::process::{Life, Phase, Process, lock};
use super::reader::{Duty, Reader};
use super::sandbox::Guard;
use super::spawn::{self, Wiring};
use super::spill::Spill;
use super::{
    Captured, Exec, ExecError, ExecOptions, Exit, ExitReason, Far, FarEnd, ProcessEvent, ProcessId, Spawn, now_ms,
};
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::atomic::{AtomicI64, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Instant;
use tokio::sync::{mpsc, watch};

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
    pub far: Option<Arc<dyn Far>>,
    /// How many `sudo`s of the line were judged and made to ask here: as many may be told a password that is kept.
    pub sudos: usize,
}

impl From<Spawn> for Launch {
    fn from(spawn: Spawn) -> Self {
        Self { spawn, spill: None, notify_on_complete: false, watch_patterns: Vec::new(), far: None, sudos: 0 }
    }
}

/// A started command. Dropping it leaves the command alone.
#[derive(Clone)]
pub struct Running {
    pub id: ProcessId,
    pub pid: u32,
    pub(super) process: Arc<Process>,
    guard: Guard,
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
    pub lost: Option<super::Lost>,
    /// What it started still holds its output or its terminal; it is in the table under the same id.
    pub survivors: bool,
}

impl Running {
    /// Waits until the leader has exited, or until the person moves it to the background. Can be called again.
    pub async fn wait(&self) -> Waited {
        let mut phase = self.process.phase.subscribe();
        let seen = phase.wait_for(|phase| phase.exited || phase.moved).await.map(|phase| *phase);
        let exit = lock(&self.process.life).exit.clone();
        match (seen, exit) {
            (Ok(_), Some(exit)) => {
                let output = self.process.captured();
                let life = lock(&self.process.life);
                let survivors = life.survivors && !life.closed;
                let FarEnd { cwd: cwd_after, not_kept, lost } = life.left.clone();
                Waited::Finished(Finished { exit, output, cwd_after, not_kept, lost, survivors })
            }
            _ => Waited::Moved(self.process.captured()),
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
        self.launch_as(launch, new_id(), Vec::new()).await
    }

    /// Starts a command under this id, in place of the process that had it before; `exits` is how that one ended.
    pub(super) async fn launch_as(
        &self,
        launch: Launch,
        id: ProcessId,
        exits: Vec<Exit>,
    ) -> Result<Running, ExecError> {
        let kept = launch.clone();
        let Launch { spawn, spill, notify_on_complete, watch_patterns, far, sudos } = launch;
        let shell = self.hub.shell().await?;
        // A client has this program's environment: variables that commands export belong to the other side.
        let env = if far.is_some() { Arc::clone(self.hub.base().await) } else { self.hub.env_of(&spawn.task).await };
        let size = if spawn.pty { spawn.size } else { (super::WIDE, spawn.size.1) };
        let wiring = Wiring { pty: spawn.pty || far.is_some(), headless: spawn.headless, size };
        let wide = wiring.terminal() && !spawn.pty;
        let cwd = spawn.cwd;
        let keep = !spawn.background;
        let state = match keep && far.is_none() {
            true => Some(shell.state().map_err(ExecError::Shell)?),
            false => None,
        };
        let (mut command, prelude) = match &far {
            Some(far) => (client(&**far, &env), None),
            None => {
                let (mut command, prelude) = shell.command(&spawn.command, state.as_deref(), wiring.terminal());
                command.env_clear().envs(env.iter()).current_dir(&cwd);
                (command, prelude)
            }
        };
        command.envs(self.hub.askpass(&env, spawn.headless).await).env(MARK, &id.0);
        command.envs(self.hub.sudo_pass(&id, sudos));
        if let Some(prelude) = prelude {
            command.env("BASH_ENV", prelude);
        }
        let mut prepared = None;
        let mut guard = Guard::default();
        if let Some(sandbox) = &spawn.sandbox {
            let held = self.hub.hold(sandbox, shell, state.clone(), &cwd).await?;
            if let Some(temporary) = &held.private_temp {
                command.env("TMPDIR", temporary);
            }
            (prepared, guard) = (Some(held.prepared), held.guard);
        }
        let started = Instant::now();
        let failed = |source| match far.is_some() || cwd.is_dir() {
            true => ExecError::Spawn { command: spawn.command.clone(), source },
            // Never in another folder: the command was judged in this one.
            false => ExecError::Folder(cwd.clone()),
        };
        let mut spawned =
            spawn::spawn(command, wiring, prepared).map_err(|failure| match (failure.step, &spawn.sandbox) {
                (Some(step), Some(sandbox)) => ExecError::Sandbox(sandbox.broke(step, &failure.source)),
                _ => failed(failure.source),
            })?;
        let since = far.as_ref().and_then(|far| far.since());
        let tty = spawned.tty.take();
        let tty_fd = tty.as_ref().map(|tty| tty.fd.try_clone()).transpose().map_err(failed)?;
        let (wake_reader, wake) = std::io::pipe().map_err(failed)?;
        let run = if exits.is_empty() { String::new() } else { format!("-{}", exits.len() + 1) };
        let spill = spill.unwrap_or_else(|| self.hub.options.spill.join(format!("{}{run}.log", id.0)));
        let process = Arc::new(Process {
            id: id.clone(),
            task: spawn.task,
            command: spawn.command.clone(),
            cwd,
            pid: spawned.child.id(),
            identity: OnceLock::new(),
            started_at: since.unwrap_or_else(now_ms),
            started: since.map_or(started, super::recover::moment),
            out: Mutex::new(Output::new(Spill::new(spill, self.hub.options.spill_limit), wide)),
            flow: std::sync::Condvar::new(),
            life: Mutex::new(Life { background: spawn.background, notify: notify_on_complete, ..Life::default() }),
            ended: std::sync::Condvar::new(),
            phase: watch::Sender::new(Phase::default()),
            tty: Mutex::new(tty),
            input: Mutex::default(),
            wake,
            far: far.clone(),
            watchers: AtomicU32::new(0),
            last_output: AtomicI64::new(0),
            launch: kept,
            exits,
            detached: None,
            outbox: Arc::clone(&self.hub.outbox),
        });
        self.hub.add(Arc::clone(&process));
        self.hub.outbox.post(ProcessEvent::Started(process.info()));
        let running = Running { id, pid: process.pid, process: Arc::clone(&process), guard };
        let duty = Duty { keep, state, headless: spawn.headless, patterns: watch_patterns };
        Reader::start(Arc::clone(&self.hub), Arc::clone(&process), spawned, tty_fd, wake_reader, duty).map_err(
            |e| {
                end::end(&process, ExitReason::FailedToStart, Graces::NONE);
                ExecError::Spawn { command: spawn.command, source: e }
            },
        )?;
        if let Some(far) = far {
            far.launched();
        }
        Ok(running)
    }

    /// Whether one more can be started.
    ///
    /// # Errors
    /// All that are tracked still run.
    pub fn room(&self) -> Result<(), ExecError> {
        self.hub.make_room()
    }

    /// Notices of background processes, for the agent runner. Only the first call gets the receiver.
    pub fn completions(&self) -> Option<mpsc::Receiver<Notice>> {
        self.hub.notices.take()
    }

    /// The model has already seen how this process ended (by `wait`, `poll`, `log` or `kill`): a notice would repeat it.
    pub fn is_consumed(&self, id: &ProcessId) -> bool {
        self.hub.find(id).is_ok_and(|process| lock(&process.life).consumed)
    }
}

/// The client of a command on another machine, with this environment beside what it brings.
fn client(far: &dyn Far, env: &super::env::Env) -> std::process::Command {
    let mut client = far.client();
    let own: Vec<_> = client.get_envs().map(|(name, value)| (name.to_owned(), value.map(ToOwned::to_owned))).collect();
    client.env_clear().envs(env.iter());
    for (name, value) in own {
        match value {
            Some(value) => client.env(name, value),
            None => client.env_remove(name),
        };
    }
    client
}

fn new_id() -> ProcessId {
    ProcessId(format!("proc_{:012x}", fastrand::u64(..1 << 48)))
}
