//! The system's keyring, by the program that comes with it: `secret-tool` where there is a Secret Service, `security` on
//! macOS. A secret goes in by standard input only. Blocks.

use crate::exec::{Limits, Oneshot, OneshotError, OutputLimit, Remainder};
use std::io::ErrorKind;
use std::process::Command;
use std::time::Duration;

/// A locked keyring may ask the person; nobody waits longer for it.
const PATIENCE: Duration = Duration::from_secs(20);
/// Bytes of an answer.
const ANSWER: usize = 64 * 1024;
const SERVICE: &str = "hermes";

/// Why the keyring did not do it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyringError {
    /// There is no such program.
    NotHere,
    /// What it said.
    Failed(String),
}

/// Bytes of a line that `security -i` takes (4,096, as the sources of macOS have it), with some to spare: it says the rest of
/// a longer one aloud, and the rest is the secret.
const LINE: usize = 4_000;

/// Keeps a secret under a name; one that was there is written over. Only what can be read again is kept.
pub fn keep(account: &str, secret: &str) -> Result<(), KeyringError> {
    let kept = if cfg!(target_os = "macos") {
        let line = line(account, secret).ok_or_else(|| KeyringError::Failed("the login is too long for it".into()))?;
        run(&["-i"], line)
    } else {
        run(&["store", "--label=Hermes", "service", SERVICE, "account", account], secret.to_owned())
    };
    match kept {
        Ok(_) => {}
        // What it was given may be in what it says.
        Err(KeyringError::Failed(_)) => {
            return Err(KeyringError::Failed("it would not take the login; is it locked?".into()));
        }
        Err(KeyringError::NotHere) => return Err(KeyringError::NotHere),
    }
    if find(account)?.as_deref() == Some(secret) {
        return Ok(());
    }
    // Half a secret is of no use to anybody.
    let _ = forget(account);
    Err(KeyringError::Failed("what it took can't be read again".into()))
}

/// What `security -i` is told. Its command line is everybody's to read, so the words go the same way as the secret.
fn line(account: &str, secret: &str) -> Option<String> {
    let hex: String = secret.bytes().map(|byte| format!("{byte:02x}")).collect();
    let line = format!("add-generic-password -U -s {SERVICE} -a \"{account}\" -X {hex}\n");
    (line.len() <= LINE).then_some(line)
}

/// The secret under a name.
pub fn find(account: &str) -> Result<Option<String>, KeyringError> {
    let words: &[&str] = if cfg!(target_os = "macos") {
        &["find-generic-password", "-s", SERVICE, "-a", account, "-w"]
    } else {
        &["lookup", "service", SERVICE, "account", account]
    };
    match run(words, String::new()) {
        Ok(text) => Ok(Some(text.trim_end_matches('\n').to_owned()).filter(|text| !text.is_empty())),
        // It says nothing when there is nothing.
        Err(KeyringError::Failed(why)) if why.is_empty() || why.contains("could not be found") => Ok(None),
        Err(error) => Err(error),
    }
}

/// Forgets what is under a name.
pub fn forget(account: &str) -> Result<(), KeyringError> {
    let words = if cfg!(target_os = "macos") {
        ["delete-generic-password", "-s", SERVICE, "-a", account]
    } else {
        ["clear", "service", SERVICE, "account", account]
    };
    run(&words, String::new()).map(|_| ())
}

fn run(words: &[&str], input: String) -> Result<String, KeyringError> {
    let mut command = Command::new(if cfg!(target_os = "macos") { "security" } else { "secret-tool" });
    command.args(words);
    let bounds = Limits { time: PATIENCE, stdout: OutputLimit::All(ANSWER), stderr: OutputLimit::First(2_000) };
    let one = Oneshot { command, input: input.into_bytes(), bounds, rest: Remainder::Ends };
    match one.block(&|| false) {
        Ok(output) if output.status.success() => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr);
            Err(KeyringError::Failed(said.trim().chars().filter(|c| !c.is_control()).take(200).collect()))
        }
        Err(OneshotError::Io(error)) if error.kind() == ErrorKind::NotFound => Err(KeyringError::NotHere),
        Err(OneshotError::TimedOut(after)) => {
            Err(KeyringError::Failed(format!("it did not answer within {} s; is it locked?", after.as_secs())))
        }
        Err(error) => Err(KeyringError::Failed(error.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_would_be_said_aloud_is_never_given() {
        let short = line("nous/a1b2c3", "sk-1").unwrap();
        assert_eq!(short, "add-generic-password -U -s hermes -a \"nous/a1b2c3\" -X 736b2d31\n");
        for (bytes, fits) in [(1_900, true), (2_000, false), (9_000, false)] {
            assert_eq!(line("nous/a1b2c3", &"x".repeat(bytes)).is_some(), fits, "{bytes}");
        }
    }
}
