//! Where others may look at a call: before it is planned and after it has run.

use super::builtin::{clarify, delegate_task, session_search, todo};
use super::spec::{Content, ToolCtx, ToolOutput};
use futures::future::BoxFuture;
use serde_json::Value;

/// The tools that work on the agent's own state, and names kept for more of them: hooks do not see their calls, and
/// without an agent behind a call they answer with an error.
pub const AGENT_LEVEL: [&str; 5] = [clarify::NAME, delegate_task::NAME, "memory", session_search::NAME, todo::NAME];

/// What a hook says of a call that is about to be planned.
#[derive(Clone, Debug, PartialEq)]
pub enum Before {
    /// Plan it with these arguments: the given ones, or changed ones. The gate judges what comes out of them.
    Go(Value),
    /// Plan it with these arguments, and ask a person even where the gate would not; the reason stands in the question.
    Ask { args: Value, reason: String },
    /// Do not run it; the reason goes to the model.
    Block(String),
}

/// A call that has run.
#[derive(Clone, Copy, Debug)]
pub struct Called<'a> {
    pub name: &'a str,
    /// What its output holds.
    pub content: Content,
    /// The arguments that it ran with.
    pub args: &'a Value,
    pub duration: std::time::Duration,
}

/// Looks at the calls of a [`super::dispatch::Dispatch`], those of the agent's own tools
/// ([`AGENT_LEVEL`]) left out. Nothing that it says loosens the gate: a call that it lets
/// go is planned, judged and asked about as any other. It bounds its own time, and ends early when `ctx.cancel` fires;
/// a hook that panics counts as one that said nothing.
pub trait Hooks: Send + Sync {
    /// Whether anything wants to hear of this tool. `false` costs a call nothing.
    fn wants(&self, name: &str) -> bool;

    /// Before the call is planned. `name` is repaired and `args` fit the schema as far as they can be made to. A command
    /// that the person edited in the question comes again, as it will run.
    fn before_call<'a>(&'a self, name: &'a str, args: Value, ctx: &'a ToolCtx) -> BoxFuture<'a, Before>;

    /// After the call ran, well or not. The secrets of `output` are masked already; what comes back is masked and bounded
    /// as any result. Calls that never ran (denied, refused, not planned) do not come here.
    fn after_call<'a>(&'a self, called: Called<'a>, output: ToolOutput, ctx: &'a ToolCtx) -> BoxFuture<'a, ToolOutput>;
}
