//! The turn machine: pure. Inputs are facts, actions are orders; the runner carries them out.
//!
//! A turn goes from a prompt to idle; a step is one model call inside it. This file decides what follows what: retries,
//! fallbacks, continuations, the step budget, the guard against loops, and that every call gets a result.

use super::event::TurnEnd;
use super::guard::LoopGuard;
use super::retry::{self, Verdict};
use crate::llm::message::{AssistantBody, Body, NoteKind, Origin, Outcome, StopReason, ToolBody, ToolCall};
use crate::llm::{ErrorKind, Reply};
use std::collections::VecDeque;
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
        images: Vec<crate::llm::message::Image>,
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

/// What the machine waits for.
#[derive(Clone, Debug, Default, PartialEq)]
enum State {
    #[default]
    Idle,
    Calling,
    Waiting,
    Trimming,
    /// Ids of calls without a result, and the calls of the step.
    Tools {
        open: Vec<String>,
        calls: Vec<ToolCall>,
    },
    Guarding,
}

/// One conversation's turns, one at a time.
#[derive(Clone, Debug)]
pub struct Turn {
    limits: Limits,
    state: State,
    step: u32,
    failures: u32,
    fallback: usize,
    /// Times an answer cut by the output limit, or by a broken stream, was continued in this turn.
    continuations: u32,
    trims: u32,
    empty_replies: u32,
    steers: VecDeque<(String, Origin)>,
    stopping: bool,
    /// The budget is used up: the call that is made now only sums up.
    closing: bool,
    guard: LoopGuard,
}

/// Continuations of one answer before the rest is given up (as Python Hermes has it).
const MAX_CONTINUATIONS: u32 = 4;
/// Prunings of the context in one turn (as Python Hermes has it).
const MAX_TRIMS: u32 = 3;

const CONTINUE_CUT: &str =
    "Your last message was cut off in transit. Continue exactly where it stopped, without repeating anything.";
const CONTINUE_LENGTH: &str =
    "Your last message reached the output limit. Continue exactly where it stopped, without repeating anything.";
const NUDGE_EMPTY: &str = "Your last message was empty. Answer the request, or say what you need.";
const SUM_UP: &str =
    "The step budget of this turn is used up. Call no more tools: sum up what is done, what is left and how to go on.";

impl Turn {
    /// An idle machine.
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            state: State::Idle,
            step: 0,
            failures: 0,
            fallback: 0,
            continuations: 0,
            trims: 0,
            empty_replies: 0,
            steers: VecDeque::new(),
            stopping: false,
            closing: false,
            guard: LoopGuard::default(),
        }
    }

    /// Whether a turn runs.
    pub fn is_running(&self) -> bool {
        self.state != State::Idle
    }

    /// Steps made in the running or last turn.
    pub fn steps(&self) -> u32 {
        self.step
    }

    /// Calls of the step that have no result yet.
    pub fn open_calls(&self) -> Vec<ToolCall> {
        match &self.state {
            State::Tools { open, calls } => calls.iter().filter(|c| open.contains(&c.id)).cloned().collect(),
            State::Idle | State::Calling | State::Waiting | State::Trimming | State::Guarding => Vec::new(),
        }
    }

    /// Changes the bounds; holds from the next decision.
    pub fn set_limits(&mut self, limits: Limits) {
        self.limits = limits;
    }

    /// Takes a fact, gives orders. Facts that do not fit the state (late ones) give none.
    pub fn on(&mut self, input: Input) -> Vec<Action> {
        match input {
            Input::Submitted { text, images, context, origin } => self.submitted(text, images, context, origin),
            Input::Replied(reply) if self.state == State::Calling => self.replied(reply),
            Input::CallFailed { kind, message, retry_after, partial, dice } if self.state == State::Calling => {
                self.failed(kind, message, retry_after, partial, dice)
            }
            Input::WaitEnded if self.state == State::Waiting => self.call(),
            Input::WaitGivenUp if self.state == State::Waiting => self.finish(TurnEnd::Stopped),
            Input::Trimmed(done) if self.state == State::Trimming => self.trimmed(done),
            Input::GuardAnswered { go_on } if self.state == State::Guarding => {
                self.guard.reset();
                if go_on && !self.stopping { self.next_step() } else { self.finish(TurnEnd::Stopped) }
            }
            Input::ToolFinished(body) => self.tool_finished(body),
            Input::Steered { text, origin } => self.steered(text, origin),
            Input::Stopped => self.stopped(),
            Input::Replied(_)
            | Input::CallFailed { .. }
            | Input::WaitEnded
            | Input::WaitGivenUp
            | Input::Trimmed(_)
            | Input::GuardAnswered { .. } => Vec::new(),
        }
    }

    fn submitted(
        &mut self,
        text: String,
        images: Vec<crate::llm::message::Image>,
        context: String,
        origin: Origin,
    ) -> Vec<Action> {
        if self.is_running() {
            return Vec::new();
        }
        *self = Self::new(self.limits);
        let mut actions = vec![Action::Append(Body::User { text, images, context, origin })];
        actions.extend(self.next_step());
        actions
    }

    /// One more step, if the budget allows.
    fn next_step(&mut self) -> Vec<Action> {
        let mut actions: Vec<Action> =
            self.steers.drain(..).map(|(text, origin)| Action::Append(user(text, origin))).collect();
        if self.step >= self.limits.steps && !self.closing {
            self.closing = true;
            actions.push(Action::Append(user(SUM_UP.into(), Origin::Program)));
        }
        self.step += 1;
        self.failures = 0;
        actions.extend(self.call());
        actions
    }

    fn call(&mut self) -> Vec<Action> {
        self.state = State::Calling;
        vec![Action::CallModel { step: self.step, fallback: self.fallback }]
    }

    fn replied(&mut self, reply: Reply) -> Vec<Action> {
        self.failures = 0;
        let cut = reply.stop == StopReason::Length;
        let empty = reply.text.trim().is_empty() && reply.calls.is_empty();
        let calls = reply.calls.clone();
        let filtered = reply.stop == StopReason::ContentFilter;
        let mut actions = Vec::new();
        if !(empty && reply.reasoning.is_empty()) {
            actions.push(Action::Append(assistant(reply)));
        }
        if self.stopping {
            actions.extend(unanswered(&calls, Outcome::Interrupted, "not run: the turn was stopped"));
            actions.extend(self.finish(TurnEnd::Stopped));
        } else if filtered {
            actions.extend(unanswered(
                &calls,
                Outcome::Refused,
                "not run: the provider's content filter stopped the reply",
            ));
            actions.extend(self.finish(TurnEnd::Provider(
                "the provider's content filter stopped the answer; rephrase the request or choose another model".into(),
            )));
        } else if self.closing {
            actions.extend(unanswered(&calls, Outcome::Denied, "not run: the step budget of this turn is used up"));
            actions.extend(self.finish(TurnEnd::Limit));
        } else if cut && !calls.is_empty() {
            actions.extend(unanswered(
                &calls,
                Outcome::Failed,
                "not run: the reply reached the output limit, so the arguments may be cut off; make smaller calls",
            ));
            actions.extend(self.continued(None));
        } else if cut {
            actions.extend(self.continued(Some(CONTINUE_LENGTH)));
        } else if !calls.is_empty() {
            self.continuations = 0;
            self.empty_replies = 0;
            self.state = State::Tools { open: calls.iter().map(|c| c.id.clone()).collect(), calls: calls.clone() };
            actions.push(Action::RunTools(calls));
        } else if empty && self.empty_replies < 2 {
            self.empty_replies += 1;
            actions.push(Action::ResetStream);
            if self.empty_replies == 2 {
                actions.push(Action::Append(user(NUDGE_EMPTY.into(), Origin::Program)));
            }
            actions.extend(self.next_step());
        } else if empty {
            actions.extend(self.finish(TurnEnd::Provider(
                "the model answered with nothing three times; try again or choose another model".into(),
            )));
        } else if self.steers.is_empty() {
            actions.extend(self.finish(TurnEnd::Completed));
        } else {
            actions.extend(self.next_step());
        }
        actions
    }

    /// Goes on after a cut answer, a bounded number of times.
    fn continued(&mut self, prompt: Option<&str>) -> Vec<Action> {
        self.continuations += 1;
        if self.continuations > MAX_CONTINUATIONS {
            return self.finish(TurnEnd::Provider(
                "the answer kept reaching the output limit; raise model.max_tokens or ask for less at once".into(),
            ));
        }
        let mut actions: Vec<Action> =
            prompt.map(|text| Action::Append(user(text.into(), Origin::Program))).into_iter().collect();
        actions.extend(self.next_step());
        actions
    }

    fn failed(
        &mut self,
        kind: ErrorKind,
        message: String,
        retry_after: Option<Duration>,
        partial: Option<Box<Reply>>,
        dice: u8,
    ) -> Vec<Action> {
        if self.stopping || kind == ErrorKind::Cancelled {
            let mut actions = keep_partial(partial, StopReason::Cancelled);
            actions.extend(self.finish(TurnEnd::Stopped));
            return actions;
        }
        // Text that had arrived stays; the next call continues it.
        let mut actions = keep_partial(partial, StopReason::Other("cut".into()));
        if actions.is_empty() {
            actions.push(Action::ResetStream);
        } else {
            actions.push(Action::Append(user(CONTINUE_CUT.into(), Origin::Program)));
        }
        self.failures += 1;
        match retry::decide(kind, self.failures, self.limits.retries, retry_after, dice) {
            Verdict::Wait(delay) => {
                self.state = State::Waiting;
                actions.push(Action::Wait { delay, reason: message, attempt: self.failures, of: self.limits.retries });
            }
            Verdict::Trim if self.trims < MAX_TRIMS => {
                self.trims += 1;
                self.state = State::Trimming;
                actions.push(Action::Trim);
            }
            Verdict::NextModel if self.fallback < self.limits.fallbacks => {
                self.fallback += 1;
                self.failures = 0;
                actions.push(Action::Append(Body::Note {
                    kind: NoteKind::Warning,
                    text: format!("{message}; going on with the next fallback model"),
                }));
                actions.extend(self.call());
            }
            Verdict::Trim | Verdict::NextModel | Verdict::GiveUp => {
                actions.extend(self.finish(TurnEnd::Provider(message)));
            }
        }
        actions
    }

    fn trimmed(&mut self, done: bool) -> Vec<Action> {
        if self.stopping {
            return self.finish(TurnEnd::Stopped);
        }
        if done {
            return self.call();
        }
        self.finish(TurnEnd::Provider(
            "the conversation no longer fits the model's window; start a new session (/new) or choose a model with a larger one"
                .into(),
        ))
    }

    fn tool_finished(&mut self, body: ToolBody) -> Vec<Action> {
        let State::Tools { open, calls } = &mut self.state else { return Vec::new() };
        let Some(at) = open.iter().position(|id| *id == body.call_id) else { return Vec::new() };
        open.remove(at);
        let args = calls.iter().find(|c| c.id == body.call_id).map(|c| c.args.as_str()).unwrap_or_default();
        self.guard.saw(&body.name, args, &body.content);
        let all = open.is_empty();
        let mut actions = vec![Action::Append(Body::Tool(body))];
        if !all {
            return actions;
        }
        if self.stopping {
            actions.extend(self.finish(TurnEnd::Stopped));
        } else if let Some((name, times)) = self.guard.repeated(self.limits.repeats) {
            self.state = State::Guarding;
            actions.push(Action::AskGuard { name, times });
        } else {
            actions.extend(self.next_step());
        }
        actions
    }

    fn steered(&mut self, text: String, origin: Origin) -> Vec<Action> {
        if self.is_running() {
            self.steers.push_back((text, origin));
        }
        Vec::new()
    }

    fn stopped(&mut self) -> Vec<Action> {
        self.stopping = true;
        match self.state {
            State::Idle => Vec::new(),
            State::Calling => vec![Action::AbortCall],
            State::Waiting | State::Trimming | State::Guarding => {
                let mut actions = vec![Action::AbortCall];
                actions.extend(self.finish(TurnEnd::Stopped));
                actions
            }
            State::Tools { .. } => vec![Action::AbortTools],
        }
    }

    fn finish(&mut self, end: TurnEnd) -> Vec<Action> {
        self.state = State::Idle;
        // A steer that came too late is not lost: the runner starts a turn with it.
        let mut actions: Vec<Action> = match &end {
            TurnEnd::Stopped => {
                vec![Action::Append(Body::Note { kind: NoteKind::Interrupted, text: "stopped".into() })]
            }
            TurnEnd::Provider(text) | TurnEnd::Error(text) => {
                vec![Action::Append(Body::Note { kind: NoteKind::Error, text: text.clone() })]
            }
            TurnEnd::Limit => vec![Action::Append(Body::Note {
                kind: NoteKind::Warning,
                text: format!("the budget of {} steps is used up; say “continue” to go on", self.limits.steps),
            })],
            TurnEnd::Completed => Vec::new(),
        };
        actions.push(Action::Finish(end));
        actions
    }

    /// Steers that no step took.
    pub fn take_steers(&mut self) -> Vec<(String, Origin)> {
        self.steers.drain(..).collect()
    }
}

fn user(text: String, origin: Origin) -> Body {
    Body::User { text, images: Vec::new(), context: String::new(), origin }
}

fn assistant(reply: Reply) -> Body {
    Body::Assistant(AssistantBody {
        text: reply.text,
        reasoning: reply.reasoning,
        calls: reply.calls,
        usage: reply.usage,
        model: reply.model,
        stop: reply.stop,
        opaque: reply.opaque,
    })
}

/// The text of a broken reply as an item; its calls are dropped, their arguments can't be trusted.
fn keep_partial(partial: Option<Box<Reply>>, stop: StopReason) -> Vec<Action> {
    match partial {
        Some(reply) if !reply.text.trim().is_empty() => {
            vec![Action::Append(assistant(Reply { calls: Vec::new(), opaque: Vec::new(), stop, ..*reply }))]
        }
        _ => Vec::new(),
    }
}

/// Results for calls that will not run: every call gets one.
fn unanswered(calls: &[ToolCall], outcome: Outcome, why: &str) -> Vec<Action> {
    calls
        .iter()
        .map(|call| {
            Action::Append(Body::Tool(ToolBody {
                call_id: call.id.clone(),
                name: call.name.clone(),
                content: serde_json::json!({ "error": why }).to_string(),
                outcome,
                ..ToolBody::default()
            }))
        })
        .collect()
}

#[cfg(test)]
mod tests;
