//! Styled text without colours: spans carry *roles*, which the view maps to the theme.
//!
//! A leaf: wrapping, Markdown, streaming, highlighting, diffs and terminal screens as data.

pub mod ansi;
pub mod binary;
pub mod clean;
pub mod columns;
pub mod diff;
pub mod digest;
pub mod fold;
pub mod foreign;
pub mod format;
pub mod highlight;
pub mod markdown;
pub mod readable;
pub mod screen;
pub mod stream;
pub mod table;
pub mod tokens;
pub mod visible;
pub mod width;
pub mod words;
pub mod wrap;

pub use wrap::{Joint, Row};

use std::sync::Arc;

/// What a span is; the theme says how it looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Role {
    #[default]
    Text,
    Dim,
    Accent,
    Strong,
    Emphasis,
    StrongEmphasis,
    Strike,
    Heading(u8),
    Link,
    /// Inline code.
    Code,
    Quote,
    Bullet,
    Rule,
    TableBorder,
    TableHeader,
    Good,
    Careful,
    Bad,
    /// A code block, by kind of token.
    Syntax(Syntax),
    Added,
    Removed,
    /// The changed part inside a changed line.
    AddedStrong,
    RemovedStrong,
    LineNumber,
    /// A cell of a terminal screen.
    Screen(Cell),
}

/// Kinds of tokens that themes colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Syntax {
    #[default]
    Plain,
    Comment,
    Keyword,
    String,
    Number,
    Constant,
    Function,
    Type,
    Variable,
    Operator,
    Punctuation,
    Tag,
    Attribute,
    Inserted,
    Deleted,
    Heading,
}

/// Attributes of a terminal cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Cell {
    pub fg: Paint,
    pub bg: Paint,
    pub bold: bool,
    pub dim: bool,
    pub italic: bool,
    pub underline: bool,
    pub inverse: bool,
}

/// A colour that a program chose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Paint {
    #[default]
    Default,
    Index(u8),
    Rgb(u8, u8, u8),
}

/// A run of text in one role. No control characters, no line breaks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Span {
    pub text: String,
    pub role: Role,
    /// Where a link leads.
    pub link: Option<Arc<str>>,
}

impl Span {
    /// A span without a link.
    pub fn new(text: impl Into<String>, role: Role) -> Self {
        Self { text: text.into(), role, link: None }
    }
}

/// One row, or one logical line before wrapping.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line {
    pub spans: Vec<Span>,
    /// Drawn with the background of a code block, diff or terminal across the full width.
    pub ground: Ground,
}

impl Line {
    /// A line of one span on the base ground.
    pub fn plain(text: impl Into<String>, role: Role) -> Self {
        Self { spans: vec![Span::new(text, role)], ground: Ground::Base }
    }

    /// The text of all spans.
    pub fn text(&self) -> String {
        self.spans.iter().map(|span| span.text.as_str()).collect()
    }

    /// Cells that the text takes.
    pub fn width(&self) -> usize {
        self.spans.iter().map(|span| width::width(&span.text)).sum()
    }
}

/// The background of a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Ground {
    #[default]
    Base,
    /// What the person said, code, terminals: one step of tone.
    Raised,
    Added,
    Removed,
}

/// What a terminal shows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    pub columns: u16,
    pub rows: Vec<Line>,
    /// By row: its line goes on in the next row, since it did not fit.
    pub wrapped: Vec<bool>,
    /// Column and row; `None` when hidden or scrolled away.
    pub cursor: Option<(u16, u16)>,
    pub title: String,
    /// The program uses the alternate screen.
    pub alternate: bool,
    /// Lines above the first one shown; 0 where there are none.
    pub scrollback: usize,
    /// Lines that came after the last one shown; 0 while the end is shown.
    pub below: usize,
    /// Number of the line in the last row, counted from the first line that was printed. It stays with its text while
    /// more is printed.
    pub last_line: i64,
    /// What the program asked its terminal for.
    pub modes: Modes,
}

/// A row of a terminal by its text, wherever it stands on the screen. Ordered as it is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    pub line: i64,
    /// Rows of a wrapped line count from its end: the last is 0, the one before it -1.
    pub part: i32,
}

impl Snapshot {
    /// Whether nothing is on it.
    pub fn is_blank(&self) -> bool {
        self.rows.iter().all(|line| line.spans.is_empty())
    }

    /// The place of every row.
    pub fn places(&self) -> Vec<Place> {
        let mut places = vec![Place::default(); self.rows.len()];
        let mut at = Place { line: self.last_line, part: 0 };
        for index in (0..places.len()).rev() {
            if index + 1 < places.len() {
                let goes_on = self.wrapped.get(index).copied().unwrap_or(false);
                at = if goes_on { Place { part: at.part - 1, ..at } } else { Place { line: at.line - 1, part: 0 } };
            }
            places[index] = at;
        }
        places
    }
}

/// What a program asked its terminal for; keys, pastes and the mouse are sent accordingly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Modes {
    /// Arrows, Home and End as SS3 sequences (DECCKM).
    pub application_cursor: bool,
    /// Marks around pasted text.
    pub bracketed_paste: bool,
    pub mouse: MouseReports,
    pub mouse_format: MouseFormat,
}

/// What of the mouse a program wants to know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MouseReports {
    #[default]
    Off,
    /// Presses (X10).
    Press,
    /// Presses and releases.
    Buttons,
    /// And motion with a button down, or any motion.
    Motion,
}

/// How mouse reports are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MouseFormat {
    /// One byte a number.
    #[default]
    Bytes,
    /// One character a number.
    Utf8,
    /// Decimal numbers.
    Sgr,
}
