//! What tools and the gate see of the agent: its plan, and a person to ask. What they want of its runner goes as an
//! [`AgentRequest`].

use super::auto_approver::AutoApprover;
use super::budget::Stop;
use super::children::{Asking, ChildOf, Family, Ties};
use super::models::Models;
use super::policy_snapshot::PolicySnapshot;
use super::wait_clock::{WaitClock, WaitGuard};
use crate::llm::Provider;
use crate::lock::lock;
use crate::policy::unreviewed::Stricter;
use crate::policy::{Approval, ApprovalId, ApprovalOrigin, Decision, Grant, Payload, Preview, Speaker, Target};
use crate::protocol::{AgentEvent, Level, Mode, Question, QuestionId, Todo};
use crate::tools::children::Children;
use crate::tools::gate::{Asker, Review};
use crate::tools::spec::{AgentPort, GoBack};
use futures::future::BoxFuture;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::time::Duration;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

/// What a running call or the gate asks of the runner.
#[derive(Debug)]
pub enum AgentRequest {
    /// Show this approval; the answer goes back.
    Ask(Box<Approval>, oneshot::Sender<Decision>),
    /// Nobody waits for the answer to this approval any more; how it ended.
    Close(ApprovalId, Decision),
    /// Show this question; the answer goes back.
    Question(Question, oneshot::Sender<String>),
    /// Nobody waits for the answer to this question any more.
    Unasked(QuestionId),
    /// A fact for whoever watches. Of some the runner keeps something with the session before they go out.
    Event(Box<AgentEvent>),
    /// The conversation goes back to an earlier item, and goes on from there.
    GoBack(GoBack),
    /// The budget is used up: is it raised? Whether it has room again goes back.
    Broke(Stop, oneshot::Sender<bool>),
    /// A person chose this mode with the answer to a question; told once it holds.
    SetMode(Mode, oneshot::Sender<()>),
    /// The program tells the model something by itself, and people its gist.
    Heard { text: String, gist: String },
    /// What children did that the conversation does not hold yet changed.
    Owed,
    /// The gate has other grants.
    GrantsChanged,
    /// The gate knows something else of untrusted text.
    UntrustedChanged,
}

/// A notice that a call or the gate gives, which the agent hears of, too.
fn notice(text: String) -> AgentRequest {
    AgentRequest::Event(Box::new(AgentEvent::Notice { level: Level::Warning, text }))
}

/// Characters of the words that the modal tells as the reason.
const SAYING: usize = 160;

/// Writes a grant to `command_allowlist` or `permissions.yaml`; the error says why not.
pub type Remember = dyn Fn(&Grant) -> Result<(), String> + Send + Sync;

/// The runner's side of both traits. Shared by all calls of a session.
pub struct AgentHandle {
    requests: mpsc::Sender<AgentRequest>,
    /// Where questions go: to the runner as well, or to that of the session whose child this one is.
    inbox: mpsc::Sender<AgentRequest>,
    /// Who runs children of the session; not kept alive by it.
    children: OnceLock<Weak<Family>>,
    /// Whose child the session is.
    child: Option<ChildOf>,
    plan: Mutex<Vec<Todo>>,
    /// The session, who works in it for the questions of this handle, and the newest words of the model or the person.
    origin: Mutex<ApprovalOrigin>,
    /// Numbers of questions, the same for all handles of a process that share a screen.
    numbers: Arc<AtomicU64>,
    /// A person sits at the screen.
    interactive: bool,
    /// The program is being left: what ends from now on was stopped by nobody. The same for all handles of a session.
    left: Arc<AtomicBool>,
    remember: Arc<Remember>,
    /// The files of the policy; `None` where there is no session.
    policy: Option<Arc<PolicySnapshot>>,
    /// Who is asked in auto mode, or why nobody can be.
    auto_approver: Mutex<Result<AutoApprover, String>>,
    wait_clock: Arc<WaitClock>,
    /// Within the budget of the session; `None`: there is no session.
    models: Arc<Mutex<Option<Models>>>,
}

impl AgentHandle {
    /// A handle whose requests go to the runner.
    pub fn new(requests: mpsc::Sender<AgentRequest>, interactive: bool, remember: Arc<Remember>) -> Self {
        Self {
            inbox: requests.clone(),
            requests,
            children: OnceLock::new(),
            child: None,
            plan: Mutex::default(),
            origin: Mutex::default(),
            numbers: Arc::new(AtomicU64::new(1)),
            interactive,
            left: Arc::default(),
            remember,
            policy: None,
            auto_approver: Mutex::new(Err("no model configured".into())),
            wait_clock: Arc::default(),
            models: Arc::default(),
        }
    }

    /// What calls of models are made by from now on.
    pub fn calls_models(&self, models: &Models) {
        *lock(&self.models) = Some(models.clone());
    }

    /// Asks whoever answers for the session, or for the one whose child it is, whether the budget is raised. `false`: nobody
    /// does.
    pub fn ask_to_raise(&self, stop: Stop) -> BoxFuture<'static, bool> {
        let (inbox, interactive) = (self.inbox.clone(), self.interactive);
        let waits = interactive.then(|| self.waits());
        Box::pin(async move {
            let _waits = waits;
            let (answer, heard) = oneshot::channel();
            interactive && inbox.send(AgentRequest::Broke(stop, answer)).await.is_ok() && heard.await.unwrap_or(false)
        })
    }

    /// Looks at these files before anything passes by itself.
    pub fn watching(self, policy: Arc<PolicySnapshot>) -> Self {
        Self { policy: Some(policy), ..self }
    }

    /// Who is asked in auto mode from now on, or why nobody can be.
    pub fn set_auto_approver(&self, auto_approver: Result<AutoApprover, String>) {
        *lock(&self.auto_approver) = auto_approver;
    }

    /// A handle where there is no agent and nobody to ask: the plan is kept in memory, questions fail at once.
    pub fn alone() -> Self {
        Self::new(mpsc::channel(1).0, false, Arc::new(|_| Err("there was no one to say always".into())))
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
        let event = AgentEvent::Previewed { id, line, preview: preview.map(Box::new) };
        // The runner is gone only at the end of the program.
        let _ = self.requests.send(AgentRequest::Event(Box::new(event))).await;
    }

    /// The session that questions belong to from now on, and what it is called.
    pub fn works_in(&self, session: &str, title: &str) {
        let mut origin = lock(&self.origin);
        (origin.session, origin.title) = (session.to_owned(), title.to_owned());
    }

    /// A handle for work beside the conversation: its questions reach the same inbox and say whose they are. It has a plan of
    /// its own.
    pub fn speaking_as(&self, by: Speaker) -> Self {
        let origin = ApprovalOrigin { by, saying: String::new(), ..Asker::origin(self) };
        Self {
            requests: self.requests.clone(),
            inbox: self.inbox.clone(),
            children: OnceLock::new(),
            child: self.child.clone(),
            plan: Mutex::default(),
            origin: Mutex::new(origin),
            numbers: Arc::clone(&self.numbers),
            interactive: self.interactive,
            left: Arc::clone(&self.left),
            remember: Arc::clone(&self.remember),
            policy: self.policy.clone(),
            auto_approver: Mutex::new(lock(&self.auto_approver).clone()),
            wait_clock: Arc::default(),
            models: Arc::clone(&self.models),
        }
    }

    /// The handle of a child: its questions reach the inbox of its parent and say whose they are; all else is its own.
    pub fn asking_through(self, child: &ChildOf) -> Self {
        let (parent, by) = (&child.family.parent().handle, Speaker::Agent(child.name.clone()));
        Self {
            inbox: parent.inbox.clone(),
            child: Some(child.clone()),
            origin: Mutex::new(ApprovalOrigin { by, saying: String::new(), ..Asker::origin(&**parent) }),
            numbers: Arc::clone(&parent.numbers),
            interactive: parent.interactive,
            ..self
        }
    }

    /// A question opens: whoever waits for it has its time stand still until this is dropped.
    fn waits(&self) -> (WaitGuard, Option<Asking>) {
        (self.wait_clock.wait(), self.child.as_ref().and_then(ChildOf::asks))
    }

    /// Who runs children of the session.
    pub fn has_children(&self, family: &Arc<Family>) {
        // Once, when the session is built.
        let _ = self.children.set(Arc::downgrade(family));
    }

    /// The id of a question that the runner asks by itself.
    pub fn next_question(&self) -> QuestionId {
        QuestionId(Asker::number(self))
    }

    /// Whether a person answers.
    pub fn has_person(&self) -> bool {
        self.interactive
    }

    /// Tells the runner; lost when it is far behind.
    pub fn tell(&self, request: AgentRequest) {
        let _ = self.requests.try_send(request);
    }

    /// Tells the runner; it arrives, though later when the runner is far behind.
    pub fn tell_in_time(&self, request: AgentRequest) {
        if let Err(TrySendError::Full(request)) = self.requests.try_send(request)
            && let Ok(here) = tokio::runtime::Handle::try_current()
        {
            let requests = self.requests.clone();
            here.spawn(async move { drop(requests.send(request).await) });
        }
    }

    /// Tells the runner, and waits for its room.
    pub async fn tell_surely(&self, request: AgentRequest) {
        // The runner is gone only when the session is.
        let _ = self.requests.send(request).await;
    }

    /// How long questions of this handle have been open so far, those at the same time counted once.
    pub fn waited(&self) -> Duration {
        self.wait_clock.total()
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

impl AgentPort for AgentHandle {
    fn notice(&self, text: String) {
        let requests = self.requests.clone();
        // It must arrive: nothing else tells it.
        tokio::spawn(async move { drop(requests.send(notice(text)).await) });
    }

    fn set_mode(&self, mode: Mode) -> BoxFuture<'static, ()> {
        let requests = self.requests.clone();
        Box::pin(async move {
            let (done, holds) = oneshot::channel();
            if requests.send(AgentRequest::SetMode(mode, done)).await.is_ok() {
                // The runner is gone only when the session is.
                let _ = holds.await;
            }
        })
    }

    fn children(&self) -> Option<Arc<dyn Children>> {
        Some(Arc::new(Ties(self.children.get()?.upgrade()?)))
    }

    fn model(&self, choice: Option<&str>) -> Result<Arc<dyn Provider>, String> {
        let models = lock(&self.models).clone().ok_or("no model available")?;
        models.sampler(choice).map_err(|error| error.to_string())
    }

    fn go_back(&self, back: GoBack) {
        // Before the call has its result: the runner looks here first. Full only when it is far behind.
        self.tell_in_time(AgentRequest::GoBack(back));
    }

    fn waited(&self) -> Duration {
        Self::waited(self)
    }

    fn is_agent(&self) -> bool {
        !self.requests.is_closed()
    }

    fn plan(&self) -> Vec<Todo> {
        lock(&self.plan).clone()
    }

    fn set_plan(&self, plan: Vec<Todo>) {
        *lock(&self.plan) = plan.clone();
        // Full only when the runner is far behind; the next change brings the whole plan again.
        let _ = self.requests.try_send(AgentRequest::Event(Box::new(AgentEvent::PlanChanged(plan))));
    }

    fn ask(&self, mut question: Question) -> BoxFuture<'static, Result<String, String>> {
        if !self.interactive {
            return Box::pin(async {
                Err("no one can answer here; decide yourself and state what you assumed".into())
            });
        }
        question.id = QuestionId(self.number());
        let (requests, waits, id) = (self.inbox.clone(), self.waits(), question.id);
        Box::pin(async move {
            let _waits = waits;
            let (answer, heard) = oneshot::channel();
            let gone = || "the question was closed before it was answered".to_owned();
            let mut open = OpenQuestion { requests: requests.clone(), void: Some(AgentRequest::Unasked(id)) };
            let sent = requests.send(AgentRequest::Question(question, answer)).await;
            let answered = match sent {
                Ok(()) => heard.await.map_err(|_| gone()),
                Err(_) => Err(gone()),
            };
            open.void = None;
            answered
        })
    }
}

/// A question that waits. Whoever asked may be stopped, or be gone without a word: it goes with them.
struct OpenQuestion {
    requests: mpsc::Sender<AgentRequest>,
    /// What says that nobody waits any more; `None`: it was answered.
    void: Option<AgentRequest>,
}

impl Drop for OpenQuestion {
    fn drop(&mut self) {
        if let Some(void) = self.void.take() {
            surely(&self.requests, void);
        }
    }
}

/// It must arrive: a question that nobody waits for would stay on the screen. The first word counts.
fn surely(requests: &mpsc::Sender<AgentRequest>, request: AgentRequest) {
    if let Err(TrySendError::Full(request)) = requests.try_send(request)
        && let Ok(here) = tokio::runtime::Handle::try_current()
    {
        let requests = requests.clone();
        here.spawn(async move { drop(requests.send(request).await) });
    }
}

impl Asker for AgentHandle {
    fn ask(&self, approval: Approval, cancel: CancellationToken) -> BoxFuture<'static, Decision> {
        if !self.interactive {
            return Box::pin(async { Decision::NoOne });
        }
        let (requests, id, waits) = (self.inbox.clone(), approval.id, self.waits());
        Box::pin(async move {
            let _waits = waits;
            let (answer, heard) = oneshot::channel();
            let void = Some(AgentRequest::Close(id, Decision::Interrupted));
            let mut open = OpenQuestion { requests: requests.clone(), void };
            let request = AgentRequest::Ask(Box::new(approval), answer);
            let asked = async {
                match requests.send(request).await {
                    Ok(()) => heard.await.unwrap_or(Decision::Interrupted),
                    Err(_) => Decision::NoOne,
                }
            };
            tokio::select! {
                biased;
                () = cancel.cancelled() => Decision::Interrupted,
                decision = asked => {
                    open.void = None;
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

    fn grants_changed(&self) {
        // The runner reads the grants from the gate; it only needs to know when.
        let _ = self.requests.try_send(AgentRequest::GrantsChanged);
    }

    fn approval_found(&self, id: ApprovalId, targets: Vec<Target>, payloads: Vec<Payload>) {
        let requests = self.inbox.clone();
        let event = AgentEvent::ApprovalFound { id, targets, payloads };
        // It must arrive: nothing else tells it.
        tokio::spawn(async move { drop(requests.send(AgentRequest::Event(Box::new(event))).await) });
    }

    fn close(&self, id: ApprovalId, how: Decision) {
        surely(&self.inbox, AgentRequest::Close(id, how));
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

    fn review(&self, question: String, cancel: CancellationToken) -> BoxFuture<'static, Review> {
        let auto_approver = lock(&self.auto_approver).clone();
        Box::pin(async move {
            match auto_approver {
                Ok(auto_approver) => auto_approver.review(question, cancel).await,
                Err(why) => Review::without_model(format!("no model available: {why}")),
            }
        })
    }

    fn policy(&self) -> (bool, Arc<Stricter>) {
        let Some(policy) = &self.policy else { return Default::default() };
        if let Some(news) = policy.news() {
            // Full only when the runner is far behind; `/policy` and the next look tell it, too.
            let _ = self.requests.try_send(AgentRequest::Event(Box::new(AgentEvent::PolicyChanged(news))));
        }
        policy.now()
    }

    fn untrusted_changed(&self) {
        // The runner reads it from the gate; it only needs to know when.
        let _ = self.requests.try_send(AgentRequest::UntrustedChanged);
    }

    fn notice(&self, text: String) {
        // Full only when the runner is far behind; the result of the call says it, too.
        let _ = self.requests.try_send(notice(text));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_that_was_cut_says_so() {
        let handle = AgentHandle::alone();
        assert_eq!(Asker::origin(&handle).words(), "the main agent");
        let long = "ü".repeat(200);
        for (said, told) in [
            ("start from a clean tree\n", "start from a clean tree".to_owned()),
            ("\n\nfirst line\nsecond", "first line…".to_owned()),
            (long.as_str(), format!("{}…", "ü".repeat(SAYING))),
        ] {
            handle.says(said);
            assert_eq!(Asker::origin(&handle).words(), format!("the main agent: “{told}”"));
        }
    }

    #[tokio::test]
    async fn work_beside_the_conversation_asks_in_the_same_place_under_its_own_name() {
        let (tx, mut requests) = mpsc::channel(8);
        let handle = AgentHandle::new(tx, true, Arc::new(|_| Ok(())));
        handle.works_in("s1", "tidy up");
        handle.says("clean the tree");
        let background = handle.speaking_as(Speaker::Background("sweep".into()));
        background.says("the disk is full");
        assert_eq!(Asker::origin(&handle).words(), "the main agent: “clean the tree”");
        assert_eq!(Asker::origin(&background).words(), "the background task sweep: “the disk is full”");
        assert_eq!(
            (Asker::origin(&background).session, Asker::origin(&background).title),
            ("s1".into(), "tidy up".into())
        );
        let numbers: Vec<u64> = [&handle, &background, &handle].iter().map(|handle| handle.number()).collect();
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
            origin: Asker::origin(&background),
            changed: vec![],
            drops: vec![],
            kept: false,
            asked_at: 0,
        };
        let cancel = CancellationToken::new();
        // So is one whose asker is gone without a word.
        let gone = Approval { id: ApprovalId(3), ..approval.clone() };
        let asked = tokio::spawn(Asker::ask(&background, gone, cancel.clone()));
        let Some(AgentRequest::Ask(_, _answer)) = requests.recv().await else { panic!("it asks") };
        asked.abort();
        let Some(AgentRequest::Close(id, how)) = requests.recv().await else { panic!("it is taken back") };
        assert_eq!((id, how), (ApprovalId(3), Decision::Interrupted));
        let asked = tokio::spawn(Asker::ask(&background, approval, cancel.clone()));
        let Some(AgentRequest::Ask(_, _answer)) = requests.recv().await else { panic!("it asks") };
        cancel.cancel();
        assert_eq!(asked.await.unwrap(), Decision::Interrupted);
        let Some(AgentRequest::Close(id, how)) = requests.recv().await else { panic!("it is taken back") };
        assert_eq!((id, how), (ApprovalId(2), Decision::Interrupted));
    }
}
