//! Running commands and the terminal pane.

use crate::exec::{ProcessId, ProcessInfo};
use crate::text::Snapshot;
use std::sync::Arc;

/// Processes and the pane that shows one of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Processes {
    /// Oldest first; foreground commands of the running turn and background ones.
    pub rows: Vec<ProcessInfo>,
    pub pane: TerminalPane,
}

/// The terminal pane.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TerminalPane {
    pub open: bool,
    /// The person opened, closed or moved it: it stays so.
    pub touched: bool,
    /// The tab that is shown.
    pub shown: Option<ProcessId>,
    pub screen: Option<Arc<Snapshot>>,
    /// All keys go to the program.
    pub taken_over: bool,
    /// Rows above the end.
    pub scroll: usize,
    /// Share of the height, in percent.
    pub height: u16,
}
