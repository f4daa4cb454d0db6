//! Layers into one value: defaults ← `config.yaml` ← `hermes.yaml` of a trusted project ← environment ← command line.
//!
//! Nothing stops the start: what can't be read becomes a warning and the defaults hold.

use super::layer::{Layer, Reader, Variables, Warning, merge};
use super::{Config, Paths, dotenv, permissions, project, schema};
use crate::environment;
use crate::yaml::{self, Node};
use serde_json::{Map, Value as Json};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What a configuration is made from.
#[derive(Clone, Debug)]
pub struct Sources {
    pub paths: Paths,
    /// The working folder, for a project's file; `None` reads none.
    pub cwd: Option<PathBuf>,
    /// The real environment.
    pub env: BTreeMap<String, String>,
    /// Dotted keys with YAML scalars, from flags.
    pub overrides: Vec<(String, String)>,
}

impl Sources {
    /// A home with this process's environment and no project.
    pub fn of_process(paths: Paths) -> Self {
        let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        };
        Self { paths, cwd: None, env: environment::all().filter_map(text).collect(), overrides: Vec::new() }
    }
}

/// A loaded configuration and everything odd that was met on the way.
#[derive(Clone, Debug, Default)]
pub struct Loaded {
    /// Shared: every call and every reader of it has the same one.
    pub config: Arc<Config>,
    pub warnings: Vec<Warning>,
    /// The real environment.
    pub env: BTreeMap<String, String>,
    /// The names of `.env`.
    pub dotenv: BTreeMap<String, String>,
    /// Names that `config.yaml` takes as `${NAME}`.
    pub referenced: BTreeSet<String>,
    /// Keys of Python Hermes in `config.yaml` that have no meaning here, with their lines.
    pub foreign: Vec<(String, u64)>,
    /// The project file that counts.
    pub project: Option<PathBuf>,
    /// Lines of `permissions.yaml`.
    pub permissions: permissions::Found,
}

/// Where a variable was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    Environment,
    Dotenv,
}

impl Loaded {
    /// A variable that is not empty: the real environment first, then `.env`.
    pub fn env(&self, name: &str) -> Option<&str> {
        self.locate(name).map(|(value, _)| value)
    }

    /// A variable and where it stands.
    pub fn locate(&self, name: &str) -> Option<(&str, Place)> {
        let real = self.env.get(name).filter(|value| !value.is_empty()).map(|value| (value, Place::Environment));
        let found = real
            .or_else(|| self.dotenv.get(name).filter(|value| !value.is_empty()).map(|value| (value, Place::Dotenv)));
        found.map(|(value, place)| (value.as_str(), place))
    }
}

/// Variables that stand for keys. The last says whether `.env` counts too. None loosens approvals: no environment turns a
/// question into a yes.
const VARIABLES: &[(&str, &str, bool)] = &[
    ("HERMES_MODEL", "model.default", true),
    ("HERMES_INFERENCE_MODEL", "model.default", true),
    ("HERMES_INFERENCE_PROVIDER", "model.provider", true),
    ("HERMES_MAX_ITERATIONS", "agent.max_turns", true),
    ("HERMES_STREAM_STALE_TIMEOUT", "agent.stream_stale_timeout", true),
    ("HERMES_SKIN", "display.skin", true),
    ("HERMES_THEME", "display.theme", true),
    ("HERMES_REDACT_SECRETS", "security.redact_secrets", false),
    ("TERMINAL_ENV", "terminal.backend", true),
    ("TERMINAL_CWD", "terminal.cwd", true),
    ("TERMINAL_TIMEOUT", "terminal.timeout", true),
    ("TERMINAL_MAX_FOREGROUND_TIMEOUT", "terminal.max_foreground_timeout", true),
    ("TERMINAL_LIFETIME_SECONDS", "terminal.lifetime_seconds", true),
    ("TERMINAL_DOCKER_IMAGE", "terminal.docker_image", true),
    ("TERMINAL_SINGULARITY_IMAGE", "terminal.singularity_image", true),
    ("TERMINAL_SSH_HOST", "terminal.ssh_host", true),
    ("TERMINAL_SSH_USER", "terminal.ssh_user", true),
    ("TERMINAL_SSH_PORT", "terminal.ssh_port", true),
    ("TERMINAL_SSH_KEY", "terminal.ssh_key", true),
];

/// Reads all layers.
pub fn load(sources: &Sources) -> Loaded {
    let mut loaded = Loaded { env: sources.env.clone(), ..Loaded::default() };
    read_dotenv(&sources.paths, &mut loaded);
    let mut values = Map::new();

    let file = sources.paths.config();
    let referenced = RefCell::new(BTreeSet::new());
    let variables = {
        let (env, dotenv, referenced) = (loaded.env.clone(), loaded.dotenv.clone(), &referenced);
        move |name: &str| {
            referenced.borrow_mut().insert(name.to_owned());
            env.get(name).or_else(|| dotenv.get(name)).cloned()
        }
    };
    if let Some(layer) = read_file(&file, Some(&variables), &mut loaded.warnings) {
        merge(&mut values, layer.values);
        loaded.warnings.extend(layer.warnings);
        loaded.foreign = layer.foreign;
    }
    loaded.referenced = referenced.take();
    if let Some(file) = sources.cwd.as_deref().and_then(project::find) {
        read_project(&sources.paths, &file, &mut values, &mut loaded);
    }
    loaded.permissions = permissions::read(&sources.paths, sources.cwd.as_deref(), &mut loaded.warnings);
    let reader = Reader { file: None, variables: None };
    for (name, key, from_file) in VARIABLES {
        let value = if *from_file { loaded.env(name) } else { loaded.env.get(*name).map(String::as_str) };
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            let layer = reader.read(&nest(key, Node::text(value)));
            merge(&mut values, layer.values);
            loaded.warnings.extend(
                layer
                    .warnings
                    .into_iter()
                    .map(|warning| Warning { text: format!("{name} in the environment: {}", warning.text), ..warning }),
            );
        }
    }
    for (key, value) in &sources.overrides {
        let node =
            yaml::parse(value, "").ok().filter(|node| node.scalar().is_some()).unwrap_or_else(|| Node::text(value));
        let layer = reader.read(&nest(key, Node { line: 0, ..node }));
        merge(&mut values, layer.values);
        loaded.warnings.extend(layer.warnings);
    }

    match serde_json::from_value(Json::Object(values)) {
        Ok(config) => loaded.config = Arc::new(config),
        // Every value was checked against the table, so this is a gap in the table; the defaults hold.
        Err(error) => loaded.warnings.push(Warning {
            path: Some(file),
            line: None,
            key: String::new(),
            text: format!("the configuration cannot be used: {error}; using defaults"),
            lasting: false,
        }),
    }
    loaded
}

fn read_dotenv(paths: &Paths, loaded: &mut Loaded) {
    let path = paths.dotenv();
    let text = match std::fs::read(&path) {
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return,
        Err(error) => {
            loaded.warnings.push(file_warning(&path, format!("cannot be read: {error}; its keys are not used")));
            return;
        }
    };
    let (values, odd) = dotenv::parse(&text);
    loaded.dotenv = values;
    for line in odd {
        let text = "skipped: not NAME=value".to_owned();
        loaded.warnings.push(Warning { line: Some(line as u64), ..file_warning(&path, text) });
    }
    if dotenv::is_exposed(&path) {
        let text = format!("readable by others; run: chmod 600 {}", path.display());
        loaded.warnings.push(Warning { lasting: true, ..file_warning(&path, text) });
    }
}

fn read_file(path: &Path, variables: Option<&Variables<'_>>, warnings: &mut Vec<Warning>) -> Option<Layer> {
    let bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return None,
        Err(error) => {
            warnings.push(file_warning(path, format!("cannot be read: {error}; using defaults")));
            return None;
        }
    };
    let text = match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let at = error.utf8_error().valid_up_to();
            let text = format!("is not UTF-8 at byte {at}; using defaults until it is fixed");
            warnings.push(file_warning(path, text));
            return None;
        }
    };
    match yaml::parse(&text, &path.to_string_lossy()) {
        Ok(root) => Some(Reader { file: Some(path), variables }.read(&root)),
        Err(error) => {
            let line = (error.line > 0).then_some(error.line);
            let excerpt = if error.excerpt.is_empty() {
                String::new()
            } else {
                format!("\n{}", error.excerpt.trim_matches('\n'))
            };
            let text = format!("{}; using defaults until it is fixed{excerpt}", error.reason);
            warnings.push(Warning { line, text, ..file_warning(path, String::new()) });
            None
        }
    }
}

fn read_project(paths: &Paths, file: &Path, values: &mut Map<String, Json>, loaded: &mut Loaded) {
    let dir = file.parent().unwrap_or(file);
    if !project::is_trusted(paths, dir) {
        let text =
            format!("ignored: this folder is not trusted; to use it, run: hermes config trust {}", dir.display());
        loaded.warnings.push(file_warning(file, text));
        return;
    }
    // No `${NAME}` here: a project must not be able to move a secret into a place that leaves the machine.
    if let Some(mut layer) = read_file(file, None, &mut loaded.warnings) {
        project::restrain(&mut layer, values, file, &super::trust::servers(paths, dir));
        merge(values, layer.values);
        loaded.warnings.extend(layer.warnings);
        loaded.project = Some(file.to_path_buf());
    }
}

fn file_warning(path: &Path, text: String) -> Warning {
    Warning { path: Some(path.to_path_buf()), line: None, key: String::new(), text, lasting: false }
}

/// `a.b.c: node`.
fn nest(key: &str, node: Node) -> Node {
    key.rsplit('.').fold(node, |inner, segment| {
        let key = yaml::Key { line: 0, text: segment.to_owned() };
        Node { line: 0, column: 0, value: yaml::Value::Map(vec![(key, inner)]) }
    })
}

/// The effective value of a key or section as JSON, secrets masked; `None` for a key that is not known or not set.
pub fn value_of(config: &Config, key: &str) -> Option<Json> {
    let mut root = serde_json::to_value(config).ok()?;
    mask(&mut root, "");
    let found = key.split('.').filter(|segment| !segment.is_empty()).try_fold(&root, |at, name| at.get(name))?;
    (!found.is_null()).then(|| found.clone())
}

fn mask(value: &mut Json, path: &str) {
    let join = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    match value {
        Json::Object(entries) => match schema::find(path) {
            schema::Found::Leaf(spec) if spec.kind == schema::Kind::SecretMap => {
                entries.values_mut().for_each(|value| *value = "(set)".into());
            }
            _ => entries.iter_mut().for_each(|(name, value)| mask(value, &join(name))),
        },
        Json::Array(items) => items.iter_mut().for_each(|value| mask(value, &join("0"))),
        Json::String(text) if !text.is_empty() => {
            if matches!(schema::find(path), schema::Found::Leaf(spec) if spec.kind == schema::Kind::Secret) {
                *text = "(set)".into();
            }
        }
        _ => {}
    }
}

#[cfg(test)]
#[path = "load_tests.rs"]
mod tests;
