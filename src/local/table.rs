//! The models that are offered, and the engine that serves them: `assets/local-models.yaml`.

use super::shelf::is_name;
use crate::yaml;
use serde::Deserialize;
use std::path::Path;
use std::sync::Arc;

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

/// The whole table: what comes with the program, and what a home adds.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Table {
    /// Hubs, best first.
    pub hosts: Vec<String>,
    /// Smallest first.
    models: Vec<Arc<Row>>,
    engines: Vec<Arc<EngineRow>>,
    /// Why the rows of the home are not in it.
    #[serde(skip)]
    pub problem: Option<String>,
}

impl Table {
    /// The table that comes with the program.
    fn bundled() -> Self {
        let text = include_str!("../../assets/local-models.yaml");
        read(text, "assets/local-models.yaml")
            .unwrap_or_else(|problem| Self { problem: Some(problem), ..Self::default() })
    }

    /// The table of a home: rows of its `local-models.yaml` come first, and replace those of the same name. Blocks.
    pub fn of(home: &Path) -> Self {
        let mut table = Self::bundled();
        let file = home.join("local-models.yaml");
        let own = match std::fs::read_to_string(&file) {
            Ok(text) => read(&text, &file.display().to_string()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return table,
            Err(error) => Err(format!("{}: {error}", file.display())),
        };
        match own {
            Ok(own) => {
                table.hosts.splice(0..0, own.hosts);
                table.engines.splice(0..0, own.engines);
                table.models.retain(|row| !own.models.iter().any(|new| new.name == row.name));
                table.models.extend(own.models);
                table.models.sort_by_key(|row| row.bytes);
            }
            Err(problem) => table.problem = Some(problem),
        }
        table
    }

    /// The models that may be offered, smallest first.
    pub fn models(&self) -> impl DoubleEndedIterator<Item = &Arc<Row>> + Clone {
        self.models.iter().filter(|row| row.is_offered())
    }

    /// The model of this name.
    pub fn find(&self, name: &str) -> Option<&Arc<Row>> {
        self.models().find(|row| row.name.eq_ignore_ascii_case(name.trim()))
    }

    /// The next smaller one, for a computer that this one is too large for.
    pub fn smaller(&self, bytes: u64) -> Option<&Arc<Row>> {
        self.models().rev().find(|row| row.bytes < bytes)
    }

    /// The package of the engine for this computer.
    pub fn engine(&self) -> Option<&Arc<EngineRow>> {
        let here = format!("{}-{}", std::env::consts::OS, std::env::consts::ARCH);
        // The packages are linked against the C library of GNU.
        let fits = cfg!(not(target_os = "linux")) || cfg!(target_env = "gnu");
        self.engines.iter().find(|row| fits && row.platform == here)
    }
}

fn read(text: &str, name: &str) -> Result<Table, String> {
    let node = yaml::parse(text, name).map_err(|error| error.to_string())?;
    let table: Table = serde_json::from_value(node.to_json()).map_err(|error| format!("{name}: {error}"))?;
    match table.models.iter().find(|row| !is_name(&row.name)) {
        Some(row) => Err(format!("{name}: {:?} is no name: use a-z, 0-9, . and -", row.name)),
        None => Ok(table),
    }
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
        let table = Table::bundled();
        assert_eq!(table.problem, None);
        let mut names = HashSet::new();
        let mut last = 0;
        for row in &table.models {
            assert!(names.insert(&row.name), "{} twice", row.name);
            assert!(row.is_offered(), "{}: size, hash or licence is missing", row.name);
            assert!(
                row.sha256.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte)),
                "{}",
                row.name
            );
            assert_eq!(row.revision.len(), 40, "{}", row.name);
            assert!(row.file.ends_with(".gguf") && row.repo.contains('/'), "{}", row.name);
            assert!(row.bytes > last, "{} is not larger than the one before", row.name);
            assert!(row.context >= 4096 && row.params > 0.0 && !row.title.is_empty(), "{}", row.name);
            assert!(row.bytes_per_token() <= row.bytes && !row.source.is_empty(), "{}", row.name);
            last = row.bytes;
        }
        assert!(table.hosts.iter().all(|host| host.starts_with("https://")));
    }

    #[test]
    fn there_is_something_for_small_and_for_large_computers() {
        let table = Table::bundled();
        let sizes: Vec<u64> = table.models().map(|row| row.bytes).collect();
        assert!(sizes.len() >= 4, "{sizes:?}");
        assert!(sizes.first().is_some_and(|bytes| *bytes < 700_000_000), "{sizes:?}");
        assert!(sizes.last().is_some_and(|bytes| *bytes > 10_000_000_000), "{sizes:?}");
        assert_eq!(table.smaller(sizes[1]).map(|row| row.bytes), Some(sizes[0]));
        assert!(table.smaller(sizes[0]).is_none());
    }

    #[test]
    fn every_engine_is_pinned() {
        for row in Table::bundled().engines {
            assert_eq!(row.sha256.len(), 64, "{}", row.platform);
            assert!(row.url.starts_with("https://") && row.url.ends_with(".whl") && row.bytes > 0, "{}", row.platform);
            assert!(!row.licence.is_empty() && row.python.starts_with("3."), "{}", row.platform);
        }
    }

    #[test]
    fn a_home_adds_rows_and_a_bad_file_takes_none_away() {
        let home = tempfile::tempdir().unwrap();
        let write = |text: &str| {
            std::fs::write(home.path().join("local-models.yaml"), text).unwrap();
            Table::of(home.path())
        };
        let bundled = Table::bundled();
        assert_eq!(Table::of(home.path()), bundled);
        let hash = "a".repeat(64);
        let table = write(&format!(
            "hosts: [http://hub.lan]\nmodels:\n- {{name: ours, title: Ours, bytes: 5, sha256: {hash}, licence: MIT}}\n- {{name: bare, bytes: 6}}\n"
        ));
        assert_eq!(
            (table.models().next().map(|row| row.name.as_str()), table.hosts[0].as_str()),
            (Some("ours"), "http://hub.lan")
        );
        assert!(table.find("bare").is_none(), "a row without a hash is not offered");
        for (text, why) in [("models: 5", "local-models.yaml"), ("models:\n- {name: ../x}", "is no name")] {
            let table = write(text);
            assert!(table.problem.as_ref().is_some_and(|problem| problem.contains(why)), "{:?}", table.problem);
            assert_eq!(table.models, bundled.models);
        }
    }
}
