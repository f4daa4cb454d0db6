//! A process that outlived the run of this program that started it: found by the mark that it was started with, ended by
//! signals, its output read from its log. Its terminal is with the keeper, so nobody types into it.

use super::register::Register;
use crate::exec::process::end::ignore_gone;
use crate::exec::process::lifecycle::{End, Leaving};
use crate::exec::process::procfs;
use crate::exec::process::procfs::{Identity, Stat};
use crate::exec::process::record::Process;
use crate::exec::process::spawn::watch_exit;
use crate::exec::screen::watch::Screens;
use crate::exec::{Exit, ExitReason, ProcessEvent, ProcessId, RemoteEnd, RemotePlace};
use crate::lock::lock;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal};
use std::io::{PipeReader, Read};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// The variable that names a process in the environment of everything that it starts.
pub const MARK: &str = "HERMES_PROCESS";

/// How often the log of one that is shown is read, at most; and as often where the system does not tell of changes.
const LOOK: Duration = Duration::from_millis(300);
/// How often the living are counted where the system does not tell of an end, and how long a failed wait is not tried again.
const COUNT: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(500);
/// Of so many the end is waited for at once: as long as one of them lives, nobody has to be counted.
const ENDS: usize = 16;

/// How a detached process is known.
#[derive(Debug)]
pub(crate) struct Detached {
    /// Of it: `None` when its numbers mean nothing here.
    leader: Option<Identity>,
    /// `NAME=VALUE` in the environment of all that belongs to it.
    entry: String,
    /// Its command line was kept without its secrets.
    masked: bool,
    /// What belonged to it when that was looked at last.
    known: Mutex<Vec<Identity>>,
    /// It is on another machine that was not reached so far.
    pub(crate) unreached: Option<RemoteWork>,
}

/// Work on a machine that is not reached.
#[derive(Debug)]
pub(crate) struct RemoteWork {
    pub(crate) place: RemotePlace,
    /// Why not, and where its files are there; `None`: it is being looked for.
    pub(crate) why: Mutex<Option<Arc<str>>>,
}

impl Detached {
    pub(crate) fn new(id: &ProcessId, leader: Identity, masked: bool) -> Self {
        Self { leader: Some(leader), entry: mark_of(id), masked, known: Mutex::default(), unreached: None }
    }

    /// Of another machine or container.
    pub(crate) fn elsewhere(id: &ProcessId) -> Self {
        Self { leader: None, entry: mark_of(id), masked: false, known: Mutex::default(), unreached: None }
    }

    /// On another machine that is to be looked for.
    pub(crate) fn unreached(id: &ProcessId, place: RemotePlace) -> Self {
        Self { unreached: Some(RemoteWork { place, why: Mutex::default() }), ..Self::elsewhere(id) }
    }

    pub(crate) fn is_elsewhere(&self) -> bool {
        self.leader.is_none()
    }

    /// Its command line cannot be run again as it is.
    pub(crate) fn is_masked(&self) -> bool {
        self.masked
    }

    /// What of it runs. Reads the environment of everything that runs.
    fn count(&self) -> Vec<Identity> {
        let found = self.leader.map(|leader| living(&self.entry, leader)).unwrap_or_default();
        lock(&self.known).clone_from(&found);
        found
    }

    /// Sessions that its processes are in, as far as they were known when they were counted.
    pub(crate) fn sessions(&self, all: &[Stat]) -> Vec<u32> {
        let known = lock(&self.known);
        let is_known = |stat: &&Stat| known.contains(&Identity { pid: stat.pid, start: stat.start });
        // Zero is the session of all who came from outside of this namespace.
        all.iter().filter(is_known).map(|stat| stat.session).filter(|session| *session != 0).collect()
    }

    /// Sends a signal to all of it.
    pub(crate) fn send(&self, signal: Signal) {
        for identity in self.count() {
            if let Some(pid) = Pid::from_raw(identity.pid as i32) {
                send_one(pid, identity, signal);
            }
        }
    }
}

#[cfg(target_os = "linux")]
pub(crate) fn send_one(pid: Pid, identity: Identity, signal: Signal) {
    use rustix::process::{PidfdFlags, pidfd_open, pidfd_send_signal};
    let Ok(handle) = pidfd_open(pid, PidfdFlags::empty()) else { return };
    // The handle is of whoever had the number when it was opened: only then is it known to be the one.
    if identity.is_alive() {
        ignore_gone(pidfd_send_signal(&handle, signal));
    }
}

/// Other systems have no handles: a number that goes to somebody else between the two calls is hit.
#[cfg(not(target_os = "linux"))]
pub(crate) fn send_one(pid: Pid, identity: Identity, signal: Signal) {
    if identity.is_alive() {
        ignore_gone(rustix::process::kill_process(pid, signal));
    }
}

pub(crate) fn mark_of(id: &ProcessId) -> String {
    format!("{MARK}={}", id.0)
}

/// Whether anything runs of the process with this leader.
pub(crate) fn lives(id: &ProcessId, leader: Identity) -> bool {
    !living(&mark_of(id), leader).is_empty()
}

/// What carries this mark, and the leader: never a stranger that got one of its numbers.
fn living(entry: &str, leader: Identity) -> Vec<Identity> {
    let marked = procfs::marked(entry).into_iter().filter(|stat| !stat.zombie);
    let mut found: Vec<Identity> = marked.map(|stat| Identity { pid: stat.pid, start: stat.start }).collect();
    // Another user's (sudo): its environment cannot be read, its start can.
    if leader.is_alive() && !found.contains(&leader) {
        found.push(leader);
    }
    found
}

/// Watches a detached process on a thread of its own until nothing of it runs.
pub(crate) fn watch(process: Arc<Process>, wake: PipeReader, screens: [Arc<Screens>; 2], register: Arc<Register>) {
    let name = "exec-detached".to_owned();
    let target = Arc::clone(&process);
    let started = std::thread::Builder::new().name(name).spawn(move || {
        let changed = || screens.iter().for_each(|screens| screens.touch(&target.id));
        run(&target, wake, &changed, &mut |fds, most| poll(fds, most));
        if !lock(&target.life).is_abandoned() {
            register.ended(&target.id, target.identify());
        }
    });
    if let Err(error) = started {
        tracing::error!("cannot watch {}: {error}", process.id.0);
    }
}

/// `poll`, or what a test has in its place.
type Wait<'a> = &'a mut dyn FnMut(&mut [PollFd<'_>], Option<&Timespec>) -> rustix::io::Result<usize>;

fn run(process: &Process, mut wake: PipeReader, changed: &dyn Fn(), wait: Wait<'_>) {
    let Some(detached) = &process.detached else { return };
    let mut ends: Vec<OwnedFd> = Vec::new();
    let mut log = None;
    let mut rests = false;
    while !lock(&process.life).is_abandoned() {
        if ends.is_empty() {
            let living = detached.count();
            if living.is_empty() {
                break;
            }
            ends = living.into_iter().filter_map(end_of).take(ENDS).collect();
        }
        if read_more(process) && process.is_watched() {
            changed();
        }
        log = if process.is_watched() {
            log.or_else(|| changes_of(lock(&process.out).log.spill().target_path()))
        } else {
            None
        };
        let most = match (process.is_watched(), rests || log.is_none(), ends.is_empty()) {
            (true, true, _) => Some(LOOK),
            (_, _, true) => Some(COUNT),
            _ => None,
        };
        match wait_once(&wake, log.as_ref().filter(|_| !rests), &ends, most, wait) {
            Ok(woken) => {
                if woken.by_order && !matches!(wake.read(&mut [0; 64]), Ok(1..)) {
                    break;
                }
                if woken.by_log
                    && let Some(log) = &log
                {
                    forget_changes(log);
                }
                // What is written all the time is read at times.
                rests = woken.by_log;
                let mut ended = woken.ended.into_iter();
                ends.retain(|_| !ended.next().unwrap_or(false));
            }
            Err(error) => {
                tracing::warn!("waiting for {}: {error}", process.id.0);
                std::thread::sleep(PAUSE);
            }
        }
    }
    if lock(&process.life).is_abandoned() {
        // The program is left: what runs stays in the register for the next run.
        lock(&process.life).leaving = Leaving::HandedOver;
        process.ended.notify_all();
        return;
    }
    read_more(process);
    ended(process);
}

/// What a wait ended with.
#[derive(Debug, Default)]
struct Woken {
    by_order: bool,
    by_log: bool,
    /// For each of the ends whether it has come.
    ended: Vec<bool>,
}

fn wait_once(
    wake: &PipeReader,
    log: Option<&OwnedFd>,
    ends: &[OwnedFd],
    most: Option<Duration>,
    wait: Wait<'_>,
) -> rustix::io::Result<Woken> {
    let mut fds = vec![PollFd::new(wake, PollFlags::IN)];
    fds.extend(log.map(|log| PollFd::new(log, PollFlags::IN)));
    let first = fds.len();
    fds.extend(ends.iter().map(|end| PollFd::new(end, PollFlags::IN)));
    let most = most.map(|most| Timespec { tv_sec: most.as_secs() as i64, tv_nsec: i64::from(most.subsec_nanos()) });
    match wait(&mut fds, most.as_ref()) {
        Ok(_) => {}
        Err(rustix::io::Errno::INTR) => return Ok(Woken::default()),
        Err(error) => return Err(error),
    }
    let ready: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
    Ok(Woken { by_order: ready[0], by_log: log.is_some() && ready[1], ended: ready[first..].to_vec() })
}

/// A descriptor that tells of the end of this very process.
fn end_of(identity: Identity) -> Option<OwnedFd> {
    let end = watch_exit(identity.pid).ok()?;
    // It may have been somebody else's number by then.
    identity.is_alive().then_some(end)
}

/// A descriptor that can be read when something was written to the file.
#[cfg(target_os = "linux")]
fn changes_of(file: &Path) -> Option<OwnedFd> {
    use rustix::fs::inotify::{CreateFlags, WatchFlags, add_watch, init};
    let changes = init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).ok()?;
    add_watch(&changes, file, WatchFlags::MODIFY).ok()?;
    Some(changes)
}

#[cfg(not(target_os = "linux"))]
fn changes_of(_: &Path) -> Option<OwnedFd> {
    None
}

/// The file is read as a whole: which changes there were says no more.
fn forget_changes(changes: &OwnedFd) {
    let mut buffer = [0; 4096];
    while matches!(rustix::io::read(changes, &mut buffer), Ok(1..)) {}
}

/// Takes what was added to the log.
pub(crate) fn read_more(process: &Process) -> bool {
    let more = lock(&process.out).log.take_more();
    if more {
        process.printed_now();
    }
    more
}

/// Nothing of it runs any more, and nobody saw how that came.
pub(crate) fn ended(process: &Process) {
    {
        let mut life = lock(&process.life);
        let reason = life.ending().unwrap_or(ExitReason::Unseen);
        let exit = Exit { code: -1, reason, duration: process.started.elapsed() };
        life.ended(End::new(exit, RemoteEnd::default(), Instant::now()), false);
    }
    lock(&process.out).ended = true;
    process.ended.notify_all();
    process.phase.send_modify(|phase| phase.exited = true);
    process.outbox.row(ProcessEvent::Exited, process);
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests;
