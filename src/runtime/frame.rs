//! When to draw. Pure: instants come in, instants go out.

use std::time::{Duration, Instant};

/// Why a frame is wanted; the most urgent reason counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Urgency {
    /// Streams, clocks, processes.
    Background,
    /// A key, a click, a resize.
    Input,
}

/// Two frames of input are this far apart at least.
const INPUT_GAP: Duration = Duration::from_millis(8);
/// Two frames of background work.
const BACKGROUND_GAP: Duration = Duration::from_millis(33);

/// Decides when the next frame is drawn. Nothing is scheduled while nothing is wanted.
#[derive(Clone, Debug, Default)]
pub struct FrameClock {
    last: Option<Instant>,
    wanted: Option<Urgency>,
}

impl FrameClock {
    /// Something on the screen changed.
    pub fn want(&mut self, urgency: Urgency) {
        self.wanted = self.wanted.max(Some(urgency));
    }

    /// When to draw; `None` when nothing changed. A time in the past means now.
    pub fn due(&self, now: Instant) -> Option<Instant> {
        let gap = match self.wanted? {
            Urgency::Input => INPUT_GAP,
            Urgency::Background => BACKGROUND_GAP,
        };
        Some(self.last.map_or(now, |last| last + gap))
    }

    /// A frame was drawn.
    pub fn drawn(&mut self, now: Instant) {
        self.last = Some(now);
        self.wanted = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn input_is_drawn_at_once_and_floods_are_merged() {
        let t0 = Instant::now();
        let ms = Duration::from_millis;
        let mut clock = FrameClock::default();
        assert_eq!(clock.due(t0), None);
        clock.want(Urgency::Background);
        assert_eq!(clock.due(t0), Some(t0));
        clock.drawn(t0);
        assert_eq!(clock.due(t0), None);
        clock.want(Urgency::Background);
        assert_eq!(clock.due(t0), Some(t0 + ms(33)));
        clock.want(Urgency::Input);
        assert_eq!(clock.due(t0), Some(t0 + ms(8)));
        clock.want(Urgency::Background);
        assert_eq!(clock.due(t0), Some(t0 + ms(8)));
    }
}
