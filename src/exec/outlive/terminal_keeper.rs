//! Keeps terminals open and output flowing when this program is gone, however it went.
//!
//! A terminal whose other side is closed hangs up, and a pipe without a reader kills who writes. So a process beside this
//! one, the keeper, holds a second descriptor of each background command. It sleeps while this program lives; when their
//! socket closes (we quit, crashed or were killed) it reads on, into the log up to its bound, and ends with the last of them.

use crate::exec::process::record::Process;
use crate::exec::process::spawn::lead_session;
use crate::exec::terminal::log;
use crate::lock::lock;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
    recvmsg, sendmsg,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// How long a keeper may take to accept an order.
const ORDER_WAIT: Duration = Duration::from_millis(500);
/// How long leaving waits for a keeper that holds nothing.
const LAST: Duration = Duration::from_millis(200);
/// Bytes of an order, and descriptors that come with one.
const ORDER: usize = 64 * 1024;
const DESCRIPTORS: usize = 2;

/// An order to the keeper, a line of JSON.
#[derive(Debug, Serialize, Deserialize)]
enum Order {
    /// As many descriptors come along: the first is read, the others are only held.
    Hold {
        id: String,
        log: PathBuf,
        limit: u64,
        descriptors: usize,
    },
    LetGo {
        id: String,
    },
}

/// Our side.
#[derive(Debug)]
pub(crate) struct TerminalKeeper {
    program: Option<PathBuf>,
    at_work: Mutex<Option<AtWork>>,
}

#[derive(Debug)]
struct AtWork {
    child: Child,
    socket: UnixStream,
    /// By run: the orders, and what came with them, for a keeper that takes its place.
    held: BTreeMap<String, (Order, Vec<OwnedFd>)>,
}

impl TerminalKeeper {
    /// `program` is this program; without one nothing is kept.
    pub(crate) fn new(program: Option<PathBuf>) -> Self {
        Self { program, at_work: Mutex::default() }
    }

    /// From now on `process` outlives this program: its terminal stays open and its log goes on. `output` is the pipe that
    /// it prints to, when it does not print to its terminal.
    pub(crate) fn hold(&self, process: &Process, output: Option<BorrowedFd<'_>>) {
        let tty = lock(&process.tty);
        let held: Vec<BorrowedFd<'_>> = output.into_iter().chain(tty.iter().map(|tty| tty.fd.as_fd())).collect();
        let (log, limit) = {
            let out = lock(&process.out);
            (out.log.spill().target_path().to_owned(), out.log.spill().limit())
        };
        let run = process.run();
        let order = Order::Hold { id: run.clone(), log, limit, descriptors: held.len() };
        if self.program.is_none() || held.is_empty() {
            return;
        }
        let held = held.into_iter().map(|fd| fd.try_clone_to_owned()).collect::<io::Result<Vec<_>>>();
        if let Err(error) = held.and_then(|held| self.tell(run, order, held)) {
            tracing::warn!("{} will not outlive this program: {error}", process.id.0);
        }
    }

    /// This run of it has ended.
    pub(crate) fn let_go(&self, run: &str) {
        let mut at_work = lock(&self.at_work);
        let Some(keeper) = at_work.as_mut() else { return };
        if keeper.held.remove(run).is_none() {
            return;
        }
        if let Err(error) = send(&keeper.socket, &Order::LetGo { id: run.to_owned() }, &[]) {
            tracing::debug!("the keeper exited: {error}");
        }
    }

    /// This program is about to end: if somebody ended the keeper meanwhile, another one takes its place.
    pub(crate) fn see_to_it(&self) {
        let mut at_work = lock(&self.at_work);
        let Some(keeper) = at_work.as_mut() else { return };
        if !keeper.held.is_empty()
            && !matches!(keeper.child.try_wait(), Ok(None))
            && let Err(error) = self.replace(keeper)
        {
            tracing::warn!("background processes will not outlive this program: {error}");
        }
    }

    fn tell(&self, run: String, order: Order, with: Vec<OwnedFd>) -> io::Result<()> {
        let mut at_work = lock(&self.at_work);
        if at_work.is_none() {
            *at_work = self.start()?;
        }
        let Some(keeper) = at_work.as_mut() else { return Ok(()) };
        let sent = send(&keeper.socket, &order, &with);
        keeper.held.insert(run, (order, with));
        // Somebody ended it.
        sent.or_else(|_| self.replace(keeper))
    }

    /// Another one holds from now on what this one was told to hold.
    fn replace(&self, keeper: &mut AtWork) -> io::Result<()> {
        let Some(new) = self.start()? else { return Ok(()) };
        keeper.socket = new.socket;
        let mut old = std::mem::replace(&mut keeper.child, new.child);
        old.kill().and_then(|()| old.wait())?;
        for (order, with) in keeper.held.values() {
            send(&keeper.socket, order, with)?;
        }
        Ok(())
    }

    fn start(&self) -> io::Result<Option<AtWork>> {
        let Some(program) = &self.program else { return Ok(None) };
        let (ours, theirs) = UnixStream::pair()?;
        ours.set_write_timeout(Some(ORDER_WAIT))?;
        let mut command = Command::new(program);
        command.args(["debug", "keep"]).env_clear().current_dir("/");
        command.stdin(Stdio::from(OwnedFd::from(theirs))).stdout(Stdio::null()).stderr(Stdio::null());
        lead_session(&mut command, None);
        let child = command.spawn()?;
        Ok(Some(AtWork { child, socket: ours, held: BTreeMap::new() }))
    }
}

impl Drop for TerminalKeeper {
    fn drop(&mut self) {
        let at_work = self.at_work.get_mut().unwrap_or_else(std::sync::PoisonError::into_inner);
        let Some(AtWork { mut child, socket, held }) = at_work.take() else { return };
        drop(socket);
        // With nothing to hold it ends at once. One that was ended and replaced may have left it something: that is not
        // waited for.
        let deadline = Instant::now() + LAST;
        while held.is_empty() && Instant::now() < deadline && matches!(child.try_wait(), Ok(None)) {
            std::thread::sleep(LAST / 50);
        }
    }
}

fn send(socket: &UnixStream, order: &Order, with: &[OwnedFd]) -> io::Result<()> {
    let with: Vec<BorrowedFd<'_>> = with.iter().map(AsFd::as_fd).collect();
    let mut line = serde_json::to_vec(order)?;
    line.push(b'\n');
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !with.is_empty() && !ancillary.push(SendAncillaryMessage::ScmRights(&with)) {
        return Err(io::Error::other("too many descriptors"));
    }
    // No flag against SIGPIPE, which not every system has: programs of Rust ignore that signal.
    let sent = sendmsg(socket, &[IoSlice::new(&line)], &mut ancillary, SendFlags::empty())?;
    let mut rest = socket;
    rest.write_all(line.get(sent..).unwrap_or_default())
}

/// What the keeper holds of one process.
struct KeptTerminal {
    log: PathBuf,
    limit: u64,
    descriptors: Vec<OwnedFd>,
}

/// The work of the keeper, in a process of its own: the socket is its standard input.
///
/// # Errors
/// Waiting fails.
pub fn keep() -> io::Result<()> {
    let mut held = BTreeMap::new();
    listen(io::stdin().as_fd(), &mut held)?;
    // One whose log is on a slow disk keeps no other.
    std::thread::scope(|threads| {
        for kept in held.into_values() {
            std::thread::Builder::new().name("keep".into()).spawn_scoped(threads, || read_on(kept))?;
        }
        Ok(())
    })
}

/// Takes orders until the other side is gone.
fn listen(socket: BorrowedFd<'_>, held: &mut BTreeMap<String, KeptTerminal>) -> io::Result<()> {
    let (mut bytes, mut descriptors) = (Vec::new(), Vec::new());
    loop {
        let mut buffer = vec![0; ORDER];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        // Not marked to be closed on exec, which not every system can do here: the keeper starts nothing.
        let got = recvmsg(socket, &mut [IoSliceMut::new(&mut buffer)], &mut ancillary, RecvFlags::empty());
        let count = match got {
            Ok(message) if message.bytes == 0 => return Ok(()),
            Ok(message) => message.bytes,
            Err(rustix::io::Errno::INTR) => continue,
            // It was killed with orders unread.
            Err(rustix::io::Errno::CONNRESET) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        for message in ancillary.drain() {
            if let RecvAncillaryMessage::ScmRights(rights) = message {
                descriptors.extend(rights);
            }
        }
        bytes.extend_from_slice(&buffer[..count]);
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = bytes.drain(..=end).collect();
            match serde_json::from_slice(&line)? {
                Order::Hold { id, log, limit, descriptors: count } => {
                    let descriptors = descriptors.drain(..count.min(descriptors.len())).collect();
                    held.insert(id, KeptTerminal { log, limit, descriptors });
                }
                Order::LetGo { id } => drop(held.remove(&id)),
            }
        }
    }
}

/// Reads the first descriptor to its end: into the log as far as its bound, and beyond it to nowhere.
fn read_on(held: KeptTerminal) {
    // Without a log it is read all the same: nobody should wait for a reader.
    let file = File::options().create(true).append(true).mode(0o600).open(&held.log).ok();
    let length = file.as_ref().and_then(|file| file.metadata().ok()).map(|about| about.len());
    let mut room = length.map_or(0, |length| held.limit.saturating_sub(length));
    let mut buffer = vec![0; 64 * 1024];
    let mut open: Vec<OwnedFd> = held.descriptors;
    while !open.is_empty() {
        let mut fds: Vec<PollFd<'_>> = open.iter().map(|fd| PollFd::new(fd, PollFlags::IN)).collect();
        match poll(&mut fds, None) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => return,
        }
        let ready: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
        drop(fds);
        let mut ended = vec![false; open.len()];
        for (index, fd) in open.iter().enumerate().filter(|(index, _)| ready[*index]) {
            match log::read(fd.as_fd(), &mut buffer) {
                // What comes on a terminal beside a pipe is echo.
                Ok(log::Got::Bytes(count)) if index == 0 => {
                    let take = count.min(usize::try_from(room).unwrap_or(usize::MAX));
                    room = match file.as_ref().map(|mut file| file.write_all(&buffer[..take])) {
                        Some(Ok(())) => room - take as u64,
                        Some(Err(_)) | None => 0,
                    };
                }
                Ok(log::Got::Bytes(_) | log::Got::Later | log::Got::Full) => {}
                Ok(log::Got::End) | Err(_) => ended[index] = true,
            }
        }
        if ended.first() == Some(&true) {
            // The output has ended; a terminal that was held beside it has no use.
            return;
        }
        let mut ended = ended.into_iter();
        open.retain(|_| !ended.next().unwrap_or(false));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_let_go_of_twice_is_gone_once() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let mut listener = Command::new("cat");
        listener.stdin(Stdio::from(OwnedFd::from(theirs))).stdout(Stdio::null());
        let child = listener.spawn().unwrap();
        drop(listener);
        let order = |id: &str| Order::Hold { id: id.into(), log: PathBuf::new(), limit: 0, descriptors: 0 };
        let held = ["a", "a-2"].map(|id| (id.to_owned(), (order(id), Vec::new()))).into();
        let keeper = TerminalKeeper { program: None, at_work: Mutex::new(Some(AtWork { child, socket: ours, held })) };
        keeper.let_go("a");
        keeper.let_go("a");
        let at_work = lock(&keeper.at_work);
        assert_eq!(at_work.as_ref().unwrap().held.keys().collect::<Vec<_>>(), ["a-2"], "the next run of it");
    }

    #[test]
    fn what_a_killed_one_held_is_held_by_the_next() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("keeper");
        // Writes down what it is told, a file each.
        std::fs::write(&program, "#!/bin/sh\nexec cat >\"$0.$$\"\n").unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o700)).unwrap();
        let keeper = TerminalKeeper::new(Some(program));
        let order = |id: &str| Order::Hold { id: id.into(), log: PathBuf::new(), limit: 0, descriptors: 1 };
        let hold = |id: &str| {
            let (_reader, writer) = io::pipe().unwrap();
            keeper.tell(id.into(), order(id), vec![writer.into()]).unwrap();
            lock(&keeper.at_work).as_ref().unwrap().child.id()
        };
        let was_told = |pid: u32, ids: &[&str]| {
            let file = folder.path().join(format!("keeper.{pid}"));
            let deadline = Instant::now() + Duration::from_secs(20);
            let is_there = |text: &str| ids.iter().all(|id| text.contains(&format!("\"id\":\"{id}\"")));
            while !is_there(&std::fs::read_to_string(&file).unwrap_or_default()) {
                assert!(Instant::now() < deadline, "{ids:?} never reached {pid}");
                std::thread::yield_now();
            }
        };
        let kill = || {
            let mut at_work = lock(&keeper.at_work);
            let child = &mut at_work.as_mut().unwrap().child;
            child.kill().unwrap();
            child.wait().unwrap();
        };
        let first = hold("a");
        was_told(first, &["a"]);
        kill();
        let second = hold("b");
        assert_ne!(first, second);
        was_told(second, &["a", "b"]);
        keeper.let_go("a");
        // Nothing is started any more: the last moment to see it.
        kill();
        keeper.see_to_it();
        let third = lock(&keeper.at_work).as_ref().unwrap().child.id();
        was_told(third, &["b"]);
        keeper.let_go("b");
        let text = std::fs::read_to_string(folder.path().join(format!("keeper.{third}"))).unwrap();
        assert!(!text.contains("\"a\""), "{text}");
    }
}
