//! Reading the terminal: a thread that can be told to stop, so that whoever takes the terminal next is alone with it.

use super::split::Split;
use crossterm::event::{self, Event};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::AsFd;
use std::fs::File;
use std::io::{self, IsTerminal as _, PipeReader, PipeWriter};
use std::time::Duration;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{mpsc, oneshot};

/// Events that may wait; a paste is one event.
const QUEUE: usize = 256;

/// How long the library is asked for one more event after a burst. It gives what it has parsed already only to a caller
/// that would still wait when it comes to look, and it spins through the last millisecond of a wait.
const LOOK: Duration = Duration::from_micros(50);

/// How often it is asked before the thread sleeps: a look may come too late on a busy machine, and what is kept back then
/// would come with the next key only.
const LOOKS: u32 = 3;

/// How long the rest of a sequence is waited for that came in pieces.
const REST: Timespec = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };

/// How long the thread has to end. It ends at once, but in the middle of an escape sequence whose rest never comes.
const PARTING: Duration = Duration::from_millis(200);

/// What the terminal sends, while this lives. Not the library's own stream: its thread may read on after the stream was
/// dropped, and takes what is typed for the shell.
pub struct Reader {
    events: mpsc::Receiver<Event>,
    resized: Signal,
    /// Closed to end the thread.
    stop: PipeWriter,
    ended: oneshot::Receiver<()>,
}

impl Reader {
    /// Starts to read, in a thread that sleeps until something comes. Fails without a terminal.
    pub fn start() -> io::Result<Self> {
        let (told, stop) = io::pipe()?;
        let (tx, events) = mpsc::channel(QUEUE);
        let (end, ended) = oneshot::channel();
        let tty = if io::stdin().is_terminal() { None } else { Some(File::open("/dev/tty")?) };
        std::thread::Builder::new().name("terminal".into()).spawn(move || {
            let read = match tty {
                Some(tty) => read(&tty, &told, &tx),
                None => read(&io::stdin(), &told, &tx),
            };
            if let Err(error) = read {
                tracing::warn!("could not read the terminal: {error}");
            }
            // Nobody listens when the reader was dropped instead of stopped.
            let _ = end.send(());
        })?;
        Ok(Self { events, resized: signal(SignalKind::window_change())?, stop, ended })
    }

    /// The next event; `None` when the terminal is gone (also without a signal: its other side was closed).
    pub async fn next(&mut self) -> Option<Event> {
        tokio::select! {
            biased;
            event = self.events.recv() => event,
            Some(()) = self.resized.recv() => match crossterm::terminal::size() {
                Ok((columns, rows)) => Some(Event::Resize(columns, rows)),
                Err(_) => None,
            },
        }
    }

    /// An event that is there already.
    pub fn ready(&mut self) -> Option<Event> {
        self.events.try_recv().ok()
    }

    /// Ends the reading. What is typed after this returned is for whoever reads the terminal next.
    pub async fn stop(self) {
        let Self { events, stop, ended, .. } = self;
        drop((events, stop));
        if tokio::time::timeout(PARTING, ended).await.is_err() {
            tracing::warn!("the terminal is still read: half an escape sequence came and its rest did not");
        }
    }
}

/// Whether somebody still takes them.
fn send(events: &mpsc::Sender<Event>, all: Vec<Event>) -> bool {
    all.into_iter().all(|event| events.blocking_send(event).is_ok())
}

/// Hands on what comes until it is told to stop or the terminal is gone.
fn read(tty: &impl AsFd, told: &PipeReader, events: &mpsc::Sender<Event>) -> io::Result<()> {
    let mut split = Split::default();
    loop {
        let mut fds = [PollFd::new(tty, PollFlags::IN), PollFd::new(told, PollFlags::IN)];
        match poll(&mut fds, None) {
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => continue,
            Err(error) => return Err(error.into()),
        }
        let gone = PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL;
        if fds[0].revents().intersects(gone) || !fds[1].revents().is_empty() {
            return Ok(());
        }
        loop {
            for _ in 0..LOOKS {
                while event::poll(LOOK)? {
                    match event::read()? {
                        // Sizes come by the signal: it does not wait for a key.
                        Event::Resize(..) => {}
                        event => {
                            if !send(events, split.take(event)) {
                                return Ok(());
                            }
                        }
                    }
                }
            }
            if !split.holds() || poll(&mut [PollFd::new(tty, PollFlags::IN)], Some(&REST)) != Ok(1) {
                break;
            }
        }
        // An Esc that nothing followed is one.
        if !send(events, split.rest()) {
            return Ok(());
        }
    }
}
