//! What tools and the gate see of the agent: its plan, and a person to ask.

use super::event::{Question, Todo};
use super::frozen::Frozen;
use super::smart::Adviser;
use crate::config::held::Change;
use crate::policy::{Approval, Decision, Grant};
use crate::tools::gate::{Advice, Asker, Said};
use crate::tools::spec::AgentPort;
use futures::future::BoxFuture;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

/// What a running call wants of the runner.
#[derive(Debug)]
pub enum Wish {
    /// Show this approval and answer.
    Approve {
        approval: Box<Approval>,
        answer: oneshot::Sender<Decision>,
    },
    /// Ask this question and answer.
    Ask {
        question: Question,
        answer: oneshot::Sender<String>,
    },
    PlanChanged(Vec<Todo>),
    Granted,
    /// What changed in the files of the policy; nothing any more, too.
    PolicyChanged(Vec<Change>),
    /// What is known of untrusted text changed.
    Untrusted,
}

/// Characters of the words that the modal tells as the reason.
const SAYING: usize = 160;

/// Writes a grant to `command_allowlist` or `permissions.yaml`; the error says why not.
pub type Remember = dyn Fn(&Grant) -> Result<(), String> + Send + Sync;

/// The runner's side of both traits. Shared by all calls of a session.
pub struct Port {
    wishes: mpsc::Sender<Wish>,
    plan: Mutex<Vec<Todo>>,
    /// The newest words of the model or the person, for the modal.
    saying: Mutex<String>,
    next_question: std::sync::atomic::AtomicU64,
    /// A person sits at the screen.
    interactive: bool,
    remember: Arc<Remember>,
    /// The files of the policy; `None` where there is no session.
    frozen: Option<Arc<Frozen>>,
    /// Who is asked in smart mode, or why nobody can be.
    adviser: Mutex<Result<Adviser, String>>,
}

impl Port {
    /// A port whose wishes go to the runner.
    pub fn new(wishes: mpsc::Sender<Wish>, interactive: bool, remember: Arc<Remember>) -> Self {
        Self {
            wishes,
            plan: Mutex::default(),
            saying: Mutex::default(),
            next_question: std::sync::atomic::AtomicU64::new(1),
            interactive,
            remember,
            frozen: None,
            adviser: Mutex::new(Err("no model is set up".into())),
        }
    }

    /// Looks at these files before anything passes by itself.
    pub fn watching(self, frozen: Arc<Frozen>) -> Self {
        Self { frozen: Some(frozen), ..self }
    }

    /// Who is asked in smart mode from now on, or why nobody can be.
    pub fn advised_by(&self, adviser: Result<Adviser, String>) {
        *self.adviser.lock().unwrap_or_else(PoisonError::into_inner) = adviser;
    }

    /// A port where there is no agent and nobody to ask: the plan is kept in memory, questions fail at once.
    pub fn alone() -> Self {
        Self::new(mpsc::channel(1).0, false, Arc::new(|_| Err("nobody could have said always".into())))
    }

    /// What the modal tells as the reason.
    pub fn says(&self, text: &str) {
        let text = text.trim();
        let line = text.lines().next().unwrap_or_default().trim_end();
        let mut short: String = line.chars().take(SAYING).collect();
        if short.len() < text.len() {
            short.push('…');
        }
        *self.saying.lock().unwrap_or_else(PoisonError::into_inner) = short;
    }

    /// Puts back the plan of a resumed session.
    pub fn restore_plan(&self, plan: Vec<Todo>) {
        *self.plan.lock().unwrap_or_else(PoisonError::into_inner) = plan;
    }
}

impl AgentPort for Port {
    fn is_agent(&self) -> bool {
        !self.wishes.is_closed()
    }

    fn plan(&self) -> Vec<Todo> {
        self.plan.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set_plan(&self, plan: Vec<Todo>) {
        *self.plan.lock().unwrap_or_else(PoisonError::into_inner) = plan.clone();
        // Full only when the runner is far behind; the next change brings the whole plan again.
        let _ = self.wishes.try_send(Wish::PlanChanged(plan));
    }

    fn ask(&self, mut question: Question) -> BoxFuture<'static, Result<String, String>> {
        if !self.interactive {
            return Box::pin(async {
                Err("nobody can be asked here; decide yourself and say what you assumed".into())
            });
        }
        question.id = super::event::QuestionId(self.next_question.fetch_add(1, std::sync::atomic::Ordering::Relaxed));
        let wishes = self.wishes.clone();
        Box::pin(async move {
            let (answer, heard) = oneshot::channel();
            let gone = || "the question was closed before it was answered".to_owned();
            wishes.send(Wish::Ask { question, answer }).await.map_err(|_| gone())?;
            heard.await.map_err(|_| gone())
        })
    }
}

impl Asker for Port {
    fn ask(&self, approval: Approval, cancel: CancellationToken) -> BoxFuture<'static, Decision> {
        if !self.interactive {
            return Box::pin(async { Decision::NoOne });
        }
        let wishes = self.wishes.clone();
        Box::pin(async move {
            let (answer, heard) = oneshot::channel();
            let wish = Wish::Approve { approval: Box::new(approval), answer };
            let asked = async {
                match wishes.send(wish).await {
                    Ok(()) => heard.await.unwrap_or(Decision::Interrupted),
                    Err(_) => Decision::NoOne,
                }
            };
            tokio::select! {
                biased;
                () = cancel.cancelled() => Decision::Interrupted,
                decision = asked => decision,
            }
        })
    }

    fn remember(&self, grant: &Grant) -> Result<(), String> {
        (self.remember)(grant)
    }

    fn granted(&self, _classes: &[String]) {
        // The runner reads the grants from the gate; it only needs to know when.
        let _ = self.wishes.try_send(Wish::Granted);
    }

    fn asker(&self) -> String {
        let saying = self.saying.lock().unwrap_or_else(PoisonError::into_inner);
        if saying.is_empty() { "the main agent".into() } else { format!("the main agent: “{saying}”") }
    }

    fn now(&self) -> i64 {
        super::now()
    }

    fn weigh(&self, question: String, cancel: CancellationToken) -> BoxFuture<'static, Advice> {
        let adviser = self.adviser.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Box::pin(async move {
            match adviser {
                Ok(adviser) => adviser.weigh(question, cancel).await,
                Err(why) => {
                    Advice { model: String::new(), said: Said::Nothing(format!("no model can be asked: {why}")) }
                }
            }
        })
    }

    fn policy_changed(&self) -> bool {
        let Some(frozen) = &self.frozen else { return false };
        let changes = frozen.changes();
        if let Some(news) = frozen.news(&changes) {
            // Full only when the runner is far behind; `/permissions` and the next look tell it, too.
            let _ = self.wishes.try_send(Wish::PolicyChanged(news));
        }
        !changes.is_empty()
    }

    fn untrusted(&self) {
        // The runner reads it from the gate; it only needs to know when.
        let _ = self.wishes.try_send(Wish::Untrusted);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_that_was_cut_says_so() {
        let port = Port::alone();
        assert_eq!(Asker::asker(&port), "the main agent");
        let long = "ü".repeat(200);
        for (said, told) in [
            ("start from a clean tree\n", "start from a clean tree".to_owned()),
            ("\n\nfirst line\nsecond", "first line…".to_owned()),
            (long.as_str(), format!("{}…", "ü".repeat(SAYING))),
        ] {
            port.says(said);
            assert_eq!(Asker::asker(&port), format!("the main agent: “{told}”"));
        }
    }
}
