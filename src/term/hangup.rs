//! Noticing that the terminal has gone away without a signal: its other side was closed.

use rustix::event::{PollFd, PollFlags, poll};
use std::io::{self, IsTerminal as _, PipeWriter};
use std::sync::Arc;
use tokio::sync::Notify;

/// Tells when the terminal on standard input is gone. SIGHUP reaches only the session that the terminal controls.
pub struct Hangup {
    gone: Arc<Notify>,
}

impl Hangup {
    /// Starts to watch, in a thread that sleeps until then. A second watch in the same program does no harm.
    pub fn watch() -> io::Result<Self> {
        let gone = Arc::new(Notify::new());
        let told = Arc::clone(&gone);
        if io::stdin().is_terminal() {
            std::thread::Builder::new().name("hangup".into()).spawn(move || {
                wait();
                match silence() {
                    // Held until the program ends: a closed pipe would read as an end of input again.
                    Ok(writer) => std::mem::forget(writer),
                    Err(error) => tracing::warn!("standard input could not be replaced: {error}"),
                }
                told.notify_one();
            })?;
        }
        Ok(Self { gone })
    }

    /// Comes back when the terminal is gone.
    pub async fn next(&self) {
        self.gone.notified().await;
    }
}

/// Sleeps until the other side of the terminal is closed. Asks for no input, so keys wake nobody.
fn wait() {
    let stdin = io::stdin();
    loop {
        let mut fds = [PollFd::new(&stdin, PollFlags::empty())];
        match poll(&mut fds, None) {
            Ok(_) if fds[0].revents().intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL) => return,
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => {
                tracing::warn!("the terminal cannot be watched: {error}");
                loop {
                    std::thread::park();
                }
            }
        }
    }
}

/// Puts an input that stays silent in place of the terminal. The terminal library reads an end of input again and
/// again, without a pause; of this it waits for a first byte that never comes.
fn silence() -> io::Result<PipeWriter> {
    let (reader, writer) = io::pipe()?;
    rustix::stdio::dup2_stdin(&reader)?;
    Ok(writer)
}
