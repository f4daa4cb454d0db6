//! Files of the place where work is done, for the tools that read and write them. Everything blocks.

use super::remote::{ANSWER_LIMIT, Remote, SMALL};
use super::script::Script;
use super::{PlaceError, Terminal};
use crate::exec::{Limits, Oneshot, OneshotError, OutputLimit, Remainder};
use crate::lock::lock;
use base64::Engine as _;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::time::Duration;

/// What a path is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    File,
    Folder,
    Other,
}

/// What is known of a path, links followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct About {
    pub kind: Kind,
    /// Bytes.
    pub len: u64,
    /// Nanoseconds since the epoch.
    pub modified: u128,
    /// Permission bits.
    pub mode: u32,
}

/// The files of one place.
pub trait Files: Send + Sync {
    /// What a path is.
    ///
    /// # Errors
    /// `NotFound` when nothing is there.
    fn about(&self, path: &Path) -> io::Result<About>;

    /// All bytes of a file of at most `most`.
    ///
    /// # Errors
    /// When it cannot be read, or is larger (`FileTooLarge`).
    fn read(&self, path: &Path, most: u64) -> io::Result<Vec<u8>>;

    /// Replaces a file so that a reader sees the old bytes or the new ones, keeping mode and owner. Folders are made.
    ///
    /// # Errors
    /// When it cannot be written; it is as it was then.
    fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        self.write_as(path, bytes, None)
    }

    /// The same; with these permission bits, if any, before its first byte is there.
    ///
    /// # Errors
    /// When it cannot be written; it is as it was then.
    fn write_as(&self, path: &Path, bytes: &[u8], mode: Option<u32>) -> io::Result<()>;

    /// Deletes a file of the person, by a call that went through the gate.
    ///
    /// # Errors
    /// When it cannot be.
    fn delete(&self, path: &Path) -> io::Result<()>;

    /// Moves a file; folders are made.
    ///
    /// # Errors
    /// When it cannot be.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Names in a folder, at most so many.
    ///
    /// # Errors
    /// When it cannot be listed.
    fn names(&self, folder: &Path, most: usize) -> io::Result<Vec<String>>;
}

/// Files over this go over a client of their own: the link stays free for others.
const LARGE_FROM_BYTES: u64 = 256 * 1024;
/// How long a large file may take.
const LARGE_FILE_LIMIT: Duration = Duration::from_secs(600);

/// Puts `$L` bytes of standard input in place of `$p`, by the name `$t` until they are whole. Nobody can have made that
/// name before, nobody else reads what the old file kept from them or the mode `$M` keeps from them, and an end of input that comes too early (a connection
/// that broke looks like one) leaves the old file as it is.
const PLACE: &str = r#"
[ -d "$p" ] && { echo 'is a folder'; exit 1; }
d=${p%/*}; mkdir -p -- "${d:-/}" 2>&1 || exit 1
t="$d/$t"; m=$M; o=
if [ -e "$p" ]; then
  [ -n "$m" ] || m=$(stat -L -c %a -- "$p" 2>/dev/null || stat -L -f %Lp "$p")
  o=$(stat -L -c %u:%g -- "$p" 2>/dev/null || stat -L -f %u:%g "$p")
fi
fails() { rm -f -- "$t"; [ -w "$p" ] && echo 'the folder cannot be written' || echo 'cannot be written: no permission, or no room'; exit 1; }
([ -z "$m" ] || umask 077; set -C; : >"$t") 2>/dev/null || fails
trap 'rm -f -- "$t"; exit 1' HUP INT TERM
{
  [ -z "$o" ] || chown "$o" "$t" 2>/dev/null
  [ -z "$m" ] || chmod "$m" "$t" 2>/dev/null || [ -z "$M" ] || { rm -f -- "$t"; echo 'its permissions cannot be set'; exit 1; }
  e=$(cat 2>&1 >&3) || { rm -f -- "$t"; echo "$e"; exit 1; }
  [ "$(wc -c <&4)" -eq "$L" ] || { rm -f -- "$t"; echo 'not all of it arrived: the file is as it was'; exit 1; }
  [ -z "$m" ] || chmod "$m" "$t" 2>/dev/null
} 3>>"$t" 4<"$t"
mv -f -- "$t" "$p" 2>&1 || { rm -f -- "$t"; exit 1; }
"#;

/// The script that puts so many bytes in place.
fn place(before: &str, path: &Path, length: usize, mode: Option<u32>) -> Script {
    let name = format!(".hermes-{:016x}.tmp", fastrand::u64(..));
    let mode = mode.map_or_else(String::new, |mode| format!("{mode:o}"));
    Script::new(before).set("p", path).set("t", name).set("L", length.to_string()).set("M", mode).add(PLACE)
}

fn gone(error: &PlaceError) -> io::Error {
    io::Error::new(ErrorKind::NotConnected, error.to_string())
}

fn broke(error: OneshotError) -> io::Error {
    match error {
        OneshotError::TooMuch => ErrorKind::FileTooLarge.into(),
        other => io::Error::other(other.to_string()),
    }
}

/// An error of a tool there, which says `TOOL: PATH: WHY`.
fn said(text: &str) -> io::Error {
    let text = text.lines().next_back().unwrap_or_default().trim();
    let why = text.rsplit(": ").next().filter(|why| !why.is_empty()).unwrap_or("it failed there");
    let kind = match why {
        "No such file or directory" => ErrorKind::NotFound,
        "Permission denied" => ErrorKind::PermissionDenied,
        "Not a directory" => ErrorKind::NotADirectory,
        _ => ErrorKind::Other,
    };
    io::Error::new(kind, why.to_owned())
}

impl Remote {
    /// Runs a small script that says what went wrong.
    fn small(&self, script: &Script) -> io::Result<Vec<u8>> {
        let answer = self.ask(script, ANSWER_LIMIT, SMALL).map_err(|error| gone(&error))?;
        if answer.code == 0 { Ok(answer.out) } else { Err(said(&answer.text())) }
    }

    /// Runs a script over a client of its own, with something to read. The script stands in its first line.
    pub(crate) fn apart(
        &self,
        script: &Script,
        input: &[u8],
        out: OutputLimit,
        time: Duration,
    ) -> io::Result<(i32, Vec<u8>, String)> {
        let facts = self.facts().map_err(|error| gone(&error))?;
        // A login shell on the way that is none of POSIX would read quotes in its own way.
        let words = if facts.has("base64") {
            let text = base64::engine::general_purpose::STANDARD.encode(&script.0);
            format!("eval \"$(printf %s {text} | base64 -d)\"")
        } else {
            String::from_utf8_lossy(&script.0).into_owned()
        };
        let command = self.backend().client(&["sh", "-c", &words], Terminal::None);
        let bounds = Limits { time, stdout: out, stderr: OutputLimit::Last(2048) };
        let once = Oneshot { command, input: input.to_vec(), bounds, rest: Remainder::Ends };
        let done = once.block(&|| false).map_err(broke)?;
        let words = String::from_utf8_lossy(&done.stderr).trim().to_owned();
        Ok((done.status.code().unwrap_or(-1), done.stdout, words))
    }
}

impl Files for Remote {
    fn about(&self, path: &Path) -> io::Result<About> {
        let out = self.small(&Script::new("h_stat ").word(path).add(" 2>&1"))?;
        let text = String::from_utf8_lossy(&out);
        about(text.trim()).ok_or_else(|| io::Error::other(format!("unexpected output: {}", text.trim())))
    }

    fn read(&self, path: &Path, most: u64) -> io::Result<Vec<u8>> {
        let about = self.about(path)?;
        if about.len > most {
            return Err(ErrorKind::FileTooLarge.into());
        }
        // What has no size (of the kernel) is read as far as it goes.
        let script = Script::new("cat -- ").word(path);
        if about.len <= LARGE_FROM_BYTES {
            let limit = usize::try_from(most.max(LARGE_FROM_BYTES)).unwrap_or(usize::MAX);
            let answer = self.ask(&script.add(" 2>/dev/null"), ANSWER_LIMIT, limit).map_err(|error| gone(&error))?;
            return match answer.code {
                0 => Ok(answer.out),
                _ => Err(io::Error::new(ErrorKind::PermissionDenied, "Permission denied")),
            };
        }
        let limit = usize::try_from(most).unwrap_or(usize::MAX);
        let (code, out, words) = self.apart(&script, &[], OutputLimit::All(limit), LARGE_FILE_LIMIT)?;
        if code == 0 { Ok(out) } else { Err(said(&words)) }
    }

    fn write_as(&self, path: &Path, bytes: &[u8], mode: Option<u32>) -> io::Result<()> {
        lock(&self.looked).forget();
        let base64 = self.facts().map_err(|error| gone(&error))?.has("base64");
        if bytes.len() as u64 <= LARGE_FROM_BYTES && base64 {
            let text = base64::engine::general_purpose::STANDARD.encode(bytes);
            let place = place("h_place() {\n", path, bytes.len(), mode).add("}\nbase64 -d <<'END_' | (h_place)\n");
            let whole = place.add(&text).add("\nEND_\n");
            return self.small(&whole).map(|_| ());
        }
        let (code, out, words) =
            self.apart(&place("", path, bytes.len(), mode), bytes, OutputLimit::Last(2048), LARGE_FILE_LIMIT)?;
        match code {
            0 => Ok(()),
            _ if out.is_empty() => Err(said(&words)),
            _ => Err(said(&String::from_utf8_lossy(&out))),
        }
    }

    fn delete(&self, path: &Path) -> io::Result<()> {
        lock(&self.looked).forget();
        self.small(&Script::new("[ ! -d ").word(path).add(" ] && rm -f -- ").word(path).add(" 2>&1")).map(|_| ())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        lock(&self.looked).forget();
        let folder = to.parent().unwrap_or(Path::new("/"));
        let script = Script::new("{ mkdir -p -- ").word(folder).add(" && mv -f -- ").word(from).add(" ").word(to);
        self.small(&script.add("; } 2>&1")).map(|_| ())
    }

    fn names(&self, folder: &Path, most: usize) -> io::Result<Vec<String>> {
        let script = Script::new("(cd ").word(folder).add(" && ls -A | head -n ").add(&most.to_string());
        let out = self.small(&script.add(") 2>&1"))?;
        Ok(String::from_utf8_lossy(&out).lines().map(str::to_owned).collect())
    }
}

/// `MODE|SIZE|SECONDS|DATE|BITS`: the mode in hexadecimal digits, the fraction of the second in the date.
fn about(text: &str) -> Option<About> {
    let mut fields = text.split('|');
    let mode = u32::from_str_radix(fields.next()?.trim_end_matches('p'), 16).ok()?;
    let len = fields.next()?.parse().ok()?;
    let seconds: i128 = fields.next()?.parse().ok()?;
    let date = fields.next()?;
    let fraction = date.split_once('.').map_or("", |(_, rest)| rest.split(' ').next().unwrap_or_default());
    let digits: String = fraction.chars().chain(std::iter::repeat('0')).take(9).collect();
    let nanos: i128 = digits.parse().unwrap_or(0);
    let bits = u32::from_str_radix(fields.next()?, 8).ok()?;
    let kind = match mode & 0o170_000 {
        0o100_000 => Kind::File,
        0o040_000 => Kind::Folder,
        _ => Kind::Other,
    };
    Some(About { kind, len, modified: (seconds * 1_000_000_000 + nanos).max(0) as u128, mode: bits })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
    use std::process::Stdio;

    #[test]
    fn what_stat_says_is_read() {
        let gnu = about("81a4|12|1700000000|2023-11-14 22:13:20.123456789 +0000|644").unwrap();
        let want = About { kind: Kind::File, len: 12, modified: 1_700_000_000_123_456_789, mode: 0o644 };
        assert_eq!(gnu, want);
        let busybox = about("41ed|4096|1700000000|2023-11-14 22:13:20.000000000 +0000|755").unwrap();
        assert_eq!((busybox.kind, busybox.mode), (Kind::Folder, 0o755));
        assert!(about("stat: no such thing").is_none());
    }

    /// Runs the script here; its input is written by the caller.
    fn placing(path: &Path, length: usize, mode: Option<u32>) -> std::process::Child {
        let script = String::from_utf8(place("", path, length, mode).0).unwrap();
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", &script]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap()
    }

    #[test]
    fn an_input_that_ends_too_early_leaves_the_file_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("it's a file");
        std::fs::write(&path, "all of the old text").unwrap();
        let mut shell = placing(&path, 10, None);
        shell.stdin.take().unwrap().write_all(b"new").unwrap();
        let done = shell.wait_with_output().unwrap();
        assert!(!done.status.success());
        assert!(String::from_utf8_lossy(&done.stdout).contains("not all of it arrived"));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "all of the old text");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing lies beside it");
        let mut shell = placing(&path, 3, None);
        shell.stdin.take().unwrap().write_all(b"new").unwrap();
        assert!(shell.wait().unwrap().success());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "new");
    }

    #[test]
    fn a_file_that_others_may_not_read_is_never_readable_while_it_is_written() {
        let folder = tempfile::tempdir().unwrap();
        // What it was, what a new one shall be, and what an old one shall be from now on.
        for (mode, was, asked) in [
            (0o600, Some(0o600), None),
            (0o400, Some(0o400), None),
            (0o600, None, Some(0o600)),
            (0o400, Some(0o644), Some(0o400)),
        ] {
            let path = folder.path().join(format!("secret-{mode:o}-{}", was.is_some()));
            if let Some(was) = was {
                std::fs::write(&path, "old").unwrap();
                std::fs::set_permissions(&path, std::fs::Permissions::from_mode(was)).unwrap();
            }
            let mut shell = placing(&path, 7, asked);
            let mut input = shell.stdin.take().unwrap();
            input.write_all(b"one").unwrap();
            let half = loop {
                let beside = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap());
                let half = beside.filter(|entry| entry.file_name().to_string_lossy().starts_with(".hermes-"));
                let found = half.filter_map(|entry| entry.metadata().ok()).find(|about| about.len() == 3);
                if let Some(about) = found {
                    break about;
                }
                assert!(shell.try_wait().unwrap().is_none(), "it ended before its input did");
                std::thread::yield_now();
            };
            assert_eq!(half.mode() & 0o777, mode);
            input.write_all(b" two").unwrap();
            drop(input);
            assert!(shell.wait().unwrap().success());
            assert_eq!(std::fs::read_to_string(&path).unwrap(), "one two");
            assert_eq!(path.metadata().unwrap().mode() & 0o777, mode);
        }
    }

    #[test]
    fn errors_keep_their_kind() {
        for (text, kind) in [
            ("stat: cannot stat '/x': No such file or directory", ErrorKind::NotFound),
            ("cat: /x: Permission denied", ErrorKind::PermissionDenied),
            ("mkdir: cannot create directory '/a/b': Not a directory", ErrorKind::NotADirectory),
            ("", ErrorKind::Other),
        ] {
            assert_eq!(said(text).kind(), kind, "{text}");
        }
    }
}
