//! What follows a model call: its reply, its failure, a context that was made smaller.

use super::bodies::{assistant, keep_partial, unanswered, user};
use super::{Action, Said, State, Turn};
use crate::agent::retry::{self, Failure, Verdict};
use crate::llm::{ErrorKind, Reply};
use crate::protocol::{Body, NoteKind, Outcome, StopReason, TurnEnd};

/// Continuations of one answer before the rest is given up (as Python Hermes has it).
pub(super) const MAX_CONTINUATIONS: u32 = 4;
/// Prunings of the context in one turn (as Python Hermes has it).
const MAX_TRIMS: u32 = 3;

pub(super) const CONTINUE_CUT: &str =
    "Your last message was cut off in transit. Continue exactly where it stopped, without repeating anything.";
const CONTINUE_LENGTH: &str =
    "Your last message reached the output limit. Continue exactly where it stopped, without repeating anything.";
const NUDGE_EMPTY: &str = "Your last message was empty. Answer the request, or say what you need.";

impl Turn {
    pub(super) fn replied(&mut self, mut reply: Reply) -> Vec<Action> {
        self.failures = 0;
        if self.limits.one_call {
            reply.calls.truncate(1);
        }
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
                "the provider's content filter stopped the answer; rephrase the prompt or choose another model".into(),
            )));
        } else if self.closing {
            actions.extend(unanswered(&calls, Outcome::Denied, "not run: this turn's step budget is used up"));
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
                actions.push(Action::Append(user(Said::program(NUDGE_EMPTY, "empty answer, asked the model again"))));
            }
            actions.extend(self.next_step());
        } else if empty {
            actions.extend(self.finish(TurnEnd::Provider(
                "the model gave three empty answers; try again or choose another model".into(),
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
                "the answer kept hitting the output limit; raise model.max_tokens or ask for less at once".into(),
            ));
        }
        let mut actions: Vec<Action> = prompt
            .map(|text| Action::Append(user(Said::program(text, "output limit reached, continued"))))
            .into_iter()
            .collect();
        actions.extend(self.next_step());
        actions
    }

    pub(super) fn failed(&mut self, failure: &Failure, message: String, partial: Option<Box<Reply>>) -> Vec<Action> {
        if self.stopping || failure.kind == ErrorKind::Cancelled {
            let mut actions = keep_partial(partial, StopReason::Cancelled);
            actions.extend(self.finish(TurnEnd::Stopped));
            return actions;
        }
        // Text that had arrived stays; the next call continues it.
        let mut actions = keep_partial(partial, StopReason::Other("cut".into()));
        if actions.is_empty() {
            actions.push(Action::ResetStream);
        } else {
            actions.push(Action::Append(user(Said::program(CONTINUE_CUT, "connection lost, continued"))));
        }
        self.failures += 1;
        match retry::decide(failure, self.failures, self.limits.retries, self.switches) {
            Verdict::Wait(delay) => {
                self.state = State::Waiting;
                actions.push(Action::Wait { delay, reason: message, attempt: self.failures, of: self.limits.retries });
            }
            Verdict::NextKey { other } => {
                // Each key has all tries, and its turn once in a step.
                self.failures = 0;
                self.switches += usize::from(other);
                let kind = NoteKind::Info;
                actions.push(Action::Append(Body::Note { kind, text: format!("{message}; trying the next key") }));
                actions.extend(self.call());
            }
            Verdict::Trim if self.trims < MAX_TRIMS => {
                self.trims += 1;
                self.state = State::Trimming;
                actions.push(Action::Trim);
            }
            Verdict::NextModel if self.fallback < self.limits.fallbacks => {
                self.fallback += 1;
                self.failures = 0;
                self.switches = 0;
                actions.push(Action::Append(Body::Note {
                    kind: NoteKind::Warning,
                    text: format!("{message}; trying the next fallback model"),
                }));
                actions.extend(self.call());
            }
            Verdict::Trim | Verdict::NextModel | Verdict::GiveUp => {
                actions.extend(self.finish(TurnEnd::Provider(message)));
            }
        }
        actions
    }

    /// No call is made before a person raises the budget. What had arrived stays.
    pub(super) fn broke(&mut self, why: String, partial: Option<Box<Reply>>) -> Vec<Action> {
        let mut actions = keep_partial(partial, StopReason::Other("cut".into()));
        let cut = !actions.is_empty();
        if self.stopping {
            actions.extend(self.finish(TurnEnd::Stopped));
            return actions;
        }
        self.state = State::Broke { why, cut };
        actions.extend([Action::ResetStream, Action::AskBudget]);
        actions
    }

    pub(super) fn budget_answered(&mut self, go_on: bool) -> Vec<Action> {
        let State::Broke { why, cut } = &self.state else { return Vec::new() };
        if !go_on || self.stopping {
            self.spent = Some(why.clone());
            return self.finish(TurnEnd::Limit);
        }
        let asks = |said| Action::Append(user(said));
        let mut actions = Vec::new();
        if *cut {
            actions.push(asks(Said::program(CONTINUE_CUT, "budget raised, continued")));
        }
        actions.extend(self.call());
        actions
    }

    pub(super) fn trimmed(&mut self, done: bool) -> Vec<Action> {
        if self.stopping {
            return self.finish(TurnEnd::Stopped);
        }
        if done {
            return self.call();
        }
        self.finish(TurnEnd::Provider(
            "the conversation no longer fits the model's window; compact it (/compact), start a new session (/new), or choose a model with a larger window (/model)"
                .into(),
        ))
    }
}
