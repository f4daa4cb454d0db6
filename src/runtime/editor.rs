//! The external editor: `$VISUAL`, `$EDITOR` or vi on a file with the draft, in a terminal of its own.

use crate::app::Msg;
use crate::exec::{Exec, Spawn, Waited};
use std::path::{Path, PathBuf};
use tokio::sync::mpsc;

/// Names the shell state of the editor, which no command of the agent shares.
const TASK: &str = "editor";
/// Exit code of a shell that found no such program.
const NOT_FOUND: i32 = 127;

/// Lets the person edit a text; tells when the editor runs and what came of it.
pub async fn edit(text: String, exec: Exec, cwd: PathBuf, replies: mpsc::Sender<Msg>) {
    let result = run(&text, &exec, cwd, &replies).await;
    // The screen is gone: nobody waits.
    let _ = replies.send(Msg::Edited(result)).await;
}

async fn run(text: &str, exec: &Exec, cwd: PathBuf, replies: &mpsc::Sender<Msg>) -> Result<String, String> {
    let editor = program();
    let file = tempfile::Builder::new()
        .prefix("prompt-")
        .suffix(".md")
        .tempfile()
        .map_err(|error| format!("could not create a temporary file for the editor: {error}"))?;
    let failed = |error: std::io::Error| format!("{}: {error}", file.path().display());
    // A file of text ends with a line end: editors say so when it does not.
    tokio::fs::write(file.path(), format!("{}\n", text.trim_end_matches('\n'))).await.map_err(failed)?;
    let spawn = Spawn {
        command: format!("{editor} {}", quoted(file.path())),
        cwd,
        pty: true,
        background: false,
        task: TASK.into(),
        size: exec.size(),
        headless: false,
        // The person's own program, which no model started.
        sandbox: None,
    };
    let running = exec.start(spawn).await.map_err(|error| error.to_string())?;
    let _ = replies.send(Msg::EditorStarted(running.id.clone())).await;
    match running.wait().await {
        Waited::Finished(done) if done.exit.code == 0 => {
            let bytes = tokio::fs::read(file.path()).await.map_err(failed)?;
            String::from_utf8(bytes).map_err(|_| format!("{editor} wrote text that is not UTF-8"))
        }
        Waited::Finished(done) if done.exit.code == NOT_FOUND => {
            Err(format!("{editor} not found; set VISUAL or EDITOR"))
        }
        Waited::Finished(done) => Err(format!("{editor} exited with {}", done.exit.code)),
        Waited::Moved(_) => Err(format!("{editor} was sent to the background")),
    }
}

/// The editor with its arguments, as a shell takes it.
fn program() -> String {
    let set = |name: &str| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
    set("VISUAL").or_else(|| set("EDITOR")).unwrap_or_else(|| "vi".into())
}

/// A path as one word of a shell.
fn quoted(path: &Path) -> String {
    format!("'{}'", path.to_string_lossy().replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_one_word() {
        assert_eq!(quoted(Path::new("/tmp/it's a folder/prompt.md")), r"'/tmp/it'\''s a folder/prompt.md'");
    }
}
