//! What the result of a command says of the sandbox that it ran in.

use crate::exec::{Running, Sandbox};
use crate::llm::message::Outcome;
use crate::tools::confine;
use crate::tools::spec::ToolOutput;
use serde_json::{Value, json};
use std::path::PathBuf;

/// The result of a command that has started and goes on in its sandbox.
pub(super) fn said(mut output: ToolOutput, sandbox: Option<&Sandbox>) -> ToolOutput {
    if let Some(sandbox) = sandbox {
        with_field(&mut output, format!("it runs in the sandbox ({})", sandbox.words()));
    }
    output
}

/// The result of a command that ended in its sandbox, with what was blocked. `failed`: it ended by itself with a code.
pub(super) async fn told(
    mut output: ToolOutput,
    failed: bool,
    cwd: PathBuf,
    sandbox: Sandbox,
    running: &Running,
) -> ToolOutput {
    let (guard, text, held) = (running.guard().clone(), output.view.output.clone(), sandbox.clone());
    let work = tokio::task::spawn_blocking(move || {
        let aside: Vec<String> = guard.close().iter().map(|(path, to)| put_aside(path, to)).collect();
        let blocked = failed.then(|| confine::blocked(&text, &cwd, &held)).flatten();
        (aside, blocked)
    });
    let Ok((aside, blocked)) = work.await else { return output };
    let what = match (aside.is_empty(), blocked) {
        (true, None) => return output,
        (true, Some(what)) => what,
        (false, None) => aside.join("; "),
        (false, Some(what)) => format!("{what}; {}", aside.join("; ")),
    };
    let open = match &sandbox.mode {
        crate::config::SandboxMode::WorkspaceWrite => {
            format!("; it can write {} and folders for temporary files", sandbox.workspace.display())
        }
        _ => String::new(),
    };
    let text = format!("the sandbox ({}) blocked {what}{open}. Look for no way around it", sandbox.words());
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
            format!("making {}, which other programs run later: it is now {}", path.display(), aside.display())
        }
        Err(error) => format!(
            "making {}, which other programs run later, but it could not be put aside ({error}): look at it",
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
