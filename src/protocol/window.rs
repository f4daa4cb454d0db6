//! What a window of Hermes says to another program of the same person: one request and one reply, each a line of JSON with
//! [`VERSION`](super::VERSION) beside it.

use super::{ApprovalId, QuestionId, SessionId};
use serde::{Deserialize, Serialize};

/// One line to a window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WindowCall {
    pub version: u32,
    pub request: WindowRequest,
}

/// One line back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WindowAnswer {
    pub version: u32,
    pub reply: WindowReply,
}

/// What can be asked of a window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", content = "data", rename_all = "snake_case")]
pub enum WindowRequest {
    /// Its sessions.
    List,
    /// The window itself.
    Status,
    /// Puts the tab of a session in view.
    Focus(SessionId),
    /// Gives a session a prompt; while a turn runs, it arrives at the next step. `wait`: the reply is the answer of the turn.
    Ask { session: SessionId, text: String, wait: bool },
    /// Answers what a session waits for.
    Answer { session: SessionId, to: WaitingId, says: WindowSays },
}

/// An answer to an approval or a question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", content = "data", rename_all = "snake_case")]
pub enum WindowSays {
    /// This once.
    Allow,
    /// With a reason, which may be empty.
    Deny(String),
    /// The answer to a question.
    Text(String),
}

/// What a window replies.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", content = "data", rename_all = "snake_case")]
pub enum WindowReply {
    /// The window, and what is open in it.
    List {
        window: WindowStatus,
        sessions: Vec<WindowSession>,
    },
    Status(WindowStatus),
    Done,
    /// The text of the answer that was waited for.
    Answered(String),
    /// Why not, and what to do.
    Refused(String),
}

/// A window.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WindowStatus {
    pub pid: u32,
    /// `0.1.0`.
    pub program: String,
    pub folder: String,
    pub sessions: usize,
    /// Sessions that wait for an answer.
    pub waiting: usize,
    /// Sessions in which a turn runs.
    pub working: usize,
}

/// A session that is open in a window.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WindowSession {
    pub session: SessionId,
    pub title: Option<String>,
    pub cwd: String,
    /// The top of the git checkout that it works in; none: it works in no checkout.
    pub checkout: Option<String>,
    /// Something was said in it.
    pub used: bool,
    pub state: SessionState,
    pub waiting: Vec<Waiting>,
}

/// What a session does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionState {
    #[default]
    Idle,
    Working,
    /// It waits for an answer of the person.
    NeedsAnswer,
    /// Its last turn failed.
    Failed,
}

impl SessionState {
    /// In words.
    pub fn word(self) -> &'static str {
        match self {
            SessionState::Idle => "idle",
            SessionState::Working => "working",
            SessionState::NeedsAnswer => "needs an answer",
            SessionState::Failed => "failed",
        }
    }
}

/// What a session waits for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiting {
    pub id: WaitingId,
    /// The question, or the call that needs approval and why, without secrets.
    pub text: String,
    /// The text is not all of it.
    pub cut: bool,
    /// Answers on offer.
    pub choices: Vec<String>,
}

/// An approval or a question of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", content = "data", rename_all = "snake_case")]
pub enum WaitingId {
    Approval(ApprovalId),
    Question(QuestionId),
}
