//! The `restore` tool: back to a checkpoint, with the working folder and the conversation.

use super::checkpoint::{Args, TOOLSET, ready};
use crate::checkpoints::{Named, Shelf};
use crate::policy::{EditIntent, Intent};
use crate::protocol::{Body, ItemId};
use crate::store::FileChange;
use crate::text::width::truncate_end;
use crate::tools::file::diff::file_diff;
use crate::tools::file::restore::{restore_all, undoing};
use crate::tools::spec::{Access, Call, GoBack, Parallel, Tool, ToolCtx, ToolError, ToolOutput, ToolSpec, Verbs};
use futures::future::BoxFuture;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::LazyLock;

/// The tool's name.
pub const NAME: &str = "restore";
/// Files whose diffs are worked out for the question; the others are named.
const DIFFS: usize = 200;
/// Files that the note names.
const NOTED: usize = 12;
/// Prompts that the question names, and columns of each.
const PROMPTS: usize = 4;
const PROMPT: usize = 40;

/// The tool.
pub struct Restore;

static SPEC: LazyLock<ToolSpec> = LazyLock::new(|| {
    super::built_in(
        NAME,
        TOOLSET,
        "⏪",
        include_str!("../../../assets/tools/restore.md"),
        json!({"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}),
        Access::Write,
        Verbs::new("restoring", "restored"),
        Parallel::Never,
    )
});

impl Tool for Restore {
    fn spec(&self) -> &ToolSpec {
        &SPEC
    }

    fn plan<'a>(&'a self, args: Value, ctx: &'a ToolCtx) -> BoxFuture<'a, Result<Box<dyn Call>, ToolError>> {
        Box::pin(async move {
            let args: Args = super::parse(NAME, args)?;
            let work = ctx.clone();
            let mut call = crate::tools::blocking(move || plan(&args.name, &work)).await??;
            call.prompts = prompts(ctx, ItemId(call.named.item)).await;
            Ok(Box::new(call) as Box<dyn Call>)
        })
    }
}

struct RestoreCall {
    named: Named,
    /// From the checkpoint to now: undoing them leads back.
    changes: Vec<FileChange>,
    /// What is not saved of then or of now.
    unsaved: Vec<String>,
    /// Prompts that leave the conversation, the newest first.
    prompts: Vec<String>,
    intent: Intent,
}

/// The prompts that came after an item, in short.
async fn prompts(ctx: &ToolCtx, since: ItemId) -> Vec<String> {
    let Some(history) = &ctx.history else { return Vec::new() };
    // A store that does not answer names none.
    let found = history.store.prompts(&history.session).await.map(|(prompts, _)| prompts).unwrap_or_default();
    let gone = found.into_iter().filter(|prompt| prompt.item.id > since);
    gone.filter_map(|prompt| match prompt.item.body {
        Body::User { text, .. } => {
            let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
            Some(format!("“{}”", truncate_end(&line, PROMPT)))
        }
        _ => None,
    })
    .collect()
}

fn plan(name: &str, ctx: &ToolCtx) -> Result<RestoreCall, ToolError> {
    let (history, workspace) = ready(ctx)?;
    let found = Shelf::new(&history.home).of_session(name, &history.session.0);
    let named = found.map_err(|error| ToolError::Failed(error.to_string()))?;
    if named.root != workspace.root() {
        let root = named.root.display();
        return Err(ToolError::Failed(format!("{name} is a checkpoint of {root}, where this session does not work")));
    }
    let (changes, unsaved) = named.changes(&workspace);
    let edit = |(at, change): (usize, &FileChange)| {
        let shown = change.path.strip_prefix(workspace.root()).unwrap_or(&change.path).display().to_string();
        let then = change.before.hash.as_deref().and_then(|hash| history.blobs.read(hash).ok().flatten());
        let now = history.ground.read("", &change.path).ok();
        let diff = if at < DIFFS { file_diff(&shown, now.as_deref(), then.as_deref()).unified } else { String::new() };
        let diff = if diff.is_empty() { format!("{shown}: as it was at {name}\n") } else { diff };
        EditIntent { path: change.path.clone(), diff, removes: change.before.hash.is_none() }
    };
    let intent = Intent::Edit(changes.iter().enumerate().map(edit).collect());
    Ok(RestoreCall { named, changes, unsaved, prompts: Vec::new(), intent })
}

impl Call for RestoreCall {
    fn intent(&self) -> &Intent {
        &self.intent
    }

    fn target(&self) -> String {
        let (name, count) = (&self.named.name, self.prompts.len());
        if count == 0 {
            return name.clone();
        }
        let more = if count > PROMPTS { format!(" and {} more", count - PROMPTS) } else { String::new() };
        let named = self.prompts.iter().take(PROMPTS).map(String::as_str).collect::<Vec<_>>().join(", ");
        format!("{name} · drops from the conversation: {named}{more}")
    }

    fn drops(&self) -> Vec<String> {
        self.prompts.clone()
    }

    fn run(self: Box<Self>, ctx: ToolCtx) -> BoxFuture<'static, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let Self { named, changes, mut unsaved, .. } = *self;
            let (again, work) = (named.clone(), ctx.clone());
            let (history, now) = crate::tools::blocking(move || {
                let (history, workspace) = ready(&work)?;
                Ok::<_, ToolError>((history, again.changes(&workspace).0))
            })
            .await??;
            let differ = |one: &FileChange, two: &FileChange| {
                (&one.path, &one.before, &one.after) != (&two.path, &two.before, &two.after)
            };
            if now.len() != changes.len() || now.iter().zip(&changes).any(|(one, two)| differ(one, two)) {
                return Err(ToolError::Failed(
                    "files changed since it was planned; nothing was restored: try again".into(),
                ));
            }
            if ctx.cancel.is_cancelled() {
                return Err(ToolError::Interrupted);
            }
            // What it does is itself a change that a rewind takes back.
            let back = |change: &FileChange| FileChange {
                turn: history.turn,
                call: ctx.call_id.clone(),
                before: change.after.clone(),
                after: change.before.clone(),
                ..change.clone()
            };
            let rows: Vec<FileChange> = changes.iter().map(back).collect();
            let failed = |error: crate::store::StoreError| ToolError::Failed(error.to_string());
            let keys = history.store.record_changes(&history.session, rows).await.map_err(failed)?;
            let (blobs, ground) = (history.blobs.clone(), history.ground.clone());
            let workspace = std::sync::Arc::clone(&history.workspace);
            let paths: Vec<PathBuf> = changes.iter().map(|change| change.path.clone()).collect();
            let by = history.listener;
            let done = crate::tools::blocking(move || {
                let done = restore_all(&undoing(&changes, &blobs, &ground), false, &blobs, &ground);
                workspace.ours(&paths, by);
                done
            })
            .await?;
            if let Some((path, why)) = done.failed.first() {
                history.store.forget_changes(keys).await.map_err(failed)?;
                return Err(ToolError::Failed(format!("nothing restored: {}: {why}", path.display())));
            }
            unsaved.extend(done.lost.iter().map(|(path, why)| format!("{}: {why}", path.display())));
            let root = &named.root;
            let shown = |path: &PathBuf| path.strip_prefix(root).unwrap_or(path).display().to_string();
            let names: Vec<String> = done.files.iter().take(NOTED).map(|file| shown(&file.path)).collect();
            let note = note(&named.name, done.files.len(), &names, &unsaved);
            let back = GoBack { to: ItemId(named.item), name: named.name.clone(), note, files: done.files.clone() };
            ctx.agent.go_back(back);
            let files = crate::text::format::plural(done.files.len() as u64, "file", "files");
            Ok(ToolOutput::json(&json!({"restored": named.name, "files": names, "left_alone": unsaved})).summary(files))
        })
    }
}

/// What the agent goes on with.
fn note(name: &str, files: usize, names: &[String], unsaved: &[String]) -> String {
    let more = files.saturating_sub(names.len());
    let mut text = format!("[Restored the checkpoint {name}: files and conversation are as they were then.");
    if files > 0 {
        text.push_str(&format!(" Files set back: {}", names.join(", ")));
        if more > 0 {
            text.push_str(&format!(" and {more} more"));
        }
        text.push('.');
    }
    if !unsaved.is_empty() {
        text.push_str(&format!(" Not restored: {}.", unsaved.join(", ")));
    }
    text.push_str(" What you did after it is undone; go on in another way.]");
    text
}
