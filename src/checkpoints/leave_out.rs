//! What of a workspace is left out, and what of it is only kept while it is small.

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Folders that programs make and can make again, and those of version control, which no undo of ours may touch.
const NEVER: &[&str] = &[
    ".git",
    ".hg",
    ".svn",
    ".jj",
    "node_modules",
    "__pycache__",
    ".venv",
    "venv",
    ".tox",
    ".nox",
    ".mypy_cache",
    ".pytest_cache",
    ".ruff_cache",
    ".gradle",
    ".next",
    ".nuxt",
    ".turbo",
    ".parcel-cache",
    "target",
    "DerivedData",
];
/// The folder of git's records.
const GIT: &str = ".git";
/// The file that marks a folder as a cache (bford.info/cachedir).
const CACHE_TAG: &str = "CACHEDIR.TAG";
/// What such a file begins with; another one of that name marks nothing.
const SIGNATURE: &[u8] = b"Signature: 8a477f597d28d172789f06886806bc55";
/// Lists of what git ignores are read up to here.
const LIST_MOST: u64 = 256 * 1024;

/// The rules of one workspace. Paths are below its root.
pub(super) struct LeaveOut {
    root: PathBuf,
    /// Folders of ours that may lie in the workspace.
    ours: Vec<PathBuf>,
    /// Lists of what git ignores, by the folder that each is in.
    lists: BTreeMap<PathBuf, Gitignore>,
}

impl LeaveOut {
    pub(super) fn new(root: &Path, ours: &[PathBuf]) -> Self {
        let ours = ours.iter().filter_map(|path| path.strip_prefix(root).ok().map(Path::to_owned)).collect();
        Self { root: root.to_owned(), ours, lists: BTreeMap::new() }
    }

    /// Whether a path is left out, a folder with all that is in it. `.git` may be a file that names a folder.
    pub(super) fn out(&self, path: &Path, is_folder: bool) -> bool {
        if is_folder { self.folder(path) } else { path.file_name().is_some_and(|name| name == GIT) }
    }

    fn folder(&self, path: &Path) -> bool {
        self.named(path) || is_tag(&self.root.join(path).join(CACHE_TAG))
    }

    fn named(&self, path: &Path) -> bool {
        let never = path.file_name().and_then(OsStr::to_str).is_some_and(|name| NEVER.contains(&name));
        never || self.ours.iter().any(|ours| ours == path)
    }

    /// Whether a path lies in a folder that is left out by its name. Those with a mark are not watched in the first place.
    pub(super) fn below(&self, path: &Path) -> bool {
        path.ancestors().skip(1).any(|folder| self.named(folder))
    }

    /// Reads the list of a folder again.
    pub(super) fn read(&mut self, folder: &Path) {
        let place = self.root.join(folder);
        let mut builder = GitignoreBuilder::new(&place);
        let mut names = vec![place.join(".gitignore")];
        if folder.as_os_str().is_empty() {
            names.push(place.join(".git/info/exclude"));
        }
        let small =
            |path: &PathBuf| std::fs::metadata(path).is_ok_and(|about| about.is_file() && about.len() <= LIST_MOST);
        names.retain(small);
        for name in &names {
            // A line that is no pattern ignores nothing.
            builder.add(name);
        }
        match builder.build() {
            Ok(list) if !list.is_empty() => drop(self.lists.insert(folder.to_owned(), list)),
            Ok(_) | Err(_) => drop(self.lists.remove(folder)),
        }
    }

    /// Whether git ignores a path, or a folder that it is in.
    pub(super) fn ignored(&self, path: &Path, is_folder: bool) -> bool {
        path.ancestors().skip(1).find_map(|folder| {
            let found = self.lists.get(folder)?.matched_path_or_any_parents(path_in(folder, path), is_folder);
            (!found.is_none()).then(|| found.is_ignore())
        }) == Some(true)
    }
}

/// Where git keeps its records of a folder: in `.git`, or in the folder that such a file names (worktrees, submodules).
pub(super) fn git(root: &Path) -> PathBuf {
    let file = root.join(GIT);
    let small = std::fs::metadata(&file).is_ok_and(|about| about.is_file() && about.len() <= LIST_MOST);
    let text = small.then(|| std::fs::read_to_string(file).ok()).flatten().unwrap_or_default();
    text.trim().strip_prefix("gitdir: ").map_or_else(|| PathBuf::from(GIT), |folder| root.join(folder))
}

fn is_tag(path: &Path) -> bool {
    use std::io::Read;
    let mut start = [0; SIGNATURE.len()];
    // Most folders have none: nothing is opened for these.
    path.is_file()
        && std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut start)).is_ok()
        && start == SIGNATURE
}

fn path_in<'a>(folder: &Path, path: &'a Path) -> &'a Path {
    path.strip_prefix(folder).unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_list_decides_and_what_programs_make_is_left_out() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            std::fs::create_dir_all(dir.path().join(name).parent().unwrap()).unwrap();
            std::fs::write(dir.path().join(name), text).unwrap();
        };
        write(".gitignore", "*.log\n/data/\n.env\n");
        write("deep/.gitignore", "!keep.log\n");
        write("made/CACHEDIR.TAG", "Signature: 8a477f597d28d172789f06886806bc55\n# made by a test\n");
        write("notes/CACHEDIR.TAG", "where the cache is");
        let mut rules = LeaveOut::new(dir.path(), &[dir.path().join("home/.hermes")]);
        rules.read(Path::new(""));
        rules.read(Path::new("deep"));
        for (path, is_folder, ignored) in [
            ("a.rs", false, false),
            ("a.log", false, true),
            (".env", false, true),
            ("deep/x.log", false, true),
            ("deep/keep.log", false, false),
            ("data", true, true),
            ("data/x/y", false, true),
            ("deep/data", true, false),
        ] {
            assert_eq!(rules.ignored(Path::new(path), is_folder), ignored, "{path}");
        }
        for (path, out) in [
            ("src", false),
            ("notes", false),
            (".git", true),
            ("a/node_modules", true),
            ("made", true),
            ("home/.hermes", true),
        ] {
            assert_eq!(rules.out(Path::new(path), true), out, "{path}");
        }
        assert!(rules.out(Path::new("module/.git"), false) && !rules.out(Path::new("target"), false));
        assert!(rules.below(Path::new("a/target/debug/x")) && !rules.below(Path::new("target")));
    }
}
