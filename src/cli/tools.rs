//! `hermes tools`: what there is, how the model sees it, and one call through the same door as the agent's.

use super::setup;
use crate::agent::AgentHandle;
use crate::agent::runner::Deps;
use crate::engine::Surface;
use crate::policy::Mode;
use crate::protocol::{Outcome, ToolCall};
use crate::tools::dispatch::Dispatch;
use crate::tools::gate::Gate;
use crate::tools::offer::listing::{Listing, access, listing};
use crate::tools::offer::selection::ToolSelection;
use crate::tools::offer::wording;
use crate::tools::registry::Snapshot;
use crate::tools::spec::{ToolCtx, ToolSpec};
use anyhow::{Result, anyhow};
use clap::Subcommand;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::Write;
use std::sync::{Arc, Mutex};
use tokio::sync::mpsc;

/// Version of the JSON shapes.
const VERSION: u32 = 1;
/// The call ran and failed, or could not be planned.
const FAILED: i32 = 1;
/// The gate said no, or would have asked.
const DENIED: i32 = 2;

/// Subcommands of `hermes tools`.
#[derive(Subcommand, Clone, Debug)]
pub enum Command {
    /// All tools, with what keeps a tool from being used
    List {
        #[arg(long)]
        json: bool,
    },
    /// Tool descriptions as the model sees them
    Schema {
        name: Option<String>,
        #[arg(long)]
        json: bool,
    },
    /// Run one tool; its result goes to standard output
    Run {
        name: String,
        /// The arguments as a JSON object
        #[arg(value_name = "JSON", default_value = "{}")]
        args: String,
        /// Do not stop for questions; what is refused stays refused
        #[arg(long)]
        yolo: bool,
    },
}

/// `hermes tools` with this process's home.
pub async fn main(command: Command, out: &mut dyn Write) -> Result<i32> {
    let base = setup::base(&super::ChatArgs::default())?;
    let (engine, _streams) = setup::headless(&base);
    match &command {
        Command::Run { name, .. } => engine.services().begin_for(name).await,
        Command::List { .. } | Command::Schema { .. } => {
            engine.services().begin().await;
            engine.services().settled().await;
        }
    }
    let offer = ToolSelection::of_config(&base.loaded.config, None, BTreeMap::new());
    let deps = engine.for_command();
    let code = run(command, &deps.dispatch, &offer, |yolo| door(&base, &deps, yolo), out).await;
    engine.finish(None).await;
    code
}

/// What a call would do, without doing it.
///
/// # Errors
/// When the tool is not there or does not take the arguments.
pub async fn planned(base: &setup::Base, name: &str, args: &str) -> Result<crate::policy::Intent> {
    let (engine, _streams) = setup::headless(base);
    engine.services().begin_for(name).await;
    let deps = engine.for_command();
    let (_, ctx) = door(base, &deps, false);
    let planned = deps.dispatch.plan(name, args, &ctx).await;
    let is_known = deps.dispatch.registry().snapshot().get(&planned.name).is_some();
    let intent = match &planned.call {
        Ok(call) => Ok(call.intent().clone()),
        Err(_) if !is_known => Err(anyhow!("no tool named {name}; list them with `hermes tools list`")),
        Err(output) => Err(anyhow!("{}", crate::text::readable::readable(&output.content))),
    };
    engine.finish(None).await;
    intent
}

/// A gate without a person, and what its calls may use.
fn door(base: &setup::Base, deps: &Deps, yolo: bool) -> (Gate, ToolCtx) {
    let config = &base.loaded.config;
    let port = Arc::new(AgentHandle::alone());
    let mode = if yolo { Mode::Yolo } else { config.approvals.mode };
    let rules = crate::agent::rules(&base.loaded, deps.backends.kind(), &Surface::default());
    let asker = Arc::clone(&port) as Arc<dyn crate::tools::gate::Asker>;
    let gate = Gate::new(Arc::clone(&deps.dispatch), rules, mode, Arc::clone(&deps.world), asker);
    let gate = gate.with_log(deps.store.clone());
    let cwd = Arc::new(Mutex::new(base.cwd.clone()));
    let ctx = deps.tool_ctx("cli", cwd, base.cwd.clone(), port);
    (gate, ctx)
}

/// Runs the command and gives the exit code: 0 done, 1 failed, 2 denied. `door` is asked for only to run a tool.
async fn run(
    command: Command,
    dispatch: &Dispatch,
    offer: &ToolSelection,
    door: impl FnOnce(bool) -> (Gate, ToolCtx),
    out: &mut dyn Write,
) -> Result<i32> {
    match command {
        Command::List { json } => {
            let registry = dispatch.registry().snapshot();
            let missing = registry.unavailable().await;
            let listing = listing(&registry, offer, &missing);
            list(&listing, &registry, json, out)?;
            Ok(0)
        }
        Command::Schema { name, json } => {
            schema(&dispatch.registry().snapshot(), name.as_deref(), json, out)?;
            Ok(0)
        }
        Command::Run { name, args, yolo } => {
            let (gate, ctx) = door(yolo);
            let call = ToolCall { id: "cli".into(), name, args, repaired: false, via: String::new() };
            // Nobody watches: starts and progress are lost with their receiver, which must be gone before the call.
            let (events, unheard) = mpsc::channel(1);
            drop(unheard);
            let body = gate.call(&call, ctx, events).await;
            if body.name != call.name && !body.name.is_empty() {
                writeln!(std::io::stderr(), "hermes: no tool named {}; using {}", call.name, body.name).ok();
            }
            writeln!(out, "{}", body.content)?;
            Ok(match body.outcome {
                Outcome::Ok => 0,
                Outcome::Failed | Outcome::Interrupted => FAILED,
                Outcome::Denied | Outcome::TimedOut | Outcome::NoOne | Outcome::Refused => DENIED,
            })
        }
    }
}

fn list(listing: &Listing, snapshot: &Snapshot, json: bool, out: &mut dyn Write) -> Result<()> {
    if !json {
        write!(out, "{}", listing.text())?;
        return Ok(());
    }
    let rows = listing.rows.iter().map(|row| {
        let spec = snapshot.get(&row.name).map(|tool| tool.spec());
        json!({
            "name": row.name,
            "toolset": row.toolset,
            "emoji": row.emoji,
            "access": access(row.access),
            "available": row.reason.is_none(),
            "reason": row.reason,
            "enabled": row.enabled,
            "pinned": row.pinned,
            "tokens": row.tokens,
            "source": row.source,
            "requires_env": spec.map(|spec| &spec.requires_env),
            "description": spec.map(described),
        })
    });
    let sets = listing.sets.iter().map(|set| {
        json!({
            "name": set.name,
            "tools": set.tools,
            "available": set.reason.is_none(),
            "unavailable": set.unavailable,
            "reason": set.reason,
            "tokens": set.tokens,
        })
    });
    let (rows, sets): (Vec<Value>, Vec<Value>) = (rows.collect(), sets.collect());
    writeln!(out, "{}", json!({"version": VERSION, "tools": rows, "toolsets": sets, "warnings": listing.warnings}))?;
    Ok(())
}

/// The description as the model has it when every tool is there.
fn described(spec: &ToolSpec) -> String {
    wording::fit(&spec.description, |_| true)
}

fn schema(registry: &Snapshot, name: Option<&str>, json: bool, out: &mut dyn Write) -> Result<()> {
    let shape =
        |spec: &ToolSpec| json!({"name": spec.name, "description": described(spec), "parameters": *spec.schema});
    let rows: Vec<Value> = match name {
        Some(name) => {
            let tool = registry.get(name);
            let unknown = || anyhow!(crate::tools::input::repair::unknown(name, registry.names()));
            vec![shape(tool.ok_or_else(unknown)?.spec())]
        }
        None => registry.specs().map(shape).collect(),
    };
    match (json, rows.as_slice()) {
        (true, [one]) if name.is_some() => writeln!(out, "{}", json!({"version": VERSION, "tool": one}))?,
        (true, rows) => writeln!(out, "{}", json!({"version": VERSION, "tools": rows}))?,
        (false, rows) => rows.iter().try_for_each(|row| writeln!(out, "{row:#}"))?,
    }
    Ok(())
}
