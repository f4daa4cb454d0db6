//! `hermes config`: where it is, what is in effect, changing it, checking it.

use crate::config::{self, Paths, Sources, edit, load, project, schema, trust};
use clap::{Args, Subcommand};
use std::io::Write;
use std::path::PathBuf;

/// Arguments of `hermes config`.
#[derive(Args, Clone, Debug)]
pub struct ConfigArgs {
    #[command(subcommand)]
    pub action: Option<ConfigAction>,
}

/// What to do with the configuration.
#[derive(Subcommand, Clone, Debug)]
pub enum ConfigAction {
    /// Print the path of config.yaml
    Path,
    /// Print the values in effect, or one key or section; secrets are masked
    Get {
        /// Dotted: agent.max_turns
        key: Option<String>,
        #[arg(long)]
        json: bool,
    },
    /// Set a key in config.yaml, keeping its comments
    Set {
        /// Dotted: display.skin
        key: String,
        /// A YAML scalar; lists as [a, b]
        value: String,
    },
    /// Check for unknown keys, wrong values and loose permissions; exits 1 if it finds any
    Check {
        #[arg(long)]
        json: bool,
    },
    /// Print the JSON Schema of config.yaml, for editors
    Schema {
        /// Print the table of docs/CONFIG.md instead
        #[arg(long)]
        markdown: bool,
    },
    /// Open config.yaml in $VISUAL or $EDITOR
    Edit,
    /// Trust a project: read its hermes.yaml and run its hooks and plugins as they are now
    Trust {
        /// Folder of the project
        #[arg(default_value = ".")]
        dir: PathBuf,
    },
}

/// Runs the command; the exit code is 0, or 1 when `check` found something or a key is not set.
///
/// # Errors
/// What could not be read or written, with the remedy.
pub fn run(args: &ConfigArgs, paths: &Paths, out: &mut dyn Write) -> anyhow::Result<i32> {
    match args.action.as_ref().unwrap_or(&ConfigAction::Get { key: None, json: false }) {
        ConfigAction::Path => writeln!(out, "{}", paths.config().display())?,
        ConfigAction::Get { key, json } => return get(&loaded(paths), key.as_deref().unwrap_or_default(), *json, out),
        ConfigAction::Set { key, value } => {
            edit::set(&paths.config(), key, value)?;
            writeln!(out, "{key} is set in {}", paths.config().display())?;
        }
        ConfigAction::Check { json } => return check(paths, &loaded(paths), *json, out),
        ConfigAction::Schema { markdown: true } => write!(out, "{}", schema::markdown())?,
        ConfigAction::Schema { markdown: false } => {
            writeln!(out, "{}", serde_json::to_string_pretty(&schema::json_schema())?)?;
        }
        ConfigAction::Edit => return open(paths),
        ConfigAction::Trust { dir } => {
            let dir = std::fs::canonicalize(dir).map_err(|error| anyhow::anyhow!("{}: {error}", dir.display()))?;
            let seen = trust::look(paths, &dir).filter(|project| project.dir == dir);
            match &seen {
                Some(seen) => trust::accept(paths, seen, chrono::Utc::now().to_rfc3339())?,
                None => drop(project::trust(paths, &dir)?),
            }
            writeln!(out, "trusted {}; its {} applies from now on", dir.display(), project::FILE)?;
            for (thing, _) in seen.iter().flat_map(|seen| &seen.things) {
                let (kind, what) = (thing.kind.word(), &thing.what);
                match thing.problem.as_str() {
                    "" => writeln!(out, "  may run, as it is now: {kind} {what}")?,
                    problem => writeln!(out, "  never runs: {kind} {what}: {problem}")?,
                }
            }
        }
    }
    Ok(0)
}

fn loaded(paths: &Paths) -> config::Loaded {
    config::load(&Sources { cwd: std::env::current_dir().ok(), ..Sources::of_process(paths.clone()) })
}

fn get(loaded: &config::Loaded, key: &str, json: bool, out: &mut dyn Write) -> anyhow::Result<i32> {
    use serde_json::Value;
    match load::value_of(&loaded.config, key) {
        Some(value) if json => writeln!(out, "{}", serde_json::to_string_pretty(&value)?)?,
        Some(Value::String(text)) => writeln!(out, "{text}")?,
        Some(value @ (Value::Object(_) | Value::Array(_))) => {
            let text =
                serde_saphyr::to_string(&value).map_err(|error| anyhow::anyhow!("cannot print {key}: {error}"))?;
            writeln!(out, "{}", text.trim_end())?;
        }
        Some(value) => writeln!(out, "{value}")?,
        None => match schema::find(key) {
            schema::Found::Leaf(_) | schema::Found::Section => return Ok(1),
            _ => {
                let hint = schema::nearest(key).map(|near| format!("; did you mean {near}")).unwrap_or_default();
                anyhow::bail!("unknown key {key}{hint}");
            }
        },
    }
    Ok(0)
}

fn check(paths: &Paths, loaded: &config::Loaded, json: bool, out: &mut dyn Write) -> anyhow::Result<i32> {
    let keymap = config::keymap::Keymap::load(&paths.keymap()).err();
    let code = i32::from(!loaded.warnings.is_empty() || keymap.is_some());
    if json {
        let warnings = loaded.warnings.iter().map(|warning| {
            let path = warning.path.as_ref().map(|path| path.to_string_lossy());
            serde_json::json!({"path": path, "line": warning.line, "key": warning.key, "text": warning.text})
        });
        let foreign = loaded.foreign.iter().map(|(key, line)| serde_json::json!({"key": key, "line": line}));
        let report = serde_json::json!({
            "version": 1,
            "path": paths.config(),
            "warnings": warnings.collect::<Vec<_>>(),
            "keymap": keymap.map(|error| error.to_string()),
            "not_used": foreign.collect::<Vec<_>>(),
        });
        writeln!(out, "{}", serde_json::to_string_pretty(&report)?)?;
        return Ok(code);
    }
    for warning in &loaded.warnings {
        writeln!(out, "{warning}")?;
    }
    if let Some(error) = keymap {
        writeln!(out, "{error}")?;
    }
    for (key, line) in &loaded.foreign {
        writeln!(out, "{}:{line}: {key} is not supported yet", paths.config().display())?;
    }
    if code == 0 {
        writeln!(out, "{} is valid", paths.config().display())?;
    }
    Ok(code)
}

fn open(paths: &Paths) -> anyhow::Result<i32> {
    let path = paths.config();
    if !path.exists() {
        crate::fs::write_atomic(&path, edit::TEMPLATE)?;
    }
    let editor =
        ["VISUAL", "EDITOR"].iter().find_map(|name| std::env::var(name).ok().filter(|editor| !editor.is_empty()));
    let editor = editor.unwrap_or_else(|| "vi".to_owned());
    let mut words = editor.split_whitespace();
    let program = words.next().unwrap_or("vi");
    let status = std::process::Command::new(program).args(words).arg(&path).status();
    let status =
        status.map_err(|error| anyhow::anyhow!("cannot start {program}: {error}; set EDITOR to your editor"))?;
    Ok(i32::from(!status.success()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ran(paths: &Paths, action: ConfigAction) -> (i32, String) {
        let mut out = Vec::new();
        let code = run(&ConfigArgs { action: Some(action) }, paths, &mut out).unwrap();
        (code, String::from_utf8(out).unwrap())
    }

    #[test]
    fn set_then_get_then_check() {
        let dir = tempfile::tempdir().unwrap();
        let paths = Paths::at(dir.path());
        let key = || "display.skin".to_owned();
        assert_eq!(ran(&paths, ConfigAction::Set { key: key(), value: "ares".into() }).0, 0);
        assert_eq!(ran(&paths, ConfigAction::Get { key: Some(key()), json: false }), (0, "ares\n".into()));
        assert_eq!(ran(&paths, ConfigAction::Get { key: Some(key()), json: true }), (0, "\"ares\"\n".into()));
        assert_eq!(ran(&paths, ConfigAction::Get { key: Some("toolsets".into()), json: false }), (1, String::new()));
        assert!(ran(&paths, ConfigAction::Get { key: Some("agent".into()), json: false }).1.contains("max_turns: 90"));
        assert!(ran(&paths, ConfigAction::Check { json: false }).1.contains("is valid"));
        std::fs::write(paths.config(), "dsplay: 1\nkanban: {}\n").unwrap();
        let (code, text) = ran(&paths, ConfigAction::Check { json: false });
        assert_eq!(code, 1);
        assert!(text.contains("did you mean display") && text.contains(":2: kanban is not supported"), "{text}");
        let (_, json) = ran(&paths, ConfigAction::Check { json: true });
        let report: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!((&report["warnings"][0]["line"], &report["not_used"][0]["key"]), (&1.into(), &"kanban".into()));
        assert!(
            run(
                &ConfigArgs { action: Some(ConfigAction::Get { key: Some("agnt.x".into()), json: false }) },
                &paths,
                &mut Vec::new()
            )
            .is_err()
        );
    }

    #[test]
    fn schema_and_path() {
        let paths = Paths::at("/h");
        assert_eq!(ran(&paths, ConfigAction::Path), (0, "/h/config.yaml\n".into()));
        assert!(ran(&paths, ConfigAction::Schema { markdown: true }).1.starts_with("| key |"));
        let schema = ran(&paths, ConfigAction::Schema { markdown: false }).1;
        assert!(serde_json::from_str::<serde_json::Value>(&schema).unwrap()["properties"]["agent"].is_object());
    }
}
