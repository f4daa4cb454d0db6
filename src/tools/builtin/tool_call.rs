//! The `tool_call` tool: a wrapper around a call of a tool that does not stand in the request. Before anything looks at a
//! call it is unwrapped, so that gate, hooks, items and the screen see the tool that runs.

use crate::tools::spec::{Access, Call, Parallel, Tool, ToolCtx, ToolError, ToolSpec, Verbs};
use futures::future::BoxFuture;
use serde_json::{Value, json};
use std::sync::LazyLock;

/// The tool's name.
pub const NAME: &str = crate::llm::inner::WRAPPER;
/// Wrappers in wrappers that are taken off.
const DEPTH: usize = 4;

/// The tool.
pub struct ToolCall;

static SPEC: LazyLock<ToolSpec> = LazyLock::new(|| {
    super::built_in(
        NAME,
        super::tool_search::NAME,
        "🔌",
        include_str!("../../../assets/tools/tool_call.md"),
        json!({
            "type": "object",
            "properties": {"name": {"type": "string"}, "arguments": {"type": "object"}},
            "required": ["name", "arguments"]
        }),
        Access::Execute,
        Verbs::new("calling", "called"),
        Parallel::Never,
    )
});

/// The name and arguments inside; `None` for any other tool, and for a wrapper that holds no name.
pub fn unwrap(name: &str, args: &str) -> Option<(String, String)> {
    let mut found: Option<(String, String)> = None;
    for _ in 0..DEPTH {
        let (name, args) = found.as_ref().map_or((name, args), |(name, args)| (name, args));
        if name.trim().rsplit(['.', ':', '/']).next() != Some(NAME) {
            break;
        }
        let Ok(Value::Object(mut fields)) = serde_json::from_str(args) else { break };
        let Some(Value::String(inner)) = fields.remove("name").filter(|name| name != "") else { break };
        let arguments = match fields.remove("arguments") {
            Some(Value::String(text)) => text,
            Some(Value::Null) | None => "{}".to_owned(),
            Some(value) => value.to_string(),
        };
        found = Some((inner, arguments));
    }
    found
}

impl Tool for ToolCall {
    fn spec(&self) -> &ToolSpec {
        &SPEC
    }

    /// Only what could not be unwrapped comes here.
    fn plan<'a>(&'a self, _: Value, _: &'a ToolCtx) -> BoxFuture<'a, Result<Box<dyn Call>, ToolError>> {
        Box::pin(async { Err(ToolError::Args("`name` must be a tool's name and `arguments` an object".into())) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrappers_come_off() {
        for (name, args, want) in [
            ("tool_call", r#"{"name":"a","arguments":{"x":1}}"#, Some(("a", r#"{"x":1}"#))),
            ("functions.tool_call", r#"{"name":"a","arguments":"{\"x\":1}"}"#, Some(("a", r#"{"x":1}"#))),
            ("tool_call", r#"{"name":"a"}"#, Some(("a", "{}"))),
            ("tool_call", r#"{"name":"a","arguments":null}"#, Some(("a", "{}"))),
            ("tool_call", r#"{"name":"tool_call","arguments":{"name":"b","arguments":{}}}"#, Some(("b", "{}"))),
            ("tool_call", r#"{"name":"tool_call","arguments":{}}"#, Some(("tool_call", "{}"))),
            ("tool_call", r#"{"arguments":{}}"#, None),
            ("tool_call", r#"{"name":""}"#, None),
            ("tool_call", "broken", None),
            ("terminal", r#"{"name":"a","arguments":{}}"#, None),
        ] {
            let want = want.map(|(name, args)| (name.to_owned(), args.to_owned()));
            assert_eq!(unwrap(name, args), want, "{name} {args}");
        }
    }
}
