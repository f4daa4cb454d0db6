//! How much is below a path, and what kind of thing it is.

use crate::policy::World;
use crate::policy::table::Role;
use crate::text::format;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

/// A file that changed this recently is named: it may be what somebody works on.
const RECENT: Duration = Duration::from_secs(3600);

/// Files and bytes, and what is remarkable among them.
#[derive(Debug, Default)]
pub struct Sum {
    pub files: u64,
    pub bytes: u64,
    /// The time was over before all was counted.
    pub cut: bool,
    /// The first folder of another file system.
    mount: Option<PathBuf>,
    /// The newest file below a folder, and when it changed.
    newest: Option<(SystemTime, PathBuf)>,
}

impl Sum {
    /// Counts what is at and below a path; links are not followed.
    pub fn add(&mut self, path: &Path, until: Instant) {
        let Ok(meta) = path.symlink_metadata() else { return };
        if !meta.is_dir() {
            self.files += 1;
            self.bytes += meta.len();
            return;
        }
        let device = meta.dev();
        let mut folders = vec![path.to_path_buf()];
        while let Some(folder) = folders.pop() {
            let Ok(entries) = std::fs::read_dir(&folder) else { continue };
            for entry in entries.flatten() {
                if Instant::now() >= until {
                    self.cut = true;
                    return;
                }
                let Ok(meta) = entry.metadata() else { continue };
                if meta.is_dir() {
                    if meta.dev() != device && self.mount.is_none() {
                        self.mount = Some(entry.path());
                    }
                    folders.push(entry.path());
                    continue;
                }
                self.files += 1;
                self.bytes += meta.len();
                // The notes of git are nobody's work.
                if !entry.path().components().any(|part| part.as_os_str() == ".git")
                    && let Ok(at) = meta.modified()
                    && self.newest.as_ref().is_none_or(|(newest, _)| at > *newest)
                {
                    let path = entry.path().strip_prefix(path).map(Path::to_path_buf).unwrap_or_else(|_| entry.path());
                    self.newest = Some((at, path));
                }
            }
        }
    }

    /// What is remarkable, in words; `recent`: a file that has just changed, too.
    pub fn notes(&self, recent: bool) -> Vec<String> {
        let mut notes = Vec::new();
        if let Some(mount) = &self.mount {
            notes.push(format!("reaches into another file system at {}", mount.display()));
        }
        if let Some((at, path)) = &self.newest
            && let Ok(ago) = SystemTime::now().duration_since(*at)
            && recent
            && ago < RECENT
        {
            let age = format::age(i64::try_from(ago.as_millis()).unwrap_or(i64::MAX));
            notes.push(format!("{} changed {age} ago", path.display()));
        }
        notes
    }
}

/// What a path that exists is, beside its size.
pub fn nature(path: &Path, cwd: &Path, role: Role, world: &dyn World) -> Vec<String> {
    let mut notes = Vec::new();
    let home = world.home();
    let removes = matches!(role, Role::Delete | Role::DeleteTree | Role::Move | Role::PermissionsTree);
    let Ok(meta) = path.symlink_metadata() else { return notes };
    let real = world.resolve(path);
    if meta.is_symlink() {
        notes.push(format!("a link to {}", real.display()));
    } else if real != *path {
        notes.push(format!("through a link: {}", real.display()));
    }
    if removes {
        for (folder, what) in [(cwd, "this folder"), (home.as_path(), "your home folder")] {
            if folder == real {
                notes.push(format!("is {what} itself"));
            } else if folder.starts_with(&real) {
                notes.push(format!("holds {what}"));
            }
        }
    }
    let device = |path: &Path| path.symlink_metadata().map(|meta| meta.dev()).ok();
    if meta.is_dir() && real.parent().is_some_and(|parent| device(parent).is_some_and(|dev| dev != meta.dev())) {
        notes.push("the root of another file system".into());
    }
    notes
}

/// Whether the ignore files between the working folder and the path name it.
pub fn is_ignored(path: &Path, cwd: &Path) -> bool {
    let root = cwd.ancestors().find(|folder| folder.join(".git").exists()).unwrap_or(cwd);
    let mut builder = ignore::gitignore::GitignoreBuilder::new(root);
    for folder in path.ancestors().skip(1).take_while(|folder| folder.starts_with(root)) {
        let file = folder.join(".gitignore");
        if file.is_file() && builder.add(file).is_some() {
            return false;
        }
    }
    // A path that is not below the root is nobody's to ignore.
    let inside = path.starts_with(root);
    inside && builder.build().is_ok_and(|matcher| matcher.matched_path_or_any_parents(path, path.is_dir()).is_ignore())
}
