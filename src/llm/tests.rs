//! What tests of this module share: requests, endpoints, and a loopback server that sends bytes when it is told to.

use super::endpoint::{Endpoint, resolve};
use super::{Delta, Effort, ModelInfo, ProviderError, Reply, Request, ToolSchema, connect, http};
use crate::config::Config;
use crate::llm::message::Message;
use axum::body::Body;
use axum::extract::{Request as Received, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// What the server does next with an answer.
#[derive(Clone, Debug)]
pub enum Act {
    Send(String),
    /// Lets what was sent arrive on its own.
    Pause(u64),
    /// Breaks the connection.
    Break,
    /// Sends nothing more and keeps the connection.
    Hang,
}

/// One answer.
#[derive(Clone, Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(&'static str, &'static str)>,
    pub acts: Vec<Act>,
}

impl Answer {
    /// A stream of these pieces.
    pub fn stream(pieces: &[&str]) -> Self {
        let acts = pieces.iter().flat_map(|piece| [Act::Send((*piece).to_owned()), Act::Pause(5)]).collect();
        Self { status: 200, headers: vec![("content-type", "text/event-stream")], acts }
    }

    /// A body of JSON.
    pub fn json(status: u16, body: &str) -> Self {
        Self { status, headers: vec![("content-type", "application/json")], acts: vec![Act::Send(body.to_owned())] }
    }

    pub fn then(mut self, act: Act) -> Self {
        self.acts.push(act);
        self
    }
}

type Log = Arc<Mutex<Vec<(HeaderMap, Value)>>>;

/// A server on loopback that gives one answer to everything.
pub struct Server {
    pub url: String,
    log: Log,
}

impl Server {
    pub async fn start(answer: Answer) -> Self {
        let log = Log::default();
        let state = (Arc::new(answer), log.clone());
        let app = axum::Router::new().fallback(serve).with_state(state);
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, app).await });
        Self { url, log }
    }

    /// Requests so far.
    pub fn count(&self) -> usize {
        self.log.lock().unwrap().len()
    }

    /// Headers and body of the only request.
    pub fn seen(&self) -> (HeaderMap, Value) {
        let log = self.log.lock().unwrap();
        assert_eq!(log.len(), 1);
        log[0].clone()
    }
}

async fn serve(State((answer, log)): State<(Arc<Answer>, Log)>, request: Received) -> Response {
    let headers = request.headers().clone();
    let body = axum::body::to_bytes(request.into_body(), 1 << 24).await.unwrap();
    log.lock().unwrap().push((headers, serde_json::from_slice(&body).unwrap_or_default()));
    let (tx, rx) = mpsc::channel::<Result<String, std::io::Error>>(1);
    let acts = answer.acts.clone();
    tokio::spawn(async move {
        for act in acts {
            match act {
                Act::Send(text) => {
                    if tx.send(Ok(text)).await.is_err() {
                        return;
                    }
                }
                Act::Pause(millis) => tokio::time::sleep(Duration::from_millis(millis)).await,
                Act::Break => {
                    let _gone = tx.send(Err(std::io::Error::other("broken on purpose"))).await;
                }
                Act::Hang => tx.closed().await,
            }
        }
    });
    let chunks = futures::stream::unfold(rx, |mut rx| async move { rx.recv().await.map(|chunk| (chunk, rx)) });
    let mut response = (StatusCode::from_u16(answer.status).unwrap(), Body::from_stream(chunks)).into_response();
    for (name, value) in &answer.headers {
        response.headers_mut().insert(*name, value.parse().unwrap());
    }
    response
}

/// An endpoint of a provider at an address, or at its own.
pub fn endpoint(provider: &str, model: &str, base_url: &str, api_mode: &str) -> Endpoint {
    let mut config = Config::default();
    config.model.provider = provider.into();
    config.model.default = model.into();
    config.model.base_url = base_url.into();
    config.model.api_mode = api_mode.into();
    config.model.api_key = "k-secret".into();
    resolve(&config, &|_: &str| None, None).unwrap()
}

/// A request with two tools.
pub fn request(messages: Vec<Message>) -> Request {
    let tool = |name: &str| ToolSchema {
        name: name.into(),
        description: format!("{name} it"),
        parameters: Arc::new(json!({"type": "object", "properties": {"path": {"type": "string"}}})),
    };
    Request {
        system: "be brief".into(),
        tools: vec![tool("read_file"), tool("terminal")].into(),
        messages,
        effort: Effort::Medium,
        max_output: None,
        grammar: None,
        cache_key: "session-1".into(),
    }
}

pub fn user(text: &str) -> Message {
    Message::User { text: text.into(), images: Vec::new() }
}

/// Calls an endpoint and collects what the sink was told.
pub async fn call(endpoint: Endpoint, request: &Request) -> (Result<Reply, ProviderError>, Vec<Delta>) {
    let provider = connect(endpoint, http::client(), ModelInfo::default());
    let (tx, mut rx) = mpsc::channel(4);
    let reading = tokio::spawn(async move {
        let mut deltas = Vec::new();
        while let Some(delta) = rx.recv().await {
            deltas.push(delta);
        }
        deltas
    });
    let outcome = provider.stream(request, tx, CancellationToken::new()).await;
    (outcome, reading.await.unwrap())
}

/// Text of all text deltas.
pub fn text_of(deltas: &[Delta]) -> String {
    let text = |delta: &Delta| if let Delta::Text(text) = delta { text.clone() } else { String::new() };
    deltas.iter().map(text).collect()
}
