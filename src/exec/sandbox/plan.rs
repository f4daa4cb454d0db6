//! What a sandbox lets a command write, as lists of paths: from the settings and a bounded look at the disk.

use super::Sandbox;
use super::guard::{self, Deep, LATER};
use crate::config::SandboxMode;
use std::path::{Path, PathBuf};

/// Entries of one folder that are looked at. A folder with more than that is closed where entries are opened one by one.
const ENTRIES: usize = 4_096;

/// Devices that commands write to, and the folder of terminals.
const DEVICES: &[&str] =
    &["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx", "/dev/pts"];

/// Folders for what programs share for a moment.
const SHARED: &[&str] = &["/tmp", "/dev/shm"];

/// The lists.
#[derive(Clone, Debug, Default)]
pub(super) struct Plan {
    /// Folders in which everything is open.
    pub(super) open: Vec<PathBuf>,
    /// Files and devices that can be written and not removed.
    pub(super) devices: Vec<PathBuf>,
    /// With mounts: what stays as it is inside the open folders, each with the folders on the way to it.
    pub(super) kept: Vec<Kept>,
    /// With mounts: opened again below something kept.
    pub(super) reopened: Vec<PathBuf>,
    /// Whether mounts are used at all.
    pub(super) mounts: bool,
    /// Names that run later and are not there yet.
    pub(super) absent: Vec<PathBuf>,
    /// Such names that are links, with what they hold.
    pub(super) links: Vec<(PathBuf, PathBuf)>,
    /// What the gate's own list names.
    pub(super) deep: Deep,
    pub(super) private_temp: Option<PathBuf>,
}

/// A path that is bound to itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Kept {
    pub(super) path: PathBuf,
    /// Otherwise it is only held in its place: a folder on the way that could be moved away and made anew.
    pub(super) read_only: bool,
}

impl Plan {
    pub(super) fn new(sandbox: &Sandbox, scratch: &Path, state: Option<&Path>, mounts: bool) -> Self {
        let mut plan = Self { mounts, ..Self::default() };
        if sandbox.mode == SandboxMode::Off {
            plan.mounts = false;
            return plan;
        }
        plan.devices = DEVICES.iter().map(PathBuf::from).filter(|path| path.exists()).collect();
        let own = real(scratch);
        let (state, temp) = (state.map(real), own.join("tmp"));
        if sandbox.mode == SandboxMode::ReadOnly {
            plan.open = state.into_iter().chain([temp.clone()]).collect();
            plan.private_temp = Some(temp);
            return plan;
        }
        let (home, closed) = (real(&sandbox.home), real(&sandbox.closed));
        let workspace = real(&sandbox.workspace);
        let mut roots: Vec<PathBuf> = Vec::new();
        // A folder that holds home folders or the system is none to work in as a whole.
        if workspace.parent().is_some() && (workspace == home || !home.starts_with(&workspace)) {
            roots.push(workspace.clone());
            let found = guard::find(&workspace, workspace == home);
            plan.kept = found.kept;
            plan.absent = found.absent;
            plan.links = found.links;
            plan.deep = found.deep;
        }
        roots.extend(sandbox.writable.iter().filter(|path| path.is_dir()).map(|path| real(path)));
        let shared: Vec<PathBuf> = [std::env::temp_dir()].into_iter().chain(SHARED.iter().map(PathBuf::from)).collect();
        if mounts {
            roots.extend(shared.iter().filter(|path| path.is_dir()).map(|path| real(path)));
            for path in [&own, &closed] {
                plan.keep(&roots, path);
            }
            plan.open = roots.into_iter().chain(state.clone()).collect();
            plan.reopened = state.into_iter().chain([temp]).collect();
        } else {
            // Nothing can be closed below an open folder: its entries are opened one by one, but those that run later.
            let mut shut: Vec<PathBuf> =
                plan.kept.iter().filter(|kept| kept.read_only).map(|kept| shut(&workspace, &kept.path)).collect();
            shut.extend(plan.absent.iter().map(|path| top(&workspace, path)));
            shut.extend(plan.links.iter().map(|(path, _)| top(&workspace, path)));
            shut.extend([own, closed]);
            for root in &roots {
                open_entries(root, &shut, &mut plan.open);
            }
            // Neither can names be reserved in folders that all programs share.
            plan.open.extend(state.into_iter().chain([temp.clone(), PathBuf::from("/dev/shm")]));
            plan.private_temp = Some(temp);
            plan.kept.clear();
            plan.absent.clear();
            plan.links.clear();
            plan.deep = Deep::default();
        }
        plan
    }

    /// Keeps a path as it is where an open folder holds it.
    fn keep(&mut self, roots: &[PathBuf], path: &Path) {
        if path.exists()
            && let Some(root) = roots.iter().find(|root| path.starts_with(root))
        {
            self.kept.extend(on_the_way(root, path));
        }
    }
}

/// A path and the folders between it and `root`, outermost first.
pub(super) fn on_the_way(root: &Path, path: &Path) -> Vec<Kept> {
    let mut way: Vec<Kept> = path
        .ancestors()
        .skip(1)
        .take_while(|folder| *folder != root && folder.starts_with(root))
        .map(|folder| Kept { path: folder.to_owned(), read_only: false })
        .collect();
    way.reverse();
    way.push(Kept { path: path.to_owned(), read_only: true });
    way
}

/// What is closed for the sake of a path, where entries are opened one by one: a repository as a whole, otherwise the path.
fn shut(workspace: &Path, path: &Path) -> PathBuf {
    if path.starts_with(workspace.join(".git")) { top(workspace, path) } else { path.to_owned() }
}

/// The entry of `root` that holds `path`. A repository whose hooks are closed is closed as a whole: its own files are made
/// beside them.
fn top(root: &Path, path: &Path) -> PathBuf {
    match path.strip_prefix(root).ok().and_then(|inside| inside.components().next()) {
        Some(first) => root.join(first),
        None => path.to_owned(),
    }
}

/// The entries of a folder that hold nothing that is shut; those that do are looked into.
fn open_entries(folder: &Path, shut: &[PathBuf], open: &mut Vec<PathBuf>) {
    if shut.iter().any(|path| folder.starts_with(path)) {
        return;
    }
    let is_plain = !shut.iter().any(|path| path.starts_with(folder));
    if is_plain && !LATER.iter().any(|name| folder.ends_with(name)) {
        open.push(folder.to_owned());
        return;
    }
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().take(ENTRIES);
    for entry in entries {
        // A link opens what it leads to: that is for others to open.
        if entry.file_type().is_ok_and(|kind| !kind.is_symlink()) {
            open_entries(&entry.path(), shut, open);
        }
    }
}

/// The path with its links followed, as far as it is there.
fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}
