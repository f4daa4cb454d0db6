//! A server of ours that outlives the window which started it: several windows use it, the last one ends it, and a window
//! that was killed leaves it to be found again.

use super::piped::{quietly, signal_members};
use crate::exec::ExecError;
use crate::exec::outlive::host_id::{HostId, Seen};
use crate::exec::process::procfs::{self, Identity};
use crate::exec::process::spawn::lead_session;
use crate::lock::lock;
use rustix::process::{Pid, Signal, kill_process_group};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Between two looks at whether it has ended.
const GLANCE: Duration = Duration::from_millis(20);

/// What finds a daemon again: its number, its start and where numbers mean that.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DaemonId {
    leader: Identity,
    host: HostId,
}

/// How a daemon of this process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DaemonEnd {
    /// With this code.
    Code(i32),
    /// By this signal: 4 is an instruction that the processor lacks, 9 most often the lack of memory.
    Signal(i32),
}

/// A daemon that runs, or did.
#[derive(Clone, Debug)]
pub struct Daemon {
    id: DaemonId,
    /// How it ended; `None`: another process is its parent.
    ended: Option<Arc<Mutex<Option<DaemonEnd>>>>,
}

impl Daemon {
    /// Starts it, with everything that it prints in `log`, and nothing on its standard input.
    ///
    /// # Errors
    /// [`ExecError::Spawn`] when it cannot be started.
    pub fn start(mut command: Command, log: File) -> Result<Self, ExecError> {
        let name = command.get_program().to_string_lossy().into_owned();
        let fail = |source: std::io::Error| ExecError::Spawn { command: name.clone(), source };
        let same = log.try_clone().map_err(fail)?;
        command.stdin(Stdio::null()).stdout(log).stderr(same);
        lead_session(&mut command, None);
        let mut child = command.spawn().map_err(fail)?;
        let pid = child.id();
        let leader = Identity::of(pid).unwrap_or(Identity { pid, start: 0 });
        let ended = Arc::new(Mutex::new(None));
        let tell = Arc::clone(&ended);
        // Blocks until it ends, and with it its number is given back.
        let waits = move || {
            if let Ok(status) = child.wait() {
                *lock(&tell) = Some(DaemonEnd::of(status));
            }
        };
        std::thread::Builder::new().name("daemon".into()).spawn(waits).map_err(fail)?;
        Ok(Self { id: DaemonId { leader, host: HostId::here() }, ended: Some(ended) })
    }

    /// One that an earlier process started; `None` when it does not run any more, or where nobody can tell.
    pub fn found(id: &DaemonId) -> Option<Self> {
        let daemon = Self { id: id.clone(), ended: None };
        (id.host.sees(&HostId::here()) == Seen::Here && daemon.is_alive()).then_some(daemon)
    }

    /// What finds it again.
    pub fn id(&self) -> &DaemonId {
        &self.id
    }

    /// Its process number.
    pub fn pid(&self) -> u32 {
        self.id.leader.pid
    }

    /// Whether it runs.
    pub fn is_alive(&self) -> bool {
        match &self.ended {
            // Until it was waited for, its number is its own.
            Some(ended) => lock(ended).is_none(),
            None => self.id.leader.is_alive(),
        }
    }

    /// How it ended, where this process started it.
    pub fn ended(&self) -> Option<DaemonEnd> {
        self.ended.as_ref().and_then(|ended| *lock(ended))
    }

    /// Bytes of memory that it has in use.
    pub fn memory(&self) -> Option<u64> {
        let stat = procfs::stat(self.id.leader.pid).filter(|stat| stat.start == self.id.leader.start)?;
        Some(stat.pages * rustix::param::page_size() as u64)
    }

    /// It leads a session, and so a group of its own; who left the group is found where the system tells.
    fn signal(&self, signal: Signal) {
        if let Some(group) = Pid::from_raw(self.id.leader.pid as i32) {
            quietly(kill_process_group(group, signal));
        }
        signal_members(self.id.leader.pid, signal);
    }

    /// Ends it: asked first, killed when it is still there after `grace`. Blocks.
    pub fn end(&self, grace: Duration) {
        for (signal, patience) in [(Signal::TERM, grace), (Signal::KILL, Duration::from_secs(2))] {
            if !self.is_alive() {
                return;
            }
            self.signal(signal);
            let until = Instant::now() + patience;
            while self.is_alive() && Instant::now() < until {
                std::thread::sleep(GLANCE);
            }
        }
    }
}

impl DaemonEnd {
    fn of(status: ExitStatus) -> Self {
        match status.signal() {
            Some(signal) => Self::Signal(signal),
            None => Self::Code(status.code().unwrap_or_default()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(script: &str) -> (tempfile::TempDir, Daemon) {
        let dir = tempfile::tempdir().unwrap();
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        let daemon = Daemon::start(command, File::create(dir.path().join("log")).unwrap()).unwrap();
        (dir, daemon)
    }

    fn wait(daemon: &Daemon) {
        let until = Instant::now() + Duration::from_secs(10);
        while daemon.is_alive() && Instant::now() < until {
            std::thread::yield_now();
        }
    }

    #[test]
    fn it_is_found_again_by_what_is_kept_of_it_and_ended() {
        let (_dir, daemon) = start("echo started; sleep 60");
        let kept = serde_json::to_string(daemon.id()).unwrap();
        let found = Daemon::found(&serde_json::from_str(&kept).unwrap()).unwrap();
        assert_eq!(found.pid(), daemon.pid());
        assert!(found.memory().is_some());
        found.end(Duration::from_secs(5));
        assert!(!daemon.is_alive());
        assert!(Daemon::found(daemon.id()).is_none());
    }

    #[test]
    fn how_it_ended_is_known_to_its_parent() {
        let (_dir, daemon) = start("kill -ILL $$");
        wait(&daemon);
        assert_eq!(daemon.ended(), Some(DaemonEnd::Signal(4)));
        let (dir, daemon) = start("echo no memory >&2; exit 3");
        wait(&daemon);
        assert_eq!(daemon.ended(), Some(DaemonEnd::Code(3)));
        assert_eq!(std::fs::read_to_string(dir.path().join("log")).unwrap(), "no memory\n");
    }

    #[test]
    fn one_that_does_not_listen_is_killed() {
        let (_dir, daemon) = start("trap '' TERM; while :; do sleep 60; done");
        daemon.end(Duration::from_millis(50));
        assert!(!daemon.is_alive());
    }
}
