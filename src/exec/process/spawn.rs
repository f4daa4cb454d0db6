//! Starts a child in a session of its own, with everything on one terminal, or with its output on a pipe where nobody types.
//!
//! The only unsafe code of this room beside `sandbox::kernel`: what runs between fork and exec, and borrowing the descriptor of a PTY.

use super::end::{ignore_gone, members};
use crate::exec::sandbox::{Prepared, Step, failed_step};
use crate::exec::terminal::waiting::Modes;
use portable_pty::{PtySize, native_pty_system};
use rustix::fs::OFlags;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use rustix::termios::{Winsize, tcgetpgrp, tcgetwinsize, tcsetwinsize};
use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

/// Bytes of a pipe to a child, as far as the system allows: with 1 MiB a flood needs few switches between the two sides.
#[cfg(target_os = "linux")]
const PIPE: usize = 1024 * 1024;

/// Our side of a child's terminal.
pub(crate) struct Tty {
    /// Shared with the thread that reads it: descriptors are scarce.
    pub(crate) fd: Arc<OwnedFd>,
    /// `/dev/pts/3`.
    pub(crate) name: PathBuf,
}

/// How a child is connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wiring {
    /// A terminal even where nobody can type.
    pub(crate) pty: bool,
    /// Nothing on standard input; a terminal only when `pty` asks for one.
    pub(crate) headless: bool,
    /// Columns and rows.
    pub(crate) size: (u16, u16),
}

impl Wiring {
    /// Whether the child gets a controlling terminal.
    pub(crate) fn terminal(self) -> bool {
        self.pty || !self.headless
    }
}

/// A child that is ready to be started: what may fail without it has been done.
pub(crate) struct Ready {
    command: Command,
    pipe: Option<OwnedFd>,
    tty: Option<Tty>,
    /// The child's side of its terminal.
    slave: Option<OwnedFd>,
    /// Tells in which step the sandbox could not be entered.
    failing: Option<PipeReader>,
    /// Descriptors that are given back just before the child's end is to be watched, which takes one.
    spare: (PipeReader, PipeWriter),
}

/// A started child. All descriptors are non-blocking and closed on exec.
pub(crate) struct Spawned {
    pub(crate) child: Child,
    /// Its standard output and error, when they are not on the terminal.
    pub(crate) pipe: Option<OwnedFd>,
    pub(crate) tty: Option<Tty>,
    /// Becomes readable or hangs up when the child has exited.
    pub(crate) exit: OwnedFd,
}

/// A child could not be started.
#[derive(Debug)]
pub(crate) struct SpawnFailure {
    /// What of the sandbox could not be had, if it was that.
    pub(crate) step: Option<Step>,
    pub(crate) source: io::Error,
}

impl From<io::Error> for SpawnFailure {
    fn from(source: io::Error) -> Self {
        Self { step: None, source }
    }
}

impl From<rustix::io::Errno> for SpawnFailure {
    fn from(error: rustix::io::Errno) -> Self {
        io::Error::from(error).into()
    }
}

/// Makes everything ready for `command`, in this sandbox if there is one. Nothing runs yet.
pub(crate) fn ready(mut command: Command, wiring: Wiring, sandbox: Option<Prepared>) -> Result<Ready, SpawnFailure> {
    let mut slave = None;
    let mut tty = None;
    if wiring.terminal() {
        let (ours, theirs) = open_tty(wiring.size)?;
        tty = Some(ours);
        slave = Some(theirs);
    }
    let mut pipe = None;
    match (&slave, wiring.headless) {
        (Some(slave), false) => command.stdin(slave.try_clone()?),
        _ => command.stdin(Stdio::null()),
    };
    match &slave {
        Some(slave) => {
            command.stdout(slave.try_clone()?).stderr(slave.try_clone()?);
        }
        None => {
            let (reader, writer) = io::pipe()?;
            #[cfg(target_os = "linux")]
            if let Err(error) = rustix::pipe::fcntl_setpipe_size(&reader, PIPE) {
                // The system bounds what one user may have; a small pipe works as well, only slower.
                tracing::debug!("could not enlarge a pipe: {error}");
            }
            command.stdout(writer.try_clone()?).stderr(writer);
            pipe = Some(OwnedFd::from(reader));
        }
    }
    lead_session(&mut command, slave.is_some().then_some(if wiring.headless { 1 } else { 0 }));
    // After its session and terminal are its own: what comes next needs nothing of the outside.
    let failing = sandbox.map(|sandbox| sandbox.enter(&mut command)).transpose()?.flatten();
    // Before there is a child: from then on nothing may fail.
    for fd in pipe.iter().chain(tty.iter().map(|t| &*t.fd)) {
        let flags = rustix::fs::fcntl_getfl(fd)?;
        rustix::fs::fcntl_setfl(fd, flags | OFlags::NONBLOCK)?;
    }
    Ok(Ready { command, pipe, tty, slave, failing, spare: io::pipe()? })
}

impl Ready {
    /// Our side of its terminal, for its reader.
    pub(crate) fn tty_fd(&self) -> Option<Arc<OwnedFd>> {
        self.tty.as_ref().map(|tty| Arc::clone(&tty.fd))
    }

    /// Starts it. After an error nothing of it runs, and nobody has to wait for it.
    pub(crate) fn start(self) -> Result<Spawned, SpawnFailure> {
        let Self { mut command, pipe, tty, slave, failing, spare } = self;
        let started = command.spawn();
        // The command still holds the child's ends: without them an end of output can be seen.
        drop(command);
        drop(slave);
        let mut child = match started {
            Ok(child) => child,
            Err(source) => return Err(SpawnFailure { step: failing.and_then(failed_step), source }),
        };
        drop(spare);
        match watch_exit(child.id()) {
            Ok(exit) => Ok(Spawned { child, pipe, tty, exit }),
            Err(error) => {
                // Another thread was faster: what cannot be watched must not run.
                end_unwatched(&mut child);
                Err(error.into())
            }
        }
    }
}

/// Ends a child that leads its session, with all that it started, and waits for it.
fn end_unwatched(child: &mut Child) {
    if let Some(leader) = Pid::from_raw(child.id() as i32) {
        ignore_gone(kill_process_group(leader, Signal::KILL));
    }
    for member in members(child.id()) {
        ignore_gone(kill_process(member, Signal::KILL));
    }
    if let Err(error) = child.wait() {
        tracing::error!("waiting for {}: {error}", child.id());
    }
}

/// Makes the child lead a session and, with the number of a descriptor that is a terminal, be controlled by it. It gets
/// nothing open but its standard streams, whatever other threads open or start meanwhile.
pub(crate) fn lead_session(command: &mut Command, terminal: Option<i32>) {
    let prepare = move || {
        close_others();
        rustix::process::setsid()?;
        if let Some(number) = terminal {
            // SAFETY: standard input and output are open: they were set up just before.
            let fd = unsafe { BorrowedFd::borrow_raw(number) };
            rustix::process::ioctl_tiocsctty(fd)?;
        }
        Ok(())
    };
    // SAFETY: between fork and exec only async-signal-safe calls are allowed; these are plain system calls that allocate
    // nothing and take no lock.
    unsafe {
        command.pre_exec(prepare);
    }
}

/// Has what this child's own children leave without a parent become its children, as long as it runs: all that it started
/// is below it then, in whatever session and with whatever environment.
pub(crate) fn keep_orphans(command: &mut Command) {
    #[cfg(target_os = "linux")]
    {
        let prepare = || Ok(rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?);
        // SAFETY: as in `lead_session`.
        unsafe {
            command.pre_exec(prepare);
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = command;
}

/// A child that stays in this session, for a password that it asks for at the person's terminal: it, too, gets nothing open
/// but its standard streams.
pub fn bare(command: &mut Command) {
    let prepare = || {
        close_others();
        Ok(())
    };
    // SAFETY: as in `lead_session`.
    unsafe {
        command.pre_exec(prepare);
    }
}

/// Descriptors that one process may take: its terminal, its end, orders, its log, what a new keeper gets; and those that
/// everything else takes.
const EACH: u64 = 8;
const OTHERS: u64 = 512;

/// Sees to it that so many processes can run at once: by default a process may have 1,024 descriptors. No more than the
/// system allows, and never less than there was.
pub(crate) fn make_room(processes: usize) {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let wanted = EACH * processes as u64 + OTHERS;
    let Some(current) = limit.current.filter(|current| *current < wanted) else { return };
    let more = limit.maximum.map_or(wanted, |most| most.min(wanted)).max(current);
    if let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: Some(more), maximum: limit.maximum }) {
        tracing::warn!("only {current} descriptors, so fewer commands can run at once: {error}");
    }
}

/// Descriptors that background processes leave to everything else: a few commands in the foreground, files, the model.
const RESERVE: u64 = 96;

/// Whether one more background process leaves the reserve as it is. Where the system does not tell, it does.
///
/// # Errors
/// [`ExecError::Descriptors`] when it does not.
pub(crate) fn leave_reserve() -> Result<(), crate::exec::ExecError> {
    use rustix::process::{Resource, getrlimit};
    let Some(most) = getrlimit(Resource::Nofile).current else { return Ok(()) };
    let folder = if cfg!(target_os = "linux") { "/proc/self/fd" } else { "/dev/fd" };
    let Ok(open) = std::fs::read_dir(folder).map(|all| all.count() as u64) else { return Ok(()) };
    if open + EACH + RESERVE <= most { Ok(()) } else { Err(crate::exec::ExecError::Descriptors { open, most }) }
}

/// The first descriptor that is no standard stream.
const FIRST: i32 = 3;

/// Marks all but the standard streams as closed on exec. A terminal is open for a moment before it is marked, a library
/// may never mark what it opens, and what this program was started with is not for its children either: a lock around
/// our own starts would cover none of that.
fn close_others() {
    #[cfg(target_os = "linux")]
    {
        // SAFETY: takes three numbers and changes flags of this process's own descriptors.
        let done = unsafe { libc::syscall(libc::SYS_close_range, FIRST, u32::MAX, libc::CLOSE_RANGE_CLOEXEC) };
        if done == 0 {
            return;
        }
    }
    // Before Linux 5.11, and elsewhere: as many as a process may have by default.
    const MAX_DESCRIPTORS: i32 = 1024;
    for number in FIRST..MAX_DESCRIPTORS {
        // SAFETY: nothing is done with it but to set a flag; a number without a descriptor is an error that is not looked at.
        let fd = unsafe { BorrowedFd::borrow_raw(number) };
        let _ = rustix::io::fcntl_setfd(fd, rustix::io::FdFlags::CLOEXEC);
    }
}

fn open_tty((columns, rows): (u16, u16)) -> io::Result<(Tty, OwnedFd)> {
    let size = PtySize { rows: rows.max(1), cols: columns.max(1), pixel_width: 0, pixel_height: 0 };
    let pair = native_pty_system().openpty(size).map_err(|error| io::Error::other(format!("no terminal: {error}")))?;
    let missing = || io::Error::other("the terminal has no name");
    let name = pair.master.tty_name().ok_or_else(missing)?;
    let raw = pair.master.as_raw_fd().ok_or_else(missing)?;
    // SAFETY: `pair.master` owns the descriptor and outlives this borrow.
    let fd = unsafe { BorrowedFd::borrow_raw(raw) };
    let fd = rustix::io::fcntl_dupfd_cloexec(fd, 3)?;
    let slave =
        std::fs::File::options().read(true).write(true).custom_flags(OFlags::NOCTTY.bits() as i32).open(&name)?;
    let mut modes = rustix::termios::tcgetattr(&slave)?;
    // Bytes arrive as they were written, and a flood some ten times faster: the kernel copies a line feed that it must
    // change by itself. Whoever shows the bytes returns the carriage (`text::screen`).
    modes.output_modes -= rustix::termios::OutputModes::ONLCR;
    #[cfg(target_os = "linux")]
    {
        // Backspace removes a whole character, not one byte of it.
        modes.input_modes |= rustix::termios::InputModes::IUTF8;
    }
    rustix::termios::tcsetattr(&slave, rustix::termios::OptionalActions::Now, &modes)?;
    Ok((Tty { fd: Arc::new(fd), name }, slave.into()))
}

impl Tty {
    /// Tells the program the new size (one SIGWINCH).
    pub(crate) fn resize(&self, (columns, rows): (u16, u16)) -> io::Result<()> {
        let size = Winsize { ws_row: rows.max(1), ws_col: columns.max(1), ws_xpixel: 0, ws_ypixel: 0 };
        Ok(tcsetwinsize(&self.fd, size)?)
    }

    /// Columns and rows as the program sees them.
    pub(crate) fn size(&self) -> Option<(u16, u16)> {
        tcgetwinsize(&self.fd).ok().map(|size| (size.ws_col, size.ws_row))
    }

    /// The process group that reads the keyboard.
    pub(crate) fn foreground(&self) -> Option<Pid> {
        tcgetpgrp(&self.fd).ok()
    }

    /// What the line discipline does now; `None` when the terminal is gone.
    pub(crate) fn modes(&self) -> Option<rustix::termios::Termios> {
        rustix::termios::tcgetattr(self.fd.as_fd()).ok()
    }

    /// Line feeds return the carriage again, unless the program reads keys one by one and thus set its modes itself.
    pub(crate) fn return_carriages(&self) -> io::Result<()> {
        use rustix::termios::{LocalModes, OptionalActions, OutputModes, tcgetattr, tcsetattr};
        let mut modes = tcgetattr(&self.fd)?;
        if modes.local_modes.contains(LocalModes::ICANON) {
            modes.output_modes |= OutputModes::ONLCR;
            tcsetattr(&self.fd, OptionalActions::Now, &modes)?;
        }
        Ok(())
    }

    /// Keys arrive one by one (an editor, a menu), not line by line.
    pub(crate) fn raw_mode(&self) -> bool {
        self.modes().is_some_and(|modes| !modes.local_modes.contains(rustix::termios::LocalModes::ICANON))
    }

    /// How it treats keys. One that does not say shows them.
    pub(crate) fn key_modes(&self) -> Modes {
        use rustix::termios::LocalModes;
        let modes = self.modes().map(|modes| modes.local_modes);
        modes.map_or(Modes { raw: false, echo: true }, |modes| Modes {
            raw: !modes.contains(LocalModes::ICANON),
            echo: modes.contains(LocalModes::ECHO),
        })
    }
}

/// A descriptor that tells when the process has exited, which stays a zombie until it is waited for.
pub(crate) fn watch_exit(pid: u32) -> io::Result<OwnedFd> {
    let pid = Pid::from_raw(pid as i32).ok_or_else(|| io::Error::other("no process id"))?;
    #[cfg(target_os = "linux")]
    if let Ok(fd) = rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()) {
        return Ok(fd);
    }
    let (reader, writer) = io::pipe()?;
    std::thread::Builder::new().name("exec-wait".into()).spawn(move || {
        use rustix::process::{WaitId, WaitIdOptions, waitid};
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        while let Err(rustix::io::Errno::INTR) = waitid(WaitId::Pid(pid), options) {}
        drop(writer);
    })?;
    Ok(reader.into())
}
