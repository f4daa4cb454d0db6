//! A model on loopback: plays steps over Chat Completions with real chunk timing and keeps the requests.

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, Response, StatusCode};
use axum::routing::{get, post};
use axum::serve::ListenerExt as _;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// One reply.
#[derive(Clone, Debug)]
pub enum Step {
    Text(String),
    /// Text in pieces of four characters with a pause between them.
    Slow(String, Duration),
    /// Text in pieces of four characters, this many a millisecond.
    Paced(String, usize),
    /// Text before calls: name and arguments.
    Calls(String, Vec<(String, Value)>),
    /// An HTTP error with a body, and seconds for `Retry-After`.
    Error(u16, String, Option<u64>),
    /// Text, and then the connection is cut.
    Cut(String),
    /// The answer begins and never comes.
    Hang,
    /// What this makes of the request.
    Of(fn(&Value) -> Step),
}

#[derive(Default)]
struct Script {
    steps: VecDeque<Step>,
    /// Steps for conversations whose first prompt holds these words.
    scenes: Vec<(String, VecDeque<Step>)>,
    requests: Vec<Value>,
    keys: Vec<String>,
    /// Answers when no step is left; `None`: `done`.
    rule: Option<Box<Rule>>,
    /// Times 1,000 tokens of input and 20 of output that a step costs; 0: once.
    uses: u64,
}

/// What a request is answered with.
type Rule = dyn Fn(&Value) -> Option<Step> + Send;

/// The server; ends with the test.
pub struct Mock {
    port: u16,
    script: Arc<Mutex<Script>>,
    _runtime: tokio::runtime::Runtime,
}

impl Mock {
    /// Starts a server that plays these steps; afterwards it says `done`.
    pub fn start(steps: Vec<Step>) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let script = Arc::new(Mutex::new(Script { steps: steps.into(), ..Script::default() }));
        let app = Router::new()
            .route("/v1/chat/completions", post(complete))
            .route("/v1/models", get(models))
            .layer(axum::extract::DefaultBodyLimit::disable())
            .with_state(Arc::clone(&script));
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
        let port = listener.local_addr().unwrap().port();
        // As every real server does: otherwise each reply waits 40 ms for the acknowledgement of its first chunk.
        let listener = listener.tap_io(|stream| drop(stream.set_nodelay(true)));
        runtime.spawn(async move { axum::serve(listener, app).await });
        Self { port, script, _runtime: runtime }
    }

    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Steps cost so many times what they do else: 1,000 tokens of input, 800 of them cached, and 20 of output.
    pub fn uses(&self, times: u64) {
        self.script.lock().unwrap().uses = times;
    }

    /// What requests are answered with that find no step, by what they say.
    pub fn answers(&self, rule: impl Fn(&Value) -> Option<Step> + Send + 'static) {
        self.script.lock().unwrap().rule = Some(Box::new(rule));
    }

    /// More steps at the end.
    pub fn push(&self, steps: Vec<Step>) {
        self.script.lock().unwrap().steps.extend(steps);
    }

    /// Steps for a conversation whose first prompt holds these words; what comes in others goes on as before.
    pub fn scene(self, words: &str, steps: Vec<Step>) -> Self {
        self.script.lock().unwrap().scenes.push((words.to_owned(), steps.into()));
        self
    }

    /// The requests of that conversation so far.
    pub fn requests_of(&self, words: &str) -> Vec<Value> {
        self.requests().into_iter().filter(|request| first_prompt(request).contains(words)).collect()
    }

    /// How many requests came so far; cheap enough to spin on.
    pub fn count(&self) -> usize {
        self.script.lock().unwrap().requests.len()
    }

    /// The `Authorization` of each request so far.
    pub fn keys(&self) -> Vec<String> {
        self.script.lock().unwrap().keys.clone()
    }

    /// The bodies of all requests so far.
    pub fn requests(&self) -> Vec<Value> {
        self.script.lock().unwrap().requests.clone()
    }
}

/// A call as a step names it.
pub fn call(name: &str, args: Value) -> (String, Value) {
    (name.to_owned(), args)
}

/// The first prompt of a conversation.
fn first_prompt(request: &Value) -> String {
    let messages = request["messages"].as_array().into_iter().flatten();
    messages.into_iter().find(|message| message["role"] == "user").map(ToString::to_string).unwrap_or_default()
}

/// The last result of a tool in a request.
pub fn last_result(request: &Value) -> String {
    let messages = request["messages"].as_array().unwrap();
    let result = messages.iter().rev().find(|message| message["role"] == "tool");
    result.and_then(|message| message["content"].as_str()).unwrap_or_default().to_owned()
}

async fn models() -> String {
    json!({ "object": "list", "data": [{ "id": "mock-model", "object": "model" }] }).to_string()
}

async fn complete(State(script): State<Arc<Mutex<Script>>>, headers: HeaderMap, body: Bytes) -> Response<Body> {
    let request: Value = serde_json::from_slice(&body).unwrap();
    let (step, count, uses) = {
        let mut script = script.lock().unwrap();
        let by_rule = match (&script.rule, script.steps.is_empty()) {
            (Some(rule), true) => rule(&request),
            _ => None,
        };
        script.requests.push(request.clone());
        let key = headers.get("authorization").and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
        script.keys.push(key);
        let first = first_prompt(&request);
        let of = script.scenes.iter().position(|(words, _)| first.contains(words.as_str()));
        let steps = match of {
            Some(at) => &mut script.scenes[at].1,
            None => &mut script.steps,
        };
        let step = steps.pop_front().or(by_rule).unwrap_or(Step::Text("done".into()));
        let step = if let Step::Of(make) = step { make(&request) } else { step };
        (step, script.requests.len(), script.uses.max(1))
    };
    if let Step::Error(status, text, retry) = &step {
        let mut response = Response::builder().status(StatusCode::from_u16(*status).unwrap());
        if let Some(seconds) = retry {
            response = response.header("retry-after", seconds.to_string());
        }
        return response.body(Body::from(text.clone())).unwrap();
    }
    let (tx, rx) = tokio::sync::mpsc::channel::<Result<String, std::io::Error>>(8);
    tokio::spawn(async move { play(step, count, uses, tx).await });
    let stream = futures::stream::unfold(rx, |mut rx| async move { rx.recv().await.map(|item| (item, rx)) });
    Response::builder().header("content-type", "text/event-stream").body(Body::from_stream(stream)).unwrap()
}

type Wire = tokio::sync::mpsc::Sender<Result<String, std::io::Error>>;

async fn play(step: Step, count: usize, uses: u64, wire: Wire) {
    let send = |delta: Value, finish: Option<&'static str>| {
        let wire = wire.clone();
        async move {
            let chunk = json!({
                "id": "c", "object": "chat.completion.chunk", "model": "mock-model",
                "choices": [{ "index": 0, "delta": delta, "finish_reason": finish }],
            });
            let _ = wire.send(Ok(format!("data: {chunk}\n\n"))).await;
        }
    };
    let pieces = |text: &str| -> Vec<String> {
        text.chars().collect::<Vec<_>>().chunks(4).map(|c| c.iter().collect()).collect()
    };
    match step {
        Step::Text(text) => {
            for piece in pieces(&text) {
                send(json!({ "content": piece }), None).await;
            }
            send(json!({}), Some("stop")).await;
        }
        Step::Slow(text, pause) => {
            for piece in pieces(&text) {
                send(json!({ "content": piece }), None).await;
                tokio::time::sleep(pause).await;
            }
            send(json!({}), Some("stop")).await;
        }
        Step::Paced(text, rate) => {
            let mut tick = tokio::time::interval(Duration::from_millis(1));
            for some in pieces(&text).chunks(rate) {
                tick.tick().await;
                for piece in some {
                    send(json!({ "content": piece }), None).await;
                }
            }
            send(json!({}), Some("stop")).await;
        }
        Step::Calls(text, calls) => {
            for piece in pieces(&text) {
                send(json!({ "content": piece }), None).await;
            }
            for (index, (name, args)) in calls.into_iter().enumerate() {
                let head = json!({ "tool_calls": [{ "index": index, "id": format!("call_{count}_{index}"), "type": "function",
                    "function": { "name": name, "arguments": "" } }] });
                send(head, None).await;
                for piece in pieces(&args.to_string()) {
                    send(json!({ "tool_calls": [{ "index": index, "function": { "arguments": piece } }] }), None).await;
                }
            }
            send(json!({}), Some("tool_calls")).await;
        }
        Step::Cut(text) => {
            for piece in pieces(&text) {
                send(json!({ "content": piece }), None).await;
            }
            // What was sent is on its way before the connection breaks.
            tokio::time::sleep(Duration::from_millis(50)).await;
            let _ = wire.send(Err(std::io::Error::other("cut"))).await;
            return;
        }
        Step::Hang => {
            send(json!({ "content": "" }), None).await;
            return std::future::pending().await;
        }
        Step::Error(..) | Step::Of(_) => return,
    }
    let usage = json!({ "id": "c", "object": "chat.completion.chunk", "model": "mock-model", "choices": [],
        "usage": { "prompt_tokens": 1000 * uses, "completion_tokens": 20 * uses,
            "prompt_tokens_details": { "cached_tokens": 800 * uses } } });
    let _ = wire.send(Ok(format!("data: {usage}\n\ndata: [DONE]\n\n"))).await;
}
