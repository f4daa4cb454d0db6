//! Tools: what they are (`spec`), which exist (`registry`), which a session may use (`toolset`), and the one way a call
//! is run (`gate`: plan, decide, ask, run). One file a tool.

pub mod alias;
mod binary;
pub mod bound;
pub mod catalog;
mod check;
pub mod clarify;
pub mod coerce;
pub mod confine;
pub mod dispatch;
pub mod document;
pub mod file;
pub mod gate;
mod gutter;
pub mod hook;
pub mod line;
pub mod listing;
pub mod output_budget;
pub mod parallel;
pub mod patch;
pub mod paths;
pub mod process;
pub mod read_file;
pub mod registry;
pub mod repair;
pub mod rulebook;
pub mod search_files;
pub mod similarity;
pub mod spec;
pub mod targets;
pub mod terminal;
#[cfg(test)]
pub(crate) mod testing;
pub mod todo;
pub mod tool_call;
pub mod tool_describe;
pub mod tool_search;
pub mod tool_selection;
pub mod toolset;
pub mod wording;
pub mod world;
pub mod write_file;

use paths::Place;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use spec::{Access, Parallel, ToolCtx, ToolError, ToolSpec, Verbs};
use std::borrow::Cow;
use std::sync::Arc;

/// Characters of a result that the model gets from a tool that names no cap of its own.
pub const OUTPUT_CAP: usize = 100_000;

/// The spec of a built-in tool that needs nothing from outside.
#[allow(clippy::too_many_arguments, reason = "one call a tool, each value named by its type")]
fn built_in(
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
        output_cap: OUTPUT_CAP,
        pinned: true,
    }
}

/// The arguments of tool `name` in their type; the error names the parameter.
fn parse<T: DeserializeOwned>(name: &str, args: Value) -> Result<T, ToolError> {
    serde_json::from_value(args).map_err(|error| ToolError::Args(format!("invalid arguments for {name}: {error}")))
}

/// Runs work that blocks off the async threads. A panic in it goes on in the caller.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, ToolError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => Ok(done),
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        Err(_) => Err(ToolError::Interrupted),
    }
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
