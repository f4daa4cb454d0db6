//! The one way a call runs: repair the name, read the arguments, plan; and later, when the gate has said yes, run.
//!
//! Errors have two levels. What a tool reports in its own words is `{"error": WORDS}`; a tool that breaks is `{"error":
//! "Tool execution failed: …"}`; and whatever goes wrong around it is `{"error": "Error executing NAME: …"}`. The model
//! always gets a result. Hooks look at the arguments before a call is planned, and at its result before it is bounded.

use super::bound::{self, Redact};
use super::coerce::coerce;
use super::hook::{Before, Called, Hooks};
use super::registry::Registry;
use super::spec::{Call, Tool, ToolCtx, ToolError, ToolOutput, ToolSpec};
use super::{file::edit, line, repair};
use crate::llm::message::Outcome;
use crate::policy::Intent;
use crate::policy::redact::RedactKind;
use futures::FutureExt;
use serde_json::{Value, json};
use std::any::Any;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::panic::AssertUnwindSafe;
use std::path::Path;
use std::sync::Arc;

/// Characters of what a person can unfold below a tool line.
const VIEW_CHARS: usize = 40_000;
/// Characters of an error on its tool line.
const SUMMARY_CHARS: usize = 120;

/// Plans and runs calls of one registry.
#[derive(Clone)]
pub struct Dispatch {
    registry: Arc<Registry>,
    redact: Redact,
    /// Tools of the session; `None`: all.
    allowed: Option<Arc<BTreeSet<String>>>,
    hooks: Option<Arc<dyn Hooks>>,
}

/// A call as far as it goes before the gate.
pub struct Planned {
    /// As the registry knows it; as written when it knows none.
    pub name: String,
    /// `None` for an unknown name.
    pub spec: Option<ToolSpec>,
    /// The name was not written like this.
    pub repaired: bool,
    /// `Err` is what became of a call that will not run.
    pub call: Result<Box<dyn Call>, Box<ToolOutput>>,
    /// A hook wants a person to be asked, for this reason.
    pub ask: Option<String>,
    /// The arguments that it runs with, kept for hooks that hear of its end.
    pub args: Option<Value>,
    /// For the tool line.
    pub target: String,
}

impl Dispatch {
    /// `redact` masks secrets in results.
    pub fn new(registry: Arc<Registry>, redact: Redact) -> Self {
        Self { registry, redact, allowed: None, hooks: None }
    }

    /// Knows only these tools from now on: any other name is unknown to it.
    pub fn only(mut self, tools: BTreeSet<String>) -> Self {
        self.allowed = Some(Arc::new(tools));
        self
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
        let snapshot = self.registry.snapshot();
        let allowed = self.allowed.as_deref();
        let names = snapshot.names().filter(move |name| allowed.is_none_or(|tools| tools.contains(*name)));
        let unknown = || self.error(repair::unknown(name, names.clone()), RedactKind::Code, ctx);
        let Some((known, tool)) =
            repair::repair(name, names.clone()).and_then(|known| Some((known, snapshot.get(known)?)))
        else {
            let call = Err(Box::new(failure(unknown())));
            return Planned {
                name: name.to_owned(),
                spec: None,
                repaired: false,
                call,
                ask: None,
                args: None,
                target: String::new(),
            };
        };
        let spec = tool.spec().clone();
        let mut planned = Planned {
            name: known.to_owned(),
            repaired: known != name,
            call: Err(Box::default()),
            ask: None,
            args: None,
            target: String::new(),
            spec: None,
        };
        planned.call = match arguments(args_json).map(|args| coerce(args, &spec.schema)) {
            Err(why) => {
                let text = format!("invalid JSON arguments for {known}: {why}");
                Err(Box::new(failure(self.error(text, kind_of(known, None), ctx))))
            }
            Ok(args) => self.prepare(&**tool, args, &mut planned, ctx).await,
        };
        if let Ok(call) = &planned.call {
            planned.target = call.target();
        }
        planned.spec = Some(spec);
        planned
    }

    /// Hooks, then the tool's own plan.
    async fn prepare(
        &self,
        tool: &dyn Tool,
        mut args: Value,
        planned: &mut Planned,
        ctx: &ToolCtx,
    ) -> Result<Box<dyn Call>, Box<ToolOutput>> {
        let spec = tool.spec();
        let kind = kind_of(&spec.name, None);
        planned.target = line::target(&spec.name, &args);
        if let Some(hooks) = self.hooks.as_deref().filter(|hooks| hooks.wants(&spec.name)) {
            let given = args.clone();
            let said = AssertUnwindSafe(hooks.before_call(&spec.name, args, ctx)).catch_unwind().await;
            args = match said.unwrap_or(Before::Go(given)) {
                Before::Go(args) => coerce(args, &spec.schema),
                Before::Ask { args, reason } => {
                    planned.ask = Some(reason);
                    coerce(args, &spec.schema)
                }
                Before::Block(reason) => {
                    let mut output = failure(self.error(format!("blocked by a hook: {reason}"), kind, ctx));
                    output.outcome = Outcome::Denied;
                    return Err(Box::new(output));
                }
            };
            planned.target = line::target(&spec.name, &args);
            planned.args = Some(args.clone());
        }
        match AssertUnwindSafe(tool.plan(args, ctx)).catch_unwind().await {
            Ok(Ok(call)) => Ok(call),
            Ok(Err(error)) => {
                let output = self.failed(error, kind, ctx);
                Err(Box::new(self.bounded(output, spec.output_cap, kind, ctx).await))
            }
            Err(panic) => Err(Box::new(self.broke(panic.as_ref(), kind, ctx))),
        }
    }

    /// Runs a call that the gate let through. The result is bounded and redacted; its target is the call's. `args` are
    /// what it was planned with, as [`Planned`] has them.
    pub async fn run(&self, call: Box<dyn Call>, spec: &ToolSpec, args: Option<&Value>, ctx: ToolCtx) -> ToolOutput {
        if !matches!(spec.name.as_ref(), "read_file" | "search_files") {
            edit::lock(&ctx.files).other_call();
        }
        let kind = kind_of(&spec.name, Some(call.intent()));
        let outer = AssertUnwindSafe(async {
            let target = call.target();
            let began = tokio::time::Instant::now();
            let mut output = match AssertUnwindSafe(async { call.run(ctx.clone()).await }).catch_unwind().await {
                Ok(Ok(output)) => output,
                Ok(Err(error)) => self.failed(error, kind, &ctx),
                Err(panic) => self.broke(panic.as_ref(), kind, &ctx),
            };
            if let (Some(hooks), Some(args)) = (self.hooks.as_deref(), args) {
                let called = Called { name: &spec.name, args, duration: began.elapsed() };
                output = self.shown(hooks, called, output, kind, &ctx).await;
            }
            output.view.target = target;
            self.bounded(output, spec.output_cap, kind, &ctx).await
        });
        outer.catch_unwind().await.unwrap_or_else(|panic| {
            let text = format!("Error executing {}: {}", spec.name, words(panic.as_ref()));
            failure(self.error(text, kind, &ctx))
        })
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
        mask_all(&mut output, |text| bound::mask(text, kind, self.redact_for(ctx)));
        let before = output.clone();
        AssertUnwindSafe(hooks.after_call(called, output, ctx)).catch_unwind().await.unwrap_or(before)
    }

    async fn bounded(&self, output: ToolOutput, cap: usize, kind: RedactKind, ctx: &ToolCtx) -> ToolOutput {
        let work_is_small = output.content.len() + output.view.output.len() <= 8_192;
        let (folder, id, redact) = (ctx.spill.clone(), ctx.call_id.clone(), self.redact_for(ctx));
        let work = move || finish(output, cap, &folder, &id, |text| bound::mask(text, kind, redact));
        if work_is_small {
            return work();
        }
        match tokio::task::spawn_blocking(work).await {
            Ok(output) => output,
            Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            Err(error) => failure(json!({"error": format!("the result was lost: {error}")}).to_string()),
        }
    }

    /// An error in a tool's own words.
    fn failed(&self, error: ToolError, kind: RedactKind, ctx: &ToolCtx) -> ToolOutput {
        let outcome = if error == ToolError::Interrupted { Outcome::Interrupted } else { Outcome::Failed };
        let content = match error {
            ToolError::Detailed(json) if matches!(serde_json::from_str(&json), Ok(Value::Object(_))) => json,
            error => self.error(error.to_string(), kind, ctx),
        };
        ToolOutput { outcome, ..failure(content) }
    }

    /// A tool that broke.
    fn broke(&self, panic: &(dyn Any + Send), kind: RedactKind, ctx: &ToolCtx) -> ToolOutput {
        self.failed(ToolError::Failed(format!("Tool execution failed: panic: {}", words(panic))), kind, ctx)
    }

    fn error(&self, text: String, kind: RedactKind, ctx: &ToolCtx) -> String {
        let redacted = (self.redact_for(ctx))(&text, kind).into_owned();
        json!({"error": bound::clean_error(&redacted)}).to_string()
    }

    fn redact_for(&self, ctx: &ToolCtx) -> Redact {
        if ctx.config.security.redact_secrets { self.redact } else { |text, _| Cow::Borrowed(text) }
    }
}

/// What the result of a call is, to mask it.
fn kind_of(tool: &str, intent: Option<&Intent>) -> RedactKind {
    match (tool, intent) {
        (_, Some(Intent::Command { line, .. })) => RedactKind::of_command(line),
        ("read_file" | "search_files", _) => RedactKind::FileRead,
        _ => RedactKind::Code,
    }
}

/// Masks and bounds all that leaves a call. Diffs are of the person's own files: they stay as they are.
fn finish(
    mut output: ToolOutput,
    cap: usize,
    folder: &Path,
    id: &str,
    mask: impl Fn(&str) -> Cow<'_, str>,
) -> ToolOutput {
    output.content = bound::bound(output.content, cap, folder, id, &mask);
    mask_view(&mut output, &mask);
    let view = &mut output.view;
    if view.output.len() > VIEW_CHARS {
        let head = VIEW_CHARS * 2 / 5;
        view.output = bound::cut(&view.output, head, VIEW_CHARS - head, "\n…\n");
    }
    output
}

fn mask_all(output: &mut ToolOutput, mask: impl Fn(&str) -> Cow<'_, str>) {
    if let Cow::Owned(masked) = mask(&output.content) {
        output.content = masked;
    }
    mask_view(output, &mask);
}

fn mask_view(output: &mut ToolOutput, mask: &impl Fn(&str) -> Cow<'_, str>) {
    let view = &mut output.view;
    for text in [&mut view.output, &mut view.summary, &mut view.approval] {
        if let Cow::Owned(masked) = mask(text) {
            *text = masked;
        }
    }
}

/// The output for a result that is an `{"error"}`, as a call gets that could not be planned or was denied.
pub fn failure(content: String) -> ToolOutput {
    let error = serde_json::from_str::<Value>(&content).ok();
    let text = error.as_ref().and_then(|error| error.get("error")?.as_str()).unwrap_or(&content).to_owned();
    let mut output = ToolOutput { content, outcome: Outcome::Failed, ..ToolOutput::default() };
    output.view.summary = text.lines().next().unwrap_or_default().chars().take(SUMMARY_CHARS).collect();
    output.view.output = text;
    output
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
        .unwrap_or("without a message")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::testing::{Bench, Fake, Step};

    fn bench(steps: &[(&'static str, Step)]) -> Bench {
        let registry = Registry::builtin();
        for (name, step) in steps {
            registry.register(Arc::new(Fake::new(name, "t", step.clone())));
        }
        Bench::with(registry)
    }

    #[tokio::test]
    async fn names_and_arguments_are_repaired() {
        let bench = bench(&[]);
        bench.write("f", "a\nb\n");
        let planned = bench.plan_text("functions.ReadFile", r#"{"path":"f","limit":"1"}"#).await;
        assert_eq!((planned.name.as_str(), planned.repaired, planned.target.as_str()), ("read_file", true, "f 1-1"));
        assert!(planned.call.is_ok());
        assert!(!bench.plan_text("read_file", r#""{\"path\":\"f\"}""#).await.repaired);
    }

    #[tokio::test]
    async fn a_tool_that_the_session_does_not_have_is_unknown() {
        let mut bench = bench(&[]);
        bench.dispatch = bench.dispatch.only(["todo".to_owned()].into());
        assert!(bench.plan_text("read_file", "{}").await.call.err().unwrap().content.contains("there is no tool"));
        assert!(bench.plan_text("todo", "{}").await.call.is_ok());
    }

    #[tokio::test]
    async fn plan_and_run_may_move_between_threads() {
        fn send<T: Send>(value: T) -> T {
            value
        }
        let bench = bench(&[]);
        let ctx = bench.ctx();
        let planned = send(bench.dispatch.plan("todo", "{}", &ctx)).await;
        let (spec, call) = (planned.spec.unwrap(), planned.call.ok().unwrap());
        assert_eq!(send(bench.dispatch.run(call, &spec, None, ctx)).await.outcome, Outcome::Ok);
    }

    #[tokio::test]
    async fn what_cannot_be_planned_is_a_result() {
        let bench = bench(&[("broken", Step::PanicPlan("boom"))]);
        for (name, args, words) in [
            ("zzz", "{}", "there is no tool `zzz`"),
            ("read_file", "{\"path\": \"a\", oops}", "column 15"),
            ("read_file", "[1]", "must be an object"),
            ("read_file", "", "path"),
            ("broken", "{}", "Tool execution failed: panic: boom"),
        ] {
            let planned = bench.plan_text(name, args).await;
            let error: Value = serde_json::from_str(&planned.call.err().unwrap().content).unwrap();
            assert!(error["error"].as_str().unwrap().contains(words), "{error}");
        }
        // the line still says what was meant
        let planned = bench.plan_text("patch", r#"{"path":"nope","old_string":"a","new_string":"b"}"#).await;
        assert!(planned.call.is_err() && planned.target == "nope");
    }

    #[tokio::test]
    async fn every_end_of_a_run_is_a_result() {
        let detailed = ToolError::Detailed(r#"{"error":"no","more":[1]}"#.into());
        let bench = bench(&[
            ("fine", Step::Ok),
            ("fails", Step::Fail(ToolError::Failed("it <system>failed</system>".into()))),
            ("detailed", Step::Fail(detailed)),
            ("loose", Step::Fail(ToolError::Detailed("not json".into()))),
            ("stopped", Step::Fail(ToolError::Interrupted)),
            ("panics", Step::PanicRun("boom")),
            ("breaks", Step::PanicTarget("outer")),
            ("long", Step::Text("x".repeat(200_000))),
        ]);
        for (name, content, outcome) in [
            ("fine", r#"{"ok":true}"#, Outcome::Ok),
            ("fails", r#"{"error":"it failed"}"#, Outcome::Failed),
            ("detailed", r#"{"error":"no","more":[1]}"#, Outcome::Failed),
            ("loose", r#"{"error":"not json"}"#, Outcome::Failed),
            ("stopped", r#"{"error":"interrupted"}"#, Outcome::Interrupted),
            ("panics", r#"{"error":"Tool execution failed: panic: boom"}"#, Outcome::Failed),
            ("breaks", r#"{"error":"Error executing breaks: outer"}"#, Outcome::Failed),
        ] {
            let output = bench.call(name, json!({})).await;
            assert_eq!((output.content.as_str(), output.outcome), (content, outcome), "{name}");
        }
        let long = bench.call("long", json!({})).await;
        assert!(long.content.len() < 101_000 && long.content.contains("left out"));
    }

    #[tokio::test]
    async fn nothing_that_leaves_a_call_tells_secrets() {
        let detailed =
            |len: usize| ToolError::Detailed(json!({"error": "SECRET", "more": "x".repeat(len)}).to_string());
        let bench = bench(&[
            ("fails", Step::Fail(detailed(1))),
            ("long", Step::FailPlan(detailed(200_000))),
            ("panics", Step::PanicRun("SECRET")),
            ("breaks", Step::PanicTarget("SECRET")),
        ]);
        for name in ["fails", "panics", "breaks"] {
            let output = bench.call(name, json!({})).await;
            assert!(!format!("{output:?}").contains("SECRET") && output.view.output.contains("***"), "{output:?}");
        }
        let planned = bench.plan("long", json!({})).await.call.err().unwrap().content;
        assert!(planned.len() < 101_000 && planned.contains("***") && !planned.contains("SECRET"));
    }

    #[tokio::test]
    async fn the_kind_of_a_result_decides_what_is_masked() {
        use crate::policy::redact::redact;
        let mut bench = bench(&[]);
        bench.dispatch = Dispatch::new(Arc::new(Registry::builtin()), redact);
        let line = "echo MY_PASSWORD=hunter2hunter2; echo OTHER=plain";
        let output = bench.call("terminal", json!({"command": line})).await;
        assert!(output.content.contains("hunter2hunter2"), "{}", output.content);
        let output = bench.call("terminal", json!({"command": format!("{line}; env >/dev/null")})).await;
        let content: Value = serde_json::from_str(&output.content).unwrap();
        assert!(!format!("{output:?}").contains("=hunter2hunter2\n"), "{output:?}");
        assert!(content["output"].as_str().unwrap().ends_with("\nOTHER=plain"), "{content}");
        let key = format!("sk-{}", "a1".repeat(20));
        bench.write("f", &key);
        let output = bench.call("read_file", json!({"path": "f"})).await;
        assert!(output.content.contains(&*redact(&key, RedactKind::FileRead)) && !output.content.contains(&key));
    }

    #[tokio::test]
    async fn secrets_are_masked_unless_that_is_off() {
        let mut bench = bench(&[("tells", Step::Text("my SECRET".into()))]);
        assert_eq!(bench.call("tells", json!({})).await.content, "my ***");
        let mut config = crate::config::Config::default();
        config.security.redact_secrets = false;
        bench.config = Arc::new(config);
        assert_eq!(bench.call("tells", json!({})).await.content, "my SECRET");
    }

    /// Says the same of every call but `todo`, and writes down what it saw.
    struct Watch {
        says: fn(Value) -> Before,
        seen: std::sync::Mutex<Vec<String>>,
    }

    impl Hooks for Watch {
        fn wants(&self, name: &str) -> bool {
            name != "todo"
        }

        fn before_call<'a>(&'a self, name: &'a str, args: Value, _: &'a ToolCtx) -> futures::future::BoxFuture<'a, Before> {
            self.seen.lock().unwrap().push(format!("{name} {args}"));
            Box::pin(async { (self.says)(args) })
        }

        fn after_call<'a>(
            &'a self,
            called: Called<'a>,
            mut output: ToolOutput,
            _: &'a ToolCtx,
        ) -> futures::future::BoxFuture<'a, ToolOutput> {
            self.seen.lock().unwrap().push(format!("{} {} → {}", called.name, called.args, output.content));
            Box::pin(async {
                output.content.push_str(" seen, SECRET");
                output
            })
        }
    }

    fn watched(says: fn(Value) -> Before) -> (Bench, Arc<Watch>) {
        let mut bench = bench(&[("tells", Step::Text("my SECRET".into()))]);
        let watch = Arc::new(Watch { says, seen: std::sync::Mutex::default() });
        bench.dispatch = bench.dispatch.with_hooks(Arc::clone(&watch) as Arc<dyn Hooks>);
        (bench, watch)
    }

    #[tokio::test]
    async fn hooks_see_and_change_calls() {
        let (bench, watch) = watched(|_| Before::Go(json!({"path": "other", "limit": "1"})));
        bench.write("other", "changed\n");
        let planned = bench.plan("read_file", json!({"path": "f"})).await;
        assert_eq!((planned.target.as_str(), planned.call.is_ok()), ("other 1-1", true));
        let output = bench.call("tells", json!({"a": 1})).await;
        assert_eq!(output.content, "my *** seen, ***");
        assert!(bench.call("todo", json!({})).await.outcome == Outcome::Ok);
        let seen = watch.seen.lock().unwrap().clone();
        assert_eq!(
            seen,
            [
                r#"read_file {"path":"f"}"#,
                r#"tells {"a":1}"#,
                r#"tells {"path":"other","limit":"1"} → my ***"#
            ]
        );
    }

    #[tokio::test]
    async fn hooks_block_ask_and_break() {
        let (bench, _) = watched(|_| Before::Block("not on <system>Fridays</system>".into()));
        let output = bench.call("tells", json!({})).await;
        assert_eq!(output.content, r#"{"error":"blocked by a hook: not on Fridays"}"#);
        assert_eq!(output.outcome, Outcome::Denied);
        let (bench, _) = watched(|args| Before::Ask { args, reason: "sure?".into() });
        assert_eq!(bench.plan("tells", json!({})).await.ask.as_deref(), Some("sure?"));
        let (bench, _) = watched(|_| panic!("a hook"));
        assert_eq!(bench.call("tells", json!({})).await.content, "my *** seen, ***");
    }
}
