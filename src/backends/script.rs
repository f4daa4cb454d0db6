//! Pieces of POSIX shell for the other side. Every value in them is quoted here.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Bytes of a text that are a word of a command; Linux takes no words over 128 KiB.
const PRINTED: usize = 64 * 1024;

/// A script as it comes together.
#[derive(Clone, Debug, Default)]
pub(crate) struct Script(pub(crate) Vec<u8>);

impl Script {
    /// Words of the program itself.
    pub(crate) fn new(text: &str) -> Self {
        Self(text.as_bytes().to_vec())
    }

    /// More words of the program itself.
    pub(crate) fn add(mut self, text: &str) -> Self {
        self.0.extend_from_slice(text.as_bytes());
        self
    }

    /// One word that stands for exactly these bytes.
    pub(crate) fn word(mut self, value: impl AsRef<OsStr>) -> Self {
        self.0.extend_from_slice(&quoted(value.as_ref().as_bytes()));
        self
    }

    /// `NAME=VALUE` on a line of its own.
    pub(crate) fn set(self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.add(name).add("=").word(value).add("\n")
    }

    /// Writes a text and a line break into a file; `path` is words of the program. No process is made for it where the
    /// shell has a `printf` of its own; one that has none cannot hand any length over.
    pub(crate) fn file(self, path: &str, text: &str) -> Self {
        if text.len() <= PRINTED {
            return self.add("printf '%s\\n' ").word(text).add(&format!(" >\"{path}\"\n"));
        }
        // A line of the text cannot end it: nobody knows the word.
        let end = format!("END_{:016x}", fastrand::u64(..));
        self.add(&format!("cat >\"{path}\" <<'{end}'\n{text}\n{end}\n"))
    }
}

/// In single quotes, whatever it holds.
fn quoted(value: &[u8]) -> Vec<u8> {
    let mut out = vec![b'\''];
    for byte in value {
        match byte {
            b'\'' => out.extend_from_slice(b"'\\''"),
            byte => out.push(*byte),
        }
    }
    out.push(b'\'');
    out
}

/// The same for a client that hands its words to a shell there (`ssh`). Plain words stay readable.
pub(crate) fn shell_word(word: &str) -> String {
    let plain = !word.is_empty() && word.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_./=:,@%+".contains(&b));
    if plain { word.to_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

/// A glob as a word that the shell there expands: all but the signs of the pattern is quoted.
pub(crate) fn pattern(path: &Path) -> Vec<u8> {
    let mut out = Vec::new();
    let mut literal = Vec::new();
    let bytes = path.as_os_str().as_bytes();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let set = (byte == b'[').then(|| bracket(&bytes[at..])).flatten();
        let sign = match byte {
            b'*' | b'?' => Some(1),
            _ => set,
        };
        match sign {
            Some(length) => {
                if !literal.is_empty() {
                    out.extend(quoted(&std::mem::take(&mut literal)));
                }
                out.extend_from_slice(&bytes[at..at + length]);
                at += length;
            }
            None => {
                literal.push(byte);
                at += 1;
            }
        }
    }
    if !literal.is_empty() {
        out.extend(quoted(&literal));
    }
    out
}

/// Bytes of a set of plain letters at the beginning, such as `[a-z]`.
fn bracket(bytes: &[u8]) -> Option<usize> {
    let end = bytes.iter().position(|byte| *byte == b']')?;
    let inner = bytes.get(1..end)?;
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.!^".contains(byte);
    (!inner.is_empty() && inner.iter().all(plain)).then_some(end + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;
    use std::process::{Command, Stdio};

    #[test]
    fn values_come_through_a_shell_as_they_are() {
        for value in ["", "a b", "it's", "$(id)`id`", "-n", "a\nb", "\\", "'\"'", "*?[a]"] {
            let script = Script::new("printf '%s|' ").word(value).add(" x");
            let out = Command::new("sh").arg("-c").arg(String::from_utf8(script.0).unwrap()).output().unwrap();
            assert_eq!(String::from_utf8(out.stdout).unwrap(), format!("{value}|x|"));
            let line = format!("printf '%s|' {}", shell_word(value));
            let out = Command::new("sh").args(["-c", &line]).output().unwrap();
            assert_eq!(String::from_utf8(out.stdout).unwrap(), format!("{value}|"));
        }
        assert_eq!(shell_word("/usr/bin/x"), "/usr/bin/x");
    }

    #[test]
    fn texts_are_not_looked_into() {
        let root = tempfile::tempdir().unwrap();
        for times in [1, PRINTED] {
            let text = "EOF\n$HOME `id` \\\n%s\\n'".repeat(times);
            let script = Script::new("").set("J", root.path()).file("$J/x", &text);
            let mut sh = Command::new("sh").stdin(Stdio::piped()).spawn().unwrap();
            sh.stdin.take().unwrap().write_all(&script.0).unwrap();
            assert!(sh.wait().unwrap().success());
            assert_eq!(std::fs::read_to_string(root.path().join("x")).unwrap(), format!("{text}\n"));
        }
    }

    #[test]
    fn only_signs_of_a_pattern_expand() {
        for (path, want) in
            [("/a b/*.rs", "'/a b/'*'.rs'"), ("/x?[ab]$y", "'/x'?[ab]'$y'"), ("/x[$(id)]", "'/x[$(id)]'"), ("*", "*")]
        {
            assert_eq!(String::from_utf8(pattern(Path::new(path))).unwrap(), want);
        }
    }
}
