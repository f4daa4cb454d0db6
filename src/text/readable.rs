//! What tools report as JSON, in lines that a person reads.

use serde_json::Value;
use std::fmt::Write as _;

/// Fields that the outcome mark says already.
const SAID: &[&str] = &["status", "success"];

/// A JSON object as lines: its message first, then its other fields; anything else as it is.
pub fn readable(content: &str) -> String {
    let Ok(Value::Object(fields)) = serde_json::from_str(content) else { return content.to_owned() };
    let message = ["error", "message"].into_iter().find(|key| fields.get(*key).is_some_and(Value::is_string));
    let mut out = String::new();
    if let Some(text) = message.and_then(|key| fields.get(key)?.as_str()) {
        out.push_str(text.trim_end());
    }
    for (key, value) in &fields {
        if Some(key.as_str()) != message && !SAID.contains(&key.as_str()) && !is_nothing(value) {
            field(&mut out, key, value);
        }
    }
    out.trim_start_matches('\n').to_owned()
}

fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(values) => values.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

// Writing to a string cannot fail.
fn field(out: &mut String, key: &str, value: &Value) {
    let name = key.trim_start_matches('_').replace('_', " ");
    match value {
        Value::Array(values) => {
            let _ = write!(out, "\n{name}:");
            for value in values {
                let _ = write!(out, "\n  {}", flat(value));
            }
        }
        Value::String(text) if text.contains('\n') => {
            let _ = write!(out, "\n{name}:");
            for line in text.trim_end().lines() {
                let _ = write!(out, "\n  {line}");
            }
        }
        value => {
            let _ = write!(out, "\n{name}: {}", flat(value));
        }
    }
}

/// A value on one line.
fn flat(value: &Value) -> String {
    match value {
        Value::Null => "nothing".to_owned(),
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => text.trim_end().replace('\n', " ⏎ "),
        Value::Array(values) => values.iter().map(flat).collect::<Vec<_>>().join(", "),
        Value::Object(fields) => {
            let pair = |(key, value): (&String, &Value)| format!("{}: {}", key.replace('_', " "), flat(value));
            fields.iter().map(pair).collect::<Vec<_>>().join(", ")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_become_lines_and_text_stays() {
        let table = [
            (
                r#"{"error":"no such file","similar_files":["a.rs","b.rs"]}"#,
                "no such file\nsimilar files:\n  a.rs\n  b.rs",
            ),
            (
                r#"{"error":"2 places match","matches":[{"line":3,"text":"x = 1"},{"line":9,"text":"x = 2"}]}"#,
                "2 places match\nmatches:\n  line: 3, text: x = 1\n  line: 9, text: x = 2",
            ),
            (r#"{"error":"denied","status":"blocked"}"#, "denied"),
            (r#"{"status":"ok","session_id":"p1","bytes_written":3,"gone":null}"#, "session id: p1\nbytes written: 3"),
            (r#"{"error":"x","_hint":"one\ntwo","is_binary":true}"#, "x\nhint:\n  one\n  two\nis binary: yes"),
            (r#"{"status":"ok"}"#, ""),
            ("plain {text}", "plain {text}"),
            ("[1, 2]", "[1, 2]"),
            ("", ""),
        ];
        for (content, expected) in table {
            assert_eq!(readable(content), expected, "{content}");
        }
    }
}
