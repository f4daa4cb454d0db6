//! Hooks around tool calls: the dispatcher asks here before it plans and after it ran.

use super::answer::Verdict;
use super::event::Event;
use super::hook_payload::HookPayload;
use super::host::Extensions;
use crate::lock::lock;
use crate::protocol::Outcome;
use crate::tools::hook::{Before, Called, Hooks};
use crate::tools::spec::{Content, ToolCtx, ToolOutput};
use futures::future::BoxFuture;
use serde_json::Value;

/// Moments around a call.
const AROUND: [Event; 4] =
    [Event::PreToolCall, Event::PostToolCall, Event::TransformToolResult, Event::TransformTerminalOutput];

fn moment(event: Event, name: &str, args: Value, ctx: &ToolCtx) -> HookPayload {
    let cwd = lock(&ctx.cwd).clone();
    HookPayload::new(event, &*ctx.task, cwd).tool(name, args).with("tool_call_id", ctx.call_id.as_str())
}

impl Hooks for Extensions {
    fn wants(&self, name: &str) -> bool {
        AROUND.iter().any(|event| Extensions::wants(self, *event, Some(name)))
    }

    fn before_call<'a>(&'a self, name: &'a str, args: Value, ctx: &'a ToolCtx) -> BoxFuture<'a, Before> {
        Box::pin(async move {
            let said = self.fire(moment(Event::PreToolCall, name, args.clone(), ctx), &ctx.cancel).await;
            let args = said.args.unwrap_or(args);
            match said.verdict {
                Verdict::Pass => Before::Go(args),
                Verdict::Ask(reason) => Before::Ask { args, reason },
                Verdict::Block(reason) => Before::Block(reason),
            }
        })
    }

    fn after_call<'a>(
        &'a self,
        called: Called<'a>,
        mut output: ToolOutput,
        ctx: &'a ToolCtx,
    ) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            let at = |event| moment(event, called.name, called.args.clone(), ctx);
            if called.content == Content::Command
                && let Ok(Value::Object(mut fields)) = serde_json::from_str::<Value>(&output.content)
                && let Some(text) = fields.get("output").and_then(Value::as_str)
            {
                let moment = at(Event::TransformTerminalOutput)
                    .text(text)
                    .with("command", called.args.get("command").cloned().unwrap_or_default())
                    .with("returncode", fields.get("exit_code").cloned().unwrap_or_default())
                    .with("env_type", "local");
                if let Some(text) = self.fire(moment, &ctx.cancel).await.text {
                    fields.insert("output".into(), text.into());
                    output.content = Value::Object(fields).to_string();
                }
            }
            let status = if output.outcome == Outcome::Ok { "ok" } else { "error" };
            for event in [Event::PostToolCall, Event::TransformToolResult] {
                let moment = at(event)
                    .text(output.content.as_str())
                    .with("status", status)
                    .with("duration_ms", u64::try_from(called.duration.as_millis()).unwrap_or(u64::MAX));
                let said = self.fire(moment, &ctx.cancel).await;
                if let Some(text) = said.text {
                    output.content = text;
                }
                if !said.context.is_empty() {
                    output.content = with_words(output.content, said.context);
                }
            }
            output
        })
    }
}

/// A result with a hook's words beside it; an object stays one.
fn with_words(content: String, words: String) -> String {
    match serde_json::from_str::<Value>(&content) {
        Ok(Value::Object(mut fields)) => {
            fields.insert("hook_context".into(), words.into());
            Value::Object(fields).to_string()
        }
        _ => format!("{content}\n\n[from a hook of the user] {words}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_beside_a_result_keep_its_shape() {
        assert_eq!(with_words(r#"{"a":1}"#.into(), "look".into()), r#"{"a":1,"hook_context":"look"}"#);
        assert_eq!(with_words("text".into(), "look".into()), "text\n\n[from a hook of the user] look");
    }
}
