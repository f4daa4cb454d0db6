//! A disk that hangs, and what the gate still does.

use super::*;
use crate::policy::decide::explain;
use crate::policy::permissions::Permission;
use crate::policy::rule::Action;
use crate::policy::smart::Opinion;
use crate::policy::{Intent, Verdict};
use crate::tools::testing::{Answers, Bench, Here};
use std::sync::Condvar;
use std::time::Duration;
use tokio::sync::Notify;

/// A disk that hangs from the n-th look on, until the test ends.
struct Hangs {
    /// Looks left before it hangs.
    left: Mutex<usize>,
    looked: Notify,
    released: Mutex<bool>,
    bell: Condvar,
}

impl Hangs {
    fn after(looks: usize) -> Arc<Self> {
        let (left, released) = (Mutex::new(looks), Mutex::new(false));
        Arc::new(Self { left, looked: Notify::new(), released, bell: Condvar::new() })
    }

    fn look(&self) {
        {
            let mut left = self.left.lock().unwrap();
            if *left > 0 {
                *left -= 1;
                return;
            }
        }
        self.looked.notify_one();
        drop(self.bell.wait_while(self.released.lock().unwrap(), |released| !*released).unwrap());
    }

    fn world(self: &Arc<Self>, bench: &Bench) -> Arc<dyn World> {
        let disk = Arc::clone(self);
        Arc::new(Here::new(bench.path("home"), move || disk.look()))
    }

    fn release(&self) {
        *self.released.lock().unwrap() = true;
        self.bell.notify_all();
    }
}

fn gate(bench: &Bench, disk: &Arc<Hangs>, asker: &Arc<Answers>) -> (Gate, ToolCtx) {
    let world = disk.world(bench);
    let ctx = ToolCtx { world: Arc::clone(&world), ..bench.ctx() };
    let asker = Arc::clone(asker) as Arc<dyn Asker>;
    let dispatch = Arc::new(bench.dispatch.clone());
    (Gate::new(dispatch, Rules::default(), Mode::Ask, world, asker), ctx)
}

fn call(name: &str, args: &str) -> ToolCall {
    ToolCall { id: "c".into(), name: name.into(), args: args.into(), repaired: false, via: String::new() }
}

/// Long enough for a busy machine, far less than for ever.
const DEADLINE: Duration = Duration::from_secs(10);

#[tokio::test]
async fn a_disk_that_hangs_does_not_hold_the_stop_key() {
    // the first plans by the disk, the second is judged by it
    for (name, args) in [("read_file", r#"{"path":"f"}"#), ("terminal", r#"{"command":"rm -rf build/*"}"#)] {
        let bench = Bench::new();
        let world = Hangs::after(0);
        let (gate, ctx) = gate(&bench, &world, &Answers::no());
        let cancel = ctx.cancel.clone();
        let call = call(name, args);
        let running = tokio::spawn(async move { gate.call(&call, ctx, mpsc::channel(8).0).await });
        tokio::time::timeout(DEADLINE, world.looked.notified()).await.expect("it looks at the disk");
        cancel.cancel();
        let body = tokio::time::timeout(DEADLINE, running).await.expect("stop works").unwrap();
        assert_eq!((body.outcome, body.call_id.as_str()), (Outcome::Interrupted, "c"), "{name}");
        world.release();
    }
}

#[tokio::test]
async fn the_question_comes_although_the_counting_hangs() {
    let bench = Bench::new();
    let command = r#"{"command":"rm -rf build/*"}"#;
    // how many looks the judgement alone takes
    let counting = Hangs::after(10_000);
    let intent = Intent::Command { line: "rm -rf build/*".into(), cwd: bench.path(""), background: false };
    explain(&intent, &bench.path(""), &Rules::default(), Mode::Ask, &*counting.world(&bench));
    let looks = 10_000 - *counting.left.lock().unwrap();
    let world = Hangs::after(looks);
    let asker = Answers::no();
    let (gate, ctx) = gate(&bench, &world, &asker);
    let body = tokio::time::timeout(DEADLINE, gate.call(&call("terminal", command), ctx, mpsc::channel(8).0)).await;
    assert_eq!(body.expect("it is asked").outcome, Outcome::Denied);
    let asked = asker.asked.lock().unwrap();
    let last = asked[0].targets.last().expect("a row that says so");
    assert!(last.at_least && last.note.contains("has not answered yet"), "{last:?}");
    world.release();
}

#[tokio::test]
async fn a_call_ends_although_nobody_reads_its_events() {
    let bench = Bench::new();
    let (gate, ctx) = gate(&bench, &Hangs::after(usize::MAX), &Answers::no());
    let (events, _unread) = mpsc::channel(1);
    let call = call("terminal", r#"{"command":"echo hi"}"#);
    let body = tokio::time::timeout(DEADLINE, gate.call(&call, ctx, events)).await.expect("it ends");
    assert_eq!(body.outcome, Outcome::Ok, "{}", body.content);
}

#[tokio::test]
async fn a_word_is_judged_by_the_value_that_the_command_will_see() {
    // a name that is set where the tests run, with a value that does nothing
    let inherited = std::env::vars().find(|(name, value)| name == "LANG" || value.starts_with('/')).unwrap().0;
    for name in [inherited.as_str(), "NOT_SET_ANYWHERE"] {
        let bench = Bench::new();
        let asker = Answers::no();
        let (gate, ctx) = gate(&bench, &Hangs::after(usize::MAX), &asker);
        let run = async |line: &str| {
            let call = call("terminal", &serde_json::json!({ "command": line }).to_string());
            gate.call(&call, ctx.clone(), mpsc::channel(8).0).await
        };
        let set = run(&format!("export {name}='rm -rf build'")).await;
        assert_eq!(set.outcome, Outcome::Ok, "{name}: {}", set.content);
        assert_eq!(run(&format!("${name}")).await.outcome, Outcome::Denied, "{name}");
        assert!(asker.asked.lock().unwrap()[0].verdict.reasons().iter().any(|why| why.effect.contains("delete")));
        run(&format!("export {name}=ls")).await;
        assert_eq!(run(&format!("${name}")).await.outcome, Outcome::Ok, "{name}");
        // The shell sets these itself: what they hold is not certain.
        assert_eq!(run("$BASH_COMMAND").await.outcome, Outcome::Denied);
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn plan_mode_reads_and_changes_nothing() {
    let support = tokio::task::spawn_blocking(crate::exec::probe).await.unwrap();
    if support.landlock == 0 {
        return crate::skipped::skipped("plan_mode_reads_and_changes_nothing", &format!("the kernel has {support:?}"));
    }
    let bench = Bench::new();
    std::fs::write(bench.path("a.txt"), "one\n").unwrap();
    let asker = Answers::always(Decision::Once);
    let (gate, ctx) = real(&bench, Mode::Plan, &asker);
    let made = bench.path("made").display().to_string();
    let line = |line: &str| serde_json::json!({ "command": line }).to_string();
    for (tool, args, outcome, said) in [
        ("read_file", r#"{"path":"a.txt"}"#.to_owned(), Outcome::Ok, "one"),
        ("terminal", line("cat a.txt"), Outcome::Ok, "one"),
        ("write_file", r#"{"path":"b.txt","content":"x"}"#.to_owned(), Outcome::Denied, "say what you would change"),
        ("patch", r#"{"path":"a.txt","old_string":"one","new_string":"two"}"#.to_owned(), Outcome::Denied, "plan mode"),
        ("terminal", line(&format!("echo x > {made}")), Outcome::Failed, "plan mode blocked"),
        ("terminal", line("python3 -c 'open(\"made\",\"w\")'"), Outcome::Failed, "plan mode blocked"),
    ] {
        let body = gate.call(&call(tool, &args), ctx.clone(), mpsc::channel(8).0).await;
        assert_eq!(body.outcome, outcome, "{tool} {args}: {}", body.content);
        assert!(body.content.contains(said), "{tool} {args}: {}", body.content);
    }
    assert!(!bench.path("made").exists() && !bench.path("b.txt").exists());
    assert_eq!(std::fs::read_to_string(bench.path("a.txt")).unwrap(), "one\n");
    // What goes to the background is held as well, and so is what reaches the network.
    let args = serde_json::json!({ "command": format!("echo x > {made}"), "background": true }).to_string();
    let body = gate.call(&call("terminal", &args), ctx.clone(), mpsc::channel(8).0).await;
    assert_eq!(body.outcome, Outcome::Ok, "{}", body.content);
    let ended = async {
        while !ctx.exec.running().is_empty() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(20), ended).await.expect("it ends");
    assert!(!bench.path("made").exists());
    let dial = "python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", 9))'";
    let body = gate.call(&call("terminal", &line(dial)), ctx.clone(), mpsc::channel(8).0).await;
    assert!(body.outcome == Outcome::Failed && body.content.contains("network off"), "{}", body.content);
    // Out of it, the same call runs.
    gate.set_mode(Mode::Ask);
    let body = gate.call(&call("terminal", &line(&format!("echo x > {made}"))), ctx, mpsc::channel(8).0).await;
    assert_eq!(body.outcome, Outcome::Ok, "{}", body.content);
}

#[tokio::test]
async fn review_mode_asks_about_each_edit_with_its_diff() {
    let bench = Bench::new();
    let asker = Answers::always(Decision::Once);
    let (gate, ctx) = real(&bench, Mode::Review, &asker);
    for (at, text) in ["one", "two"].iter().enumerate() {
        let args = serde_json::json!({ "path": "a.txt", "content": format!("{text}\n") }).to_string();
        let body = gate.call(&call("write_file", &args), ctx.clone(), mpsc::channel(8).0).await;
        assert_eq!((body.outcome, asker.count()), (Outcome::Ok, at + 1), "{}", body.content);
        let asked = asker.asked.lock().unwrap();
        let question = asked.last().unwrap();
        let Intent::Edit(edits) = &question.intent else { panic!("{:?}", question.intent) };
        assert!(edits[0].diff.contains(text), "{}", edits[0].diff);
        assert_eq!(question.verdict.reasons()[0].effect, crate::policy::decide::REVIEWED);
    }
    let body = gate.call(&call("read_file", r#"{"path":"a.txt"}"#), ctx.clone(), mpsc::channel(8).0).await;
    assert_eq!((body.outcome, asker.count()), (Outcome::Ok, 2));
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn what_was_left_blocked_is_asked_about_again_in_the_next_session() {
    let support = tokio::task::spawn_blocking(crate::exec::probe).await.unwrap();
    if support.landlock == 0 {
        let test = "what_was_left_blocked_is_asked_about_again_in_the_next_session";
        return crate::skipped::skipped(test, &format!("the kernel has {support:?}"));
    }
    let mut bench = Bench::new();
    let mut config = (*bench.config).clone();
    config.sandbox.mode = crate::config::SandboxMode::ReadOnly;
    bench.config = Arc::new(config);
    let line = format!("echo x > {}", bench.path("made").display());
    let blocked = call("terminal", &serde_json::json!({ "command": line }).to_string());
    for session in ["one", "another"] {
        let asker = Answers::always(Decision::Deny { feedback: String::new() });
        let (gate, ctx) = real(&bench, Mode::Ask, &asker);
        for _ in 0..2 {
            gate.call(&blocked, ctx.clone(), mpsc::channel(8).0).await;
        }
        assert_eq!(asker.count(), 1, "{session}: asked once a session");
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn only_a_person_runs_a_command_again_without_its_sandbox() {
    let support = tokio::task::spawn_blocking(crate::exec::probe).await.unwrap();
    if support.landlock == 0 {
        let test = "only_a_person_runs_a_command_again_without_its_sandbox";
        return crate::skipped::skipped(test, &format!("the kernel has {support:?}"));
    }
    let deny = |feedback: &str| Decision::Deny { feedback: feedback.into() };
    for (decision, mode, runs, said) in [
        (Decision::Once, Mode::Ask, true, "the user allowed a rerun"),
        (Decision::Once, Mode::Yolo, true, "the user allowed a rerun"),
        (deny(""), Mode::Yolo, false, "the user keeps the sandbox"),
        (deny("use another folder"), Mode::Ask, false, "use another folder"),
        (Decision::NoOne, Mode::Yolo, false, "no one can approve here"),
        (Decision::TimedOut, Mode::Ask, false, "no one answered"),
        (Decision::Edited("echo x > other".into()), Mode::Yolo, false, "not allowed"),
    ] {
        let mut bench = Bench::new();
        let mut config = (*bench.config).clone();
        config.sandbox.mode = crate::config::SandboxMode::ReadOnly;
        bench.config = Arc::new(config);
        let asker = Answers::always(decision.clone());
        let ctx = bench.ctx();
        let asks = Arc::clone(&asker) as Arc<dyn Asker>;
        let gate = Gate::new(Arc::new(bench.dispatch.clone()), Rules::default(), mode, Arc::clone(&ctx.world), asks);
        // A sandbox is no reason for a question where nothing is blocked; what the model asks for changes nothing.
        let fine = call("terminal", r#"{"command":"echo hi","sandbox":"off","force":true}"#);
        let body = gate.call(&fine, ctx.clone(), mpsc::channel(8).0).await;
        assert_eq!((body.outcome, asker.count()), (Outcome::Ok, 0), "{}", body.content);
        let before = folder(&ctx);
        // Named whole: a name that is only known when it runs would be a question of its own.
        let line = format!("cd /; echo x > {}", bench.path("made").display());
        let args = serde_json::json!({ "command": line, "unconfined": true }).to_string();
        let blocked = call("terminal", &args);
        let body = gate.call(&blocked, ctx.clone(), mpsc::channel(8).0).await;
        assert_eq!(
            (bench.path("made").exists(), body.outcome == Outcome::Ok),
            (runs, runs),
            "{decision:?} {}",
            body.content
        );
        assert!(body.content.contains(said) && body.content.contains("sandbox"), "{decision:?}: {}", body.content);
        {
            let asked = asker.asked.lock().unwrap();
            let [question] = &asked[..] else { panic!("{decision:?}: {} questions", asked.len()) };
            let Verdict::AskAlways(why) = &question.verdict else { panic!("{:?}", question.verdict) };
            assert_eq!(why[0].effect, crate::policy::WITHOUT_SANDBOX);
            assert!(why[0].text.contains("/made"), "{}", why[0].text);
            assert!(question.proposals.is_empty());
        }
        assert_ne!(folder(&ctx), before, "the run that counts left its folder");
        // A no holds for the same thing; a yes was for that run only.
        *ctx.cwd.lock().unwrap() = before;
        std::fs::remove_file(bench.path("made")).ok();
        let body = gate.call(&blocked, ctx.clone(), mpsc::channel(8).0).await;
        let again = matches!(decision, Decision::Deny { .. });
        assert_eq!(asker.count(), if again { 1 } else { 2 }, "{decision:?}");
        assert_eq!(body.content.contains("already declined to run this"), again, "{}", body.content);
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn what_no_mode_runs_does_not_run_again_either() {
    let bench = Bench::new();
    let asker = Answers::always(Decision::Once);
    let ctx = bench.ctx();
    let asks = Arc::clone(&asker) as Arc<dyn Asker>;
    let mut rules = Rules::default();
    rules.hold([Permission::entry(Action::Deny, "touch *")]);
    let gate = Gate::new(Arc::new(bench.dispatch.clone()), rules, Mode::Yolo, Arc::clone(&ctx.world), asks);
    let call = call("terminal", r#"{"command":"touch made"}"#);
    let intent = Intent::Command { line: "touch made".into(), cwd: folder(&ctx), background: false };
    let blocked = Request { call: &call, tool: &call.name, intent, drops: vec![], hook: None, ctx: &ctx };
    let first = ToolOutput::json(&serde_json::json!({ "output": "", "exit_code": 1 }));
    let output = gate.again_unsandboxed(&blocked, folder(&ctx), "writing made", first, &mpsc::channel(8).0).await;
    assert!(output.content.contains("denied by the user's rule"), "{}", output.content);
    assert!((asker.count() == 0) && !bench.path("made").exists());
}

/// A gate on the disk as it is, in this mode.
fn real(bench: &Bench, mode: Mode, asker: &Arc<Answers>) -> (Gate, ToolCtx) {
    let ctx = bench.ctx();
    let (dispatch, asks) = (Arc::new(bench.dispatch.clone()), Arc::clone(asker) as Arc<dyn Asker>);
    (Gate::new(dispatch, Rules::default(), mode, Arc::clone(&ctx.world), asks), ctx)
}

/// Makes `name` a link to the folder `precious`, in place of what it was.
fn led_away(root: &std::path::Path, name: &str) {
    std::fs::remove_dir_all(root.join(name)).ok();
    std::os::unix::fs::symlink(root.join("precious"), root.join(name)).unwrap();
}

#[tokio::test]
async fn what_the_model_passed_is_looked_at_again_before_it_runs() {
    for moves in [false, true] {
        let bench = Bench::new();
        bench.write("node_modules/a/x.js", "");
        bench.write("precious/a/work.txt", "mine");
        let root = bench.path("");
        // While the model thinks, somebody leads the name elsewhere.
        let opinion = move || {
            if moves {
                led_away(&root, "node_modules");
            }
            Ok(Opinion::Approve)
        };
        let asker = Answers::reviewed(|_| Decision::Deny { feedback: String::new() }, opinion);
        let (gate, ctx) = real(&bench, Mode::Auto, &asker);
        let body =
            gate.call(&call("terminal", r#"{"command":"rm -rf node_modules/a"}"#), ctx, mpsc::channel(8).0).await;
        if moves {
            assert_eq!(body.outcome, Outcome::Denied, "{}", body.content);
            let asked = asker.asked.lock().unwrap();
            assert!(asked[0].changed.iter().any(|told| told.contains("precious")), "{:?}", asked[0].changed);
            assert!(bench.path("precious/a/work.txt").exists());
        } else {
            assert_eq!((body.outcome, asker.count()), (Outcome::Ok, 0), "{}", body.content);
            assert_eq!(body.view.approval, "approved by m (auto mode)");
        }
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn what_a_person_lets_run_without_the_sandbox_is_looked_at_again() {
    let bench = Bench::new();
    bench.write("build/x", "");
    bench.write("precious/x", "mine");
    let root = bench.path("");
    // The first yes is overtaken by a change of the disk; the second question tells it.
    let answer = move |approval: &Approval| {
        if approval.changed.is_empty() {
            led_away(&root, "build");
            Decision::Once
        } else {
            Decision::Deny { feedback: String::new() }
        }
    };
    let asker = Answers::new(answer);
    let (gate, ctx) = real(&bench, Mode::Ask, &asker);
    let call = call("terminal", r#"{"command":"rm -rf build/x"}"#);
    let intent = Intent::Command { line: "rm -rf build/x".into(), cwd: folder(&ctx), background: false };
    let blocked = Request { call: &call, tool: &call.name, intent, drops: vec![], hook: None, ctx: &ctx };
    let first = ToolOutput::json(&serde_json::json!({ "output": "", "exit_code": 1 }));
    let output = gate.again_unsandboxed(&blocked, folder(&ctx), "writing", first, &mpsc::channel(8).0).await;
    assert!(output.content.contains("keeps the sandbox"), "{}", output.content);
    let asked = asker.asked.lock().unwrap();
    assert_eq!(asked.len(), 2);
    assert!(asked[1].changed.iter().any(|told| told.contains("precious")), "{:?}", asked[1].changed);
    assert!(bench.path("precious/x").exists());
}

#[tokio::test]
async fn a_command_that_was_allowed_is_allowed_in_its_folder_only() {
    let bench = Bench::new();
    for name in ["build/x", "sub/build/x"] {
        bench.write(name, "");
    }
    // The whole command for the rest of the session, where that is offered.
    let asker = Answers::new(|approval| {
        let exact = |one: &&crate::policy::Proposal| one.grant.width == crate::policy::Width::Command;
        approval.proposals.iter().find(exact).map_or(Decision::Once, |one| Decision::Grant(one.grant.clone()))
    });
    let (gate, ctx) = real(&bench, Mode::Ask, &asker);
    for (folder, line, questions) in [
        ("", "rm -rf build *.o", 1),
        ("", "rm -rf build *.o", 1),
        ("sub", "rm -rf build *.o", 2),
        ("", "rm -rf build  *.o", 3),
        ("sub", "rm -rf build *.o", 3),
    ] {
        *ctx.cwd.lock().unwrap() = bench.path(folder);
        let args = serde_json::json!({ "command": line }).to_string();
        gate.call(&call("terminal", &args), ctx.clone(), mpsc::channel(8).0).await;
        assert_eq!(asker.count(), questions, "{folder} {line}");
    }
    let grants = gate.grants();
    assert!(grants.iter().any(|entry| crate::policy::rule::said(entry).ends_with("/work/sub)")), "{grants:?}");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn typed_text_is_judged_where_its_reader_is_and_by_what_it_is() {
    let bench = Bench::new();
    bench.write("deep/inner/x", "");
    let asker = Answers::no();
    let (gate, ctx) = real(&bench, Mode::Ask, &asker);
    let run = async |name: &str, args: serde_json::Value| {
        let body = gate.call(&call(name, &args.to_string()), ctx.clone(), mpsc::channel(64).0).await;
        (body.outcome, serde_json::from_str::<serde_json::Value>(&body.content).unwrap())
    };
    let start = async |line: &str| {
        let args = serde_json::json!({ "command": line, "background": true, "pty": true });
        run("terminal", args).await.1["session_id"].as_str().unwrap().to_owned()
    };
    let waits = async |id: &str, is: &dyn Fn(&crate::exec::ForegroundReader) -> bool| {
        let id = crate::exec::ProcessId(id.to_owned());
        crate::tools::testing::until(|| ctx.exec.front(&ctx.task, &id).is_some_and(|front| is(&front))).await;
    };
    let shell = start("exec sh").await;
    let submit = |id: &str, text: &str| serde_json::json!({ "action": "submit", "session_id": id, "data": text });
    waits(&shell, &|front| front.takes_commands && front.waits).await;
    // Below the folder of the session, and elsewhere for a shell that has gone there.
    assert_eq!(run("process", submit(&shell, "touch made")).await.0, Outcome::Ok);
    crate::tools::testing::until(|| bench.path("made").exists()).await;
    waits(&shell, &|front| front.takes_commands && front.waits).await;
    assert_eq!(run("process", submit(&shell, "cd /")).await.0, Outcome::Ok);
    waits(&shell, &|front| front.waits && front.cwd == std::path::Path::new("/")).await;
    assert_eq!(asker.count(), 0);
    assert_eq!(run("process", submit(&shell, "rm -rf *")).await.0, Outcome::Denied);
    let told = |at: usize| asker.asked.lock().unwrap()[at].verdict.reasons().to_vec();
    assert!(matches!(asker.asked.lock().unwrap()[0].verdict, Verdict::AskAlways(_)), "{:?}", told(0));
    // A program that is no shell makes of a line what it likes.
    let other = start("cat > notes").await;
    waits(&other, &|front| front.name == "cat" || front.name == "coreutils").await;
    assert_eq!(run("process", submit(&other, "hello")).await.0, Outcome::Denied);
    assert!(told(1).iter().any(|why| why.effect.starts_with("typing into")), "{:?}", told(1));
    for id in [&shell, &other] {
        run("process", serde_json::json!({ "action": "kill", "session_id": id })).await;
    }
}

/// A hook that keeps what it was told, and answers.
struct Hears(Mutex<Vec<serde_json::Value>>, fn(serde_json::Value) -> crate::tools::hook::Before);

impl crate::tools::hook::Hooks for Hears {
    fn wants(&self, _: &str) -> bool {
        true
    }
    fn before_call<'a>(
        &'a self,
        _: &'a str,
        args: serde_json::Value,
        _: &'a ToolCtx,
    ) -> BoxFuture<'a, crate::tools::hook::Before> {
        self.0.lock().unwrap().push(args.clone());
        Box::pin(async move { (self.1)(args) })
    }
    fn after_call<'a>(
        &'a self,
        called: crate::tools::hook::Called<'a>,
        output: ToolOutput,
        _: &'a ToolCtx,
    ) -> BoxFuture<'a, ToolOutput> {
        self.0.lock().unwrap().push(called.args.clone());
        Box::pin(async move { output })
    }
}

#[tokio::test]
async fn neither_hooks_nor_the_question_are_told_a_secret_and_the_call_keeps_it() {
    use crate::tools::hook::Before;
    let answers: [fn(serde_json::Value) -> Before; 2] = [Before::Go, |mut args| {
        args["timeout"] = 7.into();
        Before::Ask { args, reason: "looked at".into() }
    }];
    for answer in answers {
        let bench = Bench::new();
        let hook = Arc::new(Hears(Mutex::default(), answer));
        let asker = Answers::always(Decision::Once);
        let ctx = bench.ctx();
        let dispatch =
            Arc::new(bench.dispatch.clone().with_hooks(Arc::clone(&hook) as Arc<dyn crate::tools::hook::Hooks>));
        let asks = Arc::clone(&asker) as Arc<dyn Asker>;
        let gate = Gate::new(dispatch, Rules::default(), Mode::Ask, Arc::clone(&ctx.world), asks);
        // A recursive delete, so that it is a question; what it echoes shows what it ran with.
        let args = r#"{"command":"rm -rf gone; echo SECRET > kept"}"#;
        let body = gate.call(&call("terminal", args), ctx, mpsc::channel(8).0).await;
        assert_eq!(body.outcome, Outcome::Ok, "{}", body.content);
        assert_eq!(bench.read("kept"), "SECRET\n");
        let heard = format!("{:?}", hook.0.lock().unwrap());
        let asked = format!("{:?}", asker.asked.lock().unwrap());
        assert_eq!(asker.count(), 1);
        assert!(heard.contains("echo ***") && !heard.contains("SECRET"), "{heard}");
        assert!(asked.contains("echo ***") && !asked.contains("SECRET"), "{asked}");
    }
}

#[tokio::test]
async fn what_hooks_block_and_why_a_call_did_not_run_stands_in_the_log() {
    let bench = Bench::new();
    let folder = tempfile::tempdir().unwrap();
    let store = Store::spawn(folder.path().to_owned());
    let hook = Arc::new(Hears(Mutex::default(), |args| match args["command"].as_str() {
        Some("echo blocked") => crate::tools::hook::Before::Block("not today".into()),
        _ => crate::tools::hook::Before::Go(args),
    }));
    let ctx = bench.ctx();
    let asks = Answers::always(Decision::Deny { feedback: "keep it".into() }) as Arc<dyn Asker>;
    let dispatch = Arc::new(bench.dispatch.clone().with_hooks(hook));
    let gate = Gate::new(dispatch, Rules::default(), Mode::Ask, Arc::clone(&ctx.world), asks);
    let gate = gate.with_log(store.clone());
    for line in ["echo blocked", "rm -rf build"] {
        let args = serde_json::json!({ "command": line }).to_string();
        gate.call(&call("terminal", &args), ctx.clone(), mpsc::channel(8).0).await;
    }
    let rows = store.audit_rows(crate::store::audit::Wanted { limit: 9, ..Default::default() }).await.unwrap();
    let told: Vec<_> =
        rows.iter().rev().map(|row| (&*row.record.what, row.record.by.words(), &*row.record.why)).collect();
    assert_eq!(told[0], ("echo blocked", "by a hook".into(), "not today"));
    assert!(told[1].0 == "rm -rf build" && told[1].2.contains("keep it"), "{told:?}");
    store.close().await;
}

#[tokio::test]
async fn edits_beyond_what_the_sandbox_leaves_open_ask_in_every_mode() {
    for (mode, path, asks) in [
        (crate::config::SandboxMode::ReadOnly, "a.txt", true),
        (crate::config::SandboxMode::WorkspaceWrite, "a.txt", false),
        (crate::config::SandboxMode::WorkspaceWrite, ".envrc", true),
        (crate::config::SandboxMode::Off, "a.txt", false),
    ] {
        let mut bench = Bench::new();
        let mut config = (*bench.config).clone();
        config.sandbox.mode = mode;
        bench.config = Arc::new(config);
        let asker = Answers::no();
        let (gate, ctx) = real(&bench, Mode::Yolo, &asker);
        let args = serde_json::json!({ "path": path, "content": "x" }).to_string();
        let body = gate.call(&call("write_file", &args), ctx, mpsc::channel(8).0).await;
        assert_eq!((asker.count() == 1, bench.path(path).exists()), (asks, !asks), "{mode:?} {path}: {}", body.content);
        if mode == crate::config::SandboxMode::ReadOnly {
            let told = asker.asked.lock().unwrap()[0].verdict.reasons()[0].clone();
            assert!(told.effect == "write beyond the sandbox" && told.text.contains(path), "{told:?}");
        }
    }
}

#[tokio::test]
async fn a_search_leaves_out_what_a_rule_closes_and_asks_for_a_secret_that_it_names() {
    let bench = Bench::new();
    for name in ["open/a.txt", "closed/b.txt", "asked/c.txt", "keys/id_rsa"] {
        bench.write(name, "needle\n");
    }
    let asker = Answers::always(Decision::Once);
    let (gate, ctx) = real(&bench, Mode::Ask, &asker);
    let line = |action, text: &str| {
        let on = crate::policy::permissions::subject(text).unwrap();
        crate::policy::permissions::Permission::new(action, on)
    };
    use crate::policy::rule::Action;
    let lines = vec![line(Action::Deny, "file.read(closed/**)"), line(Action::Ask, "file.read(asked/**)")];
    gate.set_rules(Rules { permissions: Arc::new(lines), ..Rules::default() });
    let search = async |args: serde_json::Value| {
        gate.call(&call("search_files", &args.to_string()), ctx.clone(), mpsc::channel(8).0).await.content
    };
    let all = search(serde_json::json!({ "pattern": "needle" })).await;
    assert!(
        all.contains("a.txt") && !all.contains("b.txt") && !all.contains("c.txt") && !all.contains("id_rsa"),
        "{all}"
    );
    assert_eq!(asker.count(), 0);
    let within = search(serde_json::json!({ "pattern": "needle", "path": "asked" })).await;
    assert!(within.contains("c.txt") && asker.count() == 1, "the person said yes to it: {within}");
    let denied = search(serde_json::json!({ "pattern": "needle", "path": "closed" })).await;
    assert!(denied.contains("denied by the user's rule"), "{denied}");
    let named = search(serde_json::json!({ "pattern": "needle", "file_glob": "**/id_rsa*" })).await;
    assert_eq!(asker.count(), 2);
    assert!(named.contains("id_rsa") && !named.contains("a.txt"), "{named}");
}
