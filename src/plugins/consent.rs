//! What the user has said yes to: their own hook commands, one by one, in `shell-hooks-allowlist.json`.
//!
//! The fingerprint is event and command. The script that a command names is remembered as it was, so that a change can
//! be shown; it needs no new yes, since it is the user's own file.

use super::hook::CommandHook;
use crate::config::paths::expand_home;
use crate::fs::write_atomic;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::path::{Path, PathBuf};

/// The file in the home folder (as Python Hermes names it).
pub const FILE: &str = "shell-hooks-allowlist.json";
/// Bytes of a script that are hashed.
const HASHED: u64 = 8 * 1024 * 1024;

/// The list.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Consents {
    pub approvals: Vec<Consent>,
}

/// One yes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Consent {
    pub event: String,
    pub command: String,
    /// RFC 3339.
    pub approved_at: String,
    /// Of the script that the command names: RFC 3339 and SHA-256 in hex.
    #[serde(skip_serializing_if = "Option::is_none", alias = "script_mtime_at_approval")]
    pub script_mtime: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub script_sha256: Option<String>,
}

/// How a hook stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    Allowed,
    /// Allowed; its script is not what it was then. Says since when.
    Drifted(String),
    /// Nobody has said yes.
    Unasked,
}

impl Consents {
    /// The list of a home; a file that can't be read allows nothing.
    pub fn load(home: &Path) -> Self {
        let file = home.join(FILE);
        match std::fs::read(&file) {
            Ok(bytes) => serde_json::from_slice(&bytes).unwrap_or_else(|error| {
                tracing::warn!("cannot read {} ({error}): it approves no hooks", file.display());
                Self::default()
            }),
            Err(_) => Self::default(),
        }
    }

    /// Writes it, readable by the owner only.
    ///
    /// # Errors
    /// What could not be written, with the remedy.
    pub fn save(&self, home: &Path) -> Result<(), crate::config::ConfigError> {
        let text = serde_json::to_string_pretty(self).unwrap_or_default();
        Ok(write_atomic(&home.join(FILE), &format!("{text}\n"))?)
    }

    /// How a hook stands now. Looks at its script.
    pub fn standing(&self, hook: &CommandHook, cwd: &Path) -> Standing {
        let same = |consent: &&Consent| {
            consent.command == hook.command && super::event::Event::parse(&consent.event) == Some(hook.event)
        };
        let Some(consent) = self.approvals.iter().rev().find(same) else { return Standing::Unasked };
        let now = script(&hook.command, cwd).map(|path| stamp(&path));
        match (&consent.script_sha256, now) {
            (Some(then), Some((_, Some(now)))) if *then == now => Standing::Allowed,
            (Some(_), Some((mtime, _))) => Standing::Drifted(mtime.unwrap_or_else(|| "an unknown time".into())),
            (Some(_), None) => Standing::Drifted("it is missing".into()),
            // Python Hermes keeps the time only.
            (None, Some((Some(mtime), _)))
                if consent.script_mtime.as_ref().is_some_and(|then| !same_second(then, &mtime)) =>
            {
                Standing::Drifted(mtime)
            }
            _ => Standing::Allowed,
        }
    }

    /// Says yes to a hook as it is now.
    pub fn allow(&mut self, hook: &CommandHook, cwd: &Path, now: String) {
        self.forget(hook);
        let (script_mtime, script_sha256) = script(&hook.command, cwd).map(|path| stamp(&path)).unwrap_or_default();
        let (event, command) = (hook.event.name().to_owned(), hook.command.clone());
        self.approvals.push(Consent { event, command, approved_at: now, script_mtime, script_sha256 });
    }

    /// Takes a yes back; whether there was one.
    pub fn forget(&mut self, hook: &CommandHook) -> bool {
        let before = self.approvals.len();
        self.approvals.retain(|consent| {
            consent.command != hook.command || super::event::Event::parse(&consent.event) != Some(hook.event)
        });
        self.approvals.len() != before
    }
}

fn same_second(a: &str, b: &str) -> bool {
    let second = |text: &str| chrono::DateTime::parse_from_rfc3339(text).map(|time| time.timestamp());
    matches!((second(a), second(b)), (Ok(a), Ok(b)) if a == b)
}

/// The file that a command runs: its first word that is a path to a file, so that `python3 check.py` names `check.py`.
pub fn script(command: &str, cwd: &Path) -> Option<PathBuf> {
    let words = command.split_whitespace().map(|word| word.trim_matches(['"', '\'']));
    words
        .filter(|word| !word.starts_with('-') && !word.contains('='))
        .take(4)
        .map(|word| cwd.join(expand_home(word)))
        .find(|path| path.is_file())
}

fn stamp(path: &Path) -> (Option<String>, Option<String>) {
    let mtime = std::fs::metadata(path).and_then(|meta| meta.modified()).ok();
    let mtime = mtime
        .map(|time| chrono::DateTime::<chrono::Utc>::from(time).to_rfc3339_opts(chrono::SecondsFormat::Secs, true));
    (mtime, hash_file(path))
}

/// SHA-256 of a file in hex; `None` when it can't be read.
pub fn hash_file(path: &Path) -> Option<String> {
    use std::io::Read as _;
    let mut bytes = Vec::new();
    std::fs::File::open(path).ok()?.take(HASHED).read_to_end(&mut bytes).ok()?;
    Some(hex(&bytes))
}

/// SHA-256 in hex.
pub fn hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plugins::hook::{From, read};
    use serde_json::json;

    fn hook(command: &str) -> CommandHook {
        read(&json!({"PreToolUse": [{"command": command}]}), From::Person).0.remove(0)
    }

    #[test]
    fn a_yes_is_for_one_event_and_one_command_and_a_changed_script_shows() {
        let home = tempfile::tempdir().unwrap();
        let at = home.path();
        std::fs::write(at.join("check.sh"), "exit 0\n").unwrap();
        let hook = hook("sh check.sh --fast");
        let mut list = Consents::load(at);
        assert_eq!(list.standing(&hook, at), Standing::Unasked);
        list.allow(&hook, at, "2026-01-01T00:00:00Z".into());
        list.save(at).unwrap();
        let list = Consents::load(at);
        assert_eq!(list.standing(&hook, at), Standing::Allowed);
        assert_eq!(list.standing(&super::tests::hook("sh check.sh"), at), Standing::Unasked);
        let other = read(&json!({"PostToolUse": [{"command": "sh check.sh --fast"}]}), From::Person).0.remove(0);
        assert_eq!(list.standing(&other, at), Standing::Unasked);
        std::fs::write(at.join("check.sh"), "exit 2\n").unwrap();
        assert!(matches!(list.standing(&hook, at), Standing::Drifted(_)));
        let mut list = list;
        assert!(list.forget(&hook) && !list.forget(&hook));
    }

    #[test]
    fn a_list_that_cannot_be_read_allows_nothing() {
        let home = tempfile::tempdir().unwrap();
        std::fs::write(home.path().join(FILE), "{").unwrap();
        assert_eq!(Consents::load(home.path()), Consents::default());
    }
}
