//! The streams of a child that runs once: what it is told, what it says, and the wait for either.

use super::{GLANCE, OneshotError, OutputLimit};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use std::io::{self, Read, Write as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process::ChildStdin;
use std::time::Duration;

/// Waits a moment for any of these; which of them have something.
pub(super) fn wait<const N: usize>(
    wanted: [Option<(BorrowedFd<'_>, PollFlags)>; N],
    most: Duration,
) -> io::Result<[bool; N]> {
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
pub(super) struct Feed<'a> {
    pipe: Option<std::fs::File>,
    left: &'a [u8],
}

impl<'a> Feed<'a> {
    pub(super) fn new(stdin: Option<ChildStdin>, input: &'a [u8]) -> io::Result<Self> {
        let pipe = stdin.map(|stdin| unblocked(stdin.into())).transpose()?;
        Ok(Self { pipe: pipe.map(Into::into), left: input })
    }

    pub(super) fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.pipe.as_ref().map(AsFd::as_fd)
    }

    pub(super) fn go_on(&mut self) {
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
pub(super) struct Stream {
    pipe: Option<std::fs::File>,
    most: OutputLimit,
    pub(super) kept: Vec<u8>,
}

impl Stream {
    pub(super) fn new(pipe: Option<OwnedFd>, most: OutputLimit) -> io::Result<Self> {
        let pipe = pipe.map(unblocked).transpose()?;
        Ok(Self { pipe: pipe.map(Into::into), most, kept: Vec::new() })
    }

    pub(super) fn is_over(&self) -> bool {
        self.pipe.is_none()
    }

    pub(super) fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.pipe.as_ref().map(AsFd::as_fd)
    }

    /// What is there now; all of it, so that a child that has exited is heard out.
    pub(super) fn read(&mut self) -> Result<(), OneshotError> {
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
            OutputLimit::None => {}
            OutputLimit::First(most) => {
                let room = most.saturating_sub(self.kept.len());
                self.kept.extend_from_slice(&new[..count.min(room)]);
            }
            OutputLimit::Last(most) => {
                self.kept.extend_from_slice(new);
                // Twice as much before anything moves: each byte is moved once at most.
                if self.kept.len() > 2 * most {
                    self.kept.drain(..self.kept.len() - most);
                }
            }
            OutputLimit::All(most) if self.kept.len() + count > most => return Err(OneshotError::TooMuch),
            OutputLimit::All(_) => self.kept.extend_from_slice(new),
        }
        Ok(())
    }
}
