//! Requests and events of the Anthropic dialect.

use super::*;
use crate::llm::gather::{End, Finishing, Gather};
use crate::llm::sse::Event;
use crate::llm::tests::{endpoint, request, user};
use crate::llm::wire::Parser;
use crate::llm::{Effort, Reply};
use crate::protocol::{Image, StopReason, ToolCall};

fn claude(model: &str) -> Endpoint {
    endpoint("anthropic", model, "", "")
}

fn sent(model: &str, request: &Request, info: &ModelInfo) -> Value {
    serde_json::from_slice(&body(&claude(model), info, request).unwrap()).unwrap()
}

fn conversation() -> Vec<Message> {
    let call = |id: &str, args: &str| ToolCall {
        id: id.into(),
        name: "read_file".into(),
        args: args.into(),
        repaired: false,
        via: String::new(),
    };
    let thought = |at: [usize; 2], text: &str| json!({"for": "anthropic_messages:anthropic", "at": at, "block": {"type": "thinking", "thinking": text, "signature": "s"}});
    let result = |id: &str, failed: bool| Message::Tool {
        call_id: id.into(),
        name: "read_file".into(),
        content: "r".into(),
        failed,
    };
    vec![
        user("u1"),
        Message::Assistant {
            text: "say".into(),
            reasoning: "t".into(),
            calls: vec![call("a", "{\"path\": 1}"), call("b:1", "{broken")],
            opaque: vec![
                thought([0, 0], "t1"),
                thought([3, 1], "t2"),
                json!({"for": "chat_completions:x", "block": {}}),
            ],
        },
        result("a", false),
        result("b:1", true),
        user("u2"),
    ]
}

#[test]
fn blocks_stand_where_they_stood() {
    let body = sent("claude-opus-5", &request(conversation()), &ModelInfo::default());
    let messages = body["messages"].as_array().unwrap();
    let roles: Vec<&str> = messages.iter().map(|message| message["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["user", "assistant", "user"]);
    let kinds: Vec<&str> =
        messages[1]["content"].as_array().unwrap().iter().map(|block| block["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["thinking", "text", "tool_use", "thinking", "tool_use"]);
    assert_eq!(messages[1]["content"][2]["input"], json!({"path": 1}));
    assert_eq!(messages[1]["content"][4]["input"], json!({"invalid_arguments": "{broken"}));
    assert_eq!(messages[1]["content"][4]["id"], messages[2]["content"][1]["tool_use_id"]);
    assert!(messages[2]["content"][0].get("is_error").is_none());
    assert_eq!(messages[2]["content"][1]["is_error"], true);
    assert_eq!(messages[2]["content"][2]["text"], "u2");
}

/// Without the marks, which move by design.
fn unmarked(value: &Value) -> Value {
    match value {
        Value::Object(map) => map
            .iter()
            .filter(|(key, _)| *key != "cache_control")
            .map(|(key, value)| (key.clone(), unmarked(value)))
            .collect(),
        Value::Array(list) => list.iter().map(unmarked).collect(),
        other => other.clone(),
    }
}

#[test]
fn four_marks_move_and_nothing_else_does() {
    let all: Vec<Message> = (0..4).flat_map(|_| conversation()).collect();
    let mut before = String::new();
    for length in 1..=all.len() {
        let body = sent("claude-opus-5", &request(all[..length].to_vec()), &ModelInfo::default());
        let marks = body.to_string().matches("cache_control").count();
        let messages = body["messages"].as_array().unwrap();
        assert_eq!(marks, 1 + messages.len().min(3), "{length}");
        for message in messages.iter().rev().take(3) {
            let last = message["content"].as_array().unwrap().last().unwrap();
            assert_eq!(last["cache_control"], json!({"type": "ephemeral"}));
        }
        let bytes = unmarked(&body).to_string();
        assert!(bytes.starts_with(&before), "{length}");
        before = bytes.strip_suffix("]}]}").unwrap().to_owned();
    }
}

#[test]
fn limits_and_thinking_follow_the_model() {
    let mut asked = request(vec![user("u")]);
    asked.effort = Effort::High;
    let info =
        |max_output: u64| ModelInfo { max_output: Some(max_output), reasoning: Some(true), ..ModelInfo::default() };
    let old = sent("claude-opus-4-5", &asked, &info(64_000));
    assert_eq!(
        (&old["max_tokens"], &old["thinking"]),
        (&json!(32_000), &json!({"type": "enabled", "budget_tokens": 16_000}))
    );
    let new = sent("claude-opus-5-5", &asked, &info(128_000));
    assert_eq!(
        (&new["thinking"], &new["output_config"]),
        (&json!({"type": "adaptive", "display": "summarized"}), &json!({"effort": "high"}))
    );
    let unknown = sent("claude-opus-4-5", &request(vec![user("u")]), &ModelInfo::default());
    assert_eq!((&unknown["max_tokens"], unknown.get("thinking")), (&json!(8192), None));
    asked.max_output = Some(100);
    assert_eq!(sent("claude-opus-5-5", &asked, &info(128_000))["max_tokens"], 100);
}

#[test]
fn images_come_before_their_text() {
    let message = Message::User {
        text: "look".into(),
        images: vec![Image { media_type: "image/png".into(), data: "AA==".into() }],
    };
    let body = sent("claude-opus-5", &request(vec![message]), &ModelInfo::default());
    assert_eq!(
        body["messages"][0]["content"][0]["source"],
        json!({"type": "base64", "media_type": "image/png", "data": "AA=="})
    );
    assert_eq!(body["messages"][0]["content"][1]["text"], "look");
}

fn read(events: &[Value]) -> Reply {
    let mut reader = Reader::new(&claude("claude-opus-5"));
    let mut gather = Gather::new(false);
    for event in events {
        reader.event(Event { name: "", data: &event.to_string() }, &mut gather).unwrap();
    }
    assert_eq!(gather.end, End::Closed);
    gather.finish(&Finishing { tools: &[], messages: 1, text_calls: false, short_ids: false })
}

#[test]
fn a_stream_with_thinking_text_and_parallel_calls() {
    let start =
        |index: u64, block: Value| json!({"type": "content_block_start", "index": index, "content_block": block});
    let delta = |index: u64, delta: Value| json!({"type": "content_block_delta", "index": index, "delta": delta});
    let stop = |index: u64| json!({"type": "content_block_stop", "index": index});
    let reply = read(&[
        json!({"type": "message_start", "message": {"model": "claude-x", "usage": {"input_tokens": 2, "cache_read_input_tokens": 5, "cache_creation_input_tokens": 3, "output_tokens": 1}}}),
        json!({"type": "ping"}),
        start(0, json!({"type": "thinking", "thinking": "", "signature": ""})),
        delta(0, json!({"type": "thinking_delta", "thinking": "hm"})),
        delta(0, json!({"type": "signature_delta", "signature": "sig"})),
        stop(0),
        start(1, json!({"type": "text", "text": ""})),
        delta(1, json!({"type": "text_delta", "text": "Hi"})),
        stop(1),
        start(2, json!({"type": "redacted_thinking", "data": "zz"})),
        stop(2),
        start(3, json!({"type": "tool_use", "id": "a", "name": "read_file", "input": {}})),
        delta(3, json!({"type": "input_json_delta", "partial_json": ""})),
        delta(3, json!({"type": "input_json_delta", "partial_json": "{\"path\""})),
        delta(3, json!({"type": "input_json_delta", "partial_json": ": \"x\"}"})),
        stop(3),
        start(4, json!({"type": "tool_use", "id": "b", "name": "todo", "input": {}})),
        stop(4),
        json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 9}}),
        json!({"type": "message_stop"}),
    ]);
    assert_eq!((reply.text.as_str(), reply.reasoning.trim(), &reply.stop), ("Hi", "hm", &StopReason::ToolCalls));
    let calls: Vec<(&str, &str)> = reply.calls.iter().map(|call| (call.id.as_str(), call.args.as_str())).collect();
    assert_eq!(calls, [("a", "{\"path\": \"x\"}"), ("b", "{}")]);
    let usage = reply.usage.unwrap();
    assert_eq!((usage.input, usage.cached, usage.cache_write, usage.output), (10, 5, 3, 9));
    let block = json!({"type": "thinking", "thinking": "hm", "signature": "sig"});
    assert_eq!(reply.opaque[0], json!({"for": "anthropic_messages:anthropic", "at": [0, 0], "block": block}));
    assert_eq!((&reply.opaque[1]["at"], &reply.opaque[1]["block"]["data"]), (&json!([2, 0]), &json!("zz")));
}

#[test]
fn stop_reasons_are_translated() {
    let table = [
        ("end_turn", StopReason::EndTurn),
        ("max_tokens", StopReason::Length),
        ("refusal", StopReason::ContentFilter),
        ("pause_turn", StopReason::Other("pause_turn".into())),
    ];
    for (word, stop) in table {
        let reply =
            read(&[json!({"type": "message_delta", "delta": {"stop_reason": word}}), json!({"type": "message_stop"})]);
        assert_eq!(reply.stop, stop);
    }
}
