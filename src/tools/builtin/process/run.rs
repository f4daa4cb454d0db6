//! What each action does, and its answer.

use super::{Action, KILL_WAIT, Order, WAIT_ENDED, WAIT_GOES_ON};
use crate::exec::{Exec, ExecError, ExitReason, LogState, Origin, ProcessId, ProcessState, Report, Sight};
use crate::protocol::Outcome;
use crate::tools::spec::{ToolCtx, ToolOutput};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

/// Carries an order out.
pub(super) async fn carry_out(order: &Order, ctx: &ToolCtx) -> Result<ToolOutput, ExecError> {
    let exec = &ctx.exec;
    let id = &order.id;
    // Another session's processes are none of this one's business.
    if order.action != Action::List && *exec.task_of(id)? != *ctx.task {
        return Err(ExecError::NotFound(id.clone()));
    }
    if order.action != Action::List {
        exec.reach(id).await?;
    }
    if order.action.touches() && !is_free(id, ctx).await? {
        let value = json!({ "status": "interrupted", "session_id": id.0 });
        let mut output = ToolOutput::json(&value).summary("stopped waiting");
        output.outcome = Outcome::Interrupted;
        return Ok(output);
    }
    match order.action {
        Action::List => Ok(list(exec, &ctx.task)),
        Action::Poll => {
            let report = exec.poll(id)?;
            let mut value = row(&report);
            value["output_preview"] = report.output.clone().into();
            Ok(told(&value, &report))
        }
        Action::Log => log(order, exec),
        Action::Wait => wait(order, ctx).await,
        Action::SendKeys => {
            exec.press(id, &order.keys)?;
            exec.settle(id).await?;
            screen(exec, id, order.keys.shown())
        }
        Action::Screen => screen(exec, id, String::new()),
        Action::Signal => {
            let sent = exec.signal(id, &order.data)?;
            let value = json!({ "status": "ok", "session_id": id.0, "signal": sent });
            Ok(ToolOutput::json(&value).summary(format!("{sent} sent")))
        }
        Action::Resize => {
            exec.resize(id, order.size)?;
            let value = json!({ "status": "ok", "session_id": id.0, "columns": order.size.0, "rows": order.size.1 });
            Ok(ToolOutput::json(&value).summary(format!("{}×{}", order.size.0, order.size.1)))
        }
        Action::Restart => restart(id, ctx).await,
        Action::HandOver => {
            let Some(parent) = ctx.kin.as_ref().and_then(|kin| kin.parent()) else {
                let value =
                    json!({ "status": "error", "error": "this session has no parent: the process stays yours" });
                let mut output = ToolOutput::json(&value).summary("no parent");
                output.outcome = Outcome::Failed;
                return Ok(output);
            };
            exec.hand_over(id, &parent.0)?;
            let value = json!({ "status": "ok", "session_id": id.0, "note": "your parent has it from now on" });
            Ok(ToolOutput::json(&value).summary("handed over"))
        }
        // What the Enter key sends; the terminal makes a line feed of it unless the program asked for keys.
        Action::Submit => write(exec, id, &format!("{}\r", order.data)),
        Action::Write => write(exec, id, &order.data),
        Action::Close => {
            exec.close_input(id)?;
            Ok(ToolOutput::json(&json!({ "status": "ok", "session_id": id.0 })).summary("input closed"))
        }
        Action::Kill => kill(exec, id, ctx).await,
    }
}

/// What would touch it waits until the person hands it back; `false`: the turn was stopped meanwhile.
async fn is_free(id: &ProcessId, ctx: &ToolCtx) -> Result<bool, ExecError> {
    tokio::select! {
        biased;
        free = ctx.exec.handed_back(id) => free.map(|()| true),
        () = ctx.cancel.cancelled() => Ok(false),
    }
}

fn log(order: &Order, exec: &Exec) -> Result<ToolOutput, ExecError> {
    let page = exec.log(&order.id, order.offset, order.limit)?;
    let shown = page.report.output.lines().count();
    let mut value = row(&page.report);
    value["output"] = page.report.output.clone().into();
    value["total_lines"] = page.total_lines.into();
    value["showing"] = format!("{} lines from line {}", shown, page.first_line).into();
    if page.omitted > 0 {
        value["omitted_bytes"] = page.omitted.into();
    }
    if let Some(spill) = &page.spill {
        value["full_log"] = spill.to_string_lossy().into();
    }
    let mut output = told(&value, &page.report);
    output.view.summary = format!("{shown} lines");
    Ok(output)
}

async fn restart(id: &ProcessId, ctx: &ToolCtx) -> Result<ToolOutput, ExecError> {
    // It was judged where commands run now, and would run on this machine.
    if ctx.backends.current().is_some() {
        return Err(ExecError::Elsewhere(id.clone()));
    }
    let sandbox = crate::tools::confine::sandbox(ctx);
    let running = ctx.exec.restart(id, sandbox.clone()).await?;
    let report = ctx.exec.last_output(id, 0)?;
    let mut value = row(&report);
    value["pid"] = running.pid.into();
    if let Some(sandbox) = sandbox {
        crate::tools::builtin::terminal::watched(&report.info, sandbox, running, Arc::clone(&ctx.agent));
    }
    Ok(ToolOutput::json(&value).summary("started again"))
}

fn write(exec: &Exec, id: &ProcessId, text: &str) -> Result<ToolOutput, ExecError> {
    exec.write(id, text.as_bytes())?;
    let value = json!({ "status": "ok", "session_id": id.0, "bytes_written": text.len() });
    Ok(ToolOutput::json(&value).summary(format!("{} bytes", text.len())))
}

/// What the terminal shows, with the keys that made it so.
fn screen(exec: &Exec, id: &ProcessId, keys: String) -> Result<ToolOutput, ExecError> {
    let report = exec.last_output(id, 0)?;
    let Sight { rows, size, cursor, title, alternate } = exec.sight(id)?;
    let text = rows.join("\n");
    let mut value = row(&report);
    if !keys.is_empty() {
        value["keys"] = keys.into();
    }
    value["screen"] = text.clone().into();
    value["columns"] = size.0.into();
    value["rows"] = size.1.into();
    if let Some((column, row)) = cursor {
        value["cursor"] = json!({ "row": row + 1, "column": column + 1 });
    }
    if !title.is_empty() {
        value["title"] = title.into();
    }
    if alternate {
        value["full_screen"] = true.into();
    }
    let mut output = told(&value, &report);
    output.view.output = text;
    Ok(output)
}

fn list(exec: &Exec, task: &str) -> ToolOutput {
    let reports: Vec<Report> = exec.list().into_iter().filter(|report| report.task == task).collect();
    let rows: Vec<Value> = reports
        .iter()
        .map(|report| {
            let mut value = row(report);
            let preview: Vec<char> = report.output.chars().collect();
            let preview: String = preview[preview.len().saturating_sub(200)..].iter().collect();
            value["output_preview"] = preview.into();
            value
        })
        .collect();
    let running = reports.iter().filter(|r| r.exit.is_none() || r.survivors).count();
    ToolOutput::json(&json!({ "processes": rows })).summary(format!("{running} running"))
}

async fn wait(order: &Order, ctx: &ToolCtx) -> Result<ToolOutput, ExecError> {
    let most = ctx.config.terminal.timeout;
    let limit = order.timeout.unwrap_or(most).min(most);
    let status = tokio::select! {
        biased;
        ended = ctx.exec.wait(&order.id) => ended.map(|()| "exited")?,
        () = ctx.cancel.cancelled() => "interrupted",
        passed = ctx.exec.time(&order.id, Duration::from_secs(limit)) => passed.map(|()| "timeout")?,
    };
    let characters = if status == "exited" { WAIT_ENDED } else { WAIT_GOES_ON };
    let report = ctx.exec.last_output(&order.id, characters)?;
    let mut value = row(&report);
    value["status"] = status.into();
    value["output"] = report.output.clone().into();
    if status == "timeout" && order.timeout.is_some_and(|t| t > most) {
        value["timeout_note"] = format!("waited {limit} s, the limit of one call").into();
    }
    let mut output = told(&value, &report);
    match status {
        "interrupted" => {
            output.outcome = Outcome::Interrupted;
            output.view.summary = "stopped waiting".into();
        }
        "timeout" => output.view.summary = "still running".into(),
        _ => {}
    }
    Ok(output)
}

async fn kill(exec: &Exec, id: &ProcessId, ctx: &ToolCtx) -> Result<ToolOutput, ExecError> {
    let before = exec.last_output(id, 0)?;
    if before.exit.is_some() && !before.survivors {
        return Err(ExecError::Ended(id.clone()));
    }
    exec.kill(id)?;
    let grace = Duration::try_from_secs_f64(ctx.config.terminal.daemon_term_grace_seconds).unwrap_or_default();
    // One for the interrupt, one for the order to end.
    let ended = tokio::time::timeout(grace * 2 + KILL_WAIT, exec.wait(id)).await;
    let report = exec.last_output(id, WAIT_GOES_ON)?;
    let mut value = row(&report);
    value["status"] = if ended.is_ok() { "killed" } else { "still_running" }.into();
    value["output"] = report.output.clone().into();
    let mut output = ToolOutput::json(&value).summary(if ended.is_ok() { "killed" } else { "still running" });
    output.view.output = report.output;
    Ok(output)
}

/// What every answer tells of a process.
fn row(report: &Report) -> Value {
    let command: String = report.info.command.chars().take(200).collect();
    let mut value = json!({
        "session_id": report.info.id.0,
        "command": command,
        "status": if report.exit.is_some() { "exited" } else { "running" },
        "pid": report.info.pid,
        "cwd": report.info.cwd.to_string_lossy(),
        "uptime_seconds": report.uptime.as_secs(),
    });
    if let Some(exit) = &report.exit {
        value["exit_code"] = exit.code.into();
        value["completion_reason"] = match exit.reason {
            ExitReason::Exited => "exited",
            ExitReason::Signalled => "signalled",
            ExitReason::TimedOut => "timeout",
            ExitReason::Stopped | ExitReason::Killed => "killed",
            ExitReason::Unwatched => "unwatched",
            ExitReason::Unseen => "lost",
            ExitReason::HungUp => "window_closed",
        }
        .into();
    }
    if report.survivors {
        value["survivors"] = true.into();
    }
    vitals(&mut value, report);
    if report.info.state == ProcessState::NeedsInput {
        value["waiting_for_input"] = true.into();
    }
    if report.info.state == ProcessState::Stopped {
        value["stopped"] = true.into();
    }
    if report.typed {
        value["note"] = "the user typed into this process's terminal".into();
    }
    if let Some(port) = report.info.port {
        value["port"] = port.into();
    }
    value
}

/// How it is: what it uses, how long it is silent, its earlier runs, its log.
fn vitals(value: &mut Value, report: &Report) {
    let vitals = &report.info.vitals;
    if let Some(place) = &vitals.place {
        value["on"] = (**place).into();
    }
    if let Some(usage) = vitals.usage.filter(|_| report.exit.is_none()) {
        value["cpu_percent"] = usage.processor.into();
        value["memory_mib"] = (usage.memory / (1024 * 1024)).into();
        value["processes"] = usage.processes.into();
    }
    if let Some(silent) = report.silent.filter(|_| report.exit.is_none()) {
        value["silent_seconds"] = silent.as_secs().into();
    }
    if !report.exits.is_empty() {
        value["restarts"] = report.exits.len().into();
        value["earlier_exit_codes"] = report.exits.iter().map(|exit| exit.code).collect::<Vec<_>>().into();
    }
    match vitals.origin {
        Origin::Ours => {}
        Origin::Earlier => value["detached"] = true.into(),
        Origin::Elsewhere => {
            value["status"] = "unknown".into();
            let why = vitals.unreachable.as_deref().unwrap_or("on another host: kill it there");
            value["elsewhere"] = why.into();
        }
    }
    match vitals.log {
        LogState::Whole => {}
        LogState::Full => value["log_note"] = "the log file is full: it has the start; the end is in memory".into(),
        LogState::Failed => {
            value["log_note"] = "the disk is full: only the start and end are kept, in memory".into();
        }
    }
}

fn told(value: &Value, report: &Report) -> ToolOutput {
    let summary = match &report.exit {
        None => "running".to_owned(),
        Some(exit) => format!("exit {}", exit.code),
    };
    let mut output = ToolOutput::json(value).summary(summary);
    output.view.output.clone_from(&report.output);
    output.view.exit_code = report.exit.as_ref().map(|exit| exit.code);
    output
}
