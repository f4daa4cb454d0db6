//! Ends processes: SIGINT, then SIGTERM, then SIGKILL, to everything in the session.

use super::procfs;
use super::record::Process;
use crate::exec::{ExitReason, RemoteSignal};
use crate::lock::lock;
use rustix::process::{Pid, Signal, kill_process_group};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long each stage may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Graces {
    pub(crate) interrupt: Duration,
    pub(crate) terminate: Duration,
}

impl Graces {
    /// A person pressed stop, or time is up: what does not listen is soon killed.
    pub(crate) const SHORT: Self =
        Self { interrupt: Duration::from_millis(200), terminate: Duration::from_millis(800) };

    /// Who started it has ended.
    pub(crate) const OF_CHILD: Self =
        Self { interrupt: Duration::from_millis(100), terminate: Duration::from_millis(400) };

    /// Nothing is left to wait for.
    pub(crate) const NONE: Self = Self { interrupt: Duration::ZERO, terminate: Duration::ZERO };
}

/// How long the client of a command that was killed on another machine may take to notice.
const CLIENT_WAIT: Duration = Duration::from_millis(300);

/// How long what a killed leader started may hold on after being told to end.
const SURVIVORS: Duration = Duration::from_millis(500);

/// Begins to end `process` and returns at once. A second call for the same process kills without grace.
pub(crate) fn end(process: &Arc<Process>, reason: ExitReason, graces: Graces) {
    if process.is_elsewhere() {
        return;
    }
    let again = lock(&process.life).begin_end(reason);
    if process.over() {
        return;
    }
    let kill = again || graces == Graces::NONE;
    // Here the first signal goes out before this returns: a stop is felt at once. Another machine may not answer soon.
    let here = process.remote.is_none();
    if here && kill {
        return send(process, Signal::KILL);
    }
    if here {
        send(process, Signal::INT);
    }
    let target = Arc::clone(process);
    let started = std::thread::Builder::new().name("exec-end".into()).spawn(move || {
        if !here {
            send(&target, if kill { Signal::KILL } else { Signal::INT });
        }
        if !kill {
            escalate(&target, graces);
        }
    });
    if let Err(error) = started {
        tracing::error!("no thread to stop {} gracefully: {error}", process.id.0);
        send(process, Signal::KILL);
    }
}

fn escalate(process: &Process, graces: Graces) {
    process.will_get("TERM", graces.interrupt);
    let leader_gone = wait(process, graces.interrupt, false) || {
        process.will_get("KILL", graces.terminate);
        send(process, Signal::TERM);
        // A stopped process acts on nothing but SIGKILL and this.
        send(process, Signal::CONT);
        wait(process, graces.terminate, false)
    };
    if !leader_gone {
        send(process, Signal::KILL);
        wait(process, SURVIVORS, false);
    }
    if process.over() {
        return;
    }
    send(process, Signal::TERM);
    send(process, Signal::CONT);
    if !wait(process, SURVIVORS, true) {
        send(process, Signal::KILL);
    }
}

/// Waits for the leader, or for `all`.
fn wait(process: &Process, most: Duration, all: bool) -> bool {
    process.wait_until(Instant::now() + most, |life| if all { life.is_closed() } else { life.exit().is_some() })
}

/// Sends a signal to the leader's group, to the group that has the terminal, and to all others of the session. What runs
/// on another machine gets it there; its client ends with it, and is ended here only when nothing else helps.
pub(crate) fn send(process: &Process, signal: Signal) {
    if let Some(detached) = &process.detached {
        return detached.send(signal);
    }
    if let Some(remote) = &process.remote {
        let wanted = match signal {
            Signal::INT => RemoteSignal::Interrupt,
            Signal::CONT => RemoteSignal::Continue,
            Signal::KILL => RemoteSignal::Kill,
            _ => RemoteSignal::Terminate,
        };
        if remote.signal(wanted) && (signal != Signal::KILL || wait(process, CLIENT_WAIT, false)) {
            return;
        }
    }
    let foreground = lock(&process.tty).as_ref().and_then(|tty| tty.foreground());
    let Some(leader) = Pid::from_raw(process.pid as i32) else { return };
    // While this is held the leader is not waited for, so its number cannot belong to a stranger.
    // First: what is about to lose its parent is known by its parent.
    super::kin::note(process);
    {
        let life = lock(&process.life);
        if !life.is_reaped() {
            ignore_gone(kill_process_group(leader, signal));
            if let Some(group) = foreground.filter(|group| *group != leader) {
                ignore_gone(kill_process_group(group, signal));
            }
        }
    }
    super::kin::send(process, signal);
}

pub(in crate::exec) fn ignore_gone(result: rustix::io::Result<()>) {
    match result {
        Ok(()) | Err(rustix::io::Errno::SRCH) => {}
        Err(error) => tracing::warn!("signal not delivered: {error}"),
    }
}

/// Processes of a session, its groups in the background too.
pub(in crate::exec) fn members(session: u32) -> Vec<Pid> {
    let of_session = procfs::all().into_iter().filter(|stat| stat.session == session);
    of_session.filter_map(|stat| Pid::from_raw(stat.pid as i32)).collect()
}
