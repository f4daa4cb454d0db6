//! The turn machine: pure. Inputs are facts, actions are orders; the runner carries them out.
//!
//! A turn goes from a prompt to idle; a step is one model call inside it. This file decides what follows what: retries,
//! fallbacks, continuations, the step budget, the guard against loops, and that every call gets a result.

mod bodies;
mod facts;
pub(super) mod goal;
mod reply;

pub use facts::{Action, Input, Limits, Said};

use super::guard::LoopGuard;
use crate::protocol::{AssistantBody, Body, NoteKind, StopReason, ToolBody, ToolCall, TurnEnd};
use crate::tools::builtin::read_file;
use bodies::{user, with_context};
use std::collections::VecDeque;

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
    /// The budget is used up: why, and whether an answer was cut off by that.
    Broke {
        why: String,
        cut: bool,
    },
}

/// One conversation's turns, one at a time.
#[derive(Clone, Debug)]
pub struct Turn {
    limits: Limits,
    state: State,
    step: u32,
    failures: u32,
    /// Times another key of the model's pool was taken in this step.
    switches: usize,
    fallback: usize,
    /// Times an answer cut by the output limit, or by a broken stream, was continued in this turn.
    continuations: u32,
    trims: u32,
    empty_replies: u32,
    steers: VecDeque<Said>,
    stopping: bool,
    /// The turn is a command of the person and ends with it.
    own: bool,
    /// The budget is used up: the call that is made now only sums up.
    closing: bool,
    /// What of the session is used up, in words: no call is made any more.
    spent: Option<String>,
    /// Why it was stopped, where there is more to say than that.
    given_up: Option<String>,
    guard: LoopGuard,
}

const SUM_UP: &str = "The step budget of this turn is used up. Call no more tools: summarize what is done, what is left and how to continue.";

impl Turn {
    /// An idle machine.
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            state: State::Idle,
            step: 0,
            failures: 0,
            switches: 0,
            fallback: 0,
            continuations: 0,
            trims: 0,
            empty_replies: 0,
            steers: VecDeque::new(),
            stopping: false,
            own: false,
            closing: false,
            spent: None,
            given_up: None,
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
            State::Idle | State::Calling | State::Waiting | State::Trimming | State::Guarding | State::Broke { .. } => {
                Vec::new()
            }
        }
    }

    /// Changes the bounds; holds from the next decision.
    pub fn set_limits(&mut self, limits: Limits) {
        self.limits = limits;
    }

    /// What of the session is used up now; holds from the next step.
    pub fn set_spent(&mut self, spent: Option<String>) {
        self.spent = spent;
    }

    /// Takes a fact, gives orders. Facts that do not fit the state (late ones) give none.
    pub fn on(&mut self, input: Input) -> Vec<Action> {
        match input {
            Input::Submitted { said, context } => self.submitted(said, context),
            Input::Ran { said, context, call } => self.ran(said, context, call),
            Input::Primed { said, context, calls } => self.primed(said, context, calls),
            Input::Replied(reply) if self.state == State::Calling => self.replied(reply),
            Input::CallFailed { failure, message, partial } if self.state == State::Calling => {
                self.failed(&failure, message, partial)
            }
            Input::Spent { why, partial } if self.state == State::Calling => self.broke(why, partial),
            Input::BudgetAnswered { go_on } => self.budget_answered(go_on),
            Input::WaitEnded if self.state == State::Waiting => self.call(),
            Input::WaitGivenUp if self.state == State::Waiting => self.finish(TurnEnd::Stopped),
            Input::Trimmed(done) if self.state == State::Trimming => self.trimmed(done),
            Input::GoOn if self.state == State::Guarding && !self.stopping => {
                self.guard.reset();
                self.next_step()
            }
            Input::GoOn if self.state == State::Guarding => self.finish(TurnEnd::Stopped),
            Input::GivenUp(why) if self.state == State::Guarding => {
                self.given_up = why;
                self.finish(TurnEnd::Stopped)
            }
            Input::ToolFinished { body, repeats } => self.tool_finished(body, repeats),
            Input::Steered(said) => self.steered(said),
            Input::Stopped => self.stopped(),
            Input::Replied(_)
            | Input::CallFailed { .. }
            | Input::Spent { .. }
            | Input::WaitEnded
            | Input::WaitGivenUp
            | Input::Trimmed(_)
            | Input::GoOn
            | Input::GivenUp(_) => Vec::new(),
        }
    }

    fn submitted(&mut self, said: Said, context: String) -> Vec<Action> {
        if self.is_running() {
            return Vec::new();
        }
        *self = Self { spent: self.spent.take(), ..Self::new(self.limits) };
        let mut actions = vec![Action::Append(with_context(said, context))];
        actions.extend(self.next_step());
        actions
    }

    /// The model sees the line as said and the call as made, as if it had been asked to run it.
    fn ran(&mut self, said: Said, context: String, call: ToolCall) -> Vec<Action> {
        let actions = self.primed(said, context, vec![call]);
        self.own |= !actions.is_empty();
        actions
    }

    /// Begins with calls as if the model had made them.
    fn primed(&mut self, said: Said, context: String, calls: Vec<ToolCall>) -> Vec<Action> {
        if self.is_running() {
            return Vec::new();
        }
        *self = Self { spent: self.spent.take(), ..Self::new(self.limits) };
        self.state = State::Tools { open: calls.iter().map(|call| call.id.clone()).collect(), calls: calls.clone() };
        let asked = AssistantBody { calls: calls.clone(), stop: StopReason::ToolCalls, ..AssistantBody::default() };
        vec![
            Action::Append(with_context(said, context)),
            Action::Append(Body::Assistant(asked)),
            Action::RunTools(calls),
        ]
    }

    /// One more step, if the budget allows.
    fn next_step(&mut self) -> Vec<Action> {
        let mut actions: Vec<Action> = self.steers.drain(..).map(|said| Action::Append(user(said))).collect();
        if self.spent.is_some() {
            actions.extend(self.finish(TurnEnd::Limit));
            return actions;
        }
        if self.step >= self.limits.steps && !self.closing {
            self.closing = true;
            actions.push(Action::Append(user(Said::program(
                SUM_UP,
                "step budget used up, asked the model for a summary",
            ))));
        }
        self.step += 1;
        self.failures = 0;
        self.switches = 0;
        actions.extend(self.call());
        actions
    }

    fn call(&mut self) -> Vec<Action> {
        self.state = State::Calling;
        vec![Action::CallModel { step: self.step, fallback: self.fallback }]
    }

    fn tool_finished(&mut self, body: ToolBody, repeats: bool) -> Vec<Action> {
        let State::Tools { open, calls } = &mut self.state else { return Vec::new() };
        let Some(at) = open.iter().position(|id| *id == body.call_id) else { return Vec::new() };
        open.remove(at);
        let place = calls.iter().position(|c| c.id == body.call_id).unwrap_or_default();
        let args = calls.get(place).map(|c| c.args.as_str()).unwrap_or_default();
        if repeats {
            self.guard.saw_other(place);
        } else if body.name == read_file::NAME && read_file::is_known(&body.content) {
            self.guard.saw_again(place, &body.name, args);
        } else {
            self.guard.saw(place, &body.name, args, &body.content);
        }
        let all = open.is_empty();
        let mut actions = vec![Action::Append(Body::Tool(body))];
        if !all {
            return actions;
        }
        self.guard.step_ended();
        if self.stopping {
            actions.extend(self.finish(TurnEnd::Stopped));
        } else if self.own {
            actions.extend(self.finish(TurnEnd::Completed));
        } else if let Some(standstill) = self.guard.standstill(self.limits.repeats, self.limits.stale) {
            self.state = State::Guarding;
            actions.push(Action::AskGuard(standstill));
        } else {
            actions.extend(self.next_step());
        }
        actions
    }

    fn steered(&mut self, said: Said) -> Vec<Action> {
        if self.is_running() {
            self.steers.push_back(said);
        }
        Vec::new()
    }

    fn stopped(&mut self) -> Vec<Action> {
        self.stopping = true;
        match self.state {
            State::Idle => Vec::new(),
            State::Calling => vec![Action::AbortCall],
            State::Waiting | State::Trimming | State::Guarding | State::Broke { .. } => {
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
                let text = self.given_up.take().unwrap_or_else(|| "stopped".into());
                vec![Action::Append(Body::Note { kind: NoteKind::Interrupted, text })]
            }
            TurnEnd::Provider(text) | TurnEnd::Error(text) => {
                vec![Action::Append(Body::Note { kind: NoteKind::Error, text: text.clone() })]
            }
            TurnEnd::Limit => vec![Action::Append(Body::Note {
                kind: NoteKind::Warning,
                text: match &self.spent {
                    Some(spent) => spent.clone(),
                    None => {
                        format!("the budget of {} steps is used up; say “continue” to keep going", self.limits.steps)
                    }
                },
            })],
            TurnEnd::Completed => Vec::new(),
        };
        actions.push(Action::Finish(end));
        actions
    }

    /// Steers that no step took.
    pub fn take_steers(&mut self) -> Vec<Said> {
        self.steers.drain(..).collect()
    }
}

#[cfg(test)]
mod tests;
