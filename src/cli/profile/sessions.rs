//! Sessions that go along with a profile: as the lines of `hermes sessions export`. A database from elsewhere is never
//! opened.

use super::archive::Pack;
use crate::cli::sessions::parse;
use crate::config::Paths;
use crate::policy::redact::Secrets;
use crate::protocol::SessionId;
use crate::report::sessions::Format;
use crate::report::sessions::export::{export as write_session, gather};
use crate::store::{Carried, Imported, Store};
use anyhow::{Context as _, Result};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The folder of the sessions in the archive.
pub(super) const FOLDER: &str = "sessions";
/// The list there in older archives, whose lines did not say it: title, folder, model and start of each.
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
    let mut count = 0;
    // The oldest first: they come back in that order.
    for row in rows.iter().rev() {
        let mut text = Vec::new();
        let session = gather(store, &SessionId(row.id.clone()), Format::Jsonl, None, true).await?;
        write_session(&session, Format::Jsonl, &mut text, &mut std::io::sink())?;
        if text.is_empty() {
            continue;
        }
        count += 1;
        pack.text(&format!("{FOLDER}/{count:06}.jsonl"), &text)?;
    }
    Ok(count)
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

async fn take_all(store: &Store, files: &[PathBuf], known: &BTreeMap<String, Carried>) -> Result<(usize, Vec<String>)> {
    let (mut taken, mut left) = (0, Vec::new());
    for file in files {
        let name = format!("{FOLDER}/{}", file.file_name().unwrap_or_default().to_string_lossy());
        let text = std::fs::read(file).with_context(|| name.clone())?;
        let now = chrono::Utc::now().timestamp_millis();
        let parsed = match parse(&String::from_utf8_lossy(&text), &name, now, &Secrets::default()) {
            Ok(parsed) => parsed,
            Err(why) => {
                left.push(format!("{name} ({why})"));
                continue;
            }
        };
        let about = known.get(&parsed.session).cloned().unwrap_or_default();
        let incoming = parsed.incoming(about, Vec::new());
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
fn known(list: &Path) -> BTreeMap<String, Carried> {
    let text = std::fs::read_to_string(list).unwrap_or_default();
    let rows: Vec<Value> = serde_json::from_str(&text).unwrap_or_default();
    let known = |row: &Value| {
        let word = |key: &str| row[key].as_str().map(str::to_owned);
        let about = Carried {
            folder: word("cwd").unwrap_or_default(),
            model: word("model").unwrap_or_default(),
            title: word("title").filter(|title| !title.is_empty()),
            started_at: row["started_at"].as_i64().unwrap_or_default(),
            ..Carried::default()
        };
        Some((word("id")?, about))
    };
    rows.iter().filter_map(known).collect()
}
