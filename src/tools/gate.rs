//! The one gate: plan → decide → ask → run. Every door (foreground, background, command line, later plugins, MCP, cron)
//! calls [`Gate::call`]; nothing else runs a tool.

mod ask;
mod assess;
mod assessment;
mod audit;
mod denials;
mod disk;
mod environment;
mod grants;
mod inner;
mod offers;
mod origin;
mod request;
mod resolve;
mod review;
mod unsandboxed;

pub use review::Review;

use super::dispatch::{Dispatch, Planned, PlannedCall};
use super::spec::{Progress, ToolCtx, ToolOutput, ToolSpec};
use crate::lock::lock;
use crate::policy::decide::{Closed, PLANNING};
use crate::policy::permissions::Reader;
use crate::policy::redact::RedactKind;
use crate::policy::rule::Rules;
use crate::policy::taint::Untrusted;
use crate::policy::unreviewed::Stricter;
use crate::policy::{Approval, ApprovalId, ApprovalOrigin, Decision, Grant, Intent, Mode, Payload, Target, World};
use crate::protocol::{InnerCall, Outcome, ToolBody, ToolCall, ToolStart, ToolView};
use crate::store::Store;
use futures::future::BoxFuture;
use request::Request;
use resolve::Cleared;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, Weak};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// Who answers questions of the gate.
pub trait Asker: Send + Sync {
    /// Waits as long as the person does; ends with [`Decision::Interrupted`] when `cancel` fires.
    fn ask(&self, approval: Approval, cancel: CancellationToken) -> BoxFuture<'static, Decision>;

    /// The program is being left: a question that is interrupted now was stopped by nobody.
    fn is_left(&self) -> bool {
        false
    }

    /// Writes a grant where it stands for later sessions; the error says why not.
    fn remember(&self, grant: &Grant) -> Result<(), String>;

    /// The session has other grants.
    fn grants_changed(&self);

    /// A question that it was asked is void now; how it ended.
    fn close(&self, id: ApprovalId, how: Decision);

    /// What the call of an open question would touch is known in full now.
    fn approval_found(&self, _id: ApprovalId, _targets: Vec<Target>, _payloads: Vec<Payload>) {}

    /// Who asks and why.
    fn origin(&self) -> ApprovalOrigin;

    /// The number of the next question: never the same twice in a process.
    fn number(&self) -> u64;

    /// Now, in milliseconds since the epoch.
    fn now(&self) -> i64;

    /// Puts a question of low risk to the auxiliary model.
    fn review(&self, _question: String, _cancel: CancellationToken) -> BoxFuture<'static, Review> {
        Box::pin(async { Review::without_model("auto mode has no model".into()) })
    }

    /// Whether the files of the policy are other ones than those that the session read, and what they forbid beyond. Looks
    /// at the disk.
    fn policy(&self) -> (bool, Arc<Stricter>) {
        (false, Arc::default())
    }

    /// What is known of untrusted text in this session changed.
    fn untrusted_changed(&self) {}

    /// Says something to the person that needs no answer.
    fn notice(&self, _text: String) {}
}

/// Facts of a call on its way.
#[derive(Clone, Debug, PartialEq)]
pub enum CallEvent {
    Started(ToolStart),
    Progress {
        call_id: String,
        progress: Progress,
    },
    /// A call that the call `within` made has ended.
    InnerEnded {
        within: String,
        call: Box<InnerCall>,
    },
}

/// The gate of one session.
pub struct Gate {
    dispatch: Mutex<Arc<Dispatch>>,
    rules: Mutex<Rules>,
    mode: Mutex<Mode>,
    world: Arc<dyn World>,
    asker: Arc<dyn Asker>,
    /// Questions that wait for an answer.
    open: Mutex<HashMap<ApprovalId, ask::OpenQuestion>>,
    /// How often what they were judged by may have changed.
    stirred: tokio::sync::watch::Sender<u64>,
    denials: Mutex<denials::Denials>,
    /// Where the audit log is kept.
    log: Option<Store>,
    /// What a sandbox blocked and a person left blocked in this session.
    left_blocked: Mutex<Vec<String>>,
    /// Where untrusted text of the session came from.
    untrusted: Mutex<Untrusted>,
    /// What a person allows there for the session holds here, too.
    above: OnceLock<Arc<Gate>>,
    /// Those that what is allowed here holds for.
    below: Mutex<Vec<Weak<Gate>>>,
}

impl Gate {
    /// A gate with the rules of the configuration.
    pub fn new(
        dispatch: Arc<Dispatch>,
        rules: Rules,
        mode: Mode,
        world: Arc<dyn World>,
        asker: Arc<dyn Asker>,
    ) -> Self {
        Self {
            dispatch: Mutex::new(dispatch),
            rules: Mutex::new(rules),
            mode: Mutex::new(mode),
            world,
            asker,
            open: Mutex::default(),
            stirred: tokio::sync::watch::channel(0).0,
            denials: Mutex::default(),
            log: None,
            left_blocked: Mutex::default(),
            untrusted: Mutex::default(),
            above: OnceLock::new(),
            below: Mutex::default(),
        }
    }

    /// Keeps an audit log of what it lets run and of what it does not.
    pub fn with_log(mut self, store: Store) -> Self {
        self.log = Some(store);
        self
    }

    /// Lets only these tools run: what the session was not given is unknown to it, whatever the model calls.
    pub fn only(&self, dispatch: Dispatch) {
        *lock(&self.dispatch) = Arc::new(dispatch);
    }

    fn dispatch(&self) -> Arc<Dispatch> {
        Arc::clone(&lock(&self.dispatch))
    }

    /// Changes how questions are treated. Only a person's command reaches this.
    pub fn set_mode(&self, mode: Mode) {
        *lock(&self.mode) = mode;
        // An open question may be none any more, or refused.
        self.stir();
    }

    fn mode(&self) -> Mode {
        *lock(&self.mode)
    }

    /// Takes the rules of a configuration that was read again; the grants of the session stay.
    pub fn set_rules(&self, rules: Rules) {
        let mut held = lock(&self.rules);
        let session = std::mem::take(&mut held.session);
        *held = Rules { session, ..rules };
        drop(held);
        self.stir();
    }

    /// The rules as they hold for a call of this tool now. A copy: looking at the disk may take long, and nobody should
    /// wait for the lock.
    fn rules_for(&self, tool: &str, reader: &Reader) -> Rules {
        let mut rules = lock(&self.rules).clone();
        rules.grant(&self.inherited());
        rules.here.tool = tool.to_owned();
        rules.here.reader = reader.clone();
        rules.here.now = self.asker.now();
        rules
    }

    /// Runs one call through plan, decision, question and run. Always comes back with a result.
    pub async fn call(&self, call: &ToolCall, ctx: ToolCtx, events: mpsc::Sender<CallEvent>) -> ToolBody {
        let Some(planned) = self.plan(&call.name, &call.args, &ctx).await else { return stopped(call) };
        let mut body = ToolBody {
            call_id: call.id.clone(),
            name: planned.name.clone(),
            view: ToolView { target: planned.target.clone(), ..ToolView::default() },
            ..ToolBody::default()
        };
        if let Some(why) = &planned.hooked {
            self.log_blocked_by_hook(call, &planned.name, &planned.target, why, &ctx);
        }
        let planned = match planned.call {
            Ok(planned) => planned,
            Err(output) => {
                body.content = output.content;
                body.outcome = output.outcome;
                let word = || blocked_word(output.outcome).into();
                body.view.summary = Some(output.view.summary).filter(|said| !said.is_empty()).unwrap_or_else(word);
                body.view.output = output.view.output;
                return body;
            }
        };
        match self.clear(call, planned, &ctx).await {
            Ok(cleared) => self.run_cleared(call, cleared, body, ctx, &events).await,
            Err((outcome, why)) => {
                body.content = serde_json::json!({ "error": why, "status": "blocked" }).to_string();
                body.outcome = outcome;
                let by_mode = why.starts_with(PLANNING);
                body.view.summary = if by_mode { PLANNING } else { blocked_word(outcome) }.into();
                body.view.approval = why;
                body
            }
        }
    }

    /// Plans where a disk that hangs keeps nobody; `None` when the turn was stopped first.
    async fn plan(&self, name: &str, args: &str, ctx: &ToolCtx) -> Option<Planned> {
        let (dispatch, here) = (self.dispatch(), tokio::runtime::Handle::current());
        let (name, args, its_ctx) = (name.to_owned(), args.to_owned(), ctx.clone());
        disk::unless_stopped(&ctx.cancel, move || here.block_on(dispatch.plan(&name, &args, &its_ctx))).await
    }

    /// Runs a call that may run, once more without its sandbox when that stopped it and a person says so, and puts what
    /// came of it into `body`.
    async fn run_cleared(
        &self,
        call: &ToolCall,
        cleared: Cleared,
        mut body: ToolBody,
        ctx: ToolCtx,
        events: &mpsc::Sender<CallEvent>,
    ) -> ToolBody {
        let Cleared { planned, note, edited, is_logged } = cleared;
        let spec = planned.spec.clone();
        let ended = is_logged.then(|| self.end_row(call, &spec.name, &ctx));
        if ctx.cancel.is_cancelled() {
            self.log_end(ended, Outcome::Interrupted, 0);
            return ToolBody { view: body.view, name: body.name, ..stopped(call) };
        }
        self.note_made(planned.intent(), &ctx).await;
        // The person's time to answer is not the call's.
        let began = tokio::time::Instant::now();
        let target = planned.run.target();
        let masks = self.dispatch().masks_for(&ctx);
        let shown = masks.secrets.mask(&target, RedactKind::FileRead).into_owned();
        self.tell_start(call, &spec, shown, &ctx, events).await;
        let cwd = folder(&ctx);
        let origin = self.origin(&*planned.run, &cwd, &ctx).await;
        let intent = planned.intent().clone();
        let mut output = self.run(planned, ctx.clone(), &call.id, events).await;
        if let Some(what) = output.blocked.take_if(|_| self.mode() == Mode::Plan) {
            let note = format!("plan mode blocked {what}; nothing is changed before the user leaves plan mode");
            output.content = with_note(output.content, &note);
        } else if let Some(what) = output.blocked.take() {
            let first = Request { call, tool: &spec.name, intent, drops: Vec::new(), hook: None, ctx: &ctx };
            output = self.again_unsandboxed(&first, cwd, &what, output, events).await;
        }
        // What the person wrote, as far as the model may read it.
        let edited = edited.map(|line| masks.apply(&line, RedactKind::Code).into_owned());
        body.content = match &edited {
            Some(line) => with_note(output.content, &format!("the user edited the command before it ran: {line}")),
            None => output.content,
        };
        body.outcome = output.outcome;
        body.images = output.images;
        body.large = output.large;
        body.inner = output.inner;
        body.view = output.view;
        if body.view.target.is_empty() {
            body.view.target = target;
        }
        body.view.edited = edited.unwrap_or_default();
        body.view.approval = match (note.is_empty(), body.view.approval.is_empty()) {
            (false, false) => format!("{note}; {}", body.view.approval),
            (false, true) => note,
            (true, _) => body.view.approval,
        };
        let origin = origin.or_of(&output.strangers);
        match &ctx.within {
            Some(within) => self.receive_inner(&body, origin, within),
            None => self.receive(&mut body, origin),
        }
        body.duration_ms = began.elapsed().as_millis().try_into().unwrap_or(u64::MAX);
        self.log_end(ended, body.outcome, body.duration_ms);
        body
    }

    async fn tell_start(
        &self,
        call: &ToolCall,
        spec: &ToolSpec,
        target: String,
        ctx: &ToolCtx,
        events: &mpsc::Sender<CallEvent>,
    ) {
        let start = ToolStart {
            call_id: call.id.clone(),
            name: spec.name.to_string(),
            emoji: spec.emoji.to_string(),
            verb: spec.verbs.running.to_string(),
            target,
            at: self.asker.now(),
            within: ctx.within.as_ref().map(|within| within.call.to_string()),
        };
        // The receiver is gone only when the session is; the call still runs to its end.
        let _ = events.send(CallEvent::Started(start)).await;
    }

    /// The files that rules close, those of now: what was forbidden on disk meanwhile counts at once.
    async fn closed(&self, tool: &str, ctx: &ToolCtx) -> Closed {
        let (mut rules, asker) = (self.rules_for(tool, &Reader::Unknown), Arc::clone(&self.asker));
        let (cwd, world) = (folder(ctx), Arc::clone(&self.world));
        let looks = move || {
            asker.policy().1.tighten(&mut rules);
            Closed::by(rules, &cwd, world)
        };
        // A turn that was stopped runs nothing.
        disk::unless_stopped(&ctx.cancel, looks).await.unwrap_or_default()
    }

    /// Runs a passed call and forwards its progress.
    async fn run(
        &self,
        planned: PlannedCall,
        mut ctx: ToolCtx,
        call_id: &str,
        events: &mpsc::Sender<CallEvent>,
    ) -> ToolOutput {
        let (progress, mut heard) = mpsc::channel(16);
        ctx.progress = progress;
        ctx.read_only = self.mode() == Mode::Plan;
        if ctx.read_only && matches!(planned.intent(), Intent::Edit(_)) {
            // The mode was chosen after the edit was cleared.
            let error = serde_json::json!({ "error": "not run: the user chose plan mode, which changes nothing" });
            return ToolOutput { outcome: Outcome::Denied, ..ToolOutput::json(&error) };
        }
        if let Intent::Read(_) = planned.intent() {
            ctx.closed = self.closed(&planned.spec.name, &ctx).await;
        }
        let dispatch = self.dispatch();
        let (inner, asked) = inner::Inner::new(call_id, &ctx);
        ctx.calls = asked;
        let mut inner = inner;
        let mut running = inner::Running::new();
        let forwarded = async {
            while let Some(progress) = heard.recv().await {
                // Nobody listens any more: what follows is dropped as well.
                let _ = events.send(CallEvent::Progress { call_id: call_id.to_owned(), progress }).await;
            }
            std::future::pending().await
        };
        // Beside the call, not before it: whoever does not read its progress holds up nothing.
        let output = tokio::select! {
            biased;
            never = forwarded => never,
            never = inner.serve(self, events, &mut running) => never,
            output = dispatch.run(planned, ctx) => output,
        };
        inner.end(output, running).await
    }
}

/// Why a call did not run.
const STOPPED: &str = "not run: the user stopped the turn";

/// The result of a call that the stop key was faster than.
fn stopped(call: &ToolCall) -> ToolBody {
    ToolBody {
        call_id: call.id.clone(),
        name: call.name.clone(),
        content: serde_json::json!({ "error": STOPPED }).to_string(),
        outcome: Outcome::Interrupted,
        ..ToolBody::default()
    }
}

fn folder(ctx: &ToolCtx) -> PathBuf {
    lock(&ctx.cwd).clone()
}

fn blocked_word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Refused => "refused",
        Outcome::Denied => "denied",
        Outcome::TimedOut => "no answer in time",
        Outcome::NoOne => "no one to ask",
        Outcome::Interrupted => "stopped",
        Outcome::Ok | Outcome::Failed => "failed",
    }
}

/// A result that says more than the tool did.
fn with_note(content: String, note: &str) -> String {
    match serde_json::from_str(&content) {
        Ok(serde_json::Value::Object(mut fields)) => {
            fields.insert("note".into(), note.into());
            serde_json::Value::Object(fields).to_string()
        }
        _ => format!("{content}\n[{note}]"),
    }
}

#[cfg(test)]
mod tests;
