//! `hermes approvals test`: one call, judged by the rules that hold here, and which of them decided.

use crate::agent::trial::{explanation, judged};
use crate::cli::{setup, tools};
use crate::policy::{Intent, Mode};
use crate::tools::builtin::terminal;
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
    /// Folder it would run in
    #[arg(long, value_name = "DIR")]
    pub cwd: Option<PathBuf>,
    /// Approval mode
    #[arg(long, value_name = "MODE", default_value = "ask", value_parser = super::mode)]
    pub mode: Mode,
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
            (intent, terminal::NAME.to_owned())
        }
    };
    let world = LocalWorld::of_user(base.paths.root());
    let decided = judged(&intent, &tool, &base.loaded, Vec::new(), &base.cwd, args.mode, &world);
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
        out.write_all(explanation(&decided).as_bytes())?;
    }
    Ok(if decided.verdict.name() == "allow" { 0 } else { NOT_ALLOWED })
}
