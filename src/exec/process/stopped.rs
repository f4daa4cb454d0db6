//! Ctrl-Z: what is stopped is known, goes to the background as in a shell, and goes on when a person or the agent says so.
//!
//! The shell of a command stops itself when its last command was stopped (`shell.rs`): otherwise it would end, and what it
//! stopped would be hung up. So a stopped leader is a stopped command, whoever stopped it.

use super::end;
use super::record::Process;
use crate::exec::{Exec, ExecError, ProcessId};
use crate::lock::lock;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};

/// Whether the leader of a process is stopped just now. Takes nothing from whoever waits for its end.
fn is_stopped(process: &Process) -> bool {
    let Some(leader) = Pid::from_raw(process.pid as i32) else { return false };
    // While this is held the leader is not waited for, so its number cannot belong to a stranger.
    let life = lock(&process.life);
    if life.is_reaped() || process.detached.is_some() {
        return false;
    }
    let options = WaitIdOptions::STOPPED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    matches!(waitid(WaitId::Pid(leader), options), Ok(Some(status)) if status.stopped())
}

/// Looks whether a process is stopped, and tells that. One that somebody waits for goes to the background, as in a shell.
/// `true`: it is stopped.
pub(crate) fn look(process: &Process) -> bool {
    let stopped = is_stopped(process);
    let (changed, moves) = {
        let mut life = lock(&process.life);
        if life.exit().is_some() {
            return false;
        }
        let changed = std::mem::replace(&mut life.stopped, stopped) != stopped;
        let moves = changed && stopped && !life.background && life.ending().is_none();
        if moves {
            life.background = true;
            life.telling.end = true;
        }
        (changed, moves)
    };
    if moves {
        process.phase.send_modify(|phase| (phase.moved, phase.stopped) = (true, true));
        // Its reader sees to it that it outlives this program.
        process.rouse();
    }
    if changed {
        process.changed();
    }
    stopped
}

impl Exec {
    /// What is stopped goes on. Does nothing to what runs.
    pub fn go_on(&self, id: &ProcessId) -> Result<(), ExecError> {
        let process = self.hub.find(id)?;
        if process.over() {
            return Err(ExecError::Ended(id.clone()));
        }
        continues(&process);
        Ok(())
    }
}

/// Continues all of a process.
pub(crate) fn continues(process: &Process) {
    let leader = Pid::from_raw(process.pid as i32);
    let foreground = lock(&process.tty).as_ref().and_then(|tty| tty.foreground());
    match leader.filter(|_| is_stopped(process)) {
        // Its shell has the terminal, and gives it back to the command when it continues that.
        Some(leader) if foreground == Some(leader) => end::ignore_gone(kill_process(leader, Signal::CONT)),
        _ => end::send(process, Signal::CONT),
    }
    lock(&process.life).stopped = false;
    process.changed();
    // It may stop again at once.
    process.rouse();
}
