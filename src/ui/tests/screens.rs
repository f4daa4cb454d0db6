//! What the screens show, and that no size breaks them.

use super::fixture::{self, all, screen};
use crate::ui::ViewCache;
use proptest::prelude::*;

fn shown(model: &crate::app::Model, columns: u16, rows: u16) -> String {
    screen(model, &mut ViewCache::default(), columns, rows).0
}

/// Looks at one state at the sizes of the three layouts.
fn snapshots(name: &str, model: &crate::app::Model) {
    for (columns, rows) in [(140, 45), (100, 30), (60, 20)] {
        insta::assert_snapshot!(format!("{name}-{columns}x{rows}"), shown(model, columns, rows));
    }
}

#[test]
fn a_session_before_its_first_message() {
    snapshots("empty", &fixture::model());
}

#[test]
fn a_turn_at_work() {
    snapshots("busy", &fixture::busy());
}

#[test]
fn a_command_to_approve() {
    snapshots("approval", &fixture::approval());
}

#[test]
fn what_the_program_told_the_model() {
    snapshots("told", &fixture::told());
}

#[test]
fn prompts_that_came_back() {
    snapshots("held", &fixture::held());
}

#[test]
fn the_first_start() {
    snapshots("first-run", &fixture::first_run());
    let mut model = fixture::first_run();
    if let Some(card) = &mut model.first_run {
        card.room = 30;
    }
    let text = shown(&model, 100, 30);
    assert!(text.contains("Welcome") && text.contains("Enter select · /model"), "{text}");
}

#[test]
fn the_first_start_with_a_model_for_this_computer() {
    use crate::app::model::local::DownloadState;
    // As in the program, the card knows how many rows there are.
    let snapshots = |name: &str, mut model: crate::app::Model| {
        for (columns, rows) in [(140, 45), (100, 30), (60, 20)] {
            if let Some(card) = &mut model.first_run {
                card.room = rows;
            }
            insta::assert_snapshot!(format!("{name}-{columns}x{rows}"), shown(&model, columns, rows));
        }
    };
    snapshots("first-run-local", fixture::first_run_local());
    snapshots("first-run-running", fixture::first_run_download(DownloadState::Running));
    snapshots("first-run-paused", fixture::first_run_download(DownloadState::Paused));
    let why = "could not get Qwen3.5 4B: huggingface.co broke off. Check the network, HTTPS_PROXY and models.mirror; a download resumes where it stopped";
    snapshots("first-run-failed", fixture::first_run_download(DownloadState::Failed(why.into())));
    let mut model = fixture::first_run_local();
    let why = "the engine needs Python 3.10 or newer, which is not in PATH: install it, or install llama.cpp";
    if let Some(offers) = &mut model.local.offers {
        offers.missing = Some(why.into());
    }
    snapshots("first-run-no-engine", model);
    let mut model = fixture::first_run_local();
    model.local.offers = Some(fixture::offers());
    insta::assert_snapshot!("first-run-here", shown(&model, 100, 30));
}

#[test]
fn models_for_this_computer() {
    let mut model = fixture::model();
    model.local.offers = Some(fixture::offers());
    crate::app::lists::local_models::pick(&mut model, &mut Vec::new());
    snapshots("local-models", &model);
}

#[test]
fn a_local_model_at_work() {
    use crate::app::model::local::{DownloadState, Served, ServedState};
    let mut model = fixture::busy();
    model.local.download = fixture::first_run_download(DownloadState::Running).local.download;
    let served = |name: &str, state, memory| Served { name: name.into(), state, memory };
    model.local.served = vec![
        served("qwen3.5-4b", ServedState::On, Some(3_400_000_000)),
        served("qwen3-0.6b", ServedState::Loading, None),
        served("gpt-oss-20b", ServedState::Asleep, None),
    ];
    snapshots("local-served", &model);
}

#[test]
fn a_terminal_taken_over() {
    snapshots("terminal", &fixture::with_terminal());
}

#[test]
fn each_modal() {
    for (name, model) in super::modals::modals() {
        insta::assert_snapshot!(format!("modal-{name}"), shown(&model, 100, 30));
        if name == "replay" {
            insta::assert_snapshot!("modal-replay-small", shown(&model, 60, 20));
        }
        if name.starts_with("stats") {
            insta::assert_snapshot!(format!("modal-{name}-small"), shown(&model, 60, 20));
        }
    }
}

#[test]
fn sessions_of_other_agents() {
    use crate::app::model::modal::{Modal, SessionBrowser, SessionScope};
    use crate::app::model::types::SessionRow;
    use crate::text::{Line, Role};
    let row = |agent: &str, title: Option<&str>, prompt: &str, items: u64, hours: i64| SessionRow {
        id: format!("@{agent}:1"),
        title: title.map(str::to_owned),
        preview: prompt.into(),
        cwd: "/home/sam/src/shop".into(),
        model: agent.into(),
        updated_at: fixture::NOW - hours * 3_600_000,
        items,
        ..SessionRow::default()
    };
    let rows = vec![
        row("Codex gpt-5.1-codex", None, "make the checkout total agree with the invoice", 0, 2),
        row("Claude Code claude-sonnet-4-5", Some("Race in the cart"), "why does it fail", 42, 26),
        row("opencode kimi-k2", Some("Docs of the API"), "write the docs", 1, 50),
        row("Python Hermes gpt-5", None, "tidy the tests", 310, 900),
    ];
    let preview = vec![
        Line::plain("❯ make the checkout total agree with the invoice", Role::Strong),
        Line::plain("The invoice rounds each line, the checkout rounds the sum.", Role::Text),
    ];
    let browser = SessionBrowser { rows, preview, scope: SessionScope::Elsewhere, ..SessionBrowser::default() };
    let mut model = fixture::busy();
    model.tab.modals.push(Modal::Sessions(Box::new(browser)));
    for (columns, rows) in [(100, 30), (60, 20)] {
        insta::assert_snapshot!(format!("elsewhere-{columns}x{rows}"), shown(&model, columns, rows));
    }
}

#[test]
fn a_sign_in_shows_its_picture_where_it_fits() {
    use crate::app::model::modal::Modal;
    use crate::app::model::sign_in::{SignInStage, Visit};
    let mut model = fixture::busy();
    model.tab.modals = vec![Modal::SignIn(Box::new(super::modals::sign_in()))];
    for (columns, rows) in [(140, 45), (60, 20)] {
        insta::assert_snapshot!(format!("sign-in-{columns}"), shown(&model, columns, rows));
    }
    let mut state = super::modals::sign_in();
    let address =
        "https://openrouter.ai/auth?callback_url=http%3A%2F%2Flocalhost%3A41234%2Fcallback&code_challenge=abc"
            .to_owned();
    state.stage = SignInStage::Browser(Visit { address, ends: fixture::NOW + 300_000, ..Visit::default() });
    model.tab.modals = vec![Modal::SignIn(Box::new(state.clone()))];
    insta::assert_snapshot!("sign-in-browser", shown(&model, 100, 30));
    state.stage =
        SignInStage::Failed("the code for nous expired before it was entered; run `hermes login nous`".into());
    model.tab.modals = vec![Modal::SignIn(Box::new(state))];
    insta::assert_snapshot!("sign-in-failed", shown(&model, 60, 20));
}

#[test]
fn the_smallest_screens() {
    insta::assert_snapshot!("smallest", shown(&fixture::busy(), 40, 12));
    insta::assert_snapshot!("too-small", shown(&fixture::busy(), 39, 11));
    assert!(shown(&fixture::approval(), 39, 11).contains("a question is waiting"));
}

#[test]
fn no_state_breaks_at_any_corner_size() {
    for (_, model) in all() {
        for (columns, rows) in [(0, 0), (1, 1), (10, 3), (39, 11), (40, 12), (79, 19), (80, 20), (119, 24), (300, 100)]
        {
            shown(&model, columns, rows);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn no_size_breaks_any_state(columns in 0u16..200, rows in 0u16..60, pick in 0usize..15) {
        let states = all();
        let (_, model) = &states[pick % states.len()];
        let (_, layout) = screen(model, &mut ViewCache::default(), columns, rows);
        for (area, hit) in &layout.targets {
            prop_assert!(area.x + area.width <= columns.max(1) && area.y + area.height <= rows.max(1), "{hit:?} {area:?}");
        }
    }
}

/// The tail of a command is there on every usable screen: shown, or reached by scrolling.
#[test]
fn the_tail_of_a_command_is_never_cut() {
    use crate::app::model::approvals::Entry;
    use crate::app::model::modal::Modal;
    use crate::policy::Intent;
    let mut model = fixture::approval();
    for entry in &mut model.tab.approvals.entries {
        if let Entry::Approval(approval) = entry
            && let Intent::Command { line, .. } = &mut approval.intent
        {
            *line = format!("{} && rm -rf /THE_END", "echo padding; ".repeat(60));
        }
    }
    for (columns, rows) in [(40, 12), (60, 20), (140, 45)] {
        let mut seen = false;
        for scroll in 0..100 {
            if let Some(Modal::Approval(state)) = model.tab.modals.last_mut() {
                state.scroll = scroll;
                state.read.begun = true;
            }
            seen |= shown(&model, columns, rows).replace(['│', '\n', ' '], "").contains("THE_END");
        }
        assert!(seen, "{columns}x{rows}");
    }
}

/// A long command shows its first reason at once, without its middle.
#[test]
fn a_long_command_opens_at_its_first_reason() {
    use crate::app::model::approvals::Entry;
    use crate::policy::{Intent, Verdict, Why};
    let mut model = fixture::approval();
    for entry in &mut model.tab.approvals.entries {
        if let Entry::Approval(approval) = entry
            && let Intent::Command { line, .. } = &mut approval.intent
        {
            let start = format!("{} && ", "echo padding; ".repeat(500));
            *line = format!("{start}rm -rf /FLAGGED; {}", "echo after; ".repeat(200));
            let why =
                Why { effect: "recursive delete".into(), text: String::new(), span: start.len()..start.len() + 15 };
            approval.verdict = Verdict::Ask(vec![why]);
        }
    }
    for (columns, rows) in [(60, 20), (140, 45)] {
        let (text, layout) = screen(&model, &mut ViewCache::default(), columns, rows);
        assert!(text.contains("/FLAGGED;") && text.contains("─ recursive delete"), "{columns}x{rows} {text}");
        let reading = layout.reading.expect("a text to approve");
        // Its middle is left out; what must be seen begins with its reason, and some of it is below the fold at the most.
        assert!(reading.folded && reading.must.first() < Some(&(reading.first + reading.rows)), "{reading:?}");
    }
}

#[test]
fn answers_say_all_that_they_grant() {
    use crate::app::model::approvals::Entry;
    use crate::app::model::modal::{ApprovalChoice, ApprovalStage, Modal};
    use crate::policy::{Verdict, Why, proposals};
    let mut model = fixture::approval();
    for entry in &mut model.tab.approvals.entries {
        if let Entry::Approval(approval) = entry {
            let why = |number| Why { effect: format!("class number {number}"), text: String::new(), span: 0..2 };
            approval.verdict = Verdict::Ask((1..=6).map(why).collect());
            approval.proposals = proposals::offered(&approval.intent, &approval.verdict);
        }
    }
    for choice in [ApprovalChoice::Session, ApprovalChoice::Always] {
        if let Some(Modal::Approval(state)) = model.tab.modals.last_mut() {
            state.selected = choice;
            state.stage = ApprovalStage::Confirming;
        }
        let text = shown(&model, 100, 45);
        let below = text.rsplit("asked by").next().unwrap_or_default().replace(['│', '\n'], " ");
        let below = below.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!((1..=6).all(|number| below.contains(&format!("class number {number}"))), "{text}");
    }
}

#[test]
fn the_caret_is_where_the_person_types() {
    let mut model = fixture::model();
    model.tab.composer.area = tui_textarea::TextArea::new(vec!["first".into(), "日本 x".into()]);
    model.tab.composer.area.move_cursor(tui_textarea::CursorMove::Bottom);
    model.tab.composer.area.move_cursor(tui_textarea::CursorMove::End);
    let mut terminal = ratatui::Terminal::new(ratatui::backend::TestBackend::new(60, 20)).unwrap();
    let mut cache = ViewCache::default();
    terminal
        .draw(|frame| {
            crate::ui::draw(&model, &mut cache, frame);
        })
        .unwrap();
    let caret = terminal.get_cursor_position().unwrap();
    assert_eq!((caret.x, caret.y), (4 + 6, 18));
}
