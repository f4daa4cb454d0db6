//! A model that is called only while the budget allows, whoever calls it: the one place that every call passes.

use super::purse::Purse;
use crate::llm::message::Message;
use crate::llm::{Delta, ErrorKind, ModelInfo, NextKey, Provider, ProviderError, Reply, Request};
use crate::protocol::Usage;
use crate::text::tokens;
use futures::future::BoxFuture;
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

impl Provider for Held {
    fn stream<'a>(
        &'a self,
        request: &'a Request,
        sink: mpsc::Sender<Delta>,
        cancel: CancellationToken,
    ) -> BoxFuture<'a, Result<Reply, ProviderError>> {
        Box::pin(async move {
            self.purse.may_call(self.inner.model()).await.map_err(refused)?;
            let mut open = Open { held: self, input: asked(request), settled: false };
            let answer = self.inner.stream(request, sink, cancel).await;
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
                    (None, ErrorKind::Cancelled | ErrorKind::Stalled | ErrorKind::Malformed) => open.guess(0),
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
    ProviderError {
        kind: ErrorKind::Quota,
        status: None,
        message,
        retry_after: None,
        reset_after: None,
        next_key: NextKey::Unchanged,
        partial: None,
    }
}
