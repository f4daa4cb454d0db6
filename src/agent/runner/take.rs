//! Taking changes of a git worktree into the folder of the session: through the file history, so that a rewind or
//! `/undo-command` takes them back.

use super::Runner;
use crate::agent::worktree::{Plan, WorktreeError, Worktrees};
use crate::lock::lock;
use crate::protocol::{AgentEvent, Body, Level, NoteKind, TakeOrder, Taken};
use crate::store::{Blobs, Command, FileChange};
use crate::text::format::plural;
use crate::tools::file::restore;
use crate::tools::file::restore_target::RestoreTarget;
use std::path::{Path, PathBuf};

/// Files that a line names.
const NAMED: usize = 8;

impl Runner {
    /// Takes what a person chose. What does not fit onto what stands there is left, and said.
    pub(super) async fn take(&mut self, order: TakeOrder) {
        let folder = order.folder.clone();
        match self.taken(order).await {
            Ok(taken) => self.out.send(AgentEvent::Taken(taken)).await,
            Err(why) => {
                if !why.is_empty() {
                    self.notice(Level::Error, format!("nothing taken: {why}")).await;
                }
                self.out.send(AgentEvent::Taken(Taken { folder, ..Taken::default() })).await;
            }
        }
    }

    /// An empty error was told already.
    async fn taken(&mut self, order: TakeOrder) -> Result<Taken, String> {
        if !self.is_quiet("take the changes").await {
            return Err(String::new());
        }
        if self.deps.backends.current().is_some() {
            return Err("this session works on another machine; switch with /backend local first".into());
        }
        let cwd = lock(&self.session.cwd).clone();
        let (all, blobs) = (Worktrees::of(&self.deps.paths), Blobs::new(self.deps.paths.history()));
        let (folder, history) = (PathBuf::from(&order.folder), blobs.clone());
        let plan = move || {
            let tree = all.at(&folder)?;
            let root = tree.target(&cwd)?;
            let plan = tree.plan(&order, &root, &history)?;
            let branch = tree.branch.clone().unwrap_or_else(|| tree.name());
            Ok::<(Plan, String, TakeOrder), WorktreeError>((plan, branch, order))
        };
        let planned = tokio::task::spawn_blocking(plan).await.map_err(|error| error.to_string())?;
        let (plan, branch, order) = planned.map_err(|error| error.to_string())?;
        let Plan { backs, files, mut left } = plan;
        if backs.is_empty() {
            return Ok(Taken { folder: order.folder, files, left });
        }
        // Written down before anything is written, as the file tools do it.
        self.create_once().await;
        let line = format!("take from {branch}: {}", named(&files));
        let (turn, at) = (self.session.turn, crate::agent::now());
        let call = format!("take-{at}");
        let change = |back: &restore::Back| FileChange {
            turn,
            at,
            call: call.clone(),
            place: String::new(),
            path: back.path.clone(),
            before: back.left.clone(),
            size: std::fs::symlink_metadata(&back.path).map_or(0, |about| about.len()),
            after: back.target.clone(),
            command: None,
        };
        let changes: Vec<FileChange> = backs.iter().map(change).collect();
        let command = Command { turn, at, call: call.clone(), line, ..Command::default() };
        let kept = self.deps.store.record_command(&self.session.id, command, changes).await;
        kept.map_err(|error| format!("the file history can't take it: {error}"))?;
        let paths: Vec<PathBuf> = backs.iter().map(|back| back.path.clone()).collect();
        let ground = RestoreTarget::default();
        let write = move || restore::restore_all(&backs, false, &blobs, &ground);
        let done = tokio::task::spawn_blocking(write).await.map_err(|error| error.to_string())?;
        let paths: Vec<&Path> = paths.iter().map(PathBuf::as_path).collect();
        self.forget_files(&paths, &done, false);
        if !done.failed.is_empty() {
            left.extend(done.failed.iter().map(|(path, why)| (self.shown(path), why.clone())));
            return Ok(Taken { folder: order.folder, files: Vec::new(), left });
        }
        let what = format!("{} from {branch}: {}", plural(files.len() as u64, "file", "files"), named(&files));
        self.ended.push(format!("[The user took changes of a worktree into this folder, {what}]"));
        self.append(Body::Note { kind: NoteKind::Info, text: format!("took {what}") }).await;
        // Whoever shows what files differ in looks again.
        self.out.send(AgentEvent::ChangedOutside(Vec::new())).await;
        self.sync().await;
        Ok(Taken { folder: order.folder, files, left })
    }
}

fn named(files: &[String]) -> String {
    let names = files.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    match files.len().saturating_sub(NAMED) {
        0 => names,
        more => format!("{names} and {more} more"),
    }
}
