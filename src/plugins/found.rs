//! Which plugins there are: of the home folder, and of a project that is trusted with them. Reads, starts nothing.

use super::manifest::{self, Manifest, ManifestError};
use crate::config::trust::{Kind, Project, Standing};
use crate::config::{Paths, PluginsConfig};
use std::path::{Path, PathBuf};

/// A folder that may be a plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The manifest's name, or the folder's when the manifest can't be read.
    pub name: String,
    pub dir: PathBuf,
    pub from: From,
    pub manifest: Result<Manifest, ManifestError>,
    pub may: May,
    /// What a person looked at, when it is a project's: it runs from a copy that has this fingerprint.
    pub fingerprint: Option<String>,
}

/// Where it lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum From {
    Home,
    Project,
}

impl From {
    /// For people.
    pub fn word(self) -> &'static str {
        match self {
            From::Home => "home",
            From::Project => "project",
        }
    }
}

/// Whether it may be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum May {
    Run,
    /// Not named in `plugins.enabled`.
    NotEnabled,
    /// Named in `plugins.disabled`.
    Disabled,
    /// The folder is not trusted with it, or it changed since.
    Untrusted(String),
    /// Another of that name counts.
    Shadowed,
}

/// All of them, by name. A project's plugin takes the place of one of the home folder that has its name.
pub fn find(home: &Paths, config: &PluginsConfig, project: Option<&Project>) -> Vec<Found> {
    let mut all: Vec<Found> = folders(&home.plugins()).iter().map(|dir| of_home(dir, config)).collect();
    for (thing, standing) in project.iter().flat_map(|project| &project.things) {
        let Some(name) = thing.id.strip_prefix("plugins.").filter(|_| thing.kind == Kind::Plugin) else { continue };
        let Some(project) = project else { continue };
        let dir = project.dir.join(".hermes/plugins").join(name);
        let may = match standing {
            Standing::Trusted => None,
            Standing::New if !thing.problem.is_empty() => Some(thing.problem.clone()),
            Standing::New => Some("this folder is not trusted with it".into()),
            Standing::Changed { .. } => Some("it changed since you trusted it".into()),
        };
        let fingerprint = Some(thing.fingerprint.clone());
        let mut found = Found { from: From::Project, fingerprint, ..of_home(&dir, config) };
        found.may = match (may, found.may) {
            (_, May::Disabled) => May::Disabled,
            (Some(why), _) => May::Untrusted(why),
            (None, _) => May::Run,
        };
        all.push(found);
    }
    for index in 0..all.len() {
        let later = all[index + 1..].iter().any(|other| other.name == all[index].name && other.may == May::Run);
        if later && all[index].may == May::Run {
            all[index].may = May::Shadowed;
        }
    }
    all.sort_by(|a, b| a.name.cmp(&b.name));
    all
}

/// Plugins that the configuration wants to run and that are not there, in words.
pub fn missing(config: &PluginsConfig, all: &[Found]) -> Vec<String> {
    let is = |found: &Found, name: &String| {
        found.name == *name || found.dir.file_name().is_some_and(|folder| folder.to_string_lossy() == name.as_str())
    };
    let absent = config.enabled.iter().filter(|name| !all.iter().any(|found| is(found, name)));
    let words = absent.map(|name| {
        let near = crate::config::suggest::hint(name, all.iter().map(|found| found.name.as_str()));
        format!("plugins.enabled names {name}, which is not installed{near}; list plugins with hermes plugins list")
    });
    words.collect()
}

fn folders(dir: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().filter_map(Result::ok).map(|entry| entry.path());
    let mut dirs: Vec<PathBuf> = entries.filter(|path| path.is_dir() && !is_hidden(path)).collect();
    dirs.sort();
    dirs
}

fn is_hidden(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(['.', '_']))
}

fn of_home(dir: &Path, config: &PluginsConfig) -> Found {
    let manifest = manifest::read(dir);
    let folder = dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let name = manifest.as_ref().map_or_else(|_| folder.clone(), |manifest| manifest.name.clone());
    let named = |list: &[String]| list.iter().any(|entry| *entry == name || *entry == folder);
    let may = match (named(&config.disabled), named(&config.enabled)) {
        (true, _) => May::Disabled,
        (false, true) => May::Run,
        (false, false) => May::NotEnabled,
    };
    Found { name, dir: dir.to_path_buf(), from: From::Home, manifest, may, fingerprint: None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::trust;

    fn plugin(dir: &Path, name: &str) {
        std::fs::create_dir_all(dir.join(name)).unwrap();
        std::fs::write(dir.join(name).join("plugin.yaml"), format!("name: {name}\ncommand: x\n")).unwrap();
    }

    #[test]
    fn opt_in_trust_and_shadows() {
        let root = tempfile::tempdir().unwrap();
        let home = Paths::at(root.path().join("home"));
        let work = root.path().join("work");
        for name in ["a", "b", "off", "shared"] {
            plugin(&home.plugins(), name);
        }
        plugin(&home.plugins(), ".hidden");
        plugin(&work.join(".hermes/plugins"), "shared");
        plugin(&work.join(".hermes/plugins"), "own");
        let config = PluginsConfig {
            enabled: vec!["a".into(), "off".into(), "shared".into()],
            disabled: vec!["off".into()],
            ..PluginsConfig::default()
        };
        let gone = PluginsConfig { enabled: vec!["a".into(), "shred".into(), "nothing".into()], ..config.clone() };
        let words = missing(&gone, &find(&home, &gone, None));
        assert_eq!(words.len(), 2, "{words:?}");
        assert!(words[0].starts_with("plugins.enabled names shred, which is not installed"), "{words:?}");
        let may = |config: &PluginsConfig| -> Vec<String> {
            let project = trust::look(&home, &work);
            find(&home, config, project.as_ref())
                .into_iter()
                .map(|found| format!("{} {} {:?}", found.name, found.from.word(), found.may))
                .collect()
        };
        let untrusted = "Untrusted(\"this folder is not trusted with it\")";
        let before = vec![
            "a home Run".to_owned(),
            "b home NotEnabled".into(),
            "off home Disabled".into(),
            format!("own project {untrusted}"),
            "shared home Run".into(),
            format!("shared project {untrusted}"),
        ];
        assert_eq!(may(&config), before);
        trust::accept(&home, &trust::look(&home, &work).unwrap(), "now".into()).unwrap();
        let after = may(&config);
        assert_eq!(after[3..], ["own project Run", "shared home Shadowed", "shared project Run"]);
    }
}
