//! Why a local model does not answer, and what to do.

use super::fetch::FetchError;
use super::gguf::HeaderError;
use crate::fs::WriteError;
use crate::fs::remove::RemoveError;
use std::path::PathBuf;

/// What failed.
#[derive(Debug, thiserror::Error)]
pub enum LocalError {
    #[error("{0} is not on this computer; run `hermes models get {0}`")]
    NotHere(String),
    #[error(
        "unknown model {0:?}; `hermes models list --local` lists the known ones, and a path or REPO:FILE names another"
    )]
    Unknown(String),
    #[error("a model named {0:?} is here already, or the name can't be used: remove that one, or rename the file")]
    Taken(String),
    #[error("{path}: {why}", path = .0.display(), why = .1)]
    File(PathBuf, HeaderError),
    #[error("{0}")]
    Write(WriteError),
    #[error(transparent)]
    Remove(#[from] RemoveError),
    #[error(transparent)]
    Fetch(#[from] FetchError),
    /// What a hub said of a repository.
    #[error("{0}")]
    Hub(String),
    /// Nothing serves models here, and why.
    #[error("{0}")]
    NoEngine(String),
    #[error("{model} needs {need} of memory and {free} are free{smaller}")]
    Memory { model: String, need: String, free: String, smaller: String },
    /// The engine ended or hangs; the text says what to do.
    #[error("{0}")]
    Engine(String),
}
