//! Where things are on disk.

use std::path::PathBuf;

/// Folders and files of one home (`~/.hermes`, or `HERMES_HOME`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Paths {
    pub home: PathBuf,
}
