//! A login's server on loopback, made from the published protocols: device codes (RFC 8628), a page that sends the browser
//! back at once (RFC 6749, RFC 7636), OpenRouter's keys, and renewal tokens that are good once.

use axum::extract::{RawQuery, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Redirect, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};

type Fields = HashMap<String, String>;

/// The server; ends with the test.
pub struct Portal {
    port: u16,
    facts: Arc<Mutex<Facts>>,
    runtime: Option<tokio::runtime::Runtime>,
}

impl Drop for Portal {
    fn drop(&mut self) {
        // It may end within another runtime, which must not wait.
        self.runtime.take().unwrap().shutdown_background();
    }
}

#[derive(Default)]
struct Facts {
    /// What the next questions for a device's token are answered with; then it is granted.
    answers: VecDeque<&'static str>,
    /// Seconds that tokens live.
    life: u64,
    /// Seconds that a code lives, and between two questions.
    code: (u64, u64),
    granted: u64,
    /// The renewal token that is good now; `None`: all are revoked.
    renewal: Option<String>,
    challenge: String,
    /// Renewals wait for it.
    gate: Arc<tokio::sync::RwLock<()>>,
    /// The forms that came, by path.
    seen: Vec<(String, Fields)>,
}

impl Facts {
    fn grant(&mut self) -> Value {
        self.granted += 1;
        let (access, renewal) = (format!("access-token-{}", self.granted), format!("renewal-token-{}", self.granted));
        self.renewal = Some(renewal.clone());
        json!({"access_token": access, "refresh_token": renewal, "token_type": "Bearer", "expires_in": self.life})
    }
}

fn fields(text: &str) -> Fields {
    url::form_urlencoded::parse(text.as_bytes()).into_owned().collect()
}

fn no(error: &str) -> Response {
    (StatusCode::BAD_REQUEST, Json(json!({"error": error}))).into_response()
}

impl Portal {
    pub fn start() -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let facts = Arc::new(Mutex::new(Facts { life: 3600, code: (900, 1), ..Facts::default() }));
        let app = Router::new()
            .route("/device", post(device))
            .route("/token", post(token))
            .route("/authorize", get(authorize))
            .route("/auth", get(authorize))
            .route("/keys", post(keys))
            .with_state(Arc::clone(&facts));
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let port = listener.local_addr().unwrap().port();
        runtime.spawn(async move { axum::serve(tokio::net::TcpListener::from_std(listener).unwrap(), app).await });
        Self { port, facts, runtime: Some(runtime) }
    }

    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// `accounts.NAME` of a configuration that signs in here.
    pub fn config(&self, name: &str, flow: &str) -> String {
        let (url, page) = (self.url(), if flow == "openrouter_pkce" { "auth" } else { "authorize" });
        let token = if flow == "openrouter_pkce" { "keys" } else { "token" };
        format!(
            "accounts:\n  keyring: file\n  {name}:\n    flow: {flow}\n    client_id: test-client\n    scope: some:scope\n    \
             device_url: {url}/device\n    authorize_url: {url}/{page}\n    token_url: {url}/{token}\n"
        )
    }

    /// What the next questions of a device are answered with.
    pub fn answer(&self, answers: &[&'static str]) -> &Self {
        self.facts.lock().unwrap().answers = answers.iter().copied().collect();
        self
    }

    /// Seconds that tokens live from now on.
    pub fn life(&self, seconds: u64) -> &Self {
        self.facts.lock().unwrap().life = seconds;
        self
    }

    /// Seconds that a code lives.
    pub fn code_life(&self, seconds: u64) -> &Self {
        self.facts.lock().unwrap().code.0 = seconds;
        self
    }

    /// Gives a login without a person: its tokens.
    pub fn grant(&self) -> (String, String) {
        let granted = self.facts.lock().unwrap().grant();
        let text = |key: &str| granted[key].as_str().unwrap().to_owned();
        (text("access_token"), text("refresh_token"))
    }

    /// Answers to renewals wait until this is dropped.
    pub fn slow(&self) -> tokio::sync::OwnedRwLockWriteGuard<()> {
        let gate = Arc::clone(&self.facts.lock().unwrap().gate);
        gate.try_write_owned().unwrap()
    }

    /// No renewal token is good any more.
    pub fn revoke(&self) {
        self.facts.lock().unwrap().renewal = None;
    }

    /// How often it gave tokens.
    pub fn granted(&self) -> u64 {
        self.facts.lock().unwrap().granted
    }

    /// The forms that came to a path.
    pub fn forms(&self, path: &str) -> Vec<HashMap<String, String>> {
        let facts = self.facts.lock().unwrap();
        facts.seen.iter().filter(|(to, _)| to == path).map(|(_, form)| form.clone()).collect()
    }

    /// Visits an address as a browser does, to where it ends.
    pub fn browse(&self, address: &str) -> String {
        self.visit(address, true)
    }

    /// The same on another machine: the address that it ends at can't be reached from there.
    pub fn browse_elsewhere(&self, address: &str) -> String {
        self.visit(address, false)
    }

    fn visit(&self, address: &str, follows: bool) -> String {
        // A second installation answers with an error that means: already there.
        let _already_there = rustls::crypto::ring::default_provider().install_default();
        let policy = if follows { reqwest::redirect::Policy::default() } else { reqwest::redirect::Policy::none() };
        self.runtime.as_ref().unwrap().block_on(async {
            let client = reqwest::Client::builder().no_proxy().redirect(policy).build().unwrap();
            let answer = client.get(address).send().await.unwrap();
            let to = answer.headers().get("location").map(|to| to.to_str().unwrap().to_owned());
            to.unwrap_or_else(|| answer.url().to_string())
        })
    }
}

type Shared = State<Arc<Mutex<Facts>>>;

async fn device(State(facts): Shared, body: String) -> Json<Value> {
    let mut facts = facts.lock().unwrap();
    facts.seen.push(("/device".into(), fields(&body)));
    Json(json!({
        "device_code": "the-device-code", "user_code": "WXYZ-1234",
        "verification_uri": "https://portal.example/device",
        "verification_uri_complete": "https://portal.example/device?code=WXYZ-1234",
        "expires_in": facts.code.0, "interval": facts.code.1,
    }))
}

async fn token(State(facts): Shared, body: String) -> Response {
    let form = fields(&body);
    let gate = {
        let mut facts = facts.lock().unwrap();
        facts.seen.push(("/token".into(), form.clone()));
        Arc::clone(&facts.gate)
    };
    if form.get("grant_type").is_some_and(|kind| kind == "refresh_token") {
        drop(gate.read().await);
    }
    let mut facts = facts.lock().unwrap();
    let field = |key: &str| form.get(key).map(String::as_str).unwrap_or_default();
    if field("client_id") != "test-client" {
        return no("invalid_client");
    }
    match field("grant_type") {
        "urn:ietf:params:oauth:grant-type:device_code" if field("device_code") == "the-device-code" => {
            match facts.answers.pop_front() {
                Some("500") => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
                Some(error) => no(error),
                None => Json(facts.grant()).into_response(),
            }
        }
        "authorization_code" if proves(&facts.challenge, &form) => Json(facts.grant()).into_response(),
        "refresh_token" if facts.renewal.as_deref() == Some(field("refresh_token")) => {
            Json(facts.grant()).into_response()
        }
        // A renewal token that comes twice was stolen: all of them are.
        "refresh_token" => {
            facts.renewal = None;
            no("invalid_grant")
        }
        _ => no("invalid_request"),
    }
}

fn proves(challenge: &str, form: &Fields) -> bool {
    let verifier = form.get("code_verifier").map(String::as_str).unwrap_or_default();
    let code = form.get("code").map(String::as_str).unwrap_or_default();
    code == "the-code" && URL_SAFE_NO_PAD.encode(Sha256::digest(verifier.as_bytes())) == challenge
}

async fn authorize(State(facts): Shared, RawQuery(query): RawQuery) -> Response {
    let asked = fields(&query.unwrap_or_default());
    facts.lock().unwrap().challenge = asked.get("code_challenge").cloned().unwrap_or_default();
    let back = asked.get("redirect_uri").or(asked.get("callback_url")).cloned().unwrap_or_default();
    let mut to = url::Url::parse(&back).unwrap();
    to.query_pairs_mut().append_pair("code", "the-code");
    if let Some(state) = asked.get("state") {
        to.query_pairs_mut().append_pair("state", state);
    }
    Redirect::to(to.as_str()).into_response()
}

async fn keys(State(facts): Shared, Json(asked): Json<Value>) -> Response {
    let form: Fields =
        asked.as_object().unwrap().iter().map(|(k, v)| (k.clone(), v.as_str().unwrap().into())).collect();
    let proven = proves(&facts.lock().unwrap().challenge, &form);
    if proven {
        return Json(json!({"key": "sk-or-v1-from-the-portal"})).into_response();
    }
    (StatusCode::FORBIDDEN, Json(json!({"error": {"message": "Invalid code or code_verifier"}}))).into_response()
}
