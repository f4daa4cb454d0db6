//! One moment of a session, as hooks are told of it.

use super::event::Event;
use serde_json::{Map, Value, json};
use std::path::PathBuf;

/// Characters of a text that a hook is told.
const TEXT: usize = 200_000;

/// What happened, or is about to.
#[derive(Clone, Debug, PartialEq)]
pub struct HookPayload {
    pub event: Event,
    pub session: String,
    pub cwd: PathBuf,
    /// The tool that it is about, or the kind of session start (`startup`, `resume`, `clear`).
    pub subject: Option<String>,
    /// Arguments of the call.
    pub args: Value,
    /// The text that may be changed: a result, an output, an answer, a prompt.
    pub text: Option<String>,
    /// All else, by Python Hermes' names.
    pub extra: Map<String, Value>,
}

impl HookPayload {
    /// A moment without anything of its own.
    pub fn new(event: Event, session: impl Into<String>, cwd: PathBuf) -> Self {
        let (session, args) = (session.into(), Value::Null);
        Self { event, session, cwd, subject: None, args, text: None, extra: Map::new() }
    }

    /// About this tool, with these arguments.
    pub fn tool(mut self, name: &str, args: Value) -> Self {
        self.subject = Some(name.to_owned());
        self.args = args;
        self
    }

    /// With a text that may be changed.
    pub fn text(mut self, text: impl Into<String>) -> Self {
        self.text = Some(text.into());
        self
    }

    /// With one more fact.
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.extra.insert(name.to_owned(), value.into());
        self
    }

    /// The name of the text at this event.
    fn text_name(&self) -> &'static str {
        match self.event {
            Event::PromptSubmitted | Event::PreLlmCall => "user_message",
            Event::TransformTerminalOutput => "output",
            Event::TransformLlmOutput => "response_text",
            Event::PostLlmCall | Event::TurnEnd => "assistant_response",
            _ => "result",
        }
    }

    fn bounded_text(&self) -> Option<Value> {
        let text = self.text.as_ref()?;
        Some(match text.char_indices().nth(TEXT) {
            Some((at, _)) => Value::from(&text[..at]),
            None => Value::from(text.as_str()),
        })
    }

    /// The keyword arguments of a plugin's hook.
    pub fn arguments(&self) -> Value {
        let mut all = Map::new();
        all.insert("session_id".into(), json!(self.session));
        all.insert("task_id".into(), json!(self.session));
        all.insert("cwd".into(), json!(self.cwd));
        all.insert("platform".into(), json!("cli"));
        if let Some(subject) = &self.subject {
            all.insert(if self.event.is_about_a_tool() { "tool_name" } else { "source" }.into(), json!(subject));
        }
        if self.event.is_about_a_tool() {
            all.insert("args".into(), self.args.clone());
        }
        if let Some(text) = self.bounded_text() {
            all.insert(self.text_name().into(), text);
        }
        all.extend(self.extra.clone());
        Value::Object(all)
    }

    /// What a command reads on its standard input. `written` is the event as its configuration spells it.
    pub fn input(&self, written: &str) -> Value {
        let mut extra = self.extra.clone();
        if let Some(text) = self.bounded_text() {
            extra.insert(self.text_name().into(), text);
        }
        let mut all = json!({
            "hook_event_name": written,
            "event": self.event.name(),
            "session_id": self.session,
            "cwd": self.cwd,
        });
        if let Some(subject) = &self.subject {
            let name = if self.event.is_about_a_tool() { "tool_name" } else { "source" };
            all[name] = json!(subject);
        }
        if self.event.is_about_a_tool() {
            all["tool_input"] = self.args.clone();
        }
        // Where Claude Code's hooks look for them.
        match self.event {
            Event::PromptSubmitted => all["prompt"] = self.bounded_text().unwrap_or_default(),
            Event::PostToolCall => all["tool_response"] = self.bounded_text().unwrap_or_default(),
            _ => {}
        }
        all["extra"] = Value::Object(extra);
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_commands_and_plugins_are_told() {
        let moment = HookPayload::new(Event::PostToolCall, "s1", "/w".into())
            .tool("terminal", json!({"command": "ls"}))
            .text("a.txt")
            .with("duration_ms", 5);
        assert_eq!(
            moment.input("PostToolUse"),
            json!({"hook_event_name": "PostToolUse", "event": "post_tool_call", "session_id": "s1", "cwd": "/w",
                   "tool_name": "terminal", "tool_input": {"command": "ls"}, "tool_response": "a.txt",
                   "extra": {"duration_ms": 5, "result": "a.txt"}})
        );
        assert_eq!(
            moment.arguments(),
            json!({"session_id": "s1", "task_id": "s1", "cwd": "/w", "platform": "cli", "tool_name": "terminal",
                   "args": {"command": "ls"}, "result": "a.txt", "duration_ms": 5})
        );
        let prompt = HookPayload::new(Event::PromptSubmitted, "s1", "/w".into()).text("hi");
        assert_eq!(prompt.input("UserPromptSubmit")["prompt"], "hi");
        assert_eq!(prompt.arguments()["user_message"], "hi");
        assert!(prompt.input("x").get("tool_input").is_none());
    }
}
