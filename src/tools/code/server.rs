//! The socket that a script's calls come over: a line of JSON each way. Only a process of the same user that knows the
//! script's token is answered.

use super::stubs;
use crate::tools::offer::selection::VisibleTools;
use crate::tools::offer::toolset;
use crate::tools::spec::{AgentPort, InnerRequest, Parallel};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::unix::OwnedWriteHalf;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{RwLock, Semaphore, mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// Bytes of a request.
const REQUEST: usize = 16 * 1024 * 1024;
/// Bytes that are read of a peer before it has shown the token. A longer first request begins with it.
const STRANGER: usize = 4 * 1024;
/// How long a peer may take to show it.
const HELLO: Duration = Duration::from_secs(10);
/// Requests of more than [`STRANGER`] bytes at the same time: what they take together is bounded.
const LARGE: usize = 2;
/// Time of one call, not counting questions to the person, and for its end after that.
const CALL: Duration = Duration::from_secs(300);
const END: Duration = Duration::from_secs(5);
/// Connections at the same time: each thread of a script holds one. Others wait in the queue of the socket.
const CONNECTIONS: usize = 512;
/// Calls at the same time.
const CALLS: usize = 16;
/// How long nothing is accepted when there are no descriptors left.
const PAUSE: Duration = Duration::from_millis(50);

/// What answers the calls of one script.
pub struct Caller {
    pub among: VisibleTools,
    pub calls: mpsc::Sender<InnerRequest>,
    pub agent: Arc<dyn AgentPort>,
    /// What every request must hold.
    pub token: String,
    /// Calls that may be made.
    pub most: usize,
    pub made: AtomicUsize,
    /// Calls that only read go together; any other goes alone.
    pub turns: RwLock<()>,
    pub bounds: Bounds,
}

/// How much goes on at the same time.
pub struct Bounds {
    large: Semaphore,
    calls: Semaphore,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { large: Semaphore::new(LARGE), calls: Semaphore::new(CALLS) }
    }
}

#[derive(Deserialize)]
struct Request {
    tool: String,
    #[serde(default)]
    args: Map<String, Value>,
    #[serde(default)]
    token: String,
}

/// Listens at `path`, which only this user can open, until the task is aborted.
///
/// # Errors
/// The socket cannot be made.
pub fn listen(path: &Path, caller: Arc<Caller>) -> io::Result<JoinHandle<()>> {
    let listener = UnixListener::bind(path)?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
    Ok(tokio::spawn(async move {
        let room = Arc::new(Semaphore::new(CONNECTIONS));
        // Ends with this task: no call outlives the script.
        let mut open = tokio::task::JoinSet::new();
        while let Ok(permit) = Arc::clone(&room).acquire_owned().await {
            let stream = match listener.accept().await {
                Ok((stream, _)) => stream,
                Err(error) => {
                    tracing::debug!("a script's connection was not accepted: {error}");
                    tokio::time::sleep(PAUSE).await;
                    continue;
                }
            };
            while open.try_join_next().is_some() {}
            let peer = stream.peer_cred().map(|peer| peer.uid());
            if !peer.is_ok_and(|uid| is_own(uid, rustix::process::geteuid().as_raw())) {
                continue;
            }
            let caller = Arc::clone(&caller);
            open.spawn(async move {
                let _permit = permit;
                if let Err(error) = serve(stream, &caller).await {
                    tracing::debug!("a script's connection: {error}");
                }
            });
        }
    }))
}

/// Whether a peer of this user may ask.
fn is_own(peer: u32, own: u32) -> bool {
    peer == own
}

/// Whether two texts are the same, in a time that tells nothing of where they differ.
fn is_same(a: &str, b: &str) -> bool {
    a.len() == b.len() && a.bytes().zip(b.bytes()).fold(0, |differs, (a, b)| differs | (a ^ b)) == 0
}

async fn serve(stream: UnixStream, caller: &Caller) -> io::Result<()> {
    let (reader, mut writer) = stream.into_split();
    let mut reader = BufReader::new(reader);
    let mut known = false;
    loop {
        let mut line = Vec::new();
        let mut start = (&mut reader).take(STRANGER as u64);
        let first = start.read_until(b'\n', &mut line);
        if known {
            first.await?;
        } else if !matches!(tokio::time::timeout(HELLO, first).await, Ok(Ok(_))) {
            return Ok(());
        }
        if line.is_empty() {
            return Ok(());
        }
        let mut room = None;
        if line.len() == STRANGER && !line.ends_with(b"\n") {
            if !known && !caller.begins_with_token(&line) {
                return send(&mut writer, &error("Unauthorized RPC request")).await;
            }
            room = caller.bounds.large.acquire().await.ok();
            (&mut reader).take((REQUEST - STRANGER) as u64 + 1).read_until(b'\n', &mut line).await?;
        }
        let reply = caller.answer(&line, &mut known).await;
        drop(room);
        send(&mut writer, &reply).await?;
        if !known {
            return Ok(());
        }
    }
}

async fn send(writer: &mut OwnedWriteHalf, reply: &Value) -> io::Result<()> {
    let mut reply = reply.to_string();
    reply.push('\n');
    writer.write_all(reply.as_bytes()).await
}

fn error(text: impl Into<String>) -> Value {
    json!({ "error": text.into() })
}

impl Caller {
    /// Whether a request, of which this is the start, holds the token as its first field.
    fn begins_with_token(&self, line: &[u8]) -> bool {
        let start = String::from_utf8_lossy(&line[..line.len().min(128)]);
        let token =
            start.trim_start().strip_prefix(r#"{"token":"#).and_then(|rest| rest.trim_start().strip_prefix('"'));
        token.and_then(|rest| rest.split_once('"')).is_some_and(|(token, _)| is_same(token, &self.token))
    }

    /// The reply to a line. Whoever shows the token is known, and may send another; a line that is none ends that.
    async fn answer(&self, line: &[u8], known: &mut bool) -> Value {
        if line.len() > REQUEST {
            *known = false;
            return error(format!("Invalid RPC request: it has more than {} MiB", REQUEST >> 20));
        }
        let request: Request = match serde_json::from_slice(line) {
            Ok(request) => request,
            Err(why) => {
                *known &= line.ends_with(b"\n");
                return error(format!("Invalid RPC request: {why}"));
            }
        };
        *known = is_same(&request.token, &self.token);
        if !*known {
            return error("Unauthorized RPC request");
        }
        self.call(&request.tool, request.args).await.unwrap_or_else(error)
    }

    /// The result of a tool; an error says why nothing was called.
    async fn call(&self, name: &str, mut args: Map<String, Value>) -> Result<Value, String> {
        let tool = match stubs::tool_of(name) {
            Some((tool, takes)) if self.among.get(tool).is_some() => {
                args.retain(|name, value| takes(name) && !value.is_null());
                tool
            }
            None if self.among.code_mode && self.among.get(name).is_some_and(|tool| stubs::is_other(tool.spec())) => {
                name
            }
            None if self.among.get(name).is_some() || toolset::is_tool(name) => {
                return Err(format!(
                    "Tool '{name}' is not available in execute_code. Use it as a normal tool call instead."
                ));
            }
            _ => return Err(self.unknown(name)),
        };
        let ended = || "the script's call has ended".to_owned();
        let _room = self.bounds.calls.acquire().await.map_err(|_| ended())?;
        let more = |made: usize| (made < self.most).then_some(made + 1);
        if self.made.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_err() {
            return Err(format!(
                "Tool call limit reached ({}). No more tool calls allowed in this execution.",
                self.most
            ));
        }
        let reads = self.among.get(tool).is_some_and(|tool| tool.spec().parallel == Parallel::Always);
        let _turn = if reads { (Some(self.turns.read().await), None) } else { (None, Some(self.turns.write().await)) };
        self.run(tool, Value::Object(args).to_string()).await
    }

    /// Sends a call through the gate and waits for it; one that takes too long is ended. The time in which a person is asked does not count.
    async fn run(&self, tool: &str, args: String) -> Result<Value, String> {
        let (reply, mut result) = oneshot::channel();
        let ended = || "the script's call has ended".to_owned();
        // Ends with this task, too: no call goes on that nobody waits for.
        let cancel = CancellationToken::new();
        let end = cancel.clone().drop_guard();
        let request = InnerRequest { name: tool.to_owned(), args, reply, cancel };
        self.calls.send(request).await.map_err(|_| ended())?;
        let mut left = super::run::Clock::start(CALL, Arc::clone(&self.agent));
        tokio::select! {
            biased;
            body = &mut result => {
                let content = body.map_err(|_| ended())?.content;
                Ok(serde_json::from_str(&content).unwrap_or(Value::String(content)))
            }
            () = left.over() => {
                drop(end);
                // The next call begins once this one is gone.
                let _ = tokio::time::timeout(END, &mut result).await;
                Err(format!("{tool} timed out after {} s", CALL.as_secs()))
            }
        }
    }

    fn unknown(&self, name: &str) -> String {
        let mut there: Vec<&str> = stubs::names(|tool| self.among.get(tool).is_some()).collect();
        there.extend(stubs::others(&self.among).map(|spec| &*spec.name));
        format!("Unknown tool: {name}. Available: {}", there.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_same_user_with_the_very_token_may_ask() {
        assert!(is_own(1000, 1000) && !is_own(1001, 1000) && !is_own(0, 1000));
        assert!(is_same("abc", "abc") && !is_same("abc", "abd") && !is_same("abc", "ab") && !is_same("", "a"));
    }
}
