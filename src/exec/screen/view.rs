//! The screen of one process as a reader sees it: fed as far as a frame parses, scrolled back, searched.

use super::viewport::Viewport;
use crate::exec::process::record::Process;
use crate::exec::terminal::search::Hits;
use crate::exec::{Hit, LINES, Scroll, Way};
use crate::lock::lock;
use crate::text::Snapshot;

/// Bytes of lines that one frame parses: more than any screen holds.
const LINE_BYTES: u64 = 64 * 1024;
/// Bytes of a program that lays out for the pane that one frame parses; what prints faster is not read by a person.
const LAYOUT_BYTES: u64 = 256 * 1024;

/// What the terminal of a process shows.
#[derive(Clone, Debug, PartialEq)]
pub struct Sight {
    pub rows: Vec<String>,
    /// Columns and rows.
    pub size: (u16, u16),
    /// Column and row; `None` when hidden.
    pub cursor: Option<(u16, u16)>,
    pub title: String,
    /// The program has the whole screen.
    pub alternate: bool,
}

impl Sight {
    /// The screen of a process as a terminal of this size shows it.
    pub(crate) fn of(process: &Process, size: (u16, u16)) -> Self {
        let snapshot = emulated(process, size).seen().0;
        let text = |line: &crate::text::Line| line.spans.iter().map(|span| span.text.as_str()).collect::<String>();
        let mut rows: Vec<String> = snapshot.rows.iter().map(|line| text(line).trim_end().to_owned()).collect();
        let last = rows.iter().rposition(|row| !row.is_empty()).map_or(0, |at| at + 1);
        rows.truncate(last);
        Self { rows, size, cursor: snapshot.cursor, title: snapshot.title, alternate: snapshot.alternate }
    }
}

/// Whether a program asked for application cursor keys.
pub(crate) fn application_keys(process: &Process, size: (u16, u16)) -> bool {
    emulated(process, size).modes().application_cursor
}

/// The screen after everything that is in memory of the pane's stream, as far as one frame parses.
fn emulated(process: &Process, size: (u16, u16)) -> Viewport {
    let mut view = View::new(size);
    view.feed(process);
    view.screen
}

/// The emulated screen of one process.
pub(super) struct View {
    pub(super) size: (u16, u16),
    pub(super) screen: Viewport,
    /// Its program has ended, and the screen shows it.
    settled: bool,
    /// Position in the pane's stream up to which it was fed.
    pub(super) fed: u64,
    /// Line feeds that went by: the number of the line that is being printed.
    lines: i64,
    /// The number of the line in the last row; `None` follows the end.
    anchor: Option<i64>,
    /// The number of the line that was found last.
    found: Option<i64>,
    /// The lines with the words that were looked for last.
    hits: Option<Hits>,
}

impl View {
    pub(super) fn new(size: (u16, u16)) -> Self {
        Self {
            size,
            screen: Viewport::new(size),
            settled: false,
            fed: 0,
            lines: 0,
            anchor: None,
            found: None,
            hits: None,
        }
    }

    pub(super) fn feed(&mut self, process: &Process) {
        let over = process.over();
        let (bytes, from, fitted) = {
            let out = lock(&process.out);
            let most = if out.fitted.is_some() { LAYOUT_BYTES } else { LINE_BYTES };
            let end = out.pane_end();
            let mut from = self.fed.max(out.pane_begin());
            let skip = from > self.fed || end - from > most;
            if skip {
                // Lines that nobody counted went by: the numbers of those before them are others now.
                (self.hits, self.found) = (None, None);
            }
            from = from.max(end.saturating_sub(most));
            self.fed = end;
            let mut bytes = out.pane_bytes(from, end);
            // What was skipped ends with a line, or escapes would be cut in two.
            if skip && let Some(at) = bytes.iter().position(|&b| b == b'\n') {
                bytes.drain(..=at);
                from = end - bytes.len() as u64;
            }
            (bytes, from, out.fitted)
        };
        self.lines += bytes.iter().filter(|&&b| b == b'\n').count() as i64;
        self.screen.feed(&bytes, from, fitted);
        if over && !self.settled {
            self.settled = true;
            self.screen.settle();
        }
    }

    /// Lines between the last one shown and the end.
    pub(super) fn back(&self) -> i64 {
        self.anchor.map_or(0, |anchor| (self.lines - anchor).max(0))
    }

    pub(super) fn scroll(&mut self, scroll: Scroll) {
        self.anchor = match scroll {
            Scroll::Follow => None,
            Scroll::Hold => Some(self.anchor.unwrap_or(self.lines)),
            Scroll::AuditBy(up) => {
                let to = self.anchor.unwrap_or(self.lines).saturating_sub(up);
                (to < self.lines).then_some(to)
            }
        };
    }

    /// Moves to the next line with these words, which comes to stand in the middle.
    pub(super) fn find(&mut self, process: &Process, words: &str, way: Way) -> Option<Hit> {
        if self.screen.alternate() {
            return None;
        }
        let mut hits = self.hits.take().filter(|hits| hits.are_of(words)).unwrap_or_else(|| {
            self.found = None;
            Hits::new(words)
        });
        hits.look(&lock(&process.out), self.lines);
        let next = hits.next(self.found, way);
        self.hits = Some(hits);
        let (line, hit) = next?;
        self.found = Some(line);
        self.scroll(Scroll::Follow);
        self.scroll(Scroll::AuditBy(self.lines - line - i64::from(self.size.1 / 2)));
        Some(hit)
    }

    pub(super) fn show(&mut self, process: &Process) -> Snapshot {
        if self.screen.alternate() {
            // It has no history: what it shows is all there is.
            self.anchor = None;
            return Snapshot { last_line: i64::from(self.size.1) - 1, ..self.screen.seen().0 };
        }
        match usize::try_from(self.back()) {
            Ok(0) | Err(_) => self.at(&self.screen, 0),
            Ok(wanted) => {
                let (screen, back) = earlier(process, self.size, wanted, self.fed);
                // Near the beginning it cannot go back as far.
                self.anchor = Some(self.lines - back as i64);
                let snapshot = self.at(&screen, back);
                // Of a flood only the end was counted: that more lines are above is known by having reached them.
                let scrollback = if back < wanted { 0 } else { snapshot.scrollback.max(1) };
                Snapshot { cursor: None, scrollback, modes: self.screen.modes(), ..snapshot }
            }
        }
    }

    /// The lines from `first` to `last` on a screen of their own; a line that is not the last one printed has ended.
    pub(super) fn lines(&self, process: &Process, first: i64, last: i64) -> Snapshot {
        let last = last.min(first.saturating_add(LINES - 1)).min(self.lines);
        let rows = u16::try_from((last - first + 1).clamp(1, LINES) * 2).unwrap_or(u16::MAX);
        let size = (self.size.0, rows);
        let wanted = usize::try_from(self.lines - last).unwrap_or(0);
        let (screen, back) = earlier(process, size, wanted, self.fed);
        self.at(&screen, back)
    }

    /// The snapshot of a screen that ends `below` lines above the end.
    fn at(&self, screen: &Viewport, below: usize) -> Snapshot {
        let (snapshot, cursor) = screen.seen();
        let at = self.lines - below as i64;
        let under = snapshot.wrapped.iter().skip(usize::from(cursor.1));
        // The last row ends no line that another row follows.
        let rest = under.take(snapshot.wrapped.len().saturating_sub(usize::from(cursor.1) + 1));
        let last_line = at + rest.filter(|wrapped| !**wrapped).count() as i64;
        let snapshot = Snapshot { below, last_line, ..snapshot };
        let first = snapshot.places().first().map_or(0, |place| place.line);
        Snapshot { scrollback: usize::try_from(first).unwrap_or(0), ..snapshot }
    }
}

/// The screen as it was before the last `lines` lines, and how many lines back that is (less near the beginning).
/// Reads backwards from `end` through memory and the spill file.
fn earlier(process: &Process, size: (u16, u16), lines: usize, end: u64) -> (Viewport, usize) {
    let out = lock(&process.out);
    let wanted = lines + usize::from(size.1);
    // Positions of line feeds, from the last one on.
    let mut feeds: Vec<u64> = Vec::new();
    let mut at = end;
    while feeds.len() < wanted && at > 0 {
        let from = at.saturating_sub(LINE_BYTES);
        let bytes = out.pane_bytes(from, at);
        if bytes.is_empty() {
            break;
        }
        let from = at - bytes.len() as u64;
        feeds.extend(bytes.iter().enumerate().rev().filter(|(_, b)| **b == b'\n').map(|(i, _)| from + i as u64));
        at = from;
    }
    let back =
        if feeds.len() < wanted { lines.min((feeds.len() + 1).saturating_sub(usize::from(size.1))) } else { lines };
    let cut = if back == 0 { end } else { feeds.get(back - 1).copied().unwrap_or(end) };
    let from =
        feeds.get(back + usize::from(size.1) * 2).map_or(at, |feed| feed + 1).max(cut.saturating_sub(LINE_BYTES));
    let bytes = out.pane_bytes(from, cut);
    let fitted = out.fitted;
    drop(out);
    let mut screen = Viewport::for_lines(size, &bytes);
    screen.feed(&bytes, from, fitted);
    (screen, back)
}

/// A screen that is read at places of the pane's stream, one after the other.
pub(crate) struct Reading {
    screen: Viewport,
    /// Up to where it was fed.
    upto: u64,
}

impl Reading {
    pub(crate) fn new(size: (u16, u16)) -> Self {
        Self { screen: Viewport::new(size), upto: 0 }
    }

    /// The screen after the stream up to `position`, which is not before the last one.
    pub(crate) fn at(&mut self, process: &Process, position: u64) -> &Viewport {
        let (bytes, from, fitted) = {
            let out = lock(&process.out);
            let from = position.saturating_sub(LINE_BYTES).max(out.pane_begin()).max(self.upto);
            (out.pane_bytes(from, position), from, out.fitted)
        };
        self.screen.feed(&bytes, from, fitted);
        self.upto = position;
        &self.screen
    }
}
