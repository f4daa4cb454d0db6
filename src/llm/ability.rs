//! What a model was measured to do: kept per model and server, and read wherever the model is used.

use super::endpoint::Endpoint;
use crate::fs::{WriteError, write_whole};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Models that are remembered.
const MOST: usize = 200;
/// Tokens a second of the prompt below which a long prompt is felt.
const SLOW_PROMPT: f64 = 300.0;
/// Tokens of a window that is too small for the tools of large models.
pub(super) const NARROW: u64 = 16_000;

/// What the self-test found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Ability {
    /// Pieces came before the end.
    pub streams: bool,
    /// It called the tool that was asked for, in the form of its server.
    pub calls: Called,
    /// The arguments had the types of the schema.
    pub types: bool,
    /// It answered a greeting without a call.
    pub restraint: bool,
    /// Tokens, as the server tells; `None`: unknown.
    pub window: Option<u64>,
    /// Tokens a second that it reads, where that was measured.
    pub prompt_rate: Option<f64>,
    /// Tokens a second that it writes.
    pub rate: Option<f64>,
    /// Its server takes grammars (GBNF).
    pub grammar: bool,
    /// Milliseconds since the epoch.
    pub at: i64,
}

/// How it called a tool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Called {
    #[default]
    Not,
    /// As text, from which the call was recovered.
    AsText,
    Natively,
}

impl Ability {
    /// Whether few tools and short texts are better for it.
    pub fn is_small(&self) -> bool {
        self.calls != Called::Natively
            || !self.types
            || !self.restraint
            || self.window.is_some_and(|window| window < NARROW)
            || self.prompt_rate.is_some_and(|rate| rate < SLOW_PROMPT)
    }

    /// Whether its calls have to be held by a grammar, and can be.
    pub fn is_guided(&self) -> bool {
        self.grammar && (self.calls != Called::Natively || !self.types)
    }
}

/// The file of abilities: `cache/abilities.json`.
#[derive(Clone, Debug)]
pub struct Abilities {
    file: PathBuf,
}

impl Abilities {
    /// In this cache folder.
    pub fn new(cache: &Path) -> Self {
        Self { file: cache.join("abilities.json") }
    }

    /// All that is known. Blocks for a small file.
    pub fn all(&self) -> Measured {
        let text = std::fs::read_to_string(&self.file).unwrap_or_default();
        Measured(serde_json::from_str(&text).unwrap_or_default())
    }

    /// What is known of a model. Blocks for a small file.
    pub fn of(&self, endpoint: &Endpoint) -> Option<Ability> {
        self.all().0.remove(&key(endpoint, &endpoint.model))
    }

    /// Keeps what was found; the oldest make room. Blocks.
    ///
    /// # Errors
    /// It can't be written.
    pub fn keep(&self, endpoint: &Endpoint, ability: Ability) -> Result<(), WriteError> {
        let mut all = self.all().0;
        all.insert(key(endpoint, &endpoint.model), ability);
        while all.len() > MOST {
            let oldest = all.iter().min_by_key(|(_, ability)| ability.at).map(|(key, _)| key.clone());
            oldest.and_then(|oldest| all.remove(&oldest));
        }
        write_whole(&self.file, &serde_json::to_string_pretty(&all).unwrap_or_default())
    }
}

/// What was measured of every model.
#[derive(Clone, Debug, Default)]
pub struct Measured(BTreeMap<String, Ability>);

impl Measured {
    /// What is known of a model of this provider.
    pub fn of(&self, provider: &Endpoint, model: &str) -> Option<&Ability> {
        self.0.get(&key(provider, model))
    }
}

/// A model at a server: the same model elsewhere may have another template.
fn key(endpoint: &Endpoint, model: &str) -> String {
    format!("{}:{model} {}", endpoint.provider, endpoint.base_url)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    fn able() -> Ability {
        Ability { streams: true, calls: Called::Natively, types: true, restraint: true, ..Ability::default() }
    }

    #[test]
    fn what_was_measured_decides_and_not_the_name() {
        let table = [
            (able(), false, false),
            (Ability { calls: Called::AsText, grammar: true, ..able() }, true, true),
            (Ability { calls: Called::AsText, ..able() }, true, false),
            (Ability { types: false, grammar: true, ..able() }, true, true),
            (Ability { restraint: false, grammar: true, ..able() }, true, false),
            (Ability { window: Some(8192), ..able() }, true, false),
            (Ability { window: Some(131_072), prompt_rate: Some(5_000.0), ..able() }, false, false),
            (Ability { prompt_rate: Some(120.0), grammar: true, ..able() }, true, false),
        ];
        for (ability, small, guided) in table {
            assert_eq!((ability.is_small(), ability.is_guided()), (small, guided), "{ability:?}");
        }
    }

    #[test]
    fn it_is_kept_per_model_and_server() {
        let cache = tempfile::tempdir().unwrap();
        let abilities = Abilities::new(cache.path());
        let at = |base: &str| {
            let mut config = Config::default();
            config.model.base_url = base.into();
            config.model.default = "m".into();
            crate::llm::endpoint::resolve(&config, &|_: &str| None, None).unwrap()
        };
        let (one, other) = (at("http://127.0.0.1:1/v1"), at("http://127.0.0.1:2/v1"));
        abilities.keep(&one, able()).unwrap();
        assert_eq!((abilities.of(&one), abilities.of(&other)), (Some(able()), None));
        std::fs::write(cache.path().join("abilities.json"), "{").unwrap();
        assert_eq!(abilities.of(&one), None, "a damaged file is only a cache");
    }
}
