//! The `delegate_task` tool: gives work to sessions of its own kind and waits for their summaries.

use crate::config::Isolation;
use crate::context::untrusted;
use crate::policy::Intent;
use crate::protocol::{ChildRow, ChildState, Outcome, ToolView};
use crate::text::format::{elapsed, plural};
use crate::tools::children::{Batch, ChildResult, Children, LeftWorktree, Ran, Task, TaskLimits};
use crate::tools::spec::{Access, Call, OUTPUT_CAP, Parallel, Tool, ToolCtx, ToolError, ToolOutput, ToolSpec, Verbs};
use futures::future::BoxFuture;
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::{Arc, LazyLock};

/// Children of one call.
const MAX_TASKS: usize = 20;
/// Files of a child that its result names.
const NAMED_FILES: usize = 40;
/// Characters of a goal on the tool line.
const GOAL: usize = 60;

/// The tool's name.
pub const NAME: &str = "delegate_task";
/// Tools that a child has not: they need the person, or write what outlasts the session.
pub const NOT_IN_CHILDREN: [&str; 7] = [
    super::clarify::NAME,
    "memory",
    "send_message",
    "cronjob",
    super::execute_code::NAME,
    super::restore::NAME,
    super::plan_mode::NAME,
];
/// The tool.
pub struct DelegateTask;

static SPEC: LazyLock<ToolSpec> = LazyLock::new(|| {
    let task = json!({
        "goal": {"type": "string", "description": "What to do and what to return"},
        "context": {"type": "string", "description": "All it must know"},
        "toolsets": {"type": "array", "items": {"type": "string"}, "description": "Only these of yours; empty: all"},
        "role": {"type": "string", "enum": ["leaf", "orchestrator"], "description": "orchestrator: may delegate itself"},
        "isolation": {"type": "string", "enum": ["none", "worktree"], "description": "worktree: a separate git worktree and branch, from the last commit; you merge it"},
        "max_steps": {"type": "integer", "minimum": 1},
        "max_tokens": {"type": "integer", "minimum": 1},
        "max_output_tokens": {"type": "integer", "minimum": 1},
        "max_cost": {"type": "number"},
        "timeout_seconds": {"type": "integer", "minimum": 1}
    });
    let mut properties = task.clone();
    properties["tasks"] = json!({
        "type": "array",
        "description": "Several at once, instead of goal",
        "items": {"type": "object", "properties": task, "required": ["goal"]}
    });
    properties["background"] = json!({"type": "boolean", "default": false});
    let spec = super::built_in(
        NAME,
        "delegation",
        "🔀",
        include_str!("../../../assets/tools/delegate_task.md"),
        json!({"type": "object", "properties": properties}),
        Access::Agent,
        Verbs::new("delegating", "delegated"),
        Parallel::Always,
    );
    ToolSpec { lenient: &["tasks", "toolsets"], ..spec }
});

#[derive(Deserialize, Default)]
#[serde(default)]
struct Args {
    goal: String,
    context: String,
    toolsets: Option<Names>,
    role: Role,
    isolation: Option<Isolation>,
    tasks: Value,
    background: bool,
    #[serde(flatten)]
    limits: Limits,
}

/// Bounds of a child.
#[derive(Deserialize, Clone, Copy, Default)]
#[serde(default)]
struct Limits {
    max_steps: Option<u32>,
    max_tokens: Option<u64>,
    max_output_tokens: Option<u64>,
    max_cost: Option<f64>,
    timeout_seconds: Option<u64>,
}

impl Limits {
    /// None of them can be nothing.
    fn of_task(self) -> TaskLimits {
        TaskLimits {
            steps: self.max_steps.filter(|most| *most > 0),
            tokens: self.max_tokens.filter(|most| *most > 0),
            output: self.max_output_tokens.filter(|most| *most > 0),
            cost: self.max_cost.filter(|most| *most > 0.0),
            seconds: self.timeout_seconds.filter(|most| *most > 0),
        }
    }
}

/// What a child may do.
#[derive(Deserialize, Clone, Copy, Default, PartialEq)]
#[serde(rename_all = "snake_case")]
enum Role {
    #[default]
    #[serde(alias = "")]
    Leaf,
    Orchestrator,
}

/// Names in a list, or between commas.
#[derive(Deserialize)]
#[serde(untagged)]
enum Names {
    List(Vec<String>),
    Text(String),
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct One {
    goal: String,
    context: String,
    toolsets: Option<Names>,
    role: Role,
    isolation: Option<Isolation>,
    #[serde(flatten)]
    limits: Limits,
}

impl One {
    fn task(self) -> Task {
        let toolsets = match self.toolsets {
            None => Vec::new(),
            Some(Names::List(names)) => names,
            Some(Names::Text(text)) => text.split(',').map(str::to_owned).collect(),
        };
        let toolsets = toolsets.into_iter().map(|name| name.trim().to_owned()).filter(|name| !name.is_empty());
        Task {
            goal: self.goal.trim().to_owned(),
            context: self.context.trim().to_owned(),
            toolsets: toolsets.collect(),
            orchestrates: self.role == Role::Orchestrator,
            isolation: self.isolation,
            limits: self.limits.of_task(),
        }
    }
}

/// A list of objects or of goals, or the JSON of one as text.
fn list(tasks: Value) -> Result<Vec<One>, ToolError> {
    let wrong =
        |error: serde_json::Error| ToolError::Args(format!("`tasks` is no list of objects with a goal: {error}"));
    let tasks = match tasks {
        Value::Null => return Ok(Vec::new()),
        Value::String(text) if text.trim().is_empty() => return Ok(Vec::new()),
        Value::String(text) => serde_json::from_str(&text).map_err(wrong)?,
        other => other,
    };
    let Value::Array(tasks) = tasks else {
        return Err(ToolError::Args("`tasks` is a list of objects with a goal".into()));
    };
    let one = |task: Value| match task {
        Value::String(goal) => Ok(One { goal, ..One::default() }),
        task => serde_json::from_value(task).map_err(wrong),
    };
    tasks.into_iter().map(one).collect()
}

impl Args {
    fn tasks(self) -> Result<Vec<Task>, ToolError> {
        let list = list(self.tasks)?;
        let tasks: Vec<Task> = if list.is_empty() {
            let Self { goal, context, toolsets, role, isolation, limits, .. } = self;
            vec![One { goal, context, toolsets, role, isolation, limits }.task()]
        } else {
            let all = self.limits.of_task();
            list.into_iter()
                .map(|one| One { isolation: one.isolation.or(self.isolation), ..one }.task())
                .map(|task| Task { limits: task.limits.or(all), ..task })
                .collect()
        };
        if tasks.len() > MAX_TASKS {
            return Err(ToolError::Args(format!("{} tasks are too many; at most {MAX_TASKS} a call", tasks.len())));
        }
        match tasks.iter().position(|task| task.goal.is_empty()) {
            Some(0) if tasks.len() == 1 => {
                Err(ToolError::Args("give either `goal` (one task) or `tasks` (several)".into()))
            }
            Some(at) => Err(ToolError::Args(format!("task {} has no goal", at + 1))),
            None => Ok(tasks),
        }
    }
}

impl Tool for DelegateTask {
    fn spec(&self) -> &ToolSpec {
        &SPEC
    }

    fn plan<'a>(&'a self, args: Value, ctx: &'a ToolCtx) -> BoxFuture<'a, Result<Box<dyn Call>, ToolError>> {
        Box::pin(async move {
            let args: Args = super::parse(NAME, args)?;
            let background = args.background;
            let tasks = args.tasks()?;
            let children = of(ctx)?;
            Ok(Box::new(Delegation { tasks, background, children }) as Box<dyn Call>)
        })
    }
}

/// Who runs the children of a call's session.
///
/// # Errors
/// There is no agent behind the call.
pub fn of(ctx: &ToolCtx) -> Result<Arc<dyn Children>, ToolError> {
    ctx.agent.children().ok_or_else(|| ToolError::Failed("it works only in a conversation, which this is not".into()))
}

struct Delegation {
    tasks: Vec<Task>,
    background: bool,
    children: Arc<dyn Children>,
}

impl Call for Delegation {
    fn intent(&self) -> &Intent {
        &Intent::Talk
    }

    fn target(&self) -> String {
        match self.tasks.as_slice() {
            [one] => one.goal.chars().take(GOAL).collect(),
            several => plural(several.len() as u64, "task", "tasks"),
        }
    }

    fn run(self: Box<Self>, ctx: ToolCtx) -> BoxFuture<'static, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let batch = Batch {
                call_id: ctx.call_id.clone(),
                tasks: self.tasks,
                room: ctx.room.cap(OUTPUT_CAP).min(ctx.room.even_share()),
                spill: ctx.spill.clone(),
                background: self.background,
                cancel: ctx.cancel.clone(),
            };
            match self.children.run(batch).await.map_err(ToolError::Failed)? {
                Ran::Ended(results)
                    if ctx.cancel.is_cancelled() && results.iter().all(|result| result.summary.is_empty()) =>
                {
                    Err(ToolError::Interrupted)
                }
                Ran::Ended(results) => Ok(output(&results)),
                Ran::Background { results, moved } => Ok(begun(&results, moved)),
            }
        })
    }
}

/// What the model gets of children that work on without it. `moved`: a person sent them to the background.
fn begun(results: &[ChildResult], moved: bool) -> ToolOutput {
    let agents: Vec<Value> = results
        .iter()
        .map(|result| json!({"agent": result.row.name, "goal": result.row.goal, "state": result.row.state.word()}))
        .collect();
    let note = "they work on; the result comes as a message. Go on with something else, or end your turn";
    let status = if moved { "moved to the background by the user" } else { "running in background" };
    let value = json!({"status": status, "agents": agents, "note": note});
    let rows = results.iter().map(|result| result.row.clone()).collect();
    let mut output = ToolOutput::json(&value);
    output.view.children = rows;
    output.summary(format!("{} in background", plural(results.len() as u64, "child", "children")))
}

/// What the model gets: a summary of each child that starts with its status.
pub fn output(results: &[ChildResult]) -> ToolOutput {
    let all: Vec<Value> = results.iter().map(value).collect();
    let failed = results.iter().filter(|result| result.row.state != ChildState::Completed).count();
    let outcome = if failed == results.len() { Outcome::Failed } else { Outcome::Ok };
    let summary = match (failed, results.len()) {
        (0, 1) => "completed".to_owned(),
        (_, 1) => results.first().map_or("", |result| result.row.state.word()).to_owned(),
        (0, n) => format!("{n} completed"),
        (failed, n) => format!("{} completed, {failed} not", n - failed),
    };
    let rows: Vec<ChildRow> = results.iter().map(|result| result.row.clone()).collect();
    let output = results.iter().map(said).collect::<Vec<_>>().join("\n\n");
    let view = ToolView { children: rows, output, ..ToolView::default() };
    ToolOutput { content: json!({"results": all}).to_string(), outcome, view, ..ToolOutput::default() }.summary(summary)
}

/// The status, with what it cost: `completed in 12 s · 4 steps · 3.2K tokens`.
fn status(row: &ChildRow) -> String {
    let took = u64::try_from(row.ended.saturating_sub(row.began)).unwrap_or_default();
    format!("{} in {} · {}", row.state.word(), elapsed(took), row.figures())
}

fn said(result: &ChildResult) -> String {
    let why = if result.error.is_empty() { String::new() } else { format!(": {}", result.error) };
    format!("{} {}{why}\n{}", result.row.name, status(&result.row), result.summary).trim_end().to_owned()
}

fn value(result: &ChildResult) -> Value {
    let row = &result.row;
    let summary = match result.strangers.as_slice() {
        [] => result.summary.clone(),
        strangers => untrusted::wrapped(&strangers.join(", "), &result.summary),
    };
    let mut value = json!({
        "agent": row.name,
        "status": status(row),
        "summary": summary,
    });
    if !result.error.is_empty() {
        value["error"] = json!(result.error);
    }
    if !result.files.is_empty() {
        let files: Vec<String> = result
            .files
            .iter()
            .take(NAMED_FILES)
            .map(|(path, added, removed)| format!("{path} +{added} −{removed}"))
            .collect();
        let more = result.files.len().saturating_sub(NAMED_FILES);
        value["files_changed"] = json!(files);
        if more > 0 {
            value["more_files"] = json!(more);
        }
    }
    if !result.processes.is_empty() {
        value["processes"] = json!(result.processes);
    }
    if let Some(left) = &result.worktree {
        value["worktree"] = worktree(left);
    }
    if !result.note.is_empty() {
        value["note"] = json!(result.note);
    }
    if let Some(session) = &row.session {
        value["session"] = json!(session.0);
    }
    value
}

/// What a child left in its worktree, and how to get it.
fn worktree(left: &LeftWorktree) -> Value {
    let LeftWorktree { branch, folder, changes, has, uncommitted } = left;
    let merge = if *uncommitted {
        let at = format!("git -C {}", quoted(folder));
        format!("first commit what is not: {at} add -A && {at} commit -m MESSAGE; then git merge {branch}")
    } else {
        format!("git merge {branch}")
    };
    let remove = "once merged: git worktree remove FOLDER, then git branch -d BRANCH";
    json!({"branch": branch, "folder": folder, "changes": changes, "has": has.join(", "), "merge": merge, "remove": remove})
}

fn quoted(path: &std::path::Path) -> String {
    let text = path.display().to_string();
    if text.chars().all(|c| c.is_alphanumeric() || "/._-+".contains(c)) {
        text
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}
