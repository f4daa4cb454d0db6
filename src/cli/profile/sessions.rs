//! Sessions that go along with a profile: as the lines of `hermes sessions export`, with a list of what those do not say. A
//! database from elsewhere is never opened.

use super::archive::Pack;
use crate::cli::sessions::parse_session;
use crate::config::Paths;
use crate::policy::redact::Secrets;
use crate::protocol::SessionId;
use crate::report::sessions::Format;
use crate::report::sessions::export::{export as write_session, gather};
use crate::store::{Imported, Incoming, NewSession, Store};
use anyhow::{Context as _, Result};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The folder of the sessions in the archive.
pub(super) const FOLDER: &str = "sessions";
/// The list there: title, folder, model and start of each.
const LIST: &str = "sessions.json";

/// Puts all sessions of a home into the archive; returns how many.
pub(super) async fn export<W: Write>(paths: &Paths, pack: &mut Pack<W>) -> Result<usize> {
    if !paths.home.is_dir() {
        return Ok(0);
    }
    let store = Store::spawn(paths.home.clone());
    let done = pack_all(&store, pack).await;
    store.close().await;
    done
}

async fn pack_all<W: Write>(store: &Store, pack: &mut Pack<W>) -> Result<usize> {
    let rows = store.list("", None, usize::MAX).await?;
    let mut listed = Vec::new();
    // The oldest first: they come back in that order.
    for row in rows.iter().rev() {
        let mut text = Vec::new();
        let session = gather(store, &SessionId(row.id.clone()), Format::Jsonl, None, true).await?;
        write_session(&session, Format::Jsonl, &mut text, &mut std::io::sink())?;
        if text.is_empty() {
            continue;
        }
        listed.push(json!({
            "id": row.id, "title": row.title, "cwd": row.cwd, "model": row.model, "started_at": row.started_at,
        }));
        pack.text(&format!("{FOLDER}/{:06}.jsonl", listed.len()), &text)?;
    }
    if !listed.is_empty() {
        pack.text(&format!("{FOLDER}/{LIST}"), serde_json::to_string_pretty(&listed)?.as_bytes())?;
    }
    Ok(listed.len())
}

/// Takes the sessions in a folder into a new home; returns how many, and which files were not.
pub(super) async fn import(folder: &Path, home: &Path) -> Result<(usize, Vec<String>)> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|e| e.path()).collect();
    files.retain(|file| file.extension().is_some_and(|ending| ending == "jsonl"));
    files.sort_unstable();
    if files.is_empty() {
        return Ok((0, Vec::new()));
    }
    let store = Store::spawn(home.to_owned());
    let done = take_all(&store, &files, &known(&folder.join(LIST))).await;
    store.close().await;
    done
}

async fn take_all(store: &Store, files: &[PathBuf], known: &BTreeMap<String, Value>) -> Result<(usize, Vec<String>)> {
    let (mut taken, mut left) = (0, Vec::new());
    for file in files {
        let name = format!("{FOLDER}/{}", file.file_name().unwrap_or_default().to_string_lossy());
        let text = std::fs::read(file).with_context(|| name.clone())?;
        let now = chrono::Utc::now().timestamp_millis();
        let (id, items) = match parse_session(&String::from_utf8_lossy(&text), &name, now, &Secrets::default()) {
            Ok(parsed) => parsed,
            Err(why) => {
                left.push(format!("{name} ({why})"));
                continue;
            }
        };
        let about = known.get(&id);
        let word = |key: &str| about.and_then(|about| about[key].as_str()).unwrap_or_default().to_owned();
        let started_at = about.and_then(|about| about["started_at"].as_i64());
        let started_at = started_at.or_else(|| items.first().map(|item| item.at)).unwrap_or(now);
        let id = SessionId(id);
        let (cwd, model, source) = (word("cwd"), word("model"), "import".to_owned());
        let new = NewSession { id: id.clone(), cwd, model, source, started_at };
        let title = Some(word("title")).filter(|title| !title.is_empty());
        let incoming = Incoming { new, items, title, facts: Vec::new() };
        match store.import(vec![incoming]).await?.first() {
            Some(Imported::New(_)) => taken += 1,
            _ => {
                left.push(format!("{name} (a session of this id is there already)"));
                continue;
            }
        }
    }
    store.index().await?;
    Ok((taken, left))
}

/// What the list says of each session; nothing where there is none, or none that can be read.
fn known(list: &Path) -> BTreeMap<String, Value> {
    let text = std::fs::read_to_string(list).unwrap_or_default();
    let rows: Vec<Value> = serde_json::from_str(&text).unwrap_or_default();
    rows.into_iter().filter_map(|row| Some((row["id"].as_str()?.to_owned(), row))).collect()
}
