//! What a plugin registers at the handshake. Untrusted: bounded, cleaned, and what cannot be used is told.

use super::event::Event;
use super::hook::{self, Matcher, OnError};
use super::manifest::is_name;
use crate::text::foreign::{line, text as clean};
use crate::tools::hook::AGENT_LEVEL;
use serde_json::{Value, json};
use std::time::Duration;

/// The version of the protocol of `docs/PLUGINS.md`.
pub const PROTOCOL: u64 = 1;
/// Entries of a kind that one plugin may register.
const MAX_ENTRIES: usize = 200;
/// Characters of a description.
const DESCRIPTION: usize = 4_000;
/// Characters of all its prompt sections: they go with every request.
const PROMPT: usize = 4_000;
/// Seconds of a call when the tool names none, and most that it may name.
const TIMEOUT: (f64, f64) = (300.0, 3_600.0);

/// All of it.
#[derive(Clone, Debug, Default)]
pub struct Registered {
    pub tools: Vec<ToolDef>,
    pub hooks: Vec<HookDef>,
    /// Slash commands.
    pub commands: Vec<CommandDef>,
    /// Subcommands of the command line.
    pub cli: Vec<CommandDef>,
    /// Sections of the system prompt.
    pub prompt: Vec<String>,
    /// What cannot be used, and what it reports itself.
    pub problems: Vec<String>,
}

/// A tool.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolDef {
    pub name: String,
    /// Empty: that of the plugin.
    pub toolset: String,
    pub description: String,
    pub parameters: Value,
    pub emoji: String,
    pub timeout: Duration,
    /// Its calls may overlap with others.
    pub parallel: bool,
    pub requires_env: Vec<String>,
}

/// A hook.
#[derive(Clone, Debug)]
pub struct HookDef {
    pub event: Event,
    /// As the plugin wrote it.
    pub written: String,
    pub matcher: Option<Matcher>,
    pub timeout: Duration,
    pub on_error: OnError,
}

/// A command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandDef {
    pub name: String,
    pub description: String,
    /// What it takes, as shown: `[name]`.
    pub argument: String,
}

/// Reads the result of `initialize`.
///
/// # Errors
/// It is no answer of this protocol.
pub fn read(result: &Value) -> Result<Registered, String> {
    let Value::Object(fields) = result else { return Err("its answer to initialize is not an object".into()) };
    match fields.get("protocol").and_then(Value::as_u64) {
        Some(PROTOCOL) => {}
        Some(other) => return Err(format!("it uses protocol {other}; this program uses {PROTOCOL}")),
        None => return Err("its answer to initialize has no `protocol`".into()),
    }
    let mut out = Registered::default();
    let list = |key: &str| fields.get(key).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    for key in ["tools", "hooks", "commands", "cli", "prompt"] {
        if list(key).len() > MAX_ENTRIES {
            out.problems.push(format!("{key}: only the first {MAX_ENTRIES} of {} are used", list(key).len()));
        }
    }
    for value in list("tools").iter().take(MAX_ENTRIES) {
        match tool(value) {
            Ok(tool) if out.tools.iter().any(|known| known.name == tool.name) => {
                out.problems.push(format!("tool {} is registered twice; using the first", tool.name));
            }
            Ok(tool) => out.tools.push(tool),
            Err(why) => out.problems.push(why),
        }
    }
    for value in list("hooks").iter().take(MAX_ENTRIES) {
        match hook(value) {
            Ok(hook) => {
                out.problems.extend(hook::idle(hook.event, hook.matcher.as_ref()).map(|why| format!("hooks: {why}")));
                out.hooks.push(hook);
            }
            Err(why) => out.problems.push(why),
        }
    }
    for (key, kept) in [("commands", &mut out.commands), ("cli", &mut out.cli)] {
        for value in list(key).iter().take(MAX_ENTRIES) {
            let name = text(value, "name", 60);
            let name = name.trim_start_matches('/').to_owned();
            if is_name(&name) {
                let (description, argument) =
                    (line(said(value, "description"), 300), line(said(value, "argument"), 60));
                kept.push(CommandDef { name, description, argument });
            } else {
                out.problems.push(format!("{key}: {name:?} is not a valid command name"));
            }
        }
    }
    let mut room = PROMPT;
    for value in list("prompt").iter().take(MAX_ENTRIES) {
        let (title, body) =
            (line(said(value, "title"), 80), value.as_str().map_or_else(|| text(value, "text", PROMPT), str::to_owned));
        let section =
            if title.is_empty() { clean(&body, PROMPT) } else { format!("## {title}\n{}", clean(&body, PROMPT)) };
        let length = section.chars().count();
        if length > room {
            out.problems.push(format!("prompt: all sections together may have {PROMPT} characters; skipped one"));
            continue;
        }
        room -= length;
        out.prompt.push(section);
    }
    let told = list("problems").iter().filter_map(Value::as_str).take(20).map(|told| line(told, 300));
    out.problems.extend(told);
    Ok(out)
}

fn tool(value: &Value) -> Result<ToolDef, String> {
    let name = text(value, "name", 65);
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if name.is_empty() || name.len() > 64 || !name.chars().all(fits) {
        return Err(format!("tools: the name {name:?} must be 1 to 64 of A-Z a-z 0-9 _ -"));
    }
    if AGENT_LEVEL.contains(&name.as_str()) {
        return Err(format!("tools: {name} is built in; use another name"));
    }
    let parameters = value.get("parameters").or_else(|| value.get("inputSchema")).or_else(|| value.get("schema"));
    let parameters = match parameters {
        None | Some(Value::Null) => json!({"type": "object", "properties": {}}),
        Some(Value::Object(schema)) => {
            let mut schema = schema.clone();
            schema.entry("type").or_insert_with(|| "object".into());
            Value::Object(schema)
        }
        Some(_) => return Err(format!("tool {name}: `parameters` is not an object")),
    };
    if parameters["type"] != "object" {
        return Err(format!("tool {name}: `parameters` does not describe an object"));
    }
    let description = text(value, "description", DESCRIPTION);
    if description.trim().is_empty() {
        return Err(format!("tool {name} has no description; the model needs one"));
    }
    let env = value.get("requires_env").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    Ok(ToolDef {
        toolset: Some(text(value, "toolset", 48)).filter(|toolset| is_name(toolset)).unwrap_or_default(),
        description: description.trim().to_owned(),
        emoji: line(said(value, "emoji"), 4),
        timeout: seconds(value.get("timeout"), TIMEOUT),
        parallel: value.get("parallel") == Some(&Value::Bool(true)),
        requires_env: env.iter().filter_map(|name| Some(clean(name.as_str()?, 80))).take(20).collect(),
        parameters,
        name,
    })
}

fn hook(value: &Value) -> Result<HookDef, String> {
    let written = value.as_str().map_or_else(|| text(value, "event", 60), |name| clean(name, 60));
    let Some(event) = Event::parse(&written) else {
        let near = Event::nearest(&written).map(|near| format!("; did you mean {near}")).unwrap_or_default();
        return Err(format!("hooks: no event {written:?}{near}"));
    };
    let matcher = text(value, "matcher", 500);
    let matcher = Matcher::new(&matcher).map_err(|why| format!("hooks: invalid matcher {matcher:?} ({why})"))?;
    let on_error = OnError::read(value.get("on_error"), event).map_err(|why| format!("hooks: {why}"))?;
    Ok(HookDef { event, written, matcher, timeout: seconds(value.get("timeout"), (30.0, 300.0)), on_error })
}

impl Registered {
    /// What is left of a plugin that is off: its guards, which block as long as nobody takes the plugin away.
    pub fn guards(&self) -> Self {
        let hooks = self.hooks.iter().filter(|hook| hook.on_error == OnError::Block).cloned().collect();
        Self { hooks, ..Self::default() }
    }
}

impl HookDef {
    /// Whether it wants to hear of this.
    pub fn wants(&self, event: Event, subject: Option<&str>) -> bool {
        self.event == event && hook::fits(self.matcher.as_ref(), event, subject)
    }
}

fn seconds(value: Option<&Value>, (usual, most): (f64, f64)) -> Duration {
    let named = value.and_then(Value::as_f64).filter(|s| s.is_finite() && *s > 0.0);
    Duration::from_secs_f64(named.unwrap_or(usual).clamp(0.1, most))
}

fn said<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn text(value: &Value, key: &str, most: usize) -> String {
    clean(said(value, key), most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_be_used_is_taken_and_the_rest_told() {
        let registered = read(&json!({
            "protocol": 1,
            "tools": [
                {"name": "weather", "description": "Tells\u{1b}[31m the weather", "parameters": {"properties": {}}, "timeout": 5},
                {"name": "weather", "description": "again"},
                {"name": "bad name", "description": "x"},
                {"name": "mute"},
                {"name": "memory", "description": "x"},
                {"name": "odd", "description": "x", "parameters": {"type": "array"}},
            ],
            "hooks": ["pre_tool_call", {"event": "PostToolUse", "matcher": "Bash"}, {"event": "nonsense"}, {"event": "Stop", "matcher": "("}],
            "commands": [{"name": "/forecast", "description": "days\nahead"}, {"name": "a b"}],
            "cli": [{"name": "weather"}],
            "prompt": [{"title": "Weather", "text": "Ask weather."}, {"text": "x".repeat(5000)}],
            "problems": ["no key"],
        }))
        .unwrap();
        assert_eq!(registered.tools.len(), 1);
        assert_eq!(registered.tools[0].description, "Tells the weather");
        assert_eq!(registered.tools[0].parameters["type"], "object");
        assert_eq!(registered.tools[0].timeout, Duration::from_secs(5));
        let events: Vec<Event> = registered.hooks.iter().map(|hook| hook.event).collect();
        assert_eq!(events, [Event::PreToolCall, Event::PostToolCall]);
        assert!(registered.hooks[1].wants(Event::PostToolCall, Some("terminal")));
        assert_eq!(registered.commands[0].name, "forecast");
        assert_eq!(registered.commands[0].description, "days ahead");
        assert_eq!(registered.prompt, ["## Weather\nAsk weather."]);
        assert_eq!(registered.problems.len(), 10, "{:#?}", registered.problems);
    }

    #[test]
    fn another_protocol_is_refused() {
        for (value, said) in [
            (json!(null), "not an object"),
            (json!({}), "has no `protocol`"),
            (json!({"protocol": 2}), "it uses protocol 2"),
        ] {
            assert!(read(&value).unwrap_err().contains(said), "{value}");
        }
        assert!(read(&json!({"protocol": 1})).unwrap().problems.is_empty());
    }
}
