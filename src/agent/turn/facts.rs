//! What the turn machine is told and what it orders.

use crate::agent::guard::Standstill;
use crate::agent::retry::Failure;
use crate::llm::Reply;
use crate::protocol::{Body, Image, Origin, ToolBody, ToolCall, TurnEnd};
use std::time::Duration;

/// Bounds of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Model calls a turn may make.
    pub steps: u32,
    /// Tries after the first failure of one call, per model.
    pub retries: u32,
    /// Models after the first that may be tried.
    pub fallbacks: usize,
    /// Identical calls with identical results, one after another, before a person is asked.
    pub repeats: u32,
    /// Steps in a row that bring nothing new, before a person is asked; `None`: no matter how many.
    pub stale: Option<u32>,
    /// A reply's first call alone is taken: a small model loses count of several.
    pub one_call: bool,
}

/// A message for the model, and who speaks.
#[derive(Clone, Debug, PartialEq)]
pub struct Said {
    pub text: String,
    pub images: Vec<Image>,
    pub origin: Origin,
    /// One line that stands for it on the screen; empty for what a person said.
    pub gist: String,
    /// Another agent says it in the person's place: what it names, no person named.
    pub by_agent: bool,
}

impl Said {
    /// What the person said.
    pub fn person(text: impl Into<String>, images: Vec<Image>) -> Self {
        Self { text: text.into(), images, origin: Origin::Person, gist: String::new(), by_agent: false }
    }

    /// What another agent says in the person's place.
    pub fn agent(text: impl Into<String>) -> Self {
        Self { by_agent: true, ..Self::person(text, Vec::new()) }
    }

    /// What the person said to a running turn.
    pub fn steer(text: impl Into<String>, images: Vec<Image>) -> Self {
        Self { origin: Origin::Steer, ..Self::person(text, images) }
    }

    /// The shell line of a prompt that is one: `!ls` of a person.
    pub fn command(&self) -> Option<&str> {
        let line = self.text.trim().strip_prefix('!')?.trim();
        (self.origin == Origin::Person && !self.by_agent && self.images.is_empty() && !line.is_empty()).then_some(line)
    }

    /// What the program tells the model by itself.
    pub fn program(text: impl Into<String>, gist: impl Into<String>) -> Self {
        Self { origin: Origin::Program, gist: gist.into(), ..Self::person(text, Vec::new()) }
    }
}

/// Facts for the machine.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// A prompt. `context` is what changes between turns.
    Submitted {
        said: Said,
        context: String,
    },
    /// A shell line of the person instead of a prompt: the call that runs it is the whole turn.
    Ran {
        said: Said,
        context: String,
        call: ToolCall,
    },
    /// A prompt with calls that the model would have made first: what it names is read for it.
    Primed {
        said: Said,
        context: String,
        calls: Vec<ToolCall>,
    },
    Replied(Reply),
    CallFailed {
        failure: Failure,
        message: String,
        partial: Option<Box<Reply>>,
    },
    /// The wait is over or was skipped.
    WaitEnded,
    /// The person gave the wait up.
    WaitGivenUp,
    /// A call has its result. `repeats`: its tool is called again and again by design.
    ToolFinished {
        body: ToolBody,
        repeats: bool,
    },
    /// A message for the next step boundary: of the person, or of the program (a process ended).
    Steered(Said),
    /// The budget allows no call, or ended the one that ran; says why, and what had arrived.
    Spent {
        why: String,
        partial: Option<Box<Reply>>,
    },
    /// What a person said to a budget that is used up: it has room again, or the turn ends.
    BudgetAnswered {
        go_on: bool,
    },
    /// The context was made smaller after an overflow (`false`: nothing was left to drop).
    Trimmed(bool),
    /// Work that does not get on may go on.
    GoOn,
    /// It ends; says why, where more is to be said than that it was stopped.
    GivenUp(Option<String>),
    Stopped,
}

/// Orders of the machine.
#[derive(Clone, Debug, PartialEq)]
#[allow(clippy::large_enum_variant, reason = "a few a step, carried out at once")]
pub enum Action {
    /// Makes it durable and shows it.
    Append(Body),
    /// Calls the model: 0 is the chosen one, n the n-th fallback.
    CallModel {
        step: u32,
        fallback: usize,
    },
    /// What was streamed so far will not become an item.
    ResetStream,
    /// Runs these calls of one step; each answers with `ToolFinished`.
    RunTools(Vec<ToolCall>),
    /// Waits before the next try; ends with `WaitEnded` or `WaitGivenUp`.
    Wait {
        delay: Duration,
        reason: String,
        attempt: u32,
        of: u32,
    },
    /// Makes the context smaller; answers `Trimmed`.
    Trim,
    /// Asks whether work that does not get on may go on; answers `GoOn` or `GivenUp`.
    AskGuard(Standstill),
    /// Asks whether the budget is raised; answers `BudgetAnswered`.
    AskBudget,
    /// Stops the stream or the wait.
    AbortCall,
    /// Stops running calls; each still answers.
    AbortTools,
    Finish(TurnEnd),
}
