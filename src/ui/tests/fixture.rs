//! States of the screen to draw.

use crate::app::Model;
use crate::app::model::approvals::Entry;
use crate::app::model::layout::Layout;
use crate::app::model::modal::*;
use crate::app::model::transcript::{CellKind, ToolCell, ToolState};
use crate::app::model::types::*;
use crate::app::model::*;
use crate::config::Config;
use crate::config::keymap::Keymap;
use crate::config::skin::{Appearance, LookDirs};
use crate::config::theme::Canvas;
use crate::policy::{Approval, ApprovalId, Intent, Mode, Target, Verdict, Why, proposals};
use crate::protocol::{FileDiff, NoteKind, Origin, Outcome, SessionId, Usage};
use crate::text::{Cell, Line, Role, Snapshot};
use crate::ui::{ViewCache, draw};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock};

/// The time in all states.
pub const NOW: i64 = 1_700_000_000_000;

// Read once: property tests build thousands of models.
static DEFAULT_LOOK: LazyLock<Arc<Appearance>> =
    LazyLock::new(|| Arc::new(Appearance::load("default", "", &LookDirs::default(), Canvas::default()).unwrap()));
static KEYMAP: LazyLock<Arc<Keymap>> = LazyLock::new(|| Arc::new(Keymap::defaults().unwrap()));

/// A session before its first message, in a skin.
pub fn in_skin(skin: &str) -> Model {
    let look = match skin {
        "default" => DEFAULT_LOOK.clone(),
        _ => Arc::new(Appearance::load(skin, "", &LookDirs::default(), Canvas::default()).unwrap()),
    };
    let config = Arc::new(Config::default());
    let mut model = Model::new(config, look, KEYMAP.clone(), (140, 45), "~/src/app".into(), NOW);
    model.tab.session = Some(SessionInfo {
        id: SessionId::from("20260101_000000_abcdef"),
        title: Some("fix the flaky resume test".into()),
        model: "anthropic:claude-sonnet".into(),
        effort: Effort::High,
        mode: Mode::Ask,
        cwd: "~/src/app".into(),
        place: "local".into(),
        unavailable: Default::default(),
        window: Some(200_000),
        toolsets: None,
        auto_approver: Some("anthropic:claude-haiku".into()),
        untrusted: Vec::new(),
    });
    model.tab.sidebar.git = Some(sidebar::Git { branch: "main".into(), dirty: 3 });
    model
}

/// A session before its first message.
pub fn model() -> Model {
    in_skin("default")
}

fn tool(name: &str, emoji: &str, target: &str, summary: &str, state: ToolState, ms: Option<u64>) -> CellKind {
    CellKind::Tool(Box::new(ToolCell {
        call_id: format!("call_{name}"),
        name: name.into(),
        emoji: emoji.into(),
        target: target.into(),
        summary: summary.into(),
        state,
        started_at: NOW - 3_200,
        duration_ms: ms,
        ..ToolCell::default()
    }))
}

const ANSWER: &str = "The store **drops a job** when its channel is full: `send` returns an error that is ignored.\n\n\
## Fix\n\n1. await the send\n2. prove it in a loop\n   - fifty runs\n   - no failure\n\n\
```rust\n// src/store/mod.rs\nself.tx.send(job).await?;\n```\n\n\
| file | change |\n|------|-------:|\n| src/store/mod.rs | +14 −6 |\n| tests/resume.rs | +2 −0 |\n\n\
> It was a race all along.\n\nSee [the docs](https://docs.rs/tokio/latest/tokio/sync/mpsc) for the rest.";

/// A turn at work: answers, tools in every state, a plan, files, processes, a queue.
pub fn busy() -> Model {
    let mut model = model();
    let t = &mut model.tab.transcript;
    let user = |text: &str| CellKind::User { text: text.into(), images: 0, origin: Origin::Person };
    t.push(user("The resume test fails one run in ten. Find out why."), None, true);
    t.push(
        CellKind::Reasoning {
            text: "I should run it in a loop. Then read the actor.".into(),
            time: crate::app::model::transcript::Thinking::For(4_200),
        },
        None,
        true,
    );
    t.push(CellKind::Assistant { text: "I'll run it in a loop first, then read the store actor.".into() }, None, true);
    let failed = tool(
        "terminal",
        "💻",
        "for i in $(seq 50); do cargo test resume || break; done",
        "exited with 1",
        ToolState::Done(Outcome::Failed),
        Some(41_200),
    );
    let id = t.push(failed, None, true);
    if let Some(cell) = t.cells.iter_mut().find(|cell| cell.id == id) {
        cell.change(|kind| {
            if let CellKind::Tool(tool) = kind {
                tool.output = (1..=30)
                    .map(|line| format!("\u{1b}[31mline {line}\u{1b}[0m of output\n"))
                    .collect::<String>()
                    .into();
            }
        });
    }
    t.push(
        tool("read_file", "📖", "src/store/mod.rs 1-220", "220 lines", ToolState::Done(Outcome::Ok), Some(3)),
        None,
        true,
    );
    let id =
        t.push(tool("patch", "🔧", "src/store/mod.rs", "+1 −1", ToolState::Done(Outcome::Ok), Some(12)), None, true);
    if let Some(cell) = t.cells.iter_mut().find(|cell| cell.id == id) {
        cell.expanded = true;
        cell.change(|kind| {
            if let CellKind::Tool(tool) = kind {
                tool.diffs = vec![FileDiff {
                    path: "src/store/mod.rs".into(),
                    added: 1,
                    removed: 1,
                    unified: "@@ -40,3 +40,3 @@\n fn put(&self, job: Job) {\n-    self.tx.send(job).ok();\n+    self.tx.send(job).await?;\n }\n".into(),
                }];
            }
        });
    }
    t.push(CellKind::Assistant { text: ANSWER.into() }, None, true);
    t.push(tool("terminal", "💻", "cargo test resume", "", ToolState::Running, None), None, false);
    t.push(tool("terminal", "💻", "rm -rf build/", "", ToolState::Asking, None), None, false);
    model.tab.turn = TurnStatus::Running(Running {
        waiting: None,
        turn: 1,
        step: 3,
        started_at: NOW - 225_000,
        step_started_at: NOW - 12_000,
        waited: 0,
        waited_before_step: 0,
        waits_since: None,
        stopping: false,
        retry: None,
        calls: Vec::new(),
    });
    model.tab.meter = Meter {
        context: 43_000,
        window: Some(200_000),
        total: Usage { input: 100_000, cached: 96_000, cost: Some(0.08), ..Usage::default() },
        ..Meter::default()
    };
    let todo = |content: &str, status| Todo { id: content.into(), content: content.into(), status };
    model.tab.sidebar.plan = vec![
        todo("reproduce in a loop", TodoStatus::Completed),
        todo("find the race", TodoStatus::InProgress),
        todo("fix and prove", TodoStatus::Pending),
    ];
    model.tab.sidebar.files = vec![("src/store/mod.rs".into(), 14, 6), ("tests/resume.rs".into(), 2, 0)];
    model.tab.sidebar.knowledge = sidebar::Knowledge {
        tools: 8,
        notes: Some((68, vec!["conda over pip here".into()])),
        profile: Some((72, vec![])),
        skills: vec!["review".into(), "release".into()],
        context_files: vec![("AGENTS.md".into(), None)],
        unavailable: vec![("web_search".into(), "no key".into())],
    };
    let process = |id: &str, command: &str, state, port| ProcessInfo {
        task: "s".into(),
        id: ProcessId(id.into()),
        command: command.into(),
        cwd: PathBuf::from("/src/app"),
        pid: 7,
        background: true,
        started_at: NOW - 12 * 60_000,
        state,
        port,
        output_bytes: 0,
        vitals: crate::exec::Vitals::default(),
    };
    model.tab.processes.rows = vec![
        process("proc_1", "npm run dev", ProcessState::Running, Some(5173)),
        process("proc_2", "npm init", ProcessState::NeedsInput, None),
    ];
    model.tab.queue.prompts = waiting(&["then also update the changelog"]);
    model
}

/// The busy state with the terminal pane open.
pub fn with_terminal() -> Model {
    let mut model = busy();
    let plain = |text: &str| Line::plain(text, Role::Screen(Cell::default()));
    model.tab.processes.pane = processes::TerminalPane {
        open: true,
        shown: Some(ProcessId("proc_2".into())),
        screen: Some(Arc::new(Snapshot {
            columns: 80,
            rows: vec![plain("$ npm init"), plain("package name: (app)")],
            cursor: Some((20, 1)),
            ..Snapshot::default()
        })),
        taken_over: true,
        height: 330,
        large: 650,
        ..processes::TerminalPane::default()
    };
    model.tab.focus = Pane::Terminal;
    model
}

/// A dangerous command waits.
pub fn approval() -> Model {
    let mut model = busy();
    let line = "rm -rf build/ ~/.cache/app && git clean -fdx";
    let why = |effect: &str, text: &str, span| Why { effect: effect.into(), text: text.into(), span };
    let target = |name: &str, files, bytes, note: &str| Target {
        name: name.into(),
        files: Some(files),
        bytes,
        at_least: false,
        note: note.into(),
    };
    let intent = Intent::Command { line: line.into(), cwd: "~/src/app".into(), background: false };
    let verdict = Verdict::Ask(vec![
        why("recursive delete", "deletes folders and all in them", 0..26),
        why("git clean", "deletes untracked and ignored files", 30..44),
    ]);
    let approval = |id| Approval {
        id: ApprovalId(id),
        call_id: "call".into(),
        tool: "terminal".into(),
        intent: intent.clone(),
        verdict: verdict.clone(),
        proposals: proposals::offered(&intent, &verdict),
        targets: vec![
            target("build/", 1_204, Some(310_000_000), "ignored by git"),
            target("~/.cache/app", 88, Some(12_000_000), "outside this folder"),
            target("git clean", 17, None, "3 of them never committed: notes.md, .env, a.sql"),
        ],
        payloads: vec![],
        origin: crate::policy::ApprovalOrigin { saying: "start from a **clean** tree".into(), ..Default::default() },
        changed: vec![],
        drops: vec![],
        kept: false,
        asked_at: NOW,
    };
    model.tab.approvals.entries = vec![Entry::Approval(Box::new(approval(1))), Entry::Approval(Box::new(approval(2)))];
    model.tab.modals = vec![Modal::Approval(ApprovalModal::new(ApprovalId(1), NOW + 400))];
    model
}

fn server(name: &str, port: u16, models: &[&str]) -> first_run::Server {
    let models = models.iter().map(|name| (*name).into()).collect();
    first_run::Server { name: name.into(), base_url: format!("http://127.0.0.1:{port}/v1"), models }
}

/// The first start.
pub fn first_run() -> Model {
    let mut model = model();
    model.tab.session = None;
    model.first_run = Some(first_run::FirstRun {
        found: Some(first_run::Found {
            sign_ins: vec![sign_in("openrouter", "OpenRouter", true), sign_in("nous", "Nous Portal", false)],
            keys: vec![("OpenAI".into(), "OPENAI_API_KEY in the environment".into())],
            servers: vec![server("Ollama", 11434, &["qwen3:8b", "gemma3"]), server("", 8080, &["qwen2.5-coder"])],
            providers: (1..=20)
                .map(|at| if at == 1 { "openrouter".into() } else { format!("provider-{at}") })
                .collect(),
            idle: Vec::new(),
            local: None,
        }),
        selected: 1,
        all: false,
        room: 0,
        inert_until: 0,
        broken: false,
    });
    model
}

fn offer(name: &str, title: &str, bytes: u64, speed: f64, state: local::OfferState, note: &str) -> local::Offer {
    local::Offer {
        name: name.into(),
        title: title.into(),
        bytes,
        licence: "Apache-2.0".into(),
        host: "huggingface.co".into(),
        speed: Some(speed),
        note: note.into(),
        state,
    }
}

/// Models for this computer; one is here.
pub fn offers() -> local::Offers {
    use local::OfferState::{Fits, Here, Memory, Slow};
    local::Offers {
        rows: vec![
            offer("qwen3-0.6b", "Qwen3 0.6B", 639_446_688, 58.0, Here, "answers and small edits"),
            offer("qwen3.5-4b", "Qwen3.5 4B", 2_740_937_888, 12.4, Fits, "answers, searches and makes small edits"),
            offer("qwen3.5-9b", "Qwen3.5 9B", 5_680_522_464, 5.9, Slow, "works through small tasks"),
            offer("qwen3.6-27b", "Qwen3.6 27B", 16_817_244_384, 2.0, Memory(19_700_000_000), "works through tasks"),
        ],
        best: Some("qwen3.5-4b".into()),
        engine: Some(local::EngineOffer {
            bytes: 33_827_498,
            licence: "MIT".into(),
            host: "files.pythonhosted.org".into(),
        }),
        ..local::Offers::default()
    }
}

/// The first start on a computer where nothing was found but what could run on it.
pub fn first_run_local() -> Model {
    let mut model = first_run();
    let mut offers = offers();
    offers.rows.retain(|row| !row.state.is_here());
    model.local.offers = Some(offers);
    if let Some(card) = &mut model.first_run {
        card.selected = 0;
        if let Some(found) = &mut card.found {
            found.keys.clear();
            found.servers.clear();
        }
    }
    model
}

/// The same while a model comes.
pub fn first_run_download(state: local::DownloadState) -> Model {
    let mut model = first_run_local();
    model.local.download = Some(local::Download {
        run: 1,
        name: "qwen3.5-4b".into(),
        title: "Qwen3.5 4B".into(),
        state,
        step: local::DownloadStep::Loading {
            engine: false,
            done: 1_129_000_000,
            of: 2_740_937_888,
            speed: 12_300_000.0,
        },
        percent: 41,
    });
    model
}

pub fn waiting(texts: &[&str]) -> Vec<Arc<crate::store::QueuedPrompt>> {
    texts.iter().map(|text| Arc::new(crate::store::QueuedPrompt { text: (*text).into(), images: vec![] })).collect()
}

/// Prompts that came back with their session.
pub fn held() -> Model {
    let mut model = model();
    model.tab.transcript.push(CellKind::Assistant { text: "Where were we?".into() }, None, true);
    model.tab.queue.prompts = waiting(&["then also update the changelog", "and the docs"]);
    model.tab.queue.held = 2;
    model
}

/// What the program told the model: folded, and opened.
pub fn told() -> Model {
    let mut model = model();
    let t = &mut model.tab.transcript;
    t.push(CellKind::Assistant { text: "The server is up; I'll watch it while".into() }, None, true);
    let told = |gist: &str, text: &str| CellKind::Told { gist: gist.into(), text: text.into() };
    t.push(told("connection lost, continued", "Your last message was cut off in transit."), None, true);
    t.push(CellKind::Assistant { text: "the tests run.".into() }, None, true);
    t.push(tool("read_file", "📖", "src/main.rs", "8 lines", ToolState::Done(Outcome::Ok), Some(3)), None, true);
    let ended = "[Background process proc_1 exited (exit code 1).\nCommand: npm run dev\nOutput:\nport 5173 is taken]";
    t.push(told("npm run dev exited with 1; the model was notified", ended), None, true);
    let id = t.push(told("npm run dev printed “error”; the model was notified", ended), None, true);
    if let Some(cell) = t.cell(id) {
        cell.toggle();
    }
    model
}

/// Everything that is hard to measure.
pub fn wide_text() -> Model {
    let mut model = model();
    let t = &mut model.tab.transcript;
    let text = "日本語のとても長い文章です。".repeat(20);
    t.push(
        CellKind::User {
            text: format!("{text}\n\ttab\u{7}bell 👩‍👩‍👧 é"), images: 2, origin: Origin::Steer
        },
        None,
        true,
    );
    t.push(
        CellKind::Assistant {
            text: format!("# 見出し\n\n{text}\n\n| 列 | b |\n|-|-|\n| {text} | x |\n\n- {text}")
        },
        None,
        true,
    );
    t.push(tool("search_files", "🔎", &text, &text, ToolState::Done(Outcome::Ok), Some(1)), None, true);
    t.push(CellKind::Note { kind: NoteKind::Error, text: "x".repeat(500) }, None, true);
    t.push(CellKind::TurnEnd { text: "3 steps · 41.2 s · $0.08".into() }, None, true);
    t.push(CellKind::Reasoning { text: text.clone(), time: Default::default() }, None, false);
    model.tab.composer.area = tui_textarea::TextArea::new(vec![text, "👩‍👩‍👧 second".into(), String::new()]);
    model
}

/// Every state.
pub fn all() -> Vec<(&'static str, Model)> {
    let mut out = vec![
        ("empty", model()),
        ("busy", busy()),
        ("terminal", with_terminal()),
        ("approval", approval()),
        ("first-run", first_run()),
        ("wide", wide_text()),
        ("told", told()),
        ("held", held()),
    ];
    out.extend(super::modals::modals());
    out
}

/// Draws a state and returns the screen as text and its layout.
pub fn screen(model: &Model, cache: &mut ViewCache, columns: u16, rows: u16) -> (String, Layout) {
    let mut terminal = Terminal::new(TestBackend::new(columns, rows)).unwrap();
    let mut layout = Layout::default();
    terminal.draw(|frame| layout = draw(model, cache, frame)).unwrap();
    let buffer = terminal.backend().buffer();
    let mut out = String::new();
    for y in 0..rows {
        let mut line = String::new();
        let mut x = 0;
        while x < columns {
            let symbol = buffer[(x, y)].symbol();
            line.push_str(symbol);
            x += crate::text::width::width(symbol).max(1) as u16;
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    (out, layout)
}

fn sign_in(provider: &str, title: &str, by_browser: bool) -> crate::app::model::sign_in::SignInRow {
    crate::app::model::sign_in::SignInRow {
        provider: provider.into(),
        title: title.into(),
        missing: String::new(),
        by_browser,
    }
}
