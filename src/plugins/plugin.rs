//! One plugin kept alive: started, greeted, started again when it ends by itself, given up when it does so too often.

use super::found::Found;
use super::peer::{AskError, Gone, Peer, PluginNotice};
use super::registered::{self, Registered};
use super::setting::Setting;
use super::start::prepare;
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

/// How long a plugin may take to say what it registers.
pub const HANDSHAKE: Duration = Duration::from_secs(15);
/// How long a request waits for a plugin that is being started.
const READY: Duration = Duration::from_secs(20);
/// Times in a row that it is started again, and the pause before the first; each next one is twice as long.
const RESTARTS: u32 = 4;
const BACKOFF: Duration = Duration::from_millis(500);
/// A plugin that lived this long has made up for its crashes.
const LIVED: Duration = Duration::from_secs(600);
/// Requests in a row without an answer in time until it is taken for hung.
const LATE: u32 = 3;

/// How a plugin stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Phase {
    Starting,
    Ready,
    /// It ended and is started again in a moment; in words.
    Restarting(String),
    /// Given up; in words.
    Failed(String),
    Stopped,
}

/// A plugin at a moment.
#[derive(Clone)]
pub struct Live {
    pub phase: Phase,
    pub registered: Arc<Registered>,
    pub peer: Option<Arc<Peer>>,
}

/// A plugin under supervision.
pub struct Plugin {
    pub found: Found,
    setting: Setting,
    live: watch::Sender<Live>,
    late: AtomicU32,
    stop: CancellationToken,
}

impl Plugin {
    /// Not started yet.
    pub fn new(found: Found, setting: Setting) -> Self {
        let live = Live { phase: Phase::Starting, registered: Arc::default(), peer: None };
        Self { found, setting, live: watch::Sender::new(live), late: AtomicU32::new(0), stop: CancellationToken::new() }
    }

    /// As it is now.
    pub fn now(&self) -> Live {
        self.live.borrow().clone()
    }

    /// Tells of every change.
    pub fn watch(&self) -> watch::Receiver<Live> {
        self.live.subscribe()
    }

    fn set(&self, phase: Phase, peer: Option<Arc<Peer>>, registered: Option<Registered>) {
        self.live.send_modify(|live| {
            live.phase = phase;
            live.peer = peer;
            if let Some(registered) = registered {
                live.registered = Arc::new(registered);
            }
        });
    }

    fn fail(&self, how: String) {
        let guards = self.live.borrow().registered.guards();
        self.set(Phase::Failed(how), None, Some(guards));
    }

    /// Keeps it alive until it is stopped or given up. `notices` gets what it tells of its own accord.
    pub async fn live(&self, notices: mpsc::Sender<PluginNotice>) {
        let mut crashes = 0;
        loop {
            let began = tokio::time::Instant::now();
            let gone = tokio::select! {
                biased;
                () = self.stop.cancelled() => Gone::Stopped,
                gone = self.once(&notices) => gone,
            };
            match gone {
                Gone::Stopped => break self.set(Phase::Stopped, None, None),
                Gone::Flooded(how) => break self.fail(how),
                Gone::Ended(how) => {
                    crashes = if began.elapsed() > LIVED { 1 } else { crashes + 1 };
                    if crashes > RESTARTS {
                        let how = format!("{how} ({crashes} times in a row; not restarting)");
                        break self.fail(how);
                    }
                    self.set(Phase::Restarting(how), None, None);
                    tokio::select! {
                        () = self.stop.cancelled() => {}
                        () = tokio::time::sleep(BACKOFF * 2u32.pow(crashes - 1)) => {}
                    }
                }
            }
        }
    }

    /// One life: start, greeting, work, end.
    async fn once(&self, notices: &mpsc::Sender<PluginNotice>) -> Gone {
        let start = match prepare(&self.found, &self.setting).await {
            Ok(start) => start,
            // Nothing gets better by trying again.
            Err(why) => return Gone::Flooded(why),
        };
        let peer = match Peer::start(&start.launch, notices.clone()) {
            Ok(peer) => Arc::new(peer),
            Err(why) => return Gone::Flooded(why),
        };
        let _end = StopOnDrop(Arc::clone(&peer));
        let registered = match greet(&peer, &start.hello, HANDSHAKE).await {
            Ok(registered) => registered,
            // Whether it ended or broke the rules: the peer knows.
            Err(Greeting::Gone(_)) => return peer.wait_until_gone().await,
            Err(Greeting::Wrong(how)) => return Gone::Flooded(how),
        };
        self.late.store(0, Ordering::Relaxed);
        self.set(Phase::Ready, Some(Arc::clone(&peer)), Some(registered));
        peer.wait_until_gone().await
    }

    /// Asks it; waits first while it is being started.
    ///
    /// # Errors
    /// Why there is no answer, in words.
    pub async fn ask(
        &self,
        method: &str,
        params: &Value,
        timeout: Duration,
        cancel: &CancellationToken,
    ) -> Result<Value, AskError> {
        let peer = self.ready(cancel).await?;
        let answer = peer.ask(method, params, timeout, cancel).await;
        match &answer {
            Err(AskError::Late(_) | AskError::Full) => {
                if self.late.fetch_add(1, Ordering::Relaxed) + 1 >= LATE {
                    tracing::warn!("plugin {} hangs; restarting", self.found.name);
                    peer.abandon();
                }
            }
            Err(AskError::Cancelled | AskError::Gone(_)) => {}
            Ok(_) | Err(AskError::Refused(_)) => self.late.store(0, Ordering::Relaxed),
        }
        answer
    }

    async fn ready(&self, cancel: &CancellationToken) -> Result<Arc<Peer>, AskError> {
        let mut live = self.watch();
        let settled = live.wait_for(|live| !matches!(live.phase, Phase::Starting | Phase::Restarting(_)));
        let waited = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(AskError::Cancelled),
            waited = tokio::time::timeout(READY, settled) => waited,
        };
        let live = match waited {
            Ok(Ok(live)) => live.clone(),
            _ => return Err(AskError::Late(READY)),
        };
        match (live.peer, live.phase) {
            (Some(peer), _) => Ok(peer),
            (None, Phase::Failed(how)) => Err(AskError::Gone(how)),
            (None, _) => Err(AskError::Gone("it was stopped".into())),
        }
    }

    /// Ends it for good.
    pub async fn stop(&self) {
        self.stop.cancel();
        let peer = self.live.borrow().peer.clone();
        if let Some(peer) = peer {
            peer.stop().await;
        }
    }
}

struct StopOnDrop(Arc<Peer>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.leave();
    }
}

/// Why a greeting failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Greeting {
    /// It ended: maybe it works the next time.
    Gone(String),
    /// It answers wrongly, or not at all.
    Wrong(String),
}

/// Says hello and reads what it registers.
///
/// # Errors
/// Why it cannot be used.
pub async fn greet(peer: &Peer, hello: &Value, limit: Duration) -> Result<Registered, Greeting> {
    match peer.ask("initialize", hello, limit, &CancellationToken::new()).await {
        Ok(result) => registered::read(&result).map_err(Greeting::Wrong),
        Err(AskError::Gone(how)) => Err(Greeting::Gone(how)),
        Err(AskError::Late(limit)) => {
            Err(Greeting::Wrong(format!("it did not answer `initialize` within {} s", limit.as_secs())))
        }
        Err(error) => Err(Greeting::Wrong(format!("it refused `initialize`: {error}"))),
    }
}

/// One start outside of a session, for `check`: the peer and what it registered.
///
/// # Errors
/// Why it cannot be used, with the end of its standard error.
pub async fn try_once(found: &Found, setting: &Setting) -> Result<(Peer, Registered), String> {
    let start = prepare(found, setting).await?;
    let peer = Peer::start(&start.launch, mpsc::channel(16).0)?;
    match greet(&peer, &start.hello, HANDSHAKE).await {
        Ok(registered) => Ok((peer, registered)),
        Err(Greeting::Gone(how) | Greeting::Wrong(how)) => {
            let tail = peer.tail();
            peer.stop().await;
            let more = if tail.is_empty() { String::new() } else { format!("\n  {}", tail.join("\n  ")) };
            Err(format!("{how}{more}"))
        }
    }
}
