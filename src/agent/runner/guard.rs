//! The bounds of a turn, and work that does not get on: a person says whether it goes on. A child asks in the inbox of its
//! root.

use super::Runner;
use super::rest::Aside;
use crate::agent::guard::Standstill;
use crate::agent::spec::SessionSpec;
use crate::agent::turn::{Input, Limits, Said};
use crate::protocol::{AgentEvent, Body, Level, Question, QuestionId};
use crate::text::format::plural;
use crate::tools::spec::AgentPort as _;
use tokio_util::task::AbortOnDropHandle;

/// Identical calls with identical results in a row before a person is asked (Python Hermes warns from two on).
const REPEATS: u32 = 4;
/// The same for a child, whom nobody watches, and its steps in a row that bring nothing new.
const REPEATS_OF_CHILD: u32 = 3;
const STALE_OF_CHILD: u32 = 3;
/// The answer that lets it go on.
pub(super) const GO_ON: &str = "Continue";
/// The answers that end it.
const STOP_TURN: &str = "Stop the turn";
const STOP_IT: &str = "Stop it";
/// The id of a session's own question; tools count up from one.
const QUESTION: QuestionId = QuestionId(0);
/// Characters of the target of a call in the question.
const TARGET: usize = 80;

/// The bounds of a turn.
pub(super) fn limits(config: &crate::config::Config, spec: &SessionSpec, fallbacks: usize) -> Limits {
    let is_child = spec.child.is_some();
    Limits {
        steps: spec.limits.steps.unwrap_or(config.agent.max_turns).max(1),
        retries: config.agent.api_max_retries,
        fallbacks,
        repeats: if is_child { REPEATS_OF_CHILD } else { REPEATS },
        stale: is_child.then_some(STALE_OF_CHILD),
        one_call: false,
    }
}

impl Runner {
    /// The bounds of its turns, as they are now.
    pub(super) fn limits(&self) -> Limits {
        let bounds = limits(&self.deps.loaded.config, &self.spec, self.deps.models.fallbacks());
        Limits { one_call: self.is_small(), ..bounds }
    }

    /// Asks whether work that does not get on may go on.
    pub(super) async fn ask_guard(&mut self, standstill: Standstill) -> Option<Input> {
        if let Some(child) = self.spec.child.as_ref().map(|child| child.name.clone()) {
            return self.ask_for_child(&child, &standstill);
        }
        let text = match &standstill {
            Standstill::Round(round) => {
                let what = match round.names.as_slice() {
                    [name] => format!("made the same {name} call"),
                    names => format!("made the same {} calls ({})", names.len(), names.join(", ")),
                };
                format!("The model {what} {} times and got the same result each time.", round.times)
            }
            Standstill::NoNews(steps) => format!("The last {steps} steps brought nothing new."),
        };
        if !self.spec.answers.is_person() {
            self.notice(Level::Warning, format!("{text} The turn is stopped.")).await;
            return Some(Input::GivenUp(None));
        }
        self.guard_question = Some(QUESTION);
        let question = Question {
            id: QUESTION,
            call_id: String::new(),
            text,
            choices: vec![GO_ON.into(), STOP_TURN.into()],
            allow_freetext: false,
            own_answer: String::new(),
        };
        self.out.send(AgentEvent::Asked(question)).await;
        None
    }

    /// Only this child waits for the answer.
    fn ask_for_child(&mut self, child: &str, standstill: &Standstill) -> Option<Input> {
        let why = format!("it repeats itself: {}", self.repeats(standstill));
        if !self.handle.has_person() {
            return Some(Input::GivenUp(Some(format!("{why}; nobody could be asked whether to go on"))));
        }
        let question = Question {
            id: QUESTION,
            call_id: String::new(),
            text: format!(
                "{child} repeats itself: {}. Go on, stop it, or tell it what to do.",
                self.repeats(standstill)
            ),
            choices: vec![GO_ON.into(), STOP_IT.into()],
            allow_freetext: true,
            own_answer: String::new(),
        };
        let (asking, aside) = (self.handle.ask(question), self.aside.tx.clone());
        self.guard_asks = Some(AbortOnDropHandle::new(tokio::spawn(async move {
            let answer = asking.await.unwrap_or_else(|_| STOP_IT.into());
            // The session may be over.
            let _ = aside.send(Aside::Guarded { answer, why }).await;
        })));
        None
    }

    /// What a person said to a child that repeats itself.
    pub(super) async fn guard_answered(&mut self, answer: String, why: String) {
        if self.guard_asks.take().is_none() {
            return;
        }
        let input = match answer.trim() {
            GO_ON => Input::GoOn,
            STOP_IT => Input::GivenUp(Some(format!("stopped by the user, since {why}"))),
            words => {
                self.gate.heard_anew();
                self.gate.person_said(words);
                self.feed(Input::Steered(Said::steer(words, Vec::new()))).await;
                Input::GoOn
            }
        };
        self.feed(input).await;
    }

    /// Nobody waits for the answer any more.
    pub(super) async fn unask_guard(&mut self) {
        self.guard_asks = None;
        if self.guard_question.take().is_some() {
            self.out.send(AgentEvent::QuestionClosed(QUESTION)).await;
        }
    }

    /// `read_file a.txt gave the same result 3 times`.
    fn repeats(&self, standstill: &Standstill) -> String {
        match standstill {
            Standstill::Round(round) => {
                let calls = self.session.context.items().iter().rev().filter_map(|item| match &item.body {
                    Body::Tool(tool) => Some((&tool.name, &tool.view.target)),
                    Body::User { .. } | Body::Assistant(_) | Body::Summary(_) | Body::Note { .. } => None,
                });
                let mut said: Vec<String> = calls
                    .take(round.names.len())
                    .map(|(name, target)| {
                        let target: String = target.chars().take(TARGET).collect();
                        format!("{name} {target}").trim_end().to_owned()
                    })
                    .collect();
                said.reverse();
                format!("{} gave the same result {} times", said.join(", "), round.times)
            }
            Standstill::NoNews(steps) => {
                let steps = plural(u64::from(*steps), "step", "steps");
                format!("the last {steps} made only calls that it had made before, with the same results")
            }
        }
    }
}
