//! Languages that scripts are written in, and the programs that run them.

use crate::policy::shell::JAVASCRIPT;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// A language.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Language {
    #[default]
    Python,
    JavaScript,
}

impl Language {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Python, Self::JavaScript];

    /// The word of the parameter.
    pub fn word(self) -> &'static str {
        match self {
            Self::Python => "python",
            Self::JavaScript => JAVASCRIPT,
        }
    }

    /// The language of a word.
    pub fn of(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|language| language.word() == word)
    }

    fn programs(self) -> &'static [&'static str] {
        match self {
            Self::Python => &["python3", "python"],
            Self::JavaScript => &["node", "nodejs"],
        }
    }

    /// The program for it in these folders, a `PATH`; none below `not`, where the script's own work could have put it.
    pub fn program(self, path: &str, not: Option<&Path>) -> Option<PathBuf> {
        let folders: Vec<PathBuf> = std::env::split_paths(path).filter(|folder| folder.is_absolute()).collect();
        let inside = |path: &PathBuf| not.is_some_and(|not| path.starts_with(not));
        let of_name =
            |name: &&str| folders.iter().map(|folder| folder.join(name)).find(|path| is_program(path) && !inside(path));
        self.programs().iter().find_map(of_name)
    }

    /// The Python of an activated environment.
    pub fn of_environment(self, folder: Option<&str>) -> Option<PathBuf> {
        let path = Path::new(folder?).join("bin").join("python");
        (self == Self::Python && is_program(&path)).then_some(path)
    }
}

fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_of_a_language_is_none_of_the_workspace() {
        let dir = tempfile::tempdir().unwrap();
        let program = |folder: &str| {
            let folder = dir.path().join(folder);
            std::fs::create_dir_all(&folder).unwrap();
            let path = folder.join("python3");
            std::fs::write(&path, "").unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
            (folder, path)
        };
        let (inside, planted) = program("work/bin");
        let (outside, usual) = program("usr/bin");
        let path = std::env::join_paths([&inside, &outside]).unwrap().into_string().unwrap();
        let work = dir.path().join("work");
        assert_eq!(Language::Python.program(&path, None), Some(planted));
        assert_eq!(Language::Python.program(&path, Some(&work)), Some(usual));
        assert_eq!(Language::JavaScript.program(&path, None), None);
        assert_eq!(Language::Python.program("bin:.", None), None);
        assert_eq!(Language::of("javascript"), Some(Language::JavaScript));
        assert_eq!(Language::of("perl"), None);
    }
}
