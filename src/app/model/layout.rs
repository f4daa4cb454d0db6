//! What the last frame put where: hit areas and page sizes for the next message.

use super::Pane;
use super::selection::Surface;
use super::transcript::{CellId, Position};
use crate::text::Place;

/// Columns and rows below which nothing but a card is drawn, and nothing that it hides takes a key.
pub const SMALLEST: (u16, u16) = (40, 12);

/// A rectangle in cells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Area {
    pub x: u16,
    pub y: u16,
    pub width: u16,
    pub height: u16,
}

impl Area {
    /// Whether a cell lies in it.
    pub fn contains(&self, column: u16, row: u16) -> bool {
        column >= self.x && column < self.x + self.width && row >= self.y && row < self.y + self.height
    }
}

/// Facts of a frame.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Layout {
    pub panes: Vec<(Pane, Area)>,
    /// Rows of the conversation on the screen, top down: screen row, cell, row in the cell.
    pub rows: Vec<(u16, CellId, usize)>,
    /// Where the conversation came to rest after `scroll` was applied.
    pub position: Position,
    /// The inner size of the terminal pane; `None` when closed.
    pub terminal: Option<(u16, u16)>,
    /// That of the second terminal in it.
    pub second: Option<(u16, u16)>,
    /// Rows of panes whose text can be selected, top down; a modal's last.
    pub flat: Vec<FlatRow>,
    /// Rows that conversation and terminal pane share: the first and the one after the last.
    pub shared: (u16, u16),
    /// The question that is open stands at the bottom, with panes above it.
    pub docked: bool,
    /// Things that can be clicked, topmost last.
    pub targets: Vec<(Area, Hit)>,
    /// In copy mode: text of the rows that the caret moves in, in their order, and the column where it begins.
    pub words: Vec<(u16, String)>,
    /// Text of the mouse or keyboard selection, source where it is known.
    pub selected_text: Option<String>,
    /// What the approval modal showed of its text.
    pub reading: Option<Reading>,
    /// First line that was shown of a text that scrolls in the topmost modal: there it came to rest.
    pub rest: Option<usize>,
    /// The conversation shows its first row.
    pub at_top: bool,
}

/// The part of a text to be approved that was on the screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    pub id: crate::policy::ApprovalId,
    /// The edited command, not the one that was asked for.
    pub edited: bool,
    /// First row that was shown.
    pub first: u16,
    /// Rows that were shown.
    pub rows: u16,
    /// The middle of a very long command is left out.
    pub folded: bool,
    /// Cells of a row and rows in all: laid out otherwise, other rows count.
    pub shape: (u16, u16),
    /// Rows that must have been shown before an answer that allows: reasons, what would be lost, the end.
    pub must: Vec<u16>,
}

/// A row on the screen whose text can be selected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlatRow {
    pub surface: Surface,
    pub x: u16,
    pub y: u16,
    pub width: u16,
    pub place: Place,
    pub is_blank: bool,
}

/// A border that can be moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Border {
    /// Between conversation and terminal pane.
    Terminal,
    /// Between conversation and sidebar.
    Sidebar,
}

/// What a click means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hit {
    ToggleCell(CellId),
    ShowProcess(crate::exec::ProcessId),
    /// A child of the session.
    Child(crate::protocol::SessionId),
    /// A tab of the title row.
    Session(super::tab::TabId),
    /// The second of two terminals.
    OtherTerminal,
    /// Index of the row in the topmost modal.
    ModalRow(usize),
    Link(String),
    ToEnd,
    FirstRunRow(usize),
    /// Index of a suggested prompt.
    Suggestion(usize),
    Border(Border),
}
