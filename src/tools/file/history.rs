//! Files as they were: kept before a file tool changes them, at the one place that all file tools go through.

use super::commands::Unended;
use super::edit::{After, Change};
use super::restore_target::{Now, RestoreTarget};
use crate::checkpoints::Workspace;
use crate::policy::redact::Secrets;
use crate::protocol::{ItemId, SessionId};
use crate::store::{Blobs, FileChange, FileState, LARGEST, Store, hash};
use std::path::PathBuf;
use std::sync::Arc;

/// Where the files of a session are kept, and for which turn.
#[derive(Clone)]
pub struct FileHistory {
    pub store: Store,
    pub blobs: Blobs,
    pub session: SessionId,
    pub turn: u32,
    /// Where the files are that are changed now.
    pub ground: RestoreTarget,
    /// The folder of the session on this machine: commands that run there are told apart from file tools.
    pub workspace: Arc<Workspace>,
    /// Who of those that listen there makes the changes.
    pub listener: Option<u32>,
    /// The home, where named checkpoints are.
    pub home: PathBuf,
    /// The last item of the conversation.
    pub item: ItemId,
    /// What is masked in the command lines that are kept; `None`: nothing.
    pub secrets: Option<Secrets>,
    /// Commands that run on after their calls.
    pub unended: Unended,
}

/// What was written down for one call.
#[derive(Default)]
pub struct Kept {
    rows: Vec<(i64, FileChange)>,
    store: Option<Store>,
    ground: RestoreTarget,
    workspace: Option<Arc<Workspace>>,
    listener: Option<u32>,
    /// The history took none or not all of it.
    pub failed: bool,
}

impl Kept {
    /// The call failed: what it did not do after all is forgotten; a file that stayed changed keeps its row.
    pub async fn forget(self) {
        let Some(store) = self.store else { return };
        let (rows, ground) = (self.rows, self.ground);
        let look = move || -> Vec<i64> {
            let as_it_was = |change: &FileChange| {
                ground.look(&change.place, &change.path).hash() == Some(change.before.hash.clone())
            };
            rows.iter().filter(|(_, change)| as_it_was(change)).map(|(key, _)| *key).collect()
        };
        let Ok(keys) = crate::tools::blocking(look).await else { return };
        if let Err(error) = store.forget_changes(keys).await {
            tracing::warn!(%error, "a change that was not made remains in the history");
        }
    }
}

impl Kept {
    /// The changes are made: no command that runs made them.
    pub async fn made(&self) {
        let Some(workspace) = self.workspace.clone() else { return };
        let paths: Vec<PathBuf> = self.rows.iter().map(|(_, change)| change.path.clone()).collect();
        let by = self.listener;
        if crate::tools::blocking(move || workspace.ours(&paths, by)).await.is_err() {
            tracing::warn!("a change of a file tool may be taken for that of a command");
        }
    }

    /// A formatter changed these files after the edit: what it left is ours too, and not somebody else's work.
    pub async fn settle(&self, changed: &[PathBuf]) {
        let Some(store) = &self.store else { return };
        let rows: Vec<_> = self.rows.iter().filter(|(_, change)| changed.contains(&change.path)).cloned().collect();
        let ground = self.ground.clone();
        let look = move || -> Vec<(i64, String)> {
            let moved = rows.into_iter().filter_map(|(key, change)| match ground.look(&change.place, &change.path) {
                Now::File { hash, .. } if change.after.hash.as_ref().is_some_and(|after| *after != hash) => {
                    Some((key, hash))
                }
                _ => None,
            });
            moved.collect()
        };
        let Ok(moved) = crate::tools::blocking(look).await else { return };
        if let Err(error) = store.settle_changes(moved).await {
            tracing::warn!(%error, "a formatter's change will look like an outside change");
        }
    }
}

/// Keeps the bytes and modes that `changes` are about to replace. What fails is told in the result, and stops nothing.
pub async fn keep(history: Option<&FileHistory>, call: &str, changes: &Arc<Vec<Change>>) -> Kept {
    let Some(history) = history.cloned() else { return Kept::default() };
    let (call, changes) = (call.to_owned(), Arc::clone(changes));
    let (blobs, turn, ground) = (history.blobs, history.turn, history.ground.clone());
    let (workspace, listener) = (Arc::clone(&history.workspace), history.listener);
    let written = crate::tools::blocking(move || {
        workspace.before();
        let rows: Vec<FileChange> = changes.iter().flat_map(|change| rows(change, turn, &call, &ground)).collect();
        let bytes = changes.iter().filter_map(|change| change.before.as_ref().filter(|_| alters(change)));
        for bytes in bytes.filter(|bytes| bytes.len() as u64 <= LARGEST) {
            blobs.keep(bytes)?;
        }
        let paths: Vec<PathBuf> = rows.iter().map(|change| change.path.clone()).collect();
        workspace.writes(&paths, listener);
        Ok::<_, std::io::Error>(rows)
    })
    .await;
    let failed = |why: String| {
        tracing::warn!("no file history: {why}");
        Kept { failed: true, ..Kept::default() }
    };
    let rows = match written {
        Ok(Ok(rows)) if rows.is_empty() => return Kept::default(),
        Ok(Ok(rows)) => rows,
        Ok(Err(error)) => return failed(error.to_string()),
        Err(error) => return failed(error.to_string()),
    };
    match history.store.record_changes(&history.session, rows.clone()).await {
        Ok(keys) => {
            let rows = keys.into_iter().zip(rows).collect();
            let workspace = Some(history.workspace);
            Kept { rows, store: Some(history.store), ground: history.ground, workspace, listener, failed: false }
        }
        Err(error) => failed(error.to_string()),
    }
}

/// Whether anything becomes of the file.
fn alters(change: &Change) -> bool {
    !matches!(&change.after, After::Write(bytes) if change.before.as_ref() == Some(bytes))
}

/// A row for each path that the change touches: a move has two.
fn rows(change: &Change, turn: u32, call: &str, ground: &RestoreTarget) -> Vec<FileChange> {
    if !alters(change) {
        return Vec::new();
    }
    let before = change.before.as_deref().map(hash);
    let mode = ground.mode(&change.path);
    let row = |path: &std::path::Path, before: Option<String>, after: Option<String>| FileChange {
        turn,
        at: chrono::Utc::now().timestamp_millis(),
        call: call.to_owned(),
        place: ground.place(),
        path: path.to_owned(),
        size: if before.is_some() { change.before.as_ref().map_or(0, |bytes| bytes.len() as u64) } else { 0 },
        before: FileState { mode: mode.filter(|_| before.is_some()), hash: before },
        after: FileState { hash: after, mode: None },
        command: None,
    };
    match &change.after {
        After::Write(bytes) => vec![row(&change.path, before, Some(hash(bytes)))],
        After::Delete => vec![row(&change.path, before, None)],
        After::Move { to, bytes, .. } => {
            let after = bytes.as_deref().map(hash).or_else(|| before.clone());
            vec![row(&change.path, before, None), row(to, None, after)]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::restore;
    use super::*;
    use crate::checkpoints::{Checkpoints, Settings};
    use crate::protocol::{Body, Item, Origin};
    use crate::tools::testing::Bench;
    use serde_json::{Value, json};
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;

    /// A bench whose calls are made in turn 1 of a stored session.
    struct Kept {
        bench: Bench,
        history: FileHistory,
        home: tempfile::TempDir,
    }

    impl Kept {
        async fn new() -> Self {
            let home = tempfile::tempdir().unwrap();
            let store = Store::spawn(home.path());
            let session = SessionId("one".into());
            let body = Body::User {
                text: "go".into(),
                images: vec![],
                context: String::new(),
                origin: Origin::Person,
                gist: String::new(),
            };
            store.append(&session, vec![Item { id: ItemId(1), at: 0, turn: 1, body }]).await.unwrap();
            let blobs = Blobs::new(home.path().join("history"));
            let unrecorded = Settings {
                blobs: blobs.clone(),
                known: home.path().join("tree"),
                baseline_bytes: 0,
                ours: Vec::new(),
                user_home: None,
            };
            Self {
                bench: Bench::new(),
                history: FileHistory {
                    store,
                    session,
                    turn: 1,
                    ground: RestoreTarget::default(),
                    workspace: Checkpoints::default().of(home.path(), unrecorded),
                    listener: None,
                    home: home.path().to_owned(),
                    item: ItemId(0),
                    secrets: None,
                    unended: Unended::default(),
                    blobs,
                },
                home,
            }
        }

        async fn call(&self, name: &str, args: Value) -> crate::tools::spec::ToolOutput {
            let planned = self.bench.plan(name, args).await;
            let ctx = crate::tools::spec::ToolCtx { history: Some(self.history.clone()), ..self.bench.ctx() };
            self.bench.dispatch.run(planned.call.ok().unwrap(), ctx).await
        }

        /// Name, text before and whether there is a file after, for every change.
        async fn changes(&self) -> Vec<(String, Option<String>, Option<u32>, bool)> {
            let since = self.history.store.since(&self.history.session, ItemId(1)).await.unwrap();
            let told = since.changes.into_iter().map(|change| {
                let bytes = change.before.hash.and_then(|hash| self.history.blobs.read(&hash).unwrap());
                let before = bytes.map(|bytes| String::from_utf8(bytes).unwrap());
                let name = change.path.file_name().unwrap().to_str().unwrap().to_owned();
                (name, before, change.before.mode, change.after.hash.is_some())
            });
            told.collect()
        }
    }

    fn set_mode(path: &Path, mode: u32) {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }

    #[tokio::test]
    async fn every_way_of_changing_a_file_keeps_what_was_there() {
        let kept = Kept::new().await;
        for name in ["edited", "gone", "moved"] {
            kept.bench.write(name, "one\n");
            set_mode(&kept.bench.path(name), 0o640);
        }
        kept.call("write_file", json!({"path": "new", "content": "fresh"})).await;
        kept.call("patch", json!({"path": "edited", "old_string": "one", "new_string": "two"})).await;
        let v4a = "*** Begin Patch\n*** Add File: added\n+x\n*** Delete File: gone\n*** Update File: moved\n*** Move to: there\n@@\n-one\n+three\n*** End Patch";
        let output = kept.call("patch", json!({"mode": "patch", "patch": v4a})).await;
        assert!(kept.bench.path("there").exists(), "{}", output.content);
        let one = || Some("one\n".to_owned());
        let mut changes = kept.changes().await;
        changes.sort();
        assert_eq!(
            changes,
            [
                ("added".to_owned(), None, None, true),
                ("edited".to_owned(), one(), Some(0o640), true),
                ("gone".to_owned(), one(), Some(0o640), false),
                ("moved".to_owned(), one(), Some(0o640), false),
                ("new".to_owned(), None, None, true),
                ("there".to_owned(), None, None, true),
            ]
        );
        // The same text again changes nothing, and nothing is written down.
        kept.call("write_file", json!({"path": "new", "content": "fresh"})).await;
        assert_eq!(kept.changes().await.len(), 6);
    }

    #[tokio::test]
    async fn what_a_formatter_does_after_the_edit_is_ours() {
        let mut kept = Kept::new().await;
        let mut config = crate::config::Config::default();
        config.checks.commands.insert("txt".into(), "sed -i s/a/b/".into());
        kept.bench.config = Arc::new(config);
        kept.bench.write("f.txt", "one\n");
        kept.call("write_file", json!({"path": "f.txt", "content": "a\n"})).await;
        assert_eq!(kept.bench.read("f.txt"), "b\n");
        let since = kept.history.store.since(&kept.history.session, ItemId(1)).await.unwrap();
        let back = &restore::undoing(&since.changes, &kept.history.blobs, &kept.history.ground)[0];
        assert_eq!(back.verdict, restore::Verdict::Ready);
    }

    #[tokio::test]
    async fn a_link_is_written_through_and_its_target_is_what_is_kept() {
        let kept = Kept::new().await;
        kept.bench.write("real", "one\n");
        std::os::unix::fs::symlink(kept.bench.path("real"), kept.bench.path("link")).unwrap();
        kept.call("write_file", json!({"path": "link", "content": "two\n"})).await;
        assert_eq!(kept.changes().await[0].0, "real");
        assert!(kept.bench.path("link").symlink_metadata().unwrap().is_symlink());
    }

    #[tokio::test]
    async fn a_large_file_is_named_and_not_kept() {
        let kept = Kept::new().await;
        let large = format!("one\n{}", "x".repeat(LARGEST as usize));
        kept.bench.write("large", &large);
        kept.call("patch", json!({"path": "large", "old_string": "one", "new_string": "two"})).await;
        assert!(kept.bench.read("large").starts_with("two"));
        assert_eq!(kept.changes().await[0].1, None);
        let since = kept.history.store.since(&kept.history.session, ItemId(1)).await.unwrap();
        let back = &restore::undoing(&since.changes, &kept.history.blobs, &kept.history.ground)[0];
        assert!(matches!(&back.verdict, restore::Verdict::Lost(why) if why.contains("10 MB")), "{back:?}");
    }

    #[tokio::test]
    async fn a_change_that_was_not_made_is_not_written_down_and_one_that_cannot_be_kept_says_so() {
        let kept = Kept::new().await;
        kept.bench.write("wall", "");
        let change = |name: &str, bytes: &str| Change {
            path: kept.bench.path(name),
            shown: name.into(),
            before: None,
            after: After::Write(bytes.as_bytes().to_vec()),
        };
        let call =
            super::super::edit::EditCall::new(vec![change("new", "x"), change("wall/f", "x")], serde_json::Map::new());
        let ctx = crate::tools::spec::ToolCtx { history: Some(kept.history.clone()), ..kept.bench.ctx() };
        assert!(crate::tools::spec::Call::run(Box::new(call), ctx).await.is_err());
        assert_eq!(kept.changes().await, []);
        // A file where the folder should be: the edit is made all the same.
        std::fs::write(kept.home.path().join("history"), "").unwrap();
        kept.bench.write("old", "one");
        let output = kept.call("write_file", json!({"path": "old", "content": "two"})).await;
        assert_eq!((kept.bench.read("old"), output.view.summary.contains("cannot be undone")), ("two".into(), true));
    }
}
