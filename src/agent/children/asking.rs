//! A child that waits for a person: its row says so, and its time stands still; so does that of the children above it.

use super::{ChildOf, Family};
use crate::agent::wait_clock::{WaitClock, WaitGuard};
use crate::lock::lock;
use crate::protocol::ChildState;
use std::sync::Arc;
use std::time::Duration;

/// An open question of a child; it ends with this.
pub struct Asking {
    family: Arc<Family>,
    number: u64,
    clock: Arc<WaitClock>,
    open: Option<WaitGuard>,
    _above: Option<Box<Self>>,
}

impl ChildOf {
    /// A question of it opens; `None`: it has ended.
    pub fn asks(&self) -> Option<Asking> {
        let (number, clock) = self.clock(true)?;
        let above = self.family.parent.child.as_ref().and_then(Self::asks).map(Box::new);
        let open = Some(clock.wait());
        self.family.change(number, |row| row.state = ChildState::Asks);
        Some(Asking { family: Arc::clone(&self.family), number, clock, open, _above: above })
    }

    /// How long it has waited for answers, and that of those below it.
    pub fn waited(&self) -> Duration {
        self.clock(false).map_or(Duration::ZERO, |(_, clock)| clock.total())
    }

    fn clock(&self, works: bool) -> Option<(u64, Arc<WaitClock>)> {
        let (number, _) = self.family.find(&self.name, works)?;
        Some((number, self.family.clock_of(number)))
    }
}

impl Family {
    /// How long the questions of a child have been open.
    pub(super) fn clock_of(&self, number: u64) -> Arc<WaitClock> {
        let kin = lock(&self.kin);
        kin.iter().find(|child| child.number == number).map(|child| Arc::clone(&child.waits)).unwrap_or_default()
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        self.open = None;
        if !self.clock.is_open() {
            self.family.change(self.number, |row| {
                if row.state == ChildState::Asks {
                    row.state = ChildState::Working;
                }
            });
        }
    }
}
