//! A disk that hangs, and what the gate still does.

use super::*;
use crate::policy::decide::explain;
use crate::policy::{Intent, Verdict};
use crate::tools::testing::{Bench, Here};
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

/// Denies, and keeps what it was asked.
#[derive(Default)]
struct Denies {
    asked: Mutex<Vec<Approval>>,
}

impl Asker for Denies {
    fn ask(&self, approval: Approval, _: CancellationToken) -> BoxFuture<'static, Decision> {
        self.asked.lock().unwrap().push(approval);
        Box::pin(async { Decision::Deny { feedback: String::new() } })
    }
    fn remember(&self, _: &Grant) -> Result<(), String> {
        Ok(())
    }
    fn granted(&self, _: &[String]) {}
    fn withdraw(&self, _: ApprovalId, _: Decision) {}
    fn origin(&self) -> Origin {
        Origin::default()
    }
    fn number(&self) -> u64 {
        1
    }
    fn now(&self) -> i64 {
        0
    }
}

fn gate(bench: &Bench, disk: &Arc<Hangs>, asker: &Arc<Denies>) -> (Gate, ToolCtx) {
    let world = disk.world(bench);
    let ctx = ToolCtx { world: Arc::clone(&world), ..bench.ctx() };
    let asker = Arc::clone(asker) as Arc<dyn Asker>;
    let dispatch = Arc::new(bench.dispatch.clone());
    (Gate::new(dispatch, Rules::default(), Mode::Manual, world, asker), ctx)
}

fn call(name: &str, args: &str) -> ToolCall {
    ToolCall { id: "c".into(), name: name.into(), args: args.into(), repaired: false, via: String::new() }
}

/// Long enough for a busy machine, far less than for ever.
const SOON: Duration = Duration::from_secs(10);

#[tokio::test]
async fn a_disk_that_hangs_does_not_hold_the_stop_key() {
    // the first plans by the disk, the second is judged by it
    for (name, args) in [("read_file", r#"{"path":"f"}"#), ("terminal", r#"{"command":"rm -rf build/*"}"#)] {
        let bench = Bench::new();
        let world = Hangs::after(0);
        let (gate, ctx) = gate(&bench, &world, &Arc::default());
        let cancel = ctx.cancel.clone();
        let call = call(name, args);
        let running = tokio::spawn(async move { gate.call(&call, ctx, mpsc::channel(8).0).await });
        tokio::time::timeout(SOON, world.looked.notified()).await.expect("it looks at the disk");
        cancel.cancel();
        let body = tokio::time::timeout(SOON, running).await.expect("stop works").unwrap();
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
    explain(&intent, &bench.path(""), &Rules::default(), Mode::Manual, &*counting.world(&bench));
    let looks = 10_000 - *counting.left.lock().unwrap();
    let world = Hangs::after(looks);
    let asker = Arc::new(Denies::default());
    let (gate, ctx) = gate(&bench, &world, &asker);
    let body = tokio::time::timeout(SOON, gate.call(&call("terminal", command), ctx, mpsc::channel(8).0)).await;
    assert_eq!(body.expect("it is asked").outcome, Outcome::Denied);
    let asked = asker.asked.lock().unwrap();
    let last = asked[0].targets.last().expect("a row that says so");
    assert!(last.at_least && last.note.contains("did not answer"), "{last:?}");
    world.release();
}

#[tokio::test]
async fn a_call_ends_although_nobody_reads_its_events() {
    let bench = Bench::new();
    let (gate, ctx) = gate(&bench, &Hangs::after(usize::MAX), &Arc::default());
    let (events, _unread) = mpsc::channel(1);
    let call = call("terminal", r#"{"command":"echo hi"}"#);
    let body = tokio::time::timeout(SOON, gate.call(&call, ctx, events)).await.expect("it ends");
    assert_eq!(body.outcome, Outcome::Ok, "{}", body.content);
}

#[tokio::test]
async fn a_word_is_judged_by_the_value_that_the_command_will_see() {
    // a name that is set where the tests run, with a value that does nothing
    let inherited = std::env::vars().find(|(name, value)| name == "LANG" || value.starts_with('/')).unwrap().0;
    for name in [inherited.as_str(), "NOT_SET_ANYWHERE"] {
        let bench = Bench::new();
        let asker = Arc::new(Denies::default());
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

/// Answers every question the same way, and keeps what it was asked.
struct Says(Decision, Mutex<Vec<Approval>>);

impl Asker for Says {
    fn ask(&self, approval: Approval, _: CancellationToken) -> BoxFuture<'static, Decision> {
        self.1.lock().unwrap().push(approval);
        let decision = self.0.clone();
        Box::pin(async move { decision })
    }
    fn remember(&self, _: &Grant) -> Result<(), String> {
        Ok(())
    }
    fn granted(&self, _: &[String]) {}
    fn withdraw(&self, _: ApprovalId, _: Decision) {}
    fn origin(&self) -> Origin {
        Origin::default()
    }
    fn number(&self) -> u64 {
        1
    }
    fn now(&self) -> i64 {
        0
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn only_a_person_runs_a_command_again_without_its_sandbox() {
    let support = tokio::task::spawn_blocking(crate::exec::probe).await.unwrap();
    if support.landlock == 0 {
        eprintln!("only_a_person_runs_a_command_again_without_its_sandbox: skipped, the kernel has {support:?}");
        return;
    }
    let deny = |feedback: &str| Decision::Deny { feedback: feedback.into() };
    for (decision, mode, runs, said) in [
        (Decision::Once, Mode::Manual, true, "the user let it run again"),
        (Decision::Once, Mode::Off, true, "the user let it run again"),
        (deny(""), Mode::Off, false, "the user keeps the sandbox"),
        (deny("use another folder"), Mode::Manual, false, "use another folder"),
        (Decision::NoOne, Mode::Off, false, "nobody can be asked here"),
        (Decision::TimedOut, Mode::Manual, false, "nobody answered"),
        (Decision::Edited("echo x > other".into()), Mode::Off, false, "not allowed"),
    ] {
        let mut bench = Bench::new();
        let mut config = (*bench.config).clone();
        config.sandbox.mode = crate::config::SandboxMode::ReadOnly;
        bench.config = Arc::new(config);
        let asker = Arc::new(Says(decision.clone(), Mutex::default()));
        let ctx = bench.ctx();
        let asks = Arc::clone(&asker) as Arc<dyn Asker>;
        let gate = Gate::new(Arc::new(bench.dispatch.clone()), Rules::default(), mode, Arc::clone(&ctx.world), asks);
        // A sandbox is no reason for a question where nothing is blocked; what the model asks for changes nothing.
        let fine = call("terminal", r#"{"command":"echo hi","sandbox":"off","force":true}"#);
        let body = gate.call(&fine, ctx.clone(), mpsc::channel(8).0).await;
        assert_eq!((body.outcome, asker.1.lock().unwrap().len()), (Outcome::Ok, 0), "{}", body.content);
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
            let asked = asker.1.lock().unwrap();
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
        assert_eq!(asker.1.lock().unwrap().len(), if again { 1 } else { 2 }, "{decision:?}");
        assert_eq!(body.content.contains("was asked about this before"), again, "{}", body.content);
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn what_no_mode_runs_does_not_run_again_either() {
    let bench = Bench::new();
    let asker = Arc::new(Says(Decision::Once, Mutex::default()));
    let ctx = bench.ctx();
    let asks = Arc::clone(&asker) as Arc<dyn Asker>;
    let rules = Rules { deny_globs: vec!["touch *".into()], ..Rules::default() };
    let gate = Gate::new(Arc::new(bench.dispatch.clone()), rules, Mode::Off, Arc::clone(&ctx.world), asks);
    let spec = bench.dispatch.registry().snapshot().get("terminal").unwrap().spec().clone();
    let call = call("terminal", r#"{"command":"touch made"}"#);
    let intent = Intent::Command { line: "touch made".into(), cwd: folder(&ctx), background: false };
    let blocked = again::Blocked { call: &call, spec: &spec, intent, cwd: folder(&ctx), what: "writing made".into() };
    let first = ToolOutput::json(&serde_json::json!({ "output": "", "exit_code": 1 }));
    let output = gate.again(blocked, first, ctx, &mpsc::channel(8).0).await;
    assert!(output.content.contains("denied by a rule"), "{}", output.content);
    assert!(asker.1.lock().unwrap().is_empty() && !bench.path("made").exists());
}
