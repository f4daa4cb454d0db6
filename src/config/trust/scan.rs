//! What a project's folder holds that would run: each thing with its text and the fingerprint of all that decides.

use super::super::project::FILE;
use super::super::yaml;
use super::{Kind, Thing};
use serde_json::Value as Json;
use sha2::{Digest as _, Sha256};
use std::path::{Path, PathBuf};

/// Files of a plugin that are looked at; a larger one is never trusted.
const FILES: usize = 20_000;
/// Bytes of them.
const BYTES: u64 = 128 * 1024 * 1024;
/// Bytes of a thing's text that are kept and shown.
const SHOWN: usize = 48 * 1024;

/// Settings in words, and things.
pub(super) fn scan(dir: &Path) -> (Vec<String>, Vec<Thing>) {
    let (mut settings, mut things) = (Vec::new(), Vec::new());
    if let Ok(text) = std::fs::read_to_string(dir.join(FILE))
        && let Ok(root) = yaml::parse(&text, FILE)
    {
        for (key, node) in root.entries() {
            match (key.text.as_str(), node.to_json()) {
                (section @ ("hooks" | "mcp_servers"), Json::Object(entries)) => {
                    for (name, value) in entries {
                        match value {
                            Json::Array(items) => {
                                let items = items.iter().enumerate();
                                things.extend(items.map(|(index, item)| {
                                    thing_of(section, &format!("{section}.{name}.{index}"), &name, item, dir)
                                }));
                            }
                            value => things.push(thing_of(section, &format!("{section}.{name}"), &name, &value, dir)),
                        }
                    }
                }
                (name, value) => settings.push(format!("{name}: {value}")),
            }
        }
    }
    let mut plugins: Vec<PathBuf> = std::fs::read_dir(dir.join(".hermes/plugins"))
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.is_dir())
        .collect();
    plugins.sort();
    things.extend(plugins.iter().map(|path| plugin(path)));
    (settings, things)
}

/// A hook or a server: what stands in the file, and the scripts of the project that it names.
pub(super) fn thing_of(section: &str, id: &str, name: &str, value: &Json, dir: &Path) -> Thing {
    let kind = if section == "hooks" { Kind::Hook } else { Kind::McpServer };
    let mut text = serde_json::to_string_pretty(value).unwrap_or_default();
    let mut hash = Sha256::new();
    hash.update(id);
    hash.update(value.to_string());
    let mut words = Vec::new();
    strings(value, &mut words);
    for word in &words {
        for part in word.split_whitespace().map(|part| part.trim_matches(['"', '\''])) {
            let path = dir.join(part);
            let Ok(real) = std::fs::canonicalize(&path) else { continue };
            if real.starts_with(dir) && real.is_file() && !part.is_empty() {
                let bytes = std::fs::read(&real).unwrap_or_default();
                hash.update(part);
                hash.update(Sha256::digest(&bytes));
                text.push_str(&format!("\n\n--- {part}\n{}", String::from_utf8_lossy(&bytes)));
            }
        }
    }
    let command = value.get("command").and_then(Json::as_str).or_else(|| value.get("url").and_then(Json::as_str));
    let what = match (kind, command.or_else(|| value.as_str())) {
        (Kind::Hook, Some(command)) => format!("{name}: {command}"),
        (_, Some(command)) => format!("{name} ({command})"),
        (_, None) => name.to_owned(),
    };
    let fingerprint = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    Thing { kind, id: id.to_owned(), what, text: bounded(text), fingerprint, problem: String::new() }
}

fn strings(value: &Json, out: &mut Vec<String>) {
    match value {
        Json::String(text) => out.push(text.clone()),
        Json::Array(items) => items.iter().for_each(|item| strings(item, out)),
        Json::Object(fields) => fields.values().for_each(|item| strings(item, out)),
        Json::Null | Json::Bool(_) | Json::Number(_) => {}
    }
}

/// A plugin's folder: every file of it decides.
fn plugin(dir: &Path) -> Thing {
    let name = dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let thing = |text: String, fingerprint: String, problem: String| Thing {
        kind: Kind::Plugin,
        id: format!("plugins.{name}"),
        what: format!("{name} (.hermes/plugins/{name})"),
        text: bounded(text),
        fingerprint,
        problem,
    };
    match folder(dir) {
        Ok((text, fingerprint)) => thing(text, fingerprint, String::new()),
        Err(problem) => thing(String::new(), String::new(), problem),
    }
}

/// Text and fingerprint of all files of a folder.
fn folder(dir: &Path) -> Result<(String, String), String> {
    let (mut files, mut folders, mut bytes) = (Vec::new(), vec![dir.to_path_buf()], 0);
    while let Some(folder) = folders.pop() {
        let entries =
            std::fs::read_dir(&folder).map_err(|error| format!("{} cannot be read: {error}", folder.display()))?;
        for entry in entries {
            let path = entry.map_err(|error| format!("{} cannot be read: {error}", folder.display()))?.path();
            let meta =
                path.symlink_metadata().map_err(|error| format!("{} cannot be read: {error}", path.display()))?;
            if meta.is_symlink() {
                return Err(format!("{} is a link: what it leads to could change unseen", path.display()));
            } else if meta.is_dir() {
                folders.push(path);
            } else {
                bytes += meta.len();
                files.push(path);
            }
            if files.len() > FILES || bytes > BYTES {
                return Err("it is too large to be looked at; install it into your own plugins folder".into());
            }
        }
    }
    files.sort();
    // What decides is shown first, the rest as far as there is room.
    files.sort_by_key(|path| path.parent() != Some(dir));
    let (mut hash, mut text) = (Sha256::new(), String::new());
    for path in &files {
        let bytes = std::fs::read(path).map_err(|error| format!("{} cannot be read: {error}", path.display()))?;
        let shown = path.strip_prefix(dir).unwrap_or(path).to_string_lossy().into_owned();
        #[cfg(unix)]
        let mode = std::fs::metadata(path)
            .map(|m| std::os::unix::fs::PermissionsExt::mode(&m.permissions()) & 0o111)
            .unwrap_or(0);
        hash.update(format!("{shown}\0{mode}\0{}\0", bytes.len()));
        hash.update(&bytes);
        if text.len() < SHOWN {
            let body = std::str::from_utf8(&bytes)
                .map_or_else(|_| format!("({} bytes, not text)", bytes.len()), str::to_owned);
            text.push_str(&format!("--- {shown}\n{}\n", body.trim_end()));
        }
    }
    Ok((text, hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()))
}

fn bounded(mut text: String) -> String {
    if text.len() > SHOWN {
        let mut end = SHOWN;
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text.truncate(end);
        text.push_str("\n… the rest is not shown; a change in it counts all the same");
    }
    text
}
