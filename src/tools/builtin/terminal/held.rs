//! What the result of a command says of the sandbox that it ran in.

use crate::exec::{ExitReason, Finished, Running, Sandbox, Waited};
use crate::protocol::Outcome;
use crate::tools::confine;
use crate::tools::spec::{AgentPort, ToolOutput};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Arc;

/// The result of a command that has started and goes on in its sandbox.
pub(super) fn said(mut output: ToolOutput, sandbox: Option<&Sandbox>) -> ToolOutput {
    if let Some(sandbox) = sandbox {
        with_field(&mut output, format!("it runs in the sandbox ({})", sandbox.words()));
    }
    output
}

/// A command that ended in its sandbox.
#[derive(Clone)]
pub(super) struct Held {
    pub line: String,
    pub cwd: PathBuf,
    pub sandbox: Sandbox,
    /// The code that it ended with by itself, when that is no success.
    pub failed: Option<i32>,
}

impl Held {
    /// What was blocked, in words. Puts aside what must not stay.
    async fn blocked(&self, text: String, running: &Running) -> Option<String> {
        let (guard, held, cwd) = (running.guard().clone(), self.sandbox.clone(), self.cwd.clone());
        let (line, failed) = (self.line.clone(), self.failed);
        let work = tokio::task::spawn_blocking(move || {
            let mut told: Vec<String> = Vec::new();
            if let Some(code) = failed {
                let quiet = || confine::silent(&line, code, &held).filter(|_| text.trim().is_empty());
                told.extend(confine::blocked(&text, &cwd, &held).or_else(quiet));
            }
            told.extend(guard.close().iter().map(|(path, to)| put_aside(path, to)));
            told
        });
        work.await.ok().filter(|told| !told.is_empty()).map(|told| told.join("; "))
    }

    async fn tell(&self, text: String, running: &Running, agent: &dyn AgentPort) {
        if let Some(what) = self.blocked(text, running).await {
            let name = crate::text::width::truncate_end(&self.line, NAME);
            agent.notice(format!("the sandbox ({}) blocked {what}: {name} ({})", self.sandbox.words(), running.id.0));
        }
    }

    /// Once all that it started has ended.
    async fn rest(mut self, running: &Running, agent: &dyn AgentPort) {
        running.closed().await;
        self.failed = None;
        self.tell(String::new(), running, agent).await;
    }
}

/// Tells what is blocked of a command that goes on in the background, when it has ended, and once more when nothing of it
/// is left.
pub(super) fn watched(mut held: Held, running: Running, agent: Arc<dyn AgentPort>) {
    tokio::spawn(async move {
        running.exited().await;
        let Waited::Finished(finished) = running.wait().await else { return };
        held.failed = failed(&finished);
        let captured = running.captured();
        let text = crate::text::clean::clean(if captured.omitted > 0 { &captured.tail } else { &captured.head });
        held.tell(text, &running, &*agent).await;
        if finished.survivors {
            held.rest(&running, &*agent).await;
        }
    });
}

/// What a command in the foreground left running may still make what must not stay.
pub(super) fn outlived(held: Held, running: Running, agent: Arc<dyn AgentPort>) {
    tokio::spawn(async move { held.rest(&running, &*agent).await });
}

/// Cells of a command in a notice.
const NAME: usize = 48;

/// The code of a command that failed by itself.
pub(super) fn failed(finished: &Finished) -> Option<i32> {
    (finished.exit.reason == ExitReason::Exited && finished.exit.code != 0).then_some(finished.exit.code)
}

/// The result of a command that ended in its sandbox, with what was blocked.
pub(super) async fn told(mut output: ToolOutput, held: Held, running: &Running) -> ToolOutput {
    let Some(what) = held.blocked(output.view.output.clone(), running).await else { return output };
    let sandbox = held.sandbox;
    let open = match &sandbox.mode {
        crate::config::SandboxMode::WorkspaceWrite => {
            format!("; it can write {} and folders for temporary files", sandbox.workspace.display())
        }
        _ => String::new(),
    };
    let text = format!("the sandbox ({}) blocked {what}{open}. Do not look for a way around it", sandbox.words());
    with_field(&mut output, text);
    output.outcome = Outcome::Failed;
    output.view.summary = match output.view.summary.as_str() {
        "" => "blocked by the sandbox".into(),
        summary => format!("{summary} · blocked by the sandbox"),
    };
    output.blocked = Some(what);
    output
}

fn put_aside(path: &std::path::Path, to: &Result<PathBuf, std::io::Error>) -> String {
    match to {
        Ok(aside) => {
            format!("creating {}, which other programs run later: it is now {}", path.display(), aside.display())
        }
        Err(error) => format!(
            "creating {}, which other programs run later, but it could not be moved aside ({error}): check it",
            path.display()
        ),
    }
}

fn with_field(output: &mut ToolOutput, text: String) {
    if let Ok(Value::Object(mut fields)) = serde_json::from_str(&output.content) {
        fields.insert("sandbox".into(), json!(text));
        output.content = Value::Object(fields).to_string();
    }
}
