//! What is known of the open sessions, folded from their events: for whoever asks from outside.

use crate::lock::lock;
use crate::protocol::{
    AgentEvent, Approval, Body, Intent, SessionId, SessionState, TurnEnd, Waiting, WaitingId, WindowReply,
    WindowSession,
};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, MutexGuard};
use tokio::sync::oneshot;

/// Characters of a question.
const MAX_TEXT: usize = 4_000;

/// The open sessions.
#[derive(Debug, Default)]
pub(in crate::engine) struct Board(Mutex<BTreeMap<SessionId, Row>>);

#[derive(Debug, Default)]
struct Row {
    title: Option<String>,
    cwd: String,
    used: bool,
    working: bool,
    failed: bool,
    waiting: Vec<Waiting>,
    /// The last text of the model.
    last_text: String,
    waiters: Vec<Waiter>,
}

/// Who waits for the answer to a prompt.
#[derive(Debug)]
struct Waiter {
    prompt: String,
    /// The prompt is in the conversation: the turn that ends next answers it.
    taken: bool,
    reply: oneshot::Sender<WindowReply>,
}

impl Board {
    fn rows(&self) -> MutexGuard<'_, BTreeMap<SessionId, Row>> {
        lock(&self.0)
    }

    /// A session tells something.
    pub(in crate::engine) fn heard(&self, session: &SessionId, event: &AgentEvent) {
        let mut rows = self.rows();
        if let AgentEvent::SessionOpened { .. } = event {
            rows.entry(session.clone()).or_default();
        }
        if let Some(row) = rows.get_mut(session) {
            row.heard(event);
        }
    }

    /// A session is over.
    pub(in crate::engine) fn gone(&self, session: &SessionId) {
        self.rows().remove(session);
    }

    /// All of them, in the order of their ids. Where they work is left out: see [`placed`].
    pub(super) fn sessions(&self) -> Vec<WindowSession> {
        self.rows().iter().map(|(id, row)| row.session(id)).collect()
    }

    /// What a session waits for, by its number.
    pub(super) fn waiting(&self, session: &SessionId, to: WaitingId) -> Option<Waiting> {
        self.rows().get(session)?.waiting.iter().find(|waiting| waiting.id == to).cloned()
    }

    /// Whether a session is open.
    pub(super) fn is_open(&self, session: &SessionId) -> bool {
        self.rows().contains_key(session)
    }

    /// The answer of the turn that takes this prompt; `None`: the session is not open.
    pub(super) fn wait_for(&self, session: &SessionId, prompt: &str) -> Option<oneshot::Receiver<WindowReply>> {
        let (reply, answered) = oneshot::channel();
        let waiter = Waiter { prompt: prompt.to_owned(), taken: false, reply };
        self.rows().get_mut(session)?.waiters.push(waiter);
        Some(answered)
    }
}

impl Row {
    fn heard(&mut self, event: &AgentEvent) {
        match event {
            AgentEvent::SessionOpened { session, items } => {
                self.used = !items.is_empty();
                self.title.clone_from(&session.title);
                self.cwd.clone_from(&session.cwd);
            }
            AgentEvent::SessionChanged(session) => {
                self.title.clone_from(&session.title);
                self.cwd.clone_from(&session.cwd);
            }
            AgentEvent::TurnStarted { .. } => {
                self.working = true;
                self.used = true;
                self.last_text.clear();
            }
            AgentEvent::ItemFinished(item) => match &item.body {
                Body::Assistant(body) if !body.text.trim().is_empty() => self.last_text.clone_from(&body.text),
                Body::User { text, .. } => {
                    if let Some(waiter) = self.waiters.iter_mut().find(|one| !one.taken && text.contains(&one.prompt)) {
                        waiter.taken = true;
                        self.last_text.clear();
                    }
                }
                Body::Assistant(_) | Body::Tool(_) | Body::Summary(_) | Body::Note { .. } => {}
            },
            AgentEvent::ApprovalRequested(approval) => {
                self.waiting.push(waiting(WaitingId::Approval(approval.id), &call(approval), &[]));
            }
            AgentEvent::ApprovalClosed(id) => {
                self.waiting.retain(|waiting| waiting.id != WaitingId::Approval(*id));
            }
            AgentEvent::Asked(question) => {
                self.waiting.push(waiting(WaitingId::Question(question.id), &question.text, &question.choices));
            }
            AgentEvent::QuestionClosed(id) => {
                self.waiting.retain(|waiting| waiting.id != WaitingId::Question(*id));
            }
            AgentEvent::TurnFinished(outcome) => {
                self.working = false;
                self.failed = matches!(outcome.end, TurnEnd::Provider(_) | TurnEnd::Error(_));
                let reply = match &outcome.end {
                    TurnEnd::Completed => WindowReply::Answered(self.last_text.clone()),
                    TurnEnd::Stopped => WindowReply::Refused("the turn was stopped".into()),
                    TurnEnd::Limit => WindowReply::Refused("the turn reached a limit".into()),
                    TurnEnd::Provider(why) | TurnEnd::Error(why) => WindowReply::Refused(why.clone()),
                };
                for waiter in self.waiters.extract_if(.., |waiter| waiter.taken) {
                    // It left before.
                    let _ = waiter.reply.send(reply.clone());
                }
            }
            AgentEvent::NotTaken(why) => {
                for waiter in self.waiters.drain(..) {
                    let _ = waiter.reply.send(WindowReply::Refused(why.clone()));
                }
            }
            _ => {}
        }
    }

    fn session(&self, id: &SessionId) -> WindowSession {
        let state = if !self.waiting.is_empty() {
            SessionState::NeedsAnswer
        } else if self.working {
            SessionState::Working
        } else if self.failed {
            SessionState::Failed
        } else {
            SessionState::Idle
        };
        WindowSession {
            session: id.clone(),
            title: self.title.clone(),
            cwd: self.cwd.clone(),
            checkout: None,
            used: self.used,
            state,
            waiting: self.waiting.clone(),
        }
    }
}

/// With the checkout that each works in. Blocks.
pub(in crate::engine) fn placed(mut sessions: Vec<WindowSession>) -> Vec<WindowSession> {
    for session in &mut sessions {
        session.checkout = checkout(Path::new(&session.cwd));
    }
    sessions
}

/// The top of the git checkout that a folder is in. Blocks.
pub(in crate::engine) fn checkout(cwd: &Path) -> Option<String> {
    let top = cwd.ancestors().find(|folder| folder.join(".git").exists())?;
    Some(top.canonicalize().unwrap_or_else(|_| top.to_owned()).display().to_string())
}

/// A call that needs approval, and why.
fn call(approval: &Approval) -> String {
    let what = match &approval.intent {
        Intent::Command { line, .. } => line.clone(),
        Intent::Edit(edits) => edits.iter().map(|edit| edit.path.display().to_string()).collect::<Vec<_>>().join(", "),
        Intent::Read(path) => path.display().to_string(),
        Intent::Remote { args, .. } => args.clone(),
        Intent::Input { text, .. } => text.clone(),
        Intent::Code { code, .. } => code.clone(),
        Intent::Talk | Intent::Handle => String::new(),
    };
    let why: Vec<&str> = approval.verdict.reasons().iter().map(|why| why.text.as_str()).collect();
    format!("{}: {what} ({})", approval.tool, why.join("; "))
}

fn waiting(id: WaitingId, text: &str, choices: &[String]) -> Waiting {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let text = crate::text::width::truncate_end(&line, MAX_TEXT);
    Waiting { id, cut: text != line, text, choices: choices.to_vec() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{Item, Question, QuestionId, TurnOutcome};

    fn told(board: &Board, id: &SessionId, event: AgentEvent) -> (SessionState, usize) {
        board.heard(id, &event);
        board.sessions().first().map(|session| (session.state, session.waiting.len())).unwrap_or_default()
    }

    #[test]
    fn a_session_is_known_by_what_it_tells() {
        let (board, id) = (Board::default(), SessionId::from("a"));
        let question = Question {
            id: QuestionId(3),
            call_id: "c".into(),
            text: "Which\n one?".into(),
            choices: vec!["x".into()],
            allow_freetext: true,
            own_answer: String::new(),
        };
        let ended = |end| AgentEvent::TurnFinished(TurnOutcome { turn: 1, end, steps: 1, duration_ms: 1 });
        // Nothing of a session that is not open.
        assert_eq!(told(&board, &id, AgentEvent::TurnStarted { turn: 1, at: 0 }), (SessionState::Idle, 0));
        assert!(board.sessions().is_empty() && board.wait_for(&id, "go").is_none());
        board.rows().entry(id.clone()).or_default();
        assert_eq!(told(&board, &id, AgentEvent::TurnStarted { turn: 1, at: 0 }), (SessionState::Working, 0));
        let mut answered = board.wait_for(&id, "go on").unwrap();
        // The turn before it is over; the next one takes the prompt.
        assert_eq!(told(&board, &id, ended(TurnEnd::Completed)), (SessionState::Idle, 0));
        assert!(answered.try_recv().is_err());
        let prompt = Body::User {
            text: "go on".into(),
            images: Vec::new(),
            origin: Default::default(),
            context: String::new(),
            gist: String::new(),
        };
        let item = Item { id: Default::default(), turn: 2, at: 0, body: prompt };
        told(&board, &id, AgentEvent::TurnStarted { turn: 2, at: 0 });
        told(&board, &id, AgentEvent::ItemFinished(item));
        assert_eq!(told(&board, &id, AgentEvent::Asked(question)), (SessionState::NeedsAnswer, 1));
        assert_eq!(board.sessions()[0].waiting[0].text, "Which one?");
        assert!(board.waiting(&id, WaitingId::Question(QuestionId(3))).is_some_and(|waiting| !waiting.cut));
        assert_eq!(told(&board, &id, AgentEvent::QuestionClosed(QuestionId(3))), (SessionState::Working, 0));
        assert!(answered.try_recv().is_err());
        assert_eq!(told(&board, &id, ended(TurnEnd::Provider("no key".into()))), (SessionState::Failed, 0));
        assert_eq!(answered.try_recv(), Ok(WindowReply::Refused("no key".into())));
        board.gone(&id);
        assert!(board.sessions().is_empty());
    }
}
