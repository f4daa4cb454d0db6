//! `hermes approvals`: what the gate would say, what it has said, and the rules that it goes by.

mod log;
mod rules;
mod trial;

use crate::policy::files::normal;
use crate::policy::{Intent, Mode, Rules, decide};
use crate::tools::world::LocalWorld;
use anyhow::Context;
use clap::{Args, Subcommand};
use serde::{Deserialize, Serialize};
use std::io::{BufRead, Write};
use std::path::{Path, PathBuf};

/// `hermes approvals …`.
#[derive(Args, Debug)]
pub struct ApprovalsArgs {
    #[command(subcommand)]
    pub command: ApprovalsCommand,
}

/// The subcommands.
#[derive(Subcommand, Debug)]
pub enum ApprovalsCommand {
    /// Judge commands: JSON lines in, JSON lines out
    Check(CheckArgs),
    /// List what ran, what did not and who decided, newest first
    Log(log::LogArgs),
    /// List the rules in effect here, where they are, how long they last and who made them
    Rules {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Test one call against the rules in effect here, without running it
    Test(trial::TestArgs),
    /// Remove a rule from its file
    Revoke {
        /// The rule as `rules` prints it, or its number there
        #[arg(required = true, num_args = 1.., value_name = "RULE|NUMBER")]
        rule: Vec<String>,
    },
}

/// `hermes approvals check`.
#[derive(Args, Debug, Default)]
pub struct CheckArgs {
    /// Approval mode
    #[arg(long, value_name = "MODE", default_value = "ask", value_parser = mode)]
    pub mode: Mode,
    /// Rules for every command, one per line: `allow git *`, `deny rm *`
    #[arg(long, value_name = "FILE")]
    pub rules: Option<PathBuf>,
    /// Folder to use as `~`; its .hermes is the program's home
    #[arg(long, value_name = "DIR")]
    pub home: Option<PathBuf>,
    /// Folder the commands would run in
    #[arg(long, value_name = "DIR")]
    pub cwd: Option<PathBuf>,
}

/// A mode by its word.
fn mode(word: &str) -> Result<Mode, String> {
    Mode::read(word).ok_or_else(|| "expected plan, review, ask, auto or yolo".into())
}

/// A line of input.
#[derive(Deserialize)]
struct Question {
    command: String,
    #[serde(default)]
    given: Vec<String>,
}

/// A line of output.
#[derive(Serialize)]
struct Answer<'a> {
    verdict: &'a str,
    reasons: Vec<Reason<'a>>,
}

#[derive(Serialize)]
struct Reason<'a> {
    effect: &'a str,
    text: &'a str,
    span: [usize; 2],
}

/// Runs the command; gives the exit code.
///
/// # Errors
/// When a line is no JSON object with a command, a rule cannot be read, or input and output fail.
pub fn run(args: &ApprovalsArgs, stdin: impl BufRead, mut stdout: impl Write) -> anyhow::Result<i32> {
    match &args.command {
        ApprovalsCommand::Check(check) => run_check(check, stdin, stdout),
        ApprovalsCommand::Log(args) => super::setup::block_on(log::run(args, &mut stdout)),
        ApprovalsCommand::Rules { json } => super::setup::block_on(rules::run(*json, &mut stdout)),
        ApprovalsCommand::Test(args) => trial::run(args, &mut stdout),
        ApprovalsCommand::Revoke { rule } => super::setup::block_on(rules::revoke_named(&rule.join(" "), &mut stdout)),
    }
}

fn run_check(args: &CheckArgs, stdin: impl BufRead, mut stdout: impl Write) -> anyhow::Result<i32> {
    let base = rules_of(args.rules.as_deref())?;
    let here = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/"));
    let cwd = PathBuf::from(normal(&here, &args.cwd.clone().unwrap_or_else(|| here.clone()).to_string_lossy()));
    let world = match &args.home {
        Some(home) => LocalWorld::new(home.clone(), home.join(".hermes")),
        None => LocalWorld::of_user(super::setup::paths()?.root()),
    };
    for (at, line) in stdin.lines().enumerate() {
        let line = line.with_context(|| format!("cannot read line {} of standard input", at + 1))?;
        if line.trim().is_empty() {
            continue;
        }
        let question: Question = serde_json::from_str(&line)
            .with_context(|| format!("line {}: expected {{\"command\": \"…\", \"given\": [\"deny rm *\"]}}", at + 1))?;
        let mut rules = base.clone();
        for given in question.given.iter().filter(|g| g.as_str() != "-") {
            rules.add(given).with_context(|| format!("line {}", at + 1))?;
        }
        let intent = Intent::Command { line: question.command, cwd: cwd.clone(), background: false };
        let verdict = decide(&intent, &rules, args.mode, &world);
        let reasons = verdict
            .reasons()
            .iter()
            .map(|why| Reason { effect: &why.effect, text: &why.text, span: [why.span.start, why.span.end] })
            .collect();
        serde_json::to_writer(&mut stdout, &Answer { verdict: verdict.name(), reasons })?;
        // A program may wait for each answer before it asks on.
        stdout.write_all(b"\n")?;
        stdout.flush()?;
    }
    Ok(0)
}

fn rules_of(file: Option<&Path>) -> anyhow::Result<Rules> {
    let mut rules = Rules::default();
    let Some(file) = file else { return Ok(rules) };
    let text = std::fs::read_to_string(file).with_context(|| format!("cannot read the rules in {}", file.display()))?;
    for (at, line) in text.lines().enumerate() {
        let line = line.trim().trim_start_matches("- ").trim_matches(['"', '\'']);
        if !line.is_empty() && !line.starts_with('#') {
            rules.add(line).with_context(|| format!("{}:{}", file.display(), at + 1))?;
        }
    }
    Ok(rules)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(input: &str) -> anyhow::Result<String> {
        let check =
            CheckArgs { home: Some("/home/alice".into()), cwd: Some("/nowhere".into()), ..CheckArgs::default() };
        let mut out = Vec::new();
        run(&ApprovalsArgs { command: ApprovalsCommand::Check(check) }, input.as_bytes(), &mut out)?;
        Ok(String::from_utf8(out)?)
    }

    #[test]
    fn answers_in_order() {
        let out = check("{\"command\":\"rm -rf ~\",\"given\":[]}\n{\"command\":\"ls\"}\n{\"command\":\"rm x\",\"given\":[\"deny rm *\"]}\n").unwrap();
        let lines: Vec<serde_json::Value> = out.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
        let verdicts: Vec<&str> = lines.iter().map(|l| l["verdict"].as_str().unwrap()).collect();
        assert_eq!(verdicts, ["refuse", "allow", "denied-by-rule"]);
        assert_eq!(lines[0]["reasons"][0]["span"], serde_json::json!([7, 8]));
    }

    #[test]
    fn names_the_bad_line() {
        let error = check("{\"command\":\"ls\"}\nnot json\n").unwrap_err();
        assert!(format!("{error:#}").starts_with("line 2: "), "{error:#}");
    }
}
