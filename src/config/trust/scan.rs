//! What a project's folder holds that would run: each thing with its text and the fingerprint of all that decides.

use super::super::permissions;
use super::super::project::FILE;
use super::super::schema::{self, Project};
use super::{Kind, Thing, folder};
use crate::yaml;
use serde_json::Value as Json;
use sha2::{Digest as _, Sha256};
use std::path::{Path, PathBuf};

/// Bytes of a script that a hook or server names; one with more is never trusted.
const SCRIPT: u64 = 8 * 1024 * 1024;
/// Bytes of a thing's text that are kept and shown.
pub(super) const SHOWN: usize = 48 * 1024;

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
                (name, value) => setting(name, &value, &mut settings),
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
    things.extend(plugins.iter().map(|path| plugin(dir, path)));
    let rules = dir.join(".hermes").join(permissions::FILE);
    if rules.is_file() && !(settings.is_empty() && things.is_empty()) {
        settings.push(format!(
            ".hermes/{}: its `ask` and `deny` lines; `allow` works only in your own file",
            permissions::FILE
        ));
    }
    (settings, things)
}

/// A hook or a server: what stands in the file, and the scripts that it names by a path of the project.
pub(super) fn thing_of(section: &str, id: &str, name: &str, value: &Json, dir: &Path) -> Thing {
    let kind = if section == "hooks" { Kind::Hook } else { Kind::McpServer };
    let (mut text, mut problem) = (serde_json::to_string_pretty(value).unwrap_or_default(), String::new());
    let mut hash = Sha256::new();
    hash.update(id);
    hash.update(value.to_string());
    let mut words = Vec::new();
    strings(value, &mut words);
    for part in parts(&words) {
        let Ok(real) = std::fs::canonicalize(dir.join(part)) else { continue };
        // A relative path counts wherever a link may lead it.
        let of_project = real.starts_with(dir) || Path::new(part).is_relative();
        if !of_project || !real.is_file() {
            continue;
        }
        match folder::regular(&real, SCRIPT) {
            Ok((bytes, _)) => {
                hash.update(part);
                hash.update(Sha256::digest(&bytes));
                text.push_str(&format!("\n\n--- {part}\n{}", folder::readable(&bytes)));
            }
            Err(why) => problem = format!("{part} {why}"),
        }
    }
    let command = value.get("command").and_then(Json::as_str).or_else(|| value.get("url").and_then(Json::as_str));
    let what = match (kind, command.or_else(|| value.as_str())) {
        (Kind::Hook, Some(command)) => format!("{name}: {command}"),
        (_, Some(command)) => format!("{name} ({command})"),
        (_, None) => name.to_owned(),
    };
    let fingerprint = if problem.is_empty() { folder::hex(hash) } else { String::new() };
    Thing { kind, id: id.to_owned(), what, text: bounded(text), fingerprint, problem }
}

/// What could be a path in these: whole, as a quoted part, as a word, and as what stands between signs of the shell.
fn parts(words: &[String]) -> Vec<&str> {
    let mut all: Vec<&str> = Vec::new();
    for word in words {
        let quoted = word.split(['"', '\'']);
        let plain = word.split_whitespace().map(|part| part.trim_matches(['"', '\'']));
        let signs = |c: char| c.is_whitespace() || ";|&()<>{}=`$\"'".contains(c);
        for part in std::iter::once(word.as_str()).chain(quoted).chain(plain).chain(word.split(signs)) {
            if !part.is_empty() && !all.contains(&part) {
                all.push(part);
            }
        }
    }
    all
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
/// One line for each key, with what a project may not do by it.
fn setting(path: &str, value: &Json, all: &mut Vec<String>) {
    if let (schema::Found::Section, Json::Object(inner)) = (schema::find(path), value) {
        return inner.iter().for_each(|(name, value)| setting(&format!("{path}.{name}"), value, all));
    }
    let counts = match schema::find(path) {
        schema::Found::Leaf(spec) => match spec.project {
            Project::May | Project::Trusted => "",
            Project::Tighten => "  (only where stricter than yours)",
            Project::Never => "  (ignored: a project cannot set this)",
        },
        _ => "  (ignored: a project cannot set this)",
    };
    all.push(format!("{path}: {value}{counts}"));
}

fn plugin(project: &Path, dir: &Path) -> Thing {
    let name = dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let thing = |text: String, fingerprint: String, problem: String| Thing {
        kind: Kind::Plugin,
        id: format!("plugins.{name}"),
        what: format!("{name} (.hermes/plugins/{name})"),
        text: bounded(text),
        fingerprint,
        problem,
    };
    // The project's folder has no links in its path: one here leads somewhere else.
    if std::fs::canonicalize(dir).ok().as_deref() != Some(&project.join(".hermes/plugins").join(&name)) {
        let why = format!("{} is a link or behind one: its target could change unnoticed", dir.display());
        return thing(String::new(), String::new(), why);
    }
    match folder::look(dir) {
        Ok((text, fingerprint)) => thing(text, fingerprint, String::new()),
        Err(problem) => thing(String::new(), String::new(), problem),
    }
}

fn bounded(text: String) -> String {
    if text.len() <= SHOWN {
        return text;
    }
    format!("{}\n… the rest is hidden; changes in it still count", &text[..text.floor_char_boundary(SHOWN)])
}
