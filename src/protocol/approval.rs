//! A question for a person and the answers to it.

use super::{Intent, Verdict};
use serde::{Deserialize, Serialize};

/// What the person (or the absence of one) answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", content = "data", rename_all = "snake_case")]
pub enum Decision {
    Once,
    /// This call, and what else the grant covers.
    Grant(Grant),
    /// Run this line instead; it is judged again, and only a refusal or a new class stops it.
    Edited(String),
    Deny {
        feedback: String,
    },
    /// Nobody answered in the time that the configuration gives.
    TimedOut,
    Interrupted,
    /// Headless: no one to ask.
    NoOne,
}

/// How long an answer lasts and where it is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// Until the session ends; a resumed session has it again.
    Session,
    /// In this folder's project, in every session.
    Project,
    /// Everywhere, in every session.
    Global,
}

/// What a lasting answer covers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Width {
    /// This very command; of what is typed, this process.
    #[default]
    Command,
    /// Commands that begin with these words; its entry is a line of `permissions.yaml`: `terminal(git push *)`.
    Words,
    /// Every command with these effects, or this tool of another program.
    Effects,
    /// Every tool of the program that brings this one.
    Server,
}

/// An answer that lasts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    pub scope: Scope,
    pub width: Width,
    /// Effects, tools, a command, or lines of `permissions.yaml`, as `width` says.
    pub entries: Vec<String>,
}

/// A grant on offer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proposal {
    pub grant: Grant,
    /// What else it would have matched.
    pub past: Past,
}

/// Calls of the past, of the kind that is asked about, that a grant would have answered.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Past {
    /// How many of them were looked at, each once; 0: none.
    pub of: usize,
    /// Those that would have passed by it.
    pub matched: usize,
    /// The newest few, each once.
    pub examples: Vec<String>,
}

/// A question for a person, as the modal and the inbox show it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Approval {
    pub id: ApprovalId,
    pub call_id: String,
    pub tool: String,
    pub intent: Intent,
    /// `ask` or `ask-always`, with reasons.
    pub verdict: Verdict,
    /// What it would touch, with counts and sizes; bounded work.
    pub targets: Vec<Target>,
    /// Lasting answers on offer, narrowest first within a scope; none when only this once can be allowed.
    pub proposals: Vec<Proposal>,
    /// What an interpreter would get and what does not stand in the line as it runs, in full.
    pub payloads: Vec<Payload>,
    /// Who asks and why.
    pub origin: ApprovalOrigin,
    /// What is not as it was when it was asked before, a sentence each; none the first time.
    pub changed: Vec<String>,
    /// Prompts of turns that would leave the conversation, the newest first.
    #[serde(default)]
    pub drops: Vec<String>,
    /// The edit history keeps what these files hold: `/rewind` brings them back.
    pub kept: bool,
    /// Milliseconds since the epoch.
    pub asked_at: i64,
}

/// Who asks, in which session, and why.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalOrigin {
    /// Id of the session, and what it is called.
    pub session: String,
    pub title: String,
    pub by: Speaker,
    /// The last words before the call, on one line.
    pub saying: String,
}

/// Whose work a question belongs to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", content = "data", rename_all = "snake_case")]
pub enum Speaker {
    /// The conversation itself.
    #[default]
    Main,
    /// An agent that it gave a task to; its question ends with the turn.
    Agent(String),
    /// Work that goes on whatever the conversation does.
    Background(String),
    /// A script of the conversation, whose calls ask one by one.
    Script,
    /// The person: a command after `!`.
    Person,
}

impl ApprovalOrigin {
    /// `the main agent: “start from a clean tree”`.
    pub fn words(&self) -> String {
        let who = match &self.by {
            Speaker::Main => "the main agent".to_owned(),
            Speaker::Script => "a script of the main agent".to_owned(),
            Speaker::Agent(name) => format!("the agent {name}"),
            Speaker::Background(name) => format!("the background task {name}"),
            Speaker::Person => return "you".to_owned(),
        };
        if self.saying.is_empty() { who } else { format!("{who}: “{}”", self.saying) }
    }
}

/// A text for an interpreter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Payload {
    /// The words of the line that it comes from.
    pub from: String,
    pub text: String,
    pub decoded: bool,
}

/// How a line that a person wrote instead would be judged, for the question whether to run it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Preview {
    pub line: String,
    pub verdict: Verdict,
    pub targets: Vec<Target>,
    pub payloads: Vec<Payload>,
}

/// Something a command would touch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Target {
    /// As typed or resolved, for the first column.
    pub name: String,
    /// Number of files; `None` when not counted.
    pub files: Option<u64>,
    /// Bytes; `None` when not measured.
    pub bytes: Option<u64>,
    /// The count stopped at a bound.
    pub at_least: bool,
    /// `ignored by git`, `outside this folder`, `does not exist`.
    pub note: String,
}

/// Counts up within a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ApprovalId(pub u64);
