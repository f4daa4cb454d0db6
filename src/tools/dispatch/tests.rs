//! Names, arguments, errors, hooks, stops and limits of calls.

use super::*;
use crate::tools::offer::toolset::Choice;
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
    bench.dispatch = bench.dispatch.offering(Arc::new(ToolSelection::new(
        Choice { enabled: Some(vec!["todo".into()]), ..Choice::default() },
        Default::default(),
        Default::default(),
    )));
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
    let call = planned.call.ok().unwrap();
    assert_eq!(send(bench.dispatch.run(call, ctx)).await.outcome, Outcome::Ok);
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
        ("fails", r#"{"error":"Tool execution failed: error: it failed"}"#, Outcome::Failed),
        ("detailed", r#"{"error":"no","more":[1]}"#, Outcome::Failed),
        ("loose", r#"{"error":"Tool execution failed: error: not json"}"#, Outcome::Failed),
        (
            "stopped",
            r#"{"error":"Tool execution failed: interrupted: the user stopped the turn"}"#,
            Outcome::Interrupted,
        ),
        ("panics", r#"{"error":"Tool execution failed: panic: boom"}"#, Outcome::Failed),
        ("breaks", r#"{"error":"Error executing breaks: outer"}"#, Outcome::Failed),
    ] {
        let output = bench.call(name, json!({})).await;
        assert_eq!((output.content.as_str(), output.outcome), (content, outcome), "{name}");
    }
    let long = bench.call("long", json!({})).await;
    assert!(long.content.len() < 20_000 && long.content.contains("the full text is in"));
}

#[tokio::test]
async fn nothing_that_leaves_a_call_tells_secrets() {
    let detailed = |len: usize| ToolError::Detailed(json!({"error": "SECRET", "more": "x".repeat(len)}).to_string());
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

/// Says the same of every call, and writes down what it saw.
struct Watch {
    says: fn(Value) -> Before,
    seen: std::sync::Mutex<Vec<String>>,
}

impl Hooks for Watch {
    fn wants(&self, _: &str) -> bool {
        true
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
        [r#"read_file {"path":"f"}"#, r#"tells {"a":1}"#, r#"tells {"path":"other","limit":"1"} → my ***"#]
    );
}

/// Agent-level tools, then hooks, then the registry: a hook that blocks everything does not reach the agent's own state.
#[tokio::test]
async fn the_agents_own_tools_come_before_the_hooks() {
    let (bench, watch) = watched(|_| Before::Block("never".into()));
    let registered: Vec<&str> =
        AGENT_LEVEL.into_iter().filter(|name| bench.dispatch.registry().snapshot().get(name).is_some()).collect();
    assert!(registered.contains(&"todo") && registered.contains(&"clarify"), "{registered:?}");
    for name in &registered {
        let output = bench.call(name, json!({"question": "?"})).await;
        assert!(!output.content.contains("blocked by a hook"), "{name}: {}", output.content);
        assert_eq!(bench.plan(name, json!({})).await.call.ok().and_then(|call| call.args), None, "{name}");
    }
    assert_eq!(*watch.seen.lock().unwrap(), Vec::<String>::new());
    assert_eq!(bench.call("tells", json!({})).await.outcome, Outcome::Denied);
    // Through the tool that calls tools, too.
    let inner = bench.plan("tool_call", json!({"name": "todo", "arguments": {}})).await;
    assert!((inner.name.as_str(), inner.call.is_ok()) == ("todo", true));
}

#[tokio::test]
async fn hooks_block_ask_and_break() {
    let (bench, _) = watched(|_| Before::Block("not on <system>Fridays</system>".into()));
    let output = bench.call("tells", json!({})).await;
    assert_eq!(output.content, r#"{"error":"blocked by a hook: not on Fridays"}"#);
    assert_eq!(output.outcome, Outcome::Denied);
    let (bench, _) = watched(|args| Before::Ask { args, reason: "sure?".into() });
    assert_eq!(bench.plan("tells", json!({})).await.call.ok().unwrap().ask.as_deref(), Some("sure?"));
    let (bench, _) = watched(|_| panic!("a hook"));
    assert_eq!(bench.call("tells", json!({})).await.content, "my *** seen, ***");
}

#[tokio::test]
async fn without_an_agent_its_tools_say_so() {
    let mut bench = bench(&[]);
    Arc::get_mut(&mut bench.agent).unwrap().nobody = true;
    for name in ["todo", "clarify"] {
        let output = bench.call(name, json!({"question": "?"})).await;
        let words = "its state belongs to the agent: it works only in a conversation";
        assert_eq!(output.content, json!({"error": format!("Error executing {name}: {words}")}).to_string());
        assert_eq!(output.outcome, Outcome::Failed);
    }
}

#[tokio::test]
async fn a_stop_reaches_a_call_and_what_comes_too_late_is_dropped() {
    let mut bench = bench(&[("obeys", Step::Wait { heeds_stop: true }), ("deaf", Step::Wait { heeds_stop: false })]);
    bench.dispatch.stop_grace = Duration::from_millis(20);
    for (name, words) in [("obeys", "the user stopped the turn"), ("deaf", "did not stop within")] {
        let (ctx, planned) = (bench.ctx(), bench.plan(name, json!({})).await);
        let cancel = ctx.cancel.clone();
        let call = planned.call.ok().unwrap();
        let (output, ()) = tokio::join!(bench.dispatch.run(call, ctx), async { cancel.cancel() });
        assert_eq!(output.outcome, Outcome::Interrupted);
        assert!(output.content.contains(words), "{}", output.content);
    }
}

#[tokio::test]
async fn pictures_are_bounded() {
    use crate::protocol::Image;
    let image = |kind: &str, bytes: usize| Image { media_type: kind.into(), data: "A".repeat(bytes) };
    let mut images = vec![image("image/tiff", 4), image("image/png", 6_000_000)];
    images.extend((0..6).map(|_| image("image/png", 4)));
    let bench = bench(&[("draws", Step::Draw(images))]);
    let output = bench.call("draws", json!({})).await;
    assert_eq!(output.images.len(), 4);
    assert!(output.content.contains("4 of 8 images left out"), "{}", output.content);
}

#[tokio::test]
async fn tools_that_are_searched_for_run_as_themselves() {
    let bench = bench(&[]);
    let registry = bench.dispatch.registry();
    registry.publish("mcp-gh", vec![Arc::new(Fake::remote("mcp__gh__find", "mcp-gh"))]);
    let found = bench.call("tool_search", json!({"query": "gh find"})).await.content;
    let found: Value = serde_json::from_str(&found).unwrap();
    assert_eq!(found["tools"][0]["name"], "mcp__gh__find");
    let told = bench.call("tool_describe", json!({"name": "mcp__gh__find"})).await.content;
    assert!(told.contains(r#""parameters":{"type":"object"}"#), "{told}");
    let planned = bench.plan("tool_call", json!({"name": "mcp__gh__Find", "arguments": {}})).await;
    let spec = planned.call.ok().unwrap().spec;
    assert_eq!((planned.name.as_str(), &*spec.toolset), ("mcp__gh__find", "mcp-gh"));
    for (args, words) in [
        (json!({"name": "mcp__gh__nope_at_all_here"}), "there is no tool"),
        (json!({"arguments": {}}), "`name` must be"),
    ] {
        let output = bench.call("tool_call", args).await;
        assert!(output.content.contains(words), "{}", output.content);
    }
}

proptest::proptest! {
    /// Arguments as models write them: an object or a reason, never a panic; an object stays what it is, also as text.
    #[test]
    fn any_arguments_are_read(text in "(\\{|\\}|\\[|\\]|\"|\\\\|:|,|a|é|1|null| |\n){0,24}", key in "[a-z]{0,4}", value in ".{0,8}") {
        if let Ok(args) = arguments(&text) {
            proptest::prop_assert!(args.is_object());
        }
        let object = json!({ key: value });
        for text in [object.to_string(), Value::String(object.to_string()).to_string(), format!("\n {object} ")] {
            proptest::prop_assert_eq!(arguments(&text), Ok(object.clone()));
        }
    }
}
