//! A grammar (GBNF, as llama.cpp takes it) of a reply: prose, or one call whose arguments fit the tool.

use crate::llm::ToolSchema;
use serde_json::Value;
use std::fmt::Write as _;

/// Rules that the others use. Prose begins with anything but what would begin a call.
const BASE: &str = r#"text ::= [^{`\n] [^\x00]*
string ::= "\"" char* "\""
char ::= [^"\\\x7F\x00-\x1F] | "\\" (["\\bfnrt/] | "u" [0-9a-fA-F] [0-9a-fA-F] [0-9a-fA-F] [0-9a-fA-F])
integer ::= "-"? ("0" | [1-9] [0-9]*)
number ::= integer ("." [0-9]+)?
boolean ::= "true" | "false"
strings ::= "[" (string (", " string)*)? "]"
value ::= string | number | boolean | "null" | array | object
array ::= "[" (value (", " value)*)? "]"
object ::= "{" (string ": " value (", " string ": " value)*)? "}"
"#;

/// An argument.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Field {
    pub name: String,
    pub required: bool,
    /// The rule of its value, or the words that it may be.
    kind: Kind,
}

#[derive(Debug, PartialEq, Eq)]
enum Kind {
    Rule(&'static str),
    Words(Vec<String>),
}

/// The arguments of a tool, the required ones first.
pub(super) fn fields(schema: &Value) -> Vec<Field> {
    let required: Vec<&str> =
        schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
    let properties = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    let mut fields: Vec<Field> = properties
        .map(|(name, about)| Field {
            name: name.clone(),
            required: required.contains(&name.as_str()),
            kind: kind(about),
        })
        .collect();
    fields.sort_by_key(|field| !field.required);
    fields
}

fn kind(about: &Value) -> Kind {
    let words: Option<Vec<String>> =
        about.get("enum").and_then(Value::as_array).map(|all| all.iter().map(Value::to_string).collect());
    if let Some(words) = words.filter(|words| !words.is_empty()) {
        return Kind::Words(words);
    }
    Kind::Rule(match about.get("type").and_then(Value::as_str) {
        Some("string") => "string",
        Some("integer") => "integer",
        Some("number") => "number",
        Some("boolean") => "boolean",
        Some("array") if about.pointer("/items/type").and_then(Value::as_str) == Some("string") => "strings",
        Some("array") => "array",
        Some("object") => "object",
        _ => "value",
    })
}

/// The grammar of a reply of somebody who has these tools.
pub(super) fn of(tools: &[ToolSchema]) -> String {
    let mut out = String::from("root ::= call | text\ncall ::= ");
    let names: Vec<String> = (0..tools.len()).map(|at| format!("tool{at}")).collect();
    out.push_str(&names.join(" | "));
    out.push('\n');
    for (rule, tool) in names.iter().zip(tools) {
        let _ = writeln!(out, "{rule} ::= {}", call(tool));
    }
    out.push_str(BASE);
    out
}

/// `{"tool": NAME, "arguments": {…}}`: required arguments in their order, then any of the others in theirs.
fn call(tool: &ToolSchema) -> String {
    let mut out = quoted(&format!("{{\"tool\": {}, \"arguments\": {{", Value::from(tool.name.as_str())));
    let fields = fields(&tool.parameters);
    let mut first = true;
    for field in fields.iter().filter(|field| field.required) {
        let _ = write!(out, " {}", pair(field, !std::mem::take(&mut first)));
    }
    let optional: Vec<&Field> = fields.iter().filter(|field| !field.required).collect();
    if first {
        let _ = write!(out, " {}", any(&optional));
    } else {
        for field in optional {
            let _ = write!(out, " ({})?", pair(field, true));
        }
    }
    let _ = write!(out, " {}", quoted("}}"));
    out
}

/// Any of these in their order, none of them too: whichever is first stands without a comma.
fn any(fields: &[&Field]) -> String {
    let starts = (0..fields.len()).map(|at| {
        let mut one = String::new();
        for (index, field) in fields.iter().enumerate().skip(at) {
            let _ = if index == at {
                write!(one, "{}", pair(field, false))
            } else {
                write!(one, " ({})?", pair(field, true))
            };
        }
        one
    });
    let starts: Vec<String> = starts.collect();
    if starts.is_empty() { "\"\"".to_owned() } else { format!("({})?", starts.join(" | ")) }
}

fn pair(field: &Field, comma: bool) -> String {
    let name = format!("{}{}: ", if comma { ", " } else { "" }, Value::from(field.name.as_str()));
    let value = match &field.kind {
        Kind::Rule(rule) => (*rule).to_owned(),
        Kind::Words(words) => {
            let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
            format!("({})", words.join(" | "))
        }
    };
    format!("{} {value}", quoted(&name))
}

/// A literal of the grammar.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
