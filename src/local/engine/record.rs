//! Which process serves a model: one for all windows of a home. Whoever uses it holds a lock; who starts or ends it, another.

use super::super::LocalError;
use crate::exec::{Daemon, DaemonId};
use crate::fs::{WriteError, ensure_dir, remove, write_whole};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// How long the server may take to end by itself.
const GRACE: Duration = Duration::from_secs(5);

/// What is kept of a server that runs: `run/NAME.HOST.model`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    pub id: DaemonId,
    pub port: u16,
    /// Tokens of its window.
    pub context: u64,
}

/// The files of a server.
#[derive(Clone, Debug)]
pub struct Files {
    home: PathBuf,
    name: String,
}

/// A use of a server: while it is there, nobody ends the server.
#[derive(Debug)]
pub struct Users(#[expect(dead_code, reason = "its lock lasts as long as it does")] File);

/// The right to start a server, or to end it.
#[derive(Debug)]
pub struct Start(#[expect(dead_code, reason = "its lock lasts as long as it does")] File);

impl Files {
    pub(in crate::local) fn new(home: &Path, name: &str) -> Self {
        Self { home: home.to_path_buf(), name: name.to_owned() }
    }

    fn file(&self, end: &str) -> PathBuf {
        // A home may be shared by machines: each has its own server.
        self.home.join("run").join(format!("{}.{}.{end}", self.name, crate::exec::host_name()))
    }

    pub(in crate::local) fn key(&self) -> PathBuf {
        self.file("key")
    }

    pub(in crate::local) fn log(&self) -> PathBuf {
        self.home.join("logs").join(format!("model-{}.log", self.name))
    }

    /// What is kept, and the process if it runs. Blocks.
    pub(in crate::local) fn read(&self) -> Option<(Record, Daemon)> {
        let text = std::fs::read_to_string(self.file("model")).ok()?;
        let record: Record = serde_json::from_str(&text).ok()?;
        let daemon = Daemon::found(&record.id)?;
        Some((record, daemon))
    }

    pub(in crate::local) fn write(&self, record: &Record) -> Result<(), LocalError> {
        let text = serde_json::to_string(record).unwrap_or_default();
        write_whole(&self.file("model"), &text).map_err(LocalError::Write)
    }

    /// Forgets the server and its key.
    pub(in crate::local) fn forget(&self) {
        self.remove(&[self.file("model"), self.key()]);
    }

    fn remove(&self, files: &[PathBuf]) {
        for file in files {
            if let Err(error) = remove::file(remove::File::Served, &self.home, file) {
                tracing::warn!("{error}");
            }
        }
    }

    /// Removes what is left of servers of models that are gone. What somebody uses stays. Blocks.
    pub(in crate::local) fn sweep(home: &Path, is_here: impl Fn(&str) -> bool) {
        let names = |folder: &str| {
            let entries = std::fs::read_dir(home.join(folder)).into_iter().flatten().flatten();
            entries.filter_map(|entry| entry.file_name().into_string().ok()).collect::<Vec<_>>()
        };
        let host = crate::exec::host_name();
        let of_run = |name: &String| {
            let rest = name.strip_suffix(".lock").or_else(|| name.strip_suffix(".start"))?;
            Some(rest.strip_suffix(&host)?.strip_suffix('.')?.to_owned())
        };
        let of_log = |name: &String| Some(name.strip_prefix("model-")?.strip_suffix(".log")?.to_owned());
        let mut found: Vec<String> = names("run").iter().filter_map(of_run).collect();
        found.extend(names("logs").iter().filter_map(of_log));
        found.sort();
        found.dedup();
        for name in found.into_iter().filter(|name| !is_here(name)) {
            let files = Self::new(home, &name);
            // Held until they are gone: nobody becomes a user of a file that has no name any more.
            let Ok(lock) = files.open("lock") else { continue };
            if lock.try_lock().is_ok() && files.read().is_none() {
                files.remove(&[files.log(), files.file("start"), files.file("model"), files.key(), files.file("lock")]);
            }
        }
    }

    /// That it was used just now, for all who wait for it to rest.
    pub(in crate::local) fn touch(&self) {
        let touched = File::options().append(true).open(self.file("lock"));
        if let Err(error) = touched.and_then(|file| file.set_modified(SystemTime::now())) {
            tracing::debug!("{error}");
        }
    }

    /// How long nobody has used it.
    pub(in crate::local) fn rested(&self) -> Duration {
        let used = std::fs::metadata(self.file("lock")).and_then(|about| about.modified());
        used.ok().and_then(|used| used.elapsed().ok()).unwrap_or_default()
    }

    fn open(&self, end: &str) -> Result<File, LocalError> {
        let path = self.file(end);
        ensure_dir(path.parent().unwrap_or(&self.home)).map_err(LocalError::Write)?;
        let open = File::options().read(true).append(true).create(true).open(&path);
        open.map_err(|error| LocalError::Write(WriteError::new(&path, &error)))
    }

    /// Becomes a user. Waits for one that is just ending the server. Blocks.
    pub(in crate::local) fn join(&self) -> Result<Users, LocalError> {
        let file = self.open("lock")?;
        file.lock_shared().map_err(|error| LocalError::Write(WriteError::new(&self.file("lock"), &error)))?;
        Ok(Users(file))
    }

    /// Waits for the right to start or end the server. Blocks as long as somebody else does that.
    pub(in crate::local) fn start(&self) -> Result<Start, LocalError> {
        let file = self.open("start")?;
        file.lock().map_err(|error| LocalError::Write(WriteError::new(&self.file("start"), &error)))?;
        Ok(Start(file))
    }

    /// Ends the server whoever uses it; `false`: none runs. Blocks.
    pub(in crate::local) fn end(&self) -> Result<bool, LocalError> {
        self.end_if(|_| true)
    }

    /// The same if this holds once nobody else starts or ends it.
    pub(in crate::local) fn end_if(&self, holds: impl Fn(&Self) -> bool) -> Result<bool, LocalError> {
        let _right = self.start()?;
        if !holds(self) {
            return Ok(false);
        }
        let Some((_, daemon)) = self.read() else {
            self.forget();
            return Ok(false);
        };
        daemon.end(GRACE);
        self.forget();
        Ok(true)
    }

    /// Stops being a user, and ends the server if there is no other. Blocks.
    pub(in crate::local) fn leave(&self, users: Users) {
        drop(users);
        let Ok(file) = self.open("lock") else { return };
        // Somebody else uses it.
        if file.try_lock().is_err() {
            return;
        }
        if let Err(error) = self.end() {
            tracing::warn!("{error}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    fn served(files: &Files) -> Daemon {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "sleep 60"]);
        let daemon = Daemon::start(command, tempfile::tempfile().unwrap()).unwrap();
        files.write(&Record { id: daemon.id().clone(), port: 1, context: 8192 }).unwrap();
        daemon
    }

    #[test]
    fn it_ends_with_its_last_user() {
        let home = tempfile::tempdir().unwrap();
        let files = Files::new(home.path(), "m");
        let (one, two) = (files.join().unwrap(), files.join().unwrap());
        let daemon = served(&files);
        files.leave(one);
        assert!(daemon.is_alive(), "the other one uses it");
        files.leave(two);
        assert!(!daemon.is_alive() && files.read().is_none());
        assert!(!files.key().with_extension("model").exists());
    }

    #[test]
    fn what_is_left_of_a_model_that_is_gone_goes_with_its_last_user() {
        let home = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(home.path().join("logs")).unwrap();
        let left = |name: &str| {
            let files = Files::new(home.path(), name);
            let all = [files.file("lock"), files.file("start"), files.log()];
            all.iter().filter(|file| file.exists()).count()
        };
        let made = |name: &str| {
            let files = Files::new(home.path(), name);
            std::fs::write(files.log(), "x").unwrap();
            drop(files.start().unwrap());
            files.join().unwrap()
        };
        drop(made("gone"));
        drop(made("here"));
        let used = made("used");
        std::fs::write(home.path().join("run/4711.lock"), "").unwrap();
        Files::sweep(home.path(), |name| name == "here");
        assert_eq!((left("gone"), left("here"), left("used")), (0, 3, 3));
        drop(used);
        Files::sweep(home.path(), |name| name == "here");
        assert_eq!((left("used"), left("here")), (0, 3));
        assert!(home.path().join("run/4711.lock").exists(), "a window's");
    }

    #[test]
    fn it_is_found_by_the_next_one_and_ended_by_order() {
        let home = tempfile::tempdir().unwrap();
        let files = Files::new(home.path(), "m");
        let daemon = served(&files);
        let (record, found) = Files::new(home.path(), "m").read().unwrap();
        assert_eq!((record.port, found.pid()), (1, daemon.pid()));
        assert!(files.end().unwrap() && !files.end().unwrap());
        // Its parent hears of the end a moment later.
        let until = std::time::Instant::now() + std::time::Duration::from_secs(10);
        while daemon.is_alive() && std::time::Instant::now() < until {
            std::thread::yield_now();
        }
        assert!(!daemon.is_alive());
    }
}
