//! `hermes approvals test`: one call, judged by the rules that hold here, and which of them decided.

use crate::agent::rules;
use crate::cli::{setup, tools};
use crate::policy::decide::{Decided, explain};
use crate::policy::{Intent, Mode, World};
use crate::tools::world::LocalWorld;
use anyhow::{Context, bail};
use clap::Args;
use serde_json::json;
use std::io::Write;
use std::path::PathBuf;

/// Version of the JSON shape.
const VERSION: u32 = 1;
/// Exit code of what would not run without a question.
const NOT_ALLOWED: i32 = 2;

/// `hermes approvals test`.
#[derive(Args, Debug, Default)]
pub struct TestArgs {
    /// A tool instead of a command
    #[arg(long, value_name = "NAME", conflicts_with = "command")]
    pub tool: Option<String>,
    /// Its arguments as a JSON object
    #[arg(long, value_name = "JSON", requires = "tool")]
    pub args: Option<String>,
    /// The folder where it would run
    #[arg(long, value_name = "DIR")]
    pub cwd: Option<PathBuf>,
    /// How questions are treated
    #[arg(long, value_enum, default_value_t)]
    pub mode: super::ModeArg,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// The command
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "COMMAND")]
    pub command: Vec<String>,
}

pub(super) fn run(args: &TestArgs, out: &mut impl Write) -> anyhow::Result<i32> {
    let chat = crate::cli::ChatArgs { cwd: args.cwd.clone(), ..Default::default() };
    let base = setup::base(&chat)?;
    let (intent, tool) = match &args.tool {
        Some(tool) => {
            let json = args.args.clone().unwrap_or_else(|| "{}".into());
            (setup::block_on(tools::planned(&base, tool, &json))?, tool.clone())
        }
        None if args.command.is_empty() => bail!("name a command, or --tool NAME --args JSON"),
        None => {
            let intent = Intent::Command { line: args.command.join(" "), cwd: base.cwd.clone(), background: false };
            (intent, "terminal".to_owned())
        }
    };
    let world = LocalWorld::of_user(&base.paths.home);
    let decided = judged(&intent, &tool, &base.loaded, Vec::new(), &base.cwd, args.mode.into(), &world);
    if args.json {
        let reasons: Vec<_> = decided
            .verdict
            .reasons()
            .iter()
            .map(|why| json!({"effect": why.effect, "text": why.text, "span": [why.span.start, why.span.end]}))
            .collect();
        let value = json!({
            "version": VERSION,
            "verdict": decided.verdict.name(),
            "reasons": reasons,
            "rules": decided.rules,
            "unasked": decided.unasked,
        });
        writeln!(out, "{value}").context("standard output is closed")?;
    } else {
        out.write_all(told(&decided).as_bytes())?;
    }
    Ok(if decided.verdict.name() == "allow" { 0 } else { NOT_ALLOWED })
}

/// A call as the rules of a configuration and the grants of a session judge it now.
pub fn judged(
    intent: &Intent,
    tool: &str,
    loaded: &crate::config::load::Loaded,
    session: Vec<String>,
    cwd: &std::path::Path,
    mode: Mode,
    world: &dyn World,
) -> Decided {
    let mut rules = rules(loaded, &loaded.config.terminal.backend);
    rules.regrant(session);
    rules.here.tool = tool.to_owned();
    rules.here.now = chrono::Utc::now().timestamp_millis();
    explain(intent, cwd, &rules, mode, world)
}

/// A verdict in words: what, why, by which rules.
pub fn told(decided: &Decided) -> String {
    let mut out = format!("{}\n", decided.verdict.name());
    for why in decided.verdict.reasons() {
        out.push_str(&format!("  {}: {}\n", why.effect, why.text));
    }
    for rule in &decided.rules {
        out.push_str(&format!("  by rule: {rule}\n"));
    }
    if decided.unasked {
        out.push_str("  not asked in this mode\n");
    } else if decided.rules.is_empty() {
        out.push_str("  no rule of yours is about it\n");
    }
    out
}
