//! How long the user was waited for: that is no work of a turn.

use crate::lock::lock;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// The time in which at least one question was open.
#[derive(Debug, Default)]
pub struct WaitClock(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    open: usize,
    /// Since when one has been open.
    since: Option<Instant>,
    /// Of those that were answered.
    total: Duration,
}

/// An open question; it ends with this.
pub struct WaitGuard(Arc<WaitClock>);

impl WaitClock {
    /// A question opens.
    pub fn wait(self: &Arc<Self>) -> WaitGuard {
        self.opened(Instant::now());
        WaitGuard(Arc::clone(self))
    }

    /// All of it so far.
    pub fn total(&self) -> Duration {
        self.total_at(Instant::now())
    }

    /// Whether a question is open.
    pub fn is_open(&self) -> bool {
        lock(&self.0).open > 0
    }

    fn opened(&self, now: Instant) {
        let mut state = lock(&self.0);
        state.open += 1;
        state.since.get_or_insert(now);
    }

    fn closed(&self, now: Instant) {
        let mut state = lock(&self.0);
        state.open = state.open.saturating_sub(1);
        if state.open == 0
            && let Some(since) = state.since.take()
        {
            state.total += now.saturating_duration_since(since);
        }
    }

    fn total_at(&self, now: Instant) -> Duration {
        let state = lock(&self.0);
        state.total + state.since.map_or(Duration::ZERO, |since| now.saturating_duration_since(since))
    }
}

impl Drop for WaitGuard {
    fn drop(&mut self) {
        self.0.closed(Instant::now());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_at_the_same_time_count_once() {
        let clock = WaitClock::default();
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        clock.opened(at(1));
        clock.opened(at(2));
        assert_eq!(clock.total_at(at(4)), Duration::from_secs(3));
        clock.closed(at(5));
        clock.closed(at(6));
        assert_eq!(clock.total_at(at(20)), Duration::from_secs(5));
        clock.opened(at(20));
        clock.closed(at(21));
        assert_eq!(clock.total_at(at(30)), Duration::from_secs(6));
    }
}
