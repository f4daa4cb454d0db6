//! Requests byte by byte, and fragments of every kind that servers send.

use super::*;
use crate::llm::gather::{End, Finishing, Gather};
use crate::llm::sse::Event;
use crate::llm::tests::{endpoint, request, user};
use crate::llm::wire::Parser;
use crate::llm::{Delta, Effort, Reply};
use crate::protocol::StopReason;

fn json_body(endpoint: &Endpoint, request: &Request) -> Value {
    serde_json::from_slice(&body(endpoint, &ModelInfo::default(), request).unwrap()).unwrap()
}

fn call(id: &str) -> ToolCall {
    ToolCall {
        id: id.into(),
        name: "read_file".into(),
        args: "{\"path\": \"a\"}".into(),
        repaired: false,
        via: String::new(),
    }
}

fn assistant(text: &str, calls: Vec<ToolCall>, opaque: Vec<Value>) -> Message {
    Message::Assistant { text: text.into(), reasoning: "because".into(), calls, opaque }
}

fn result(id: &str) -> Message {
    Message::Tool { call_id: id.into(), name: "read_file".into(), content: "r".into(), failed: false }
}

#[test]
fn a_longer_conversation_begins_with_the_bytes_of_the_shorter_one() {
    for (provider, model) in [("custom", "m"), ("openrouter", "x/y"), ("deepseek", "deepseek-v4-pro"), ("mistral", "m")]
    {
        let base = if provider == "custom" { "http://127.0.0.1:1" } else { "" };
        let endpoint = endpoint(provider, model, base, "");
        let all = [
            user("u1"),
            assistant("a1", vec![call("1"), call("2")], Vec::new()),
            result("1"),
            result("2"),
            assistant("", vec![call("3")], Vec::new()),
            result("3"),
            user("u2"),
        ];
        let mut shorter = Vec::new();
        for length in 1..=all.len() {
            let bytes = body(&endpoint, &ModelInfo::default(), &request(all[..length].to_vec())).unwrap();
            assert!(bytes.starts_with(&shorter), "{provider} {length}");
            shorter = bytes.strip_suffix(b"]}").unwrap().to_vec();
        }
    }
}

#[derive(serde::Deserialize)]
struct CacheCase {
    messages: Vec<Value>,
    result: Vec<Value>,
    ttl: String,
}

/// Every text as a list, so that only the marks are compared.
fn listed(mut message: Value) -> Value {
    if let Some(text) = message["content"].as_str().filter(|text| !text.is_empty()).map(str::to_owned) {
        message["content"] = json!([{"type": "text", "text": text}]);
    }
    if let Some(calls) = message.get_mut("tool_calls").and_then(Value::as_array_mut) {
        for call in calls {
            call.as_object_mut().unwrap().remove("type");
        }
    }
    message
}

#[test]
fn cache_marks_stand_on_the_system_message_and_the_last_three() {
    let cases = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases/cache-control.jsonl"));
    let cases: Vec<CacheCase> = cases.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for case in cases.iter().filter(|case| case.ttl == "5m") {
        let text = |message: &Value| {
            message["content"].as_str().or(message["content"][0]["text"].as_str()).unwrap_or_default().to_owned()
        };
        let messages: Vec<Message> = case.messages[1..]
            .iter()
            .map(|message| match message["role"].as_str().unwrap() {
                "user" => user(&text(message)),
                "assistant" => {
                    let calls = message["tool_calls"].as_array().into_iter().flatten();
                    let call = |call: &Value| ToolCall {
                        id: call["id"].as_str().unwrap().into(),
                        name: call["function"]["name"].as_str().unwrap().into(),
                        args: call["function"]["arguments"].as_str().unwrap().into(),
                        repaired: false,
                        via: String::new(),
                    };
                    assistant(&text(message), calls.map(call).collect(), Vec::new())
                }
                _ => Message::Tool {
                    call_id: message["tool_call_id"].as_str().unwrap().into(),
                    name: "x".into(),
                    content: text(message),
                    failed: false,
                },
            })
            .collect();
        let request = Request { system: "s".into(), ..request(messages) };
        let sent = json_body(&endpoint("openrouter", "anthropic/claude-opus-5", "", ""), &request);
        let sent: Vec<Value> = sent["messages"].as_array().unwrap().iter().cloned().map(listed).collect();
        let expected: Vec<Value> = case.result.iter().cloned().map(listed).collect();
        assert_eq!(sent, expected);
    }
}

#[test]
fn quirks_change_what_is_sent() {
    let mut asked = request(vec![user("hi")]);
    asked.max_output = Some(500);
    asked.effort = Effort::High;
    let azure = json_body(&endpoint("azure", "gpt-5.4", "https://x.openai.azure.com/openai/v1", ""), &asked);
    assert_eq!(
        (&azure["messages"][0]["role"], &azure["max_completion_tokens"], &azure["reasoning_effort"]),
        (&json!("developer"), &json!(500), &json!("high"))
    );
    let router = json_body(&endpoint("openrouter", "x/y", "", ""), &asked);
    assert_eq!(
        (&router["reasoning"], &router["usage"], &router["max_tokens"]),
        (&json!({"effort": "high"}), &json!({"include": true}), &json!(500))
    );
    let mistral = json_body(&endpoint("mistral", "m", "", ""), &asked);
    assert!(mistral.get("stream_options").is_none());
    let custom = json_body(&endpoint("custom", "m", "http://127.0.0.1:1", ""), &asked);
    assert_eq!(custom["stream_options"], json!({"include_usage": true}));
    assert!(custom.get("reasoning_effort").is_none() && custom["messages"][0]["role"] == "system");
    let deepseek = json_body(
        &endpoint("deepseek", "deepseek-v4-pro", "", ""),
        &request(vec![
            user("u"),
            assistant("", vec![call("1")], vec![]),
            result("1"),
            assistant("done", vec![], vec![]),
        ]),
    );
    assert_eq!(deepseek["messages"][2]["reasoning_content"], "because");
    assert!(deepseek["messages"][4].get("reasoning_content").is_none());
}

#[test]
fn private_blocks_go_back_only_where_they_came_from() {
    let router = endpoint("openrouter", "x/y", "", "");
    let block = json!({"type": "reasoning.encrypted", "data": "zz"});
    let opaque = vec![
        json!({"for": tag(&router), "block": block}),
        json!({"for": "anthropic_messages:anthropic", "block": {"type": "thinking"}}),
    ];
    let asked = request(vec![user("u"), assistant("a", vec![], opaque)]);
    assert_eq!(json_body(&router, &asked)["messages"][2]["reasoning_details"], json!([block]));
    assert!(
        json_body(&endpoint("custom", "m", "http://127.0.0.1:1", ""), &asked)["messages"][2]
            .get("reasoning_details")
            .is_none()
    );

    let gemini = endpoint("gemini", "gemini-3-pro-preview", "", "");
    let extra = json!({"google": {"thought_signature": "sig"}});
    let opaque = vec![json!({"for": tag(&gemini), "call": "1", "extra_content": extra})];
    let sent = json_body(
        &gemini,
        &request(vec![
            user("u"),
            assistant("", vec![call("1"), call("2")], opaque),
            result("1"),
            result("2"),
            assistant("", vec![call("3")], vec![]),
        ]),
    );
    assert_eq!(sent["messages"][2]["tool_calls"][0]["extra_content"], extra);
    assert!(sent["messages"][2]["tool_calls"][1].get("extra_content").is_none());
    assert_eq!(
        sent["messages"][5]["tool_calls"][0]["extra_content"]["google"]["thought_signature"],
        "skip_thought_signature_validator"
    );
}

#[test]
fn ids_are_made_to_fit_the_same_way_on_both_ends() {
    let sent = json_body(
        &endpoint("mistral", "m", "", ""),
        &request(vec![
            user("u"),
            assistant("", vec![call("call_long_id"), call("abc123XYZ")], vec![]),
            result("call_long_id"),
            result("abc123XYZ"),
        ]),
    );
    let made = sent["messages"][2]["tool_calls"][0]["id"].as_str().unwrap();
    assert_eq!((made.len(), &sent["messages"][3]["tool_call_id"]), (9, &json!(made)));
    assert_eq!(sent["messages"][4]["tool_call_id"], "abc123XYZ");
}

#[test]
fn images_are_data_urls_after_the_text() {
    let message = Message::User {
        text: "look".into(),
        images: vec![Image { media_type: "image/png".into(), data: "AA==".into() }],
    };
    let sent = json_body(&endpoint("custom", "m", "http://127.0.0.1:1", ""), &request(vec![message]));
    assert_eq!(
        sent["messages"][1]["content"],
        json!([{"type": "text", "text": "look"}, {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}])
    );
}

fn read(events: &[Value]) -> (Reply, Vec<Delta>) {
    let endpoint = endpoint("openrouter", "m", "", "");
    let mut reader = Reader::new(&endpoint);
    let mut gather = Gather::new(true);
    for event in events {
        reader.event(Event { name: "", data: &event.to_string() }, &mut gather).unwrap();
    }
    reader.event(Event { name: "", data: "[DONE]" }, &mut gather).unwrap();
    assert_eq!(gather.end, End::Closed);
    let mut deltas = Vec::new();
    gather.drain(&mut deltas);
    let tools = request(Vec::new()).tools;
    (gather.finish(&Finishing { tools: &tools, messages: 1, text_calls: true, short_ids: false }), deltas)
}

fn pieces(deltas: &[Value]) -> Vec<Value> {
    deltas
        .iter()
        .map(|delta| json!({"choices": [{"delta": delta}]}))
        .chain([json!({"choices": [{"delta": {}, "finish_reason": "tool_calls"}]})])
        .collect()
}

fn fragment(index: Option<u64>, id: Option<&str>, name: Option<&str>, args: Value) -> Value {
    json!({"index": index, "id": id, "function": {"name": name, "arguments": args}})
}

#[test]
fn fragments_of_every_kind_become_the_same_two_calls() {
    let (a, b) = (Some("a"), Some("b"));
    let (read_file, terminal) = (Some("read_file"), Some("terminal"));
    let table: Vec<(&str, Vec<Value>)> = vec![
        (
            "by index, in turns",
            vec![
                json!({"tool_calls": [fragment(Some(0), a, read_file, json!("")), fragment(Some(1), b, terminal, json!(""))]}),
                json!({"tool_calls": [fragment(Some(0), None, None, json!("{\"x\""))]}),
                json!({"tool_calls": [fragment(Some(1), None, None, json!("{\"y\""))]}),
                json!({"tool_calls": [fragment(Some(0), None, None, json!(":1}"))]}),
                json!({"tool_calls": [fragment(Some(1), None, None, json!(":2}"))]}),
            ],
        ),
        (
            "every index is 0",
            vec![
                json!({"tool_calls": [fragment(Some(0), a, read_file, json!("{\"x\":1}"))]}),
                json!({"tool_calls": [fragment(Some(0), b, terminal, json!("{\"y\":2}"))]}),
            ],
        ),
        (
            "by id, without index",
            vec![
                json!({"tool_calls": [fragment(None, a, read_file, json!("{\"x\""))]}),
                json!({"tool_calls": [fragment(None, a, None, json!(":1}"))]}),
                json!({"tool_calls": [fragment(None, b, terminal, json!("{\"y\":2}"))]}),
            ],
        ),
        (
            "id and name in each fragment",
            vec![
                json!({"tool_calls": [fragment(Some(0), a, read_file, json!("{\"x\""))]}),
                json!({"tool_calls": [fragment(Some(0), a, read_file, json!(":1}"))]}),
                json!({"tool_calls": [fragment(Some(1), b, terminal, json!("{\"y\":2}"))]}),
            ],
        ),
        (
            "empty id and null name after the first",
            vec![
                json!({"tool_calls": [fragment(Some(0), a, read_file, Value::Null)]}),
                json!({"tool_calls": [fragment(Some(0), Some(""), Some(""), json!("{\"x\":1}"))]}),
                json!({"tool_calls": [fragment(Some(1), b, terminal, json!("{\"y\":2}"))]}),
            ],
        ),
        (
            "arguments as objects",
            vec![
                json!({"tool_calls": [fragment(None, a, read_file, json!({"x": 1})), fragment(None, b, terminal, json!({"y": 2}))]}),
            ],
        ),
    ];
    for (what, deltas) in table {
        let (reply, deltas) = read(&pieces(&deltas));
        let calls: Vec<(&str, &str, &str)> =
            reply.calls.iter().map(|call| (call.id.as_str(), call.name.as_str(), call.args.as_str())).collect();
        assert_eq!(calls, [("a", "read_file", "{\"x\":1}"), ("b", "terminal", "{\"y\":2}")], "{what}");
        assert_eq!(reply.stop, StopReason::ToolCalls, "{what}");
        let started = deltas.iter().filter(|delta| matches!(delta, Delta::CallStarted { .. })).count();
        assert_eq!(started, 2, "{what}");
    }
}

#[test]
fn calls_without_ids_get_some() {
    let deltas = [
        json!({"tool_calls": [fragment(None, None, Some("read_file"), json!("{}"))]}),
        json!({"tool_calls": [fragment(None, None, Some("read_file"), json!("{}"))]}),
    ];
    let (reply, _) = read(&pieces(&deltas));
    assert_eq!(reply.calls.len(), 2);
    assert!(reply.calls[0].id.starts_with("call_") && reply.calls[0].id != reply.calls[1].id);
}

#[test]
fn reasoning_is_read_from_every_field_once() {
    let table = [
        json!([{"reasoning_content": "th"}, {"reasoning_content": "ink"}, {"content": "x"}]),
        json!([{"reasoning": "think"}, {"content": "x"}]),
        json!([{"reasoning": "think", "reasoning_content": "think"}, {"content": "x"}]),
        json!([{"reasoning": "think", "reasoning_details": [{"type": "reasoning.text", "text": "think", "index": 0}]}, {"content": "x"}]),
        json!([{"reasoning_details": [{"type": "reasoning.text", "text": "think", "index": 0}]}, {"content": "x"}]),
        json!([{"content": "<think>think</think>x"}]),
        json!([{"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "think"}]}, {"type": "text", "text": "x"}]}]),
    ];
    for deltas in table {
        let (reply, _) = read(&pieces(deltas.as_array().unwrap()));
        assert_eq!((reply.reasoning.as_str(), reply.text.as_str()), ("think", "x"), "{deltas}");
    }
    let details = |text: Value, signature: Value| json!({"reasoning_details": [{"type": "reasoning.text", "text": text, "signature": signature, "index": 0}]});
    let (reply, _) = read(&pieces(&[details(json!("a"), Value::Null), details(json!("b"), json!("sig"))]));
    assert_eq!(
        reply.opaque,
        [
            json!({"for": "chat_completions:openrouter", "block": {"type": "reasoning.text", "text": "ab", "signature": "sig", "index": 0}})
        ]
    );
}

#[test]
fn usage_is_found_wherever_it_is() {
    let counts = |extra: Value| {
        let mut counts = json!({"prompt_tokens": 10, "completion_tokens": 3});
        counts.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        counts
    };
    let openai = counts(
        json!({"prompt_tokens_details": {"cached_tokens": 6}, "completion_tokens_details": {"reasoning_tokens": 2}, "cost": 0.5}),
    );
    let table = [
        (json!({"choices": [], "usage": openai}), 6, 2, Some(0.5)),
        (json!({"choices": [{"delta": {}, "usage": counts(json!({"cached_tokens": 6}))}]}), 6, 0, None),
        (json!({"choices": [], "x_groq": {"usage": counts(json!({}))}}), 0, 0, None),
        (
            json!({"choices": null, "usage": counts(json!({"prompt_cache_hit_tokens": 6, "prompt_tokens_details": null}))}),
            6,
            0,
            None,
        ),
    ];
    for (event, cached, reasoning, cost) in table {
        let usage = read(std::slice::from_ref(&event)).0.usage.unwrap();
        assert_eq!(
            (usage.input, usage.output, usage.cached, usage.reasoning, usage.cost),
            (10, 3, cached, reasoning, cost),
            "{event}"
        );
    }
}
