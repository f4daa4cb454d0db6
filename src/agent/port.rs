//! What tools and the gate see of the agent: its plan, and a person to ask.

use super::absence::Absence;
use super::policy_snapshot::PolicySnapshot;
use super::smart::Adviser;
use crate::lock::lock;
use crate::policy::frozen::Stricter;
use crate::policy::{Approval, ApprovalId, ApprovalOrigin, Decision, Grant, Payload, Preview, Speaker, Target};
use crate::protocol::{PolicyChange, Question, QuestionId, Todo};
use crate::tools::gate::{Advice, Asker, Said};
use crate::tools::spec::AgentPort;
use futures::future::BoxFuture;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::mpsc::error::TrySendError;
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
    /// How a line would be judged that the person may run instead.
    Previewed {
        id: ApprovalId,
        line: String,
        preview: Option<Box<Preview>>,
    },
    /// All that the call of an open question would touch.
    Found {
        id: ApprovalId,
        targets: Vec<Target>,
        payloads: Vec<Payload>,
    },
    /// Nobody waits for the answer to this question any more; how it ended.
    Withdrawn(ApprovalId, Decision),
    PlanChanged(Vec<Todo>),
    Granted,
    /// What changed in the files of the policy; nothing any more, too.
    PolicyChanged(Vec<PolicyChange>),
    /// What is known of untrusted text changed.
    Untrusted,
    /// Something to tell the person and the agent.
    Told(String),
}

/// Characters of the words that the modal tells as the reason.
const SAYING: usize = 160;

/// Writes a grant to `command_allowlist` or `permissions.yaml`; the error says why not.
pub type Remember = dyn Fn(&Grant) -> Result<(), String> + Send + Sync;

/// The runner's side of both traits. Shared by all calls of a session.
pub struct Port {
    wishes: mpsc::Sender<Wish>,
    plan: Mutex<Vec<Todo>>,
    /// The session, who works in it for the questions of this port, and the newest words of the model or the person.
    origin: Mutex<ApprovalOrigin>,
    /// Numbers of questions, the same for all ports of a process that share a screen.
    numbers: Arc<AtomicU64>,
    /// A person sits at the screen.
    interactive: bool,
    /// The program is being left: what ends from now on was stopped by nobody. The same for all ports of a session.
    left: Arc<AtomicBool>,
    remember: Arc<Remember>,
    /// The files of the policy; `None` where there is no session.
    frozen: Option<Arc<PolicySnapshot>>,
    /// Who is asked in smart mode, or why nobody can be.
    adviser: Mutex<Result<Adviser, String>>,
    absence: Arc<Absence>,
}

impl Port {
    /// A port whose wishes go to the runner.
    pub fn new(wishes: mpsc::Sender<Wish>, interactive: bool, remember: Arc<Remember>) -> Self {
        Self {
            wishes,
            plan: Mutex::default(),
            origin: Mutex::default(),
            numbers: Arc::new(AtomicU64::new(1)),
            interactive,
            left: Arc::default(),
            remember,
            frozen: None,
            adviser: Mutex::new(Err("no model is set up".into())),
            absence: Arc::default(),
        }
    }

    /// Looks at these files before anything passes by itself.
    pub fn watching(self, frozen: Arc<PolicySnapshot>) -> Self {
        Self { frozen: Some(frozen), ..self }
    }

    /// Who is asked in smart mode from now on, or why nobody can be.
    pub fn advised_by(&self, adviser: Result<Adviser, String>) {
        *lock(&self.adviser) = adviser;
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
        lock(&self.origin).saying = short;
    }

    /// Tells how a line would be judged.
    pub async fn previewed(&self, id: ApprovalId, line: String, preview: Option<Preview>) {
        let preview = preview.map(Box::new);
        // The runner is gone only at the end of the program.
        let _ = self.wishes.send(Wish::Previewed { id, line, preview }).await;
    }

    /// The session that questions belong to from now on, and what it is called.
    pub fn works_in(&self, session: &str, title: &str) {
        let mut origin = lock(&self.origin);
        (origin.session, origin.title) = (session.to_owned(), title.to_owned());
    }

    /// A port for work beside the conversation: its questions reach the same inbox and say whose they are. It has a plan of
    /// its own.
    pub fn beside(&self, by: Speaker) -> Self {
        let origin = ApprovalOrigin { by, saying: String::new(), ..Asker::origin(self) };
        Self {
            wishes: self.wishes.clone(),
            plan: Mutex::default(),
            origin: Mutex::new(origin),
            numbers: Arc::clone(&self.numbers),
            interactive: self.interactive,
            left: Arc::clone(&self.left),
            remember: Arc::clone(&self.remember),
            frozen: self.frozen.clone(),
            adviser: Mutex::new(lock(&self.adviser).clone()),
            absence: Arc::default(),
        }
    }

    /// How long questions of this port have been open so far, those at the same time counted once.
    pub fn waited(&self) -> Duration {
        self.absence.total()
    }

    /// The program is being left.
    pub fn leave(&self) {
        self.left.store(true, Ordering::Relaxed);
    }

    /// Puts back the plan of a resumed session.
    pub fn restore_plan(&self, plan: Vec<Todo>) {
        *lock(&self.plan) = plan;
    }
}

impl AgentPort for Port {
    fn tell(&self, text: String) {
        let wishes = self.wishes.clone();
        // It must arrive: nothing else tells it.
        tokio::spawn(async move { drop(wishes.send(Wish::Told(text)).await) });
    }

    fn is_agent(&self) -> bool {
        !self.wishes.is_closed()
    }

    fn plan(&self) -> Vec<Todo> {
        lock(&self.plan).clone()
    }

    fn set_plan(&self, plan: Vec<Todo>) {
        *lock(&self.plan) = plan.clone();
        // Full only when the runner is far behind; the next change brings the whole plan again.
        let _ = self.wishes.try_send(Wish::PlanChanged(plan));
    }

    fn ask(&self, mut question: Question) -> BoxFuture<'static, Result<String, String>> {
        if !self.interactive {
            return Box::pin(async {
                Err("nobody can be asked here; decide yourself and say what you assumed".into())
            });
        }
        question.id = QuestionId(self.number());
        let (wishes, absence) = (self.wishes.clone(), Arc::clone(&self.absence));
        Box::pin(async move {
            let _waiting = absence.wait();
            let (answer, heard) = oneshot::channel();
            let gone = || "the question was closed before it was answered".to_owned();
            wishes.send(Wish::Ask { question, answer }).await.map_err(|_| gone())?;
            heard.await.map_err(|_| gone())
        })
    }
}

/// A question that waits. Whoever asked may be stopped, or be gone without a word: it goes with them.
struct Asking {
    wishes: mpsc::Sender<Wish>,
    id: ApprovalId,
    open: bool,
}

impl Drop for Asking {
    fn drop(&mut self) {
        if self.open {
            withdraw(&self.wishes, self.id, Decision::Interrupted);
        }
    }
}

/// It must arrive: a question that nobody waits for would stay on the screen. The first word counts.
fn withdraw(wishes: &mpsc::Sender<Wish>, id: ApprovalId, how: Decision) {
    if let Err(TrySendError::Full(wish)) = wishes.try_send(Wish::Withdrawn(id, how))
        && let Ok(here) = tokio::runtime::Handle::try_current()
    {
        let wishes = wishes.clone();
        here.spawn(async move { drop(wishes.send(wish).await) });
    }
}

impl Asker for Port {
    fn ask(&self, approval: Approval, cancel: CancellationToken) -> BoxFuture<'static, Decision> {
        if !self.interactive {
            return Box::pin(async { Decision::NoOne });
        }
        let (wishes, id, absence) = (self.wishes.clone(), approval.id, Arc::clone(&self.absence));
        Box::pin(async move {
            let _waiting = absence.wait();
            let (answer, heard) = oneshot::channel();
            let mut asking = Asking { wishes: wishes.clone(), id, open: true };
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
                decision = asked => {
                    asking.open = false;
                    decision
                }
            }
        })
    }

    fn is_left(&self) -> bool {
        self.left.load(Ordering::Relaxed)
    }

    fn remember(&self, grant: &Grant) -> Result<(), String> {
        (self.remember)(grant)
    }

    fn granted(&self, _classes: &[String]) {
        // The runner reads the grants from the gate; it only needs to know when.
        let _ = self.wishes.try_send(Wish::Granted);
    }

    fn found(&self, id: ApprovalId, targets: Vec<Target>, payloads: Vec<Payload>) {
        let wishes = self.wishes.clone();
        // It must arrive: nothing else tells it.
        tokio::spawn(async move { drop(wishes.send(Wish::Found { id, targets, payloads }).await) });
    }

    fn withdraw(&self, id: ApprovalId, how: Decision) {
        withdraw(&self.wishes, id, how);
    }

    fn origin(&self) -> ApprovalOrigin {
        lock(&self.origin).clone()
    }

    fn number(&self) -> u64 {
        self.numbers.fetch_add(1, Ordering::Relaxed)
    }

    fn now(&self) -> i64 {
        super::now()
    }

    fn weigh(&self, question: String, cancel: CancellationToken) -> BoxFuture<'static, Advice> {
        let adviser = lock(&self.adviser).clone();
        Box::pin(async move {
            match adviser {
                Ok(adviser) => adviser.weigh(question, cancel).await,
                Err(why) => {
                    Advice { model: String::new(), said: Said::Nothing(format!("no model can be asked: {why}")) }
                }
            }
        })
    }

    fn policy(&self) -> (bool, Arc<Stricter>) {
        let Some(frozen) = &self.frozen else { return Default::default() };
        if let Some(news) = frozen.news() {
            // Full only when the runner is far behind; `/policy` and the next look tell it, too.
            let _ = self.wishes.try_send(Wish::PolicyChanged(news));
        }
        frozen.now()
    }

    fn untrusted(&self) {
        // The runner reads it from the gate; it only needs to know when.
        let _ = self.wishes.try_send(Wish::Untrusted);
    }

    fn tell(&self, text: String) {
        // Full only when the runner is far behind; the result of the call says it, too.
        let _ = self.wishes.try_send(Wish::Told(text));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_that_was_cut_says_so() {
        let port = Port::alone();
        assert_eq!(Asker::origin(&port).words(), "the main agent");
        let long = "ü".repeat(200);
        for (said, told) in [
            ("start from a clean tree\n", "start from a clean tree".to_owned()),
            ("\n\nfirst line\nsecond", "first line…".to_owned()),
            (long.as_str(), format!("{}…", "ü".repeat(SAYING))),
        ] {
            port.says(said);
            assert_eq!(Asker::origin(&port).words(), format!("the main agent: “{told}”"));
        }
    }

    #[tokio::test]
    async fn work_beside_the_conversation_asks_in_the_same_place_under_its_own_name() {
        let (wish, mut wishes) = mpsc::channel(8);
        let port = Port::new(wish, true, Arc::new(|_| Ok(())));
        port.works_in("s1", "tidy up");
        port.says("clean the tree");
        let beside = port.beside(Speaker::Background("sweep".into()));
        beside.says("the disk is full");
        assert_eq!(Asker::origin(&port).words(), "the main agent: “clean the tree”");
        assert_eq!(Asker::origin(&beside).words(), "the background task sweep: “the disk is full”");
        assert_eq!((Asker::origin(&beside).session, Asker::origin(&beside).title), ("s1".into(), "tidy up".into()));
        let numbers: Vec<u64> = [&port, &beside, &port].iter().map(|port| port.number()).collect();
        assert_eq!(numbers, [1, 2, 3], "one inbox, no number twice");
        // A question whose work was stopped is taken back.
        let approval = Approval {
            id: ApprovalId(2),
            call_id: String::new(),
            tool: String::new(),
            intent: crate::policy::Intent::Talk,
            verdict: crate::policy::Verdict::Ask(vec![]),
            targets: vec![],
            payloads: vec![],
            proposals: vec![],
            origin: Asker::origin(&beside),
            changed: vec![],
            kept: false,
            asked_at: 0,
        };
        let cancel = CancellationToken::new();
        // So is one whose asker is gone without a word.
        let gone = Approval { id: ApprovalId(3), ..approval.clone() };
        let asked = tokio::spawn(Asker::ask(&beside, gone, cancel.clone()));
        let Some(Wish::Approve { answer: _answer, .. }) = wishes.recv().await else { panic!("it asks") };
        asked.abort();
        let Some(Wish::Withdrawn(id, how)) = wishes.recv().await else { panic!("it is taken back") };
        assert_eq!((id, how), (ApprovalId(3), Decision::Interrupted));
        let asked = tokio::spawn(Asker::ask(&beside, approval, cancel.clone()));
        let Some(Wish::Approve { answer: _answer, .. }) = wishes.recv().await else { panic!("it asks") };
        cancel.cancel();
        assert_eq!(asked.await.unwrap(), Decision::Interrupted);
        let Some(Wish::Withdrawn(id, how)) = wishes.recv().await else { panic!("it is taken back") };
        assert_eq!((id, how), (ApprovalId(2), Decision::Interrupted));
    }
}
