//! The `tool_search` tool: finds tools that do not stand in the request.

use crate::tools::offer::catalog;
use crate::tools::offer::selection::{VisibleTools, fixed};
use crate::tools::spec::{Access, Call, Parallel, Tool, ToolCtx, ToolError, ToolOutput, ToolSpec, Verbs};
use futures::future::BoxFuture;
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::LazyLock;

/// The tool's name.
pub const NAME: &str = "tool_search";
/// The tool.
pub struct ToolSearch;

static SPEC: LazyLock<ToolSpec> = LazyLock::new(|| {
    super::built_in(
        NAME,
        NAME,
        "🔍",
        include_str!("../../../assets/tools/tool_search.md"),
        json!({
            "type": "object",
            "properties": {
                "query": {"type": "string", "description": "What it should do, or part of its name"},
                "limit": {"type": "integer", "minimum": 1}
            },
            "required": ["query"]
        }),
        Access::Agent,
        Verbs::new("looking for tools", "looked for tools"),
        Parallel::Always,
    )
});

#[derive(Deserialize)]
struct Args {
    query: String,
    limit: Option<usize>,
}

impl Tool for ToolSearch {
    fn spec(&self) -> &ToolSpec {
        &SPEC
    }

    fn plan_among<'a>(
        &'a self,
        args: Value,
        among: &'a VisibleTools,
        _: &'a ToolCtx,
    ) -> BoxFuture<'a, Result<Box<dyn Call>, ToolError>> {
        Box::pin(async move {
            let args: Args = super::parse(NAME, args)?;
            let (usual, most) = among.limits;
            let all: Vec<&ToolSpec> = among.specs().filter(|spec| !spec.pinned).collect();
            let found = catalog::search(&args.query, &all, args.limit.unwrap_or(usual).clamp(1, most));
            let mut result = json!({
                "tools": found.iter().map(|spec| catalog::found(spec)).collect::<Vec<_>>(),
                "searched": all.len(),
            });
            if found.is_empty() {
                result["hint"] = "no matches; try other words, or an empty query".into();
            }
            let summary = format!("{} of {}", found.len(), all.len());
            Ok(fixed(args.query, ToolOutput::json(&result).summary(summary)))
        })
    }
}
