//! Which journals a process writes to, and where it began: `journal/open/PID.BORN.NUMBER`, a line a session. A program that
//! ends in order removes its marker when the database has everything; one that is left behind says what must be looked at.
//! While the program runs it keeps its marker locked: containers that share a home don't see each other's processes.

use super::{FOLDER, name};
use crate::fs::remove;
use crate::protocol::SessionId;
use crate::store::db::birth;
use rustix::fs::{FlockOperation, flock};
use std::collections::HashMap;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The folder in that of the journals.
const OPEN: &str = "open";

/// The marker of this process.
#[derive(Default)]
pub(super) struct Marker {
    file: Option<(File, PathBuf)>,
    noted: HashMap<SessionId, u64>,
    synced: usize,
}

impl Marker {
    /// Writes down, once, that this process adds to a journal which had this length. Returns the bytes written.
    pub fn note(&mut self, home: &Path, me: (i64, i64), session: &SessionId, length: u64) -> std::io::Result<u64> {
        // A journal that is shorter than it was had been deleted with its session.
        if self.noted.get(session).is_some_and(|noted| *noted <= length) {
            return Ok(0);
        }
        let (file, _) = self.opened(home, me)?;
        let line = format!("{length} {}\n", name(session));
        file.write_all(line.as_bytes())?;
        self.noted.insert(session.clone(), length);
        Ok(line.len() as u64)
    }

    /// Its file, which is made when it is first wanted.
    fn opened(&mut self, home: &Path, me: (i64, i64)) -> std::io::Result<&mut (File, PathBuf)> {
        match &mut self.file {
            Some(file) => Ok(file),
            none => Ok(none.insert(create(home, me)?)),
        }
    }

    /// The name of its file, for other processes to look at.
    pub fn name(&mut self, home: &Path, me: (i64, i64)) -> std::io::Result<String> {
        let (_, path) = self.opened(home, me)?;
        Ok(path.file_name().unwrap_or_default().to_string_lossy().into_owned())
    }

    /// The marker itself survives a power loss.
    pub fn sync(&mut self) -> std::io::Result<()> {
        if let Some((file, path)) = &self.file
            && self.synced < self.noted.len()
        {
            file.sync_data()?;
            // Its name, too.
            if let Some(folder) = path.parent() {
                File::open(folder)?.sync_all()?;
            }
            self.synced = self.noted.len();
        }
        Ok(())
    }

    pub fn remove(&mut self, home: &Path) {
        if let Some((_, path)) = self.file.take() {
            forget(home, &path);
        }
        *self = Self::default();
    }

    /// Whether a marker is this one.
    pub fn is(&self, path: &Path) -> bool {
        self.file.as_ref().is_some_and(|(_, mine)| mine == path)
    }
}

fn create(home: &Path, (pid, born): (i64, i64)) -> std::io::Result<(File, PathBuf)> {
    let folder = home.join(FOLDER).join(OPEN);
    DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
    let name = format!("{pid}.{born}.{}", fastrand::u32(..));
    // Nobody takes it for a marker before it is locked.
    let (new, path) = (folder.join(format!("new.{name}")), folder.join(name));
    let file = OpenOptions::new().create_new(true).append(true).mode(0o600).open(&new)?;
    if let Err(error) = flock(&file, FlockOperation::NonBlockingLockExclusive) {
        tracing::debug!(%error, "no locks here: programs are known by their process numbers alone");
    }
    fs::rename(&new, &path)?;
    Ok((file, path))
}

/// Whether a process runs: by its number, or by the lock that it has on its marker. The number of another container is
/// nobody's here.
pub(in crate::store) fn runs(home: &Path, pid: i64, born: i64, marker: &str) -> bool {
    birth(pid) == Some(born)
        || !marker.is_empty() && !marker.contains('/') && is_locked(&home.join(FOLDER).join(OPEN).join(marker))
}

fn is_locked(path: &Path) -> bool {
    let Ok(file) = File::open(path) else { return false };
    matches!(flock(&file, FlockOperation::NonBlockingLockShared), Err(rustix::io::Errno::WOULDBLOCK))
}

fn forget(home: &Path, path: &Path) {
    if let Err(error) = remove::file(remove::File::Journal, home, path) {
        tracing::debug!("{error}");
    }
}

/// A marker of another store.
pub(super) struct Left {
    path: PathBuf,
    /// Another process that works on.
    pub is_alive: bool,
    /// A second store of this process.
    pub is_ours: bool,
    /// Names of journals, and where it began in them.
    pub journals: Vec<(String, u64)>,
}

impl Left {
    pub fn remove(&self, home: &Path) {
        forget(home, &self.path);
    }
}

/// The markers of all others.
pub(super) fn others(home: &Path, mine: &Marker, me: i64) -> Vec<Left> {
    let entries = fs::read_dir(home.join(FOLDER).join(OPEN)).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path()).filter(|path| !mine.is(path));
    paths.filter_map(|path| read(path, me)).collect()
}

fn read(path: PathBuf, me: i64) -> Option<Left> {
    let name = path.file_name()?.to_str()?;
    let mut parts = name.split('.').map(str::parse::<i64>);
    let (pid, born) = (parts.next()?.ok()?, parts.next()?.ok()?);
    let text = fs::read_to_string(&path).ok()?;
    let journals = text.lines().filter_map(|line| {
        let (length, name) = line.split_once(' ')?;
        Some((name.to_owned(), length.parse().ok()?))
    });
    let journals = journals.collect();
    let is_ours = pid == me && birth(pid) == Some(born);
    let home = path.ancestors().nth(3)?;
    Some(Left { is_alive: !is_ours && runs(home, pid, born, name), is_ours, path, journals })
}
