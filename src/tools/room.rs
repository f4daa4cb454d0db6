//! How much of the window the results of one step may take.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Characters of one result, and of all results of a step, whatever the window (as Python Hermes has them).
const RESULT_CHARS: usize = 100_000;
const STEP_CHARS: usize = 200_000;
/// The same for windows that are small: percent of the window, and never less than this.
const RESULT_PERCENT: u64 = 15;
const RESULT_FLOOR: usize = 8_000;
const STEP_PERCENT: u64 = 30;
const STEP_FLOOR: usize = 16_000;
/// What a result gets when the others of its step took all.
const LEAST: usize = 2_000;
/// Characters that a token stands for.
const CHARS_PER_TOKEN: u64 = 4;

/// Shared by the calls of one step; a call that is not part of a step has all the room it wants.
#[derive(Clone, Debug)]
pub struct Room {
    result: usize,
    left: Arc<AtomicUsize>,
}

impl Default for Room {
    fn default() -> Self {
        Self { result: usize::MAX, left: Arc::new(AtomicUsize::new(usize::MAX)) }
    }
}

impl Room {
    /// The room of a step of a model with this window, in tokens.
    pub fn of_step(window: Option<u64>) -> Self {
        let share = |percent: u64, floor: usize, most: usize| {
            let chars = window.map(|tokens| tokens.saturating_mul(CHARS_PER_TOKEN) / 100 * percent);
            chars.map_or(most, |chars| usize::try_from(chars).unwrap_or(most).clamp(floor, most))
        };
        let left = share(STEP_PERCENT, STEP_FLOOR, STEP_CHARS);
        Self { result: share(RESULT_PERCENT, RESULT_FLOOR, RESULT_CHARS), left: Arc::new(AtomicUsize::new(left)) }
    }

    /// Characters that a result may have now. A tool that bounds itself (`usize::MAX`) is only held by the step's room.
    pub fn cap(&self, own: usize) -> usize {
        let left = self.left.load(Ordering::Relaxed).max(LEAST);
        if own == usize::MAX { left } else { own.min(self.result).min(left) }
    }

    /// Takes what a result needed.
    pub fn spend(&self, chars: usize) {
        // The step always computes a number, so this cannot fail.
        let _ = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
            Some(if left == usize::MAX { left } else { left.saturating_sub(chars) })
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_make_room() {
        for (window, result, step) in [
            (None, 100_000, 200_000),
            (Some(1_000_000), 100_000, 200_000),
            (Some(100_000), 60_000, 120_000),
            (Some(4_096), 8_000, 16_000),
        ] {
            let room = Room::of_step(window);
            assert_eq!((room.cap(500_000), room.cap(usize::MAX)), (result, step), "{window:?}");
            assert_eq!(room.cap(50), 50);
        }
    }

    #[test]
    fn results_of_a_step_share_it() {
        let room = Room::of_step(Some(4_096));
        room.clone().spend(10_000);
        assert_eq!(room.cap(100_000), 6_000);
        room.spend(60_000);
        assert_eq!((room.cap(100_000), room.cap(usize::MAX)), (LEAST, LEAST));
        let alone = Room::default();
        alone.spend(1 << 40);
        assert_eq!((alone.cap(usize::MAX), alone.cap(7)), (usize::MAX, 7));
    }
}
