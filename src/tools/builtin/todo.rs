//! The `todo` tool: the plan of the session, read, replaced or updated.

use crate::policy::Intent;
use crate::protocol::CallRow;
use crate::tools::spec::{
    Access, Call, Parallel, Todo, TodoStatus, Tool, ToolCtx, ToolError, ToolOutput, ToolSpec, Verbs,
};
use futures::future::BoxFuture;
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::LazyLock;

const MAX_ITEMS: usize = 256;
const MAX_CHARS: usize = 4_000;
const CUT: &str = "… [truncated]";
/// The id of an entry without one.
const NO_ID: &str = "?";

/// The tool's name.
pub const NAME: &str = "todo";
/// The tool.
pub struct TodoTool;

static SPEC: LazyLock<ToolSpec> = LazyLock::new(|| {
    let spec = super::built_in(
        NAME,
        NAME,
        "📋",
        include_str!("../../../assets/tools/todo.md"),
        json!({
            "type": "object",
            "properties": {
                "todos": {"type": "array", "items": {
                    "type": "object",
                    "properties": {
                        "id": {"type": "string"},
                        "content": {"type": "string"},
                        "status": {"type": "string", "enum": ["pending", "in_progress", "completed", "cancelled"]}
                    },
                    "required": ["id", "content", "status"]
                }},
                "merge": {"type": "boolean", "default": false, "description": "Update by id, keep the rest"}
            }
        }),
        Access::Agent,
        Verbs::new("planning", "planned"),
        Parallel::Never,
    );
    ToolSpec { row: CallRow::Closed, lenient: &["todos"], ..spec }
});

#[derive(Deserialize)]
struct Args {
    todos: Option<Vec<Value>>,
    #[serde(default)]
    merge: bool,
}

impl Tool for TodoTool {
    fn spec(&self) -> &ToolSpec {
        &SPEC
    }

    fn target(&self, args: &Value) -> String {
        let merge = args.get("merge") == Some(&Value::Bool(true));
        words(args.get("todos").and_then(Value::as_array).map(Vec::len), merge)
    }

    fn plan<'a>(&'a self, args: Value, _: &'a ToolCtx) -> BoxFuture<'a, Result<Box<dyn Call>, ToolError>> {
        Box::pin(async move {
            let args: Args = super::parse(NAME, args)?;
            if let Some(n) = args.todos.as_ref().map(Vec::len).filter(|n| *n > MAX_ITEMS) {
                return Err(ToolError::Args(format!("{n} tasks are too many; at most {MAX_ITEMS}")));
            }
            // Nothing that could be a task: what is there stays.
            if args.todos.as_ref().is_some_and(|todos| !todos.is_empty() && !todos.iter().any(says_something)) {
                let why = "`todos` must be a list of objects with id, content and status; nothing was changed";
                return Err(ToolError::Args(why.into()));
            }
            Ok(Box::new(TodoCall { args }) as Box<dyn Call>)
        })
    }
}

/// What is done to how many tasks; `None`: they are read.
fn words(tasks: Option<usize>, merge: bool) -> String {
    match tasks {
        None => "reading tasks".to_owned(),
        Some(tasks) if merge => format!("updating {tasks} task(s)"),
        Some(tasks) => format!("planning {tasks} task(s)"),
    }
}

/// The plan in the result of a call that went well; `None` when that can't be told.
pub fn plan_in(content: &str) -> Option<Vec<Todo>> {
    let mut result: Value = serde_json::from_str(content).ok()?;
    serde_json::from_value(result.get_mut("todos")?.take()).ok()
}

struct TodoCall {
    args: Args,
}

impl Call for TodoCall {
    fn intent(&self) -> &Intent {
        &Intent::Talk
    }

    fn target(&self) -> String {
        words(self.args.todos.as_ref().map(Vec::len), self.args.merge)
    }

    fn run(self: Box<Self>, ctx: ToolCtx) -> BoxFuture<'static, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let mut plan = ctx.agent.plan();
            if let Some(todos) = &self.args.todos {
                plan = updated(if self.args.merge { plan } else { Vec::new() }, todos, self.args.merge);
                plan.truncate(MAX_ITEMS);
                ctx.agent.set_plan(plan.clone());
            }
            let count = |status| plan.iter().filter(|todo| todo.status == status).count();
            let (done, total) = (count(TodoStatus::Completed), plan.len());
            let result = json!({"todos": plan, "summary": {
                "total": total,
                "pending": count(TodoStatus::Pending),
                "in_progress": count(TodoStatus::InProgress),
                "completed": done,
                "cancelled": count(TodoStatus::Cancelled),
            }});
            Ok(ToolOutput::json(&result).summary(format!("{done}/{total}")))
        })
    }
}

/// `plan` with `items` worked in; the last of several with one id counts.
fn updated(mut plan: Vec<Todo>, items: &[Value], merge: bool) -> Vec<Todo> {
    for (i, item) in items.iter().enumerate() {
        let id = id(item);
        if id != NO_ID && items[i + 1..].iter().any(|later| self::id(later) == id) {
            continue;
        }
        let known = plan.iter_mut().find(|todo| merge && id != NO_ID && todo.id == id);
        match known {
            Some(todo) => {
                if let Some(content) = content(item) {
                    todo.content = content;
                }
                if let Some(status) = status(item) {
                    todo.status = status;
                }
            }
            None => plan.push(Todo {
                content: content(item)
                    .unwrap_or_else(|| if item.is_object() { "(no description)" } else { "(invalid item)" }.to_owned()),
                status: status(item).unwrap_or_default(),
                id,
            }),
        }
    }
    plan
}

/// Whether an entry names a task.
fn says_something(item: &Value) -> bool {
    content(item).is_some() || id(item) != NO_ID
}

fn id(item: &Value) -> String {
    let id = match item.get("id") {
        Some(Value::String(id)) => id.trim().to_owned(),
        Some(Value::Number(id)) => id.to_string(),
        _ => String::new(),
    };
    if id.is_empty() { NO_ID.to_owned() } else { id }
}

fn content(item: &Value) -> Option<String> {
    let text = item.get("content")?.as_str()?.trim();
    match text.char_indices().nth(MAX_CHARS) {
        _ if text.is_empty() => None,
        None => Some(text.to_owned()),
        Some(_) => Some(text.chars().take(MAX_CHARS - CUT.chars().count()).chain(CUT.chars()).collect()),
    }
}

/// `None` when there is none; a word that is no status counts as pending.
fn status(item: &Value) -> Option<TodoStatus> {
    let word = item.get("status")?.as_str()?.trim().to_lowercase();
    Some(serde_json::from_value(Value::String(word)).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::testing::Bench;

    #[tokio::test]
    async fn cases() {
        let cases = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases/todo-ops.jsonl"));
        for row in cases.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()) {
            let bench = Bench::new();
            for step in row["steps"].as_array().unwrap() {
                let output = bench.call("todo", step["call"].clone()).await;
                assert_eq!(serde_json::from_str::<Value>(&output.content).unwrap(), step["result"], "{}", row["name"]);
            }
        }
    }

    #[tokio::test]
    async fn what_is_no_list_of_tasks_changes_nothing() {
        let bench = Bench::new();
        let kept = json!({"todos": [{"id": "1", "content": "keep me", "status": "pending"}]});
        bench.call("todo", kept).await;
        let before = bench.agent.plan.lock().unwrap().clone();
        for wrong in [
            json!("nope"),
            json!(5),
            json!(true),
            json!({}),
            json!([1, "a"]),
            json!([[]]),
            json!([null]),
            json!({"a": 1}),
        ] {
            for merge in [false, true] {
                let output = bench.call("todo", json!({"todos": wrong, "merge": merge})).await;
                assert!(output.content.contains("`todos`"), "{wrong}: {}", output.content);
                assert_eq!(*bench.agent.plan.lock().unwrap(), before, "{wrong}");
            }
        }
        let output = bench.call("todo", json!({"todos": [], "merge": "perhaps"})).await;
        assert!(output.content.contains("`merge` must be true or false"), "{}", output.content);
        assert_eq!(*bench.agent.plan.lock().unwrap(), before);
    }

    #[tokio::test]
    async fn reading_and_limits() {
        let bench = Bench::new();
        bench.call("todo", json!({"todos": [{"id": 7, "content": "x".repeat(5_000), "status": "in_progress"}]})).await;
        let output = bench.call("todo", json!({})).await;
        assert_eq!(output.view.summary, "0/1");
        let plan = bench.agent.plan.lock().unwrap().clone();
        assert_eq!((plan[0].id.as_str(), plan[0].content.chars().count()), ("7", 4_000));
        assert!(plan[0].content.ends_with(CUT));
        let many: Vec<Value> = (0..300).map(|i| json!({"id": i, "content": "x", "status": "pending"})).collect();
        assert!(bench.call("todo", json!({"todos": many})).await.content.contains("too many"));
    }
}
