//! Why a worktree must stay, and its removal when nothing says so: never by force.

use super::{BRANCH, CHECKOUT, LOOK, Worktree, WorktreeError, entries, line, on};
use crate::exec::{Repo, RepoError};
use crate::text::format::plural;
use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
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
        why.extend(self.commits(&repo, until)?);
        let own = PathBuf::from(line(repo.ask(&["rev-parse", "--path-format=absolute", "--git-dir"], until)?));
        why.extend(UNFINISHED.iter().any(|name| own.join(name).exists()).then_some(Reason::Unfinished));
        why.extend(own.join("modules").exists().then_some(Reason::Submodules));
        why.extend(own.join("locked").exists().then_some(Reason::Locked));
        Ok(why)
    }

    /// Commits that would be nowhere else.
    fn commits(&self, repo: &Repo, until: Instant) -> Result<Option<Reason>, RepoError> {
        let head = repo.ask(&["rev-parse", "--verify", "--quiet", "HEAD^{commit}"], until);
        if matches!(head, Err(RepoError::Failed(_))) {
            // A branch without a commit has none to lose.
            return Ok(None);
        }
        head?;
        // Whatever it is on now, not what it was on when it was listed.
        let branch = on(repo, until)?;
        let but = branch.as_ref().map(|branch| format!("--exclude={branch}"));
        let mut args = vec!["rev-list", "--count", "HEAD", "--not"];
        args.extend(but.as_deref());
        args.extend(["--branches", "--remotes", "--tags", "--"]);
        let count = line(repo.ask(&args, until)?);
        let count = count.to_string_lossy().parse().map_err(|_| RepoError::Failed("git counted no commits".into()))?;
        Ok((count > 0).then_some(if branch.is_some() { Reason::Unmerged(count) } else { Reason::Detached(count) }))
    }

    /// Removes it, and its branch when that is one of ours and nothing else has it checked out. Blocks.
    ///
    /// # Errors
    /// Something in it would be lost, or git failed or refused.
    pub fn remove(&self) -> Result<(), WorktreeError> {
        let why = self.stays()?;
        if !why.is_empty() {
            return Err(WorktreeError::Stays { name: self.name(), why });
        }
        let until = Instant::now() + CHECKOUT;
        let repo = Repo::of(&self.folder, until)?;
        let ours = on(&repo, until)?.filter(|branch| branch.starts_with(BRANCH));
        let at = repo.ask(&["rev-parse", "--verify", "--quiet", "HEAD^{commit}"], until).map(line).unwrap_or_default();
        // Git looks once more, and refuses what changed meanwhile.
        let args = ["worktree", "remove", "--"].map(OsStr::new);
        repo.ask_at(&self.repository, &[&args[..], &[self.folder.as_os_str()]].concat(), until)?;
        let Some(branch) = ours.filter(|_| !at.is_empty()) else { return Ok(()) };
        let full = format!("refs/heads/{branch}");
        let others = repo.ask_at(&self.repository, &["worktree", "list", "--porcelain", "-z"], until)?;
        let elsewhere = format!("branch {full}");
        if !entries(&others).any(|entry| entry == OsStr::new(&elsewhere)) {
            // Only if it still is where it was looked at.
            let args = ["update-ref", "-d", "--no-deref", &full].map(OsStr::new);
            repo.ask_at(&self.repository, &[&args[..], &[at.as_os_str()]].concat(), until)?;
        }
        Ok(())
    }
}
