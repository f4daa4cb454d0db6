//! What the turn machine is told and what it orders.

use crate::agent::event::TurnEnd;
use crate::llm::message::{Body, Image, Origin, ToolBody, ToolCall};
use crate::llm::{ErrorKind, Reply};
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
}

/// Facts for the machine.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// A prompt. `context` is what changes between turns.
    Submitted {
        text: String,
        images: Vec<Image>,
        context: String,
        origin: Origin,
    },
    Replied(Reply),
    CallFailed {
        kind: ErrorKind,
        message: String,
        retry_after: Option<Duration>,
        partial: Option<Box<Reply>>,
        /// 0 to 99: where in the jitter window to wait.
        dice: u8,
    },
    /// The wait is over or was skipped.
    WaitEnded,
    /// The person gave the wait up.
    WaitGivenUp,
    ToolFinished(ToolBody),
    /// A message for the next step boundary: of the person, or of the program (a process ended).
    Steered {
        text: String,
        origin: Origin,
    },
    /// The context was made smaller after an overflow (`false`: nothing was left to drop).
    Trimmed(bool),
    /// What the person said to a repeated call.
    GuardAnswered {
        go_on: bool,
    },
    Stopped,
}

/// Orders of the machine.
#[derive(Clone, Debug, PartialEq)]
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
    /// Asks whether a repeated call may go on; answers `GuardAnswered`.
    AskGuard {
        name: String,
        times: u32,
    },
    /// Stops the stream or the wait.
    AbortCall,
    /// Stops running calls; each still answers.
    AbortTools,
    Finish(TurnEnd),
}
