//! The output of a process and what its pane shows, which are one until keys are echoed.

use super::ring::Ring;
use super::{Got, Log};
use crate::exec::terminal::spill::Spill;
use std::os::fd::BorrowedFd;

/// Bytes of a mixed terminal stream that the pane can show again.
const PANE: usize = 256 * 1024;
/// A log, and beside it what the pane shows once that is more: the echo of what was typed.
#[derive(Debug)]
pub(crate) struct Output {
    pub(crate) log: Log,
    /// Nothing more comes.
    pub(crate) ended: bool,
    /// Position in the pane's stream from which the terminal had the pane's size; `None`: it is still [`crate::exec::WIDE`].
    pub(crate) fitted: Option<u64>,
    pane: Option<Ring>,
}

impl Output {
    /// `wide`: its terminal starts with [`crate::exec::WIDE`] columns.
    pub(crate) fn new(spill: Spill, wide: bool) -> Self {
        Self { log: Log::new(spill), ended: false, fitted: (!wide).then_some(0), pane: None }
    }

    /// Reads once into the log.
    pub(crate) fn read_log(&mut self, fd: BorrowedFd<'_>) -> rustix::io::Result<Got> {
        let before = self.log.total;
        let got = self.log.read_from(fd);
        if let (Some(pane), Ok(Got::Bytes(count))) = (&mut self.pane, &got) {
            let mut bytes = Vec::new();
            self.log.copy(before + count.saturating_sub(PANE) as u64, before + *count as u64, &mut bytes);
            pane.append(&bytes);
        }
        got
    }

    /// Adds what the terminal showed, and what of it belongs to the output.
    pub(crate) fn append(&mut self, shown: &[u8], kept: &[u8]) {
        if self.pane.is_none() && shown == kept {
            self.log.append(kept);
            return;
        }
        let log = &self.log;
        let pane = self.pane.get_or_insert_with(|| {
            let seed = log.tail(64 * 1024);
            let mut ring = Ring::new(PANE, log.total - seed.len() as u64);
            ring.append(&seed);
            ring
        });
        pane.append(shown);
        self.log.append(kept);
    }

    /// End of the stream that the pane shows.
    pub(crate) fn pane_end(&self) -> u64 {
        self.pane.as_ref().map_or(self.log.total, |pane| pane.end)
    }

    /// First position of the pane's stream that can be read.
    pub(crate) fn pane_begin(&self) -> u64 {
        self.pane.as_ref().map_or_else(|| self.log.tail_begin(), |pane| pane.begin)
    }

    /// Bytes of the pane's stream; older ones come from the spill file.
    pub(crate) fn pane_bytes(&self, from: u64, to: u64) -> Vec<u8> {
        match &self.pane {
            Some(pane) => {
                let mut bytes = Vec::new();
                pane.copy(from, to, &mut bytes);
                bytes
            }
            None => self.log.read_back(from, to),
        }
    }
}
