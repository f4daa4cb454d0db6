//! Git worktrees that sessions work in: made from the last commit on a branch `hermes/NAME`, listed, and removed when nothing in
//! them would be lost.
//!
//! They stand beside the home and not in it: commands in a sandbox can't write the home, and what the rules say of files that
//! run later does not hold there.

mod changes;
mod merge;
mod stays;
#[cfg(test)]
mod tests;

pub use changes::Plan;
pub use stays::Reason;

use crate::config::Paths;
use crate::exec::{Repo, RepoError};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// What branches of worktrees begin with.
const BRANCH: &str = "hermes/";
/// How long git may take to write the files of a worktree, or to delete them.
const CHECKOUT: Duration = Duration::from_secs(60);
/// How long it may take to look at one.
const LOOK: Duration = Duration::from_secs(20);
/// Characters of a name.
const NAME: usize = 60;
/// Files with a line of their own in what changed.
const STAT: &str = "--stat=100,70,40";

/// Why there is no worktree, or why one can't be removed.
#[derive(Debug, thiserror::Error)]
pub enum WorktreeError {
    #[error("{} is in no git repository; run `git init` and commit first", .0.display())]
    Nowhere(PathBuf),
    #[error("{} is a bare repository, which has no files to work on; use a clone of it", .0.display())]
    Bare(PathBuf),
    #[error("the repository has no commit yet, and a worktree begins at the last one; commit first")]
    Unborn,
    #[error("this repository uses filters (such as LFS), which Hermes doesn't run; make it yourself: {0}")]
    Filters(String),
    #[error("“{0}” can't name a worktree: use up to {NAME} letters, digits, `-`, `_` and `.`")]
    Name(String),
    #[error("there is a worktree or a branch {0} already; choose another name")]
    Taken(String),
    #[error("there is no worktree {0}; `hermes worktrees list` shows them")]
    Unknown(String),
    #[error("several worktrees are called {0}; use the name of the folder")]
    Several(String),
    #[error("{name} stays: it has {}", list(.why))]
    Stays { name: String, why: Vec<Reason> },
    #[error("{0} is gone; there is nothing to take or drop any more")]
    Gone(String),
    #[error("{name} is a worktree of {}; open a session there to take from it", .project.display())]
    Foreign { name: String, project: PathBuf },
    #[error("this session works in {name} itself; look at it from a session in {}", .project.display())]
    Inside { name: String, project: PathBuf },
    #[error("{name} holds more than what was shown now: {}; look again", list(.why))]
    Grown { name: String, why: Vec<Reason> },
    #[error("could not create the folder {}: {source}", .folder.display())]
    Folder { folder: PathBuf, source: std::io::Error },
    #[error("git can't be started ({0}); install git")]
    NoGit(String),
    #[error(transparent)]
    Git(RepoError),
}

impl From<RepoError> for WorktreeError {
    fn from(error: RepoError) -> Self {
        match error {
            RepoError::Run(why) => Self::NoGit(why.to_string()),
            other => Self::Git(other),
        }
    }
}

/// `a, b and c`.
fn list(why: &[Reason]) -> String {
    let words: Vec<String> = why.iter().map(ToString::to_string).collect();
    match words.as_slice() {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// One worktree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Worktree {
    /// Its top folder.
    pub folder: PathBuf,
    /// What its HEAD is on; none: it is detached.
    pub branch: Option<String>,
    /// The commit that it began at, where this run made it; else the one it is at.
    pub base: String,
    /// The folder of the repository that it belongs to: `/src/project/.git`.
    pub repository: PathBuf,
}

impl Worktree {
    /// The name of its folder: `project-fix`.
    pub fn name(&self) -> String {
        self.folder.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// The checkout that it belongs to, as people know it.
    pub fn project(&self) -> &Path {
        match self.repository.parent() {
            Some(top) if self.repository.ends_with(".git") => top,
            _ => &self.repository,
        }
    }

    /// What changed since it began, committed or not, as `git diff --stat` says it; without new files that git does not know.
    ///
    /// # Errors
    /// Git failed or is late.
    pub fn changes(&self) -> Result<String, WorktreeError> {
        let until = Instant::now() + LOOK;
        let plain = ["diff", "--no-ext-diff", "--no-textconv", "--submodule=short", "--ignore-submodules=dirty", STAT];
        let args = [&plain[..], &[self.base.as_str(), "--"]].concat();
        Ok(line(Repo::of(&self.folder, until)?.ask(&args, until)?).to_string_lossy().into_owned())
    }
}

/// All worktrees of a home.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Worktrees {
    folder: PathBuf,
}

impl Worktrees {
    /// Those of this home and of its profiles.
    pub fn of(paths: &Paths) -> Self {
        Self { folder: paths.worktrees() }
    }

    /// Makes one from the last commit of the repository that a folder is in. What is not committed stays where it is, and so do
    /// files that git ignores and the files of submodules. Blocks.
    ///
    /// # Errors
    /// There is no such repository, it has no commit, is bare or uses filters, the name is taken, or git failed.
    pub fn make(&self, at: &Path, name: &str) -> Result<Worktree, WorktreeError> {
        let until = Instant::now() + CHECKOUT;
        let fits = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        let is_name = !name.is_empty() && name.len() <= NAME && name.chars().all(fits);
        if !is_name
            || name.starts_with(['-', '.'])
            || name.ends_with(['.'])
            || name.contains("..")
            || name.ends_with(".lock")
        {
            return Err(WorktreeError::Name(name.to_owned()));
        }
        let bare = |folder: &&Path| ["HEAD", "objects", "refs"].iter().all(|part| folder.join(part).exists());
        let repo = match Repo::of(at, until) {
            Ok(repo) => repo,
            Err(RepoError::Nowhere) => {
                return Err(match at.ancestors().find(bare) {
                    Some(folder) => WorktreeError::Bare(folder.to_owned()),
                    None => WorktreeError::Nowhere(at.to_owned()),
                });
            }
            Err(error) => return Err(error.into()),
        };
        if line(repo.ask(&["rev-parse", "--is-inside-work-tree"], until)?) != "true" {
            return Err(WorktreeError::Bare(at.to_owned()));
        }
        let base = match repo.ask(&["rev-parse", "--verify", "--quiet", "HEAD^{commit}"], until) {
            Ok(base) => line(base).to_string_lossy().into_owned(),
            Err(RepoError::Failed(_)) => return Err(WorktreeError::Unborn),
            Err(error) => return Err(error.into()),
        };
        let repository = common(&repo, until)?;
        let branch = format!("{BRANCH}{name}");
        let mut tree =
            Worktree { folder: self.folder.clone(), branch: Some(branch.clone()), base: base.clone(), repository };
        let project = tree.project().file_name().unwrap_or_default().to_string_lossy().into_owned();
        let folder = self.folder.join(format!("{}-{name}", project.trim_start_matches(['.', '-'])));
        if repo.has_filters() {
            let remedy = format!("git worktree add -b {branch} {}", folder.display());
            return Err(WorktreeError::Filters(remedy));
        }
        let reference = format!("refs/heads/{branch}");
        if folder.symlink_metadata().is_ok()
            || repo.ask(&["show-ref", "--verify", "--quiet", &reference], until).is_ok()
        {
            return Err(WorktreeError::Taken(name.to_owned()));
        }
        crate::fs::ensure_dir(&self.folder).map_err(|source| WorktreeError::Folder {
            folder: self.folder.clone(),
            source: std::io::Error::other(source),
        })?;
        let args = ["worktree", "add", "--no-track", "-b", &branch, "--"].map(OsStr::new);
        repo.ask(&[&args[..], &[folder.as_os_str(), OsStr::new(&base)]].concat(), until)?;
        tree.folder = folder;
        Ok(tree)
    }

    /// The same with a name that is free: this one, or with a number.
    ///
    /// # Errors
    /// As [`make`](Self::make).
    pub fn make_free(&self, at: &Path, name: &str) -> Result<Worktree, WorktreeError> {
        let mut made = self.make(at, name);
        for number in 2..100 {
            if !matches!(made, Err(WorktreeError::Taken(_))) {
                break;
            }
            made = self.make(at, &format!("{name}-{number}"));
        }
        made
    }

    /// The one with this folder.
    ///
    /// # Errors
    /// It is gone.
    pub fn at(&self, folder: &Path) -> Result<Worktree, WorktreeError> {
        let is_ours = folder.parent() == Some(self.folder.as_path());
        let gone = || WorktreeError::Gone(folder.file_name().unwrap_or_default().to_string_lossy().into_owned());
        read(folder).filter(|_| is_ours).ok_or_else(gone)
    }

    /// All that are there, by name; folders that git knows nothing of are none. Blocks.
    pub fn list(&self) -> Vec<Worktree> {
        let entries = std::fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let mut found: Vec<Worktree> = entries.filter_map(|entry| read(&entry.path())).collect();
        found.sort_by(|a, b| a.folder.cmp(&b.folder));
        found
    }

    /// The one with this name that belongs to the repository of a folder; `None`: there is none yet. Blocks.
    pub fn of_repository(&self, at: &Path, name: &str) -> Option<Worktree> {
        let tree = self.named(name).ok().filter(|_| !name.is_empty())?;
        let until = Instant::now() + LOOK;
        (common(&Repo::of(at, until).ok()?, until).ok()? == tree.repository).then_some(tree)
    }

    /// The one with this name: that of its folder, its branch, or its branch without `hermes/`.
    ///
    /// # Errors
    /// There is none, or there are several.
    pub fn named(&self, name: &str) -> Result<Worktree, WorktreeError> {
        let all = self.list();
        if let Some(tree) = all.iter().find(|tree| tree.name() == name) {
            return Ok(tree.clone());
        }
        let is = |tree: &&Worktree| {
            tree.branch.as_deref().is_some_and(|branch| branch == name || branch.strip_prefix(BRANCH) == Some(name))
        };
        match all.iter().filter(is).collect::<Vec<_>>()[..] {
            [] => Err(WorktreeError::Unknown(name.to_owned())),
            [tree] => Ok(tree.clone()),
            _ => Err(WorktreeError::Several(name.to_owned())),
        }
    }
}

/// A name for one that nobody named: month, day and time.
pub fn stamp() -> String {
    chrono::Local::now().format("%m%d-%H%M%S").to_string()
}

/// What a folder is a worktree of.
fn read(folder: &Path) -> Option<Worktree> {
    // The `.git` of a worktree is a file; a folder would be a repository of somebody.
    if !folder.join(".git").is_file() {
        return None;
    }
    let until = Instant::now() + LOOK;
    let repo = Repo::of(folder, until).ok()?;
    let branch = on(&repo, until).ok()?;
    let base = repo.ask(&["rev-parse", "--verify", "--quiet", "HEAD^{commit}"], until).unwrap_or_default();
    let text = |bytes: Vec<u8>| line(bytes).to_string_lossy().into_owned();
    let (base, repository) = (text(base), common(&repo, until).ok()?);
    Some(Worktree { folder: folder.to_owned(), branch, base, repository })
}

/// The branch that HEAD is on; `None`: on none. Never git's short form, which is another one where a tag has the same name.
fn on(repo: &Repo, until: Instant) -> Result<Option<String>, RepoError> {
    match repo.ask(&["symbolic-ref", "--quiet", "HEAD"], until) {
        Ok(full) => Ok(line(full).to_string_lossy().strip_prefix("refs/heads/").map(str::to_owned)),
        Err(RepoError::Failed(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Where all worktrees of a repository have their history.
fn common(repo: &Repo, until: Instant) -> Result<PathBuf, RepoError> {
    let answer = repo.ask(&["rev-parse", "--path-format=absolute", "--git-common-dir"], until)?;
    Ok(PathBuf::from(line(answer)))
}

/// An answer without the end of its line.
fn line(mut answer: Vec<u8>) -> OsString {
    while answer.last() == Some(&b'\n') {
        answer.pop();
    }
    OsString::from_vec(answer)
}

/// Entries that end with zeros.
fn entries(answer: &[u8]) -> impl Iterator<Item = &OsStr> {
    answer.split(|byte| *byte == 0).filter(|entry| !entry.is_empty()).map(OsStr::from_bytes)
}
