//! The screen of a process as a pane shows it: a wide terminal's rows folded, those of a fitted one as they are.

use crate::exec::WIDE;
use crate::text::fold::fold;
use crate::text::screen::Screen;
use crate::text::{Modes, Snapshot};

/// Of one feed so many screens of lines are parsed at most: what scrolls by faster is never seen, and each line feed of a
/// wide screen costs a row of it.
const SCREENS: usize = 4;

/// An emulated terminal, and the pane before it.
pub(crate) struct Viewport {
    screen: Screen,
    /// Of the pane.
    size: (u16, u16),
    /// The terminal does not have the pane's width yet.
    wide: bool,
}

impl Viewport {
    /// A blank one for a pane of this size.
    pub(crate) fn new(size: (u16, u16)) -> Self {
        Self { screen: Screen::new(WIDE, size.1), size, wide: true }
    }

    /// One for lines that are looked at once: no wider than they need, since each row is paid for.
    pub(crate) fn for_lines(size: (u16, u16), bytes: &[u8]) -> Self {
        let columns = needed(bytes).clamp(size.0, WIDE.max(size.0));
        Self { screen: Screen::new(columns, size.1), size, wide: true }
    }

    /// Takes bytes of the pane's stream that begin at `from`; from `fitted` on the terminal has the pane's size.
    pub(crate) fn feed(&mut self, bytes: &[u8], from: u64, fitted: Option<u64>) {
        let mut rest = bytes;
        if self.wide {
            let until = fitted.map_or(bytes.len() as u64, |at| at.saturating_sub(from).min(bytes.len() as u64));
            let (before, after) = bytes.split_at(until as usize);
            self.screen.feed_lines(last_lines(before, SCREENS * usize::from(self.size.1)));
            rest = after;
            if fitted.is_some_and(|at| at <= from + bytes.len() as u64) {
                self.fit();
            }
        }
        self.screen.feed_lines(rest);
    }

    /// From now on the terminal has the pane's size; what is on it stays, folded.
    fn fit(&mut self) {
        let (snapshot, cursor) = self.folded();
        self.screen = Screen::new(self.size.0, self.size.1);
        self.screen.print(&snapshot, usize::from(cursor.1) + 1, cursor.0);
        self.wide = false;
    }

    /// The pane has another size.
    pub(crate) fn resize(&mut self, size: (u16, u16)) {
        self.size = size;
        self.screen.resize(if self.wide { WIDE } else { size.0 }, size.1);
    }

    /// The program has ended: what it asked for and did not take back ends too.
    pub(crate) fn settle(&mut self) {
        self.screen.settle();
    }

    /// Whether the program switched to the alternate screen.
    pub(crate) fn alternate(&self) -> bool {
        self.screen.alternate()
    }

    /// What the program asked for.
    pub(crate) fn modes(&self) -> Modes {
        self.screen.modes()
    }

    /// What the pane shows, and where the cursor is on it (column, row), seen or not.
    pub(crate) fn seen(&self) -> (Snapshot, (u16, u16)) {
        if self.wide { self.folded() } else { (self.screen.snapshot(), self.screen.cursor()) }
    }

    /// Where the program believes the cursor to be.
    pub(crate) fn cursor(&self) -> (u16, u16) {
        self.screen.cursor()
    }

    fn folded(&self) -> (Snapshot, (u16, u16)) {
        fold(self.screen.snapshot(), self.screen.cursor(), self.size.0, self.size.1)
    }
}

/// The end of `bytes` with at most this many line feeds.
fn last_lines(bytes: &[u8], count: usize) -> &[u8] {
    let mut feeds = bytes.iter().enumerate().rev().filter(|(_, byte)| **byte == b'\n');
    match feeds.nth(count) {
        Some((at, _)) => &bytes[at + 1..],
        None => bytes,
    }
}

/// Columns that hold the longest line, if nothing in it moves the cursor to the right.
fn needed(bytes: &[u8]) -> u16 {
    let jumps = bytes.windows(2).enumerate().any(|(at, pair)| {
        let rest = &bytes[at + 2..];
        let end = rest.iter().position(|byte| !matches!(byte, b'0'..=b'9' | b';'));
        pair == b"\x1b[" && end.is_some_and(|end| matches!(rest[end], b'C' | b'G' | b'`' | b'H' | b'f' | b'@'))
    });
    let tabs = |line: &[u8]| line.iter().filter(|byte| **byte == b'\t').count() * 7;
    let longest = bytes.split(|byte| *byte == b'\n').map(|line| line.len() + tabs(line)).max().unwrap_or(0);
    if jumps { WIDE } else { u16::try_from(longest).unwrap_or(WIDE).min(WIDE) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Line;

    fn rows(viewport: &Viewport) -> Vec<String> {
        viewport.seen().0.rows.iter().map(Line::text).collect()
    }

    #[test]
    fn a_program_that_is_taken_over_goes_on_below_what_it_printed() {
        let wide = b"\x1b[32m0123456789ab\x1b[0m\n> ";
        let mut viewport = Viewport::new((8, 4));
        viewport.feed(wide, 0, None);
        assert_eq!(rows(&viewport), ["01234567", "89ab", ">", ""]);
        assert_eq!(viewport.cursor(), (2, 1));
        let at = wide.len() as u64;
        viewport.feed(b"typed text wraps", at, Some(at));
        assert_eq!(rows(&viewport), ["89ab", "> typed", "text wra", "ps"]);
        // The same in one piece.
        let mut again = Viewport::new((8, 4));
        again.feed(&[&wide[..], b"typed text wraps"].concat(), 0, Some(at));
        assert_eq!(again.seen(), viewport.seen());
    }

    #[test]
    fn a_progress_bar_as_wide_as_the_terminal_stays_one_row() {
        let mut viewport = Viewport::new((20, 3));
        for percent in [10, 20, 30] {
            let bar = format!("\r[{}{}] {percent}%", "=".repeat(percent * 9), " ".repeat((100 - percent) * 9));
            viewport.feed(bar.as_bytes(), 0, None);
        }
        assert_eq!(rows(&viewport)[1..], ["", ""]);
        assert!(
            rows(&viewport)[0].ends_with("] 30%") && rows(&viewport)[0].starts_with("[==="),
            "{:?}",
            rows(&viewport)
        );
    }

    #[test]
    fn lines_that_are_looked_at_once_get_a_screen_no_wider_than_they_are() {
        for (bytes, columns) in [(&b"ab\n\tlonger\n"[..], 14), (b"a\x1b[40Cb", WIDE), (b"\x1b[1mab", 6)] {
            assert_eq!(needed(bytes), columns);
        }
        let long = "x".repeat(70_000);
        assert_eq!(needed(long.as_bytes()), WIDE);
    }

    #[test]
    fn of_a_flood_only_the_last_screens_are_parsed() {
        assert_eq!(last_lines(b"a\nb\nc\nd", 2), b"b\nc\nd");
        assert_eq!(last_lines(b"a\nb", 2), b"a\nb");
    }
}
