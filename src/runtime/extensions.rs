//! Hooks and plugins for the screen: what is known of them, and a yes to what was shown.

use super::Context;
use super::loads::Facts;
use crate::app::model::extensions::{Extensions, HookRow, PluginCommand, PluginRow, PluginState, TrustCard};
use crate::app::msg::LoadReply;
use crate::config::trust;
use crate::plugins::consent::{Consents, Standing};
use crate::plugins::found::May;
use crate::plugins::hook::From;
use crate::plugins::host::{PluginView, View};
use crate::plugins::plugin::Phase;
use std::sync::Arc;

/// Waits for a change after `seen`.
pub async fn changed(context: &Context, seen: u64) -> LoadReply {
    let view = context.extensions.changed(seen).await;
    let commands = context.extensions.commands();
    let commands = commands.into_iter().map(|(plugin, command)| PluginCommand {
        name: command.name,
        plugin,
        description: command.description,
        argument: command.argument,
    });
    LoadReply::Extensions(Box::new(Extensions { commands: commands.collect(), ..shown(view) }))
}

fn shown(view: View) -> Extensions {
    let waiting: Vec<(String, String)> = view
        .hooks
        .iter()
        .filter(|(_, standing)| *standing == Standing::Unasked)
        .map(|(hook, _)| (hook.written.clone(), hook.command.clone()))
        .collect();
    let project = view.project.filter(|project| project.needs_a_look());
    let card = (project.is_some() || !waiting.is_empty()).then_some(TrustCard { project, hooks: waiting });
    let hook = |(hook, standing): (crate::plugins::hook::CommandHook, Standing)| HookRow {
        event: hook.written.clone(),
        matcher: hook.matcher.as_ref().map(|matcher| matcher.written.clone()).unwrap_or_default(),
        command: hook.command.clone(),
        project: hook.from == From::Project,
        allowed: standing != Standing::Unasked,
        drift: if let Standing::Drifted(when) = standing { when } else { String::new() },
    };
    Extensions {
        revision: view.revision,
        plugins: view.plugins.into_iter().map(plugin).collect(),
        hooks: view.hooks.into_iter().map(hook).collect(),
        problems: view.problems,
        card,
        ..Extensions::default()
    }
}

fn plugin(view: PluginView) -> PluginRow {
    let (state, detail) = match (&view.found.may, &view.phase, &view.found.manifest) {
        (May::Run, _, Err(error)) => (PluginState::Failed, error.to_string()),
        (May::Run, Some(Phase::Ready), _) => (PluginState::Ready, String::new()),
        (May::Run, Some(Phase::Starting) | None, _) => (PluginState::Starting, String::new()),
        (May::Run, Some(Phase::Restarting(how)), _) => (PluginState::Starting, format!("{how}; restarting")),
        (May::Run, Some(Phase::Failed(how)), _) => (PluginState::Failed, how.clone()),
        (May::Run, Some(Phase::Stopped), _) => (PluginState::Off, "stopped".into()),
        (May::NotEnabled, _, _) => (PluginState::Off, format!("enable it: hermes plugins enable {}", view.found.name)),
        (May::Disabled, _, _) => (PluginState::Off, "disabled in the configuration".into()),
        (May::Untrusted(why), _, _) => (PluginState::Untrusted, format!("{why}: /trust")),
        (May::Shadowed, _, _) => (PluginState::Off, "another plugin has this name".into()),
    };
    let manifest = view.found.manifest.clone().unwrap_or_default();
    let registered = &view.registered;
    PluginRow {
        name: view.found.name.clone(),
        version: manifest.version,
        description: manifest.description,
        state,
        detail,
        from: view.found.from.word(),
        tools: registered.tools.iter().map(|tool| tool.name.clone()).collect(),
        hooks: registered.hooks.iter().map(|hook| hook.event.name().to_owned()).collect(),
        commands: registered.commands.iter().map(|command| format!("/{}", command.name)).collect(),
        problems: registered.problems.clone(),
        tail: view.tail,
    }
}

/// Writes down the yes, and starts what it is for.
pub async fn trusted(context: &Context, card: TrustCard) -> LoadReply {
    let (paths, cwd, all) = (context.paths.clone(), context.cwd.clone(), context.extensions.view().hooks);
    let write = move || -> Result<(), String> {
        let now = chrono::Utc::now().to_rfc3339_opts(chrono::SecondsFormat::Secs, true);
        if let Some(project) = &card.project {
            trust::accept(&paths, project, now.clone()).map_err(|error| error.to_string())?;
        }
        if !card.hooks.is_empty() {
            let mut consents = Consents::load(&paths.home);
            for (hook, _) in all.iter().filter(|(hook, _)| hook.from == From::Person) {
                if card.hooks.iter().any(|(event, command)| *event == hook.written && *command == hook.command) {
                    consents.allow(hook, &cwd, now.clone());
                }
            }
            consents.save(&paths.home).map_err(|error| error.to_string())?;
        }
        Ok(())
    };
    let policy = Arc::clone(&context.policy);
    let result =
        tokio::task::spawn_blocking(move || policy.ours(write)).await.unwrap_or_else(|error| Err(error.to_string()));
    if result.is_ok() {
        context.extensions.reload(None).await;
        // What cannot be used was told at the start.
        let _ = super::servers::reload(context).await;
    }
    LoadReply::Trusted(result)
}

/// Runs a slash command of a plugin.
pub async fn command(context: &Context, facts: &Facts, name: String, argument: &str) -> LoadReply {
    let session = facts.session.as_ref().map(|session| session.id.0.clone()).unwrap_or_default();
    let result = context.extensions.command(&name, argument, &session, &facts.cwd).await;
    LoadReply::PluginAnswered { name, result: result.map(|done| (done.text, done.prompt)) }
}
