//! What was recorded, read again: the terminals of a session, and what each showed at a moment.

use super::delta::Frame;
use super::records::{self, Kind};
use super::{Head, home};
use std::io;
use std::path::{Path, PathBuf};

/// A recorded terminal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Terminal {
    pub head: Head,
    /// When its screen changed (milliseconds since the epoch), in order.
    pub changes: Vec<i64>,
    /// When its program ended, and the exit code. `None`: it still runs, or nobody saw its end.
    pub ended: Option<(i64, i32)>,
    /// Its files with the time of their first screen, the oldest first.
    files: Vec<(i64, PathBuf)>,
}

/// The recorded terminals of a session in the order in which they were started. What can't be read is left out.
///
/// # Errors
/// The folder is there and can't be read.
pub fn terminals(home: &Path, session: &str) -> io::Result<Vec<Terminal>> {
    beginning(home, session, "")
}

/// One of them, by its process and the time of its start.
#[must_use]
pub fn terminal(home: &Path, session: &str, head: &Head) -> Option<Terminal> {
    beginning(home, session, &home::stem(head)).ok()?.pop()
}

/// Those whose files begin with this.
fn beginning(home: &Path, session: &str, name: &str) -> io::Result<Vec<Terminal>> {
    let entries = match std::fs::read_dir(home::folder(home, session)) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| entry.ok().map(|entry| entry.path())).collect();
    let file = |path: &PathBuf| path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    paths.retain(|path| file(path).ends_with(home::ENDING) && file(path).starts_with(name));
    paths.sort();
    let mut found: Vec<Terminal> = Vec::new();
    for path in paths {
        let Ok(bytes) = std::fs::read(&path) else { continue };
        let records = records::records(&bytes);
        let Some(head) = records::head(&records) else { continue };
        let changes = records.iter().filter(|record| record.kind == Kind::Screen).map(|record| record.at);
        let ended = records.iter().find_map(|record| Some((record.at, records::exit_code(record)?)));
        let known = found.iter_mut().find(|terminal| terminal.head == head);
        let terminal = match known {
            Some(terminal) => terminal,
            None => {
                found.push(Terminal { head, ..Terminal::default() });
                let Some(new) = found.last_mut() else { continue };
                new
            }
        };
        terminal.changes.extend(changes.clone());
        terminal.files.extend(changes.min().map(|first| (first, path)));
        terminal.ended = ended.or(terminal.ended);
    }
    found.retain(|terminal| !terminal.changes.is_empty());
    Ok(found)
}

impl Terminal {
    /// When it was gone: its end, or the last that is known of it.
    #[must_use]
    pub fn last(&self) -> i64 {
        self.ended.map(|(at, _)| at).or(self.changes.last().copied()).unwrap_or(self.head.started_at)
    }

    /// What its screen showed at a moment; `None` before the first screen that is kept. Reads one file.
    #[must_use]
    pub fn at(&self, at: i64) -> Option<Frame> {
        let (_, path) = self.files.iter().rev().find(|(first, _)| *first <= at)?;
        let mut last = None;
        let bytes = std::fs::read(path).ok()?;
        records::screens(&records::records(&bytes), at, |frame| last = Some(frame.clone()));
        last
    }

    /// Tells all its screens in order.
    ///
    /// # Errors
    /// A file can't be read, or the one who is told has failed.
    pub fn each(&self, mut tell: impl FnMut(&Frame) -> io::Result<()>) -> io::Result<()> {
        for (_, path) in &self.files {
            let bytes = std::fs::read(path)?;
            let mut done = Ok(());
            records::screens(&records::records(&bytes), i64::MAX, |frame| {
                if done.is_ok() {
                    done = tell(frame);
                }
            });
            done?;
        }
        Ok(())
    }
}
