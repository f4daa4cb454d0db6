//! The words of the gate: a call on its way is a [`Request`], an assessment says how it is judged, an [`Answer`] what came
//! back for a question about it, and a [`Resolution`] what becomes of it.

use super::assessment::Assessment;
use crate::policy::{Decision, Intent};
use crate::protocol::{Outcome, ToolCall};
use crate::store::audit::AuditBy;
use crate::tools::spec::ToolCtx;

/// A call that wants to run: all that one decision is about.
pub(super) struct Request<'a> {
    pub call: &'a ToolCall,
    pub tool: &'a str,
    pub intent: Intent,
    /// Prompts of turns that it takes out of the conversation.
    pub drops: Vec<String>,
    /// Why a hook wants a person to be asked.
    pub hook: Option<&'a str>,
    pub ctx: &'a ToolCtx,
}

/// What came back for a question.
pub(super) enum Answer {
    /// A person's decision, or what stands for it when nobody decided. Where it is another line, how that line was judged
    /// when it was shown.
    Person(Decision, Option<Assessment>),
    /// The auxiliary model lets it run, as this note says.
    Model(String),
    /// It was taken back unanswered: what it was about is not so any more.
    Stale,
}

/// What becomes of a call.
pub(super) enum Resolution {
    /// Run it; how it was approved, in words, when a person was asked.
    Run { note: String, by: AuditBy },
    /// Run this line instead; how it was judged when the person confirmed it.
    Rerun { line: String, shown: Option<Assessment> },
    /// Do not run it.
    Stop { outcome: Outcome, why: String, by: AuditBy },
}
