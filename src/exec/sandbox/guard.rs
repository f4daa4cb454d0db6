//! Files in a workspace that other programs run later, when no sandbox is around them: hooks, settings that start programs,
//! start-up files, our own settings.

use super::plan::{Kept, on_the_way};
use crate::policy::runs_later;
use std::collections::{HashSet, VecDeque};
use std::path::{Path, PathBuf};

/// Names at the top of a workspace, and below each of its folders.
pub(super) const LATER: &[&str] = &[
    ".envrc",
    ".vscode",
    ".idea",
    ".devcontainer",
    ".husky",
    ".claude",
    ".codex",
    ".hermes",
    ".mcp.json",
    "hermes.yaml",
    "pyvenv.cfg",
    "sitecustomize.py",
    "usercustomize.py",
    ".git/hooks",
    ".git/config",
    ".git/config.worktree",
];

/// Start-up files of shells and programs: at the top of a workspace only.
const START_UP: &[&str] = &[
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".bash_aliases",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    ".zlogout",
    ".kshrc",
    ".cshrc",
    ".tcshrc",
    ".login",
    ".inputrc",
    ".vimrc",
    ".exrc",
    ".gdbinit",
    ".lldbinit",
    ".gitconfig",
    ".xinitrc",
    ".xprofile",
];

/// Folders of the workspace that are looked into, and folders of submodules.
const FOLDERS: usize = 512;

/// Folders that are looked through at any depth, those nearest to the top first.
const DEEP: usize = 4_096;

/// Folders that tools fill by the thousand, and the repository, which has rules of its own.
const FILLED: &[&str] = &[".git", "node_modules", "target", "__pycache__", ".venv", "venv", ".tox"];

/// What such a look found.
pub(super) struct Found {
    pub(super) kept: Vec<Kept>,
    /// Not there: what appears at such a place is put aside.
    pub(super) absent: Vec<PathBuf>,
    /// Links, and what they hold: no mount closes a link, so one that is another afterwards is put back.
    pub(super) links: Vec<(PathBuf, PathBuf)>,
    pub(super) deep: Deep,
}

/// Whether a path below a workspace is one of those that run later.
pub fn protected(workspace: &Path, path: &Path) -> bool {
    let Ok(inside) = path.strip_prefix(workspace) else { return false };
    let below = inside.components().next().map(|first| workspace.join(first));
    let holds = |folder: &Path, names: &[&str]| names.iter().any(|name| path.starts_with(folder.join(name)));
    holds(workspace, LATER)
        || holds(workspace, START_UP)
        || below.is_some_and(|folder| holds(&folder, LATER))
        || inside.starts_with(".git/modules") && (inside.ends_with("hooks") || inside.ends_with("config"))
        || inside.ancestors().any(|part| part.to_str().is_some_and(|part| runs_later(part).is_some()))
}

/// What the gate's own list names, at any depth.
#[derive(Clone, Debug, Default)]
pub(super) struct Deep {
    workspace: PathBuf,
    /// Folders that were looked through.
    folders: HashSet<PathBuf>,
    /// Each with the folder that its name in the list begins below.
    pub(super) found: Vec<(PathBuf, PathBuf)>,
}

/// Looks through a workspace, up to a number of folders. Links are not followed.
pub(super) fn deep(workspace: &Path, is_home: bool) -> Deep {
    let most = if is_home { FOLDERS } else { DEEP };
    let mut deep = Deep { workspace: workspace.to_owned(), ..Deep::default() };
    let mut waiting = VecDeque::from([workspace.to_owned()]);
    while let Some(folder) = waiting.pop_front() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let (path, name) = (entry.path(), entry.file_name());
            let inside = path.strip_prefix(workspace).ok().and_then(Path::to_str);
            if let Some(parts) = inside.and_then(runs_later) {
                let below = path.ancestors().nth(parts).unwrap_or(workspace).to_owned();
                deep.found.push((path, below));
                continue;
            }
            let is_filled = FILLED.iter().any(|filled| name == *filled);
            let known = deep.folders.len() + waiting.len();
            if known < most && !is_filled && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                waiting.push_back(path);
            }
        }
        deep.folders.insert(folder);
    }
    deep
}

impl Deep {
    /// What is there now and was not, below folders that were there.
    fn appeared(&self) -> Vec<PathBuf> {
        if self.folders.is_empty() {
            return Vec::new();
        }
        let known: HashSet<&PathBuf> = self.found.iter().map(|(path, _)| path).collect();
        let now = deep(&self.workspace, false).found.into_iter();
        let new = now.filter(|(path, below)| !known.contains(path) && self.folders.contains(below));
        new.map(|(path, _)| path).collect()
    }
}

/// Looks at the top of a workspace, at each of its folders, and at submodules. `is_home`: every hidden entry counts.
pub(super) fn find(workspace: &Path, is_home: bool) -> Found {
    let deep = deep(workspace, is_home);
    let (mut closed, mut links) = (Vec::new(), Vec::new());
    for (path, _) in &deep.found {
        match path.read_link() {
            Ok(target) => links.push((path.clone(), target)),
            Err(_) => closed.push(path.clone()),
        }
    }
    let mut found = Found { kept: Vec::new(), absent: Vec::new(), links: Vec::new(), deep };
    let mut keep = |path: PathBuf| closed.push(path);
    let mut keep_link = |path: PathBuf| {
        if let Ok(target) = path.read_link()
            && !links.iter().any(|(known, _)| *known == path)
        {
            links.push((path, target));
        }
    };
    for name in LATER.iter().chain(START_UP) {
        let path = workspace.join(name);
        match path.symlink_metadata() {
            Ok(about) if about.is_symlink() => keep_link(path),
            Ok(_) => keep(path),
            // A repository that is made now has hooks and settings of its own.
            Err(_) if name.starts_with(".git/") && !workspace.join(".git").is_dir() => {}
            Err(_) => found.absent.push(path),
        }
    }
    let git = workspace.join(".git");
    // A worktree's `.git` is a file that names the folder whose hooks run.
    if git.symlink_metadata().is_ok_and(|about| about.is_file()) {
        keep(git.clone());
    }
    for folder in folders(&git.join("modules")) {
        for name in ["hooks", "config"] {
            let path = folder.join(name);
            if path.symlink_metadata().is_ok_and(|about| !about.is_symlink()) {
                keep(path);
            }
        }
    }
    for entry in folders(workspace) {
        let hidden = entry.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        if is_home && hidden {
            keep(entry);
            continue;
        }
        for name in LATER {
            let path = entry.join(name);
            match path.symlink_metadata() {
                Ok(about) if about.is_symlink() => keep_link(path),
                Ok(_) => keep(path),
                Err(_) => {}
            }
        }
    }
    // What a link leads to runs later as well as what stands there itself.
    let led: Vec<PathBuf> = links.iter().filter_map(|(link, _)| link.canonicalize().ok()).collect();
    closed.extend(led.into_iter().filter(|path| path.starts_with(workspace)));
    found.links = links;
    for path in closed {
        for kept in on_the_way(workspace, &path) {
            match found.kept.iter_mut().find(|known| known.path == kept.path) {
                Some(known) => known.read_only |= kept.read_only,
                None => found.kept.push(kept),
            }
        }
    }
    found
}

fn folders(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    folders.map(|entry| entry.path()).take(FOLDERS).collect()
}

/// Watches names that cannot be closed because nothing is there yet.
#[derive(Clone, Debug, Default)]
pub struct Guard {
    absent: Vec<PathBuf>,
    links: Vec<(PathBuf, PathBuf)>,
    deep: Deep,
}

impl Guard {
    pub(super) fn new(absent: &[PathBuf], links: &[(PathBuf, PathBuf)], deep: &Deep) -> Self {
        Self { absent: absent.to_vec(), links: links.to_vec(), deep: deep.clone() }
    }

    /// Puts aside what appeared at such a name: it is renamed to `NAME.sandboxed`, where nothing runs it. Gives each old path
    /// and what became of it. Blocks.
    pub fn close(&self) -> Vec<(PathBuf, Result<PathBuf, std::io::Error>)> {
        let appeared = self.absent.iter().filter(|path| path.symlink_metadata().is_ok());
        let mut closed: Vec<_> = appeared.map(|path| (path.clone(), put_aside(path))).collect();
        closed.extend(self.deep.appeared().into_iter().map(|path| (path.clone(), put_aside(&path))));
        for (path, target) in &self.links {
            let is_other = path.read_link().map_or(true, |now| now != *target);
            if is_other && path.symlink_metadata().is_ok() {
                let aside = put_aside(path).and_then(|aside| std::os::unix::fs::symlink(target, path).map(|()| aside));
                closed.push((path.clone(), aside));
            }
        }
        closed
    }
}

fn put_aside(path: &Path) -> Result<PathBuf, std::io::Error> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let free = |number: u32| {
        let ending = if number == 0 { String::new() } else { format!("-{number}") };
        path.with_file_name(format!("{name}.sandboxed{ending}"))
    };
    let aside = (0..100).map(free).find(|aside| aside.symlink_metadata().is_err());
    let aside = aside.ok_or_else(|| std::io::Error::other("too many already exist"))?;
    std::fs::rename(path, &aside)?;
    Ok(aside)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_at_such_names_are_put_back_and_what_they_lead_to_is_closed() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("shared")).unwrap();
        std::fs::write(root.join("shared/envrc"), "mine").unwrap();
        std::os::unix::fs::symlink("shared/envrc", root.join(".envrc")).unwrap();
        std::os::unix::fs::symlink("/nowhere", root.join(".mcp.json")).unwrap();
        let found = find(&root, false);
        assert!(
            found.kept.iter().any(|kept| kept.path == root.join("shared/envrc") && kept.read_only),
            "what it leads to"
        );
        assert_eq!(found.links.len(), 2, "{:?}", found.links);
        let guard = Guard::new(&[], &found.links, &found.deep);
        assert!(guard.close().is_empty());
        std::fs::remove_file(root.join(".envrc")).unwrap();
        std::fs::write(root.join(".envrc"), "theirs").unwrap();
        std::fs::remove_file(root.join(".mcp.json")).unwrap();
        std::os::unix::fs::symlink("/tmp/theirs", root.join(".mcp.json")).unwrap();
        assert_eq!(guard.close().len(), 2);
        assert_eq!(std::fs::read_to_string(root.join(".envrc")).unwrap(), "mine");
        assert_eq!(std::fs::read_to_string(root.join(".envrc.sandboxed")).unwrap(), "theirs");
        assert_eq!(root.join(".mcp.json").read_link().unwrap(), Path::new("/nowhere"));
    }
}
