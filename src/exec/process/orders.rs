//! Orders about processes that run: type, signal, size, move, end, start again, and what happens to them when this program
//! is left.

use super::end::{self, Graces};
use super::lifecycle::{Leaving, Life};
use super::record::Process;
use super::{port, usage};
use crate::exec::sandbox::Sandbox;
use crate::exec::screen::view::{Sight, application_keys};
use crate::exec::terminal::input::Kind;
use crate::exec::{Exec, ExecError, ExitReason, Keys, ProcessCommand, ProcessEvent, ProcessId, Running};
use crate::lock::lock;
use rustix::process::Signal;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// How long a process that is to be started again may take to be gone after the last signal.
const GONE: Duration = Duration::from_secs(3);
/// After this silence a program has drawn what a key made it draw, and how long that may take.
const SILENT: Duration = Duration::from_millis(160);
const SETTLED: Duration = Duration::from_millis(1500);

/// How long the last screens may take to be recorded.
const RECORDED: Duration = Duration::from_secs(2);

/// Signals that can be sent by name.
const SIGNALS: &[(&str, Signal)] = &[
    ("INT", Signal::INT),
    ("TERM", Signal::TERM),
    ("KILL", Signal::KILL),
    ("HUP", Signal::HUP),
    ("QUIT", Signal::QUIT),
    ("USR1", Signal::USR1),
    ("USR2", Signal::USR2),
    ("STOP", Signal::STOP),
    ("CONT", Signal::CONT),
    ("WINCH", Signal::WINCH),
];

impl Exec {
    /// Carries out an order of the UI. Orders about processes that are gone do nothing.
    pub fn command(&self, command: ProcessCommand) {
        let result = match command {
            ProcessCommand::Watch(id, size) => {
                if size.0 > 0 && size.1 > 0 {
                    *lock(&self.hub.size) = size;
                }
                let target = id.as_ref().and_then(|id| self.hub.find(id).ok());
                self.look_at(target.as_deref());
                self.hub.screens[0].watch(target, size, &self.hub.outbox);
                Ok(())
            }
            ProcessCommand::WatchSecond(id, size) => {
                let target = id.as_ref().and_then(|id| self.hub.find(id).ok());
                self.look_at(target.as_deref());
                self.hub.screens[1].watch(target, size, &self.hub.outbox);
                Ok(())
            }
            ProcessCommand::Scroll(id, scroll) => {
                self.hub.screens.iter().for_each(|screens| screens.scroll(&id, scroll));
                Ok(())
            }
            ProcessCommand::Lines(id, lines) => {
                self.hub.screens.iter().for_each(|screens| screens.lines(&id, lines));
                Ok(())
            }
            ProcessCommand::Find(id, words, way) => {
                self.hub.screens.iter().for_each(|screens| screens.find(&id, &words, way));
                Ok(())
            }
            ProcessCommand::Keep(id, keep) => self.keep(&id, keep),
            ProcessCommand::Write(id, bytes) => self.take_over(&id, &bytes),
            ProcessCommand::TakeOver(id) => {
                self.hold_keys(id.as_ref());
                Ok(())
            }
            ProcessCommand::Answer(id, text) => {
                self.answer(id, text);
                Ok(())
            }
            ProcessCommand::Kill(id) => self.kill(&id),
            ProcessCommand::Background(id) => self.background(&id),
            ProcessCommand::Forget(id) => {
                self.forget(id);
                Ok(())
            }
            ProcessCommand::Compare(ids) => {
                ids.into_iter().for_each(|id| self.compare(id));
                Ok(())
            }
            ProcessCommand::Continue(id) => self.go_on(&id),
        };
        if let Err(error) = result {
            tracing::debug!("{error}");
        }
    }

    /// Ends a process: SIGINT, SIGTERM, SIGKILL. Returns at once; a second call kills.
    pub fn kill(&self, id: &ProcessId) -> Result<(), ExecError> {
        let process = self.hub.find(id)?;
        if process.is_elsewhere() {
            return Err(process.elsewhere());
        }
        end::end(&process, ExitReason::Killed, self.graces());
        Ok(())
    }

    /// Each stage of `kill` gives as long as the configuration says.
    fn graces(&self) -> Graces {
        Graces { interrupt: self.hub.options.term_grace, terminate: self.hub.options.term_grace }
    }

    /// Sends a signal by its name (`USR1`, `SIGUSR1`) to all of a process.
    pub fn signal(&self, id: &ProcessId, name: &str) -> Result<&'static str, ExecError> {
        let upper = name.trim().to_ascii_uppercase();
        let short = upper.strip_prefix("SIG").unwrap_or(&upper);
        let found = SIGNALS.iter().find(|(known, _)| *known == short);
        let (known, signal) = found.ok_or_else(|| ExecError::NoSignal(name.to_owned()))?;
        let process = self.hub.find(id)?;
        if process.is_elsewhere() {
            return Err(process.elsewhere());
        }
        if process.over() {
            return Err(ExecError::Ended(id.clone()));
        }
        match *known {
            "CONT" => super::stopped::continues(&process),
            _ => end::send(&process, *signal),
        }
        // A signal may have stopped it, which nothing else tells.
        process.rouse();
        Ok(known)
    }

    /// A person takes it off the list. What the table does not have leaves the screen, however it came there.
    fn forget(&self, id: ProcessId) {
        self.hub.remove(&id);
        let event = match self.hub.find(&id) {
            Err(_) => ProcessEvent::Gone(id),
            Ok(_) => ProcessEvent::Told(id, "it is still running: kill it first".to_owned()),
        };
        self.hub.outbox.post(event);
    }

    /// Tells what a process is that the screen takes for running.
    fn compare(&self, id: ProcessId) {
        match self.hub.find(&id) {
            Ok(process) if process.over() => self.hub.outbox.row(ProcessEvent::Exited, &process),
            Ok(process) => process.changed(),
            Err(_) => self.hub.outbox.post(ProcessEvent::Gone(id)),
        }
    }

    /// Gives the terminal of a process another size, columns and rows. While a pane shows it, that one decides.
    pub fn resize(&self, id: &ProcessId, size: (u16, u16)) -> Result<(), ExecError> {
        let process = self.hub.find(id)?;
        if process.over() {
            return Err(ExecError::Ended(id.clone()));
        }
        if process.is_watched() {
            return Err(ExecError::Shown(id.clone()));
        }
        if lock(&process.tty).is_none() {
            return Err(process.no_terminal());
        }
        process.fit(None, size);
        process.resize(size);
        Ok(())
    }

    /// Types keys into a process, as its terminal is set now.
    pub fn press(&self, id: &ProcessId, keys: &Keys) -> Result<(), ExecError> {
        let process = self.hub.find(id)?;
        let application = application_keys(&process, self.hub.size_of(&process));
        process.type_in(&keys.bytes(application), Kind::Other)
    }

    /// Waits until a process has been silent for a moment after something was typed, or has ended.
    pub async fn settle(&self, id: &ProcessId) -> Result<(), ExecError> {
        let process = self.hub.find(id)?;
        let began = Instant::now();
        let mut printed = process.last_output.load(Ordering::Relaxed);
        let mut silent_since = began;
        while silent_since.elapsed() < SILENT && began.elapsed() < SETTLED && !process.over() {
            tokio::time::sleep(SILENT / 8).await;
            let now = process.last_output.load(Ordering::Relaxed);
            if now != printed {
                (printed, silent_since) = (now, Instant::now());
            }
        }
        Ok(())
    }

    /// The command line of a process and the folder that it runs in.
    pub fn line(&self, id: &ProcessId) -> Option<(String, std::path::PathBuf)> {
        self.hub.find(id).ok().map(|process| (process.command.clone(), process.cwd.clone()))
    }

    /// What the terminal of a process shows now.
    pub fn sight(&self, id: &ProcessId) -> Result<Sight, ExecError> {
        let process = self.hub.find(id)?;
        // A wide terminal is seen as a pane shows it: folded.
        let wide = lock(&process.out).fitted.is_none();
        let size = if wide { self.size() } else { self.hub.size_of(&process) };
        Ok(Sight::of(&process, size))
    }

    /// Ends a process and starts its command again under the same id, in this sandbox.
    pub async fn restart(&self, id: &ProcessId, sandbox: Option<Sandbox>) -> Result<Running, ExecError> {
        let process = self.hub.find(id)?;
        if process.remote.is_some() {
            return Err(ExecError::Elsewhere(id.clone()));
        }
        if process.is_elsewhere() {
            return Err(process.elsewhere());
        }
        if process.detached.as_ref().is_some_and(|detached| detached.is_masked()) {
            return Err(ExecError::Masked(id.clone()));
        }
        if !process.over() {
            end::end(&process, ExitReason::Killed, self.graces());
            let (target, most) = (Arc::clone(&process), self.hub.options.term_grace * 2 + GONE);
            let gone = tokio::task::spawn_blocking(move || wait_until_over(&target, Instant::now() + most)).await;
            if !gone.unwrap_or(false) {
                return Err(ExecError::StillRuns(id.clone()));
            }
        }
        let mut exits = process.exits.clone();
        exits.extend(lock(&process.life).exit().cloned());
        let mut launch = process.again();
        launch.spawn.task = process.owner();
        launch.spawn.sandbox = sandbox;
        launch.spawn.size = self.size();
        self.launch_as(launch, id.clone(), exits).await
    }

    /// Looks at what background processes use.
    pub fn look(&self) {
        let all: Vec<Arc<Process>> = self.hub.all().into_iter().filter(|p| lock(&p.life).background).collect();
        usage::look(&all);
    }

    /// The person wants it to go on when this program is left, or no more.
    fn keep(&self, id: &ProcessId, keep: bool) -> Result<(), ExecError> {
        let process = self.hub.find(id)?;
        let mut life = lock(&process.life);
        if !life.is_abandoned() {
            life.leaving = if keep { Leaving::Kept } else { Leaving::Ends };
        }
        Ok(())
    }

    /// A person types: the program lays out for the person's pane, from the first key on at the latest.
    fn take_over(&self, id: &ProcessId, bytes: &[u8]) -> Result<(), ExecError> {
        let process = self.hub.find(id)?;
        process.fit(None, *lock(&self.hub.size));
        lock(&process.life).typed = true;
        process.type_in(bytes, Kind::Person)
    }

    /// Types into a process.
    pub fn write(&self, id: &ProcessId, bytes: &[u8]) -> Result<(), ExecError> {
        self.hub.find(id)?.type_in(bytes, Kind::Other)
    }

    /// A running foreground command goes on in the background; who waits for it is told at once.
    pub fn background(&self, id: &ProcessId) -> Result<(), ExecError> {
        let process = self.hub.find(id)?;
        let mut first = Vec::new();
        lock(&process.out).log.copy(0, port::SEEK, &mut first);
        {
            let mut life = lock(&process.life);
            if life.exit().is_some() {
                return Err(ExecError::Ended(id.clone()));
            }
            if life.background {
                return Ok(());
            }
            life.background = true;
            life.port = port::find(&first);
            // Nobody waits any more, so its end is news.
            life.telling.end = true;
        }
        process.phase.send_modify(|phase| phase.moved = true);
        process.changed();
        // Its reader sees to it that it outlives this program.
        process.rouse();
        Ok(())
    }

    /// The window was closed: what ends from now on is told at the next start.
    pub fn hung_up(&self) {
        self.hub.register.hang_up();
    }

    /// Ends everything, but not what the person keeps, and with `kill` unset no background process: those go on with their
    /// output in their log files. A server that went off by itself goes on unless the person says otherwise. Returns when that is done, after 3 s at most.
    pub async fn shutdown(&self, kill: bool) {
        self.hub.screens.iter().for_each(|screens| screens.stop());
        self.hub.keeper.see_to_it();
        let mut waiting = Vec::new();
        for process in self.hub.all() {
            if process.over() || process.is_elsewhere() {
                continue;
            }
            let goes_on = {
                let mut life = lock(&process.life);
                let by_itself = life.apart || life.background && !kill;
                let goes_on = life.leaving == Leaving::Kept || life.leaving != Leaving::Ends && by_itself;
                if goes_on {
                    life.leaving = Leaving::Abandoned;
                }
                goes_on
            };
            if goes_on {
                process.rouse()
            } else {
                end::end(&process, ExitReason::Killed, Graces::SHORT)
            }
            waiting.push(process);
        }
        let hub = Arc::clone(&self.hub);
        let all = tokio::task::spawn_blocking(move || {
            let deadline = Instant::now() + Duration::from_secs(3);
            for process in waiting {
                wait_until_over(&process, deadline);
            }
            hub.recorder.finish(RECORDED);
        });
        if let Err(error) = all.await {
            tracing::error!("waiting for processes to exit: {error}");
        }
        self.hub.discard_shell();
        self.hub.discard_askpass();
    }
}

/// Whether nothing of it runs, or nobody looks after it any more, before the deadline.
fn wait_until_over(process: &Process, deadline: Instant) -> bool {
    process.wait_until(deadline, Life::is_closed)
}
