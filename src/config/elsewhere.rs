//! `elsewhere:` of the configuration: sessions that other agents left on this machine.

use serde::{Deserialize, Serialize};

/// `elsewhere:`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ElsewhereConfig {
    /// At the first start, sessions of a Python Hermes in the same home are brought over.
    pub import_python: bool,
}

impl Default for ElsewhereConfig {
    fn default() -> Self {
        Self { import_python: true }
    }
}
