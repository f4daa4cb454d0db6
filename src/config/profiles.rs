//! Profiles: homes beside each other, each with its own settings, keys, memory and sessions. The root home is the profile
//! `default`; the others lie in its folder `profiles`. Here is which one is meant; what is done with them is `cli::profile`.

use super::ConfigError;
use super::paths::{Paths, expand_home};
use crate::environment::user_home;
use crate::fs::write_atomic;
use std::path::{Path, PathBuf};

/// The profile that the root home is.
pub const DEFAULT: &str = "default";
/// The variable that names a profile; `--profile` sets it.
pub const VARIABLE: &str = "HERMES_PROFILE";
/// The file of the root home that names the profile which is used when nothing else names one.
pub const ACTIVE: &str = "active_profile";
/// The folder of the root home that holds the others.
pub const FOLDER: &str = "profiles";
/// Characters of a name: it is part of the path of a socket, and stands in the title row.
const LONGEST: usize = 32;
/// Names that would read as something else where a profile is named.
const RESERVED: &[&str] = &["all", "hermes", "new", "none", "profiles", "root", "sudo"];

/// All profiles of one root home.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profiles {
    root: PathBuf,
}

impl Profiles {
    /// Those of the root home that the environment names: `HERMES_HOME` (a leading `~/` is the user's home), else
    /// `~/.hermes`.
    ///
    /// # Errors
    /// [`ConfigError::NoHome`] when neither `HERMES_HOME` nor a home folder is known.
    pub fn discover(env: impl Fn(&str) -> Option<String>) -> Result<Self, ConfigError> {
        match env("HERMES_HOME").filter(|home| !home.trim().is_empty()) {
            Some(home) => {
                let home = expand_home(home.trim());
                Ok(Self { root: std::path::absolute(&home).unwrap_or(home) })
            }
            None => user_home().map(|home| Self { root: home.join(".hermes") }).ok_or(ConfigError::NoHome),
        }
    }

    /// Those of a root home at a given place.
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// The root home.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Where the home of a profile is, whether it is there or not.
    pub fn paths(&self, name: &str) -> Paths {
        if name == DEFAULT { Paths::at(&self.root) } else { Paths::of_profile(&self.root, name) }
    }

    /// Whether there is a profile of this name. The default one is there before anything is.
    pub fn has(&self, name: &str) -> bool {
        name == DEFAULT || check(name).is_ok() && self.paths(name).home.is_dir()
    }

    /// The names of all, the default one first.
    pub fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.root.join(FOLDER)).into_iter().flatten().flatten();
        let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.retain(|name| self.has(name));
        names.sort_unstable();
        names.insert(0, DEFAULT.to_owned());
        names
    }

    /// The one that is used when nothing else names one.
    pub fn active(&self) -> Option<String> {
        let text = std::fs::read_to_string(self.root.join(ACTIVE)).unwrap_or_default();
        Some(text.trim().to_owned()).filter(|name| !name.is_empty() && name != DEFAULT)
    }

    /// From now on this one is used when nothing else names one.
    ///
    /// # Errors
    /// There is none of this name, or the file can't be written.
    pub fn activate(&self, name: &str) -> Result<(), ConfigError> {
        self.find(name)?;
        Ok(write_atomic(&self.root.join(ACTIVE), &format!("{name}\n"))?)
    }

    /// The home of a profile that is there.
    ///
    /// # Errors
    /// [`ConfigError::NoProfile`] with those that there are.
    pub fn find(&self, name: &str) -> Result<Paths, ConfigError> {
        if self.has(name) { Ok(self.paths(name)) } else { Err(self.unknown(name, "")) }
    }

    /// The home to work in: of the profile that `asked` names, else of the active one, else the root.
    ///
    /// # Errors
    /// [`ConfigError::NoProfile`] when the one that is named does not exist.
    pub fn chosen(&self, asked: Option<&str>) -> Result<Paths, ConfigError> {
        match (asked.map(str::trim).filter(|name| !name.is_empty()), self.active()) {
            (Some(name), _) => self.find(name),
            (None, Some(name)) if self.has(&name) => Ok(self.paths(&name)),
            (None, Some(name)) => {
                Err(self.unknown(&name, &format!("; {} names it: hermes profile use {DEFAULT}", self.file().display())))
            }
            (None, None) => Ok(self.paths(DEFAULT)),
        }
    }

    fn file(&self) -> PathBuf {
        self.root.join(ACTIVE)
    }

    fn unknown(&self, name: &str, more: &str) -> ConfigError {
        let known = self.names().join(", ");
        let make = match check(name) {
            Ok(()) => format!("; to create it: hermes profile create {name}"),
            Err(_) => "; to create one: hermes profile create NAME".to_owned(),
        };
        ConfigError::NoProfile { name: name.to_owned(), known, remedy: format!("{make}{more}") }
    }
}

/// Whether a new profile may have this name: it is a folder, a word of a command line, and part of a title.
///
/// # Errors
/// [`ConfigError::ProfileName`] with the reason.
pub fn check(name: &str) -> Result<(), ConfigError> {
    let refused = |why: String| Err(ConfigError::ProfileName { name: name.to_owned(), why });
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'_');
    if name == DEFAULT {
        refused("it is the home folder itself".into())
    } else if RESERVED.contains(&name) {
        refused("the word is reserved".into())
    } else if name.is_empty() || name.len() > LONGEST {
        refused(format!("expected 1 to {LONGEST} characters"))
    } else if !name.bytes().all(plain) || name.starts_with(['-', '_']) {
        refused("expected small letters, digits, - and _, with a letter or digit first".into())
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_may_be_and_may_not() {
        for name in ["work", "a", "0", "client-2", "a_b", "x".repeat(32).as_str()] {
            assert_eq!(check(name), Ok(()), "{name}");
        }
        let long = "x".repeat(33);
        for (name, why) in [
            ("", "1 to 32"),
            (long.as_str(), "1 to 32"),
            ("default", "home folder itself"),
            ("root", "reserved"),
            ("none", "reserved"),
            ("Work", "small letters"),
            ("-work", "first"),
            ("_work", "first"),
            (".", "small letters"),
            ("..", "small letters"),
            ("a/b", "small letters"),
            ("a b", "small letters"),
            ("a\0b", "small letters"),
            ("ä", "small letters"),
            ("--profile", "small letters"),
        ] {
            let error = check(name).unwrap_err().to_string();
            assert!(error.contains(why), "{name}: {error}");
        }
    }

    /// A root with these profiles, and an active one.
    fn root(names: &[&str], active: &str) -> (tempfile::TempDir, Profiles) {
        let dir = tempfile::tempdir().unwrap();
        for name in names {
            std::fs::create_dir_all(dir.path().join(FOLDER).join(name)).unwrap();
        }
        if !active.is_empty() {
            std::fs::write(dir.path().join(ACTIVE), active).unwrap();
        }
        let profiles = Profiles::at(dir.path());
        (dir, profiles)
    }

    #[test]
    fn which_profile_is_meant() {
        // asked, active, the profile that is used
        for (asked, active, wanted) in [
            (None, "", None),
            (None, "default\n", None),
            (None, " \n", None),
            (None, "work\n", Some("work")),
            (None, "work", Some("work")),
            (Some("home"), "work\n", Some("home")),
            (Some(" home "), "gone\n", Some("home")),
            (Some("default"), "work\n", None),
            (Some(""), "work\n", Some("work")),
        ] {
            let (_dir, profiles) = root(&["home", "work"], active);
            let paths = profiles.chosen(asked).unwrap();
            assert_eq!(paths.profile(), wanted, "{asked:?} {active:?}");
            assert_eq!(paths.root(), profiles.root());
            let home = wanted.map_or(profiles.root().to_owned(), |name| profiles.root().join("profiles").join(name));
            assert_eq!(paths.home, home);
        }
    }

    #[test]
    fn what_is_unknown_is_refused_with_what_there_is() {
        let (_dir, profiles) = root(&["work", ".new-x", "Odd"], "gone\n");
        assert_eq!(profiles.names(), ["default", "work"]);
        let error = profiles.chosen(Some("wrok")).unwrap_err().to_string();
        assert_eq!(
            error,
            "no profile named \"wrok\"; there are: default, work; to create it: hermes profile create wrok"
        );
        let error = profiles.chosen(Some("../work")).unwrap_err().to_string();
        assert!(error.ends_with("to create one: hermes profile create NAME"), "{error}");
        assert!(profiles.chosen(Some("Odd")).is_err() && profiles.activate("nobody").is_err());
        let error = profiles.chosen(None).unwrap_err().to_string();
        assert!(error.contains("\"gone\"") && error.ends_with("names it: hermes profile use default"), "{error}");
        profiles.activate("work").unwrap();
        assert_eq!(profiles.chosen(None).unwrap().profile(), Some("work"));
        profiles.activate(DEFAULT).unwrap();
        assert_eq!(profiles.chosen(None).unwrap().profile(), None);
    }
}
