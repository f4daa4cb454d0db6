//! What is left of an old tool result: one line with the facts of the call. The words are data (`assets/tools/lines.yaml`).

use crate::text::format::count;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::LazyLock;

static LINES: LazyLock<BTreeMap<String, String>> = LazyLock::new(|| {
    // The test of the assets parses it; a build without a table shows the arguments.
    serde_saphyr::from_str(include_str!("../../../assets/tools/lines.yaml")).unwrap_or_default()
});
/// For a tool that has no line.
const OTHER: &str = "other";

/// `[read_file] read src/main.rs from line 1 (1,200 chars)`.
pub fn line(tool: &str, args: &str, content: &str) -> String {
    let pattern = LINES.get(tool).or_else(|| LINES.get(OTHER)).map(String::as_str).unwrap_or("{args:120}");
    let call: Value = serde_json::from_str(args).unwrap_or_default();
    let result: Value = serde_json::from_str(content).unwrap_or_default();
    let mut out = format!("[{tool}] ");
    let mut rest = pattern;
    while let Some((before, after)) = rest.split_once('{') {
        let (field, behind) = after.split_once('}').unwrap_or((after, ""));
        out.push_str(before);
        out.push_str(&filled(field, &call, &result, args, content));
        rest = behind;
    }
    out.push_str(rest);
    out
}

fn filled(field: &str, call: &Value, result: &Value, args: &str, content: &str) -> String {
    if let Some(name) = field.strip_prefix('=') {
        return result.get(name).map_or_else(|| "?".to_owned(), plain);
    }
    if let Some(name) = field.strip_suffix('#') {
        return call.get(name).map_or(0, |value| plain(value).lines().count()).to_string();
    }
    match field {
        "lines" => return content.lines().count().to_string(),
        "chars" => return count(content.chars().count() as u64),
        _ => {}
    }
    let (field, width) = field.split_once(':').unwrap_or((field, ""));
    let (name, otherwise) = field.split_once('|').unwrap_or((field, ""));
    let text = match call.get(name) {
        Some(value) => plain(value),
        None if name == "args" => args.to_owned(),
        None => otherwise.to_owned(),
    };
    match width.strip_suffix('!').map(str::parse) {
        Some(Ok(width)) => text.chars().take(width).collect(),
        Some(Err(_)) | None => match width.parse::<usize>() {
            Ok(width) if text.chars().count() > width + 3 => {
                text.chars().take(width).collect::<String>().replace('\n', " ") + "..."
            }
            Ok(_) | Err(_) => text.replace('\n', " "),
        },
    }
}

/// A value as it stands in a line: a text as it is, of a list the first with the number of the others.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(all) => {
            let first = all.first().map(|first| first.get("url").map_or_else(|| plain(first), plain));
            match all.len() {
                0 | 1 => first.unwrap_or_default(),
                several => format!("{} (+{} more)", first.unwrap_or_default(), several - 1),
            }
        }
        other => other.to_string(),
    }
}

/// Characters of each text that stay of long arguments (as Python Hermes has it).
const ARG_HEAD: usize = 200;
/// Arguments shorter than this stay whole.
const ARGS_WHOLE: usize = 500;

/// Arguments of an old call, each long text cut to its head; what is no JSON stays as it is.
pub fn short_args(args: &str) -> Option<String> {
    if args.chars().count() <= ARGS_WHOLE {
        return None;
    }
    let mut value: Value = serde_json::from_str(args).ok()?;
    shorten(&mut value).then(|| python_json(&value))
}

fn shorten(value: &mut Value) -> bool {
    match value {
        Value::String(text) => match text.char_indices().nth(ARG_HEAD) {
            Some((cut, _)) => {
                text.truncate(cut);
                text.push_str("...[truncated]");
                true
            }
            None => false,
        },
        Value::Array(all) => all.iter_mut().fold(false, |any, value| shorten(value) | any),
        Value::Object(fields) => fields.values_mut().fold(false, |any, value| shorten(value) | any),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// JSON with a blank behind commas and colons.
fn python_json(value: &Value) -> String {
    use serde::Serialize as _;
    struct Spaced;
    impl serde_json::ser::Formatter for Spaced {
        fn begin_array_value<W: ?Sized + std::io::Write>(&mut self, out: &mut W, first: bool) -> std::io::Result<()> {
            if first { Ok(()) } else { out.write_all(b", ") }
        }
        fn begin_object_key<W: ?Sized + std::io::Write>(&mut self, out: &mut W, first: bool) -> std::io::Result<()> {
            if first { Ok(()) } else { out.write_all(b", ") }
        }
        fn begin_object_value<W: ?Sized + std::io::Write>(&mut self, out: &mut W) -> std::io::Result<()> {
            out.write_all(b": ")
        }
    }
    let mut out = Vec::new();
    let written = value.serialize(&mut serde_json::Serializer::with_formatter(&mut out, Spaced));
    match written {
        Ok(()) => String::from_utf8(out).unwrap_or_default(),
        Err(_) => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cases(text: &str) -> Vec<Value> {
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[test]
    fn a_result_is_left_as_one_line_of_facts() {
        for case in cases(include_str!("../../../tests/cases/compress-tool-line.jsonl")) {
            let field = |name: &str| case[name].as_str().unwrap();
            assert_eq!(line(field("tool"), field("args"), field("content")), field("line"));
        }
        assert_eq!(line("made_up", r#"{"a":1}"#, "12345"), r#"[made_up] {"a":1} (5 chars result)"#);
    }

    #[test]
    fn long_arguments_keep_the_head_of_each_text() {
        for case in cases(include_str!("../../../tests/cases/compress-args-shrink.jsonl")) {
            let short = short_args(case["args"].as_str().unwrap()).unwrap();
            let (short, expected): (Value, Value) = (
                serde_json::from_str(&short).unwrap(),
                serde_json::from_str(case["result"].as_str().unwrap()).unwrap(),
            );
            assert_eq!(short, expected);
        }
        assert_eq!(short_args("{}"), None);
        assert_eq!(short_args(&"x".repeat(900)), None, "no JSON");
    }
}
