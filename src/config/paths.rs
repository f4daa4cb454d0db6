//! Where things are on disk.

use super::ConfigError;
use super::profiles::{self, Profiles};
use crate::environment::user_home;
use std::path::{Path, PathBuf};

/// Folders and files of one home: `~/.hermes` or `HERMES_HOME`, or that of a profile in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Paths {
    pub home: PathBuf,
    /// The root home and the name, for a profile other than the default one.
    profile: Option<(PathBuf, String)>,
}

impl Paths {
    /// The home that the environment names: the root in `HERMES_HOME` or `~/.hermes`, the profile in `HERMES_PROFILE` or the
    /// file `active_profile`.
    ///
    /// # Errors
    /// [`ConfigError::NoHome`] when no home folder is known, [`ConfigError::NoProfile`] when the profile does not exist.
    pub fn discover(env: impl Fn(&str) -> Option<String>) -> Result<Self, ConfigError> {
        Profiles::discover(&env)?.chosen(env(profiles::VARIABLE).as_deref())
    }

    /// A root home at a given place.
    pub fn at(home: impl Into<PathBuf>) -> Self {
        Self { home: home.into(), profile: None }
    }

    /// The home of a profile.
    pub(super) fn of_profile(root: &Path, name: &str) -> Self {
        Self { home: root.join(profiles::FOLDER).join(name), profile: Some((root.to_owned(), name.to_owned())) }
    }

    /// The name of the profile, unless it is the default one.
    pub fn profile(&self) -> Option<&str> {
        self.profile.as_ref().map(|(_, name)| name.as_str())
    }

    /// The home that holds all profiles: this one, where it is the default one.
    pub fn root(&self) -> &Path {
        self.profile.as_ref().map_or(&self.home, |(root, _)| root)
    }

    /// `config.yaml`.
    pub fn config(&self) -> PathBuf {
        self.home.join("config.yaml")
    }

    /// `permissions.yaml`: what runs without a question, what asks, what never runs.
    pub fn permissions(&self) -> PathBuf {
        self.home.join("permissions.yaml")
    }

    /// `.env`: keys, mode 0600.
    pub fn dotenv(&self) -> PathBuf {
        self.home.join(".env")
    }

    /// `keymap.yaml`.
    pub fn keymap(&self) -> PathBuf {
        self.home.join("keymap.yaml")
    }

    /// `trusted.yaml`: folders whose `hermes.yaml` is read.
    pub fn trusted(&self) -> PathBuf {
        self.home.join("trusted.yaml")
    }

    /// `trusted-things.json`: what projects may run, as it was when the person said yes.
    pub fn trusted_things(&self) -> PathBuf {
        self.home.join("trusted-things.json")
    }

    /// Plugins of the person.
    pub fn plugins(&self) -> PathBuf {
        self.home.join("plugins")
    }

    /// What plugins keep for themselves, a folder each.
    pub fn plugin_data(&self) -> PathBuf {
        self.home.join("plugin-data")
    }

    /// Python environments of installed packages.
    pub fn plugin_venvs(&self) -> PathBuf {
        self.home.join("plugin-venvs")
    }

    /// The folder of the session database and its journal: the home itself, where other programs of the family keep theirs.
    pub fn state(&self) -> PathBuf {
        self.home.clone()
    }

    /// The person's identity text for the model.
    pub fn soul(&self) -> PathBuf {
        self.home.join("SOUL.md")
    }

    /// Skills of the person.
    pub fn skills(&self) -> PathBuf {
        self.home.join("skills")
    }

    /// Skins of the person.
    pub fn skins(&self) -> PathBuf {
        self.home.join("skins")
    }

    /// Themes of the person.
    pub fn themes(&self) -> PathBuf {
        self.home.join("themes")
    }

    /// `MEMORY.md` and `USER.md`.
    pub fn memories(&self) -> PathBuf {
        self.home.join("memories")
    }

    /// Sessions that the person wrote out without naming a file.
    pub fn exports(&self) -> PathBuf {
        self.home.join("exports")
    }

    /// Everything that can be made again.
    pub fn cache(&self) -> PathBuf {
        self.home.join("cache")
    }

    /// Bundled skills, put on disk so that the model can read them.
    pub fn bundled_skills(&self) -> PathBuf {
        self.cache().join("skills")
    }

    /// What runs in the background, for the next run of this program.
    pub fn processes(&self) -> PathBuf {
        self.home.join("processes.json")
    }

    /// Whole outputs of tools whose results were cut.
    pub fn spill(&self) -> PathBuf {
        self.cache().join("spill")
    }

    /// Git worktrees of sessions: beside the root home, whose own rules for files do not hold there.
    pub fn worktrees(&self) -> PathBuf {
        let mut name = self.root().as_os_str().to_owned();
        name.push("-worktrees");
        name.into()
    }

    /// Logins of MCP servers, each readable by its owner only.
    pub fn mcp_tokens(&self) -> PathBuf {
        self.home.join("mcp-tokens")
    }

    /// Logins and keys of model providers, readable by their owner only.
    pub fn auth(&self) -> PathBuf {
        self.home.join("auth.json")
    }

    /// Files as they were before tools changed them.
    pub fn history(&self) -> PathBuf {
        self.home.join("history")
    }

    /// Named checkpoints, a folder for each session.
    pub fn checkpoints(&self) -> PathBuf {
        self.home.join("checkpoints")
    }

    /// What the last baseline of each working folder found.
    pub fn trees(&self) -> PathBuf {
        self.cache().join("trees")
    }

    /// What windows that are open keep while they are: lists of tabs, locks, sockets.
    pub fn run(&self) -> PathBuf {
        self.home.join("run")
    }

    /// Log files.
    pub fn logs(&self) -> PathBuf {
        self.home.join("logs")
    }

    /// Where a person's own skins and themes are looked for.
    pub fn look_dirs(&self) -> super::skin::LookDirs {
        super::skin::LookDirs { skins: Some(self.skins()), themes: Some(self.themes()) }
    }
}

/// `~` and `~/x` with the user's home in its place; anything else as it is.
pub fn expand_home(path: &str) -> PathBuf {
    match (path.strip_prefix('~'), user_home()) {
        (Some(""), Some(home)) => home,
        (Some(rest), Some(home)) if rest.starts_with('/') => home.join(&rest[1..]),
        _ => PathBuf::from(path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn home_comes_from_the_environment_first() {
        let paths = Paths::discover(|name| (name == "HERMES_HOME").then(|| "/srv/h".into())).unwrap();
        assert_eq!(paths.config(), PathBuf::from("/srv/h/config.yaml"));
        assert_eq!(paths.spill(), PathBuf::from("/srv/h/cache/spill"));
        let paths = Paths::discover(|name| (name == "HERMES_HOME").then(|| "~/h".into())).unwrap();
        assert_eq!(paths.home, user_home().unwrap().join("h"));
        let paths = Paths::discover(|name| (name == "HERMES_HOME").then(|| " ".into())).unwrap();
        assert_eq!(paths.home, user_home().unwrap().join(".hermes"));
    }
}
