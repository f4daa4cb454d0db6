//! What is known before anything runs: the home, the folder to work in, the configuration.

use crate::agent::secrets;
use crate::backends::Keys;
use crate::config::load::{self, Loaded, Sources};
use crate::config::paths::{Paths, expand_home};
use crate::config::profiles::Profiles;
use crate::config::{Config, ConfigError};
use crate::policy::redact::Secrets;
use anyhow::Context as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where to work, and what the person allows from the start.
#[derive(Clone, Debug, Default)]
pub struct BaseOptions {
    /// `None`: the current folder.
    pub cwd: Option<PathBuf>,
    /// Folders beside it that are no less the session's.
    pub add_dir: Vec<PathBuf>,
    /// The person's own hooks run without a yes to each.
    pub accept_hooks: bool,
}

/// What is known before anything runs.
#[derive(Clone)]
pub struct Base {
    pub paths: Paths,
    pub sources: Arc<Sources>,
    pub loaded: Arc<Loaded>,
    pub cwd: PathBuf,
    /// The folders of `--add-dir`, links followed.
    pub added: Vec<PathBuf>,
    /// `--accept-hooks`.
    pub accept_hooks: bool,
    /// Values that are masked wherever they stand.
    pub secrets: Secrets,
}

/// The folders of this home, or of the profile in it that is meant.
pub fn paths() -> Result<Paths, ConfigError> {
    Paths::discover(|name| std::env::var(name).ok())
}

/// The profiles of this home.
pub fn profiles() -> Result<Profiles, ConfigError> {
    Profiles::discover(|name| std::env::var(name).ok())
}

/// Paths, working folder and configuration; the options win over the files.
pub fn base(options: &BaseOptions) -> anyhow::Result<Base> {
    let paths = paths()?;
    let cwd = match &options.cwd {
        Some(folder) => folder.clone(),
        None => std::env::current_dir().context("the current folder no longer exists; cd to one that does")?,
    };
    let cwd = std::fs::canonicalize(&cwd).with_context(|| format!("folder not found: {}", cwd.display()))?;
    let sources = Sources { cwd: Some(cwd.clone()), ..Sources::of_process(paths.clone()) };
    let mut loaded = load::load(&sources);
    crate::config::said::once(&paths, &mut loaded.warnings);
    let loaded = Arc::new(loaded);
    // `terminal.cwd` names a folder to work in; these words mean the current one.
    let configured = loaded.config.terminal.cwd.trim();
    let cwd = match configured {
        _ if options.cwd.is_some() || !is_here(&loaded.config) => cwd,
        "" | "." | "auto" | "cwd" => cwd,
        folder => std::fs::canonicalize(expand_home(folder))
            .with_context(|| format!("terminal.cwd in config.yaml is not a folder: {folder}"))?,
    };
    let added: Vec<PathBuf> = options.add_dir.iter().map(|folder| added(folder)).collect::<anyhow::Result<_>>()?;
    let known = Secrets::default();
    let project = secrets::of_project(&cwd);
    known.learn(secrets::values(&loaded, &paths).into_iter().chain(project));
    Ok(Base {
        paths,
        sources: Arc::new(sources),
        loaded,
        cwd,
        added,
        accept_hooks: options.accept_hooks,
        secrets: known,
    })
}

/// A folder of `--add-dir`.
fn added(folder: &Path) -> anyhow::Result<PathBuf> {
    let real = std::fs::canonicalize(expand_home(&folder.to_string_lossy()));
    let real = real.with_context(|| format!("--add-dir is not a folder: {}", folder.display()))?;
    anyhow::ensure!(real.is_dir(), "--add-dir is not a folder: {}", folder.display());
    Ok(real)
}

impl Base {
    /// The folders that a session works in: the one it is opened in first, then those that were added.
    pub fn border(&self, cwd: &Path) -> Vec<PathBuf> {
        std::iter::once(cwd).chain(self.added.iter().map(PathBuf::as_path)).map(Path::to_path_buf).collect()
    }
}

/// Whether commands run on this machine: only then is `terminal.cwd` one of its folders.
fn is_here(config: &Config) -> bool {
    matches!(config.terminal.backend.as_str(), "" | "local")
}

/// The environment variables that hold keys of the configured providers.
pub fn key_names(config: &Config) -> Vec<String> {
    let providers = config.providers.values().map(|provider| &provider.key_env);
    let all = providers.chain(config.fallback_providers.iter().map(|fallback| &fallback.key_env));
    let services = Keys::SECRETS.iter().map(|name| (*name).to_owned());
    all.filter(|name| !name.is_empty()).cloned().chain(services).collect()
}

/// What services of sandboxes know this person by.
pub fn service_keys(loaded: &Loaded) -> Keys {
    Keys::find(|name| loaded.env(name))
}
