//! What keeps running when this program quits: its output goes on into its log file, and its terminal stays open.
//!
//! Without a reader a server would die at its next line (SIGPIPE) or of the hang-up of its terminal.

use super::process::{Process, lock};
use super::spawn::lead_session;
use rustix::fs::OFlags;
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};

/// Hands the open ends of a process to readers that outlive this program.
pub(crate) fn go_on(process: &Process, pipe: Option<OwnedFd>) {
    let log = || -> Stdio {
        match lock(&process.out).log.hand_over() {
            Ok(file) => file.into(),
            Err(error) => {
                tracing::warn!("output of {} is dropped from now on: {error}", process.id.0);
                Stdio::null()
            }
        }
    };
    if let Some(pipe) = pipe {
        read_on(process, pipe, log());
    }
    if let Some(tty) = lock(&process.tty).take() {
        read_on(process, tty.fd, log());
    }
}

fn read_on(process: &Process, from: OwnedFd, to: Stdio) {
    let result = rustix::fs::fcntl_getfl(&from)
        .and_then(|flags| rustix::fs::fcntl_setfl(&from, flags - OFlags::NONBLOCK))
        .map_err(std::io::Error::from)
        .and_then(|()| {
            let mut command = Command::new("cat");
            command.stdin(from).stdout(to).stderr(Stdio::null());
            lead_session(&mut command, None);
            command.spawn()
        });
    if let Err(error) = result {
        tracing::warn!("{} loses its output: {error}", process.id.0);
    }
}
