//! How questions are treated in a session.

use serde::{Deserialize, Serialize};

/// How questions are treated, the strictest first. Shown as *ask*, *auto*, *yolo*.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    #[default]
    Manual,
    /// An auxiliary model may pass questions of low risk (`policy::low_risk`); where none can be asked it is like manual.
    Smart,
    Off,
}

impl Mode {
    /// As it is shown: `ask`, `auto`, `yolo`.
    pub fn word(self) -> &'static str {
        match self {
            Mode::Manual => "ask",
            Mode::Smart => "auto",
            Mode::Off => "yolo",
        }
    }
}
