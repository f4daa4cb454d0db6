//! How much of the window the results of one step may take.

/// Characters of one result, and of all results of a step, whatever the window (as Python Hermes has them).
const RESULT_CHARS: usize = 100_000;
const STEP_CHARS: usize = 200_000;
/// The same for windows that are small: percent of the window, and never less than this.
const RESULT_PERCENT: u64 = 15;
const RESULT_FLOOR: usize = 8_000;
const STEP_PERCENT: u64 = 30;
const STEP_FLOOR: usize = 16_000;
/// Of one result, and of all results of a step, for small models.
const SMALL_RESULT: usize = 3_000;
const SMALL_STEP: usize = 4_000;
/// What a result gets when there are too many others.
const LEAST: usize = 2_000;
/// Characters that a token stands for.
const CHARS_PER_TOKEN: u64 = 4;

/// What each call of a step knows of it; a call that is not part of a step has all the room it wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutputBudget {
    result: usize,
    /// All results of the step together.
    pub step: usize,
    calls: usize,
    /// Tokens of the model's window, when known.
    pub window: Option<u64>,
}

impl Default for OutputBudget {
    fn default() -> Self {
        Self { result: usize::MAX, step: usize::MAX, calls: 1, window: None }
    }
}

impl OutputBudget {
    /// The room of a step with so many calls, of a model with this window in tokens.
    pub fn of_step(window: Option<u64>, calls: usize) -> Self {
        let share = |percent: u64, floor: usize, most: usize| {
            let chars = window.map(|tokens| tokens.saturating_mul(CHARS_PER_TOKEN) / 100 * percent);
            chars.map_or(most, |chars| usize::try_from(chars).unwrap_or(most).clamp(floor, most))
        };
        Self {
            result: share(RESULT_PERCENT, RESULT_FLOOR, RESULT_CHARS),
            step: share(STEP_PERCENT, STEP_FLOOR, STEP_CHARS),
            calls: calls.max(1),
            window,
        }
    }

    /// The same for a small model: it reads slowly, and much text confuses it.
    pub fn of_small_step(window: Option<u64>, calls: usize) -> Self {
        Self { result: SMALL_RESULT, step: SMALL_STEP, ..Self::of_step(window, calls) }
    }

    /// Characters that a result may have. A tool that bounds itself (`usize::MAX`) is only held by the step's room.
    pub fn cap(&self, own: usize) -> usize {
        if own == usize::MAX { self.step } else { own.min(self.result) }
    }

    /// A result over this may be cut once all results of the step are known: where all of it is has to be written down.
    pub fn even_share(&self) -> usize {
        if self.calls < 2 { usize::MAX } else { self.step / self.calls }
    }
}

/// What each of these results may keep so that together they fit into `output_budget`: the largest are cut first, all of them to
/// the same size.
pub fn level(sizes: &[usize], room: usize) -> usize {
    let mut sorted = sizes.to_vec();
    sorted.sort_unstable();
    let mut left = room;
    for (at, size) in sorted.iter().enumerate() {
        let share = left / (sorted.len() - at);
        if *size > share {
            return share.max(LEAST);
        }
        left -= size;
    }
    usize::MAX
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
            let room = OutputBudget::of_step(window, 4);
            assert_eq!((room.cap(500_000), room.cap(usize::MAX)), (result, step), "{window:?}");
            assert_eq!((room.cap(50), room.even_share()), (50, step / 4));
        }
        let alone = OutputBudget::default();
        assert_eq!((alone.cap(usize::MAX), alone.cap(7), alone.even_share()), (usize::MAX, 7, usize::MAX));
        assert_eq!(OutputBudget::of_step(None, 1).even_share(), usize::MAX);
    }

    #[test]
    fn the_largest_are_cut_first() {
        for (sizes, room, want) in [
            (vec![100_000, 90_000], 200_000, usize::MAX),
            // the small ones stay whole, wherever they stand
            (vec![1_000, 100_000, 2_000, 100_000, 100_000], 200_000, 65_666),
            (vec![100_000, 30_000, 100_000], 200_000, 85_000),
            (vec![100_000; 4], 200_000, 50_000),
            (vec![3_000; 100], 200_000, 2_000),
            (vec![], 10, usize::MAX),
        ] {
            assert_eq!(level(&sizes, room), want, "{sizes:?}");
        }
    }
}
