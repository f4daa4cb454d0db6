//! Reads Responses replies: typed events of a stream, or one whole response.

use super::super::endpoint::Endpoint;
use super::super::gather::{End, Gather};
use super::super::lenient::{Arguments, Text, Word, or_default};
use super::super::openai_chat::{form, tag};
use super::super::sse::Event;
use super::super::wire::{Fault, Parser};
use crate::protocol::{StopReason, Usage};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::HashMap;

#[derive(Deserialize)]
struct Happening<'a> {
    #[serde(borrow, rename = "type", default)]
    kind: Option<Text<'a>>,
    #[serde(borrow, default)]
    delta: Option<Text<'a>>,
    #[serde(default)]
    output_index: Option<u64>,
    #[serde(borrow, default)]
    arguments: Option<Arguments<'a>>,
    #[serde(default)]
    item: Option<Value>,
    #[serde(default)]
    response: Option<Response>,
    #[serde(default)]
    code: Option<Word>,
    #[serde(default)]
    message: Option<Word>,
    #[serde(default)]
    error: Option<ErrorBody>,
}

/// Only the type: for events of kinds that are not read.
#[derive(Deserialize)]
struct Kind {
    #[serde(rename = "type", default)]
    kind: String,
}

#[derive(Deserialize)]
struct Response {
    #[serde(default, deserialize_with = "or_default")]
    model: String,
    #[serde(default, deserialize_with = "or_default")]
    status: String,
    #[serde(default)]
    usage: Option<Counts>,
    #[serde(default)]
    error: Option<ErrorBody>,
    #[serde(default)]
    incomplete_details: Option<Incomplete>,
    #[serde(default, deserialize_with = "or_default")]
    output: Vec<Value>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ErrorBody {
    #[serde(deserialize_with = "or_default")]
    code: Word,
    #[serde(rename = "type", deserialize_with = "or_default")]
    kind: Word,
    #[serde(deserialize_with = "or_default")]
    message: String,
}

#[derive(Deserialize)]
struct Incomplete {
    #[serde(default, deserialize_with = "or_default")]
    reason: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Counts {
    #[serde(deserialize_with = "or_default")]
    input_tokens: u64,
    #[serde(deserialize_with = "or_default")]
    output_tokens: u64,
    #[serde(deserialize_with = "or_default")]
    input_tokens_details: Details,
    #[serde(deserialize_with = "or_default")]
    output_tokens_details: Details,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Details {
    #[serde(deserialize_with = "or_default")]
    cached_tokens: u64,
    #[serde(deserialize_with = "or_default")]
    reasoning_tokens: u64,
}

/// Knows which event belongs to which item.
pub(in super::super) struct Reader {
    tag: String,
    /// Output index to place of the call in the reply.
    calls: HashMap<u64, usize>,
    /// Output indexes whose text has come in deltas.
    told: HashMap<u64, bool>,
    /// Where items began: bytes of text and calls before them.
    began: HashMap<u64, (usize, usize)>,
    summary_parts: usize,
}

impl Reader {
    pub fn new(endpoint: &Endpoint) -> Self {
        let (calls, told, began) = Default::default();
        Self { tag: tag(endpoint), calls, told, began, summary_parts: 0 }
    }

    fn happened(&mut self, event: Happening<'_>, name: &str, into: &mut Gather) -> Result<(), Fault> {
        let kind = event.kind.as_deref().unwrap_or(name);
        let at = event.output_index.unwrap_or(0);
        let delta = event.delta.as_deref().unwrap_or_default();
        match kind {
            "response.output_text.delta" | "response.refusal.delta" => {
                self.told.insert(at, true);
                into.push_text(delta);
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                self.told.insert(at, true);
                into.push_reasoning(delta);
            }
            "response.reasoning_summary_part.added" => {
                if self.summary_parts > 0 {
                    into.push_reasoning("\n\n");
                }
                self.summary_parts += 1;
            }
            "response.output_item.added" => {
                self.began.insert(at, (into.text.len(), into.call_count()));
                if let Some(item) = event.item.as_ref().filter(|item| is(item, "function_call")) {
                    let place = into.open_call(text(item, "call_id"), text(item, "name"));
                    self.calls.insert(at, place);
                }
            }
            "response.function_call_arguments.delta" => {
                if let Some(place) = self.calls.get(&at) {
                    into.push_args(*place, delta);
                }
            }
            "response.function_call_arguments.done" => {
                if let (Some(place), Some(whole)) = (self.calls.get(&at), &event.arguments) {
                    into.set_args(*place, &whole.0);
                }
            }
            "response.output_item.done" => {
                if let Some(item) = event.item {
                    self.item(at, item, into);
                }
            }
            "response.created" | "response.in_progress" => {
                if let Some(response) = event.response {
                    into.model = response.model;
                }
            }
            "response.completed" | "response.done" | "response.incomplete" | "response.failed" => {
                if let Some(response) = event.response {
                    self.response(response, into)?;
                }
                into.end = End::Closed;
            }
            "error" => {
                let body = event.error.unwrap_or_default();
                let code = event.code.filter(|code| !code.0.is_empty()).unwrap_or(body.code);
                let message = event.message.map_or(body.message, |message| message.0);
                return Err(Fault::Provider { code: if code.0.is_empty() { body.kind.0 } else { code.0 }, message });
            }
            _ => {}
        }
        Ok(())
    }

    /// A finished item: what its deltas did not bring.
    fn item(&mut self, at: u64, item: Value, into: &mut Gather) {
        let told = self.told.get(&at).copied().unwrap_or(false);
        match item.get("type").and_then(Value::as_str).unwrap_or_default() {
            "function_call" => {
                let place = self.calls.get(&at).copied().unwrap_or_else(|| into.open_call("", ""));
                self.calls.insert(at, place);
                into.name_call(place, text(&item, "call_id"), text(&item, "name"));
                match item.get("arguments") {
                    Some(Value::String(args)) => into.set_args(place, args),
                    Some(args @ Value::Object(_)) => into.set_args(place, &args.to_string()),
                    _ => {}
                }
            }
            "message" if !told => {
                for part in parts(&item, "content") {
                    into.push_text(text(part, "text"));
                    into.push_text(text(part, "refusal"));
                }
            }
            "reasoning" => {
                if !told {
                    let words: Vec<&str> =
                        parts(&item, "summary").chain(parts(&item, "content")).map(|part| text(part, "text")).collect();
                    into.push_reasoning(&words.join("\n\n"));
                }
                let here = (into.text.len(), into.call_count());
                let (said, called) = self.began.get(&at).copied().unwrap_or(here);
                if let Some(encrypted) = item.get("encrypted_content").filter(|value| value.is_string()) {
                    // Without its id: with nothing stored, an id would be looked up in vain.
                    let summary = item.get("summary").cloned().unwrap_or_else(|| json!([]));
                    let block = json!({"type": "reasoning", "summary": summary, "encrypted_content": encrypted});
                    into.opaque.push(json!({"for": self.tag, "at": [said, called], "block": block}));
                }
            }
            _ => {}
        }
    }

    fn response(&mut self, response: Response, into: &mut Gather) -> Result<(), Fault> {
        if let Some(error) = response.error {
            let code = if error.code.0.is_empty() { error.kind.0 } else { error.code.0 };
            return Err(Fault::Provider { code, message: error.message });
        }
        if response.status == "failed" {
            return Err(Fault::Provider { code: "server_error".into(), message: "the response failed".into() });
        }
        if !response.model.is_empty() {
            into.model = response.model;
        }
        if let Some(counts) = response.usage {
            into.usage = Some(Usage {
                input: counts.input_tokens,
                cached: counts.input_tokens_details.cached_tokens,
                cache_write: 0,
                output: counts.output_tokens,
                reasoning: counts.output_tokens_details.reasoning_tokens,
                cost: None,
            });
        }
        // A stream without item events, or an answer that was no stream.
        if into.text.is_empty() && into.call_count() == 0 {
            for (at, item) in response.output.into_iter().enumerate() {
                self.item(at as u64, item, into);
            }
        }
        into.stop = Some(match (response.status.as_str(), response.incomplete_details) {
            ("incomplete", Some(details)) => match details.reason.as_str() {
                "max_output_tokens" | "max_tokens" => StopReason::Length,
                "content_filter" => StopReason::ContentFilter,
                other => StopReason::Other(other.to_owned()),
            },
            ("incomplete", None) => StopReason::Length,
            ("cancelled", _) => StopReason::Other("cancelled".into()),
            _ => StopReason::EndTurn,
        });
        into.end = End::Closed;
        Ok(())
    }
}

impl Parser for Reader {
    fn event(&mut self, event: Event<'_>, into: &mut Gather) -> Result<(), Fault> {
        let data = event.data.trim();
        if data.is_empty() || data == "[DONE]" {
            return Ok(());
        }
        match serde_json::from_str::<Happening<'_>>(data) {
            Ok(happening) => self.happened(happening, event.name, into),
            Err(error) => {
                // Events that are not read may have any form.
                let kind = serde_json::from_str::<Kind>(data).map_err(|_| form(&error, data))?.kind;
                let is_read =
                    ["response.output_item", "response.completed", "response.failed", "response.incomplete", "error"];
                if is_read.iter().any(|start| kind.starts_with(start)) { Err(form(&error, data)) } else { Ok(()) }
            }
        }
    }

    fn whole(&mut self, body: &str, into: &mut Gather) -> Result<(), Fault> {
        let response: Response = serde_json::from_str(body).map_err(|error| form(&error, body))?;
        if response.output.is_empty() && response.status.is_empty() && response.error.is_none() {
            let start: String = body.chars().take(200).collect();
            return Err(Fault::Form(format!("no output in {start}")));
        }
        self.response(response, into)
    }
}

fn is(item: &Value, kind: &str) -> bool {
    item.get("type").and_then(Value::as_str) == Some(kind)
}

fn text<'a>(item: &'a Value, key: &str) -> &'a str {
    item.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn parts<'a>(item: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    item.get(key).and_then(Value::as_array).into_iter().flatten()
}
