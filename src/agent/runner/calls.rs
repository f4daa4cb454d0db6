//! Streams and tool calls while they run.

use super::channels::Done;
use super::{Deps, Runner, SAVE_EVERY};
use crate::agent::children::Relatives;
use crate::agent::turn::Input;
use crate::checkpoints::{self, Workspace};
use crate::llm::Delta;
use crate::lock::lock;
use crate::protocol::{AgentEvent, ItemId, Outcome, SessionId, ToolBody, ToolCall, ToolView};
use crate::store::Blobs;
use crate::tools::children::Kin;
use crate::tools::file::history::FileHistory;
use crate::tools::file::restore_target::RestoreTarget;
use crate::tools::gate::{CallEvent, Gate};
use crate::tools::output::budget::OutputBudget;
use crate::tools::parallel::{Segment, repeats, segments_in};
use crate::tools::spec::{AgentPort, Progress, ToolCtx};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Calls of one segment that run at the same time (as Python Hermes has it).
const MAX_AT_ONCE: usize = 8;

impl Runner {
    /// A piece of the reply.
    pub(super) async fn delta(&mut self, delta: Delta) {
        if let Some(call) = &mut self.call {
            call.thinking.saw(&delta);
        }
        match &delta {
            Delta::Waiting(what) => self.out.send(AgentEvent::Waiting { what: what.clone() }).await,
            Delta::Text(text) => {
                let shown = self.showable(text, false);
                self.out.text(&shown);
            }
            Delta::Reasoning(text) => {
                let shown = self.showable(text, true);
                self.out.reasoning(&shown);
            }
            Delta::CallStarted { index, name } => {
                let event = AgentEvent::CallDelta { index: *index, name: name.clone(), bytes: 0 };
                self.out.send(event).await;
            }
            Delta::CallProgress { index, bytes } => {
                let event = AgentEvent::CallDelta { index: *index, name: String::new(), bytes: *bytes };
                self.out.send(event).await;
            }
        }
        if let Some(call) = &mut self.call
            && call.save_at.is_none()
            && !(call.text.is_empty() && call.reasoning.is_empty())
        {
            call.save_at = Some(Instant::now() + SAVE_EVERY);
        }
    }

    /// A piece of text as it can be shown: what may be the beginning of a known secret is held back.
    fn showable(&mut self, text: &str, reasoning: bool) -> String {
        let hides = self.deps.loaded.config.security.redact_secrets;
        let secrets = self.deps.dispatch.secrets();
        let Some(call) = &mut self.call else { return text.to_owned() };
        let (whole, redactor) = if reasoning {
            (&mut call.reasoning, &mut call.redactors.reasoning)
        } else {
            (&mut call.text, &mut call.redactors.text)
        };
        whole.push_str(text);
        if hides { redactor.pass(text, secrets) } else { text.to_owned() }
    }

    /// Shows what was held back, at the end of a reply.
    pub(super) fn show_rest(&mut self) {
        let secrets = self.deps.dispatch.secrets();
        let Some(call) = &mut self.call else { return };
        let (text, reasoning) = (call.redactors.text.end(secrets), call.redactors.reasoning.end(secrets));
        if !reasoning.is_empty() {
            self.out.reasoning(&reasoning);
        }
        if !text.is_empty() {
            self.out.text(&text);
        }
    }

    /// A call began, or tells something.
    pub(super) async fn call_event(&mut self, event: CallEvent) {
        let event = match event {
            CallEvent::Started(start) => AgentEvent::ToolStarted(start),
            CallEvent::InnerEnded { within, call } => AgentEvent::InnerFinished { within, call },
            CallEvent::Progress { call_id, progress: Progress::Process(process) } => {
                AgentEvent::ToolProcess { call_id, process }
            }
            CallEvent::Progress { call_id, progress: Progress::Line(line) } => {
                AgentEvent::ToolProgress { call_id, line }
            }
        };
        if matches!(&event, AgentEvent::ToolStarted(start) if start.within.is_none())
            || matches!(event, AgentEvent::ToolProcess { .. })
        {
            self.running_calls.push(event.clone());
        }
        self.out.send(event).await;
    }

    /// A call has its result. One that was given up with its step may end late, and its id may be in use again: dropped.
    pub(super) async fn tool_done(&mut self, Done { batch, mut body }: Done) {
        if batch != self.batch {
            return;
        }
        if !body.images.is_empty() && self.session.sees() == Some(false) {
            let gone = std::mem::take(&mut body.images).len();
            body.content.push_str(&format!("\n[{gone} image(s) left out: this model has no vision]"));
        }
        // Starts that were sent before the end are told first.
        while let Ok(event) = self.call_events.rx.try_recv() {
            self.call_event(event).await;
        }
        self.running_calls.retain(|event| match event {
            AgentEvent::ToolStarted(start) => start.call_id != body.call_id,
            AgentEvent::ToolProcess { call_id, .. } => *call_id != body.call_id,
            _ => false,
        });
        // The call may have made a file of secrets, and its result may show it.
        self.learn_secrets().await;
        let tool = self.deps.dispatch.registry().snapshot().get(&body.name).cloned();
        let repeats = tool.is_some_and(|tool| tool.spec().repeats);
        self.feed(Input::ToolFinished { body: *body, repeats }).await;
    }

    /// Runs the calls of one step: segments one after another, the calls of a parallel segment together.
    pub(super) fn run_tools(&mut self, calls: Vec<ToolCall>) {
        let cancel = CancellationToken::new();
        self.tools = Some(cancel.clone());
        self.children_learn();
        self.running_calls.clear();
        self.batch += 1;
        let registry = self.deps.dispatch.registry().snapshot();
        let named: Vec<(String, String)> = calls.iter().map(|c| (c.name.clone(), c.args.clone())).collect();
        let repeats = repeats(&named);
        let cwd = lock(&self.session.cwd).clone();
        let of_step = if self.is_small() { OutputBudget::of_small_step } else { OutputBudget::of_step };
        let room = of_step(self.session.info().window, calls.len());
        let batch = Batch {
            gate: Arc::clone(&self.gate),
            events: self.call_events.tx.clone(),
            done: self.done.tx.clone(),
            contexts: calls.iter().map(|call| self.tool_ctx(call, &cancel, room)).collect(),
            calls,
            number: self.batch,
        };
        // Which paths are the same is asked of the disk: not here, where the stop key is heard.
        let plan = move || segments_in(&cwd, &named, |name| registry.get(name).map(|tool| tool.spec().parallel));
        tokio::spawn(async move {
            let planned = tokio::select! {
                biased;
                () = cancel.cancelled() => None,
                planned = tokio::task::spawn_blocking(plan) => planned.ok(),
            };
            // Stopped before it was known: every call still gets its result, one after another.
            let one_by_one =
                || (0..batch.calls.len()).map(|at| Segment { parallel: false, indices: vec![at] }).collect();
            for segment in planned.unwrap_or_else(one_by_one) {
                let once: Vec<usize> =
                    segment.indices.into_iter().filter(|index| !matches!(repeats.get(*index), Some(Some(_)))).collect();
                for some in once.chunks(if segment.parallel { MAX_AT_ONCE } else { 1 }) {
                    futures::future::join_all(some.iter().map(|index| batch.one(*index))).await;
                }
            }
            for (index, _) in repeats.iter().enumerate().filter(|(_, earlier)| earlier.is_some()) {
                batch.answer(batch.repeated(index)).await;
            }
        });
    }

    /// What a call of the program's own may use.
    pub(super) fn call_ctx(&self, call: &ToolCall, cancel: &CancellationToken) -> ToolCtx {
        self.tool_ctx(call, cancel, OutputBudget::of_step(self.session.info().window, 1))
    }

    fn tool_ctx(&self, call: &ToolCall, cancel: &CancellationToken, room: OutputBudget) -> ToolCtx {
        let (id, agent) = (&self.session.id, Arc::clone(&self.handle) as Arc<dyn AgentPort>);
        let mut ctx = self.deps.tool_ctx(&id.0, Arc::clone(&self.session.cwd), self.spec.cwd.clone(), agent);
        ctx.call_id.clone_from(&call.id);
        ctx.files = Arc::clone(&self.session.files);
        ctx.cancel = cancel.child_token();
        ctx.room = room;
        let kin = Relatives::of(self.spec.child.as_ref(), self.family.as_ref());
        ctx.kin = kin.map(|kin| Arc::new(kin) as Arc<dyn Kin>);
        ctx.history = Some(FileHistory {
            store: self.deps.store.clone(),
            blobs: Blobs::new(self.deps.paths.history()),
            session: id.clone(),
            turn: self.session.turn,
            ground: RestoreTarget::of(&self.deps.backends),
            workspace: Arc::clone(&self.session.workspace),
            listener: self.outside.listener(),
            home: self.deps.paths.home.clone(),
            item: ItemId(self.session.next_item - 1),
            secrets: self.deps.loaded.config.security.redact_secrets.then(|| self.deps.dispatch.secrets().clone()),
            unended: self.session.unended.clone(),
        });
        ctx
    }
}

impl Deps {
    /// A folder as it was before commands ran in it.
    pub fn workspace(&self, root: &Path) -> Arc<Workspace> {
        let settings = checkpoints::Settings::of(&self.paths, &self.loaded.config.checkpoints, root);
        self.checkpoints.of(root, settings)
    }

    /// What the calls of a task may use. The task gives the id of a call and the folder for long results their name; no
    /// file history, no bound that calls share, nothing to stop them. The one place where a [`ToolCtx`] is made.
    pub fn tool_ctx(
        &self,
        task: &str,
        cwd: Arc<Mutex<PathBuf>>,
        workspace: PathBuf,
        agent: Arc<dyn AgentPort>,
    ) -> ToolCtx {
        ToolCtx {
            config: Arc::clone(&self.loaded.config),
            call_id: task.to_owned(),
            task: task.into(),
            cwd,
            workspace,
            unconfined: false,
            read_only: false,
            closed: Default::default(),
            exec: self.exec.clone(),
            backends: self.backends.clone(),
            world: Arc::clone(&self.world),
            files: Arc::default(),
            kin: None,
            agent,
            // The gate puts its own channel in; this one only fills the field.
            progress: mpsc::channel(1).0,
            cancel: CancellationToken::new(),
            history: None,
            sessions: Some(self.store.clone()),
            spill: self.paths.spill().join(SessionId::from(task).file_name()),
            calls: None,
            within: None,
            room: Default::default(),
        }
    }
}

/// The calls of one step on their way.
struct Batch {
    gate: Arc<Gate>,
    events: mpsc::Sender<CallEvent>,
    done: mpsc::Sender<Done>,
    /// Counts steps with calls.
    number: u64,
    calls: Vec<ToolCall>,
    contexts: Vec<ToolCtx>,
}

impl Batch {
    async fn one(&self, index: usize) {
        let (Some(call), Some(ctx)) = (self.calls.get(index), self.contexts.get(index)) else { return };
        let body = if ctx.cancel.is_cancelled() {
            ToolBody {
                call_id: call.id.clone(),
                name: call.name.clone(),
                content: r#"{"error":"not run: the user stopped the turn"}"#.into(),
                outcome: Outcome::Interrupted,
                ..ToolBody::default()
            }
        } else {
            self.gate.call(call, ctx.clone(), self.events.clone()).await
        };
        self.answer(body).await;
    }

    async fn answer(&self, body: ToolBody) {
        // The runner is gone only at the end of the program.
        let _ = self.done.send(Done { batch: self.number, body: Box::new(body) }).await;
    }

    /// The answer to a call that stood in the step before.
    fn repeated(&self, index: usize) -> ToolBody {
        let call = self.calls.get(index).cloned().unwrap_or_default();
        ToolBody {
            content: format!(
                r#"{{"note":"same as an earlier {} call in this step, which ran once; see its result"}}"#,
                call.name.escape_debug()
            ),
            call_id: call.id,
            name: call.name,
            view: ToolView { summary: "ran once".into(), ..ToolView::default() },
            ..ToolBody::default()
        }
    }
}
