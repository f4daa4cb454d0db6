//! What running calls and the gate ask of the runner: a person's answer, a word to the screen.

use super::{Runner, guard};
use crate::agent::handle::AgentRequest;
use crate::agent::turn::{Input, Said};
use crate::policy::{ApprovalId, Decision, Speaker};
use crate::protocol::{AgentEvent, Body, Level, NoteKind, QuestionId};
use std::sync::Arc;
use tokio::sync::oneshot;

/// A call that waits for its approval.
pub struct PendingApproval {
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
            self.feed(if text == guard::GO_ON { Input::GoOn } else { Input::GivenUp(None) }).await;
        } else if self.broke.is_asked(id) {
            self.budget_answer(&text).await;
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
        let (gate, handle) = (Arc::clone(&self.gate), Arc::clone(&self.handle));
        tokio::spawn(async move {
            let preview = gate.preview(id, line.clone()).await;
            handle.previewed(id, line, preview).await;
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

    /// Does what a running call or the gate asks for.
    pub(super) async fn agent_request(&mut self, request: AgentRequest) {
        match request {
            // The turn was stopped while this was on its way: nobody waits for an answer.
            AgentRequest::Ask(_, answer) if answer.is_closed() => {}
            AgentRequest::Question(_, answer) if answer.is_closed() => {}
            AgentRequest::Ask(mut approval, answer) => {
                if matches!(approval.origin.by, Speaker::Agent(_)) {
                    // The call of a child has no line here.
                    approval.call_id.clear();
                }
                let background = !matches!(approval.origin.by, Speaker::Main | Speaker::Person);
                self.approvals.insert(approval.id, PendingApproval { answer, background });
                self.asks(&approval);
                self.out.send(AgentEvent::ApprovalRequested(approval)).await;
            }
            AgentRequest::Close(id, how) => {
                if self.approvals.remove(&id).is_some() {
                    self.decided(id, &how);
                    self.out.send(AgentEvent::ApprovalClosed(id)).await;
                }
            }
            AgentRequest::Question(question, answer) => {
                self.questions.insert(question.id, answer);
                self.out.send(AgentEvent::Asked(question)).await;
            }
            AgentRequest::Unasked(id) => {
                if self.questions.remove(&id).is_some() {
                    self.out.send(AgentEvent::QuestionClosed(id)).await;
                }
            }
            AgentRequest::Owed => self.keep_owed().await,
            AgentRequest::Event(event) => self.reported(*event).await,
            AgentRequest::UntrustedChanged => self.untrusted_changed().await,
            AgentRequest::Heard { text, gist } => self.heard(text, gist).await,
            AgentRequest::Broke(stop, answer) => self.budget_asked(stop, answer).await,
            AgentRequest::SetMode(mode, done) => {
                self.set_mode(mode, "answered the plan").await;
                // The call may have been stopped.
                let _ = done.send(());
            }
            AgentRequest::GoBack(back) => self.going_back = Some(back),
            AgentRequest::GrantsChanged => {
                let grants = self.gate.grants();
                self.keep("grants", grants.into()).await;
            }
        }
    }

    /// Passes a fact on, and keeps what the session needs of it.
    async fn reported(&mut self, event: AgentEvent) {
        match event {
            AgentEvent::PlanChanged(mut plan) => {
                plan.iter_mut().for_each(|todo| todo.content = self.masked(&todo.content));
                if let Ok(json) = serde_json::to_value(&plan) {
                    self.keep("plan", json).await;
                }
                self.out.send(AgentEvent::PlanChanged(plan)).await;
            }
            AgentEvent::PolicyChanged(changes) => self.policy_changed(changes).await,
            AgentEvent::Children { .. } => {
                self.out.send(event).await;
                self.children_cost().await;
            }
            AgentEvent::Notice { text, .. } => self.tell_all(text).await,
            AgentEvent::ApprovalFound { id, .. } if !self.approvals.contains_key(&id) => {}
            event => self.out.send(event).await,
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
    pub(super) fn name_session(&self) {
        self.handle.works_in(&self.session.id.0, self.session.title.as_deref().unwrap_or_default());
    }
}
