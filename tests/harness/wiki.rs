//! An MCP server over HTTP on loopback that wants a login, and that login's server: registration, a page that sends the
//! browser back at once, tokens.

use axum::Router;
use axum::extract::{RawQuery, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// The server; ends with the test.
pub struct Wiki {
    port: u16,
    facts: Arc<Facts>,
    runtime: tokio::runtime::Runtime,
}

#[derive(Default)]
struct Facts {
    origin: Mutex<String>,
    /// Logins so far; only the token of the last one is good, none after [`Wiki::forget`].
    logins: AtomicU64,
    forgotten: AtomicU64,
    /// What tools were called with.
    calls: Mutex<Vec<Value>>,
}

impl Facts {
    fn origin(&self) -> String {
        self.origin.lock().unwrap().clone()
    }

    fn is_good(&self, headers: &HeaderMap) -> bool {
        let number = self.logins.load(Ordering::SeqCst);
        let sent = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok()).unwrap_or_default();
        number > self.forgotten.load(Ordering::SeqCst) && sent == format!("Bearer token-{number}")
    }
}

impl Wiki {
    pub fn start() -> Self {
        // A second installation answers with an error that means: already there.
        let _already_there = rustls::crypto::ring::default_provider().install_default();
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let facts = Arc::new(Facts::default());
        let app = Router::new()
            .route("/mcp", post(mcp).get(|| async { StatusCode::METHOD_NOT_ALLOWED }))
            .route("/.well-known/oauth-protected-resource/mcp", get(resource))
            .route("/.well-known/oauth-authorization-server", get(metadata))
            .route("/register", post(register))
            .route("/authorize", get(authorize))
            .route("/token", post(token))
            .with_state(Arc::clone(&facts));
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
        let port = listener.local_addr().unwrap().port();
        *facts.origin.lock().unwrap() = format!("http://127.0.0.1:{port}");
        runtime.spawn(async move { axum::serve(listener, app).await });
        Self { port, facts, runtime }
    }

    /// Where its tools are.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/mcp", self.port)
    }

    /// What the person's browser does: visits the address and goes where it is sent.
    pub fn browse(&self, address: &str) {
        let page = self.get(address);
        assert!(self.get(&page.unwrap()).is_none(), "it came back");
    }

    /// Visits the address as a browser of another machine does, which cannot go where it is sent: that address.
    pub fn browse_elsewhere(&self, address: &str) -> String {
        self.get(address).unwrap()
    }

    /// Where an address sends the browser, if anywhere.
    fn get(&self, address: &str) -> Option<String> {
        let address = address.to_owned();
        self.runtime.block_on(async move {
            let browser = reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none());
            let answer = browser.build().unwrap().get(address).send().await.unwrap();
            let to = answer.headers().get("location").and_then(|to| to.to_str().ok()).map(str::to_owned);
            assert!(to.is_some() || answer.status().is_success(), "{}", answer.status());
            to
        })
    }

    /// No token counts from now on.
    pub fn forget(&self) {
        self.facts.forgotten.store(self.facts.logins.load(Ordering::SeqCst), Ordering::SeqCst);
    }

    /// What its tool was called with so far.
    pub fn calls(&self) -> Vec<Value> {
        self.facts.calls.lock().unwrap().clone()
    }
}

async fn resource(State(facts): State<Arc<Facts>>) -> String {
    let origin = facts.origin();
    json!({ "resource": format!("{origin}/mcp"), "authorization_servers": [origin] }).to_string()
}

async fn metadata(State(facts): State<Arc<Facts>>) -> String {
    let origin = facts.origin();
    json!({
        "issuer": origin,
        "authorization_endpoint": format!("{origin}/authorize"),
        "token_endpoint": format!("{origin}/token"),
        "registration_endpoint": format!("{origin}/register"),
        "response_types_supported": ["code"],
        "grant_types_supported": ["authorization_code"],
        "code_challenge_methods_supported": ["S256"],
        "token_endpoint_auth_methods_supported": ["none"],
    })
    .to_string()
}

async fn register(body: String) -> Response {
    let asked: Value = serde_json::from_str(&body).unwrap();
    let answer = json!({ "client_id": "hermes-1", "redirect_uris": asked["redirect_uris"] });
    (StatusCode::CREATED, answer.to_string()).into_response()
}

/// The pairs of a query or a form.
fn pairs(text: &str) -> HashMap<String, String> {
    url::form_urlencoded::parse(text.as_bytes()).into_owned().collect()
}

async fn authorize(RawQuery(query): RawQuery) -> Redirect {
    let asked = pairs(&query.unwrap_or_default());
    assert_eq!(asked["code_challenge_method"], "S256");
    Redirect::to(&format!("{}?code=yes&state={}", asked["redirect_uri"], asked["state"]))
}

async fn token(State(facts): State<Arc<Facts>>, body: String) -> Response {
    let asked = pairs(&body);
    assert!(asked["code"] == "yes" && !asked["code_verifier"].is_empty(), "{asked:?}");
    let number = facts.logins.fetch_add(1, Ordering::SeqCst) + 1;
    let answer = json!({ "access_token": format!("token-{number}"), "token_type": "Bearer", "expires_in": 3600 });
    ([(header::CONTENT_TYPE, "application/json")], answer.to_string()).into_response()
}

async fn mcp(State(facts): State<Arc<Facts>>, headers: HeaderMap, body: String) -> Response {
    if !facts.is_good(&headers) {
        let about = format!("Bearer resource_metadata=\"{}/.well-known/oauth-protected-resource/mcp\"", facts.origin());
        return (StatusCode::UNAUTHORIZED, [(header::WWW_AUTHENTICATE, about)]).into_response();
    }
    let message: Value = serde_json::from_str(&body).unwrap();
    let result = match message["method"].as_str().unwrap_or_default() {
        "initialize" => json!({
            "protocolVersion": "2025-06-18",
            "capabilities": { "tools": {} },
            "serverInfo": { "name": "wiki", "version": "1" },
        }),
        "tools/list" => json!({ "tools": [{ "name": "find", "inputSchema": { "type": "object" } }] }),
        "tools/call" => {
            facts.calls.lock().unwrap().push(message["params"]["arguments"].clone());
            json!({ "content": [{ "type": "text", "text": "the page about whales" }] })
        }
        "ping" => json!({}),
        _ => return StatusCode::ACCEPTED.into_response(),
    };
    let answer = json!({ "jsonrpc": "2.0", "id": message["id"], "result": result });
    ([(header::CONTENT_TYPE, "application/json")], answer.to_string()).into_response()
}
