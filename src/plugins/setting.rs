//! What a plugin starts with: variables, a folder to keep things in, its part of the configuration, our runner.

use super::found::Found;
use crate::config::Paths;
use crate::config::load::Loaded;
use crate::fs;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// What is known before it starts.
#[derive(Clone, Debug)]
pub struct Setting {
    pub env: BTreeMap<String, String>,
    /// Of Python plugins: our runner on disk.
    pub runner: PathBuf,
    pub data: PathBuf,
    pub config: Value,
    /// Where copies of trusted plugins are made.
    pub copies: PathBuf,
}

/// The runner of Python plugins.
const RUNNER: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/assets/plugins/runner.py"));
/// What a plugin starts with. Keys of model providers never reach it; what it names itself does.
pub fn setting(paths: &Paths, found: &Found, base: &BTreeMap<String, String>, loaded: &Loaded) -> Setting {
    let mut env = base.clone();
    let needed = found.manifest.iter().flat_map(|manifest| &manifest.requires_env);
    for name in needed.filter(|name| !is_provider_key(name, loaded)) {
        if let Some(value) = loaded.env(name) {
            env.insert(name.clone(), value.to_owned());
        }
    }
    let data = paths.plugin_data().join(&found.name);
    let copies = paths.cache().join("plugins");
    for dir in [&data, &copies] {
        if let Err(error) = fs::ensure_dir(dir) {
            tracing::warn!("{error}");
        }
    }
    let config = loaded.config.plugins.config.get(&found.name).cloned().unwrap_or_else(|| json!({}));
    Setting { env, runner: runner(paths), data, config, copies }
}

/// The runner on disk, written anew when it is not the one of this program.
fn runner(paths: &Paths) -> PathBuf {
    let file = paths.cache().join("plugins").join("runner.py");
    if std::fs::read_to_string(&file).is_ok_and(|text| text == RUNNER) {
        return file;
    }
    if let Err(error) = fs::write_atomic(&file, RUNNER) {
        tracing::warn!("{error}");
    }
    file
}

fn is_provider_key(name: &str, loaded: &Loaded) -> bool {
    let of_table = crate::llm::providers::all().iter().any(|provider| provider.keys.iter().any(|key| key == name));
    let config = &loaded.config;
    let named = config.providers.values().map(|provider| &provider.key_env);
    let fallback = config.fallback_providers.iter().map(|fallback| &fallback.key_env);
    of_table || named.chain(fallback).any(|key| key == name)
}
