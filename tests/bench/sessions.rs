//! Sessions in the large: 1,000,000 entries in 10,000 sessions are searched, listed and resumed, inside this process.

use crate::measures::{Row, median, ms, percentile, row};
use hermes::protocol::{AssistantBody, Body, Item, ItemId, Origin, SessionId, ToolBody, ToolCall};
use hermes::store::{Incoming, NewSession, Store};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Entries of a session but the largest.
const EACH: usize = 100;
/// Entries of the largest.
const LARGEST: usize = 20_000;
const QUERIES: usize = 200;
/// Words that are searched for are less common than so many others: nobody looks for `the`.
const COMMON: usize = 50;
/// 2026-01-01, in milliseconds since the epoch.
const BEGAN: i64 = 1_767_225_600_000;

/// Words as often as in a language: the n-th as often as 1 / n.
struct Words {
    words: Vec<String>,
    random: fastrand::Rng,
}

impl Words {
    fn new() -> Self {
        let mut random = fastrand::Rng::with_seed(7);
        let syllables =
            ["ba", "con", "di", "er", "fo", "gra", "ho", "in", "ka", "lo", "me", "nu", "per", "ro", "st", "tu"];
        let mut words = Vec::new();
        while words.len() < 60_000 {
            let word: String = (0..random.usize(1..5)).map(|_| syllables[random.usize(0..16)]).collect();
            words.push(format!("{word}{}", ["", "s", "ed", "ing", "n"][random.usize(0..5)]));
        }
        Self { words, random }
    }

    /// The word of this rank.
    fn at(&self, rank: usize) -> &str {
        &self.words[rank.min(self.words.len() - 1)]
    }

    fn any(&mut self) -> usize {
        let most = (self.words.len() as f64).ln();
        (most * self.random.f64()).exp() as usize - 1
    }

    fn text(&mut self, count: usize, n: usize) -> String {
        let mut text = format!("term{} ", n % 9973);
        for _ in 0..count {
            let rank = self.any();
            text.push_str(self.at(rank));
            text.push(' ');
        }
        text
    }

    fn body(&mut self, n: usize) -> Body {
        let count = [8, 20, 40, 60, 150][self.random.usize(0..5)];
        let text = self.text(count, n);
        match n % 4 {
            0 => Body::User {
                text,
                images: Vec::new(),
                context: String::new(),
                origin: Origin::Person,
                gist: String::new(),
            },
            1 => {
                let call = ToolCall {
                    id: format!("c{n}"),
                    name: "terminal".into(),
                    args: serde_json::json!({ "command": text }).to_string(),
                    repaired: false,
                    via: String::new(),
                };
                Body::Assistant(AssistantBody { calls: vec![call], ..AssistantBody::default() })
            }
            2 => {
                let content = serde_json::json!({ "output": text, "exit_code": 0 }).to_string();
                Body::Tool(ToolBody {
                    call_id: format!("c{}", n - 1),
                    name: "terminal".into(),
                    content,
                    ..ToolBody::default()
                })
            }
            _ => Body::Assistant(AssistantBody { text, ..AssistantBody::default() }),
        }
    }
}

fn session(words: &mut Words, number: usize, items: usize) -> Incoming {
    let at = BEGAN + number as i64 * 2_000_000;
    let new = NewSession {
        id: SessionId(format!("20260101_000000_{number:06x}")),
        cwd: format!("/home/user/project-{}", number % 40),
        model: "example:model".into(),
        source: "tui".into(),
        started_at: at,
    };
    let item = |n: usize| Item {
        id: ItemId(n as i64 + 1),
        at: at + n as i64 * 1_000,
        turn: n as u32 / 4 + 1,
        body: words.body(n),
    };
    Incoming { new, items: (0..items).map(item).collect(), title: None, facts: Vec::new(), carried: None }
}

fn fill(runtime: &tokio::runtime::Runtime, store: &Store, entries: usize) {
    let mut words = Words::new();
    let sessions = entries.saturating_sub(LARGEST).div_ceil(EACH).max(1);
    for first in (0..sessions).step_by(100) {
        let some = (first..sessions.min(first + 100)).map(|n| session(&mut words, n, EACH)).collect();
        runtime.block_on(store.import(some)).unwrap();
        runtime.block_on(store.index()).unwrap();
    }
    runtime.block_on(store.import(vec![session(&mut words, sessions, LARGEST)])).unwrap();
    runtime.block_on(store.index()).unwrap();
}

/// Two and three words, phrases and prefixes, of any commonness up to words that stand in one of ten entries; and the most
/// common word.
fn queries(words: &mut Words) -> Vec<String> {
    let mut all: Vec<String> = (0..QUERIES - 1)
        .map(|n| {
            let mut word = || {
                let rank = loop {
                    let rank = words.any();
                    if rank >= COMMON {
                        break rank;
                    }
                };
                words.at(rank).to_owned()
            };
            match n % 4 {
                0 => format!("{} {}", word(), word()),
                1 => format!("{} {} {}", word(), word(), word()),
                2 => format!("\"{} {}\"", word(), word()),
                _ => format!("{}*", word().chars().take(4).collect::<String>()),
            }
        })
        .collect();
    all.push(words.at(0).to_owned());
    all
}

/// `HERMES_BENCH_ENTRIES`: how many; `HERMES_BENCH_STORE`: a folder to keep them in, and to find them again.
pub fn sessions() -> Vec<Row> {
    let entries = std::env::var("HERMES_BENCH_ENTRIES").ok().and_then(|text| text.parse().ok()).unwrap_or(1_000_000);
    let dir = tempfile::tempdir().unwrap();
    let home = std::env::var_os("HERMES_BENCH_STORE").map_or_else(|| dir.path().to_owned(), PathBuf::from);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let began = Instant::now();
    let store = Store::spawn(&home);
    let there = runtime.block_on(store.stats()).unwrap().items;
    if there == 0 {
        fill(&runtime, &store, entries);
    }
    let filled = began.elapsed();
    let timed = |work: &dyn Fn(&Store)| {
        let began = Instant::now();
        work(&store);
        began.elapsed()
    };
    let all = queries(&mut Words::new());
    let mut slowest = (Duration::ZERO, String::new());
    let mut asked = |work: &dyn Fn(&str)| {
        let times = all.iter().map(|query| {
            let took = timed(&|_| work(query));
            if took > slowest.0 {
                slowest = (took, query.clone());
            }
            took
        });
        times.collect::<Vec<_>>()
    };
    // The first round reads the indexes from the disk.
    asked(&|query| drop(runtime.block_on(store.search(query, None, 20)).unwrap()));
    let searched = asked(&|query| drop(runtime.block_on(store.search(query, None, 20)).unwrap()));
    let listed = asked(&|query| drop(runtime.block_on(store.list(query, None, 200)).unwrap()));
    let here = asked(&|query| drop(runtime.block_on(store.list(query, Some("/home/user/project-3"), 200)).unwrap()));
    let prefix = timed(&|store| drop(runtime.block_on(store.list("term1", None, 200)).unwrap()));
    let opened =
        median((0..20).map(|_| timed(&|store| drop(runtime.block_on(store.list("", None, 200)).unwrap()))).collect());
    let largest = SessionId(format!("20260101_000000_{:06x}", (entries.saturating_sub(LARGEST)).div_ceil(EACH).max(1)));
    let resumed = median(
        (0..20)
            .map(|_| timed(&|store| drop(runtime.block_on(store.open_session(&largest, 100, Vec::new())).unwrap())))
            .collect(),
    );
    let p = |times: &Vec<Duration>| {
        format!("{} / {}", ms(percentile(times.clone(), 50)), ms(percentile(times.clone(), 95)))
    };
    vec![
        row("entries made", ms(filled), "", format!("{} entries", there.max(entries as u64))),
        row("search, 200 queries: p50 / p95", p(&searched), "30 ms", ""),
        row("the browser while typing: p50 / p95", p(&listed), "30 ms", ""),
        row("the browser in one folder of 40: p50 / p95", p(&here), "30 ms", format!("slowest: {}", slowest.1)),
        row("the prefix term1*, in nearly every session", ms(prefix), "30 ms", ""),
        row("the browser opens", ms(opened), "40 ms", "200 rows"),
        row("the last page of the largest session", ms(resumed), "50 ms", "20,000 entries"),
    ]
}
