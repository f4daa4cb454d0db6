//! Types of other rooms that the model holds, by one name for the view.

pub use crate::exec::{Exit, ExitReason, LogState, Origin, ProcessId, ProcessInfo, ProcessState};
pub use crate::protocol::{
    Effort, Fate, FileBack, FileKind, LeftOut, Level, Meter, Question, QuestionId, RanCommands, RewindPoint,
    RewindPreview, SessionInfo, Todo, TodoStatus, TreeFile, TreeHunk, UndoPreview, Who,
};
pub use crate::store::SessionRow;
pub use crate::text::{Place, Snapshot};
