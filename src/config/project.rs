//! `hermes.yaml` of a project: read only from folders that a person trusts, and only to set what cannot hurt.

use super::layer::{Layer, Warning};
use super::schema::{self, Found, Project};
use super::{ConfigError, Paths, paths};
use crate::protocol::Mode;
use crate::yaml;
use serde_json::{Map, Value as Json};
use std::path::{Path, PathBuf};

/// The name of the file.
pub const FILE: &str = "hermes.yaml";

/// The nearest `hermes.yaml` from `cwd` up to the root of its repository (only `cwd` itself outside of one).
pub fn find(cwd: &Path) -> Option<PathBuf> {
    let root = cwd.ancestors().find(|dir| dir.join(".git").exists());
    let dirs: Vec<&Path> = match root {
        Some(root) => cwd.ancestors().take_while(|dir| dir.starts_with(root)).collect(),
        None => vec![cwd],
    };
    dirs.into_iter().map(|dir| dir.join(FILE)).find(|file| file.is_file())
}

/// Whether a person put the folder on the list of `trusted.yaml` (`projects: [/folder, …]`). A list that can't be read
/// trusts nothing.
pub fn is_trusted(home: &Paths, dir: &Path) -> bool {
    let Ok(text) = std::fs::read_to_string(home.trusted()) else { return false };
    let Ok(root) = yaml::parse(&text, "trusted.yaml") else { return false };
    let Ok(dir) = std::fs::canonicalize(dir) else { return false };
    root.get("projects").map_or(&[][..], yaml::Node::items).iter().any(|entry| {
        entry.str().is_some_and(|path| std::fs::canonicalize(paths::expand_home(path)).is_ok_and(|known| known == dir))
    })
}

/// Puts a folder on the list of `trusted.yaml`.
///
/// # Errors
/// [`ConfigError::Read`] when the folder is not there, [`ConfigError::Write`] when the list can't be written.
pub fn trust(home: &Paths, dir: &Path) -> Result<PathBuf, ConfigError> {
    let dir = std::fs::canonicalize(dir)
        .map_err(|error| ConfigError::Read { path: dir.into(), reason: error.to_string() })?;
    if !is_trusted(home, &dir) {
        super::edit::append(&home.trusted(), "projects", &dir.to_string_lossy())?;
    }
    Ok(dir)
}

/// Takes out of a project's layer what it may not set, and ties the rest to what is set below it. `servers` names the MCP
/// servers that are trusted as they are.
pub fn restrain(layer: &mut Layer, below: &Map<String, Json>, file: &Path, servers: &[String]) {
    let mut refused = Vec::new();
    let mut values = std::mem::take(&mut layer.values);
    // MCP servers count one by one, once a person has looked at each; none takes the place of a person's own.
    let theirs = match values.remove("mcp_servers") {
        Some(Json::Object(theirs)) => theirs,
        _ => Map::new(),
    };
    let own = below.get("mcp_servers").and_then(Json::as_object);
    let taken = |name: &String| own.is_some_and(|own| own.contains_key(name));
    let theirs: Map<String, Json> =
        theirs.into_iter().filter(|(name, _)| servers.contains(name) && !taken(name)).collect();
    layer.values = walk(values, "", below, &mut refused);
    if !theirs.is_empty() {
        layer.values.insert("mcp_servers".into(), Json::Object(theirs));
    }
    for (key, why) in refused {
        let text = format!("{key} {why}; set it in your own config.yaml if you want it");
        layer.warnings.push(Warning { path: Some(file.into()), line: None, key, text, lasting: false });
    }
}

type Refused = Vec<(String, &'static str)>;

fn walk(
    values: Map<String, Json>,
    prefix: &str,
    below: &Map<String, Json>,
    refused: &mut Refused,
) -> Map<String, Json> {
    let mut kept = Map::new();
    for (name, value) in values {
        let path = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
        let value = match (schema::find(&path), value) {
            (Found::Leaf(spec), value) => match judge(spec.project, &path, value, below) {
                Ok(value) => value,
                Err(why) => {
                    refused.push((path, why));
                    continue;
                }
            },
            (Found::Section, Json::Object(inner)) => Json::Object(walk(inner, &path, below, refused)),
            _ => {
                refused.push((path, "cannot be set by a project"));
                continue;
            }
        };
        kept.insert(name, value);
    }
    kept
}

fn judge(project: Project, path: &str, value: Json, below: &Map<String, Json>) -> Result<Json, &'static str> {
    let current = || {
        path.split('.').try_fold(None, |at: Option<&Json>, name| {
            match at {
                None => below.get(name),
                Some(value) => value.get(name),
            }
            .map(Some)
        })
    };
    match project {
        Project::May if path == "model.default" && names_a_provider(&value) => Err("cannot choose another provider"),
        Project::May => Ok(value),
        // Read from the file itself, entry by entry, by who runs it.
        Project::Trusted => Ok(current().flatten().cloned().unwrap_or(Json::Null)),
        Project::Never => Err("cannot be set by a project"),
        Project::Tighten => match value {
            Json::Array(items) => {
                let mut all = current().flatten().and_then(Json::as_array).cloned().unwrap_or_default();
                all.extend(items.into_iter().filter(|item| !all.contains(item)).collect::<Vec<_>>());
                Ok(Json::Array(all))
            }
            // `sandbox.network`: without it is stricter.
            Json::Bool(false) => Ok(Json::Bool(false)),
            Json::Bool(true) if current().flatten().and_then(Json::as_bool) != Some(false) => Ok(Json::Bool(true)),
            Json::Bool(true) => Err("cannot be loosened by a project"),
            Json::String(mode) => {
                let (words, usual) = match path {
                    "sandbox.mode" => (schema::SANDBOX, "off"),
                    _ => (&MODES[..], Mode::Ask.word()),
                };
                let strictness = |mode: &str| words.iter().position(|known| *known == mode);
                let now = current().flatten().and_then(Json::as_str).unwrap_or(usual);
                if strictness(&mode) >= strictness(now) {
                    Ok(Json::String(mode))
                } else {
                    Err("cannot be loosened by a project")
                }
            }
            _ => Err("cannot be set by a project"),
        },
    }
}

/// Modes from the loosest to the strictest.
const MODES: [&str; 5] = ["yolo", "auto", "ask", "review", "plan"];

/// `PROVIDER:MODEL` goes to another server; `org/model:tag` does not.
fn names_a_provider(value: &Json) -> bool {
    value.as_str().and_then(|text| text.split_once(':')).is_some_and(|(before, _)| !before.contains('/'))
}
