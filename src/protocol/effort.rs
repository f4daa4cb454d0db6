//! How hard a model thinks.

use serde::{Deserialize, Serialize};

/// How hard a reasoning model thinks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effort {
    None,
    Minimal,
    Low,
    #[default]
    Medium,
    High,
    XHigh,
}

impl Effort {
    /// Every effort, from least to most.
    pub const ALL: [Self; 6] = [Self::None, Self::Minimal, Self::Low, Self::Medium, Self::High, Self::XHigh];

    /// The word of the config: `none` to `xhigh`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Minimal => "minimal",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::XHigh => "xhigh",
        }
    }

    /// Reads the word of the config; `max` and `ultra` are the most there is.
    pub fn parse(word: &str) -> Option<Self> {
        let word = word.trim().to_ascii_lowercase();
        match word.as_str() {
            "max" | "ultra" => Some(Self::XHigh),
            _ => Self::ALL.into_iter().find(|effort| effort.as_str() == word),
        }
    }
}
