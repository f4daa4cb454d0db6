//! What the UI hears of processes, and what it orders.

use crate::exec::{Ask, AskId, Hidden, ProcessId, ProcessInfo};
use crate::text::Snapshot;

/// Facts about processes, for the UI (merged: a slow reader sees the newest state).
#[derive(Clone, Debug, PartialEq)]
pub enum ProcessEvent {
    Started(ProcessInfo),
    /// Anything in the row changed: state, port, bytes.
    Changed(ProcessInfo),
    Exited(ProcessInfo),
    /// The screen of a watched process, at most one a frame.
    Screen(ProcessId, std::sync::Arc<Snapshot>),
    /// Lines that were asked for, as a screen that is high enough for them.
    Lines(ProcessId, std::sync::Arc<Snapshot>),
    /// A program wants an answer of the person.
    Asks(Ask),
    /// It wants none any more, or has got it.
    AskClosed(ProcessId, AskId),
    /// A program has a word for the person: touch the key.
    Told(ProcessId, String),
    /// The table does not have it (any more): its row goes.
    Gone(ProcessId),
    /// The line with the words that were looked for, which the view has moved to; `None`: there is no other one.
    Found(ProcessId, Option<Hit>),
}

impl ProcessEvent {
    /// The process that it is about.
    pub fn process(&self) -> &ProcessId {
        match self {
            ProcessEvent::Started(info) | ProcessEvent::Changed(info) | ProcessEvent::Exited(info) => &info.id,
            ProcessEvent::Screen(id, _)
            | ProcessEvent::Lines(id, _)
            | ProcessEvent::Found(id, _)
            | ProcessEvent::AskClosed(id, _)
            | ProcessEvent::Told(id, _)
            | ProcessEvent::Gone(id) => id,
            ProcessEvent::Asks(ask) => &ask.process,
        }
    }
}

/// A line with words that were looked for, among all that have them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hit {
    /// Counted from the oldest one, which is 1.
    pub nth: usize,
    pub of: usize,
}

/// How the view of a watched process moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scroll {
    /// By lines; up is positive. Once it is above the end it stays with its lines while more is printed.
    AuditBy(i64),
    /// Stays with the lines that are shown.
    Hold,
    /// To the end, and along with it.
    Follow,
}

/// Orders of the UI.
#[derive(Clone, Debug, PartialEq)]
pub enum ProcessCommand {
    /// Send screens of this process, at this size; `None` stops.
    Watch(Option<ProcessId>, (u16, u16)),
    /// The same for the second pane.
    WatchSecond(Option<ProcessId>, (u16, u16)),
    /// Move the view of the watched process; its screens say where it came to rest.
    Scroll(ProcessId, Scroll),
    /// Send these lines of the watched process (first and last, as its screens number them), at most [`LINES`](crate::exec::LINES).
    Lines(ProcessId, (i64, i64)),
    /// What the person types.
    Write(ProcessId, Vec<u8>),
    /// The person has the keys of this process, or of none: the agent waits with its own hands.
    TakeOver(Option<ProcessId>),
    /// The answer to a question; `None`: the person gives none.
    Answer(AskId, Option<Hidden>),
    /// INT, then TERM, then KILL, on the group.
    Kill(ProcessId),
    /// A running foreground command goes on in the background; the agent is told.
    Background(ProcessId),
    /// Off the list: what has ended, or what the table does not know. What runs stays, and that is told.
    Forget(ProcessId),
    /// The screen shows these as running: tell what they are.
    Compare(Vec<ProcessId>),
    /// What was stopped with Ctrl-Z goes on.
    Continue(ProcessId),
    /// Goes on, or does not, when this program is left.
    Keep(ProcessId, bool),
    /// Move the view to the next line with these words: up, or down again. Lower-case words find both cases.
    Find(ProcessId, String, Way),
}

/// Where to look for words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    Up,
    Down,
}
