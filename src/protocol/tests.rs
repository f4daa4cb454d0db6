//! The one form: what it looks like, and that it is read back as it was.

use super::*;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::fmt::Debug;
use std::path::PathBuf;

/// Has this form, and comes back from it.
fn is<T: Serialize + DeserializeOwned + PartialEq + Debug>(value: &T, form: Value) {
    let written = serde_json::to_value(value).unwrap();
    assert_eq!(written, form);
    assert_eq!(&serde_json::from_value::<T>(written).unwrap(), value);
}

#[test]
fn commands_have_their_form() {
    is(
        &AgentCommand::Submit { text: "hi".into(), images: Vec::new() },
        json!({"type": "submit", "data": {"text": "hi", "images": []}}),
    );
    is(&AgentCommand::Redo, json!({"type": "redo"}));
    is(&AgentCommand::SetMode(Mode::Auto), json!({"type": "set_mode", "data": "auto"}));
    is(&AgentCommand::SetEffort(Effort::XHigh), json!({"type": "set_effort", "data": "xhigh"}));
    is(
        &AgentCommand::Decide(ApprovalId(3), Decision::Deny { feedback: "not there".into() }),
        json!({"type": "decide", "data": [3, {"type": "deny", "data": {"feedback": "not there"}}]}),
    );
    is(&AgentCommand::Answer(QuestionId(2), "the second".into()), json!({"type": "answer", "data": [2, "the second"]}));
    is(
        &AgentCommand::Policy(PolicyAnswer::Take("a1".into())),
        json!({"type": "policy", "data": {"type": "take", "data": "a1"}}),
    );
}

#[test]
fn events_have_their_form() {
    is(&AgentEvent::TextDelta("a".into()), json!({"type": "text_delta", "data": "a"}));
    is(&AgentEvent::RetryEnded, json!({"type": "retry_ended"}));
    is(
        &AgentEvent::ToolProcess { call_id: "c1".into(), process: ProcessId("proc_1".into()) },
        json!({"type": "tool_process", "data": {"call_id": "c1", "process": "proc_1"}}),
    );
    is(
        &AgentEvent::Notice { level: Level::Warning, text: "slow".into() },
        json!({"type": "notice", "data": {"level": "warning", "text": "slow"}}),
    );
    let outcome = TurnOutcome { turn: 2, end: TurnEnd::Provider("no key".into()), steps: 1, duration_ms: 40 };
    is(
        &AgentEvent::TurnFinished(outcome),
        json!({"type": "turn_finished", "data": {
            "turn": 2, "end": {"type": "provider", "data": "no key"}, "steps": 1, "duration_ms": 40,
        }}),
    );
    let todo = Todo { id: "1".into(), content: "test".into(), status: TodoStatus::InProgress };
    is(
        &AgentEvent::PlanChanged(vec![todo]),
        json!({"type": "plan_changed", "data": [{"id": "1", "content": "test", "status": "in_progress"}]}),
    );
}

#[test]
fn a_question_crosses_with_all_that_a_person_needs_to_answer_it() {
    let why = Why { effect: "recursive delete".into(), text: "deletes build".into(), span: 0..6 };
    let grant = Grant { scope: Scope::Session, width: Width::Effects, entries: vec!["recursive delete".into()] };
    let approval = Approval {
        id: ApprovalId(7),
        call_id: "c".into(),
        tool: "terminal".into(),
        intent: Intent::Command { line: "rm -rf build".into(), cwd: PathBuf::from("/w"), background: false },
        verdict: Verdict::Ask(vec![why]),
        targets: vec![Target {
            name: "build".into(),
            files: Some(2),
            bytes: None,
            at_least: true,
            note: String::new(),
        }],
        proposals: vec![Proposal { grant, past: Past::default() }],
        payloads: vec![Payload { from: "x".into(), text: "y".into(), decoded: true }],
        origin: ApprovalOrigin { by: Speaker::Agent("a".into()), ..ApprovalOrigin::default() },
        changed: vec!["the folder".into()],
        drops: vec![],
        kept: true,
        asked_at: 5,
    };
    let event = AgentEvent::ApprovalRequested(Box::new(approval));
    let form = serde_json::to_value(&event).unwrap();
    assert_eq!(form["data"]["intent"]["type"], "command");
    assert_eq!(form["data"]["verdict"]["data"][0]["effect"], "recursive delete");
    assert_eq!(form["data"]["proposals"][0]["grant"]["scope"], "session");
    is(&event, form);
}

#[test]
fn a_session_s_file_is_one_name_whatever_its_id_is() {
    for (id, name) in [
        ("20260105_080000_ab12cd", "20260105_080000_ab12cd"),
        ("codex-01a216c6-2b67", "codex-01a216c6-2b67"),
        ("/etc/passwd", "%2fetc%2fpasswd"),
        ("../x", "%2e%2e%2fx"),
        ("ä", "%c3%a4"),
    ] {
        assert_eq!(SessionId::from(id).file_name(), name);
    }
}
