//! A command that is told something and answers (a hook): text in, bounded text out, and all that it started ended when
//! time is up.

use super::piped::{quietly, signal_members};
use super::spawn::lead_session;
use rustix::process::Signal;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, Command};
use tokio_util::sync::CancellationToken;

/// Bytes of each stream that are kept; what comes after is read and dropped, so that the command does not block.
const KEPT: usize = 256 * 1024;
/// How long output is waited for once the command itself has ended: something it left behind may hold the pipe.
const DRAIN: Duration = Duration::from_millis(200);
/// Between TERM and KILL.
const GRACE: Duration = Duration::from_millis(300);

/// What a command left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ran {
    pub status: Status,
    pub stdout: String,
    pub stderr: String,
    pub duration: Duration,
}

/// How it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    Exited(i32),
    /// Timed out, could not be started, was ended by a signal: in words.
    Broke(String),
}

/// What to run.
#[derive(Clone, Copy, Debug)]
pub struct Once<'a> {
    /// A shell line.
    pub line: &'a str,
    pub cwd: &'a Path,
    /// Exactly these variables.
    pub env: &'a BTreeMap<String, String>,
    /// For its standard input.
    pub input: &'a [u8],
    pub timeout: Duration,
}

/// Runs it. Comes back within its timeout and a moment.
pub async fn once(what: Once<'_>, cancel: &CancellationToken) -> Ran {
    let Once { line, cwd, env, input, timeout } = what;
    let began = tokio::time::Instant::now();
    let broke = |how: String| Ran {
        status: Status::Broke(how),
        stdout: String::new(),
        stderr: String::new(),
        duration: began.elapsed(),
    };
    let mut command = Command::new("/bin/sh");
    command.arg("-c").arg(line).current_dir(cwd).env_clear().envs(env);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    lead_session(command.as_std_mut(), None);
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => return broke(format!("could not be started: {error}")),
    };
    // Whatever ends this future ends the group.
    let mut group = Group::of(&child);
    let (stdin, out, err) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let mut leader = None;
    let ended = {
        let feed = async {
            if let Some(mut stdin) = stdin {
                // A hook need not read what it is told.
                let _ = stdin.write_all(input).await;
                let _ = stdin.shutdown().await;
            }
            std::future::pending::<()>().await;
        };
        let streams = async { tokio::join!(drain(out, &mut stdout), drain(err, &mut stderr)) };
        let work = async {
            tokio::pin!(streams);
            tokio::select! {
                status = child.wait() => {
                    leader = Some(status);
                    let _ = tokio::time::timeout(DRAIN, &mut streams).await;
                }
                _ = &mut streams => leader = Some(child.wait().await),
            }
        };
        tokio::select! {
            biased;
            () = cancel.cancelled() => Err("stopped".to_owned()),
            () = work => Ok(()),
            () = feed => Ok(()),
            () = tokio::time::sleep(timeout) => Err(format!("timed out after {} s", seconds(timeout))),
        }
    };
    let status = match (ended, leader) {
        (Err(how), _) => {
            group.end(&mut child).await;
            Status::Broke(how)
        }
        (Ok(()), Some(Ok(status))) => match status.code() {
            Some(code) => Status::Exited(code),
            None => Status::Broke(format!(
                "ended by signal {}",
                std::os::unix::process::ExitStatusExt::signal(&status).unwrap_or(0)
            )),
        },
        (Ok(()), Some(Err(error))) => Status::Broke(format!("was lost: {error}")),
        (Ok(()), None) => Status::Broke("was lost".into()),
    };
    group.forget();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ran { status, stdout: text(&stdout), stderr: text(&stderr), duration: began.elapsed() }
}

fn seconds(time: Duration) -> String {
    let text = format!("{:.1}", time.as_secs_f64());
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

async fn drain(stream: Option<impl AsyncRead + Unpin>, kept: &mut Vec<u8>) {
    let Some(mut stream) = stream else { return };
    let mut buffer = vec![0; 16 * 1024];
    while let Ok(count) = stream.read(&mut buffer).await {
        if count == 0 {
            break;
        }
        let room = KEPT.saturating_sub(kept.len());
        kept.extend_from_slice(&buffer[..count.min(room)]);
    }
}

/// The session of a child, ended when this is dropped.
struct Group(Option<u32>);

impl Group {
    fn of(child: &Child) -> Self {
        Self(child.id())
    }

    fn signal(&self, signal: Signal) {
        if let Some(session) = self.0 {
            signal_members(session, signal);
            if let Some(leader) = i32::try_from(session).ok().and_then(rustix::process::Pid::from_raw) {
                quietly(rustix::process::kill_process_group(leader, signal));
            }
        }
    }

    /// TERM, a moment, KILL.
    async fn end(&mut self, child: &mut Child) {
        self.signal(Signal::TERM);
        let _ = tokio::time::timeout(GRACE, child.wait()).await;
        self.signal(Signal::KILL);
        let _ = tokio::time::timeout(GRACE, child.wait()).await;
        self.forget();
    }

    /// It ended by itself.
    fn forget(&mut self) {
        self.0 = None;
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn sh(line: &str, timeout: Duration) -> Ran {
        let env = [("PATH".to_owned(), std::env::var("PATH").unwrap())].into();
        let what = Once { line, cwd: Path::new("/"), env: &env, input: br#"{"a":1}"#, timeout };
        once(what, &CancellationToken::new()).await
    }

    const LONG: Duration = Duration::from_secs(20);

    #[tokio::test]
    async fn input_output_and_status() {
        let ran = sh("cat; echo oops >&2; exit 3", LONG).await;
        assert_eq!((ran.status, ran.stdout.as_str(), ran.stderr.as_str()), (Status::Exited(3), r#"{"a":1}"#, "oops\n"));
        assert_eq!(sh("exit 0", LONG).await.status, Status::Exited(0));
        assert_eq!(sh("kill -9 $$", LONG).await.status, Status::Broke("ended by signal 9".into()));
        assert_eq!(sh("printenv HOME", LONG).await.status, Status::Exited(1), "the environment is the given one");
    }

    #[tokio::test]
    async fn a_hook_that_hangs_is_ended_with_all_it_started() {
        let folder = tempfile::tempdir().unwrap();
        let pid = folder.path().join("pid");
        let line = format!("trap '' TERM; sleep 100 & echo $! > {}; wait; sleep 100", pid.display());
        let ran = sh(&line, Duration::from_millis(400)).await;
        assert_eq!(ran.status, Status::Broke("timed out after 0.4 s".into()));
        assert!(ran.duration < Duration::from_secs(10), "{:?}", ran.duration);
        let child: i32 = std::fs::read_to_string(pid).unwrap().trim().parse().unwrap();
        let gone = || {
            let stat = std::fs::read_to_string(format!("/proc/{child}/stat")).unwrap_or_default();
            stat.is_empty() || stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('Z'))
        };
        let stop = std::time::Instant::now() + LONG;
        while !gone() && std::time::Instant::now() < stop {
            tokio::task::yield_now().await;
        }
        assert!(gone(), "the hook's child still runs");
    }

    #[tokio::test]
    async fn a_flood_is_bounded_and_does_not_block() {
        let ran = sh("head -c 5000000 /dev/zero | tr '\\0' x", LONG).await;
        assert_eq!((ran.status, ran.stdout.len()), (Status::Exited(0), KEPT));
    }

    #[tokio::test]
    async fn something_left_behind_does_not_hold_the_answer() {
        let began = std::time::Instant::now();
        let ran = sh("sleep 30 & echo done", LONG).await;
        assert_eq!((ran.status, ran.stdout.as_str()), (Status::Exited(0), "done\n"));
        assert!(began.elapsed() < Duration::from_secs(15));
    }

    #[tokio::test]
    async fn stopping_the_turn_ends_the_hook() {
        let cancel = CancellationToken::new();
        cancel.cancel();
        let env = BTreeMap::new();
        let what = Once { line: "sleep 100", cwd: Path::new("/"), env: &env, input: b"", timeout: LONG };
        let ran = once(what, &cancel).await;
        assert_eq!(ran.status, Status::Broke("stopped".into()));
    }
}
