//! After an edit: the formatter or linter that the user configured for such files, and what it says.

use super::write;
use crate::exec::{Captured, ExitReason, Launch, Spawn, Waited};
use crate::lock::lock;
use crate::tools::spec::ToolCtx;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Files of one call that are checked.
const MOST_FILES: usize = 8;
/// Bytes of what one check says.
const OUTPUT_BYTES: usize = 4_000;
/// What stands for the file in a command.
const FILE: &str = "{file}";

/// What the checks of one call came to.
#[derive(Debug, Default, PartialEq)]
pub struct Checked {
    /// For the model; `None`: no check is configured for these files, or none had anything to say.
    pub said: Option<Value>,
    /// Files that a check changed.
    pub changed: Vec<PathBuf>,
}

/// Runs the configured command for each changed file (absolute path, and as it is shown), all at once.
pub async fn run(files: &[(PathBuf, String)], ctx: &ToolCtx) -> Checked {
    let wanted = files.iter().filter_map(|(path, shown)| {
        let extension = path.extension()?.to_str()?;
        let command = ctx.config.checks.commands.get(extension).filter(|command| !command.trim().is_empty())?;
        Some((path, shown, command))
    });
    let each = wanted.take(MOST_FILES).map(|(path, shown, command)| async move {
        let before = write::stamp(path);
        let said = one(path, shown, command, ctx).await;
        // A formatter has changed what the session knows of the file.
        let after = write::stamp(path);
        let changed = after != before;
        if changed {
            lock(&ctx.files).wrote(path, after);
        }
        (said.and_then(|said| said.told(shown, command, changed)), changed.then(|| path.clone()))
    });
    let (said, changed): (Vec<_>, Vec<_>) = futures::future::join_all(each).await.into_iter().unzip();
    let said: Vec<Value> = said.into_iter().flatten().collect();
    Checked { said: (!said.is_empty()).then_some(Value::Array(said)), changed: changed.into_iter().flatten().collect() }
}

/// How one command ended.
enum Said {
    /// It could not be run to its end; says why.
    Broke(String),
    Ended {
        code: i32,
        output: String,
    },
}

impl Said {
    /// For the model; nothing when all is well.
    fn told(self, file: &str, command: &str, changed: bool) -> Option<Value> {
        let mut report = json!({"file": file, "command": command});
        match self {
            Self::Broke(why) => report["result"] = json!(why),
            Self::Ended { code: 0, .. } if !changed => return None,
            Self::Ended { code, output } => {
                report["exit_code"] = json!(code);
                if !output.is_empty() {
                    report["output"] = json!(output);
                }
            }
        }
        if changed {
            report["changed"] = json!("the command changed the file: read it again before the next edit");
        }
        Some(report)
    }
}

/// `None`: the turn was stopped, or the person took the command over.
async fn one(path: &Path, shown: &str, command: &str, ctx: &ToolCtx) -> Option<Said> {
    tracing::debug!(file = shown, command, "a check runs");
    let quoted = format!("'{}'", path.to_str()?.replace('\'', r"'\''"));
    let line = if command.contains(FILE) { command.replace(FILE, &quoted) } else { format!("{command} {quoted}") };
    let spawn = Spawn {
        command: line,
        cwd: crate::tools::input::paths::cwd(ctx),
        pty: false,
        background: false,
        // A shell state of its own: the folder and the variables of the session's shell stay as they are.
        task: format!("{}:checks", ctx.task),
        size: ctx.exec.size(),
        headless: true,
        sandbox: crate::tools::confine::sandbox(ctx),
    };
    let running = match ctx.exec.launch(Launch::from(spawn)).await {
        Ok(running) => running,
        Err(error) => return Some(Said::Broke(error.to_string())),
    };
    let limit = Duration::from_secs(ctx.config.checks.timeout);
    let waited = tokio::select! {
        biased;
        waited = running.wait() => waited,
        () = ctx.cancel.cancelled() => { running.stop(ExitReason::Stopped); return None }
        () = tokio::time::sleep(limit) => {
            running.stop(ExitReason::TimedOut);
            return Some(Said::Broke(format!("it timed out after {} s", limit.as_secs())));
        }
    };
    let Waited::Finished(finished) = waited else { return None };
    Some(Said::Ended { code: finished.exit.code, output: said(&finished.output) })
}

/// The beginning of what it said: the first fault explains the later ones.
fn said(output: &Captured) -> String {
    let text = crate::text::clean::clean(&output.head).trim().to_owned();
    if text.len() <= OUTPUT_BYTES {
        return text;
    }
    let cut = text.floor_char_boundary(OUTPUT_BYTES);
    format!("{}\n[… {} more bytes]", &text[..cut], output.total.saturating_sub(cut as u64))
}

#[cfg(test)]
mod tests {
    use crate::config::Config;
    use crate::tools::testing::Bench;
    use serde_json::{Value, json};
    use std::sync::Arc;

    fn bench(command: &str, timeout: u64) -> Bench {
        let mut config = Config::default();
        config.checks.commands.insert("txt".into(), command.into());
        config.checks.timeout = timeout;
        let mut bench = Bench::new();
        bench.config = Arc::new(config);
        bench
    }

    async fn write(bench: &Bench, name: &str, content: &str) -> Value {
        let output = bench.call("write_file", json!({"path": name, "content": content})).await;
        serde_json::from_str(&output.content).unwrap()
    }

    #[tokio::test]
    async fn what_the_check_says_reaches_the_model() {
        let bench = bench("grep -n bad {file} && exit 3 || true", 20);
        assert_eq!(write(&bench, "it's.txt", "good\n").await["checks"], Value::Null);
        let result = write(&bench, "it's.txt", "a\nbad\n").await;
        let report = &result["checks"][0];
        assert_eq!((&report["exit_code"], &report["output"]), (&json!(3), &json!("2:bad")), "{result}");
        assert_eq!(write(&bench, "other.md", "bad\n").await["checks"], Value::Null, "no command for such files");
    }

    #[tokio::test]
    async fn a_formatter_may_change_the_file() {
        let bench = bench("sed -i s/a/b/", 20);
        let result = write(&bench, "f.txt", "a\n").await;
        assert!(result["checks"][0]["changed"].is_string(), "{result}");
        assert_eq!(bench.read("f.txt"), "b\n");
        let patched = bench.call("patch", json!({"path": "f.txt", "old_string": "b", "new_string": "c"})).await;
        assert!(!patched.content.contains("changed since you last read it"), "{}", patched.content);
    }

    #[tokio::test]
    async fn a_check_that_hangs_is_stopped() {
        let bench = bench("sleep 60 #", 1);
        let result = write(&bench, "f.txt", "a\n").await;
        assert!(result["checks"][0]["result"].as_str().unwrap().contains("after 1 s"), "{result}");
    }
}
