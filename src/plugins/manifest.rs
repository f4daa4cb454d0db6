//! `plugin.yaml`, and how the plugin of a folder is started.

use crate::yaml::{self, Node};
use std::path::{Path, PathBuf};

/// The file that makes a folder a plugin.
pub const FILE: &str = "plugin.yaml";

/// What a plugin says of itself before it runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Manifest {
    pub name: String,
    pub version: String,
    pub description: String,
    pub author: String,
    /// Variables that it needs. They reach it although they look like secrets, unless they are keys of model providers.
    pub requires_env: Vec<String>,
    /// A program and its arguments; relative ones are looked for in the folder. Empty: by what the folder holds.
    pub command: Vec<String>,
    /// A Python environment that the runner is started with.
    pub python: Option<PathBuf>,
    /// `package.module:function` or the name of an entry point, for the runner; empty: `handler.py` of the folder.
    pub entry_point: String,
    /// The package that it was installed from: `pip:NAME`.
    pub source: String,
}

/// How a plugin is started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Start {
    /// Speaks the protocol itself.
    Program(Vec<String>),
    /// Python code with `register(ctx)`, through the runner.
    Python { python: PathBuf, target: String },
}

/// Why a folder is no plugin that can be started.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ManifestError {
    #[error("{0} does not exist")]
    Missing(PathBuf),
    #[error("{0}")]
    Syntax(String),
    #[error("{file}: {what}")]
    Value { file: PathBuf, what: String },
    #[error("{0} has nothing to start: set `command` in plugin.yaml, or add handler.py next to it")]
    Nothing(PathBuf),
}

/// Reads the manifest of a folder.
///
/// # Errors
/// The file is missing, no YAML, or a value cannot be used.
pub fn read(dir: &Path) -> Result<Manifest, ManifestError> {
    let file = [FILE, "plugin.yml"].into_iter().map(|name| dir.join(name)).find(|file| file.is_file());
    let file = file.ok_or_else(|| ManifestError::Missing(dir.join(FILE)))?;
    let bad = |what: String| ManifestError::Value { file: file.clone(), what };
    let text = std::fs::read_to_string(&file).map_err(|error| bad(error.to_string()))?;
    let root = yaml::parse(&text, &file.to_string_lossy()).map_err(|error| ManifestError::Syntax(error.to_string()))?;
    let word = |key: &str| root.get(key).and_then(Node::scalar).unwrap_or_default().trim().to_owned();
    let folder = dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let name = Some(word("name")).filter(|name| !name.is_empty()).unwrap_or(folder);
    if !is_name(&name) {
        return Err(bad(format!("the name {name:?} must be 1 to 48 of a-z A-Z 0-9 - _")));
    }
    let command = match root.get("command").or_else(|| root.get("entry")) {
        None => Vec::new(),
        Some(node) => match (node.str(), node.items()) {
            (Some(text), _) => text.split_whitespace().map(str::to_owned).collect(),
            (None, items) => {
                let words: Option<Vec<String>> = items.iter().map(Node::scalar).collect();
                words
                    .filter(|words| !words.is_empty())
                    .ok_or_else(|| bad("`command` must be text or a list of texts".into()))?
            }
        },
    };
    // Python's shape has names or entries with a name.
    let requires_env = root.get("requires_env").map_or(&[][..], Node::items);
    let requires_env =
        requires_env.iter().filter_map(|node| node.scalar().or_else(|| node.get("name")?.scalar())).collect();
    Ok(Manifest {
        name,
        version: word("version"),
        description: word("description"),
        author: word("author"),
        requires_env,
        command,
        python: Some(word("python"))
            .filter(|path| !path.is_empty())
            .map(|path| crate::config::paths::expand_home(&path)),
        entry_point: word("entry_point"),
        source: word("source"),
    })
}

/// Whether a name can be a folder, a toolset and a word of the command line.
pub fn is_name(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    (1..=48).contains(&name.len()) && name.chars().all(fits) && !name.starts_with('-')
}

/// What to start for a plugin in this folder.
///
/// # Errors
/// Nothing in it can be started.
pub fn start(dir: &Path, manifest: &Manifest) -> Result<Start, ManifestError> {
    let python = || manifest.python.clone().unwrap_or_else(|| "python3".into());
    if !manifest.entry_point.is_empty() {
        return Ok(Start::Python { python: python(), target: manifest.entry_point.clone() });
    }
    if let Some((first, rest)) = manifest.command.split_first() {
        let own = dir.join(first);
        let program = if own.is_file() { own.to_string_lossy().into_owned() } else { first.clone() };
        return Ok(Start::Program(std::iter::once(program).chain(rest.iter().cloned()).collect()));
    }
    for name in ["handler.py", "__init__.py", "plugin.py"] {
        let file = dir.join(name);
        if file.is_file() {
            return Ok(Start::Python { python: python(), target: file.to_string_lossy().into_owned() });
        }
    }
    let program = ["plugin", "run", "run.sh"].into_iter().map(|name| dir.join(name)).find(|file| file.is_file());
    match program {
        Some(file) => Ok(Start::Program(vec![file.to_string_lossy().into_owned()])),
        None => Err(ManifestError::Nothing(dir.to_path_buf())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in files {
            std::fs::write(dir.path().join(name), text).unwrap();
        }
        dir
    }

    #[test]
    fn manifests_of_both_programs_are_read() {
        let dir = folder(&[(
            FILE,
            "name: weather\nversion: 1.2\ndescription: Tells the weather\nkind: standalone\nrequires_env:\n- WEATHER_KEY\n- name: OTHER\nprovides_tools: [weather]\ncommand: node main.js\n",
        )]);
        let manifest = read(dir.path()).unwrap();
        assert_eq!((manifest.name.as_str(), manifest.version.as_str()), ("weather", "1.2"));
        assert_eq!(manifest.requires_env, ["WEATHER_KEY", "OTHER"]);
        assert_eq!(start(dir.path(), &manifest), Ok(Start::Program(vec!["node".into(), "main.js".into()])));
    }

    #[test]
    fn what_is_started() {
        for (files, wanted) in [
            (&[(FILE, "name: a"), ("handler.py", "")][..], "handler.py"),
            (&[(FILE, "name: a"), ("__init__.py", "")], "__init__.py"),
            (&[(FILE, "name: a"), ("run.sh", "")], "run.sh"),
            (&[(FILE, "name: a\ncommand: [./x, -v]"), ("x", ""), ("handler.py", "")], "x"),
        ] {
            let dir = folder(files);
            let path = match start(dir.path(), &read(dir.path()).unwrap()).unwrap() {
                Start::Program(words) => words[0].clone(),
                Start::Python { target, .. } => target,
            };
            assert!(path.starts_with(&*dir.path().to_string_lossy()) && path.ends_with(wanted), "{path}");
        }
        let dir = folder(&[(FILE, "name: a")]);
        assert!(matches!(start(dir.path(), &read(dir.path()).unwrap()), Err(ManifestError::Nothing(_))));
    }

    #[test]
    fn what_cannot_be_used_is_told() {
        for (text, said) in
            [("name: ../x", "must be 1 to 48"), ("name: [", "plugin.yaml"), ("name: a\ncommand: {}", "must be text")]
        {
            let error = read(folder(&[(FILE, text)]).path()).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
        assert!(matches!(read(folder(&[]).path()), Err(ManifestError::Missing(_))));
    }
}
