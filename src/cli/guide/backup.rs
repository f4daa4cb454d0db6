//! The configuration as it was before `hermes setup` changed it.

use anyhow::Context as _;
use std::path::{Path, PathBuf};

/// Copies a file once, before the first change.
pub struct Backup {
    file: PathBuf,
    done: bool,
}

impl Backup {
    /// Of this file, which need not be there.
    pub fn of(file: PathBuf) -> Self {
        Self { file, done: false }
    }

    /// The file is about to be changed: the copy that was made for it, the first time.
    ///
    /// # Errors
    /// It can't be copied: nothing may be changed then.
    pub fn before_change(&mut self) -> anyhow::Result<Option<PathBuf>> {
        if self.done || !self.file.exists() {
            return Ok(None);
        }
        let copy = named(&self.file, &chrono::Utc::now().format("%Y%m%dT%H%M%SZ").to_string());
        std::fs::copy(&self.file, &copy)
            .with_context(|| format!("could not copy {} to {}", self.file.display(), copy.display()))?;
        self.done = true;
        Ok(Some(copy))
    }
}

fn named(file: &Path, time: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(format!(".bak.{time}"));
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_copied_once_as_it_was() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("config.yaml");
        assert_eq!(Backup::of(file.clone()).before_change().unwrap(), None, "nothing to copy");
        std::fs::write(&file, "# mine\n").unwrap();
        let mut backup = Backup::of(file.clone());
        let copy = backup.before_change().unwrap().unwrap();
        let name = copy.file_name().unwrap().to_string_lossy().into_owned();
        assert!(name.starts_with("config.yaml.bak.2") && name.ends_with('Z'), "{name}");
        std::fs::write(&file, "changed\n").unwrap();
        assert_eq!(backup.before_change().unwrap(), None, "a second change");
        assert_eq!(std::fs::read_to_string(copy).unwrap(), "# mine\n");
    }
}
