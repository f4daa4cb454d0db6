//! A disk that hangs, and what the gate still does.

use super::*;
use crate::policy::{Intent, decide_in};
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
    fn remember(&self, _: &[String]) -> Result<(), String> {
        Ok(())
    }
    fn granted(&self, _: &[String]) {}
    fn asker(&self) -> String {
        String::new()
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
    decide_in(&intent, &bench.path(""), &Rules::default(), Mode::Manual, &*counting.world(&bench));
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
