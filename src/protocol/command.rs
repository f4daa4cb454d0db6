//! Orders to the agent of a session.

use super::{
    ApprovalId, CompactOrder, ContextOrder, Decision, Effort, GoalOrder, Image, ItemId, Mode, QuestionId, Raise,
    RewindOrder, SessionId, TakeOrder, UndoOrder,
};
use serde::{Deserialize, Serialize};

/// Orders to the agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", content = "data", rename_all = "snake_case")]
pub enum AgentCommand {
    /// Starts a turn; refused with a notice while one runs (the UI queues).
    Submit {
        text: String,
        images: Vec<Image>,
    },
    /// Delivered at the next step boundary of the running turn; starts one when idle.
    Steer {
        text: String,
        images: Vec<Image>,
    },
    /// Another agent says this, which works for the person and is none: begins a turn, or is read at the next step.
    Told(String),
    /// Stops the turn; `force` does not wait for outcomes.
    Stop {
        force: bool,
    },
    Decide(ApprovalId, Decision),
    /// How would this line be judged in place of the one that is asked about? Answered with `Previewed`.
    Preview(ApprovalId, String),
    Answer(QuestionId, String),
    /// `MODEL` or `PROVIDER:MODEL`; applies to the next step.
    SetModel(String),
    SetEffort(Effort),
    SetMode(Mode),
    /// Only these toolsets from the next turn on; none: those of the configuration.
    SetToolsets(Vec<String>),
    /// Works there from now on: `local`, `ssh`, `docker`; refused while a turn runs.
    SetBackend(String),
    SetTitle(String),
    /// Goes back to a prompt; refused while a turn runs.
    Rewind(RewindOrder),
    /// A question beside the turn: answered without tools, and forgotten.
    ByTheWay(String),
    /// Calls that wait for children wait no longer; what comes of those is told by a message.
    ToBackground,
    /// What the session works towards by itself.
    Goal(GoalOrder),
    /// Takes the last rewind back, while nothing was said since, or the undo of a command.
    Redo,
    /// Compacts the conversation, or changes or undoes that.
    Compact(CompactOrder),
    /// Raises the hard limits of the budget, for this session alone.
    RaiseBudget(Raise),
    /// What fills the window, and what of it is sent.
    Context(ContextOrder),
    /// Puts back what a command changed; refused while a turn runs.
    UndoCommand(UndoOrder),
    /// Takes changes of a worktree into the folder of the session; refused while a turn runs.
    Take(Box<TakeOrder>),
    /// A running retry wait ends now: try again, or (`false`) give up.
    SkipWait(bool),
    /// Re-reads the configuration (a key was pasted, a setting changed).
    Reload,
    /// Somebody may have changed the files of the policy.
    LookAtPolicy,
    /// Tells again what is open: somebody begins to watch.
    Show,
    /// Judges the questions that wait anew: what they are about may have changed.
    LookAgain,
    /// The person begins to write in a question, or ends: its time stands still meanwhile.
    Writing(ApprovalId, bool),
    /// What the person says to a policy that changed on disk.
    Policy(PolicyAnswer),
    /// The session is left; what runs in it is stopped, and all is saved. `cleared`: the person begins a new one in its place.
    Close {
        cleared: bool,
    },
}

/// What a person says to a policy that changed on disk, with the version of it that they saw
/// (`config::policy_files::version`): it is about no other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", content = "data", rename_all = "snake_case")]
pub enum PolicyAnswer {
    /// What is on disk now holds.
    Take(String),
    /// What the session read holds until it ends.
    Keep(String),
}

/// Which conversation a session is opened with.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", content = "data", rename_all = "snake_case")]
pub enum Opens {
    #[default]
    New,
    /// A new one in the place of one that the person cleared.
    Cleared,
    Resume(SessionId),
    /// A new one with the conversation of this one, which may be open elsewhere.
    Fork(SessionId),
    /// The same up to a prompt, which stays behind with what follows it; or to the end of the turn of another entry.
    ForkAt(SessionId, ItemId),
}
