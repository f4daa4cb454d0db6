//! The Responses dialect: requests as items, nothing stored at the provider, reasoning echoed encrypted.

mod read;

use super::effort;
use super::endpoint::Endpoint;
use super::gather;
use super::lenient::to_json;
use super::openai_chat::tag;
use super::schema;
use super::{Effort, ModelInfo, Request};
use crate::llm::message::Message;
pub(super) use read::Reader;
use serde::Serialize;
use serde_json::{Value, json};
use std::borrow::Cow;

/// The fields in the order in which they are sent: what grows comes last.
#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    stream: bool,
    store: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    include: Option<[&'a str; 1]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_cache_key: Option<&'a str>,
    #[serde(skip_serializing_if = "str::is_empty")]
    instructions: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    input: Vec<Item<'a>>,
}

#[derive(Serialize)]
struct Tool<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    name: &'a str,
    description: &'a str,
    parameters: Cow<'a, Value>,
    strict: bool,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Item<'a> {
    Message {
        role: &'static str,
        content: Vec<Part<'a>>,
    },
    FunctionCall {
        call_id: Cow<'a, str>,
        name: &'a str,
        arguments: &'a str,
    },
    FunctionCallOutput {
        call_id: Cow<'a, str>,
        output: &'a str,
    },
    #[serde(untagged)]
    Reasoning(Value),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Part<'a> {
    InputText { text: &'a str },
    OutputText { text: &'a str },
    InputImage { image_url: String },
}

/// The longest call id that is taken.
const MAX_ID: usize = 64;

/// The whole request as bytes. The same messages give the same bytes.
pub(super) fn body(endpoint: &Endpoint, info: &ModelInfo, request: &Request) -> Result<Vec<u8>, String> {
    let level = effort::responses_level(endpoint, info, request.effort);
    let reasons = info.reasoning == Some(true) || level.is_some();
    let summary = (request.effort != Effort::None).then_some("auto");
    let mut input = Vec::with_capacity(request.messages.len());
    for message in &request.messages {
        items(endpoint, message, &mut input);
    }
    to_json(&Body {
        model: &endpoint.model,
        stream: true,
        store: false,
        include: reasons.then_some(["reasoning.encrypted_content"]),
        reasoning: level.map(|level| match summary {
            Some(summary) => json!({"effort": level, "summary": summary}),
            None => json!({"effort": level}),
        }),
        max_output_tokens: request.max_output.or(endpoint.max_output),
        prompt_cache_key: Some(request.cache_key.as_str()).filter(|key| endpoint.quirks.cache_key && !key.is_empty()),
        instructions: &request.system,
        tools: request
            .tools
            .iter()
            .map(|tool| Tool {
                kind: "function",
                name: &tool.name,
                description: &tool.description,
                parameters: schema::fit(&tool.parameters, endpoint.quirks.schemas(&info.id)),
                strict: false,
            })
            .collect(),
        input,
    })
}

fn items<'a>(endpoint: &Endpoint, message: &'a Message, input: &mut Vec<Item<'a>>) {
    match message {
        Message::User { text, images } => {
            let words = Some(Part::InputText { text }).filter(|_| !text.is_empty() || images.is_empty());
            let pictures = images.iter().map(|image| Part::InputImage {
                image_url: format!("data:{};base64,{}", image.media_type, image.data),
            });
            input.push(Item::Message { role: "user", content: words.into_iter().chain(pictures).collect() });
        }
        Message::Tool { call_id, content, .. } => {
            input.push(Item::FunctionCallOutput { call_id: wire_id(call_id), output: content });
        }
        Message::Assistant { text, calls, opaque, .. } => {
            // Each item of reasoning stands before what it led to.
            let tag = tag(endpoint);
            let (mut said, mut called) = (0, 0);
            let push = |input: &mut Vec<Item<'a>>, said: &mut usize, called: &mut usize, to: (usize, usize)| {
                if let Some(part) = text.get(*said..to.0).filter(|part| !part.is_empty()) {
                    input.push(Item::Message { role: "assistant", content: vec![Part::OutputText { text: part }] });
                    *said = to.0;
                }
                for call in calls.get(*called..to.1).unwrap_or_default() {
                    let call_id = wire_id(&call.id);
                    input.push(Item::FunctionCall { call_id, name: &call.name, arguments: &call.args });
                    *called = to.1;
                }
            };
            for value in opaque.iter().filter(|value| value.get("for").and_then(Value::as_str) == Some(tag.as_str())) {
                push(input, &mut said, &mut called, position(value));
                if let Some(block) = value.get("block") {
                    input.push(Item::Reasoning(block.clone()));
                }
            }
            push(input, &mut said, &mut called, (text.len(), calls.len()));
        }
    }
}

/// Where a private block stood: bytes of text and calls before it.
pub(super) fn position(value: &Value) -> (usize, usize) {
    let number =
        |index: usize| value.get("at").and_then(|at| at.get(index)).and_then(Value::as_u64).unwrap_or(0) as usize;
    (number(0), number(1))
}

fn wire_id(id: &str) -> Cow<'_, str> {
    if id.len() > MAX_ID {
        return Cow::Owned(format!("call_{:016x}", gather::fnv(&[id.as_bytes()])));
    }
    Cow::Borrowed(id)
}

#[cfg(test)]
mod tests;
