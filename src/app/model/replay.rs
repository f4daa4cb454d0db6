//! A session on a time line. What a moment shows is computed from all items up to it.

use crate::protocol::{Beat, ItemId, RecordedTerminal, SessionId, Stop, Todo, Usage};
use crate::text::Line;
use std::collections::BTreeMap;

/// Milliseconds of the line that a pause takes at most, and an item at least.
const LONGEST: i64 = 2000;
const SHORTEST: i64 = 120;
/// The last screen of a command is read just after its result is there: so much later it still belongs to that moment.
const LATE: i64 = 300;

/// The view.
#[derive(Clone, Debug, PartialEq)]
pub struct ReplayModal {
    pub session: SessionId,
    pub title: String,
    /// Items in time order.
    pub beats: Vec<Beat>,
    /// Older items are on their way.
    pub loading: bool,
    pub terminals: Vec<RecordedTerminal>,
    /// Files that commands changed, with the time of it.
    pub changed: Vec<(i64, String)>,
    pub track: Track,
    /// Index into the stops of the track.
    pub at: usize,
    /// The end of the conversation as it was then, and screens by the index of their terminal.
    pub lines: Vec<Line>,
    pub screens: Vec<(usize, Vec<Line>)>,
    /// The stop that they are of; another one's are on their way.
    pub shown: Option<Stop>,
    /// The terminal that is looked at, counted among those of the moment.
    pub terminal: usize,
    /// How fast it plays.
    pub speed: Speed,
    /// When the next stop comes while it plays (milliseconds since the epoch).
    pub plays: Option<i64>,
    /// It has just begun to play: the stop that it stands at comes first.
    pub starts: bool,
    /// Why there is nothing to show.
    pub problem: String,
}

/// How fast time goes by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Speed {
    #[default]
    One,
    Four,
    Sixteen,
}

impl Speed {
    /// How many times as fast as it was.
    pub fn times(self) -> i64 {
        match self {
            Self::One => 1,
            Self::Four => 4,
            Self::Sixteen => 16,
        }
    }

    /// The next one, round and round.
    #[must_use]
    pub fn next(self) -> Self {
        match self {
            Self::One => Self::Four,
            Self::Four => Self::Sixteen,
            Self::Sixteen => Self::One,
        }
    }
}

/// Stops in order, and where they are on a line on which pauses are short.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Track {
    pub stops: Vec<Stop>,
    /// Milliseconds from the beginning of the line, by stop.
    offsets: Vec<i64>,
}

impl Track {
    /// The line of these items and terminals.
    pub fn of(beats: &[Beat], terminals: &[RecordedTerminal]) -> Self {
        // Where the clock went back, time stands still.
        let mut clock = i64::MIN;
        let mut marks: Vec<(i64, Option<(ItemId, u32)>)> = Vec::new();
        for beat in beats {
            clock = clock.max(beat.at);
            marks.push((clock, Some((beat.item, beat.turn))));
        }
        let begin = beats.first().map_or(i64::MIN, |beat| beat.at);
        let changes = terminals.iter().flat_map(|terminal| &terminal.changes);
        marks.extend(changes.filter(|at| **at >= begin).map(|at| (*at, None)));
        // Stable: items of one moment keep their order, and stand before the screens of it.
        marks.sort_by_key(|(at, beat)| (*at, beat.is_none()));
        let (mut track, mut item, mut turn) = (Self::default(), None, 0);
        for (at, beat) in marks {
            let is_item = beat.is_some();
            if let Some((id, of)) = beat {
                (item, turn) = (Some(id), of);
            }
            let offset = match (track.stops.last(), track.offsets.last()) {
                (Some(before), Some(offset)) => {
                    let least = if is_item { SHORTEST } else { 1 };
                    offset + (at - before.at).clamp(least, LONGEST)
                }
                _ => 0,
            };
            track.stops.push(Stop { at, item, is_item, turn });
            track.offsets.push(offset);
        }
        track
    }

    fn length(&self) -> i64 {
        self.offsets.last().copied().unwrap_or_default()
    }

    /// Where a stop is among `cells`.
    pub fn cell(&self, stop: usize, cells: usize) -> usize {
        let offset = self.offsets.get(stop).copied().unwrap_or_default();
        let last = cells.saturating_sub(1) as i64;
        usize::try_from(offset * last / self.length().max(1)).unwrap_or_default()
    }

    /// The stop that is nearest to a part of the line, in thousandths.
    pub fn nearest(&self, part: i64) -> usize {
        let wanted = self.length() * part / 1000;
        let distance = |at: &usize| (self.offsets[*at] - wanted).abs();
        (0..self.offsets.len()).min_by_key(distance).unwrap_or_default()
    }

    /// Milliseconds from one stop to the next while it plays; `None` at the end.
    pub fn pause(&self, stop: usize) -> Option<i64> {
        Some(self.offsets.get(stop + 1)? - self.offsets.get(stop)?)
    }

    /// The item before or after a stop.
    pub fn item_from(&self, stop: usize, forward: bool) -> Option<usize> {
        self.find(stop, forward, |it| it.is_item)
    }

    /// The stop at which the turn before or after begins; before the first of its items, that of its own.
    pub fn turn_from(&self, stop: usize, forward: bool) -> Option<usize> {
        let begins = |at: usize| {
            self.stops[at].is_item
                && (at == 0 || self.stops[..at].last().is_none_or(|it| it.turn != self.stops[at].turn))
        };
        if forward {
            (stop + 1..self.stops.len()).find(|at| begins(*at))
        } else {
            (0..stop).rev().find(|at| begins(*at))
        }
    }

    fn find(&self, stop: usize, forward: bool, fits: impl Fn(&Stop) -> bool) -> Option<usize> {
        if forward {
            (stop + 1..self.stops.len()).find(|at| fits(&self.stops[*at]))
        } else {
            (0..stop).rev().find(|at| fits(&self.stops[*at]))
        }
    }

    /// The stop that an old one is now; the nearest before it where it is gone.
    pub fn find_again(&self, old: Stop) -> usize {
        let same = self.stops.iter().position(|stop| *stop == old);
        same.unwrap_or_else(|| self.stops.iter().rposition(|stop| stop.at <= old.at).unwrap_or_default())
    }

    /// Up to when screens belong to a stop: the last one of a command is read a little after its result is there.
    pub fn screens_until(&self, stop: usize) -> i64 {
        let Some(here) = self.stops.get(stop) else { return i64::MAX };
        if !here.is_item {
            return here.at;
        }
        let next = self.stops[stop + 1..].iter().find(|it| it.is_item).map_or(i64::MAX, |it| it.at - 1);
        (here.at + LATE).min(next).max(here.at)
    }
}

/// Figures of a moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    /// Prompts up to the moment.
    pub prompts: u32,
    /// Sums up to the moment.
    pub usage: Usage,
    /// Tokens of the last request.
    pub context: u64,
    pub plan: Vec<Todo>,
    /// Files that were changed: path, lines added and removed.
    pub files: Vec<(String, u32, u32)>,
}

impl State {
    /// What these items came to, with the files that commands changed up to then. Plan and files of what a rewind had left
    /// out count only among what it left out.
    pub fn after(beats: &[Beat], changed: &[(i64, String)], until: i64) -> Self {
        let here = beats.last().map_or(0, |beat| beat.rewound);
        let mut state = Self { usage: Usage { cost: Some(0.0), ..Usage::default() }, ..Self::default() };
        let mut files: BTreeMap<&str, (u32, u32)> = BTreeMap::new();
        for beat in beats {
            state.prompts += u32::from(beat.prompt);
            if let Some(usage) = &beat.usage {
                state.usage = state.usage.plus(usage);
                state.context = usage.input;
            }
            if beat.rewound != 0 && beat.rewound != here {
                continue;
            }
            if let Some(plan) = &beat.plan {
                state.plan.clone_from(plan);
            }
            for (path, added, removed) in &beat.files {
                let sum = files.entry(path).or_default();
                *sum = (sum.0 + added, sum.1 + removed);
            }
        }
        for (_, path) in changed.iter().filter(|(at, _)| *at <= until) {
            files.entry(path).or_default();
        }
        state.files = files.into_iter().map(|(path, (added, removed))| (path.to_owned(), added, removed)).collect();
        state
    }
}

impl ReplayModal {
    /// Before anything of the session came.
    pub fn new(session: SessionId) -> Self {
        Self {
            session,
            title: String::new(),
            beats: Vec::new(),
            loading: true,
            terminals: Vec::new(),
            changed: Vec::new(),
            track: Track::default(),
            at: 0,
            lines: Vec::new(),
            screens: Vec::new(),
            shown: None,
            terminal: 0,
            speed: Speed::default(),
            plays: None,
            starts: false,
            problem: String::new(),
        }
    }

    /// The moment that is looked at.
    pub fn stop(&self) -> Option<Stop> {
        self.track.stops.get(self.at).copied()
    }

    /// Whether a rewind left it out of the conversation later.
    pub fn is_left_out(&self) -> bool {
        let item = self.stop().and_then(|stop| stop.item);
        self.beats.iter().any(|beat| Some(beat.item) == item && beat.rewound != 0)
    }

    /// Its figures.
    pub fn state(&self) -> State {
        let Some(stop) = self.stop() else { return State::default() };
        let upto = self.beats.iter().rposition(|beat| Some(beat.item) == stop.item).map_or(0, |at| at + 1);
        State::after(&self.beats[..upto], &self.changed, self.track.screens_until(self.at))
    }

    /// Terminals of a moment by index: those that lived then, or the last that ended before.
    pub fn terminals_at(&self, at: i64) -> Vec<usize> {
        let started = |terminal: &RecordedTerminal| terminal.changes.first().is_some_and(|first| *first <= at);
        let all = self.terminals.iter().enumerate().filter(|(_, terminal)| started(terminal));
        let live: Vec<usize> = all.clone().filter(|(_, it)| it.ended_at >= at).map(|(index, _)| index).collect();
        if live.is_empty() {
            return all.max_by_key(|(_, terminal)| terminal.ended_at).map(|(index, _)| index).into_iter().collect();
        }
        live
    }

    /// The first prompt after the moment, which a rewind goes back to; the prompt itself where one stands there.
    pub fn prompt_after(&self) -> Option<ItemId> {
        let stop = self.stop()?;
        let here = self.beats.iter().rposition(|beat| Some(beat.item) == stop.item);
        let from = here.unwrap_or_default();
        self.beats[from..].iter().find(|beat| beat.prompt && beat.rewound == 0).map(|beat| beat.item)
    }
}

#[cfg(test)]
mod tests;
