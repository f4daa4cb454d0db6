//! Files as they were: kept before a file tool changes them, at the one place that all file tools go through.

use super::edit::{After, Change};
use super::restore;
use crate::llm::message::SessionId;
use crate::store::{Blobs, FileChange, FileState, LARGEST, Store, hash};
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

/// Where the files of a session are kept, and for which turn.
#[derive(Clone)]
pub struct FileHistory {
    pub store: Store,
    pub blobs: Blobs,
    pub session: SessionId,
    pub turn: u32,
}

/// What was written down for one call.
#[derive(Default)]
pub struct Kept {
    rows: Vec<(i64, FileChange)>,
    store: Option<Store>,
    /// The history took none or not all of it.
    pub failed: bool,
}

impl Kept {
    /// The call failed: what it did not do after all is forgotten; a file that stayed changed keeps its row.
    pub async fn forget(self) {
        let Some(store) = self.store else { return };
        let rows = self.rows;
        let look = move || -> Vec<i64> {
            let as_it_was = |change: &FileChange| restore::look(&change.path).hash() == Some(change.before.hash.as_deref());
            rows.iter().filter(|(_, change)| as_it_was(change)).map(|(key, _)| *key).collect()
        };
        let Ok(keys) = crate::tools::blocking(look).await else { return };
        if let Err(error) = store.forget_changes(keys).await {
            tracing::warn!(%error, "a change that was not made stays in the history");
        }
    }
}

/// Keeps the bytes and modes that `changes` are about to replace. What fails is told in the result, and stops nothing.
pub async fn keep(history: Option<&FileHistory>, call: &str, changes: &Arc<Vec<Change>>) -> Kept {
    let Some(history) = history.cloned() else { return Kept::default() };
    let (call, changes) = (call.to_owned(), Arc::clone(changes));
    let (blobs, turn) = (history.blobs, history.turn);
    let written = crate::tools::blocking(move || {
        let rows: Vec<FileChange> = changes.iter().flat_map(|change| rows(change, turn, &call)).collect();
        let bytes = changes.iter().filter_map(|change| change.before.as_ref().filter(|_| alters(change)));
        for bytes in bytes.filter(|bytes| bytes.len() as u64 <= LARGEST) {
            blobs.keep(bytes)?;
        }
        Ok::<_, std::io::Error>(rows)
    })
    .await;
    let failed = |why: String| {
        tracing::warn!("files are not kept before they change: {why}");
        Kept { failed: true, ..Kept::default() }
    };
    let rows = match written {
        Ok(Ok(rows)) if rows.is_empty() => return Kept::default(),
        Ok(Ok(rows)) => rows,
        Ok(Err(error)) => return failed(error.to_string()),
        Err(error) => return failed(error.to_string()),
    };
    match history.store.record_changes(&history.session, rows.clone()).await {
        Ok(keys) => Kept { rows: keys.into_iter().zip(rows).collect(), store: Some(history.store), failed: false },
        Err(error) => failed(error.to_string()),
    }
}

/// Whether anything becomes of the file.
fn alters(change: &Change) -> bool {
    !matches!(&change.after, After::Write(bytes) if change.before.as_ref() == Some(bytes))
}

/// A row for each path that the change touches: a move has two.
fn rows(change: &Change, turn: u32, call: &str) -> Vec<FileChange> {
    if !alters(change) {
        return Vec::new();
    }
    let before = change.before.as_deref().map(hash);
    let mode = std::fs::symlink_metadata(&change.path).ok().map(|about| about.permissions().mode() & 0o7777);
    let row = |path: &std::path::Path, before: Option<String>, after: Option<String>| FileChange {
        turn,
        at: chrono::Utc::now().timestamp_millis(),
        call: call.to_owned(),
        path: path.to_owned(),
        size: if before.is_some() { change.before.as_ref().map_or(0, |bytes| bytes.len() as u64) } else { 0 },
        before: FileState { mode: mode.filter(|_| before.is_some()), hash: before },
        after,
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
