//! `hermes plugins`: what there is, on and off, from elsewhere, and whether one works.

use super::setup;
use crate::config::{edit, trust};
use crate::fs::remove;
use crate::plugins::create::{self, Language};
use crate::plugins::found::{self, Found, May};
use crate::plugins::known::{read_known, remember};
use crate::plugins::setting::setting;
use crate::plugins::{install, plugin};
use anyhow::{Context as _, Result, anyhow};
use clap::Subcommand;
use serde_json::{Value, json};
use std::io::Write;
use std::path::{Path, PathBuf};
use tokio_util::sync::CancellationToken;

/// Version of the JSON shapes.
const VERSION: u32 = 1;

/// Subcommands of `hermes plugins`.
#[derive(Subcommand, Clone, Debug)]
pub enum Command {
    /// List plugins: state, location, problems
    List {
        #[arg(long)]
        json: bool,
    },
    /// Enable a plugin in the home folder
    Enable { name: String },
    /// Disable a plugin
    Disable { name: String },
    /// Install a folder or a Python package (pip:NAME), without enabling it
    Install { source: String },
    /// Remove a plugin from the home folder
    Uninstall { name: String },
    /// Create a working example
    Create {
        name: String,
        /// sh shows the bare protocol, as a start for any language
        #[arg(long, value_enum, default_value_t)]
        language: LanguageArg,
        /// Parent folder; the home folder's plugins by default
        #[arg(long, value_name = "DIR")]
        dir: Option<PathBuf>,
    },
    /// Start plugins once and list what they register; exits 1 on problems
    Check {
        /// Name, or a folder with a plugin.yaml; every enabled plugin by default
        plugin: Option<String>,
        #[arg(long)]
        json: bool,
    },
    /// Run a subcommand of a plugin
    Run {
        plugin: String,
        command: String,
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
}

/// `--language`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum LanguageArg {
    #[default]
    Python,
    Sh,
}

/// Runs the command; the exit code is 0, or 1 when `check` found problems.
pub async fn main(command: Command, out: &mut dyn Write) -> Result<i32> {
    let base = setup::base(&super::ChatArgs::default())?;
    match command {
        Command::List { json } => list(&base, json, out)?,
        Command::Enable { name } => {
            known(&base, &name)?;
            switch(&base, &name, true)?;
            writeln!(out, "enabled {name}; it starts with the next session or /reload")?;
            let words = learn(&name).await?;
            if !words.is_empty() {
                let words: Vec<String> = words.iter().map(|word| format!("hermes {word}")).collect();
                writeln!(out, "it adds {}", words.join(", "))?;
            }
        }
        Command::Disable { name } => {
            switch(&base, &name, false)?;
            writeln!(out, "disabled {name}")?;
        }
        Command::Install { source } => {
            let done = installed(&base, source).await?;
            for installed in done.map_err(|why| anyhow!(why))? {
                let name = installed.name;
                writeln!(out, "installed {name} in {}", installed.dir.display())?;
                writeln!(out, "review it, then: hermes plugins check {name} && hermes plugins enable {name}")?;
            }
        }
        Command::Uninstall { name } => {
            let dir = install::uninstall(&base.paths, &name).map_err(|why| anyhow!(why))?;
            let mut config = base.loaded.config.plugins.clone();
            config.enabled.retain(|entry| *entry != name);
            write_list(&base, "plugins.enabled", &base.loaded.config.plugins.enabled, &config.enabled)?;
            writeln!(out, "removed {}", dir.display())?;
        }
        Command::Create { name, language, dir } => {
            let language = if language == LanguageArg::Sh { Language::Sh } else { Language::Python };
            let parent = dir.unwrap_or_else(|| base.paths.plugins());
            let made = create::create(&parent, &name, language).map_err(|why| anyhow!(why))?;
            if made.parent() == Some(base.paths.plugins().as_path()) {
                // So that `uninstall` knows it for ours; elsewhere it is the person's.
                remove::mark(remove::Tree::Plugin, &made).with_context(|| made.display().to_string())?;
            }
            writeln!(out, "created {}", made.display())?;
            writeln!(out, "test it: hermes plugins check {}", made.display())?;
        }
        Command::Check { plugin, json } => return check(&base, plugin.as_deref(), json, out).await,
        Command::Run { plugin, command, args } => return run(&base, &plugin, &command, &args, out).await,
    }
    Ok(0)
}

/// Installs; Ctrl-C ends it with all that it started.
async fn installed(base: &setup::Base, source: String) -> Result<Result<Vec<install::Installed>, String>> {
    let (engine, _streams) = setup::headless(base);
    let env = engine.services().exec.environment().await;
    let (paths, cancel) = (base.paths.clone(), CancellationToken::new());
    let stop = cancel.clone();
    let mut work = tokio::task::spawn_blocking(move || {
        install::install(&paths, &source, &install::Around { env: &env, stopped: &|| stop.is_cancelled() })
    });
    let done = tokio::select! {
        done = &mut work => done,
        _ = tokio::signal::ctrl_c() => {
            cancel.cancel();
            work.await
        }
    };
    engine.services().exec.shutdown(true).await;
    Ok(done?)
}

/// The plugin and the words of `hermes WORD …`, when WORD is a subcommand that a plugin registered.
pub fn external(args: &[String]) -> Option<Command> {
    let (word, rest) = args.get(1..)?.split_first()?;
    if !crate::plugins::manifest::is_name(word) {
        return None;
    }
    let plugin = read_known(&setup::paths().ok()?).remove(word)?;
    Some(Command::Run { plugin, command: word.clone(), args: rest.to_vec() })
}

/// Starts a plugin that has just been enabled, once, to learn its subcommands: they can be used at once.
async fn learn(name: &str) -> Result<Vec<String>> {
    // As the configuration says it now.
    let base = setup::base(&super::ChatArgs::default())?;
    let found = known(&base, name)?;
    if found.may != May::Run {
        return Ok(Vec::new());
    }
    let (engine, _streams) = setup::headless(&base);
    let env = engine.services().exec.environment().await;
    let tried = plugin::try_once(&found, &setting(&base.paths, &found, &env, &base.loaded)).await;
    let words = match tried {
        Ok((peer, registered)) => {
            peer.stop().await;
            remember(&base.paths, name, &registered);
            registered.cli.iter().map(|command| command.name.clone()).collect()
        }
        Err(why) => {
            writeln!(std::io::stderr(), "hermes: {name} does not start: {why}; details: hermes plugins check {name}")
                .ok();
            Vec::new()
        }
    };
    engine.services().exec.shutdown(true).await;
    Ok(words)
}

fn all(base: &setup::Base) -> Vec<Found> {
    let project = trust::look(&base.paths, &base.cwd);
    found::find(&base.paths, &base.loaded.config.plugins, project.as_ref())
}

fn known(base: &setup::Base, name: &str) -> Result<Found> {
    let all = all(base);
    let names: Vec<&str> = all.iter().map(|found| found.name.as_str()).collect();
    let near = crate::config::suggest::hint(name, names.iter().copied());
    all.iter().find(|found| found.name == name).cloned().with_context(|| format!("no plugin named {name}{near}"))
}

fn state(found: &Found) -> (&'static str, String) {
    match (&found.may, &found.manifest) {
        (_, Err(error)) => ("broken", error.to_string()),
        (May::Run, Ok(_)) => ("enabled", String::new()),
        (May::NotEnabled, Ok(_)) => ("off", format!("enable it: hermes plugins enable {}", found.name)),
        (May::Disabled, Ok(_)) => ("disabled", String::new()),
        (May::Untrusted(why), Ok(_)) => ("untrusted", why.clone()),
        (May::Shadowed, Ok(_)) => ("shadowed", "another plugin has this name".into()),
    }
}

fn list(base: &setup::Base, json: bool, out: &mut dyn Write) -> Result<()> {
    let all = all(base);
    if json {
        let rows = all.iter().map(|found| {
            let (state, detail) = state(found);
            let manifest = found.manifest.clone().unwrap_or_default();
            json!({
                "name": found.name, "version": manifest.version, "description": manifest.description, "state": state,
                "detail": detail, "from": found.from.word(), "dir": found.dir, "source": manifest.source,
            })
        });
        writeln!(out, "{}", json!({"version": VERSION, "plugins": rows.collect::<Vec<Value>>()}))?;
        return Ok(());
    }
    if all.is_empty() {
        writeln!(out, "no plugins; create one with `hermes plugins create NAME`")?;
    }
    for why in found::missing(&base.loaded.config.plugins, &all) {
        writeln!(std::io::stderr(), "hermes: {why}").ok();
    }
    let width = all.iter().map(|found| found.name.len()).max().unwrap_or(0);
    for found in &all {
        let (state, detail) = state(found);
        let about = found.manifest.as_ref().map(|manifest| manifest.description.clone()).unwrap_or_default();
        let about = if detail.is_empty() { about } else { detail };
        writeln!(out, "{:width$}  {state:9}  {:7}  {about}", found.name, found.from.word())?;
    }
    Ok(())
}

fn switch(base: &setup::Base, name: &str, on: bool) -> Result<()> {
    let config = &base.loaded.config.plugins;
    let without = |list: &[String]| list.iter().filter(|entry| *entry != name).cloned().collect::<Vec<_>>();
    let (mut enabled, mut disabled) = (without(&config.enabled), without(&config.disabled));
    if on {
        enabled.push(name.to_owned());
    } else if !config.enabled.iter().any(|entry| entry == name) {
        // A project's plugin has nothing to be taken off.
        disabled.push(name.to_owned());
    }
    write_list(base, "plugins.enabled", &config.enabled, &enabled)?;
    write_list(base, "plugins.disabled", &config.disabled, &disabled)
}

fn write_list(base: &setup::Base, key: &str, before: &[String], after: &[String]) -> Result<()> {
    if before != after {
        edit::set(&base.paths.config(), key, &format!("[{}]", after.join(", ")))?;
    }
    Ok(())
}

async fn check(base: &setup::Base, wanted: Option<&str>, json: bool, out: &mut dyn Write) -> Result<i32> {
    let plugins = match wanted {
        Some(word) if Path::new(word).join(crate::plugins::manifest::FILE).is_file() => vec![of_folder(word)?],
        Some(word) => vec![known(base, word)?],
        None => all(base).into_iter().filter(|found| found.may == May::Run).collect(),
    };
    let (engine, _streams) = setup::headless(base);
    let env = engine.services().exec.environment().await;
    let (mut rows, mut bad) = (Vec::new(), false);
    if wanted.is_none() {
        for why in found::missing(&base.loaded.config.plugins, &all(base)) {
            bad = true;
            writeln!(std::io::stderr(), "hermes: {why}").ok();
        }
    }
    for found in plugins {
        // A folder that a person names is a person's word; a project's plugin still needs the card.
        let tried = match &found.may {
            May::Untrusted(why) => Err(format!("{why}: hermes config trust {}", base.cwd.display())),
            _ => plugin::try_once(&found, &setting(&base.paths, &found, &env, &base.loaded)).await,
        };
        match tried {
            Ok((peer, registered)) => {
                peer.stop().await;
                bad |= !registered.problems.is_empty();
                rows.push(registered_row(&found, &registered, &peer.tail()));
            }
            Err(why) => {
                bad = true;
                rows.push(json!({"name": found.name, "dir": found.dir, "ok": false, "problems": [why]}));
            }
        }
    }
    engine.services().exec.shutdown(true).await;
    if json {
        writeln!(out, "{}", json!({"version": VERSION, "plugins": rows}))?;
    } else {
        if rows.is_empty() {
            writeln!(out, "no plugins enabled")?;
        }
        rows.iter().try_for_each(|row| print(row, out))?;
    }
    Ok(i32::from(bad))
}

fn of_folder(word: &str) -> Result<Found> {
    let dir = std::fs::canonicalize(word).with_context(|| format!("no folder {word}"))?;
    let manifest = crate::plugins::manifest::read(&dir);
    let folder = dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let name = manifest.as_ref().map_or(folder, |manifest| manifest.name.clone());
    Ok(Found { name, dir, from: found::From::Home, manifest, may: May::Run, fingerprint: None })
}

fn registered_row(found: &Found, registered: &crate::plugins::registered::Registered, tail: &[String]) -> Value {
    let commands = |list: &[crate::plugins::registered::CommandDef]| -> Vec<Value> {
        list.iter().map(|command| json!({"name": command.name, "description": command.description})).collect()
    };
    json!({
        "name": found.name,
        "dir": found.dir,
        "ok": registered.problems.is_empty(),
        "tools": registered.tools.iter().map(|tool| json!({"name": tool.name, "description": tool.description})).collect::<Vec<_>>(),
        "hooks": registered.hooks.iter().map(|hook| hook.event.name()).collect::<Vec<_>>(),
        "commands": commands(&registered.commands),
        "cli": commands(&registered.cli),
        "prompt": registered.prompt,
        "problems": registered.problems,
        "stderr": tail,
    })
}

fn print(row: &Value, out: &mut dyn Write) -> Result<()> {
    let list = |key: &str| row.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
    let word = |value: &Value| match value {
        Value::String(text) => text.clone(),
        value => {
            let part = |key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
            let about = part("description");
            let first = about.lines().next().unwrap_or_default();
            if first.is_empty() { part("name") } else { format!("{}: {first}", part("name")) }
        }
    };
    let name = row.get("name").and_then(Value::as_str).unwrap_or_default();
    let verdict = if row.get("ok") == Some(&Value::Bool(true)) { "ok" } else { "has problems" };
    writeln!(out, "{name} {verdict}")?;
    for (key, label) in [
        ("tools", "tool"),
        ("hooks", "hook"),
        ("commands", "command"),
        ("cli", "subcommand"),
        ("prompt", "prompt"),
        ("problems", "problem"),
        ("stderr", "stderr"),
    ] {
        for value in list(key) {
            writeln!(out, "  {label:10}  {}", word(&value).replace('\n', "\n              "))?;
        }
    }
    Ok(())
}

async fn run(base: &setup::Base, plugin: &str, command: &str, args: &[String], out: &mut dyn Write) -> Result<i32> {
    let (engine, _streams) = setup::headless(base);
    engine.services().extensions_only().await;
    let done = engine.services().extensions.cli(plugin, command, args, &base.cwd).await;
    engine.finish(None).await;
    let printed = done.map_err(|why| anyhow!(why))?;
    out.write_all(printed.stdout.as_bytes())?;
    std::io::stderr().write_all(printed.stderr.as_bytes())?;
    Ok(printed.code)
}
