//! What a project's folder would run: hooks, plugins, MCP servers. It is data until a person has seen each of them, and
//! runs only as it was then: a fingerprint and the text are kept, so that a change can be shown.

mod folder;
mod scan;

pub use folder::copy;

use super::project::{self, FILE};
use super::{ConfigError, Paths};
use crate::fs;
use crate::yaml;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What kind of thing runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    Hook,
    Plugin,
    McpServer,
}

impl Kind {
    /// For people.
    pub fn word(self) -> &'static str {
        match self {
            Kind::Hook => "hook",
            Kind::Plugin => "plugin",
            Kind::McpServer => "MCP server",
        }
    }
}

/// One thing that would run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thing {
    pub kind: Kind,
    /// Stays the same when its content changes: `hooks.pre_tool_call.0`, `plugins.NAME`, `mcp_servers.NAME`.
    pub id: String,
    /// One line: the command, the folder.
    pub what: String,
    /// All that a person should look at, bounded.
    pub text: String,
    /// SHA-256 in hex of all that decides what runs; empty for a thing that can't be trusted.
    pub fingerprint: String,
    /// Why it can't be trusted.
    pub problem: String,
}

/// How a thing stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// As it was when the person said yes.
    Trusted,
    /// Nobody has said yes.
    New,
    /// Another text than the one that the person said yes to.
    Changed { before: String },
}

/// A project and all that it would run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Project {
    pub dir: PathBuf,
    /// Its `hermes.yaml` may be read.
    pub listed: bool,
    /// Settings of its `hermes.yaml`, in words; they count once it is listed.
    pub settings: Vec<String>,
    pub things: Vec<(Thing, Standing)>,
}

impl Project {
    /// Whether a person should look at it.
    pub fn needs_a_look(&self) -> bool {
        let holds_something = !self.settings.is_empty() || !self.things.is_empty();
        (!self.listed && holds_something)
            || self.things.iter().any(|(thing, standing)| *standing != Standing::Trusted && thing.problem.is_empty())
    }

    /// The things that may run.
    pub fn trusted(&self) -> impl Iterator<Item = &Thing> {
        self.things.iter().filter(|(_, standing)| *standing == Standing::Trusted).map(|(thing, _)| thing)
    }

    /// Why each of the others does not run, for a run without a person.
    pub fn refusals(&self) -> Vec<String> {
        let dir = self.dir.display();
        self.things
            .iter()
            .filter_map(|(thing, standing)| {
                let why = match standing {
                    Standing::Trusted => return None,
                    _ if !thing.problem.is_empty() => thing.problem.clone(),
                    Standing::New => {
                        format!("this folder is not trusted with it; review it, then run: hermes config trust {dir}")
                    }
                    Standing::Changed { .. } => {
                        format!("it changed since you trusted it; review it, then run: hermes config trust {dir}")
                    }
                };
                Some(format!("the project's {} {} does not run: {why}", thing.kind.word(), thing.what))
            })
            .collect()
    }
}

/// What was said yes to, by folder.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct Kept {
    projects: BTreeMap<String, BTreeMap<String, Yes>>,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct Yes {
    fingerprint: String,
    text: String,
    at: String,
}

/// The project of a working folder, as it is on disk now; `None` when there is nothing of the kind. Reads, runs nothing.
pub fn look(home: &Paths, cwd: &Path) -> Option<Project> {
    let dir = root(home, cwd)?;
    let dir = std::fs::canonicalize(&dir).unwrap_or(dir);
    let listed = project::is_trusted(home, &dir);
    let kept = kept(home);
    let yes = kept.projects.get(&*dir.to_string_lossy());
    let (settings, things) = scan::scan(&dir);
    let things = things
        .into_iter()
        .map(|thing| {
            let standing = match yes.and_then(|yes| yes.get(&thing.id)) {
                _ if !thing.problem.is_empty() => Standing::New,
                Some(yes) if listed && yes.fingerprint == thing.fingerprint => Standing::Trusted,
                Some(yes) if yes.fingerprint != thing.fingerprint => Standing::Changed { before: yes.text.clone() },
                _ => Standing::New,
            };
            (thing, standing)
        })
        .collect();
    Some(Project { dir, listed, settings, things })
}

/// Says yes to a project as it was shown. What has changed since stays untrusted.
///
/// # Errors
/// What could not be written, with the remedy.
pub fn accept(home: &Paths, shown: &Project, now: String) -> Result<(), ConfigError> {
    project::trust(home, &shown.dir)?;
    let mut kept = kept(home);
    let entry = kept.projects.entry(shown.dir.to_string_lossy().into_owned()).or_default();
    *entry = shown
        .things
        .iter()
        .filter(|(thing, _)| thing.problem.is_empty())
        .map(|(thing, _)| {
            let yes = Yes { fingerprint: thing.fingerprint.clone(), text: thing.text.clone(), at: now.clone() };
            (thing.id.clone(), yes)
        })
        .collect();
    let text = serde_json::to_string_pretty(&kept).unwrap_or_default();
    Ok(fs::write_atomic(&home.trusted_things(), &format!("{text}\n"))?)
}

/// The part of a project's `hermes.yaml` under `key` whose entries are trusted: for hooks a map of lists, for
/// `mcp_servers` a map. `None` when nothing of it may run.
pub fn tree(project: &Project, key: &str) -> Option<Json> {
    let text = std::fs::read_to_string(project.dir.join(FILE)).ok()?;
    let root = yaml::parse(&text, FILE).ok()?.to_json();
    let mut kept = Map::new();
    for (name, value) in root.get(key)?.as_object()? {
        let allowed = |id: String, value: &Json| {
            // The file is read a second time here: what runs must be what was judged.
            project.trusted().any(|thing| {
                thing.id == id && thing.fingerprint == scan::thing_of(key, &id, name, value, &project.dir).fingerprint
            })
        };
        let value = match value {
            Json::Array(items) => {
                let items = items.iter().enumerate();
                let items: Vec<Json> = items
                    .filter(|(index, item)| allowed(format!("{key}.{name}.{index}"), item))
                    .map(|(_, item)| item.clone())
                    .collect();
                (!items.is_empty()).then_some(Json::Array(items))
            }
            value => allowed(format!("{key}.{name}"), value).then(|| value.clone()),
        };
        if let Some(value) = value {
            kept.insert(name.clone(), value);
        }
    }
    (!kept.is_empty()).then_some(Json::Object(kept))
}

/// Names of the MCP servers of this folder's `hermes.yaml` that are trusted as they are. Looks at no plugin: it is asked
/// whenever the configuration is read.
pub fn servers(home: &Paths, dir: &Path) -> Vec<String> {
    let dir = std::fs::canonicalize(dir).unwrap_or_else(|_| dir.to_path_buf());
    let kept = kept(home);
    let Some(yes) = kept.projects.get(&*dir.to_string_lossy()) else { return Vec::new() };
    let Some(root) = std::fs::read_to_string(dir.join(FILE)).ok().and_then(|text| yaml::parse(&text, FILE).ok()) else {
        return Vec::new();
    };
    let servers = root.get("mcp_servers").map(yaml::Node::to_json).unwrap_or_default();
    let trusted = servers.as_object().into_iter().flatten().filter(|(name, value)| {
        let thing = scan::thing_of("mcp_servers", &format!("mcp_servers.{name}"), name, value, &dir);
        yes.get(&thing.id).is_some_and(|yes| yes.fingerprint == thing.fingerprint)
    });
    trusted.map(|(name, _)| name.clone()).collect()
}

/// The nearest folder from `cwd` up to the root of its repository that could run something; never our own home.
fn root(home: &Paths, cwd: &Path) -> Option<PathBuf> {
    let top = cwd.ancestors().find(|dir| dir.join(".git").exists());
    let own = |dir: &Path| std::fs::canonicalize(dir.join(".hermes")).ok() == std::fs::canonicalize(&home.home).ok();
    let holds = |dir: &&Path| dir.join(FILE).is_file() || (dir.join(".hermes/plugins").is_dir() && !own(dir));
    match top {
        Some(top) => cwd.ancestors().take_while(|dir| dir.starts_with(top)).find(holds),
        None => Some(cwd).filter(holds),
    }
    .map(Path::to_path_buf)
}

fn kept(home: &Paths) -> Kept {
    let file = home.trusted_things();
    let Ok(bytes) = std::fs::read(&file) else { return Kept::default() };
    serde_json::from_slice(&bytes).unwrap_or_else(|error| {
        tracing::warn!("cannot read {} ({error}): it grants no trust", file.display());
        Kept::default()
    })
}

#[cfg(test)]
mod tests;
