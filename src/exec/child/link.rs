//! A shell on another machine that is asked one thing after another over its standard input and output: no connection or
//! container has to be entered again for each question.
//!
//! A question is a piece of POSIX shell; its answer is all that it prints, up to a mark that nobody could have foreseen.

use super::piped::{quietly, signal_members};
use crate::exec::process::spawn::lead_session;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use rustix::process::{Pid, Signal, kill_process_group};
use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Bytes of what its client says on standard error that are kept: why a connection was refused.
const WORDS: usize = 4 * 1024;
/// How long it is waited for without a look whether anybody still wants an answer.
const LOOK: Duration = Duration::from_millis(200);
/// How long its last words may take.
const LAST: Duration = Duration::from_millis(200);

/// An answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Said {
    /// Exit code of the last command.
    pub code: i32,
    /// What was printed, standard error included where the question joins it.
    pub out: Vec<u8>,
}

impl Said {
    /// What was printed, as text without the last line break.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.out).trim_end_matches('\n').to_owned()
    }
}

/// There is no answer, and there will be none: the link is of no more use.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    #[error("could not be started: {0}")]
    Start(io::Error),
    #[error("{}", if .0.is_empty() { "it exited without output" } else { .0.as_str() })]
    Ended(String),
    #[error("no answer within {} s", .0.as_secs())]
    TimedOut(Duration),
    #[error("the answer is larger than {0} bytes")]
    TooMuch(usize),
    #[error("it was abandoned")]
    GivenUp,
}

/// A running shell. Dropping it ends its client.
#[derive(Debug)]
pub struct Link {
    child: Child,
    stdin: Option<File>,
    stdout: File,
    stderr: Option<File>,
    words: Vec<u8>,
}

impl Link {
    /// Starts the client and waits until its shell answers. What is printed before that (a greeting) is dropped.
    ///
    /// # Errors
    /// When it cannot be started, says no, or does not answer in time; or when `stopped` says so.
    pub fn open(mut command: Command, within: Duration, stopped: &dyn Fn() -> bool) -> Result<Self, LinkError> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        lead_session(&mut command, None);
        let mut child = command.spawn().map_err(LinkError::Start)?;
        let ours = |fd: Option<OwnedFd>| -> io::Result<File> {
            let fd = fd.ok_or_else(|| io::Error::other("could not create its pipes"))?;
            let flags = rustix::fs::fcntl_getfl(&fd)?;
            rustix::fs::fcntl_setfl(&fd, flags | OFlags::NONBLOCK)?;
            Ok(File::from(fd))
        };
        let pipes = [
            ours(child.stdin.take().map(OwnedFd::from)),
            ours(child.stdout.take().map(OwnedFd::from)),
            ours(child.stderr.take().map(OwnedFd::from)),
        ];
        let [Ok(stdin), Ok(stdout), Ok(stderr)] = pipes else {
            end(&mut child);
            return Err(LinkError::Start(io::Error::other("could not create its pipes")));
        };
        let mut link = Self { child, stdin: Some(stdin), stdout, stderr: Some(stderr), words: Vec::new() };
        link.ask_until(b":", within, 1024 * 1024, stopped)?;
        Ok(link)
    }

    /// Asks and waits for the answer, `most` bytes at most. After an error the link must be dropped.
    ///
    /// # Errors
    /// When the shell ended, or did not answer in time or within bounds.
    pub fn ask(&mut self, script: &[u8], within: Duration, most: usize) -> Result<Said, LinkError> {
        self.ask_until(script, within, most, &|| false)
    }

    fn ask_until(
        &mut self,
        script: &[u8],
        within: Duration,
        most: usize,
        stopped: &dyn Fn() -> bool,
    ) -> Result<Said, LinkError> {
        let deadline = Instant::now() + within;
        let mark = format!("{:016x}{:016x}", fastrand::u64(..), fastrand::u64(..));
        let mut question = b"{ ".to_vec();
        question.extend_from_slice(script);
        question.extend_from_slice(format!("\n}} </dev/null\nprintf '\\n%s %d\\n' {mark} \"$?\"\n").as_bytes());
        let mark = format!("\n{mark} ").into_bytes();
        let (mut told, mut out) = (0, Vec::new());
        loop {
            if let Some(said) = answer(&mut out, &mark) {
                return Ok(said);
            }
            if out.len() > most {
                return Err(LinkError::TooMuch(most));
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(LinkError::TimedOut(within));
            }
            if stopped() {
                return Err(LinkError::GivenUp);
            }
            let (write, read, words) = self.wait(told < question.len(), left.min(LOOK)).map_err(LinkError::Start)?;
            if words {
                self.hear();
            }
            if write && let Some(stdin) = &mut self.stdin {
                match stdin.write(&question[told..]) {
                    Ok(count) => told += count,
                    Err(error) if is_later(&error) => {}
                    Err(_) => return Err(self.ended()),
                }
            }
            if read && !fill(&mut self.stdout, &mut out) {
                return Err(self.ended());
            }
        }
    }

    fn wait(&self, write: bool, most: Duration) -> io::Result<(bool, bool, bool)> {
        let mut fds = vec![PollFd::from_borrowed_fd(self.stdout.as_fd(), PollFlags::IN)];
        let stderr =
            self.stderr.as_ref().map(|stderr| fds.push(PollFd::from_borrowed_fd(stderr.as_fd(), PollFlags::IN)));
        let stdin = self.stdin.as_ref().filter(|_| write);
        if let Some(stdin) = stdin {
            fds.push(PollFd::from_borrowed_fd(stdin.as_fd(), PollFlags::OUT));
        }
        let most = most.max(Duration::from_millis(1));
        let time = Timespec { tv_sec: most.as_secs() as i64, tv_nsec: i64::from(most.subsec_nanos()) };
        match poll(&mut fds, Some(&time)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let ready = |at: usize| fds.get(at).is_some_and(|fd| !fd.revents().is_empty());
        let at = usize::from(stderr.is_some()) + 1;
        Ok((stdin.is_some() && ready(at), ready(0), stderr.is_some() && ready(1)))
    }

    /// Reads what the client says beside the shell.
    fn hear(&mut self) {
        let Some(stderr) = &mut self.stderr else { return };
        if !fill(stderr, &mut self.words) {
            self.stderr = None;
        }
        let over = self.words.len().saturating_sub(WORDS);
        self.words.drain(..over);
    }

    /// Why it ended, in its client's words.
    fn ended(&mut self) -> LinkError {
        let deadline = Instant::now() + LAST;
        while let Some(stderr) = &self.stderr {
            let mut fds = [PollFd::new(stderr, PollFlags::IN)];
            let left = deadline.saturating_duration_since(Instant::now());
            let time = Timespec { tv_sec: 0, tv_nsec: i64::from(left.subsec_nanos()) };
            if left.is_zero() || poll(&mut fds, Some(&time)).is_err() {
                break;
            }
            self.hear();
        }
        let words = String::from_utf8_lossy(&self.words);
        let lines: Vec<&str> = words.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        LinkError::Ended(lines[lines.len().saturating_sub(3)..].join("; "))
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        // A shell that hears no more ends by itself, and with it what its client holds on the other side: a client that is
        // killed may leave its shell waiting there.
        self.stdin = None;
        let deadline = Instant::now() + LAST;
        let mut rest = Vec::new();
        while let Ok((_, true, _)) = self.wait(false, deadline.saturating_duration_since(Instant::now())) {
            if !fill(&mut self.stdout, &mut rest) || Instant::now() >= deadline {
                break;
            }
            rest.clear();
        }
        end(&mut self.child);
    }
}

fn end(child: &mut Child) {
    if let Some(group) = Pid::from_raw(child.id() as i32) {
        quietly(kill_process_group(group, Signal::TERM));
        signal_members(child.id(), Signal::KILL);
        quietly(kill_process_group(group, Signal::KILL));
    }
    if let Err(error) = child.wait() {
        tracing::debug!("a link's client: {error}");
    }
}

fn is_later(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

/// Reads what is there; `false` at the end.
fn fill(from: &mut File, into: &mut Vec<u8>) -> bool {
    let mut buffer = [0; 64 * 1024];
    match from.read(&mut buffer) {
        Ok(0) => false,
        Ok(count) => {
            into.extend_from_slice(&buffer[..count]);
            true
        }
        Err(error) => is_later(&error),
    }
}

/// The answer before the mark, once it is whole. Only the end is looked at: an answer may be large.
fn answer(out: &mut Vec<u8>, mark: &[u8]) -> Option<Said> {
    if out.last() != Some(&b'\n') {
        return None;
    }
    // The code has four characters at most.
    let from = out.len().saturating_sub(mark.len() + 8);
    let at = out[from..].windows(mark.len()).position(|window| window == mark)? + from;
    let code = std::str::from_utf8(&out[at + mark.len()..]).ok()?.trim().parse().ok()?;
    out.truncate(at);
    Some(Said { code, out: std::mem::take(out) })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(20);

    fn shell() -> Link {
        Link::open(Command::new("sh"), LONG, &|| false).unwrap()
    }

    #[test]
    fn one_thing_after_another_is_asked() {
        let mut link = shell();
        let said = link.ask(b"printf 'a\\n\\nb'; false", LONG, 100).unwrap();
        assert_eq!((said.code, said.out.as_slice()), (1, b"a\n\nb".as_slice()));
        link.ask(b"x=kept; cd /", LONG, 100).unwrap();
        assert_eq!(link.ask(b"echo $x $PWD", LONG, 100).unwrap().text(), "kept /");
        assert_eq!(link.ask(b"cat", LONG, 100).unwrap(), Said::default(), "a question has no input");
        let all = link.ask(b"head -c 300000 /dev/zero", LONG, 1 << 20).unwrap();
        assert!(all.out.len() == 300_000 && all.out.iter().all(|byte| *byte == 0));
        let large = vec![b'x'; 400_000];
        let script = [b"wc -c <<'END'\n".as_slice(), &large, b"\nEND"].concat();
        assert_eq!(link.ask(&script, LONG, 100).unwrap().text().trim(), "400001");
    }

    #[test]
    fn what_is_said_before_the_shell_is_dropped() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo welcome; exec sh"]);
        let mut link = Link::open(command, LONG, &|| false).unwrap();
        assert_eq!(link.ask(b"echo x", LONG, 100).unwrap().text(), "x");
    }

    #[test]
    fn an_end_is_told_in_the_words_of_the_client() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo noise >&2; echo 'no such host' >&2; exit 255"]);
        let error = Link::open(command, LONG, &|| false).unwrap_err();
        assert_eq!(error.to_string(), "noise; no such host");
        let mut link = shell();
        assert!(matches!(link.ask(b"exit 3", LONG, 100), Err(LinkError::Ended(_))));
    }

    #[test]
    fn time_and_size_are_bounded() {
        let error = shell().ask(b"sleep 600", Duration::from_millis(50), 100).unwrap_err();
        assert!(matches!(error, LinkError::TimedOut(_)), "{error}");
        let error = shell().ask(b"cat /dev/zero", LONG, 10_000).unwrap_err();
        assert!(matches!(error, LinkError::TooMuch(10_000)), "{error}");
    }
}
