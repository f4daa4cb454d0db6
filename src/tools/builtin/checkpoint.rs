//! The `checkpoint` tool: the working folder and the conversation as they are now, under a name.

use crate::checkpoints::{Named, Shelf, Workspace};
use crate::policy::Intent;
use crate::tools::file::history::FileHistory;
use crate::tools::spec::{Access, Call, Parallel, Tool, ToolCtx, ToolError, ToolOutput, ToolSpec, Verbs};
use futures::future::BoxFuture;
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

/// The tool's name.
pub const NAME: &str = "checkpoint";
/// The toolset of both tools.
pub(super) const TOOLSET: &str = "checkpoints";
/// How long a large folder may take to be looked at for the first time.
const LONGEST: Duration = Duration::from_secs(120);

/// The tool.
pub struct Checkpoint;

static SPEC: LazyLock<ToolSpec> = LazyLock::new(|| {
    super::built_in(
        NAME,
        TOOLSET,
        "📌",
        include_str!("../../../assets/tools/checkpoint.md"),
        json!({"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}),
        Access::Agent,
        Verbs::new("saving", "saved"),
        Parallel::Never,
    )
});

/// The argument of both tools.
#[derive(Deserialize)]
pub(super) struct Args {
    pub name: String,
}

/// What both tools work with: the history of the session and its folder, looked at as a whole. Blocks.
pub(super) fn ready(ctx: &ToolCtx) -> Result<(FileHistory, Arc<Workspace>), ToolError> {
    if ctx.backends.current().is_some() {
        return Err(ToolError::Failed("checkpoints work on this machine only, not on another backend".into()));
    }
    let no_session = || ToolError::Failed("there is no conversation whose folder could be saved".into());
    let history = ctx.history.clone().ok_or_else(no_session)?;
    let workspace = Arc::clone(&history.workspace);
    workspace.prepare();
    match workspace.ready(LONGEST) {
        Ok(true) => Ok((history, workspace)),
        Ok(false) => Err(ToolError::Failed("the folder is still being read; try again in a minute".into())),
        Err(why) => Err(ToolError::Failed(why)),
    }
}

impl Tool for Checkpoint {
    fn spec(&self) -> &ToolSpec {
        &SPEC
    }

    fn plan<'a>(&'a self, args: Value, _: &'a ToolCtx) -> BoxFuture<'a, Result<Box<dyn Call>, ToolError>> {
        Box::pin(async move {
            let args: Args = super::parse(NAME, args)?;
            Ok(Box::new(CheckpointCall { name: args.name }) as Box<dyn Call>)
        })
    }
}

struct CheckpointCall {
    name: String,
}

impl Call for CheckpointCall {
    fn intent(&self) -> &Intent {
        &Intent::Talk
    }

    fn target(&self) -> String {
        self.name.clone()
    }

    fn run(self: Box<Self>, ctx: ToolCtx) -> BoxFuture<'static, Result<ToolOutput, ToolError>> {
        Box::pin(async move { crate::tools::blocking(move || save(&self.name, &ctx)).await? })
    }
}

fn save(name: &str, ctx: &ToolCtx) -> Result<ToolOutput, ToolError> {
    let (history, workspace) = ready(ctx)?;
    let named = Named::new(name, Some(&history.session.0), history.item.0, &workspace);
    Shelf::new(&history.home).add(&named).map_err(|error| ToolError::Failed(error.to_string()))?;
    let files = crate::text::format::plural(named.files.len() as u64, "file", "files");
    let mut result = json!({"checkpoint": name, "files": named.files.len()});
    if !named.left_out.is_empty() {
        result["not_saved"] = json!(named.left_out);
    }
    Ok(ToolOutput::json(&result).summary(files))
}
