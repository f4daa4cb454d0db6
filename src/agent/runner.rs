//! Drives one conversation in a background task: orders in, facts out. The only writer of conversation items.
//!
//! What follows what is decided by `turn` (pure); this room talks to the model, the gate and the store.

mod about;
mod actions;
mod agent_requests;
mod btw;
mod budget;
mod calls;
mod channels;
mod compaction;
mod context_view;
mod family;
mod forgotten;
mod goal;
mod guard;
mod hooks;
mod outside;
mod place;
mod policy;
mod request;
mod rest;
mod resume;
mod rewind;
mod saving;
mod session;
mod take;
#[cfg(test)]
mod tests;
mod tools;
mod undo;

use super::children::{Family, Opener};
use super::compaction::writer::{Unwritten, Written};
use super::handle::{AgentHandle, AgentRequest};
use super::models::Models;
use super::outbox::Outbox;
use super::policy_snapshot::PolicySnapshot;
use super::spec::{Opens, SessionSpec, Surface};
use super::stream_redactor::StreamRedactors;
use super::turn::{Input, Said, Turn};
use crate::checkpoints::Checkpoints;
use crate::config::load::{Loaded, Sources};
use crate::config::paths::Paths;
use crate::exec::{Exec, ExitReason, Notice};
use crate::llm::{Delta, ProviderError, Reply};
use crate::lock::lock;
use crate::policy::permissions::Permission;
use crate::policy::rule::Action;
use crate::policy::{ApprovalId, Grant};
use crate::protocol::{AgentCommand, AgentEvent, Level, QuestionId, SessionId};
use crate::store::Store;
use crate::tools::dispatch::Dispatch;
use crate::tools::gate::{CallEvent, Gate};
use channels::{Channel, Done, ModelAnswer};
use session::Session;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// What a conversation runs on.
#[derive(Clone)]
pub struct Deps {
    pub loaded: Arc<Loaded>,
    /// To read it again.
    pub sources: Arc<Sources>,
    pub paths: Paths,
    pub store: Store,
    pub exec: Exec,
    pub models: Models,
    pub dispatch: Arc<Dispatch>,
    /// Where commands run and files are.
    pub backends: crate::backends::Backends,
    pub world: Arc<dyn crate::policy::World>,
    /// Hooks and plugins.
    pub extensions: crate::plugins::Extensions,
    /// The files of the policy, as the session reads them.
    pub policy: Arc<PolicySnapshot>,
    /// Folders as they were before commands ran in them.
    pub checkpoints: Checkpoints,
    /// What sessions that are opened later begin with.
    pub newest: Newest,
    /// Who opens children; `None`: there are none.
    pub opener: Option<Arc<dyn Opener>>,
}

/// The configuration that was read last, with the files of the policy that it came from.
#[derive(Clone)]
pub struct Newest {
    pub loaded: Arc<Mutex<Arc<Loaded>>>,
    pub policy: Arc<PolicySnapshot>,
}

impl Newest {
    /// A session took this configuration, and knows the policy like this.
    fn took(&self, loaded: &Arc<Loaded>, policy: &PolicySnapshot) {
        *lock(&self.loaded) = Arc::clone(loaded);
        policy.share_with(&self.policy);
    }
}

/// What arrives while the runner waits.
enum Happened {
    Command(Option<AgentCommand>),
    Delta(Delta),
    Replied(Result<Reply, ProviderError>),
    Call(CallEvent),
    ToolDone(Done),
    Requested(AgentRequest),
    WaitOver,
    SaveStream,
    Process(Notice),
    Model(ModelAnswer),
    Compacted(Result<Written, Unwritten>),
    PluginNotice(crate::plugins::PluginNotice),
    Rested,
    Aside(rest::Aside),
    Stirred,
}

/// A model call in flight.
struct ModelCall {
    cancel: CancellationToken,
    deltas: mpsc::Receiver<Delta>,
    reply: oneshot::Receiver<Result<Reply, ProviderError>>,
    text: String,
    reasoning: String,
    /// What is held back of both.
    redactors: StreamRedactors,
    thinking: Thinking,
    /// Text that the store does not have yet is saved by then.
    save_at: Option<Instant>,
}

/// How long the model thinks in one call, by the pieces of its stream.
#[derive(Clone, Copy, Default)]
struct Thinking {
    since: Option<Instant>,
    until: Option<Instant>,
}

impl Thinking {
    /// A piece came: of the reasoning, or of what follows it.
    fn saw(&mut self, delta: &Delta) {
        let now = Instant::now();
        match delta {
            Delta::Reasoning(_) => {
                self.since.get_or_insert(now);
            }
            Delta::Waiting(_) => {}
            Delta::Text(text) if text.is_empty() => {}
            Delta::Text(_) | Delta::CallStarted { .. } | Delta::CallProgress { .. } if self.since.is_some() => {
                self.until.get_or_insert(now);
            }
            Delta::Text(_) | Delta::CallStarted { .. } | Delta::CallProgress { .. } => {}
        }
    }

    /// Milliseconds, once the reply is whole; `None` when nothing was thought.
    fn ended(self) -> Option<u64> {
        let took = self.until.unwrap_or_else(Instant::now).duration_since(self.since?);
        u64::try_from(took.as_millis()).ok()
    }
}

/// Time between two saves of streamed text; the promise is a second.
const SAVE_EVERY: std::time::Duration = std::time::Duration::from_millis(500);

/// One conversation.
pub struct Runner {
    deps: Deps,
    spec: SessionSpec,
    commands: mpsc::Receiver<AgentCommand>,
    out: Outbox,
    session: Session,
    turn: Turn,
    /// When the session was first used, and what it had used by then: its limits count from there.
    opened: Option<(Instant, crate::protocol::Usage)>,
    turn_started: Instant,
    /// How long the person had been waited for when it began.
    waited_before: std::time::Duration,
    gate: Arc<Gate>,
    handle: Arc<AgentHandle>,
    requests: mpsc::Receiver<AgentRequest>,
    call: Option<ModelCall>,
    wait: Option<Instant>,
    tools: Option<CancellationToken>,
    call_events: Channel<CallEvent>,
    /// What the calls that run told so far, for somebody who begins to watch.
    running_calls: Vec<AgentEvent>,
    done: Channel<Done>,
    /// Counts steps with calls; results of earlier ones are late.
    batch: u64,
    approvals: HashMap<ApprovalId, agent_requests::PendingApproval>,
    questions: HashMap<QuestionId, oneshot::Sender<String>>,
    /// The loop guard's own question.
    guard_question: Option<QuestionId>,
    /// The same of a child: it stands in the inbox of its root.
    guard_asks: Option<tokio_util::task::AbortOnDropHandle<()>>,
    notices: mpsc::Receiver<Notice>,
    /// What servers on this machine told of their models, by choice.
    answers: Channel<ModelAnswer>,
    /// Asks for the window of the chosen model, and waits where its provider can't be reached.
    asking: Option<tokio::task::JoinHandle<()>>,
    /// What was last told about saving.
    trouble: Option<String>,
    /// The session is being left: nothing new begins in it.
    leaving: bool,
    /// Rows of hooks and news of plugins.
    plugin_notices: mpsc::Receiver<crate::plugins::PluginNotice>,
    /// Orders that came while a hook was waited for.
    held: std::collections::VecDeque<AgentCommand>,
    /// The hooks of the session's start; their words go with its first prompt.
    greeting: Option<tokio::task::JoinHandle<String>>,
    /// What a person ended while nothing ran: the model hears of it with the next prompt.
    ended: Vec<String>,
    /// How long the model thought for the answer that is about to become an item.
    thought_ms: Option<u64>,
    /// The answer that ends the turn.
    last_answer: String,
    /// Tools of open approvals.
    asked_tools: HashMap<ApprovalId, String>,
    /// When the session will have rested.
    rest_at: Option<Instant>,
    /// What work in the background found.
    aside: Channel<rest::Aside>,
    /// Sessions that say what they were about.
    telling: Option<tokio::task::JoinHandle<()>>,
    /// The history of files was tidied in this run.
    swept: bool,
    /// The summary that is being written.
    compacting: Option<compaction::Compacting>,
    /// What others change while it works.
    outside: outside::Outside,
    /// Calls ran since the last step began.
    calls_ran: bool,
    /// Branch and changed files, as they were last seen at this time.
    git: Option<(Instant, (String, usize))>,
    /// A call restored a checkpoint: the conversation follows before the next step, and goes on with this note.
    going_back: Option<crate::tools::spec::GoBack>,
    /// What is spent, and what may be.
    purse: super::budget::purse::Purse,
    /// Its children; `None`: it can have none.
    family: Option<Arc<Family>>,
    /// What it works towards by itself.
    goal: Option<crate::protocol::Goal>,
    /// Whoever judges that stops with this.
    judging: Option<tokio_util::sync::DropGuard>,
    /// Bytes that this program had written at the start of the turn, and of the first turn.
    written_before: Option<(u64, u64)>,
    /// The question whether the budget is raised, and who waits for the answer.
    broke: budget::Broke,
    /// What the status line shows of the budget.
    budget_sign: Option<crate::protocol::BudgetSign>,
}

/// The rules of a configuration, for work on a kind of backend (`local`, `ssh`) that a person asked for on a surface:
/// lines of permission files, and the entries of `config.yaml` as such lines.
pub fn rules(loaded: &Loaded, backend: &str, surface: &Surface) -> crate::policy::rule::Rules {
    let config = &loaded.config;
    let listed = config.command_allowlist.iter().map(|entry| Permission::entry(Action::Allow, entry));
    let denied = config.approvals.deny.iter().map(|entry| Permission::entry(Action::Deny, entry));
    crate::policy::rule::Rules {
        permissions: Arc::new(loaded.permissions.all.iter().cloned().chain(listed).chain(denied).collect()),
        unreadable: loaded.permissions.unreadable.clone(),
        here: crate::policy::permissions::Here {
            backend: backend.to_owned(),
            platform: surface.platform.clone(),
            chat: surface.chat.clone(),
            folder: loaded.permissions.folder.clone(),
            ..Default::default()
        },
        ..crate::policy::rule::Rules::default()
    }
}

/// Channels to a running conversation.
pub struct Handle {
    pub commands: mpsc::Sender<AgentCommand>,
    pub events: mpsc::Receiver<AgentEvent>,
    pub task: tokio::task::JoinHandle<()>,
}

/// Starts the conversation of a session in a background task; it lasts as long as the session. `id` names a new one and is
/// left aside for one that is resumed.
pub fn spawn(deps: Deps, spec: SessionSpec, id: SessionId) -> Handle {
    let (commands, orders) = mpsc::channel(64);
    let (facts, events) = mpsc::channel(256);
    let task = tokio::spawn(async move { Runner::new(deps, spec, id, orders, facts).run().await });
    Handle { commands, events, task }
}

impl Runner {
    fn new(
        mut deps: Deps,
        spec: SessionSpec,
        id: SessionId,
        commands: mpsc::Receiver<AgentCommand>,
        facts: mpsc::Sender<AgentEvent>,
    ) -> Self {
        let id = if let Opens::Resume(known) = &spec.opens { known.clone() } else { id };
        if spec.without_hooks {
            deps.extensions = crate::plugins::Extensions::default();
        }
        let (request, requests) = mpsc::channel(32);
        deps.policy.begin(&deps.loaded, &spec.cwd);
        let own = Arc::clone(&deps.policy);
        let (paths, folder) = (deps.paths.clone(), deps.loaded.permissions.folder.clone());
        let remember =
            Arc::new(move |grant: &Grant| own.ours(|| crate::config::permissions::remember(&paths, &folder, grant)));
        let handle = AgentHandle::new(request, spec.answers.is_person(), remember);
        let handle = family::of_child(handle, &spec);
        let handle = Arc::new(handle.watching(Arc::clone(&deps.policy)));
        let mode = spec.mode.unwrap_or(deps.loaded.config.approvals.mode);
        let gate = Gate::new(
            Arc::clone(&deps.dispatch),
            rules(&deps.loaded, deps.backends.kind(), &spec.surface),
            mode,
            Arc::clone(&deps.world),
            Arc::clone(&handle) as Arc<dyn crate::tools::gate::Asker>,
        );
        let gate = Arc::new(gate.with_log(deps.store.clone()));
        let aside = Channel::new(4);
        let purse = budget::purse(&deps, &id, spec.answers.is_person(), aside.tx.clone());
        let purse = family::inherit(purse, &gate, &spec);
        let family = family::of_parent(&deps, &spec, &id, &handle, &gate, &purse);
        deps.models = deps.models.within(purse.clone());
        handle.calls_models(&deps.models);
        let turn = Turn::new(guard::limits(&deps.loaded.config, &spec, deps.models.fallbacks()));
        Self {
            notices: deps.exec.notices_of(&id.0),
            plugin_notices: deps.extensions.listen(&id.0),
            session: Session::new(&deps, &spec, id, mode),
            held: std::collections::VecDeque::new(),
            greeting: None,
            ended: Vec::new(),
            thought_ms: None,
            last_answer: String::new(),
            asked_tools: HashMap::new(),
            deps,
            spec,
            commands,
            out: Outbox::new(facts),
            turn,
            opened: None,
            turn_started: Instant::now(),
            waited_before: std::time::Duration::ZERO,
            gate,
            handle,
            requests,
            call: None,
            wait: None,
            tools: None,
            call_events: Channel::new(64),
            running_calls: Vec::new(),
            done: Channel::new(64),
            batch: 0,
            approvals: HashMap::new(),
            questions: HashMap::new(),
            guard_question: None,
            guard_asks: None,
            answers: Channel::new(4),
            asking: None,
            trouble: None,
            leaving: false,
            rest_at: None,
            aside,
            telling: None,
            swept: false,
            compacting: None,
            outside: Default::default(),
            calls_ran: false,
            git: None,
            going_back: None,
            purse,
            family,
            goal: None,
            judging: None,
            written_before: None,
            broke: Default::default(),
            budget_sign: None,
        }
    }

    async fn run(mut self) {
        self.look_up();
        if !self.begin().await {
            return self.out.send(AgentEvent::NotOpened).await;
        }
        self.rests();
        loop {
            match self.next().await {
                Happened::Command(None) => break,
                Happened::Command(Some(AgentCommand::Close { cleared })) => {
                    self.leaving = true;
                    self.handle.leave();
                    self.stop(true).await;
                    self.children_end().await;
                    self.session.unended.end_all().await;
                    if cleared {
                        // The program goes on, and finds what had arrived.
                        self.keep_stream().await;
                    }
                    self.farewell(cleared).await;
                    self.forget().await;
                    break;
                }
                Happened::Command(Some(command)) => self.command(command).await,
                Happened::Delta(delta) => self.delta(delta).await,
                Happened::Replied(result) => self.replied(result).await,
                Happened::Call(event) => self.call_event(event).await,
                Happened::ToolDone(done) => self.tool_done(done).await,
                Happened::Requested(request) => self.agent_request(request).await,
                Happened::WaitOver => {
                    self.wait = None;
                    self.out.send(AgentEvent::RetryEnded).await;
                    self.feed(Input::WaitEnded).await;
                }
                Happened::SaveStream => self.save_stream(),
                Happened::Process(notice) => self.process_notice(notice).await,
                Happened::Model(answer) => self.answered(answer).await,
                Happened::Compacted(written) => self.compacted(written).await,
                Happened::PluginNotice(notice) => self.on_plugin_notice(notice).await,
                Happened::Rested => self.rested(),
                Happened::Aside(aside) => self.aside(aside).await,
                Happened::Stirred => self.show_outside().await,
            }
        }
        if let Some(asking) = self.asking.take() {
            asking.abort();
        }
        // What was streamed and not finished is in the store's partial row; a resume makes an item of it.
        self.save_stream();
        self.save_rest().await;
        self.say_in_short().await;
        self.sync().await;
    }

    /// Waits for whatever comes first.
    async fn next(&mut self) -> Happened {
        if let Some(held) = self.next_held() {
            return held;
        }
        let wait = self.wait;
        let save_at = self.call.as_ref().and_then(|c| c.save_at);
        let behind = self.out.is_behind();
        tokio::select! {
            biased;
            command = self.commands.recv() => Happened::Command(command),
            Some(request) = self.requests.recv() => Happened::Requested(request),
            // Starts come before ends, so that a call is never finished before it began.
            Some(event) = self.call_events.rx.recv() => Happened::Call(event),
            Some(done) = self.done.rx.recv() => Happened::ToolDone(done),
            happened = model(&mut self.call) => happened,
            () = until(wait) => Happened::WaitOver,
            () = until(save_at) => Happened::SaveStream,
            () = tokio::time::sleep(std::time::Duration::from_millis(8)), if behind => {
                // Room may have come; an empty delta flushes.
                Happened::Delta(Delta::Text(String::new()))
            }
            Some(notice) = self.plugin_notices.recv() => Happened::PluginNotice(notice),
            Some(notice) = self.notices.recv() => Happened::Process(notice),
            Some(answer) = self.answers.rx.recv() => Happened::Model(answer),
            Some(aside) = self.aside.rx.recv() => Happened::Aside(aside),
            () = until(self.rest_at) => Happened::Rested,
            () = outside::stirred(&mut self.outside), if !self.turn.is_running() => Happened::Stirred,
            // Not in the middle of a request: its usage would be taken for that of the compacted conversation.
            written = compaction::answer(&mut self.compacting), if self.call.is_none() => Happened::Compacted(written),
        }
    }

    async fn command(&mut self, command: AgentCommand) {
        match command {
            AgentCommand::Submit { text, images } => self.submit(Said::person(text, images)).await,
            AgentCommand::Told(text) => self.told(text).await,
            // A person who speaks to a child that repeats itself has answered.
            AgentCommand::Steer { text, .. } if self.guard_asks.is_some() => {
                self.guard_answered(text, String::new()).await;
            }
            AgentCommand::Steer { text, images } if self.turn.is_running() => {
                self.gate.heard_anew();
                self.gate.person_said(&text);
                self.feed(Input::Steered(Said::steer(text, images))).await;
            }
            AgentCommand::Steer { text, images } => self.submit(Said::person(text, images)).await,
            AgentCommand::Stop { force } => self.stop(force).await,
            AgentCommand::Decide(id, decision) => self.decide(id, decision).await,
            AgentCommand::Preview(id, line) => self.preview(id, line),
            AgentCommand::Answer(id, text) => self.answer(id, text).await,
            AgentCommand::SetModel(choice) => self.set_model(choice).await,
            AgentCommand::SetEffort(effort) => {
                self.session.effort = effort;
                self.keep("effort", effort.as_str().into()).await;
                self.out.send(AgentEvent::SessionChanged(self.session.info())).await;
            }
            AgentCommand::SetMode(mode) => self.set_mode(mode, "set it").await,
            AgentCommand::SetToolsets(names) => self.set_toolsets(names).await,
            AgentCommand::SetBackend(kind) => self.set_backend(kind).await,
            AgentCommand::SetTitle(title) => self.set_title(title).await,
            AgentCommand::Rewind(order) => self.rewind(order).await,
            AgentCommand::Redo => self.redo().await,
            AgentCommand::Context(order) => self.context_order(order).await,
            AgentCommand::Compact(order) => self.compact_order(order).await,
            AgentCommand::RaiseBudget(by) => self.raise_budget(by).await,
            AgentCommand::UndoCommand(order) => self.undo_command(order).await,
            AgentCommand::Take(order) => Box::pin(self.take(*order)).await,
            AgentCommand::SkipWait(again) => {
                if self.wait.take().is_some() {
                    self.out.send(AgentEvent::RetryEnded).await;
                    self.feed(if again { Input::WaitEnded } else { Input::WaitGivenUp }).await;
                }
            }
            AgentCommand::Reload => self.reload().await,
            AgentCommand::LookAtPolicy => self.look_at_policy().await,
            AgentCommand::ByTheWay(question) => self.by_the_way(question).await,
            AgentCommand::Show => self.show().await,
            AgentCommand::ToBackground => self.children_to_background().await,
            AgentCommand::Goal(order) => Box::pin(self.goal_order(order)).await,
            AgentCommand::LookAgain => self.gate.stir(),
            AgentCommand::Writing(id, writing) => self.gate.writes(id, writing),
            AgentCommand::Policy(answer) => self.policy_answered(answer).await,
            AgentCommand::Close { .. } => {}
        }
    }

    async fn notice(&mut self, level: Level, text: impl Into<String>) {
        let text = self.masked(&text.into());
        self.out.send(AgentEvent::Notice { level, text }).await;
    }

    /// Something for the agent to know: at the next step boundary, or a turn of its own when idle.
    async fn process_notice(&mut self, notice: Notice) {
        let (Notice::Completed { id, .. } | Notice::Matched { id, .. }) = &notice;
        if matches!(notice, Notice::Completed { .. }) {
            self.process_ended(&id.0, &super::situation::notice_text(&notice));
        }
        // The model has seen its end already, or there is nobody to go on for.
        if self.deps.exec.is_consumed(id) || !self.spec.answers.is_person() {
            return;
        }
        let (Notice::Completed { command, .. } | Notice::Matched { command, .. }) = &notice;
        let cwd = lock(&self.session.cwd).clone();
        let text = self.gate.heard(command, &cwd, super::situation::notice_text(&notice));
        let by_hand = matches!(&notice, Notice::Completed { exit, .. } if exit.reason == ExitReason::Killed);
        let said = Said::program(text, super::situation::gist(&notice));
        if self.turn.is_running() {
            self.feed(Input::Steered(said)).await;
        } else if by_hand {
            // Whoever ended it asked for no answer.
            self.ended.push(said.text);
        } else {
            self.submit(said).await;
        }
    }
}

/// The next piece of the model call, or never.
async fn model(call: &mut Option<ModelCall>) -> Happened {
    let Some(call) = call else { return std::future::pending().await };
    tokio::select! {
        biased;
        Some(delta) = call.deltas.recv() => Happened::Delta(delta),
        reply = &mut call.reply => Happened::Replied(reply.unwrap_or_else(|_| {
            Err(ProviderError {
                kind: crate::llm::ErrorKind::Malformed,
                status: None,
                message: "the model client stopped unexpectedly; try again".into(),
                retry_after: None,
                reset_after: None,
                next_key: crate::llm::NextKey::Unchanged,
                partial: None,
            })
        })),
    }
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}
