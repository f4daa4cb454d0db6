//! How a session is opened: who asks for it, who answers it, and within what bounds.

use super::children::ChildOf;
use crate::policy::Mode;
pub use crate::protocol::Opens;
use crate::protocol::{SessionId, Usage};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

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
    /// It is deleted when it is closed: nothing of it is kept.
    pub forgets: bool,
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
    /// Whose child it is.
    pub child: Option<ChildOf>,
    /// Tools that it has not, whatever its toolsets hold.
    pub blocked: Vec<&'static str>,
    /// The only tools that it can have: those of its parent. `None`: all.
    pub among: Option<Arc<BTreeSet<String>>>,
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

/// What a session may use up. Looked at between steps; `None`: no limit of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SessionLimits {
    /// Steps of a turn; `None`: `agent.max_turns`.
    pub steps: Option<u32>,
    /// Tokens of all requests and replies.
    pub tokens: Option<u64>,
    /// US dollars, where the price of the model is known.
    pub cost: Option<f64>,
    /// From its opening on, without the time in which it waits for a person.
    pub time: Option<Duration>,
    /// Tokens of all replies.
    pub output: Option<u64>,
}

impl SessionLimits {
    /// Which limit is reached, in words.
    pub fn reached(&self, used: &Usage, since: Duration) -> Option<String> {
        if let Some(tokens) = self.tokens.filter(|most| used.input + used.output >= *most) {
            return Some(format!("reached the limit of {tokens} tokens (--max-tokens)"));
        }
        if let Some(tokens) = self.output.filter(|most| used.output >= *most) {
            return Some(format!("reached the limit of {tokens} output tokens"));
        }
        if let Some(most) = self.cost {
            match used.cost {
                Some(cost) if cost >= most => return Some(format!("reached the limit of ${most} (--max-cost)")),
                None if used.input > 0 => {
                    return Some(format!("the price of this model is not known, so a limit of ${most} can't hold"));
                }
                Some(_) | None => {}
            }
        }
        let time = self.time.filter(|most| since >= *most)?;
        Some(format!("reached the limit of {} s (--max-time)", time.as_secs()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_limit_that_is_reached_is_named() {
        let used = Usage { input: 900, output: 100, cost: Some(0.5), ..Usage::default() };
        let none = SessionLimits::default();
        let second = Duration::from_secs(1);
        for (limits, want) in [
            (none, None),
            (SessionLimits { tokens: Some(1_001), ..none }, None),
            (SessionLimits { tokens: Some(1_000), ..none }, Some("reached the limit of 1000 tokens (--max-tokens)")),
            (SessionLimits { output: Some(101), ..none }, None),
            (SessionLimits { output: Some(100), ..none }, Some("reached the limit of 100 output tokens")),
            (SessionLimits { cost: Some(0.5), ..none }, Some("reached the limit of $0.5 (--max-cost)")),
            (
                SessionLimits { cost: Some(0.6), time: Some(second), ..none },
                Some("reached the limit of 1 s (--max-time)"),
            ),
        ] {
            assert_eq!(limits.reached(&used, second).as_deref(), want, "{limits:?}");
        }
        let unpriced = Usage { cost: None, ..used };
        let limit = SessionLimits { cost: Some(9.0), ..none };
        assert!(limit.reached(&unpriced, second).is_some_and(|why| why.contains("not known")), "it can't hold");
        assert_eq!(limit.reached(&Usage::default(), second), None, "nothing was used yet");
    }
}
