//! A process that outlived the run of this program that started it: found by the mark that it was started with, ended by
//! signals, its output read from its log. Its terminal is with the keeper, so nobody types into it.

use super::end::ignore_gone;
use super::process::{Process, lock};
use super::procfs::{self, Identity};
use super::register::Register;
use super::screens::Screens;
use super::spawn::watch_exit;
use super::{Exit, ExitReason, ProcessEvent};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::io::{PipeReader, Read};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The variable that names a process in the environment of everything that it starts.
pub(crate) const MARK: &str = "HERMES_PROCESS";

/// How often the log of one that is shown is read.
const LOOK: Duration = Duration::from_millis(300);
/// How often the living are counted where the system does not tell of an end.
const COUNT: Duration = Duration::from_secs(5);

/// How a detached process is known.
#[derive(Clone, Debug)]
pub(crate) struct Detached {
    /// `NAME=VALUE` in the environment of all that belongs to it.
    entry: String,
    leader: Identity,
}

impl Detached {
    pub(crate) fn new(id: &super::ProcessId, leader: Identity) -> Self {
        Self { entry: format!("{MARK}={}", id.0), leader }
    }

    /// What of it runs: never a stranger that got one of its numbers.
    pub(crate) fn identities(&self) -> Vec<Identity> {
        let marked = procfs::marked(&self.entry).into_iter().filter(|stat| !stat.zombie);
        let mut found: Vec<Identity> = marked.map(|stat| Identity { pid: stat.pid, start: stat.start }).collect();
        // Another user's (sudo): its environment cannot be read, its start can.
        if self.leader.is_alive() && !found.contains(&self.leader) {
            found.push(self.leader);
        }
        found
    }

    /// Sends a signal to all of it.
    pub(crate) fn send(&self, signal: Signal) {
        for identity in self.identities() {
            let Some(pid) = Pid::from_raw(identity.pid as i32) else { continue };
            let Ok(handle) = pidfd_open(pid, PidfdFlags::empty()) else { continue };
            // The handle is of whoever had the number when it was opened: only then is it known to be the one.
            if identity.is_alive() {
                ignore_gone(pidfd_send_signal(&handle, signal));
            }
        }
    }
}

/// Watches a detached process on a thread of its own until nothing of it runs.
pub(crate) fn watch(process: Arc<Process>, wake: PipeReader, screens: [Arc<Screens>; 2], register: Arc<Register>) {
    let name = "exec-detached".to_owned();
    let target = Arc::clone(&process);
    let started = std::thread::Builder::new().name(name).spawn(move || run(&target, wake, &screens, &register));
    if let Err(error) = started {
        tracing::error!("{} is not watched: {error}", process.id.0);
    }
}

fn run(process: &Process, mut wake: PipeReader, screens: &[Arc<Screens>; 2], register: &Register) {
    let Some(detached) = &process.detached else { return };
    loop {
        let living = detached.identities();
        if living.is_empty() {
            break;
        }
        if read_more(process) && process.is_watched() {
            screens.iter().for_each(|screens| screens.touch(&process.id));
        }
        let ends: Vec<OwnedFd> = living.iter().filter_map(|identity| watch_exit(identity.pid).ok()).collect();
        let mut fds: Vec<PollFd<'_>> = ends.iter().map(|fd| PollFd::new(fd, PollFlags::IN)).collect();
        fds.push(PollFd::new(&wake, PollFlags::IN));
        let most = match (process.is_watched(), ends.len() < living.len()) {
            (true, _) => Some(LOOK),
            (false, true) => Some(COUNT),
            (false, false) => None,
        };
        let most = most.map(|most| Timespec { tv_sec: most.as_secs() as i64, tv_nsec: i64::from(most.subsec_nanos()) });
        let woken = match poll(&mut fds, most.as_ref()) {
            Ok(_) => fds.last().is_some_and(|fd| !fd.revents().is_empty()),
            Err(rustix::io::Errno::INTR) => false,
            Err(error) => {
                tracing::error!("{} is not watched any more: {error}", process.id.0);
                return;
            }
        };
        drop(fds);
        if woken && !matches!(wake.read(&mut [0; 64]), Ok(1..)) || lock(&process.life).abandoned {
            break;
        }
    }
    if lock(&process.life).abandoned {
        // The program is left: what runs stays in the register for the next run.
        lock(&process.life).closed = true;
        process.ended.notify_all();
        return;
    }
    read_more(process);
    ended(process);
    register.remove(&process.id);
}

/// Takes what was added to the log.
pub(crate) fn read_more(process: &Process) -> bool {
    let more = lock(&process.out).log.take_more();
    if more {
        process.printed_now();
    }
    more
}

fn ended(process: &Process) {
    {
        let mut life = lock(&process.life);
        let reason = life.ending.unwrap_or(ExitReason::Unseen);
        life.exit = Some(Exit { code: -1, reason, duration: process.started.elapsed() });
        life.finished_at = Some(Instant::now());
        life.closed = true;
    }
    lock(&process.out).ended = true;
    process.ended.notify_all();
    process.phase.send_modify(|phase| phase.exited = true);
    process.outbox.post(ProcessEvent::Exited(process.info()));
}
