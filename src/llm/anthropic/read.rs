//! Reads Anthropic replies: block events of a stream, or one whole message.

use super::super::endpoint::Endpoint;
use super::super::gather::{End, Gather};
use super::super::lenient::{Text, or_default};
use super::super::openai_chat::{form, tag};
use super::super::sse::Event;
use super::super::wire::{Fault, Parser};
use crate::protocol::{StopReason, Usage};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::HashMap;

#[derive(Deserialize)]
struct Happening<'a> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    #[serde(default)]
    index: u64,
    #[serde(borrow, default)]
    delta: Option<Piece<'a>>,
    #[serde(default)]
    content_block: Option<Value>,
    #[serde(default)]
    message: Option<Whole>,
    #[serde(default)]
    usage: Option<Counts>,
    #[serde(default)]
    error: Option<ErrorBody>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Piece<'a> {
    #[serde(borrow)]
    text: Option<Text<'a>>,
    #[serde(borrow)]
    thinking: Option<Text<'a>>,
    #[serde(borrow)]
    signature: Option<Text<'a>>,
    #[serde(borrow)]
    partial_json: Option<Text<'a>>,
    #[serde(borrow)]
    stop_reason: Option<Text<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Whole {
    #[serde(rename = "type", deserialize_with = "or_default")]
    kind: String,
    #[serde(deserialize_with = "or_default")]
    model: String,
    #[serde(deserialize_with = "or_default")]
    content: Vec<Value>,
    stop_reason: Option<String>,
    usage: Option<Counts>,
    error: Option<ErrorBody>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ErrorBody {
    #[serde(rename = "type", deserialize_with = "or_default")]
    kind: String,
    #[serde(deserialize_with = "or_default")]
    message: String,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(default)]
struct Counts {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
}

impl Counts {
    /// Later events repeat only some of the counts.
    fn merge(&mut self, new: Self) {
        self.input_tokens = new.input_tokens.filter(|count| *count > 0).or(self.input_tokens);
        self.output_tokens = new.output_tokens.or(self.output_tokens);
        self.cache_read_input_tokens = new.cache_read_input_tokens.or(self.cache_read_input_tokens);
        self.cache_creation_input_tokens = new.cache_creation_input_tokens.or(self.cache_creation_input_tokens);
    }

    fn usage(self) -> Usage {
        let cached = self.cache_read_input_tokens.unwrap_or(0);
        let cache_write = self.cache_creation_input_tokens.unwrap_or(0);
        Usage {
            // Here the input does not count what the cache held.
            input: self.input_tokens.unwrap_or(0) + cached + cache_write,
            cached,
            cache_write,
            output: self.output_tokens.unwrap_or(0),
            reasoning: 0,
            cost: None,
        }
    }
}

enum Open {
    Text,
    Call {
        place: usize,
        whole: Option<String>,
    },
    /// Where it began, and the block as it grows.
    Thinking {
        at: (usize, usize),
        block: Value,
    },
}

/// Knows which event belongs to which block.
pub(in super::super) struct Reader {
    tag: String,
    blocks: HashMap<u64, Open>,
    counts: Counts,
}

impl Reader {
    pub fn new(endpoint: &Endpoint) -> Self {
        Self { tag: tag(endpoint), blocks: HashMap::new(), counts: Counts::default() }
    }

    fn start(&mut self, index: u64, block: Value, into: &mut Gather) {
        let text = |key: &str| block.get(key).and_then(Value::as_str).unwrap_or_default();
        let open = match text("type") {
            "text" => {
                into.push_text(text("text"));
                Open::Text
            }
            "tool_use" => {
                let place = into.open_call(text("id"), text("name"));
                // Servers that do not stream arguments send them here.
                let input = block.get("input").filter(|input| input.as_object().is_some_and(|map| !map.is_empty()));
                Open::Call { place, whole: input.map(Value::to_string) }
            }
            "thinking" | "redacted_thinking" => {
                into.push_reasoning(text("thinking"));
                Open::Thinking { at: (into.text.len(), into.call_count()), block }
            }
            _ => return,
        };
        self.blocks.insert(index, open);
    }

    fn piece(&mut self, index: u64, piece: &Piece<'_>, into: &mut Gather) {
        match self.blocks.get_mut(&index) {
            Some(Open::Call { place, whole }) => {
                if let Some(args) = piece.partial_json.as_deref().filter(|args| !args.is_empty()) {
                    *whole = None;
                    into.push_args(*place, args);
                }
            }
            Some(Open::Thinking { block, .. }) => {
                if let Some(more) = piece.thinking.as_deref() {
                    into.push_reasoning(more);
                    append(block, "thinking", more);
                }
                if let Some(signature) = piece.signature.as_deref() {
                    append(block, "signature", signature);
                }
            }
            Some(Open::Text) | None => {
                if let Some(text) = piece.text.as_deref() {
                    into.push_text(text);
                }
            }
        }
    }

    fn stop(&mut self, index: u64, into: &mut Gather) {
        match self.blocks.remove(&index) {
            Some(Open::Call { place, whole: Some(args) }) => into.set_args(place, &args),
            Some(Open::Thinking { at, block }) => {
                // Thinking without a signature is refused when it comes back.
                let text = |key: &str| block.get(key).and_then(Value::as_str).unwrap_or_default();
                if !text("signature").is_empty() || !text("data").is_empty() {
                    into.opaque.push(json!({"for": self.tag, "at": [at.0, at.1], "block": block}));
                }
                into.push_reasoning(if into.reasoning.is_empty() { "" } else { "\n" });
            }
            Some(Open::Call { whole: None, .. } | Open::Text) | None => {}
        }
    }

    fn count(&mut self, counts: Option<Counts>, into: &mut Gather) {
        if let Some(counts) = counts {
            self.counts.merge(counts);
            into.usage = Some(self.counts.usage());
        }
    }
}

fn append(block: &mut Value, key: &str, more: &str) {
    match block.get_mut(key) {
        Some(Value::String(text)) => text.push_str(more),
        _ => {
            if let Some(map) = block.as_object_mut() {
                map.insert(key.to_owned(), Value::from(more));
            }
        }
    }
}

fn fault(error: ErrorBody) -> Fault {
    Fault::Provider { code: error.kind, message: error.message }
}

fn stop_reason(reason: &str) -> StopReason {
    match reason {
        "end_turn" | "stop_sequence" => StopReason::EndTurn,
        "tool_use" => StopReason::ToolCalls,
        "max_tokens" | "model_context_window_exceeded" => StopReason::Length,
        "refusal" => StopReason::ContentFilter,
        other => StopReason::Other(other.to_owned()),
    }
}

impl Parser for Reader {
    fn event(&mut self, event: Event<'_>, into: &mut Gather) -> Result<(), Fault> {
        let data = event.data.trim();
        if data.is_empty() || data == "[DONE]" {
            return Ok(());
        }
        let happening: Happening<'_> = serde_json::from_str(data).map_err(|error| form(&error, data))?;
        match &*happening.kind {
            "content_block_delta" => {
                if let Some(piece) = &happening.delta {
                    self.piece(happening.index, piece, into);
                }
            }
            "content_block_start" => {
                if let Some(block) = happening.content_block {
                    self.start(happening.index, block, into);
                }
            }
            "content_block_stop" => self.stop(happening.index, into),
            "message_start" => {
                if let Some(message) = happening.message {
                    into.model = message.model;
                    self.count(message.usage, into);
                }
            }
            "message_delta" => {
                self.count(happening.usage, into);
                if let Some(reason) = happening.delta.and_then(|delta| delta.stop_reason) {
                    into.stop = Some(stop_reason(&reason));
                    into.end = into.end.max(End::Stopped);
                }
            }
            "message_stop" => into.end = End::Closed,
            "error" => return Err(fault(happening.error.unwrap_or_default())),
            _ => {}
        }
        Ok(())
    }

    fn whole(&mut self, body: &str, into: &mut Gather) -> Result<(), Fault> {
        let whole: Whole = serde_json::from_str(body).map_err(|error| form(&error, body))?;
        if let Some(error) = whole.error {
            return Err(fault(error));
        }
        if whole.kind != "message" {
            let start: String = body.chars().take(200).collect();
            return Err(Fault::Form(format!("no message in {start}")));
        }
        into.model = whole.model;
        for (index, block) in whole.content.into_iter().enumerate() {
            self.start(index as u64, block, into);
            self.stop(index as u64, into);
        }
        self.count(whole.usage, into);
        into.stop = whole.stop_reason.as_deref().map(stop_reason);
        into.end = End::Closed;
        Ok(())
    }
}
