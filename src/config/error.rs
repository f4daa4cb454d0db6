//! What can go wrong with configuration. Every message names the thing and the remedy.

use std::path::{Path, PathBuf};

/// A configuration problem that stops the action at hand (never the program's start).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    #[error("no home folder is known: set HERMES_HOME to a folder you can write to")]
    NoHome,
    #[error("cannot write {path}: {reason}; {remedy}")]
    Write { path: PathBuf, reason: String, remedy: &'static str },
    #[error("cannot read {path}: {reason}")]
    Read { path: PathBuf, reason: String },
    /// Broken YAML: `FILE:LINE:COLUMN: what`, with an excerpt.
    #[error("{0}")]
    Syntax(#[from] super::yaml::SyntaxError),
    #[error("unknown key {key}{hint}")]
    UnknownKey { key: String, hint: String },
    #[error("{key} cannot be {value}: {expected}")]
    BadValue { key: String, value: String, expected: String },
    /// The edit would have changed more than it should.
    #[error("cannot change {key} in {path} without touching the rest: edit the file by hand")]
    Unsafe { key: String, path: PathBuf },
    #[error("no {kind} is called {name:?}{hint}")]
    NoLook { kind: &'static str, name: String, hint: String },
    /// A key binding, theme or skin file says something impossible.
    #[error("{path}: {text}")]
    Asset { path: String, text: String },
}

impl ConfigError {
    /// A failed write, with what to do about it.
    pub fn write(path: &Path, error: &std::io::Error) -> Self {
        use std::io::ErrorKind;
        let remedy = match error.kind() {
            ErrorKind::PermissionDenied => "make it writable for you, or set HERMES_HOME to a folder that is",
            ErrorKind::ReadOnlyFilesystem => "set HERMES_HOME to a folder on a writable disk",
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => "free some space on that disk",
            ErrorKind::NotADirectory | ErrorKind::AlreadyExists => {
                "a file stands where a folder is needed: move it away"
            }
            _ => "check the folder and its permissions",
        };
        Self::Write { path: path.to_path_buf(), reason: error.to_string(), remedy }
    }
}
