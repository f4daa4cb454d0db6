//! What becomes of a question while it waits.

use super::*;
use crate::policy::permissions::Permission;
use crate::policy::rule::{Action, Rules};
use crate::policy::{Grant, Matches, Mode, Verdict, World};
use crate::protocol::ToolCall;
use crate::protocol::{Outcome, ToolBody};
use crate::tools::gate::Asker;
use crate::tools::targets::Found;
use crate::tools::testing::{Bench, until};
use futures::future::BoxFuture;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

/// Long enough for a busy machine, far less than for ever.
const DEADLINE: Duration = Duration::from_secs(20);

/// A person who answers when the test says so.
struct Person {
    asked: mpsc::UnboundedSender<(Approval, oneshot::Sender<Decision>)>,
    withdrawn: Mutex<Vec<ApprovalId>>,
    found: mpsc::UnboundedSender<(ApprovalId, Vec<Target>)>,
    told: Mutex<Vec<String>>,
    numbers: Mutex<u64>,
    /// What they are just saying when the question is taken back.
    saying: Mutex<Option<(oneshot::Sender<Decision>, Decision)>>,
}

impl Asker for Person {
    fn ask(&self, approval: Approval, _: CancellationToken) -> BoxFuture<'static, Decision> {
        let (answer, heard) = oneshot::channel();
        self.asked.send((approval, answer)).unwrap();
        Box::pin(async move {
            match heard.await {
                Ok(decision) => decision,
                Err(_) => std::future::pending().await,
            }
        })
    }
    fn remember(&self, _: &Grant) -> Result<(), String> {
        Ok(())
    }
    fn grants_changed(&self) {}
    fn close(&self, id: ApprovalId, _: Decision) {
        self.withdrawn.lock().unwrap().push(id);
        if let Some((answer, decision)) = self.saying.lock().unwrap().take() {
            answer.send(decision).unwrap();
        }
    }
    fn approval_found(&self, id: ApprovalId, targets: Vec<Target>, _: Vec<Payload>) {
        self.found.send((id, targets)).unwrap();
    }
    fn origin(&self) -> ApprovalOrigin {
        ApprovalOrigin { saying: "clean up".into(), ..ApprovalOrigin::default() }
    }
    fn number(&self) -> u64 {
        let mut number = self.numbers.lock().unwrap();
        *number += 1;
        *number
    }
    fn now(&self) -> i64 {
        0
    }
    fn notice(&self, text: String) {
        self.told.lock().unwrap().push(text);
    }
}

type Asked = mpsc::UnboundedReceiver<(Approval, oneshot::Sender<Decision>)>;

struct Waits {
    bench: Bench,
    gate: Arc<Gate>,
    ctx: ToolCtx,
    person: Arc<Person>,
    asked: Asked,
    found: mpsc::UnboundedReceiver<(ApprovalId, Vec<Target>)>,
}

fn waits(change: impl FnOnce(&mut crate::config::Config)) -> Waits {
    waits_in(change, |world| world)
}

fn waits_in(
    change: impl FnOnce(&mut crate::config::Config),
    around: impl FnOnce(Arc<dyn World>) -> Arc<dyn World>,
) -> Waits {
    let mut bench = Bench::new();
    let mut config = (*bench.config).clone();
    change(&mut config);
    bench.config = Arc::new(config);
    let (tx, asked) = mpsc::unbounded_channel();
    let (found_tx, found) = mpsc::unbounded_channel();
    let person = Arc::new(Person {
        asked: tx,
        withdrawn: Mutex::default(),
        found: found_tx,
        told: Mutex::default(),
        numbers: Mutex::default(),
        saying: Mutex::default(),
    });
    let ctx = bench.ctx();
    let asker = Arc::clone(&person) as Arc<dyn Asker>;
    let dispatch = Arc::new(bench.dispatch.clone());
    let gate = Gate::new(dispatch, Rules::default(), Mode::Ask, around(Arc::clone(&ctx.world)), asker);
    Waits { bench, gate: Arc::new(gate), ctx, person, asked, found }
}

impl Waits {
    fn call(&self, id: &str, line: &str) -> tokio::task::JoinHandle<ToolBody> {
        let args = serde_json::json!({ "command": line }).to_string();
        let call = ToolCall { id: id.into(), name: "terminal".into(), args, ..ToolCall::default() };
        let (gate, ctx) = (Arc::clone(&self.gate), self.ctx.clone());
        tokio::spawn(async move { gate.call(&call, ctx, mpsc::channel(8).0).await })
    }

    async fn next(&mut self) -> (Approval, oneshot::Sender<Decision>) {
        tokio::time::timeout(DEADLINE, self.asked.recv()).await.expect("it asks").unwrap()
    }
}

/// The rules of a configuration that lists this.
fn listed(action: Action, entry: &str) -> Rules {
    let mut rules = Rules::default();
    rules.hold([Permission::entry(action, entry)]);
    rules
}

async fn end(running: tokio::task::JoinHandle<ToolBody>) -> ToolBody {
    tokio::time::timeout(DEADLINE, running).await.expect("it ends").unwrap()
}

#[tokio::test]
async fn a_question_that_the_rules_answer_meanwhile_is_taken_back_and_says_why() {
    let allow = listed(Action::Allow, "recursive delete");
    let deny = listed(Action::Deny, "rm -rf *");
    for (rules, outcome, says) in
        [(allow, Outcome::Ok, "now allowed"), (deny, Outcome::Denied, "now denied by the user's rule")]
    {
        let mut waits = waits(|_| {});
        std::fs::create_dir(waits.bench.path("build")).unwrap();
        let running = waits.call("c", "rm -rf build");
        let (approval, _answer) = waits.next().await;
        waits.gate.set_rules(rules);
        let body = end(running).await;
        assert_eq!((body.outcome, waits.bench.path("build").exists()), (outcome, outcome != Outcome::Ok));
        assert_eq!(*waits.person.withdrawn.lock().unwrap(), [approval.id]);
        let told = waits.person.told.lock().unwrap().join("\n");
        assert!(told.contains(says) && told.contains("rm -rf build"), "{told}");
        assert!(body.view.approval.contains(says), "{}", body.view.approval);
    }
}

#[tokio::test]
async fn a_denial_on_its_way_counts_though_the_rules_allow_the_call_by_now() {
    let mut waits = waits(|_| {});
    std::fs::create_dir(waits.bench.path("build")).unwrap();
    let running = waits.call("c", "rm -rf build");
    let (_, answer) = waits.next().await;
    let no = Decision::Deny { feedback: "not this one".into() };
    *waits.person.saying.lock().unwrap() = Some((answer, no));
    waits.gate.set_rules(listed(Action::Allow, "recursive delete"));
    let body = end(running).await;
    assert_eq!((body.outcome, waits.bench.path("build").exists()), (Outcome::Denied, true));
}

#[tokio::test]
async fn an_answer_that_lasts_answers_the_others_that_wait_for_the_same() {
    let mut waits = waits(|_| {});
    let (first, second) = (waits.call("a", "rm -rf a"), waits.call("b", "rm -rf b"));
    let (one, yes) = waits.next().await;
    let (_other, _unanswered) = waits.next().await;
    let class = one.proposals.iter().find(|offer| offer.grant.width == crate::policy::Width::Effects).unwrap();
    yes.send(Decision::Grant(class.grant.clone())).unwrap();
    for running in [first, second] {
        assert_eq!(end(running).await.outcome, Outcome::Ok);
    }
}

#[tokio::test]
async fn a_disk_that_changed_meanwhile_is_asked_about_anew_and_one_that_did_not_is_left_alone() {
    let mut waits = waits(|_| {});
    let (build, other) = (waits.bench.path("build"), waits.bench.path("other"));
    for folder in [&build, &other] {
        std::fs::create_dir(folder).unwrap();
        std::fs::write(folder.join("file"), "1").unwrap();
    }
    let running = waits.call("c", "rm -rf build/file");
    let (first, _gone) = waits.next().await;
    std::fs::rename(&build, waits.bench.path("built")).unwrap();
    std::os::unix::fs::symlink(&other, &build).unwrap();
    waits.gate.stir();
    let (second, answer) = waits.next().await;
    assert!(first.id != second.id && !second.changed.is_empty(), "{:?}", second.changed);
    // The same again is no other question; the answer to it counts.
    waits.gate.stir();
    answer.send(Decision::Deny { feedback: "  keep it ".into() }).unwrap();
    let body = end(running).await;
    assert!(body.content.contains("the user denied this call and says:   keep it"), "{}", body.content);
    assert!(other.join("file").exists() && waits.asked.try_recv().is_err());
}

#[tokio::test]
async fn who_writes_is_not_interrupted() {
    let mut waits = waits(|_| {});
    let running = waits.call("c", "rm -rf build");
    let (approval, answer) = waits.next().await;
    waits.gate.writes(approval.id, true);
    waits.gate.set_rules(listed(Action::Allow, "recursive delete"));
    tokio::task::yield_now().await;
    answer.send(Decision::Deny { feedback: "no".into() }).unwrap();
    assert_eq!(end(running).await.outcome, Outcome::Denied);
    assert!(waits.person.withdrawn.lock().unwrap().is_empty());
}

/// A disk that hangs while the test says so.
struct Hanging {
    world: Arc<dyn World>,
    hangs: watch::Sender<bool>,
    /// How many calls hung.
    hung: watch::Sender<usize>,
}

impl Hanging {
    fn wait(&self) {
        if !*self.hangs.borrow() {
            return;
        }
        self.hung.send_modify(|hung| *hung += 1);
        while *self.hangs.borrow() {
            std::thread::park_timeout(Duration::from_millis(5));
        }
    }
}

impl World for Hanging {
    fn home(&self) -> PathBuf {
        self.world.home()
    }
    fn hermes_home(&self) -> PathBuf {
        self.world.hermes_home()
    }
    fn variable(&self, name: &str) -> Option<String> {
        self.world.variable(name)
    }
    fn glob(&self, pattern: &str, cwd: &Path, limit: usize) -> Matches {
        self.world.glob(pattern, cwd, limit)
    }
    fn border(&self) -> Vec<PathBuf> {
        self.world.border()
    }
    fn resolve(&self, path: &Path) -> PathBuf {
        self.wait();
        self.world.resolve(path)
    }
}

/// Lets go of the disk, whatever becomes of the test: a runtime waits for its threads.
struct Frees(Arc<Hanging>);

impl Drop for Frees {
    fn drop(&mut self) {
        self.0.hangs.send_replace(false);
    }
}

fn hanging(change: impl FnOnce(&mut crate::config::Config)) -> (Waits, Frees) {
    let mut disk = None;
    let waits = waits_in(change, |world| {
        let hanging = Arc::new(Hanging { world, hangs: watch::channel(false).0, hung: watch::channel(0).0 });
        disk = Some(Arc::clone(&hanging));
        hanging
    });
    (waits, Frees(disk.unwrap()))
}

#[tokio::test]
async fn the_time_of_a_question_goes_by_while_the_disk_hangs_as_it_is_judged_anew() {
    let (mut waits, disk) = hanging(|config| config.approvals.timeout = 3);
    let running = waits.call("c", "rm -rf build");
    let (approval, _unanswered) = waits.next().await;
    disk.0.hangs.send_replace(true);
    waits.gate.set_rules(listed(Action::Allow, "recursive delete"));
    until(|| !waits.person.withdrawn.lock().unwrap().is_empty()).await;
    assert_eq!(*waits.person.withdrawn.lock().unwrap(), [approval.id]);
    drop(disk);
    assert_eq!(end(running).await.outcome, Outcome::TimedOut);
}

/// A question that the rules allow by now, while the disk hangs as it is judged anew.
async fn looked_at() -> (Waits, Frees, tokio::task::JoinHandle<ToolBody>, ApprovalId, oneshot::Sender<Decision>) {
    let (mut waits, disk) = hanging(|_| {});
    let running = waits.call("c", "rm -rf build");
    let (approval, answer) = waits.next().await;
    disk.0.hangs.send_replace(true);
    waits.gate.set_rules(listed(Action::Allow, "recursive delete"));
    let mut hung = disk.0.hung.subscribe();
    tokio::time::timeout(DEADLINE, hung.wait_for(|hung| *hung > 0)).await.expect("it is looked at").unwrap();
    (waits, disk, running, approval.id, answer)
}

#[tokio::test]
async fn an_answer_counts_while_the_disk_hangs() {
    let (waits, disk, running, _, answer) = looked_at().await;
    answer.send(Decision::Deny { feedback: "no".into() }).unwrap();
    drop(disk);
    assert_eq!(end(running).await.outcome, Outcome::Denied);
    assert!(waits.person.withdrawn.lock().unwrap().is_empty());
}

#[tokio::test]
async fn who_begins_to_write_during_a_look_is_not_interrupted_until_they_are_done() {
    let (waits, disk, running, id, _unanswered) = looked_at().await;
    waits.gate.writes(id, true);
    drop(disk);
    // Looks of the same length have their end one after the other; the first has had its own by then.
    let intent = Intent::Command { line: "rm -rf build".into(), cwd: waits.bench.path(""), background: false };
    let call = ToolCall { id: "d".into(), name: "terminal".into(), ..ToolCall::default() };
    let request = Request { call: &call, tool: "terminal", intent, drops: vec![], hook: None, ctx: &waits.ctx };
    for _ in 0..20 {
        let shown = Assessment::of(Verdict::Ask(vec![]));
        assert!(waits.gate.is_stale(shown, &request).await, "the rules allow it by now");
    }
    assert!(waits.person.withdrawn.lock().unwrap().is_empty());
    waits.gate.writes(id, false);
    assert_eq!(end(running).await.outcome, Outcome::Ok);
    assert_eq!(*waits.person.withdrawn.lock().unwrap(), [id]);
}

#[tokio::test]
async fn a_command_of_the_person_is_asked_about_in_their_name() {
    let mut waits = waits(|_| {});
    for (id, words) in [("person_7", "you"), ("c", "the main agent: “clean up”")] {
        let running = waits.call(id, "rm -rf build");
        let (approval, answer) = waits.next().await;
        assert_eq!(approval.origin.words(), words);
        answer.send(Decision::Once).unwrap();
        end(running).await;
    }
}

#[tokio::test]
async fn the_clock_stands_still_while_a_person_writes() {
    let mut waits = waits(|config| config.approvals.timeout = 2);
    let approval = nothing(7);
    let (gate, ctx) = (Arc::clone(&waits.gate), waits.ctx.clone());
    let waiting = tokio::spawn(async move { gate.ask(approval, None, None, &ctx).await });
    let (_, _unanswered) = waits.next().await;
    waits.gate.writes(ApprovalId(7), true);
    // Another one, put later, in which nobody writes: when its time is over, that of the first would have been.
    let put = tokio::time::timeout(DEADLINE, waits.gate.ask(nothing(8), None, None, &waits.ctx)).await;
    assert!(matches!(put.expect("its time goes by"), Answer::Person(Decision::TimedOut, None)));
    assert!(!waiting.is_finished());
    waits.gate.writes(ApprovalId(7), false);
    let put = tokio::time::timeout(DEADLINE, waiting).await.expect("the rest of its time goes by").unwrap();
    assert!(matches!(put, Answer::Person(Decision::TimedOut, None)));
}

#[tokio::test]
async fn what_git_says_late_comes_into_the_open_question_and_counts_at_its_end() {
    let mut waits = waits(|_| {});
    let target =
        |note: &str| Target { name: "git clean".into(), files: None, bytes: None, at_least: false, note: note.into() };
    let (tell, told) = oneshot::channel::<Found>();
    let late: LateFindings = Box::pin(async move { told.await.unwrap() });
    let intent = Intent::Command { line: "git clean -fd".into(), cwd: "/".into(), background: false };
    let call = ToolCall { id: "c".into(), name: "terminal".into(), ..ToolCall::default() };
    let approval = Approval { intent: intent.clone(), targets: vec![target("not yet")], ..nothing(3) };
    let (gate, ctx) = (Arc::clone(&waits.gate), waits.ctx.clone());
    let waiting = tokio::spawn(async move {
        let request = Request { call: &call, tool: "terminal", intent, drops: vec![], hook: None, ctx: &ctx };
        let mut shown = Assessment::of(Verdict::Ask(vec![]));
        gate.ask(approval, Some((&mut shown, &request)), Some(late), &ctx).await;
        shown
    });
    let (approval, answer) = waits.next().await;
    assert_eq!(approval.targets, [target("not yet")], "it opens before git answers");
    let paths = std::iter::once(("build".to_owned(), Default::default())).collect();
    tell.send(Found { targets: vec![target("3 files")], resolved_paths: Some(paths), ..Found::default() })
        .ok()
        .unwrap();
    let (id, targets) = tokio::time::timeout(DEADLINE, waits.found.recv()).await.expect("it comes").unwrap();
    assert_eq!((id, targets), (ApprovalId(3), vec![target("3 files")]));
    answer.send(Decision::Once).unwrap();
    let shown = tokio::time::timeout(DEADLINE, waiting).await.expect("it ends").unwrap();
    assert!(shown.paths.is_some_and(|paths| paths.contains_key("build")), "where its paths led is held to");
}

/// A question about nothing.
fn nothing(id: u64) -> Approval {
    Approval {
        id: ApprovalId(id),
        call_id: "c".into(),
        tool: "terminal".into(),
        intent: Intent::Talk,
        verdict: Verdict::Ask(vec![]),
        targets: vec![],
        payloads: vec![],
        proposals: vec![],
        origin: ApprovalOrigin::default(),
        changed: vec![],
        drops: vec![],
        kept: false,
        asked_at: 0,
    }
}
