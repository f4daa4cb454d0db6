//! What a hook says: exit status and standard output, or the result of a plugin's `hook.run`, as one answer. Our words,
//! Python Hermes' and Claude Code's are read alike.

use super::event::{Event, May};
use crate::text::foreign;
use serde_json::Value;

/// Characters of context, reason or message that count.
const WORDS: usize = 20_000;

/// What a hook wants.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    pub verdict: Verdict,
    /// Other arguments for the call.
    pub args: Option<Value>,
    /// Another text in place of the result, the output or the answer.
    pub text: Option<String>,
    /// Words for the model.
    pub context: String,
    /// Words for the person.
    pub message: String,
}

/// Whether what was about to happen goes on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Verdict {
    /// It does, as far as this hook goes. A hook that says *allow* says no more than this: it never answers for the person.
    #[default]
    Pass,
    /// A person must be asked, with this reason.
    Ask(String),
    Block(String),
}

/// The answer of a command.
///
/// Exit 0: standard output is the answer, JSON or (where context may be added) plain words. Exit 2: blocked, the reason is
/// standard error. Anything else is a fault of the hook.
///
/// # Errors
/// The fault in words; nothing is blocked or changed by it.
pub fn of_command(event: Event, code: i32, stdout: &str, stderr: &str) -> Result<Answer, String> {
    let said = |text: &str| cut(text.trim());
    match code {
        0 => of_output(event, stdout),
        2 => {
            let reason = if stderr.trim().is_empty() { said(stdout) } else { said(stderr) };
            // A JSON answer with exit 2 keeps its own reason.
            if let Ok(Answer { verdict: Verdict::Block(reason), .. }) = of_output(event, stdout) {
                return Ok(fitted(event, Answer { verdict: Verdict::Block(reason), ..Answer::default() }));
            }
            let reason = if reason.is_empty() { "blocked by a hook".into() } else { reason };
            Ok(fitted(event, Answer { verdict: Verdict::Block(reason), ..Answer::default() }))
        }
        code => {
            let last = stderr.trim().lines().last().unwrap_or_default();
            let why = if last.is_empty() { String::new() } else { format!(": {}", short(last)) };
            Err(format!("exit {code}{why}"))
        }
    }
}

fn of_output(event: Event, stdout: &str) -> Result<Answer, String> {
    let text = stdout.trim();
    if text.is_empty() {
        return Ok(Answer::default());
    }
    match serde_json::from_str::<Value>(text) {
        Ok(value) => Ok(of_value(event, &value)),
        // Plain words are context where context can go; elsewhere they are chatter.
        Err(_) if !text.starts_with('{') => Ok(fitted(event, Answer { context: cut(text), ..Answer::default() })),
        Err(error) => Err(format!("its answer is not JSON: {error}")),
    }
}

/// The answer in a JSON value. A plain text is the new text where a text can change, else context.
pub fn of_value(event: Event, value: &Value) -> Answer {
    let answer = match value {
        Value::String(text) if event.row().may == May::Text => Answer { text: Some(text.clone()), ..Answer::default() },
        Value::String(text) => Answer { context: cut(text), ..Answer::default() },
        Value::Object(_) => of_object(value),
        _ => Answer::default(),
    };
    fitted(event, answer)
}

fn of_object(value: &Value) -> Answer {
    let inner = value.get("hookSpecificOutput").unwrap_or(&Value::Null);
    let word = |names: &[&str]| {
        names.iter().find_map(|name| inner.get(*name).or_else(|| value.get(*name))?.as_str()).unwrap_or_default()
    };
    let reason = |fallback: &str| {
        let said = word(&["permissionDecisionReason", "reason", "message", "stopReason"]);
        cut(if said.is_empty() { fallback } else { said })
    };
    let decision = word(&["permissionDecision", "decision", "action"]).to_ascii_lowercase();
    let stops = value.get("continue") == Some(&Value::Bool(false));
    let verdict = match decision.as_str() {
        "block" | "deny" | "reject" | "skip" => Verdict::Block(reason("blocked by a hook")),
        // Python Hermes' `approve` sends the call to a person; Claude Code's old `approve` comes without a message.
        "ask" => Verdict::Ask(reason("a hook asks you to review this")),
        "approve" if value.get("action").is_some() => Verdict::Ask(reason("a hook asks you to review this")),
        _ if stops => Verdict::Block(reason("stopped by a hook")),
        _ => Verdict::Pass,
    };
    let pick = |names: &[&str]| names.iter().find_map(|name| inner.get(*name).or_else(|| value.get(*name))).cloned();
    Answer {
        verdict,
        args: pick(&["updatedInput", "args", "tool_input", "arguments"]).filter(Value::is_object),
        text: pick(&["updatedOutput", "updatedToolOutput", "result", "text", "output"]).map(|text| match text {
            Value::String(text) => text,
            other => other.to_string(),
        }),
        context: cut(word(&["additionalContext", "context"])),
        message: cut(word(&["systemMessage"])),
    }
}

/// Only what may be done at this moment.
fn fitted(event: Event, mut answer: Answer) -> Answer {
    let may = event.row().may;
    // What has happened cannot be blocked; why it should have been goes to the model.
    if may == May::Text
        && answer.context.is_empty()
        && let Verdict::Block(reason) = &answer.verdict
    {
        answer.context = reason.clone();
    }
    if !event.may_block() {
        answer.verdict = Verdict::Pass;
    }
    if may != May::Call {
        answer.args = None;
        if matches!(answer.verdict, Verdict::Ask(_)) {
            answer.verdict = Verdict::Pass;
        }
    }
    if may != May::Text {
        answer.text = None;
    }
    // Words beside a result reach the model with it.
    if matches!(may, May::Watch | May::Block | May::Call) {
        answer.context.clear();
    }
    answer
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(WORDS) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

/// The first part of a line, for rows.
pub fn short(text: &str) -> String {
    foreign::line(text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default(), 160)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn block(why: &str) -> Answer {
        Answer { verdict: Verdict::Block(why.into()), ..Answer::default() }
    }

    #[test]
    fn exit_codes() {
        use Event::{PostToolCall, PreToolCall};
        let ran = |event, code, out, err| of_command(event, code, out, err);
        assert_eq!(ran(PreToolCall, 0, "", ""), Ok(Answer::default()));
        assert_eq!(ran(PreToolCall, 2, "", "not on Fridays\n"), Ok(block("not on Fridays")));
        assert_eq!(ran(PreToolCall, 2, "said here", ""), Ok(block("said here")));
        assert_eq!(ran(PreToolCall, 2, r#"{"decision":"block","reason":"own"}"#, "noise"), Ok(block("own")));
        assert_eq!(
            ran(PostToolCall, 2, "", "too late"),
            Ok(Answer { context: "too late".into(), ..Answer::default() })
        );
        assert_eq!(ran(PreToolCall, 1, "", "a\nboom\n"), Err("exit 1: boom".into()));
        assert_eq!(ran(PreToolCall, 127, "", ""), Err("exit 127".into()));
        assert!(ran(PreToolCall, 0, "{broken", "").is_err());
    }

    #[test]
    fn the_words_of_three_programs() {
        use Event::PreToolCall;
        for (value, answer) in [
            (json!({"action": "block", "message": "no"}), block("no")),
            (json!({"decision": "block", "reason": "no"}), block("no")),
            (json!({"decision": "deny"}), block("blocked by a hook")),
            (json!({"continue": false, "stopReason": "enough"}), block("enough")),
            (
                json!({"hookSpecificOutput": {"permissionDecision": "deny", "permissionDecisionReason": "no"}}),
                block("no"),
            ),
            (
                json!({"hookSpecificOutput": {"permissionDecision": "ask", "permissionDecisionReason": "look"}}),
                Answer { verdict: Verdict::Ask("look".into()), ..Answer::default() },
            ),
            (
                json!({"action": "approve", "message": "look"}),
                Answer { verdict: Verdict::Ask("look".into()), ..Answer::default() },
            ),
            (json!({"decision": "approve"}), Answer::default()),
            (json!({"hookSpecificOutput": {"permissionDecision": "allow"}}), Answer::default()),
            (
                json!({"hookSpecificOutput": {"updatedInput": {"a": 1}}}),
                Answer { args: Some(json!({"a": 1})), ..Answer::default() },
            ),
            (json!({"args": {"a": 1}}), Answer { args: Some(json!({"a": 1})), ..Answer::default() }),
            (json!({"args": [1]}), Answer::default()),
            (json!({"systemMessage": "hi"}), Answer { message: "hi".into(), ..Answer::default() }),
            (json!(null), Answer::default()),
        ] {
            assert_eq!(of_value(PreToolCall, &value), answer, "{value}");
        }
    }

    #[test]
    fn a_hook_does_only_what_its_moment_allows() {
        let all = json!({"decision": "block", "reason": "no", "args": {}, "result": "new", "context": "words"});
        let of = |event| of_value(event, &all);
        assert_eq!(of(Event::TurnEnd), Answer::default());
        assert_eq!(
            of(Event::PostToolCall),
            Answer { text: Some("new".into()), context: "words".into(), ..Answer::default() }
        );
        assert_eq!(of(Event::PromptSubmitted), Answer { context: "words".into(), ..block("no") });
        assert_eq!(of(Event::SessionStart), Answer { context: "words".into(), ..Answer::default() });
        let plain = |event, text: &str| of_command(event, 0, text, "");
        assert_eq!(plain(Event::PromptSubmitted, "today is Monday\n").map(|a| a.context), Ok("today is Monday".into()));
        assert_eq!(plain(Event::TurnEnd, "chatter"), Ok(Answer::default()));
        assert_eq!(of_value(Event::TransformToolResult, &json!("new")).text.as_deref(), Some("new"));
    }

    #[test]
    fn long_words_are_cut() {
        let answer = of_value(Event::PreLlmCall, &json!("x".repeat(50_000)));
        assert_eq!(answer.context.chars().count(), WORDS + 1);
    }
}
