//! Rules that a person gave: `allow|ask|deny WORDS` with `*`, effects and commands of `command_allowlist`, session grants.

mod covers;
#[cfg(test)]
mod tests;

pub use covers::stays_below;

use super::granted::Granted;
use super::permissions::{Argument, Here, Permission};
use super::{World, glob};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What a rule does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    Allow,
    Ask,
    Deny,
}

impl Action {
    /// As a permission says it.
    pub fn word(self) -> &'static str {
        match self {
            Action::Allow => "allow",
            Action::Ask => "ask",
            Action::Deny => "deny",
        }
    }
}

/// Words of a command, compared one command of a line at a time, after its words were resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    pub action: Action,
    pub words: Vec<String>,
}

/// All rules that hold for a call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    /// Granted for this session.
    pub session: Granted,
    /// Lines of permission files, entries of `config.yaml`, and what a question comes with.
    pub permissions: Arc<Vec<Permission>>,
    /// Why a permission file cannot be read: its denials are not known, so everything is asked about.
    pub unreadable: Option<String>,
    /// Where the call comes from.
    pub here: Here,
}

/// Before a command among the entries of grants, and between its parts.
const EXACTLY: &str = "$ ";
const BETWEEN: char = '\u{1f}';
/// Where commands run unless a setting names another place.
const LOCAL: &str = "local";

/// This very command, in the folder and on the backend where it was allowed: elsewhere the same words mean other files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exact {
    pub line: String,
    pub folder: PathBuf,
    pub backend: String,
}

impl Exact {
    /// A command in a folder; no backend is the local one.
    pub fn of(line: &str, folder: &Path, backend: &str) -> Self {
        let backend = if backend.is_empty() { LOCAL } else { backend };
        Self { line: line.trim().to_owned(), folder: folder.to_owned(), backend: backend.to_owned() }
    }

    /// As an entry of a grant.
    pub fn entry(&self) -> String {
        format!("{EXACTLY}{}{BETWEEN}{}{BETWEEN}{}", self.line, self.folder.display(), self.backend)
    }

    /// What [`Exact::entry`] wrote; `None` for another entry.
    pub fn read(entry: &str) -> Option<Self> {
        let mut parts = entry.strip_prefix(EXACTLY)?.rsplitn(3, BETWEEN);
        let (backend, folder, line) = (parts.next()?, parts.next()?, parts.next()?);
        Some(Self { line: line.to_owned(), folder: folder.into(), backend: backend.to_owned() })
    }

    /// As a line of `permissions.yaml`, for the section of its folder: `terminal@local(= rm -rf build)`.
    pub fn subject(&self) -> String {
        format!("terminal@{}(= {})", self.backend, self.line)
    }
}

/// An entry of a grant as a person reads it.
pub fn said(entry: &str) -> String {
    match Exact::read(entry) {
        Some(exact) => format!("{} (in {})", exact.line, exact.folder.display()),
        None => entry.to_owned(),
    }
}

/// A rule that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    #[error("rule {0:?} does not start with allow, ask or deny")]
    Action(String),
    #[error("rule {0:?} names no command; write for example `deny rm *`")]
    Empty(String),
}

impl Rules {
    /// Adds the rules of a text: `allow git *, grep *` or `deny rm *`; a part without a verb takes the one before it.
    ///
    /// # Errors
    /// When a part has no verb at all or no words.
    pub fn add(&mut self, text: &str) -> Result<(), RuleError> {
        let mut action = None;
        for part in text.split(',').map(str::trim).filter(|p| !p.is_empty()) {
            let (verb, rest) = part.split_once(char::is_whitespace).unwrap_or((part, ""));
            let (now, rest) = match verb {
                "allow" => (Action::Allow, rest),
                "ask" => (Action::Ask, rest),
                "deny" => (Action::Deny, rest),
                _ => (action.ok_or_else(|| RuleError::Action(part.into()))?, part),
            };
            action = Some(now);
            let words = split(rest);
            if words.is_empty() {
                return Err(RuleError::Empty(part.into()));
            }
            self.hold([Permission::given(Rule { action: now, words })]);
        }
        Ok(())
    }

    /// Holds these too.
    pub fn hold(&mut self, more: impl IntoIterator<Item = Permission>) {
        Arc::make_mut(&mut self.permissions).extend(more);
    }

    /// The entries of `command_allowlist`, or of `approvals.deny`.
    pub fn entries(&self, action: Action) -> impl Iterator<Item = &str> + Clone {
        self.permissions.iter().filter_map(move |one| match &one.on.argument {
            Argument::Entry(text) if one.action == action => Some(text.as_str()),
            _ => None,
        })
    }

    /// Grants entries for this session.
    pub fn grant(&mut self, entries: &[String]) {
        entries.iter().for_each(|entry| self.session.add(entry));
    }

    /// The permissions that hold for a call in `cwd`, and are written for it.
    pub fn in_effect<'a>(&'a self, cwd: &'a Path) -> impl Iterator<Item = &'a Permission> {
        self.session.lines().iter().chain(self.permissions.iter()).filter(move |one| one.holds(&self.here, cwd))
    }

    /// Where this very command was granted for this folder and backend, in words; `None` when it was not.
    pub fn grants_line(&self, line: &str, cwd: &Path, world: &dyn World) -> Option<String> {
        let here = Exact::of(line, cwd, &self.here.backend).entry();
        if self.session.has(&here) {
            return Some("this command (this session)".into());
        }
        let mut lines = self.in_effect(cwd).filter(|one| one.action == Action::Allow && one.is_line(line));
        let of_folder = |one: &&Permission| {
            one.folder.as_deref().is_some_and(|folder| folder == cwd || *folder == world.resolve(cwd))
        };
        lines.find(of_folder).map(Permission::label)
    }

    /// Whether a class of effect was granted, by any of its names.
    pub fn grants(&self, effect: &str, aka: &[String]) -> bool {
        self.granter(effect, aka).is_some()
    }

    /// Where a class of effect was granted, in words; `None` when it was not.
    pub fn granter(&self, effect: &str, aka: &[String]) -> Option<String> {
        let means = |entry: &&str| *entry == effect || aka.iter().any(|name| name == entry);
        let session = self.session.entries().iter().map(String::as_str).find(means);
        let session = session.map(|entry| format!("{entry} (this session)"));
        session.or_else(|| self.entries(Action::Allow).find(means).map(|entry| format!("command_allowlist: {entry}")))
    }
}

/// Words of a rule; double quotes hold a word with blanks together.
pub(super) fn split(text: &str) -> Vec<String> {
    let (mut words, mut word, mut quoted) = (Vec::new(), String::new(), false);
    for c in text.chars() {
        match c {
            '"' => quoted = !quoted,
            c if c.is_whitespace() && !quoted => {
                if !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
            }
            c => word.push(c),
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

impl std::fmt::Display for Rule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.action.word(), self.words.join(" "))
    }
}

/// Whether the whole command is in an allowlist, literally or by a glob. A line with operators never is by a glob.
pub fn listed<'a>(mut allowlist: impl Iterator<Item = &'a str> + Clone, command: &str) -> Option<Listed> {
    if allowlist.clone().any(|entry| entry == command) {
        return Some(Listed::Exactly);
    }
    let operators = ["\n", "&", "|", ";", "<", ">", "`", "$("];
    if operators.iter().any(|op| command.contains(op)) {
        return None;
    }
    allowlist.any(|entry| glob::is_pattern(entry) && glob::matches(entry, command)).then_some(Listed::ByGlob)
}

/// How an allowlist names a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listed {
    Exactly,
    ByGlob,
}

/// The first glob that matches the whole command, without regard to case.
pub fn denied_by_glob<'a>(mut globs: impl Iterator<Item = &'a str>, command: &str) -> Option<&'a str> {
    let command = command.to_lowercase();
    globs.find(|g| glob::matches(&g.to_lowercase(), &command))
}
