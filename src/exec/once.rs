//! A child that is told something, answers and ends: a hook, the reader of a document, an installer. One runner for all,
//! bounded in time and in output; the child leads a session of its own, which ends with it when it has to be ended.
//!
//! The work is one loop over the child's pipes on a thread that may block. [`Once::run`] is the same for those who wait.

use super::Exec;
use super::piped::{quietly, signal_members};
use super::spawn::{lead_session, watch_exit};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use rustix::process::{Pid, Signal, kill_process_group};
use std::ffi::OsStr;
use std::io::{self, Read, Write as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// Between two looks at whether somebody wants it stopped.
const GLANCE: Duration = Duration::from_millis(25);
/// How long output is waited for once the child itself has ended: something it left behind may hold the pipe.
const DRAIN: Duration = Duration::from_millis(200);
/// Between TERM and KILL.
const GRACE: Duration = Duration::from_millis(300);

/// Time and bytes that a child may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    pub time: Duration,
    pub stdout: Most,
    pub stderr: Most,
}

/// Bytes of a stream, and what happens to more of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Most {
    /// Nothing of it is wanted: the child has no such stream.
    None,
    /// These are kept; what comes after is read and dropped, so that the child does not block.
    First(usize),
    /// The last ones are kept.
    Last(usize),
    /// More of them are an error, and the child is ended.
    All(usize),
}

/// What becomes of processes that the child leaves behind when it ends by itself. When it has to be ended, so are they.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rest {
    /// They go on: whoever wrote the command wanted them.
    Stays,
    Ends,
}

/// A child to run.
#[derive(Debug)]
pub struct Once {
    /// Program, arguments, folder and environment.
    pub command: Command,
    /// For its standard input; nothing when empty.
    pub input: Vec<u8>,
    pub bounds: Bounds,
    pub rest: Rest,
}

/// What it left.
#[derive(Debug)]
pub struct Done {
    pub status: ExitStatus,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
}

/// It was ended, or never began.
#[derive(Debug, thiserror::Error)]
pub enum OnceError {
    #[error("could not be run: {0}")]
    Io(#[from] io::Error),
    #[error("timed out after {} s", seconds(*.0))]
    TimedOut(Duration),
    #[error("printed too much")]
    TooMuch,
    #[error("stopped")]
    Stopped,
}

/// What somebody wants of a child that runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wish {
    GoOn,
    /// Told first, ended when it does not listen.
    Stop,
    /// Nobody waits any more.
    Kill,
}

impl Once {
    /// Runs it to its end on this thread. Comes back within its time and a moment.
    ///
    /// # Errors
    /// It was ended, or could not be run; nothing of it runs then.
    pub fn block(self, stopped: &dyn Fn() -> bool) -> Result<Done, OnceError> {
        self.work(&|| if stopped() { Wish::Stop } else { Wish::GoOn })
    }

    /// The same for those who wait. Whoever drops the future ends the child.
    ///
    /// # Errors
    /// As [`block`](Self::block).
    pub async fn run(self, cancel: &CancellationToken) -> Result<Done, OnceError> {
        struct Left(Arc<AtomicBool>);
        impl Drop for Left {
            fn drop(&mut self) {
                self.0.store(true, Ordering::Relaxed);
            }
        }
        let (alone, cancel) = (Arc::new(AtomicBool::new(false)), cancel.clone());
        let _left = Left(Arc::clone(&alone));
        let work = tokio::task::spawn_blocking(move || {
            self.work(&|| match (alone.load(Ordering::Relaxed), cancel.is_cancelled()) {
                (true, _) => Wish::Kill,
                (_, true) => Wish::Stop,
                _ => Wish::GoOn,
            })
        });
        work.await.unwrap_or_else(|error| Err(io::Error::other(error).into()))
    }

    fn work(mut self, wish: &dyn Fn() -> Wish) -> Result<Done, OnceError> {
        let deadline = Instant::now() + self.bounds.time;
        let mut child = self.start()?;
        let done = self.talk(&mut child, deadline, wish);
        match (&done, self.rest) {
            (Ok(_), Rest::Stays) => {}
            (Ok(_), Rest::Ends) => signal(&child, Signal::KILL),
            (Err(_), _) => {
                if wish() != Wish::Kill {
                    signal(&child, Signal::TERM);
                    ended_within(&child, GRACE);
                }
                signal(&child, Signal::KILL);
            }
        }
        // Not before this is its number anybody else's.
        let status = child.wait();
        let (stdout, stderr) = done?;
        Ok(Done { status: status?, stdout, stderr })
    }

    fn start(&mut self) -> io::Result<Child> {
        let stream = |most| if most == Most::None { Stdio::null() } else { Stdio::piped() };
        let stdin = if self.input.is_empty() { Stdio::null() } else { Stdio::piped() };
        self.command.stdin(stdin).stdout(stream(self.bounds.stdout)).stderr(stream(self.bounds.stderr));
        // Neither our terminal nor the signals of its keys are for the child.
        lead_session(&mut self.command, None);
        self.command.spawn()
    }

    /// Feeds it, hears it out, and comes back when it has exited: its two streams.
    fn talk(
        &self,
        child: &mut Child,
        deadline: Instant,
        wish: &dyn Fn() -> Wish,
    ) -> Result<(Vec<u8>, Vec<u8>), OnceError> {
        let exit = watch_exit(child.id())?;
        let mut feed = Feed::new(child.stdin.take(), &self.input)?;
        let mut stdout = Stream::new(child.stdout.take().map(OwnedFd::from), self.bounds.stdout)?;
        let mut stderr = Stream::new(child.stderr.take().map(OwnedFd::from), self.bounds.stderr)?;
        let mut exited: Option<Instant> = None;
        loop {
            let now = Instant::now();
            let drained = exited.is_some_and(|since| now >= since + DRAIN);
            if exited.is_some() && (drained || (stdout.is_over() && stderr.is_over())) {
                return Ok((stdout.kept, stderr.kept));
            }
            if wish() != Wish::GoOn {
                return Err(OnceError::Stopped);
            }
            if now >= deadline && exited.is_none() {
                return Err(OnceError::TimedOut(self.bounds.time));
            }
            let until = exited.map_or(deadline, |since| since + DRAIN);
            let ready = wait(
                [
                    exited.is_none().then(|| (exit.as_fd(), PollFlags::IN)),
                    feed.fd().map(|fd| (fd, PollFlags::OUT)),
                    stdout.fd().map(|fd| (fd, PollFlags::IN)),
                    stderr.fd().map(|fd| (fd, PollFlags::IN)),
                ],
                until.saturating_duration_since(now).min(GLANCE),
            )?;
            if ready[1] {
                feed.go_on();
            }
            if ready[2] {
                stdout.read()?;
            }
            if ready[3] {
                stderr.read()?;
            }
            if ready[0] {
                exited = Some(Instant::now());
            }
        }
    }
}

impl Exec {
    /// Runs this program again with `arguments`, an empty environment and nothing on its standard input. Blocks; the child
    /// is gone when this returns. `None` when nobody said which program this is ([`super::ExecOptions::program`]).
    pub fn this_program(
        &self,
        arguments: &[&OsStr],
        bounds: Bounds,
        cancel: &CancellationToken,
    ) -> Option<Result<Done, OnceError>> {
        let mut command = Command::new(self.hub.options.program.as_ref()?);
        command.args(arguments).env_clear().current_dir("/");
        let once = Once { command, input: Vec::new(), bounds, rest: Rest::Ends };
        Some(once.block(&|| cancel.is_cancelled()))
    }
}

/// `0.4`, `60`.
fn seconds(time: Duration) -> String {
    let text = format!("{:.1}", time.as_secs_f64());
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

/// Waits a moment for any of these; which of them have something.
fn wait<const N: usize>(wanted: [Option<(BorrowedFd<'_>, PollFlags)>; N], most: Duration) -> io::Result<[bool; N]> {
    let mut fds: Vec<PollFd<'_>> =
        wanted.iter().flatten().map(|(fd, flags)| PollFd::from_borrowed_fd(*fd, *flags)).collect();
    // Rounded up: a wait of nothing would spin.
    let moment = Timespec { tv_sec: 0, tv_nsec: most.max(Duration::from_millis(1)).min(GLANCE).subsec_nanos().into() };
    match poll(&mut fds, Some(&moment)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => {}
        Err(error) => return Err(error.into()),
    }
    let mut looked = fds.iter();
    Ok(wanted.map(|slot| slot.is_some() && looked.next().is_some_and(|fd| !fd.revents().is_empty())))
}

fn unblocked(fd: OwnedFd) -> io::Result<OwnedFd> {
    let flags = rustix::fs::fcntl_getfl(&fd)?;
    rustix::fs::fcntl_setfl(&fd, flags | OFlags::NONBLOCK)?;
    Ok(fd)
}

/// What the child is told; closed when all is said, or when it does not listen.
struct Feed<'a> {
    pipe: Option<std::fs::File>,
    left: &'a [u8],
}

impl<'a> Feed<'a> {
    fn new(stdin: Option<ChildStdin>, input: &'a [u8]) -> io::Result<Self> {
        let pipe = stdin.map(|stdin| unblocked(stdin.into())).transpose()?;
        Ok(Self { pipe: pipe.map(Into::into), left: input })
    }

    fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.pipe.as_ref().map(AsFd::as_fd)
    }

    fn go_on(&mut self) {
        let Some(pipe) = &mut self.pipe else { return };
        match pipe.write(self.left) {
            Ok(count) => self.left = &self.left[count..],
            Err(error) if matches!(error.kind(), io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock) => return,
            // It need not read what it is told.
            Err(_) => self.left = &[],
        }
        if self.left.is_empty() {
            self.pipe = None;
        }
    }
}

/// What the child says on one stream, within bounds.
struct Stream {
    pipe: Option<std::fs::File>,
    most: Most,
    kept: Vec<u8>,
}

impl Stream {
    fn new(pipe: Option<OwnedFd>, most: Most) -> io::Result<Self> {
        let pipe = pipe.map(unblocked).transpose()?;
        Ok(Self { pipe: pipe.map(Into::into), most, kept: Vec::new() })
    }

    fn is_over(&self) -> bool {
        self.pipe.is_none()
    }

    fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.pipe.as_ref().map(AsFd::as_fd)
    }

    /// What is there now; all of it, so that a child that has exited is heard out.
    fn read(&mut self) -> Result<(), OnceError> {
        let mut buffer = [0; 16 * 1024];
        let Some(pipe) = &mut self.pipe else { return Ok(()) };
        let count = match pipe.read(&mut buffer) {
            Ok(0) => {
                self.pipe = None;
                return Ok(());
            }
            Ok(count) => count,
            Err(error) if matches!(error.kind(), io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock) => {
                return Ok(());
            }
            Err(error) => return Err(error.into()),
        };
        let new = &buffer[..count];
        match self.most {
            Most::None => {}
            Most::First(most) => {
                let room = most.saturating_sub(self.kept.len());
                self.kept.extend_from_slice(&new[..count.min(room)]);
            }
            Most::Last(most) => {
                self.kept.extend_from_slice(new);
                // Twice as much before anything moves: each byte is moved once at most.
                if self.kept.len() > 2 * most {
                    self.kept.drain(..self.kept.len() - most);
                }
            }
            Most::All(most) if self.kept.len() + count > most => return Err(OnceError::TooMuch),
            Most::All(_) => self.kept.extend_from_slice(new),
        }
        Ok(())
    }
}

/// To all of its session. It was not waited for yet, so its number is its own.
fn signal(child: &Child, signal: Signal) {
    signal_members(child.id(), signal);
    if let Some(leader) = Pid::from_raw(child.id() as i32) {
        quietly(kill_process_group(leader, signal));
    }
}

/// Waits this long for its end, without taking it off the table.
fn ended_within(child: &Child, most: Duration) {
    let deadline = Instant::now() + most;
    let Ok(exit) = watch_exit(child.id()) else { return };
    while Instant::now() < deadline {
        if let Ok([true]) | Err(_) = wait([Some((exit.as_fd(), PollFlags::IN))], GLANCE) {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(20);
    const BOUNDS: Bounds = Bounds { time: LONG, stdout: Most::First(1000), stderr: Most::Last(100) };

    fn sh(line: &str, bounds: Bounds) -> Once {
        let mut command = Command::new("/bin/sh");
        command.arg("-c").arg(line).current_dir("/").env_clear().env("PATH", std::env::var("PATH").unwrap());
        Once { command, input: br#"{"a":1}"#.to_vec(), bounds, rest: Rest::Stays }
    }

    fn text(bytes: &[u8]) -> &str {
        std::str::from_utf8(bytes).unwrap()
    }

    fn gone(pid: i32) {
        let stop = Instant::now() + LONG;
        // Whoever adopts it takes it off the table; until then it is dead but has its number.
        let is_gone = || match std::fs::read_to_string(format!("/proc/{pid}/stat")) {
            Ok(stat) => stat.contains(") Z"),
            Err(_) => rustix::process::test_kill_process(Pid::from_raw(pid).unwrap()).is_err(),
        };
        while !is_gone() {
            assert!(Instant::now() < stop, "{pid} still runs");
            std::thread::yield_now();
        }
    }

    #[test]
    fn input_output_and_status() {
        for (line, code, out, err) in [
            ("cat; echo oops >&2; exit 3", Some(3), r#"{"a":1}"#, "oops\n"),
            ("printf hello", Some(0), "hello", ""),
            // Its own end counts, not that its output ended before.
            ("exec >&- 2>&-; sleep 0.2; exit 4", Some(4), "", ""),
            ("kill -9 $$", None, "", ""),
            ("printenv HOME", Some(1), "", ""),
        ] {
            let done = sh(line, BOUNDS).block(&|| false).unwrap();
            assert_eq!((done.status.code(), text(&done.stdout), text(&done.stderr)), (code, out, err), "{line}");
        }
    }

    #[test]
    fn more_input_than_a_pipe_holds_meets_a_child_that_reads_late_or_never() {
        let big = vec![b'x'; 3_000_000];
        for (line, out) in [("sleep 0.1; wc -c", "3000000"), ("echo unread", "unread")] {
            let once = Once { input: big.clone(), ..sh(line, BOUNDS) };
            assert_eq!(text(&once.block(&|| false).unwrap().stdout).trim(), out, "{line}");
        }
    }

    #[test]
    fn a_flood_is_cut_at_either_end_or_is_an_error() {
        let flood = "i=0; while [ $i -lt 2000 ]; do echo line $i; i=$((i+1)); done";
        let with = |stdout| sh(flood, Bounds { stdout, ..BOUNDS }).block(&|| false);
        assert!(text(&with(Most::First(100)).unwrap().stdout).starts_with("line 0\nline 1\n"));
        let last = with(Most::Last(100)).unwrap().stdout;
        assert!(text(&last).ends_with("line 1999\n") && last.len() <= 200);
        assert!(matches!(with(Most::All(100)), Err(OnceError::TooMuch)));
        assert!(with(Most::None).unwrap().stdout.is_empty());
    }

    #[test]
    fn what_does_not_end_is_ended_with_all_it_started() {
        let folder = tempfile::tempdir().unwrap();
        for (name, wish) in [("late", None), ("stop", Some(Wish::Stop)), ("kill", Some(Wish::Kill))] {
            let pid = folder.path().join(name);
            let line = format!("trap '' TERM; sleep 600 & echo $! > {}; wait; sleep 600", pid.display());
            let began = || pid.metadata().is_ok_and(|meta| meta.len() > 0);
            let time = if wish.is_none() { Duration::from_millis(400) } else { LONG };
            let started = Instant::now();
            let error = sh(&line, Bounds { time, ..BOUNDS })
                .work(&|| wish.filter(|_| began()).unwrap_or(Wish::GoOn))
                .unwrap_err();
            let words = if wish.is_none() { "timed out after 0.4 s" } else { "stopped" };
            assert_eq!(error.to_string(), words);
            assert!(started.elapsed() < LONG / 2, "{:?}", started.elapsed());
            gone(std::fs::read_to_string(pid).unwrap().trim().parse().unwrap());
        }
    }

    #[test]
    fn something_left_behind_does_not_hold_the_answer_and_ends_where_it_has_to() {
        for rest in [Rest::Stays, Rest::Ends] {
            let began = Instant::now();
            let once = Once { rest, ..sh("sleep 600 & echo $!", BOUNDS) };
            let done = once.block(&|| false).unwrap();
            assert!(began.elapsed() < LONG / 2);
            let left: i32 = text(&done.stdout).trim().parse().unwrap();
            let pid = Pid::from_raw(left).unwrap();
            if rest == Rest::Stays {
                assert!(rustix::process::test_kill_process(pid).is_ok());
                rustix::process::kill_process(pid, Signal::KILL).unwrap();
            }
            gone(left);
        }
    }

    #[tokio::test]
    async fn those_who_wait_can_stop_it_or_walk_away() {
        let cancel = CancellationToken::new();
        cancel.cancel();
        assert!(matches!(sh("sleep 600", BOUNDS).run(&cancel).await, Err(OnceError::Stopped)));
        let folder = tempfile::tempdir().unwrap();
        let pid = folder.path().join("pid");
        let line = format!("trap '' TERM; echo $$ > {}; sleep 600", pid.display());
        let begun = async {
            while !pid.metadata().is_ok_and(|meta| meta.len() > 0) {
                tokio::task::yield_now().await;
            }
        };
        let cancel = CancellationToken::new();
        let work = sh(&line, BOUNDS).run(&cancel);
        tokio::select! {
            done = work => panic!("{done:?}"),
            () = begun => {}
        }
        let pid = std::fs::read_to_string(&pid).unwrap().trim().parse().unwrap();
        tokio::task::spawn_blocking(move || gone(pid)).await.unwrap();
    }
}
