//! The environment of the person's login shell, asked once.

use super::env::Env;
use crate::exec::child::oneshot::{Limits, Oneshot, OutputLimit, Remainder};
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

/// A start-up file that takes longer (or waits for someone) is not waited for.
const LIMIT: Duration = Duration::from_secs(5);
/// More than any environment; a start-up file that prints for ever is cut off.
const MAX_OUTPUT_BYTES: usize = 4 * 1024 * 1024;
/// Separates what start-up files print from the environment.
const MARK: &[u8] = b"\0--environment--\0";

/// Asks `$SHELL` as a login and interactive shell, or `bash` after `files` when there are any. Blocks up to 5 s; `None`
/// when the shell cannot be asked, does not answer in time or answers nonsense.
pub(crate) fn capture(files: &[PathBuf]) -> Option<Env> {
    let print = "printf '\\0--environment--\\0'; command env -0";
    let command = if files.is_empty() {
        let shell = std::env::var_os("SHELL").filter(|s| !s.is_empty()).unwrap_or_else(|| "/bin/bash".into());
        let mut command = Command::new(shell);
        command.args(["-l", "-i", "-c", print]);
        command
    } else {
        let mut command = Command::new("bash");
        let script = format!("for f in \"$@\"; do [ -r \"$f\" ] && . \"$f\"; done >/dev/null 2>&1; {print}");
        command.args(["--noprofile", "--norc", "-c", &script, "bash"]).args(files);
        command
    };
    // An interactive shell would take our own terminal away: it gets a session of its own.
    let bounds = Limits { time: LIMIT, stdout: OutputLimit::All(MAX_OUTPUT_BYTES), stderr: OutputLimit::None };
    let done = Oneshot { command, input: Vec::new(), bounds, rest: Remainder::Ends }.block(&|| false);
    let unused = |error: &_| tracing::warn!("not using the login shell's environment: its shell {error}");
    parse(&done.inspect_err(unused).ok()?.stdout)
}

fn parse(bytes: &[u8]) -> Option<Env> {
    let start = bytes.windows(MARK.len()).rposition(|w| w == MARK)? + MARK.len();
    let mut env = Env::new();
    for entry in bytes[start..].split(|&b| b == 0) {
        if let Some(at) = entry.iter().position(|&b| b == b'=').filter(|&at| at > 0) {
            env.insert(OsString::from_vec(entry[..at].to_vec()), OsString::from_vec(entry[at + 1..].to_vec()));
        }
    }
    env.contains_key(std::ffi::OsStr::new("PATH")).then_some(env)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_start_up_files_print_is_skipped() {
        let env = parse(b"Welcome!\nA=wrong\0--environment--\0PATH=/bin\0A=x=y\nz\0=odd\0").unwrap();
        assert_eq!(env[std::ffi::OsStr::new("A")], "x=y\nz");
        assert_eq!(env.len(), 2);
        assert_eq!(parse(b"PATH=/bin\0"), None);
    }

    #[test]
    fn start_up_files_are_sourced() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("init");
        std::fs::write(&file, "echo noise; export FROM_INIT='a b'\n").unwrap();
        let env = capture(&[folder.path().join("missing"), file]).unwrap();
        assert_eq!(env[std::ffi::OsStr::new("FROM_INIT")], "a b");
    }
}
