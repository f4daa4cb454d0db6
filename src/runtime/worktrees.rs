//! Several sessions in one checkout: who they are, and a worktree for one of them.

use super::Context;
use super::loads::Facts;
use crate::agent::worktree::{self, Worktrees};
use crate::app::model::tab::Neighbours;
use crate::protocol::{SessionId, WindowSession};
use std::path::Path;

/// Who else works in the checkout of the session in view, without one that is about to close.
pub async fn neighbours(context: &Context, facts: &Facts, except: Option<SessionId>) -> Option<Neighbours> {
    let session = facts.session.as_ref()?.id.clone();
    // Another machine's folders are not ours to compare.
    if context.backends.current().is_some() {
        return None;
    }
    let (engine, cwd) = (context.engine.clone(), facts.cwd.clone());
    let (checkout, found) = tokio::task::spawn_blocking(move || engine.neighbours(&session, &cwd)).await.ok()??;
    let stays = |other: &WindowSession| Some(&other.session) != except.as_ref();
    let name = |other: WindowSession| other.title.unwrap_or(other.session.0);
    Some(Neighbours { checkout, names: found.into_iter().filter(stays).map(name).collect() })
}

/// A worktree of a checkout, on a branch of its own from the last commit: folder and branch.
pub async fn made(context: &Context, checkout: String, name: Option<String>) -> Result<(String, String), String> {
    if context.backends.current().is_some() {
        return Err("this session works on another machine, and worktrees are made on this one".into());
    }
    let all = Worktrees::of(&context.paths);
    let work = move || match name {
        Some(name) => all.make(Path::new(&checkout), &name),
        None => all.make_free(Path::new(&checkout), &worktree::stamp()),
    };
    let made = tokio::task::spawn_blocking(work).await.map_err(|error| error.to_string())?;
    let tree = made.map_err(|error| error.to_string())?;
    Ok((tree.folder.display().to_string(), tree.branch.unwrap_or_default()))
}
