//! Limits as tables, the day, and that every call passes.

use super::held::Held;
use super::hold::Refused;
use super::purse::Purse;
use super::*;
use crate::llm::message::Message;
use crate::llm::scripted::{Script, Scripted};
use crate::llm::{Effort, ErrorKind, Provider, Request};
use crate::protocol::{SessionId, Usage};
use crate::store::{NewSession, Spent, Store};
use chrono::FixedOffset;
use std::sync::{Arc, Mutex};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// Noon of a day.
const NOON: i64 = 1_785_585_600_000;

fn budget(yaml: &str) -> BudgetConfig {
    let value = crate::yaml::parse(yaml, "test").unwrap().to_json();
    serde_json::from_value(value).unwrap()
}

fn tally(tokens: u64, cost: f64, unpriced: u64) -> Tally {
    Tally { tokens, cost, unpriced }
}

#[test]
fn a_hard_limit_stops_and_names_its_setting_and_the_way_on() {
    let session = |tally| Spending { session: tally, day: Tally::default() };
    let day = |tally| Spending { session: Tally::default(), day: tally };
    let raise = |cost, tokens| Raise { cost, tokens, ..Raise::default() };
    let none = Raise::default();
    for (limits, raised, spent, why) in [
        ("{}", none, session(tally(u64::MAX, 1e9, 9)), None),
        ("session: {soft_cost: 1}", none, session(tally(1, 9.0, 0)), None),
        ("session: {hard_cost: 5}", none, session(tally(1, 4.99, 0)), None),
        (
            "session: {hard_cost: 5}",
            none,
            session(tally(1, 5.0, 0)),
            Some(
                "the budget of this session is used up: $5.00 of $5.00 (budget.session.hard_cost); /budget +5 raises it for this session",
            ),
        ),
        ("session: {hard_cost: 5}", raise(5.0, 0), session(tally(1, 9.99, 0)), None),
        ("session: {hard_cost: 5}", raise(5.0, 0), session(tally(1, 10.0, 0)), Some("$10.00 of $10.00")),
        ("session: {hard_cost: 5}", raise(0.0, 9_000), session(tally(1, 5.0, 0)), Some("$5.00 of $5.00")),
        ("session: {hard_tokens: 200000}", none, session(tally(199_999, 0.0, 7)), None),
        (
            "session: {hard_tokens: 200000}",
            none,
            session(tally(200_000, 0.0, 7)),
            Some("200,000 of 200,000 tokens (budget.session.hard_tokens); /budget +200k raises it"),
        ),
        ("session: {hard_tokens: 200000}", raise(0.0, 1), session(tally(200_000, 0.0, 0)), None),
        ("day: {hard_cost: 2}", none, session(tally(1, 9.0, 0)), None),
        (
            "day: {hard_cost: 2}",
            none,
            day(tally(1, 2.5, 0)),
            Some(
                "today's budget is used up: $2.50 of $2.00 (budget.day.hard_cost); it starts again at midnight, or /budget +5 raises it",
            ),
        ),
        ("day: {hard_tokens: 10}", none, day(tally(10, 0.0, 0)), Some("(budget.day.hard_tokens)")),
        // What is not known could be anything.
        (
            "session: {hard_cost: 5}",
            none,
            session(tally(1, 0.1, 2)),
            Some(
                "can't hold: the price of 2 calls is not known (budget.session.hard_cost); limit tokens in its place (budget.session.hard_tokens), or /budget +5",
            ),
        ),
        ("session: {hard_cost: 5}", raise(1.0, 0), session(tally(1, 0.1, 2)), None),
        ("session: {hard_cost: 5, hard_tokens: 10}", none, session(tally(10, 0.1, 0)), Some("10 of 10 tokens")),
    ] {
        let budget = Budget { config: budget(limits), raise: raised, is_person: true };
        let stop = budget.stop(&spent);
        match why {
            Some(why) => assert!(stop.as_ref().is_some_and(|stop| stop.text.contains(why)), "{limits}: {stop:?}"),
            None => assert_eq!(stop, None, "{limits}"),
        }
    }
    let alone = Budget { config: budget("session: {hard_cost: 5}"), ..Budget::default() };
    let stop = alone.stop(&session(tally(1, 5.0, 0))).unwrap().text;
    assert!(stop.ends_with("raise it: hermes config set budget.session.hard_cost AMOUNT"), "{stop}");
}

#[test]
fn a_soft_limit_is_told_by_scope_amount_and_day() {
    let config = budget("session: {soft_cost: 4, hard_cost: 5, soft_tokens: 100}\nday: {soft_cost: 1}");
    let budget = Budget { config, ..Budget::default() };
    let spent = Spending { session: tally(50, 4.25, 0), day: tally(900, 4.25, 0) };
    let told = budget.crossed(&spent, 7);
    let names: Vec<&str> = told.iter().map(|crossing| crossing.name.as_str()).collect();
    assert_eq!(names, ["session.soft_cost=$4.00", "day.soft_cost=$1.00@7"]);
    assert_eq!(
        told[0].text,
        "soft limit reached: this session used $4.25 of $4.00 (budget.session.soft_cost); the hard limit is $5.00"
    );
    let sign = |spent: &Spending| budget.sign(spent).map(|sign| (sign.text, sign.hard));
    assert_eq!(sign(&spent), Some(("budget $4.25 of $5.00".into(), false)));
    assert_eq!(sign(&Spending { session: tally(120, 0.5, 0), ..spent }), Some(("budget 120 tokens".into(), false)));
    assert_eq!(sign(&Spending { session: tally(1, 0.5, 0), ..spent }), Some(("today $4.25".into(), false)));
    assert_eq!(sign(&Spending { session: tally(1, 5.5, 0), ..spent }), Some(("budget used up: /budget".into(), true)));
    assert_eq!(sign(&Spending::default()), None);
    assert_eq!(
        budget.lines(&spent),
        ["session   $4.25: hard $5.00, soft $4.00", "session   50 tokens: soft 100", "today     $4.25: soft $1.00"]
    );
}

#[test]
fn a_day_begins_at_its_local_midnight() {
    let hours = |hours: i64| hours * 3_600_000;
    for (offset, now, began) in [(0, NOON, 12), (2, NOON, 14), (-5, NOON, 7), (13, NOON, 1), (14, NOON, 2)] {
        let zone = FixedOffset::east_opt(offset * 3600).unwrap();
        assert_eq!(day_began(now, &zone), now - hours(began), "UTC{offset:+}");
    }
    let zone = FixedOffset::east_opt(0).unwrap();
    let midnight = NOON - hours(12);
    assert_eq!(day_began(midnight, &zone), midnight);
    assert_eq!(day_began(midnight - 1, &zone), midnight - hours(24));
}

fn request() -> Request {
    Request {
        system: "be brief".into(),
        tools: Vec::new().into(),
        messages: vec![Message::User { text: "four".repeat(1000), images: Vec::new() }],
        effort: Effort::None,
        max_output: None,
        grammar: None,
        cache_key: String::new(),
    }
}

/// A store with an open session, and a model that plays a script.
struct World {
    store: Store,
    model: Arc<Scripted>,
    told: Arc<Mutex<Vec<Usage>>>,
    _home: tempfile::TempDir,
}

impl World {
    async fn new(script: &str) -> Self {
        let home = tempfile::tempdir().unwrap();
        let store = Store::spawn(home.path());
        let new = NewSession {
            id: SessionId("s".into()),
            cwd: "/w".into(),
            model: "scripted:scripted".into(),
            source: "tui".into(),
            started_at: NOON,
        };
        store.create(new).await.unwrap();
        let model = Arc::new(Scripted::recording(Script::parse("test", script).unwrap()));
        Self { store, model, told: Arc::default(), _home: home }
    }

    fn purse(&self, limits: &str) -> Purse {
        let told = Arc::clone(&self.told);
        let told = move |usage| told.lock().unwrap().push(usage);
        Purse::new(self.store.clone(), Some(SessionId("s".into())), budget(limits), true, || NOON, told)
    }

    async fn call(&self, purse: &Purse, role: Option<&'static str>) -> Result<(), String> {
        let held = Held::new(self.model.clone(), purse.clone(), role);
        // Nobody reads the pieces.
        let (sink, _) = mpsc::channel(1);
        let called = held.stream(&request(), sink, CancellationToken::new()).await;
        called.map(drop).map_err(|error| {
            assert!(self.model.requests().len() < 9);
            error.message
        })
    }

    async fn roles(&self) -> Vec<(String, u64, u64)> {
        let calls = self.store.calls_of(&SessionId("s".into())).await.unwrap();
        calls.into_iter().map(|calls| (calls.role, calls.usage.input + calls.usage.output, calls.unpriced)).collect()
    }
}

#[tokio::test]
async fn no_call_of_any_kind_passes_a_hard_limit() {
    let world = World::new("fallback: { text: ok, usage: { input: 1900, output: 100 } }").await;
    let purse = world.purse("session: {hard_tokens: 6500}");
    for role in [None, Some("approval"), None] {
        world.call(&purse, role).await.unwrap();
    }
    for role in [None, Some("approval"), Some("sampling")] {
        let why = world.call(&purse, role).await.unwrap_err();
        assert!(why.contains("budget.session.hard_tokens"), "{why}");
    }
    assert_eq!(world.model.requests().len(), 3, "nothing went out after the limit");
    assert_eq!(world.roles().await, [("approval".to_owned(), 2000, 0)], "an answer is counted with its item");
    assert_eq!(world.told.lock().unwrap().len(), 1);
    let (kept, limits) = purse.raise(Raise { tokens: 2_500, ..Raise::default() }).unwrap();
    assert_eq!(limits, "9,000 tokens a session");
    world.call(&purse, None).await.unwrap();
    assert!(purse.raise(Raise { cost: 5.0, ..Raise::default() }).unwrap_err().contains("in dollars"));
    // What a person raised comes back with the session, and so does what it spent.
    let again = world.purse("session: {hard_tokens: 6500}");
    again.resume(Ok(tally(6_900, 0.0, 0)), Some(kept));
    world.call(&again, None).await.unwrap();
    assert!(world.call(&again, None).await.is_err());
}

#[tokio::test]
async fn a_day_counts_every_session_and_a_sum_that_cannot_be_read_lets_nothing_pass() {
    let world = World::new("fallback: { text: ok, usage: { input: 90, output: 10 } }").await;
    let spent = |at, input| Spent {
        at,
        item: None,
        model: "other:model".into(),
        role: "answer",
        usage: Usage { input, cost: Some(0.0), ..Usage::default() },
    };
    let purse = world.purse("day: {hard_tokens: 6000}");
    world.store.spent_apart(spent(NOON - 40 * 3_600_000, 5_000)).await.unwrap();
    world.call(&purse, Some("approval")).await.unwrap();
    // Another window.
    world.store.spent_apart(spent(NOON, 5_950)).await.unwrap();
    let why = world.call(&purse, None).await.unwrap_err();
    assert!(why.contains("today's budget is used up") && why.contains("budget.day.hard_tokens"), "{why}");
    world.store.close().await;
    let why = world.call(&world.purse("day: {hard_tokens: 100000}"), None).await.unwrap_err();
    assert!(why.contains("can't be checked, so no model is called"), "{why}");
    let unread = world.purse("session: {hard_tokens: 100000}");
    unread.resume(Err("the disk is gone".into()), None);
    let why = world.call(&unread, None).await.unwrap_err();
    assert!(why.contains("can't be checked") && why.contains("the disk is gone"), "{why}");
}

#[tokio::test]
async fn a_model_without_a_price_is_not_called_under_a_limit_in_money() {
    let world = World::new("price: []\nfallback: { text: ok, usage: { input: 90, output: 10 } }").await;
    for limits in ["session: {hard_cost: 100}", "day: {hard_cost: 100}"] {
        let why = world.call(&world.purse(limits), None).await.unwrap_err();
        assert!(why.contains("the price of scripted:scripted is not known") && why.contains("hard_tokens"), "{why}");
    }
    assert_eq!(world.model.requests().len(), 0);
    for limits in ["session: {soft_cost: 1, hard_tokens: 10000}", "{}"] {
        world.call(&world.purse(limits), None).await.unwrap();
    }
}

#[tokio::test]
async fn a_call_that_nobody_measured_is_estimated() {
    let script = "price: [1, 1, 1]\nsteps:\n  - { text: ok }\n  - { text: some words, cut: true }\n  - { error: { kind: overloaded } }\n  - { text: late, delay_ms: 600000 }\n";
    let world = World::new(script).await;
    let purse = world.purse("session: {hard_tokens: 9000}");
    world.call(&purse, None).await.unwrap();
    assert!(world.call(&purse, None).await.is_err(), "cut");
    assert!(world.call(&purse, None).await.is_err(), "refused: nothing was paid");
    let late = tokio::time::timeout(std::time::Duration::from_millis(20), world.call(&purse, Some("approval"))).await;
    assert!(late.is_err(), "given up");
    assert_eq!(purse.stopped().await, None);
    let roles = world.roles().await;
    assert!(matches!(roles.as_slice(), [(role, 3_000..4_000, 0)] if role == "estimate"), "{roles:?}");
    let free = World::new("fallback: { text: ok }").await;
    free.call(&free.purse("{}"), None).await.unwrap();
    assert_eq!(free.roles().await, [], "without a limit nothing is made up");
    let unplayed = World::new("steps:\n  - { error: { kind: auth } }\n").await;
    let held = Held::new(unplayed.model.clone(), unplayed.purse("{}"), None);
    let (sink, _) = mpsc::channel(1);
    let failed = held.stream(&request(), sink, CancellationToken::new()).await;
    assert_eq!(failed.unwrap_err().kind, ErrorKind::Auth, "what the provider says passes");
}

#[tokio::test]
async fn a_crossing_is_news_once() {
    let world = World::new("fallback: { text: ok, usage: { input: 1900, output: 100 } }").await;
    let limits = "session: {soft_tokens: 3000, hard_tokens: 9000}";
    let purse = world.purse(limits);
    world.call(&purse, None).await.unwrap();
    assert!(purse.news().await.crossed.is_empty());
    world.call(&purse, None).await.unwrap();
    let news = purse.news().await;
    assert_eq!((news.crossed.len(), news.sign.map(|sign| sign.text)), (1, Some("budget 4K of 9K tokens".into())));
    world.call(&purse, None).await.unwrap();
    assert!(purse.news().await.crossed.is_empty());
    let again = world.purse(limits);
    again.resume(Ok(tally(6_000, 0.0, 0)), news.kept);
    let news = again.news().await;
    assert!(news.crossed.is_empty() && news.sign.is_some(), "a resumed session knows what was told");
}

#[test]
fn four_fifths_of_a_hard_limit_are_told_where_no_soft_one_is_set() {
    let config = budget("session: {hard_cost: 5, hard_tokens: 1001}\nday: {hard_tokens: 500, soft_tokens: 499}");
    let budget = Budget { config, ..Budget::default() };
    let told = |session, day| {
        let told = budget.crossed(&Spending { session, day }, 7);
        told.into_iter().map(|crossing| crossing.text).collect::<Vec<_>>()
    };
    assert!(told(tally(799, 3.99, 0), tally(498, 9.0, 0)).is_empty());
    assert_eq!(
        told(tally(800, 4.0, 0), tally(499, 9.0, 0)),
        [
            "80 % of a budget is used: this session used $4.00 of $5.00 (budget.session.hard_cost)",
            "80 % of a budget is used: this session used 800 of 1,001 tokens (budget.session.hard_tokens)",
            "soft limit reached: all sessions of today used 499 of 499 tokens (budget.day.soft_tokens); the hard limit is 500 tokens",
        ]
    );
    assert!(told(tally(1_001, 5.0, 0), tally(0, 0.0, 0)).is_empty(), "that it is used up is said anyhow");
    let raised = Budget { raise: Raise { cost: 5.0, ..Raise::default() }, ..budget };
    let names = |spent| raised.crossed(&spent, 7).into_iter().map(|crossing| crossing.name).collect::<Vec<_>>();
    let spent = |cost| Spending { session: tally(1, cost, 0), day: Tally::default() };
    assert!(names(spent(7.99)).is_empty());
    assert_eq!(names(spent(8.0)), ["session.soft_cost=$8.00"], "a raised limit is told again");
}

#[tokio::test]
async fn requests_at_the_same_time_pass_no_limit_together() {
    let world = World::new("fallback: { text: ok }").await;
    let parent = world.purse("session: {hard_tokens: 40000}");
    let child = world.purse("{}").within(&parent);
    let (model, never) = (world.model.model(), CancellationToken::new());
    let first = parent.hold(model, 2_000, None, &never).await.unwrap_or_else(|_| panic!("there is room"));
    assert_eq!(first.output, 32_000, "as much as an answer usually may have");
    let second = child.hold(model, 2_000, None, &never).await.unwrap_or_else(|_| panic!("there is room"));
    assert_eq!(second.output, 4_000, "what the first leaves of its parent's budget");
    let mut third = std::pin::pin!(child.hold(model, 2_000, None, &never));
    assert!(futures::poll!(&mut third).is_pending(), "it waits: what is reserved may not be used");
    drop(first);
    let third = third.await.unwrap_or_else(|_| panic!("there is room"));
    assert_eq!(third.output, 32_000);
    // One that is given up while it waits is not sent.
    let stop = CancellationToken::new();
    let mut fourth = std::pin::pin!(child.hold(model, 2_000, None, &stop));
    assert!(futures::poll!(&mut fourth).is_pending());
    stop.cancel();
    assert!(matches!(fourth.await, Err(Refused::Cancelled)));
    drop((second, third));
    let Err(Refused::Stop(stop)) = child.hold(model, 39_500, None, &never).await else { panic!("it can't fit") };
    assert!(stop.text.contains("has no room for another request: 0 of 40,000 tokens used"), "{stop}");
    let tokens = |tokens| Raise { tokens, ..Raise::default() };
    assert_eq!(stop.way, Way::Raise { limit: tokens(40_000), lacks: tokens(500) });
}

#[tokio::test]
async fn programs_of_one_home_share_a_day() {
    let world = World::new("fallback: { text: ok }").await;
    let other = Store::spawn(world._home.path());
    let limits = budget("day: {hard_tokens: 20000}");
    let ours = world.purse("day: {hard_tokens: 20000}");
    let theirs = Purse::new(other.clone(), None, limits, false, || NOON, |_| ());
    let (model, never) = (world.model.model(), CancellationToken::new());
    let hold = theirs.hold(model, 10_000, Some(9_000), &never).await.unwrap_or_else(|_| panic!("there is room"));
    let mut waits = std::pin::pin!(ours.hold(model, 1_000, None, &never));
    tokio::select! {
        biased;
        _ = &mut waits => panic!("the other program has reserved it"),
        () = async {
            // A look at the counter is over, and it found no room.
            world.store.spent_since(0).await.unwrap();
            world.store.spent_since(0).await.unwrap();
        } => {}
    }
    // It took less than it might have.
    let usage = Usage { input: 10_000, output: 500, ..Usage::default() };
    let spent = Spent { at: NOON, item: None, model: "a:b".into(), role: "summary", usage };
    other.spent_apart(spent).await.unwrap();
    drop(hold);
    let mine = waits.await.unwrap_or_else(|_| panic!("there is room"));
    assert_eq!(mine.output, 20_000 - 10_500 - 1_000);
}

#[tokio::test]
async fn a_request_that_runs_ends_at_the_limit() {
    let script = format!("steps:\n  - {{ text: {}, chunk: 400, delay_ms: 1 }}\n", "x".repeat(80_000));
    let world = World::new(&script).await;
    let purse = world.purse("session: {hard_tokens: 5000}");
    let held = Held::new(world.model.clone(), purse.clone(), None);
    let (sink, mut pieces) = mpsc::channel(1);
    let request = request();
    let (answer, _) = tokio::join!(held.stream(&request, sink, CancellationToken::new()), async {
        while pieces.recv().await.is_some() {}
    });
    let error = answer.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Budget);
    let said = error.partial.expect("what had arrived stays").text.len();
    assert!((15_000..17_500).contains(&said), "{said}");
    assert_eq!(world.model.requests()[0].max_output, Some(3_998), "the answer was to be no longer");
    let refused = purse.refused().expect("it says why");
    assert!(refused.text.contains("is used up"), "{refused}");
    // What had arrived goes with the next request.
    let Way::Raise { lacks, .. } = refused.way else { panic!("{refused:?}") };
    assert!(lacks.tokens > 1_000 + 4_000 + 1_000, "{lacks:?}");
    assert!(purse.stopped().await.is_some(), "what had arrived is spent");
}

#[tokio::test]
async fn a_person_lets_calls_without_a_price_pass() {
    let world = World::new("price: []\nfallback: { text: ok, usage: { input: 90, output: 10 } }").await;
    let purse = world.purse("session: {hard_cost: 5}");
    world.call(&purse, None).await.unwrap_err();
    assert_eq!(purse.refused().map(|stop| stop.way), Some(Way::Uncounted));
    purse.raise(Raise { uncounted: true, ..Raise::default() }).unwrap();
    world.call(&purse, None).await.unwrap();
    world.call(&purse, None).await.unwrap();
}
