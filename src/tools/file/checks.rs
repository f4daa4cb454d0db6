//! After an edit: the formatter or linter that the person configured for such files, and what it says.

use super::edit::lock;
use super::write;
use crate::exec::{Captured, ExitReason, Launch, Spawn, Waited};
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

/// Runs the configured command for each changed file (absolute path, and as it is shown), all at once. `None`: none is
/// configured for them, or none had anything to say.
pub async fn run(files: &[(PathBuf, String)], ctx: &ToolCtx) -> Option<Value> {
    let wanted = files.iter().filter_map(|(path, shown)| {
        let extension = path.extension()?.to_str()?;
        let command = ctx.config.checks.commands.get(extension).filter(|command| !command.trim().is_empty())?;
        Some((path, shown, command))
    });
    let each = wanted.take(MOST_FILES).map(|(path, shown, command)| one(path, shown, command, ctx));
    let found: Vec<Value> = futures::future::join_all(each).await.into_iter().flatten().collect();
    (!found.is_empty()).then_some(Value::Array(found))
}

async fn one(path: &Path, shown: &str, command: &str, ctx: &ToolCtx) -> Option<Value> {
    let before = write::stamp(path);
    let quoted = format!("'{}'", path.to_str()?.replace('\'', r"'\''"));
    let line = if command.contains(FILE) { command.replace(FILE, &quoted) } else { format!("{command} {quoted}") };
    let spawn = Spawn {
        command: line,
        cwd: crate::tools::paths::cwd(ctx),
        pty: false,
        background: false,
        // A shell state of its own: the folder and the variables of the session's shell stay as they are.
        task: format!("{}:checks", ctx.task),
        size: ctx.exec.size(),
        headless: true,
    };
    let told = |value: Value| Some(json!({"file": shown, "command": command, "result": value}));
    let running = match ctx.exec.launch(Launch::from(spawn)).await {
        Ok(running) => running,
        Err(error) => return told(json!(error.to_string())),
    };
    let limit = Duration::from_secs(ctx.config.checks.timeout);
    let waited = tokio::select! {
        biased;
        waited = running.wait() => waited,
        () = ctx.cancel.cancelled() => { running.stop(ExitReason::Stopped); return None }
        () = tokio::time::sleep(limit) => {
            running.stop(ExitReason::TimedOut);
            return told(json!(format!("it did not end within {} s and was stopped", limit.as_secs())));
        }
    };
    // A formatter has changed what the session knows of the file.
    let after = write::stamp(path);
    let changed = after != before;
    if changed {
        lock(&ctx.files).wrote(path, after);
    }
    let Waited::Finished(finished) = waited else { return None };
    if finished.exit.code == 0 && !changed {
        return None;
    }
    let mut report = json!({"file": shown, "command": command, "exit_code": finished.exit.code});
    if changed {
        report["changed"] = json!("the command changed the file: read it before the next edit");
    }
    let output = said(&finished.output);
    if !output.is_empty() {
        report["output"] = json!(output);
    }
    Some(report)
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
        assert!(!patched.content.contains("changed by someone else"), "{}", patched.content);
    }

    #[tokio::test]
    async fn a_check_that_hangs_is_stopped() {
        let bench = bench("sleep 60 #", 1);
        let result = write(&bench, "f.txt", "a\n").await;
        assert!(result["checks"][0]["result"].as_str().unwrap().contains("within 1 s"), "{result}");
    }
}
