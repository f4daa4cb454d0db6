//! Requests and replies of a model behind a grammar.

use super::*;
use crate::llm::{Effort, ErrorKind};
use crate::lock::lock;
use serde_json::json;
use std::sync::Mutex;

fn tools() -> Arc<[ToolSchema]> {
    let tool = |name: &str, parameters: Value| ToolSchema {
        name: name.into(),
        description: format!("The {name} tool."),
        parameters: Arc::new(parameters),
    };
    Arc::new([
        tool(
            "read_file",
            json!({"properties": {"path": {"type": "string"}, "offset": {"type": "integer"}}, "required": ["path"]}),
        ),
        tool(
            "mood",
            json!({"properties": {"now": {"type": "string", "enum": ["good", "bad"]}, "all": {"type": "boolean"}}}),
        ),
        tool("rest", json!({"type": "object"})),
    ])
}

fn request(messages: Vec<Message>) -> Request {
    Request {
        system: "Be brief.".into(),
        tools: tools(),
        messages,
        effort: Effort::None,
        max_output: None,
        grammar: None,
        cache_key: String::new(),
    }
}

fn user(text: &str) -> Message {
    Message::User { text: text.into(), images: Vec::new() }
}

/// Says these pieces, and keeps what it was asked.
struct Says {
    pieces: Vec<&'static str>,
    stop: StopReason,
    asked: Mutex<Option<Request>>,
    info: ModelInfo,
}

impl Provider for Says {
    fn stream<'a>(
        &'a self,
        request: &'a Request,
        sink: mpsc::Sender<Delta>,
        _: CancellationToken,
    ) -> BoxFuture<'a, Result<Reply, ProviderError>> {
        Box::pin(async move {
            *lock(&self.asked) = Some(request.clone());
            for piece in &self.pieces {
                let _ = sink.send(Delta::Text((*piece).to_owned())).await;
            }
            let reply = Reply { text: self.pieces.concat(), stop: self.stop.clone(), ..Reply::default() };
            match self.stop {
                StopReason::ContentFilter => Err(ProviderError {
                    kind: ErrorKind::Network,
                    status: None,
                    message: "cut".into(),
                    retry_after: None,
                    reset_after: None,
                    next_key: Default::default(),
                    partial: Some(Box::new(reply)),
                }),
                _ => Ok(reply),
            }
        })
    }

    fn model(&self) -> &ModelInfo {
        &self.info
    }
}

async fn said(pieces: &[&'static str], stop: StopReason) -> (Result<Reply, ProviderError>, Vec<Delta>, Request) {
    let model = Arc::new(Says { pieces: pieces.to_vec(), stop, asked: Mutex::default(), info: ModelInfo::default() });
    let guided = Guided::new(Arc::clone(&model) as Arc<dyn Provider>);
    let (sink, mut heard) = mpsc::channel(64);
    let reply = guided.stream(&request(vec![user("Go.")]), sink, CancellationToken::new()).await;
    let mut deltas = Vec::new();
    while let Ok(delta) = heard.try_recv() {
        deltas.push(delta);
    }
    let asked = lock(&model.asked).take().unwrap();
    (reply, deltas, asked)
}

#[test]
fn the_grammar_holds_names_order_and_types() {
    let grammar = grammar::of(&tools());
    let rules: Vec<&str> = grammar.lines().take(5).collect();
    assert_eq!(
        rules,
        [
            "root ::= call | text",
            "call ::= tool0 | tool1 | tool2",
            r#"tool0 ::= "{\"tool\": \"read_file\", \"arguments\": {" "\"path\": " string (", \"offset\": " integer)? "}}""#,
            r#"tool1 ::= "{\"tool\": \"mood\", \"arguments\": {" ("\"now\": " ("\"good\"" | "\"bad\"") (", \"all\": " boolean)? | "\"all\": " boolean)? "}}""#,
            r#"tool2 ::= "{\"tool\": \"rest\", \"arguments\": {" "" "}}""#,
        ]
    );
}

#[tokio::test]
async fn prose_streams_as_it_is() {
    let (reply, deltas, asked) = said(&[" ", "Par", "is."], StopReason::EndTurn).await;
    let reply = reply.unwrap();
    assert_eq!((reply.text.as_str(), reply.calls.len()), (" Paris.", 0));
    let text: String = deltas.iter().map(|delta| if let Delta::Text(text) = delta { text } else { "" }).collect();
    assert_eq!(text, " Paris.");
    assert!(asked.tools.is_empty() && asked.grammar.is_some());
    assert!(asked.system.contains("- read_file(path, offset?): The read_file tool."), "{}", asked.system);
    assert!(asked.system.starts_with("Be brief."));
    assert_eq!(asked.messages.last(), Some(&user("Go.")));
}

#[tokio::test]
async fn a_call_is_announced_by_name_and_read_whole() {
    let pieces = ["{\"tool\": \"read_", "file\", \"arg", "uments\": {\"path\": \"a.txt\"}}"];
    let (reply, deltas, _) = said(&pieces, StopReason::EndTurn).await;
    let reply = reply.unwrap();
    assert_eq!((reply.text.as_str(), reply.stop), ("", StopReason::ToolCalls));
    assert_eq!((reply.calls[0].name.as_str(), reply.calls[0].args.as_str()), ("read_file", r#"{"path":"a.txt"}"#));
    assert_eq!(deltas.first(), Some(&Delta::CallStarted { index: 0, name: "read_file".into() }));
    assert!(deltas.iter().all(|delta| !matches!(delta, Delta::Text(_))), "{deltas:?}");
}

#[tokio::test]
async fn a_call_that_is_cut_off_is_named_and_never_shown_as_prose() {
    let (reply, _, _) = said(&["{\"tool\": \"read_file\", \"arguments\": {\"pa"], StopReason::Length).await;
    let reply = reply.unwrap();
    assert_eq!((reply.text.as_str(), reply.cut_call.as_deref()), ("", Some("read_file")));
    let (error, _, _) = said(&["{\"tool\": \"read_file\""], StopReason::ContentFilter).await;
    assert!(error.unwrap_err().partial.is_none());
}

#[test]
fn calls_and_results_of_before_are_told_in_words_and_sides_alternate() {
    let call =
        ToolCall { id: "1".into(), name: "read_file".into(), args: r#"{"path": "a"}"#.into(), ..ToolCall::default() };
    let messages = vec![
        user("Read a."),
        Message::Assistant { text: String::new(), reasoning: "hm".into(), calls: vec![call], opaque: Vec::new() },
        Message::Tool { call_id: "1".into(), name: "read_file".into(), content: "1|x".into(), failed: false },
        user("And now?"),
    ];
    let asked = guided(&request(messages));
    let sides: Vec<bool> = asked.messages.iter().map(|message| matches!(message, Message::User { .. })).collect();
    assert!(sides.windows(2).all(|pair| pair[0] != pair[1]), "{sides:?}");
    let last: Vec<&Message> = asked.messages.iter().rev().take(2).collect();
    assert_eq!(last[0], &user("Result of read_file:\n1|x\n\nAnd now?"));
    let written = "{\"tool\": \"read_file\", \"arguments\": {\"path\": \"a\"}}";
    assert!(matches!(last[1], Message::Assistant { text, .. } if text == written), "{last:?}");
}
