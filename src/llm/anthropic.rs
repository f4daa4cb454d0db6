//! The Anthropic Messages dialect: content blocks, signed thinking that must come back, cache marks.

mod read;

use super::effort::{self, Said};
use super::endpoint::Endpoint;
use super::lenient::to_json;
use super::openai_chat::tag;
use super::openai_responses::position;
use super::schema;
use super::{ModelInfo, Request};
use crate::llm::message::Message;
pub(super) use read::Reader;
use serde::Serialize;
use serde_json::{Value, json};
use std::borrow::Cow;

/// Output tokens when neither the request nor the catalog names a limit: what every model since Claude 3.5 allows.
const DEFAULT_OUTPUT: u64 = 8192;

/// Output tokens when the model could give more: prompt and limit together must fit the window of older models.
const USUAL_OUTPUT: u64 = 32_000;

/// The fields in the order in which they are sent: what grows comes last.
#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    max_tokens: u64,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_config: Option<Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    system: Vec<Block<'a>>,
    messages: Vec<Turn<'a>>,
}

#[derive(Serialize)]
struct Tool<'a> {
    name: &'a str,
    description: &'a str,
    input_schema: Cow<'a, Value>,
}

#[derive(Serialize)]
struct Turn<'a> {
    role: &'static str,
    content: Vec<Block<'a>>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Block<'a> {
    Text {
        text: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<Mark>,
    },
    Image {
        source: Source<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<Mark>,
    },
    ToolUse {
        id: Cow<'a, str>,
        name: &'a str,
        input: Value,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<Mark>,
    },
    ToolResult {
        tool_use_id: Cow<'a, str>,
        content: &'a str,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<Mark>,
    },
    /// Thinking as it came, signature and all.
    #[serde(untagged)]
    Private(Value),
}

#[derive(Serialize)]
struct Source<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    media_type: &'a str,
    data: &'a str,
}

/// `{"type": "ephemeral"}`.
#[derive(Clone, Copy, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Mark {
    Ephemeral,
}

/// The whole request as bytes. The same messages give the same bytes, apart from the cache marks, which move on.
pub(super) fn body(endpoint: &Endpoint, info: &ModelInfo, request: &Request) -> Result<Vec<u8>, String> {
    let asked = request.max_output.or(endpoint.max_output).map(u64::from);
    let mut max_tokens = asked.unwrap_or_else(|| info.max_output.unwrap_or(DEFAULT_OUTPUT).min(USUAL_OUTPUT));
    let (mut thinking, mut output_config) = (None, None);
    match effort::say(endpoint, info, request.effort) {
        Said::Budget(budget) => {
            // The budget is part of the limit, and an answer must fit too.
            let room = u64::from(budget) + DEFAULT_OUTPUT;
            max_tokens = max_tokens.max(info.max_output.map_or(room, |most| most.min(room)));
            let budget = u64::from(budget).min(max_tokens / 2).max(1024);
            thinking = Some(json!({"type": "enabled", "budget_tokens": budget}));
        }
        Said::Adaptive { level, summarized } => {
            thinking = Some(if summarized {
                json!({"type": "adaptive", "display": "summarized"})
            } else {
                json!({"type": "adaptive"})
            });
            output_config = Some(json!({"effort": level}));
        }
        Said::Nothing | Said::Level(_) | Said::Object(_) | Said::Thinking { .. } | Said::Enable(_) => {}
    }
    let mut messages: Vec<Turn<'_>> = Vec::with_capacity(request.messages.len());
    for message in &request.messages {
        let (role, content) = blocks(endpoint, message);
        match messages.last_mut() {
            // All results of one step, and what the person adds to them, are one message.
            Some(last) if last.role == role => last.content.extend(content),
            _ => messages.push(Turn { role, content }),
        }
    }
    for message in messages.iter_mut().rev().filter_map(carrier).take(3) {
        *message = Some(Mark::Ephemeral);
    }
    let system = (!request.system.is_empty())
        .then(|| Block::Text { text: &request.system, cache_control: Some(Mark::Ephemeral) });
    to_json(&Body {
        model: &endpoint.model,
        max_tokens,
        stream: true,
        thinking,
        output_config,
        tools: request
            .tools
            .iter()
            .map(|tool| Tool {
                name: &tool.name,
                description: &tool.description,
                input_schema: schema::fit(&tool.parameters, endpoint.quirks.schemas(&info.id)),
            })
            .collect(),
        system: system.into_iter().collect(),
        messages,
    })
}

/// The slot for a mark on the last block of a message that can carry one.
fn carrier<'t>(turn: &'t mut Turn<'_>) -> Option<&'t mut Option<Mark>> {
    turn.content.iter_mut().rev().find_map(|block| match block {
        Block::Text { cache_control, .. }
        | Block::Image { cache_control, .. }
        | Block::ToolUse { cache_control, .. }
        | Block::ToolResult { cache_control, .. } => Some(cache_control),
        Block::Private(_) => None,
    })
}

fn said(text: &str) -> Block<'_> {
    Block::Text { text, cache_control: None }
}

fn blocks<'a>(endpoint: &Endpoint, message: &'a Message) -> (&'static str, Vec<Block<'a>>) {
    match message {
        Message::User { text, images } => {
            let picture = |image: &'a crate::protocol::Image| Block::Image {
                source: Source { kind: "base64", media_type: &image.media_type, data: &image.data },
                cache_control: None,
            };
            // A block of blanks is refused.
            let words = if text.trim().is_empty() && images.is_empty() { "(empty)" } else { text.as_str() };
            let words = Some(said(words)).filter(|_| !words.trim().is_empty());
            ("user", images.iter().map(picture).chain(words).collect())
        }
        Message::Tool { call_id, content, failed, .. } => {
            let result =
                Block::ToolResult { tool_use_id: wire_id(call_id), content, is_error: *failed, cache_control: None };
            ("user", vec![result])
        }
        Message::Assistant { text, calls, opaque, .. } => {
            let tag = tag(endpoint);
            let mut content = Vec::new();
            let (mut text_at, mut call_at) = (0, 0);
            let mut push = |content: &mut Vec<Block<'a>>, to: (usize, usize)| {
                if let Some(part) = text.get(text_at..to.0).filter(|part| !part.trim().is_empty()) {
                    content.push(said(part));
                }
                text_at = text_at.max(to.0);
                for call in calls.get(call_at..to.1).unwrap_or_default() {
                    // Arguments that are not an object cannot go back as they came; the model sees what it wrote.
                    let input = serde_json::from_str(&call.args).ok().filter(Value::is_object);
                    let input = input.unwrap_or_else(|| json!({"invalid_arguments": call.args}));
                    content.push(Block::ToolUse {
                        id: wire_id(&call.id),
                        name: &call.name,
                        input,
                        cache_control: None,
                    });
                }
                call_at = call_at.max(to.1);
            };
            for value in opaque.iter().filter(|value| value.get("for").and_then(Value::as_str) == Some(tag.as_str())) {
                push(&mut content, position(value));
                content.extend(value.get("block").cloned().map(Block::Private));
            }
            push(&mut content, (text.len(), calls.len()));
            if !content.iter().any(|block| !matches!(block, Block::Private(_))) {
                content.push(said("(empty)"));
            }
            ("assistant", content)
        }
    }
}

/// Ids may have letters, digits, `_` and `-`; those of other dialects are made to fit.
fn wire_id(id: &str) -> Cow<'_, str> {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !id.is_empty() && id.chars().all(fits) {
        return Cow::Borrowed(id);
    }
    Cow::Owned(format!("call_{:016x}", super::gather::fnv(&[id.as_bytes()])))
}

#[cfg(test)]
mod tests;
