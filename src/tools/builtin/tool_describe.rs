//! The `tool_describe` tool: all about one tool that does not stand in the request.

use crate::tools::offer::selection::{VisibleTools, fixed};
use crate::tools::spec::{Access, Call, Parallel, Tool, ToolCtx, ToolError, ToolOutput, ToolSpec, Verbs};
use futures::future::BoxFuture;
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::LazyLock;

/// The tool's name.
pub const NAME: &str = "tool_describe";
/// The tool.
pub struct ToolDescribe;

static SPEC: LazyLock<ToolSpec> = LazyLock::new(|| {
    super::built_in(
        NAME,
        super::tool_search::NAME,
        "📖",
        include_str!("../../../assets/tools/tool_describe.md"),
        json!({"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}),
        Access::Agent,
        Verbs::new("looking up", "looked up"),
        Parallel::Always,
    )
});

#[derive(Deserialize)]
struct Args {
    name: String,
}

impl Tool for ToolDescribe {
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
            let tool = among.meant(&args.name).ok_or_else(|| ToolError::Args(among.unknown(&args.name)))?;
            let spec = tool.spec();
            let result = json!({
                "name": spec.name,
                "toolset": spec.toolset,
                "description": spec.description,
                "parameters": *spec.schema,
            });
            Ok(fixed(spec.name.to_string(), ToolOutput::json(&result)))
        })
    }
}
