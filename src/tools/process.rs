//! `process`: reads, types into, waits for and ends background processes.

use super::spec::{Access, Call, Parallel, Tool, ToolCtx, ToolError, ToolOutput, ToolSpec, Verbs};
use crate::exec::{Exec, ExecError, ExitReason, ProcessId, Report};
use crate::llm::message::Outcome;
use crate::policy::Intent;
use futures::future::BoxFuture;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

/// Lines that `log` gives unless told otherwise.
const LOG_LINES: usize = 200;
/// Characters of output after a wait that ended, and after one that did not.
const WAIT_ENDED: usize = 2000;
const WAIT_GOES_ON: usize = 1000;
/// How long a killed process may take beyond its grace before it is reported as still running.
const KILL_WAIT: Duration = Duration::from_secs(2);

/// The tool.
pub struct ProcessTool {
    spec: ToolSpec,
}

/// The tool, for the registry.
pub fn process() -> Arc<dyn Tool> {
    Arc::new(ProcessTool {
        spec: ToolSpec {
            name: "process".into(),
            toolset: "terminal".into(),
            emoji: "📟".into(),
            description: include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/assets/tools/process.md"))
                .trim_end()
                .into(),
            schema: Arc::new(json!({
                "type": "object",
                "properties": {
                    "action": {"type": "string", "enum": ["list", "poll", "log", "wait", "write", "submit", "kill", "close"]},
                    "session_id": {"type": "string"},
                    "data": {"type": "string"},
                    "timeout": {"type": "integer", "minimum": 1},
                    "offset": {"type": "integer"},
                    "limit": {"type": "integer", "minimum": 1}
                },
                "required": ["action"]
            })),
            access: Access::Execute,
            requires_env: Vec::new(),
            check: None,
            verbs: Verbs::new("asking processes", "asked processes"),
            parallel: Parallel::Never,
            output_cap: 100_000,
            pinned: true,
        },
    })
}

impl Tool for ProcessTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn plan<'a>(&'a self, args: Value, _: &'a ToolCtx) -> BoxFuture<'a, Result<Box<dyn Call>, ToolError>> {
        Box::pin(async move { plan(&args).map(|call| Box::new(call) as Box<dyn Call>) })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    List,
    Poll,
    Log,
    Wait,
    Write,
    Submit,
    Kill,
    Close,
}

struct Order {
    action: Action,
    id: ProcessId,
    data: String,
    timeout: Option<u64>,
    offset: Option<usize>,
    limit: usize,
    intent: Intent,
}

fn plan(args: &Value) -> Result<Order, ToolError> {
    let word = args.get("action").and_then(Value::as_str).unwrap_or("");
    let action = match word {
        "list" => Action::List,
        "poll" => Action::Poll,
        "log" => Action::Log,
        "wait" => Action::Wait,
        "write" => Action::Write,
        "submit" => Action::Submit,
        "kill" => Action::Kill,
        "close" => Action::Close,
        _ => {
            return Err(ToolError::Args(format!(
                "unknown action `{word}`: use list, poll, log, wait, write, submit, kill or close"
            )));
        }
    };
    let id = args.get("session_id").and_then(Value::as_str).unwrap_or("").trim();
    if action != Action::List && id.is_empty() {
        return Err(ToolError::Args(format!("`session_id` is required for {word}; `list` shows them")));
    }
    let data = match args.get("data") {
        Some(Value::String(text)) => text.clone(),
        // A number typed as a number is still what should be typed.
        Some(Value::Number(number)) => number.to_string(),
        _ => String::new(),
    };
    let number = |name: &str| args.get(name).and_then(|v| v.as_u64().or_else(|| v.as_f64().map(|n| n.max(0.0) as u64)));
    let intent = match action {
        Action::Write => Intent::Input { process: id.to_owned(), text: data.clone() },
        Action::Submit => Intent::Input { process: id.to_owned(), text: format!("{data}\n") },
        _ => Intent::Talk,
    };
    let size = |name: &str| number(name).and_then(|n| usize::try_from(n).ok());
    Ok(Order {
        action,
        id: ProcessId(id.to_owned()),
        data,
        timeout: number("timeout").filter(|t| *t > 0),
        offset: size("offset"),
        limit: size("limit").filter(|l| *l > 0).unwrap_or(LOG_LINES),
        intent,
    })
}

impl Call for Order {
    fn intent(&self) -> &Intent {
        &self.intent
    }

    fn target(&self) -> String {
        match self.action {
            Action::List => "list".into(),
            action => format!("{} {}", format!("{action:?}").to_lowercase(), self.id.0),
        }
    }

    fn commands(&self, ctx: &ToolCtx) -> Vec<String> {
        ctx.exec.commands(&ctx.task, (self.action != Action::List).then_some(&self.id))
    }

    fn run(self: Box<Self>, ctx: ToolCtx) -> BoxFuture<'static, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            match carry_out(&self, &ctx).await {
                Ok(output) => Ok(output),
                Err(ExecError::NotFound(id)) => {
                    let error = format!("No process with ID {}", id.0);
                    let mut output = ToolOutput::json(&json!({ "status": "not_found", "error": error }));
                    output.outcome = Outcome::Failed;
                    Ok(output.summary("not found"))
                }
                Err(ExecError::Ended(id)) => {
                    let error = format!("process {} has already ended", id.0);
                    let mut output = ToolOutput::json(&json!({ "status": "already_exited", "error": error }));
                    output.outcome = Outcome::Failed;
                    Ok(output.summary("already ended"))
                }
                Err(error) => Err(ToolError::Failed(error.to_string())),
            }
        })
    }
}

async fn carry_out(order: &Order, ctx: &ToolCtx) -> Result<ToolOutput, ExecError> {
    let exec = &ctx.exec;
    let id = &order.id;
    // Another session's processes are none of this one's business.
    if order.action != Action::List && *exec.last_output(id, 0)?.task != *ctx.task {
        return Err(ExecError::NotFound(id.clone()));
    }
    // What would touch it waits until the person hands it back.
    if matches!(order.action, Action::Write | Action::Submit | Action::Close | Action::Kill) {
        tokio::select! {
            biased;
            free = exec.handed_back(id) => free?,
            () = ctx.cancel.cancelled() => {
                let value = json!({ "status": "interrupted", "session_id": id.0 });
                let mut output = ToolOutput::json(&value).summary("stopped waiting");
                output.outcome = Outcome::Interrupted;
                return Ok(output);
            }
        }
    }
    match order.action {
        Action::List => Ok(list(exec, &ctx.task)),
        Action::Poll => {
            let report = exec.poll(id)?;
            let mut value = row(&report);
            value["output_preview"] = report.output.clone().into();
            Ok(told(&value, &report))
        }
        Action::Log => {
            let page = exec.log(id, order.offset, order.limit)?;
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
        Action::Wait => wait(order, ctx).await,
        Action::Write | Action::Submit => {
            let mut text = order.data.clone();
            if order.action == Action::Submit {
                // What the Enter key sends; the terminal makes a line feed of it unless the program asked for keys.
                text.push('\r');
            }
            exec.write(id, text.as_bytes())?;
            let value = json!({ "status": "ok", "session_id": id.0, "bytes_written": text.len() });
            Ok(ToolOutput::json(&value).summary(format!("{} bytes", text.len())))
        }
        Action::Close => {
            exec.close_input(id)?;
            Ok(ToolOutput::json(&json!({ "status": "ok", "session_id": id.0 })).summary("input closed"))
        }
        Action::Kill => kill(exec, id, ctx).await,
    }
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
        value["timeout_note"] = format!("waited {limit} s, the most that one call may wait").into();
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
    let ended = tokio::time::timeout(grace + KILL_WAIT, exec.wait(id)).await;
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
            ExitReason::FailedToStart => "failed_start",
        }
        .into();
    }
    if report.survivors {
        value["survivors"] = true.into();
    }
    if report.info.state == crate::exec::ProcessState::NeedsInput {
        value["waiting_for_input"] = true.into();
    }
    if report.typed {
        value["note"] = "the user typed into this process's terminal".into();
    }
    if let Some(port) = report.info.port {
        value["port"] = port.into();
    }
    value
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
