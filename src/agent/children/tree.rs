//! The git worktree of a child: made before it begins, removed at its end when nothing is in it.

use super::Now;
use crate::agent::worktree::{Reason, Worktree, WorktreeError, Worktrees};
use crate::config::Isolation;
use crate::protocol::{ChildTree, Mode, SessionId};
use crate::tools::builtin::terminal;
use crate::tools::children::{LeftWorktree, Task};
use std::path::PathBuf;

/// Toolsets that change files.
const WRITE: [&str; 2] = ["file", terminal::NAME];
/// Characters of the id of a parent that the name of a worktree ends with.
const ID: usize = 6;

/// Where a child works.
#[derive(Debug, Default)]
pub struct Place {
    pub tree: Option<Worktree>,
    /// Its working folder; `None`: that of its parent.
    pub cwd: Option<PathBuf>,
    /// Why it has no worktree though the settings want one.
    pub note: String,
}

/// Whether a child gets a worktree: it may write, and the call or the settings say so.
pub fn wants(task: &Task, now: &Now) -> bool {
    let toolsets = if task.toolsets.is_empty() { &now.toolsets } else { &task.toolsets };
    let may_write = now.mode != Mode::Plan && toolsets.iter().any(|name| WRITE.contains(&name.as_str()));
    may_write && task.isolation.unwrap_or(now.config.isolation) == Isolation::Worktree
}

/// Makes the place of a child with this number.
///
/// # Errors
/// It was to have a worktree, and there is none.
pub async fn place(task: Task, now: Now, parent: SessionId, number: u64) -> Result<Place, String> {
    if !wants(&task, &now) {
        return Ok(Place::default());
    }
    let failed = |why: String| {
        let why = format!("no worktree: {why}");
        // Where only the settings want it, work goes on as if they did not.
        match task.isolation {
            Some(_) => Err(why),
            None => Ok(Place { note: format!("{why}; it worked in your folder"), ..Place::default() }),
        }
    };
    let Some(all) = now.worktrees.clone() else {
        return failed("the session works on another machine".into());
    };
    let from = parent.0.char_indices().rev().nth(ID - 1).map_or(0, |(at, _)| at);
    let name = format!("{}-{number}", &parent.0[from..]);
    let cwd = now.cwd.clone();
    let made = tokio::task::spawn_blocking(move || make(&all, &cwd, &name)).await;
    match made.map_err(|error| error.to_string())? {
        Ok(place) => Ok(place),
        Err(error @ (WorktreeError::Nowhere(_) | WorktreeError::Unborn | WorktreeError::Bare(_))) => {
            failed(error.to_string())
        }
        Err(error) => Err(format!("no worktree: {error}")),
    }
}

fn make(all: &Worktrees, cwd: &std::path::Path, name: &str) -> Result<Place, WorktreeError> {
    let tree = all.make_free(cwd, name)?;
    // The same folder below the top, where the last commit has it.
    let real = cwd.canonicalize().unwrap_or_else(|_| cwd.to_owned());
    let top = real.ancestors().find(|folder| folder.join(".git").exists()).unwrap_or(&real);
    let inside = tree.folder.join(real.strip_prefix(top).unwrap_or(std::path::Path::new("")));
    let cwd = if inside.is_dir() { inside } else { tree.folder.clone() };
    Ok(Place { tree: Some(tree), cwd: Some(cwd), note: String::new() })
}

/// What the prompt of a child says of its worktree.
pub fn words(tree: &Worktree) -> String {
    let (folder, project) = (tree.folder.display(), tree.project().display());
    let branch = tree.branch.as_deref().unwrap_or_default();
    format!(
        "\n\n# Where you work\nYou have a git worktree that nobody else changes: {folder}, on branch {branch}, from the last \
         commit of {project}. Work only there. Before you end, commit all that is to be kept (git add, git commit): \
         what is in no commit can't be merged."
    )
}

/// What the row of a child says of its worktree.
pub fn row(tree: &Worktree) -> ChildTree {
    ChildTree { branch: tree.branch.clone().unwrap_or_default(), folder: tree.folder.display().to_string() }
}

/// The same of one that stays.
pub fn left_row(left: &LeftWorktree) -> ChildTree {
    ChildTree { branch: left.branch.clone(), folder: left.folder.display().to_string() }
}

/// A child has ended: its worktree goes when nothing is in it. What stays is told, and so is what can't be known.
pub async fn left(tree: Worktree) -> Option<LeftWorktree> {
    let look = move || {
        let has = match tree.remove() {
            Ok(()) => return None,
            Err(WorktreeError::Stays { why, .. }) => why,
            Err(error) => {
                tracing::warn!("a worktree could not be looked at: {error}");
                let has = vec![error.to_string()];
                return Some(LeftWorktree { has, uncommitted: true, ..of(&tree) });
            }
        };
        let uncommitted = has.iter().any(|why| matches!(why, Reason::Uncommitted(_) | Reason::Untracked(_)));
        let has = has.iter().map(ToString::to_string).collect();
        Some(LeftWorktree { has, uncommitted, changes: tree.changes().unwrap_or_default(), ..of(&tree) })
    };
    tokio::task::spawn_blocking(look).await.ok().flatten()
}

fn of(tree: &Worktree) -> LeftWorktree {
    let branch = tree.branch.clone().unwrap_or_default();
    LeftWorktree { branch, folder: tree.folder.clone(), ..LeftWorktree::default() }
}
