//! Calls over a loopback server: each dialect in fragments, cut, stalled, refused, and not streamed at all.

use super::*;
use crate::llm::tests::{Act, Answer, Server, call, endpoint, request, text_of, user};
use crate::protocol::{StopReason, Usage};
use serde_json::json;

const MODES: [&str; 3] = ["chat_completions", "codex_responses", "anthropic_messages"];

fn data(value: serde_json::Value) -> String {
    format!("data: {value}\n\n")
}

fn chat(delta: serde_json::Value, finish: Option<&str>) -> String {
    data(json!({"model": "m-1", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}))
}

/// `Hello` in two pieces and its end, in each dialect.
fn hello(mode: &str) -> (Vec<String>, String) {
    match mode {
        "chat_completions" => (
            vec![chat(json!({"content": "Hel"}), None), chat(json!({"content": "lo"}), None)],
            chat(json!({}), Some("stop"))
                + &data(
                    json!({"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 4}}}),
                )
                + "data: [DONE]\n\n",
        ),
        "codex_responses" => (
            ["Hel", "lo"]
                .map(|text| data(json!({"type": "response.output_text.delta", "output_index": 0, "delta": text})))
                .to_vec(),
            data(json!({"type": "response.completed", "response": {"model": "m-1", "status": "completed",
                "usage": {"input_tokens": 9, "output_tokens": 2, "input_tokens_details": {"cached_tokens": 4}}}})),
        ),
        _ => (
            vec![
                data(
                    json!({"type": "message_start", "message": {"model": "m-1", "usage": {"input_tokens": 5, "cache_read_input_tokens": 4, "output_tokens": 1}}}),
                ) + &data(
                    json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
                ) + &data(
                    json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hel"}}),
                ),
                data(json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "lo"}})),
            ],
            data(json!({"type": "content_block_stop", "index": 0}))
                + &data(
                    json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}}),
                )
                + &data(json!({"type": "message_stop"})),
        ),
    }
}

fn at(server: &Server, mode: &str) -> Endpoint {
    let mut endpoint = endpoint("custom", "m", &server.url, mode);
    endpoint.stall = Duration::from_millis(400);
    endpoint
}

async fn ask(answer: Answer, mode: &str) -> (Result<Reply, ProviderError>, Vec<Delta>) {
    let server = Server::start(answer).await;
    call(at(&server, mode), &request(vec![user("hi")])).await
}

#[tokio::test]
async fn a_stream_in_torn_pieces_becomes_a_reply() {
    for mode in MODES {
        let (pieces, end) = hello(mode);
        let whole = pieces.concat() + &end;
        // Torn at awkward places: inside a key, inside a line end.
        let cuts: Vec<&str> = whole.as_bytes().chunks(37).map(|chunk| std::str::from_utf8(chunk).unwrap()).collect();
        let (outcome, deltas) = ask(Answer::stream(&cuts), mode).await;
        let reply = outcome.unwrap();
        assert_eq!(
            (reply.text.as_str(), reply.stop, reply.model.as_str()),
            ("Hello", StopReason::EndTurn, "m-1"),
            "{mode}"
        );
        assert_eq!(reply.usage, Some(Usage { input: 9, cached: 4, output: 2, ..Usage::default() }), "{mode}");
        assert_eq!(text_of(&deltas), "Hello", "{mode}");
    }
}

#[tokio::test]
async fn a_flood_makes_few_deltas() {
    let text: String = "lorem ipsum ".repeat(2000);
    let events: String = text
        .as_bytes()
        .chunks(4)
        .map(|piece| chat(json!({"content": std::str::from_utf8(piece).unwrap()}), None))
        .collect();
    let answer = Answer::stream(&[&(events + &chat(json!({}), Some("stop")) + "data: [DONE]\n\n")]);
    let (outcome, deltas) = ask(answer, "chat_completions").await;
    assert_eq!(outcome.unwrap().text, text);
    assert_eq!(text_of(&deltas), text);
    assert!(deltas.len() < 600, "{} deltas for 6000 events", deltas.len());
}

#[tokio::test]
async fn a_cut_stream_is_a_network_error_with_what_had_come() {
    for mode in MODES {
        for end in [None, Some(Act::Break)] {
            let (pieces, _) = hello(mode);
            let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
            let mut answer = Answer::stream(&pieces);
            answer.acts.extend(end.clone());
            let (outcome, deltas) = ask(answer, mode).await;
            let error = outcome.unwrap_err();
            assert_eq!(error.kind, ErrorKind::Network, "{mode} {end:?}: {error}");
            assert_eq!(error.partial.unwrap().text, "Hello", "{mode}");
            assert_eq!(text_of(&deltas), "Hello", "{mode}");
        }
    }
}

#[tokio::test]
async fn silence_is_noticed_before_and_within_a_stream() {
    for mode in MODES {
        for sent in [0, 1] {
            let (pieces, _) = hello(mode);
            let pieces: Vec<&str> = pieces.iter().take(sent).map(String::as_str).collect();
            let (outcome, _) = ask(Answer::stream(&pieces).then(Act::Hang), mode).await;
            let error = outcome.unwrap_err();
            assert_eq!(error.kind, ErrorKind::Stalled, "{mode} {sent}: {error}");
            assert_eq!(error.partial.map(|reply| reply.text), (sent > 0).then(|| "Hel".to_owned()), "{mode}");
        }
    }
}

#[tokio::test]
async fn stopping_ends_a_stream_and_keeps_its_text() {
    for mode in MODES {
        let (pieces, _) = hello(mode);
        let server = Server::start(Answer::stream(&[&pieces[0]]).then(Act::Hang)).await;
        let mut endpoint = at(&server, mode);
        endpoint.stall = Duration::from_secs(60);
        let provider = connect(endpoint, crate::llm::http::client(), ModelInfo::default());
        let (tx, mut rx) = mpsc::channel(4);
        let cancel = CancellationToken::new();
        let request = request(vec![user("hi")]);
        let stop_after_first = async {
            rx.recv().await;
            cancel.cancel();
        };
        let (outcome, ()) = tokio::join!(provider.stream(&request, tx, cancel.clone()), stop_after_first);
        let error = outcome.unwrap_err();
        assert_eq!(error.kind, ErrorKind::Cancelled, "{mode}");
        assert_eq!(error.partial.unwrap().text, "Hel", "{mode}");
    }
}

#[tokio::test]
async fn refusals_carry_class_status_and_wait() {
    let body = r#"{"error":{"type":"rate_limit_error","message":"slow down"}}"#;
    for mode in MODES {
        let mut answer = Answer::json(429, body);
        answer.headers.push(("retry-after", "7"));
        let error = ask(answer, mode).await.0.unwrap_err();
        assert_eq!(
            (error.kind, error.status, error.retry_after),
            (ErrorKind::RateLimit, Some(429), Some(Duration::from_secs(7))),
            "{mode}"
        );
        assert!(error.message.contains("slow down") && error.partial.is_none(), "{}", error.message);
        let error = ask(Answer::json(401, "{}"), mode).await.0.unwrap_err();
        assert!(error.kind == ErrorKind::Auth && !error.message.contains("k-secret"), "{}", error.message);
        let mut page = Answer::json(200, "<html>welcome</html>");
        page.headers = vec![("content-type", "text/html")];
        assert_eq!(ask(page, mode).await.0.unwrap_err().kind, ErrorKind::Malformed, "{mode}");
        assert_eq!(
            ask(Answer::stream(&["data: {nonsense\n\n"]), mode).await.0.unwrap_err().kind,
            ErrorKind::Malformed,
            "{mode}"
        );
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed_with_a_key() {
    let other = Server::start(Answer::json(200, "{}")).await;
    let to: &'static str = other.url.clone().leak();
    let mut answer = Answer::json(308, "");
    answer.headers.push(("location", to));
    let error = ask(answer, "chat_completions").await.0.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Malformed);
    assert!(error.message.contains(to) && error.message.contains("base_url"), "{}", error.message);
}

#[tokio::test]
async fn errors_inside_a_stream_are_classified_too() {
    let table = [
        ("chat_completions", json!({"error": {"code": 429, "message": "upstream rate limit"}}), ErrorKind::RateLimit),
        (
            "chat_completions",
            json!({"error": "the model crashed: context window exceeded"}),
            ErrorKind::ContextOverflow,
        ),
        (
            "codex_responses",
            json!({"type": "response.failed", "response": {"status": "failed", "error": {"code": "rate_limit_exceeded", "message": "try again in 3s"}}}),
            ErrorKind::RateLimit,
        ),
        ("codex_responses", json!({"type": "error", "code": "server_error", "message": "oops"}), ErrorKind::Overloaded),
        (
            "anthropic_messages",
            json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}),
            ErrorKind::Overloaded,
        ),
    ];
    for (mode, event, kind) in table {
        let (pieces, _) = hello(mode);
        let (outcome, _) = ask(Answer::stream(&[&pieces[0], &data(event.clone())]), mode).await;
        let error = outcome.unwrap_err();
        assert_eq!(error.kind, kind, "{event}: {error}");
        assert_eq!(error.partial.unwrap().text, "Hel");
    }
}

#[tokio::test]
async fn nobody_there_is_a_network_error_that_says_where() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let (outcome, _) = call(endpoint("custom", "m", &url, ""), &request(vec![user("hi")])).await;
    let error = outcome.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Network);
    assert!(error.message.contains(&url) && error.message.contains("server is running"), "{}", error.message);
}

#[tokio::test]
async fn answers_that_were_not_streamed_work() {
    let table = [
        (
            "chat_completions",
            json!({"model": "m", "choices": [{"message": {"content": "Hello", "reasoning_content": "hm",
            "tool_calls": [{"id": "a", "type": "function", "function": {"name": "read_file", "arguments": "{\"path\":\"x\"}"}}]},
            "finish_reason": "tool_calls"}], "usage": {"prompt_tokens": 3, "completion_tokens": 1}}),
        ),
        (
            "codex_responses",
            json!({"model": "m", "status": "completed", "output": [
            {"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]},
            {"type": "message", "content": [{"type": "output_text", "text": "Hello"}]},
            {"type": "function_call", "call_id": "a", "name": "read_file", "arguments": "{\"path\":\"x\"}"}],
            "usage": {"input_tokens": 3, "output_tokens": 1}}),
        ),
        (
            "anthropic_messages",
            json!({"type": "message", "model": "m", "stop_reason": "tool_use", "content": [
            {"type": "thinking", "thinking": "hm", "signature": "s"}, {"type": "text", "text": "Hello"},
            {"type": "tool_use", "id": "a", "name": "read_file", "input": {"path": "x"}}],
            "usage": {"input_tokens": 3, "output_tokens": 1}}),
        ),
    ];
    for (mode, body) in table {
        let (outcome, deltas) = ask(Answer::json(200, &body.to_string()), mode).await;
        let reply = outcome.unwrap();
        assert_eq!(
            (reply.text.as_str(), reply.reasoning.trim(), &reply.stop),
            ("Hello", "hm", &StopReason::ToolCalls),
            "{mode}"
        );
        assert_eq!((reply.calls[0].id.as_str(), reply.calls[0].args.as_str()), ("a", "{\"path\":\"x\"}"), "{mode}");
        assert_eq!(reply.usage.unwrap().input, 3, "{mode}");
        assert_eq!(text_of(&deltas), "Hello", "{mode}");
    }
}

#[tokio::test]
async fn calls_that_were_written_as_text_are_marked() {
    let text = "I will look.\n<tool_call>\n{\"name\": \"read_file\", \"arguments\": {\"path\": \"a\"}}\n</tool_call>";
    let answer = || {
        Answer::stream(&[&(chat(json!({"content": text}), None) + &chat(json!({}), Some("stop")) + "data: [DONE]\n\n")])
    };
    let reply = ask(answer(), "chat_completions").await.0.unwrap();
    assert_eq!((reply.text.as_str(), reply.stop), ("I will look.", StopReason::ToolCalls));
    assert!(reply.calls[0].repaired && reply.calls[0].args == "{\"path\":\"a\"}" && !reply.calls[0].id.is_empty());
    // Providers whose models never do that are taken at their word.
    let server = Server::start(answer()).await;
    let mut strict = endpoint("gemini", "g", &server.url, "");
    strict.stall = Duration::from_secs(5);
    assert!(call(strict, &request(vec![user("hi")])).await.0.unwrap().calls.is_empty());
}

#[tokio::test]
async fn keys_and_headers_travel_as_each_provider_wants() {
    let table = [
        ("custom", "chat_completions", "authorization", "Bearer k-secret"),
        ("anthropic", "anthropic_messages", "x-api-key", "k-secret"),
        ("azure", "chat_completions", "api-key", "k-secret"),
    ];
    for (provider, mode, header, value) in table {
        let server = Server::start(Answer::json(500, "{}")).await;
        let mut endpoint = endpoint(provider, "m", &server.url, mode);
        endpoint.headers.push(("x-extra".into(), "1".into()));
        let _refused = call(endpoint, &request(vec![user("hi")])).await;
        let (headers, body) = server.seen();
        assert_eq!(headers.get(header).unwrap(), value, "{provider}");
        assert_eq!(headers.get("x-extra").unwrap(), "1");
        assert_eq!(headers.get("accept-encoding").unwrap(), "identity");
        assert_eq!(body["model"], "m");
    }
}
