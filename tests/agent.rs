//! Whole conversations with a scripted model: the runner, the real tools and the gate, without a screen.

mod askpass;
mod budget;
mod compaction;
mod gate;
mod sessions;
mod tools;

use hermes::agent::Models;
use hermes::agent::policy_snapshot::PolicySnapshot;
use hermes::agent::runner::{self, Deps, Handle, Newest};
use hermes::agent::spec::{Answers, Opens, SessionSpec};
use hermes::config::load::{Sources, load};
use hermes::config::paths::Paths;
use hermes::exec::{Exec, ExecOptions};
use hermes::llm::message::Message;
use hermes::llm::scripted::{Script, Scripted};
use hermes::policy::redact::RedactKind;
use hermes::policy::{ApprovalId, Decision, Grant, Scope, Speaker, Width};
use hermes::protocol::{AgentCommand, AgentEvent, Body, Item, NoteKind, Outcome, SessionId, Theirs, TurnEnd};
use hermes::store::Store;
use hermes::tools::dispatch::Dispatch;
use hermes::tools::file::restore_target::RestoreTarget;
use hermes::tools::registry::Registry;
use hermes::tools::world::LocalWorld;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::mpsc;

fn plain(text: &str, _: RedactKind) -> Cow<'_, str> {
    Cow::Borrowed(text)
}

/// A home, a folder to work in, and a model that plays a script.
struct World {
    root: tempfile::TempDir,
    model: Arc<Scripted>,
    registry: Arc<Registry>,
}

impl World {
    fn new(script: &str) -> Self {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join("work")).unwrap();
        let model = Arc::new(Scripted::recording(Script::parse("test", script).unwrap()));
        Self { root, model, registry: Arc::new(Registry::builtin()) }
    }

    fn work(&self) -> PathBuf {
        self.root.path().join("work").canonicalize().unwrap()
    }

    /// Writes the configuration of this home.
    fn config(&self, text: &str) {
        std::fs::create_dir_all(self.root.path().join("home")).unwrap();
        std::fs::write(self.root.path().join("home/config.yaml"), text).unwrap();
    }

    fn start(&self, resume: Option<SessionId>) -> Talk {
        self.start_with(resume, Default::default())
    }

    fn start_with(&self, resume: Option<SessionId>, secrets: hermes::policy::redact::Secrets) -> Talk {
        self.open(resume.map_or(Opens::New, Opens::Resume), secrets)
    }

    fn open(&self, opens: Opens, secrets: hermes::policy::redact::Secrets) -> Talk {
        let paths = Paths::at(self.root.path().join("home"));
        let sources = Sources { paths: paths.clone(), cwd: None, env: BTreeMap::new(), overrides: Vec::new() };
        let loaded = Arc::new(load(&sources));
        let options = ExecOptions { spill: paths.spill(), login_env: false, ..ExecOptions::default() };
        let (exec, processes) = Exec::new(options);
        let model: Arc<dyn hermes::llm::Provider> = self.model.clone();
        let policy = PolicySnapshot::new(paths.clone(), Arc::new(sources.clone()), &Arc::default());
        let deps = Deps {
            newest: Newest { loaded: Arc::new(Mutex::new(Arc::clone(&loaded))), policy: Arc::clone(&policy) },
            opener: None,
            models: Models::new(
                Arc::clone(&loaded),
                &paths,
                hermes::accounts::Accounts::new(&paths, Default::default()),
            )
            .scripted(model),
            loaded,
            policy,
            sources: Arc::new(sources),
            store: Store::spawn(paths.home.clone()),
            exec: exec.clone(),
            dispatch: Arc::new(Dispatch::new(Arc::clone(&self.registry), plain).with_secrets(secrets)),
            extensions: hermes::plugins::Extensions::default(),
            backends: hermes::backends::Backends::default(),
            checkpoints: hermes::checkpoints::Checkpoints::default(),
            world: Arc::new(LocalWorld::new(self.root.path().join("home"), paths.home.clone())),
            paths,
        };
        let spec =
            SessionSpec { opens, cwd: self.work(), answers: Answers::Person, origin: "tui", ..SessionSpec::default() };
        Talk { agent: runner::spawn(deps, spec, hermes::store::new_session_id()), exec, processes }
    }
}

/// A running conversation.
struct Talk {
    agent: Handle,
    exec: Exec,
    processes: mpsc::Receiver<hermes::exec::ProcessEvent>,
}

impl Talk {
    async fn say(&self, text: &str) {
        self.order(AgentCommand::Submit { text: text.into(), images: Vec::new() }).await;
    }

    async fn order(&self, order: AgentCommand) {
        self.agent.commands.send(order).await.unwrap();
    }

    async fn next(&mut self) -> AgentEvent {
        let event = tokio::time::timeout(Duration::from_secs(20), self.agent.events.recv()).await;
        event.expect("the agent says nothing").expect("the agent is gone")
    }

    /// Everything until an event that fits, that one included.
    async fn until(&mut self, fits: impl Fn(&AgentEvent) -> bool) -> Vec<AgentEvent> {
        let mut seen = Vec::new();
        loop {
            let event = self.next().await;
            let done = fits(&event);
            seen.push(event);
            if done {
                return seen;
            }
        }
    }

    async fn finished(&mut self) -> (TurnEnd, Vec<AgentEvent>) {
        let seen = self.until(|event| matches!(event, AgentEvent::TurnFinished(_))).await;
        let Some(AgentEvent::TurnFinished(outcome)) = seen.last() else { unreachable!() };
        (outcome.end.clone(), seen)
    }
}

fn items(seen: &[AgentEvent]) -> Vec<&Item> {
    seen.iter().filter_map(|e| if let AgentEvent::ItemFinished(item) = e { Some(item) } else { None }).collect()
}

fn results(seen: &[AgentEvent]) -> Vec<(String, Outcome, String)> {
    let tool = |item: &&Item| match &item.body {
        Body::Tool(tool) => Some((tool.call_id.clone(), tool.outcome, tool.content.clone())),
        _ => None,
    };
    items(seen).iter().filter_map(tool).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn parallel_reads_answer_in_call_order_and_the_next_request_extends_the_last() {
    let world = World::new(
        r#"
steps:
  - calls:
      - { name: read_file, args: { path: b.txt } }
      - { name: read_file, args: { path: a.txt } }
      - { name: search_files, args: { pattern: needle } }
  - text: read both
"#,
    );
    std::fs::write(world.work().join("a.txt"), "first\n").unwrap();
    std::fs::write(world.work().join("b.txt"), "second needle\n").unwrap();
    let mut talk = world.start(None);
    talk.say("read").await;
    let (end, _) = talk.finished().await;
    assert_eq!(end, TurnEnd::Completed);
    let requests = world.model.requests();
    assert_eq!(requests.len(), 2);
    assert_eq!(requests[0].messages[..], requests[1].messages[..requests[0].messages.len()]);
    assert_eq!(requests[0].system, requests[1].system);
    let contents: Vec<&str> = requests[1]
        .messages
        .iter()
        .filter_map(|m| if let Message::Tool { content, .. } = m { Some(content.as_str()) } else { None })
        .collect();
    assert!(contents[0].contains("second") && contents[1].contains("first") && contents[2].contains("b.txt"));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_gate_asks_and_a_session_grant_covers_the_class() {
    let world = World::new(
        r#"
steps:
  - calls: [{ name: terminal, args: { command: rm -rf one } }]
  - calls: [{ name: terminal, args: { command: rm -rf two } }]
  - calls: [{ name: terminal, args: { command: chmod -R 777 . } }]
  - text: done
"#,
    );
    for folder in ["one", "two"] {
        std::fs::create_dir(world.work().join(folder)).unwrap();
    }
    let mut talk = world.start(None);
    talk.say("clean").await;
    let seen = talk.until(|e| matches!(e, AgentEvent::ApprovalRequested(_))).await;
    let Some(AgentEvent::ApprovalRequested(approval)) = seen.last() else { unreachable!() };
    assert!(world.work().join("one").exists());
    let classes = approval.verdict.reasons().iter().map(|why| why.effect.clone()).collect();
    talk.order(AgentCommand::Decide(
        approval.id,
        Decision::Grant(Grant { scope: Scope::Session, width: Width::Effects, entries: classes }),
    ))
    .await;
    // The second delete does not ask; the other class does.
    let seen = talk.until(|e| matches!(e, AgentEvent::ApprovalRequested(_))).await;
    assert!(!world.work().join("one").exists() && !world.work().join("two").exists());
    let Some(AgentEvent::ApprovalRequested(approval)) = seen.last() else { unreachable!() };
    let no = Decision::Deny { feedback: "leave the rights alone".into() };
    talk.order(AgentCommand::Decide(approval.id, no)).await;
    let (end, seen) = talk.finished().await;
    assert_eq!(end, TurnEnd::Completed);
    let denied = &results(&seen)[0];
    assert_eq!(denied.1, Outcome::Denied);
    assert!(denied.2.contains("leave the rights alone"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edited_command_is_judged_before_it_is_confirmed() {
    let world = World::new(
        r#"
steps:
  - calls: [{ name: terminal, args: { command: rm -rf keep } }]
  - text: done
"#,
    );
    for folder in ["keep", "other"] {
        std::fs::create_dir(world.work().join(folder)).unwrap();
    }
    let mut talk = world.start(None);
    talk.say("clean").await;
    let seen = talk.until(|e| matches!(e, AgentEvent::ApprovalRequested(_))).await;
    let Some(AgentEvent::ApprovalRequested(approval)) = seen.last() else { unreachable!() };
    assert_eq!((approval.origin.title.as_str(), approval.origin.by.clone()), ("clean", Speaker::Main));
    let line = "rm -rf other && git push --force";
    talk.order(AgentCommand::Preview(approval.id, line.into())).await;
    let seen = talk.until(|e| matches!(e, AgentEvent::Previewed { .. })).await;
    let Some(AgentEvent::Previewed { preview: Some(preview), .. }) = seen.last() else { panic!("{seen:?}") };
    let effects: Vec<&str> = preview.verdict.reasons().iter().map(|why| why.effect.as_str()).collect();
    assert!(effects.iter().any(|effect| effect.contains("force push")), "{effects:?}");
    assert_eq!(preview.targets[0].name, "other");
    // The class is new, but it was shown: the answer counts.
    talk.order(AgentCommand::Decide(approval.id, Decision::Edited(line.into()))).await;
    let (_, seen) = talk.finished().await;
    assert!(!world.work().join("other").exists() && world.work().join("keep").exists());
    let edited = items(&seen).into_iter().find_map(|item| match &item.body {
        Body::Tool(tool) => Some(tool.view.edited.clone()),
        _ => None,
    });
    assert_eq!(edited.as_deref(), Some(line));
    // A question that is over has no preview.
    talk.order(AgentCommand::Preview(ApprovalId(99), "ls".into())).await;
    let seen = talk.until(|e| matches!(e, AgentEvent::Previewed { .. })).await;
    assert!(matches!(seen.last(), Some(AgentEvent::Previewed { preview: None, .. })));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edited_command_is_judged_again() {
    let world = World::new(
        r#"
steps:
  - calls: [{ name: terminal, args: { command: rm -rf keep } }]
  - text: done
"#,
    );
    std::fs::create_dir(world.work().join("keep")).unwrap();
    let mut talk = world.start(None);
    talk.say("clean").await;
    let seen = talk.until(|e| matches!(e, AgentEvent::ApprovalRequested(_))).await;
    let Some(AgentEvent::ApprovalRequested(approval)) = seen.last() else { unreachable!() };
    talk.order(AgentCommand::Decide(approval.id, Decision::Edited("rm -rf /".into()))).await;
    let (_, seen) = talk.finished().await;
    assert_eq!(results(&seen)[0].1, Outcome::Refused, "{:?}", results(&seen));
    assert!(world.work().join("keep").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn stop_interrupts_a_command_and_an_open_question() {
    let world = World::new(
        r#"
steps:
  - calls: [{ name: terminal, args: { command: echo on; sleep 300 } }]
  - calls: [{ name: clarify, args: { question: which one?, choices: [a, b] } }]
  - text: done
"#,
    );
    let mut talk = world.start(None);
    talk.say("go").await;
    talk.until(|e| matches!(e, AgentEvent::ToolProcess { .. })).await;
    let began = std::time::Instant::now();
    talk.order(AgentCommand::Stop { force: false }).await;
    let (end, seen) = talk.finished().await;
    assert_eq!(end, TurnEnd::Stopped);
    assert!(began.elapsed() < Duration::from_secs(10), "the command was not ended");
    assert_eq!(results(&seen)[0].1, Outcome::Interrupted);

    talk.say("ask me").await;
    talk.until(|e| matches!(e, AgentEvent::Asked(_))).await;
    talk.order(AgentCommand::Stop { force: false }).await;
    let (end, seen) = talk.finished().await;
    assert_eq!(end, TurnEnd::Stopped);
    assert_eq!(results(&seen).len(), 1, "every call has its result");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_waits_for_its_answer() {
    let world = World::new(
        r#"
steps:
  - calls: [{ name: clarify, args: { question: which one?, choices: [red, blue] } }]
  - text: done
"#,
    );
    let mut talk = world.start(None);
    talk.say("go").await;
    let seen = talk.until(|e| matches!(e, AgentEvent::Asked(_))).await;
    let Some(AgentEvent::Asked(question)) = seen.last() else { unreachable!() };
    assert_eq!(question.choices, ["red", "blue"]);
    talk.order(AgentCommand::Answer(question.id, "blue".into())).await;
    let (_, seen) = talk.finished().await;
    assert!(results(&seen)[0].2.contains("blue"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wait_shows_its_end_and_can_be_skipped() {
    let world = World::new(
        r#"
steps:
  - error: { status: 429, message: slow down, retry_after: 500 }
  - text: there
"#,
    );
    let mut talk = world.start(None);
    talk.say("go").await;
    let seen = talk.until(|e| matches!(e, AgentEvent::Retrying { .. })).await;
    assert!(matches!(seen.last(), Some(AgentEvent::Retrying { attempt: 1, .. })));
    talk.order(AgentCommand::SkipWait(true)).await;
    assert_eq!(talk.finished().await.0, TurnEnd::Completed);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_background_process_tells_of_its_end_once() {
    let world = World::new(
        r#"
steps:
  - calls: [{ name: terminal, args: { command: "echo bye-bye", background: true, notify_on_complete: true } }]
  - text: started
  - text: heard it
  - text: and again
"#,
    );
    let mut talk = world.start(None);
    talk.say("go").await;
    // The notice comes within this turn or makes a turn of its own; either way the model reads it once.
    let mut turns = 0;
    loop {
        talk.finished().await;
        turns += 1;
        let told = |m: &Message| matches!(m, Message::User { text, .. } if text.contains("Background process"));
        let last = world.model.requests().pop().unwrap();
        if last.messages.iter().any(told) {
            assert_eq!(last.messages.iter().filter(|m| told(m)).count(), 1);
            break;
        }
        assert!(turns < 3, "the end was never told");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_person_ends_while_nothing_runs_waits_for_their_next_words() {
    let world = World::new(
        r#"
steps:
  - calls: [{ name: terminal, args: { command: "sleep 600", background: true, notify_on_complete: true } }]
  - text: it runs
  - text: so it is gone
  - text: heard it meanwhile
"#,
    );
    let mut talk = world.start(None);
    talk.say("serve").await;
    talk.finished().await;
    let id = talk.exec.list()[0].info.id.clone();
    talk.exec.kill(&id).unwrap();
    while !matches!(talk.exec.list()[0].info.state, hermes::exec::ProcessState::Exited(_)) {
        talk.processes.recv().await.expect("it ends");
    }
    talk.say("and now?").await;
    let (_, seen) = talk.finished().await;
    let begun = seen.iter().filter_map(|event| match event {
        AgentEvent::TurnStarted { turn, .. } => Some(*turn),
        _ => None,
    });
    assert_eq!(begun.collect::<Vec<_>>(), [2], "no turn of its own");
    let told = |m: &Message| matches!(m, Message::User { text, .. } if text.contains("was killed by the user"));
    let last = world.model.requests().pop().unwrap();
    assert_eq!(last.messages.iter().filter(|m| told(m)).count(), 1, "{:?}", last.messages);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_resumed_session_is_the_same_one() {
    let world = World::new(
        r#"
steps:
  - calls: [{ name: todo, args: { todos: [{ id: "1", content: sow, status: in_progress }] } }]
  - text: planned
  - text: resumed
"#,
    );
    let mut talk = world.start(None);
    let seen = talk.until(|e| matches!(e, AgentEvent::SessionOpened { .. })).await;
    let Some(AgentEvent::SessionOpened { session, .. }) = seen.last() else { unreachable!() };
    let id = session.id.clone();
    talk.say("plan the garden").await;
    talk.finished().await;
    talk.order(AgentCommand::Close { cleared: false }).await;
    talk.agent.task.await.unwrap();

    let mut talk = world.start(Some(id.clone()));
    let seen = talk.until(|e| matches!(e, AgentEvent::SessionOpened { .. })).await;
    let Some(AgentEvent::SessionOpened { session, items }) = seen.last() else { unreachable!() };
    // After the session, which the screen begins without a plan.
    talk.until(|e| matches!(e, AgentEvent::PlanChanged(plan) if plan[0].content == "sow")).await;
    assert_eq!((&session.id, items.len()), (&id, 5), "a line under the turn, too");
    talk.say("and now?").await;
    talk.finished().await;
    let requests = world.model.requests();
    let (before, after) = (&requests[1], &requests[2]);
    assert_eq!(before.system, after.system);
    assert_eq!(before.messages[..], after.messages[..before.messages.len()]);
}

const EDITS: &str = r#"
scenes:
  - when: "^make"
    steps:
      - calls:
          - { name: write_file, args: { path: a.txt, content: "one\n" } }
          - { name: todo, args: { todos: [{ id: "1", content: sow, status: in_progress }] } }
      - text: made
  - when: "^change"
    steps:
      - calls:
          - { name: patch, args: { path: a.txt, old_string: one, new_string: two } }
          - { name: write_file, args: { path: b.txt, content: "mine\n" } }
          - { name: terminal, args: { command: "echo ran > c.txt" } }
          - { name: todo, args: { todos: [] } }
      - text: changed
  - steps: [{ text: else }]
"#;

impl Talk {
    /// The session, what was told until something fits, and the notices among it.
    async fn notice(&mut self, part: &str) -> Vec<AgentEvent> {
        self.until(|event| matches!(event, AgentEvent::Notice { text, .. } if text.contains(part))).await
    }
}

fn read(path: &std::path::Path) -> Option<String> {
    std::fs::read_to_string(path).ok()
}

fn user_id(seen: &[AgentEvent]) -> hermes::protocol::ItemId {
    items(seen).iter().find(|item| matches!(item.body, Body::User { .. })).unwrap().id
}

fn plan(seen: &[AgentEvent]) -> Vec<String> {
    let plan = seen.iter().rev().find_map(|e| if let AgentEvent::PlanChanged(plan) = e { Some(plan) } else { None });
    plan.unwrap().iter().map(|todo| todo.content.clone()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn going_back_takes_conversation_files_and_plan_and_redo_brings_them() {
    let world = World::new(EDITS);
    let (a, b) = (world.work().join("a.txt"), world.work().join("b.txt"));
    let mut talk = world.start(None);
    let seen = talk.until(|e| matches!(e, AgentEvent::SessionOpened { .. })).await;
    let Some(AgentEvent::SessionOpened { session, .. }) = seen.last() else { unreachable!() };
    let id = session.id.clone();
    talk.say("make it").await;
    talk.finished().await;
    talk.say("change it").await;
    let (_, seen) = talk.finished().await;
    assert_eq!((read(&a), read(&b)), (Some("two\n".into()), Some("mine\n".into())));
    let item = user_id(&seen);
    // What it would mean, from outside: the same function that the screen asks.
    let store = Store::spawn(world.root.path().join("home"));
    let blobs = hermes::store::Blobs::new(world.root.path().join("home/history"));
    let (tools, ground) = (Registry::builtin(), RestoreTarget::default());
    let preview = loop {
        // What the agent's store has in its journal alone, another one sees a moment later.
        let around = (&ground, world.work());
        let found = hermes::agent::rewind::preview(&store, &blobs, &tools, &id, item, (around.0, &around.1)).await;
        match found.unwrap() {
            Some(preview) => break preview,
            None => tokio::task::yield_now().await,
        }
    };
    let files: Vec<(&str, u32, u32)> = preview.files.iter().map(|f| (f.path.as_str(), f.added, f.removed)).collect();
    assert_eq!(files, [("a.txt", 1, 1), ("b.txt", 0, 1), ("c.txt", 0, 1)]);
    assert!(preview.commands.is_empty(), "what the command changed is undone, too: {:?}", preview.commands);
    let requests = world.model.requests();

    let order = |files, conversation| {
        AgentCommand::Rewind(hermes::protocol::RewindOrder { item, conversation, files, theirs: Theirs::Ask })
    };
    talk.order(order(true, true)).await;
    let seen = talk.notice("rewound").await;
    assert_eq!((read(&a), read(&b)), (Some("one\n".into()), None));
    assert!(!world.work().join("c.txt").exists(), "what a command did goes, too");
    assert_eq!(plan(&seen), ["sow"]);
    let rewound = seen.iter().find_map(|e| if let AgentEvent::Rewound(rewound) = e { Some(rewound) } else { None });
    let rewound = rewound.unwrap();
    assert_eq!(rewound.prompt.as_ref().unwrap().0, "change it");
    assert!(rewound.items.iter().all(|kept| kept.id < item));
    let meter =
        seen.iter().rev().find_map(|e| if let AgentEvent::UsageChanged(meter) = e { Some(*meter) } else { None });
    assert!(meter.is_some());

    // All of it comes back, once.
    talk.order(AgentCommand::Redo).await;
    let seen = talk.notice("redone").await;
    assert_eq!((read(&a), read(&b)), (Some("two\n".into()), Some("mine\n".into())));
    assert!(plan(&seen).is_empty());
    talk.order(AgentCommand::Redo).await;
    talk.notice("nothing to redo").await;

    // Back again; what is said next extends the first exchange, byte for byte, and ends the redo.
    talk.order(order(true, true)).await;
    talk.notice("rewound").await;
    talk.say("change it differently").await;
    talk.finished().await;
    let last = world.model.requests();
    let (then, now) = (&requests[2], &last[requests.len()]);
    assert_eq!(then.system, now.system);
    let before = then.messages.len() - 1;
    assert_eq!(then.messages[..before], now.messages[..before]);
    assert_eq!(now.messages.len(), then.messages.len(), "nothing of the exchange that was left out is sent");
    talk.order(AgentCommand::Redo).await;
    talk.notice("nothing to redo").await;
    talk.order(AgentCommand::Close { cleared: false }).await;
    talk.agent.task.await.unwrap();

    // Resumed: the same conversation, and the first prompt can still be gone back to.
    let mut talk = world.start(Some(id));
    let seen = talk.until(|e| matches!(e, AgentEvent::SessionOpened { .. })).await;
    let Some(AgentEvent::SessionOpened { items: page, .. }) = seen.last() else { unreachable!() };
    let prompts: Vec<&str> = page
        .iter()
        .filter_map(|item| if let Body::User { text, .. } = &item.body { Some(text.as_str()) } else { None })
        .collect();
    assert_eq!(prompts, ["make it", "change it differently"]);
    let first = page[0].id;
    let order = hermes::protocol::RewindOrder { item: first, conversation: true, files: true, theirs: Theirs::Ask };
    talk.order(AgentCommand::Rewind(order)).await;
    talk.notice("rewound").await;
    assert_eq!((read(&a), read(&b)), (None, None));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fork_of_nothing_is_not_opened() {
    let world = World::new("steps: []");
    let mut talk = world.open(Opens::Fork("nowhere".into()), Default::default());
    talk.notice("was not forked").await;
    talk.until(|e| matches!(e, AgentEvent::NotOpened)).await;
    assert_eq!(talk.agent.events.recv().await, None, "it is over");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_stopped_turn_did_not_hear_comes_back_before_its_end() {
    let world = World::new("steps: [{ calls: [{ name: clarify, args: { question: \"which?\" } }] }]");
    let mut talk = world.start(None);
    talk.say("go").await;
    talk.until(|e| matches!(e, AgentEvent::Asked(_))).await;
    let image = hermes::protocol::Image { media_type: "image/png".into(), data: "AAAA".into() };
    talk.order(AgentCommand::Steer { text: "the first".into(), images: vec![image.clone()] }).await;
    talk.order(AgentCommand::Stop { force: false }).await;
    let (end, seen) = talk.finished().await;
    let back = AgentEvent::Undelivered(vec![("the first".into(), vec![image])]);
    assert!(end == TurnEnd::Stopped && seen.contains(&back), "{seen:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn files_of_others_stay_and_only_files_leave_the_model_warned() {
    let world = World::new(
        r#"
steps:
  - calls: [{ name: write_file, args: { path: a.txt, content: "mine\n" } }]
  - text: made
  - calls: [{ name: write_file, args: { path: a.txt, content: "again\n" } }]
  - text: wrote
"#,
    );
    let a = world.work().join("a.txt");
    std::fs::write(&a, "before\n").unwrap();
    let mut talk = world.start(None);
    talk.say("write").await;
    let (_, seen) = talk.finished().await;
    let item = user_id(&seen);
    std::fs::write(&a, "a person's\n").unwrap();
    let order =
        |theirs| AgentCommand::Rewind(hermes::protocol::RewindOrder { item, conversation: false, files: true, theirs });
    talk.order(order(Theirs::Ask)).await;
    let asked = talk.until(|e| matches!(e, AgentEvent::RewindAsks { .. })).await;
    assert!(matches!(asked.last(), Some(AgentEvent::RewindAsks { files, .. }) if *files == ["a.txt"]), "{asked:?}");
    assert_eq!(read(&a).unwrap(), "a person's\n", "nothing happened yet");
    talk.order(order(Theirs::Leave)).await;
    talk.notice("skipped").await;
    assert_eq!(read(&a).unwrap(), "a person's\n");
    talk.order(order(Theirs::Overwrite)).await;
    talk.notice("rewound").await;
    assert_eq!(read(&a).unwrap(), "before\n");
    talk.say("write again").await;
    let (_, seen) = talk.finished().await;
    assert!(results(&seen)[0].2.contains("changed since you last read it"), "{:?}", results(&seen));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fork_goes_its_own_way_with_the_same_prefix() {
    let world = World::new("steps: [{ text: one }, { text: two }]\n");
    let mut talk = world.start(None);
    let seen = talk.until(|e| matches!(e, AgentEvent::SessionOpened { .. })).await;
    let Some(AgentEvent::SessionOpened { session, .. }) = seen.last() else { unreachable!() };
    let of = session.id.clone();
    talk.say("hello").await;
    talk.finished().await;
    // The other one stays open.
    let _before = std::mem::replace(&mut talk, world.open(Opens::Fork(of), Default::default()));
    let seen = talk.until(|e| matches!(e, AgentEvent::SessionOpened { .. })).await;
    let Some(AgentEvent::SessionOpened { session, items }) = seen.last() else { unreachable!() };
    assert_eq!((session.title.as_deref(), items.len()), (Some("hello (fork)"), 3));
    talk.say("and now").await;
    talk.finished().await;
    let requests = world.model.requests();
    assert_eq!(requests[0].system, requests[1].system);
    assert_eq!(requests[1].messages[..1], requests[0].messages[..]);
    let store = Store::spawn(world.root.path().join("home"));
    let mut items: Vec<u64> = store.list("", None, 10).await.unwrap().iter().map(|row| row.items).collect();
    items.sort_unstable();
    assert_eq!(items, [3, 6], "a line under each turn");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_line_under_a_turn_and_the_time_of_its_thoughts_are_there_again_after_a_resume() {
    let world = World::new("steps: [{ reasoning: \"let me think about it\", text: one }]\n");
    let mut talk = world.start(None);
    let seen = talk.until(|e| matches!(e, AgentEvent::SessionOpened { .. })).await;
    let Some(AgentEvent::SessionOpened { session, .. }) = seen.last() else { unreachable!() };
    let id = session.id.clone();
    talk.say("hello").await;
    let (_, seen) = talk.finished().await;
    let shown: Vec<Item> = items(&seen).into_iter().cloned().collect();
    let Body::Note { kind: NoteKind::TurnEnd, text } = &shown[2].body else { panic!("{shown:?}") };
    assert!(text.starts_with("1 step · "), "{text}");
    let Body::Assistant(answer) = &shown[1].body else { panic!("{shown:?}") };
    assert!(answer.thought_ms.is_some(), "{answer:?}");
    talk.order(AgentCommand::Close { cleared: false }).await;
    talk.agent.task.await.unwrap();
    let mut talk = world.start(Some(id));
    let seen = talk.until(|e| matches!(e, AgentEvent::SessionOpened { .. })).await;
    let Some(AgentEvent::SessionOpened { items: page, .. }) = seen.last() else { unreachable!() };
    assert_eq!(*page, shown);
}
