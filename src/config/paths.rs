//! Where things are on disk.

use super::ConfigError;
use std::path::{Path, PathBuf};

/// Folders and files of one home (`~/.hermes`, or `HERMES_HOME`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Paths {
    pub home: PathBuf,
}

impl Paths {
    /// The home that the environment names: `HERMES_HOME` (a leading `~/` is the user's home), else `~/.hermes`.
    ///
    /// # Errors
    /// [`ConfigError::NoHome`] when neither `HERMES_HOME` nor a home folder is known.
    pub fn discover(env: impl Fn(&str) -> Option<String>) -> Result<Self, ConfigError> {
        match env("HERMES_HOME").filter(|home| !home.trim().is_empty()) {
            Some(home) => {
                let home = expand_home(home.trim());
                let home = std::path::absolute(&home).unwrap_or(home);
                Ok(Self { home })
            }
            None => user_home().map(|home| Self { home: home.join(".hermes") }).ok_or(ConfigError::NoHome),
        }
    }

    /// A home at a given place.
    pub fn at(home: impl Into<PathBuf>) -> Self {
        Self { home: home.into() }
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

    /// Logins of MCP servers, each readable by its owner only.
    pub fn mcp_tokens(&self) -> PathBuf {
        self.home.join("mcp-tokens")
    }

    /// Files as they were before tools changed them.
    pub fn history(&self) -> PathBuf {
        self.home.join("history")
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

/// The user's home folder.
pub fn user_home() -> Option<PathBuf> {
    directories::BaseDirs::new().map(|dirs| dirs.home_dir().to_path_buf())
}

/// `~` and `~/x` with the user's home in its place; anything else as it is.
pub fn expand_home(path: &str) -> PathBuf {
    match (path.strip_prefix('~'), user_home()) {
        (Some(""), Some(home)) => home,
        (Some(rest), Some(home)) if rest.starts_with('/') => home.join(&rest[1..]),
        _ => PathBuf::from(path),
    }
}

/// Makes a folder and its missing parents, each readable by its owner only (0700). Folders that exist keep their mode.
///
/// # Errors
/// [`ConfigError::Write`] with the folder and the remedy.
pub fn ensure_dir(dir: &Path) -> Result<(), ConfigError> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(dir).map_err(|error| ConfigError::write(dir, &error))
}

/// Writes a file so that a reader sees the old or the new text, never a part. A new file gets mode 0600, an existing one
/// keeps its mode; a symlink stays a symlink and its target is written.
///
/// # Errors
/// [`ConfigError::Write`] with the path and the remedy.
pub fn write_atomic(path: &Path, text: &str) -> Result<(), ConfigError> {
    replace(path, text, true)
}

/// As [`write_atomic`], but it may be lost with the power: for what means nothing after a start of the system.
pub fn write_whole(path: &Path, text: &str) -> Result<(), ConfigError> {
    replace(path, text, false)
}

fn replace(path: &Path, text: &str, durable: bool) -> Result<(), ConfigError> {
    use std::io::Write;
    let path = &std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let fail = |error: std::io::Error| ConfigError::write(path, &error);
    let dir = path.parent().unwrap_or(Path::new("."));
    ensure_dir(dir)?;
    let mut file = tempfile::NamedTempFile::new_in(dir).map_err(fail)?;
    file.write_all(text.as_bytes()).map_err(fail)?;
    if let Ok(old) = std::fs::metadata(path) {
        file.as_file().set_permissions(old.permissions()).map_err(fail)?;
    }
    if durable {
        file.as_file().sync_all().map_err(fail)?;
    }
    file.persist(path).map_err(|error| fail(error.error))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

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

    #[test]
    fn discovering_creates_nothing_and_writing_creates_private_folders() {
        let dir = tempfile::tempdir().unwrap();
        let paths = Paths::at(dir.path().join("home"));
        assert!(!paths.home.exists());
        write_atomic(&paths.config(), "a: 1\n").unwrap();
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&paths.home), mode(&paths.config())), (0o700, 0o600));
        std::fs::set_permissions(paths.config(), std::fs::Permissions::from_mode(0o640)).unwrap();
        write_atomic(&paths.config(), "a: 2\n").unwrap();
        assert_eq!(mode(&paths.config()), 0o640);
        assert_eq!(std::fs::read_to_string(paths.config()).unwrap(), "a: 2\n");
    }

    #[test]
    fn symlinks_stay() {
        let dir = tempfile::tempdir().unwrap();
        let (real, link) = (dir.path().join("real.yaml"), dir.path().join("config.yaml"));
        std::fs::write(&real, "a: 1\n").unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        write_atomic(&link, "a: 2\n").unwrap();
        assert!(link.symlink_metadata().unwrap().is_symlink());
        assert_eq!(std::fs::read_to_string(&real).unwrap(), "a: 2\n");
    }
}
