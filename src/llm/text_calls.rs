//! Tool calls that models write as text: recognised only where a call would stand, never in prose about calls.

use super::ToolSchema;
use super::python_call;
use serde_json::{Map, Value};

/// Calls found at the end of a text.
#[derive(Debug, PartialEq)]
pub(super) struct Found {
    /// Bytes of text before them.
    pub head: usize,
    /// Name, and arguments as JSON.
    pub calls: Vec<(String, Value)>,
}

/// Tags around one call; the last may stay open when the text ends.
const TAGS: [(&str, &str); 3] =
    [("<tool_call>", "</tool_call>"), ("<function_call>", "</function_call>"), ("<tools>", "</tools>")];

/// Words before JSON that follows to the end.
const MARKERS: [&str; 2] = ["[TOOL_CALLS]", "<|python_tag|>"];

/// Languages of code fences that models put calls in.
const FENCES: [&str; 8] = ["", "json", "tool_call", "tool_calls", "tool_code", "python", "xml", "tool"];

/// Words that introduce an example, not a call.
const EXAMPLE: &[&str] = &[
    "example",
    "e.g.",
    "for instance",
    "look like",
    "looks like",
    "such as",
    "format",
    "syntax",
    "you can ",
    "you could ",
    "if you ",
    "would be",
    "schema",
    "template",
];

/// Lines that are tried as the start of a call: so many from the top, and as many from the end.
const MAX_STARTS: usize = 64;

/// Finds calls that make up the whole text or its end. Every name must be one of `tools`.
pub(super) fn find(text: &str, tools: &[ToolSchema]) -> Option<Found> {
    let body = text.trim_end();
    if body.is_empty() || tools.is_empty() || !body.ends_with(['>', '}', ']', ')', '`']) {
        // An unclosed tag may end in anything.
        if !TAGS.iter().any(|(open, _)| body.contains(open)) {
            return None;
        }
    }
    let lines = std::iter::once(0).chain(body.match_indices('\n').map(|(at, _)| at + 1));
    let mut starts: Vec<usize> =
        lines.filter(|start| body.get(*start..).is_some_and(|part| may_start(part, tools))).collect();
    if starts.len() > 2 * MAX_STARTS {
        starts.drain(MAX_STARTS..starts.len() - MAX_STARTS);
    }
    // From the top, so that the first of several calls is the start of all.
    for start in starts {
        let part = body.get(start..)?;
        let Some(calls) = read(part, tools, true) else { continue };
        let known = |name: &str| tools.iter().any(|tool| tool.name == name);
        let head = body.get(..start)?.trim_end();
        if !calls.is_empty() && calls.iter().all(|(name, _)| known(name)) && !introduces_example(head) {
            return Some(Found { head: head.len(), calls });
        }
    }
    None
}

/// Whether a line looks like the beginning of a call in any form.
fn may_start(part: &str, tools: &[ToolSchema]) -> bool {
    match part.as_bytes().first() {
        Some(b'<' | b'[' | b'{' | b'`') => {
            let fixed = ["<function=", "<invoke name=", "```", "{", "["];
            fixed.iter().chain(&MARKERS).any(|word| part.starts_with(word))
                || TAGS.iter().any(|(open, _)| part.starts_with(open))
        }
        Some(_) => tools.iter().any(|tool| part.strip_prefix(&*tool.name).is_some_and(|rest| rest.starts_with('('))),
        None => false,
    }
}

fn introduces_example(head: &str) -> bool {
    let last = head.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default().to_lowercase();
    EXAMPLE.iter().any(|word| last.contains(word))
}

/// Reads calls that make up the whole of `part`.
fn read(part: &str, tools: &[ToolSchema], fences: bool) -> Option<Vec<(String, Value)>> {
    let part = part.trim();
    if let Some(marker) = MARKERS.iter().find(|marker| part.starts_with(**marker)) {
        return json_calls(part.get(marker.len()..)?, false);
    }
    if fences && part.starts_with("```") {
        return fenced(part, tools);
    }
    if part.starts_with('<') {
        return tagged(part, tools);
    }
    if part.starts_with(['{', '[']) {
        return json_calls(part, true).or_else(|| python_call::parse(part));
    }
    python_call::parse(part)
}

fn fenced(part: &str, tools: &[ToolSchema]) -> Option<Vec<(String, Value)>> {
    let (language, rest) = part.strip_prefix("```")?.split_once('\n')?;
    let inner = rest.trim_end().strip_suffix("```")?;
    let is_call_fence = FENCES.contains(&language.trim().to_ascii_lowercase().as_str());
    (is_call_fence && !inner.contains("```")).then(|| read(inner, tools, false)).flatten()
}

fn tagged(part: &str, tools: &[ToolSchema]) -> Option<Vec<(String, Value)>> {
    let mut calls = Vec::new();
    let mut rest = part;
    while !rest.is_empty() {
        if let Some((open, close)) = TAGS.iter().find(|(open, _)| rest.starts_with(*open)) {
            let inner = rest.get(open.len()..)?;
            let (body, after) = inner.split_once(close).unwrap_or((inner, ""));
            calls.extend(inside_tag(body.trim(), tools)?);
            rest = after.trim_start();
        } else {
            let (call, after) = function_block(rest, tools)?;
            calls.push(call);
            // Some models close a tag that they never opened.
            let after = after.trim_start();
            rest = TAGS.iter().find_map(|(_, close)| after.strip_prefix(close)).unwrap_or(after).trim_start();
        }
    }
    Some(calls)
}

fn inside_tag(body: &str, tools: &[ToolSchema]) -> Option<Vec<(String, Value)>> {
    if body.starts_with(['{', '[']) {
        return json_calls(body, false);
    }
    if body.starts_with('<') {
        return function_block(body, tools).map(|(call, _)| vec![call]);
    }
    if let Some((name, pairs)) = body.split_once("<arg_key>") {
        return keyed(name.trim(), pairs, tools).map(|call| vec![call]);
    }
    python_call::parse(body)
}

/// `<function=name><parameter=key>value</parameter></function>`, and the same with `invoke name="…"`.
fn function_block<'a>(text: &'a str, tools: &[ToolSchema]) -> Option<((String, Value), &'a str)> {
    let (open, close, parameter) = if text.starts_with("<function=") {
        ("<function=", "</function>", "<parameter=")
    } else {
        ("<invoke name=", "</invoke>", "<parameter name=")
    };
    let (name, rest) = text.strip_prefix(open)?.split_once('>')?;
    let name = name.trim().trim_matches('"').to_owned();
    let (mut body, after) = rest.split_once(close).unwrap_or((rest, ""));
    let mut args = Map::new();
    if body.trim_start().starts_with('{') {
        return Some(((name, serde_json::from_str(body.trim()).ok()?), after));
    }
    while let Some((_, pair)) = body.split_once(parameter) {
        let (key, value) = pair.split_once('>')?;
        let key = key.trim().trim_matches('"');
        let (value, next) = value.split_once("</parameter>").unwrap_or((value, ""));
        args.insert(key.to_owned(), typed(&name, key, value, tools));
        body = next;
    }
    Some(((name, Value::Object(args)), after))
}

/// `name <arg_key>key</arg_key><arg_value>value</arg_value>…`.
fn keyed(name: &str, pairs: &str, tools: &[ToolSchema]) -> Option<(String, Value)> {
    let mut args = Map::new();
    for pair in pairs.split("<arg_key>") {
        let (key, rest) = pair.split_once("</arg_key>")?;
        let value = rest.trim_start().strip_prefix("<arg_value>")?.split("</arg_value>").next()?;
        args.insert(key.trim().to_owned(), typed(name, key.trim(), value, tools));
    }
    Some((name.to_owned(), Value::Object(args)))
}

/// A value written without quotes is what the tool's schema says it is.
fn typed(tool: &str, key: &str, value: &str, tools: &[ToolSchema]) -> Value {
    let value = value.strip_prefix('\n').unwrap_or(value);
    let value = value.strip_suffix('\n').unwrap_or(value);
    let schema = tools.iter().find(|known| known.name == tool);
    let kind =
        schema.and_then(|tool| tool.parameters.pointer(&format!("/properties/{key}/type"))).and_then(Value::as_str);
    match kind {
        Some("integer" | "number" | "boolean" | "array" | "object") => {
            let trimmed = value.trim();
            let parsed = serde_json::from_str(trimmed).or_else(|_| serde_json::from_str(&trimmed.to_ascii_lowercase()));
            parsed.unwrap_or_else(|_| Value::String(value.to_owned()))
        }
        _ => Value::String(value.to_owned()),
    }
}

/// One or more JSON objects, or a list of them. `strict` wants the arguments to be there: `{"name": …}` alone is data.
fn json_calls(text: &str, strict: bool) -> Option<Vec<(String, Value)>> {
    let mut calls = Vec::new();
    for value in serde_json::Deserializer::from_str(text.trim()).into_iter::<Value>() {
        match value.ok()? {
            Value::Array(list) => {
                for value in list {
                    calls.push(json_call(value, strict)?);
                }
            }
            value => calls.push(json_call(value, strict)?),
        }
    }
    Some(calls)
}

fn json_call(value: Value, strict: bool) -> Option<(String, Value)> {
    let Value::Object(mut map) = value else { return None };
    if let Some(Value::Object(inner)) = map.get_mut("function") {
        map = std::mem::take(inner);
    }
    let name = ["name", "function", "tool"].iter().find_map(|key| map.get(*key)?.as_str())?.to_owned();
    let args = ["arguments", "parameters", "args", "input"].iter().find_map(|key| map.remove(*key));
    let args = match args {
        Some(Value::String(text)) => serde_json::from_str(&text).ok()?,
        Some(args) => args,
        None if strict => return None,
        None => Value::Object(Map::new()),
    };
    args.is_object().then_some((name, args))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::sync::Arc;

    fn tools() -> Vec<ToolSchema> {
        let tool = |name: &str, parameters: Value| ToolSchema {
            name: name.to_owned(),
            description: String::new(),
            parameters: Arc::new(parameters),
        };
        let properties = json!({"properties": {"path": {"type": "string"}, "limit": {"type": "integer"}, "deep": {"type": "boolean"}}});
        vec![tool("read_file", properties), tool("terminal", json!({"properties": {"command": {"type": "string"}}}))]
    }

    fn read_a() -> Vec<(String, Value)> {
        vec![("read_file".to_owned(), json!({"path": "a"}))]
    }

    #[test]
    fn every_form_is_recognised() {
        let a = r#"{"name": "read_file", "arguments": {"path": "a"}}"#;
        let forms = [
            format!("<tool_call>\n{a}\n</tool_call>"),
            format!("<tool_call>{a}"),
            format!("<function_call>{a}</function_call>"),
            a.to_owned(),
            format!("```json\n{a}\n```"),
            format!("```\n{a}\n```"),
            format!("[TOOL_CALLS][{a}]"),
            format!("<|python_tag|>{a}"),
            r#"{"name": "read_file", "parameters": {"path": "a"}}"#.to_owned(),
            r#"{"type": "function", "function": {"name": "read_file", "arguments": "{\"path\": \"a\"}"}}"#.to_owned(),
            "<function=read_file>\n<parameter=path>\na\n</parameter>\n</function>".to_owned(),
            "<tool_call>\n<function=read_file>\n<parameter=path>\na\n</parameter>\n</function>\n</tool_call>"
                .to_owned(),
            "<function=read_file><parameter=path>a</parameter></function></tool_call>".to_owned(),
            "<invoke name=\"read_file\"><parameter name=\"path\">a</parameter></invoke>".to_owned(),
            "<tool_call>read_file\n<arg_key>path</arg_key>\n<arg_value>a</arg_value>\n</tool_call>".to_owned(),
            r#"read_file(path="a")"#.to_owned(),
            r#"[read_file(path="a")]"#.to_owned(),
            "```python\nread_file(path='a')\n```".to_owned(),
        ];
        for form in &forms {
            assert_eq!(find(form, &tools()), Some(Found { head: 0, calls: read_a() }), "{form}");
            let after_prose = format!("I will read the file.\n\n{form}\n");
            assert_eq!(find(&after_prose, &tools()), Some(Found { head: 21, calls: read_a() }), "{after_prose}");
        }
    }

    #[test]
    fn long_arguments_do_not_hide_the_call() {
        let lines = "<div>\n{\n[1]\n".repeat(500);
        let text = format!("On it.\n<function=terminal>\n<parameter=command>\n{lines}</parameter>\n</function>");
        let found = find(&text, &tools()).unwrap();
        assert_eq!((found.head, found.calls[0].1["command"].as_str()), (6, Some(lines.trim_end_matches('\n'))));
    }

    #[test]
    fn several_calls_keep_their_order_and_values_their_types() {
        let text = "<tool_call>{\"name\":\"read_file\",\"arguments\":{\"path\":\"a\"}}</tool_call>\n<tool_call>{\"name\":\"terminal\",\"arguments\":{\"command\":\"ls\"}}</tool_call>";
        let names: Vec<String> = find(text, &tools()).unwrap().calls.into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["read_file", "terminal"]);
        let typed = "<function=read_file><parameter=path>1</parameter><parameter=limit>5</parameter><parameter=deep>True</parameter></function>";
        assert_eq!(find(typed, &tools()).unwrap().calls[0].1, json!({"path": "1", "limit": 5, "deep": true}));
    }

    proptest::proptest! {
        /// Whatever a model writes: an answer, about tools that exist, at a place in the text.
        #[test]
        fn any_text_is_answered(
            pieces in proptest::collection::vec(0usize..PIECES.len(), 0..12),
            noise in ".{0,8}",
        ) {
            let text: String = pieces.iter().map(|at| PIECES[*at]).chain([noise.as_str()]).collect();
            for text in [&text, &text.replace('a', "é")] {
                if let Some(found) = find(text, &tools()) {
                    proptest::prop_assert!(text.is_char_boundary(found.head));
                    let known = |name: &str| ["read_file", "terminal"].contains(&name);
                    let fits = found.calls.iter().all(|(name, args)| args.is_object() && known(name));
                    proptest::prop_assert!(fits);
                }
            }
        }
    }

    const PIECES: [&str; 26] = [
        "<tool_call>",
        "</tool_call>",
        "<function=read_file>",
        "</function>",
        "<parameter=path>",
        "</parameter>",
        "<invoke name=\"terminal\">",
        "</invoke>",
        "<arg_key>",
        "</arg_key>",
        "<arg_value>",
        "</arg_value>",
        "{\"name\": \"read_file\", \"arguments\": {\"path\": \"a\"}}",
        "{",
        "}",
        "[",
        "]",
        "\"",
        "\\",
        "\n",
        "```json\n",
        "```",
        "[TOOL_CALLS]",
        "read_file(",
        "path='a', b=[1, {'c': None}]",
        ")",
    ];

    #[test]
    fn prose_about_calls_is_prose() {
        let a = r#"{"name": "read_file", "arguments": {"path": "a"}}"#;
        let prose = [
            "Use read_file(path=\"a\") to read it.".to_owned(),
            "You could run read_file(path=\"a\")".to_owned(),
            format!("The format is:\n<tool_call>{a}</tool_call>"),
            format!("For example:\n\n```json\n{a}\n```"),
            format!("<tool_call>{a}</tool_call>\nis what a call looks like."),
            format!("A call `{a}` is JSON"),
            r#"{"name": "unknown_tool", "arguments": {}}"#.to_owned(),
            r#"{"name": "read_file", "version": "1.0"}"#.to_owned(),
            r#"{"name": "read_file", "arguments": [1]}"#.to_owned(),
            "```json\n{\"name\": \"terminal\"}\n```".to_owned(),
            format!("```rust\n{a}\n```"),
            "print(read_file(path=\"a\"))".to_owned(),
            "<tool_call> is a tag".to_owned(),
            "<tool_call>{broken</tool_call>".to_owned(),
            String::new(),
        ];
        for text in &prose {
            assert_eq!(find(text, &tools()), None, "{text}");
        }
        assert_eq!(find(a, &[]), None);
    }
}
