//! Command hooks as the configuration has them: `hooks.<event>: [{matcher, command, timeout}]`, Claude Code's nested
//! shape too. Reading is pure; what is odd is told and left out.

use super::event::Event;
use crate::tools::hook::AGENT_LEVEL;
use regex::Regex;
use serde_json::Value;
use std::time::Duration;

/// Seconds a hook may take when it says nothing (as Python Hermes has it).
const TIMEOUT: f64 = 60.0;
/// Most seconds it may ask for (as Python Hermes has it).
const TIMEOUT_MAX: f64 = 300.0;

/// One command that runs at one moment.
#[derive(Clone, Debug)]
pub struct CommandHook {
    pub event: Event,
    /// The event as it is written in the configuration: scripts made for another program look at it.
    pub written: String,
    /// `None` matches every tool.
    pub matcher: Option<Matcher>,
    /// A shell line.
    pub command: String,
    pub timeout: Duration,
    pub on_error: OnError,
    pub from: From,
}

/// What a hook that fails (a crash, no answer in time, no sense in it) means for what was about to happen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnError {
    /// It happens: a broken script is no reason to stop working.
    #[default]
    Allow,
    /// It does not: the hook is a guard.
    Block,
}

impl OnError {
    /// Reads `on_error` of a hook.
    ///
    /// # Errors
    /// It is neither word, or nothing can be blocked at this event.
    pub fn read(value: Option<&Value>, event: Event) -> Result<Self, String> {
        match value.map(|value| value.as_str().unwrap_or_default()) {
            None | Some("allow") => Ok(Self::Allow),
            Some("block") if event.may_block() => Ok(Self::Block),
            Some("block") => {
                Err(format!("`on_error: block` has no effect at {}: it cannot block anything", event.name()))
            }
            Some(_) => Err("`on_error` must be allow or block".into()),
        }
    }
}

/// Whose configuration a hook is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum From {
    /// The person's own; runs once they have said yes to it.
    Person,
    /// A project's; runs only as it was when the folder was trusted.
    Project,
}

/// A regular expression over the whole name of a tool.
#[derive(Clone, Debug)]
pub struct Matcher {
    pub written: String,
    regex: Regex,
}

/// Names of Claude Code's tools beside ours, so that its matchers fit.
const OTHER_NAMES: &[(&str, &[&str])] = &[
    ("terminal", &["Bash"]),
    ("read_file", &["Read", "NotebookRead"]),
    ("write_file", &["Write"]),
    ("patch", &["Edit", "MultiEdit"]),
    ("search_files", &["Grep", "Glob"]),
    ("web_search", &["WebSearch"]),
    ("web_extract", &["WebFetch"]),
];

impl Matcher {
    /// `None` for what matches everything: nothing, `*`, `.*`.
    ///
    /// # Errors
    /// The expression cannot be read; says why.
    pub fn new(written: &str) -> Result<Option<Self>, String> {
        if matches!(written.trim(), "" | "*" | ".*") {
            return Ok(None);
        }
        match regex::RegexBuilder::new(&format!("^(?:{})$", written.trim())).size_limit(1 << 20).build() {
            Ok(regex) => Ok(Some(Self { written: written.trim().to_owned(), regex })),
            Err(error) => Err(error.to_string().lines().last().unwrap_or_default().trim().to_owned()),
        }
    }

    /// Whether it means this tool, by our name or by another program's.
    pub fn matches(&self, tool: &str) -> bool {
        let others = OTHER_NAMES.iter().find(|(ours, _)| *ours == tool).map_or(&[][..], |(_, names)| names);
        self.regex.is_match(tool) || others.iter().any(|name| self.regex.is_match(name))
    }
}

/// Whether a hook of this event with this matcher is meant by `subject`.
pub(super) fn fits(matcher: Option<&Matcher>, event: Event, subject: Option<&str>) -> bool {
    match (matcher, subject) {
        (None, _) => true,
        (Some(matcher), Some(subject)) => matcher.matches(subject),
        (Some(_), None) => !event.is_about_a_tool(),
    }
}

impl CommandHook {
    /// Whether it runs at this moment. `subject` is the tool, or what else the event tells apart.
    pub fn wants(&self, event: Event, subject: Option<&str>) -> bool {
        self.event == event && fits(self.matcher.as_ref(), event, subject)
    }

    /// The command on one line, for rows and lists.
    pub fn label(&self) -> String {
        let line = self.command.split_whitespace().collect::<Vec<_>>().join(" ");
        crate::text::width::truncate_end(&line, 60)
    }
}

/// Reads the value of `hooks`. The second list tells what was left out and why.
pub fn read(tree: &Value, from: From) -> (Vec<CommandHook>, Vec<String>) {
    let (mut hooks, mut odd) = (Vec::new(), Vec::new());
    let entries = match tree {
        Value::Null => return (hooks, odd),
        Value::Object(entries) => entries,
        _ => return (hooks, vec!["hooks: expected events with lists of commands".into()]),
    };
    for (name, list) in entries {
        let Some(event) = Event::parse(name) else {
            let near = Event::nearest(name).map(|near| format!("; did you mean {near}")).unwrap_or_default();
            odd.push(format!("hooks.{name}: no such event{near}"));
            continue;
        };
        let one = std::slice::from_ref(list);
        for entry in list.as_array().map_or(one, Vec::as_slice) {
            let matcher = entry.get("matcher").and_then(Value::as_str).unwrap_or_default();
            let matcher = match Matcher::new(matcher) {
                Ok(matcher) => matcher,
                Err(why) => {
                    odd.push(format!("hooks.{name}: invalid matcher {matcher:?} ({why}); this hook does not run"));
                    continue;
                }
            };
            odd.extend(idle(event, matcher.as_ref()).map(|why| format!("hooks.{name}: {why}")));
            // Claude Code puts the commands of one matcher into a list below it.
            let nested = entry.get("hooks").and_then(Value::as_array);
            for leaf in nested.map_or(std::slice::from_ref(entry), Vec::as_slice) {
                let on_error = OnError::read(leaf.get("on_error"), event);
                match command(leaf).and_then(|command| Ok((command, on_error?))) {
                    Ok((command, on_error)) => hooks.push(CommandHook {
                        event,
                        written: name.clone(),
                        matcher: matcher.clone(),
                        command,
                        timeout: timeout(leaf.get("timeout")),
                        on_error,
                        from,
                    }),
                    Err(why) => odd.push(format!("hooks.{name}: {why}; this hook does not run")),
                }
            }
        }
    }
    (hooks, odd)
}

/// Why hooks of this event with this matcher never run, though nothing is wrong with them.
pub fn idle(event: Event, matcher: Option<&Matcher>) -> Option<String> {
    if !event.row().reached {
        return Some(format!("{} is not triggered yet: this version has no subagents", event.name()));
    }
    let matcher = matcher.filter(|_| event.is_about_a_tool())?;
    let own = AGENT_LEVEL.iter().find(|tool| matcher.written == **tool)?;
    Some(format!("hooks do not see {own}: it works on the agent's state and runs before them"))
}

fn command(leaf: &Value) -> Result<String, String> {
    if let Some(kind) = leaf.get("type").and_then(Value::as_str).filter(|kind| *kind != "command") {
        return Err(format!("a hook must be a command, not {kind:?}"));
    }
    let text = leaf.as_str().or_else(|| leaf.get("command").and_then(Value::as_str)).unwrap_or_default().trim();
    if text.is_empty() { Err("`command` is missing".into()) } else { Ok(text.to_owned()) }
}

fn timeout(value: Option<&Value>) -> Duration {
    let seconds = value.and_then(|value| value.as_f64().or_else(|| value.as_str()?.trim().parse().ok()));
    Duration::from_secs_f64(seconds.filter(|s| s.is_finite() && *s > 0.0).unwrap_or(TIMEOUT).clamp(0.1, TIMEOUT_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn hooks(tree: Value) -> Vec<(Event, String, u64)> {
        read(&tree, From::Person).0.into_iter().map(|h| (h.event, h.command, h.timeout.as_secs())).collect()
    }

    #[test]
    fn both_shapes_are_read() {
        let ours =
            json!({"pre_tool_call": [{"matcher": "terminal", "command": "./a", "timeout": 5}, {"command": "b"}]});
        assert_eq!(hooks(ours), [(Event::PreToolCall, "./a".into(), 5), (Event::PreToolCall, "b".into(), 60)]);
        let claude = json!({"PreToolUse": [{"matcher": "Bash", "hooks": [
            {"type": "command", "command": "one", "timeout": 9999}, {"type": "command", "command": "two"}]}]});
        assert_eq!(hooks(claude), [(Event::PreToolCall, "one".into(), 300), (Event::PreToolCall, "two".into(), 60)]);
        assert_eq!(hooks(json!({"Stop": "notify-send done"})), [(Event::TurnEnd, "notify-send done".into(), 60)]);
        assert_eq!(hooks(json!({"Stop": ["a", {"command": "b"}]})).len(), 2);
        assert_eq!(hooks(Value::Null), []);
    }

    #[test]
    fn what_is_odd_is_told_and_left_out() {
        for (tree, said) in [
            (json!({"pre_tool_cal": [{"command": "x"}]}), "no such event; did you mean pre_tool_call"),
            (json!({"Stop": [{"matcher": "("}]}), "invalid matcher \"(\""),
            (json!({"Stop": [{"timeout": 1}]}), "`command` is missing"),
            (json!({"Stop": [{"hooks": [{"type": "prompt", "prompt": "?"}]}]}), "a hook must be a command"),
            (json!([1]), "events with lists"),
            (json!({"Stop": [{"command": "x", "on_error": "block"}]}), "has no effect at turn_end"),
            (json!({"PreToolUse": [{"command": "x", "on_error": "ask"}]}), "must be allow or block"),
        ] {
            let (hooks, odd) = read(&tree, From::Person);
            assert!(hooks.is_empty(), "{tree}");
            assert!(odd.len() == 1 && odd[0].contains(said), "{odd:?}");
        }
    }

    #[test]
    fn a_guard_says_so_and_what_never_runs_is_told() {
        let of = |tree| read(&tree, From::Person);
        for (leaf, wanted) in [
            (json!({"command": "x"}), OnError::Allow),
            (json!({"command": "x", "on_error": "allow"}), OnError::Allow),
            (json!({"command": "x", "on_error": "block"}), OnError::Block),
        ] {
            let (hooks, odd) = of(json!({"pre_tool_call": [leaf], "prompt_submitted": [leaf]}));
            assert!(hooks.iter().all(|hook| hook.on_error == wanted) && odd.is_empty(), "{odd:?}");
        }
        for (tree, said) in [
            (json!({"subagent_stop": [{"command": "x"}]}), "subagent_stop is not triggered yet"),
            (json!({"PreToolUse": [{"matcher": "todo", "command": "x"}]}), "hooks do not see todo"),
        ] {
            let (hooks, odd) = of(tree);
            assert!(hooks.len() == 1 && odd.len() == 1 && odd[0].contains(said), "{odd:?}");
        }
        assert!(of(json!({"PreToolUse": [{"matcher": "todo|terminal", "command": "x"}]})).1.is_empty());
    }

    #[test]
    fn matchers_take_whole_names_and_other_programs_names() {
        for (matcher, tool, hit) in [
            ("terminal", "terminal", true),
            ("term", "terminal", false),
            ("Bash", "terminal", true),
            ("Edit|Write", "patch", true),
            ("Edit|Write", "write_file", true),
            ("mcp__.*", "mcp__git__log", true),
            ("*", "anything", true),
            ("", "anything", true),
            ("Read", "read_file", true),
            ("Read", "write_file", false),
        ] {
            let hook = &read(&json!({"PreToolUse": [{"matcher": matcher, "command": "x"}]}), From::Person).0[0];
            assert_eq!(hook.wants(Event::PreToolCall, Some(tool)), hit, "{matcher} on {tool}");
            assert!(!hook.wants(Event::PostToolCall, Some(tool)));
        }
    }

    #[test]
    fn a_timeout_is_bounded() {
        for (written, seconds) in [(json!(0), 60.0), (json!(-1), 60.0), (json!("2.5"), 2.5), (json!(1e9), 300.0)] {
            assert_eq!(timeout(Some(&written)).as_secs_f64(), seconds, "{written}");
        }
    }
}
