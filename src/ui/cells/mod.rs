//! One block of the conversation to rows. The grid: two cells of margin, marks in column 2, text in column 4.

mod children;
pub mod empty;
pub mod first_run;
mod note;
mod reasoning;
mod summary;
mod told;
pub mod tool;
mod user;

use crate::app::model::transcript::{Cell, CellKind, ToolCell};
use crate::config::Config;
use crate::config::skin::Appearance;
use crate::text::highlight::Highlighter;
use crate::text::stream::Stream;
use crate::text::wrap::weight;
use crate::text::{Role, Row, Span};

/// Column of marks.
pub const MARK: u16 = 2;
/// Column of text.
pub const TEXT: u16 = 4;

/// What laying out needs to know.
pub struct Context<'a> {
    /// Columns of the conversation, margins included.
    pub width: usize,
    pub expanded: bool,
    /// The calls that this one stands for, itself first.
    pub group: &'a [&'a ToolCell],
    pub look: &'a Appearance,
    pub config: &'a Config,
    pub code: &'a mut Highlighter,
}

impl Context<'_> {
    /// Cells for text from column [`TEXT`] to the right margin.
    pub fn room(&self) -> usize {
        self.width.saturating_sub(usize::from(TEXT) + 2).max(1)
    }
}

/// A cell, laid out.
pub struct CellRows {
    body: Body,
    /// Column where rows begin.
    pub indent: u16,
    /// Column where the ground of rows begins.
    pub ground: u16,
    /// Drawn in column [`MARK`] of the first row.
    pub mark: Option<Span>,
    /// A bar in the first column: what the person said.
    pub bar: bool,
}

enum Body {
    Rows(Vec<Row>),
    Growing(Stream),
}

impl CellRows {
    /// Rows at the text column.
    pub fn new(rows: Vec<Row>) -> Self {
        Self { body: Body::Rows(rows), indent: TEXT, ground: TEXT, mark: None, bar: false }
    }

    fn mark(mut self, text: &str, role: Role) -> Self {
        self.mark = Some(Span::new(text, role));
        self
    }

    /// All rows, top down.
    pub fn rows(&self) -> &[Row] {
        match &self.body {
            Body::Rows(rows) => rows,
            Body::Growing(stream) => stream.rows(),
        }
    }

    /// Number of rows.
    pub fn height(&self) -> usize {
        self.rows().len()
    }

    /// Bytes, roughly.
    pub fn weight(&self) -> usize {
        match &self.body {
            Body::Rows(rows) => weight(rows),
            Body::Growing(stream) => stream.weight(),
        }
    }
}

/// Lays a cell out. `before` is its last layout, which a growing text goes on from.
pub fn layout(cell: &Cell, before: Option<CellRows>, context: &mut Context<'_>) -> CellRows {
    match &cell.kind {
        CellKind::User { text, images, origin } => user::layout(text, *images, *origin, context),
        CellKind::Told { gist, text } => told::layout(gist, text, context),
        CellKind::Summary { line, text } => summary::layout(line, text, context),
        CellKind::Assistant { text } => assistant(text, cell.finished, before, context),
        CellKind::Reasoning { text, time } => reasoning::layout(text, *time, cell.finished, context),
        CellKind::Tool(tool) => tool::layout(tool, context),
        CellKind::Note { kind, text } => note::layout(*kind, text, context),
        CellKind::TurnEnd { text } => note::turn_end(text, context),
    }
}

/// Whether a cell takes no rows at all.
pub fn is_hidden(cell: &Cell, config: &Config) -> bool {
    match &cell.kind {
        CellKind::Assistant { text } => text.trim().is_empty(),
        CellKind::Reasoning { text, .. } => !config.display.show_reasoning || text.trim().is_empty(),
        CellKind::TurnEnd { text } => text.is_empty(),
        CellKind::User { .. }
        | CellKind::Told { .. }
        | CellKind::Summary { .. }
        | CellKind::Tool(_)
        | CellKind::Note { .. } => false,
    }
}

/// Whether a blank row stands between two cells: the work of one turn stays together.
pub fn has_gap(above: &Cell, below: &Cell) -> bool {
    let work =
        |cell: &Cell| matches!(cell.kind, CellKind::Tool(_) | CellKind::Reasoning { .. } | CellKind::Told { .. });
    !(work(above) && work(below))
}

/// The text that a cell stands for, where there is one.
pub fn source(cell: &Cell) -> Option<&str> {
    match &cell.kind {
        CellKind::User { text, .. }
        | CellKind::Summary { text, .. }
        | CellKind::Assistant { text }
        | CellKind::Note { text, .. } => Some(text),
        CellKind::Told { .. } | CellKind::Reasoning { .. } | CellKind::Tool(_) | CellKind::TurnEnd { .. } => None,
    }
}

fn assistant(text: &str, finished: bool, before: Option<CellRows>, context: &mut Context<'_>) -> CellRows {
    let mut stream = match before.map(|rows| rows.body) {
        Some(Body::Growing(stream)) => stream,
        _ => Stream::default(),
    };
    let room = context.room();
    stream.update(text, room, context.code);
    // A finished text keeps only its rows.
    let body = if finished { Body::Rows(stream.into_rows()) } else { Body::Growing(stream) };
    let glyph = &context.look.skin.glyph;
    let glyph = if glyph.is_empty() { "☤" } else { glyph };
    CellRows { body, ..CellRows::new(Vec::new()) }.mark(glyph, Role::Accent)
}
