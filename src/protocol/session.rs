//! Values that sessions are told by: processes, the policy on disk, backends.

use serde::{Deserialize, Serialize};

/// `proc_<12 hex>`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ProcessId(pub String);

/// A file of the policy that is not as the session read it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicyChange {
    /// `~/.hermes/config.yaml`
    pub name: String,
    /// Lines that begin with `+`, `-`, a blank or `@`: a unified difference, bounded, without secrets.
    pub diff: String,
    /// Which content it is about.
    pub hash: String,
}

/// A backend that cannot be used as it is configured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnavailableBackend {
    /// `docker`, `ssh`.
    pub kind: String,
    /// What is missing, for people.
    pub reason: String,
}
