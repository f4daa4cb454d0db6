//! `hermes hooks`: which commands run at which events, and a person's yes to them.

use super::setup;
use crate::config::trust;
use crate::plugins::consent::{Consents, Standing};
use crate::plugins::hook::{CommandHook, From};
use crate::plugins::load;
use clap::Subcommand;
use serde_json::{Value, json};
use std::io::Write;

/// Subcommands of `hermes hooks`.
#[derive(Subcommand, Clone, Debug)]
pub enum Command {
    /// List hooks: event, matcher, command, state
    List {
        #[arg(long)]
        json: bool,
    },
    /// Approve the hooks in config.yaml as they are now
    Accept,
    /// Revoke every approval
    Revoke,
}

/// Runs the command; the exit code is 0, or 1 when something could not be read.
pub fn run(command: &Command, out: &mut dyn Write) -> anyhow::Result<i32> {
    let base = setup::base(&super::ChatArgs::default())?;
    let project = trust::look(&base.paths, &base.cwd);
    let (hooks, problems) = load::hooks(&base.loaded, &base.paths, &base.cwd, project.as_ref(), false);
    match command {
        Command::List { json } => {
            list(&hooks, &problems, *json, out)?;
            for refusal in project.iter().flat_map(|project| project.refusals()) {
                writeln!(std::io::stderr(), "hermes: {refusal}").ok();
            }
        }
        Command::Accept => {
            let mut consents = Consents::load(&base.paths.home);
            let now = chrono::Utc::now().to_rfc3339_opts(chrono::SecondsFormat::Secs, true);
            for (hook, standing) in hooks.iter().filter(|(hook, _)| hook.from == From::Person) {
                consents.allow(hook, &base.cwd, now.clone());
                let word = if *standing == Standing::Allowed { "still approved" } else { "allowed" };
                writeln!(out, "{word}: {} {}", hook.written, hook.command)?;
            }
            consents.save(&base.paths.home)?;
        }
        Command::Revoke => {
            let mut consents = Consents::load(&base.paths.home);
            let count = consents.approvals.len();
            consents.approvals.clear();
            consents.save(&base.paths.home)?;
            writeln!(out, "revoked {count}; they will ask again")?;
        }
    }
    for problem in &problems {
        writeln!(std::io::stderr(), "hermes: {problem}").ok();
    }
    Ok(i32::from(!problems.is_empty()))
}

fn list(hooks: &[(CommandHook, Standing)], problems: &[String], json: bool, out: &mut dyn Write) -> anyhow::Result<()> {
    let state = |standing: &Standing| match standing {
        Standing::Allowed => ("allowed", String::new()),
        Standing::Drifted(when) => ("allowed", format!("its script changed since approval ({when})")),
        Standing::Unasked => ("not approved", "run: hermes hooks accept".into()),
    };
    let matcher = |hook: &CommandHook| hook.matcher.as_ref().map(|matcher| matcher.written.clone()).unwrap_or_default();
    if json {
        let rows = hooks.iter().map(|(hook, standing)| {
            let (state, detail) = state(standing);
            json!({
                "event": hook.event.name(), "written": hook.written, "matcher": matcher(hook), "command": hook.command,
                "timeout": hook.timeout.as_secs_f64(), "from": if hook.from == From::Project { "project" } else { "config" },
                "state": state, "detail": detail, "reached": hook.event.row().reached,
            })
        });
        let rows: Vec<Value> = rows.collect();
        writeln!(out, "{}", json!({"version": 1, "hooks": rows, "problems": problems}))?;
        return Ok(());
    }
    if hooks.is_empty() {
        writeln!(out, "no hooks; add commands under `hooks:` in config.yaml (docs/PLUGINS.md)")?;
    }
    for (hook, standing) in hooks {
        let (state, detail) = state(standing);
        let on = Some(matcher(hook)).filter(|on| !on.is_empty()).map(|on| format!(" on {on}")).unwrap_or_default();
        let more = if detail.is_empty() { String::new() } else { format!(": {detail}") };
        let idle = if hook.event.row().reached { "" } else { "  (this version never triggers it)" };
        writeln!(out, "{}{on}  {}  [{state}{more}]{idle}", hook.event.name(), hook.command)?;
    }
    Ok(())
}
