//! Profiles in a list, and one of them.

use super::setup;
use crate::config::profiles::{DEFAULT, Profiles};
use crate::config::{Paths, Sources, load};
use crate::engine::listening;
use crate::store::Store;
use anyhow::Result;
use serde_json::json;
use std::io::Write;

/// The profile that is in use here; `None` where the one that is named does not exist.
fn used() -> Option<String> {
    setup::paths().ok().map(|paths| paths.profile().unwrap_or(DEFAULT).to_owned())
}

/// One line each.
pub(super) fn list(all: &Profiles, as_json: bool, out: &mut dyn Write) -> Result<()> {
    let used = used();
    let active = all.active().unwrap_or_else(|| DEFAULT.to_owned());
    let names = all.names();
    if as_json {
        let rows: Vec<_> = names
            .iter()
            .map(|name| {
                let in_use = used.as_ref() == Some(name);
                json!({"name": name, "home": all.paths(name).home, "in_use": in_use, "active": *name == active})
            })
            .collect();
        writeln!(out, "{}", json!({"version": 1, "profiles": rows}))?;
        return Ok(());
    }
    let width = names.iter().map(String::len).max().unwrap_or_default();
    for name in &names {
        let mark = if used.as_ref() == Some(name) { "*" } else { " " };
        writeln!(out, "{mark} {name:width$}  {}", all.paths(name).home.display())?;
    }
    Ok(())
}

/// What there is to know of one.
pub(super) async fn show(all: &Profiles, paths: &Paths, as_json: bool, out: &mut dyn Write) -> Result<()> {
    let name = paths.profile().unwrap_or(DEFAULT);
    let loaded = load(&Sources { cwd: None, ..Sources::of_process(paths.clone()) });
    let model = crate::llm::endpoint::resolve(&loaded.config, &|name: &str| loaded.env(name).map(str::to_owned), None);
    let model = model.ok().map(|endpoint| endpoint.label());
    // Only names: a key is nobody's to read here.
    let keys: Vec<&String> = loaded.dotenv.keys().collect();
    let sessions = sessions(paths).await?;
    let open = listening(paths);
    let is_active = all.active().as_deref().unwrap_or(DEFAULT) == name;
    if as_json {
        let about = json!({
            "version": 1, "name": name, "home": paths.home, "in_use": used().as_deref() == Some(name),
            "active": is_active, "model": model, "keys": keys, "sessions": sessions, "processes": open,
        });
        writeln!(out, "{about}")?;
        return Ok(());
    }
    writeln!(out, "profile   {name}{}", if is_active { " (active)" } else { "" })?;
    writeln!(out, "home      {}", paths.home.display())?;
    writeln!(out, "model     {}", model.as_deref().unwrap_or("none yet"))?;
    let names: Vec<&str> = keys.iter().map(|key| key.as_str()).collect();
    writeln!(out, "keys      {}", if names.is_empty() { "none in .env".into() } else { names.join(", ") })?;
    writeln!(out, "sessions  {sessions}")?;
    if !open.is_empty() {
        let open: Vec<String> = open.iter().map(u32::to_string).collect();
        writeln!(out, "open in   process {}", open.join(", "))?;
    }
    Ok(())
}

/// How many sessions are kept there. A home without a database gets none for the question.
async fn sessions(paths: &Paths) -> Result<u64> {
    let entries = std::fs::read_dir(&paths.home).into_iter().flatten().flatten();
    let has_database = entries.map(|entry| entry.file_name()).any(|name| name.to_string_lossy().ends_with(".db"));
    if !has_database {
        return Ok(0);
    }
    let store = Store::spawn(paths.home.clone());
    let stats = store.stats().await;
    store.close().await;
    Ok(stats?.sessions)
}
