//! Permissions: lines such as `terminal(git log *): allow`, for what, where and how long they hold, and which one wins.
//!
//! Pure. `config::permissions` reads the files; `decide` asks which lines hold for a call.

mod matches;
mod read;

pub use matches::{Names, path_matches, relative_to};
pub use read::{Problem, subject};

use super::rule::{Action, Rule};
use std::path::{Path, PathBuf};

/// One line of a permissions file, or a grant of the session that is written like one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Permission {
    pub action: Action,
    pub on: Subject,
    /// Holds for work in this folder (absolute); everywhere when `None`.
    pub folder: Option<PathBuf>,
    /// Holds on this platform: `telegram`.
    pub platform: Option<String>,
    /// Holds in this kind of chat of the platform: `group`, `private`.
    pub chat: Option<String>,
    /// Milliseconds since the epoch from which on it holds no more.
    pub until: Option<i64>,
    pub layer: Layer,
    /// The file that it stands in; `None` for a grant of the session.
    pub file: Option<PathBuf>,
    /// Its line there, from 1; 0 when unknown.
    pub line: u64,
}

/// What a permission is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    /// As written.
    pub text: String,
    /// A tool or an action, with `*`: `terminal.*`, `file.write`, `write_file`, `mcp__git__*`.
    pub name: String,
    /// `terminal@docker`: only there.
    pub backend: Option<String>,
    pub argument: Argument,
    /// For commands: the words, `*` when none are named.
    pub rule: Rule,
}

/// What stands in the parentheses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Argument {
    None,
    /// Words of a command; they are the rule of the subject.
    Words,
    /// After a `= `: a whole line of shell and no other.
    Line(String),
    /// A path with `*` within a name and `**` across folders.
    Path(String),
    /// A host with `*`.
    Host(String),
    /// No argument but an entry of `config.yaml`. Of `command_allowlist`: a class of effects, a tool, a command or a pattern for
    /// whole commands; of `approvals.deny`: a pattern for whole commands.
    Entry(String),
}

/// Who wrote a permission. A later one wins over an earlier one, however specific that is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Layer {
    /// Beside the question, for one judgement: a line passes only when all of its parts do.
    Given,
    #[default]
    Own,
    /// For one platform.
    Platform,
    /// For one kind of chat there.
    Chat,
    /// A project's own file: asks and denies only.
    Project,
    /// A person's answer in this session.
    Session,
}

/// How much a permission says: the layer first, then literal words and letters, then the folder it is tied to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Weight(pub Layer, pub usize, pub usize, pub usize);

/// Where a call comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Here {
    /// The tool's name; empty when only the intent is known.
    pub tool: String,
    /// Where commands run; empty: `local`.
    pub backend: String,
    /// `cli` for this program; empty where that is not known.
    pub platform: String,
    pub chat: String,
    /// What reads the text that a call types.
    pub reader: Reader,
    /// The folder that the session works in, whatever folder a command has gone to.
    pub folder: PathBuf,
    /// Milliseconds since the epoch; 0: nothing has expired.
    pub now: i64,
}

/// What reads text that is typed into a running process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Reader {
    /// A shell that takes commands.
    Shell,
    /// An interpreter at its own prompt, by its name: a line is code of its language.
    Code(String),
    /// Another program, by its name: what it makes of a line is its own affair.
    Program(String),
    #[default]
    Unknown,
}

impl Permission {
    /// A permission that holds everywhere, without an end.
    pub fn new(action: Action, on: Subject) -> Self {
        Self {
            action,
            on,
            folder: None,
            platform: None,
            chat: None,
            until: None,
            layer: Layer::Own,
            file: None,
            line: 0,
        }
    }

    /// Words of a command that a question comes with.
    pub fn given(rule: Rule) -> Self {
        let text = format!("terminal({})", rule.words.join(" "));
        let on = Subject { text, name: "terminal".into(), backend: None, argument: Argument::Words, rule };
        Self { layer: Layer::Given, ..Self::new(on.rule.action, on) }
    }

    /// An entry of `command_allowlist`, or of `approvals.deny`.
    pub fn entry(action: Action, text: &str) -> Self {
        let rule = Rule { action, words: vec!["*".into()] };
        let argument = Argument::Entry(text.to_owned());
        let on = Subject { text: text.to_owned(), name: String::new(), backend: None, argument, rule };
        Self { file: Some(PathBuf::from("config.yaml")), ..Self::new(action, on) }
    }

    /// A grant of the session: `terminal(git push *)`.
    ///
    /// # Errors
    /// What is wrong with the text.
    pub fn granted(text: &str) -> Result<Self, Problem> {
        Ok(Self { layer: Layer::Session, ..Self::new(Action::Allow, subject(text)?) })
    }

    /// Whether it is about this very line of shell.
    pub fn is_line(&self, line: &str) -> bool {
        matches!(&self.on.argument, Argument::Line(wanted) if wanted == line.trim())
    }

    /// Whether its time is over.
    pub fn is_over(&self, now: i64) -> bool {
        self.until.is_some_and(|until| until <= now)
    }

    /// Whether it holds for a call in `cwd`. What asks or denies follows a session that leaves its folder.
    pub fn holds(&self, here: &Here, cwd: &Path) -> bool {
        let backend = if here.backend.is_empty() { "local" } else { &here.backend };
        let strict = self.action != Action::Allow;
        !self.is_over(here.now)
            && self.on.backend.as_deref().is_none_or(|wanted| super::glob::matches(wanted, backend))
            && self.platform.as_deref().is_none_or(|wanted| wanted == here.platform)
            && self.chat.as_deref().is_none_or(|wanted| wanted == here.chat)
            && self
                .folder
                .as_deref()
                .is_none_or(|folder| cwd.starts_with(folder) || (strict && here.folder.starts_with(folder)))
    }

    /// How much it says.
    pub fn weight(&self) -> Weight {
        let (words, letters) = match &self.on.argument {
            Argument::None => (0, 0),
            Argument::Words => self.on.rule.says(),
            Argument::Line(line) => (line.split_whitespace().count().max(1), line.len()),
            Argument::Path(text) | Argument::Host(text) | Argument::Entry(text) => {
                (1, text.chars().filter(|c| *c != '*').count())
            }
        };
        let name = self.on.name.chars().filter(|c| *c != '*').count();
        let folder = self.folder.as_deref().map_or(0, |folder| folder.components().count());
        // An argument says more than any name.
        Weight(self.layer, words, if words == 0 { name } else { 1000 + letters }, folder)
    }

    /// The rule and where it stands, for reasons: `terminal(git *): deny (permissions.yaml:3)`.
    pub fn label(&self) -> String {
        match (&self.on.argument, self.action) {
            (Argument::Entry(text), Action::Allow) => return format!("command_allowlist: {text}"),
            (Argument::Entry(text), action) => return format!("{} {text}", action.word()),
            _ if self.layer == Layer::Given => return self.on.rule.to_string(),
            _ => {}
        }
        let line = format!("{}: {}", self.on.text, self.action.word());
        match (&self.file, self.line) {
            (None, _) => format!("{line} (this session)"),
            (Some(file), number) => {
                let name = file.file_name().unwrap_or_default().to_string_lossy();
                if number > 0 { format!("{line} ({name}:{number})") } else { format!("{line} ({name})") }
            }
        }
    }
}

#[cfg(test)]
mod tests;
