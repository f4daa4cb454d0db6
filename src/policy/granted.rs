//! What a person granted for one session.

use super::permissions::Permission;

/// Effects and tools, lines like `terminal(git push *)`, and commands as [`super::rule::Exact`] writes them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Granted {
    entries: Vec<String>,
    /// Those of the entries that are lines of a permission file.
    lines: Vec<Permission>,
}

impl Granted {
    /// As they were given, each once.
    pub fn entries(&self) -> &[String] {
        &self.entries
    }

    /// Those that are permissions.
    pub fn lines(&self) -> &[Permission] {
        &self.lines
    }

    /// Whether this very entry is among them.
    pub fn has(&self, entry: &str) -> bool {
        self.entries.iter().any(|one| one == entry)
    }

    /// Adds an entry that is not there yet.
    pub fn add(&mut self, entry: &str) {
        if self.has(entry) {
            return;
        }
        let line = Some(entry).filter(|entry| entry.contains('(')).and_then(|entry| Permission::granted(entry).ok());
        self.lines.extend(line);
        self.entries.push(entry.to_owned());
    }
}

impl From<Vec<String>> for Granted {
    fn from(entries: Vec<String>) -> Self {
        let mut granted = Self::default();
        entries.iter().for_each(|entry| granted.add(entry));
        granted
    }
}
