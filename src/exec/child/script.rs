//! A script that calls tools: a child in a session of its own, in the sandbox of commands, whose two streams are kept apart
//! and bounded. All that it started ends with it, whatever it did to stay, and with this program, however that ends.

use super::piped::{MARK, quietly, signal_marked, signal_members};
use crate::exec::process::procfs::marked;
use crate::exec::process::spawn::lead_session;
use crate::exec::sandbox::failed_step;
use crate::exec::{Exec, ExecError, Guard, Sandbox};
use crate::lock::lock;
use rustix::process::{Pid, Signal, kill_process_group};
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStdin, Command};

/// How long the rest of its output may take once all of it has ended: a process that hides may hold the pipe.
const DRAIN: Duration = Duration::from_millis(300);
/// Looks for what it left behind: a process that forks while it is looked for is found at the next one.
const LOOKS: usize = 50;
const BETWEEN: Duration = Duration::from_millis(4);

/// What ends a script when this program is gone without a word: a shell that waits for a line on its standard input. An end
/// without one means that nobody is left to end the script.
const WATCH: &str = r#"read -r _ && exit 0
kill -KILL -- "-$1"
for _ in 1 2 3; do
  for one in $(grep -las -- "$2" /proc/[0-9]*/environ); do one=${one#/proc/}; kill -KILL "${one%/environ}"; done
done"#;

/// What is kept of a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// The start, up to the bound.
    pub bytes: Vec<u8>,
    /// Bytes that there were.
    pub total: u64,
}

/// How a script ended.
#[derive(Debug)]
pub struct ScriptEnd {
    /// `None`: it was ended by a signal.
    pub code: Option<i32>,
    pub signal: Option<i32>,
    pub stdout: Kept,
    pub stderr: Kept,
    /// What to look at once it has ended, when it ran in a sandbox.
    pub guard: Guard,
}

/// A script that runs. Dropping it kills it and all that it started.
pub struct Script {
    child: Child,
    pid: u32,
    mark: String,
    /// The shell of [`WATCH`], which is told that all is well.
    watch: Option<(Child, ChildStdin)>,
    stdout: Stream,
    stderr: Stream,
    guard: Guard,
    over: bool,
}

impl Exec {
    /// Starts `command`, in this sandbox if there is one, and keeps so many bytes of either stream. Call it inside the
    /// runtime.
    ///
    /// # Errors
    /// It could not be started, or not be held in its sandbox; nothing of it runs then.
    pub async fn script(
        &self,
        command: std::process::Command,
        cwd: &Path,
        sandbox: Option<&Sandbox>,
        (stdout, stderr): (usize, usize),
    ) -> Result<Script, ExecError> {
        let name = command.get_program().to_string_lossy().into_owned();
        let fail = |source: io::Error| ExecError::Spawn { command: name.clone(), source };
        let mut command = Command::from(command);
        let mark = format!("{}.{:016x}", std::process::id(), fastrand::u64(..));
        command.env(MARK, &mark).current_dir(cwd).kill_on_drop(true);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        lead_session(command.as_std_mut(), None);
        let (mut guard, mut failing) = (Guard::default(), None);
        if let Some(sandbox) = sandbox {
            let ready = self.hub.hold(sandbox, self.hub.shell().await?, None, cwd).await?;
            if let Some(temporary) = &ready.private_temp {
                command.env("TMPDIR", temporary);
            }
            guard = ready.guard;
            failing = ready.prepared.enter(command.as_std_mut()).map_err(fail)?;
        }
        let mut child = match command.spawn() {
            Ok(child) => child,
            Err(source) => {
                let step = failing.and_then(failed_step);
                return Err(match (step, sandbox) {
                    (Some(step), Some(sandbox)) => ExecError::Sandbox(sandbox.broke(step, &source)),
                    _ if cwd.is_dir() => fail(source),
                    _ => ExecError::Folder(cwd.to_owned()),
                });
            }
        };
        let gone = || fail(io::Error::other("could not create its pipes"));
        let pid = child.id().ok_or_else(gone)?;
        let mark = format!("{MARK}={mark}");
        let watch = watch(pid, &mark).inspect_err(|error| tracing::warn!("a script is not watched: {error}")).ok();
        let (out, err) = (child.stdout.take().ok_or_else(gone)?, child.stderr.take().ok_or_else(gone)?);
        let (stdout, stderr) = (Stream::new(out, stdout), Stream::new(err, stderr));
        Ok(Script { child, pid, mark, watch, stdout, stderr, guard, over: false })
    }
}

/// Starts what ends the script if this program can't.
fn watch(pid: u32, mark: &str) -> io::Result<(Child, ChildStdin)> {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", WATCH, "sh", &pid.to_string(), mark]).env_clear().env("PATH", "/usr/bin:/bin");
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).current_dir("/");
    lead_session(command.as_std_mut(), None);
    let mut child = command.spawn()?;
    let stdin = child.stdin.take().ok_or_else(|| io::Error::other("no pipe"))?;
    Ok((child, stdin))
}

impl Script {
    /// Its process number.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Waits until the script itself has ended; what it left behind may still run. May be dropped and called again.
    ///
    /// # Errors
    /// The system does not say.
    pub async fn wait(&mut self) -> io::Result<ExitStatus> {
        self.child.wait().await
    }

    /// Asks all of it to end, and gives it so long.
    pub async fn ask_to_end(&mut self, grace: Duration) {
        self.signal(Signal::TERM);
        // Whether it did does not matter: what is left is killed.
        let _ = tokio::time::timeout(grace, self.child.wait()).await;
    }

    /// Kills what is left of it, and gives what it said.
    ///
    /// # Errors
    /// The system does not say how it ended.
    pub async fn end(mut self) -> io::Result<ScriptEnd> {
        self.signal(Signal::KILL);
        let status = self.child.wait().await;
        // Its number may soon be another's, that of its session not while somebody is in it.
        for _ in 0..LOOKS {
            signal_members(self.pid, Signal::KILL);
            signal_marked(&self.mark, Signal::KILL);
            if marked(&self.mark).iter().all(|process| process.zombie) {
                break;
            }
            tokio::time::sleep(BETWEEN).await;
        }
        self.over = true;
        if let Some((mut child, mut stdin)) = self.watch.take() {
            // If it is gone, so is what it would have done.
            let _ = stdin.write_all(b"over\n").await;
            let _ = child.wait().await;
        }
        let status = status?;
        let (stdout, stderr) = tokio::join!(self.stdout.rest(), self.stderr.rest());
        let guard = self.guard.clone();
        Ok(ScriptEnd { code: status.code(), signal: status.signal(), stdout, stderr, guard })
    }

    fn signal(&self, signal: Signal) {
        // Not waited for yet: its number is its own.
        if self.child.id().is_some()
            && let Some(leader) = Pid::from_raw(self.pid as i32)
        {
            quietly(kill_process_group(leader, signal));
        }
        signal_members(self.pid, signal);
        signal_marked(&self.mark, signal);
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        if !self.over {
            self.signal(Signal::KILL);
        }
    }
}

/// A stream that is read to its end, whatever is kept of it.
struct Stream {
    kept: Arc<Mutex<Kept>>,
    task: tokio::task::JoinHandle<()>,
}

impl Stream {
    fn new(mut pipe: impl AsyncRead + Unpin + Send + 'static, most: usize) -> Self {
        let kept: Arc<Mutex<Kept>> = Arc::default();
        let held = Arc::clone(&kept);
        let task = tokio::spawn(async move {
            let mut buffer = vec![0; 64 * 1024];
            while let Ok(count @ 1..) = pipe.read(&mut buffer).await {
                let mut kept = lock(&held);
                let room = most.saturating_sub(kept.bytes.len()).min(count);
                kept.bytes.extend_from_slice(&buffer[..room]);
                kept.total += count as u64;
            }
        });
        Self { kept, task }
    }

    /// All that is kept, once the pipe is at its end or nobody can be waited for.
    async fn rest(&mut self) -> Kept {
        if tokio::time::timeout(DRAIN, &mut self.task).await.is_err() {
            self.task.abort();
        }
        std::mem::take(&mut *lock(&self.kept))
    }
}
