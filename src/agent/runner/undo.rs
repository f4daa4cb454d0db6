//! Undoing what one command changed.

use super::Runner;
use crate::protocol::{AgentEvent, Body, Item, Level, Origin, Rewound, Theirs, UndoOrder};
use crate::store::{Blobs, Rewind};
use crate::tools::file::restore;
use crate::tools::file::restore_target::RestoreTarget;
use crate::tools::spec::GoBack;
use std::path::{Path, PathBuf};

/// Files that the model is told of by name.
const NAMED: usize = 12;
/// What the model goes on with when only the files went back.
const ONLY_FILES: &str = "[The files are as they were at the checkpoint, but the conversation could not be restored: what was \
                          said after it still stands here and no longer describes the files. Read a file before you rely on it.]";

impl Runner {
    /// The conversation follows a checkpoint that a call restored: what came after it is left out, up to the results of
    /// the step that restored it.
    pub(super) async fn go_back(&mut self) {
        let Some(GoBack { to, name, mut note, files }) = self.going_back.take() else { return };
        let items = self.session.context.items();
        let is_tool = |body: &Body| matches!(body, Body::Tool(_));
        let made = items.iter().position(|item| item.id == to);
        // The call that made the checkpoint keeps the results of its step.
        let first = made.and_then(|at| items[at + 1..].iter().find(|item| !is_tool(&item.body))).map(|item| item.id);
        let last = items.iter().rev().find(|item| is_tool(&item.body)).map(|item| item.id);
        let is_step = |item: &&Item| matches!(item.body, Body::Assistant(_)) && last.is_some_and(|last| item.id < last);
        let step = items.iter().rev().find(is_step).map(|item| item.id);
        if let (Some(first), Some(step), Some(last)) = (first, step, last) {
            let left: Vec<Item> = items.iter().filter(|item| first <= item.id && item.id <= last).cloned().collect();
            match self.deps.store.leave_out(&self.session.id, (first, step, last), files).await {
                Ok(()) => {
                    self.outside.forgets(&left);
                    let items = self.look_back().await;
                    self.out.send(AgentEvent::Rewound(Box::new(Rewound { items, prompt: None, taken: None }))).await;
                }
                Err(error) => {
                    ONLY_FILES.clone_into(&mut note);
                    self.notice(Level::Error, format!("the conversation was not restored: {error}")).await;
                }
            }
        }
        self.append(Body::User {
            text: note,
            images: Vec::new(),
            context: String::new(),
            origin: Origin::Program,
            gist: format!("restored the checkpoint {name}"),
        })
        .await;
    }

    /// Puts back what a command changed: all of it, or nothing when one file can't be written.
    pub(super) async fn undo_command(&mut self, order: UndoOrder) {
        if !self.is_quiet("undo the command").await {
            return;
        }
        let id = self.session.id.clone();
        let known = self.deps.store.command(&id, order.command).await;
        let changes = self.deps.store.changes_of(&id, order.command).await;
        let (known, changes) = match (known, changes) {
            (Ok(known), Ok(changes)) => (known, changes),
            (Err(error), _) | (_, Err(error)) => {
                return self.notice(Level::Error, format!("nothing undone: {error}")).await;
            }
        };
        let Some(command) = known else {
            return self.notice(Level::Error, "nothing undone: that command is not in this session").await;
        };
        if changes.is_empty() {
            return self.notice(Level::Info, "nothing to undo: what this command changed is undone already").await;
        }
        let (blobs, ground) = (Blobs::new(self.deps.paths.history()), RestoreTarget::of(&self.deps.backends));
        let paths: Vec<PathBuf> = changes.iter().map(|change| change.path.clone()).collect();
        let restore = move || {
            let backs = restore::undoing(&changes, &blobs, &ground);
            restore::restore_all(&backs, order.theirs == Theirs::Overwrite, &blobs, &ground)
        };
        let done = match tokio::task::spawn_blocking(restore).await {
            Ok(done) => done,
            Err(error) => return self.notice(Level::Error, format!("nothing undone: {error}")).await,
        };
        let paths: Vec<&Path> = paths.iter().map(PathBuf::as_path).collect();
        self.forget_files(&paths, &done, false);
        if !done.failed.is_empty() || done.files.is_empty() {
            return self.report("undone", None, &done).await;
        }
        let names: Vec<String> = done.files.iter().take(NAMED).map(|file| self.shown(&file.path)).collect();
        let more = done.files.len().saturating_sub(NAMED);
        let wanted = Rewind { files: done.files.clone(), command: Some(command.key), ..Rewind::default() };
        if let Err(error) = self.deps.store.rewind(&id, wanted).await {
            let text = format!("the files are restored, but that was not saved: {error}; undo the command again");
            return self.notice(Level::Error, text).await;
        }
        let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
        self.ended.push(format!(
            "[The user undid what this command had changed: {}\nRestored: {}{rest}]",
            command.line,
            names.join(", ")
        ));
        self.report("undone", None, &done).await;
        // Whoever shows what files differ in looks again.
        self.out.send(AgentEvent::ChangedOutside(Vec::new())).await;
        self.sync().await;
    }
}
