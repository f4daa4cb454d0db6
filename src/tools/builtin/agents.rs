//! The `agents` tool: what the children of the session do, a word to one of them, its end.

use super::delegate_task;
use crate::policy::Intent;
use crate::protocol::ChildRow;
use crate::text::format::plural;
use crate::tools::children::Children;
use crate::tools::spec::{Access, Call, Parallel, Tool, ToolCtx, ToolError, ToolOutput, ToolSpec, Verbs};
use futures::future::BoxFuture;
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::{Arc, LazyLock};

/// The tool's name.
pub const NAME: &str = "agents";
/// The tool.
pub struct Agents;

static SPEC: LazyLock<ToolSpec> = LazyLock::new(|| {
    let spec = super::built_in(
        NAME,
        NAME,
        "👥",
        include_str!("../../../assets/tools/agents.md"),
        json!({
            "type": "object",
            "properties": {
                "action": {"type": "string", "enum": ["list", "send", "wait", "stop"]},
                "agent": {"type": "string"},
                "message": {"type": "string"}
            },
            "required": ["action"]
        }),
        Access::Agent,
        Verbs::new("asking", "asked"),
        Parallel::Never,
    );
    ToolSpec { repeats: true, ..spec }
});

#[derive(Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum Act {
    #[default]
    List,
    Send,
    Wait,
    Stop,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Args {
    action: Act,
    agent: String,
    message: String,
}

impl Tool for Agents {
    fn spec(&self) -> &ToolSpec {
        &SPEC
    }

    fn plan<'a>(&'a self, args: Value, ctx: &'a ToolCtx) -> BoxFuture<'a, Result<Box<dyn Call>, ToolError>> {
        Box::pin(async move {
            let args: Args = super::parse(NAME, args)?;
            let needs = |field: &str| Err(ToolError::Args(format!("`{field}` is needed for this action")));
            match args.action {
                Act::Send if args.message.trim().is_empty() => return needs("message"),
                Act::Send | Act::Stop if args.agent.trim().is_empty() => return needs("agent"),
                Act::List | Act::Wait | Act::Send | Act::Stop => {}
            }
            let children = delegate_task::of(ctx)?;
            Ok(Box::new(AgentsCall { args, children }) as Box<dyn Call>)
        })
    }
}

struct AgentsCall {
    args: Args,
    children: Arc<dyn Children>,
}

impl Call for AgentsCall {
    fn intent(&self) -> &Intent {
        &Intent::Talk
    }

    fn target(&self) -> String {
        let action = match self.args.action {
            Act::List => "list",
            Act::Send => "send to",
            Act::Wait => "wait for",
            Act::Stop => "stop",
        };
        format!("{action} {}", self.args.agent).trim_end().to_owned()
    }

    fn run(self: Box<Self>, ctx: ToolCtx) -> BoxFuture<'static, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let (args, children) = (self.args, self.children);
            let agent = args.agent.trim();
            match args.action {
                Act::List => Ok(list(&children.list())),
                Act::Send => {
                    let session = children.send(agent, args.message).map_err(ToolError::Failed)?;
                    let value = json!({"sent": true, "session": session.0, "note": "read at its next step"});
                    Ok(ToolOutput::json(&value).summary("sent"))
                }
                Act::Stop => {
                    let session = children.stop(agent).map_err(ToolError::Failed)?;
                    Ok(ToolOutput::json(&json!({"stopped": true, "session": session.map(|id| id.0)}))
                        .summary("stopped"))
                }
                Act::Wait => {
                    let named = if agent.is_empty() { Vec::new() } else { vec![agent.to_owned()] };
                    let waited = children.wait(named, ctx.cancel.clone()).await;
                    match waited {
                        Ok(results) if results.is_empty() => {
                            Ok(ToolOutput::json(&json!({"results": [], "note": "no child works"})).summary("none"))
                        }
                        Ok(results) => Ok(delegate_task::output(&results)),
                        Err(_) if ctx.cancel.is_cancelled() => Err(ToolError::Interrupted),
                        Err(why) => Err(ToolError::Failed(why)),
                    }
                }
            }
        })
    }
}

fn list(rows: &[ChildRow]) -> ToolOutput {
    let one = |row: &ChildRow| {
        json!({
            "agent": row.name,
            "goal": row.goal,
            "state": row.state.word(),
            "doing": row.doing,
            "figures": row.figures(),
            "session": row.session.as_ref().map(|id| id.0.clone()),
        })
    };
    let working = rows.iter().filter(|row| !row.state.is_over()).count();
    let value = json!({"agents": rows.iter().map(one).collect::<Vec<_>>()});
    ToolOutput::json(&value).summary(format!("{working} of {}", plural(rows.len() as u64, "child", "children")))
}
