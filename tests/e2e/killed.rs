//! kill -9 at random moments of a program that saves items as fast as it can: nothing that was saved is lost.
//!
//! Twenty rounds by default; `HERMES_KILLS=1000 cargo nextest run killed` kills a thousand times (some two minutes).

use crate::harness::until;
use hermes::protocol::{AssistantBody, Body, Item, ItemId, Origin, SessionId, ToolBody};
use hermes::store::{NewSession, Store};
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const HOME: &str = "HERMES_TEST_APPENDS";
const SESSION: &str = "HERMES_TEST_SESSION";

fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

/// What a busy session appends; each text begins with a word that no other one has.
fn body(number: i64, word: &str) -> Body {
    let text = format!("{word} {}", "some words of it ".repeat(fastrand::usize(..400)));
    match number % 4 {
        0 => {
            Body::User { text, images: Vec::new(), context: String::new(), origin: Origin::Person, gist: String::new() }
        }
        1 | 2 => Body::Assistant(AssistantBody { text, ..AssistantBody::default() }),
        _ => {
            Body::Tool(ToolBody { call_id: "c".into(), name: "terminal".into(), content: text, ..ToolBody::default() })
        }
    }
}

fn text(body: &Body) -> &str {
    match body {
        Body::User { text, .. } | Body::Note { text, .. } => text,
        Body::Assistant(body) => &body.text,
        Body::Tool(body) => &body.content,
        Body::Summary(_) => "",
    }
}

/// The program that is killed: this test in a process of its own, which says each item once it is saved.
#[test]
fn appends_until_it_is_killed() {
    let (Ok(home), Ok(session)) = (std::env::var(HOME), std::env::var(SESSION)) else { return };
    let id = SessionId(session);
    let mut out = std::io::stdout().lock();
    let told = |out: &mut dyn Write, line: String| {
        // Who is no longer listened to ends: nobody must be left behind.
        if writeln!(out, "{line}").and_then(|()| out.flush()).is_err() {
            std::process::exit(0);
        }
    };
    run(async {
        let store = Store::spawn(home);
        store.opened().await;
        let source = "tui".to_owned();
        let (cwd, model) = ("/src".to_owned(), "test:model".to_owned());
        store.create(NewSession { id: id.clone(), cwd, model, source, started_at: 1_767_254_400_000 }).await.unwrap();
        told(&mut out, "+begun".to_owned());
        for number in 1.. {
            let word = format!("w{}x{number}", std::process::id());
            let item = Item { id: ItemId(number), at: 1_767_254_400_000 + number, turn: 1, body: body(number, &word) };
            let ids = store.append(&id, vec![item]).await.unwrap();
            told(&mut out, format!("+saved {} {word}", ids[0].0));
            match fastrand::u8(..20) {
                0 => store.sync().await.unwrap(),
                1 => drop(store.whole(&id).await.unwrap()),
                2 => store.streamed(&id, 1, "an answer that streams", ""),
                3 => drop(store.set_meta(&id, "plan", number.into()).await),
                _ => {}
            }
        }
    });
}

struct Busy {
    child: Child,
    out: BufReader<std::process::ChildStdout>,
}

impl Busy {
    fn start(home: &Path, session: &str) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "e2e::killed::appends_until_it_is_killed", "--nocapture", "--test-threads=1"]);
        command.env(HOME, home).env(SESSION, session).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        Self { child, out }
    }

    /// Reads until it has saved so many items.
    fn saved(&mut self, items: usize, all: &mut HashMap<String, i64>) {
        let mut line = String::new();
        while all.len() < items && self.out.read_line(&mut line).unwrap() > 0 {
            note(&line, all);
            line.clear();
        }
    }

    /// Kills it and reads what it had said.
    fn kill(mut self, all: &mut HashMap<String, i64>) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        let mut rest = String::new();
        // The last line may be cut; then nobody was told of its item.
        let _ = self.out.read_to_string(&mut rest);
        let whole = rest.rfind('\n').map_or("", |end| &rest[..end]);
        whole.lines().for_each(|line| note(line, all));
    }
}

fn note(line: &str, all: &mut HashMap<String, i64>) {
    // The runner of the tests may have written before it on the same line.
    let Some((_, said)) = line.trim_end().split_once("+saved ") else { return };
    let (number, word) = said.split_once(' ').unwrap();
    all.insert(word.to_owned(), number.parse().unwrap());
}

/// Words of what a session has, with how often each stands there.
async fn held(store: &Store, session: &str) -> HashMap<String, usize> {
    let mut words = HashMap::new();
    for item in store.whole(&session.into()).await.unwrap().items {
        let word = text(&item.body).split(' ').next().unwrap_or_default().to_owned();
        *words.entry(word).or_default() += 1;
    }
    words
}

#[test]
fn a_program_that_is_killed_at_any_moment_loses_nothing_that_was_saved() {
    let rounds: usize = std::env::var("HERMES_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(20);
    let home = tempfile::tempdir().unwrap();
    let (mut total, mut lost, mut unopened) = (0, Vec::new(), Vec::new());
    for round in 0..rounds {
        let session = format!("s{round}");
        let mut busy = Busy::start(home.path(), &session);
        let mut said = HashMap::new();
        if round % 3 > 0 {
            busy.saved(1 + fastrand::usize(..60), &mut said);
        }
        // A moment that nothing gives away, also while the database is being opened.
        let moment =
            Instant::now() + Duration::from_micros(fastrand::u64(..if round % 3 > 0 { 3_000 } else { 60_000 }));
        until("the moment has come", || Instant::now() >= moment);
        busy.kill(&mut said);
        total += said.len();
        run(async {
            let store = Store::spawn(home.path());
            assert_eq!(store.opened().await.warning, None, "round {round}");
            if !said.is_empty() {
                if let Err(error) = store.open_session(&session.as_str().into(), 50, Vec::new()).await {
                    unopened.push(format!("{session}: {error}"));
                }
                let held = held(&store, &session).await;
                lost.extend(said.keys().filter(|word| held.get(*word) != Some(&1)).cloned());
            }
            store.close().await;
        });
    }
    eprintln!("{rounds} kills, {total} items were saved, {} lost or doubled", lost.len());
    assert!(lost.is_empty() && unopened.is_empty(), "lost or doubled: {lost:?}; not opened: {unopened:?}");
    assert!(total > rounds * 5, "only {total} items");
}

#[test]
fn two_programs_on_one_session_that_are_killed_lose_nothing_either() {
    let home = tempfile::tempdir().unwrap();
    // The database is there before the two meet in it.
    run(async { Store::spawn(home.path()).close().await });
    let (mut one, mut two) = (Busy::start(home.path(), "both"), Busy::start(home.path(), "both"));
    let (mut of_one, mut of_two) = (HashMap::new(), HashMap::new());
    one.saved(60, &mut of_one);
    two.saved(60, &mut of_two);
    one.kill(&mut of_one);
    two.kill(&mut of_two);
    run(async {
        let store = Store::spawn(home.path());
        store.open_session(&"both".into(), 50, Vec::new()).await.unwrap();
        let held = held(&store, "both").await;
        let lost: Vec<_> = of_one.keys().chain(of_two.keys()).filter(|word| held.get(*word) != Some(&1)).collect();
        assert!(lost.is_empty(), "lost or doubled: {lost:?}");
        store.close().await;
    });
}
