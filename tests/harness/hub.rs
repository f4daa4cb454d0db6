//! A hub of models on loopback, and a stand-in for the server that runs them: what a home needs to get a model and ask it.

use super::{Home, UNTESTED};
use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, Response, StatusCode, Uri};
use axum::routing::get;
use futures::StreamExt as _;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The name of its model, and its file.
pub const MODEL: &str = "tiny-test";
const FILE: &str = "tiny.gguf";
const REPO: &str = "tests/tiny";
const REVISION: &str = "0123456789abcdef0123456789abcdef01234567";
/// Bytes of one piece of an answer.
const PIECE: usize = 64 << 10;

/// How the hub gives its file.
#[derive(Clone, Debug, PartialEq)]
pub enum Manner {
    Whole,
    /// Pieces of 64 KiB with a pause between them.
    Slow(Duration),
    /// After so many bytes of the file it waits until another manner is set.
    Holds(usize),
    /// Each answer breaks off after so many bytes.
    Breaks(usize),
    /// The right length, other bytes.
    Wrong,
    /// This status.
    Refuses(u16),
}

struct Shelf {
    file: Arc<Vec<u8>>,
    manner: Manner,
    asked: Vec<(String, Option<String>)>,
}

/// The hub; ends with the test.
pub struct Hub {
    port: u16,
    shelf: Arc<Mutex<Shelf>>,
    _runtime: tokio::runtime::Runtime,
}

impl Hub {
    /// A hub whose model has so many kilobytes.
    pub fn start(kilobytes: usize) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let file = Arc::new(model(kilobytes << 10));
        let shelf = Arc::new(Mutex::new(Shelf { file, manner: Manner::Whole, asked: Vec::new() }));
        let app = Router::new().fallback(get(give)).with_state(Arc::clone(&shelf));
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
        let port = listener.local_addr().unwrap().port();
        runtime.spawn(async move { axum::serve(listener, app).await });
        Self { port, shelf, _runtime: runtime }
    }

    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// From now on, also for answers that are under way.
    pub fn behave(&self, manner: Manner) {
        self.shelf.lock().unwrap().manner = manner;
    }

    /// Paths that were asked for, with the range.
    pub fn asked(&self) -> Vec<(String, Option<String>)> {
        self.shelf.lock().unwrap().asked.clone()
    }

    /// The file that it gives.
    pub fn file(&self) -> Vec<u8> {
        self.shelf.lock().unwrap().file.to_vec()
    }

    /// Makes the model of this hub the only one that is offered in a home, and the hub the first host. The next one, which
    /// is outside, can't be reached.
    pub fn offer(&self, home: &mut Home) {
        home.set("HTTPS_PROXY", "http://127.0.0.1:9");
        let bundled = include_str!("../../assets/local-models.yaml");
        // A row without a hash is not offered, and it takes the place of the bundled one of its name.
        let none = bundled.split("engines:").next().unwrap().lines().filter_map(|line| line.strip_prefix("- name: "));
        let mut rows: Vec<Value> = none.map(|name| json!({ "name": name })).collect();
        let file = self.file();
        let hash: String = Sha256::digest(&file).iter().map(|byte| format!("{byte:02x}")).collect();
        rows.push(json!({
            "name": MODEL, "title": "Tiny Test", "repo": REPO, "revision": REVISION, "file": FILE,
            "bytes": file.len(), "sha256": hash, "licence": "MIT", "context": 32_768, "params": 0.1,
            "note": "made for tests", "source": "tests",
        }));
        let table = json!({ "hosts": [self.url()], "models": rows }).to_string();
        std::fs::write(home.hermes().join("local-models.yaml"), table).unwrap();
    }
}

/// The stand-in for `llama-server` in a home: `tests/harness/engine.py`.
pub struct Served {
    program: PathBuf,
}

impl Served {
    /// Puts it into the home; [`Self::config`] makes it the engine.
    pub fn in_home(home: &Home) -> Self {
        let program = home.user().join("llama-server");
        std::fs::write(&program, include_str!("engine.py")).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        Self { program }
    }

    /// The lines of `config.yaml` that make it the engine.
    pub fn config(&self) -> String {
        format!("{UNTESTED}  engine: {}\n", self.program.display())
    }

    /// What it does from now on: see the head of the program.
    pub fn behave(&self, settings: &Value) {
        std::fs::write(self.beside("json"), settings.to_string()).unwrap();
    }

    /// What it heard: a value for each start and each request.
    pub fn heard(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.beside("log")).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The processes that were started, in their order.
    pub fn started(&self) -> Vec<u32> {
        let pid = |line: &Value| line.get("started").and_then(|_| line["pid"].as_u64()).map(|pid| pid as u32);
        self.heard().iter().filter_map(pid).collect()
    }

    fn beside(&self, end: &str) -> PathBuf {
        self.program.with_file_name(format!("llama-server.{end}"))
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // Only what this test started: a failed test may have left it.
        for pid in self.started() {
            let command = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            if String::from_utf8_lossy(&command).contains(&*self.program.to_string_lossy())
                && let Some(pid) = rustix::process::Pid::from_raw(pid as i32)
            {
                let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
            }
        }
    }
}

/// A file with the header of a model and so many bytes.
fn model(bytes: usize) -> Vec<u8> {
    let numbers = [
        ("llama.block_count", 2),
        ("llama.context_length", 32_768),
        ("llama.embedding_length", 128),
        ("llama.attention.head_count", 2),
        ("llama.attention.head_count_kv", 1),
    ];
    let texts = [("general.architecture", "llama"), ("tokenizer.chat_template", "{{ messages }}")];
    let mut out = b"GGUF".to_vec();
    out.extend(3u32.to_le_bytes());
    out.extend(0u64.to_le_bytes());
    out.extend(((numbers.len() + texts.len()) as u64).to_le_bytes());
    let text = |out: &mut Vec<u8>, text: &str| {
        out.extend((text.len() as u64).to_le_bytes());
        out.extend(text.as_bytes());
    };
    for (key, value) in texts {
        text(&mut out, key);
        out.extend(8u32.to_le_bytes());
        text(&mut out, value);
    }
    for (key, value) in numbers {
        text(&mut out, key);
        out.extend(4u32.to_le_bytes());
        out.extend((value as u32).to_le_bytes());
    }
    let rest = out.len()..bytes.max(out.len());
    out.extend(rest.map(|at| (at * 31 % 251) as u8));
    out
}

async fn give(State(shelf): State<Arc<Mutex<Shelf>>>, headers: HeaderMap, uri: Uri) -> Response<Body> {
    let range = headers.get("range").and_then(|value| value.to_str().ok()).map(str::to_owned);
    let (file, manner) = {
        let mut shelf = shelf.lock().unwrap();
        shelf.asked.push((uri.path().to_owned(), range.clone()));
        (Arc::clone(&shelf.file), shelf.manner.clone())
    };
    let plain = |status: u16, text: String| {
        Response::builder().status(StatusCode::from_u16(status).unwrap()).body(Body::from(text)).unwrap()
    };
    if let Manner::Refuses(status) = manner {
        return plain(status, String::new());
    }
    if uri.path() == format!("/api/models/{REPO}") {
        let hash: String = Sha256::digest(&*file).iter().map(|byte| format!("{byte:02x}")).collect();
        let sibling = json!({ "rfilename": FILE, "size": file.len(), "lfs": { "sha256": hash } });
        return plain(
            200,
            json!({ "sha": REVISION, "cardData": { "license": "mit" }, "siblings": [sibling] }).to_string(),
        );
    }
    if uri.path() != format!("/{REPO}/resolve/{REVISION}/{FILE}") {
        return plain(404, String::new());
    }
    let from = range.as_deref().and_then(|range| range.strip_prefix("bytes=")?.trim_end_matches('-').parse().ok());
    let from: usize = from.unwrap_or(0);
    if from >= file.len() {
        return plain(416, String::new());
    }
    let mut answer = Response::builder().header("content-length", file.len() - from);
    if range.is_some() {
        let total = file.len();
        answer = answer.status(206).header("content-range", format!("bytes {from}-{}/{total}", total - 1));
    }
    let body = futures::stream::unfold(from, move |at| piece(Arc::clone(&shelf), from, at));
    answer.body(Body::from_stream(body.boxed())).unwrap()
}

type Piece = Result<Vec<u8>, std::io::Error>;

/// The next piece from this byte on, as the manner of the moment wants it.
async fn piece(shelf: Arc<Mutex<Shelf>>, from: usize, at: usize) -> Option<(Piece, usize)> {
    loop {
        let (file, manner) = {
            let shelf = shelf.lock().unwrap();
            (Arc::clone(&shelf.file), shelf.manner.clone())
        };
        let mut end = (at + PIECE).min(file.len());
        if at >= file.len() {
            return None;
        }
        match manner {
            Manner::Holds(most) if at >= most => {
                tokio::time::sleep(Duration::from_millis(5)).await;
                continue;
            }
            Manner::Holds(most) => end = end.min(most),
            Manner::Slow(pause) => tokio::time::sleep(pause).await,
            Manner::Breaks(most) if at >= from + most => return Some((Err(std::io::Error::other("cut")), file.len())),
            Manner::Breaks(most) => end = end.min(from + most),
            Manner::Whole | Manner::Wrong | Manner::Refuses(_) => {}
        }
        let mut piece = file[at..end].to_vec();
        if manner == Manner::Wrong {
            piece.iter_mut().for_each(|byte| *byte ^= 0x55);
        }
        return Some((Ok(piece), end));
    }
}
