//! All that belongs to a command, wherever it went: its session, what descends from it, what left both and carries its mark.
//!
//! This program adopts what its commands leave without a parent (as a *subreaper*), so what outlives its command is found
//! among our own children. That makes us the one who waits for them; whoever is waited for elsewhere is left alone.

use super::procfs::{self, Identity, Stat};
use super::record::Process;
use super::spawn::watch_exit;
use crate::exec::outlive::detached::{mark_of, send_one};
use crate::lock::lock;
use rustix::process::{Pid, Signal};
use std::collections::HashSet;
use std::os::fd::OwnedFd;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Looks at what is left after SIGKILL: something may have been started while the others were killed.
const ROUNDS: usize = 4;
/// A child of ours that nobody has waited for in this time has nobody who will: those who wait are woken at once.
const UNCLAIMED: Duration = Duration::from_secs(10);

/// From now on orphans of our commands become our children.
pub(in crate::exec) fn adopt_orphans() {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::set_child_subreaper(Some(rustix::process::getpid())) {
        tracing::warn!("cannot track processes that leave their command: {error}");
    }
}

/// The numbers of our children. While some come and go a list may lack others that stay (proc(5)): it is read twice.
fn children() -> HashSet<u32> {
    let mut found = HashSet::new();
    for _ in 0..2 {
        for thread in std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten() {
            let list = std::fs::read_to_string(thread.path().join("children")).unwrap_or_default();
            found.extend(list.split_ascii_whitespace().filter_map(|pid| pid.parse::<u32>().ok()));
        }
    }
    found
}

fn identity(stat: &Stat) -> Identity {
    Identity { pid: stat.pid, start: stat.start }
}

/// What a command left behind that became our child. Cheap: only our children are looked at.
pub(in crate::exec) fn left_behind(process: &Process) -> Vec<Identity> {
    let entry = mark_of(&process.id);
    let known = lock(&process.kin).clone();
    let adopted = children().into_iter().filter(|pid| *pid != process.pid).filter_map(procfs::stat);
    let of_it = |stat: &Stat| {
        let is_known = stat.session == process.pid || known.contains(&identity(stat));
        !stat.zombie && (is_known || procfs::is_marked_settled(stat.pid, &entry))
    };
    let found: Vec<Identity> = adopted.filter(of_it).map(|stat| identity(&stat)).collect();
    // What is not our child yet may become it.
    let mut kin: Vec<Identity> = known.into_iter().filter(|one| one.is_alive() && !found.contains(one)).collect();
    kin.extend(&found);
    *lock(&process.kin) = kin;
    found
}

/// All of a command but its leader, of everything that runs.
fn all(process: &Process) -> Vec<Identity> {
    let entry = mark_of(&process.id);
    let stats: Vec<Stat> = procfs::all().into_iter().filter(|stat| !stat.zombie).collect();
    let known = lock(&process.kin).clone();
    let marked: HashSet<u32> = procfs::marked(&entry).into_iter().map(|stat| stat.pid).collect();
    let leader = (!lock(&process.life).is_reaped()).then_some(process.pid);
    let own = std::process::id();
    let is_seed = |stat: &&Stat| {
        Some(stat.pid) == leader
            || stat.session == process.pid
            || known.contains(&identity(stat))
            || marked.contains(&stat.pid)
    };
    let mut found: HashSet<u32> = stats.iter().filter(is_seed).map(|stat| stat.pid).filter(|pid| *pid != own).collect();
    // Children of what was found, and theirs.
    loop {
        let more: Vec<u32> =
            stats.iter().filter(|s| found.contains(&s.parent) && !found.contains(&s.pid)).map(|s| s.pid).collect();
        if more.is_empty() {
            break;
        }
        found.extend(more);
    }
    let kin: Vec<Identity> =
        stats.iter().filter(|s| found.contains(&s.pid) && s.pid != process.pid).map(identity).collect();
    // Another user's process says nothing of its mark: later it is known by this.
    lock(&process.kin).clone_from(&kin);
    kin
}

/// Remembers what belongs to a command now.
pub(in crate::exec) fn note(process: &Process) {
    all(process);
}

/// Sends a signal to all of a command but its leader.
pub(in crate::exec) fn send(process: &Process, signal: Signal) {
    let rounds = if signal == Signal::KILL { ROUNDS } else { 1 };
    let mut done: HashSet<Identity> = HashSet::new();
    for _ in 0..rounds {
        let new: Vec<Identity> = all(process).into_iter().filter(|one| !done.contains(one)).collect();
        if new.is_empty() {
            return;
        }
        for one in &new {
            if let Some(pid) = Pid::from_raw(one.pid as i32) {
                send_one(pid, *one, signal);
            }
        }
        done.extend(new);
    }
}

/// Something that a command left behind, and a descriptor that tells of its end.
pub(in crate::exec) struct Stray {
    pub(in crate::exec) identity: Identity,
    pub(in crate::exec) end: OwnedFd,
}

/// What a command left behind, to be waited for.
pub(in crate::exec) fn strays(process: &Process) -> Vec<Stray> {
    let watched = left_behind(process).into_iter().filter_map(|identity| {
        let end = watch_exit(identity.pid).ok()?;
        // It may have been somebody else's number by then.
        identity.is_alive().then_some(Stray { identity, end })
    });
    watched.collect()
}

/// Children of ours that nobody has waited for so far, and since when that is known.
#[derive(Debug, Default)]
pub(crate) struct Unclaimed {
    seen: Mutex<Vec<(Identity, Instant)>>,
}

impl Unclaimed {
    /// Waits for orphans that have ended. A child of ours that somebody waits for is in our session or leads one; what is in
    /// another one was adopted. Of the others it is known only when nobody has waited for a while.
    pub(in crate::exec) fn sweep(&self, now: Instant) {
        let ours = procfs::stat(std::process::id()).map(|stat| stat.session);
        let ended: Vec<Stat> = children().into_iter().filter_map(procfs::stat).filter(|stat| stat.zombie).collect();
        let mut seen = lock(&self.seen);
        seen.retain(|(known, _)| ended.iter().any(|stat| identity(stat) == *known));
        for stat in &ended {
            let adopted = stat.session != stat.pid && Some(stat.session) != ours;
            let since = match seen.iter().find(|(known, _)| *known == identity(stat)) {
                Some((_, since)) => *since,
                None => {
                    seen.push((identity(stat), now));
                    now
                }
            };
            if adopted || now.duration_since(since) >= UNCLAIMED {
                reap(identity(stat));
            }
        }
    }
}

/// Waits for an orphan that has ended.
pub(super) fn reap(orphan: Identity) {
    use rustix::process::{WaitOptions, waitpid};
    // As long as nobody waits for it, nobody else has its number.
    let is_it = procfs::stat(orphan.pid).is_some_and(|stat| stat.zombie && stat.start == orphan.start);
    if is_it && let Err(error) = waitpid(Pid::from_raw(orphan.pid as i32), WaitOptions::NOHANG) {
        tracing::debug!("{} was waited for: {error}", orphan.pid);
    }
}
