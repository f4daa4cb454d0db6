//! The session's goal: set by a person, judged after each turn, and what follows.

use super::Runner;
use super::rest::Aside;
use crate::agent::compaction::transcript;
use crate::agent::turn::Said;
use crate::agent::turn::goal::{self, GOAL, Next, Verdict};
use crate::llm::message::Message;
use crate::llm::{Effort, Provider, Request};
use crate::protocol::{
    AgentEvent, Body, Goal, GoalOrder, GoalState, Item, ItemId, Level, NoteKind, Outcome, ToolBody, ToolCall, TurnEnd,
};
use crate::store::Spent;
use crate::tools::builtin::terminal;
use crate::tools::gate::Gate;
use crate::tools::spec::ToolCtx;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// Time for a judge.
const PATIENCE: Duration = Duration::from_secs(90);
/// Tokens of its answer; some models think first.
const ANSWER: u32 = 1_200;
/// Characters of the conversation that it reads.
const READ: usize = 16_000;
/// Characters of what a check that failed said, for the model.
const OUTPUT: usize = 1_500;

impl Runner {
    /// A person sets the goal, or says what becomes of it.
    pub(super) async fn goal_order(&mut self, order: GoalOrder) {
        match order {
            GoalOrder::Set(text) => match goal::read(&text) {
                Ok(goal) => {
                    let first = goal::begin(&goal);
                    self.set_goal(Some(goal)).await;
                    self.take_up(first, false).await;
                }
                Err(why) => self.notice(Level::Warning, why).await,
            },
            GoalOrder::Resume => {
                let Some(mut goal) = self.goal.clone() else {
                    return self.notice(Level::Info, "there is no goal; /goal TEXT sets one").await;
                };
                (goal.state, goal.stuck) = (GoalState::Working, 0);
                let words = format!("[Go on towards the goal: {}]", goal::begin(&goal));
                self.set_goal(Some(goal)).await;
                self.take_up(words, true).await;
            }
            GoalOrder::Pause => self.pause_goal("you paused it").await,
            GoalOrder::Clear => self.set_goal(None).await,
        }
    }

    /// A turn towards it; one that runs is judged at its end.
    async fn take_up(&mut self, words: String, by_program: bool) {
        if self.turn.is_running() {
            return;
        }
        let said = if by_program {
            Said::program(words, "going on towards the goal")
        } else {
            Said::person(words, Vec::new())
        };
        self.submit(said).await;
    }

    pub(super) async fn set_goal(&mut self, goal: Option<Goal>) {
        self.goal = goal;
        self.judging.take();
        self.create_once().await;
        self.keep(GOAL, serde_json::to_value(&self.goal).unwrap_or_default()).await;
        self.out.send(AgentEvent::GoalChanged(self.goal.clone())).await;
    }

    /// It waits for a person.
    pub(super) async fn pause_goal(&mut self, why: &str) {
        let Some(goal) = self.goal.clone().filter(|goal| goal.state == GoalState::Working) else { return };
        self.set_goal(Some(Goal { state: GoalState::Paused, why: why.to_owned(), ..goal })).await;
    }

    /// A resumed session goes on by a person's word only.
    pub(super) async fn restore_goal(&mut self, stored: Option<serde_json::Value>) {
        let Some(mut goal) = stored.and_then(|stored| serde_json::from_value::<Option<Goal>>(stored).ok()).flatten()
        else {
            return;
        };
        if goal.state == GoalState::Working {
            (goal.state, goal.why) = (GoalState::Paused, "the session was closed; /goal resume goes on".into());
        }
        self.goal = Some(goal);
        self.out.send(AgentEvent::GoalChanged(self.goal.clone())).await;
    }

    /// At the end of a turn: somebody judges.
    pub(super) async fn judge_goal(&mut self, end: &TurnEnd) {
        let Some(goal) = self.goal.clone().filter(|goal| goal.state == GoalState::Working) else { return };
        match end {
            TurnEnd::Completed => {}
            TurnEnd::Stopped => return self.pause_goal("the turn was stopped; /goal resume goes on").await,
            TurnEnd::Limit => return self.pause_goal("a limit of the turn was reached; /goal resume goes on").await,
            TurnEnd::Provider(why) | TurnEnd::Error(why) => return self.pause_goal(&why.clone()).await,
        }
        self.out.send(AgentEvent::GoalChanged(Some(Goal { judging: true, ..goal.clone() }))).await;
        let (cancel, aside) = (CancellationToken::new(), self.aside.tx.clone());
        self.judging = Some(cancel.clone().drop_guard());
        if !goal.checks.is_empty() {
            let calls: Vec<(ToolCall, ToolCtx)> =
                goal.checks.iter().enumerate().map(|(at, check)| self.check(at, check, &cancel)).collect();
            let gate = Arc::clone(&self.gate);
            tokio::spawn(async move {
                let verdict = checked(&gate, calls).await;
                send(&aside, &cancel, verdict, Vec::new()).await;
            });
            return;
        }
        let provider = match self.deps.models.teller(self.session.choice.as_deref()) {
            Some(provider) => Ok(provider),
            None => self.session.provider(&self.deps.models, 0),
        };
        let provider = match provider {
            Ok(provider) => provider,
            Err(error) => return self.pause_goal(&error.to_string()).await,
        };
        let question = question(&goal, self.session.context.items());
        tokio::spawn(async move {
            let (mut verdict, mut spent) = asked(&provider, &question, &cancel).await;
            // Small models forget the form once in a while.
            if matches!(verdict, Verdict::None(_)) && !cancel.is_cancelled() {
                let more;
                (verdict, more) = asked(&provider, &question, &cancel).await;
                spent.extend(more);
            }
            send(&aside, &cancel, verdict, spent).await;
        });
    }

    /// A check as a call, which passes the gate like any other.
    fn check(&self, at: usize, check: &str, cancel: &CancellationToken) -> (ToolCall, ToolCtx) {
        let id = format!("goal_{}_{at}", self.session.next_item);
        let args = serde_json::json!({ "command": check }).to_string();
        let call = ToolCall { id, name: terminal::NAME.into(), args, ..ToolCall::default() };
        let ctx = self.call_ctx(&call, cancel);
        (call, ctx)
    }

    /// The judge has spoken.
    pub(super) async fn goal_judged(&mut self, verdict: Verdict, spent: Vec<Spent>) {
        for spent in spent {
            self.paid_aside(Some(spent)).await;
        }
        self.judging.take();
        let Some(mut goal) = self.goal.clone().filter(|goal| goal.state == GoalState::Working) else { return };
        // Somebody began another turn meanwhile: that is judged.
        if self.turn.is_running() || self.leaving {
            return;
        }
        let next = goal::judged(&mut goal, verdict);
        let said = match goal.state {
            GoalState::Working => "not met yet",
            state => state.word(),
        };
        let text = format!("goal {said}: {}", goal.why);
        let kind = if goal.state == GoalState::Met { NoteKind::Info } else { NoteKind::Warning };
        self.append(Body::Note { kind, text: text.trim_end_matches([':', ' ']).to_owned() }).await;
        let stop = self.purse.stopped().await;
        match (next, stop) {
            (Next::GoOn(_), Some(stop)) => {
                self.set_goal(Some(Goal { state: GoalState::Paused, why: stop.text, ..goal })).await;
            }
            (Next::GoOn(words), None) => {
                self.set_goal(Some(goal)).await;
                self.submit(Said::program(words, "going on towards the goal")).await;
            }
            (Next::Wait, _) => self.set_goal(Some(goal)).await,
        }
    }
}

async fn send(aside: &mpsc::Sender<Aside>, cancel: &CancellationToken, verdict: Verdict, spent: Vec<Spent>) {
    if !cancel.is_cancelled() {
        // The session may be over.
        let _ = aside.send(Aside::Judged(verdict, spent)).await;
    }
}

/// Runs the checks, one after another; the first that fails is what is missing.
async fn checked(gate: &Arc<Gate>, calls: Vec<(ToolCall, ToolCtx)>) -> Verdict {
    let mut passed = 0;
    for (call, ctx) in calls {
        // Nobody shows their progress: the notes say what came of them.
        let (sink, _heard) = mpsc::channel(64);
        let body = gate.call(&call, ctx, sink).await;
        match (body.outcome, body.view.exit_code) {
            (Outcome::Ok, Some(0)) => passed += 1,
            (Outcome::Ok | Outcome::Failed, Some(code)) => {
                let line = &body.view.target;
                return Verdict::Failed { why: format!("`{line}` exited with {code}"), output: end(&body) };
            }
            (_, _) => return Verdict::None(format!("a check could not run: {}", body.content)),
        }
    }
    Verdict::Met(format!("{passed} of {passed} checks passed"))
}

/// The end of what a check said.
fn end(body: &ToolBody) -> String {
    let output = if body.view.output.is_empty() { &body.content } else { &body.view.output };
    let chars = output.trim_end().chars().count();
    output.trim_end().chars().skip(chars.saturating_sub(OUTPUT)).collect()
}

fn question(goal: &Goal, items: &[Item]) -> String {
    let said = transcript::pieces(items, ItemId(0), ItemId(i64::MAX), READ).pop().unwrap_or_default();
    format!("# Goal\n{}\n\n# The end of the conversation\n{said}", goal.text)
}

async fn asked(provider: &Arc<dyn Provider>, question: &str, cancel: &CancellationToken) -> (Verdict, Vec<Spent>) {
    let model = format!("{}:{}", provider.model().provider, provider.model().id);
    let request = Request {
        system: include_str!("../../../assets/prompts/goal.md").trim().into(),
        tools: Vec::new().into(),
        messages: vec![Message::User { text: question.to_owned(), images: Vec::new() }],
        effort: Effort::None,
        max_output: Some(ANSWER),
        grammar: None,
        cache_key: "goal".into(),
    };
    // Nobody reads the pieces.
    let (sink, _) = mpsc::channel(1);
    match tokio::time::timeout(PATIENCE, provider.stream(&request, sink, cancel.clone())).await {
        Ok(Ok(reply)) => {
            let spent =
                reply.usage.map(|usage| Spent { at: crate::agent::now(), item: None, model, role: "goal", usage });
            (goal::verdict(&reply.text), spent.into_iter().collect())
        }
        Ok(Err(error)) => (Verdict::None(format!("the judge failed: {}", error.message)), Vec::new()),
        Err(_) => (Verdict::None(format!("the judge did not answer within {} s", PATIENCE.as_secs())), Vec::new()),
    }
}
