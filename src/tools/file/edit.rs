//! A planned change of files: what the gate and the user see is computed once, and the run does exactly that, or
//! nothing when a file is no longer what the plan read.

use super::checks;
use super::diff::{cut_lines, file_diff};
use super::history;
use super::masks;
use super::write::Stamp;
use crate::backends::{Files, Kind};
use crate::lock::lock;
use crate::policy::{EditIntent, Intent};
use crate::protocol::FileDiff;
use crate::tools::children::Kin;
use crate::tools::spec::{Call, FileLedger, ToolCtx, ToolError, ToolOutput, Within};
use futures::future::BoxFuture;
use serde_json::{Map, Value};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// Files over this are not edited by tools: plan and rollback hold them in memory.
pub const MAX_BYTES: u64 = 64 * 1024 * 1024;
/// One file's change.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// Absolute, resolved.
    pub path: PathBuf,
    pub shown: String,
    /// The bytes that the plan read; `None` when there was no file.
    pub before: Option<Vec<u8>>,
    pub after: After,
}

impl Change {
    /// The file that has new content afterwards, and how it is shown.
    fn written(&self) -> Option<(PathBuf, String)> {
        match &self.after {
            After::Write(bytes) if self.before.as_ref() != Some(bytes) => Some((self.path.clone(), self.shown.clone())),
            After::Move { to, shown, bytes: Some(_) } => Some((to.clone(), shown.clone())),
            _ => None,
        }
    }
}

/// What becomes of a file.
#[derive(Clone, Debug, PartialEq)]
pub enum After {
    Write(Vec<u8>),
    Delete,
    /// Moved, and then written where the bytes are given.
    Move {
        to: PathBuf,
        shown: String,
        bytes: Option<Vec<u8>>,
    },
}

/// The bytes of a regular file, `None` when there is none. Refuses folders, devices and what is too large.
pub fn read(disk: &dyn Files, path: &Path, shown: &str) -> Result<Option<Vec<u8>>, ToolError> {
    let failed = |why: String| Err(ToolError::Failed(format!("{shown}: {why}")));
    match disk.about(path) {
        Ok(about) if about.kind == Kind::Folder => failed("is a folder, not a file".into()),
        Ok(about) if about.kind == Kind::Other => failed("is not a regular file".into()),
        Ok(about) if about.len > MAX_BYTES => {
            failed(format!("has {} bytes, above the limit of the file tools; use the terminal", about.len))
        }
        Ok(_) => match disk.read(path, MAX_BYTES) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) => failed(format!("could not be read: {error}")),
        },
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
        Err(error) => failed(format!("could not be read: {error}")),
    }
}

/// The stamp of a file as it is now; `None` when it is not there.
pub fn stamp(disk: &dyn Files, path: &Path) -> Option<Stamp> {
    disk.about(path).ok().map(|about| (about.modified, about.len))
}

/// A warning when the file is not what this session saw last. Blocks.
///
/// # Errors
/// It is not, and others work on the same files: then it is read again first.
pub fn stale(ctx: &ToolCtx, path: &Path, shown: &str) -> Result<Option<String>, ToolError> {
    // What a script has read it may write, whatever the model knows of it.
    let by_script = ctx.within.as_ref().and_then(|within| lock(&within.seen).get(path).copied());
    let seen = by_script.or_else(|| lock(&ctx.files).seen.get(path).copied());
    let Some(seen) = seen else { return Ok(None) };
    if stamp(&*ctx.disk(), path) == Some(seen) {
        return Ok(None);
    }
    let Some(kin) = &ctx.kin else {
        return Ok(Some(format!("{shown} changed since you last read it; read it again before you edit it")));
    };
    let by = author(ctx, path, &**kin).map(|name| format!(" by {name}")).unwrap_or_default();
    Err(ToolError::Failed(format!("refused: {shown} was changed{by} since you read it; read it again")))
}

/// Who left a file as it is, where that was another session.
fn author(ctx: &ToolCtx, path: &Path, kin: &dyn Kin) -> Option<String> {
    let (history, store) = (ctx.history.as_ref()?, ctx.sessions.clone()?);
    let now = ctx.disk().read(path, MAX_BYTES).ok().map(|bytes| crate::store::hash(&bytes));
    // Off the async threads: plans look at the disk there.
    let wrote = tokio::runtime::Handle::try_current().ok()?.block_on(store.wrote_lately(&history.session, 0)).ok()?;
    let same = wrote.into_iter().find(|one| one.path == path && one.after == now)?;
    let other = |title: Option<String>| format!("another session (“{}”)", title.unwrap_or(same.session.0.clone()));
    Some(kin.called(&same.session).unwrap_or_else(|| other(same.title.clone())))
}

/// A planned change of one or more files, as a call.
pub struct EditCall {
    changes: Vec<Change>,
    intent: Intent,
    diffs: Vec<FileDiff>,
    /// The result, but for the diff where it is wanted.
    reply: Map<String, Value>,
}

impl EditCall {
    /// Like [`EditCall::new`], for what a model wrote.
    ///
    /// # Errors
    /// When it would write masks in the place of secrets.
    pub fn checked(changes: Vec<Change>, reply: Map<String, Value>, ctx: &ToolCtx) -> Result<Self, ToolError> {
        masks::check(&changes, ctx)?;
        Ok(Self::new(changes, reply))
    }

    /// Computes the diffs. `reply` is the result for the model when all goes well.
    pub fn new(changes: Vec<Change>, reply: Map<String, Value>) -> Self {
        let (mut intents, mut diffs) = (Vec::new(), Vec::new());
        for change in &changes {
            describe(change, &mut intents, &mut diffs);
        }
        Self { changes, intent: Intent::Edit(intents), diffs, reply }
    }

    /// The unified diffs of all files, at most `limit` bytes, cut at a line.
    pub fn unified(&self, limit: usize) -> String {
        let all: String = self.diffs.iter().map(|diff| diff.unified.as_str()).collect();
        cut_lines(all, limit)
    }

    /// The result that will be given, to complete it.
    pub fn reply_mut(&mut self) -> &mut Map<String, Value> {
        &mut self.reply
    }
}

impl Call for EditCall {
    fn intent(&self) -> &Intent {
        &self.intent
    }

    fn target(&self) -> String {
        match self.changes.as_slice() {
            [] => String::new(),
            [one] => one.shown.clone(),
            [first, more @ ..] => format!("{} + {} more", first.shown, more.len()),
        }
    }

    fn moves(&self) -> Vec<(PathBuf, PathBuf)> {
        let moved = self.changes.iter().filter_map(|change| match &change.after {
            After::Move { to, .. } => Some((change.path.clone(), to.clone())),
            After::Write(_) | After::Delete => None,
        });
        moved.collect()
    }

    fn run(self: Box<Self>, ctx: ToolCtx) -> BoxFuture<'static, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let (ledger, disk, within) = (Arc::clone(&ctx.files), ctx.disk(), ctx.within.clone());
            let (changes, mut reply) = (Arc::new(self.changes), self.reply);
            let written: Vec<_> = changes.iter().filter_map(Change::written).collect();
            let cancel = ctx.cancel.clone();
            let kept = history::keep(ctx.history.as_ref(), &ctx.call_id, &changes).await;
            let done = crate::tools::blocking(move || {
                // A yes that came after the stop is no yes.
                if cancel.is_cancelled() {
                    return Err(ToolError::Interrupted);
                }
                apply(&*disk, &changes, &ledger, within.as_ref())
            })
            .await
            .and_then(|done| done);
            kept.made().await;
            if let Err(error) = done {
                kept.forget().await;
                return Err(error);
            }
            // Checkers are programs of this machine.
            let checked = match ctx.backends.current() {
                None => checks::run(&written, &ctx).await,
                Some(_) => checks::Checked::default(),
            };
            if let Some(said) = checked.said {
                reply.insert("checks".into(), said);
            }
            if !checked.changed.is_empty() {
                kept.settle(&checked.changed).await;
                kept.made().await;
            }
            let (added, removed) =
                self.diffs.iter().fold((0, 0), |sum, diff| (sum.0 + diff.added, sum.1 + diff.removed));
            let summary = match (self.diffs.is_empty(), kept.failed) {
                (true, _) => "no change".to_owned(),
                (false, false) => format!("+{added} −{removed}"),
                // The edit is worth more than its undo, but nobody should count on one that is not there.
                (false, true) => format!("+{added} −{removed}, cannot be undone"),
            };
            Ok(ToolOutput::json(&Value::Object(reply)).summary(summary).diffs(self.diffs))
        })
    }
}

/// Checks every file against the plan, then makes the changes; a failure undoes those already made.
fn apply(
    disk: &dyn Files,
    changes: &[Change],
    ledger: &Mutex<FileLedger>,
    within: Option<&Within>,
) -> Result<(), ToolError> {
    let were: Vec<_> = changes.iter().map(|change| stamp(disk, &change.path)).collect();
    for change in changes {
        unchanged(disk, &change.path, &change.shown, change.before.as_deref())?;
        if let After::Move { to, shown, .. } = &change.after {
            unchanged(disk, to, shown, None)?;
        }
    }
    let modes: Vec<_> = changes.iter().map(|change| disk.about(&change.path).ok().map(|about| about.mode)).collect();
    for (i, change) in changes.iter().enumerate() {
        if let Err(error) = make(disk, change) {
            let mut left: Vec<&str> = Vec::new();
            for (done, mode) in changes[..i].iter().zip(&modes).rev() {
                if undo(disk, done, *mode).is_err() {
                    left.push(&done.shown);
                }
            }
            let state = if left.is_empty() {
                "nothing was changed".to_owned()
            } else {
                format!("these stay changed: {}", left.join(", "))
            };
            return Err(ToolError::Failed(format!("{}: could not be written: {error}; {state}", change.shown)));
        }
    }
    let mut ledger = lock(ledger);
    for (change, was) in changes.iter().zip(were) {
        if let Some(within) = within
            && let Some(now) = stamp(disk, &change.path)
        {
            lock(&within.seen).insert(change.path.clone(), now);
            // The model knew another file than the script changed: it still does.
            if ledger.seen.get(&change.path).is_some_and(|seen| Some(*seen) != was) {
                ledger.reads.retain(|key, _| key.path != change.path);
                continue;
            }
        }
        match &change.after {
            After::Write(_) => ledger.wrote(&change.path, stamp(disk, &change.path)),
            After::Delete => ledger.wrote(&change.path, None),
            After::Move { to, .. } => {
                ledger.wrote(&change.path, None);
                ledger.wrote(to, stamp(disk, to));
            }
        }
    }
    Ok(())
}

fn unchanged(disk: &dyn Files, path: &Path, shown: &str, before: Option<&[u8]>) -> Result<(), ToolError> {
    let same = read(disk, path, shown)?.as_deref() == before;
    let why = if before.is_some() { "changed since it was read" } else { "appeared since the call was planned" };
    if same {
        Ok(())
    } else {
        Err(ToolError::Failed(format!("{shown}: {why}; nothing was written: read it and retry")))
    }
}

fn make(disk: &dyn Files, change: &Change) -> std::io::Result<()> {
    make_with(disk, change, |path, bytes| disk.write(path, bytes))
}

fn make_with(
    disk: &dyn Files,
    change: &Change,
    write: impl Fn(&Path, &[u8]) -> std::io::Result<()>,
) -> std::io::Result<()> {
    match &change.after {
        After::Write(bytes) if change.before.as_ref() == Some(bytes) => Ok(()),
        After::Write(bytes) => write(&change.path, bytes),
        After::Delete => disk.delete(&change.path),
        After::Move { to, bytes, shown } => {
            disk.rename(&change.path, to)?;
            let Some(Err(error)) = bytes.as_ref().map(|bytes| write(to, bytes)) else { return Ok(()) };
            match disk.rename(to, &change.path) {
                Ok(()) => Err(error),
                Err(second) => Err(std::io::Error::new(error.kind(), format!("{error}; it is now {shown}: {second}"))),
            }
        }
    }
}

/// `mode` is what the file had before.
fn undo(disk: &dyn Files, change: &Change, mode: Option<u32>) -> std::io::Result<()> {
    if let After::Move { to, .. } = &change.after {
        disk.rename(to, &change.path)?;
    }
    match &change.before {
        Some(bytes) => disk.write_as(&change.path, bytes, mode),
        None => disk.delete(&change.path),
    }
}

fn describe(change: &Change, intents: &mut Vec<EditIntent>, diffs: &mut Vec<FileDiff>) {
    let before = change.before.as_deref();
    let (path, shown, after, note) = match &change.after {
        After::Write(bytes) => (&change.path, &change.shown, Some(bytes.as_slice()), None),
        After::Delete => (&change.path, &change.shown, None, None),
        After::Move { to, shown, bytes } => {
            let note = format!("rename {} => {shown}\n", change.shown);
            intents.push(EditIntent { path: change.path.clone(), diff: note.clone(), removes: true });
            (to, shown, bytes.as_deref().or(before), Some(note))
        }
    };
    let removes = after.is_none();
    let mut diff = file_diff(shown, before, after);
    if let Some(note) = note {
        diff.unified.insert_str(0, &note);
    }
    let text = if diff.unified.is_empty() && before != after {
        format!("{shown}: {} → {} bytes, not shown\n", before.map_or(0, <[u8]>::len), after.map_or(0, <[u8]>::len))
    } else {
        diff.unified.clone()
    };
    intents.push(EditIntent { path: path.clone(), diff: text, removes });
    if before != after || matches!(change.after, After::Move { .. }) {
        diffs.push(diff);
    }
}

impl FileLedger {
    /// The session wrote this file, or removed it: what it read of it no longer counts.
    pub fn wrote(&mut self, path: &Path, stamp: Option<Stamp>) {
        match stamp {
            Some(stamp) => {
                self.seen.insert(path.to_owned(), stamp);
            }
            None => {
                self.seen.remove(path);
            }
        }
        self.reads.retain(|key, _| key.path != path);
        self.failed_patches.remove(path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::testing::Bench;

    fn change(bench: &Bench, name: &str, before: Option<&str>, after: After) -> Change {
        Change { path: bench.path(name), shown: name.into(), before: before.map(|b| b.as_bytes().to_vec()), after }
    }

    #[tokio::test]
    async fn a_file_that_moved_on_is_left_alone() {
        let bench = Bench::new();
        bench.write("a", "new");
        let changes = vec![
            change(&bench, "b", None, After::Write(b"b".to_vec())),
            change(&bench, "a", Some("old"), After::Write(b"mine".to_vec())),
        ];
        let error = Box::new(EditCall::new(changes, Map::new())).run(bench.ctx()).await.unwrap_err();
        assert!(error.to_string().contains("changed since it was read"), "{error}");
        assert_eq!(bench.read("a"), "new");
        assert!(!bench.path("b").exists());
    }

    #[tokio::test]
    async fn what_changed_since_it_was_read_is_refused_where_others_work_too() {
        struct Alone;
        impl Kin for Alone {
            fn called(&self, _: &crate::protocol::SessionId) -> Option<String> {
                None
            }

            fn parent(&self) -> Option<crate::protocol::SessionId> {
                None
            }
        }
        let mut bench = Bench::new();
        bench.write("a", "old\n");
        bench.call("read_file", serde_json::json!({"path": "a"})).await;
        bench.write("a", "newer\n");
        let write = serde_json::json!({"path": "a", "content": "mine\n"});
        bench.kin = Some(Arc::new(Alone));
        let refused = bench.call("write_file", write.clone()).await.content;
        assert!(refused.contains("refused: a was changed since you read it; read it again"), "{refused}");
        let patch = "*** Begin Patch\n*** Update File: a\n@@\n-newer\n+mine\n*** End Patch";
        let refused = bench.call("patch", serde_json::json!({"mode": "patch", "patch": patch})).await.content;
        assert!(refused.contains("refused: a was changed"), "{refused}");
        assert_eq!(bench.read("a"), "newer\n");
        bench.call("read_file", serde_json::json!({"path": "a"})).await;
        bench.call("write_file", write).await;
        assert_eq!(bench.read("a"), "mine\n");
        // Alone, a session is warned and writes.
        bench.write("a", "newest\n");
        bench.kin = None;
        let warned = bench.call("write_file", serde_json::json!({"path": "a", "content": "again\n"})).await.content;
        assert!(warned.contains("changed since you last read it"), "{warned}");
        assert_eq!(bench.read("a"), "again\n");
    }

    #[tokio::test]
    async fn a_failure_undoes_what_was_done() {
        let bench = Bench::new();
        bench.write("a", "a");
        std::fs::set_permissions(bench.path("a"), std::os::unix::fs::PermissionsExt::from_mode(0o750)).unwrap();
        bench.write("m", "m");
        // A file where a folder is needed: the last change cannot be made.
        bench.write("wall", "");
        let changes = vec![
            change(&bench, "new", None, After::Write(b"x".to_vec())),
            change(&bench, "a", Some("a"), After::Delete),
            change(
                &bench,
                "m",
                Some("m"),
                After::Move { to: bench.path("n"), shown: "n".into(), bytes: Some(b"mm".to_vec()) },
            ),
            change(&bench, "wall/f", None, After::Write(b"x".to_vec())),
        ];
        let error = Box::new(EditCall::new(changes, Map::new())).run(bench.ctx()).await.unwrap_err();
        assert!(error.to_string().contains("nothing was changed"), "{error}");
        assert_eq!((bench.read("a"), bench.read("m")), ("a".into(), "m".into()));
        assert!(!bench.path("new").exists() && !bench.path("n").exists());
        let mode = std::os::unix::fs::MetadataExt::mode(&std::fs::metadata(bench.path("a")).unwrap());
        assert_eq!(mode & 0o777, 0o750);
    }

    #[tokio::test]
    async fn nothing_is_written_after_the_stop() {
        let bench = Bench::new();
        let ctx = bench.ctx();
        ctx.cancel.cancel();
        let changes = vec![change(&bench, "new", None, After::Write(b"x".to_vec()))];
        let error = Box::new(EditCall::new(changes, Map::new())).run(ctx).await.unwrap_err();
        assert_eq!((error, bench.path("new").exists()), (ToolError::Interrupted, false));
    }

    #[test]
    fn half_a_move_goes_back() {
        let bench = Bench::new();
        bench.write("m", "m");
        let to = bench.path("n");
        let moved = change(
            &bench,
            "m",
            Some("m"),
            After::Move { to: to.clone(), shown: "n".into(), bytes: Some(b"mm".to_vec()) },
        );
        let failing = |_: &Path, _: &[u8]| Err(std::io::Error::other("no space"));
        assert!(make_with(&crate::tools::file::Disk, &moved, failing).is_err());
        assert_eq!((bench.read("m").as_str(), to.exists()), ("m", false));
    }

    #[test]
    fn the_gate_sees_every_path() {
        let bench = Bench::new();
        let to = After::Move { to: bench.path("n"), shown: "n".into(), bytes: None };
        let changes = vec![change(&bench, "d", Some("x\n"), After::Delete), change(&bench, "m", Some("y\n"), to)];
        let call = EditCall::new(changes, Map::new());
        let Intent::Edit(edits) = call.intent() else { panic!() };
        let seen: Vec<_> = edits.iter().map(|edit| (edit.path.clone(), edit.removes)).collect();
        assert_eq!(seen, [(bench.path("d"), true), (bench.path("m"), true), (bench.path("n"), false)]);
        assert!(edits[0].diff.contains("-x") && edits[1].diff.contains("rename m => n"));
        assert_eq!(call.target(), "d + 1 more");
    }
}
