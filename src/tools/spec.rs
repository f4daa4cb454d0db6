//! What a tool is: data for the model and the screen, and a two-step call that plans before it acts.

use super::offer::selection::VisibleTools;
use crate::backends::{Backends, Files};
use crate::config::Config;
use crate::exec::Exec;
use crate::policy::decide::Closed;
use crate::policy::{Intent, World};
use crate::protocol::{CallRow, FileDiff, Image, InnerCall, ItemId, Large, Outcome, ToolBody, ToolView};
use futures::future::BoxFuture;
use serde_json::Value;
use std::borrow::Cow;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

/// Characters of a result that the model gets from a tool that names no cap of its own.
pub const OUTPUT_CAP: usize = 100_000;

/// Everything about a tool but its code.
#[derive(Clone, Debug)]
pub struct ToolSpec {
    pub name: Cow<'static, str>,
    pub toolset: Cow<'static, str>,
    /// Two cells wide, without a variation selector.
    pub emoji: Cow<'static, str>,
    /// For the model; a built-in tool's is `assets/tools/NAME.md`.
    pub description: Cow<'static, str>,
    /// JSON Schema of the arguments.
    pub schema: Arc<Value>,
    pub access: Access,
    /// Environment variables it needs, for display.
    pub requires_env: Vec<Cow<'static, str>>,
    /// Shared checks run once a listing.
    pub check: Option<CheckId>,
    pub verbs: Verbs,
    pub parallel: Parallel,
    pub content: Content,
    pub row: CallRow,
    /// Its calls are repeated by design, as where something is watched: the guard against loops leaves them alone.
    pub repeats: bool,
    /// Arguments that it reads in more shapes than its schema says.
    pub lenient: &'static [&'static str],
    /// Characters of a result that the model gets; the rest goes to a spill file. `usize::MAX`: the tool bounds itself.
    pub output_cap: usize,
    /// Its schema stands in every request; that of the others is found by `tool_search`. Tools of servers and plugins
    /// say `false`.
    pub pinned: bool,
}

impl ToolSpec {
    /// The spec of a tool that comes at run time, from a server or a plugin: found by `tool_search`, a barrier, and
    /// taken for something that executes until its owner says better.
    pub fn dynamic(
        name: impl Into<String>,
        toolset: impl Into<String>,
        description: impl Into<String>,
        schema: Value,
    ) -> Self {
        Self {
            name: Cow::Owned(name.into()),
            toolset: Cow::Owned(toolset.into()),
            emoji: Cow::Borrowed("🔌"),
            description: Cow::Owned(description.into()),
            schema: Arc::new(schema),
            access: Access::Execute,
            requires_env: Vec::new(),
            check: None,
            verbs: Verbs::new("calling", "called"),
            parallel: Parallel::Never,
            content: Content::default(),
            row: CallRow::default(),
            repeats: false,
            lenient: &[],
            output_cap: OUTPUT_CAP,
            pinned: false,
        }
    }
}

/// What a tool touches at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// The agent's own state.
    Agent,
    Read,
    Write,
    Execute,
}

/// A named availability check.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CheckId(pub Cow<'static, str>);

/// Words for the tool line: `reading`, `read`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verbs {
    pub running: Cow<'static, str>,
    pub done: Cow<'static, str>,
}

impl Verbs {
    /// Words that are part of the program.
    pub const fn new(running: &'static str, done: &'static str) -> Self {
        Self { running: Cow::Borrowed(running), done: Cow::Borrowed(done) }
    }
}

/// When calls of one step may overlap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parallel {
    /// A barrier.
    Never,
    /// Reads only.
    Always,
    /// When the path in this argument does not overlap with another call's.
    ByPath(&'static str),
}

/// What the results of a tool hold: how they are masked and bounded, and what of them others may change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Content {
    /// The tool's own words.
    #[default]
    Words,
    /// JSON whose `output` is that of a command.
    Command,
    /// Parts of files.
    Files,
    /// JSON with what a script printed, which is bounded where it is made.
    Script,
    /// A page of a file, which never loses its middle: the next page is asked for.
    Page,
}

impl Content {
    /// Whether it stands in a file: a read among reads, and masked as a file is.
    pub fn is_of_files(self) -> bool {
        matches!(self, Self::Files | Self::Page)
    }
}

/// A tool: built in, or later from a plugin or an MCP server.
pub trait Tool: Send + Sync {
    fn spec(&self) -> &ToolSpec;

    /// The target of a call that could not be planned, from its arguments alone (a planned one names its own): a few
    /// words for the tool line, empty when nothing is known. Whatever text comes first says the most.
    fn target(&self, args: &Value) -> String {
        let first = args.as_object().and_then(|fields| fields.values().find_map(Value::as_str)).unwrap_or_default();
        first.trim().lines().next().unwrap_or_default().to_owned()
    }

    /// Parses the arguments once. May read, changes nothing, and keeps hashes of what it read. Every tool has it, but
    /// those that work on the list of tools: without that they can only say so.
    fn plan<'a>(&'a self, _args: Value, _ctx: &'a ToolCtx) -> BoxFuture<'a, Result<Box<dyn Call>, ToolError>> {
        super::offer::selection::without_list()
    }

    /// As [`Tool::plan`], for the tools that work on the list of tools itself.
    fn plan_among<'a>(
        &'a self,
        args: Value,
        _among: &'a VisibleTools,
        ctx: &'a ToolCtx,
    ) -> BoxFuture<'a, Result<Box<dyn Call>, ToolError>> {
        self.plan(args, ctx)
    }
}

/// A planned call.
pub trait Call: Send {
    /// What it would do, for the gate and the modal.
    fn intent(&self) -> &Intent;

    /// The short target for the tool line.
    fn target(&self) -> String;

    /// Command lines whose output the result holds beside the intent's own: those of background processes.
    fn commands(&self, _ctx: &ToolCtx) -> Vec<String> {
        Vec::new()
    }

    /// Where the text in its result came from, when strangers wrote it and neither intent nor commands say so.
    fn strangers(&self) -> Option<String> {
        None
    }

    /// Files that it puts elsewhere: from where to where.
    fn moves(&self) -> Vec<(PathBuf, PathBuf)> {
        Vec::new()
    }

    /// Prompts of turns that it takes out of the conversation, the newest first.
    fn drops(&self) -> Vec<String> {
        Vec::new()
    }

    /// Does it. Re-checks what the plan read.
    fn run(self: Box<Self>, ctx: ToolCtx) -> BoxFuture<'static, Result<ToolOutput, ToolError>>;
}

/// What a tool gives back.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolOutput {
    /// The result for the model, usually a JSON object. Bounded and redacted later, in one place.
    pub content: String,
    /// `Ok`, or `Failed` for a command that exited non-zero or an `{"error"}` result.
    pub outcome: Outcome,
    pub view: ToolView,
    /// Pictures for a model that sees them, beside the content. Bounded later, in one place.
    pub images: Vec<Image>,
    /// Data of other kinds. Kept in files later, in one place.
    pub data: Vec<Data>,
    /// Filled in where results are bounded.
    pub large: Option<Box<Large>>,
    /// The sandbox stopped it: what was blocked, in words. The gate may ask a person about that.
    pub blocked: Option<String>,
    /// Calls that it made. Only the gate fills it in.
    pub inner: Vec<InnerCall>,
    /// Strangers whose text came with those calls. Only the gate fills it in.
    pub strangers: Vec<String>,
}

/// A call that a running call makes: it passes the gate like any other.
#[derive(Debug)]
pub struct InnerRequest {
    pub name: String,
    /// JSON.
    pub args: String,
    /// Gets the whole result.
    pub reply: oneshot::Sender<ToolBody>,
    /// Nobody waits for it any more: it ends.
    pub cancel: CancellationToken,
}

/// Bytes that are neither text nor a picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Data {
    /// `audio/wav`
    pub media_type: String,
    pub bytes: Vec<u8>,
}

impl ToolOutput {
    /// A result that is a JSON value.
    pub fn json(value: &Value) -> Self {
        Self { content: value.to_string(), ..Self::default() }
    }

    /// Sets the short result of the tool line.
    pub fn summary(mut self, summary: impl Into<String>) -> Self {
        self.view.summary = summary.into();
        self
    }

    /// Adds the diffs of changed files.
    pub fn diffs(mut self, diffs: Vec<FileDiff>) -> Self {
        self.view.diffs = diffs;
        self
    }
}

/// A tool could not do its work. `dispatch` turns it into `{"error": …}` for the model; it never ends a turn.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ToolError {
    /// The arguments do not fit; says which and how.
    #[error("{0}")]
    Args(String),
    /// Ran and failed; the message names the thing and the remedy.
    #[error("{0}")]
    Failed(String),
    /// A result that is an error with more fields than a message (suggestions, matches): a JSON object as text.
    #[error("{0}")]
    Detailed(String),
    #[error("interrupted")]
    Interrupted,
}

/// What a call may use. Cheap to clone.
#[derive(Clone)]
pub struct ToolCtx {
    pub config: Arc<Config>,
    /// The id of this call, also the name of its spill file.
    pub call_id: String,
    /// Stable per session: names the shell state (cwd, exported variables).
    pub task: Arc<str>,
    /// The working folder of the task; `terminal` moves it.
    pub cwd: Arc<Mutex<PathBuf>>,
    /// Where the person started the program: what a sandbox leaves open. No command moves it.
    pub workspace: PathBuf,
    /// Files that this call must leave out when it reads what is below a folder. Only the gate sets it.
    pub closed: Closed,
    /// A person said that this call runs without its sandbox. Only the gate sets it.
    pub unconfined: bool,
    /// Its commands write nothing, whatever the configuration says. Only the gate sets it.
    pub read_only: bool,
    pub exec: Exec,
    /// Where commands run and files are.
    pub backends: Backends,
    pub world: Arc<dyn World>,
    /// What this session has read and written, for stale-write warnings and repeated reads.
    pub files: Arc<Mutex<FileLedger>>,
    /// Who else works on the same files: a write to one that changed since it was read is refused. `None`: nobody, and it only
    /// warns.
    pub kin: Option<Arc<dyn super::children::Kin>>,
    pub agent: Arc<dyn AgentPort>,
    /// Progress for the tool line; lossy.
    pub progress: mpsc::Sender<Progress>,
    pub cancel: CancellationToken,
    /// Keeps files as they were before this call changes them; `None` where there is no session to go back in.
    pub history: Option<super::file::history::FileHistory>,
    /// Past sessions and this one; `None` where nothing is stored.
    pub sessions: Option<crate::store::Store>,
    /// Folder for spill files of this session.
    pub spill: PathBuf,
    /// Where it makes calls of tools; `None` for a call that was made so itself. Only the gate sets it.
    pub calls: Option<mpsc::Sender<InnerRequest>>,
    /// The call that made this one: its result goes to a program, whole, and the model does not see it. Only the gate
    /// sets it.
    pub within: Option<Within>,
    /// What the results of this step may take together.
    pub room: super::output::budget::OutputBudget,
}

impl ToolCtx {
    /// The files of the place where work is done.
    pub fn disk(&self) -> Arc<dyn Files> {
        match self.backends.current() {
            Some(there) => there,
            None => Arc::new(super::file::Disk),
        }
    }
}

/// The call that made a call.
#[derive(Clone, Debug)]
pub struct Within {
    pub call: Arc<str>,
    /// Strangers whose text its calls have brought so far.
    pub strangers: Arc<Mutex<Vec<String>>>,
    /// Files as its calls have seen them: the model has not.
    pub seen: Arc<Mutex<HashMap<PathBuf, (u128, u64)>>>,
}

/// Files as this session knows them: absolute path to modification time (nanoseconds) and size when last seen.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FileLedger {
    pub seen: HashMap<PathBuf, (u128, u64)>,
    /// What this session made in temporary folders, where it may change and delete that without a question.
    pub made: crate::policy::border::Made,
    /// Parts of files that the model has in its context. Cleared when the context is compressed.
    pub reads: HashMap<ReadKey, ReadMark>,
    /// Edits of a file that found no match since it was last written.
    pub failed_patches: HashMap<PathBuf, u32>,
}

/// A part of a file as `read_file` was asked for it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ReadKey {
    pub path: PathBuf,
    pub offset: usize,
    pub limit: usize,
}

/// What is known of an earlier read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadMark {
    pub stamp: (u128, u64),
    /// Times it was asked for again, without another tool's call between.
    pub repeats: u32,
}

/// What a running call tells.
#[derive(Clone, Debug, PartialEq)]
pub enum Progress {
    /// It runs as this process.
    Process(crate::exec::ProcessId),
    /// One line, replaced by the next.
    Line(String),
}

/// Where tools go that come from outside of the program: the registry, as MCP servers and plugins may use it.
pub trait Publish: Send + Sync {
    /// This source may publish later; sessions that begin before it does can find its tools then.
    fn expect(&self, source: &str);
    /// These are the tools of this source now, in place of those before.
    fn publish(&self, source: &str, tools: Vec<Arc<dyn Tool>>);
    /// What it could not make into tools.
    fn report(&self, source: &str, problems: Vec<String>);
    /// It has no tools any more, and none are awaited.
    fn withdraw(&self, source: &str);
}

/// A checkpoint was restored: where the conversation goes on from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GoBack {
    /// The last item that stays.
    pub to: ItemId,
    /// The name of the checkpoint.
    pub name: String,
    /// What the agent goes on with.
    pub note: String,
    /// The files as they were put back, for a redo.
    pub files: Vec<crate::store::RewoundFile>,
}

/// The agent's own state, for the tools that work on it.
pub trait AgentPort: Send + Sync {
    fn plan(&self) -> Vec<Todo>;
    fn set_plan(&self, plan: Vec<Todo>);
    /// Waits as long as the person does. `Err` holds the reason when nobody can be asked or the turn was stopped.
    fn ask(&self, question: Question) -> BoxFuture<'static, Result<String, String>>;
    /// Something that a person and the agent should know, which no result holds any more.
    fn notice(&self, text: String) {
        tracing::warn!("{text}");
    }
    /// The conversation goes back to where this item was the last, and the agent goes on with a note.
    fn go_back(&self, _back: GoBack) {}
    /// The session goes on in this mode, because a person said so. Ends once it holds.
    fn set_mode(&self, _mode: crate::protocol::Mode) -> BoxFuture<'static, ()> {
        Box::pin(std::future::ready(()))
    }
    /// Who runs children of the session; `None`: it has none.
    fn children(&self) -> Option<Arc<dyn super::children::Children>> {
        None
    }
    /// A model for whoever answers a call and needs one, within the budget of the session: the one of this name, or the
    /// configured one.
    ///
    /// # Errors
    /// Why there is none.
    fn model(&self, _choice: Option<&str>) -> Result<Arc<dyn crate::llm::Provider>, String> {
        Err("no model available".into())
    }
    /// How long questions to the person have been open so far, those at the same time counted once.
    fn waited(&self) -> std::time::Duration {
        std::time::Duration::ZERO
    }
    /// Whether there is an agent behind this, whose plan, memory and sessions a call may work on.
    fn is_agent(&self) -> bool {
        true
    }
}

pub use crate::protocol::{Question, Todo, TodoStatus};
