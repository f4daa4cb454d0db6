//! Styled text without colours: spans carry *roles*, which the view maps through the theme.
//!
//! A leaf: wrapping, Markdown, streaming, highlighting, diffs and terminal screens as data.

pub mod ansi;
pub mod clean;
pub mod diff;
pub mod format;
pub mod highlight;
pub mod markdown;
pub mod readable;
pub mod screen;
pub mod stream;
pub mod table;
pub mod visible;
pub mod width;
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
    /// Column and row; `None` when hidden or scrolled away.
    pub cursor: Option<(u16, u16)>,
    pub title: String,
    /// The program uses the alternate screen.
    pub alternate: bool,
    /// Rows above the first one shown.
    pub scrollback: usize,
}
