//! Where the line at the end of a turn leads, what fills the window in layers, and files that others changed.

use super::fixture::{model, screen};
use crate::app::model::layout::Hit;
use crate::app::msg::Msg;
use crate::app::session::items;
use crate::app::tests::{script, user};
use crate::app::{Model, update};
use crate::protocol::{
    AgentEvent, Body, ContextLayer, ContextPart, ContextView, FileDiff, Item, ItemId, Keep, Layer, Meter, NoteKind,
    OutsideFile, Sent, ToolBody, ToolView,
};
use crate::ui::ViewCache;

const LONG: &str = "crates/a-folder-with-a-long-name/src/some/module/that/lies/deep/in/the/tree/parser.rs";

fn tool(id: i64, target: &str, exit: Option<i32>, files: &[(&str, u32, u32)]) -> Item {
    let diff = |(path, added, removed): &(&str, u32, u32)| FileDiff {
        path: (*path).into(),
        added: *added,
        removed: *removed,
        ..FileDiff::default()
    };
    let diffs = files.iter().map(diff).collect();
    let view = ToolView { target: target.into(), exit_code: exit, diffs, ..ToolView::default() };
    let body =
        ToolBody { call_id: format!("c{id}"), name: "t".into(), view, duration_ms: 8_400, ..ToolBody::default() };
    Item { id: ItemId(id), at: 0, turn: 1, body: Body::Tool(body) }
}

fn worked() -> Model {
    let mut model = model();
    let text = "12 steps · 41 s · 2 files +134 −61 · 2 commands, 1 failed · unverified: cargo test failed";
    for item in [
        user(1, "make the parser faster"),
        tool(2, "write", None, &[("src/parser.rs", 120, 60), (LONG, 14, 1)]),
        tool(3, "cargo build --release --features everything --target x86_64-unknown-linux-musl", Some(0), &[]),
        tool(4, "cargo test", Some(101), &[]),
        Item { id: ItemId(5), at: 0, turn: 1, body: Body::Note { kind: NoteKind::TurnEnd, text: text.into() } },
    ] {
        items::finished(&mut model, item);
    }
    model
}

fn shown(name: &str, model: &Model) {
    for (columns, rows) in [(140, 45), (100, 30), (60, 20)] {
        let text = screen(model, &mut ViewCache::default(), columns, rows).0;
        insta::assert_snapshot!(format!("{name}-{columns}x{rows}"), text);
    }
}

#[test]
fn the_end_of_a_turn_can_be_clicked_and_lists_what_the_turn_did() {
    let mut model = worked();
    let (_, layout) = screen(&model, &mut ViewCache::default(), 100, 30);
    let last = model.tab.transcript.cells.last().unwrap().id;
    assert!(layout.targets.iter().any(|(_, hit)| *hit == Hit::ToggleCell(last)), "{:?}", layout.targets);
    script(&mut model, "/turn<ret>");
    shown("turn-end", &model);
}

#[test]
fn the_window_is_shown_in_layers() {
    let mut model = worked();
    model.tab.meter = Meter { context: 41_200, window: Some(131_072), ..Meter::default() };
    let layer = |layer, tokens, most, whole| ContextLayer { layer, tokens, most, whole };
    let part = |layer, id: i64, what: &str, tokens, sent| ContextPart {
        layer,
        item: (id > 0).then_some(ItemId(id)),
        what: what.into(),
        tokens,
        sent,
    };
    let view = ContextView {
        layers: vec![
            layer(Layer::Session, 28_000, Some(84_000), 28_000),
            layer(Layer::Project, 7_800, Some(7_864), 31_000),
            layer(Layer::Tools, 4_100, None, 4_100),
            layer(Layer::Identity, 1_100, Some(3_932), 1_100),
            layer(Layer::Runtime, 200, Some(1_310), 200),
        ],
        parts: vec![
            part(Layer::Session, 4, "#4 cargo test", 20_000, Sent::Whole),
            part(Layer::Project, 0, "project files, cut: 23,200 tokens left out", 7_800, Sent::Whole),
            part(Layer::Session, 2, "#2 read_file src/parser.rs", 7_960, Sent::Kept(Keep::Pinned)),
            part(Layer::Tools, 0, "23 tools", 4_100, Sent::Whole),
            part(Layer::Identity, 0, "system prompt", 1_100, Sent::Whole),
            part(Layer::Runtime, 0, "folder, git, processes, plan", 200, Sent::Whole),
            part(Layer::Session, 1, "you: #1 make the parser faster", 40, Sent::Kept(Keep::Out)),
        ],
    };
    script(&mut model, "/context<ret>");
    update(&mut model, 0, Msg::Agent(AgentEvent::ContextParts(Box::new(view))));
    shown("layers", &model);
}

#[test]
fn files_that_others_changed_are_marked_until_the_next_turn() {
    let mut model = worked();
    let file = |path: &str, what: &str, by: Option<&str>| OutsideFile {
        path: path.into(),
        what: what.into(),
        by: by.map(str::to_owned),
    };
    let files = vec![
        file("src/main.rs", "modified", None),
        file(LONG, "renamed from old.rs", None),
        file("src/lib.rs", "modified", Some("fix the parser before the release")),
    ];
    update(&mut model, 0, Msg::Agent(AgentEvent::ChangedOutside(files)));
    model.tab.sidebar.shown = Some(true);
    shown("changed-outside", &model);
    update(&mut model, 0, Msg::Agent(AgentEvent::TurnStarted { turn: 2, at: 0 }));
    assert!(model.tab.sidebar.outside.is_empty());
}
