//! Writes the screens of one terminal: to files that each begin with a whole screen, so that the oldest can be dropped.

use super::delta::{Delta, Frame};
use super::records::{self, Kind, Packer};
use super::{Head, Limits, home};
use std::collections::VecDeque;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;

/// Files that the bound of a terminal is shared by: one of them is dropped at a time.
const PARTS: u64 = 4;

/// The recording of one terminal.
pub struct Writer {
    limits: Limits,
    /// Of the session.
    folder: PathBuf,
    head: Head,
    /// Number and bytes of the files that there are, the oldest first.
    files: VecDeque<(u32, u64)>,
    /// Of the next one.
    next: u32,
    open: Option<Open>,
}

/// The file that is being written, which is the last one. It is opened for each record: it may have been dropped meanwhile.
struct Open {
    path: PathBuf,
    packer: Packer,
    last: Frame,
}

impl Writer {
    /// For a terminal of a session. Nothing is written before the first screen.
    #[must_use]
    pub fn new(limits: &Limits, session: &str, head: Head) -> Self {
        let folder = home::folder(&limits.home, session);
        Self { limits: limits.clone(), folder, head, files: VecDeque::new(), next: 0, open: None }
    }

    /// Keeps a screen when it differs from the last one. Returns the bytes that were written.
    ///
    /// # Errors
    /// The folder or a file cannot be written.
    pub fn push(&mut self, mut frame: Frame) -> io::Result<u64> {
        if let Some(open) = &self.open {
            // A clock that goes back makes no screen older than the one before it.
            frame.at = frame.at.max(open.last.at);
        }
        if self.files.back().is_some_and(|(_, bytes)| *bytes >= self.limits.terminal / PARTS) {
            self.open = self.open.take().filter(|open| Delta::between(&open.last, &frame).is_none());
        }
        if let Some(open) = &mut self.open {
            let Some(delta) = Delta::between(&open.last, &frame) else { return Ok(0) };
            let bytes = open.packer.screen(&delta, frame.at)?;
            match append(&open.path, &bytes) {
                Ok(()) => {
                    open.last = frame;
                    return Ok(self.grew(bytes.len()));
                }
                // The whole home had to make room.
                Err(error) if error.kind() == io::ErrorKind::NotFound => self.files.clear(),
                Err(error) => return Err(error),
            }
        }
        self.begin(frame)
    }

    /// A file that begins with this screen.
    fn begin(&mut self, frame: Frame) -> io::Result<u64> {
        crate::fs::ensure_dir(&self.folder).map_err(io::Error::other)?;
        let path = self.folder.join(home::file_name(&self.head, self.next));
        let mut packer = Packer::new();
        let delta = Delta::between(&Frame::default(), &frame).unwrap_or_default();
        let bytes = [records::beginning(&self.head)?, packer.screen(&delta, frame.at)?].concat();
        let mut file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        file.write_all(&bytes)?;
        self.files.push_back((self.next, 0));
        self.next += 1;
        self.open = Some(Open { path, packer, last: frame });
        Ok(self.grew(bytes.len()))
    }

    /// The last file has so many bytes more: the oldest go while all together have too many.
    fn grew(&mut self, bytes: usize) -> u64 {
        let bytes = bytes as u64;
        if let Some((_, size)) = self.files.back_mut() {
            *size += bytes;
        }
        while self.files.len() > 1 && self.files.iter().map(|(_, size)| size).sum::<u64>() > self.limits.terminal {
            if let Some((number, _)) = self.files.pop_front() {
                home::drop_file(&self.limits.home, &self.folder.join(home::file_name(&self.head, number)));
            }
        }
        bytes
    }

    /// The program has ended with this exit code.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn end(&mut self, at: i64, code: i32) -> io::Result<u64> {
        let Some(open) = &self.open else { return Ok(0) };
        let bytes = records::record(Kind::End, at.max(open.last.at), &code.to_le_bytes());
        match append(&open.path, &bytes) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
            done => done.map(|()| self.grew(bytes.len())),
        }
    }
}

/// Adds a record to a file that is there.
fn append(path: &std::path::Path, bytes: &[u8]) -> io::Result<()> {
    std::fs::OpenOptions::new().append(true).open(path)?.write_all(bytes)
}
