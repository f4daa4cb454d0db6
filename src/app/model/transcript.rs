//! The conversation as cells: what the view lays out, caches and scrolls.

mod groups;

use super::selection::Grain;
use crate::exec::ProcessId;
use crate::protocol::{CallRow, ChildRow, FileDiff, ItemId, NoteKind, Origin, Outcome};
use std::sync::Arc;

/// The conversation pane.
#[derive(Clone, Debug, Default)]
pub struct Transcript {
    /// Oldest first.
    pub cells: Vec<Cell>,
    pub position: Position,
    /// Rows to move from `position` at the next layout; down is positive. `Msg::Drawn` brings the settled position.
    pub scroll: i32,
    /// Older items are in the store.
    pub older: Older,
    /// Cell that keys of the focused conversation act on (expand, copy).
    pub selected: Option<CellId>,
    /// Expand every tool cell.
    pub expand_all: bool,
    /// Cells that came after the reader scrolled away.
    pub unseen: usize,
    pub find: Option<Find>,
    /// Dragged over with the mouse, or in copy mode.
    pub selection: Option<Selection>,
    /// The cells that grow now.
    pub streaming: Streaming,
    next_cell: u64,
}

/// Cells of the step that streams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Streaming {
    pub text: Option<CellId>,
    pub reasoning: Option<CellId>,
}

/// Unique within a process; never reused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CellId(pub u64);

/// One block of the conversation.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    pub id: CellId,
    /// Bumped by every change; the cache key of its layout.
    pub revision: u32,
    /// No more changes but expansion; laid out once per width and theme.
    pub finished: bool,
    pub expanded: bool,
    pub kind: CellKind,
    /// The durable item it shows, once there is one.
    pub item: Option<ItemId>,
}

/// What a cell shows.
#[derive(Clone, Debug, PartialEq)]
pub enum CellKind {
    User {
        text: String,
        images: usize,
        origin: Origin,
    },
    /// What the program told the model by itself: one line unless expanded.
    Told {
        gist: String,
        text: String,
    },
    /// A summary that stands for entries above it: one line unless expanded.
    Summary {
        line: String,
        /// Markdown source; empty when a compaction was undone.
        text: String,
    },
    /// Markdown source; grows while it streams.
    Assistant {
        text: String,
    },
    /// Folded to one line unless expanded.
    Reasoning {
        text: String,
        /// How long it took; not known of sessions that an older program kept.
        time: Thinking,
    },
    Tool(Box<ToolCell>),
    Note {
        kind: NoteKind,
        text: String,
    },
    /// After a turn: how it ended, steps, time. Dim.
    TurnEnd {
        text: String,
    },
}

/// How long the model thought.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Thinking {
    #[default]
    Unknown,
    /// Since this time (milliseconds since the epoch).
    Since(i64),
    /// Milliseconds.
    For(u64),
}

impl Thinking {
    /// It came to its end, at this time.
    pub fn end(&mut self, now: i64) {
        if let Thinking::Since(start) = *self {
            *self = Thinking::For(now.saturating_sub(start).max(0) as u64);
        }
    }
}

/// One tool call.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolCell {
    pub call_id: String,
    pub name: String,
    pub emoji: String,
    /// `running`, then `ran`.
    pub verb: String,
    pub target: String,
    pub row: CallRow,
    /// `exit 1`, `220 lines`, `+14 −6`.
    pub summary: String,
    pub state: ToolState,
    /// Milliseconds since the epoch.
    pub started_at: i64,
    pub duration_ms: Option<u64>,
    /// Last progress line.
    pub progress: String,
    /// Sessions that work for it.
    pub children: Vec<ChildRow>,
    pub output: Arc<str>,
    pub diffs: Vec<FileDiff>,
    /// Files that a command changed.
    pub changed: Vec<FileDiff>,
    /// Of a command that has ended.
    pub exit_code: Option<i32>,
    pub process: Option<ProcessId>,
    pub approval: String,
    /// Recovered from text.
    pub repaired: bool,
    /// Calls that a script made, in their order.
    pub inner: Vec<ToolCell>,
}

/// Where a call is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ToolState {
    #[default]
    Proposed,
    /// Waits for an answer.
    Asking,
    Running,
    Done(Outcome),
}

/// Where the reader is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Position {
    /// At the end, following.
    #[default]
    Latest,
    /// The first visible row is this row of this cell. Survives prepending, streaming and resizing.
    Anchor { cell: CellId, row: usize },
}

/// Whether older items can be had.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Older {
    /// The first cell is the first item.
    #[default]
    None,
    /// Before this item there are more.
    Before(ItemId),
    Loading,
}

/// An open search in the transcript.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Find {
    pub query: String,
    /// Cells with a match, oldest first, and which of them is current.
    pub hits: Vec<CellId>,
    pub current: usize,
}

/// A range of drawn rows: cell, row in the cell, column; `from` may be after `to`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Selection {
    pub from: Spot,
    pub to: Spot,
    pub grain: Grain,
}

/// A place in a laid-out cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Spot {
    pub cell: CellId,
    pub row: usize,
    pub column: u16,
}

impl Transcript {
    /// Appends a cell and returns its id.
    pub fn push(&mut self, kind: CellKind, item: Option<ItemId>, finished: bool) -> CellId {
        self.next_cell += 1;
        let id = CellId(self.next_cell);
        self.cells.push(Cell { id, revision: 0, finished, expanded: false, kind, item });
        if self.position != Position::Latest {
            self.unseen += 1;
        }
        id
    }

    /// Begins anew for another session; ids go on.
    pub fn reset(&mut self) {
        let (next_cell, expand_all) = (self.next_cell, self.expand_all);
        *self = Self { next_cell, expand_all, ..Self::default() };
    }

    /// A cell by its id; the newest are found first.
    pub fn cell(&mut self, id: CellId) -> Option<&mut Cell> {
        self.cells.iter_mut().rev().find(|cell| cell.id == id)
    }

    /// The tool cell of a call; the newest are found first.
    pub fn call(&mut self, call_id: &str) -> Option<&mut Cell> {
        let is_call = |kind: &CellKind| matches!(kind, CellKind::Tool(tool) if tool.call_id == call_id);
        self.cells.iter_mut().rev().find(|cell| is_call(&cell.kind))
    }

    /// Puts older cells before all others.
    pub fn prepend(&mut self, older: Vec<(CellKind, Option<ItemId>)>) {
        let mut cells: Vec<Cell> = Vec::with_capacity(older.len() + self.cells.len());
        for (kind, item) in older {
            self.next_cell += 1;
            let id = CellId(self.next_cell);
            cells.push(Cell { id, revision: 0, finished: true, expanded: false, kind, item });
        }
        cells.append(&mut self.cells);
        self.cells = cells;
    }
}

impl Cell {
    /// The only way to change a cell: the revision follows.
    pub fn change(&mut self, change: impl FnOnce(&mut CellKind)) {
        change(&mut self.kind);
        self.revision += 1;
    }

    /// Shows or hides what is folded.
    pub fn toggle(&mut self) {
        self.expanded = !self.expanded;
        self.revision += 1;
    }

    /// The text as it was written: Markdown of an answer, output of a call.
    pub fn source(&self) -> &str {
        match &self.kind {
            CellKind::User { text, .. }
            | CellKind::Told { text, .. }
            | CellKind::Summary { text, .. }
            | CellKind::Assistant { text }
            | CellKind::Reasoning { text, .. }
            | CellKind::Note { text, .. }
            | CellKind::TurnEnd { text } => text,
            CellKind::Tool(tool) if tool.output.is_empty() => &tool.target,
            CellKind::Tool(tool) => &tool.output,
        }
    }
}
