//! Sending, queueing, steering, stopping: whole lists of effects.

use super::*;
use crate::app::msg::Msg;
use crate::app::tests::{item, key, model, opened, ready, script, script_at, user};
use crate::app::update;
use crate::app::window::wake;
use crate::protocol::{AgentEvent, AssistantBody, Body};

fn agent(model: &mut Model, now: i64, event: AgentEvent) -> Vec<Effect> {
    update(model, now, Msg::Agent(event))
}

fn queued(model: &Model) -> Vec<&str> {
    model.tab.queue.texts().collect()
}

fn steer(text: &str) -> AgentCommand {
    AgentCommand::Steer { text: text.into(), images: vec![] }
}

fn outcome(end: TurnEnd) -> AgentEvent {
    AgentEvent::TurnFinished(TurnOutcome { turn: 1, end, steps: 1, duration_ms: 1500 })
}

fn draft(text: &str) -> Effect {
    Effect::Store(StoreJob::SaveDraft { session: None, cwd: "/src/app".into(), text: text.into() })
}

fn submitted(text: &str) -> Effect {
    Effect::Agent(AgentCommand::Submit { text: text.into(), images: vec![] })
}

fn orders(effects: &[Effect]) -> Vec<&AgentCommand> {
    let orders = effects.iter().filter_map(|effect| match effect {
        Effect::Agent(command) => Some(command),
        _ => None,
    });
    orders.collect()
}

/// A turn that runs, its prompt durable.
fn running() -> Model {
    let mut model = ready();
    script(&mut model, "go<ret>");
    agent(&mut model, 0, AgentEvent::TurnStarted { turn: 1, at: 0 });
    agent(&mut model, 0, AgentEvent::ItemFinished(user(1, "go")));
    model
}

#[test]
fn enter_sends_stores_and_clears() {
    let mut model = ready();
    script(&mut model, "hello");
    let effects = script(&mut model, "<ret>");
    let expected = [
        draft(""),
        Effect::Store(StoreJob::AddHistory("hello".into())),
        submitted("hello"),
        Effect::Title("… app — Hermes".into()),
        Effect::WakeAt(100),
    ];
    assert_eq!(effects, expected);
    assert!(composer::is_empty(&model.tab.composer));
}

#[test]
fn what_enter_does_depends_on_what_runs() {
    let mut model = running();
    assert_eq!(orders(&script(&mut model, "second<ret>third<ret>")), [] as [&AgentCommand; 0], "queued");
    assert_eq!(queued(&model), ["second", "third"]);
    let effects = script(&mut model, "<ret>");
    assert_eq!(orders(&effects), [&steer("second")], "an empty Enter steers");
    let effects = agent(&mut model, 2000, outcome(TurnEnd::Completed));
    let third = AgentCommand::Submit { text: "third".into(), images: vec![] };
    assert_eq!(orders(&effects), [&third], "the next one starts by itself");
    assert!(model.tab.queue.is_empty());
}

#[test]
fn the_queue_waits_after_a_stop_and_a_failure() {
    for end in [TurnEnd::Stopped, TurnEnd::Provider("no credit: add some".into()), TurnEnd::Error("disk full".into())] {
        let mut model = running();
        script(&mut model, "next<ret>");
        let effects = agent(&mut model, 2000, outcome(end));
        assert!(orders(&effects).is_empty());
        assert_eq!(queued(&model), ["next"]);
        assert!(model.notices.shown.iter().any(|notice| notice.text.contains("queued prompt")));
        assert_eq!(orders(&script(&mut model, "<ret>")).len(), 1, "Enter on an empty composer sends it");
    }
}

#[test]
fn escape_stops_and_the_second_one_forces() {
    let mut model = running();
    let effects = script(&mut model, "draft<esc>");
    assert_eq!(orders(&effects), [&AgentCommand::Stop { force: false }]);
    assert_eq!(orders(&script(&mut model, "<esc>")), [&AgentCommand::Stop { force: true }]);
    assert_eq!(composer::text(&model.tab.composer), "draft");
}

#[test]
fn escape_closes_a_popup_then_a_selection_then_stops() {
    let mut model = running();
    script(&mut model, "/he");
    let spot = crate::app::model::transcript::Spot { cell: model.tab.transcript.cells[0].id, row: 0, column: 0 };
    model.tab.transcript.selection =
        Some(crate::app::model::transcript::Selection { from: spot, to: spot, grain: Default::default() });
    assert!(orders(&script(&mut model, "<esc>")).is_empty());
    assert!(model.tab.composer.completion.is_none() && model.tab.transcript.selection.is_some());
    assert!(orders(&script(&mut model, "<esc>")).is_empty());
    assert!(model.tab.transcript.selection.is_none());
    assert_eq!(orders(&script(&mut model, "<esc>")).len(), 1);
}

#[test]
fn ctrl_c_stops_then_puts_the_draft_aside_then_quits() {
    let mut model = running();
    script(&mut model, "draft");
    assert_eq!(orders(&script(&mut model, "<C-c>")), [&AgentCommand::Stop { force: false }]);
    agent(&mut model, 0, outcome(TurnEnd::Stopped));
    script(&mut model, "<C-c>");
    assert_eq!(model.tab.composer.drafts, ["draft"]);
    assert!(!script_at(&mut model, 10, "<C-c>").contains(&Effect::Quit(0)), "armed");
    assert!(script_at(&mut model, 20, "<C-c>").contains(&Effect::Quit(0)));
}

#[test]
fn the_second_ctrl_c_comes_too_late_after_two_seconds_or_another_key() {
    let mut model = ready();
    script_at(&mut model, 0, "<C-c>");
    update(&mut model, 2000, Msg::Woke);
    assert!(!script_at(&mut model, 2001, "<C-c>").contains(&Effect::Quit(0)));
    script_at(&mut model, 2002, "x<backspace>");
    assert!(!script_at(&mut model, 2003, "<C-c>").contains(&Effect::Quit(0)));
}

#[test]
fn a_retry_wait_is_ended_by_escape_and_cut_short_by_enter() {
    for (keys, go_on) in [("<esc>", false), ("<ret>", true)] {
        let mut model = running();
        let retry = AgentEvent::Retrying { reason: "overloaded".into(), attempt: 1, of: 3, until: 9000 };
        agent(&mut model, 1500, retry);
        assert_eq!(orders(&script(&mut model, keys)), [&AgentCommand::SkipWait(go_on)]);
        assert_eq!(wake::next_wake(&model), Some(2000), "the countdown ticks once a second");
    }
}

#[test]
fn the_strip_edits_steers_and_drops() {
    for (keys, queue, text, steered) in [
        ("<C-x>q<down>e", vec!["one"], "two", None),
        ("<C-x>qs", vec!["two"], "", Some("one")),
        ("<C-x>qx", vec!["two"], "", None),
    ] {
        let mut model = running();
        script(&mut model, "one<ret>two<ret>");
        let effects = script(&mut model, keys);
        assert_eq!(queued(&model), queue, "{keys}");
        assert_eq!(composer::text(&model.tab.composer), text, "{keys}");
        let steer = steered.map(steer);
        assert_eq!(orders(&effects), steer.iter().collect::<Vec<_>>(), "{keys}");
        if keys.ends_with('x') {
            assert_eq!(model.tab.composer.drafts, ["one"], "a dropped prompt can be brought back");
        }
    }
}

#[test]
fn a_prompt_before_the_session_opens_waits_for_it() {
    let mut model = model();
    script(&mut model, "early<ret>");
    assert_eq!(queued(&model), ["early"]);
    let effects = opened(&mut model, "s", &[]);
    assert!(effects.contains(&submitted("early")), "{effects:?}");
}

#[test]
fn a_refused_prompt_comes_back() {
    let mut model = ready();
    script(&mut model, "precious<ret>");
    agent(&mut model, 10, AgentEvent::Notice { level: Level::Error, text: "a server failed".into() });
    assert_eq!(composer::text(&model.tab.composer), "", "another error has nothing to do with it");
    assert!(is_running(&model));
    agent(&mut model, 10, AgentEvent::NotTaken("a turn is running".into()));
    assert_eq!(composer::text(&model.tab.composer), "precious");
    assert_eq!(model.tab.turn, TurnStatus::Idle);
    assert!(model.notices.shown.iter().any(|notice| notice.text == "a turn is running"));
    script(&mut model, "<ret>other");
    agent(&mut model, 20, outcome(TurnEnd::Error("the disk is full".into())));
    assert_eq!(composer::text(&model.tab.composer), "other", "what was typed since stays");
    assert_eq!(model.tab.composer.drafts, ["precious"]);
}

#[test]
fn a_long_turn_notifies_only_when_nobody_looks() {
    for (focused, long, notified) in [(true, true, false), (false, true, true), (false, false, false)] {
        let mut model = running();
        update(&mut model, 0, Msg::FocusChanged(focused));
        let duration_ms = if long { 60_000 } else { 900 };
        let end = TurnOutcome { turn: 1, end: TurnEnd::Completed, steps: 1, duration_ms };
        let effects = agent(&mut model, 60_000, AgentEvent::TurnFinished(end));
        assert_eq!(effects.iter().any(|effect| matches!(effect, Effect::Notify(_))), notified);
    }
}

#[test]
fn a_failed_turn_says_why_once() {
    let mut model = running();
    let note = Body::Note { kind: NoteKind::Error, text: "no key: add one".into() };
    agent(&mut model, 0, AgentEvent::ItemFinished(item(2, note)));
    agent(&mut model, 0, outcome(TurnEnd::Provider("no key: add one".into())));
    let said = model.tab.transcript.cells.iter().filter(|cell| cell.source() == "no key: add one").count();
    assert_eq!(said, 1);
}

#[test]
fn keys_are_never_lost_whatever_arrives_between_them() {
    let mut model = running();
    let answer = AssistantBody { text: "hi".into(), ..AssistantBody::default() };
    let between = [
        AgentEvent::TextDelta("h".into()),
        AgentEvent::StreamReset,
        AgentEvent::ItemFinished(item(2, Body::Assistant(answer))),
        outcome(TurnEnd::Completed),
        AgentEvent::Notice { level: Level::Error, text: "x".into() },
    ];
    for (event, c) in between.into_iter().zip(["a", "b", "c", "d", "e"]) {
        update(&mut model, 0, key(c));
        agent(&mut model, 0, event);
    }
    assert_eq!(composer::text(&model.tab.composer), "abcde");
}

#[test]
fn editing_a_queued_prompt_keeps_the_draft_and_says_so() {
    let mut model = ready();
    script(&mut model, "first<ret>queued<ret>half a thought<C-x>qe");
    assert_eq!(composer::text(&model.tab.composer), "queued");
    let said = &model.notices.shown.last().expect("a notice").text;
    assert!(said.contains("stashed") && said.contains("restores it"), "{said}");
    script(&mut model, "<C-x>D");
    assert_eq!(composer::text(&model.tab.composer), "half a thought");
}

#[test]
fn a_turn_that_never_began_leaves_no_order_to_go_on() {
    let refused = || Msg::Agent(AgentEvent::NotTaken("not sent".into()));
    for opens in [false, true] {
        let mut model = ready();
        std::sync::Arc::make_mut(&mut model.config).display.busy_input_mode = "interrupt".into();
        script(&mut model, "go<ret>instead<ret>");
        assert!(model.tab.sends_after_stop);
        if opens {
            crate::app::tests::opened(&mut model, "other", &[]);
        } else {
            update(&mut model, 0, refused());
        }
        assert!(!model.tab.sends_after_stop, "opens {opens}");
    }
}

#[test]
fn a_prompt_that_met_another_turn_comes_back_and_the_turn_runs_on() {
    let mut model = ready();
    script(&mut model, "mine<ret>");
    agent(&mut model, 0, AgentEvent::TurnStarted { turn: 4, at: 0 });
    agent(&mut model, 0, AgentEvent::NotTaken("a turn is running".into()));
    assert_eq!(composer::text(&model.tab.composer), "mine");
    assert!(matches!(&model.tab.turn, TurnStatus::Running(running) if running.turn == 4));
}

#[test]
fn the_other_key_does_what_enter_does_not() {
    for (mode, keys, queue, ordered) in [
        ("queue", "aside<C-s>", vec![], vec![steer("aside")]),
        ("queue", "later<ret>", vec!["later"], vec![]),
        ("steer", "later<C-s>", vec!["later"], vec![]),
        ("steer", "aside<ret>", vec![], vec![steer("aside")]),
        ("interrupt", "later<C-s>", vec!["later"], vec![]),
        ("queue", "<C-s>", vec![], vec![]),
    ] {
        let mut model = running();
        std::sync::Arc::make_mut(&mut model.config).display.busy_input_mode = mode.into();
        let effects = script(&mut model, keys);
        assert_eq!(queued(&model), queue, "{mode} {keys}");
        assert_eq!(orders(&effects), ordered.iter().collect::<Vec<_>>(), "{mode} {keys}");
    }
    let mut model = ready();
    assert_eq!(orders(&script(&mut model, "go<C-s>")).len(), 1, "nothing runs: it is sent");
}

#[test]
fn the_line_of_a_turn_says_how_it_ended() {
    for (end, steps, duration_ms, line) in [
        (TurnEnd::Completed, 2, 3_210, "2 steps · 3.2 s"),
        (TurnEnd::Completed, 1, 40, "1 step · 0.0 s"),
        (TurnEnd::Stopped, 1, 12_900, "stopped · 1 step · 12 s"),
        (TurnEnd::Limit, 90, 3_725_000, "limit reached · 90 steps · 1 h 2 m"),
        (TurnEnd::Error("x".into()), 3, 225_000, "failed · 3 steps · 3 m 45 s"),
    ] {
        assert_eq!(TurnOutcome { turn: 1, end, steps, duration_ms }.line(), line);
    }
}

#[test]
fn the_end_of_a_turn_comes_as_an_item_and_stands_under_its_error() {
    let mut model = running();
    let note = |kind, text: &str| Body::Note { kind, text: text.into() };
    agent(&mut model, 0, AgentEvent::ItemFinished(item(2, note(NoteKind::Error, "no key"))));
    agent(&mut model, 0, AgentEvent::ItemFinished(item(3, note(NoteKind::TurnEnd, "failed · 1 step · 0.1 s"))));
    agent(&mut model, 0, outcome(TurnEnd::Provider("no key".into())));
    let shown: Vec<&str> = model.tab.transcript.cells.iter().map(|cell| cell.source()).collect();
    assert_eq!(shown, ["go", "no key", "failed · 1 step · 0.1 s"]);
    let last = model.tab.transcript.cells.last().expect("a cell");
    assert!(matches!(last.kind, CellKind::TurnEnd { .. }) && last.item.is_some());
}

#[test]
fn escape_comes_back_from_a_pane_before_it_stops_the_turn() {
    for pane in [Pane::Terminal, Pane::Conversation, Pane::Sidebar, Pane::Queue] {
        let mut model = ready();
        script(&mut model, "go<ret>");
        model.tab.processes.pane.open = true;
        model.tab.focus = pane;
        let stops = |effects: &[Effect]| effects.contains(&Effect::Agent(AgentCommand::Stop { force: false }));
        assert!(!stops(&script(&mut model, "<esc>")), "{pane:?}");
        assert_eq!(model.tab.focus, Pane::Composer);
        assert!(stops(&script(&mut model, "<esc>")), "{pane:?}");
    }
}

#[test]
fn what_is_sent_while_a_turn_stops_follows_it() {
    for mode in ["queue", "steer", "interrupt"] {
        for text in ["then this", "!ls"] {
            let mut model = running();
            std::sync::Arc::make_mut(&mut model.config).display.busy_input_mode = mode.into();
            let effects = script(&mut model, "<C-c>");
            assert_eq!(orders(&effects), [&AgentCommand::Stop { force: false }]);
            let effects = script(&mut model, &format!("{text}<ret>"));
            assert!(orders(&effects).is_empty(), "{mode}: the stop goes on as it is: {effects:?}");
            assert_eq!(queued(&model), [text]);
            let effects = agent(&mut model, 0, outcome(TurnEnd::Stopped));
            assert_eq!(orders(&effects).len(), 1, "{mode}: it is sent: {effects:?}");
            assert!(queued(&model).is_empty());
        }
    }
}
