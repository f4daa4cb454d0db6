//! Several sessions in one checkout: who they are, a worktree for one of them, what one holds; and the sessions of other windows.

use super::Context;
use super::loads::Facts;
use crate::agent::worktree::{self, Worktree, WorktreeError, Worktrees};
use crate::app::model::tab::Neighbours;
use crate::app::msg::OtherSession;
use crate::protocol::{SessionId, TreeChanges, TreeHunks, WindowSession, WindowStatus};
use std::path::{Path, PathBuf};

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

/// A folder by its whole path: before a session is open it is known as the current one.
fn whole(folder: &Path) -> PathBuf {
    folder.canonicalize().unwrap_or_else(|_| folder.to_owned())
}

/// The worktree with a name, branch or folder.
fn find(all: &Worktrees, wanted: &str) -> Result<Worktree, WorktreeError> {
    if Path::new(wanted).is_absolute() { all.at(Path::new(wanted)) } else { all.named(wanted) }
}

fn ground(context: &Context) -> Result<Worktrees, String> {
    match context.backends.current() {
        Some(_) => Err("this session works on another machine, and worktrees are on this one".into()),
        None => Ok(Worktrees::of(&context.paths)),
    }
}

/// Looks off the async threads.
async fn look<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, WorktreeError> + Send + 'static,
) -> Result<T, String> {
    let looked = tokio::task::spawn_blocking(work).await.map_err(|error| error.to_string())?;
    looked.map_err(|error| error.to_string())
}

/// What a worktree holds that the checkout of the session in view does not.
pub async fn changes(context: &Context, facts: &Facts, wanted: String) -> Result<Box<TreeChanges>, String> {
    let (all, cwd) = (ground(context)?, whole(&facts.cwd));
    let names = move |all: &Worktrees| -> String {
        let names: Vec<String> = all.list().iter().map(Worktree::name).collect();
        if names.is_empty() { String::new() } else { format!("; there are {}", names.join(", ")) }
    };
    let work = move || match find(&all, &wanted) {
        Ok(tree) => Ok(Ok(Box::new(tree.differs(&tree.target(&cwd)?)?))),
        Err(WorktreeError::Unknown(name)) => Ok(Err(format!("there is no worktree {name}{}", names(&all)))),
        Err(error) => Err(error),
    };
    look(work).await?
}

/// The hunks of one of its files.
pub async fn hunks(
    context: &Context,
    facts: &Facts,
    (folder, base, path, from): (String, String, String, Option<String>),
) -> Result<Box<TreeHunks>, String> {
    let (all, cwd) = (ground(context)?, whole(&facts.cwd));
    look(move || {
        let tree = all.at(Path::new(&folder))?;
        tree.hunks(&tree.target(&cwd)?, &base, &path, from.as_deref()).map(Box::new)
    })
    .await
}

/// Removes a worktree with all that is in it, after the yes of the person. One that a session works in stays.
pub async fn dropped(context: &Context, folder: String, mark: String) -> Result<String, String> {
    let all = ground(context)?;
    let engine = context.engine.clone();
    let work = move || {
        let tree = all.at(Path::new(&folder))?;
        if let Some(session) = engine.open_in(&tree.folder) {
            return Ok(Err(format!("{} stays: the session “{session}” is open in it; close it first", tree.name())));
        }
        let at = tree.discard(&mark)?;
        let short: String = at.chars().take(10).collect();
        let what = tree.branch.clone().unwrap_or_else(|| tree.name());
        Ok(Ok(format!("removed {what}; its last commit was {short}")))
    };
    look(work).await?
}

/// The sessions that are open in other windows of this home.
pub async fn others(context: &Context) -> Vec<OtherSession> {
    let engine = context.engine.clone();
    let work = move || {
        let window = |(status, sessions): (WindowStatus, Vec<WindowSession>)| {
            let terminal = terminal_of(status.pid);
            sessions.into_iter().map(move |session| OtherSession {
                session,
                pid: status.pid,
                terminal: terminal.clone(),
            })
        };
        engine.other_windows().into_iter().flat_map(window).collect()
    };
    // A task that was ended with the program is missed by nobody.
    tokio::task::spawn_blocking(work).await.unwrap_or_default()
}

/// The terminal that a process reads from; empty where that can't be known.
fn terminal_of(pid: u32) -> String {
    let link = std::fs::read_link(format!("/proc/{pid}/fd/0")).unwrap_or_default();
    if link.starts_with("/dev/") && link != Path::new("/dev/null") { link.display().to_string() } else { String::new() }
}

/// Shows a session in the window that it is open in.
pub async fn focused(context: &Context, session: SessionId) -> Result<(), String> {
    let engine = context.engine.clone();
    let work = move || engine.focus_elsewhere(&session);
    tokio::task::spawn_blocking(work).await.map_err(|error| error.to_string())?
}
