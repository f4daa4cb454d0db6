//! The course of a process from its start to its end, and what else of it changes. Pure: threads and tasks share it under
//! one lock.

use super::usage::Sample;
use crate::exec::{Ending, Exit, ExitReason, RemoteEnd};
use std::time::Instant;

/// Where a process is between its start and its end.
#[derive(Debug, Default)]
pub(crate) enum Lifecycle {
    #[default]
    Running,
    /// It is to end, for this reason.
    Ending {
        reason: ExitReason,
        /// The signal that comes next.
        next: Option<Ending>,
    },
    /// The leader was waited for: its number may belong to another process by now. How it ended is told next.
    Reaped { ending: Option<ExitReason> },
    /// The leader has ended, and what it started still holds its output or its terminal.
    Left(End),
    /// Nothing of it runs any more.
    Over(End),
}

/// How the leader ended.
#[derive(Clone, Debug)]
pub(crate) struct End {
    pub(crate) exit: Exit,
    /// What its shell left behind.
    pub(crate) left: RemoteEnd,
    /// When it was seen, or when the last of what it started had gone.
    pub(crate) at: Instant,
    /// The model has seen it: no notice is needed.
    pub(crate) seen: bool,
}

impl End {
    /// Seen by nobody so far.
    pub(crate) fn new(exit: Exit, left: RemoteEnd, at: Instant) -> Self {
        Self { exit, left, at, seen: false }
    }
}

/// What becomes of a process when this program is left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Leaving {
    /// Whatever the rest of its kind does.
    #[default]
    AsOthers,
    /// The person wants it to go on.
    Kept,
    /// The person wants it to end.
    Ends,
    /// The program is being left, and it goes on.
    Abandoned,
    /// And nobody here looks after it any more.
    HandedOver,
}

/// What the model is told of it without asking.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Telling {
    /// Its end.
    pub(crate) end: bool,
    /// Position of its output up to which `poll` has told.
    pub(crate) polled: u64,
}

/// The part of a process that changes.
#[derive(Debug, Default)]
pub(crate) struct Life {
    pub(crate) lifecycle: Lifecycle,
    pub(crate) leaving: Leaving,
    pub(crate) telling: Telling,
    pub(crate) background: bool,
    pub(crate) needs_input: bool,
    /// Its leader was seen stopped.
    pub(crate) stopped: bool,
    /// What it left behind has let go of its output and its terminal.
    pub(crate) apart: bool,
    /// Programs in it that ask the person with the helper.
    pub(crate) helpers: usize,
    /// The person typed into it.
    pub(crate) typed: bool,
    pub(crate) port: Option<u16>,
    /// What it used when it was looked at last.
    pub(crate) sample: Option<Sample>,
}

impl Life {
    /// How the leader ended, once it has.
    pub(crate) fn end(&self) -> Option<&End> {
        match &self.lifecycle {
            Lifecycle::Left(end) | Lifecycle::Over(end) => Some(end),
            Lifecycle::Running | Lifecycle::Ending { .. } | Lifecycle::Reaped { .. } => None,
        }
    }

    /// The code and reason of the leader's end, once it has come.
    pub(crate) fn exit(&self) -> Option<&Exit> {
        self.end().map(|end| &end.exit)
    }

    /// Nothing of it runs any more.
    pub(crate) fn is_over(&self) -> bool {
        matches!(self.lifecycle, Lifecycle::Over(_))
    }

    /// Nobody here looks after it any more: it is over, or was handed over.
    pub(crate) fn is_closed(&self) -> bool {
        self.is_over() || self.leaving == Leaving::HandedOver
    }

    /// What it started holds its output or its terminal, and is looked after here.
    pub(crate) fn has_survivors(&self) -> bool {
        matches!(self.lifecycle, Lifecycle::Left(_)) && self.leaving != Leaving::HandedOver
    }

    /// The number of the leader may belong to another process.
    pub(crate) fn is_reaped(&self) -> bool {
        !matches!(self.lifecycle, Lifecycle::Running | Lifecycle::Ending { .. })
    }

    /// The program is being left, and it goes on.
    pub(crate) fn is_abandoned(&self) -> bool {
        matches!(self.leaving, Leaving::Abandoned | Leaving::HandedOver)
    }

    /// Why it is to end, until it has.
    pub(crate) fn ending(&self) -> Option<ExitReason> {
        match self.lifecycle {
            Lifecycle::Ending { reason, .. } => Some(reason),
            Lifecycle::Reaped { ending } => ending,
            Lifecycle::Running | Lifecycle::Left(_) | Lifecycle::Over(_) => None,
        }
    }

    /// The signal that comes next, while the leader runs.
    pub(crate) fn next_signal(&self) -> Option<Ending> {
        match self.lifecycle {
            Lifecycle::Ending { next, .. } => next,
            _ => None,
        }
    }

    /// It is to end; the first reason stays. `true`: it was to end before.
    pub(crate) fn begin_end(&mut self, reason: ExitReason) -> bool {
        match &mut self.lifecycle {
            Lifecycle::Running => {
                self.lifecycle = Lifecycle::Ending { reason, next: None };
                false
            }
            Lifecycle::Ending { .. } => true,
            Lifecycle::Reaped { ending } => ending.replace(ending.unwrap_or(reason)).is_some(),
            Lifecycle::Left(_) | Lifecycle::Over(_) => false,
        }
    }

    /// This signal comes next, if the leader still runs.
    pub(crate) fn will_get(&mut self, signal: Ending) {
        if let Lifecycle::Ending { next, .. } = &mut self.lifecycle {
            *next = Some(signal);
        }
    }

    /// The leader was waited for.
    pub(crate) fn reaped(&mut self) {
        if !self.is_reaped() {
            self.lifecycle = Lifecycle::Reaped { ending: self.ending() };
        }
    }

    /// The leader has ended; `survivors`: what it started has not, and goes on in the background.
    pub(crate) fn ended(&mut self, end: End, survivors: bool) {
        (self.needs_input, self.stopped) = (false, false);
        self.background |= survivors;
        self.lifecycle = if survivors { Lifecycle::Left(end) } else { Lifecycle::Over(end) };
    }

    /// Nobody holds its output or terminal any more. `true`: something did after the end of the leader.
    pub(crate) fn close(&mut self, now: Instant) -> bool {
        let (mut end, survived) = match std::mem::take(&mut self.lifecycle) {
            Lifecycle::Left(end) => (end, true),
            Lifecycle::Over(end) => (end, false),
            // Without an end there is nothing to close: its reader tells one on every way out.
            other => {
                self.lifecycle = other;
                return false;
            }
        };
        end.at = now;
        self.lifecycle = Lifecycle::Over(end);
        survived
    }

    /// The model has seen its end, if that has come.
    pub(crate) fn see(&mut self) {
        if let Lifecycle::Left(end) | Lifecycle::Over(end) = &mut self.lifecycle {
            end.seen = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn end(code: i32) -> End {
        let exit = Exit { code, reason: ExitReason::Exited, duration: Duration::ZERO };
        End::new(exit, RemoteEnd::default(), Instant::now())
    }

    /// Over, closed, with survivors, reaped, and why it is to end.
    fn facts(life: &Life) -> (bool, bool, bool, bool, Option<ExitReason>) {
        (life.is_over(), life.is_closed(), life.has_survivors(), life.is_reaped(), life.ending())
    }

    #[test]
    fn a_course_goes_one_way() {
        let mut life = Life { needs_input: true, ..Life::default() };
        assert_eq!(facts(&life), (false, false, false, false, None));
        life.see();
        assert!(!life.close(Instant::now()), "it has not ended");
        assert!(!life.begin_end(ExitReason::TimedOut) && life.begin_end(ExitReason::Killed));
        assert_eq!(facts(&life), (false, false, false, false, Some(ExitReason::TimedOut)));
        life.reaped();
        assert!(life.begin_end(ExitReason::Killed));
        assert_eq!(facts(&life), (false, false, false, true, Some(ExitReason::TimedOut)));
        life.ended(end(3), true);
        assert_eq!(facts(&life), (false, false, true, true, None));
        assert!(life.background && !life.needs_input && !life.end().unwrap().seen);
        life.see();
        life.reaped();
        let later = Instant::now() + Duration::from_secs(1);
        assert!(!life.begin_end(ExitReason::Killed) && life.close(later) && !life.close(later));
        assert_eq!(facts(&life), (true, true, false, true, None));
        let end = life.end().unwrap();
        assert_eq!((end.exit.code, end.at, end.seen), (3, later, true));
    }

    #[test]
    fn an_order_to_end_comes_when_the_leader_has_gone() {
        let mut life = Life::default();
        life.reaped();
        assert!(!life.begin_end(ExitReason::Stopped) && life.begin_end(ExitReason::Killed));
        assert_eq!(life.ending(), Some(ExitReason::Stopped));
        life.ended(end(0), false);
        assert_eq!(facts(&life), (true, true, false, true, None));
        assert!(!life.background);
    }

    #[test]
    fn a_signal_is_told_while_the_leader_is_to_end() {
        let signal = Ending { signal: "TERM", at: 7 };
        let mut life = Life::default();
        life.will_get(signal);
        assert_eq!(life.next_signal(), None);
        life.begin_end(ExitReason::Killed);
        life.will_get(signal);
        assert_eq!(life.next_signal(), Some(signal));
        life.reaped();
        life.will_get(signal);
        assert_eq!(life.next_signal(), None);
    }

    #[test]
    fn what_is_handed_over_is_closed_and_not_over() {
        let mut life = Life { leaving: Leaving::Abandoned, ..Life::default() };
        assert!(life.is_abandoned() && !life.is_closed());
        life.leaving = Leaving::HandedOver;
        assert_eq!(facts(&life), (false, true, false, false, None));
        life.ended(end(0), true);
        assert!(life.is_abandoned() && life.is_closed() && !life.has_survivors() && !life.is_over());
    }
}
