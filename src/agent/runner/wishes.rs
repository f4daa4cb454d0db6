//! What running calls want of the runner: a person's answer, a word to the screen.

use super::{Runner, actions};
use crate::agent::port::Wish;
use crate::agent::turn::{Input, Said};
use crate::policy::{ApprovalId, Decision, Speaker};
use crate::protocol::{AgentEvent, Body, Level, NoteKind, QuestionId};
use std::sync::Arc;
use tokio::sync::oneshot;

/// A call that waits for its approval.
pub struct Waiting {
    answer: oneshot::Sender<Decision>,
    /// The work goes on when the turn ends, and so does its question.
    background: bool,
}

impl Runner {
    /// The answer to a question of the loop guard or of a tool.
    pub(super) async fn answer(&mut self, id: QuestionId, text: String) {
        if self.guard_question == Some(id) {
            self.guard_question = None;
            self.out.send(AgentEvent::QuestionClosed(id)).await;
            self.feed(Input::GuardAnswered { go_on: text == actions::GO_ON }).await;
        } else if let Some(answer) = self.questions.remove(&id) {
            let _ = answer.send(text);
            self.out.send(AgentEvent::QuestionClosed(id)).await;
        }
    }

    /// The answer to an approval.
    pub(super) async fn decide(&mut self, id: ApprovalId, decision: Decision) {
        if let Some(waiting) = self.approvals.remove(&id) {
            self.decided(id, &decision);
            // The call may have been stopped meanwhile.
            let _ = waiting.answer.send(decision);
            self.out.send(AgentEvent::ApprovalClosed(id)).await;
        }
    }

    /// Judges a line that the person may run instead; the answer comes as an event.
    pub(super) fn preview(&self, id: ApprovalId, line: String) {
        let (gate, port) = (Arc::clone(&self.gate), Arc::clone(&self.port));
        tokio::spawn(async move {
            let preview = gate.preview(id, line.clone()).await;
            port.previewed(id, line, preview).await;
        });
    }

    /// Questions of the turn end with it; those of work in the background stay.
    pub(super) async fn close_approvals(&mut self) {
        let (stay, open): (Vec<_>, Vec<_>) = self.approvals.drain().partition(|(_, waiting)| waiting.background);
        self.approvals.extend(stay);
        for (id, waiting) in open {
            self.decided(id, &Decision::Interrupted);
            let _ = waiting.answer.send(Decision::Interrupted);
            self.out.send(AgentEvent::ApprovalClosed(id)).await;
        }
    }

    /// Carries out a wish.
    pub(super) async fn wish(&mut self, wish: Wish) {
        match wish {
            // The turn was stopped while this was on its way: nobody waits for an answer.
            Wish::Approve { answer, .. } if answer.is_closed() => {}
            Wish::Ask { answer, .. } if answer.is_closed() => {}
            Wish::Approve { approval, answer } => {
                let background = matches!(approval.origin.by, Speaker::Background(_));
                self.approvals.insert(approval.id, Waiting { answer, background });
                self.asks(&approval);
                self.out.send(AgentEvent::ApprovalRequested(approval)).await;
            }
            Wish::Found { id, targets, payloads } => {
                if self.approvals.contains_key(&id) {
                    self.out.send(AgentEvent::ApprovalFound { id, targets, payloads }).await;
                }
            }
            Wish::Withdrawn(id, how) => {
                if self.approvals.remove(&id).is_some() {
                    self.decided(id, &how);
                    self.out.send(AgentEvent::ApprovalClosed(id)).await;
                }
            }
            Wish::Previewed { id, line, preview } => {
                self.out.send(AgentEvent::Previewed { id, line, preview }).await;
            }
            Wish::Ask { question, answer } => {
                self.questions.insert(question.id, answer);
                self.out.send(AgentEvent::Asked(question)).await;
            }
            Wish::PlanChanged(mut plan) => {
                plan.iter_mut().for_each(|todo| todo.content = self.masked(&todo.content));
                if let Ok(json) = serde_json::to_value(&plan) {
                    self.keep("plan", json).await;
                }
                self.out.send(AgentEvent::PlanChanged(plan)).await;
            }
            Wish::PolicyChanged(changes) => self.policy_changed(changes).await,
            Wish::Untrusted => self.untrusted_changed().await,
            Wish::Told(text) => self.tell_all(text).await,
            Wish::Granted => {
                let grants = self.gate.grants();
                self.keep("grants", grants.into()).await;
            }
        }
    }

    /// Tells the person by a notice and a row, and the agent at the next step of its turn.
    async fn tell_all(&mut self, text: String) {
        // The gate and the tools name commands as they are.
        let text = self.masked(&text);
        if self.session.created {
            self.append(Body::Note { kind: NoteKind::Warning, text: text.clone() }).await;
        }
        self.notice(Level::Warning, text.clone()).await;
        if self.turn.is_running() {
            self.feed(Input::Steered(Said::program(format!("[{text}]"), text))).await;
        }
    }

    /// The questions of this session say whose they are.
    pub(super) fn tell_port(&self) {
        self.port.works_in(&self.session.id.0, self.session.title.as_deref().unwrap_or_default());
    }
}
