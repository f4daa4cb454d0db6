//! What a process prints: into the log and onto the pane, to the file, and to who looks for something in it.

use super::Reader;
use crate::exec::process::notice::{Mask, Notice};
use crate::exec::process::port;
use crate::exec::terminal::log;
use crate::exec::terminal::log::Got;
use crate::exec::terminal::{spill, waiting};
use crate::lock::lock;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

/// Rows of the process table show bytes at most this often.
const BYTES_SHOWN: Duration = Duration::from_millis(250);
/// A terminal that hands out less than this at once has no more.
const DRAINED: usize = 2048;

impl Reader {
    /// Reads the pipe at most `times`; returns the bytes read.
    pub(in crate::exec) fn read_pipe(&mut self, times: usize) -> usize {
        let mut sum = 0;
        for _ in 0..times {
            let Some(fd) = &self.pipe else { break };
            let (before, got) = {
                let mut out = lock(&self.process.out);
                (out.log.total(), out.read_log(fd.as_fd()))
            };
            match got {
                Ok(Got::Bytes(count)) => {
                    sum += count;
                    self.spill(before + count as u64);
                    self.printed(before, count);
                }
                Ok(Got::Full) => spill::wait_for_room(&self.process, 64 * 1024),
                Ok(Got::Later) => break,
                Ok(Got::End) => self.pipe = None,
                Err(error) => {
                    tracing::warn!("reading {}: {error}", self.process.id.0);
                    self.pipe = None;
                }
            }
        }
        sum
    }

    /// Takes what the terminal has at most `times`; returns the bytes read.
    pub(in crate::exec) fn read_tty(&mut self, times: usize) -> usize {
        let mut sum = 0;
        for _ in 0..times {
            let (count, drained) = self.gather();
            sum += count;
            let bytes = std::mem::take(&mut self.gathered);
            if count > 0 {
                self.took(&bytes[..count]);
            }
            self.gathered = bytes;
            if drained {
                break;
            }
        }
        sum
    }

    /// Reads what the terminal has now, as far as the buffer goes: the bytes, and whether that was all.
    fn gather(&mut self) -> (usize, bool) {
        let mut count = 0;
        while let Some(fd) = &self.tty
            && count < self.gathered.len()
        {
            match log::read(fd.as_fd(), &mut self.gathered[count..]) {
                Ok(Got::Bytes(more)) => {
                    count += more;
                    // To be told that there is nothing costs as much as to be woken when there is.
                    if more < DRAINED {
                        return (count, true);
                    }
                }
                Ok(Got::Later | Got::Full) => return (count, true),
                Ok(Got::End) => self.tty = None,
                Err(error) => {
                    tracing::warn!("reading the terminal of {}: {error}", self.process.id.0);
                    self.tty = None;
                }
            }
        }
        (count, self.tty.is_none())
    }

    /// Keeps what the terminal showed, and does what it asks for.
    pub(super) fn took(&mut self, bytes: &[u8]) {
        spill::wait_for_room(&self.process, bytes.len() + 4096);
        let raw = self.shows_keys();
        let kept = self.echo.left(bytes, raw, Instant::now());
        let (before, start) = {
            let mut out = lock(&self.process.out);
            let (before, start) = (out.log.total(), out.pane_end());
            out.append(bytes, &kept);
            (before, start)
        };
        if let Some(at) = self.fullscreen.as_mut().and_then(|scanner| scanner.scan(bytes)) {
            self.fullscreen = None;
            // First: a program draws as soon as it hears of the size.
            self.process.return_carriages();
            self.process.fit(Some(start + at as u64), *lock(&self.hub.size));
        }
        self.spill(before + kept.len() as u64);
        self.answer(bytes, start);
        self.printed(before, kept.len());
    }

    /// Whether its program reads keys one by one and shows them by itself. Looked at only where that matters.
    fn shows_keys(&self) -> bool {
        !self.echo.idle()
            && lock(&self.process.tty).as_ref().is_some_and(|tty| {
                let modes = tty.key_modes();
                modes.raw && !modes.echo
            })
    }

    /// What was held back as the beginning of an echo is output after all; false when there was nothing. `over`: nothing
    /// comes any more.
    pub(in crate::exec) fn release_echo(&mut self, over: bool) -> bool {
        let raw = !over && self.shows_keys();
        let kept = self.echo.give_up(raw, over);
        if kept.is_empty() {
            return false;
        }
        let before = {
            let mut out = lock(&self.process.out);
            let before = out.log.total();
            out.append(&[], &kept);
            before
        };
        self.spill(before + kept.len() as u64);
        self.printed(before, kept.len());
        true
    }

    /// Output has reached `total` bytes: what outgrew memory goes to the spill file, and all of a background process.
    pub(super) fn spill(&self, total: u64) {
        if total <= log::HEAD as u64 && !lock(&self.process.out).log.keeps_all() {
            return;
        }
        if lock(&self.process.out).log.begin_spill() {
            spill::start(&self.process);
        }
        self.process.flow.notify_all();
    }

    /// `count` new bytes of the log begin at `before`; 0 when only the pane got something.
    pub(super) fn printed(&mut self, before: u64, count: usize) {
        self.restart_silence();
        let found = (count > 0).then(|| self.examine(before, count)).flatten();
        let mut changed = {
            let mut life = lock(&self.process.life);
            let awake = std::mem::take(&mut life.needs_input);
            if let Some(port) = found {
                life.port = Some(port);
            }
            awake || found.is_some()
        };
        if changed {
            waiting::went_on(&self.hub, &self.process);
        }
        self.process.printed_now();
        self.hub.touch(&self.process);
        if self.bytes_shown.elapsed() >= BYTES_SHOWN {
            changed = true;
        }
        if changed {
            self.bytes_shown = Instant::now();
            self.process.changed();
        }
    }

    /// Looks for ports and patterns in new output; foreground commands without patterns never get further.
    fn examine(&mut self, before: u64, count: usize) -> Option<u16> {
        if self.matches.is_none() && !self.seek_port {
            return None;
        }
        let mut bytes = Vec::new();
        let mut port = None;
        if self.seek_port {
            let out = lock(&self.process.out);
            let total = out.log.total();
            out.log.copy(0, total.min(port::SEEK), &mut bytes);
            drop(out);
            port = port::find(&bytes);
            self.seek_port = port.is_none() && total < port::SEEK;
        }
        if let Some(matches) = &mut self.matches {
            bytes.clear();
            lock(&self.process.out).log.copy(before, before + count as u64, &mut bytes);
            let mask = Mask::of(&self.process.command, self.hub.masks());
            if let Some(found) = matches.take(&bytes, Instant::now(), &self.hub.notices, mask) {
                if found.gave_up {
                    lock(&self.process.life).telling.end = true;
                    self.matches = None;
                }
                self.hub.notices.post(Notice::Matched {
                    id: self.process.id.clone(),
                    task: self.process.owner(),
                    command: self.process.command.clone(),
                    pattern: found.pattern,
                    lines: found.lines,
                    suppressed: found.suppressed,
                });
            }
        }
        port
    }
}
