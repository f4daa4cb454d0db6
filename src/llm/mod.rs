//! Models: one neutral request and reply, three wire APIs, and data about providers and their models.
//!
//! Owns: HTTP to model servers, error classes, the provider and model tables. Does not own: retries (the agent decides
//! by error class), the request's content (the agent), keys (the configuration).

pub mod ability;
mod anthropic;
pub mod catalog;
mod classify;
mod effort;
pub mod endpoint;
pub mod errors;
mod gather;
pub mod guided;
pub mod http;
pub mod inner;
mod lenient;
pub mod local;
pub mod message;
mod openai_chat;
mod openai_responses;
pub mod providers;
mod python_call;
pub mod ready;
mod resolve;
pub mod schema;
mod script;
pub mod scripted;
pub mod self_test;
mod sse;
#[cfg(test)]
mod tests;
mod text_calls;
mod think;
mod wire;

pub use crate::protocol::Effort;
pub use endpoint::Endpoint;
pub use wire::connect;

use crate::protocol::{StopReason, ToolCall, Usage};
use futures::future::BoxFuture;
use message::Message;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// One model call.
#[derive(Clone, Debug)]
pub struct Request {
    /// Byte-stable within a session, so that provider caches hit.
    pub system: Arc<str>,
    /// In a stable order.
    pub tools: Arc<[ToolSchema]>,
    pub messages: Vec<Message>,
    pub effort: Effort,
    /// Tokens; `None` leaves it to the provider (Anthropic gets the model's limit).
    pub max_output: Option<u32>,
    /// What the reply must be, as GBNF: for servers that take grammars, without tools.
    pub grammar: Option<Arc<str>>,
    /// Stable per session: a cache key for providers that take one.
    pub cache_key: String,
}

/// A tool as the model sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolSchema {
    pub name: String,
    pub description: String,
    /// A JSON Schema object.
    pub parameters: Arc<serde_json::Value>,
}

/// A piece of a reply while it streams. Adapters merge what one network read brought, so a flood makes few of these.
#[derive(Clone, Debug, PartialEq)]
pub enum Delta {
    /// What is waited for before anything can come: `loading model`.
    Waiting(String),
    Text(String),
    Reasoning(String),
    /// A call has begun; `index` counts the calls of this reply.
    CallStarted {
        index: usize,
        name: String,
    },
    /// Bytes of arguments received so far for that call.
    CallProgress {
        index: usize,
        bytes: usize,
    },
}

/// A whole reply.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reply {
    pub text: String,
    pub reasoning: String,
    pub calls: Vec<ToolCall>,
    pub usage: Option<Usage>,
    pub stop: StopReason,
    pub opaque: Vec<serde_json::Value>,
    /// The model that answered, where the provider says so.
    pub model: String,
    /// The name of a call that the output limit cut off; the call itself is not in `calls`.
    pub cut_call: Option<String>,
}

/// What went wrong, in the classes that call for different behaviour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// No key, a wrong key, no access.
    Auth,
    /// Paid quota or credit is used up.
    Quota,
    RateLimit,
    /// The prompt does not fit the model's window.
    ContextOverflow,
    Overloaded,
    /// Connection refused, reset, name not resolved, or the stream was cut.
    Network,
    /// Nothing came for the stall timeout.
    Stalled,
    /// Not the dialect that was expected.
    Malformed,
    ContentFilter,
    ModelNotFound,
    /// The provider says the request is wrong.
    BadRequest,
    /// The budget has no room for it, or ended it.
    Budget,
    /// The person stopped it.
    Cancelled,
}

/// A failed model call.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}")]
pub struct ProviderError {
    pub kind: ErrorKind,
    pub status: Option<u16>,
    /// Lower case, names the provider and what to do; no secrets.
    pub message: String,
    pub retry_after: Option<Duration>,
    /// Time until the provider's limit ends, where it says so; however long.
    pub reset_after: Option<Duration>,
    /// What the pool of keys offers after it.
    pub next_key: NextKey,
    /// What had arrived before the failure. Calls in it are never complete.
    pub partial: Option<Box<Reply>>,
}

/// What a pool of keys offers after a failed call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NextKey {
    /// There is no pool, or the key is not to blame.
    #[default]
    Unchanged,
    /// The same key, renewed: worth a call at once. The pool gives it once for a refusal.
    Renewed,
    /// Another key of so many is free: worth a call at once.
    Other { of: usize },
    /// Every key rests: the next model's turn.
    AllRest,
}

/// A model server that has been chosen. Object-safe; one per session and model.
pub trait Provider: Send + Sync {
    /// Streams one reply. Deltas go to `sink` (bounded: a slow reader slows the stream; a closed one is ignored); the
    /// whole reply is returned. `cancel` ends it with [`ErrorKind::Cancelled`] and the partial reply.
    fn stream<'a>(
        &'a self,
        request: &'a Request,
        sink: mpsc::Sender<Delta>,
        cancel: CancellationToken,
    ) -> BoxFuture<'a, Result<Reply, ProviderError>>;

    /// What is known about the model behind it.
    fn model(&self) -> &ModelInfo;
}

/// What is known about one model. Absent means unknown: the screen prints `?`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelInfo {
    /// The id that goes over the wire.
    pub id: String,
    /// The provider's name in the config.
    pub provider: String,
    /// Tokens.
    pub context: Option<u64>,
    pub max_output: Option<u64>,
    /// US dollars per million tokens.
    pub price: Option<Price>,
    pub vision: Option<bool>,
    pub reasoning: Option<bool>,
    pub tools: Option<bool>,
}

impl ModelInfo {
    /// Puts the cost into a usage that came without one.
    pub fn price(&self, usage: &mut Option<Usage>) {
        if let Some(usage) = usage.as_mut().filter(|usage| usage.cost.is_none()) {
            usage.cost = self.price.map(|price| price.cost(usage));
        }
    }
}

/// US dollars per million tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Price {
    pub input: f64,
    pub cached: f64,
    pub output: f64,
    /// Writing to the cache, where that costs more than reading the prompt anew.
    pub cache_write: Option<f64>,
}

impl Price {
    /// US dollars for the tokens of one call.
    pub fn cost(&self, usage: &Usage) -> f64 {
        let plain = usage.input.saturating_sub(usage.cached).saturating_sub(usage.cache_write);
        let parts = [
            (plain, self.input),
            (usage.cached, self.cached),
            (usage.cache_write, self.cache_write.unwrap_or(self.input)),
            (usage.output, self.output),
        ];
        parts.iter().map(|(tokens, price)| *tokens as f64 * price).sum::<f64>() / 1e6
    }
}
