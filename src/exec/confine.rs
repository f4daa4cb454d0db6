//! A program whose output is wanted whole, this one above all: no terminal, no shell, and an end for everything.

use super::Exec;
use super::spawn::{lead_session, watch_exit};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process_group, setrlimit};
use std::ffi::OsStr;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// Between two looks at whether it was cancelled.
const GLANCE: Duration = Duration::from_millis(50);

/// Bytes of output and time that a program may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    pub output: usize,
    pub time: Duration,
}

/// What a program gave back.
#[derive(Debug)]
pub struct Done {
    pub status: ExitStatus,
    /// What it wrote to standard output.
    pub output: Vec<u8>,
}

/// The program was ended, or never began.
#[derive(Debug, thiserror::Error)]
pub enum OnceError {
    #[error("could not be run: {0}")]
    Io(#[from] io::Error),
    #[error("took too long")]
    TimedOut,
    #[error("printed too much")]
    TooMuch,
    #[error("interrupted")]
    Cancelled,
}

impl Exec {
    /// Runs this program again with `arguments`, an empty environment and nothing on its standard input, and takes what
    /// it prints. Blocks; the child is gone when this returns. `None` when nobody said which program this is
    /// ([`super::ExecOptions::program`]).
    pub fn this_program(
        &self,
        arguments: &[&OsStr],
        bounds: Bounds,
        cancel: &CancellationToken,
    ) -> Option<Result<Done, OnceError>> {
        let program = self.hub.options.program.as_ref()?;
        let mut command = Command::new(program);
        command.args(arguments).env_clear().current_dir("/");
        Some(run(command, bounds, &|| cancel.is_cancelled()))
    }
}

/// Runs `command` in a session of its own until it has exited; ends its group whatever happens.
fn run(mut command: Command, bounds: Bounds, stopped: &dyn Fn() -> bool) -> Result<Done, OnceError> {
    let deadline = Instant::now() + bounds.time;
    let mut child = start(&mut command)?;
    let taken = output(&mut child, deadline, bounds.output, stopped).and_then(|output| {
        // Its output has ended: how it ends itself is worth a moment, else the end below would be taken for its own.
        let exit = watch_exit(child.id())?;
        while !readable(&exit, deadline, stopped)? {}
        Ok(output)
    });
    let status = end(&mut child);
    Ok(Done { output: taken?, status: status? })
}

/// Starts `command` without a terminal, with only its standard output connected.
pub(crate) fn start(command: &mut Command) -> io::Result<Child> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    // Neither our terminal nor the signals of its keys are for the child.
    lead_session(command, None);
    command.spawn()
}

/// Everything that the child writes, up to `most` bytes.
pub(crate) fn output(
    child: &mut Child,
    deadline: Instant,
    most: usize,
    stopped: &dyn Fn() -> bool,
) -> Result<Vec<u8>, OnceError> {
    let mut stdout = child.stdout.take().ok_or_else(|| io::Error::other("its output is not connected"))?;
    let mut bytes = Vec::new();
    let mut buffer = [0; 16 * 1024];
    loop {
        if !readable(&stdout, deadline, stopped)? {
            continue;
        }
        match stdout.read(&mut buffer) {
            Ok(0) => return Ok(bytes),
            Ok(count) if bytes.len() + count > most => return Err(OnceError::TooMuch),
            Ok(count) => bytes.extend_from_slice(&buffer[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Waits a moment for `fd`; whether there is something to read or its other side is gone.
fn readable(fd: impl AsFd, deadline: Instant, stopped: &dyn Fn() -> bool) -> Result<bool, OnceError> {
    let left = deadline.saturating_duration_since(Instant::now());
    if stopped() {
        return Err(OnceError::Cancelled);
    }
    if left.is_zero() {
        return Err(OnceError::TimedOut);
    }
    let moment = Timespec { tv_sec: 0, tv_nsec: left.min(GLANCE).subsec_nanos().into() };
    match poll(&mut [PollFd::new(&fd, PollFlags::IN)], Some(&moment)) {
        Ok(count) => Ok(count > 0),
        Err(rustix::io::Errno::INTR) => Ok(false),
        Err(error) => Err(io::Error::from(error).into()),
    }
}

/// Ends the child and what it started, when it still runs.
pub(crate) fn end(child: &mut Child) -> io::Result<ExitStatus> {
    if let Ok(None) = child.try_wait()
        && let Some(group) = Pid::from_raw(child.id() as i32)
        && let Err(error) = kill_process_group(group, Signal::KILL)
    {
        tracing::debug!("a program that ran once could not be ended: {error}");
    }
    child.wait()
}

/// Bounds this process: bytes of its address space, time on a processor, and no image of its memory when it breaks.
/// Systems other than Linux may not know a bound of the address space.
pub fn confine(memory: u64, processor: Duration) -> io::Result<()> {
    let limit = |resource, most| setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) });
    limit(Resource::Core, 0)?;
    limit(Resource::Cpu, processor.as_secs())?;
    match limit(Resource::As, memory) {
        Err(_) if cfg!(not(target_os = "linux")) => Ok(()),
        done => Ok(done?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("bash");
        command.args(["--noprofile", "--norc", "-c", script]);
        command
    }

    const BOUNDS: Bounds = Bounds { output: 1000, time: Duration::from_secs(20) };

    #[test]
    fn output_and_end_are_told() {
        for (script, code, output) in [("printf hello", Some(0), "hello"), ("printf no; exit 65", Some(65), "no")] {
            let done = run(shell(script), BOUNDS, &|| false).unwrap();
            assert_eq!((done.status.code(), done.output.as_slice()), (code, output.as_bytes()), "{script}");
        }
        assert_eq!(run(shell("kill -ABRT $$"), BOUNDS, &|| false).unwrap().status.code(), None);
        // Its own end counts, not that its output ended before.
        assert_eq!(run(shell("exec >&-; sleep 0.2; exit 3"), BOUNDS, &|| false).unwrap().status.code(), Some(3));
    }

    #[test]
    fn what_does_not_end_is_ended_with_all_it_started() {
        let folder = tempfile::tempdir().unwrap();
        let pid = folder.path().join("pid");
        let sleeps = || shell(&format!("sleep 600 & echo $! > {}; wait", pid.display()));
        let error = run(sleeps(), BOUNDS, &|| pid.metadata().is_ok_and(|meta| meta.len() > 0)).unwrap_err();
        assert!(matches!(error, OnceError::Cancelled), "{error}");
        let sleeper: i32 = std::fs::read_to_string(&pid).unwrap().trim().parse().unwrap();
        let deadline = Instant::now() + Duration::from_secs(20);
        // Whoever adopts it takes it off the table; until then it is dead but has its number.
        let gone = || match std::fs::read_to_string(format!("/proc/{sleeper}/stat")) {
            Ok(stat) => stat.contains(") Z"),
            Err(_) => rustix::process::test_kill_process(Pid::from_raw(sleeper).unwrap()).is_err(),
        };
        while !gone() {
            assert!(Instant::now() < deadline, "{sleeper} still runs");
            std::thread::yield_now();
        }
        let short = Bounds { time: Duration::from_millis(100), ..BOUNDS };
        assert!(matches!(run(shell("sleep 600"), short, &|| false), Err(OnceError::TimedOut)));
        assert!(matches!(run(shell("yes"), BOUNDS, &|| false), Err(OnceError::TooMuch)));
    }
}
