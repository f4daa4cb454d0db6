//! `process`: reads, types into, waits for, starts again and ends background processes.

mod run;

use super::terminal::shell_summary;
use crate::exec::{ExecError, Keys, ProcessId};
use crate::policy::Intent;
use crate::protocol::Outcome;
use crate::text::width::truncate_end;
use crate::tools::spec::{Access, Call, Parallel, Tool, ToolCtx, ToolError, ToolOutput, ToolSpec, Verbs};
use futures::future::BoxFuture;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

/// Lines that `log` gives unless told otherwise.
const LOG_LINES: usize = 200;
/// Characters of output after a wait that ended, and after one that did not.
const WAIT_ENDED: usize = 2000;
const WAIT_GOES_ON: usize = 1000;
/// How long a killed process may take beyond its grace before it is reported as still running.
const KILL_WAIT: Duration = Duration::from_secs(2);

/// Columns or rows that a terminal may be given.
const MOST_CELLS: u16 = 1000;

/// The tool's name.
pub const NAME: &str = "process";
/// Characters of an identifier on a tool line: `proc_` and twelve digits, cut a little.
const ID_CHARS: usize = 16;

/// The tool.
pub struct ProcessTool {
    spec: ToolSpec,
}

/// The tool, for the registry.
pub fn process() -> Arc<dyn Tool> {
    let spec = super::built_in(
        NAME,
        super::terminal::TOOLSET,
        "📟",
        include_str!("../../../assets/tools/process.md"),
        json!({
            "type": "object",
            "properties": {
                "action": {"type": "string", "enum": ACTIONS.map(|(name, _)| name)},
                "session_id": {"type": "string"},
                "data": {"type": "string"},
                "timeout": {"type": "integer", "minimum": 1},
                "offset": {"type": "integer"},
                "limit": {"type": "integer", "minimum": 1},
                "keys": {"type": "array", "items": {"type": "string"}},
                "signal": {"type": "string"},
                "columns": {"type": "integer", "minimum": 1},
                "rows": {"type": "integer", "minimum": 1}
            },
            "required": ["action"]
        }),
        Access::Execute,
        Verbs::new("checking processes", "checked processes"),
        Parallel::Never,
    );
    Arc::new(ProcessTool { spec: ToolSpec { repeats: true, lenient: &["data", "keys"], ..spec } })
}

impl Tool for ProcessTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn target(&self, args: &Value) -> String {
        let action = super::text(args, "action");
        match super::text(args, "session_id") {
            id if action.is_empty() || id.is_empty() => action.to_owned(),
            id => format!("{action} {}", id.chars().take(ID_CHARS).collect::<String>()),
        }
    }

    fn plan<'a>(&'a self, args: Value, ctx: &'a ToolCtx) -> BoxFuture<'a, Result<Box<dyn Call>, ToolError>> {
        Box::pin(async move { plan(&args, ctx).map(|call| Box::new(call) as Box<dyn Call>) })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    List,
    Poll,
    Log,
    Wait,
    Write,
    Submit,
    SendKeys,
    Screen,
    Signal,
    Resize,
    Kill,
    Restart,
    HandOver,
    Close,
}

impl Action {
    /// Whether it changes what the person may be at work in.
    fn touches(self) -> bool {
        match self {
            Self::Write
            | Self::Submit
            | Self::SendKeys
            | Self::Signal
            | Self::Resize
            | Self::Kill
            | Self::Restart
            | Self::Close => true,
            Self::List | Self::Poll | Self::Log | Self::Wait | Self::Screen | Self::HandOver => false,
        }
    }
}

/// Actions by the names that the model gives them.
const ACTIONS: [(&str, Action); 14] = [
    ("list", Action::List),
    ("poll", Action::Poll),
    ("log", Action::Log),
    ("wait", Action::Wait),
    ("write", Action::Write),
    ("submit", Action::Submit),
    ("send_keys", Action::SendKeys),
    ("screen", Action::Screen),
    ("signal", Action::Signal),
    ("resize", Action::Resize),
    ("kill", Action::Kill),
    ("restart", Action::Restart),
    ("hand_over", Action::HandOver),
    ("close", Action::Close),
];

/// Columns of what was typed, in the words of a call.
const TYPED: usize = 40;

/// A planned action.
struct Order {
    action: Action,
    id: ProcessId,
    /// What is typed, or the name of a signal.
    data: String,
    keys: Keys,
    size: (u16, u16),
    timeout: Option<u64>,
    offset: Option<usize>,
    limit: usize,
    intent: Intent,
    /// What is done to which program, for a person.
    words: String,
}

fn plan(args: &Value, ctx: &ToolCtx) -> Result<Order, ToolError> {
    let word = args.get("action").and_then(Value::as_str).unwrap_or("");
    let Some(action) = ACTIONS.iter().find(|(name, _)| *name == word).map(|(_, action)| *action) else {
        let known = ACTIONS.map(|(name, _)| name).join(", ");
        return Err(ToolError::Args(format!("unknown action `{word}`: use one of {known}")));
    };
    let id = args.get("session_id").and_then(Value::as_str).unwrap_or("").trim();
    if action != Action::List && id.is_empty() {
        return Err(ToolError::Args(format!("`session_id` is required for {word}; see `list`")));
    }
    let id = ProcessId(id.to_owned());
    let field = if action == Action::Signal { "signal" } else { "data" };
    let data = match args.get(field) {
        Some(Value::String(text)) => text.clone(),
        // A number typed as a number is still what should be typed.
        Some(Value::Number(number)) => number.to_string(),
        _ => String::new(),
    };
    if action == Action::Signal && data.trim().is_empty() {
        return Err(ToolError::Args("`signal` is required: its name, for example USR1".into()));
    }
    let number = |name: &str| args.get(name).and_then(|v| v.as_u64().or_else(|| v.as_f64().map(|n| n.max(0.0) as u64)));
    let keys = if action == Action::SendKeys { keys(args)? } else { Keys::default() };
    let cells = |name: &str| number(name).and_then(|n| u16::try_from(n).ok()).filter(|n| (1..=MOST_CELLS).contains(n));
    let size = match (action, cells("columns"), cells("rows")) {
        (Action::Resize, Some(columns), Some(rows)) => (columns, rows),
        (Action::Resize, ..) => {
            return Err(ToolError::Args(format!("`columns` and `rows` are required, 1 to {MOST_CELLS} each")));
        }
        _ => (0, 0),
    };
    let count = |name: &str| number(name).and_then(|n| usize::try_from(n).ok());
    Ok(Order {
        intent: intent(action, &id, &data, &keys, ctx),
        words: words(action, &id, &data, &keys, size, ctx),
        action,
        id,
        data,
        keys,
        size,
        timeout: number("timeout").filter(|t| *t > 0),
        offset: count("offset"),
        limit: count("limit").filter(|l| *l > 0).unwrap_or(LOG_LINES),
    })
}

/// A string is a key or a text, `{"text": …}` is a text even when a key has that name.
fn keys(args: &Value) -> Result<Keys, ToolError> {
    let mut keys = Keys::default();
    let one = args.get("keys").filter(|value| !value.is_null());
    let all: Vec<&Value> = match one {
        Some(Value::Array(all)) => all.iter().collect(),
        other => other.into_iter().collect(),
    };
    for value in all {
        match (value, value.get("text")) {
            (Value::String(word), _) => keys.word(word),
            (Value::Number(number), _) => keys.text(&number.to_string()),
            (_, Some(Value::String(text))) => keys.text(text),
            _ => return Err(ToolError::Args(format!("{value} is not a key: write [\"text\", \"Enter\", \"C-c\"]"))),
        }
    }
    if keys.is_empty() {
        Err(ToolError::Args("`keys` is required: keys and text in order, [\"text\", \"Enter\"]".into()))
    } else {
        Ok(keys)
    }
}

/// What the gate judges: what is typed like a command, a command that runs again as one, the rest as talk about
/// processes of one's own.
fn intent(action: Action, id: &ProcessId, data: &str, keys: &Keys, ctx: &ToolCtx) -> Intent {
    let process = id.0.clone();
    match action {
        Action::Write => Intent::Input { process, text: data.to_owned() },
        Action::Submit => Intent::Input { process, text: format!("{data}\n") },
        Action::SendKeys if !keys.only_interrupts() => Intent::Input { process, text: keys.typed() },
        Action::Restart => match ctx.exec.line(id) {
            Some((line, cwd)) => Intent::Command { line, cwd, background: true },
            None => Intent::Talk,
        },
        Action::List
        | Action::Poll
        | Action::Log
        | Action::Wait
        | Action::Screen
        | Action::HandOver
        | Action::Resize => Intent::Talk,
        Action::SendKeys | Action::Signal | Action::Kill | Action::Close => Intent::Handle,
    }
}

/// What is done to which program.
fn words(
    action: Action,
    id: &ProcessId,
    data: &str,
    keys: &Keys,
    (columns, rows): (u16, u16),
    ctx: &ToolCtx,
) -> String {
    let own = ctx.exec.commands(&ctx.task, Some(id));
    let program = own.first().map_or_else(|| id.0.clone(), |line| truncate_end(&shell_summary(line), TYPED));
    let typed = |text: &str| truncate_end(text, TYPED);
    match action {
        Action::List => "list".into(),
        Action::Poll => format!("poll {program}"),
        Action::Log => format!("log of {program}"),
        Action::Wait => format!("wait for {program}"),
        Action::Write => format!("{} → {program}", typed(&format!("{data:?}"))),
        Action::Submit if data.is_empty() => format!("Enter → {program}"),
        Action::Submit => format!("{} Enter → {program}", typed(&format!("{data:?}"))),
        Action::SendKeys => format!("{} → {program}", typed(&keys.shown())),
        Action::Screen => format!("screen of {program}"),
        Action::Signal => format!("{} → {program}", data.trim().to_ascii_uppercase()),
        Action::Resize => format!("{columns}×{rows} → {program}"),
        Action::Kill => format!("kill {program}"),
        Action::Restart => format!("restart {program}"),
        Action::HandOver => format!("hand over {program}"),
        Action::Close => format!("end of input → {program}"),
    }
}

impl Call for Order {
    fn intent(&self) -> &Intent {
        &self.intent
    }

    fn target(&self) -> String {
        self.words.clone()
    }

    fn commands(&self, ctx: &ToolCtx) -> Vec<String> {
        ctx.exec.commands(&ctx.task, (self.action != Action::List).then_some(&self.id))
    }

    fn run(self: Box<Self>, ctx: ToolCtx) -> BoxFuture<'static, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            match run::carry_out(&self, &ctx).await {
                Ok(output) => Ok(output),
                Err(ExecError::NotFound(id)) => {
                    let error = format!("No process with ID {}", id.0);
                    let mut output = ToolOutput::json(&json!({ "status": "not_found", "error": error }));
                    output.outcome = Outcome::Failed;
                    Ok(output.summary("not found"))
                }
                Err(ExecError::Ended(id)) => {
                    let error = format!("process {} has already exited", id.0);
                    let mut output = ToolOutput::json(&json!({ "status": "already_exited", "error": error }));
                    output.outcome = Outcome::Failed;
                    Ok(output.summary("already exited"))
                }
                Err(error) => Err(ToolError::Failed(error.to_string())),
            }
        })
    }
}
