//! What the model and the screen are told of a command.

use super::{Execution, exit_code_meaning, output, waits};
use crate::exec::{ExitReason, Finished, Running};
use crate::lock::lock;
use crate::protocol::Outcome;
use crate::tools::spec::{ToolCtx, ToolOutput};
use serde_json::json;

/// Variables that a result names at most.
const NAMED: usize = 12;

/// Of one in the background: that it runs, and how to reach it.
pub(super) fn started(command: &Execution, runs: Option<&str>, running: &Running, ctx: &ToolCtx) -> ToolOutput {
    let mut value = json!({
        "output": "Background process started",
        "session_id": running.id.0,
        "pid": running.pid,
        "exit_code": 0,
        "error": null,
    });
    if command.options.notify {
        value["notify_on_complete"] = true.into();
    }
    if !command.options.patterns.is_empty() {
        value["watch_patterns"] = command.options.patterns.clone().into();
    }
    if let Some(runs) = runs {
        value["ran"] = runs.into();
    }
    if let Some(there) = &command.options.there {
        value["on"] = there.label().into();
    }
    if ctx.exec.headless() || command.options.there.is_some() && !command.options.pty {
        value["hint"] = "standard input is closed: it can't take input".into();
    }
    ToolOutput::json(&value).summary("started")
}

/// Of one that has ended: what it printed (`output`), how it ended, and what it changed for those that follow.
pub(super) fn finished(
    command: &Execution,
    runs: Option<&str>,
    ctx: &ToolCtx,
    running: &Running,
    finished: Finished,
    mut output: String,
) -> ToolOutput {
    let Finished { exit, output: captured, cwd_after, not_kept, lost, survivors } = finished;
    let shown = output::summary(&captured, &output);
    match exit.reason {
        ExitReason::TimedOut => append(&mut output, &format!("[Command timed out after {}s]", command.options.timeout)),
        ExitReason::Stopped => append(&mut output, "[Command interrupted]"),
        ExitReason::Killed => append(&mut output, "[Command killed by the user]"),
        ExitReason::Unwatched => append(&mut output, "[Command killed: it could no longer be watched]"),
        ExitReason::Exited | ExitReason::Signalled | ExitReason::Unseen | ExitReason::HungUp => {}
    }
    let mut value = json!({ "output": output, "exit_code": exit.code, "error": null });
    if let Some(runs) = runs {
        value["ran"] = runs.into();
    }
    if running.was_typed_into() {
        value["note"] = waits::TYPED.into();
    } else if output.is_empty() && captured.total > 0 {
        value["note"] = "it drew on the alternate screen or erased its output: nothing remains".into();
    }
    let notes = command.options.there.as_ref().map(|there| there.notes()).unwrap_or_default();
    if !notes.is_empty() {
        value["backend_note"] = notes.join("; ").into();
    }
    if let Some(meaning) = exit_code_meaning(&command.line, exit.code).filter(|_| exit.reason == ExitReason::Exited) {
        value["exit_code_meaning"] = meaning.into();
    }
    if let Some(cwd) = cwd_after.filter(|cwd| command.options.here.as_ref().is_some_and(|here| here != cwd)) {
        value["cwd"] = cwd.to_string_lossy().into();
        *lock(&ctx.cwd) = cwd;
    }
    if !not_kept.is_empty() {
        value["not_kept"] = not_kept.into_iter().take(NAMED).collect::<Vec<_>>().into();
        value["not_kept_why"] = "they make programs run code: set them in the command that needs them".into();
    }
    if survivors {
        value["session_id"] = running.id.0.clone().into();
        value["hint"] =
            "something it started is still running; `process` can read and kill it by this session_id".into();
    }
    if let Some(lost) = &lost {
        value["error"] = lost.why.clone().into();
    }
    let mut result = ToolOutput::json(&value);
    result.outcome = match exit.reason {
        ExitReason::Stopped => Outcome::Interrupted,
        _ if exit.code != 0 => Outcome::Failed,
        _ => Outcome::Ok,
    };
    result.view.summary = match exit.reason {
        ExitReason::Stopped => "stopped".into(),
        ExitReason::TimedOut => match &lost {
            Some(lost) => format!("timed out after {} s, {}", command.options.timeout, lost.short),
            None => format!("timed out after {} s", command.options.timeout),
        },
        ExitReason::Killed => "killed".into(),
        _ if lost.is_some() => lost.map(|lost| lost.short.to_owned()).unwrap_or_default(),
        _ if exit.code != 0 => format!("exit {}", exit.code),
        _ => shown,
    };
    result.view.exit_code = Some(exit.code);
    result.view.output = output;
    result
}

/// Of one that was to end with the turn and has not.
pub(super) fn interrupted(output: &str) -> ToolOutput {
    let mut output = output.to_owned();
    append(&mut output, "[Command interrupted; it has not exited yet]");
    let mut result = ToolOutput::json(&json!({ "output": output, "exit_code": 130, "error": null })).summary("stopped");
    result.outcome = Outcome::Interrupted;
    result.view.exit_code = Some(130);
    result.view.output = output;
    result
}

/// Of one that was to end at its time limit and has not: it may hang in the kernel.
pub(super) fn late(output: &str, limit: u64, id: &str, pid: u32) -> ToolOutput {
    let mut output = output.to_owned();
    append(&mut output, &format!("[Command timed out after {limit}s and was signalled; it has not exited yet]"));
    let value = json!({ "output": output, "session_id": id, "pid": pid, "exit_code": 124, "error": null });
    let mut result = ToolOutput::json(&value).summary(format!("timed out after {limit} s, still exiting"));
    result.outcome = Outcome::Failed;
    result.view.exit_code = Some(124);
    result.view.output = output;
    result
}

/// Of one that the person sent to the background.
pub(super) fn moved(output: String, running: &Running) -> ToolOutput {
    let mut value = json!({
        "output": output,
        "session_id": running.id.0,
        "pid": running.pid,
        "exit_code": null,
        "error": null,
        "hint": "moved to the background by the user and still running; use `process`; you will be notified when it exits",
    });
    if running.was_typed_into() {
        value["note"] = waits::TYPED.into();
    }
    if running.was_stopped() {
        value["stopped"] = true.into();
        value["hint"] =
            "stopped by the user with Ctrl-Z and moved to the background: paused until they resume it or `process` sends it CONT; you will be notified when it exits"
                .into();
    }
    let summary = if running.was_stopped() { "stopped" } else { "running in background" };
    let mut result = ToolOutput::json(&value).summary(summary);
    result.view.output = output;
    result
}

fn append(output: &mut String, line: &str) {
    if !output.is_empty() {
        output.push('\n');
    }
    output.push_str(line);
}
