//! Requests and events of the Responses dialect.

use super::*;
use crate::llm::Reply;
use crate::llm::gather::{End, Finishing, Gather};
use crate::llm::sse::Event;
use crate::llm::tests::{endpoint, request, user};
use crate::llm::wire::Parser;
use crate::protocol::{StopReason, ToolCall};

fn openai() -> Endpoint {
    endpoint("openai", "gpt-5.5", "", "")
}

fn sent(request: &Request, reasoning: Option<bool>) -> Vec<u8> {
    body(&openai(), &ModelInfo { reasoning, ..ModelInfo::default() }, request).unwrap()
}

fn call(id: &str) -> ToolCall {
    ToolCall { id: id.into(), name: "read_file".into(), args: "{}".into(), repaired: false, via: String::new() }
}

#[test]
fn nothing_is_stored_and_reasoning_comes_encrypted() {
    let body: Value = serde_json::from_slice(&sent(&request(vec![user("hi")]), Some(true))).unwrap();
    assert_eq!(
        (&body["store"], &body["stream"], &body["instructions"]),
        (&json!(false), &json!(true), &json!("be brief"))
    );
    assert_eq!(body["include"], json!(["reasoning.encrypted_content"]));
    assert_eq!(body["reasoning"], json!({"effort": "medium", "summary": "auto"}));
    assert_eq!(body["prompt_cache_key"], "session-1");
    assert_eq!(body["tools"][0]["name"], "read_file");
    assert_eq!(
        body["input"],
        json!([{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]}])
    );
    let unknown: Value = serde_json::from_slice(&sent(&request(vec![user("hi")]), None)).unwrap();
    assert!(unknown.get("reasoning").is_none() && unknown.get("include").is_none());
}

#[test]
fn items_keep_their_order_and_the_prefix_its_bytes() {
    let block = json!({"type": "reasoning", "summary": [], "encrypted_content": "zz"});
    let opaque = vec![
        json!({"for": tag(&openai()), "at": [0, 0], "block": block}),
        json!({"for": tag(&openai()), "at": [3, 1], "block": block}),
        json!({"for": "anthropic_messages:anthropic", "at": [0, 0], "block": {"type": "thinking"}}),
    ];
    let long_id = "x".repeat(80);
    let all = vec![
        user("u"),
        Message::Assistant {
            text: "say".into(),
            reasoning: String::new(),
            calls: vec![call("a"), call(&long_id)],
            opaque,
        },
        Message::Tool { call_id: "a".into(), name: "n".into(), content: "r".into(), failed: false },
        Message::Tool { call_id: long_id.clone(), name: "n".into(), content: "r".into(), failed: true },
        user("v"),
    ];
    let body: Value = serde_json::from_slice(&sent(&request(all.clone()), Some(true))).unwrap();
    let kinds: Vec<&str> =
        body["input"].as_array().unwrap().iter().map(|item| item["type"].as_str().unwrap()).collect();
    let expected = [
        "message",
        "reasoning",
        "message",
        "function_call",
        "reasoning",
        "function_call",
        "function_call_output",
        "function_call_output",
        "message",
    ];
    assert_eq!(kinds, expected);
    assert_eq!(body["input"][5]["call_id"], body["input"][7]["call_id"]);
    assert!(body["input"][5]["call_id"].as_str().unwrap().len() <= MAX_ID);
    let mut shorter = Vec::new();
    for length in 1..=all.len() {
        let bytes = sent(&request(all[..length].to_vec()), Some(true));
        assert!(bytes.starts_with(&shorter), "{length}");
        shorter = bytes.strip_suffix(b"]}").unwrap().to_vec();
    }
}

fn read(events: &[Value]) -> Reply {
    let mut reader = Reader::new(&openai());
    let mut gather = Gather::new(false);
    for event in events {
        let name = event["type"].as_str().unwrap();
        reader.event(Event { name, data: &event.to_string() }, &mut gather).unwrap();
    }
    assert_eq!(gather.end, End::Closed);
    gather.finish(&Finishing { tools: &[], messages: 1, text_calls: false, short_ids: false })
}

#[test]
fn a_stream_with_reasoning_text_and_parallel_calls() {
    let item = |index: u64, kind: &str, item: Value| json!({"type": format!("response.output_item.{kind}"), "output_index": index, "item": item});
    let args = |index: u64, delta: &str| json!({"type": "response.function_call_arguments.delta", "output_index": index, "delta": delta});
    let call =
        |id: &str, args: &str| json!({"type": "function_call", "call_id": id, "name": "read_file", "arguments": args});
    let reply = read(&[
        json!({"type": "response.created", "response": {"model": "gpt-x", "status": "in_progress"}}),
        item(0, "added", json!({"type": "reasoning", "summary": []})),
        json!({"type": "response.reasoning_summary_part.added", "output_index": 0, "part": {}}),
        json!({"type": "response.reasoning_summary_text.delta", "output_index": 0, "delta": "first"}),
        json!({"type": "response.reasoning_summary_part.added", "output_index": 0, "part": {}}),
        json!({"type": "response.reasoning_summary_text.delta", "output_index": 0, "delta": "second"}),
        item(
            0,
            "done",
            json!({"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "first"}], "encrypted_content": "zz"}),
        ),
        item(1, "added", json!({"type": "message", "content": []})),
        json!({"type": "response.output_text.delta", "output_index": 1, "delta": "Hi", "logprobs": []}),
        json!({"type": "response.unheard_of", "delta": {"some": "object"}}),
        item(1, "done", json!({"type": "message", "content": [{"type": "output_text", "text": "Hi"}]})),
        item(2, "added", call("a", "")),
        item(3, "added", call("b", "")),
        args(2, "{\"x\""),
        args(3, "{\"y\":2}"),
        args(2, ":1}"),
        json!({"type": "response.function_call_arguments.done", "output_index": 2, "arguments": "{\"x\":1}"}),
        item(2, "done", call("a", "{\"x\":1}")),
        item(3, "done", call("b", "{\"y\":2}")),
        json!({"type": "response.completed", "response": {"model": "gpt-x", "status": "completed", "output": [],
            "usage": {"input_tokens": 7, "output_tokens": 3, "input_tokens_details": {"cached_tokens": 5}, "output_tokens_details": {"reasoning_tokens": 2}}}}),
    ]);
    assert_eq!(
        (reply.text.as_str(), reply.reasoning.as_str(), reply.model.as_str()),
        ("Hi", "first\n\nsecond", "gpt-x")
    );
    let calls: Vec<(&str, &str)> = reply.calls.iter().map(|call| (call.id.as_str(), call.args.as_str())).collect();
    assert_eq!(calls, [("a", "{\"x\":1}"), ("b", "{\"y\":2}")]);
    assert_eq!(reply.stop, StopReason::ToolCalls);
    let usage = reply.usage.unwrap();
    assert_eq!((usage.input, usage.cached, usage.output, usage.reasoning), (7, 5, 3, 2));
    assert_eq!(reply.opaque.len(), 1);
    assert_eq!((&reply.opaque[0]["at"], reply.opaque[0]["block"].get("id")), (&json!([0, 0]), None));
}

#[test]
fn an_incomplete_response_says_why() {
    for (reason, stop) in [("max_output_tokens", StopReason::Length), ("content_filter", StopReason::ContentFilter)] {
        let reply = read(&[
            json!({"type": "response.output_item.added", "output_index": 0, "item": {"type": "function_call", "call_id": "a", "name": "write_file"}}),
            json!({"type": "response.function_call_arguments.delta", "output_index": 0, "delta": "{\"path\": \"x"}),
            json!({"type": "response.incomplete", "response": {"status": "incomplete", "incomplete_details": {"reason": reason}}}),
        ]);
        assert_eq!(reply.stop, stop);
        if stop == StopReason::Length {
            assert_eq!((reply.calls.len(), reply.cut_call.as_deref()), (0, Some("write_file")));
        }
    }
}
