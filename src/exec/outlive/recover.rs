//! At the start: what an earlier run of this program left running is found again, and what ended meanwhile is told once.

use super::detached::{self, Detached};
use super::host_id::HostId;
use super::register::{Entry, Left};
use crate::exec::process::hub::Hub;
use crate::exec::process::lifecycle::{End, Life};
use crate::exec::process::record::{Phase, Process};
use crate::exec::screen::recorder::Recorded;
use crate::exec::terminal::log::Output;
use crate::exec::terminal::spill::Spill;
use crate::exec::{Exec, Exit, ExitReason, Launch, ProcessEvent, ProcessId, RemoteEnd, Spawn, now_ms};
use crate::lock::lock;
use std::sync::atomic::{AtomicI64, AtomicU32};
use std::sync::{Arc, Condvar, Mutex, OnceLock};
use std::time::{Duration, Instant};
use tokio::sync::watch;

impl Exec {
    /// Finds what an earlier run left behind on this machine. Blocks on the disk and on `/proc`. What is on other machines is
    /// shown, and looked for by [`seek`](Self::seek).
    pub fn recover(&self) {
        let lives = |entry: &Entry| {
            let id = ProcessId(entry.id.clone());
            detached::lives(&id, entry.leader)
        };
        let Left { living, ended, elsewhere, remote } =
            self.hub.register.adopt(chrono::Utc::now().timestamp_millis(), lives);
        for entry in living {
            if let Err(error) = self.adopt(entry) {
                tracing::warn!("cannot watch a process from an earlier run: {error}");
            }
        }
        for entry in ended {
            if let Err(error) = self.tell_end(entry) {
                tracing::warn!("cannot report a process from an earlier run: {error}");
            }
        }
        for entry in elsewhere.into_iter().chain(remote) {
            if let Err(error) = self.show(entry) {
                tracing::warn!("cannot show a process of another host: {error}");
            }
        }
    }

    /// Its row says that it is none of this machine's or container's; its log can be read.
    fn show(&self, mut entry: Entry) -> std::io::Result<()> {
        let (_, wake) = std::io::pipe()?;
        let id = ProcessId(entry.id.clone());
        let remote = entry.remote.take().filter(|_| self.hub.register.is_ours(&entry));
        let mut process = self.of_entry(entry, wake);
        process.detached = Some(match remote {
            Some(place) => Detached::unreached(&id, place),
            None => Detached::elsewhere(&id),
        });
        let process = Arc::new(process);
        detached::read_more(&process);
        self.hub.add(Arc::clone(&process));
        self.hub.outbox.row(ProcessEvent::Started, &process);
        Ok(())
    }

    fn adopt(&self, entry: Entry) -> std::io::Result<()> {
        let (wake_reader, wake) = std::io::pipe()?;
        let process = Arc::new(self.of_entry(entry, wake));
        detached::read_more(&process);
        self.hub.add(Arc::clone(&process));
        self.hub.outbox.row(ProcessEvent::Started, &process);
        detached::watch(process, wake_reader, self.hub.screens.clone(), Arc::clone(&self.hub.register));
        Ok(())
    }

    /// Its row says that it ended, and its log can be read.
    fn tell_end(&self, entry: Entry) -> std::io::Result<()> {
        let (_, wake) = std::io::pipe()?;
        let hung_up = entry.hung_up;
        let process = Arc::new(self.of_entry(entry, wake));
        detached::read_more(&process);
        let reason = if hung_up { ExitReason::HungUp } else { ExitReason::Unseen };
        let exit = Exit { code: -1, reason, duration: Duration::ZERO };
        lock(&process.life).ended(End::new(exit, RemoteEnd::default(), Instant::now()), false);
        process.phase.send_modify(|phase| phase.exited = true);
        self.hub.add(Arc::clone(&process));
        self.hub.outbox.row(ProcessEvent::Exited, &process);
        Ok(())
    }

    pub(super) fn of_entry(&self, entry: Entry, wake: std::io::PipeWriter) -> Process {
        let id = ProcessId(entry.id);
        let spawn = Spawn {
            command: entry.command.clone(),
            cwd: entry.cwd.clone(),
            pty: entry.pty,
            background: true,
            task: entry.task.clone(),
            size: self.size(),
            headless: self.headless(),
            sandbox: None,
        };
        Process {
            detached: Some(Detached::new(&id, entry.leader, entry.masked)),
            id,
            task: entry.task,
            heir: Mutex::default(),
            command: entry.command,
            cwd: entry.cwd,
            pid: entry.leader.pid,
            kin: Mutex::default(),
            identity: OnceLock::from(Some(entry.leader)),
            started_at: entry.started_at,
            started: moment(entry.started_at),
            out: Mutex::new(Output::new(Spill::reopened(entry.log), !entry.pty)),
            flow: Condvar::new(),
            life: Mutex::new(Life { background: true, port: entry.port, ..Life::default() }),
            ended: Condvar::new(),
            phase: watch::Sender::new(Phase::default()),
            tty: Mutex::new(None),
            input: Mutex::default(),
            wake,
            remote: None,
            watchers: AtomicU32::new(0),
            recorded: Recorded::default(),
            last_output: AtomicI64::new(0),
            launch: spawn.into(),
            exits: Vec::new(),
            outbox: Arc::clone(&self.hub.outbox),
        }
    }
}

/// When that was, in milliseconds since the epoch.
pub(in crate::exec) fn moment(at: i64) -> Instant {
    let age = u64::try_from(now_ms() - at).unwrap_or(0);
    Instant::now().checked_sub(Duration::from_millis(age)).unwrap_or_else(Instant::now)
}

impl Process {
    /// Its line in the register. What ends on another machine with its client here has none.
    pub(crate) fn entry(&self, hub: &Hub) -> Option<Entry> {
        let remote = self.remote.as_ref().map(|remote| remote.place());
        if remote == Some(None) {
            return None;
        }
        let leader = self.identify()?;
        let command = hub.kept_line(&self.command);
        let (background, port) = {
            let life = lock(&self.life);
            (life.background, life.port)
        };
        Some(Entry {
            id: self.id.0.clone(),
            task: self.owner(),
            masked: command != self.command,
            command,
            foreground: !background,
            hung_up: false,
            cwd: self.cwd.clone(),
            pty: self.launch.spawn.pty,
            log: lock(&self.out).log.spill().target_path().to_owned(),
            started_at: self.started_at,
            port,
            remote: remote.flatten(),
            leader,
            owner: leader,
            whereabouts: HostId::default(),
        })
    }

    /// What starting it again takes.
    pub(crate) fn again(&self) -> Launch {
        let mut launch = self.launch.clone();
        launch.spawn.background = true;
        // The log of the run before stays as it is.
        launch.spill = None;
        launch
    }
}
