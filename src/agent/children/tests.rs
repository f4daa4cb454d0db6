//! What a child is opened with, and what is made of its answer.

use super::{Now, outcome, owed, task};
use crate::agent::spec::SessionLimits;
use crate::config::DelegationConfig;
use crate::protocol::{Body, ChildRow, ChildState, Item, ItemId, Origin, SessionId, ToolBody};
use crate::tools::children::{ChildResult, Task, TaskLimits};
use serde_json::json;
use std::time::Duration;

fn now() -> Now {
    Now { toolsets: vec!["file".into(), "terminal".into()], ..Now::default() }
}

#[test]
fn a_task_asks_for_no_more_than_its_parent_has() {
    let task = |toolsets: &[&str]| Task {
        toolsets: toolsets.iter().map(|name| (*name).to_owned()).collect(),
        ..Task::default()
    };
    assert_eq!(task::check(&task(&["file"]), &now().toolsets), Ok(()));
    let refused = task::check(&task(&["file", "web"]), &now().toolsets);
    assert_eq!(refused.unwrap_err(), "there is no toolset web here; there are: file, terminal");
    let (whole, _) = task::spec(&task(&[]), &now(), 1);
    assert_eq!(whole.toolsets, Some(now().toolsets));
    assert_eq!(task::spec(&task(&["file"]), &now(), 1).0.toolsets, Some(vec!["file".to_owned()]));
    assert!(whole.blocked.contains(&"clarify") && whole.blocked.contains(&"delegate_task"), "{:?}", whole.blocked);
}

#[test]
fn only_an_orchestrator_above_the_last_level_delegates() {
    for (orchestrates, depth, may) in [(true, 1, true), (true, 2, false), (false, 1, false)] {
        let task = Task { orchestrates, ..Task::default() };
        let (spec, _) = task::spec(&task, &now(), depth);
        assert_eq!(!spec.blocked.contains(&"delegate_task"), may, "{orchestrates} at {depth}");
        assert_eq!(spec.instructions.contains("delegate_task"), may, "{orchestrates} at {depth}");
    }
}

#[test]
fn limits_are_the_least_of_the_call_the_settings_and_what_is_left() {
    let config = DelegationConfig { max_tokens: 1_000, max_cost: Some(2.0), max_iterations: 50, ..Default::default() };
    let nine = Some(Duration::from_secs(9));
    let left = SessionLimits { steps: Some(7), tokens: Some(5_000), cost: Some(0.5), time: nine, output: Some(300) };
    let spec = |limits, left| {
        let (spec, cut) =
            task::spec(&Task { limits, ..Task::default() }, &Now { config: config.clone(), left, ..now() }, 1);
        (spec.limits, cut)
    };
    let nothing = TaskLimits::default();
    let expected =
        SessionLimits { steps: Some(7), tokens: Some(1_000), cost: Some(0.5), time: nine, output: Some(300) };
    assert_eq!(spec(nothing, left), (expected, String::new()));
    let expected = SessionLimits { steps: Some(50), tokens: Some(1_000), cost: Some(2.0), ..Default::default() };
    assert_eq!(spec(nothing, SessionLimits::default()), (expected, String::new()));
    let less = TaskLimits { steps: Some(3), tokens: Some(200), output: Some(50), cost: Some(0.1), seconds: Some(5) };
    let expected = SessionLimits {
        steps: Some(3),
        tokens: Some(200),
        cost: Some(0.1),
        time: Some(Duration::from_secs(5)),
        output: Some(50),
    };
    assert_eq!(spec(less, left), (expected, String::new()));
    let more = TaskLimits { steps: Some(90), cost: Some(3.0), seconds: Some(60), ..nothing };
    let (limits, cut) = spec(more, left);
    assert_eq!((limits.steps, limits.cost, limits.time), (Some(7), Some(0.5), nine));
    let expected = "asked for 90 steps, got the 7 steps that were left; asked for $3.00, got the $0.50 that were left; \
                    asked for 60 s, got the 9 s that were left";
    assert_eq!(cut, expected);
}

#[test]
fn what_the_conversation_does_not_hold_is_told_once() {
    let row = |number: u64, session: Option<&str>| ChildRow {
        name: format!("child {number}"),
        session: session.map(|id| SessionId(id.into())),
        state: ChildState::Completed,
        ..ChildRow::default()
    };
    let one = |number: u64, ended: bool, session| {
        json!({
            "number": number, "ended": ended,
            "result": ChildResult { row: row(number, session), summary: format!("sum {number}"), ..Default::default() },
        })
    };
    let kept = json!([
        {"call_id": "a", "background": true, "children": [one(1, true, Some("s1")), one(2, false, Some("s2"))]},
        {"call_id": "b", "background": false, "children": [one(3, false, None)]},
    ]);
    let item = |body| Item { id: ItemId(1), at: 0, turn: 1, body };
    let ((text, gist), _) = owed::message(kept.clone(), &[]).unwrap();
    assert_eq!(gist, "3 children ended: child 1 completed, child 2 stopped, child 3 stopped");
    for part in ["sum 1", "what it did stands in session s2", "Hermes ended before it began"] {
        assert!(text.contains(part), "no {part}: {text}");
    }
    // A list of children tells no result; the message itself tells all.
    let list =
        Body::Tool(ToolBody { content: json!({"agents": [{"session": "s1"}]}).to_string(), ..Default::default() });
    let told = |text: String| Body::User {
        text,
        images: vec![],
        context: String::new(),
        origin: Origin::Program,
        gist: String::new(),
    };
    assert!(owed::message(kept.clone(), &[item(list)]).is_some_and(|((again, _), _)| again == text));
    assert_eq!(owed::message(kept.clone(), &[item(told(text))]), None);
    let first = told(json!({"session": "s1", "summary": "sum 1"}).to_string());
    let ((rest, _), _) = owed::message(kept, &[item(first)]).unwrap();
    assert!(!rest.contains("sum 1") && rest.contains("s2"), "{rest}");
}

#[test]
fn a_long_summary_keeps_both_ends_and_says_where_the_rest_is() {
    let root = tempfile::tempdir().unwrap();
    assert_eq!(outcome::bounded(" done \n", 100, root.path(), 1), "done");
    let lines: Vec<String> = (0..400).map(|n| format!("line {n}")).collect();
    let short = outcome::bounded(&lines.join("\n"), 1_000, root.path(), 7);
    assert!(short.chars().count() < 1_200 && short.starts_with("line 0\n") && short.ends_with("line 399"), "{short}");
    let file = root.path().join("child-7.md");
    assert!(short.contains(&format!("all of it: read_file {}", file.display())), "{short}");
    assert_eq!(std::fs::read_to_string(file).unwrap(), lines.join("\n"));
}
