//! How a process ends, as its reader thread sees it: the leader exits, survivors may stay, the output closes.

use super::kin;
use super::lifecycle::{End, Leaving};
use super::notice::Notice;
use crate::exec::terminal::reader::Reader;
use crate::exec::{Exit, ExitReason, ProcessEvent, RemoteEnd};
use crate::lock::lock;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::Signal;
use std::os::unix::process::ExitStatusExt;
use std::time::{Duration, Instant};

/// How long what a command started may take to let go of its output before it counts as left behind.
const LINGER: Duration = Duration::from_millis(20);
/// At the end of the leader at most this much is read: survivors may print for ever.
const LAST_READS: usize = 4 * 1024 * 1024;

impl Reader {
    /// The leader is a zombie: reads what is there, tells how it ended, and leaves survivors to the table.
    pub(in crate::exec) fn leader_exited(&mut self) {
        self.gone = true;
        let deadline = Instant::now() + LINGER;
        let mut sum = 0;
        loop {
            let got = self.read_pipe(8) + self.read_tty(64);
            sum += got;
            let left = deadline.saturating_duration_since(Instant::now());
            if self.pipe.is_none() && self.tty.is_none() || sum > LAST_READS || left.is_zero() {
                break;
            }
            if got == 0 && self.wait(Some(left)).is_none() {
                break;
            }
        }
        self.release_echo(true);
        crate::exec::terminal::spill::catch_up(&self.process);
        self.settle_strays(deadline);
        if self.has_left() {
            // What it leaves behind is found by it later.
            self.process.identify();
        }
        let exit = self.reap();
        self.hub.unclaimed.sweep(Instant::now());
        // Of a command that was moved to the background the state belongs to nobody: the task went on without it.
        let keep = self.keep && !lock(&self.process.life).background;
        let left = self.left(keep, exit.code);
        self.tell_end(exit, left);
    }

    /// What it started still runs.
    pub(in crate::exec) fn has_left(&self) -> bool {
        self.pipe.is_some() || self.tty.is_some() || !self.strays.is_empty()
    }

    /// Finds what it left behind without its output and terminal. What is about to end gets a moment for that.
    fn settle_strays(&mut self, deadline: Instant) {
        loop {
            self.strays = kin::strays(&self.process);
            let left = deadline.saturating_duration_since(Instant::now());
            if self.strays.is_empty() || left.is_zero() {
                return;
            }
            let mut fds: Vec<PollFd<'_>> =
                self.strays.iter().map(|stray| PollFd::new(&stray.end, PollFlags::IN)).collect();
            let most = Timespec { tv_sec: 0, tv_nsec: i64::from(left.subsec_nanos()) };
            if !matches!(poll(&mut fds, Some(&most)), Ok(1..)) {
                return;
            }
            drop(fds);
            self.reap_strays();
        }
    }

    /// Something that it left behind has ended: whoever it started is our child now.
    pub(in crate::exec) fn stray_exited(&mut self) {
        self.reap_strays();
        self.strays = kin::strays(&self.process);
    }

    fn reap_strays(&self) {
        self.strays.iter().filter(|stray| !stray.identity.is_alive()).for_each(|stray| kin::reap(stray.identity));
    }

    /// What is left has let go of output and terminal: nothing is read or typed any more.
    pub(in crate::exec) fn goes_apart(&self) {
        if !self.gone || self.pipe.is_some() || self.tty.is_some() || lock(&self.process.life).apart {
            return;
        }
        lock(&self.process.life).apart = true;
        *lock(&self.process.tty) = None;
        self.process.changed();
    }

    /// Its reader leaves without having seen its end: what nobody looks after must not run, and whoever waits for it is
    /// told.
    pub(in crate::exec) fn break_off(&mut self) {
        {
            let mut life = lock(&self.process.life);
            if life.exit().is_some() || life.is_abandoned() {
                return;
            }
            life.begin_end(ExitReason::Unwatched);
        }
        super::end::send(&self.process, Signal::KILL);
        (self.pipe, self.tty) = (None, None);
        self.strays.clear();
        self.gone = true;
        let exit = self.reap();
        self.tell_end(exit, RemoteEnd::default());
    }

    /// The leader has ended like this: whoever waits for it goes on, and what still holds its output is left to the table.
    fn tell_end(&self, exit: Exit, left: RemoteEnd) {
        let survivors = self.has_left();
        let notify = {
            let mut life = lock(&self.process.life);
            life.ended(End::new(exit.clone(), left, Instant::now()), survivors);
            life.telling.end
        };
        self.process.ended.notify_all();
        crate::exec::terminal::waiting::went_on(&self.hub, &self.process);
        self.process.phase.send_modify(|phase| (phase.exited, phase.closed) = (true, !survivors));
        if notify {
            let tail = lock(&self.process.out).log.tail(8192);
            self.hub.notices.post(Notice::completed(&self.process, exit, &tail, self.hub.masks()));
        }
        let kind = if survivors { ProcessEvent::Changed } else { ProcessEvent::Exited };
        self.hub.outbox.row(kind, &self.process);
        self.hub.touch(&self.process);
        if !survivors {
            self.hub.recorder.touch(&self.hub, &self.process, true);
        }
    }

    /// What its shell left behind, here or on another machine; `keep`: for the commands that follow.
    fn left(&mut self, keep: bool, code: i32) -> RemoteEnd {
        if let Some(remote) = &self.process.remote {
            let left = remote.finish(lock(&self.process.life).ending().is_some(), code);
            return if keep { left } else { RemoteEnd { lost: left.lost, ..RemoteEnd::default() } };
        }
        let file = self.state.take().filter(|_| keep);
        let state = file.and_then(|file| self.hub.shell_state(&self.process, &file));
        let (cwd, not_kept) = state.map_or((None, Vec::new()), |(cwd, not_kept)| (Some(cwd), not_kept));
        RemoteEnd { cwd, not_kept, lost: None }
    }

    fn reap(&mut self) -> Exit {
        let (status, ending) = {
            // Signals are sent under this lock, so none can reach a stranger with the same number.
            let mut life = lock(&self.process.life);
            let status = self.child.wait();
            life.reaped();
            (status, life.ending())
        };
        let (own, signalled) = match &status {
            Ok(status) => {
                let signal = status.signal();
                (status.code().unwrap_or(128 + signal.unwrap_or(0)), signal.is_some())
            }
            Err(error) => {
                tracing::error!("waiting for {}: {error}", self.process.id.0);
                (-1, false)
            }
        };
        let (code, reason) = match ending {
            Some(ExitReason::TimedOut) => (124, ExitReason::TimedOut),
            Some(ExitReason::Stopped) => (130, ExitReason::Stopped),
            Some(reason) => (own, reason),
            None if signalled => (own, ExitReason::Signalled),
            None => (own, ExitReason::Exited),
        };
        Exit { code, reason, duration: self.process.started.elapsed() }
    }

    /// Everyone has let go of the output.
    pub(in crate::exec) fn close(self) {
        lock(&self.process.out).ended = true;
        self.process.flow.notify_all();
        let abandoned = lock(&self.process.life).is_abandoned();
        if abandoned {
            // From here on the keeper reads.
            crate::exec::terminal::spill::catch_up(&self.process);
            lock(&self.process.life).leaving = Leaving::HandedOver;
            self.process.ended.notify_all();
            self.process.phase.send_modify(|phase| phase.closed = true);
            return;
        }
        *lock(&self.process.tty) = None;
        if self.noted {
            // A new run of it may have its id by now: only this one is meant.
            self.hub.keeper.let_go(&self.process.run());
            self.hub.register.ended(&self.process.id, self.process.identify());
        }
        let survived = lock(&self.process.life).close(Instant::now());
        self.process.ended.notify_all();
        self.process.phase.send_modify(|phase| phase.closed = true);
        if survived {
            self.hub.outbox.row(ProcessEvent::Exited, &self.process);
            self.hub.recorder.touch(&self.hub, &self.process, true);
        }
    }
}
