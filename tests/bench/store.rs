//! What saving costs: the time of an append, the fsync at the end of a turn, and the bytes that reach files over many turns
//! against what was said and read.
//!
//! `HERMES_TURNS` sets the number of turns of `written` (10,000).

use crate::measures::{Row, ms, percentile, row};
use crate::proc;
use hermes::protocol::{AssistantBody, Body, Item, ItemId, NoteKind, Origin, SessionId, ToolBody, ToolCall};
use hermes::store::{NewSession, Store};
use std::time::{Duration, Instant};

/// Words that texts are made of, as uneven as words are.
struct Words {
    all: Vec<String>,
    random: fastrand::Rng,
}

impl Words {
    fn new() -> Self {
        let mut random = fastrand::Rng::with_seed(7);
        let mut word = || (0..random.usize(2..10)).map(|_| random.lowercase()).collect::<String>();
        let all = (0..4_000).map(|_| word()).collect();
        Self { all, random: fastrand::Rng::with_seed(8) }
    }

    fn text(&mut self, bytes: usize) -> String {
        let mut text = String::with_capacity(bytes + 12);
        while text.len() < bytes {
            // Few words are common and most are rare.
            let pick = self.random.f64().powi(3) * self.all.len() as f64;
            text.push_str(&self.all[pick as usize]);
            text.push(if self.random.u8(..12) == 0 { '\n' } else { ' ' });
        }
        text
    }

    /// The items of a turn that reads a file, and the bytes of their texts.
    fn turn(&mut self, turn: u32) -> (Vec<Item>, u64) {
        let call = ToolCall {
            id: format!("call_{turn}"),
            name: "read_file".into(),
            args: format!("{{\"path\":\"src/file_{turn}.rs\"}}"),
            ..ToolCall::default()
        };
        let (asked, first) = (self.text(200), self.text(120));
        let (read_bytes, told_bytes) = (self.random.usize(1_000..9_000), self.random.usize(300..1_800));
        let (read, told) = (self.text(read_bytes), self.text(told_bytes));
        let bytes = asked.len() + first.len() + call.args.len() + read.len() + told.len();
        let answer = |text: String, calls: Vec<ToolCall>| {
            Body::Assistant(AssistantBody { text, calls, model: "test:model".into(), ..AssistantBody::default() })
        };
        let bodies = [
            Body::User {
                text: asked,
                images: vec![],
                context: String::new(),
                origin: Origin::Person,
                gist: String::new(),
            },
            answer(first, vec![call.clone()]),
            Body::Tool(ToolBody { call_id: call.id, name: call.name, content: read, ..ToolBody::default() }),
            answer(told, vec![]),
            Body::Note { kind: NoteKind::TurnEnd, text: "2 steps in 4 s".into() },
        ];
        let at = 1_767_254_400_000 + i64::from(turn) * 10_000;
        let item = |body| Item { id: ItemId(0), at, turn, body };
        (bodies.into_iter().map(item).collect(), bytes as u64)
    }
}

fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

fn session() -> SessionId {
    SessionId("20260101_120000_abcdef".into())
}

async fn opened(home: &std::path::Path) -> Store {
    let store = Store::spawn(home);
    store.opened().await;
    let new = NewSession {
        id: session(),
        cwd: "/src".into(),
        model: "test:model".into(),
        source: "tui".into(),
        started_at: 1_767_254_400_000,
    };
    store.create(new).await.unwrap();
    store
}

/// An append until it is safe from kill -9, and the sync at the end of a turn.
pub fn append() -> Vec<Row> {
    let home = tempfile::tempdir().unwrap();
    let (mut appends, mut syncs) = (Vec::new(), Vec::new());
    run(async {
        let store = opened(home.path()).await;
        let mut words = Words::new();
        for turn in 1..=400 {
            for item in words.turn(turn).0 {
                let began = Instant::now();
                store.append(&session(), vec![item]).await.unwrap();
                appends.push(began.elapsed());
            }
            let began = Instant::now();
            store.sync().await.unwrap();
            syncs.push(began.elapsed());
        }
        store.close().await;
    });
    let count = format!("{} items of 400 turns", appends.len());
    let longest = appends.iter().max().copied().unwrap_or_default();
    let us = |time: Duration| format!("{:.0} µs", time.as_secs_f64() * 1e6);
    vec![
        row("append, median", us(percentile(appends.clone(), 50)), "", count),
        row("append, p95", us(percentile(appends, 95)), "2 ms", format!("longest {}", ms(longest))),
        row("sync of a turn, median", ms(percentile(syncs.clone(), 50)), "", "fsync of the journal and the log"),
        row("sync of a turn, p95", ms(percentile(syncs, 95)), "", ""),
    ]
}

/// Turns of 1,024 items, which the index takes in at once when it is quiet.
const INDEXED: u32 = 205;

/// Bytes that go to files in many turns of one session: at full speed, and with each turn in a transaction of its own and
/// indexed as when a person reads for a while after each.
pub fn written() -> Vec<Row> {
    let turns: u32 = std::env::var("HERMES_TURNS").ok().and_then(|text| text.parse().ok()).unwrap_or(10_000);
    let me = std::process::id();
    let mut rows = Vec::new();
    for (name, is_slow) in [("fast", false), ("slow", true)] {
        let home = tempfile::tempdir().unwrap();
        let (mut said, mut marks) = (0, Vec::new());
        let begun = proc::written(me);
        let (plain, all) = run(async {
            let store = opened(home.path()).await;
            let mut words = Words::new();
            for turn in 1..=turns {
                let (items, bytes) = words.turn(turn);
                said += bytes;
                for item in items {
                    store.append(&session(), vec![item]).await.unwrap();
                }
                store.sync().await.unwrap();
                if is_slow {
                    store.stats().await.unwrap();
                    if turn % INDEXED == 0 {
                        store.index().await.unwrap();
                    }
                }
                if turn % (turns / 10).max(1) == 0 {
                    marks.push((said, proc::written(me) - begun));
                }
            }
            store.stats().await.unwrap();
            let plain = proc::written(me) - begun;
            store.index().await.unwrap();
            store.close().await;
            (plain, proc::written(me) - begun)
        });
        let times = |bytes: u64| format!("{:.2} ×", bytes as f64 / said as f64);
        let part = |from: (u64, u64), to: (u64, u64)| (to.1 - from.1) as f64 / (to.0 - from.0) as f64;
        let flat = match marks.as_slice() {
            [first, second, .., before, last] => {
                format!("second tenth {:.2} ×, last {:.2} ×", part(*first, *second), part(*before, *last))
            }
            _ => String::new(),
        };
        let what = format!("{turns} turns, {} MB said and read; {flat}", said / 1_000_000);
        if !is_slow {
            rows.push(row(&format!("written, {name}, without index"), times(plain), "3 ×", what.clone()));
        }
        rows.push(row(&format!("written, {name}, with index"), times(all), "8 ×", what));
    }
    rows
}
