//! What is selected in a pane whose rows are numbered: the terminal, the sidebar, the text of a modal.

use super::layout::FlatRow;
use crate::exec::{LINES, ProcessId};
use crate::text::width::width;
use crate::text::words::word_at;
use crate::text::{Joint, Line, Place, Role, Row, Snapshot};
use std::collections::BTreeMap;

/// Rows of a terminal that a selection remembers after they left the screen.
const KEPT: usize = 20_000;

/// How much one step of a selection takes: by click, double click and triple click.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Grain {
    #[default]
    Cell,
    Word,
    /// The whole line, however many rows it has.
    Line,
}

/// What the rows belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Surface {
    Terminal,
    Sidebar,
    /// The topmost modal.
    Modal,
}

/// A cell of a surface, ordered as it is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Point {
    pub place: Place,
    pub column: u16,
}

/// A selection on a surface; `from` may be after `to`.
#[derive(Clone, Debug, PartialEq)]
pub struct PaneSelection {
    pub surface: Surface,
    pub from: Point,
    pub to: Point,
    pub grain: Grain,
    /// The process whose terminal it is in.
    pub process: Option<ProcessId>,
    /// How many modals were open when it began.
    pub modals: usize,
    /// Rows of the terminal that were on the screen since it began: what scrolled away is in no frame.
    pub kept: BTreeMap<Place, Row>,
    /// Lines before this one were asked for already, whatever came of it.
    pub asked: i64,
}

impl PaneSelection {
    /// Takes in what the terminal shows.
    pub fn keep(&mut self, screen: &Snapshot) {
        for (index, (place, row)) in rows_of(screen).into_iter().enumerate() {
            // What the first row goes on from is not on the screen: a fuller picture of it stays.
            let known = self.kept.get(&place).is_some_and(|known| known.line == row.line);
            if !(index == 0 && known) && (self.kept.len() < KEPT || self.kept.contains_key(&place)) {
                self.kept.insert(place, row);
            }
        }
    }

    /// First and last of the lines next to be asked for: they are selected and were never on the screen.
    pub fn missing(&self) -> Option<(i64, i64)> {
        let (from, to) = (self.from.place.line.min(self.to.place.line), self.from.place.line.max(self.to.place.line));
        let is_kept = |line: i64| self.kept.contains_key(&Place { line, part: 0 });
        let to = to.min(from.saturating_add(KEPT as i64));
        let first = (from.max(self.asked)..=to).find(|line| !is_kept(*line))?;
        Some((first, to.min(first + LINES - 1)))
    }

    /// First and last cell, with what the grain adds; `text` gives the text of a row.
    pub fn span(&self, text: impl Fn(Place) -> Option<String>) -> (Point, Point) {
        let (from, to) = if self.from <= self.to { (self.from, self.to) } else { (self.to, self.from) };
        match self.grain {
            Grain::Cell => (from, to),
            Grain::Word => {
                let word = |point: Point| {
                    let (start, end) = word_at(&text(point.place).unwrap_or_default(), point.column.into());
                    (Point { column: start as u16, ..point }, Point { column: end.saturating_sub(1) as u16, ..point })
                };
                (word(from).0, word(to).1)
            }
            Grain::Line => (
                Point { place: Place { part: i32::MIN, ..from.place }, column: 0 },
                Point { place: Place { part: 0, ..to.place }, column: u16::MAX },
            ),
        }
    }
}

/// The selected columns of a row, the last one excluded.
pub fn columns((from, to): (Point, Point), place: Place) -> Option<(u16, u16)> {
    if place < from.place || place > to.place {
        return None;
    }
    let start = if place == from.place { from.column } else { 0 };
    let end = if place == to.place { to.column.saturating_add(1) } else { u16::MAX };
    Some((start, end))
}

/// The rows of a terminal screen as text that can be copied.
pub fn rows_of(screen: &Snapshot) -> Vec<(Place, Row)> {
    let mut before: Option<u16> = None;
    let rows = screen.places().into_iter().zip(&screen.rows).enumerate().map(|(index, (place, line))| {
        let text = line.text();
        // Blanks at the end of a row that goes on are text; the row itself is drawn without them.
        let text = text.trim_end();
        let joint = before.map_or(Joint::Line, Joint::Soft);
        let goes_on = screen.wrapped.get(index).copied().unwrap_or(false);
        before = goes_on.then(|| screen.columns.saturating_sub(width(text) as u16));
        (place, Row { line: Line::plain(text, Role::Text), joint, ..Row::default() })
    });
    rows.collect()
}

/// The row of a surface at a row of the screen, else the nearest.
pub fn nearest(rows: &[FlatRow], surface: Surface, y: u16) -> Option<FlatRow> {
    rows.iter().filter(|row| row.surface == surface).min_by_key(|row| row.y.abs_diff(y)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::screen::Screen;

    fn selection(from: (i64, i32, u16), to: (i64, i32, u16), grain: Grain) -> PaneSelection {
        let point = |(line, part, column)| Point { place: Place { line, part }, column };
        PaneSelection {
            surface: Surface::Terminal,
            from: point(from),
            to: point(to),
            grain,
            process: None,
            modals: 0,
            kept: BTreeMap::new(),
            asked: i64::MIN,
        }
    }

    #[test]
    fn a_grain_widens_both_ends_whichever_way_was_dragged() {
        let text = |place: Place| Some(if place.line == 1 { "one two three" } else { "four five" }.to_owned());
        for (from, to, grain, first, last) in [
            ((1, 0, 5), (2, 0, 6), Grain::Cell, (0, 5), (0, 6)),
            ((2, 0, 6), (1, 0, 5), Grain::Cell, (0, 5), (0, 6)),
            ((1, 0, 5), (2, 0, 6), Grain::Word, (0, 4), (0, 8)),
            ((2, 0, 6), (1, 0, 5), Grain::Word, (0, 4), (0, 8)),
            ((1, 0, 5), (2, 0, 6), Grain::Line, (i32::MIN, 0), (0, u16::MAX)),
        ] {
            let (a, b) = selection(from, to, grain).span(text);
            assert_eq!((a.place.part, a.column, b.place.part, b.column), (first.0, first.1, last.0, last.1));
            assert_eq!((a.place.line, b.place.line), (1, 2));
        }
    }

    #[test]
    fn lines_that_were_jumped_over_are_asked_for_once() {
        let mut selection = selection((9, 0, 0), (0, 0, 0), Grain::Cell);
        let mut screen = Screen::new(8, 3);
        screen.feed(b"a\r\nb\r\nc");
        assert_eq!(selection.missing(), Some((0, 9)));
        selection.keep(&Snapshot { last_line: 2, ..screen.snapshot() });
        assert_eq!(selection.missing(), Some((3, 9)));
        selection.keep(&Snapshot { last_line: 9, ..screen.snapshot() });
        assert_eq!(selection.missing(), Some((3, 9)));
        selection.asked = 10;
        assert_eq!(selection.missing(), None);
    }

    #[test]
    fn rows_that_scrolled_away_are_remembered_by_their_place() {
        let mut screen = Screen::new(8, 2);
        let mut selection = selection((0, 0, 0), (3, 0, 7), Grain::Cell);
        screen.feed(b"one\r\ntwo");
        selection.keep(&Snapshot { last_line: 1, ..screen.snapshot() });
        screen.feed(b"\r\nthree is long");
        selection.keep(&Snapshot { last_line: 2, ..screen.snapshot() });
        let kept: Vec<(i64, i32, String, Joint)> =
            selection.kept.iter().map(|(place, row)| (place.line, place.part, row.line.text(), row.joint)).collect();
        let row = |line, part, text: &str, joint| (line, part, text.to_owned(), joint);
        assert_eq!(
            kept,
            [
                row(0, 0, "one", Joint::Line),
                row(1, 0, "two", Joint::Line),
                row(2, -1, "three is", Joint::Line),
                row(2, 0, " long", Joint::Soft(0)),
            ]
        );
    }
}
