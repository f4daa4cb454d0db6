//! What changed in the folders of a workspace, as the system tells it (inotify). Only names: what a change was is found by
//! looking. Where there is no such thing, or not enough of it, the owner looks at everything instead.

use std::path::{Path, PathBuf};

/// What happened since the last look.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// Paths below the root that something happened to.
    pub paths: Vec<PathBuf>,
    /// More happened than was told.
    pub lost: bool,
}

#[cfg(target_os = "linux")]
pub(super) use linux::Watch;

/// Rings when something happens in the watched folders. It takes nothing of what is told.
#[cfg(target_os = "linux")]
pub struct Bell(tokio::io::unix::AsyncFd<std::os::fd::OwnedFd>);

#[cfg(target_os = "linux")]
impl Bell {
    /// Waits until something happens.
    pub async fn rings(&self) {
        match self.0.readable().await {
            Ok(mut ready) => ready.clear_ready(),
            Err(error) => {
                tracing::warn!(%error, "what others change is seen at the next prompt");
                std::future::pending().await
            }
        }
    }
}

/// Where there is no watch, there is none.
#[cfg(not(target_os = "linux"))]
pub enum Bell {}

#[cfg(not(target_os = "linux"))]
impl Bell {
    /// Never called.
    pub async fn rings(&self) {
        match *self {}
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use super::{Bell, Path, PathBuf, Seen};
    use rustix::fs::inotify::{CreateFlags, ReadFlags, Reader, WatchFlags, add_watch, init, remove_watch};
    use rustix::io::Errno;
    use std::collections::{BTreeMap, HashMap};
    use std::ffi::OsStr;
    use std::io;
    use std::mem::MaybeUninit;
    use std::os::fd::OwnedFd;
    use std::os::unix::ffi::OsStrExt;
    use tokio::io::Interest;
    use tokio::io::unix::AsyncFd;

    /// Bytes of events that are read at once: some 1,500.
    const BUFFER: usize = 64 * 1024;

    /// The watched folders of one workspace.
    pub(in super::super) struct Watch {
        events: OwnedFd,
        root: PathBuf,
        folders: HashMap<i32, PathBuf>,
        numbers: BTreeMap<PathBuf, i32>,
    }

    impl Watch {
        /// Watches nothing yet.
        pub(in super::super) fn new(root: &Path) -> io::Result<Self> {
            let events = init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
            Ok(Self { events, root: root.to_owned(), folders: HashMap::new(), numbers: BTreeMap::new() })
        }

        /// Watches a folder, not those in it.
        pub(in super::super) fn add(&mut self, folder: &Path) -> io::Result<()> {
            let what = WatchFlags::MODIFY
                | WatchFlags::CLOSE_WRITE
                | WatchFlags::ATTRIB
                | WatchFlags::CREATE
                | WatchFlags::DELETE
                | WatchFlags::MOVED_FROM
                | WatchFlags::MOVED_TO
                | WatchFlags::EXCL_UNLINK
                | WatchFlags::DONT_FOLLOW
                | WatchFlags::ONLYDIR;
            let number = add_watch(&self.events, self.root.join(folder), what)?;
            // A folder that was moved keeps its number.
            if let Some(old) = self.folders.insert(number, folder.to_owned()) {
                self.numbers.remove(&old);
            }
            self.numbers.insert(folder.to_owned(), number);
            Ok(())
        }

        /// No longer watches a folder and those in it.
        pub(in super::super) fn forget(&mut self, folder: &Path) {
            let from = self.numbers.range(folder.to_owned()..).take_while(|(path, _)| path.starts_with(folder));
            let gone: Vec<(PathBuf, i32)> = from.map(|(path, number)| (path.clone(), *number)).collect();
            for (path, number) in gone {
                self.numbers.remove(&path);
                self.folders.remove(&number);
                // Gone with its folder already, most often.
                let _ = remove_watch(&self.events, number);
            }
        }

        /// Takes what was told, without waiting.
        pub(in super::super) fn take(&mut self) -> Seen {
            let mut buffer = [MaybeUninit::uninit(); BUFFER];
            let mut reader = Reader::new(&self.events, &mut buffer);
            let mut seen = Seen::default();
            loop {
                let event = match reader.next() {
                    Ok(event) => event,
                    Err(Errno::INTR) => continue,
                    Err(Errno::AGAIN) => return seen,
                    Err(error) => {
                        tracing::warn!(%error, "the watch of a workspace broke");
                        seen.lost = true;
                        return seen;
                    }
                };
                if event.events().contains(ReadFlags::QUEUE_OVERFLOW) {
                    seen.lost = true;
                    continue;
                }
                let Some(folder) = self.folders.get(&event.wd()) else { continue };
                let Some(name) = event.file_name() else { continue };
                let path = folder.join(OsStr::from_bytes(name.to_bytes()));
                if seen.paths.last() != Some(&path) {
                    seen.paths.push(path);
                }
            }
        }

        /// What rings when there is something to take.
        #[expect(
            deprecated,
            reason = "safe here: what is given away stays the same open file; the new way is not safe code"
        )]
        pub(in super::super) fn bell(&self) -> Option<Bell> {
            let events = self.events.try_clone().ok()?;
            AsyncFd::with_interest(events, Interest::READABLE).ok().map(Bell)
        }

        /// How many folders are watched.
        pub(in super::super) fn len(&self) -> usize {
            self.numbers.len()
        }
    }
}

#[cfg(not(target_os = "linux"))]
pub(super) struct Watch;

#[cfg(not(target_os = "linux"))]
impl Watch {
    pub(super) fn new(_: &Path) -> std::io::Result<Self> {
        Err(std::io::Error::from(std::io::ErrorKind::Unsupported))
    }

    pub(super) fn add(&mut self, _: &Path) -> std::io::Result<()> {
        Ok(())
    }

    pub(super) fn forget(&mut self, _: &Path) {}

    pub(super) fn take(&mut self) -> Seen {
        Seen { lost: true, ..Seen::default() }
    }

    pub(super) fn bell(&self) -> Option<Bell> {
        None
    }

    pub(super) fn len(&self) -> usize {
        0
    }
}
