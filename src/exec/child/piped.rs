//! Children that speak a protocol over their standard input and output (servers of other programs): a session of their
//! own, the end of their standard error kept, and all of them gone when they are to end.

use crate::exec::ExecError;
use crate::exec::process::end::members;
use crate::exec::process::procfs::marked;
use crate::exec::process::spawn::lead_session;
use crate::lock::lock;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::AsyncReadExt;
use tokio::process::{ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::sync::watch;

/// Bytes of standard error that are kept: enough for the last stack trace.
const TAIL: usize = 8 * 1024;

/// How long the rest of its standard error may take once it has ended.
const STDERR_WAIT: Duration = Duration::from_millis(200);

/// How long each step of an orderly end may take.
const GRACE: Duration = Duration::from_millis(600);

/// Variable by which all that a child started is found again, in whatever session it is.
pub(super) const MARK: &str = "HERMES_STARTED_BY";

/// A running child. Dropping it kills it and all that it started.
#[derive(Debug)]
pub struct Piped {
    pid: u32,
    /// The entry of [`MARK`] in its environment.
    mark: Arc<str>,
    tail: Arc<Mutex<VecDeque<u8>>>,
    /// It was waited for: its number may belong to a stranger.
    reaped: Arc<AtomicBool>,
    /// How it ended, in words, once it has and its standard error was read to the end.
    ended: watch::Receiver<Option<String>>,
}

/// Our ends of its pipes.
#[derive(Debug)]
pub struct PipedEnds {
    pub stdin: ChildStdin,
    pub stdout: ChildStdout,
}

impl Piped {
    /// Starts `command` in `cwd` with exactly these variables. Must be called inside the runtime.
    ///
    /// # Errors
    /// [`ExecError::Spawn`] when it cannot be started.
    pub fn spawn(
        command: &str,
        args: &[String],
        env: &BTreeMap<String, String>,
        cwd: &Path,
    ) -> Result<(Self, PipedEnds), ExecError> {
        let fail = |source: std::io::Error| ExecError::Spawn { command: command.to_owned(), source };
        let mut child = Command::new(command);
        let mark = format!("{}.{:016x}", std::process::id(), fastrand::u64(..));
        child.args(args).env_clear().envs(env).env(MARK, &mark).current_dir(cwd);
        let mark: Arc<str> = format!("{MARK}={mark}").into();
        child.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        lead_session(child.as_std_mut(), None);
        let mut child = child.spawn().map_err(fail)?;
        let gone = || fail(std::io::Error::other("could not create its pipes"));
        let pid = child.id().ok_or_else(gone)?;
        let (stdin, stdout) = (child.stdin.take().ok_or_else(gone)?, child.stdout.take().ok_or_else(gone)?);
        let stderr = child.stderr.take().ok_or_else(gone)?;
        let tail = Arc::new(Mutex::new(VecDeque::new()));
        let words = tokio::spawn(keep_tail(stderr, Arc::clone(&tail)));
        let (tell, ended) = watch::channel(None);
        let reaped = Arc::new(AtomicBool::new(false));
        let gone = Arc::clone(&reaped);
        let started = Arc::clone(&mark);
        tokio::spawn(async move {
            let how = match child.wait().await {
                Ok(status) => status.to_string(),
                Err(error) => format!("cannot wait for it: {error}"),
            };
            gone.store(true, Ordering::Release);
            // What it started serves nobody any more.
            signal_members(pid, Signal::KILL);
            signal_marked(&started, Signal::KILL);
            // Who hears of the end asks for the reason next. Somebody who left its session may hold the pipe open.
            let _ = tokio::time::timeout(STDERR_WAIT, words).await;
            // A process in the middle of an exec shows no environment for a moment.
            signal_marked(&started, Signal::KILL);
            tell.send_replace(Some(how));
        });
        Ok((Self { pid, mark, tail, reaped, ended }, PipedEnds { stdin, stdout }))
    }

    /// Its process number.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// The last lines of its standard error, as text.
    pub fn tail(&self) -> String {
        let tail = lock(&self.tail);
        let bytes: Vec<u8> = tail.iter().copied().collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// How it ended (`exit status: 1`); `None` while it runs.
    pub fn ended(&self) -> Option<String> {
        self.ended.borrow().clone()
    }

    /// Waits until it has ended and says how.
    pub async fn wait(&self) -> String {
        let mut ended = self.ended.clone();
        match ended.wait_for(Option::is_some).await {
            Ok(how) => how.clone().unwrap_or_default(),
            Err(_) => "it is no longer watched".into(),
        }
    }

    /// Ends it and all that it started: its input was closed, so it may go by itself; then SIGTERM, then SIGKILL.
    pub async fn end(&self) {
        for signal in [None, Some(Signal::TERM)] {
            if let Some(signal) = signal {
                self.signal(signal);
            }
            if tokio::time::timeout(GRACE, self.wait()).await.is_ok() {
                break;
            }
        }
        self.kill();
    }

    /// Ends it at once. Harmless when it has ended.
    pub fn kill(&self) {
        self.signal(Signal::KILL);
    }

    fn signal(&self, signal: Signal) {
        if !self.reaped.load(Ordering::Acquire) {
            if let Some(leader) = Pid::from_raw(self.pid as i32) {
                quietly(kill_process_group(leader, signal));
            }
            signal_members(self.pid, signal);
            signal_marked(&self.mark, signal);
        }
    }
}

impl Drop for Piped {
    fn drop(&mut self) {
        self.kill();
    }
}

pub(super) fn signal_members(session: u32, signal: Signal) {
    for member in members(session) {
        quietly(kill_process(member, signal));
    }
}

pub(super) fn signal_marked(mark: &str, signal: Signal) {
    for process in marked(mark) {
        if let Some(pid) = Pid::from_raw(process.pid as i32) {
            quietly(kill_process(pid, signal));
        }
    }
}

pub(super) fn quietly(result: rustix::io::Result<()>) {
    match result {
        Ok(()) | Err(rustix::io::Errno::SRCH) => {}
        Err(error) => tracing::warn!("signal not delivered: {error}"),
    }
}

async fn keep_tail(mut stderr: ChildStderr, tail: Arc<Mutex<VecDeque<u8>>>) {
    let mut buffer = [0; 4096];
    while let Ok(count) = stderr.read(&mut buffer).await {
        if count == 0 {
            break;
        }
        let mut tail = lock(&tail);
        tail.extend(&buffer[..count]);
        let over = tail.len().saturating_sub(TAIL);
        tail.drain(..over);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

    fn start(script: &str) -> (Piped, PipedEnds) {
        let env = [("PATH".to_owned(), std::env::var("PATH").unwrap())].into();
        let args = ["-c".to_owned(), script.to_owned()];
        Piped::spawn("sh", &args, &env, Path::new("/")).unwrap()
    }

    async fn gone(pid: u32) {
        let deadline = tokio::time::Instant::now() + Duration::from_secs(10);
        while std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z ")) {
            assert!(tokio::time::Instant::now() < deadline, "{pid} still runs");
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn it_answers_and_its_errors_are_kept_within_bounds() {
        let (child, mut ends) = start("read x; echo got $x; for i in $(seq 5000); do echo line $i >&2; done; exit 3");
        ends.stdin.write_all(b"hello\n").await.unwrap();
        let mut lines = BufReader::new(ends.stdout).lines();
        assert_eq!(lines.next_line().await.unwrap().as_deref(), Some("got hello"));
        assert_eq!(child.wait().await, "exit status: 3");
        assert!(child.tail().contains("line 5000"));
        assert!(child.tail().len() <= TAIL);
    }

    #[tokio::test]
    async fn the_end_reaches_grandchildren_that_do_not_listen() {
        let (child, ends) = start("trap '' TERM; (trap '' TERM; sleep 600 & echo $!; wait) & wait");
        let mut lines = BufReader::new(ends.stdout).lines();
        let grandchild: u32 = lines.next_line().await.unwrap().unwrap().parse().unwrap();
        child.end().await;
        gone(grandchild).await;
        child.wait().await;
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn what_went_into_a_session_of_its_own_is_found() {
        // By itself, and while it is ended.
        for ends in [true, false] {
            let script = "setsid sh -c 'echo $$; exec sleep 600' & read x";
            let (child, mut pipes) = start(script);
            let mut lines = BufReader::new(pipes.stdout).lines();
            let daemon: u32 = lines.next_line().await.unwrap().unwrap().parse().unwrap();
            if ends {
                pipes.stdin.write_all(b"go\n").await.unwrap();
            } else {
                child.end().await;
            }
            child.wait().await;
            gone(daemon).await;
        }
    }

    #[tokio::test]
    async fn dropping_kills_and_only_the_given_variables_are_seen() {
        let (child, ends) = start("env; echo end; sleep 600");
        let mut lines = BufReader::new(ends.stdout).lines();
        while let Some(line) = lines.next_line().await.unwrap() {
            if line == "end" {
                break;
            }
            let name = line.split('=').next().unwrap();
            assert!(["PATH", MARK, "PWD", "SHLVL", "_", "OLDPWD"].contains(&name), "{line}");
        }
        let pid = child.pid();
        drop(child);
        gone(pid).await;
    }
}
