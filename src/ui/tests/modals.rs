//! One modal of each kind to draw.

use super::fixture::{NOW, approval, busy, waiting};
use crate::app::Model;
use crate::app::model::approvals::Entry;
use crate::app::model::modal::*;
use crate::app::model::rewind::{Confirming, RewindModal};
use crate::app::model::sign_in::{SignInModal, SignInStage, Visit};
use crate::app::model::stats::StatsTab;
use crate::app::model::types::*;
use crate::app::model::undo::UndoModal;
use crate::app::model::*;
use crate::protocol::{ItemId, UndoPoint};
use crate::text::{Line, Role};

/// One modal of each kind over the busy state.
pub fn modals() -> Vec<(&'static str, Model)> {
    let items = ["Resume a session", "Pick a model", "Next skin", "日本語"].iter().map(|label| PickItem {
        boost: 0,
        label: (*label).into(),
        detail: "what it does".into(),
        hint: "Ctrl-R".into(),
        value: (*label).into(),
        group: "Session".into(),
        current: label.starts_with("Pick"),
        always: false,
    });
    let row = |title: &str, snippet: Option<&str>| SessionRow {
        id: "20260101_000000_abcdef".into(),
        title: Some(title.into()),
        preview: "fix it".into(),
        cwd: "~/src/app".into(),
        model: "openai:gpt".into(),
        started_at: NOW - 90_000_000,
        updated_at: NOW - 7_200_000,
        items: 12,
        snippet: snippet.map(str::to_owned),
        ..SessionRow::default()
    };
    let list = vec![
        (
            "picker",
            Modal::Picker(Box::new(Picker {
                inert_until: 0,
                kind: PickerKind::Palette,
                title: "Commands".into(),
                query: String::new(),
                cursor: 0,
                items: items.collect(),
                matches: vec![0, 1, 2, 3],
                selected: 1,
                loading: false,
                footnote: "Anthropic: no key; paste one with /model".into(),
            })),
        ),
        (
            "sessions",
            Modal::Sessions(Box::new(SessionBrowser {
                query: "race".into(),
                cursor: 4,
                rows: vec![row("fix the race", Some("the >>>race<<< in the store")), row("write docs", None)],
                preview: vec![
                    Line::plain("❯ why does it fail", Role::Strong),
                    Line::plain("It is a race.", Role::Text),
                ],
                scope: SessionScope::Here,
                ..SessionBrowser::default()
            })),
        ),
        ("sign-in", Modal::SignIn(Box::new(sign_in()))),
        ("rewind", Modal::Rewind(Box::new(rewind(None)))),
        (
            "rewind-choice",
            Modal::Rewind(Box::new(rewind(Some(Confirming { overwrite: true, ..Confirming::default() })))),
        ),
        ("undo", Modal::Undo(Box::new(undo()))),
        ("worktree", Modal::Worktree(Box::new(super::worktree::pane()))),
        ("replay", Modal::Replay(Box::new(replay()))),
        ("stats", Modal::Stats(Box::new(stats(StatsTab::Tokens)))),
        ("stats-tools", Modal::Stats(Box::new(stats(StatsTab::Tools)))),
        (
            "text",
            Modal::Text(TextModal {
                title: "Keys".into(),
                lines: (0..60).map(|line| Line::plain(format!("line {line}"), Role::Text)).collect(),
                scroll: 4,
            }),
        ),
        (
            "confirm",
            Modal::Confirm(Confirm::new(
                "Leave",
                "Two processes run. Leaving ends them.",
                "End them and leave",
                ConfirmThen::Quit,
            )),
        ),
        (
            "input",
            Modal::Input(InputModal {
                title: "A key for OpenAI".into(),
                hint: "Stored in ~/.hermes/.env, readable by you only".into(),
                text: "sk-secret".into(),
                cursor: 9,
                masked: true,
                then: InputThen::Key("openai".into()),
                message: "401: the key is not known".into(),
                busy: true,
                inert_until: 0,
            }),
        ),
    ];
    let mut out: Vec<(&'static str, Model)> = list
        .into_iter()
        .map(|(name, modal)| {
            let mut model = busy();
            model.tab.modals = vec![modal];
            (name, model)
        })
        .collect();
    let mut asked = busy();
    let question = Question {
        id: QuestionId(1),
        call_id: "call".into(),
        text: "Which database should the tests use?".into(),
        choices: vec!["SQLite in memory".into(), "SQLite on disk".into()],
        allow_freetext: true,
        own_answer: String::new(),
    };
    asked.tab.approvals.entries = vec![Entry::Question(question)];
    asked.tab.modals =
        vec![Modal::Question(QuestionModal { id: QuestionId(1), inert_until: 0, selected: 0, text: None, cursor: 0 })];
    out.push(("question", asked));
    let mut always = approval();
    if let Some(Modal::Approval(state)) = always.tab.modals.last_mut() {
        state.inert_until = 0;
        state.selected = ApprovalChoice::Always;
        state.stage = ApprovalStage::Confirming;
        state.offer = 1;
    }
    out.push(("always", always));
    let mut queued = busy();
    queued.tab.queue.prompts = waiting(&["first", "second", "third"]);
    queued.tab.queue_selected = 1;
    queued.tab.focus = Pane::Queue;
    out.push(("queue", queued));
    let mut chord = busy();
    let keys = crate::config::keymap::parse("ctrl-x").unwrap();
    chord.chord = Some(Chord { keys, since: NOW - 600, shown: true, page: 0 });
    out.push(("which-key", chord));
    out
}

/// Two prompts; the selected one has a file of each kind, and a command.
fn undo() -> UndoModal {
    let point = UndoPoint {
        command: 4,
        at: NOW - 90_000,
        call: "c".into(),
        line: "cargo fmt && mv src/old.rs src/new.rs && rm -rf docs/*".into(),
        files: 5,
    };
    let file = |path: &str, kind, fate| {
        let diff = "@@ -1,2 +1,2 @@\n fn main() {\n-\tnew();\n+\told();\n".to_owned();
        FileBack { path: path.into(), kind, added: 3, removed: 12, diff, fate }
    };
    let plain =
        |path: &str, kind| FileBack { added: 0, removed: 0, diff: String::new(), ..file(path, kind, Fate::Ready) };
    let files = vec![
        file("src/store/mod.rs", FileKind::Modified, Fate::Ready),
        plain("src/new.rs → src/old.rs", FileKind::Moved),
        plain("run.sh (mode 755 → 644)", FileKind::Mode),
        file("docs/guide.md", FileKind::Added, Fate::Ready),
        file("Cargo.toml", FileKind::Modified, Fate::Foreign("changed elsewhere since".into())),
    ];
    let gaps = vec!["node_modules is left out: what programs make there is not saved".into()];
    UndoModal {
        commands: vec![point.clone(), UndoPoint { command: 2, ..point }],
        preview: Some(UndoPreview { command: 4, files, gaps }),
        ..UndoModal::default()
    }
}

fn rewind(confirm: Option<Confirming>) -> RewindModal {
    let point = |item, text: &str, files, commands| RewindPoint {
        item: ItemId(item),
        at: NOW - 90_000,
        text: text.into(),
        files,
        commands,
    };
    let file = |path: &str, kind, fate| FileBack {
        path: path.into(),
        kind,
        added: 3,
        removed: 12,
        diff: "@@ -1 +1 @@\n-new\n+old\n".into(),
        fate,
    };
    let files = vec![
        file("src/store/mod.rs", FileKind::Modified, Fate::Ready),
        file("docs/new.md", FileKind::Deleted, Fate::Ready),
        file("Cargo.toml", FileKind::Modified, Fate::Foreign("changed elsewhere since".into())),
        file("big.bin", FileKind::Modified, Fate::Lost("its 24 MB were too large to save".into())),
        file("src/lib.rs", FileKind::Added, Fate::Already),
    ];
    let said = |who, text: &str| LeftOut { who, text: text.into() };
    let preview = RewindPreview {
        item: ItemId(5),
        text: "fix the race".into(),
        files,
        commands: vec![RanCommands {
            prompt: "fix the race".into(),
            commands: vec![
                "cargo fmt && sed -i s/close/finish/ src/*.rs && git diff > everything-that-changed.patch".into(),
            ],
        }],
        prompts: 1,
        items: 6,
        left_out: vec![
            said(Who::Person, "fix the race"),
            said(Who::Tool, "src/store/mod.rs"),
            said(Who::Model, "It was a race between the writer and the reader, and it is gone now that both wait."),
        ],
    };
    RewindModal {
        points: vec![point(5, "fix the race", 5, 1), point(1, "why does it fail?", 0, 2)],
        matches: vec![0, 1],
        preview: Some(preview),
        confirm,
        ..RewindModal::default()
    }
}

/// A sign-in that waits for its code.
pub fn sign_in() -> SignInModal {
    let mut qr = vec!["█".repeat(33)];
    qr.extend((0..15).map(|row| {
        format!(
            "██{}██",
            if row % 2 == 0 { "▀▄ █ ▄▀" } else { " █▀▄█▀ " }.repeat(5).chars().take(29).collect::<String>()
        )
    }));
    qr.push("▀".repeat(33));
    let visit = Visit {
        code: "WXYZ-1234".into(),
        address: "https://portal.example/device".into(),
        opens: "https://portal.example/device?code=WXYZ-1234".into(),
        qr,
        ends: NOW + 754_000,
    };
    SignInModal { provider: "nous".into(), title: "Nous Portal".into(), stage: SignInStage::Code(visit) }
}

/// Figures of a month.
pub fn stats(tab: StatsTab) -> crate::app::model::stats::StatsModal {
    use crate::protocol::{Day, Figures, Project, Spending, ToolUse};
    let spent = |tokens: u64| Spending {
        calls: tokens / 1000,
        input: tokens,
        cached: tokens / 2,
        output: tokens / 20,
        cost: tokens as f64 / 1e5,
        unpriced: 0,
    };
    let day = |day: u64| Day { date: format!("2026-11-{day:02}"), spent: spent((day * 7919) % 13 * 10_000) };
    let tool = |name: &str, calls, failed| ToolUse {
        name: name.into(),
        calls,
        failed,
        median: calls * 3,
        p95: calls * 40,
        total: calls * calls,
    };
    let figures = Figures {
        days: (1..=30).map(day).collect(),
        tools: vec![tool("terminal", 1200, 31), tool("read_file", 640, 0), tool("search_files", 80, 2)],
        models: vec![("anthropic:sonnet".into(), spent(900_000)), ("local:small".into(), spent(20_000))],
        projects: vec![Project { folder: "/src/hermes".into(), sessions: 41, tokens: 900_000, cost: Some(9.0) }],
    };
    let figures = Some(Box::new(figures));
    crate::app::model::stats::StatsModal { tab, figures, ..Default::default() }
}

/// The middle of a session, with a terminal that paints.
fn replay() -> crate::app::model::replay::ReplayModal {
    use crate::app::model::replay::{ReplayModal, Track};
    use crate::protocol::{Beat, RecordedTerminal, Usage};
    let beat = |item: i64, at: i64, turn, prompt| Beat {
        item: ItemId(item),
        at: NOW + at,
        turn,
        prompt,
        usage: (!prompt).then_some(Usage { input: 12_000, output: 800, cost: Some(0.04), ..Usage::default() }),
        plan: Some(vec![
            Todo { id: "1".into(), content: "Read the parser".into(), status: TodoStatus::Completed },
            Todo { id: "2".into(), content: "Fix the race in it".into(), status: TodoStatus::InProgress },
        ]),
        files: vec![("src/parser/tokens.rs".into(), 14, 6)],
        rewound: 0,
    };
    let terminal = |command: &str, changes: &[i64], ended_at: i64| RecordedTerminal {
        key: (command.into(), NOW),
        command: command.into(),
        started_at: NOW,
        ended_at: NOW + ended_at,
        code: Some(0),
        changes: changes.iter().map(|at| NOW + at).collect(),
    };
    let mut modal = ReplayModal::new("s".into());
    modal.loading = false;
    modal.title = "fix the race in the parser".into();
    modal.beats = vec![
        beat(1, 0, 1, true),
        beat(2, 900, 1, false),
        beat(3, 4000, 2, true),
        beat(4, 6000, 2, false),
        beat(5, 9000, 3, true),
    ];
    modal.terminals = vec![terminal("cargo test", &[1200, 1700, 5000], 7000), terminal("npm run dev", &[2000], 9000)];
    modal.changed = vec![(NOW + 1500, "Cargo.lock".into())];
    modal.track = Track::of(&modal.beats, &modal.terminals);
    modal.at = 7;
    modal.lines = vec![
        Line::plain("❯ fix the race", Role::Strong),
        Line::plain("· cargo test", Role::Dim),
        Line::plain("It is a race between the reader and the writer; the tests show it.", Role::Text),
    ];
    modal.screens = vec![
        (0, vec![Line::plain("running 12 tests", Role::Text), Line::plain("test parser::race ... ok", Role::Text)]),
        (1, vec![Line::plain("ready on port 3000", Role::Text)]),
    ];
    modal.shown = modal.stop();
    modal
}
