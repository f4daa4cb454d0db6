//! The tools of the program, one file each, and what those files share.

pub mod agents;
pub mod checkpoint;
pub mod clarify;
pub mod delegate_task;
pub mod execute_code;
pub mod patch;
pub mod plan_mode;
pub mod process;
pub mod read_file;
pub mod restore;
pub mod search_files;
pub mod session_search;
pub mod terminal;
pub mod todo;
pub mod tool_call;
pub mod tool_describe;
pub mod tool_search;
pub mod write_file;

use super::input::paths::{self, Place};
use super::spec::{Access, Content, OUTPUT_CAP, Parallel, ToolCtx, ToolError, ToolSpec, Verbs};
use crate::protocol::CallRow;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::sync::Arc;

/// The spec of a built-in tool that needs nothing from outside.
#[allow(clippy::too_many_arguments, reason = "one call a tool, each value named by its type")]
pub(super) fn built_in(
    name: &'static str,
    toolset: &'static str,
    emoji: &'static str,
    description: &'static str,
    schema: Value,
    access: Access,
    verbs: Verbs,
    parallel: Parallel,
) -> ToolSpec {
    ToolSpec {
        name: Cow::Borrowed(name),
        toolset: Cow::Borrowed(toolset),
        emoji: Cow::Borrowed(emoji),
        description: Cow::Borrowed(description.trim_ascii()),
        schema: Arc::new(schema),
        access,
        requires_env: Vec::new(),
        check: None,
        verbs,
        parallel,
        content: Content::default(),
        row: CallRow::default(),
        repeats: false,
        lenient: &[],
        output_cap: OUTPUT_CAP,
        pinned: true,
    }
}

/// The arguments of tool `name` in their type; the error names the parameter.
fn parse<T: DeserializeOwned>(name: &str, args: Value) -> Result<T, ToolError> {
    serde_json::from_value(args).map_err(|error| ToolError::Args(format!("invalid arguments for {name}: {error}")))
}

/// A text among the arguments as they were written; empty where there is none.
fn text<'a>(args: &'a Value, key: &str) -> &'a str {
    args.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// The first line of such a text.
fn first_line_of(args: &Value, key: &str) -> String {
    text(args, key).trim().lines().next().unwrap_or_default().to_owned()
}

/// The result for a file that is not there, with what may have been meant.
fn not_found(place: &Place, ctx: &ToolCtx) -> ToolError {
    let similar = paths::similar_files(&place.path, &*ctx.disk());
    let mut result = json!({"error": format!("file not found: {}", place.shown)});
    if !similar.is_empty() {
        result["similar_files"] = json!(similar);
    }
    ToolError::Detailed(result.to_string())
}

#[cfg(test)]
mod tests;
