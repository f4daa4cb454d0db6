//! A model that is called only while the budget allows, whoever calls it: the one place that every call passes.

use super::hold::{Hold, Refused};
use super::purse::Purse;
use crate::llm::message::Message;
use crate::llm::{Delta, ErrorKind, ModelInfo, NextKey, Provider, ProviderError, Reply, Request};
use crate::protocol::Usage;
use crate::text::tokens;
use futures::future::BoxFuture;
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// A model within a budget.
pub struct Held {
    inner: Arc<dyn Provider>,
    purse: Purse,
    /// What for, when no item tells of its calls: they are counted from here.
    role: Option<&'static str>,
}

impl Held {
    /// The model, within this purse.
    pub fn new(inner: Arc<dyn Provider>, purse: Purse, role: Option<&'static str>) -> Self {
        Self { inner, purse, role }
    }
}

/// A call that is under way. When it is given up before its end, it was paid for all the same.
struct Open<'a> {
    held: &'a Held,
    input: u64,
    settled: bool,
}

impl Open<'_> {
    fn guess(&mut self, output: u64) {
        self.settled = true;
        let usage = Usage { input: self.input, output, ..Usage::default() };
        self.held.purse.unmeasured(self.held.inner.model(), usage);
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        if !self.settled {
            self.guess(0);
        }
    }
}

/// Tokens of a request, as far as text has any.
fn asked(request: &Request) -> u64 {
    let tool =
        |tool: &crate::llm::ToolSchema| tokens::of_tool(&tool.name, &tool.description, &tool.parameters.to_string());
    let message = |message: &Message| match message {
        Message::User { text, images } => tokens::of(text.len()) + (images.len() * tokens::IMAGE) as u64,
        Message::Assistant { text, reasoning, calls, .. } => {
            let calls = calls.iter().map(|call| call.name.len() + call.args.len()).sum::<usize>();
            tokens::of(text.len() + reasoning.len() + calls)
        }
        Message::Tool { content, .. } => tokens::of(content.len()),
    };
    tokens::of(request.system.len())
        + request.tools.iter().map(tool).sum::<u64>()
        + request.messages.iter().map(message).sum::<u64>()
}

fn said(reply: &Reply) -> u64 {
    let calls = reply.calls.iter().map(|call| call.name.len() + call.args.len()).sum::<usize>();
    tokens::of(reply.text.len() + reply.reasoning.len() + calls)
}

/// Tokens of an answer while it streams.
#[derive(Default)]
struct Streamed {
    bytes: usize,
    /// Of the arguments of each call so far.
    calls: BTreeMap<usize, usize>,
}

impl Streamed {
    fn saw(&mut self, delta: &Delta) -> u64 {
        match delta {
            Delta::Text(text) | Delta::Reasoning(text) => self.bytes += text.len(),
            Delta::CallStarted { name, .. } => self.bytes += name.len(),
            Delta::CallProgress { index, bytes } => {
                self.calls.insert(*index, *bytes);
            }
            Delta::Waiting(_) => {}
        }
        tokens::of(self.bytes + self.calls.values().sum::<usize>())
    }
}

impl Held {
    /// Sends a request that has its room, and ends it when a limit is passed while it runs.
    async fn within(
        &self,
        hold: &mut Hold,
        request: &Request,
        sink: mpsc::Sender<Delta>,
        cancel: CancellationToken,
    ) -> Result<Reply, ProviderError> {
        let (pieces, mut came) = mpsc::channel(64);
        let stop = cancel.child_token();
        let mut streamed = Streamed::default();
        let mut over = None;
        let answer = {
            let mut answer = std::pin::pin!(self.inner.stream(request, pieces, stop.clone()));
            loop {
                // Whether what is spent is looked at, and whether as the store has it.
                let look = tokio::select! {
                    biased;
                    Some(delta) = came.recv() => {
                        let look = hold.streamed(streamed.saw(&delta));
                        // Who reads no more waits for the answer alone.
                        let _ = sink.send(delta).await;
                        look.then_some(false)
                    }
                    answer = &mut answer => break answer,
                    reads = hold.stirred(), if over.is_none() => Some(reads),
                };
                let Some(reads) = look.filter(|_| over.is_none()) else { continue };
                over = hold.over(reads).await;
                if over.is_some() {
                    stop.cancel();
                }
            }
        };
        while let Ok(delta) = came.try_recv() {
            let _ = sink.send(delta).await;
        }
        match (answer, over) {
            (Err(error), Some(stop)) if error.kind == ErrorKind::Cancelled && !cancel.is_cancelled() => {
                Err(ProviderError { partial: error.partial, ..refused(stop.text) })
            }
            (answer, _) => answer,
        }
    }
}

impl Provider for Held {
    fn stream<'a>(
        &'a self,
        request: &'a Request,
        sink: mpsc::Sender<Delta>,
        cancel: CancellationToken,
    ) -> BoxFuture<'a, Result<Reply, ProviderError>> {
        Box::pin(async move {
            let mut open = Open { held: self, input: asked(request), settled: false };
            let answer = if self.purse.is_limited() {
                let held = self.purse.hold(self.inner.model(), open.input, request.max_output, &cancel).await;
                let mut hold = held.map_err(|why| {
                    open.settled = true;
                    match why {
                        Refused::Stop(stop) => refused(stop.text),
                        Refused::Cancelled => error(ErrorKind::Cancelled, "stopped".into()),
                    }
                })?;
                let bounded = hold.bound().map(|most| Request { max_output: Some(most), ..request.clone() });
                self.within(&mut hold, bounded.as_ref().unwrap_or(request), sink, cancel).await
            } else {
                self.inner.stream(request, sink, cancel).await
            };
            match &answer {
                Ok(reply) => match reply.usage {
                    Some(usage) => {
                        open.settled = true;
                        self.purse.paid(self.inner.model(), self.role, usage).await;
                    }
                    None => open.guess(said(reply)),
                },
                Err(error) => match (&error.partial, error.kind) {
                    (Some(partial), _) => open.guess(said(partial)),
                    // It may have been read and answered.
                    (None, ErrorKind::Cancelled | ErrorKind::Stalled | ErrorKind::Malformed | ErrorKind::Budget) => {
                        open.guess(0)
                    }
                    (None, _) => open.settled = true,
                },
            }
            answer
        })
    }

    fn model(&self) -> &ModelInfo {
        self.inner.model()
    }
}

/// The budget forbids the call.
fn refused(message: String) -> ProviderError {
    error(ErrorKind::Budget, message)
}

fn error(kind: ErrorKind, message: String) -> ProviderError {
    ProviderError {
        kind,
        status: None,
        message,
        retry_after: None,
        reset_after: None,
        next_key: NextKey::Unchanged,
        partial: None,
    }
}
