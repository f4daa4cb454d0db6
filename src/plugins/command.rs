//! What plugins add to the composer and to the command line.

use super::host::Extensions;
use super::registered::CommandDef;
use crate::text::foreign;
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// A slash command that takes longer has failed.
const LIMIT: Duration = Duration::from_secs(120);
/// Characters of its text.
const TEXT: usize = 100_000;

/// What a slash command came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// For the person.
    pub text: String,
    /// For the model, as if the person had typed it.
    pub prompt: String,
}

/// What a subcommand printed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Printed {
    pub stdout: String,
    pub stderr: String,
    pub code: i32,
}

impl Extensions {
    /// Slash commands of the plugins that are ready, with their plugin; the first of two with one name counts.
    pub fn commands(&self) -> Vec<(String, CommandDef)> {
        let plugins = self.host.as_ref().map(|host| host.plugins()).unwrap_or_default();
        let mut all: Vec<(String, CommandDef)> = Vec::new();
        for plugin in plugins {
            for command in &plugin.now().registered.commands {
                if all.iter().all(|(_, known)| known.name != command.name) {
                    all.push((plugin.found.name.clone(), command.clone()));
                }
            }
        }
        all
    }

    /// Runs a slash command.
    ///
    /// # Errors
    /// Why it has no answer.
    pub async fn command(&self, name: &str, argument: &str, session: &str, cwd: &Path) -> Result<Done, String> {
        let owner = self.commands().into_iter().find(|(_, command)| command.name == name);
        let (owner, _) = owner.ok_or_else(|| format!("no plugin has a command /{name}"))?;
        let plugin = self.host.as_ref().and_then(|host| host.plugin(&owner)).ok_or("the plugin exited")?;
        let context = json!({"session_id": session, "cwd": cwd});
        let params = json!({"name": name, "argument": argument, "context": context});
        let answer = plugin.ask("command.run", &params, LIMIT, &CancellationToken::new()).await;
        let value = answer.map_err(|error| format!("plugin {owner}: {error}"))?;
        let word =
            |key: &str| -> String { foreign::text(value.get(key).and_then(Value::as_str).unwrap_or_default(), TEXT) };
        Ok(match &value {
            Value::String(text) => Done { text: foreign::text(text, TEXT), prompt: String::new() },
            _ => Done { text: word("text"), prompt: word("prompt") },
        })
    }

    /// Runs a subcommand of a plugin.
    ///
    /// # Errors
    /// Why it has no answer.
    pub async fn cli(&self, plugin: &str, name: &str, args: &[String], cwd: &Path) -> Result<Printed, String> {
        let found = self.host.as_ref().and_then(|host| host.plugin(plugin));
        let plugin = found.ok_or_else(|| format!("plugin {plugin} is not running; see `hermes plugins list`"))?;
        let params = json!({"name": name, "args": args, "cwd": cwd});
        let forever = Duration::from_secs(24 * 3600);
        let value = plugin.ask("cli.run", &params, forever, &CancellationToken::new()).await;
        let value = value.map_err(|error| format!("plugin {}: {error}", plugin.found.name))?;
        let word = |key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let code = value.get("exit_code").and_then(Value::as_i64).unwrap_or(0);
        Ok(Printed { stdout: word("stdout"), stderr: word("stderr"), code: i32::try_from(code).unwrap_or(1) })
    }
}
