//! What the model gets back of a script: what it printed, within its bound, and how it ended.

use super::run::Ended;
use crate::exec::{Kept, ScriptEnd};
use crate::protocol::Outcome;
use crate::text::clean::clean;
use crate::text::format;
use crate::tools::output::bound;
use crate::tools::spec::ToolOutput;
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;

/// Bytes of standard output that the model gets.
const OUTPUT: usize = 50_000;
/// Bytes of standard error.
const ERRORS: usize = 10_000;
/// Bytes of either stream that are kept: what is not shown goes to a file.
pub const KEPT: (usize, usize) = (16 * 1024 * 1024, 256 * 1024);
/// Stands for the rest of an output.
const TRUNCATED: &str = "[output truncated at 50KB]";
/// Characters of a line in the file of all of it: `read_file` shows no more.
const LINE: usize = 2_000;

/// The result of a script that has ended.
pub fn of(end: &ScriptEnd, ended: Ended, made: usize, took: Duration, spill: &Path, most: u64) -> ToolOutput {
    let code = end.code.unwrap_or(-1);
    let failed = ended != Ended::Itself || code != 0;
    let status = match ended {
        Ended::Itself if failed => "error",
        Ended::Itself => "success",
        Ended::TimedOut => "timeout",
        Ended::Stopped => "interrupted",
    };
    let (output, whole) = printed(&end.stdout, spill);
    let mut errors = tail(&clean(&end.stderr.bytes), ERRORS);
    match ended {
        Ended::TimedOut => add(&mut errors, &format!("Script timed out after {most}s and was killed.")),
        Ended::Stopped => add(&mut errors, "[execution interrupted by the user]"),
        Ended::Itself if failed && errors.is_empty() => errors = format!("Script exited with code {code}"),
        Ended::Itself => {}
    }
    let mut value = json!({
        "status": status,
        "output": output,
        "exit_code": code,
        "tool_calls_made": made,
        "duration_seconds": (took.as_secs_f64() * 100.0).round() / 100.0,
    });
    // What a script that went well says there is mostly a warning of its interpreter.
    if failed && !errors.is_empty() {
        value["errors"] = errors.clone().into();
    }
    if let Some(whole) = whole {
        value["full_output"] = whole.into();
    }
    let mut result = ToolOutput::json(&value);
    result.outcome = match ended {
        Ended::Stopped => Outcome::Interrupted,
        _ if failed => Outcome::Failed,
        _ => Outcome::Ok,
    };
    result.view.summary = summary(ended, code, made);
    result.view.output = match (output.is_empty(), errors.is_empty() || !failed) {
        (true, false) => errors,
        (false, false) => format!("{output}\n{errors}"),
        (_, true) => output,
    };
    result
}

/// The result of a script that ended: `3 calls`, `exit 1 · 3 calls`.
fn summary(ended: Ended, code: i32, made: usize) -> String {
    let calls = Some(format::plural(made as u64, "call", "calls")).filter(|_| made > 0);
    let how = match ended {
        Ended::Itself => Some(format!("exit {code}")).filter(|_| code != 0),
        Ended::TimedOut => Some("timed out".to_owned()),
        Ended::Stopped => Some("stopped".to_owned()),
    };
    how.into_iter().chain(calls).collect::<Vec<_>>().join(" · ")
}

/// What stands in the result, and where all of it is.
fn printed(stdout: &Kept, spill: &Path) -> (String, Option<String>) {
    let text = clean(&stdout.bytes);
    let text = text.trim_end();
    if text.len() <= OUTPUT {
        return (text.to_owned(), None);
    }
    let more = match stdout.total.saturating_sub(stdout.bytes.len() as u64) {
        0 => String::new(),
        more => format!(", but for its last {}", format::bytes(more)),
    };
    let whole = match bound::create_new(spill).and_then(|(file, path)| {
        bound::write_lines(file, text, LINE)?;
        Ok(path)
    }) {
        Ok(path) => format!("{}{more}; page through it with read_file (offset, limit)", path.display()),
        Err(error) => format!("could not be saved: {error}"),
    };
    let end = text.floor_char_boundary(OUTPUT);
    (format!("{}\n{TRUNCATED}", &text[..end]), Some(whole))
}

/// The end of a text, where a trace says what went wrong.
fn tail(text: &str, most: usize) -> String {
    let text = text.trim();
    if text.len() <= most {
        return text.to_owned();
    }
    let from = text.ceil_char_boundary(text.len() - most);
    format!("[…]\n{}", &text[from..])
}

fn add(text: &mut String, more: &str) {
    if !text.is_empty() {
        text.push('\n');
    }
    text.push_str(more);
}

/// A result with one more field.
pub fn with(output: &mut ToolOutput, name: &str, text: &str) {
    if let Ok(Value::Object(mut fields)) = serde_json::from_str(&output.content) {
        fields.insert(name.into(), text.into());
        output.content = Value::Object(fields).to_string();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exec::Guard;

    fn end(stdout: &[u8], stderr: &[u8], code: i32) -> ScriptEnd {
        let kept = |bytes: &[u8]| Kept { bytes: bytes.to_vec(), total: bytes.len() as u64 };
        ScriptEnd { code: Some(code), stdout: kept(stdout), stderr: kept(stderr), guard: Guard::default() }
    }

    fn of(end: &ScriptEnd, ended: Ended, spill: &Path) -> (Value, ToolOutput) {
        let output = super::of(end, ended, 3, Duration::from_millis(1_234), spill, 120);
        (serde_json::from_str(&output.content).unwrap(), output)
    }

    #[test]
    fn a_result_says_how_the_script_ended() {
        let nowhere = Path::new("/nonexistent");
        let (value, output) = of(&end(b"hi\n", b"warning", 0), Ended::Itself, nowhere);
        assert_eq!(
            value,
            json!({"status": "success", "output": "hi", "exit_code": 0, "tool_calls_made": 3, "duration_seconds": 1.23})
        );
        assert_eq!((output.outcome, output.view.summary.as_str()), (Outcome::Ok, "3 calls"));
        let (value, output) = of(&end(b"part", b"Traceback", 1), Ended::Itself, nowhere);
        assert_eq!((&value["status"], &value["errors"]), (&json!("error"), &json!("Traceback")));
        assert_eq!((output.outcome, output.view.summary.as_str()), (Outcome::Failed, "exit 1 · 3 calls"));
        let (value, _) = of(&end(b"part", b"", 137), Ended::TimedOut, nowhere);
        assert_eq!((&value["status"], &value["exit_code"]), (&json!("timeout"), &json!(137)));
        assert_eq!(value["errors"], "Script timed out after 120s and was killed.");
        let (value, output) = of(&end(b"part", b"", 143), Ended::Stopped, nowhere);
        assert_eq!((&value["status"], &value["output"]), (&json!("interrupted"), &json!("part")));
        assert_eq!(output.outcome, Outcome::Interrupted);
        let (value, _) = of(&end(b"", b"", 7), Ended::Itself, nowhere);
        assert_eq!(value["errors"], "Script exited with code 7");
    }

    #[test]
    fn what_is_printed_is_bounded_and_all_of_it_is_kept() {
        let dir = tempfile::tempdir().unwrap();
        let spill = dir.path().join("c1-output.txt");
        let text = "ä".repeat(40_000);
        let (value, _) = of(&end(text.as_bytes(), b"", 0), Ended::Itself, &spill);
        let output = value["output"].as_str().unwrap();
        assert!(output.ends_with(TRUNCATED) && output.len() < 50_100, "{}", output.len());
        let whole = std::fs::read_to_string(&spill).unwrap().replace('\n', "");
        assert_eq!(whole, text);
        assert!(value["full_output"].as_str().unwrap().starts_with(spill.to_str().unwrap()));
        // Binary is text that can be read, and errors keep their end.
        let (value, _) = of(&end(b"\xff\x00\x1b[31mred", &[b'e'; 20_000], 1), Ended::Itself, &spill);
        assert!(value["output"].as_str().unwrap().ends_with("red"), "{value}");
        assert!(value["errors"].as_str().unwrap().len() < 10_100);
    }
}
