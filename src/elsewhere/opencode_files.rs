//! opencode before 1.2: the same values as files, `storage/session/PROJECT/ID.json`, `storage/message/SESSION/ID.json`,
//! `storage/part/MESSAGE/ID.json`. From what the newer version takes over; no such version was run for it.

use super::build::Builder;
use super::files::{self, Entry};
use super::opencode::{self, Rows, title};
use super::{Agent, Conversation, Found, Place};
use std::path::Path;

/// Files of sessions below the folder that holds `storage`, newest first.
pub(super) fn entries(folder: &Path) -> Vec<Entry> {
    files::walk(&folder.join("storage/session"), |name| name.ends_with(".json"))
}

/// What a list shows of a file.
pub(super) fn about(entry: &Entry) -> Result<Found, String> {
    let nothing = || format!("{} holds no session", entry.path.display());
    let value = files::json(&entry.path).filter(|value| !value["parentID"].is_string()).ok_or_else(nothing)?;
    let id = entry.path.file_stem().and_then(|stem| stem.to_str()).ok_or_else(nothing)?.to_owned();
    // `storage/session/PROJECT/ID.json`.
    let storage = entry
        .path
        .ancestors()
        .find(|path| path.ends_with("storage/session"))
        .and_then(Path::parent)
        .ok_or_else(nothing)?;
    let mut found = Found::new(Agent::OpenCode, id, Place::Folder(storage.to_owned()));
    value["directory"].as_str().unwrap_or_default().clone_into(&mut found.cwd);
    found.title = title(value["title"].as_str().unwrap_or_default());
    found.started_at = files::time(&value["time"]["created"]).unwrap_or(entry.changed_at);
    found.updated_at = files::time(&value["time"]["updated"]).unwrap_or(entry.changed_at);
    Ok(found)
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
