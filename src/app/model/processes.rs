//! Running commands and the terminal pane.

use crate::exec::{Ask, AskId, Hit, ProcessId, ProcessInfo};
use crate::text::Snapshot;
use std::sync::Arc;

/// Processes and the pane that shows one of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Processes {
    /// Oldest first; foreground commands of the running turn and background ones.
    pub rows: Vec<ProcessInfo>,
    pub pane: TerminalPane,
    /// The process and size whose screens were last asked for.
    pub watching: Watching,
    /// The process whose view is held while something is selected in it, and whether it followed the end before.
    pub held_view: Option<(ProcessId, bool)>,
    /// The same for the second of two.
    pub watching_second: Watching,
    /// Lines that were asked for and have not come.
    pub asked: Option<(i64, i64)>,
    /// The external editor, from the order to its end.
    pub editor: Option<Editor>,
    /// The editor that ended last: what is still told of it means nothing.
    pub closed: Option<ProcessId>,
    /// What programs ask, oldest first.
    pub asks: Vec<Ask>,
    /// Put aside with Esc: they no longer open by themselves.
    pub asks_aside: Vec<AskId>,
    /// Commands that go on when the program is left: the first line, and the process number or the machine that it is on.
    pub kept: Vec<(String, String)>,
    /// The program whose keys the person has, as it was last told.
    pub held_keys: Option<ProcessId>,
}

/// A process and the size (columns, rows) of the pane that shows it.
pub type Watching = Option<(ProcessId, (u16, u16))>;

/// What the external editor edits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Edits {
    #[default]
    Draft,
    /// The summary of a compaction, by its entry.
    Summary(crate::protocol::ItemId),
}

/// The external editor.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Editor {
    /// `None` until it runs.
    pub id: Option<ProcessId>,
    /// The text that it was given, and what it is.
    pub text: String,
    pub edits: Edits,
    /// The pane as it was before.
    pub open: bool,
    pub touched: bool,
    pub chosen: bool,
    pub shown: Option<ProcessId>,
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
    /// Share of the height, in thousandths.
    pub height: u16,
    /// The same for programs that need a whole screen.
    pub large: u16,
    /// The person chose the tab.
    pub chosen: bool,
    /// The key that handed back and when; pressed again at once it goes to the program.
    pub handed_back: Option<(crate::config::keymap::Key, i64)>,
    /// When the command that had the keys ended (milliseconds since the epoch).
    pub ended_at: Option<i64>,
    /// Another command beside the one that is shown.
    pub second: Option<SecondTerminal>,
    /// What is looked for in the output of the shown command.
    pub find: Option<Seek>,
    /// Lines that came since the end was last in view.
    pub fresh: usize,
    /// Number of the line at the end when it was last in view.
    pub end: i64,
    /// The program that has the keys had the whole screen, and the pane was not opened by hand for it.
    pub passing: Passing,
}

/// What becomes of the pane of a program that leaves nothing on its screen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Passing {
    /// The pane stays: the person had opened it before the program got the keys.
    pub stays: bool,
    /// The program had the whole screen while it had the keys.
    pub full: bool,
}

/// Words that are looked for in the output of a command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seek {
    pub words: String,
    /// The line that was found last.
    pub hit: Option<Hit>,
}

/// The second of two terminals: it is watched only, until the person goes to it.
#[derive(Clone, Debug, PartialEq)]
pub struct SecondTerminal {
    pub id: ProcessId,
    pub screen: Option<Arc<Snapshot>>,
    /// It stands on the left.
    pub first: bool,
}
