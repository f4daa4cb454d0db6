//! How questions are treated in a session.

use serde::{Deserialize, Serialize};

/// How questions are treated, the strictest first. Written and shown by the same word; the older words of `config.yaml`
/// (`manual`, `smart`, `off`) are read, too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Nothing is changed: edits are refused, commands run read-only.
    Plan,
    /// As `Ask`, and each edit asks with its diff.
    Review,
    #[default]
    #[serde(alias = "manual")]
    Ask,
    /// An auxiliary model may pass questions of low risk (`policy::low_risk`); where none can be asked it is like `Ask`.
    #[serde(alias = "smart")]
    Auto,
    /// Only what always asks still asks.
    #[serde(alias = "off")]
    Yolo,
}

impl Mode {
    /// All of them, the strictest first.
    pub const ALL: [Mode; 5] = [Mode::Plan, Mode::Review, Mode::Ask, Mode::Auto, Mode::Yolo];

    /// As it is written and shown.
    pub fn word(self) -> &'static str {
        match self {
            Mode::Plan => "plan",
            Mode::Review => "review",
            Mode::Ask => "ask",
            Mode::Auto => "auto",
            Mode::Yolo => "yolo",
        }
    }

    /// What it means, in a line.
    pub fn about(self) -> &'static str {
        match self {
            Mode::Plan => "read-only: reads and proposes",
            Mode::Review => "each edit needs approval, with its diff",
            Mode::Ask => "risky commands need approval",
            Mode::Auto => "a model approves low-risk commands",
            Mode::Yolo => "only commands that always ask still ask",
        }
    }

    /// The mode that a word means, in any case, the older words among them.
    pub fn read(word: &str) -> Option<Self> {
        let word = word.to_lowercase();
        match word.as_str() {
            "manual" => Some(Mode::Ask),
            "smart" => Some(Mode::Auto),
            "off" => Some(Mode::Yolo),
            _ => Self::ALL.into_iter().find(|mode| mode.word() == word),
        }
    }
}
