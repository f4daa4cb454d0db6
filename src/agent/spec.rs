//! How a session is opened: who asks for it, who answers it, and within what bounds.

use crate::policy::Mode;
pub use crate::protocol::Opens;
use crate::protocol::SessionId;
use std::path::PathBuf;

/// What a session is opened with. The engine opens it; a conversation is built from it and never reset.
#[derive(Clone, Debug, Default)]
pub struct SessionSpec {
    pub opens: Opens,
    pub cwd: PathBuf,
    pub answers: Answers,
    /// Stored with the session: `tui`, `print`.
    pub origin: &'static str,
    /// Where the person is, as `permissions.yaml` names it.
    pub surface: Surface,
    pub limits: SessionLimits,
    /// Whose work it is a part of, and where that works.
    pub parent: Option<SessionId>,
    /// Hooks and plugins see nothing of it.
    pub without_hooks: bool,
    /// `MODEL` or `PROVIDER:MODEL`; `None`: the configured one.
    pub model: Option<String>,
    /// `None`: the configured one.
    pub mode: Option<Mode>,
    /// Names of toolsets; `None`: the configuration's.
    pub toolsets: Option<Vec<String>>,
    /// Text put into the prompt by `--skills`.
    pub skills: Vec<String>,
    /// Extra words for the end of the system prompt (`--json-schema`).
    pub instructions: String,
}

/// Who answers questions, and whether anybody watches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Answers {
    /// A person who watches: questions wait for them, `!command` runs, the work goes on when a process ends.
    Person,
    /// Nobody: what needs an answer is refused, and the program ends with the turn.
    #[default]
    Nobody,
}

impl Answers {
    /// Whether a person is there.
    pub fn is_person(self) -> bool {
        self == Answers::Person
    }
}

/// Where a conversation is held, for rules that hold only there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Surface {
    /// `cli`.
    pub platform: String,
    /// `private`.
    pub chat: String,
}

impl Default for Surface {
    /// A terminal of one person.
    fn default() -> Self {
        Self { platform: "cli".into(), chat: "private".into() }
    }
}

/// What a session may use up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SessionLimits {
    /// Steps of a turn; `None`: `agent.max_turns`.
    pub steps: Option<u32>,
}
