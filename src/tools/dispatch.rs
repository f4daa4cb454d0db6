//! What the gate calls before and after its question: repair the name, read the arguments, plan; and later run.
//!
//! Errors have two levels. A tool that fails or breaks is `{"error": "Tool execution failed: KIND: …"}`, and whatever goes
//! wrong around it is `{"error": "Error executing NAME: …"}`. A tool that has more to say than a sentence (suggestions,
//! matches) answers with an object of its own. The model always gets a result. Hooks look at the arguments before a call is planned, and at its result before it is bounded.

mod finish;

use super::builtin::tool_call;
use super::hook::{AGENT_LEVEL, Before, Called, Hooks};
use super::input::alias::{self, Alias};
use super::input::coerce::{check_types, coerce};
use super::offer::selection::{ToolSelection, VisibleTools};
use super::output::bound::{self, Masks, Redact};
use super::registry::Registry;
use super::spec::{Call, Content, Tool, ToolCtx, ToolError, ToolOutput, ToolSpec};
use crate::lock::lock;
use crate::policy::Intent;
use crate::policy::redact::{RedactKind, Secrets};
use crate::protocol::Outcome;
use crate::text::digest::Most;
use futures::FutureExt;
use serde_json::{Value, json};
use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

pub use finish::failure;

use finish::{Limits, finish, kind_of, mask_all, masked, unmasked};

/// How long a stopped call may take to deliver its outcome; what comes later is dropped.
const STOP_GRACE: Duration = Duration::from_secs(10);

/// Plans and runs calls of one registry.
#[derive(Clone)]
pub struct Dispatch {
    registry: Arc<Registry>,
    masks: Masks,
    /// What the session may use; `None`: all.
    offer: Option<Arc<ToolSelection>>,
    hooks: Option<Arc<dyn Hooks>>,
    stop_grace: Duration,
}

/// A call as far as it goes before the gate.
pub struct Planned {
    /// As the registry knows it; as written when it knows none.
    pub name: String,
    /// The name was not written like this.
    pub repaired: bool,
    /// `Err` is what became of a call that will not run.
    pub call: Result<PlannedCall, Box<ToolOutput>>,
    /// Why a hook blocked it.
    pub hooked: Option<String>,
    /// For the tool line.
    pub target: String,
}

/// A call that can run, once the gate has said yes.
pub struct PlannedCall {
    pub run: Box<dyn Call>,
    pub spec: ToolSpec,
    /// The arguments that it runs with, kept for hooks that hear of its end.
    pub args: Option<Value>,
    /// A hook wants a person to be asked, for this reason.
    pub ask: Option<String>,
}

impl PlannedCall {
    /// What it would do.
    pub fn intent(&self) -> &Intent {
        self.run.intent()
    }
}

impl Dispatch {
    /// `redact` masks secrets in results.
    pub fn new(registry: Arc<Registry>, redact: Redact) -> Self {
        let masks = Masks { redact, secrets: Secrets::default() };
        Self { registry, masks, offer: None, hooks: None, stop_grace: STOP_GRACE }
    }

    /// Masks these values in results, too.
    pub fn with_secrets(mut self, secrets: Secrets) -> Self {
        self.masks.secrets = secrets;
        self
    }

    /// The values that it masks.
    pub fn secrets(&self) -> &Secrets {
        &self.masks.secrets
    }

    /// Knows only what this offer has from now on: any other name is unknown to it.
    pub fn offering(mut self, offer: Arc<ToolSelection>) -> Self {
        self.offer = Some(offer);
        self
    }

    /// The tools that it knows now.
    pub fn among(&self) -> VisibleTools {
        let snapshot = self.registry.snapshot();
        match &self.offer {
            Some(offer) => offer.among(snapshot),
            None => VisibleTools::all(snapshot),
        }
    }

    /// Shows every call to these hooks.
    pub fn with_hooks(mut self, hooks: Arc<dyn Hooks>) -> Self {
        self.hooks = Some(hooks);
        self
    }

    /// The tools that it knows.
    pub fn registry(&self) -> &Arc<Registry> {
        &self.registry
    }

    /// Makes a call of what the model wrote. Changes nothing.
    pub async fn plan(&self, name: &str, args_json: &str, ctx: &ToolCtx) -> Planned {
        // Whatever looks at the call sees the tool that runs.
        let inner = tool_call::unwrap(name, args_json);
        let (name, args_json) = inner.as_ref().map_or((name, args_json), |(name, args)| (name, args));
        let among = self.among();
        let alias = alias::meant(name, args_json, |name| among.get(name).is_some());
        let (written, args_json) = (
            name,
            match &alias {
                Some(Alias::Call { args, .. }) => args.as_str(),
                Some(Alias::Tool { .. }) | None => args_json,
            },
        );
        let name = match &alias {
            Some(Alias::Call { name, .. }) => name,
            Some(Alias::Tool { .. }) | None => name,
        };
        let unclear = match &alias {
            Some(Alias::Tool { name, why }) => {
                among.get(name).map(|tool| alias::words(written, name, why, &tool.spec().schema))
            }
            Some(Alias::Call { .. }) | None => None,
        };
        let meant = if unclear.is_some() { None } else { among.meant(name) };
        let Some(tool) = meant else {
            let unknown = self.error(unclear.unwrap_or_else(|| among.unknown(name)), RedactKind::Code, ctx);
            return Planned {
                name: name.to_owned(),
                repaired: false,
                call: Err(Box::new(failure(unknown))),
                hooked: None,
                target: String::new(),
            };
        };
        let spec = tool.spec();
        let known = &*spec.name;
        let mut planned = Planned {
            name: known.to_owned(),
            repaired: known != written,
            call: Err(Box::default()),
            hooked: None,
            target: String::new(),
        };
        let args = arguments(args_json).map_err(|why| format!("invalid JSON arguments: {why}"));
        planned.call = match args.and_then(|args| fitted(args, spec)) {
            Err(why) => Err(Box::new(self.around(known, &why, kind_of(spec.content, None), ctx))),
            Ok(args) => self.prepare(&**tool, args, &among, &mut planned, ctx).await,
        };
        if let Ok(call) = &planned.call {
            planned.target = call.run.target();
        }
        planned
    }

    /// Hooks, then the tool's own plan.
    async fn prepare(
        &self,
        tool: &dyn Tool,
        mut args: Value,
        among: &VisibleTools,
        planned: &mut Planned,
        ctx: &ToolCtx,
    ) -> Result<PlannedCall, Box<ToolOutput>> {
        let spec = tool.spec();
        let (mut kept, mut ask) = (None, None);
        let kind = kind_of(spec.content, None);
        planned.target = tool.target(&args);
        let of_agent = AGENT_LEVEL.contains(&&*spec.name);
        if of_agent && !ctx.agent.is_agent() {
            let why = "its state belongs to the agent: it works only in a conversation";
            return Err(Box::new(self.around(&spec.name, why, kind, ctx)));
        }
        // What the agent does with its own state is no call to look at: it is taken out before the hooks.
        if let Some(hooks) = self.hooks.as_deref().filter(|hooks| !of_agent && hooks.wants(&spec.name)) {
            // A hook is another program: it hears no secrets, and what it leaves as it was stays what it was.
            let shown = masked(&args, &self.masks_for(ctx));
            let said = AssertUnwindSafe(hooks.before_call(&spec.name, shown.clone(), ctx)).catch_unwind().await;
            let back = match said.unwrap_or_else(|_| Before::Go(shown.clone())) {
                Before::Go(back) => back,
                Before::Ask { args: back, reason } => {
                    ask = Some(reason);
                    back
                }
                Before::Block(reason) => {
                    planned.hooked = Some(reason.clone());
                    let mut output = failure(self.error(format!("blocked by a hook: {reason}"), kind, ctx));
                    output.outcome = Outcome::Denied;
                    return Err(Box::new(output));
                }
            };
            args = fitted(unmasked(back, &shown, &args), spec)
                .map_err(|why| Box::new(self.around(&spec.name, &why, kind, ctx)))?;
            planned.target = tool.target(&args);
            kept = Some(args.clone());
        }
        match AssertUnwindSafe(tool.plan_among(args, among, ctx)).catch_unwind().await {
            Ok(Ok(run)) => Ok(PlannedCall { run, spec: spec.clone(), args: kept, ask }),
            Ok(Err(error)) => {
                let output = self.failed(&spec.name, error, kind, ctx);
                Err(Box::new(self.bounded(output, spec, kind, ctx).await))
            }
            Err(panic) => Err(Box::new(self.inside("panic", words(panic.as_ref()), kind, ctx))),
        }
    }

    /// Runs a call that the gate let through. The result is bounded and redacted; its target is the call's.
    pub async fn run(&self, planned: PlannedCall, ctx: ToolCtx) -> ToolOutput {
        let PlannedCall { run: call, spec, args, ask: _ } = planned;
        if !spec.content.is_of_files() {
            lock(&ctx.files).other_call();
        }
        let kind = match call.commands(&ctx) {
            lines if lines.is_empty() => kind_of(spec.content, Some(call.intent())),
            lines => RedactKind::of_command(&lines.join("\n")),
        };
        let outer = AssertUnwindSafe(async {
            let target = call.target();
            let began = tokio::time::Instant::now();
            let work = AssertUnwindSafe(async { call.run(ctx.clone()).await }).catch_unwind();
            let mut output = match until_stopped(work, &ctx.cancel, self.stop_grace).await {
                Some(Ok(Ok(output))) => output,
                Some(Ok(Err(error))) => self.failed(&spec.name, error, kind, &ctx),
                Some(Err(panic)) => self.inside("panic", words(panic.as_ref()), kind, &ctx),
                None => {
                    let why = format!("it did not stop within {} s; its result is dropped", self.stop_grace.as_secs());
                    let output = self.inside("interrupted", &why, kind, &ctx);
                    ToolOutput { outcome: Outcome::Interrupted, ..output }
                }
            };
            if let (Some(hooks), Some(args)) = (self.hooks.as_deref(), &args) {
                let called = Called { name: &spec.name, content: spec.content, args, duration: began.elapsed() };
                output = self.shown(hooks, called, output, kind, &ctx).await;
            }
            output.view.target = target;
            self.bounded(output, &spec, kind, &ctx).await
        });
        outer.catch_unwind().await.unwrap_or_else(|panic| self.around(&spec.name, words(panic.as_ref()), kind, &ctx))
    }

    /// The result as hooks leave it.
    async fn shown(
        &self,
        hooks: &dyn Hooks,
        called: Called<'_>,
        mut output: ToolOutput,
        kind: RedactKind,
        ctx: &ToolCtx,
    ) -> ToolOutput {
        let masks = self.masks_for(ctx);
        mask_all(&mut output, |text| bound::mask(text, kind, &masks));
        let before = output.clone();
        let args = masked(called.args, &masks);
        let called = Called { args: &args, ..called };
        AssertUnwindSafe(hooks.after_call(called, output, ctx)).catch_unwind().await.unwrap_or(before)
    }

    async fn bounded(&self, output: ToolOutput, spec: &ToolSpec, kind: RedactKind, ctx: &ToolCtx) -> ToolOutput {
        let work_is_small = output.content.len() + output.view.output.len() <= 8_192 && output.data.is_empty();
        let (folder, id, room, masks) = (ctx.spill.clone(), ctx.call_id.clone(), ctx.room, self.masks_for(ctx));
        let config = &ctx.config.tool_output;
        let most = Most {
            tokens: config.tokens(&spec.name, &spec.toolset, room.window),
            chars: config.max_bytes,
            line: config.max_line_length,
        };
        let whole = ctx.within.is_some();
        let most = if whole { Most { tokens: usize::MAX, chars: usize::MAX, line: usize::MAX } } else { most };
        let cap = if whole { usize::MAX } else { spec.output_cap };
        let pages = matches!(spec.content, Content::Page | Content::Script);
        let work = move || {
            let limits = Limits { cap, most, pages, room: &room, folder: &folder, call_id: &id };
            finish(output, &limits, |text| bound::mask(text, kind, &masks))
        };
        if work_is_small {
            return work();
        }
        match tokio::task::spawn_blocking(work).await {
            Ok(output) => output,
            Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            Err(error) => failure(json!({"error": format!("lost the result: {error}")}).to_string()),
        }
    }

    /// What a tool says of its failure.
    fn failed(&self, name: &str, error: ToolError, kind: RedactKind, ctx: &ToolCtx) -> ToolOutput {
        match error {
            ToolError::Detailed(json) if matches!(serde_json::from_str(&json), Ok(Value::Object(_))) => failure(json),
            // What the model wrote never reached the tool's work.
            ToolError::Args(why) => self.around(name, &why, kind, ctx),
            ToolError::Interrupted => {
                let output = self.inside("interrupted", "the user stopped the turn", kind, ctx);
                ToolOutput { outcome: Outcome::Interrupted, ..output }
            }
            ToolError::Failed(why) | ToolError::Detailed(why) => self.inside("error", &why, kind, ctx),
        }
    }

    /// An error of the tool itself. A person reads it without the frame.
    fn inside(&self, what: &str, why: &str, kind: RedactKind, ctx: &ToolCtx) -> ToolOutput {
        let content = self.error(format!("Tool execution failed: {what}: {why}"), kind, ctx);
        ToolOutput { content, ..failure(self.error(why.to_owned(), kind, ctx)) }
    }

    /// An error around a tool.
    fn around(&self, name: &str, why: &str, kind: RedactKind, ctx: &ToolCtx) -> ToolOutput {
        let content = self.error(format!("Error executing {name}: {why}"), kind, ctx);
        ToolOutput { content, ..failure(self.error(why.to_owned(), kind, ctx)) }
    }

    fn error(&self, text: String, kind: RedactKind, ctx: &ToolCtx) -> String {
        let redacted = self.masks_for(ctx).apply(&text, kind).into_owned();
        json!({"error": bound::clean_error(&redacted)}).to_string()
    }

    /// What masks for this call.
    pub fn masks_for(&self, ctx: &ToolCtx) -> Masks {
        if ctx.config.security.redact_secrets { self.masks.clone() } else { Masks::none() }
    }
}

/// What `work` gives; `None` when it was stopped and did not end in time. It is dropped then: nothing of it arrives.
async fn until_stopped<T>(work: impl Future<Output = T>, cancel: &CancellationToken, grace: Duration) -> Option<T> {
    let late = async {
        cancel.cancelled().await;
        tokio::time::sleep(grace).await;
    };
    tokio::select! {
        biased;
        done = work => Some(done),
        () = late => None,
    }
}

/// Arguments in the types that the tool wants. A server or a plugin judges its own by itself.
fn fitted(args: Value, spec: &ToolSpec) -> Result<Value, String> {
    let mut args = coerce(args, &spec.schema);
    if spec.pinned {
        check_types(&mut args, &spec.schema, spec.lenient)?;
    }
    Ok(args)
}

/// The arguments as an object; nothing at all counts as none.
fn arguments(text: &str) -> Result<Value, String> {
    if text.trim().is_empty() {
        return Ok(json!({}));
    }
    match serde_json::from_str(text) {
        Ok(Value::Object(fields)) => Ok(Value::Object(fields)),
        Ok(Value::Null) => Ok(json!({})),
        // Some models send the object as text.
        Ok(Value::String(inner)) if inner.trim_start().starts_with('{') => arguments(&inner),
        Ok(_) => Err("they must be an object".into()),
        Err(error) => {
            let line = text.lines().nth(error.line().saturating_sub(1)).unwrap_or_default();
            let start = error.column().saturating_sub(21);
            let near: String = line.chars().skip(start).take(40).collect();
            Err(format!("{error}, near `{near}`"))
        }
    }
}

/// What a panic said.
fn words(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message")
}

#[cfg(test)]
mod tests;
