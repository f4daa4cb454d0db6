//! Many sessions of one engine, opened, used, left and taken up again at random: nothing of one is found in another.

use futures::future::BoxFuture;
use hermes::config::load::{Sources, load};
use hermes::config::paths::Paths;
use hermes::engine::{Answers, Base, Engine, EngineOptions, Opens, SessionSpec, Streams};
use hermes::llm::message::Message;
use hermes::llm::{Delta, ModelInfo, Provider, ProviderError, Reply, Request};
use hermes::policy::Mode;
use hermes::protocol::{AgentCommand, AgentEvent, SessionId, SessionInfo, StopReason, ToolCall};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// A model that does what the last prompt says, and remembers what it was sent.
#[derive(Default)]
struct Obedient {
    info: ModelInfo,
    sent: Mutex<Vec<String>>,
    calls: Mutex<u64>,
}

impl Provider for Obedient {
    fn stream<'a>(
        &'a self,
        request: &'a Request,
        _: mpsc::Sender<Delta>,
        _: CancellationToken,
    ) -> BoxFuture<'a, Result<Reply, ProviderError>> {
        self.sent.lock().unwrap().push(format!("{:?}", request.messages));
        let say = |text: &str| Reply { text: text.to_owned(), ..Reply::default() };
        let reply = match request.messages.last() {
            Some(Message::User { text, .. }) => {
                let (order, rest) = text.lines().last().unwrap_or_default().split_once(' ').unwrap_or_default();
                let args = match order {
                    "run" => Some(("terminal", json!({"command": rest}))),
                    "background" => {
                        Some(("terminal", json!({"command": rest, "background": true, "notify_on_complete": true})))
                    }
                    "plan" => Some(("todo", json!({"todos": [{"id": "1", "content": rest, "status": "pending"}]}))),
                    _ => None,
                };
                match args {
                    Some((name, args)) => {
                        let mut calls = self.calls.lock().unwrap();
                        *calls += 1;
                        let call = ToolCall {
                            id: format!("call_{calls}"),
                            name: name.into(),
                            args: args.to_string(),
                            ..ToolCall::default()
                        };
                        Reply { calls: vec![call], stop: StopReason::ToolCalls, ..Reply::default() }
                    }
                    None => say("heard"),
                }
            }
            _ => say("done"),
        };
        Box::pin(async move { Ok(reply) })
    }

    fn model(&self) -> &ModelInfo {
        &self.info
    }
}

/// What the test knows of a session.
struct Known {
    /// Words said in it, and in what it was forked from.
    marks: BTreeSet<String>,
    cwd: PathBuf,
    open: bool,
}

struct House {
    root: tempfile::TempDir,
    model: Arc<Obedient>,
    engine: Engine,
    streams: Streams,
    known: BTreeMap<SessionId, Known>,
    count: u32,
}

impl House {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let work = root.path().join("work");
        std::fs::create_dir_all(work.join("sub")).unwrap();
        let work = work.canonicalize().unwrap();
        let paths = Paths::at(root.path().join("home"));
        let sources = Sources { paths: paths.clone(), cwd: None, env: BTreeMap::new(), overrides: Vec::new() };
        let base = Base {
            loaded: Arc::new(load(&sources)),
            sources: Arc::new(sources),
            paths,
            cwd: work,
            added: Vec::new(),
            accept_hooks: false,
            secrets: Default::default(),
        };
        let model = Arc::new(Obedient::default());
        let script: Arc<dyn Provider> = model.clone();
        let (engine, streams) = Engine::start(base, EngineOptions { script: Some(script), headless: false });
        Self { root, model, engine, streams, known: BTreeMap::new(), count: 0 }
    }

    fn mark(&mut self) -> String {
        self.count += 1;
        format!("mark{:04}", self.count)
    }

    /// The next event of a session; what others tell meanwhile must be theirs, too.
    async fn until(&mut self, id: &SessionId, fits: impl Fn(&AgentEvent) -> bool) -> AgentEvent {
        loop {
            let told = tokio::time::timeout(Duration::from_secs(30), self.streams.events.recv()).await;
            let told = told.expect("the engine says nothing").expect("the engine is gone");
            let Some(event) = told.event else { continue };
            self.only_own(&told.session, &format!("{event:?}"));
            if let AgentEvent::SessionChanged(info) | AgentEvent::SessionOpened { session: info, .. } = &event
                && let Some(known) = self.known.get_mut(&told.session)
            {
                known.cwd = PathBuf::from(&info.cwd);
            }
            if told.session == *id && fits(&event) {
                return event;
            }
        }
    }

    /// No text of a session holds a word of another.
    fn only_own(&self, id: &SessionId, text: &str) {
        let own = self.known.get(id).map(|known| known.marks.clone()).unwrap_or_default();
        for word in marks(text) {
            assert!(own.contains(&word), "{id} holds {word} of another session: {text}");
        }
    }

    async fn open(&mut self, opens: Opens, marks: BTreeSet<String>, cwd: PathBuf) -> SessionInfo {
        let spec = SessionSpec {
            opens,
            cwd: self.engine.base().cwd.clone(),
            answers: Answers::Person,
            origin: "tui",
            ..SessionSpec::default()
        };
        let id = self.engine.open(spec);
        self.known.insert(id.clone(), Known { marks, cwd, open: true });
        let opened = self.until(&id, |event| matches!(event, AgentEvent::SessionOpened { .. })).await;
        let AgentEvent::SessionOpened { session, .. } = opened else { unreachable!() };
        session
    }

    /// One turn, whose request holds nothing that was said elsewhere.
    async fn say(&mut self, id: &SessionId, text: &str) {
        let known = self.known.get_mut(id).unwrap();
        known.marks.extend(marks(text));
        let before = self.model.sent.lock().unwrap().len();
        self.engine.order(id, AgentCommand::Submit { text: text.into(), images: Vec::new() });
        self.until(id, |event| matches!(event, AgentEvent::TurnFinished(_))).await;
        let sent = self.model.sent.lock().unwrap()[before..].join("\n");
        // A process of another session may have ended meanwhile, which is a turn of that one: words of one session only.
        for request in sent.lines() {
            let words = marks(request);
            let whole = |known: &Known| words.iter().all(|word| known.marks.contains(word));
            assert!(self.known.values().any(whole), "a request holds words of two sessions: {request}");
        }
    }

    fn pick(&self, rng: &mut fastrand::Rng, fits: impl Fn(&Known) -> bool) -> Option<SessionId> {
        let all: Vec<&SessionId> = self.known.iter().filter(|(_, known)| fits(known)).map(|(id, _)| id).collect();
        (!all.is_empty()).then(|| all[rng.usize(..all.len())].clone())
    }
}

fn marks(text: &str) -> BTreeSet<String> {
    let starts = text.match_indices("mark").map(|(at, _)| at);
    let word = |at: usize| text.get(at..at + 8).filter(|word| word[4..].bytes().all(|byte| byte.is_ascii_digit()));
    starts.filter_map(word).map(str::to_owned).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_that_are_opened_used_and_switched_at_random_share_nothing() {
    for seed in [1, 2, 3] {
        let mut rng = fastrand::Rng::with_seed(seed);
        let mut house = House::new();
        let work = house.engine.base().cwd.clone();
        for step in 0..40 {
            let op = if step == 0 { 0 } else { rng.u32(..10) };
            let open = house.pick(&mut rng, |known| known.open);
            match (op, open) {
                (0 | 1, _) | (_, None) => {
                    let session = house.open(Opens::New, BTreeSet::new(), work.clone()).await;
                    // A mode, a folder and a plan end with their session.
                    assert_eq!((session.mode, session.cwd), (Mode::Ask, work.display().to_string()), "seed {seed}");
                }
                (2, Some(id)) => {
                    house.engine.close(&id, false);
                    house.known.get_mut(&id).unwrap().open = false;
                    loop {
                        let told = tokio::time::timeout(Duration::from_secs(30), house.streams.events.recv()).await;
                        let told = told.expect("the session does not end").unwrap();
                        if told.session == id && told.event.is_none() {
                            break;
                        }
                    }
                }
                (3, _) => {
                    let Some(id) = house.pick(&mut rng, |known| !known.open && !known.marks.is_empty()) else {
                        continue;
                    };
                    let (marks, cwd) = (house.known[&id].marks.clone(), house.known[&id].cwd.clone());
                    let session = house.open(Opens::Resume(id), marks, cwd.clone()).await;
                    assert_eq!((session.mode, session.cwd), (Mode::Ask, cwd.display().to_string()), "seed {seed}");
                }
                (4, _) => {
                    let Some(id) = house.pick(&mut rng, |known| !known.marks.is_empty()) else { continue };
                    let marks = house.known[&id].marks.clone();
                    house.open(Opens::Fork(id), marks, work.clone()).await;
                }
                (5, Some(id)) => {
                    house.engine.order(&id, AgentCommand::SetMode(Mode::Yolo));
                    let is_yolo = |event: &AgentEvent| matches!(event, AgentEvent::SessionChanged(info) if info.mode == Mode::Yolo);
                    house.until(&id, is_yolo).await;
                }
                (6, Some(id)) => {
                    house.say(&id, "run cd sub 2>/dev/null || true").await;
                }
                (7, Some(id)) => {
                    let mark = house.mark();
                    house.say(&id, &format!("plan {mark}")).await;
                }
                (8, Some(id)) => {
                    let mark = house.mark();
                    house.say(&id, &format!("background sleep 0.0{}; echo {mark}", rng.u32(1..9))).await;
                }
                (_, Some(id)) => {
                    let mark = house.mark();
                    house.say(&id, &format!("say {mark}")).await;
                }
            }
        }
        house.engine.shutdown(&mut house.streams.events).await;
        drop(house.root);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_next_session_hears_nothing_of_the_processes_of_the_one_before() {
    let mut house = House::new();
    let work = house.engine.base().cwd.clone();
    let first = house.open(Opens::New, BTreeSet::new(), work.clone()).await.id;
    let mark = house.mark();
    // It ends once the file is there: after the next session was opened.
    house.say(&first, &format!("background until [ -e go ]; do sleep 0.01; done; echo {mark}")).await;
    house.engine.close(&first, true);
    let second = house.open(Opens::Cleared, BTreeSet::new(), work.clone()).await.id;
    std::fs::write(work.join("go"), "").unwrap();
    let ended = async {
        while !house.engine.services().exec.running().is_empty() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), ended).await.expect("the command ends");
    for _ in 0..3 {
        house.say(&second, "say anything").await;
    }
    let sent = house.model.sent.lock().unwrap().last().unwrap().clone();
    assert!(!sent.contains(&mark) && !sent.contains("Background process"), "{sent}");
    house.engine.shutdown(&mut house.streams.events).await;
}
