//! One open connection, in plain types: this room's only place that knows the protocol crate (`link/*`).
//!
//! Results come as JSON, so that what a server writes a little wrong costs one entry and not the whole answer.

mod lines;
mod notifications;
mod open;

pub use open::Stderr;
pub(crate) use open::{chain, client as http};

use super::settings::Settings;
use crate::exec::Piped;
use crate::lock::lock;
use futures::future::BoxFuture;
use notifications::Ears;
use rmcp::model::{
    CallToolRequestParams, CancelledNotificationParam, ClientRequest, GetPromptRequestParams, PaginatedRequestParams,
    ReadResourceRequestParams, Request, RequestNoParam, RequestOptionalParam, ServerResult,
};
use rmcp::service::{Peer, PeerRequestOptions, RoleClient, RunningServiceCancellationToken, ServiceError};
use serde_json::{Map, Value};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Bytes of one message of a server: pictures travel in them.
pub(super) const MESSAGE: usize = 16 * 1024 * 1024;
/// Characters of what a server says of itself and of its errors.
const WORDS: usize = 2_000;
/// How long a connection may take to end in an orderly way.
const GOODBYE: Duration = Duration::from_secs(2);

/// What a server may ask of this program.
pub trait Host: Send + Sync {
    /// The folder that it may know of.
    fn root(&self) -> PathBuf;
    /// Input for a form (`requestedSchema`) or a visit to an address (`url`), with a `message`.
    fn elicit(&self, request: Value) -> BoxFuture<'static, Elicited>;
    /// An answer of a model.
    fn sample(&self, request: Value) -> BoxFuture<'static, Result<Sampled, String>>;
    /// A list changed.
    fn changed(&self, what: Changed);
}

/// What a server gets for a question.
#[derive(Clone, Debug, PartialEq)]
pub enum Elicited {
    Accepted(Value),
    Declined,
    /// Nobody answered.
    Cancelled,
}

/// What a server gets for a prompt.
#[derive(Clone, Debug, PartialEq)]
pub struct Sampled {
    pub model: String,
    pub text: String,
    /// It did not fit in the tokens that were allowed.
    pub cut: bool,
}

/// Which list changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Changed {
    Tools,
    Resources,
    Prompts,
}

/// A request.
#[derive(Clone, Debug, PartialEq)]
pub enum Ask {
    Ping,
    Tools { cursor: Option<String> },
    Call { tool: String, args: Map<String, Value> },
    Resources { cursor: Option<String> },
    Templates { cursor: Option<String> },
    Read { uri: String },
    Prompts { cursor: Option<String> },
    Prompt { name: String, args: Map<String, Value> },
}

/// How far a call is.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    pub done: f64,
    pub of: Option<f64>,
    pub message: String,
}

/// What a server says of itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct About {
    /// Name and version.
    pub name: String,
    pub protocol: String,
    pub tools: bool,
    pub resources: bool,
    pub prompts: bool,
}

/// Why there is no connection, or no answer.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum LinkError {
    /// The program could not be started, the address is wrong: trying again is no use.
    #[error("{0}")]
    Unusable(String),
    /// It did not come to a connection this time.
    #[error("{0}")]
    Refused(String),
    /// The challenge says what it wants, where it does.
    #[error("it needs a login: /mcp login {name}, or in a shell: hermes mcp login {name}")]
    NeedsLogin { name: String, challenge: Option<String> },
    /// The connection broke.
    #[error("the connection is closed")]
    Closed,
    #[error("no answer within {} s", .0.as_secs())]
    TimedOut(Duration),
    /// The server answered with an error.
    #[error("{message} (code {code})")]
    Server { code: i32, message: String },
    #[error("interrupted")]
    Interrupted,
}

/// Which call a sign of progress belongs to.
type Steps = Mutex<Vec<(Value, tokio::sync::mpsc::Sender<Step>)>>;

/// An open connection. Dropping it ends it and what runs behind it.
pub struct Link {
    pub about: About,
    peer: Peer<RoleClient>,
    stop: Mutex<Option<RunningServiceCancellationToken>>,
    closed: CancellationToken,
    child: Option<Arc<Piped>>,
    garbled: Option<Arc<AtomicBool>>,
    steps: Arc<Steps>,
    mask: Settings,
}

impl Link {
    /// Connects: starts the program or reaches the address, and shakes hands. `stderr` gets hold of the program's errors,
    /// also when it comes to nothing.
    ///
    /// # Errors
    /// [`LinkError::Unusable`], [`LinkError::NeedsLogin`], [`LinkError::TimedOut`] or [`LinkError::Refused`].
    pub async fn open(
        settings: &Settings,
        tokens: &super::oauth::Logins,
        host: Arc<dyn Host>,
        stderr: &Stderr,
    ) -> Result<Self, LinkError> {
        let steps: Arc<Steps> = Arc::default();
        let ears = Ears::new(host, Arc::clone(&steps), settings);
        let (running, program) = open::open(settings, tokens, ears, stderr).await?;
        let (child, garbled) = program.map(|program| (program.child, program.garbled)).unzip();
        let peer = running.peer().clone();
        let about = open::about(&peer);
        let stop = Mutex::new(Some(running.cancellation_token()));
        let closed = CancellationToken::new();
        let tell = closed.clone();
        tokio::spawn(async move {
            // Why it ended is told by whoever needed it.
            let _ = running.waiting().await;
            tell.cancel();
        });
        Ok(Self { about, peer, stop, closed, child, garbled, steps, mask: settings.clone() })
    }

    /// Waits until the connection is closed, and says what is known of why.
    pub async fn closed(&self) -> String {
        self.closed.cancelled().await;
        if self.garbled.as_ref().is_some_and(|garbled| garbled.load(Ordering::Acquire)) {
            return open::GARBLED.into();
        }
        match &self.child {
            Some(child) => match tokio::time::timeout(Duration::from_millis(300), child.wait()).await {
                Ok(how) => format!("the program exited: {how}"),
                Err(_) => "the program closed its output".into(),
            },
            None => "the connection was closed".into(),
        }
    }

    /// Sends a request and waits for its answer: for `patience` since the last sign of life, or until `cancel`.
    ///
    /// # Errors
    /// All but those of [`Self::open`].
    pub async fn ask(
        &self,
        ask: Ask,
        patience: Duration,
        cancel: &CancellationToken,
        progress: Option<tokio::sync::mpsc::Sender<Step>>,
    ) -> Result<Value, LinkError> {
        let options = PeerRequestOptions::with_timeout(patience).reset_timeout_on_progress();
        let sent = self.peer.send_cancellable_request(request(ask), options).await;
        let handle = sent.map_err(|error| self.error(error, patience))?;
        let (id, token) = (handle.id.clone(), serde_json::to_value(&handle.progress_token).unwrap_or_default());
        let _listening = progress.map(|sink| {
            lock(&self.steps).push((token.clone(), sink));
            Listening { steps: &self.steps, token }
        });
        let answer = tokio::select! {
            biased;
            () = cancel.cancelled() => {
                let note = CancelledNotificationParam::new(Some(id), Some("the user stopped it".into()));
                // A server that is gone needs no word.
                let _ = tokio::time::timeout(Duration::from_millis(200), self.peer.notify_cancelled(note)).await;
                return Err(LinkError::Interrupted);
            }
            answer = handle.await_response() => answer,
            () = self.closed.cancelled() => Err(ServiceError::TransportClosed),
        };
        let answer = match answer {
            Err(ServiceError::TransportClosed) => return Err(self.broke().await),
            answer => answer.map_err(|error| self.error(error, patience))?,
        };
        match answer {
            ServerResult::CustomResult(result) => Ok(result.0),
            result => serde_json::to_value(result)
                .map_err(|error| LinkError::Refused(format!("cannot read its answer: {error}"))),
        }
    }

    /// Why a call has no answer any more, as far as that is known soon.
    async fn broke(&self) -> LinkError {
        match tokio::time::timeout(GOODBYE, self.closed()).await {
            Ok(why) => LinkError::Refused(format!("no answer: {why}")),
            Err(_) => LinkError::Closed,
        }
    }

    /// Ends it: says goodbye, then ends the program and all that it started.
    pub async fn close(&self) {
        if let Some(stop) = lock(&self.stop).take() {
            stop.cancel();
        }
        // One that takes longer is ended with its program.
        let _ = tokio::time::timeout(GOODBYE, self.closed.cancelled()).await;
        if let Some(child) = &self.child {
            child.end().await;
        }
    }

    fn error(&self, error: ServiceError, patience: Duration) -> LinkError {
        match error {
            ServiceError::McpError(error) => {
                let message: String = self.mask.masked(&error.message).chars().take(WORDS).collect();
                LinkError::Server { code: error.code.0, message }
            }
            ServiceError::Timeout { .. } => LinkError::TimedOut(patience),
            ServiceError::TransportClosed => LinkError::Closed,
            ServiceError::TransportSend(error) => match open::challenge(&*error.error) {
                Some(challenge) => LinkError::NeedsLogin { name: self.mask.name.clone(), challenge: Some(challenge) },
                None => LinkError::Refused(self.mask.masked(&open::chain(&*error.error))),
            },
            other => LinkError::Refused(self.mask.masked(&other.to_string())),
        }
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        if let Some(stop) = lock(&self.stop).take() {
            stop.cancel();
        }
        if let Some(child) = &self.child {
            child.kill();
        }
    }
}

/// Takes a call off the list of those that progress is told to.
struct Listening<'a> {
    steps: &'a Steps,
    token: Value,
}

impl Drop for Listening<'_> {
    fn drop(&mut self) {
        lock(self.steps).retain(|(token, _)| *token != self.token);
    }
}

fn request(ask: Ask) -> ClientRequest {
    fn paged<M: Default>(cursor: Option<String>) -> RequestOptionalParam<M, PaginatedRequestParams> {
        RequestOptionalParam {
            method: M::default(),
            params: cursor.map(|cursor| PaginatedRequestParams::default().with_cursor(Some(cursor))),
            extensions: Default::default(),
        }
    }
    match ask {
        Ask::Ping => {
            ClientRequest::PingRequest(RequestNoParam { method: Default::default(), extensions: Default::default() })
        }
        Ask::Tools { cursor } => ClientRequest::ListToolsRequest(paged(cursor)),
        Ask::Resources { cursor } => ClientRequest::ListResourcesRequest(paged(cursor)),
        Ask::Templates { cursor } => ClientRequest::ListResourceTemplatesRequest(paged(cursor)),
        Ask::Prompts { cursor } => ClientRequest::ListPromptsRequest(paged(cursor)),
        Ask::Call { tool, args } => {
            ClientRequest::CallToolRequest(Request::new(CallToolRequestParams::new(tool).with_arguments(args)))
        }
        Ask::Read { uri } => ClientRequest::ReadResourceRequest(Request::new(ReadResourceRequestParams::new(uri))),
        Ask::Prompt { name, args } => {
            let params = GetPromptRequestParams::new(name).with_arguments(args);
            ClientRequest::GetPromptRequest(Request::new(params))
        }
    }
}
