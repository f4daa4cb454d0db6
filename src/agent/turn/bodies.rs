//! Items that the turn machine writes.

use super::{Action, Said};
use crate::llm::Reply;
use crate::protocol::{AssistantBody, Body, Outcome, StopReason, ToolBody, ToolCall};

pub(super) fn user(said: Said) -> Body {
    with_context(said, String::new())
}

/// A message that also tells what changed since the turn before.
pub(super) fn with_context(said: Said, context: String) -> Body {
    let Said { text, images, origin, gist, by_agent: _ } = said;
    Body::User { text, images, context, origin, gist }
}

pub(super) fn assistant(reply: Reply) -> Body {
    Body::Assistant(AssistantBody {
        text: reply.text,
        reasoning: reply.reasoning,
        // Measured by the runner, which has the clock.
        thought_ms: None,
        calls: reply.calls,
        usage: reply.usage,
        model: reply.model,
        stop: reply.stop,
        opaque: reply.opaque,
    })
}

/// The text of a broken reply as an item; its calls are dropped, their arguments can't be trusted.
pub(super) fn keep_partial(partial: Option<Box<Reply>>, stop: StopReason) -> Vec<Action> {
    match partial {
        Some(reply) if !reply.text.trim().is_empty() => {
            vec![Action::Append(assistant(Reply { calls: Vec::new(), opaque: Vec::new(), stop, ..*reply }))]
        }
        _ => Vec::new(),
    }
}

/// Results for calls that will not run: every call gets one.
pub(super) fn unanswered(calls: &[ToolCall], outcome: Outcome, why: &str) -> Vec<Action> {
    calls
        .iter()
        .map(|call| {
            Action::Append(Body::Tool(ToolBody {
                call_id: call.id.clone(),
                name: call.name.clone(),
                content: serde_json::json!({ "error": why }).to_string(),
                outcome,
                ..ToolBody::default()
            }))
        })
        .collect()
}
