//! The signals that end the program; each goes through the normal way out.

use std::io;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// SIGTERM, SIGHUP and SIGINT.
pub struct Signals {
    term: Signal,
    hup: Signal,
    int: Signal,
}

impl Signals {
    /// Starts to listen. Must be called inside the runtime, before the terminal is taken.
    pub fn new() -> io::Result<Self> {
        Ok(Self {
            term: signal(SignalKind::terminate())?,
            hup: signal(SignalKind::hangup())?,
            int: signal(SignalKind::interrupt())?,
        })
    }

    /// Comes back when one arrived; `true`: the terminal hung up.
    pub async fn next(&mut self) -> bool {
        tokio::select! {
            _ = self.term.recv() => false,
            _ = self.hup.recv() => true,
            _ = self.int.recv() => false,
        }
    }
}
