//! `terminal`: runs a shell command, in the foreground or as a background process.

mod background;
mod gap;
mod guard;
mod held;
mod meaning;
mod output;
mod result;
mod run;
mod scan;
mod sudo;
mod summary;
mod waits;

pub use background::rewrite_compound;
pub use guard::{foreground_guidance, validate_workdir};
pub use meaning::exit_code_meaning;
pub(crate) use run::watched;
pub use sudo::rewrite_sudo;
pub use summary::{one_line, shell_summary};

use crate::backends::{Kind, Remote};
use crate::lock::lock;
use crate::policy::Intent;
use crate::tools::spec::{Access, Call, Content, Parallel, Tool, ToolCtx, ToolError, ToolOutput, ToolSpec, Verbs};
use futures::future::BoxFuture;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The tool's name.
pub const NAME: &str = "terminal";
/// The toolset of all that runs commands.
pub(super) const TOOLSET: &str = NAME;

/// The tool.
pub struct Terminal {
    spec: ToolSpec,
}

/// The tool, for the registry.
pub fn terminal() -> Arc<dyn Tool> {
    let spec = super::built_in(
        NAME,
        TOOLSET,
        "💻",
        include_str!("../../../assets/tools/terminal.md"),
        json!({
            "type": "object",
            "properties": {
                "command": {"type": "string"},
                "background": {"type": "boolean", "default": false},
                "timeout": {"type": "integer", "minimum": 1},
                "workdir": {"type": "string"},
                "pty": {"type": "boolean", "default": false},
                "notify_on_complete": {"type": "boolean", "default": false},
                "watch_patterns": {"type": "array", "items": {"type": "string"}}
            },
            "required": ["command"]
        }),
        Access::Execute,
        Verbs::new("running", "ran"),
        Parallel::Never,
    );
    Arc::new(Terminal { spec: ToolSpec { content: Content::Command, output_cap: usize::MAX, ..spec } })
}

impl Tool for Terminal {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn target(&self, args: &Value) -> String {
        super::first_line_of(args, "command")
    }

    fn plan<'a>(&'a self, args: Value, ctx: &'a ToolCtx) -> BoxFuture<'a, Result<Box<dyn Call>, ToolError>> {
        Box::pin(async move {
            let ctx = ctx.clone();
            // Another machine is asked whether its folder is there.
            let call = crate::tools::blocking(move || plan(&args, &ctx)).await??;
            Ok(Box::new(call) as Box<dyn Call>)
        })
    }
}

/// A planned command. Its line, folder and whether it goes to the background stand in the intent alone: what was judged is
/// what runs.
struct Command {
    intent: Intent,
    options: Options,
}

/// What the judged intent becomes when it runs.
struct Execution {
    line: String,
    cwd: PathBuf,
    background: bool,
    options: Options,
}

/// What bears on the run of a command and not on its judgement.
struct Options {
    /// The task's folder, which the one that the command leaves behind replaces; `None`: the folder is for this command only.
    here: Option<PathBuf>,
    /// The machine that it is for; `None`: this one. It runs nowhere else.
    there: Option<Arc<Remote>>,
    timeout: u64,
    pty: bool,
    notify: bool,
    patterns: Vec<String>,
}

fn plan(args: &Value, ctx: &ToolCtx) -> Result<Command, ToolError> {
    crate::tools::input::paths::ready(ctx)?;
    let there = ctx.backends.current();
    let line = match args.get("command") {
        Some(Value::String(line)) if !line.trim().is_empty() => line.clone(),
        Some(Value::String(_)) | None => return Err(ToolError::Args("`command` is missing or empty".into())),
        Some(_) => return Err(ToolError::Args("`command` must be a string".into())),
    };
    if line.contains('\0') {
        return Err(ToolError::Args("`command` contains a NUL character, which no shell accepts".into()));
    }
    let flag = |name: &str| args.get(name).and_then(Value::as_bool).unwrap_or(false);
    let (background, pty) = (flag("background"), flag("pty"));
    let limits = &ctx.config.terminal;
    let timeout = match args.get("timeout") {
        None | Some(Value::Null) => limits.timeout,
        Some(value) => value
            .as_u64()
            .or_else(|| value.as_f64().filter(|n| *n >= 1.0).map(|n| n as u64))
            .filter(|n| *n > 0)
            .ok_or_else(|| ToolError::Args("`timeout` must be a whole number of seconds, at least 1".into()))?,
    };
    if !background && timeout > limits.max_foreground_timeout {
        return Err(ToolError::Args(format!(
            "Foreground timeout {timeout}s exceeds the maximum of {}s. Use background=true with \
             notify_on_complete=true for long-running commands.",
            limits.max_foreground_timeout
        )));
    }
    if !background && let Some(advice) = foreground_guidance(&line) {
        return Err(ToolError::Failed(advice.into()));
    }
    let here = lock(&ctx.cwd).clone();
    let workdir = args.get("workdir").and_then(Value::as_str).filter(|w| !w.is_empty());
    let lost = !is_dir(&here, ctx);
    let cwd = match workdir {
        // Nowhere else: the line was written for that folder.
        None if lost => return Err(ToolError::Failed(gone(&here))),
        None => here.clone(),
        Some(workdir) => folder(workdir, &here, ctx)?,
    };
    let here = (workdir.is_none() || lost).then_some(here);
    let mut patterns: Vec<String> = args
        .get("watch_patterns")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(|p| p.as_str().filter(|p| !p.is_empty()).map(str::to_owned))
        .collect();
    let notify = flag("notify_on_complete");
    if notify || !background {
        patterns.clear();
    }
    // In the middle of a line the braces would need a separator after them: only a chain at the end is rewritten.
    let line = if line.trim_end().ends_with('&') { rewrite_compound(&line) } else { line };
    let options = Options { here, there, timeout, pty, notify, patterns };
    Ok(Command { intent: Intent::Command { line, cwd, background }, options })
}

/// Why nothing runs in a folder that is no more, and how to go on.
fn gone(folder: &Path) -> String {
    format!(
        "the working folder {} no longer exists: nothing was run. Recreate it, or pass an existing workdir: it becomes the working folder",
        folder.display()
    )
}

fn is_dir(path: &Path, ctx: &ToolCtx) -> bool {
    ctx.disk().about(path).is_ok_and(|about| about.kind == Kind::Folder)
}

/// The folder that `workdir` names.
fn folder(workdir: &str, here: &Path, ctx: &ToolCtx) -> Result<PathBuf, ToolError> {
    validate_workdir(workdir).map_err(ToolError::Failed)?;
    let path = match workdir.strip_prefix('~') {
        Some("") => ctx.world.home(),
        Some(rest) if rest.starts_with('/') => ctx.world.home().join(&rest[1..]),
        _ => here.join(workdir),
    };
    if is_dir(&path, ctx) {
        Ok(path)
    } else {
        Err(ToolError::Failed(format!("workdir {} is not a folder: create it first or omit workdir", path.display())))
    }
}

impl Call for Command {
    fn intent(&self) -> &Intent {
        &self.intent
    }

    fn target(&self) -> String {
        match &self.intent {
            Intent::Command { line, .. } => one_line(line),
            _ => String::new(),
        }
    }

    fn run(self: Box<Self>, ctx: ToolCtx) -> BoxFuture<'static, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let Self { intent: Intent::Command { line, cwd, background }, options } = *self else {
                return Err(ToolError::Failed("no command was planned: nothing was run".into()));
            };
            run::run(Execution { line, cwd, background, options }, ctx).await
        })
    }
}

#[cfg(test)]
mod tests;
