//! `hermes worktrees`: the worktrees of sessions, what is in each, and removing one in which nothing is.

use super::windows::Window;
use super::{ChatArgs, windows};
use crate::agent::worktree::{self, Worktree, Worktrees};
use crate::config::Paths;
use crate::text::visible::visible;
use anyhow::bail;
use clap::{Args, Subcommand};
use serde_json::{Value, json};
use std::io::Write;
use std::path::Path;

/// Arguments of `hermes worktrees`.
#[derive(Args, Clone, Debug)]
pub struct WorktreesArgs {
    #[command(subcommand)]
    command: Command,
}

#[derive(Clone, Debug, Subcommand)]
enum Command {
    /// List the worktrees, with what keeps each
    List {
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Remove a worktree and its branch; refused while something in it is nowhere else
    Remove {
        /// As `list` shows it, or its branch
        name: String,
    },
}

/// Lists the worktrees, or removes one.
///
/// # Errors
/// There is no such worktree, something keeps it, or `out` can't be written.
pub fn run(args: &WorktreesArgs, paths: &Paths, out: &mut dyn Write) -> anyhow::Result<i32> {
    let all = Worktrees::of(paths);
    match &args.command {
        Command::List { json } => list(&all.list(), &windows::all(paths), *json, out)?,
        Command::Remove { name } => {
            let tree = all.named(name)?;
            if let Some(session) = open_in(&windows::all(paths), &tree) {
                bail!("{} stays: {session}; close it first", tree.name());
            }
            tree.remove()?;
            writeln!(out, "removed {}", plain(&tree.name()))?;
        }
    }
    Ok(0)
}

fn list(all: &[Worktree], open: &[Window], as_json: bool, out: &mut dyn Write) -> anyhow::Result<()> {
    if as_json {
        let rows: Vec<Value> = all.iter().map(|tree| row(tree, open)).collect();
        writeln!(out, "{}", serde_json::to_string_pretty(&json!({"version": 1, "worktrees": rows}))?)?;
        return Ok(());
    }
    if all.is_empty() {
        writeln!(out, "no worktrees; `hermes --worktree` starts a session in one")?;
    }
    for tree in all {
        let branch = tree.branch.as_deref().map_or("on no branch".into(), |branch| format!("branch {branch}"));
        writeln!(out, "{}  {}", plain(&tree.name()), plain(&branch))?;
        writeln!(out, "    of {} in {}", plain(&shown(tree.project())), plain(&shown(&tree.folder)))?;
        let kept = keeps(tree, open);
        if kept.is_empty() {
            writeln!(out, "    nothing in it: can be removed")?;
        } else {
            writeln!(out, "    stays: {}", plain(&kept.join(", ")))?;
        }
    }
    Ok(())
}

fn row(tree: &Worktree, open: &[Window]) -> Value {
    json!({
        "name": tree.name(),
        "branch": tree.branch,
        "folder": shown(&tree.folder),
        "project": shown(tree.project()),
        "stays": keeps(tree, open),
    })
}

/// Why it stays, in words; empty: it can be removed.
fn keeps(tree: &Worktree, open: &[Window]) -> Vec<String> {
    let mut why: Vec<String> = open_in(open, tree).into_iter().collect();
    match tree.stays() {
        Ok(reasons) => why.extend(reasons.iter().map(ToString::to_string)),
        Err(error) => why.push(format!("what is in it can't be known: {error}")),
    }
    why
}

/// A session of an open window that works in it, in words.
fn open_in(open: &[Window], tree: &Worktree) -> Option<String> {
    let mut sessions = open.iter().flat_map(|window| &window.sessions);
    let found = sessions.find(|session| Path::new(&session.cwd).starts_with(&tree.folder))?;
    Some(format!("the session “{}” is open in it", found.title.as_deref().unwrap_or(&found.session.0)))
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

/// One line without sequences of a terminal.
fn plain(text: &str) -> String {
    visible(text).text
}

/// For `--worktree`: the conversation works in a worktree of the repository that it was started in, a new one unless there
/// is one of that name.
///
/// # Errors
/// There is no worktree.
pub fn begin(args: &mut ChatArgs) -> anyhow::Result<Option<Worktree>> {
    let Some(name) = args.worktree.take() else { return Ok(None) };
    let all = Worktrees::of(&super::setup::paths()?);
    let at = match &args.cwd {
        Some(cwd) => cwd.canonicalize()?,
        None => std::env::current_dir()?,
    };
    let tree = match all.of_repository(&at, &name) {
        Some(tree) => tree,
        None if name.is_empty() => all.make_free(&at, &worktree::stamp())?,
        None => all.make(&at, &name)?,
    };
    if args.print.is_some() || args.plain {
        let branch = tree.branch.as_deref().unwrap_or_default();
        writeln!(std::io::stderr(), "hermes: works in {} on branch {}", plain(&shown(&tree.folder)), plain(branch))?;
    }
    args.cwd = Some(tree.folder.clone());
    Ok(Some(tree))
}

/// Its conversation ended: the worktree goes when nothing is in it, else it is said where it stays.
///
/// # Errors
/// Standard error can't be written.
pub fn end(tree: &Worktree) -> anyhow::Result<()> {
    if open_in(&windows::all(&super::setup::paths()?), tree).is_some() {
        return Ok(());
    }
    let said = match tree.remove() {
        Ok(()) => "nothing in it: removed".to_owned(),
        Err(error) => error.to_string(),
    };
    writeln!(std::io::stderr(), "hermes: worktree {}: {}", plain(&shown(&tree.folder)), plain(&said))?;
    Ok(())
}
