//! The shell that runs commands, and the state that outlives one: working folder and exported variables.
//!
//! `bash` gets the command's own text with `-c`; a prelude that it reads first (`BASH_ENV`) sets a trap which writes the
//! state over that very file when the shell exits, however it exits. Each command has such a file of its own, the only
//! thing of ours that a sandbox opens: no command writes where another one's shell will. A command that sets an exit trap of its own keeps its state to itself.

use super::env::Env;
use crate::exec::scratch::Scratch;
use crate::fs::remove;
use rustix::fs::{Mode, OFlags};
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::io::{Read as _, Write as _};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

/// A shell, and files of ours that it reads and writes. The folder disappears with this value.
#[derive(Debug)]
pub(crate) struct Shell {
    program: PathBuf,
    bash: bool,
    folder: Scratch,
}

/// What a shell left behind.
#[derive(Debug, PartialEq)]
pub(crate) struct ShellState {
    pub(crate) cwd: PathBuf,
    /// `None` when it could not be understood.
    pub(crate) exported: Option<Env>,
}

/// Folders in the private one: what shells read first and leave behind, a file each; temporary files of commands in a
/// sandbox.
const STATE: &str = "state";
const TEMPORARY: &str = "tmp";
/// What the shell of a command reads first. `set +x` hides the trap from a traced command; `>|` works under noclobber.
const PRELUDE: &str = "unset BASH_ENV\nSTOPS\
    trap '{ __hermes=$?; set +x; } 2>/dev/null; AGAIN\
    { pwd -P; export -p; } >|STATE 2>/dev/null || :; eval \"unset __hermes; exit $__hermes\"' EXIT\n";
/// A command that was stopped (Ctrl-Z in an editor) would be hung up when its shell ends. So the shell stops as well, and
/// when it is continued it brings the command back to the foreground. No loop: a stopped command breaks all of them.
const STOPS: &str = "__hermes_stops() { jobs -s >|STATE; [ -s STATE ] || return 0; kill -STOP $$; \
    if fg; then __hermes=0; else __hermes=$?; fi >/dev/null; __hermes_stops; }\n";
const AGAIN: &str = "__hermes_stops 2>/dev/null; unset -f __hermes_stops; ";
/// Bytes of what a shell leaves behind: the system gives the environment of a program no more than some two million.
const MAX_STATE: u64 = 4 * 1024 * 1024;

impl Shell {
    /// Finds `bash`, or else `sh`, and makes a private folder.
    pub(crate) fn new() -> io::Result<Self> {
        let found = std::env::var_os("PATH")
            .into_iter()
            .flat_map(|path| std::env::split_paths(&path).map(|p| p.join("bash")).collect::<Vec<_>>())
            .chain(["/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash"].map(PathBuf::from))
            .find(|path| path.is_file());
        let plain = |path: &Path| path.to_str().is_some_and(|p| !p.contains(['\'', '"', '$', '`', '\\', '\n']));
        // The path stands inside the quotes of the trap.
        let temporary = Some(std::env::temp_dir()).filter(|path| plain(path)).unwrap_or_else(|| "/tmp".into());
        let folder = Scratch::new(&temporary, "shell")?;
        let shell = Self { bash: found.is_some(), program: found.unwrap_or_else(|| "/bin/sh".into()), folder };
        for name in [STATE, TEMPORARY] {
            std::fs::create_dir(shell.folder.path().join(name))?;
        }
        Ok(shell)
    }

    /// Makes the file for the state of one command.
    pub(crate) fn state(&self) -> io::Result<StateFile> {
        let path = self.folder.path().join(STATE).join(format!("{:016x}", fastrand::u64(..)));
        let mut file = File::options().write(true).create_new(true).mode(0o600).open(&path)?;
        // Without job control nothing is stopped.
        let (stops, again) = if self.bash { (STOPS, AGAIN) } else { ("", "") };
        let prelude = PRELUDE.replace("STOPS", stops).replace("AGAIN", again).replace("STATE", &quote(&path));
        let state = StateFile { folder: self.folder.path().to_owned(), path };
        file.write_all(prelude.as_bytes())?;
        Ok(state)
    }

    /// The command that runs `line`, and its `BASH_ENV`. With a file from [`state`](Self::state) it writes that at the end.
    ///
    /// With a terminal, jobs get process groups of their own (`-m`), as in an interactive shell: what a command leaves
    /// running is not hung up when the shell, which leads the session, exits.
    pub(crate) fn command<'a>(
        &self,
        line: &str,
        state: Option<&'a Path>,
        terminal: bool,
    ) -> (std::process::Command, Option<&'a Path>) {
        let mut command = std::process::Command::new(&self.program);
        if !self.bash {
            match state {
                Some(state) => command.args(["-c", ". \"$1\"; eval \"$2\"", "sh"]).arg(state).arg(line),
                None => command.args(["-c", line, "sh"]),
            };
            return (command, None);
        }
        command.args(["--noprofile", "--norc"]);
        if terminal {
            command.arg("-m");
        }
        command.args(["-c", line, "bash"]);
        (command, state)
    }

    /// The private folder.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Removes the private folder; nothing can be started afterwards. Threads of processes that go on keep this value.
    pub(crate) fn discard(&self) {
        self.folder.discard();
    }
}

/// What the shell of one command reads first, and where it leaves its state. The file goes with this value.
#[derive(Debug)]
pub(crate) struct StateFile {
    /// The private folder that it is in.
    folder: PathBuf,
    path: PathBuf,
}

impl StateFile {
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// What the shell left in it.
    pub(crate) fn read(&self) -> Option<ShellState> {
        parse_state(&read_plain(&self.path)?)
    }
}

impl Drop for StateFile {
    fn drop(&mut self) {
        if let Err(error) = remove::file(remove::File::ShellState, &self.folder, &self.path) {
            tracing::warn!("{error}");
        }
    }
}

/// The bytes of a plain file of a bounded size: the command could write to it, and nothing that it may have put in its
/// place is followed or waited for.
fn read_plain(path: &Path) -> Option<Vec<u8>> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty()).ok()?);
    let plain = file.metadata().ok().filter(std::fs::Metadata::is_file)?;
    if plain.len() > MAX_STATE {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(MAX_STATE).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// A path for a shell line.
fn quote(path: &Path) -> String {
    // Inside the single quotes of the trap only double quotes can be used; temporary folders have plain names.
    format!("\"{}\"", path.display())
}

/// The folder on the first line, then `declare -x NAME="value"` or `export NAME='value'` statements.
pub(super) fn parse_state(bytes: &[u8]) -> Option<ShellState> {
    let end = bytes.iter().position(|&b| b == b'\n')?;
    if bytes.first() != Some(&b'/') {
        return None;
    }
    let cwd = PathBuf::from(OsString::from_vec(bytes[..end].to_vec()));
    Some(ShellState { cwd, exported: parse_exports(&bytes[end + 1..]) })
}

fn parse_exports(mut bytes: &[u8]) -> Option<Env> {
    let mut env = Env::new();
    while !bytes.is_empty() {
        let mut rest = if let Some(rest) = bytes.strip_prefix(b"declare -") {
            let end = rest.iter().position(|&b| b == b' ')?;
            rest.get(end + 1..)?
        } else {
            bytes.strip_prefix(b"export ")?
        };
        let name_end = rest.iter().position(|b| matches!(b, b'=' | b'\n'))?;
        let name = OsString::from_vec(rest[..name_end].to_vec());
        let has_value = rest[name_end] == b'=';
        rest = &rest[name_end + 1..];
        if has_value {
            let (value, after) = word(rest)?;
            rest = after.strip_prefix(b"\n").unwrap_or(after);
            env.insert(name, OsString::from_vec(value));
        }
        bytes = rest;
    }
    for name in ["BASH_ENV", "SHLVL", "PWD", "_"] {
        env.remove(std::ffi::OsStr::new(name));
    }
    Some(env)
}

/// One shell word as `export -p` writes it: plain, `'…'`, `"…"` and `$'…'` parts.
fn word(mut bytes: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let mut value = Vec::new();
    loop {
        match bytes {
            [] | [b'\n', ..] => return Some((value, bytes)),
            [b'"', rest @ ..] => {
                bytes = rest;
                loop {
                    match bytes {
                        [b'"', rest @ ..] => {
                            bytes = rest;
                            break;
                        }
                        [b'\\', c @ (b'"' | b'\\' | b'$' | b'`'), rest @ ..] => {
                            value.push(*c);
                            bytes = rest;
                        }
                        [c, rest @ ..] => {
                            value.push(*c);
                            bytes = rest;
                        }
                        [] => return None,
                    }
                }
            }
            [b'\'', rest @ ..] => {
                let end = rest.iter().position(|&b| b == b'\'')?;
                value.extend_from_slice(&rest[..end]);
                bytes = &rest[end + 1..];
            }
            [b'$', b'\'', rest @ ..] => bytes = ansi_c(rest, &mut value)?,
            [b'\\', c, rest @ ..] => {
                value.push(*c);
                bytes = rest;
            }
            [c, rest @ ..] => {
                value.push(*c);
                bytes = rest;
            }
        }
    }
}

/// The inside of `$'…'` and what follows it.
fn ansi_c<'a>(mut bytes: &'a [u8], value: &mut Vec<u8>) -> Option<&'a [u8]> {
    loop {
        match bytes {
            [b'\'', rest @ ..] => return Some(rest),
            [b'\\', c, rest @ ..] => {
                bytes = rest;
                let (radix, most) = match c {
                    b'0'..=b'7' => (8, 3),
                    b'x' => (16, 2),
                    b'u' => (16, 4),
                    b'U' => (16, 8),
                    _ => {
                        value.push(match c {
                            b'a' => 7,
                            b'b' => 8,
                            b'e' | b'E' => 27,
                            b'f' => 12,
                            b'n' => 10,
                            b'r' => 13,
                            b't' => 9,
                            b'v' => 11,
                            c => *c,
                        });
                        continue;
                    }
                };
                let mut digits = if radix == 8 { vec![*c] } else { Vec::new() };
                while let [d, rest @ ..] = bytes
                    && digits.len() < most
                    && (*d as char).is_digit(radix)
                {
                    digits.push(*d);
                    bytes = rest;
                }
                let number = u32::from_str_radix(std::str::from_utf8(&digits).ok()?, radix).ok()?;
                match c {
                    b'u' | b'U' => value.extend(char::from_u32(number)?.to_string().bytes()),
                    _ => value.push(number as u8),
                }
            }
            [c, rest @ ..] => {
                value.push(*c);
                bytes = rest;
            }
            [] => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;

    #[test]
    fn state_is_read_in_every_quoting() {
        let text = b"/some where\ndeclare -x A=\"x \\\"q\\\" \\$d \\\\ \\`\"\ndeclare -rx B=$'two\\nlines\\t\\e\\101\\'q'\n\
            declare -x EMPTY=\"\"\ndeclare -x OLDPWD\nexport C='it'\"'\"'s'\nexport D=plain\ndeclare -x E=\"real\nnewline\"\n\
            declare -x SHLVL=\"4\"\n";
        let state = parse_state(text).unwrap();
        assert_eq!(state.cwd, Path::new("/some where"));
        let env = state.exported.unwrap();
        let get = |name: &str| env.get(OsStr::new(name)).and_then(|v| v.to_str()).unwrap_or("(none)");
        assert_eq!(get("A"), "x \"q\" $d \\ `");
        assert_eq!(get("B"), "two\nlines\t\x1bA'q");
        assert_eq!(get("EMPTY"), "");
        assert_eq!(get("C"), "it's");
        assert_eq!(get("D"), "plain");
        assert_eq!(get("E"), "real\nnewline");
        assert_eq!(env.len(), 6);
    }

    #[test]
    fn garbage_is_no_state() {
        assert_eq!(parse_state(b""), None);
        assert_eq!(parse_state(b"not a path\n"), None);
        assert_eq!(parse_state(b"/x\nnoise\n").unwrap().exported, None);
        assert_eq!(parse_state(b"/x\ndeclare -x A=\"unclosed").unwrap().exported, None);
    }
}
