//! The Chat Completions dialect: what almost every server speaks, each a little differently.

mod chunk;
mod read;

use super::effort::{self, Said};
use super::endpoint::Endpoint;
use super::gather;
use super::lenient::to_json;
use super::schema::{self, Style};
use super::{ModelInfo, Request};
use crate::llm::message::Message;
use crate::protocol::{Image, ToolCall};
pub(super) use read::{Reader, form};
use serde::Serialize;
use serde_json::{Value, json};
use std::borrow::Cow;

/// The fields in the order in which they are sent: what grows comes last, so that an earlier request is a prefix.
#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    enable_thinking: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    grammar: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_cache_key: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    messages: Vec<Turn<'a>>,
}

#[derive(Serialize)]
struct Tool<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    description: &'a str,
    parameters: Cow<'a, Value>,
}

/// One message on the wire.
#[derive(Serialize)]
struct Turn<'a> {
    role: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<Cow<'a, str>>,
    content: Content<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_content: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    reasoning_details: Vec<&'a Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<Call<'a>>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Content<'a> {
    Text(&'a str),
    Parts(Vec<Part<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Part<'a> {
    Text {
        text: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<Value>,
    },
    ImageUrl {
        image_url: Value,
    },
}

#[derive(Serialize)]
struct Call<'a> {
    id: Cow<'a, str>,
    #[serde(rename = "type")]
    kind: &'static str,
    function: CallFunction<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    extra_content: Option<Value>,
}

#[derive(Serialize)]
struct CallFunction<'a> {
    name: &'a str,
    arguments: &'a str,
}

/// The whole request as bytes. The same messages give the same bytes.
pub(super) fn body(endpoint: &Endpoint, info: &ModelInfo, request: &Request) -> Result<Vec<u8>, String> {
    let quirks = &endpoint.quirks;
    let developer = quirks.developer_role && effort::takes_developer_role(&endpoint.model);
    let model = effort::bare(&endpoint.model);
    let cached = quirks.cache_control.iter().any(|part| model.contains(part.as_str()));
    let limit = request.max_output.or(endpoint.max_output);

    let mut messages = Vec::with_capacity(request.messages.len() + 1);
    if !request.system.is_empty() {
        let role = if developer { "developer" } else { "system" };
        messages.push(turn(role, text(&request.system, cached)));
    }
    messages.extend(request.messages.iter().map(|message| wire_message(endpoint, &model, message, cached)));
    if cached {
        mark(&mut messages);
    }
    let mut body = Body {
        model: &endpoint.model,
        stream: true,
        stream_options: quirks.stream_options.then(|| json!({"include_usage": true})),
        usage: quirks.usage_include.then(|| json!({"include": true})),
        max_tokens: limit.filter(|_| !quirks.max_completion_tokens),
        max_completion_tokens: limit.filter(|_| quirks.max_completion_tokens),
        reasoning_effort: None,
        reasoning: None,
        thinking: None,
        enable_thinking: None,
        grammar: request.grammar.as_deref(),
        prompt_cache_key: Some(request.cache_key.as_str()).filter(|key| quirks.cache_key && !key.is_empty()),
        tools: request.tools.iter().map(|one| tool(one, quirks.schemas(&info.id))).collect(),
        messages,
    };
    match effort::say(endpoint, info, request.effort) {
        Said::Level(level) => body.reasoning_effort = Some(level),
        Said::Object(level) => body.reasoning = Some(json!({"effort": level})),
        Said::Thinking { on, level } => {
            body.thinking = Some(json!({"type": if on { "enabled" } else { "disabled" }}));
            body.reasoning_effort = level;
        }
        Said::Enable(on) => body.enable_thinking = Some(on),
        Said::Nothing | Said::Budget(_) | Said::Adaptive { .. } => {}
    }
    to_json(&body)
}

fn tool(tool: &super::ToolSchema, style: Style) -> Tool<'_> {
    let function =
        Function { name: &tool.name, description: &tool.description, parameters: schema::fit(&tool.parameters, style) };
    Tool { kind: "function", function }
}

fn turn<'a>(role: &'static str, content: Content<'a>) -> Turn<'a> {
    Turn {
        role,
        tool_call_id: None,
        content,
        reasoning_content: None,
        reasoning_details: Vec::new(),
        tool_calls: Vec::new(),
    }
}

/// With cache marks every text is a list, so that a mark that moves on changes nothing else.
fn text(text: &str, listed: bool) -> Content<'_> {
    if listed && !text.is_empty() {
        Content::Parts(vec![Part::Text { text, cache_control: None }])
    } else {
        Content::Text(text)
    }
}

fn wire_message<'a>(endpoint: &Endpoint, model: &str, message: &'a Message, listed: bool) -> Turn<'a> {
    let quirks = &endpoint.quirks;
    match message {
        Message::User { text: words, images } if images.is_empty() => turn("user", text(words, listed)),
        Message::User { text, images } => {
            let words = Some(Part::Text { text, cache_control: None }).filter(|_| !text.is_empty());
            turn("user", Content::Parts(words.into_iter().chain(images.iter().map(image)).collect()))
        }
        Message::Tool { call_id, content, .. } => {
            let id = wire_id(call_id, quirks.short_ids);
            Turn { tool_call_id: Some(id), ..turn("tool", text(content, listed)) }
        }
        Message::Assistant { text: words, reasoning, calls, opaque } => {
            // No server takes an answer without anything in it.
            let words = if words.is_empty() && calls.is_empty() { "(empty)" } else { words.as_str() };
            let tag = tag(endpoint);
            let own = opaque.iter().filter(|value| value.get("for").and_then(Value::as_str) == Some(tag.as_str()));
            let details = own.clone().filter(|_| quirks.echo_details).filter_map(|value| value.get("block")).collect();
            let signatures = quirks.thought_signatures.then(|| own.collect::<Vec<_>>());
            let echo = quirks.echo_reasoning && !calls.is_empty() && !reasoning.is_empty();
            let call = |(index, call): (usize, &'a ToolCall)| Call {
                id: wire_id(&call.id, quirks.short_ids),
                kind: "function",
                function: CallFunction { name: &call.name, arguments: &call.args },
                extra_content: signatures.as_ref().and_then(|own| signature(own, &call.id, index, model)),
            };
            Turn {
                reasoning_content: echo.then_some(reasoning.as_str()),
                reasoning_details: details,
                tool_calls: calls.iter().enumerate().map(call).collect(),
                ..turn("assistant", text(words, listed))
            }
        }
    }
}

fn image(image: &Image) -> Part<'_> {
    Part::ImageUrl { image_url: json!({"url": format!("data:{};base64,{}", image.media_type, image.data)}) }
}

/// The signature that came with a call. Gemini 3 refuses a first call without one, unless it is told to look away.
fn signature(own: &[&Value], call_id: &str, index: usize, model: &str) -> Option<Value> {
    let with_call = |value: &&&Value| value.get("call").and_then(Value::as_str) == Some(call_id);
    if let Some(extra) = own.iter().find(with_call).and_then(|value| value.get("extra_content")) {
        return Some(extra.clone());
    }
    (index == 0 && model.contains("gemini-3"))
        .then(|| json!({"google": {"thought_signature": "skip_thought_signature_validator"}}))
}

/// What private blocks are tagged with: they go back to where they came from and nowhere else.
pub(super) fn tag(endpoint: &Endpoint) -> String {
    format!("{}:{}", endpoint.dialect.as_str(), endpoint.provider)
}

/// An id as the server takes it; one that is fine stays as it is.
fn wire_id(id: &str, short: bool) -> Cow<'_, str> {
    if short && (id.len() != 9 || !id.bytes().all(|byte| byte.is_ascii_alphanumeric())) {
        return Cow::Owned(gather::short_id(gather::fnv(&[id.as_bytes()])));
    }
    Cow::Borrowed(id)
}

/// Marks the system message and the last three others that have text to carry a mark.
fn mark(messages: &mut [Turn<'_>]) {
    let (system, rest): (Vec<_>, Vec<_>) =
        messages.iter_mut().partition(|turn| matches!(turn.role, "system" | "developer"));
    let rest = rest.into_iter().rev().filter_map(last_text).take(3);
    for slot in system.into_iter().filter_map(last_text).chain(rest) {
        *slot = Some(json!({"type": "ephemeral"}));
    }
}

fn last_text<'t>(turn: &'t mut Turn<'_>) -> Option<&'t mut Option<Value>> {
    let Content::Parts(parts) = &mut turn.content else { return None };
    parts.iter_mut().rev().find_map(|part| match part {
        Part::Text { cache_control, .. } => Some(cache_control),
        Part::ImageUrl { .. } => None,
    })
}

#[cfg(test)]
mod tests;
