//! How a command starts, in two steps: what may fail is made ready while nothing runs, and what has been started is taken
//! over without a way to fail. In between is the fork.

use super::env::Env;
use super::lifecycle::{Life, Telling};
use super::record::{Phase, Process, run_of};
use super::shell::{Shell, StateFile};
use super::spawn::{self, SpawnFailure, Wiring};
use crate::exec::outlive::detached::MARK;
use crate::exec::sandbox::{Guard, Prepared};
use crate::exec::screen::recorder::Recorded;
use crate::exec::terminal::log::Output;
use crate::exec::terminal::reader::{Duty, Reader, Seat};
use crate::exec::terminal::spill::Spill;
use crate::exec::{Exec, ExecError, Exit, Launch, ProcessEvent, ProcessId, RemoteCommand, Running, Spawn, now_ms};
use std::io::{PipeReader, PipeWriter};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicI64, AtomicU32};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Instant;
use tokio::sync::watch;

/// A command that only has to be started.
struct Ready {
    launch: Launch,
    id: ProcessId,
    /// How the runs before ended.
    exits: Vec<Exit>,
    child: spawn::Ready,
    /// The reader's side of its terminal.
    tty: Option<Arc<OwnedFd>>,
    wake: (PipeReader, PipeWriter),
    /// Where its reader waits for it.
    seat: Seat,
    state: Option<StateFile>,
    guard: Guard,
}

impl Exec {
    /// Starts a command under this id, in place of the process that had it before; `exits` is how that one ended. After an
    /// error nothing of it runs.
    pub(in crate::exec) async fn launch_as(
        &self,
        launch: Launch,
        id: ProcessId,
        exits: Vec<Exit>,
    ) -> Result<Running, ExecError> {
        let _launching = self.hub.asking.launching();
        let ready = self.ready(launch, id, exits).await?;
        self.begin(ready)
    }

    /// Makes everything ready: its shell, environment, sandbox, terminal, and the thread that will look after it.
    async fn ready(&self, launch: Launch, id: ProcessId, exits: Vec<Exit>) -> Result<Ready, ExecError> {
        let spawn = &launch.spawn;
        let shell = self.hub.shell().await?;
        // A client has this program's environment: variables that commands export belong to the other side.
        let env = match launch.remote {
            Some(_) => Arc::clone(self.hub.base().await),
            None => self.hub.env_of(&spawn.task).await,
        };
        let wiring = wiring(&launch);
        // A program in a terminal of its own can be stopped, too, which takes what the shell reads first.
        let state = if (keeps_state(&launch) || spawn.pty) && launch.remote.is_none() {
            Some(shell.state().map_err(ExecError::Shell)?)
        } else {
            None
        };
        let mut command = match &launch.remote {
            Some(remote) => client(&**remote, &env),
            None => local(shell, spawn, state.as_ref().map(StateFile::path), wiring, &env),
        };
        command.envs(self.hub.askpass(&env, spawn.headless).await).env(MARK, &id.0);
        let (prepared, guard) =
            self.confine(&mut command, spawn, shell, state.as_ref().map(|file| file.path().to_owned())).await?;
        let child = spawn::ready(command, wiring, prepared).map_err(|failure| failed(&launch, failure))?;
        let broken = |error: std::io::Error| failed(&launch, error.into());
        let tty = child.tty_fd();
        let wake = std::io::pipe().map_err(broken)?;
        let seat = Seat::new().map_err(broken)?;
        Ok(Ready { launch, id, exits, child, tty, wake, seat, state, guard })
    }

    /// The sandbox that it wants, made ready.
    async fn confine(
        &self,
        command: &mut Command,
        spawn: &Spawn,
        shell: &Shell,
        state: Option<PathBuf>,
    ) -> Result<(Option<Prepared>, Guard), ExecError> {
        let Some(sandbox) = &spawn.sandbox else { return Ok((None, Guard::default())) };
        let ready = self.hub.hold(sandbox, shell, state, &spawn.cwd).await?;
        if let Some(temporary) = &ready.private_temp {
            command.env("TMPDIR", temporary);
        }
        Ok((Some(ready.prepared), ready.guard))
    }

    /// Starts it and takes it over.
    fn begin(&self, ready: Ready) -> Result<Running, ExecError> {
        let Ready { launch, id, exits, child, tty, wake: (wake_reader, wake), seat, state, guard } = ready;
        let started = Instant::now();
        let mut spawned = child.start().map_err(|failure| failed(&launch, failure))?;
        let remote = launch.remote.clone();
        let since = remote.as_ref().and_then(|remote| remote.since());
        let spawn = &launch.spawn;
        let wide = wiring(&launch).terminal() && !spawn.pty;
        let spill = launch.spill.clone();
        let spill = spill.unwrap_or_else(|| self.hub.options.spill.join(format!("{}.log", run_of(&id, exits.len()))));
        let telling = Telling { end: launch.notify_on_complete, ..Telling::default() };
        let life = Life { background: spawn.background, telling, ..Life::default() };
        let duty = Duty {
            keep: keeps_state(&launch),
            state,
            headless: spawn.headless,
            patterns: launch.watch_patterns.clone(),
        };
        // The terminals of sessions: nobody listens to what an editor of a prompt does.
        let has_terminal = spawned.tty.is_some();
        let records = self.hub.options.recordings.is_some() && has_terminal && self.hub.notices.are_heard(&spawn.task);
        let process = Arc::new(Process {
            id: id.clone(),
            task: spawn.task.clone(),
            heir: Mutex::default(),
            command: spawn.command.clone(),
            cwd: spawn.cwd.clone(),
            pid: spawned.child.id(),
            kin: Mutex::default(),
            identity: OnceLock::new(),
            started_at: since.unwrap_or_else(now_ms),
            started: since.map_or(started, crate::exec::outlive::recover::moment),
            out: Mutex::new(Output::new(Spill::new(spill, self.hub.options.spill_limit), wide)),
            flow: std::sync::Condvar::new(),
            life: Mutex::new(life),
            ended: std::sync::Condvar::new(),
            phase: watch::Sender::new(Phase::default()),
            tty: Mutex::new(spawned.tty.take()),
            input: Mutex::default(),
            wake,
            remote: remote.clone(),
            watchers: AtomicU32::new(0),
            recorded: Recorded::new(records),
            last_output: AtomicI64::new(0),
            launch,
            exits,
            detached: None,
            outbox: Arc::clone(&self.hub.outbox),
        });
        self.hub.add(Arc::clone(&process));
        self.hub.outbox.row(ProcessEvent::Started, &process);
        seat.take(Reader::new(Arc::clone(&self.hub), Arc::clone(&process), spawned, tty, wake_reader, duty));
        if let Some(remote) = remote {
            remote.launched();
        }
        Ok(Running { id, pid: process.pid, process, guard })
    }
}

fn wiring(launch: &Launch) -> Wiring {
    let spawn = &launch.spawn;
    let size = if spawn.pty { spawn.size } else { (crate::exec::WIDE, spawn.size.1) };
    Wiring { pty: spawn.pty || launch.remote.is_some(), headless: spawn.headless, size }
}

/// Whether later commands of its task go on from where it ended.
fn keeps_state(launch: &Launch) -> bool {
    !launch.spawn.background
}

/// Why it could not be started.
fn failed(launch: &Launch, failure: SpawnFailure) -> ExecError {
    let spawn = &launch.spawn;
    match (failure.step, &spawn.sandbox) {
        (Some(step), Some(sandbox)) => ExecError::Sandbox(sandbox.broke(step, &failure.source)),
        _ if launch.remote.is_some() || spawn.cwd.is_dir() => {
            ExecError::Spawn { command: spawn.command.clone(), source: failure.source }
        }
        // Never in another folder: the command was judged in this one.
        _ => ExecError::Folder(spawn.cwd.clone()),
    }
}

/// The shell of a command on this machine.
fn local(shell: &Shell, spawn: &Spawn, state: Option<&std::path::Path>, wiring: Wiring, env: &Env) -> Command {
    let (mut command, prelude) = shell.command(&spawn.command, state, wiring.terminal());
    command.env_clear().envs(env.iter()).current_dir(&spawn.cwd);
    if let Some(prelude) = prelude {
        command.env("BASH_ENV", prelude);
    }
    command
}

/// The client of a command on another machine, with this environment beside what it brings.
fn client(remote: &dyn RemoteCommand, env: &Env) -> Command {
    let mut client = remote.client();
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
