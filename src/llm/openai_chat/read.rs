//! Reads Chat Completions replies: chunks of a stream, or one whole answer.

use super::super::endpoint::Endpoint;
use super::super::gather::{End, Gather};
use super::super::lenient::Content;
use super::super::sse::Event;
use super::super::wire::{Fault, Parser};
use super::chunk::{Chunk, ErrorBody, Fragment, Piece};
use crate::protocol::StopReason;
use serde_json::{Value, json};
use std::collections::HashMap;

/// Knows which fragment belongs to which call.
pub(in super::super) struct Reader {
    tag: String,
    /// Index of the server to place in the reply.
    places: HashMap<u64, usize>,
    last: Option<usize>,
    details: Vec<Value>,
    /// Which field reasoning came in first: some servers send it in two.
    source: Option<Source>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Source {
    Content,
    Reasoning,
    Details,
}

impl Reader {
    pub fn new(endpoint: &Endpoint) -> Self {
        Self { tag: super::tag(endpoint), places: HashMap::new(), last: None, details: Vec::new(), source: None }
    }

    fn chunk(&mut self, chunk: Chunk<'_>, into: &mut Gather) -> Result<(), Fault> {
        if let Some(error) = chunk.error {
            return Err(fault(error));
        }
        if let Some(model) = chunk.model.filter(|_| into.model.is_empty()) {
            into.model = model.to_string();
        }
        for choice in chunk.choices.into_iter().take(1) {
            if let Some(piece) = choice.delta.or(choice.message) {
                self.piece(piece, into);
            }
            if let Some(usage) = choice.usage {
                into.usage = Some(usage.usage());
            }
            if let Some(reason) = choice.finish_reason.filter(|reason| !reason.is_empty()) {
                if &*reason == "error" {
                    return Err(Fault::Provider {
                        code: String::new(),
                        message: "the provider aborted with an error".into(),
                    });
                }
                into.stop = Some(stop(&reason));
                into.end = into.end.max(End::Stopped);
                self.close(into);
            }
        }
        if let Some(usage) = chunk.usage.or(chunk.x_groq.and_then(|groq| groq.usage)) {
            into.usage = Some(usage.usage());
        }
        Ok(())
    }

    fn piece(&mut self, piece: Piece<'_>, into: &mut Gather) {
        if let Some(text) = &piece.reasoning_content {
            self.reasoning(Source::Content, text, into);
        }
        match &piece.reasoning {
            Some(Content::Text(text)) => self.reasoning(Source::Reasoning, text, into),
            Some(Content::Parts(parts)) => {
                for part in parts {
                    self.reasoning(Source::Reasoning, &part.text, into);
                }
            }
            Some(Content::None) | None => {}
        }
        for detail in piece.reasoning_details.unwrap_or_default() {
            let text = detail.get("text").or(detail.get("summary")).and_then(Value::as_str).unwrap_or_default();
            self.reasoning(Source::Details, text, into);
            self.detail(detail);
        }
        match piece.content {
            Content::Text(text) => into.push_text(&text),
            Content::Parts(parts) => {
                for part in parts {
                    into.push_text(&part.text);
                    into.push_text(&part.refusal);
                    for thought in part.thinking.iter().flat_map(texts) {
                        into.push_reasoning(thought);
                    }
                }
            }
            Content::None => {}
        }
        if let Some(refusal) = piece.refusal {
            into.push_text(&refusal);
        }
        for fragment in piece.tool_calls {
            self.fragment(fragment, into);
        }
    }

    fn reasoning(&mut self, source: Source, text: &str, into: &mut Gather) {
        if !text.is_empty() && *self.source.get_or_insert(source) == source {
            into.push_reasoning(text);
        }
    }

    /// Joins the pieces of one block: same kind, same index.
    fn detail(&mut self, new: Value) {
        let same = |key: &str, a: &Value, b: &Value| a.get(key) == b.get(key);
        if let Some(last) = self.details.last_mut()
            && same("type", last, &new)
            && same("index", last, &new)
            && let (Some(last), Value::Object(new)) = (last.as_object_mut(), &new)
        {
            for (key, value) in new {
                match (key.as_str(), last.get_mut(key), value) {
                    ("text" | "summary" | "data", Some(Value::String(old)), Value::String(more)) => old.push_str(more),
                    (_, _, Value::Null) => {}
                    _ => {
                        last.insert(key.clone(), value.clone());
                    }
                }
            }
            return;
        }
        self.details.push(new);
    }

    fn fragment(&mut self, fragment: Fragment<'_>, into: &mut Gather) {
        let id = fragment.id.as_deref().unwrap_or_default();
        let name = fragment.function.name.as_deref().unwrap_or_default();
        let known = match fragment.index {
            // Some servers number every call 0: another id with a name is another call.
            Some(index) => self.places.get(&index).copied().filter(|at| {
                let have = into.call_id(*at);
                id.is_empty() || have.is_empty() || id == have || name.is_empty()
            }),
            None if !id.is_empty() => into.call_with_id(id),
            // Without index and id: a name begins a call, unless the one before is not yet whole.
            None => self.last.filter(|at| name.is_empty() || !into.args_complete(*at)),
        };
        let at = known.unwrap_or_else(|| into.open_call(id, name));
        if let Some(index) = fragment.index {
            self.places.insert(index, at);
        }
        self.last = Some(at);
        into.name_call(at, id, name);
        into.push_args(at, &fragment.function.arguments.0);
        if let Some(extra) = fragment.extra_content {
            into.opaque.push(json!({"for": self.tag, "call": into.call_id(at), "extra_content": extra}));
        }
    }

    fn close(&mut self, into: &mut Gather) {
        let tag = &self.tag;
        into.opaque.extend(self.details.drain(..).map(|block| json!({"for": tag, "block": block})));
    }
}

impl Parser for Reader {
    fn event(&mut self, event: Event<'_>, into: &mut Gather) -> Result<(), Fault> {
        let data = event.data.trim();
        if data == "[DONE]" {
            into.end = End::Closed;
            self.close(into);
            return Ok(());
        }
        if data.is_empty() {
            return Ok(());
        }
        let chunk: Chunk<'_> = serde_json::from_str(data).map_err(|error| form(&error, data))?;
        self.chunk(chunk, into)
    }

    fn whole(&mut self, body: &str, into: &mut Gather) -> Result<(), Fault> {
        let chunk: Chunk<'_> = serde_json::from_str(body).map_err(|error| form(&error, body))?;
        if chunk.choices.is_empty() && chunk.error.is_none() {
            let said = match &chunk.detail {
                Some(Content::Text(text)) => text.to_string(),
                _ => body.chars().take(200).collect(),
            };
            return Err(Fault::Form(format!("no choices in {said}")));
        }
        self.chunk(chunk, into)?;
        self.close(into);
        into.end = End::Closed;
        Ok(())
    }
}

/// What is wrong with an answer, with a bit of it.
pub(in super::super) fn form(error: &serde_json::Error, body: &str) -> Fault {
    let start: String = body.chars().take(120).collect();
    Fault::Form(format!("{error} in {start:?}"))
}

fn fault(error: ErrorBody) -> Fault {
    match error {
        ErrorBody::Object { code, kind, message } => {
            let code = code.filter(|code| !code.0.is_empty()).or(kind).unwrap_or_default();
            Fault::Provider { code: code.0, message: message.unwrap_or_default() }
        }
        ErrorBody::Text(message) => Fault::Provider { code: String::new(), message },
    }
}

/// Mistral's reasoning parts: a text, or a list of `{text}`.
fn texts(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(list) => list.iter().filter_map(|part| part.get("text")?.as_str()).collect(),
        _ => Vec::new(),
    }
}

fn stop(reason: &str) -> StopReason {
    match reason {
        "stop" | "end_turn" | "eos" | "eos_token" | "COMPLETE" | "STOP" => StopReason::EndTurn,
        "tool_calls" | "function_call" | "tool_use" => StopReason::ToolCalls,
        "length" | "max_tokens" | "model_length" | "MAX_TOKENS" => StopReason::Length,
        "content_filter" | "SAFETY" | "sensitive" => StopReason::ContentFilter,
        other => StopReason::Other(other.to_owned()),
    }
}
