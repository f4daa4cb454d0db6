//! The browser with what sessions say in short and how they are kept, its list of actions, and the tree of forks.

use super::fixture::{NOW, busy, screen};
use crate::app::msg::Msg;
use crate::app::tests::script;
use crate::app::{Model, update};
use crate::protocol::ResumeCard;
use crate::store::{Branch, SessionRow, StoreReply};
use crate::ui::ViewCache;

const SIZES: [(u16, u16); 2] = [(100, 30), (60, 20)];

fn row(id: &str, title: &str, summary: &str) -> SessionRow {
    SessionRow {
        id: id.into(),
        title: Some(title.into()),
        cwd: "~/src/app".into(),
        model: "openai:gpt".into(),
        started_at: NOW - 90_000_000,
        updated_at: NOW - 7_200_000,
        items: 12,
        summary: (!summary.is_empty()).then(|| summary.to_owned()),
        ..SessionRow::default()
    }
}

fn rows() -> Vec<SessionRow> {
    let tags = ["parser", "release-blocker", "needs-a-second-look"].map(str::to_owned).into();
    let told = "The parser lost the last token of a file without a newline. Fixed in lex.rs; the fuzzer runs clean.";
    vec![
        SessionRow { pinned: true, tags, ..row("p", "fix the parser at the end of a file", told) },
        row("d", "write docs", "write docs → Done. · files: docs/CLI.md"),
        row("e", "an old one", ""),
    ]
}

fn browser(keys: &str) -> Model {
    let mut model = busy();
    model.tab.modals.clear();
    model.tab.approvals.entries.clear();
    script(&mut model, "<C-r>");
    update(&mut model, NOW, Msg::Store(StoreReply::Sessions { query: String::new(), rows: rows(), of: None }));
    let items = vec![crate::app::tests::user(1, "why does it lose the last token?")];
    update(&mut model, NOW, Msg::Store(StoreReply::Preview { session: "p".into(), items }));
    model.notices.shown.clear();
    script(&mut model, keys);
    model
}

fn shown(model: &Model, columns: u16, rows: u16) -> String {
    screen(model, &mut ViewCache::default(), columns, rows).0
}

fn snap(name: &str, model: &Model) {
    for (columns, rows) in SIZES {
        insta::assert_snapshot!(format!("{name}-{columns}x{rows}"), shown(model, columns, rows));
    }
}

#[test]
fn the_browser_shows_pins_tags_and_summaries() {
    snap("browser", &browser(""));
}

#[test]
fn what_was_removed_can_be_restored_by_the_key_that_is_named() {
    let model = browser("<down><del>");
    snap("browser-removed", &model);
    for (columns, rows) in SIZES {
        assert!(shown(&model, columns, rows).contains("Alt-U restores"));
    }
}

#[test]
fn all_that_can_be_done_is_listed_with_its_key() {
    snap("browser-actions", &browser("<A-m>"));
}

#[test]
fn the_tree_is_indented_and_says_where_each_branched() {
    let mut model = browser("<A-g>");
    let branch =
        |id: &str, title: &str, summary: &str, depth, turn| Branch { row: row(id, title, summary), depth, turn };
    let branches = vec![
        branch("root", "fix the parser", "The parser lost a token.", 0, 0),
        branch("p", "fix the parser (fork)", "The same with a table.", 1, 3),
        branch("t", "fix the parser (fork) #2", "", 2, 5),
        branch("u", "start over", "Written from scratch.", 1, 0),
    ];
    update(&mut model, NOW, Msg::Store(StoreReply::Tree { session: "p".into(), branches }));
    snap("tree", &model);
}

#[test]
fn a_resumed_session_begins_with_a_card() {
    let mut model = super::fixture::model();
    let card = ResumeCard {
        last_at: NOW - 3 * 86_400_000,
        prompt: "fix the parser".into(),
        planned: (2, 5),
        next: "run the fuzzer".into(),
        branch_then: Some("fix".into()),
        branch_now: Some("main".into()),
        commits: 3,
        files: vec![("src/lex.rs".into(), crate::protocol::FileSince::Changed)],
    };
    update(&mut model, NOW, Msg::Agent(crate::protocol::AgentEvent::Resumed(Box::new(card))));
    snap("resumed", &model);
}
