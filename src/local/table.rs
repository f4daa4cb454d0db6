//! The models that are offered, and the engine that serves them: `assets/local-models.yaml`.

use crate::yaml;
use serde::Deserialize;
use std::sync::LazyLock;

/// A model that can be fetched.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Row {
    /// What people type, and the name of its file: `a-z 0-9 . -`.
    pub name: String,
    /// For people.
    pub title: String,
    /// Repository on the hub.
    pub repo: String,
    /// The revision that has this very file.
    pub revision: String,
    pub file: String,
    pub bytes: u64,
    /// Lower-case hexadecimal. Empty: it is not offered.
    pub sha256: String,
    /// From the model's card.
    pub licence: String,
    /// Tokens that it was trained for.
    pub context: u64,
    /// Billions of parameters.
    pub params: f64,
    /// Billions that work on a token, where that is fewer.
    pub active: Option<f64>,
    /// Published result for tool calls, and where.
    pub tools: String,
    /// What its chat template needs.
    pub template: String,
    /// What to expect of it.
    pub note: String,
    /// Where size, hash and licence were read.
    pub source: String,
}

/// A package that holds the engine for one kind of computer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EngineRow {
    pub name: String,
    pub version: String,
    pub licence: String,
    /// The oldest Python that it runs with.
    pub python: String,
    /// `linux-x86_64`: system and processor.
    pub platform: String,
    pub url: String,
    pub bytes: u64,
    pub sha256: String,
}

/// The whole table.
#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Table {
    /// Hubs, best first.
    hosts: Vec<String>,
    models: Vec<Row>,
    engines: Vec<EngineRow>,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| table().unwrap_or_default());

fn table() -> Result<Table, String> {
    let node = yaml::parse(include_str!("../../assets/local-models.yaml"), "assets/local-models.yaml");
    let value = node.map_err(|error| error.to_string())?.to_json();
    serde_json::from_value(value).map_err(|error| format!("assets/local-models.yaml: {error}"))
}

/// The models that may be offered, smallest first.
pub fn models() -> impl DoubleEndedIterator<Item = &'static Row> + Clone {
    TABLE.models.iter().filter(|row| row.is_offered())
}

/// The model of this name.
pub fn find(name: &str) -> Option<&'static Row> {
    models().find(|row| row.name.eq_ignore_ascii_case(name.trim()))
}

/// The next smaller one, for a computer that this one is too large for.
pub fn smaller(bytes: u64) -> Option<&'static Row> {
    models().rev().find(|row| row.bytes < bytes)
}

/// The hubs.
pub fn hosts() -> &'static [String] {
    &TABLE.hosts
}

/// The package of the engine for this computer.
pub fn engine() -> Option<&'static EngineRow> {
    let here = format!("{}-{}", std::env::consts::OS, std::env::consts::ARCH);
    // The packages are linked against the C library of GNU.
    let fits = cfg!(not(target_os = "linux")) || cfg!(target_env = "gnu");
    TABLE.engines.iter().find(|row| fits && row.platform == here)
}

impl Row {
    /// A size, a hash and a licence, all read from a named source.
    fn is_offered(&self) -> bool {
        self.bytes > 0 && self.sha256.len() == 64 && !self.licence.is_empty()
    }

    /// Bytes that are read for each token: what its speed depends on.
    pub fn bytes_per_token(&self) -> u64 {
        match self.active {
            Some(active) if self.params > 0.0 => (self.bytes as f64 * active / self.params) as u64,
            _ => self.bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_row_is_whole_and_the_smallest_is_first() {
        let table = table().unwrap();
        let mut names = HashSet::new();
        let mut last = 0;
        for row in &table.models {
            let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || ".-".contains(c);
            assert!(!row.name.is_empty() && row.name.chars().all(plain), "{}", row.name);
            assert!(names.insert(&row.name), "{} twice", row.name);
            assert!(row.is_offered(), "{}: size, hash or licence is missing", row.name);
            assert!(row.sha256.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte)), "{}", row.name);
            assert_eq!(row.revision.len(), 40, "{}", row.name);
            assert!(row.file.ends_with(".gguf") && row.repo.contains('/'), "{}", row.name);
            assert!(row.bytes > last, "{} is not larger than the one before", row.name);
            assert!(row.context >= 4096 && row.params > 0.0 && !row.title.is_empty(), "{}", row.name);
            assert!(row.bytes_per_token() <= row.bytes, "{}", row.name);
            last = row.bytes;
        }
        assert!(table.hosts.iter().all(|host| host.starts_with("https://")));
    }

    #[test]
    fn there_is_something_for_small_and_for_large_computers() {
        let sizes: Vec<u64> = models().map(|row| row.bytes).collect();
        assert!(sizes.len() >= 4, "{sizes:?}");
        assert!(sizes.first().is_some_and(|bytes| *bytes < 700_000_000), "{sizes:?}");
        assert!(sizes.last().is_some_and(|bytes| *bytes > 10_000_000_000), "{sizes:?}");
        assert_eq!(smaller(sizes[1]).map(|row| row.bytes), Some(sizes[0]));
        assert!(smaller(sizes[0]).is_none());
    }

    #[test]
    fn every_engine_is_pinned() {
        for row in table().unwrap().engines {
            assert_eq!(row.sha256.len(), 64, "{}", row.platform);
            assert!(row.url.starts_with("https://") && row.url.ends_with(".whl") && row.bytes > 0, "{}", row.platform);
            assert!(!row.licence.is_empty() && row.python.starts_with("3."), "{}", row.platform);
        }
    }
}
