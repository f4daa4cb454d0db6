//! Going back to a prompt, taking that back, and going on in a copy of the session.

use super::Runner;
use super::session::PAGE;
use crate::agent::rewind;
use crate::checkpoints::{Shelf, sweep_bases};
use crate::lock::lock;
use crate::protocol::{AgentEvent, Body, Item, ItemId, Level, RewindOrder, Rewound, Theirs};
use crate::store::{Blobs, Rewind};
use crate::text::format::plural;
use crate::tools::file::restore::{self, Restored};
use crate::tools::file::restore_target::RestoreTarget;
use crate::tools::file::write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

impl Runner {
    /// Whether nothing runs and all is in the store, from which the conversation is read again; says so otherwise.
    pub(super) async fn is_quiet(&mut self, what: &str) -> bool {
        if self.turn.is_running() {
            self.notice(Level::Error, format!("a turn is running: stop it first, then {what}")).await;
            return false;
        }
        self.stop_compacting().await;
        let saved = self.save_rest().await;
        if !saved {
            let text = format!("the end of this session is not saved yet: free some space, then {what}");
            self.notice(Level::Error, text).await;
        }
        saved
    }

    /// Goes back to a prompt: files first, so that one that can't be written leaves the conversation as it is.
    pub(super) async fn rewind(&mut self, order: RewindOrder) {
        if !self.is_quiet("rewind").await {
            return;
        }
        let id = self.session.id.clone();
        let since = match self.deps.store.since(&id, order.item).await {
            Ok(since) => since,
            Err(error) => return self.notice(Level::Error, format!("nothing rewound: {error}")).await,
        };
        let Some(first) = since.items.first().cloned() else {
            let text = "nothing rewound: that prompt is no longer in the conversation";
            return self.notice(Level::Error, text).await;
        };
        let mut done = Restored::default();
        if order.files {
            let (blobs, changes) = (Blobs::new(self.deps.paths.history()), since.changes.clone());
            let ground = RestoreTarget::of(&self.deps.backends);
            let restore = move || {
                let backs = restore::undoing(&changes, &blobs, &ground);
                let foreign = restore::foreign(&backs);
                if order.theirs == Theirs::Ask && !foreign.is_empty() {
                    return Err(foreign);
                }
                Ok(restore::restore(&backs, order.theirs == Theirs::Overwrite, &blobs, &ground))
            };
            match tokio::task::spawn_blocking(restore).await {
                Ok(Ok(restored)) => done = restored,
                Ok(Err(foreign)) => {
                    let files = foreign.iter().map(|path| self.shown(path)).collect();
                    return self.out.send(AgentEvent::RewindAsks { order, files }).await;
                }
                Err(error) => return self.notice(Level::Error, format!("nothing rewound: {error}")).await,
            }
        }
        let conversation = order.conversation && done.failed.is_empty();
        let files = done.files.clone();
        if !conversation && files.is_empty() {
            self.notice(Level::Info, "no files restored").await;
            return self.report("rewound", None, &done).await;
        }
        let wanted = Rewind { key: 0, item: order.item, conversation, files, command: None };
        match self.deps.store.rewind(&id, wanted).await {
            Ok(true) => {}
            Ok(false) => {
                // Another program rewound this session meanwhile; the files are as they were before the prompt.
                let paths: Vec<&Path> = since.changes.iter().map(|change| change.path.as_path()).collect();
                self.forget_files(&paths, &done, false);
                self.report("rewound", None, &done).await;
                let text =
                    "the conversation was not rewound: that prompt is no longer in it; resume the session to reload it";
                return self.notice(Level::Error, text).await;
            }
            Err(error) => {
                let text = format!("the conversation was not rewound: {error}; rewind to the same prompt again");
                return self.notice(Level::Error, text).await;
            }
        }
        let paths: Vec<&Path> = since.changes.iter().map(|change| change.path.as_path()).collect();
        if conversation {
            self.outside.forgets(&since.items);
            let page = self.look_back().await;
            self.out.send(AgentEvent::Rewound(Box::new(rewind::prompt(&first, page)))).await;
        }
        self.forget_files(&paths, &done, conversation);
        self.report("rewound", conversation.then_some(rewind::entries(&since.items)), &done).await;
        self.sync().await;
    }

    /// Takes the last rewind back, as long as nothing was said since.
    pub(super) async fn redo(&mut self) {
        if !self.is_quiet("redo").await {
            return;
        }
        let id = self.session.id.clone();
        let last = if self.session.created { self.deps.store.last_rewind(&id).await } else { Ok(None) };
        let last = match last {
            Ok(Some(last)) => last,
            Ok(None) => {
                let text = "nothing to redo: nothing was rewound, or you sent a prompt since";
                return self.notice(Level::Info, text).await;
            }
            Err(error) => return self.notice(Level::Error, format!("nothing redone: {error}")).await,
        };
        let (blobs, files) = (Blobs::new(self.deps.paths.history()), last.files.clone());
        let ground = RestoreTarget::of(&self.deps.backends);
        let restore = move || {
            let backs = restore::redoing(&files, &blobs, &ground);
            let foreign = restore::foreign(&backs);
            // All or nothing: a file that is left out now could never be redone.
            if foreign.is_empty() { Ok(restore::restore_all(&backs, false, &blobs, &ground)) } else { Err(foreign) }
        };
        let done = match tokio::task::spawn_blocking(restore).await {
            Ok(Ok(done)) => done,
            Ok(Err(foreign)) => {
                let names: Vec<String> = foreign.iter().map(|path| self.shown(path)).collect();
                let text = format!("nothing redone; these changed elsewhere since: {}", names.join(", "));
                return self.notice(Level::Error, text).await;
            }
            Err(error) => return self.notice(Level::Error, format!("nothing redone: {error}")).await,
        };
        if !done.failed.is_empty() {
            return self.report("redone", None, &done).await;
        }
        if let Err(error) = self.deps.store.redo(&id, last.key).await {
            return self.notice(Level::Error, format!("the conversation was not redone: {error}; try again")).await;
        }
        if last.is_restore() {
            // The restore wrote its changes down; that they are taken back is one more change.
            let again = last.files.iter().map(|file| crate::store::FileChange {
                turn: self.session.turn,
                at: crate::agent::now(),
                call: String::new(),
                place: file.place.clone(),
                path: file.path.clone(),
                before: file.became.clone(),
                size: 0,
                after: file.was.clone(),
                command: None,
            });
            if let Err(error) = self.deps.store.record_changes(&id, again.collect()).await {
                tracing::warn!(%error, "a restore that was taken back is not in the file history");
            }
        }
        let mut back = None;
        if last.conversation {
            let items = self.look_back().await;
            let from = self.session.context.items().partition_point(|item| item.id < last.item);
            let again = &self.session.context.items()[from..];
            back = Some(rewind::entries(again));
            let taken = again.first().and_then(|item| match &item.body {
                Body::User { text, .. } => Some(text.clone()),
                Body::Assistant(_) | Body::Tool(_) | Body::Summary(_) | Body::Note { .. } => None,
            });
            self.out.send(AgentEvent::Rewound(Box::new(Rewound { items, prompt: None, taken }))).await;
        }
        let paths: Vec<&Path> = last.files.iter().map(|file| file.path.as_path()).collect();
        self.forget_files(&paths, &done, true);
        self.report("redone", back, &done).await;
        self.sync().await;
    }

    /// Reads the conversation again as it is in the store now: context, plan, meter. Returns its newest page.
    pub(super) async fn look_back(&mut self) -> Vec<Item> {
        let id = self.session.id.clone();
        let items = match self.deps.store.all_items(&id).await {
            Ok(items) => items,
            Err(error) => {
                self.notice(Level::Error, format!("could not reload the conversation: {error}")).await;
                Vec::new()
            }
        };
        if let Some(plan) = rewind::plan(&items) {
            self.handle.restore_plan(plan.clone());
            if let Ok(json) = serde_json::to_value(&plan) {
                self.keep("plan", json).await;
            }
            self.out.send(AgentEvent::PlanChanged(plan)).await;
        }
        self.session.replace_context(items);
        let meter = self.session.meter();
        self.out.send(AgentEvent::UsageChanged(meter)).await;
        match self.deps.store.older(&id, ItemId(i64::MAX), PAGE).await {
            Ok(page) => page.items,
            Err(_) => self.session.context.items().to_vec(),
        }
    }

    /// What the model knew of files may no longer hold: it may read them again, and hears of it before it writes one.
    pub(super) fn forget_files(&mut self, paths: &[&Path], done: &Restored, in_step: bool) {
        // What was left as it is may hold the work of others, and is theirs to tell.
        let ours: Vec<PathBuf> = done.files.iter().map(|file| file.path.clone()).collect();
        let workspace = Arc::clone(&self.session.workspace);
        self.outside.owns(&ours);
        let by = self.outside.listener();
        tokio::task::spawn_blocking(move || workspace.ours(&ours, by));
        let mut ledger = lock(&self.session.files);
        ledger.forget_reads();
        for path in paths {
            // Files and conversation went back together: the model knows this state.
            let known = in_step && done.files.iter().any(|file| file.path == *path && file.place.is_empty());
            if known {
                ledger.wrote(path, write::stamp(path));
            } else {
                ledger.seen.insert(path.to_path_buf(), (0, 0));
            }
        }
    }

    /// A path as people read it: below the folder of the session where it lies there.
    pub(super) fn shown(&self, path: &Path) -> String {
        let cwd = lock(&self.session.cwd).clone();
        let folders = [cwd.as_path(), self.session.workspace.root()];
        let below = folders.iter().find_map(|folder| path.strip_prefix(folder).ok());
        below.unwrap_or(path).display().to_string()
    }

    pub(super) async fn report(&mut self, word: &str, items: Option<usize>, done: &Restored) {
        let mut parts = Vec::new();
        if let Some(items) = items {
            parts.push(plural(items as u64, "entry", "entries"));
        }
        if done.count() > 0 {
            parts.push(plural(done.count() as u64, "file", "files"));
        }
        if !parts.is_empty() {
            self.notice(Level::Info, format!("{word}: {}", parts.join(", "))).await;
        }
        if !done.left.is_empty() {
            let names: Vec<String> = done.left.iter().map(|path| self.shown(path)).collect();
            let text = format!("skipped, changed elsewhere: {}", names.join(", "));
            self.notice(Level::Warning, text).await;
        }
        for (path, why) in &done.lost {
            self.notice(Level::Warning, format!("could not restore {}: {why}", self.shown(path))).await;
        }
        for (path, why) in &done.failed {
            let text = format!("could not write {}: {why}; the conversation is unchanged", self.shown(path));
            self.notice(Level::Error, text).await;
        }
    }

    /// Once in a run, after a turn: what the history keeps too long or too much of goes.
    pub(super) fn sweep_history(&mut self) {
        if std::mem::replace(&mut self.swept, true) {
            return;
        }
        let (blobs, most) = (Blobs::new(self.deps.paths.history()), self.deps.loaded.config.checkpoints.budget_bytes);
        let shelf = Shelf::new(&self.deps.paths.home);
        let (store, days) = (self.deps.store.clone(), i64::from(self.deps.loaded.config.sessions.trash_days));
        if days > 0 {
            tokio::spawn(async move {
                if let Err(error) = store.empty_trash(crate::agent::now() - days * 24 * 3_600_000).await {
                    tracing::warn!(%error, "could not empty the trash");
                }
            });
        }
        let (store, paths) = (self.deps.store.clone(), self.deps.paths.clone());
        tokio::spawn(async move {
            if let Ok(needed) = store.bases().await {
                tokio::task::spawn_blocking(move || sweep_bases(&paths, &needed));
            }
        });
        tokio::task::spawn_blocking(move || {
            shelf.hold(&blobs);
            if let Err(error) = blobs.sweep(most) {
                tracing::warn!(%error, "could not prune the file history");
            }
        });
    }
}
