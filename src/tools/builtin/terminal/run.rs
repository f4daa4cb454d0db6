//! Runs a planned command: starts it, and waits for it in the foreground.

use super::{Execution, held, output, result, rewrite_sudo, sudo, waits};
use crate::backends::{Job, JobSpec, Remote};
use crate::config::OnInput;
use crate::exec::{
    Captured, ExitReason, Finished, Launch, ProcessInfo, RemoteCommand, Running, Sandbox, Spawn, Waited,
};
use crate::tools::file::commands::CommandRecorder;
use crate::tools::spec::{AgentPort, Progress, ToolCtx, ToolError, ToolOutput};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// How often a place that is not ready is asked whether somebody else's turn is waited for.
const QUEUE_LOOK: Duration = Duration::from_secs(1);

/// How long a stopped command may take to be gone; one that the system cannot end (a dead disk) is left behind.
const LAST_WAIT: Duration = Duration::from_secs(3);

/// Starts it, and gives its result or, of one in the background, that it runs.
pub(super) async fn run(command: Execution, ctx: ToolCtx) -> Result<ToolOutput, ToolError> {
    if ctx.cancel.is_cancelled() {
        return Err(ToolError::Interrupted);
    }
    // Before anything is sent to another machine.
    ctx.exec.room().map_err(|error| ToolError::Failed(error.to_string()))?;
    let far = far(&command, &ctx).await?;
    let sandbox = if far.is_some() { None } else { crate::tools::confine::sandbox(&ctx) };
    // The probe runs the `sudo` that the task finds: in a sandbox that may be a program of the sandbox's own making.
    let (runs, sudos) = if far.is_some() || sandbox.is_some() { (None, 0) } else { runs(&command.line, &ctx).await };
    let name = name(&ctx);
    let launch = Launch {
        spawn: Spawn {
            command: runs.clone().unwrap_or_else(|| command.line.clone()),
            cwd: command.cwd.clone(),
            pty: command.options.pty,
            background: command.background,
            task: ctx.task.to_string(),
            size: ctx.exec.size(),
            headless: ctx.exec.headless(),
            sandbox: sandbox.clone(),
        },
        // Servers may give the same call id again: the name gets a suffix of its own.
        spill: Some(crate::tools::output::bound::suffixed(&ctx.spill.join(format!("{name}.log")))),
        notify_on_complete: command.background && command.options.notify,
        watch_patterns: command.options.patterns.clone(),
        remote: far,
        sudos,
    };
    let place = command.options.there.as_ref().map(|there| there.label().to_owned());
    let recorder = CommandRecorder::begin(&ctx, &command.line, &command.cwd, place).await;
    let running = match ctx.exec.launch(launch).await {
        Ok(running) => running,
        Err(error) => {
            // It began nothing.
            if let Some(recorder) = recorder {
                recorder.end().await;
            }
            return Err(ToolError::Failed(error.to_string()));
        }
    };
    // Lossy by contract: the tool line shows what it can.
    ctx.progress.try_send(Progress::Process(running.id.clone())).ok();
    let file = ctx.spill.join(format!("{name}.txt"));
    let started = Started { command, ctx, running, runs, sandbox, file, recorder };
    if started.command.background {
        Ok(started.in_background())
    } else {
        let came = started.wait().await;
        Ok(started.told(came).await)
    }
}

/// The name of files that belong to this call.
fn name(ctx: &ToolCtx) -> String {
    ctx.call_id.chars().filter(|c| c.is_ascii_alphanumeric() || "-_".contains(*c)).take(100).collect()
}

/// A command that has started.
struct Started {
    command: Execution,
    ctx: ToolCtx,
    running: Running,
    /// The line that runs, when it is another than the one that was judged.
    runs: Option<String>,
    sandbox: Option<Sandbox>,
    /// Where output goes that is too long for a result.
    file: PathBuf,
    /// Writes down what it changes.
    recorder: Option<CommandRecorder>,
}

/// What came of waiting for a command in the foreground.
enum Came {
    Finished(Finished),
    /// It was to end with the turn, and has not.
    Stopped(Captured),
    /// It was to end at its time limit, and has not.
    Late(Captured),
    /// The person sent it to the background.
    Moved(Captured),
    /// It waits for input that the model could give.
    Asks,
}

impl Started {
    fn in_background(mut self) -> ToolOutput {
        let output = result::started(&self.command, self.runs.as_deref(), &self.running, &self.ctx);
        let output = held::said(output, self.sandbox.as_ref());
        self.goes_on();
        output
    }

    async fn wait(&self) -> Came {
        let Self { ctx, running, .. } = self;
        let limit = Duration::from_secs(self.command.options.timeout);
        tokio::select! {
            biased;
            waited = running.wait() => match waited {
                Waited::Finished(finished) => Came::Finished(finished),
                Waited::Moved(captured) => Came::Moved(captured),
            },
            () = ctx.cancel.cancelled() => self.end(ExitReason::Stopped, Came::Stopped).await,
            () = running.time(limit) => self.end(ExitReason::TimedOut, Came::Late).await,
            () = running.wants_input(), if ctx.config.terminal.on_input == OnInput::AskAgent => Came::Asks,
        }
    }

    /// Ends it; `unended` is what came when it does not end.
    async fn end(&self, reason: ExitReason, unended: impl FnOnce(Captured) -> Came) -> Came {
        self.running.stop(reason);
        match tokio::time::timeout(LAST_WAIT, self.running.wait()).await {
            Ok(Waited::Finished(finished)) => Came::Finished(finished),
            Ok(Waited::Moved(captured)) => unended(captured),
            Err(_) => unended(self.running.captured()),
        }
    }

    async fn told(mut self, came: Came) -> ToolOutput {
        if !matches!(came, Came::Finished(_)) {
            self.goes_on();
        }
        let present =
            |captured: &Captured| output::present(captured, &output::most(&self.ctx, self.runs()), &self.file);
        match came {
            Came::Finished(finished) => self.finished(finished).await,
            Came::Stopped(captured) => result::interrupted(&present(&captured)),
            Came::Late(captured) => {
                result::late(&present(&captured), self.command.options.timeout, &self.running.id.0, self.running.pid)
            }
            Came::Moved(captured) => result::moved(present(&captured), &self.running),
            Came::Asks => waits::told(&self.running, &self.ctx, &self.file),
        }
    }

    fn runs(&self) -> &str {
        self.runs.as_deref().unwrap_or_default()
    }

    async fn finished(mut self, finished: Finished) -> ToolOutput {
        let changed = match self.recorder.take() {
            Some(recorder) => recorder.end().await,
            None => Vec::new(),
        };
        let (failed, survivors) = (held::failed(&finished), finished.survivors);
        let (most, file) = (output::most(&self.ctx, self.runs()), self.file.clone());
        // What did not fit into memory is looked through in its file.
        let work = move || {
            let shown = output::present(&finished.output, &most, &file);
            (finished, shown)
        };
        let (finished, shown) = match crate::tools::blocking(work).await {
            Ok(done) => done,
            Err(_) => return result::interrupted(""),
        };
        let mut output =
            result::finished(&self.command, self.runs.as_deref(), &self.ctx, &self.running, finished, shown);
        output.view.changed = changed;
        let Some(held) = self.held(failed) else { return output };
        let output = held::told(output, held.clone(), &self.running).await;
        if survivors {
            held::outlived(held, self.running, Arc::clone(&self.ctx.agent));
        }
        output
    }

    /// It leaves this call; the sandbox's eye stays on it, and what it changes is written down when it has ended.
    fn goes_on(&mut self) {
        if let Some(recorder) = self.recorder.take() {
            let running = self.running.clone();
            tokio::spawn(recorder.end_after(async move { running.exited().await }));
        }
        if let Some(held) = self.held(None) {
            held::watched(held, self.running.clone(), Arc::clone(&self.ctx.agent));
        }
    }

    fn held(&self, failed: Option<i32>) -> Option<held::Held> {
        let sandbox = self.sandbox.clone()?;
        Some(held::Held { line: self.command.line.clone(), cwd: self.command.cwd.clone(), sandbox, failed })
    }
}

/// Tells what the sandbox blocks of a command that was started again, as of one in the background.
pub(crate) fn watched(info: &ProcessInfo, sandbox: Sandbox, running: Running, agent: Arc<dyn AgentPort>) {
    let (line, cwd) = (info.command.clone(), info.cwd.clone());
    held::watched(held::Held { line, cwd, sandbox, failed: None }, running, agent);
}

/// The command on the machine that it is for, ready to start; `None` on this one.
async fn far(command: &Execution, ctx: &ToolCtx) -> Result<Option<Arc<dyn RemoteCommand>>, ToolError> {
    let Some(there) = command.options.there.clone() else { return Ok(None) };
    let spec = JobSpec {
        line: command.line.clone(),
        cwd: command.cwd.clone(),
        task: ctx.task.to_string(),
        // With a terminal it can be typed into, and ends with the connection.
        detached: command.background && !command.options.pty,
        headless: ctx.exec.headless(),
        keep: !command.background,
    };
    let (cancel, waits) = (ctx.cancel.clone(), Arc::clone(&there));
    let job = crate::tools::blocking(move || {
        refuse_password(&there, &spec)?;
        Job::new(there, spec).map_err(|error| error.to_string())
    });
    tokio::pin!(job);
    let job = loop {
        tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(ToolError::Interrupted),
            job = &mut job => break job?,
            () = tokio::time::sleep(QUEUE_LOOK) => {
                let place = waits.clone();
                if let Ok(Some(line)) = tokio::task::spawn_blocking(move || place.waiting()).await {
                    // Lossy by contract: the next look says it again.
                    ctx.progress.try_send(Progress::Line(line)).ok();
                }
            }
        }
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
            "sudo on {} asks for a password, which is never sent to another machine: nothing was run. Allow the command there with NOPASSWD in sudoers, or log in as a user with the rights",
            there.label()
        )),
        Err(error) => Err(error.to_string()),
    }
}

/// The line that runs when it is another than the one that was judged: `sudo` gets the option that asks the person. And how
/// many there are.
async fn runs(line: &str, ctx: &ToolCtx) -> (Option<String>, usize) {
    let (rewritten, count) = rewrite_sudo(line, sudo::ASKS);
    if count > 0 && ctx.exec.sudo_wants_password(&ctx.task, &ctx.cancel).await {
        (Some(rewritten), count)
    } else {
        (None, 0)
    }
}
