//! A script that calls tools: in a session of its own, in the sandbox of commands, its two streams kept apart and bounded.
//! All that it started ends with it, whatever it did to stay, and with this program, however that ends.
//!
//! Its parent is a shell that keeps: it adopts what the script leaves without a parent, so that all of it is below that
//! shell, and it stays until all of it was ended. A script that kills its keeper is found by the mark in its environment.

use super::piped::{MARK, quietly, signal_marked, signal_members};
use crate::exec::process::procfs;
use crate::exec::process::spawn::{keep_orphans, lead_session};
use crate::exec::sandbox::failed_step;
use crate::exec::{Exec, ExecError, Guard, Sandbox};
use crate::lock::lock;
use rustix::process::{Pid, Signal, kill_process};
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::process::{Child, ChildStdin, Command};

/// How long the rest of its output may take once all of it has ended: a process that hides may hold the pipe.
const DRAIN: Duration = Duration::from_millis(300);
/// Looks for what it left behind: a process that forks while it is looked for is found at the next one.
const LOOKS: usize = 50;
const BETWEEN: Duration = Duration::from_millis(4);

/// The shell above a script. Its standard input goes both ways: it tells how the script ended, and waits for a line that
/// lets it go. Without one nobody is left to end what is below it.
const KEEPER: &str = r#"exec 3>&2 2>/dev/null
"$@" </dev/null 2>&3 3>&-
echo $? >&0
read -r _ && exit
for _ in 1 2 3 4 5 6 7 8 9; do
  for one in $(cat /proc/$$/task/*/children); do kill -KILL "$one"; done
done"#;

/// What ends a script when this program is gone without a word: a shell that waits for a line on its standard input. An end
/// without one means that nobody is left to end the script: all below its keeper, the keeper, what has its mark.
const WATCH: &str = r#"read -r _ && exit 0
below() { for one in $(cat "/proc/$1/task/"*/children); do echo "$one"; below "$one"; done; }
for _ in 1 2 3 4 5 6 7 8 9; do kill -KILL $(below "$1"); done
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
    /// As a shell tells it: 128 and the number of the signal that ended it. `None`: nobody can say.
    pub code: Option<i32>,
    pub stdout: Kept,
    pub stderr: Kept,
    /// What to look at once it has ended, when it ran in a sandbox.
    pub guard: Guard,
}

/// A script that runs. Dropping it kills it and all that it started.
pub struct Script {
    /// The keeper.
    child: Child,
    /// Its other end.
    keeper: BufReader<UnixStream>,
    /// What it said so far of the end of the script.
    said: Vec<u8>,
    below: Below,
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
        let mut command = kept(&command);
        let mark = format!("{}.{:016x}", std::process::id(), fastrand::u64(..));
        command.env(MARK, &mark).current_dir(cwd).kill_on_drop(true);
        let (ours, theirs) = std::os::unix::net::UnixStream::pair().map_err(fail)?;
        ours.set_nonblocking(true).map_err(fail)?;
        let ours = UnixStream::from_std(ours).map_err(fail)?;
        command.stdin(Stdio::from(OwnedFd::from(theirs))).stdout(Stdio::piped()).stderr(Stdio::piped());
        lead_session(command.as_std_mut(), None);
        keep_orphans(command.as_std_mut());
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
        // Holds the other end of its standard input, whose end is to be seen.
        drop(command);
        let gone = || fail(io::Error::other("could not create its pipes"));
        let pid = child.id().ok_or_else(gone)?;
        let below = Below { pid, mark: format!("{MARK}={mark}") };
        let watch = watch(&below).inspect_err(|error| tracing::warn!("a script is not watched: {error}")).ok();
        let (out, err) = (child.stdout.take().ok_or_else(gone)?, child.stderr.take().ok_or_else(gone)?);
        let (stdout, stderr) = (Stream::new(out, stdout), Stream::new(err, stderr));
        let (keeper, said) = (BufReader::new(ours), Vec::new());
        Ok(Script { child, keeper, said, below, watch, stdout, stderr, guard, over: false })
    }
}

/// The same command below its keeper.
fn kept(command: &std::process::Command) -> Command {
    let mut keeper = Command::new("/bin/sh");
    keeper.args(["-c", KEEPER, "sh"]).arg(command.get_program()).args(command.get_args()).env_clear();
    keeper.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    keeper
}

/// Starts what ends the script if this program can't.
fn watch(below: &Below) -> io::Result<(Child, ChildStdin)> {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", WATCH, "sh", &below.pid.to_string(), &below.mark]).env_clear().env("PATH", "/usr/bin:/bin");
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).current_dir("/");
    lead_session(command.as_std_mut(), None);
    let mut child = command.spawn()?;
    let stdin = child.stdin.take().ok_or_else(|| io::Error::other("no pipe"))?;
    Ok((child, stdin))
}

impl Script {
    /// The process number of its keeper, which leads its session.
    pub fn pid(&self) -> u32 {
        self.below.pid
    }

    /// Waits until the script itself has ended; what it left behind may still run. May be dropped and called again.
    pub async fn wait(&mut self) {
        if !self.said.ends_with(b"\n") {
            // Without a line its keeper is gone, and so is what can be known.
            let _ = self.keeper.read_until(b'\n', &mut self.said).await;
        }
    }

    /// Asks all of it to end, and gives it so long.
    pub async fn ask_to_end(&mut self, grace: Duration) {
        self.below.clone().told(Signal::TERM).await;
        // Whether it did does not matter: what is left is killed.
        let _ = tokio::time::timeout(grace, self.wait()).await;
    }

    /// Kills what is left of it, and gives what it said.
    ///
    /// # Errors
    /// The system does not say how its keeper ended.
    pub async fn end(mut self) -> io::Result<ScriptEnd> {
        for _ in 0..LOOKS {
            if !self.below.clone().told(Signal::KILL).await {
                break;
            }
            tokio::time::sleep(BETWEEN).await;
        }
        self.wait().await;
        // If it is gone, it need not be let go.
        let _ = self.keeper.write_all(b"over\n").await;
        let status = self.child.wait().await?;
        if !status.success() || !self.said.ends_with(b"\n") {
            // Somebody ended it: what it adopted is somewhere else.
            self.below.clone().strays().await;
        }
        self.over = true;
        if let Some((mut child, mut stdin)) = self.watch.take() {
            // If it is gone, so is what it would have done.
            let _ = stdin.write_all(b"over\n").await;
            let _ = child.wait().await;
        }
        let (stdout, stderr) = tokio::join!(self.stdout.rest(), self.stderr.rest());
        let code = std::str::from_utf8(&self.said).ok().and_then(|said| said.trim().parse().ok());
        Ok(ScriptEnd { code, stdout, stderr, guard: self.guard.clone() })
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        if !self.over {
            let below = self.below.clone();
            // Without its other end the keeper ends what is below it, too.
            std::thread::spawn(move || {
                for _ in 0..LOOKS {
                    if !below.signal(Signal::KILL) {
                        break;
                    }
                    std::thread::sleep(BETWEEN);
                }
                below.end_strays();
            });
        }
    }
}

/// All that a script started: what is below its keeper.
#[derive(Clone)]
struct Below {
    pid: u32,
    mark: String,
}

impl Below {
    /// Sends a signal to each, away from the runtime: the system is asked about every process.
    async fn told(self, signal: Signal) -> bool {
        tokio::task::spawn_blocking(move || self.signal(signal)).await.unwrap_or(false)
    }

    async fn strays(self) {
        if let Err(error) = tokio::task::spawn_blocking(move || self.end_strays()).await {
            tracing::warn!("what a script left behind was not looked for: {error}");
        }
    }

    /// Whether there was any.
    fn signal(&self, signal: Signal) -> bool {
        if !procfs::has_children(self.pid) {
            return false;
        }
        let all = procfs::below(self.pid);
        for one in &all {
            if let Some(pid) = Pid::from_raw(one.pid as i32) {
                quietly(kill_process(pid, signal));
            }
        }
        !all.is_empty()
    }

    /// What left its keeper behind: of its session, and with its mark.
    fn end_strays(&self) {
        for _ in 0..LOOKS {
            signal_members(self.pid, Signal::KILL);
            signal_marked(&self.mark, Signal::KILL);
            if procfs::marked(&self.mark).iter().all(|process| process.zombie) {
                return;
            }
            std::thread::sleep(BETWEEN);
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
