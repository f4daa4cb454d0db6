//! The moments at which hooks run: their names, what a hook may do there, and whether this program reaches them yet.

/// A moment in the life of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Event {
    PreToolCall,
    PostToolCall,
    TransformToolResult,
    TransformTerminalOutput,
    PromptSubmitted,
    PreLlmCall,
    PostLlmCall,
    PreApiRequest,
    PostApiRequest,
    ApiRequestError,
    TransformLlmOutput,
    PreApproval,
    PostApproval,
    SessionStart,
    SessionEnd,
    SessionReset,
    SessionFinalize,
    ContextCompress,
    SubagentStart,
    SubagentStop,
    ProcessExit,
    TurnEnd,
}

/// What a hook may do at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum May {
    /// Nothing: it is told.
    Watch,
    /// Stop what was about to happen, with a reason.
    Block,
    /// Block, or change the arguments of the call.
    Call,
    /// Change the text that has come out.
    Text,
    /// Block, or add words for the model.
    Prompt,
    /// Add words for the model.
    Context,
}

/// One row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    pub event: Event,
    /// The name that hooks are told, as Python Hermes has it where it has one.
    pub name: &'static str,
    /// Other spellings, Claude Code's among them. Case, `-` and `_` make no difference.
    pub aliases: &'static [&'static str],
    pub may: May,
    /// It happens in this program. Hooks for the others are accepted and never run.
    pub reached: bool,
    /// When, for people.
    pub doc: &'static str,
}

const fn row(
    event: Event,
    name: &'static str,
    aliases: &'static [&'static str],
    may: May,
    reached: bool,
    doc: &'static str,
) -> Row {
    Row { event, name, aliases, may, reached, doc }
}

/// Every moment.
pub static EVENTS: &[Row] = &[
    row(
        Event::PreToolCall,
        "pre_tool_call",
        &["before_tool_call", "PreToolUse"],
        May::Call,
        true,
        "before a call is planned and checked; changed arguments are checked like any others",
    ),
    row(
        Event::PostToolCall,
        "post_tool_call",
        &["after_tool_call", "PostToolUse"],
        May::Text,
        true,
        "after a call returns its result",
    ),
    row(
        Event::TransformToolResult,
        "transform_tool_result",
        &[],
        May::Text,
        true,
        "after `post_tool_call`, to replace the text of a result",
    ),
    row(
        Event::TransformTerminalOutput,
        "transform_terminal_output",
        &[],
        May::Text,
        true,
        "before the model reads the output of a foreground command",
    ),
    row(
        Event::PromptSubmitted,
        "prompt_submitted",
        &["on_prompt_submit", "UserPromptSubmit"],
        May::Prompt,
        true,
        "a user's prompt, before its turn starts",
    ),
    row(
        Event::PreLlmCall,
        "pre_llm_call",
        &["before_model_call"],
        May::Context,
        true,
        "once per turn, before the first model call",
    ),
    row(
        Event::PostLlmCall,
        "post_llm_call",
        &["after_model_call"],
        May::Watch,
        true,
        "once per turn, with the final answer",
    ),
    row(Event::PreApiRequest, "pre_api_request", &[], May::Watch, true, "before each request to the model"),
    row(Event::PostApiRequest, "post_api_request", &[], May::Watch, true, "after each answer from the model"),
    row(Event::ApiRequestError, "api_request_error", &[], May::Watch, true, "after a failed model request"),
    row(
        Event::TransformLlmOutput,
        "transform_llm_output",
        &["before_response"],
        May::Text,
        true,
        "the final answer of a turn, before it is saved",
    ),
    row(
        Event::PreApproval,
        "pre_approval_request",
        &["approval_requested", "PermissionRequest", "Notification"],
        May::Watch,
        true,
        "before an approval is shown",
    ),
    row(
        Event::PostApproval,
        "post_approval_response",
        &[],
        May::Watch,
        true,
        "after an approval is answered or not: `choice` is `once`, `session`, `always`, `deny`, `timed_out` or `interrupted`",
    ),
    row(
        Event::SessionStart,
        "on_session_start",
        &["session_start"],
        May::Context,
        true,
        "when a session opens, new or resumed; added context goes with the next prompt",
    ),
    row(Event::SessionEnd, "on_session_end", &["session_end"], May::Watch, true, "when a session is left"),
    row(
        Event::SessionReset,
        "on_session_reset",
        &["session_reset"],
        May::Watch,
        true,
        "when a new session replaces one",
    ),
    row(
        Event::SessionFinalize,
        "on_session_finalize",
        &["session_finalize"],
        May::Watch,
        true,
        "when the program exits",
    ),
    row(
        Event::ContextCompress,
        "context_compress",
        &["pre_compress", "on_pre_compress", "PreCompact"],
        May::Watch,
        true,
        "before old history is compacted",
    ),
    row(Event::SubagentStart, "subagent_start", &[], May::Watch, false, "when a subagent starts"),
    row(Event::SubagentStop, "subagent_stop", &[], May::Watch, false, "when a subagent ends"),
    row(Event::ProcessExit, "process_exit", &[], May::Watch, true, "when a background process of the session exits"),
    row(Event::TurnEnd, "turn_end", &["on_turn_end", "Stop"], May::Watch, true, "when a turn ends"),
];

impl Event {
    /// The event of a name in any of its spellings.
    pub fn parse(name: &str) -> Option<Self> {
        let wanted = plain(name);
        EVENTS
            .iter()
            .find(|row| plain(row.name) == wanted || row.aliases.iter().any(|alias| plain(alias) == wanted))
            .map(|row| row.event)
    }

    /// Its row.
    pub fn row(self) -> &'static Row {
        // The order of the table is that of the enum; the search keeps that a matter of taste.
        EVENTS.iter().find(|row| row.event == self).unwrap_or(&EVENTS[0])
    }

    /// The name that hooks are told.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// Whether it is about one tool, so that a matcher can choose which.
    pub fn is_about_a_tool(self) -> bool {
        matches!(
            self,
            Self::PreToolCall
                | Self::PostToolCall
                | Self::TransformToolResult
                | Self::TransformTerminalOutput
                | Self::PreApproval
                | Self::PostApproval
        )
    }

    /// Whether a hook may keep it from happening.
    pub fn may_block(self) -> bool {
        matches!(self.row().may, May::Block | May::Call | May::Prompt)
    }

    /// The nearest known name, for a message.
    pub fn nearest(name: &str) -> Option<&'static str> {
        let all = EVENTS.iter().flat_map(|row| std::iter::once(row.name).chain(row.aliases.iter().copied()));
        crate::config::suggest::nearest(name, all)
    }
}

fn plain(name: &str) -> String {
    name.chars().filter(|c| *c != '_' && *c != '-').flat_map(char::to_lowercase).collect()
}

/// The table of `docs/PLUGINS.md`.
pub fn markdown() -> String {
    let mut out = String::from("| event | alias | a hook may | when |\n| --- | --- | --- | --- |\n");
    for row in EVENTS {
        let may = match row.may {
            May::Watch => "watch",
            May::Block => "block",
            May::Call => "block, change the arguments",
            May::Text => "change the text",
            May::Prompt => "block, add context",
            May::Context => "add context",
        };
        let aliases: Vec<String> = row.aliases.iter().map(|alias| format!("`{alias}`")).collect();
        let not_yet = if row.reached { "" } else { " *(accepted, but not triggered until subagents exist)*" };
        out.push_str(&format!("| `{}` | {} | {may} | {}{not_yet} |\n", row.name, aliases.join(" "), row.doc));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_spelling_means_one_event() {
        let mut seen = BTreeSet::new();
        for row in EVENTS {
            for name in std::iter::once(row.name).chain(row.aliases.iter().copied()) {
                assert_eq!(Event::parse(name), Some(row.event), "{name}");
                assert!(seen.insert(plain(name)), "{name} stands twice");
            }
            assert_eq!(row.event.row().name, row.name);
        }
    }

    #[test]
    fn names_of_other_programs_are_known() {
        for (name, event) in [
            ("PreToolUse", Some(Event::PreToolCall)),
            ("before-tool-call", Some(Event::PreToolCall)),
            ("after-tool-call", Some(Event::PostToolCall)),
            ("before-response", Some(Event::TransformLlmOutput)),
            ("context-compress", Some(Event::ContextCompress)),
            ("session-end", Some(Event::SessionEnd)),
            ("SessionStart", Some(Event::SessionStart)),
            ("on_session_end", Some(Event::SessionEnd)),
            ("Stop", Some(Event::TurnEnd)),
            ("pre_tool", None),
        ] {
            assert_eq!(Event::parse(name), event, "{name}");
        }
        assert_eq!(Event::nearest("pre_tool_cal"), Some("pre_tool_call"));
    }
}
