//! `terminal`: runs a shell command, in the foreground or as a background process.

mod background;
mod guard;
mod held;
mod meaning;
mod output;
mod scan;
mod sudo;
mod summary;
mod waits;

pub use background::rewrite_compound;
pub use guard::{foreground_guidance, validate_workdir};
pub use meaning::exit_code_meaning;
pub use sudo::rewrite_sudo;
pub use summary::{marked_summary, shell_summary};

use super::spec::{Access, AgentPort, Call, Parallel, Progress, Tool, ToolCtx, ToolError, ToolOutput, ToolSpec, Verbs};
use crate::config::OnInput;
use crate::exec::{ExitReason, Far, Finished, Launch, ProcessInfo, Running, Sandbox, Spawn, Waited};
use crate::llm::message::Outcome;
use crate::places::{Job, JobSpec, Kind, Remote};
use crate::policy::Intent;
use futures::future::BoxFuture;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// How long a stopped command may take to be gone; one that the system cannot end (a dead disk) is left behind.
const LAST_WAIT: Duration = Duration::from_secs(3);

/// Variables that a result names at most.
const NAMED: usize = 12;

/// The tool.
pub struct Terminal {
    spec: ToolSpec,
}

/// The tool, for the registry.
pub fn terminal() -> Arc<dyn Tool> {
    Arc::new(Terminal {
        spec: ToolSpec {
            name: "terminal".into(),
            toolset: "terminal".into(),
            emoji: "💻".into(),
            description: include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/assets/tools/terminal.md"))
                .trim_end()
                .into(),
            schema: Arc::new(json!({
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
            })),
            access: Access::Execute,
            requires_env: Vec::new(),
            check: None,
            verbs: Verbs::new("running", "ran"),
            parallel: Parallel::Never,
            output_cap: usize::MAX,
            pinned: true,
        },
    })
}

impl Tool for Terminal {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn plan<'a>(&'a self, args: Value, ctx: &'a ToolCtx) -> BoxFuture<'a, Result<Box<dyn Call>, ToolError>> {
        Box::pin(async move {
            let ctx = ctx.clone();
            // Another machine is asked whether its folder is there.
            let call = super::blocking(move || plan(&args, &ctx)).await??;
            Ok(Box::new(call) as Box<dyn Call>)
        })
    }
}

/// A planned command.
struct Command {
    intent: Intent,
    line: String,
    cwd: PathBuf,
    /// The task's folder, which the one that the command leaves behind replaces; `None`: the folder is for this command only.
    here: Option<PathBuf>,
    /// The machine that it is for; `None`: this one. It runs nowhere else.
    there: Option<Arc<Remote>>,
    background: bool,
    timeout: u64,
    pty: bool,
    notify: bool,
    patterns: Vec<String>,
}

fn plan(args: &Value, ctx: &ToolCtx) -> Result<Command, ToolError> {
    super::paths::ready(ctx)?;
    let there = ctx.places.current();
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
    let here = ctx.cwd.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone();
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
    let intent = Intent::Command { line: line.clone(), cwd: cwd.clone(), background };
    Ok(Command { intent, line, cwd, here, there, background, timeout, pty, notify, patterns })
}

/// Why nothing runs in a folder that is no more, and how to go on.
fn gone(folder: &Path) -> String {
    format!(
        "the working folder {} is gone: nothing was run. Make it again, or give a workdir that exists: it becomes the working \
         folder",
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
        Err(ToolError::Failed(format!(
            "workdir {} is not a folder: create it first or leave workdir out",
            path.display()
        )))
    }
}

impl Call for Command {
    fn intent(&self) -> &Intent {
        &self.intent
    }

    fn target(&self) -> String {
        marked_summary(&self.line)
    }

    fn run(self: Box<Self>, ctx: ToolCtx) -> BoxFuture<'static, Result<ToolOutput, ToolError>> {
        Box::pin(async move { run(*self, ctx).await })
    }
}

async fn run(command: Command, ctx: ToolCtx) -> Result<ToolOutput, ToolError> {
    if ctx.cancel.is_cancelled() {
        return Err(ToolError::Interrupted);
    }
    let name: String =
        ctx.call_id.chars().filter(|c| c.is_ascii_alphanumeric() || "-_".contains(*c)).take(100).collect();
    // Before anything is sent to another machine.
    ctx.exec.room().map_err(|error| ToolError::Failed(error.to_string()))?;
    let far = far(&command, &ctx).await?;
    let sandbox = if far.is_some() { None } else { super::confine::sandbox(&ctx) };
    // The probe runs the `sudo` that the task finds: in a sandbox that may be a program of the sandbox's own making.
    let (runs, sudos) = match far.is_some() || sandbox.is_some() {
        true => (None, 0),
        false => runs(&command.line, &ctx).await,
    };
    let launch = Launch {
        spawn: Spawn {
            command: runs.clone().unwrap_or_else(|| command.line.clone()),
            cwd: command.cwd.clone(),
            pty: command.pty,
            background: command.background,
            task: ctx.task.to_string(),
            size: ctx.exec.size(),
            headless: ctx.exec.headless(),
            sandbox: sandbox.clone(),
        },
        // Servers may give the same call id again: the name gets a suffix of its own.
        spill: Some(super::bound::suffixed(&ctx.spill.join(format!("{name}.log")))),
        notify_on_complete: command.background && command.notify,
        watch_patterns: command.patterns.clone(),
        far,
        sudos,
    };
    let running = ctx.exec.launch(launch).await.map_err(|error| ToolError::Failed(error.to_string()))?;
    // Lossy by contract: the tool line shows what it can.
    ctx.progress.try_send(Progress::Process(running.id.clone())).ok();
    let held = |failed, sandbox| held::Held { line: command.line.clone(), cwd: command.cwd.clone(), sandbox, failed };
    if command.background {
        let output = held::said(started(&command, runs.as_deref(), &running, &ctx), sandbox.as_ref());
        if let Some(sandbox) = sandbox {
            held::watched(held(None, sandbox), running, Arc::clone(&ctx.agent));
        }
        return Ok(output);
    }
    // It leaves this call, and the sandbox's eye stays on it.
    let goes_on = || {
        if let Some(sandbox) = sandbox.clone() {
            held::watched(held(None, sandbox), running.clone(), Arc::clone(&ctx.agent));
        }
    };
    let limit = Duration::from_secs(command.timeout);
    let file = ctx.spill.join(format!("{name}.txt"));
    let waited = tokio::select! {
        biased;
        waited = running.wait() => waited,
        () = ctx.cancel.cancelled() => ended(&running, ExitReason::Stopped).await,
        () = running.time(limit) => {
            let waited = ended(&running, ExitReason::TimedOut).await;
            if let Waited::Moved(captured) = &waited {
                goes_on();
                let output = output::present(captured, ctx.config.tool_output.max_bytes, &file);
                return Ok(unended(&output, command.timeout, &running.id.0, running.pid));
            }
            waited
        }
        () = running.wants_input(), if ctx.config.terminal.on_input == OnInput::AskAgent => {
            goes_on();
            return Ok(waits::told(&running, &ctx, &file));
        }
    };
    match waited {
        Waited::Finished(finished) => {
            let (failed, survivors) = (held::failed(&finished), finished.survivors);
            let output = result(&command, runs.as_deref(), &ctx, &running, finished, &file);
            let Some(sandbox) = sandbox else { return Ok(output) };
            let held = held(failed, sandbox);
            let output = held::told(output, held.clone(), &running).await;
            if survivors {
                held::outlived(held, running, Arc::clone(&ctx.agent));
            }
            Ok(output)
        }
        Waited::Moved(captured) if ctx.cancel.is_cancelled() => {
            goes_on();
            let mut output = output::present(&captured, ctx.config.tool_output.max_bytes, &file);
            append(&mut output, "[Command interrupted; it has not ended yet]");
            Ok(interrupted(&output, 130))
        }
        Waited::Moved(captured) => {
            goes_on();
            let output = output::present(&captured, ctx.config.tool_output.max_bytes, &file);
            let mut value = json!({
                "output": output,
                "session_id": running.id.0,
                "pid": running.pid,
                "exit_code": null,
                "error": null,
                "hint": "moved to the background by the user and still running; use `process`, you are told when it ends",
            });
            if running.was_typed_into() {
                value["note"] = waits::TYPED.into();
            }
            let mut result = ToolOutput::json(&value).summary("in the background");
            result.view.output = output;
            Ok(result)
        }
    }
}

/// Tells what the sandbox blocks of a command that was started again, as of one in the background.
pub(crate) fn watched(info: &ProcessInfo, sandbox: Sandbox, running: Running, agent: Arc<dyn AgentPort>) {
    let (line, cwd) = (info.command.clone(), info.cwd.clone());
    held::watched(held::Held { line, cwd, sandbox, failed: None }, running, agent);
}

/// The command on the machine that it is for, ready to start; `None` on this one.
async fn far(command: &Command, ctx: &ToolCtx) -> Result<Option<Arc<dyn Far>>, ToolError> {
    let Some(there) = command.there.clone() else { return Ok(None) };
    let spec = JobSpec {
        line: command.line.clone(),
        cwd: command.cwd.clone(),
        task: ctx.task.to_string(),
        // With a terminal it can be typed into, and ends with the connection.
        detached: command.background && !command.pty,
        headless: ctx.exec.headless(),
        keep: !command.background,
    };
    let cancel = ctx.cancel.clone();
    let job = super::blocking(move || {
        refuse_password(&there, &spec)?;
        Job::new(there, spec).map_err(|error| error.to_string())
    });
    let job = tokio::select! {
        biased;
        () = cancel.cancelled() => return Err(ToolError::Interrupted),
        job = job => job?,
    };
    Ok(Some(Arc::new(job.map_err(ToolError::Failed)?)))
}

/// No password goes to another machine: nothing there can be known to be its `sudo` and not a program that keeps what it is
/// told. A line whose `sudo` would ask for one is not begun. Blocks.
fn refuse_password(there: &Remote, spec: &JobSpec) -> Result<(), String> {
    if rewrite_sudo(&spec.line, sudo::ASKS).1 == 0 {
        return Ok(());
    }
    match there.sudo_wants_password(&spec.task) {
        Ok(false) => Ok(()),
        Ok(true) => Err(format!(
            "sudo on {} wants a password, and none is sent to another machine: nothing was run. Allow the command there \
             without one (NOPASSWD in its sudoers), or work there as a user with the rights",
            there.label()
        )),
        Err(error) => Err(error.to_string()),
    }
}

/// Ends a command and gives what it came to.
async fn ended(running: &Running, reason: ExitReason) -> Waited {
    running.stop(reason);
    match tokio::time::timeout(LAST_WAIT, running.wait()).await {
        Ok(waited) => waited,
        Err(_) => Waited::Moved(running.captured()),
    }
}

/// The line that runs when it is another than the one that was judged: `sudo` gets the option that asks the person. And how
/// many there are.
async fn runs(line: &str, ctx: &ToolCtx) -> (Option<String>, usize) {
    let (rewritten, count) = rewrite_sudo(line, sudo::ASKS);
    match count > 0 && ctx.exec.sudo_wants_password(&ctx.task, &ctx.cancel).await {
        true => (Some(rewritten), count),
        false => (None, 0),
    }
}

fn started(command: &Command, runs: Option<&str>, running: &Running, ctx: &ToolCtx) -> ToolOutput {
    let mut value = json!({
        "output": "Background process started",
        "session_id": running.id.0,
        "pid": running.pid,
        "exit_code": 0,
        "error": null,
    });
    if command.notify {
        value["notify_on_complete"] = true.into();
    }
    if !command.patterns.is_empty() {
        value["watch_patterns"] = command.patterns.clone().into();
    }
    if let Some(runs) = runs {
        value["ran"] = runs.into();
    }
    if let Some(there) = &command.there {
        value["on"] = there.label().into();
    }
    if ctx.exec.headless() || command.there.is_some() && !command.pty {
        value["hint"] = "standard input is empty: nothing can be typed into it".into();
    }
    ToolOutput::json(&value).summary("started")
}

fn result(
    command: &Command,
    runs: Option<&str>,
    ctx: &ToolCtx,
    running: &Running,
    finished: Finished,
    file: &Path,
) -> ToolOutput {
    let Finished { exit, output: captured, cwd_after, not_kept, lost, survivors } = finished;
    let mut output = output::present(&captured, ctx.config.tool_output.max_bytes, file);
    match exit.reason {
        ExitReason::TimedOut => append(&mut output, &format!("[Command timed out after {}s]", command.timeout)),
        ExitReason::Stopped => append(&mut output, "[Command interrupted]"),
        ExitReason::Killed => append(&mut output, "[Command killed by the user]"),
        ExitReason::Unwatched => append(&mut output, "[Command ended: it could not be watched any more]"),
        ExitReason::Exited | ExitReason::Signalled | ExitReason::Unseen => {}
    }
    let mut value = json!({ "output": output, "exit_code": exit.code, "error": null });
    if let Some(runs) = runs {
        value["ran"] = runs.into();
    }
    if running.was_typed_into() {
        value["note"] = waits::TYPED.into();
    } else if output.is_empty() && captured.total > 0 {
        value["note"] = "what it printed was drawn on a screen of its own, or erased: nothing of it is left".into();
    }
    if let Some(meaning) = exit_code_meaning(&command.line, exit.code).filter(|_| exit.reason == ExitReason::Exited) {
        value["exit_code_meaning"] = meaning.into();
    }
    if let Some(cwd) = cwd_after.filter(|cwd| command.here.as_ref().is_some_and(|here| here != cwd)) {
        value["cwd"] = cwd.to_string_lossy().into();
        *ctx.cwd.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = cwd;
    }
    if !not_kept.is_empty() {
        value["not_kept"] = not_kept.into_iter().take(NAMED).collect::<Vec<_>>().into();
        value["not_kept_why"] = "they make programs run something: set them in the command that needs them".into();
    }
    if survivors {
        value["session_id"] = running.id.0.clone().into();
        value["hint"] = "something it started still runs; `process` can read and kill it by this session_id".into();
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
            Some(lost) => format!("timed out after {} s, {}", command.timeout, lost.short),
            None => format!("timed out after {} s", command.timeout),
        },
        ExitReason::Killed => "killed".into(),
        _ if lost.is_some() => lost.map(|lost| lost.short.to_owned()).unwrap_or_default(),
        _ if exit.code != 0 => format!("exit {}", exit.code),
        _ => output::summary(&captured, &output),
    };
    result.view.exit_code = Some(exit.code);
    result.view.output = output;
    result
}

fn interrupted(output: &str, code: i32) -> ToolOutput {
    let mut result =
        ToolOutput::json(&json!({ "output": output, "exit_code": code, "error": null })).summary("stopped");
    result.outcome = Outcome::Interrupted;
    result.view.exit_code = Some(code);
    result.view.output = output.to_owned();
    result
}

/// The result of a command that was to end at its time limit and has not: it may hang in the kernel.
fn unended(output: &str, limit: u64, id: &str, pid: u32) -> ToolOutput {
    let mut output = output.to_owned();
    append(&mut output, &format!("[Command timed out after {limit}s and was told to end; it has not ended yet]"));
    let value = json!({ "output": output, "session_id": id, "pid": pid, "exit_code": 124, "error": null });
    let mut result = ToolOutput::json(&value).summary(format!("timed out after {limit} s, not ended yet"));
    result.outcome = Outcome::Failed;
    result.view.exit_code = Some(124);
    result.view.output = output;
    result
}

fn append(output: &mut String, line: &str) {
    if !output.is_empty() {
        output.push('\n');
    }
    output.push_str(line);
}

#[cfg(test)]
mod tests;
