//! Cells from deltas, items and stored pages.

use super::*;
use crate::app::model::TurnStatus;
use crate::app::msg::Msg;
use crate::app::reading::select;
use crate::app::tests::{item, opened, ready, user};
use crate::app::update;
use crate::protocol::{AgentEvent, ToolStart};

fn agent(model: &mut Model, event: AgentEvent) {
    update(model, 0, Msg::Agent(event));
}

fn answer(text: &str, reasoning: &str, calls: &[&str]) -> Body {
    let call = |id: &&str| ToolCall {
        id: (*id).into(),
        name: "terminal".into(),
        args: r#"{"command":"ls  -l"}"#.into(),
        repaired: false,
        via: String::new(),
    };
    Body::Assistant(AssistantBody {
        text: text.into(),
        reasoning: reasoning.into(),
        calls: calls.iter().map(call).collect(),
        ..AssistantBody::default()
    })
}

fn result(call_id: &str, outcome: Outcome) -> Body {
    Body::Tool(ToolBody {
        call_id: call_id.into(),
        name: "terminal".into(),
        content: "out".into(),
        outcome,
        duration_ms: 7,
        ..ToolBody::default()
    })
}

fn start(call_id: &str) -> AgentEvent {
    AgentEvent::ToolStarted(ToolStart {
        call_id: call_id.into(),
        name: "terminal".into(),
        emoji: "💻".into(),
        verb: "running".into(),
        target: "ls -l".into(),
        at: 5,
        within: None,
    })
}

fn states(model: &Model) -> Vec<(String, ToolState)> {
    let tools = model.tab.transcript.cells.iter().filter_map(|cell| match &cell.kind {
        CellKind::Tool(tool) => Some((tool.call_id.clone(), tool.state)),
        _ => None,
    });
    tools.collect()
}

#[test]
fn what_streams_grows_one_cell_and_the_item_takes_its_place() {
    let mut model = ready();
    agent(&mut model, AgentEvent::ReasoningDelta("hm".into()));
    agent(&mut model, AgentEvent::TextDelta("Hel".into()));
    agent(&mut model, AgentEvent::TextDelta("lo".into()));
    let before: Vec<_> = model.tab.transcript.cells.iter().map(|cell| (cell.id, cell.finished)).collect();
    assert_eq!(before.len(), 2);
    assert!(before.iter().all(|(_, finished)| !finished));
    agent(&mut model, AgentEvent::ItemFinished(item(3, answer("Hello.", "hm", &["a"]))));
    let cells = &model.tab.transcript.cells;
    assert_eq!((cells[0].id, cells[1].id), (before[0].0, before[1].0), "no flicker: the same cells");
    assert_eq!(cells[1].source(), "Hello.");
    assert!(cells[1].finished && cells[1].item == Some(ItemId(3)));
    assert_eq!(states(&model), [("a".into(), ToolState::Proposed)]);
}

#[test]
fn every_change_bumps_the_revision() {
    let mut model = ready();
    agent(&mut model, AgentEvent::TextDelta("a".into()));
    let first = model.tab.transcript.cells[0].revision;
    agent(&mut model, AgentEvent::TextDelta("b".into()));
    let second = model.tab.transcript.cells[0].revision;
    agent(&mut model, AgentEvent::ItemFinished(item(1, answer("ab", "", &[]))));
    let third = model.tab.transcript.cells[0].revision;
    assert!(first < second && second < third);
}

#[test]
fn calls_go_from_proposed_to_done() {
    let mut model = ready();
    agent(&mut model, AgentEvent::ItemFinished(item(1, answer("", "", &["a", "b"]))));
    agent(&mut model, start("a"));
    assert_eq!(states(&model), [("a".into(), ToolState::Running), ("b".into(), ToolState::Proposed)]);
    agent(&mut model, AgentEvent::ToolProgress { call_id: "a".into(), line: "half".into() });
    agent(&mut model, AgentEvent::ItemFinished(item(2, result("a", Outcome::Failed))));
    assert_eq!(states(&model)[0].1, ToolState::Done(Outcome::Failed));
    let CellKind::Tool(tool) = &model.tab.transcript.cells[0].kind else { unreachable!("a tool cell") };
    assert_eq!((tool.emoji.as_str(), tool.target.as_str(), tool.progress.as_str()), ("💻", "ls -l", ""));
    assert_eq!(tool.duration_ms, Some(7));
    close_open(&mut model);
    assert_eq!(states(&model)[1].1, ToolState::Done(Outcome::Interrupted), "nothing hangs after the turn");
    assert!(model.tab.transcript.cells.iter().all(|cell| cell.finished));
}

#[test]
fn a_broken_stream_leaves_nothing_behind() {
    let mut model = ready();
    agent(&mut model, AgentEvent::ItemFinished(user(1, "q")));
    agent(&mut model, AgentEvent::TextDelta("part".into()));
    agent(&mut model, AgentEvent::StreamReset);
    agent(&mut model, AgentEvent::TextDelta("again".into()));
    let texts: Vec<&str> = model.tab.transcript.cells.iter().map(|cell| cell.source()).collect();
    assert_eq!(texts, ["q", "again"]);
}

#[test]
fn a_resumed_session_pairs_calls_with_results() {
    let mut model = ready();
    let items = vec![
        user(1, "list"),
        item(2, answer("I look.", "think", &["a", "b"])),
        item(3, result("b", Outcome::Ok)),
        item(4, result("a", Outcome::Denied)),
        item(5, answer("Done.", "", &[])),
    ];
    super::opened(&mut model, items);
    assert_eq!(
        states(&model),
        [("a".into(), ToolState::Done(Outcome::Denied)), ("b".into(), ToolState::Done(Outcome::Ok))]
    );
    assert_eq!(model.tab.transcript.cells.len(), 6);
    assert_eq!(model.tab.transcript.older, Older::None);
}

#[test]
fn a_page_border_between_call_and_result_shows_the_call_once() {
    let mut model = ready();
    opened(&mut model, "s", &[]);
    super::opened(&mut model, vec![item(3, result("a", Outcome::Ok)), item(4, answer("Done.", "", &[]))]);
    assert_eq!(model.tab.transcript.older, Older::Before(ItemId(3)));
    model.tab.transcript.older = Older::Loading;
    older(&mut model, &"s".into(), vec![user(1, "q"), item(2, answer("I look.", "", &["a"]))], false);
    let texts: Vec<&str> = model.tab.transcript.cells.iter().map(|cell| cell.source()).collect();
    assert_eq!(texts, ["q", "I look.", "out", "Done."]);
    assert_eq!(states(&model), [("a".into(), ToolState::Done(Outcome::Ok))]);
}

#[test]
fn cell_ids_are_never_used_again() {
    let mut model = ready();
    super::opened(&mut model, vec![user(1, "a"), user(2, "b")]);
    let before: Vec<CellId> = model.tab.transcript.cells.iter().map(|cell| cell.id).collect();
    super::opened(&mut model, vec![user(1, "c")]);
    assert!(!before.contains(&model.tab.transcript.cells[0].id));
}

#[test]
fn a_call_that_is_written_keeps_its_name_and_takes_that_of_what_it_holds() {
    let mut model = ready();
    update(&mut model, 1000, Msg::Agent(AgentEvent::TurnStarted { turn: 1, at: 1000 }));
    for (name, bytes, want) in [
        ("tool_call", 0, "tool_call"),
        ("", 9, "tool_call"),
        ("mcp__gh__find", 0, "mcp__gh__find"),
        ("", 30, "mcp__gh__find"),
    ] {
        update(&mut model, 1000, Msg::Agent(AgentEvent::CallDelta { index: 0, name: name.into(), bytes }));
        let TurnStatus::Running(running) = &model.tab.turn else { panic!("no turn") };
        assert_eq!(running.calls.last().map(|call| call.1.as_str()), Some(want));
    }
    let TurnStatus::Running(running) = &model.tab.turn else { panic!("no turn") };
    assert_eq!(running.calls, [(0, "mcp__gh__find".to_owned(), 30)]);
}

#[test]
fn reasoning_is_timed_until_something_else_begins() {
    use crate::app::model::transcript::Thinking;
    let time = |model: &Model| {
        model.tab.transcript.cells.iter().find_map(|cell| match cell.kind {
            CellKind::Reasoning { time, .. } => Some(time),
            _ => None,
        })
    };
    let call = || AgentEvent::CallDelta { index: 0, name: "terminal".into(), bytes: 1 };
    for next in [AgentEvent::TextDelta("so".into()), call()] {
        let mut model = ready();
        update(&mut model, 1000, Msg::Agent(AgentEvent::TurnStarted { turn: 1, at: 1000 }));
        update(&mut model, 2000, Msg::Agent(AgentEvent::ReasoningDelta("hm".into())));
        update(&mut model, 4000, Msg::Agent(AgentEvent::ReasoningDelta("m".into())));
        assert_eq!(time(&model), Some(Thinking::Since(2000)));
        update(&mut model, 6500, Msg::Agent(next));
        assert_eq!(time(&model), Some(Thinking::For(4500)));
        let answer = AssistantBody { reasoning: "hmm".into(), text: "so".into(), ..AssistantBody::default() };
        update(&mut model, 9000, Msg::Agent(AgentEvent::ItemFinished(item(2, Body::Assistant(answer)))));
        assert_eq!(time(&model), Some(Thinking::For(4500)), "as long as it was");
    }
}

#[test]
fn what_the_program_wrote_folds_to_its_gist() {
    let mut model = ready();
    let told = |gist: &str| Body::User {
        text: "[Background process p1 exited (exit code 1).\nOutput:\nlong]".into(),
        images: Vec::new(),
        context: String::new(),
        origin: Origin::Program,
        gist: gist.into(),
    };
    for (id, gist) in [(1, "npm exited with 1; the model was notified"), (2, "")] {
        agent(&mut model, AgentEvent::ItemFinished(item(id, told(gist))));
    }
    let live: Vec<CellKind> = model.tab.transcript.cells.iter().map(|cell| cell.kind.clone()).collect();
    let gists: Vec<&str> = live
        .iter()
        .filter_map(|kind| if let CellKind::Told { gist, .. } = kind { Some(gist.as_str()) } else { None })
        .collect();
    // an item from before there were gists shows its first line
    assert_eq!(gists, ["npm exited with 1; the model was notified", "Background process p1 exited (exit code 1)."]);
    let before = model.tab.transcript.cells[1].revision;
    select::expand(&mut model);
    assert!(model.tab.transcript.cells[1].expanded && model.tab.transcript.cells[1].revision > before);
    // and the same after a resume
    let items = vec![item(1, told("npm exited with 1; the model was notified")), item(2, told(""))];
    super::opened(&mut model, items);
    assert_eq!(model.tab.transcript.cells.iter().map(|cell| cell.kind.clone()).collect::<Vec<_>>(), live);
}

#[test]
fn no_json_reaches_a_tool_cell() {
    let mut model = ready();
    let body = |content: &str, approval: &str| {
        let mut body =
            ToolBody { call_id: "c".into(), name: "patch".into(), content: content.into(), ..ToolBody::default() };
        body.outcome = Outcome::Failed;
        body.view.approval = approval.into();
        Body::Tool(body)
    };
    for (content, approval, expected) in [
        (r#"{"error":"no such file","similar_files":["a.rs"]}"#, "", "no such file\nsimilar files:\n  a.rs"),
        (r#"{"error":"denied by you","status":"blocked"}"#, "denied by you", ""),
    ] {
        agent(&mut model, AgentEvent::ItemFinished(item(1, body(content, approval))));
        let Some(CellKind::Tool(tool)) = model.tab.transcript.call("c").map(|cell| cell.kind.clone()) else {
            panic!("a tool cell")
        };
        assert_eq!(&*tool.output, expected);
    }
}

#[test]
fn a_call_whose_id_was_there_before_has_a_row_of_its_own() {
    let mut model = ready();
    let call = |id: i64, name: &str, result: &str| {
        let call = ToolCall { id: "call_0".into(), name: name.into(), args: "{}".into(), ..ToolCall::default() };
        let asked = AssistantBody { calls: vec![call], ..AssistantBody::default() };
        let body =
            ToolBody { call_id: "call_0".into(), name: name.into(), content: result.into(), ..ToolBody::default() };
        [item(id, Body::Assistant(asked)), item(id + 1, Body::Tool(body))]
    };
    for told in call(1, "first", "one").into_iter().chain(call(3, "second", "two")) {
        agent(&mut model, AgentEvent::ItemFinished(told));
    }
    let row = |kind: &CellKind| match kind {
        CellKind::Tool(tool) => Some((tool.name.to_string(), tool.output.to_string())),
        _ => None,
    };
    let rows: Vec<_> = model.tab.transcript.cells.iter().filter_map(|cell| row(&cell.kind)).collect();
    assert_eq!(rows, [("first".into(), "one".into()), ("second".into(), "two".into())] as [(String, String); 2]);
}

#[test]
fn the_end_of_a_turn_and_the_time_of_its_thoughts_come_back() {
    let mut model = ready();
    let answer = AssistantBody {
        reasoning: "hmm".into(),
        text: "so".into(),
        thought_ms: Some(4_200),
        ..AssistantBody::default()
    };
    let end = Body::Note { kind: crate::protocol::NoteKind::TurnEnd, text: "2 steps · 3.0 s".into() };
    super::opened(&mut model, vec![user(1, "go"), item(2, Body::Assistant(answer)), item(3, end)]);
    let kinds: Vec<&CellKind> = model.tab.transcript.cells.iter().map(|cell| &cell.kind).collect();
    assert_eq!(kinds[1], &CellKind::Reasoning { text: "hmm".into(), time: Thinking::For(4_200) });
    assert_eq!(kinds[3], &CellKind::TurnEnd { text: "2 steps · 3.0 s".into() });
}
