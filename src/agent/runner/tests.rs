//! The runner with work beside its conversation.

use super::*;
use crate::agent::spec::Answers;
use crate::config::load::load;
use crate::exec::ExecOptions;
use crate::llm::scripted::{Script, Scripted};
use crate::policy::redact::redact;
use crate::policy::{Approval, Decision, Intent, Speaker, Verdict};
use crate::tools::gate::Asker;
use crate::tools::registry::Registry;
use crate::tools::world::LocalWorld;
use std::collections::BTreeMap;
use std::time::Duration;

/// What a conversation in this folder runs on; the model plays a script.
fn deps(root: &std::path::Path, script: &str) -> Deps {
    let paths = Paths::at(root.join("home"));
    let sources = Sources { paths: paths.clone(), cwd: None, env: BTreeMap::new(), overrides: Vec::new() };
    let loaded = Arc::new(load(&sources));
    let options = ExecOptions { spill: paths.spill(), login_env: false, ..ExecOptions::default() };
    let (exec, _) = Exec::new(options);
    let model = Arc::new(Scripted::recording(Script::parse("test", script).unwrap()));
    let policy = PolicySnapshot::new(paths.clone(), Arc::new(sources.clone()), &Arc::default());
    Deps {
        newest: Newest { loaded: Arc::new(Mutex::new(Arc::clone(&loaded))), policy: Arc::clone(&policy) },
        opener: None,
        models: Models::new(Arc::clone(&loaded), &paths, crate::accounts::Accounts::new(&paths, Default::default()))
            .scripted(model),
        loaded,
        policy,
        sources: Arc::new(sources),
        store: Store::spawn(paths.home.clone()),
        exec,
        dispatch: Arc::new(Dispatch::new(Arc::new(Registry::builtin()), redact)),
        extensions: crate::plugins::Extensions::default(),
        backends: crate::backends::Backends::default(),
        checkpoints: Checkpoints::default(),
        world: Arc::new(LocalWorld::new(root.join("home"), paths.home.clone())),
        paths,
    }
}

fn question(port: &AgentHandle) -> Approval {
    Approval {
        id: ApprovalId(port.number()),
        call_id: String::new(),
        tool: "terminal".into(),
        intent: Intent::Command { line: "rm -r old".into(), cwd: "/".into(), background: false },
        verdict: Verdict::Ask(vec![]),
        targets: vec![],
        payloads: vec![],
        proposals: vec![],
        origin: port.origin(),
        changed: vec![],
        drops: vec![],
        kept: false,
        asked_at: 0,
    }
}

async fn until(events: &mut mpsc::Receiver<AgentEvent>, fits: impl Fn(&AgentEvent) -> bool) -> Vec<AgentEvent> {
    let mut seen = Vec::new();
    loop {
        let event = tokio::time::timeout(Duration::from_secs(60), events.recv()).await;
        seen.push(event.expect("the agent says nothing").expect("the agent is gone"));
        if seen.last().is_some_and(&fits) {
            return seen;
        }
    }
}

async fn asked(events: &mut mpsc::Receiver<AgentEvent>) -> Box<Approval> {
    let seen = until(events, |event| matches!(event, AgentEvent::ApprovalRequested(_))).await;
    match seen.into_iter().last() {
        Some(AgentEvent::ApprovalRequested(approval)) => approval,
        _ => unreachable!(),
    }
}

fn closed(seen: &[AgentEvent]) -> Vec<ApprovalId> {
    let id = |event: &AgentEvent| if let AgentEvent::ApprovalClosed(id) = event { Some(*id) } else { None };
    seen.iter().filter_map(id).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn questions_of_work_beside_the_conversation_outlive_its_turn() {
    let root = tempfile::tempdir().unwrap();
    std::fs::create_dir(root.path().join("old")).unwrap();
    let script = "steps:\n  - calls: [{ name: terminal, args: { command: rm -r old } }]\n  - text: done\n";
    let deps = deps(root.path(), script);
    let spec = SessionSpec { cwd: root.path().into(), answers: Answers::Person, ..SessionSpec::default() };
    let (commands, orders) = mpsc::channel(64);
    let (facts, mut events) = mpsc::channel(256);
    let runner = Runner::new(deps, spec, "s".into(), orders, facts);
    let background = runner.handle.speaking_as(Speaker::Background("sweep".into()));
    let task = tokio::spawn(runner.run());
    commands.send(AgentCommand::Submit { text: "go".into(), images: Vec::new() }).await.unwrap();
    // One of the turn and one of the other work: both reach the person, say whose they are and have a number of their own.
    let main = asked(&mut events).await;
    let approval = question(&background);
    let of_sweep = tokio::spawn(background.ask(approval, CancellationToken::new()));
    let other = asked(&mut events).await;
    assert_eq!((main.origin.by, other.origin.by), (Speaker::Main, Speaker::Background("sweep".into())));
    assert_ne!(main.id, other.id);
    // The turn ends, and its question with it; the other one waits on.
    commands.send(AgentCommand::Stop { force: false }).await.unwrap();
    let seen = until(&mut events, |event| matches!(event, AgentEvent::TurnFinished(_))).await;
    assert_eq!(closed(&seen), [main.id]);
    assert!(!of_sweep.is_finished() && root.path().join("old").exists());
    commands.send(AgentCommand::Decide(other.id, Decision::Once)).await.unwrap();
    let seen = until(&mut events, |event| matches!(event, AgentEvent::ApprovalClosed(_))).await;
    assert_eq!(closed(&seen), [other.id]);
    assert_eq!(of_sweep.await.unwrap(), Decision::Once);
    commands.send(AgentCommand::Close { cleared: false }).await.unwrap();
    task.await.unwrap();
}
