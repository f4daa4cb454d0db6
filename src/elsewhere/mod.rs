//! Sessions that other agents left on this machine: listed, read, and taken over as sessions of ours.
//!
//! Nothing of theirs is ever written: files are opened for reading, databases read-only. What they hold is text of
//! strangers: it becomes entries of a conversation, never a grant, a mode or an order with rights.

mod build;
mod calls;
mod claude;
mod clean;
mod codex;
mod db;
mod files;
mod hermes_py;
mod migrate;
mod opencode;
mod opencode_files;
mod pi;
mod shelf;
mod take;
#[cfg(test)]
mod tests;

pub use build::{image_of_url, is_picture};
pub use clean::{clean, text as clean_text};
pub use migrate::{Migrated, Migration, Progress, first, waits};
pub use shelf::{Listed, Shelf, Wanted};
pub use take::{Taken, keep, take};

use crate::policy::redact::Secrets;
use crate::protocol::Item;
use build::Builder;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Characters of an id.
const ID: usize = 120;

/// The agents whose sessions can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Agent {
    Claude,
    Codex,
    OpenCode,
    Pi,
    /// Hermes Agent, the Python program that this one follows.
    HermesPy,
}

impl Agent {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Claude, Self::Codex, Self::OpenCode, Self::Pi, Self::HermesPy];

    /// The word that names it after an `@`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::OpenCode => "opencode",
            Self::Pi => "pi",
            Self::HermesPy => "hermes-py",
        }
    }

    /// As people call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Claude => "Claude Code",
            Self::Codex => "Codex",
            Self::OpenCode => "opencode",
            Self::Pi => "pi",
            Self::HermesPy => "Python Hermes",
        }
    }

    /// The agent that a word names.
    pub fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|agent| agent.word().eq_ignore_ascii_case(word))
    }

    /// The id that a session of it has here. Those of Python Hermes are made as ours are, and stay.
    pub fn our_id(self, id: &str) -> String {
        let id = plain_id(id);
        if self == Self::HermesPy { id } else { format!("{}-{id}", self.word()) }
    }
}

/// The id of a stranger's session as one of ours: letters, digits, dots, dashes and underscores. What else it had, or was
/// longer, is told apart by a hash. Empty for an empty one.
pub fn plain_id(id: &str) -> String {
    let is_plain = |c: &char| c.is_ascii_alphanumeric() || "._-".contains(*c);
    let plain: String = id.chars().filter(is_plain).take(ID).collect();
    if plain == id {
        return plain;
    }
    let hash = &crate::store::hash(id.as_bytes())[..8];
    if plain.is_empty() { hash.to_owned() } else { format!("{plain}-{hash}") }
}

/// Where a session lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// All of this file.
    File(PathBuf),
    /// The rows of this id in this database.
    Database(PathBuf),
    /// A folder of small files.
    Folder(PathBuf),
}

impl Place {
    /// The file or folder.
    pub fn path(&self) -> &Path {
        match self {
            Self::File(path) | Self::Database(path) | Self::Folder(path) => path,
        }
    }
}

/// A session in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    pub agent: Agent,
    /// As the agent names it.
    pub id: String,
    pub title: Option<String>,
    /// Start of the first prompt.
    pub prompt: String,
    pub cwd: String,
    /// The model's name; empty when it is not known.
    pub model: String,
    /// Milliseconds since the epoch.
    pub started_at: i64,
    pub updated_at: i64,
    /// Prompts, answers and results; `None` when counting them would mean to read all of it.
    pub messages: Option<u64>,
    pub place: Place,
}

impl Found {
    fn new(agent: Agent, id: String, place: Place) -> Self {
        let (title, prompt, cwd, model) = (None, String::new(), String::new(), String::new());
        Self { agent, id, title, prompt, cwd, model, started_at: 0, updated_at: 0, messages: None, place }
    }

    /// `@codex:ID`, which takes it over.
    pub fn key(&self) -> String {
        format!("@{}:{}", self.agent.word(), self.id)
    }
}

/// A whole session of another agent, as entries of ours.
#[derive(Clone, Debug, PartialEq)]
pub struct Conversation {
    pub about: Found,
    pub items: Vec<Item>,
    /// What was left out, by kind.
    pub left_out: BTreeMap<String, u64>,
    /// Calls of tools that have no match here; they stand as text.
    pub as_text: u64,
    /// Facts for whoever imports it again: what of the source it was made of.
    pub marks: BTreeMap<String, serde_json::Value>,
}

/// Where the agents keep their sessions.
#[derive(Clone, Debug, Default)]
pub struct Places {
    /// Folders that hold `projects`.
    pub claude: Vec<PathBuf>,
    /// The folder that holds `sessions`.
    pub codex: Option<PathBuf>,
    /// The folder that holds `opencode.db` or `storage`.
    pub opencode: Option<PathBuf>,
    /// The folder that holds `sessions`.
    pub pi: Option<PathBuf>,
    /// The folder that holds `state.db`: the home of this program, too, where both share it.
    pub hermes_py: Option<PathBuf>,
}

impl Places {
    /// As the agents find them: by their variables, else below the user's home. `home` is the one of this program.
    pub fn of_environment(home: &Path) -> Self {
        let user = crate::environment::user_home();
        let named = |name: &str| crate::environment::get(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let below = |path: &str| user.as_ref().map(|user| user.join(path));
        let data = named("XDG_DATA_HOME").or_else(|| below(".local/share"));
        let claude = match named("CLAUDE_CONFIG_DIR") {
            Some(folder) => vec![folder],
            None => {
                [below(".claude"), named("XDG_CONFIG_HOME").or_else(|| below(".config")).map(|at| at.join("claude"))]
                    .into_iter()
                    .flatten()
                    .collect()
            }
        };
        Self {
            claude,
            codex: named("CODEX_HOME").or_else(|| below(".codex")),
            opencode: data.map(|data| data.join("opencode")),
            pi: named("PI_CODING_AGENT_DIR").or_else(|| below(".pi/agent")),
            hermes_py: Some(home.to_owned()),
        }
    }
}

/// Reads a whole session. Blocks; bounded by what the readers take of a file. The error says what failed.
pub fn read(found: &Found, secrets: &Secrets) -> Result<Conversation, String> {
    let builder = Builder::new(secrets, found.started_at);
    match found.agent {
        Agent::Claude => claude::read(found, builder),
        Agent::Codex => codex::read(found, builder),
        Agent::OpenCode if matches!(found.place, Place::Folder(_)) => opencode_files::read(found, builder),
        Agent::OpenCode => opencode::read(found, builder),
        Agent::Pi => pi::read(found, builder),
        Agent::HermesPy => hermes_py::read(found, builder),
    }
}
