//! `hermes tools`: what there is, how the model sees it, and one call through the same door as the agent's.

use super::setup;
use crate::agent::Port;
use crate::llm::message::{Outcome, ToolCall};
use crate::policy::Mode;
use crate::tools::dispatch::Dispatch;
use crate::tools::gate::Gate;
use crate::tools::registry::Snapshot;
use crate::tools::spec::{Access, ToolCtx, ToolSpec};
use anyhow::{Result, anyhow};
use clap::{Args, Subcommand};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::Write;
use std::sync::{Arc, Mutex};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// Version of the JSON shapes.
const VERSION: u32 = 1;
/// The call ran and failed, or could not be planned.
const FAILED: i32 = 1;
/// The gate said no, or would have asked.
const DENIED: i32 = 2;

/// Arguments of `hermes tools`.
#[derive(Args, Clone, Debug)]
pub struct ToolsArgs {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Clone, Debug)]
enum Command {
    /// All tools, with what keeps a tool from being used
    List {
        #[arg(long)]
        json: bool,
    },
    /// What the model is told of a tool, or of all
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
pub async fn main(args: ToolsArgs, out: &mut dyn Write) -> Result<i32> {
    let base = setup::base(&super::ChatArgs::default())?;
    let house = setup::house(&base, None, true);
    match &args.command {
        Command::Run { name, .. } => house.start_for(name).await,
        Command::List { .. } | Command::Schema { .. } => {
            house.start();
            house.settled().await;
        }
    }
    let code = run(args, &house.deps.dispatch, |yolo| door(&base, &house, yolo), out).await;
    tokio::join!(house.deps.exec.shutdown(true), house.mcp.shutdown());
    house.deps.store.close().await;
    code
}

/// A gate without a person, and what its calls may use.
fn door(base: &setup::Base, house: &setup::House, yolo: bool) -> (Gate, ToolCtx) {
    let config = &base.loaded.config;
    let port = Arc::new(Port::alone());
    let mode = if yolo { Mode::Off } else { config.approvals.mode };
    let rules = crate::agent::rules(config);
    let asker = Arc::clone(&port) as Arc<dyn crate::tools::gate::Asker>;
    let gate = Gate::new(Arc::clone(&house.deps.dispatch), rules, mode, Arc::clone(&house.deps.world), asker);
    let ctx = ToolCtx {
        config: Arc::new(config.clone()),
        call_id: "cli".into(),
        task: "cli".into(),
        cwd: Arc::new(Mutex::new(base.cwd.clone())),
        exec: house.deps.exec.clone(),
        world: Arc::clone(&house.deps.world),
        files: Arc::default(),
        agent: port,
        progress: mpsc::channel(1).0,
        cancel: CancellationToken::new(),
        history: None,
        spill: base.paths.spill().join("cli"),
        room: Default::default(),
    };
    (gate, ctx)
}

/// Runs the command and gives the exit code: 0 done, 1 failed, 2 denied. `door` is asked for only to run a tool.
async fn run(
    args: ToolsArgs,
    dispatch: &Dispatch,
    door: impl FnOnce(bool) -> (Gate, ToolCtx),
    out: &mut dyn Write,
) -> Result<i32> {
    match args.command {
        Command::List { json } => {
            let registry = dispatch.registry().snapshot();
            let missing = registry.unavailable().await;
            list(&registry, &missing, json, out)?;
            Ok(0)
        }
        Command::Schema { name, json } => {
            schema(&dispatch.registry().snapshot(), name.as_deref(), json, out)?;
            Ok(0)
        }
        Command::Run { name, args, yolo } => {
            let (gate, ctx) = door(yolo);
            let call = ToolCall { id: "cli".into(), name, args, repaired: false, via: String::new() };
            // Nobody watches: starts and progress are dropped with their receiver.
            let body = gate.call(&call, ctx, mpsc::channel(1).0).await;
            writeln!(out, "{}", body.content)?;
            Ok(match body.outcome {
                Outcome::Ok => 0,
                Outcome::Failed | Outcome::Interrupted => FAILED,
                Outcome::Denied | Outcome::Refused => DENIED,
            })
        }
    }
}

fn list(registry: &Snapshot, missing: &BTreeMap<String, String>, json: bool, out: &mut dyn Write) -> Result<()> {
    let reason = |spec: &ToolSpec| missing.get(spec.name.as_ref());
    if json {
        let rows = registry.specs().map(|spec| {
            json!({
                "name": spec.name,
                "toolset": spec.toolset,
                "emoji": spec.emoji,
                "access": access(spec.access),
                "available": reason(spec).is_none(),
                "reason": reason(spec),
                "requires_env": spec.requires_env,
                "description": spec.description,
            })
        });
        let rows: Vec<Value> = rows.collect();
        writeln!(out, "{}", json!({"version": VERSION, "tools": rows, "warnings": registry.warnings()}))?;
        return Ok(());
    }
    let width = |pick: fn(&ToolSpec) -> usize| registry.specs().map(pick).max().unwrap_or(0);
    let (name, toolset) = (width(|spec| spec.name.len()), width(|spec| spec.toolset.len()));
    for spec in registry.specs() {
        let about = match reason(spec) {
            Some(reason) => format!("unavailable: {reason}"),
            None => spec.description.split(". ").next().unwrap_or_default().trim_end_matches('.').to_owned(),
        };
        writeln!(
            out,
            "{} {:name$}  {:toolset$}  {:7}  {about}",
            spec.emoji,
            spec.name,
            spec.toolset,
            access(spec.access)
        )?;
    }
    for warning in registry.warnings() {
        writeln!(out, "warning: {warning}")?;
    }
    Ok(())
}

fn access(access: Access) -> &'static str {
    match access {
        Access::Agent => "agent",
        Access::Read => "read",
        Access::Write => "write",
        Access::Execute => "execute",
    }
}

fn schema(registry: &Snapshot, name: Option<&str>, json: bool, out: &mut dyn Write) -> Result<()> {
    let shape =
        |spec: &ToolSpec| json!({"name": spec.name, "description": spec.description, "parameters": *spec.schema});
    let rows: Vec<Value> = match name {
        Some(name) => {
            let tool = registry.get(name);
            let unknown = || anyhow!(crate::tools::repair::unknown(name, registry.names()));
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
