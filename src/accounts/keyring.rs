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

/// Keeps a secret under a name; one that was there is written over.
pub fn keep(account: &str, secret: &str) -> Result<(), KeyringError> {
    let (words, input) = if cfg!(target_os = "macos") {
        // Its command line is everybody's to read, so the words go the same way as the secret.
        let hex: String = secret.bytes().map(|byte| format!("{byte:02x}")).collect();
        (vec!["-i"], format!("add-generic-password -U -s {SERVICE} -a \"{account}\" -X {hex}\n"))
    } else {
        let words = vec!["store", "--label=Hermes", "service", SERVICE, "account", account];
        (words, secret.to_owned())
    };
    run(&words, input).map(|_| ())
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
