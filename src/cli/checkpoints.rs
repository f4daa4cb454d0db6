//! `hermes checkpoints`: a folder as it is now under a name, what changed since, and the way back.

use super::setup;
use crate::agent::undo;
use crate::checkpoints::{Checkpoints, NO_SESSION, Named, Settings, Shelf, Workspace};
use crate::config::Paths;
use crate::engine::Base;
use crate::protocol::{Fate, FileBack, FileKind};
use crate::store::{Blobs, FileChange, Store};
use crate::text::format::plural;
use crate::tools::file::restore::{restore_all, undoing};
use crate::tools::file::restore_target::RestoreTarget;
use anyhow::{Result, bail, ensure};
use clap::{Args, Subcommand};
use serde_json::json;
use std::io::{BufRead, IsTerminal as _, Write};
use std::sync::Arc;
use std::time::Duration;

/// The longest look at a folder.
const LONGEST: Duration = Duration::from_secs(3600);
/// Days after which `prune` forgets a checkpoint.
const DAYS: i64 = 30;
const DAY: i64 = 24 * 3600 * 1000;

/// `hermes checkpoints …`; without a subcommand it lists.
#[derive(Args, Clone, Debug)]
pub struct CheckpointsArgs {
    #[command(subcommand)]
    pub command: Option<Command>,
    /// Print JSON
    #[arg(long, global = true)]
    pub json: bool,
}

/// What to do. Each works on the current folder.
#[derive(Subcommand, Clone, Debug)]
pub enum Command {
    /// Save the current folder as it is now
    Create { name: String },
    /// List checkpoints, newest first
    List,
    /// What restoring a checkpoint would change
    Diff {
        name: String,
        /// The session that made it, where several have the name
        #[arg(long, value_name = "ID")]
        session: Option<String>,
    },
    /// Restore the current folder; the conversation stays as it is
    Restore {
        name: String,
        /// The session that made it, where several have the name
        #[arg(long, value_name = "ID")]
        session: Option<String>,
        /// Do not ask
        #[arg(short, long)]
        yes: bool,
    },
    /// Delete old checkpoints, and saved files beyond the budget
    Prune {
        /// Older than this many days
        #[arg(long, value_name = "DAYS", default_value_t = DAYS)]
        older_than: i64,
    },
}

/// Runs it. Exits 0, or 1 when nothing was done.
///
/// # Errors
/// When there is no such checkpoint, or the folder can't be saved or restored.
pub async fn run(args: CheckpointsArgs, input: &mut dyn BufRead, out: &mut dyn Write) -> Result<i32> {
    let base = setup::base(&super::ChatArgs::default())?;
    let shelf = Shelf::new(&base.paths.home);
    match args.command.unwrap_or(Command::List) {
        Command::Create { name } => create(&base, &shelf, &name, args.json, out).await,
        Command::List => list(&shelf, args.json, out),
        Command::Diff { name, session } => diff(plan(&base, &shelf, &name, session.as_deref())?, args.json, out),
        Command::Restore { name, session, yes } => {
            restore(&shelf, &name, plan(&base, &shelf, &name, session.as_deref())?, yes, input, out)
        }
        Command::Prune { older_than } => prune(&base, &shelf, older_than, args.json, out),
    }
}

/// The current folder, looked at as a whole.
fn workspace(base: &Base) -> Result<Arc<Workspace>> {
    let paths: &Paths = &base.paths;
    let root = base.cwd.canonicalize()?;
    let settings = Settings::of(paths, &base.loaded.config.checkpoints, &root);
    let workspace = Checkpoints::default().of(&root, settings);
    workspace.prepare();
    match workspace.ready(LONGEST) {
        Ok(true) => Ok(workspace),
        Ok(false) => bail!("{} takes too long to read", root.display()),
        Err(why) => bail!("{why}"),
    }
}

async fn create(base: &Base, shelf: &Shelf, name: &str, json: bool, out: &mut dyn Write) -> Result<i32> {
    let workspace = workspace(base)?;
    let store = Store::spawn(base.paths.home.clone());
    let session = store.latest(Some(&base.cwd.to_string_lossy())).await?;
    let item = match &session {
        Some(id) => store.all_items(id).await?.last().map_or(0, |item| item.id.0),
        None => 0,
    };
    store.close().await;
    let named = Named::new(name, session.as_ref().map(|id| id.0.as_str()), item, &workspace);
    shelf.add(&named)?;
    if json {
        writeln!(out, "{}", about(&named))?;
    } else {
        let files = plural(named.files.len() as u64, "file", "files");
        writeln!(out, "saved {files} of {} as {name}", named.root.display())?;
        for (path, why) in &named.left_out {
            writeln!(out, "  not saved: {} {why}", path.display())?;
        }
    }
    Ok(0)
}

fn about(named: &Named) -> serde_json::Value {
    json!({"version": 1, "name": named.name, "session": named.session, "at": named.at, "folder": named.root,
           "files": named.files.len(), "left_out": named.left_out})
}

fn list(shelf: &Shelf, json: bool, out: &mut dyn Write) -> Result<i32> {
    let all = shelf.list();
    if json {
        let all: Vec<serde_json::Value> = all.iter().map(about).collect();
        writeln!(out, "{}", json!({"version": 1, "checkpoints": all}))?;
        return Ok(0);
    }
    if all.is_empty() {
        writeln!(out, "no checkpoints: make one with `hermes checkpoints create NAME`")?;
    }
    let now = crate::agent::now();
    for named in all {
        let age = crate::text::format::age(now - named.at);
        let files = plural(named.files.len() as u64, "file", "files");
        let session = match named.session.as_str() {
            NO_SESSION => "no session".to_owned(),
            id => format!("session {id}"),
        };
        writeln!(out, "{}  {age}  {files}  {}  {session}", named.name, named.root.display())?;
    }
    Ok(0)
}

/// What a restore would do, and what it leaves alone.
struct Plan {
    changes: Vec<FileChange>,
    files: Vec<FileBack>,
    unsaved: Vec<String>,
    blobs: Blobs,
    workspace: Arc<Workspace>,
}

fn plan(base: &Base, shelf: &Shelf, name: &str, session: Option<&str>) -> Result<Plan> {
    let workspace = workspace(base)?;
    let named = shelf.find(name, workspace.root(), session)?;
    let blobs = Blobs::new(base.paths.history());
    let (changes, unsaved) = named.changes(&workspace);
    let files = undo::files(&changes, &blobs, workspace.root(), &RestoreTarget::default());
    Ok(Plan { changes, files, unsaved, blobs, workspace })
}

fn show(plan: &Plan, out: &mut dyn Write) -> Result<()> {
    for file in &plan.files {
        let letter = match file.kind {
            FileKind::Modified => 'M',
            FileKind::Added => 'A',
            FileKind::Deleted => 'D',
            FileKind::Moved => 'R',
            FileKind::Mode => 'P',
        };
        let note = match &file.fate {
            Fate::Lost(why) => format!("  kept: {why}"),
            _ if file.added + file.removed == 0 => String::new(),
            _ => format!("  +{} −{}", file.added, file.removed),
        };
        writeln!(out, "{letter} {}{note}", file.path)?;
    }
    for path in &plan.unsaved {
        writeln!(out, "  left alone, not saved: {path}")?;
    }
    if plan.files.is_empty() {
        writeln!(out, "nothing changed since")?;
    }
    Ok(())
}

fn diff(plan: Plan, json: bool, out: &mut dyn Write) -> Result<i32> {
    if json {
        writeln!(out, "{}", json!({"version": 1, "files": plan.files, "left_alone": plan.unsaved}))?;
    } else {
        show(&plan, out)?;
    }
    Ok(0)
}

fn restore(
    shelf: &Shelf,
    name: &str,
    plan: Plan,
    yes: bool,
    input: &mut dyn BufRead,
    out: &mut dyn Write,
) -> Result<i32> {
    show(&plan, out)?;
    if plan.files.is_empty() {
        return Ok(0);
    }
    if !yes {
        ensure!(std::io::stdin().is_terminal(), "restoring asks first; without a terminal, add --yes");
        write!(out, "Restore these in {}? [y/N] ", plan.workspace.root().display())?;
        out.flush()?;
        let mut answer = String::new();
        input.read_line(&mut answer)?;
        if !matches!(answer.trim().to_lowercase().as_str(), "y" | "yes") {
            writeln!(out, "nothing restored")?;
            return Ok(1);
        }
    }
    // A restore can itself be undone: what it changes is saved first.
    let before = Named::new(&before(name), None, 0, &plan.workspace);
    shelf.add(&before)?;
    let ground = RestoreTarget::default();
    let done = restore_all(&undoing(&plan.changes, &plan.blobs, &ground), false, &plan.blobs, &ground);
    if let Some((path, why)) = done.failed.first() {
        shelf.remove(&before)?;
        bail!("nothing restored: {}: {why}", path.display());
    }
    let files = plural(done.files.len() as u64, "file", "files");
    writeln!(out, "restored {files}; to undo it: hermes checkpoints restore {}", before.name)?;
    Ok(0)
}

/// The name of what was there before a restore: `before-NAME-20261126-112130042`.
fn before(name: &str) -> String {
    // Names of names of names stay short enough.
    let name: String = name.chars().take(36).collect();
    format!("before-{name}-{}", chrono::Local::now().format("%Y%m%d-%H%M%S%3f"))
}

fn prune(base: &Base, shelf: &Shelf, days: i64, json: bool, out: &mut dyn Write) -> Result<i32> {
    let before = crate::agent::now() - days.saturating_mul(DAY);
    let (old, kept): (Vec<Named>, Vec<Named>) = shelf.list().into_iter().partition(|named| named.at < before);
    for named in &old {
        shelf.remove(named)?;
    }
    let blobs = Blobs::new(base.paths.history());
    shelf.hold(&blobs);
    let removed = blobs.sweep(base.loaded.config.checkpoints.budget_bytes)?;
    let (files, bytes) = blobs.size();
    if json {
        let value = json!({"version": 1, "checkpoints": old.len(), "files": removed, "left": {"checkpoints": kept.len(), "files": files, "bytes": bytes}});
        writeln!(out, "{value}")?;
    } else {
        let (old, removed) = (
            plural(old.len() as u64, "checkpoint", "checkpoints"),
            plural(removed as u64, "saved file", "saved files"),
        );
        let left = crate::text::format::bytes(bytes);
        writeln!(out, "deleted {old} and {removed}; {} left, {left}", plural(files, "saved file", "saved files"))?;
    }
    Ok(0)
}
