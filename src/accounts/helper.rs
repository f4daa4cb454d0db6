//! The token of another program that is signed in (`gh auth token`), by its own published command.

use super::error::AccountError;
use crate::exec::{Limits, Oneshot, OneshotError, OutputLimit, Remainder};
use std::io::ErrorKind;
use std::process::Command;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(10);
/// Bytes of a token.
const ANSWER: usize = 4_000;

/// Whether the program is installed.
pub fn is_here(words: &[String]) -> bool {
    let Some(program) = words.first() else { return false };
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|dir| dir.join(program).is_file())
}

/// Asks it. Blocks.
pub fn ask(words: &[String]) -> Result<String, AccountError> {
    let Some((program, rest)) = words.split_first() else {
        return Err(AccountError::Helper { why: "no program is known for this provider".into() });
    };
    let line = words.join(" ");
    let mut command = Command::new(program);
    command.args(rest);
    let bounds = Limits { time: PATIENCE, stdout: OutputLimit::All(ANSWER), stderr: OutputLimit::First(1_000) };
    let one = Oneshot { command, input: Vec::new(), bounds, rest: Remainder::Ends };
    let why = match one.block(&|| false) {
        Ok(output) if output.status.success() => {
            let token = String::from_utf8_lossy(&output.stdout).trim().to_owned();
            if !token.is_empty() && !token.contains(char::is_whitespace) {
                return Ok(token);
            }
            format!("`{line}` printed no token; sign in with `{program} auth login` first")
        }
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr);
            let said = said.lines().next().unwrap_or_default();
            format!("`{line}` failed ({said}); sign in with `{program} auth login` first")
        }
        Err(OneshotError::Io(error)) if error.kind() == ErrorKind::NotFound => format!("{program} is not installed"),
        Err(error) => format!("`{line}`: {error}"),
    };
    Err(AccountError::Helper { why })
}
