//! The folders that a session works in, and what it may change outside of them without a question.

use super::files::{is_shared, normal};
use super::shell::{self, Touch, UNKNOWN};
use super::table::{Table, table};
use super::{Intent, World};
use std::path::{Path, PathBuf};

/// The folder in which the session was opened and those that the person added, under all their names.
#[derive(Clone, Debug, Default)]
pub struct Border(Vec<String>);

impl Border {
    /// Where the session works; without one, the folder of the call.
    pub fn of(cwd: &Path, world: &dyn World) -> Self {
        let mut given = world.border();
        if given.is_empty() {
            given.push(cwd.to_owned());
        }
        let mut all: Vec<String> = Vec::new();
        for folder in given {
            let real = world.resolve(&folder);
            for path in [folder, real] {
                let path = normal(&path, "");
                if !all.contains(&path) {
                    all.push(path);
                }
            }
        }
        Self(all)
    }

    /// Whether a path is one of these folders or below one.
    pub fn has(&self, path: impl AsRef<Path>) -> bool {
        self.0.iter().any(|folder| path.as_ref().starts_with(folder))
    }

    /// Like [`Border::has`], where the root folder as a whole is nobody's to work in.
    pub fn has_below_root(&self, path: &Path) -> bool {
        self.0.iter().any(|folder| folder != "/" && path.starts_with(folder))
    }

    /// Whether a path is in one of these folders, and that folder is not above the given home.
    pub fn has_beside(&self, path: &Path, home: &Path) -> bool {
        self.0.iter().any(|folder| path.starts_with(folder) && !home.starts_with(folder))
    }
}

/// Whether a write to this path, links followed, would change a file of a temporary folder that this session did not make.
pub fn overwrites(table: &Table, path: &str, world: &dyn World) -> bool {
    let path = Path::new(path);
    is_shared(table, path) && world.about(path).is_some_and(|about| !about.folder) && !world.made(path)
}

/// Folders whose files get several names from the tools that make them: stores of packages, builds.
const LINKED: &[&str] = &["node_modules", ".venv", "venv", "target", ".pnpm-store"];

/// Whether a file, links followed, has other names that may be anywhere: what is written to it is written there as well.
pub fn has_other_names(path: &Path, border: &Border, world: &dyn World) -> bool {
    let made = || {
        let parts: Vec<_> = path.iter().filter_map(|part| part.to_str()).collect();
        let store = parts.windows(2).any(|pair| pair == [".git", "objects"]);
        border.has(path) && (store || parts.iter().any(|part| LINKED.contains(part)))
    };
    world.about(path).is_some_and(|about| !about.folder && about.names > 1) && !made()
}

/// Whether all that one path or pattern names in a temporary folder is this session's.
pub fn is_ours(table: &Table, path: &str, world: &dyn World) -> bool {
    let one = |path: &Path| is_shared(table, path) && world.made(path) && world.made(&world.resolve(path));
    if !super::glob::is_pattern(path) {
        return one(Path::new(path));
    }
    let found = world.glob(path, Path::new("/"), 64);
    found.some() && found.complete && found.names.iter().all(|path| one(path))
}

/// The new paths in temporary folders that a call makes.
pub fn makes(intent: &Intent, world: &dyn World) -> Vec<PathBuf> {
    let Ok(table) = table() else { return Vec::new() };
    let paths: Vec<PathBuf> = match intent {
        Intent::Edit(edits) => edits.iter().filter(|edit| !edit.removes).map(|edit| edit.path.clone()).collect(),
        Intent::Command { line, cwd, .. } if may_name_shared(table, line, cwd) => {
            let touched = shell::judge(line, cwd, world).touched.into_iter();
            let made = touched.filter(|touched| touched.how == Touch::Write && !touched.glob);
            made.flat_map(|touched| touched.paths).filter(|path| !path.contains(UNKNOWN)).map(PathBuf::from).collect()
        }
        _ => Vec::new(),
    };
    let real = paths.iter().map(|path| world.resolve(path));
    real.filter(|path| is_shared(table, path) && world.about(path).is_none()).collect()
}

/// Whether a line may be about a temporary folder: most are not, and judging one once more costs.
fn may_name_shared(table: &Table, line: &str, cwd: &Path) -> bool {
    let line = line.to_lowercase();
    ["tmp", "shm", "var/folders"].iter().any(|word| line.contains(word)) || is_shared(table, cwd)
}

/// Paths in temporary folders that a session made: what did not exist when the call that makes it was judged.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Made(std::collections::HashSet<PathBuf>);

/// Paths that are remembered; what is made beyond is asked about.
const MAX_REMEMBERED: usize = 4096;

impl Made {
    /// The session makes this.
    pub fn note(&mut self, path: PathBuf) {
        if self.0.len() < MAX_REMEMBERED {
            self.0.insert(path);
        }
    }

    /// Whether it made this, or a folder above it.
    pub fn has(&self, path: &Path) -> bool {
        path.ancestors().any(|path| self.0.contains(path))
    }
}
