//! The gate's verdict: whether a call may run, and why. Its types ([`Intent`], [`Verdict`]) are the protocol's.
//!
//! Pure: questions about the machine go through [`World`], which tests fake. `tools::gate` is the only caller that
//! acts on a verdict, so every call goes through one gate.

pub mod border;
pub mod decide;
pub mod files;
pub mod glob;
pub mod granted;
mod later;
pub mod low_risk;
pub mod permissions;
pub mod place;
pub mod proposals;
pub mod reach;
pub mod redact;
pub mod remote;
pub mod rule;
pub mod shell;
pub mod smart;
pub mod table;
pub mod taint;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
pub mod unreviewed;
pub mod url;
pub mod variable;

pub use crate::protocol::{
    Approval, ApprovalId, ApprovalOrigin, Decision, EditIntent, Grant, Intent, Mode, Past, Payload, Preview, Proposal,
    Scope, Speaker, Target, Verdict, Why, Width,
};
pub use decide::{decide, decide_in};
pub use later::runs_later;
pub use low_risk::low_risk;
pub use rule::{Rule, Rules};

use std::path::PathBuf;

/// Names of classes that stay as allowlists hold them, and how a person reads them.
const LABELS: [(&str, &str); 6] = [
    ("delete in root path", "delete outside this folder"),
    ("overwrite system file via redirection", "change of a startup file"),
    ("git reset --hard (destroys uncommitted changes)", "git reset --hard"),
    ("git clean with force (deletes untracked files)", "git clean with force"),
    ("pipe decoded content to shell (possible command obfuscation)", "runs decoded text"),
    ("command parser limit or malformed executable payload", "too much to read"),
];

/// A class, a tool or a command as it is shown.
pub fn label(name: &str) -> &str {
    LABELS.iter().find(|(known, _)| *known == name).map_or(name, |(_, label)| label)
}

/// The class of a command that a sandbox stopped and that a person may have run again without it. No rule, grant or mode
/// answers it.
pub const WITHOUT_SANDBOX: &str = "run without the sandbox";

/// What a glob matches, as far as it was looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Matches {
    pub names: Vec<PathBuf>,
    /// These are all of them. Otherwise there may be others: there are more than were looked at, or the machine did not answer.
    pub complete: bool,
}

impl Matches {
    /// All that there are.
    pub fn all(names: Vec<PathBuf>) -> Self {
        Self { names, complete: true }
    }

    /// Of all these, no more than `limit`.
    pub fn at_most(mut names: Vec<PathBuf>, limit: usize) -> Self {
        let complete = names.len() <= limit;
        names.truncate(limit);
        Self { names, complete }
    }

    /// Whether there is one for certain.
    pub fn some(&self) -> bool {
        !self.names.is_empty()
    }

    /// Whether there is none for certain.
    pub fn none(&self) -> bool {
        self.names.is_empty() && self.complete
    }
}

/// What lies at a path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct About {
    pub folder: bool,
    /// How many names a file has: with more than one, a write reaches it under the others, too.
    pub names: u64,
}

/// A bounded look at the machine where the call would run.
pub trait World: Send + Sync {
    /// The home folder of the user, absolute.
    fn home(&self) -> PathBuf;
    /// The home of the program itself (`~/.hermes`), with those of its profiles in it.
    fn hermes_home(&self) -> PathBuf;
    /// The value of an environment variable that the command will start with; `None` when it is not set, a text with
    /// [`shell::UNKNOWN`] when that is not certain.
    fn variable(&self, name: &str) -> Option<String>;
    /// The paths that a glob matches, absolute, at most `limit`.
    fn glob(&self, pattern: &str, cwd: &std::path::Path, limit: usize) -> Matches;
    /// The path with symlinks and `..` resolved as far as it exists.
    fn resolve(&self, path: &std::path::Path) -> PathBuf;
    /// The text of a file of at most `limit` bytes; `None` when it is longer, is not there or cannot be told.
    fn text(&self, path: &std::path::Path, limit: usize) -> Option<String> {
        let _ = (path, limit);
        None
    }
    /// The folders that the session works in, absolute; none: the folder of each call. No command moves them.
    fn border(&self) -> Vec<PathBuf> {
        Vec::new()
    }
    /// Whether this session made what lies at this path, or a folder above it.
    fn made(&self, path: &std::path::Path) -> bool {
        let _ = path;
        false
    }
    /// What lies at a path, links not followed; `None` when nothing does or that cannot be told.
    fn about(&self, path: &std::path::Path) -> Option<About> {
        let _ = path;
        None
    }
    /// Answers from now on are new ones, whatever was asked before.
    fn fresh(&self) {}
    /// Whether this is the machine that the program runs on.
    fn is_here(&self) -> bool {
        true
    }
}

/// Bytes of stack that judging the deepest line may need: shells, code and substitutions in each other.
pub const STACK: usize = 8 << 20;
