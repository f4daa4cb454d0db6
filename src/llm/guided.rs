//! Models that can't write tool calls in their own form: the tools are told in words, an answer is prose or one call as a JSON
//! object, and the server's grammar lets nothing else through.

mod examples;
mod grammar;
#[cfg(test)]
mod tests;

use super::message::Message;
use super::{Delta, ModelInfo, Provider, ProviderError, Reply, Request, ToolSchema};
use crate::protocol::{StopReason, ToolCall};
use futures::future::BoxFuture;
use serde_json::Value;
use std::fmt::Write as _;
use std::sync::Arc;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// How calls are written; `{{tools}}` becomes the list.
const WORDS: &str = include_str!("../../assets/prompts/guided.md");

/// Tokens of an answer at most. A longer file is written in parts.
const MOST: u32 = 1_024;

/// A model behind a grammar.
pub struct Guided {
    inner: Arc<dyn Provider>,
}

impl Guided {
    /// Over a model whose server takes grammars (GBNF).
    pub fn new(inner: Arc<dyn Provider>) -> Self {
        Self { inner }
    }
}

impl Provider for Guided {
    fn stream<'a>(
        &'a self,
        request: &'a Request,
        sink: mpsc::Sender<Delta>,
        cancel: CancellationToken,
    ) -> BoxFuture<'a, Result<Reply, ProviderError>> {
        Box::pin(async move {
            let guided = guided(request);
            let (inner, mut pieces) = mpsc::channel(64);
            let mut watch = Watch::default();
            let call = self.inner.stream(&guided, inner, cancel);
            tokio::pin!(call);
            let done = loop {
                tokio::select! {
                    biased;
                    Some(piece) = pieces.recv() => watch.pass(piece, &sink).await,
                    done = &mut call => break done,
                }
            };
            while let Ok(piece) = pieces.try_recv() {
                watch.pass(piece, &sink).await;
            }
            match done {
                Ok(reply) => Ok(read(reply, request)),
                Err(mut error) => {
                    // Half a call is nothing that could be continued.
                    error.partial = error.partial.filter(|partial| !is_call(&partial.text));
                    Err(error)
                }
            }
        })
    }

    fn model(&self) -> &ModelInfo {
        self.inner.model()
    }
}

/// The request as such a model understands it.
fn guided(request: &Request) -> Request {
    if request.tools.is_empty() {
        return request.clone();
    }
    let words = WORDS.trim().replace("{{tools}}", list(&request.tools).trim_end());
    let mut messages = examples::messages(&request.tools);
    for message in &request.messages {
        push(&mut messages, plain(message));
    }
    Request {
        system: format!("{}\n\n{words}", request.system.trim_end()).into(),
        tools: Vec::new().into(),
        messages,
        grammar: Some(grammar::of(&request.tools).into()),
        // A grammar holds the form of a call and not its end: a text that repeats itself would never stop.
        max_output: Some(request.max_output.unwrap_or(MOST).min(MOST)),
        ..request.clone()
    }
}

/// The tools in words: `- read_file(path, offset?): …`.
fn list(tools: &[ToolSchema]) -> String {
    let mut out = String::new();
    for tool in tools {
        let fields = grammar::fields(&tool.parameters);
        let names: Vec<String> = fields
            .iter()
            .map(|field| if field.required { field.name.clone() } else { format!("{}?", field.name) })
            .collect();
        let _ = writeln!(out, "- {}({}): {}", tool.name, names.join(", "), tool.description.trim());
    }
    out
}

/// A message without calls and results in a form of their own.
fn plain(message: &Message) -> Message {
    match message {
        Message::User { .. } => message.clone(),
        Message::Assistant { text, calls, .. } => {
            let calls = calls.iter().map(|call| written(&call.name, &call.args));
            let parts: Vec<String> =
                std::iter::once(text.clone()).filter(|text| !text.is_empty()).chain(calls).collect();
            let text = parts.join("\n");
            Message::Assistant { text, reasoning: String::new(), calls: Vec::new(), opaque: Vec::new() }
        }
        Message::Tool { name, content, .. } => {
            Message::User { text: format!("Result of {name}:\n{content}"), images: Vec::new() }
        }
    }
}

/// Messages of one side that follow each other become one: templates want them to alternate.
fn push(messages: &mut Vec<Message>, message: Message) {
    if let (Some(Message::User { text, images }), Message::User { text: more, images: other }) =
        (messages.last_mut(), &message)
    {
        text.push_str("\n\n");
        text.push_str(more);
        images.extend(other.iter().cloned());
        return;
    }
    messages.push(message);
}

/// A call as the grammar has it.
fn written(name: &str, args: &str) -> String {
    format!("{{\"tool\": {}, \"arguments\": {args}}}", Value::from(name))
}

fn is_call(text: &str) -> bool {
    text.trim_start().starts_with('{')
}

/// The reply with its call in the form of all others.
fn read(mut reply: Reply, request: &Request) -> Reply {
    if request.tools.is_empty() || !is_call(&reply.text) {
        return reply;
    }
    let read = serde_json::from_str::<Value>(reply.text.trim()).ok();
    let name = read.as_ref().and_then(|call| call.get("tool")?.as_str().map(str::to_owned));
    let args = read.as_ref().and_then(|call| call.get("arguments")).map(Value::to_string);
    match (name, args) {
        (Some(name), Some(args)) => {
            let id = format!("call_{}", request.messages.len());
            reply.calls = vec![ToolCall { id, name, args, repaired: false, via: String::new() }];
            reply.text.clear();
            reply.stop = StopReason::ToolCalls;
        }
        // The limit of an answer cut it off.
        _ if reply.stop == StopReason::Length => {
            reply.cut_call = Some(begun(&reply.text).unwrap_or_default().to_owned());
            reply.text.clear();
        }
        _ => {}
    }
    reply
}

/// The name of a call that may not be whole.
fn begun(text: &str) -> Option<&str> {
    let rest = text.trim_start().strip_prefix("{\"tool\": \"")?;
    rest.split_once('"').map(|(name, _)| name)
}

/// What the sink hears: prose as it comes, a call by its name and size.
#[derive(Default)]
struct Watch {
    text: String,
    /// It began with what begins no call.
    prose: bool,
    told: bool,
}

impl Watch {
    async fn pass(&mut self, piece: Delta, sink: &mpsc::Sender<Delta>) {
        let Delta::Text(text) = piece else {
            let _ = sink.send(piece).await;
            return;
        };
        self.text.push_str(&text);
        // Blanks may still become a call.
        self.prose |= !self.text.trim().is_empty() && !is_call(&self.text);
        if self.prose {
            let _ = sink.send(Delta::Text(std::mem::take(&mut self.text))).await;
            return;
        }
        match begun(&self.text) {
            Some(name) if !self.told => {
                self.told = true;
                let _ = sink.send(Delta::CallStarted { index: 0, name: name.to_owned() }).await;
            }
            Some(_) => {
                let _ = sink.send(Delta::CallProgress { index: 0, bytes: self.text.len() }).await;
            }
            None => {}
        }
    }
}
