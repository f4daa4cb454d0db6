//! One running plugin: requests out, answers in, a line each; bounded in every direction, ended as a group.

use super::rpc::{self, Incoming, LINE_MAX, RpcError};
use crate::exec::{Piped, PipedEnds};
use crate::lock::lock;
use crate::text::foreign;
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;

/// Lines that wait to be written before a request fails: the plugin does not read.
const QUEUE: usize = 64;
/// Lines a second that are no answers, and bytes a second of all kinds, beyond which it floods.
const LINES_A_SECOND: u64 = 2_000;
const BYTES_A_SECOND: u64 = 32 * 1024 * 1024;
/// Lines that are no messages before it is given up (a forgotten `print` is forgiven).
const GARBAGE: u32 = 200;
/// Lines of standard error that are shown, and characters of one of them.
const TAIL: (usize, usize) = (40, 400);
/// How long its last words are waited for.
const STDERR_WAIT: Duration = Duration::from_millis(200);

/// Why a plugin is no longer there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Gone {
    /// Ended by itself; in words.
    Ended(String),
    /// Broke the rules of the protocol: not started again.
    Flooded(String),
    /// We ended it.
    Stopped,
}

impl Gone {
    /// For people.
    pub fn words(&self) -> &str {
        match self {
            Gone::Ended(how) | Gone::Flooded(how) => how,
            Gone::Stopped => "it was stopped",
        }
    }
}

/// Why a request has no answer.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum AskError {
    #[error("{0}")]
    Refused(RpcError),
    #[error("it did not answer within {} s", .0.as_secs_f64())]
    Late(Duration),
    #[error("{0}")]
    Gone(String),
    #[error("it does not read its input")]
    Full,
    #[error("interrupted")]
    Cancelled,
}

/// What a plugin tells of its own accord.
#[derive(Clone, Debug, PartialEq)]
pub struct PluginNotice {
    pub method: String,
    pub params: Value,
}

type Pending = Arc<Mutex<HashMap<u64, oneshot::Sender<Result<Value, RpcError>>>>>;

/// A running process.
pub struct Peer {
    lines: mpsc::Sender<String>,
    pending: Pending,
    next: AtomicU64,
    gone: watch::Receiver<Option<Gone>>,
    child: Arc<Piped>,
    stop: CancellationToken,
}

/// How a peer is started.
#[derive(Clone, Debug)]
pub struct Launch {
    pub program: String,
    pub args: Vec<String>,
    pub dir: std::path::PathBuf,
    pub env: BTreeMap<String, String>,
}

impl Peer {
    /// Starts the process. `notices` gets its notifications, as far as there is room.
    ///
    /// # Errors
    /// It could not be started.
    pub fn start(launch: &Launch, notices: mpsc::Sender<PluginNotice>) -> Result<Self, String> {
        let dir: &Path = &launch.dir;
        let (child, ends) =
            Piped::spawn(&launch.program, &launch.args, &launch.env, dir).map_err(|error| error.to_string())?;
        let (lines, queue) = mpsc::channel(QUEUE);
        let (say, gone) = watch::channel(None);
        let (pending, stop, child) = (Pending::default(), CancellationToken::new(), Arc::new(child));
        let life = Life {
            child: Arc::clone(&child),
            pending: Arc::clone(&pending),
            stop: stop.clone(),
            lines: lines.clone(),
            notices,
            say,
        };
        tokio::spawn(life.run(ends, queue));
        Ok(Self { lines, pending, next: AtomicU64::new(1), gone, child, stop })
    }

    /// Asks and waits. Cancelling tells the plugin, and does not wait for it.
    ///
    /// # Errors
    /// Its refusal, or why there is no answer.
    pub async fn ask(
        &self,
        method: &str,
        params: &Value,
        timeout: Duration,
        cancel: &CancellationToken,
    ) -> Result<Value, AskError> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (answer, heard) = oneshot::channel();
        lock(&self.pending).insert(id, answer);
        let _forget = Forget { pending: &self.pending, id };
        let mut gone = self.gone.clone();
        let line = rpc::request(id, method, params);
        if line.len() > LINE_MAX {
            return Err(AskError::Refused(RpcError {
                code: 0,
                message: "the request is too large".into(),
                data: Value::Null,
            }));
        }
        if self.lines.try_send(line).is_err() {
            return Err(self.why_not());
        }
        let out = tokio::select! {
            biased;
            answer = heard => match answer {
                Ok(answer) => return answer.map_err(AskError::Refused),
                // The list of questions is emptied when it is gone.
                Err(_) => self.why_not(),
            },
            () = cancel.cancelled() => AskError::Cancelled,
            _ = gone.wait_for(Option::is_some) => self.why_not(),
            () = tokio::time::sleep(timeout) => AskError::Late(timeout),
        };
        if matches!(out, AskError::Cancelled | AskError::Late(_)) {
            // As far as it still listens.
            let _ = self.lines.try_send(rpc::notice("$/cancel", &json!({"id": id})));
        }
        Err(out)
    }

    fn why_not(&self) -> AskError {
        match &*self.gone.borrow() {
            Some(gone) => AskError::Gone(gone.words().to_owned()),
            None => AskError::Full,
        }
    }

    /// Comes back when the process is no longer there.
    pub async fn wait_until_gone(&self) -> Gone {
        let mut gone = self.gone.clone();
        let seen = gone.wait_for(Option::is_some).await.ok().and_then(|gone| gone.clone());
        seen.unwrap_or_else(|| Gone::Ended("the answer was lost".into()))
    }

    /// The last lines of its standard error, cleaned.
    pub fn tail(&self) -> Vec<String> {
        tail(&self.child)
    }

    /// Asks it to leave, without waiting.
    pub fn leave(&self) {
        self.stop.cancel();
    }

    /// It hangs: ends it as if it had ended by itself.
    pub fn abandon(&self) {
        self.child.kill();
    }

    /// Asks it to leave, and ends it when it does not.
    pub async fn stop(&self) {
        self.leave();
        self.wait_until_gone().await;
    }
}

fn tail(child: &Piped) -> Vec<String> {
    let text = child.tail();
    let clean = |line: &str| foreign::line(line, TAIL.1);
    let mut lines: Vec<String> = text.lines().map(clean).filter(|line| !line.is_empty()).collect();
    let over = lines.len().saturating_sub(TAIL.0);
    lines.drain(..over);
    lines
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// Takes a request off the list when nobody waits any more.
struct Forget<'a> {
    pending: &'a Pending,
    id: u64,
}

impl Drop for Forget<'_> {
    fn drop(&mut self) {
        lock(self.pending).remove(&self.id);
    }
}

/// The task behind a peer.
struct Life {
    child: Arc<Piped>,
    pending: Pending,
    stop: CancellationToken,
    lines: mpsc::Sender<String>,
    notices: mpsc::Sender<PluginNotice>,
    say: watch::Sender<Option<Gone>>,
}

impl Life {
    async fn run(self, ends: PipedEnds, queue: mpsc::Receiver<String>) {
        let writing = tokio::spawn(write(ends.stdin, queue));
        let gone = tokio::select! {
            biased;
            () = self.stop.cancelled() => {
                let _ = self.lines.try_send(rpc::notice("shutdown", &json!({})));
                // A moment to read it; then its input is closed, which says the same to those that do not listen.
                let _ = tokio::time::timeout(STDERR_WAIT, self.child.wait()).await;
                Gone::Stopped
            }
            gone = read(ends.stdout, &self.pending, &self.lines, &self.notices) => gone,
            // What it started may hold the pipe open: what it said itself has come by then.
            () = async {
                self.child.wait().await;
                tokio::time::sleep(STDERR_WAIT).await;
            } => Gone::Ended("it exited".into()),
        };
        if let Gone::Ended(_) = gone {
            let _ = tokio::time::timeout(STDERR_WAIT, self.child.wait()).await;
        }
        writing.abort();
        let ended = self.child.ended();
        // Nothing that it started outlives it.
        self.child.end().await;
        let gone = match (gone, ended) {
            (Gone::Ended(_), Some(how)) => {
                // They come through another pipe.
                let stop = tokio::time::Instant::now() + STDERR_WAIT;
                while tail(&self.child).is_empty() && tokio::time::Instant::now() < stop {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
                let last = tail(&self.child).pop().map(|line| format!(": {line}")).unwrap_or_default();
                Gone::Ended(format!("it ended: {how}{last}"))
            }
            (gone, _) => gone,
        };
        self.say.send_replace(Some(gone));
        lock(&self.pending).clear();
    }
}

async fn write(mut stdin: ChildStdin, mut queue: mpsc::Receiver<String>) {
    while let Some(line) = queue.recv().await {
        if stdin.write_all(line.as_bytes()).await.is_err() || stdin.flush().await.is_err() {
            break;
        }
    }
}

/// Counts what comes in; a second at a time.
struct Meter {
    since: tokio::time::Instant,
    lines: u64,
    bytes: u64,
}

impl Meter {
    fn new() -> Self {
        Self { since: tokio::time::Instant::now(), lines: 0, bytes: 0 }
    }

    /// Whether that is too much.
    fn count(&mut self, lines: u64, bytes: usize) -> bool {
        if self.since.elapsed() >= Duration::from_secs(1) {
            *self = Self::new();
        }
        self.lines += lines;
        self.bytes += bytes as u64;
        self.lines > LINES_A_SECOND || self.bytes > BYTES_A_SECOND
    }
}

async fn read(
    stdout: ChildStdout,
    pending: &Pending,
    lines: &mpsc::Sender<String>,
    notices: &mpsc::Sender<PluginNotice>,
) -> Gone {
    let mut reader = BufReader::with_capacity(64 * 1024, stdout);
    let (mut meter, mut garbage) = (Meter::new(), 0);
    let mut line = Vec::new();
    loop {
        match next_line(&mut reader, &mut line, LINE_MAX).await {
            Ok(false) => return Gone::Ended("it closed its output".into()),
            Ok(true) => {}
            Err(how) => return Gone::Flooded(how),
        }
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        let message = rpc::read(&line);
        // An answer to nothing that was asked is no answer.
        let unasked = match &message {
            Ok(Incoming::Answer { id, .. }) => u64::from(!lock(pending).contains_key(id)),
            _ => 1,
        };
        if meter.count(unasked, line.len()) {
            return Gone::Flooded(format!("it wrote more than {LINES_A_SECOND} lines or 32 MiB in a second"));
        }
        match message {
            Ok(Incoming::Answer { id, result }) => {
                if let Some(answer) = lock(pending).remove(&id) {
                    // Whoever asked may have stopped waiting.
                    let _ = answer.send(result);
                }
            }
            Ok(Incoming::Notice { method, params }) => {
                // Lossy: what it tells is for the log and the tool line.
                let _ = notices.try_send(PluginNotice { method, params });
            }
            Ok(Incoming::Request { id, method, .. }) => {
                let _ = lines.try_send(rpc::no_method(&id, &method));
            }
            Err(why) => {
                garbage += 1;
                tracing::debug!("a plugin wrote a line that is not a message ({why})");
                if garbage > GARBAGE {
                    return Gone::Flooded(format!("it wrote {garbage} lines that are not messages ({why})"));
                }
            }
        }
    }
}

/// The next line without its end; `false` at the end of the stream. What is longer than `most` is an error, and the
/// rest of it comes as further lines.
async fn next_line(reader: &mut (impl AsyncBufRead + Unpin), line: &mut Vec<u8>, most: usize) -> Result<bool, String> {
    line.clear();
    let read = reader.take(most as u64 + 1).read_until(b'\n', line).await;
    match read {
        Ok(0) | Err(_) => Ok(false),
        Ok(_) if line.len() > most && line.last() != Some(&b'\n') => {
            Err(format!("it wrote a line of more than {most} bytes"))
        }
        Ok(_) => {
            while matches!(line.last(), Some(b'\n' | b'\r')) {
                line.pop();
            }
            Ok(true)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(script: &str) -> (Peer, mpsc::Receiver<PluginNotice>) {
        let (notices, heard) = mpsc::channel(16);
        let launch = Launch {
            program: "sh".into(),
            args: vec!["-c".into(), script.into()],
            dir: "/".into(),
            env: [("PATH".to_owned(), std::env::var("PATH").unwrap())].into(),
        };
        (Peer::start(&launch, notices).unwrap(), heard)
    }

    async fn ask(peer: &Peer, timeout: Duration) -> Result<Value, AskError> {
        peer.ask("hello", &json!({}), timeout, &CancellationToken::new()).await
    }

    const LONG: Duration = Duration::from_secs(20);

    #[tokio::test]
    async fn an_answer_finds_its_question() {
        let (peer, mut heard) = start(
            r#"while read -r line; do id=${line#*\"id\":}; id=${id%%,*}; echo "{\"method\":\"log\",\"params\":$id}"; echo noise; echo "{\"id\":$id,\"result\":{\"n\":$id}}"; done"#,
        );
        assert_eq!(ask(&peer, LONG).await, Ok(json!({"n": 1})));
        assert_eq!(ask(&peer, LONG).await, Ok(json!({"n": 2})));
        assert_eq!(heard.recv().await, Some(PluginNotice { method: "log".into(), params: json!(1) }));
        peer.stop().await;
        assert_eq!(peer.wait_until_gone().await, Gone::Stopped);
        assert!(matches!(ask(&peer, LONG).await, Err(AskError::Gone(_))));
    }

    #[tokio::test]
    async fn one_that_hangs_is_late_and_is_told() {
        let (peer, _heard) = start("trap '' TERM; sleep 1000");
        let late = Duration::from_millis(100);
        assert_eq!(ask(&peer, late).await, Err(AskError::Late(late)));
        let cancel = CancellationToken::new();
        cancel.cancel();
        assert_eq!(peer.ask("x", &Value::Null, LONG, &cancel).await, Err(AskError::Cancelled));
        let began = std::time::Instant::now();
        peer.stop().await;
        assert!(began.elapsed() < LONG);
    }

    #[tokio::test]
    async fn one_that_crashes_says_its_last_words() {
        let (peer, _heard) = start("read line; echo 'Traceback: boom' >&2; exit 3");
        let error = ask(&peer, LONG).await.unwrap_err();
        assert_eq!(error, AskError::Gone("it ended: exit status: 3: Traceback: boom".into()));
        assert_eq!(peer.tail(), ["Traceback: boom"]);
    }

    #[tokio::test]
    async fn floods_of_every_kind_end_it() {
        for script in
            ["yes '{\"method\":\"log\"}'", "yes garbage", "head -c 20000000 /dev/zero | tr '\\0' x; sleep 100"]
        {
            let (peer, _heard) = start(script);
            let gone = tokio::time::timeout(LONG, peer.wait_until_gone()).await.unwrap();
            assert!(matches!(gone, Gone::Flooded(_)), "{script}: {gone:?}");
        }
    }

    #[tokio::test]
    async fn noise_on_standard_error_is_bounded() {
        let (peer, _heard) = start("i=0; while [ $i -lt 500 ]; do echo line $i >&2; i=$((i+1)); done; read x");
        let stop = std::time::Instant::now() + LONG;
        while peer.tail().last().map(String::as_str) != Some("line 499") && std::time::Instant::now() < stop {
            tokio::task::yield_now().await;
        }
        assert_eq!(peer.tail().len(), TAIL.0);
    }
}
