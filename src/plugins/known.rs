//! Which subcommands plugins registered when they ran last, so that the command line knows them without starting any.

use super::registered::Registered;
use crate::config::Paths;
use crate::fs;
use serde_json::json;
use std::collections::HashMap;
use std::path::PathBuf;

/// The file of [`read_known`].
fn known_commands(paths: &Paths) -> PathBuf {
    paths.cache().join("plugins").join("commands.json")
}

/// Subcommands that plugins registered when they ran last, with the plugin.
pub fn read_known(paths: &Paths) -> HashMap<String, String> {
    let bytes = std::fs::read(known_commands(paths)).unwrap_or_default();
    serde_json::from_slice(&bytes).unwrap_or_default()
}

/// Writes down the subcommands of a plugin that has just registered them.
pub fn remember(home: &Paths, plugin: &str, registered: &Registered) {
    let file = known_commands(home);
    let mut known = read_known(home);
    known.retain(|_, owner| owner != plugin);
    for command in &registered.cli {
        known.entry(command.name.clone()).or_insert_with(|| plugin.to_owned());
    }
    let before = std::fs::read_to_string(&file).unwrap_or_default();
    let text = format!("{}\n", json!(known));
    if (known.is_empty() && before.is_empty()) || before == text {
        return;
    }
    if let Err(error) = fs::write_atomic(&file, &text) {
        tracing::warn!("could not save plugin subcommands: {error}");
    }
}
