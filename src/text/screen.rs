//! A terminal screen: bytes in, [`Snapshot`] out. Wraps the emulator so that nothing else knows it.

mod insert;

use super::{Cell, Line, Modes, MouseFormat, MouseReports, Paint, Role, Snapshot, Span};
use std::num::NonZeroU16;

/// An emulated terminal without scrollback.
pub struct Screen {
    parser: vt100::Parser<Title>,
    insert: insert::Insert,
}

/// Catches the window title.
#[derive(Default)]
struct Title(String);

impl vt100::Callbacks for Title {
    fn set_window_title(&mut self, _: &mut vt100::Screen, title: &[u8]) {
        self.0 = String::from_utf8_lossy(title).chars().filter(|c| !c.is_control()).take(200).collect();
    }
}

fn size(columns: u16, rows: u16) -> (NonZeroU16, NonZeroU16) {
    // A size of zero happens while a window is being created; one cell is the smallest screen there is.
    (NonZeroU16::new(rows).unwrap_or(NonZeroU16::MIN), NonZeroU16::new(columns).unwrap_or(NonZeroU16::MIN))
}

impl Screen {
    /// An empty screen of `columns` × `rows` cells (at least one each).
    pub fn new(columns: u16, rows: u16) -> Self {
        let (rows, columns) = size(columns, rows);
        Self {
            parser: vt100::Parser::new_with_callbacks(rows, columns, 0, Title::default()),
            insert: Default::default(),
        }
    }

    /// Takes output of the program as it came from a terminal (lines end with CR LF).
    pub fn feed(&mut self, bytes: &[u8]) {
        match self.insert.through(bytes) {
            Some(bytes) => self.parser.process(&bytes),
            None => self.parser.process(bytes),
        }
    }

    /// Takes output as a program wrote it, where a lone line feed also returns the carriage. On the alternate screen it
    /// does not: a program that lays out by itself has turned that off and moves down by line feeds.
    pub fn feed_lines(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while let Some(at) = rest.iter().position(|&b| b == b'\n') {
            self.feed(&rest[..at]);
            self.feed(if self.alternate() { b"\n" } else { b"\r\n" });
            rest = &rest[at + 1..];
        }
        self.feed(rest);
    }

    /// Prints the first rows of a snapshot, with the cursor behind the last of them in this column.
    pub fn print(&mut self, snapshot: &Snapshot, rows: usize, column: u16) {
        for (index, line) in snapshot.rows.iter().take(rows).enumerate() {
            if index > 0 && !snapshot.wrapped.get(index - 1).copied().unwrap_or(false) {
                self.feed(b"\r\n");
            }
            for span in &line.spans {
                let cell = if let Role::Screen(cell) = span.role { cell } else { Cell::default() };
                self.feed(rendition(cell).as_bytes());
                self.feed(span.text.as_bytes());
            }
            self.feed(b"\x1b[0m");
        }
        self.feed(format!("\x1b[{}G", column + 1).as_bytes());
    }

    /// Ends what a program asked for and did not take back: the alternate screen, the mouse, special keys.
    pub fn settle(&mut self) {
        self.feed(
            b"\x1b[4l\x1b[?1049l\x1b[?47l\x1b[?1l\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?2004l\x1b[?25h\x1b[0m",
        );
    }

    /// Changes the size; text is cut or padded, not reflowed.
    pub fn resize(&mut self, columns: u16, rows: u16) {
        let (rows, columns) = size(columns, rows);
        self.parser.set_size(rows, columns);
    }

    /// Column and row of the cursor, from 0.
    pub fn cursor(&self) -> (u16, u16) {
        let (row, column) = self.parser.screen().cursor_position();
        (column, row)
    }

    /// Whether the program switched to the alternate screen.
    pub fn alternate(&self) -> bool {
        self.parser.screen().alternate_screen()
    }

    /// What the program asked for.
    pub fn modes(&self) -> Modes {
        modes(self.parser.screen())
    }

    /// What is on the screen now; the caller, who knows what went by, sets `scrollback`, `below` and `last_line`.
    pub fn snapshot(&self) -> Snapshot {
        let screen = self.parser.screen();
        let (rows, columns) = screen.size();
        let (rows, columns) = (rows.get(), columns.get());
        Snapshot {
            columns,
            rows: (0..rows).map(|row| line(screen, row, columns)).collect(),
            wrapped: (0..rows).map(|row| screen.row_wrapped(row)).collect(),
            cursor: (!screen.hide_cursor()).then(|| self.cursor()),
            title: self.parser.callbacks().0.clone(),
            alternate: screen.alternate_screen(),
            scrollback: 0,
            below: 0,
            last_line: 0,
            modes: modes(screen),
        }
    }
}

fn modes(screen: &vt100::Screen) -> Modes {
    Modes {
        application_cursor: screen.application_cursor(),
        bracketed_paste: screen.bracketed_paste(),
        mouse: match screen.mouse_protocol_mode() {
            vt100::MouseProtocolMode::None => MouseReports::Off,
            vt100::MouseProtocolMode::Press => MouseReports::Press,
            vt100::MouseProtocolMode::PressRelease => MouseReports::Buttons,
            vt100::MouseProtocolMode::ButtonMotion | vt100::MouseProtocolMode::AnyMotion => MouseReports::Motion,
        },
        mouse_format: match screen.mouse_protocol_encoding() {
            vt100::MouseProtocolEncoding::Default => MouseFormat::Bytes,
            vt100::MouseProtocolEncoding::Utf8 => MouseFormat::Utf8,
            vt100::MouseProtocolEncoding::Sgr => MouseFormat::Sgr,
        },
    }
}

fn paint(color: vt100::Color) -> Paint {
    match color {
        vt100::Color::Default => Paint::Default,
        vt100::Color::Idx(index) => Paint::Index(index),
        vt100::Color::Rgb(r, g, b) => Paint::Rgb(r, g, b),
    }
}

/// The sequence that sets these attributes and no others.
pub(super) fn rendition(cell: Cell) -> String {
    let mut codes = String::from("\x1b[0");
    let flags = [(cell.bold, 1), (cell.dim, 2), (cell.italic, 3), (cell.underline, 4), (cell.inverse, 7)];
    flags.iter().filter(|(set, _)| *set).for_each(|(_, code)| codes.push_str(&format!(";{code}")));
    for (paint, ground) in [(cell.fg, 38), (cell.bg, 48)] {
        match paint {
            Paint::Default => {}
            Paint::Index(index) => codes.push_str(&format!(";{ground};5;{index}")),
            Paint::Rgb(r, g, b) => codes.push_str(&format!(";{ground};2;{r};{g};{b}")),
        }
    }
    codes + "m"
}

fn attributes(cell: &vt100::Cell) -> Cell {
    Cell {
        fg: paint(cell.fgcolor()),
        bg: paint(cell.bgcolor()),
        bold: cell.bold(),
        dim: cell.dim(),
        italic: cell.italic(),
        underline: cell.underline(),
        inverse: cell.inverse(),
    }
}

/// Cells of one row as spans; plain blanks at the end are left out.
fn line(screen: &vt100::Screen, row: u16, columns: u16) -> Line {
    let mut line = Line::default();
    let mut kept = 0;
    let mut run = Span::default();
    let mut current = Cell::default();
    for column in 0..columns {
        let Some(cell) = screen.cell(row, column) else { break };
        if cell.is_wide_continuation() {
            continue;
        }
        let attributes = attributes(cell);
        if attributes != current && !run.text.is_empty() {
            line.spans.push(Span { text: std::mem::take(&mut run.text), role: Role::Screen(current), link: None });
        }
        current = attributes;
        if cell.has_contents() {
            run.text.push_str(cell.contents());
        } else {
            run.text.push(' ');
        }
        if cell.has_contents() && cell.contents() != " " || attributes != Cell::default() {
            // Everything up to here must stay.
            kept = line.spans.len() + 1;
        }
    }
    if !run.text.is_empty() {
        line.spans.push(Span { text: run.text, role: Role::Screen(current), link: None });
    }
    line.spans.truncate(kept);
    if let Some(last) = line.spans.last_mut()
        && last.role == Role::Screen(Cell::default())
    {
        last.text.truncate(last.text.trim_end_matches(' ').len());
    }
    line
}

#[cfg(test)]
mod recorded_tests;

#[cfg(test)]
mod tests {
    use super::*;

    fn text(snapshot: &Snapshot) -> Vec<String> {
        snapshot.rows.iter().map(|l| l.spans.iter().map(|s| s.text.as_str()).collect()).collect()
    }

    #[test]
    fn shows_text_and_colours() {
        let mut screen = Screen::new(20, 3);
        screen.feed(b"plain \x1b[1;31mred\x1b[0m\r\n\x1b[48;2;1;2;3m  \x1b[0m\r\n\x1b]2;a title\x07");
        let snapshot = screen.snapshot();
        assert_eq!(text(&snapshot), ["plain red", "  ", ""]);
        assert_eq!(snapshot.rows[0].spans[0].role, Role::Screen(Cell::default()));
        let red = Cell { fg: Paint::Index(1), bold: true, ..Cell::default() };
        assert_eq!(snapshot.rows[0].spans[1].role, Role::Screen(red));
        let ground = Cell { bg: Paint::Rgb(1, 2, 3), ..Cell::default() };
        assert_eq!(snapshot.rows[1].spans[0].role, Role::Screen(ground));
        assert_eq!(snapshot.title, "a title");
        assert_eq!(snapshot.cursor, Some((0, 2)));
        assert!(!snapshot.alternate);
    }

    #[test]
    fn returns_the_carriage_for_pipes() {
        let mut screen = Screen::new(10, 3);
        screen.feed_lines("ab\n日本\nx".as_bytes());
        assert_eq!(text(&screen.snapshot()), ["ab", "日本", "x"]);
    }

    #[test]
    fn line_feeds_only_go_down_on_the_alternate_screen() {
        let mut screen = Screen::new(10, 3);
        screen.feed_lines(b"\x1b[?1049h\x1b[Hab\ncd\x1b[?1049l");
        assert_eq!(text(&screen.snapshot()), ["", "", ""]);
        screen.feed_lines(b"\x1b[?1049h\x1b[Hab\ncd");
        assert_eq!(text(&screen.snapshot()), ["ab", "  cd", ""]);
        screen.settle();
        assert!(!screen.alternate());
    }

    #[test]
    fn a_printed_snapshot_is_the_same_screen() {
        let mut screen = Screen::new(8, 5);
        screen.feed("a \x1b[1;31mred\x1b[0;48;2;1;2;3m日\x1b[m\r\n0123456789\r\n$ x".as_bytes());
        let before = screen.snapshot();
        let mut again = Screen::new(8, 5);
        again.print(&before, 4, 3);
        assert_eq!(again.snapshot(), before);
    }

    #[test]
    fn hides_the_cursor_and_knows_the_alternate_screen() {
        let mut screen = Screen::new(10, 2);
        screen.feed(b"\x1b[?1049h\x1b[?25l");
        let snapshot = screen.snapshot();
        assert_eq!((snapshot.cursor, snapshot.alternate), (None, true));
    }

    #[test]
    fn modes_follow_what_the_program_asks_for() {
        let mut screen = Screen::new(10, 2);
        assert_eq!(screen.snapshot().modes, Modes::default());
        screen.feed(b"\x1b[?1h\x1b[?2004h\x1b[?1002h\x1b[?1006h");
        let all = Modes {
            application_cursor: true,
            bracketed_paste: true,
            mouse: MouseReports::Motion,
            mouse_format: MouseFormat::Sgr,
        };
        assert_eq!(screen.snapshot().modes, all);
        screen.feed(b"\x1b[?1l\x1b[?2004l\x1b[?1002l\x1b[?1006l");
        assert_eq!(screen.snapshot().modes, Modes::default());
    }

    #[test]
    fn rows_of_a_wrapped_line_know_their_place() {
        let mut screen = Screen::new(4, 5);
        screen.feed(b"one\r\nabcdefghij\r\nend");
        let snapshot = Snapshot { last_line: 2, ..screen.snapshot() };
        let places: Vec<(i64, i32)> = snapshot.places().iter().map(|place| (place.line, place.part)).collect();
        assert_eq!(places, [(0, 0), (1, -2), (1, -1), (1, 0), (2, 0)]);
    }

    #[test]
    fn any_size_is_survived() {
        let mut screen = Screen::new(0, 0);
        screen.feed("日本語 text\r\n".as_bytes());
        screen.resize(1, 1);
        screen.feed("日\n\x1b[5A\x1b[999;999H".as_bytes());
        screen.resize(200, 0);
        assert_eq!(screen.snapshot().rows.len(), 1);
    }
}
