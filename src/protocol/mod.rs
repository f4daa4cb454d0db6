//! What an agent and its clients exchange: commands, events, approvals, questions, items, rewinds.
//!
//! A leaf with one serde form. Enums are `{"type": NAME, "data": …}` if they carry data (without `data` otherwise),
//! names are snake case. [`VERSION`] increases when an older reader could misread something.

mod approval;
mod budget;
mod child;
mod command;
mod context;
mod effort;
mod event;
mod figures;
mod goal;
mod intent;
mod item;
mod mode;
mod question;
mod replay;
mod resumed;
mod rewind;
mod session;
mod summary;
mod take;
#[cfg(test)]
mod tests;
mod undo;
mod window;

pub use approval::{
    Approval, ApprovalId, ApprovalOrigin, Decision, Grant, Past, Payload, Preview, Proposal, Scope, Speaker, Target,
    Width,
};
pub use budget::{BudgetSign, Raise};
pub use child::{ChildRow, ChildState, ChildTree};
pub use command::{AgentCommand, Opens, PolicyAnswer};
pub use context::{ContextLayer, ContextOrder, ContextPart, ContextView, Keep, Layer, OutsideFile, PrefixBreak, Sent};
pub use effort::Effort;
pub use event::{AgentEvent, Level, Meter, SessionInfo, ToolStart, TurnEnd, TurnOutcome, Written};
pub use figures::{Day, Figures, Project, Spending, ToolUse};
pub use goal::{Goal, GoalOrder, GoalState};
pub use intent::{EditIntent, Intent, Verdict, Why};
pub use item::{
    AssistantBody, Body, CallRow, FileDiff, Image, InnerCall, Item, ItemId, Large, NAMED, NoteKind, Origin, Outcome,
    PERSONS, SessionId, StopReason, ToolBody, ToolCall, ToolView, Usage,
};
pub use mode::Mode;
pub use question::{Question, QuestionId, Todo, TodoStatus};
pub use replay::{Beat, RecordedTerminal, ReplayMoment, ReplayPage, Stop};
pub use resumed::{FileSince, ResumeCard};
pub use rewind::{
    Fate, FileBack, FileKind, LeftOut, RanCommands, RewindOrder, RewindPoint, RewindPreview, Rewound, Theirs, Who,
};
pub use session::{PolicyChange, ProcessId, UnavailableBackend};
pub use summary::{CompactOrder, SummaryBody, SummaryBy};
pub use take::{Pick, Swap, TakeOrder, Taken, TreeChanges, TreeFile, TreeHunk, TreeHunks};
pub use undo::{UndoOrder, UndoPoint, UndoPreview};
pub use window::{
    SessionState, Waiting, WaitingId, WindowAnswer, WindowCall, WindowReply, WindowRequest, WindowSays, WindowSession,
    WindowStatus,
};

/// The version of the form.
pub const VERSION: u32 = 2;
