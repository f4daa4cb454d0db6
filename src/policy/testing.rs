//! The one machine of tests, of this room and of `tests/judge.rs`: alice's, with the files, links and texts that a test gives it.

use super::files::normal;
use super::glob;
use super::{About, Matches, World};
use std::path::{Path, PathBuf};

/// What is on the machine. A link leads what is below it, too.
pub(super) struct Machine {
    pub files: &'static [&'static str],
    pub links: &'static [(&'static str, &'static str)],
    pub texts: &'static [(&'static str, &'static str)],
    /// Files that have another name.
    pub hard: &'static [&'static str],
    /// The folders that the session works in.
    pub border: &'static [&'static str],
    /// What the session made.
    pub made: &'static [&'static str],
    /// The folders in which programs are looked for.
    pub path: Option<&'static str>,
}

/// The machine without any files.
pub(super) const ALICE: Machine =
    Machine { files: &[], links: &[], texts: &[], hard: &[], border: &[], made: &[], path: None };

impl World for Machine {
    fn home(&self) -> PathBuf {
        "/home/alice".into()
    }

    fn hermes_home(&self) -> PathBuf {
        "/home/alice/.hermes".into()
    }

    fn variable(&self, name: &str) -> Option<String> {
        self.path.filter(|_| name == "PATH").map(str::to_owned)
    }

    fn glob(&self, pattern: &str, _: &Path, limit: usize) -> Matches {
        let deep = |path: &&&str| path.matches('/').count() == pattern.matches('/').count();
        let found = self.files.iter().filter(deep).filter(|path| glob::matches(pattern, path));
        Matches::at_most(found.map(PathBuf::from).collect(), limit)
    }

    fn resolve(&self, path: &Path) -> PathBuf {
        let path = normal(Path::new("/"), &path.to_string_lossy());
        let led = self.links.iter().find_map(|(from, to)| {
            let rest = path.strip_prefix(from).filter(|rest| rest.is_empty() || rest.starts_with('/'))?;
            Some(format!("{to}{rest}"))
        });
        led.unwrap_or(path).into()
    }

    fn border(&self) -> Vec<PathBuf> {
        self.border.iter().map(PathBuf::from).collect()
    }

    fn made(&self, path: &Path) -> bool {
        self.made.iter().any(|made| path.starts_with(made))
    }

    fn about(&self, path: &Path) -> Option<About> {
        let is = |file: &&&str| Path::new(file) == path;
        let names = if self.hard.iter().any(|file| is(&file)) { 2 } else { 1 };
        let folder = self.files.iter().any(|file| Path::new(file).starts_with(path) && Path::new(file) != path);
        (folder || names > 1 || self.files.iter().any(|file| is(&file))).then_some(About { folder, names })
    }

    fn text(&self, path: &Path, limit: usize) -> Option<String> {
        let (_, text) = self.texts.iter().find(|(name, _)| Path::new(name) == path)?;
        (text.len() <= limit).then(|| (*text).to_owned())
    }
}
