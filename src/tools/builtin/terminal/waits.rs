//! A foreground command that waits for input which the model could give: the call returns, the command goes on.

use super::output;
use crate::exec::Running;
use crate::tools::spec::{ToolCtx, ToolOutput};
use serde_json::json;
use std::path::Path;

/// The result of a command that waits for input and goes on as a background process.
pub(super) fn told(running: &Running, ctx: &ToolCtx, file: &Path) -> ToolOutput {
    let screen = ctx.exec.last_screen(&running.id).unwrap_or_default();
    // One that has ended just now says so to whoever asks for it.
    if let Err(error) = ctx.exec.background(&running.id) {
        tracing::debug!("{error}");
    }
    let output = output::present(&running.captured(), &output::most(ctx, &screen), file);
    let mut value = json!({
        "output": output,
        "session_id": running.id.0,
        "pid": running.pid,
        "exit_code": null,
        "error": null,
        "waiting_for_input": true,
        "hint": "it is waiting for input, running in background: answer with `process` (submit), or kill it",
    });
    // A prompt, a menu, an editor: what the terminal shows may not be what was printed.
    if !output.trim_end().ends_with(screen.trim_end()) {
        value["screen"] = screen.clone().into();
    }
    let mut result = ToolOutput::json(&value).summary("waiting for input");
    result.view.output = if output.is_empty() { screen } else { output };
    result
}

/// What a result says when the person typed into the command: that, and never what.
pub(super) const TYPED: &str = "the user typed into this command's terminal";
