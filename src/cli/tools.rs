//! `hermes tools`: what there is, how the model sees it, and one call through the same door as the agent's.

use crate::llm::message::Outcome;
use crate::policy::{Intent, Verdict};
use crate::tools::dispatch::{Dispatch, Planned};
use crate::tools::spec::{Access, AgentPort, Question, Todo, ToolCtx, ToolSpec};
use anyhow::{Result, anyhow};
use clap::{Args, Subcommand};
use futures::future::BoxFuture;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::Write;
use std::sync::{Mutex, PoisonError};

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

/// Runs the command and gives the exit code: 0 done, 1 failed, 2 denied. `ctx` is asked for only to run a tool, and
/// `judge` is the gate without a person.
pub async fn run(
    args: ToolsArgs,
    dispatch: &Dispatch,
    ctx: impl FnOnce() -> Result<ToolCtx>,
    judge: impl Fn(&Intent) -> Verdict,
    out: &mut (dyn Write + Send),
) -> Result<i32> {
    match args.command {
        Command::List { json } => {
            let missing = dispatch.registry().unavailable().await;
            list(dispatch, &missing, json, out)?;
            Ok(0)
        }
        Command::Schema { name, json } => {
            schema(dispatch, name.as_deref(), json, out)?;
            Ok(0)
        }
        Command::Run { name, args, yolo } => {
            let (result, code) = call(dispatch, &ctx()?, &judge, &name, &args, yolo).await;
            writeln!(out, "{result}")?;
            Ok(code)
        }
    }
}

async fn call(
    dispatch: &Dispatch,
    ctx: &ToolCtx,
    judge: &impl Fn(&Intent) -> Verdict,
    name: &str,
    args: &str,
    yolo: bool,
) -> (String, i32) {
    let Planned { call, spec, .. } = dispatch.plan(name, args, ctx).await;
    let (call, spec) = match (call, spec) {
        (Ok(call), Some(spec)) => (call, spec),
        (Err(error), _) => return (error, FAILED),
        (Ok(_), None) => return (json!({"error": format!("there is no tool {name}")}).to_string(), FAILED),
    };
    let verdict = judge(call.intent());
    let allowed = match &verdict {
        Verdict::Allow(_) => true,
        Verdict::Ask(_) => yolo,
        Verdict::AskAlways(_) | Verdict::DeniedByRule(_) | Verdict::Refuse(_) => false,
    };
    if !allowed {
        return (denied(&verdict).to_string(), DENIED);
    }
    let output = dispatch.run(call, &spec, ctx.clone()).await;
    let code = match output.outcome {
        Outcome::Ok => 0,
        Outcome::Failed | Outcome::Interrupted => FAILED,
        Outcome::Denied | Outcome::Refused => DENIED,
    };
    (output.content, code)
}

fn denied(verdict: &Verdict) -> Value {
    let why: Vec<&str> = verdict.reasons().iter().map(|why| why.text.as_str()).collect();
    let why = if why.is_empty() { "no reason given".to_owned() } else { why.join("; ") };
    let error = match verdict {
        Verdict::Ask(_) => format!("denied, nobody can be asked here: {why} (--yolo goes on without asking)"),
        Verdict::AskAlways(_) => format!("denied, nobody can be asked here, and this is always asked: {why}"),
        _ => format!("denied: {why}"),
    };
    json!({"error": error, "status": verdict.name()})
}

fn list(dispatch: &Dispatch, missing: &BTreeMap<String, String>, json: bool, out: &mut dyn Write) -> Result<()> {
    let reason = |spec: &ToolSpec| missing.get(spec.name.as_ref());
    if json {
        let rows = dispatch.registry().specs().map(|spec| {
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
        writeln!(out, "{}", json!({"version": VERSION, "tools": rows, "warnings": dispatch.registry().warnings()}))?;
        return Ok(());
    }
    let width = |pick: fn(&ToolSpec) -> usize| dispatch.registry().specs().map(pick).max().unwrap_or(0);
    let (name, toolset) = (width(|spec| spec.name.len()), width(|spec| spec.toolset.len()));
    for spec in dispatch.registry().specs() {
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
    for warning in dispatch.registry().warnings() {
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

fn schema(dispatch: &Dispatch, name: Option<&str>, json: bool, out: &mut dyn Write) -> Result<()> {
    let shape =
        |spec: &ToolSpec| json!({"name": spec.name, "description": spec.description, "parameters": *spec.schema});
    let rows: Vec<Value> = match name {
        Some(name) => {
            let tool = dispatch.registry().get(name);
            let unknown = || anyhow!(crate::tools::repair::unknown(name, dispatch.registry().names()));
            vec![shape(tool.ok_or_else(unknown)?.spec())]
        }
        None => dispatch.registry().specs().map(shape).collect(),
    };
    match (json, rows.as_slice()) {
        (true, [one]) if name.is_some() => writeln!(out, "{}", json!({"version": VERSION, "tool": one}))?,
        (true, rows) => writeln!(out, "{}", json!({"version": VERSION, "tools": rows}))?,
        (false, rows) => rows.iter().try_for_each(|row| writeln!(out, "{row:#}"))?,
    }
    Ok(())
}

/// The agent's state where there is no agent: a plan in memory, and nobody to ask.
#[derive(Debug, Default)]
pub struct Alone {
    plan: Mutex<Vec<Todo>>,
}

impl AgentPort for Alone {
    fn plan(&self) -> Vec<Todo> {
        self.plan.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set_plan(&self, plan: Vec<Todo>) {
        *self.plan.lock().unwrap_or_else(PoisonError::into_inner) = plan;
    }

    fn ask(&self, _: Question) -> BoxFuture<'static, Result<String, String>> {
        Box::pin(async { Err("there is no person to ask here".to_owned()) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Why;
    use crate::tools::testing::Bench;
    use clap::Parser;

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        tools: ToolsArgs,
    }

    async fn cli(bench: &Bench, verdict: Verdict, words: &[&str]) -> (String, i32) {
        let args = Cli::try_parse_from([&["tools"], words].concat()).unwrap().tools;
        let mut out = Vec::new();
        let code = run(args, &bench.dispatch, || Ok(bench.ctx()), |_| verdict.clone(), &mut out).await.unwrap();
        (String::from_utf8(out).unwrap(), code)
    }

    fn why() -> Vec<Why> {
        vec![Why { effect: "e".into(), text: "it would write".into(), span: 0..0 }]
    }

    #[tokio::test]
    async fn the_gate_decides_over_a_run() {
        let bench = Bench::new();
        let args = r#"{"path":"f","content":"x"}"#;
        for (verdict, yolo, code) in [
            (Verdict::Ask(why()), false, DENIED),
            (Verdict::AskAlways(why()), true, DENIED),
            (Verdict::Refuse(why()), true, DENIED),
            (Verdict::DeniedByRule(why().remove(0)), true, DENIED),
            (Verdict::Ask(why()), true, 0),
            (Verdict::Allow(vec![]), false, 0),
        ] {
            let _ = std::fs::remove_file(bench.path("f"));
            let words = ["run", "write_file", args, "--yolo"];
            let words = if yolo { &words[..] } else { &words[..3] };
            let (out, got) = cli(&bench, verdict, words).await;
            let result: Value = serde_json::from_str(&out).unwrap();
            assert_eq!((got, bench.path("f").exists()), (code, code == 0), "{out}");
            assert_eq!(result["error"].as_str().is_some_and(|error| error.contains("it would write")), code != 0);
        }
    }

    #[tokio::test]
    async fn failures_are_results_too() {
        let bench = Bench::new();
        for (words, part) in [
            (["run", "read_file", "{\"path\":\"nope\"}"], "file not found"),
            (["run", "nothing_like_it", "{}"], "there is no tool"),
            (["run", "read_file", "{"], "invalid JSON"),
            (["run", "clarify", "{\"question\":\"q\"}"], "decide yourself"),
        ] {
            let (out, code) = cli(&bench, Verdict::Allow(vec![]), &words).await;
            assert!(code == FAILED && out.contains(part), "{out}");
        }
    }

    #[tokio::test]
    async fn lists_and_schemas() {
        let bench = Bench::new();
        let ok = Verdict::Allow(vec![]);
        let list: Value = serde_json::from_str(&cli(&bench, ok.clone(), &["list", "--json"]).await.0).unwrap();
        assert_eq!((&list["version"], &list["tools"][0]["available"]), (&json!(1), &json!(true)));
        assert!(cli(&bench, ok.clone(), &["list"]).await.0.contains("read_file"));
        let one: Value = serde_json::from_str(&cli(&bench, ok, &["schema", "patch", "--json"]).await.0).unwrap();
        assert_eq!(one["tool"]["name"], "patch");
        let args = Cli::try_parse_from(["tools", "schema", "ptach"]).unwrap().tools;
        let error = run(args, &bench.dispatch, || Ok(bench.ctx()), |_| Verdict::Allow(vec![]), &mut Vec::new()).await;
        assert!(error.unwrap_err().to_string().contains("patch"));
    }
}
