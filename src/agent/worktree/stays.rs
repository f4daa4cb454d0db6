//! Why a worktree must stay, and its removal when nothing says so: never by force.

use super::{BRANCH, CHECKOUT, LOOK, Worktree, WorktreeError, entries, line, on};
use crate::exec::{Repo, RepoError};
use crate::text::format::plural;
use crate::tools::file::write;
use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Why a worktree must stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Files that changed since the last commit.
    Uncommitted(u64),
    /// Files that git does not know and was not told to ignore.
    Untracked(u64),
    /// Commits of its branch that are on no other branch, tag or remote.
    Unmerged(u64),
    /// Its HEAD is on no branch, with commits that no branch, tag or remote has.
    Detached(u64),
    /// A merge, rebase or the like has begun and not ended.
    Unfinished,
    /// Submodules whose files are there: their own work can't be seen from outside.
    Submodules,
    /// Another worktree or a repository in a folder of it: its own work can't be seen from outside.
    Nested,
    /// Files that git was told to take for unchanged: what changed in them can't be seen.
    Hidden(u64),
    /// `git worktree lock` was used on it.
    Locked,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Uncommitted(n) => write!(f, "{} with uncommitted changes", plural(*n, "file", "files")),
            Self::Untracked(n) => write!(f, "{}", plural(*n, "untracked file", "untracked files")),
            Self::Unmerged(n) => write!(f, "{} neither merged nor pushed", plural(*n, "commit", "commits")),
            Self::Detached(n) => write!(f, "{} on a detached HEAD", plural(*n, "commit", "commits")),
            Self::Unfinished => f.write_str("an unfinished merge or rebase"),
            Self::Submodules => f.write_str("files of submodules"),
            Self::Nested => f.write_str("a repository or worktree inside it"),
            Self::Hidden(n) => {
                write!(f, "{} that git takes for unchanged (git update-index)", plural(*n, "file", "files"))
            }
            Self::Locked => f.write_str("a lock (git worktree unlock takes it away)"),
        }
    }
}

/// What git keeps in the folder of a worktree while something has begun and not ended.
const UNFINISHED: [&str; 6] =
    ["MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "BISECT_LOG", "rebase-merge", "rebase-apply"];

impl Worktree {
    /// Why it must stay; empty: nothing is in it that is nowhere else. Files that git ignores are no work. Blocks.
    ///
    /// # Errors
    /// Git failed or is late: then nobody knows, and it must stay as well.
    pub fn stays(&self) -> Result<Vec<Reason>, WorktreeError> {
        let until = Instant::now() + LOOK;
        let repo = Repo::of(&self.folder, until)?;
        self.stays_at(&repo, head(&repo, until)?.as_deref(), until)
    }

    /// With its HEAD at this commit; `None`: its branch has none.
    fn stays_at(&self, repo: &Repo, at: Option<&str>, until: Instant) -> Result<Vec<Reason>, WorktreeError> {
        let mut why = Vec::new();
        let status = [
            "status",
            "--porcelain=v1",
            "-z",
            "--untracked-files=all",
            "--no-renames",
            "--ignore-submodules=dirty",
            "--ignored=no",
        ];
        let (mut uncommitted, mut untracked) = (0, 0);
        for entry in entries(&repo.ask(&status, until)?) {
            let is_new = entry.as_bytes().starts_with(b"??");
            *(if is_new { &mut untracked } else { &mut uncommitted }) += 1;
        }
        why.extend((uncommitted > 0).then_some(Reason::Uncommitted(uncommitted)));
        why.extend((untracked > 0).then_some(Reason::Untracked(untracked)));
        why.extend(commits(repo, at, until)?);
        let own = PathBuf::from(line(repo.ask(&["rev-parse", "--path-format=absolute", "--git-dir"], until)?));
        why.extend(UNFINISHED.iter().any(|name| own.join(name).exists()).then_some(Reason::Unfinished));
        why.extend(own.join("modules").exists().then_some(Reason::Submodules));
        why.extend(self.nests(repo, until)?.then_some(Reason::Nested));
        let hidden = hidden(repo, until)?;
        why.extend((hidden > 0).then_some(Reason::Hidden(hidden)));
        why.extend(own.join("locked").exists().then_some(Reason::Locked));
        Ok(why)
    }

    /// Whether another worktree or repository is in a folder that git looks past.
    fn nests(&self, repo: &Repo, until: Instant) -> Result<bool, RepoError> {
        let real = self.folder.canonicalize().unwrap_or_else(|_| self.folder.clone());
        let listed = repo.ask(&["worktree", "list", "--porcelain", "-z"], until)?;
        let inside = |entry: &OsStr| {
            let path = entry.as_bytes().strip_prefix(b"worktree ").map(|path| PathBuf::from(OsStr::from_bytes(path)));
            path.is_some_and(|path| path != real && path.starts_with(&real))
        };
        if entries(&listed).any(inside) {
            return Ok(true);
        }
        let ignored = ["ls-files", "--others", "--ignored", "--exclude-standard", "--directory", "-z"];
        let ignored = repo.ask(&ignored, until)?;
        let folders = entries(&ignored).filter(|entry| entry.as_bytes().ends_with(b"/"));
        let mut left = MOST_LOOKED_AT;
        Ok(folders.into_iter().any(|folder| has_repository(&self.folder.join(folder), &mut left)))
    }

    /// Removes it, and its branch when that is one of ours and nothing else has it checked out. One after another: two that
    /// have the same commit must not both go because the other has it. Blocks.
    ///
    /// # Errors
    /// Something in it would be lost, or git failed or refused.
    pub fn remove(&self) -> Result<(), WorktreeError> {
        let _turn = self.folder.parent().and_then(alone);
        let until = Instant::now() + CHECKOUT;
        let repo = Repo::of(&self.folder, until)?;
        // What is looked at is what goes: a commit that comes meanwhile keeps its branch.
        let at = head(&repo, until)?;
        let why = self.stays_at(&repo, at.as_deref(), until)?;
        if !why.is_empty() {
            return Err(WorktreeError::Stays { name: self.name(), why });
        }
        self.take_away(&repo, at, false, until)
    }

    /// What it holds that may be nowhere else, as one word: another one when any of it is another.
    ///
    /// # Errors
    /// Git failed or is late.
    pub fn mark(&self) -> Result<String, WorktreeError> {
        let until = Instant::now() + LOOK;
        let repo = Repo::of(&self.folder, until)?;
        let mut all = head(&repo, until)?.unwrap_or_default().into_bytes();
        let status = ["status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames", "--ignored=no"];
        for entry in entries(&repo.ask(&status, until)?) {
            let path = OsStr::from_bytes(entry.as_bytes().get(3..).unwrap_or_default());
            all.extend(entry.as_bytes());
            all.extend(format!("{:?}", write::stamp(&self.folder.join(path))).bytes());
        }
        Ok(crate::store::hash(&all))
    }

    /// Removes it with all that is in it, and its branch when that is one of ours: a person has seen what is lost, and said yes.
    /// Gives the commit that it was at, empty where there is none. Blocks.
    ///
    /// # Errors
    /// It holds other things than when it had this mark, it is locked or another repository is in it, or git failed or refused.
    pub fn discard(&self, mark: &str) -> Result<String, WorktreeError> {
        let _turn = self.folder.parent().and_then(alone);
        let until = Instant::now() + CHECKOUT;
        let repo = Repo::of(&self.folder, until)?;
        let at = head(&repo, until)?;
        let why = self.stays_at(&repo, at.as_deref(), until)?;
        // What is in those was not shown.
        let shut: Vec<Reason> =
            why.iter().copied().filter(|why| matches!(why, Reason::Locked | Reason::Nested)).collect();
        if !shut.is_empty() {
            return Err(WorktreeError::Stays { name: self.name(), why: shut });
        }
        if self.mark()? != mark {
            return Err(WorktreeError::Grown { name: self.name(), why });
        }
        self.take_away(&repo, at.clone(), true, until)?;
        Ok(at.unwrap_or_default())
    }

    /// Removes it at this commit.
    fn take_away(&self, repo: &Repo, at: Option<String>, force: bool, until: Instant) -> Result<(), WorktreeError> {
        let ours = on(repo, until)?.filter(|branch| branch.starts_with(BRANCH));
        if head(repo, until)? != at {
            return Err(RepoError::Failed("its HEAD moved meanwhile; look again".into()).into());
        }
        // Without force git looks once more, and refuses what changed meanwhile.
        let args: &[&str] =
            if force { &["worktree", "remove", "--force", "--"] } else { &["worktree", "remove", "--"] };
        let args: Vec<&OsStr> = args.iter().map(OsStr::new).chain([self.folder.as_os_str()]).collect();
        repo.ask_at(&self.repository, &args, until)?;
        let (Some(branch), Some(at)) = (ours, at) else { return Ok(()) };
        let full = format!("refs/heads/{branch}");
        let others = repo.ask_at(&self.repository, &["worktree", "list", "--porcelain", "-z"], until)?;
        let elsewhere = format!("branch {full}");
        if !entries(&others).any(|entry| entry == OsStr::new(&elsewhere)) {
            // Only if it still is where it was looked at.
            let args = ["update-ref", "-d", "--no-deref", &full, &at].map(OsStr::new);
            repo.ask_at(&self.repository, &args, until)?;
        }
        Ok(())
    }
}

/// Entries of ignored folders that are looked at for a repository: builds have many.
const MOST_LOOKED_AT: usize = 20_000;

/// Its commit; `None`: its branch has none.
fn head(repo: &Repo, until: Instant) -> Result<Option<String>, RepoError> {
    match repo.ask(&["rev-parse", "--verify", "--quiet", "HEAD^{commit}"], until) {
        Ok(commit) => Ok(Some(line(commit).to_string_lossy().into_owned())),
        Err(RepoError::Failed(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Commits that would be nowhere else: those of this HEAD, and those of a HEAD that was on no branch when it was left.
fn commits(repo: &Repo, at: Option<&str>, until: Instant) -> Result<Option<Reason>, RepoError> {
    // A branch without a commit has none to lose.
    let Some(at) = at else { return Ok(None) };
    // Whatever it is on now, not what it was on when it was listed.
    let branch = on(repo, until)?;
    let but = branch.as_ref().map(|branch| format!("--exclude={branch}"));
    let count = |commits: &[&str]| {
        let mut args = vec!["rev-list", "--count"];
        args.extend(commits);
        args.push("--not");
        args.extend(but.as_deref());
        args.extend(["--branches", "--remotes", "--tags", "--"]);
        let count = line(repo.ask(&args, until)?);
        count.to_string_lossy().parse::<u64>().map_err(|_| RepoError::Failed("git counted no commits".into()))
    };
    let unmerged = count(&[at])?;
    if unmerged > 0 {
        return Ok(Some(if branch.is_some() { Reason::Unmerged(unmerged) } else { Reason::Detached(unmerged) }));
    }
    let left = left_detached(repo, until)?;
    if left.is_empty() {
        return Ok(None);
    }
    let left = count(&left.iter().map(String::as_str).collect::<Vec<_>>())?;
    Ok((left > 0).then_some(Reason::Detached(left)))
}

/// Commits that HEAD was on, on no branch, when something else was checked out.
fn left_detached(repo: &Repo, until: Instant) -> Result<Vec<String>, RepoError> {
    let log = match repo.ask(&["reflog", "show", "-z", "--format=%gs", "HEAD"], until) {
        Ok(log) => log,
        Err(RepoError::Failed(_)) => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let from = |entry: &OsStr| {
        let entry = entry.to_string_lossy();
        let (from, _) = entry.strip_prefix("checkout: moving from ")?.split_once(" to ")?;
        (matches!(from.len(), 40 | 64) && from.bytes().all(|byte| byte.is_ascii_hexdigit())).then(|| from.to_owned())
    };
    let mut commits: Vec<String> = entries(&log).filter_map(from).collect();
    commits.sort_unstable();
    commits.dedup();
    // One that git has thrown away is lost already.
    commits.retain(|commit| repo.ask(&["cat-file", "-e", &format!("{commit}^{{commit}}")], until).is_ok());
    Ok(commits)
}

/// Files that are there and that git was told not to look at.
fn hidden(repo: &Repo, until: Instant) -> Result<u64, RepoError> {
    let top = PathBuf::from(line(repo.ask(&["rev-parse", "--path-format=absolute", "--show-toplevel"], until)?));
    let files = repo.ask(&["ls-files", "-v", "-z"], until)?;
    let is_hidden = |entry: &&OsStr| {
        let (tag, path) = entry.as_bytes().split_at_checked(2).unwrap_or_default();
        let told = tag.first().is_some_and(|tag| *tag == b'S' || tag.is_ascii_lowercase());
        // A sparse checkout leaves such files out.
        told && top.join(OsStr::from_bytes(path)).symlink_metadata().is_ok()
    };
    Ok(entries(&files).filter(is_hidden).count() as u64)
}

/// Whether a repository is in a folder, as far as so many entries tell.
fn has_repository(folder: &Path, left: &mut usize) -> bool {
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            if entry.file_name() == ".git" {
                return true;
            }
            *left = left.saturating_sub(1);
            if *left == 0 {
                return false;
            }
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                folders.push(entry.path());
            }
        }
    }
    false
}

/// The turn to remove worktrees of this folder, among all programs; `None` where the system has no locks.
fn alone(folder: &Path) -> Option<std::fs::File> {
    let file = std::fs::OpenOptions::new().create(true).append(true).open(folder.join(".lock")).ok()?;
    rustix::fs::flock(&file, rustix::fs::FlockOperation::LockExclusive).ok()?;
    Some(file)
}
