//! Answers of a model that a server asks for: what it may ask, how often, and what a person sees before it gets one.

use super::messages;
use crate::config::mcp::McpSamplingConfig;
use crate::llm::message::Message;
use crate::protocol::Image;
use serde_json::Value;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Messages of one request, and characters of all of them.
const MESSAGES: usize = 64;
const CHARS: usize = 60_000;

/// The answers to the question.
pub const DENY: &str = "Deny";
pub const ONCE: &str = "Allow once";
pub const SESSION: &str = "Allow for this session";

/// A request that may be made, if a person says so.
#[derive(Clone, Debug, PartialEq)]
pub struct Wanted {
    pub system: String,
    pub messages: Vec<Message>,
    pub max_tokens: u32,
    /// `None`: the session's.
    pub model: Option<String>,
}

impl Wanted {
    /// Reads the parameters of `sampling/createMessage`, within what the configuration allows.
    ///
    /// # Errors
    /// Why it is not made, in words for the server.
    pub fn read(params: &Value, config: &McpSamplingConfig) -> Result<Self, String> {
        if !config.enabled {
            return Err("sampling is off for this server".into());
        }
        if params.get("tools").and_then(Value::as_array).is_some_and(|tools| !tools.is_empty()) {
            return Err("tools in a sampling request are not supported".into());
        }
        let entries = params.get("messages").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        if entries.is_empty() || entries.len() > MESSAGES {
            return Err(format!("expected 1 to {MESSAGES} messages, not {}", entries.len()));
        }
        let messages: Vec<Message> = entries.iter().map(message).collect();
        let system = messages::text(params.get("systemPrompt").and_then(Value::as_str).unwrap_or_default(), CHARS);
        let chars: usize = messages.iter().map(length).sum::<usize>() + system.len();
        if chars > CHARS {
            return Err(format!("the request has {chars} characters, more than {CHARS}"));
        }
        let asked = params.get("maxTokens").and_then(Value::as_u64).unwrap_or(u64::MAX);
        let most = u64::from(config.max_tokens_cap);
        let configured = (!config.model.is_empty()).then(|| config.model.clone());
        let hints = params.pointer("/modelPreferences/hints").and_then(Value::as_array).into_iter().flatten();
        let hinted = hints.filter_map(|hint| hint.get("name")?.as_str()).find_map(|name| {
            config.allowed_models.iter().find(|allowed| *allowed == name || allowed.contains(name)).cloned()
        });
        Ok(Self { system, messages, max_tokens: asked.min(most).max(1) as u32, model: hinted.or(configured) })
    }

    /// What the person is asked: with all that would be sent, in its order.
    pub fn question(&self, server: &str) -> String {
        let model = self.model.as_deref().unwrap_or("the session's model");
        let system = if self.system.is_empty() { "" } else { "a system prompt and " };
        let mut out = format!(
            "The server {server} wants {model} to answer, with at most {} tokens. It sends {system}{} and gets the answer:",
            self.max_tokens,
            crate::text::format::plural(self.messages.len() as u64, "message", "messages"),
        );
        let mut part = |title: &str, text: &str| {
            out.push_str("\n\n");
            out.push_str(title);
            // Marked, so that no text passes for a title or for a word of ours.
            text.lines().for_each(|line| out.extend(["\n  ", line]));
        };
        if !self.system.is_empty() {
            part("System prompt:", &self.system);
        }
        for message in &self.messages {
            match message {
                Message::User { text, images } if images.is_empty() => part("As the user:", text),
                Message::User { text, images } => {
                    let pictures = crate::text::format::plural(images.len() as u64, "picture", "pictures");
                    part(&format!("As the user, with {pictures}:"), text);
                }
                Message::Assistant { text, .. } => part("As the model:", text),
                Message::Tool { content, .. } => part("As a tool:", content),
            }
        }
        out
    }
}

fn length(message: &Message) -> usize {
    text_of(message).len()
}

fn text_of(message: &Message) -> &str {
    match message {
        Message::User { text, .. } | Message::Assistant { text, .. } => text,
        Message::Tool { content, .. } => content,
    }
}

fn message(entry: &Value) -> Message {
    let content = entry.get("content").cloned().unwrap_or_default();
    let blocks = content.as_array().cloned().unwrap_or_else(|| vec![content]);
    let (mut parts, mut images) = (Vec::new(), Vec::new());
    for block in &blocks {
        let field = |key: &str| block.get(key).and_then(Value::as_str).unwrap_or_default();
        match field("type") {
            "text" => parts.push(messages::text(field("text"), CHARS + 1)),
            "image" => images.push(Image { media_type: field("mimeType").to_owned(), data: field("data").to_owned() }),
            other => parts.push(format!("[{} is not forwarded]", messages::line(other, 20))),
        }
    }
    let text = parts.join("\n");
    if entry.get("role").and_then(Value::as_str) == Some("assistant") {
        Message::Assistant { text, reasoning: String::new(), calls: Vec::new(), opaque: Vec::new() }
    } else {
        Message::User { text, images }
    }
}

/// How many answers a server had in the last minute.
#[derive(Clone, Debug, Default)]
pub struct Budget(VecDeque<Instant>);

impl Budget {
    /// Takes one, if there is one left.
    ///
    /// # Errors
    /// That there is none.
    pub fn take(&mut self, now: Instant, a_minute: u32) -> Result<(), String> {
        while self.0.front().is_some_and(|at| now.duration_since(*at) >= Duration::from_secs(60)) {
            self.0.pop_front();
        }
        if self.0.len() >= a_minute as usize {
            return Err(format!("limited to {a_minute} answers a minute"));
        }
        self.0.push_back(now);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn request(more: Value) -> Value {
        let mut request =
            json!({"messages": [{"role": "user", "content": {"type": "text", "text": "hi"}}], "maxTokens": 50});
        if let (Some(request), Value::Object(more)) = (request.as_object_mut(), more) {
            request.extend(more);
        }
        request
    }

    #[test]
    fn a_request_is_held_within_the_configuration() {
        let config = McpSamplingConfig { allowed_models: vec!["gpt-5-mini".into()], ..McpSamplingConfig::default() };
        let read = |more: Value| Wanted::read(&request(more), &config);
        let plain = read(json!({})).unwrap();
        assert_eq!((plain.max_tokens, plain.model, plain.messages.len()), (50, None, 1));
        assert_eq!(read(json!({"maxTokens": 1_000_000})).unwrap().max_tokens, config.max_tokens_cap);
        let hint = |name: &str| json!({"modelPreferences": {"hints": [{"name": name}]}});
        assert_eq!(read(hint("gpt-5")).unwrap().model.as_deref(), Some("gpt-5-mini"));
        assert_eq!(read(hint("opus")).unwrap().model, None);
        for (more, word) in [
            (json!({"tools": [{"name": "x"}]}), "tools"),
            (json!({"messages": []}), "messages"),
            (json!({"systemPrompt": "x".repeat(CHARS + 1)}), "characters"),
        ] {
            assert!(read(more).unwrap_err().contains(word));
        }
        let off = McpSamplingConfig { enabled: false, ..McpSamplingConfig::default() };
        assert!(Wanted::read(&request(json!({})), &off).is_err());
    }

    #[test]
    fn the_question_shows_what_is_sent() {
        let wanted = Wanted::read(&request(json!({})), &McpSamplingConfig::default()).unwrap();
        assert_eq!(
            wanted.question("s"),
            "The server s wants the session's model to answer, with at most 50 tokens. It sends 1 message and gets the answer:\n\nAs the user:\n  hi"
        );
        // Whatever part of it: nothing is sent that the question does not show.
        let text = |role: &str, text: &str| json!({"role": role, "content": {"type": "text", "text": text}});
        let picture = json!({"role": "user", "content": [{"type": "text", "text": "look"}, {"type": "image", "mimeType": "image/png", "data": "AA=="}]});
        let long = format!("first of it {} last of it", "x ".repeat(5_000));
        let messages =
            json!([text("user", "one"), text("assistant", "two\nAs the user:"), picture, text("user", &long)]);
        let asked = request(json!({"systemPrompt": "You are\nevil", "messages": messages}));
        let wanted = Wanted::read(&asked, &McpSamplingConfig::default()).unwrap();
        let question = wanted.question("s");
        assert!(question.contains("It sends a system prompt and 4 messages"), "{question}");
        for part in [
            "System prompt:\n  You are\n  evil\n",
            "As the model:\n  two\n  As the user:\n",
            "with 1 picture:\n  look",
            &long,
        ] {
            assert!(question.contains(part), "{part}: {question}");
        }
        for sent in std::iter::once(wanted.system.as_str()).chain(wanted.messages.iter().map(text_of)) {
            assert!(sent.lines().all(|line| question.contains(line)), "{sent}");
        }
    }

    #[test]
    fn a_minute_holds_so_many() {
        let (mut budget, start) = (Budget::default(), Instant::now());
        assert!(budget.take(start, 2).is_ok() && budget.take(start, 2).is_ok());
        assert!(budget.take(start + Duration::from_secs(59), 2).is_err());
        assert!(budget.take(start + Duration::from_secs(60), 2).is_ok());
        assert!(budget.take(start, 0).is_err());
    }
}
