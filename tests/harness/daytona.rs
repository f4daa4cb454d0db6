//! The service of Daytona on loopback, as its published description has it: the paths, bodies and states of the API that are
//! used, strictly; everything else is an error and is remembered. Its one sandbox is a real shell behind a real sshd that
//! gives no terminal to commands, as the service's own does. The gateway knows who comes by the name of the user: that name
//! is checked by a program `ssh` before the system's, since no sshd lets in a user that the system has not.

use super::Sshd;
use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::response::{IntoResponse as _, Response};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// The key that it takes.
pub const KEY: &str = "dtn_0123456789abcdef";
/// A property and whether a value fits it.
type Field = (&'static str, fn(&Value) -> bool);

/// What a sandbox may be asked for, as `CreateSandbox` of the description has it.
const FIELDS: &[Field] = &[
    ("name", Value::is_string),
    ("labels", Value::is_object),
    ("env", Value::is_object),
    ("public", Value::is_boolean),
    ("target", Value::is_string),
    ("cpu", Value::is_u64),
    ("memory", Value::is_u64),
    ("disk", Value::is_u64),
    ("autoStopInterval", Value::is_u64),
    ("autoDeleteInterval", Value::is_i64),
    ("buildInfo", Value::is_object),
];
/// The largest disk that it gives, in GB.
const DISK: u64 = 10;
/// For how many looks a sandbox that was told to start is still shown as stopped.
const LAG: usize = 3;

/// The gateway's side: who is not known, or whose sandbox does not run, is turned away as the real one does it.
const GATE: &str = r#"#!/bin/sh
config=; before=; orders=
for word in "$@"; do
  [ "$before" = -F ] && config=$word
  [ "$before" = -O ] && orders=1
  before=$word
done
token=$(sed -n 's/^ *User //p' "$config")
if [ -z "$orders" ] && { [ ! -e "@STATE@/running" ] || [ ! -e "@STATE@/tokens/$token" ]; }; then
  echo "Connection closed by 127.0.0.1 port 2222" >&2; exit 255
fi
exec @SSH@ -o User=@USER@ -o PubkeyAuthentication=yes -o IdentitiesOnly=yes -i @KEY@ "$@"
"#;

/// The service; gone with the value, and with it all that runs in its sandbox.
pub struct Daytona {
    port: u16,
    inner: Arc<Inner>,
    programs: PathBuf,
    _runtime: tokio::runtime::Runtime,
}

struct Inner {
    sshd: Sshd,
    state: PathBuf,
    root: tempfile::TempDir,
    desk: Mutex<Desk>,
}

#[derive(Default)]
struct Desk {
    sandbox: Option<Sandbox>,
    /// `METHOD path` of each request.
    log: Vec<String>,
    /// What the description does not know.
    strange: Vec<String>,
    /// How the next requests are refused.
    refusal: Option<(u16, String)>,
    /// Has too much to do when the next sandbox is to be made.
    busy: bool,
    /// No sandbox comes to be ready.
    stalled: bool,
    made: usize,
}

struct Sandbox {
    wanted: Value,
    id: String,
    state: &'static str,
    /// For how many looks it still shows the state from before the order to start.
    lag: usize,
    /// What it becomes, seen by the look after the next one.
    next: Option<&'static str>,
    tokens: usize,
}

impl Sandbox {
    fn body(&self) -> Value {
        let mut body = self.wanted.clone();
        body["id"] = json!(self.id);
        body["organizationId"] = json!("org-1");
        body["state"] = json!(self.state);
        body["user"] = json!("daytona");
        body["toolboxProxyUrl"] = json!("http://127.0.0.1:1/toolbox");
        body
    }
}

impl Daytona {
    /// Starts it, with its program `ssh` in this folder; the reason when this machine has no sshd.
    pub fn start(programs: &Path) -> Result<Self, String> {
        let sshd = Sshd::start_with("PermitTTY no\n")?;
        let root = tempfile::tempdir().unwrap();
        let state = root.path().canonicalize().unwrap();
        std::fs::create_dir(state.join("tokens")).unwrap();
        let me = std::process::Command::new("id").arg("-un").output().unwrap();
        let gate = GATE
            .replace("@STATE@", &state.display().to_string())
            .replace("@SSH@", &real_ssh(programs).display().to_string())
            .replace("@USER@", String::from_utf8_lossy(&me.stdout).trim())
            .replace("@KEY@", &sshd.key().display().to_string());
        std::fs::write(programs.join("ssh"), gate).unwrap();
        std::fs::set_permissions(programs.join("ssh"), std::fs::Permissions::from_mode(0o755)).unwrap();
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let inner = Arc::new(Inner { sshd, state, root, desk: Mutex::default() });
        let app = Router::new().fallback(answer).with_state(Arc::clone(&inner));
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
        let port = listener.local_addr().unwrap().port();
        runtime.spawn(async move { axum::serve(listener, app).await });
        Ok(Self { port, inner, programs: programs.to_owned(), _runtime: runtime })
    }

    /// The variables of who uses it.
    pub fn variables(&self) -> Vec<(&'static str, String)> {
        let path = format!("{}:{}", self.programs.display(), std::env::var("PATH").unwrap());
        vec![("DAYTONA_API_KEY", KEY.to_owned()), ("DAYTONA_API_URL", self.url()), ("PATH", path)]
    }

    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/api", self.port)
    }

    /// The home folder in the sandbox.
    pub fn disk(&self) -> PathBuf {
        self.inner.sshd.home()
    }

    /// What was asked so far, by method and path.
    pub fn log(&self) -> Vec<String> {
        self.inner.desk.lock().unwrap().log.clone()
    }

    /// What was asked that the description does not know.
    pub fn strange(&self) -> Vec<String> {
        self.inner.desk.lock().unwrap().strange.clone()
    }

    /// The state of the sandbox, when there is one.
    pub fn state(&self) -> Option<&'static str> {
        self.inner.desk.lock().unwrap().sandbox.as_ref().map(|sandbox| sandbox.state)
    }

    /// How many sandboxes were made.
    pub fn made(&self) -> usize {
        self.inner.desk.lock().unwrap().made
    }

    /// What the sandbox was asked for.
    pub fn wanted(&self) -> Value {
        self.inner.desk.lock().unwrap().sandbox.as_ref().unwrap().wanted.clone()
    }

    /// Tokens that count.
    pub fn tokens(&self) -> usize {
        std::fs::read_dir(self.inner.state.join("tokens")).unwrap().count()
    }

    /// Refuses all from now on, or no more.
    pub fn refuse(&self, how: Option<(u16, &str)>) {
        self.inner.desk.lock().unwrap().refusal = how.map(|(status, why)| (status, why.to_owned()));
    }

    /// Has too much to do when the next sandbox is to be made, and says when to come back.
    pub fn busy(&self) {
        self.inner.desk.lock().unwrap().busy = true;
    }

    /// No sandbox comes to be ready from now on.
    pub fn stall(&self) {
        self.inner.desk.lock().unwrap().stalled = true;
    }

    /// How often it was looked at one.
    pub fn looks(&self) -> usize {
        self.log().iter().filter(|line| line.starts_with("GET /api/sandbox/")).count()
    }

    /// Stops the sandbox from outside.
    pub fn stop(&self) {
        let mut desk = self.inner.desk.lock().unwrap();
        self.inner.halt();
        desk.sandbox.as_mut().unwrap().state = "stopped";
    }

    /// Deletes the sandbox from outside.
    pub fn delete(&self) {
        let mut desk = self.inner.desk.lock().unwrap();
        self.inner.halt();
        self.inner.wipe();
        desk.sandbox = None;
    }
}

impl Drop for Daytona {
    fn drop(&mut self) {
        self.inner.halt();
        assert!(self.inner.root.path().exists());
    }
}

/// The system's own.
fn real_ssh(programs: &Path) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut all = std::env::split_paths(&path).filter(|folder| folder != programs);
    all.find_map(|folder| Some(folder.join("ssh")).filter(|path| path.is_file())).expect("a program ssh")
}

impl Inner {
    /// Ends all that runs in the sandbox; its connections break.
    fn halt(&self) {
        std::fs::remove_file(self.state.join("running")).ok();
        self.sshd.cut();
        let mark = format!("HOME={}", self.sshd.home().display()).into_bytes();
        for entry in std::fs::read_dir("/proc").unwrap().flatten() {
            let Ok(environ) = std::fs::read(entry.path().join("environ")) else { continue };
            let Some(pid) = entry.file_name().to_str().and_then(|pid| pid.parse().ok()) else { continue };
            if environ.split(|byte| *byte == 0).any(|variable| variable == mark)
                && let Some(pid) = rustix::process::Pid::from_raw(pid)
            {
                rustix::process::kill_process(pid, rustix::process::Signal::KILL).ok();
            }
        }
        self.sshd.mend();
    }

    fn wipe(&self) {
        for entry in std::fs::read_dir(self.sshd.home()).unwrap().flatten() {
            if entry.path().is_dir() {
                std::fs::remove_dir_all(entry.path()).unwrap()
            } else {
                std::fs::remove_file(entry.path()).unwrap()
            }
        }
        for entry in std::fs::read_dir(self.state.join("tokens")).unwrap().flatten() {
            std::fs::remove_file(entry.path()).unwrap();
        }
    }
}

fn error(status: u16, message: &str) -> Response {
    let body = json!({"path": "/api", "timestamp": "2026-01-01T00:00:00.000Z", "statusCode": status,
        "error": "Error", "message": message});
    (StatusCode::from_u16(status).unwrap(), axum::Json(body)).into_response()
}

fn good(body: Value) -> Response {
    axum::Json(body).into_response()
}

async fn answer(
    State(inner): State<Arc<Inner>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let mut desk = inner.desk.lock().unwrap();
    let line = format!("{method} {}", uri.path());
    desk.log.push(line.clone());
    if desk.busy && method == Method::POST && uri.path().ends_with("/sandbox") {
        desk.busy = false;
        let mut said = error(429, "too many requests at once");
        said.headers_mut().insert("retry-after", axum::http::HeaderValue::from_static("1"));
        return said;
    }
    if let Some((status, why)) = &desk.refusal {
        return error(*status, why);
    }
    if headers.get("authorization").is_none_or(|key| key != &format!("Bearer {KEY}")) {
        return error(401, "Invalid credentials");
    }
    let Some(path) = uri.path().strip_prefix("/api/sandbox") else {
        desk.strange.push(line);
        return error(404, "Cannot find the path");
    };
    let query: BTreeMap<String, String> =
        url::form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes()).into_owned().collect();
    let words: Vec<&str> = path.split('/').skip(1).collect();
    match (method.as_str(), &words[..]) {
        ("POST", []) => make(&inner, &mut desk, &body),
        ("GET", [_])
        | ("DELETE", [_])
        | ("POST", [_, "start" | "recover" | "ssh-access"])
        | ("DELETE", [_, "ssh-access"])
            if desk
                .sandbox
                .as_ref()
                .is_none_or(|sandbox| words[0] != sandbox.id && sandbox.wanted["name"] != words[0]) =>
        {
            error(404, &format!("Sandbox with ID or name {} not found", words[0]))
        }
        ("GET", [_]) => look(&inner, &mut desk),
        ("POST", [_, "start"]) => start(&mut desk),
        ("DELETE", [_]) => {
            inner.halt();
            inner.wipe();
            good(desk.sandbox.take().unwrap().body())
        }
        ("POST", [_, "ssh-access"]) => open(&inner, &mut desk, &query),
        ("DELETE", [_, "ssh-access"]) => {
            let token = query.get("token").cloned().unwrap_or_default();
            match std::fs::remove_file(inner.state.join("tokens").join(token)) {
                Ok(()) => good(desk.sandbox.as_ref().unwrap().body()),
                Err(_) => error(404, "no such token"),
            }
        }
        _ => {
            desk.strange.push(line);
            error(404, "Cannot find the path")
        }
    }
}

fn make(inner: &Inner, desk: &mut Desk, body: &Bytes) -> Response {
    let Ok(Value::Object(wanted)) = serde_json::from_slice(body) else {
        return error(400, "the body is no object");
    };
    for (name, value) in &wanted {
        let known = FIELDS.iter().find(|(known, _)| known == name);
        if !known.is_some_and(|(_, fits)| fits(value)) {
            desk.strange.push(format!("{name}: {value}"));
            return error(400, &format!("property {name} should not exist"));
        }
    }
    let wanted = Value::Object(wanted);
    if !wanted["buildInfo"].is_null() && !wanted["buildInfo"]["dockerfileContent"].is_string() {
        return error(400, "buildInfo.dockerfileContent must be a string");
    }
    if wanted["buildInfo"].is_null() && ["cpu", "memory", "disk"].iter().any(|name| !wanted[name].is_null()) {
        return error(400, "Cannot specify Sandbox resources when using a snapshot");
    }
    if wanted["disk"].as_u64().is_some_and(|disk| disk > DISK) {
        return error(400, "Disk request exceeds the maximum allowed per sandbox");
    }
    if desk.sandbox.as_ref().is_some_and(|sandbox| sandbox.wanted["name"] == wanted["name"]) {
        return error(409, "Sandbox with this name already exists");
    }
    if desk.sandbox.is_some() {
        return error(403, "Total sandbox limit exceeded. Maximum allowed: 1");
    }
    desk.made += 1;
    inner.wipe();
    let id = format!("0f2a3c4d-0000-4000-8000-{:012x}", desk.made);
    let sandbox = Sandbox { wanted, id, state: "pulling_snapshot", next: Some("started"), lag: 0, tokens: 0 };
    let body = sandbox.body();
    desk.sandbox = Some(sandbox);
    good(body)
}

fn look(inner: &Inner, desk: &mut Desk) -> Response {
    let stalled = desk.stalled;
    let sandbox = desk.sandbox.as_mut().unwrap();
    let body = sandbox.body();
    if stalled {
        return good(body);
    }
    if sandbox.lag > 0 {
        sandbox.lag -= 1;
        if sandbox.lag == 0 {
            sandbox.state = "starting";
        }
    } else if let Some(next) = sandbox.next.take() {
        sandbox.state = next;
        std::fs::write(inner.state.join("running"), "").unwrap();
    }
    good(body)
}

fn start(desk: &mut Desk) -> Response {
    let sandbox = desk.sandbox.as_mut().unwrap();
    if sandbox.state != "stopped" || sandbox.lag > 0 {
        return error(400, "Sandbox is not in valid state");
    }
    (sandbox.lag, sandbox.next) = (LAG, Some("started"));
    good(sandbox.body())
}

fn open(inner: &Inner, desk: &mut Desk, query: &BTreeMap<String, String>) -> Response {
    let sandbox = desk.sandbox.as_mut().unwrap();
    if query.get("expiresInMinutes").is_some_and(|minutes| minutes.parse::<u32>().is_err()) {
        return error(400, "expiresInMinutes must be a number");
    }
    sandbox.tokens += 1;
    let token = format!("Tok-{}_{:08x}", sandbox.tokens, fastrand::u32(..));
    std::fs::write(inner.state.join("tokens").join(&token), "").unwrap();
    good(json!({
        "id": format!("access-{}", sandbox.tokens), "sandboxId": sandbox.id, "token": token,
        "expiresAt": "2030-01-01T00:00:00.000Z", "createdAt": "2026-01-01T00:00:00.000Z",
        "updatedAt": "2026-01-01T00:00:00.000Z",
        "sshCommand": format!("ssh -p {} {token}@127.0.0.1", inner.sshd.port()),
    }))
}
