//! What can go wrong with configuration. Every message names the thing and the remedy.

use crate::fs::WriteError;
use std::path::PathBuf;

/// A configuration problem that stops the action at hand (never the program's start).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    #[error("no home folder: set HOME, or HERMES_HOME to a writable folder")]
    NoHome,
    #[error(transparent)]
    Write(#[from] WriteError),
    #[error("cannot read {path}: {reason}")]
    Read { path: PathBuf, reason: String },
    /// Broken YAML: `FILE:LINE:COLUMN: what`, with an excerpt.
    #[error("{0}")]
    Syntax(#[from] crate::yaml::SyntaxError),
    #[error("unknown key {key}{hint}")]
    UnknownKey { key: String, hint: String },
    #[error("{key} cannot be {value}: {expected}")]
    BadValue { key: String, value: String, expected: String },
    /// The edit would have changed more than it should.
    #[error("cannot change {key} in {path} without affecting other lines: edit the file by hand")]
    Unsafe { key: String, path: PathBuf },
    #[error("no {kind} named {name:?}{hint}")]
    NoLook { kind: &'static str, name: String, hint: String },
    #[error("no profile named {name:?}; there are: {known}{remedy}")]
    NoProfile { name: String, known: String, remedy: String },
    #[error("a profile can't be named {name:?}: {why}")]
    ProfileName { name: String, why: String },
    /// A key binding, theme or skin file says something impossible.
    #[error("{path}: {text}")]
    Asset { path: String, text: String },
}
