//! opencode before 1.2: the same values as files, `storage/session/PROJECT/ID.json`, `storage/message/SESSION/ID.json`,
//! `storage/part/MESSAGE/ID.json`. From what the newer version takes over; no such version was run for it.

use super::build::Builder;
use super::opencode::{self, Rows, title};
use super::{Agent, Conversation, Found, Place, files};
use std::path::Path;

/// Sessions of the folder `storage`, newest first, at most so many.
pub(super) fn list(folder: &Path, limit: usize) -> Vec<Found> {
    let storage = folder.join("storage");
    let entries = files::walk(&storage.join("session"), |name| name.ends_with(".json"));
    let found = entries.into_iter().take(limit).filter_map(|entry| {
        let value = files::json(&entry.path)?;
        if value["parentID"].is_string() {
            return None;
        }
        let id = entry.path.file_stem()?.to_str()?.to_owned();
        let mut found = Found::new(Agent::OpenCode, id, Place::Folder(storage.clone()));
        value["directory"].as_str().unwrap_or_default().clone_into(&mut found.cwd);
        found.title = title(value["title"].as_str().unwrap_or_default());
        found.started_at = files::time(&value["time"]["created"]).unwrap_or(entry.changed_at);
        found.updated_at = files::time(&value["time"]["updated"]).unwrap_or(entry.changed_at);
        Some(found)
    });
    found.collect()
}

/// The whole session.
pub(super) fn read(found: &Found, builder: Builder<'_>) -> Result<Conversation, String> {
    let storage = found.place.path();
    let session = files::walk(&storage.join("session"), |name| name == format!("{}.json", found.id));
    let session = session.first().and_then(|entry| files::json(&entry.path)).unwrap_or_default();
    let messages = values(&storage.join("message").join(&found.id));
    opencode::conversation(
        found,
        builder,
        &messages,
        |message| values(&storage.join("part").join(message)),
        &session["revert"],
    )
}

/// The values of a folder by their ids, which are in the order of time.
fn values(folder: &Path) -> Rows {
    let entries = files::walk(folder, |name| name.ends_with(".json"));
    let mut rows: Rows = entries
        .iter()
        .filter_map(|entry| {
            let id = entry.path.file_stem()?.to_str()?.to_owned();
            Some((id, files::json(&entry.path).unwrap_or_default()))
        })
        .collect();
    rows.sort_by(|a, b| a.0.cmp(&b.0));
    rows
}
