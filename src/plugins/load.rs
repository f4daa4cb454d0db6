//! Looks at the disk, starts what may run and follows it: tools published as long as their plugin is there.

use super::consent::{Consents, Standing};
use super::found::{self, Found, May};
use super::hook::{self, CommandHook, From};
use super::host::{Host, PluginNotice};
use super::known::remember;
use super::plugin::{Phase, Plugin};
use super::registered::Registered;
use super::setting::setting;
use super::tool::{PluginTool, toolset};
use crate::config::Paths;
use crate::config::load::Loaded;
use crate::config::trust::{self, Project};
use crate::lock::lock;
use crate::text::foreign;
use crate::tools::spec::Tool;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::sync::mpsc;

impl Host {
    /// What is on disk, judged.
    pub(super) async fn load(self: &Arc<Self>, loaded: Option<Arc<Loaded>>) {
        let _one = self.loading.lock().await;
        let config =
            loaded.or_else(|| lock(&self.state).config.clone()).unwrap_or_else(|| Arc::clone(&self.options.loaded));
        let (home, cwd, accept) = (self.options.paths.clone(), self.options.cwd.clone(), self.options.accept_hooks);
        let given = Arc::clone(&config);
        let looked = tokio::task::spawn_blocking(move || {
            // Copies of a program that was killed.
            crate::exec::sweep(&home.cache().join("plugins"));
            let project = trust::look(&home, &cwd);
            let (hooks, mut problems) = hooks(&given, &home, &cwd, project.as_ref(), accept);
            let found = found::find(&home, &given.config.plugins, project.as_ref());
            problems.extend(found::missing(&given.config.plugins, &found));
            (project, hooks, problems, found)
        })
        .await;
        let Ok((project, hooks, mut problems, found)) = looked else { return };
        for found in &found {
            if let (Err(error), May::Run) = (&found.manifest, &found.may) {
                problems.push(format!("plugin {}: {error}", found.name));
            }
        }
        for problem in &problems {
            self.tell(PluginNotice::Notice { serious: true, text: problem.clone() });
        }
        let wanted: Vec<Found> =
            found.iter().filter(|found| found.may == May::Run && found.manifest.is_ok()).cloned().collect();
        let gone: Vec<Arc<Plugin>> = {
            let mut state = lock(&self.state);
            let keep = |plugin: &Arc<Plugin>| {
                wanted.contains(&plugin.found) && !matches!(plugin.now().phase, Phase::Failed(_) | Phase::Stopped)
            };
            let (keep, gone): (BTreeMap<_, _>, BTreeMap<_, _>) =
                std::mem::take(&mut state.plugins).into_iter().partition(|(_, plugin)| keep(plugin));
            state.plugins = keep;
            gone.into_values().collect()
        };
        for plugin in &gone {
            self.options.publish.withdraw(&toolset(&plugin.found.name));
            plugin.stop().await;
        }
        for found in &wanted {
            self.options.publish.expect(&toolset(&found.name));
        }
        let fresh: Vec<Found> =
            wanted.into_iter().filter(|found| !lock(&self.state).plugins.contains_key(&found.name)).collect();
        let mut plugins = Vec::new();
        if !fresh.is_empty() {
            let base = self.options.exec.environment().await;
            for found in fresh {
                plugins
                    .push(Arc::new(Plugin::new(found.clone(), setting(&self.options.paths, &found, &base, &config))));
            }
        }
        {
            let mut state = lock(&self.state);
            (state.hooks, state.problems, state.project, state.found) = (hooks, problems, project, found);
            state.config = Some(config);
            for plugin in &plugins {
                state.plugins.insert(plugin.found.name.clone(), Arc::clone(plugin));
            }
            state.loaded = true;
        }
        for plugin in plugins {
            self.supervise(plugin);
        }
        self.bump();
    }

    /// Keeps a plugin alive and its tools published.
    fn supervise(self: &Arc<Self>, plugin: Arc<Plugin>) {
        let (tell, mut notices) = mpsc::channel(64);
        let life = Arc::clone(&plugin);
        tokio::spawn(async move { life.live(tell).await });
        let host = Arc::downgrade(self);
        let mut changes = plugin.watch();
        tokio::spawn(async move {
            loop {
                tokio::select! {
                    changed = changes.changed() => {
                        let Some(host) = host.upgrade().filter(|_| changed.is_ok()) else { return };
                        let live = changes.borrow_and_update().clone();
                        host.follow(&plugin, &live.phase, &live.registered);
                        if matches!(live.phase, Phase::Failed(_) | Phase::Stopped) {
                            return;
                        }
                    }
                    Some(said) = notices.recv() => {
                        let Some(host) = host.upgrade() else { return };
                        host.said(&plugin, &said.method, &said.params);
                    }
                }
            }
        });
    }

    fn follow(&self, plugin: &Arc<Plugin>, phase: &Phase, registered: &Registered) {
        let name = &plugin.found.name;
        let source = toolset(name);
        match phase {
            Phase::Ready => {
                let tools = registered
                    .tools
                    .iter()
                    .map(|def| Arc::new(PluginTool::new(Arc::clone(plugin), def)) as Arc<dyn Tool>);
                if registered.tools.is_empty() && registered.problems.is_empty() {
                    self.options.publish.withdraw(&source);
                } else {
                    self.options.publish.publish(&source, tools.collect());
                    self.options.publish.report(&source, registered.problems.clone());
                }
                remember(&self.options.paths, name, registered);
            }
            Phase::Restarting(how) => {
                let text = format!("plugin {name}: {how}; restarting");
                self.tell(PluginNotice::Notice { serious: false, text });
            }
            Phase::Failed(how) => {
                self.options.publish.withdraw(&source);
                let text = format!("plugin {name} is off: {how}. Details: hermes plugins check {name}");
                self.tell(PluginNotice::Notice { serious: true, text });
            }
            Phase::Stopped => self.options.publish.withdraw(&source),
            Phase::Starting => {}
        }
        self.bump();
    }

    fn said(&self, plugin: &Plugin, method: &str, params: &Value) {
        let text = foreign::line(params.get("text").and_then(Value::as_str).unwrap_or_default(), 300);
        let name = &plugin.found.name;
        match method {
            "notify" if !text.is_empty() => {
                self.tell(PluginNotice::Notice { serious: false, text: format!("{name}: {text}") });
            }
            "log" => tracing::info!(plugin = %name, "{text}"),
            _ => tracing::debug!(plugin = %name, method, "unknown notification from a plugin"),
        }
    }
}

/// All command hooks with their standing, and what was left out. Reads the disk.
pub fn hooks(
    loaded: &Loaded,
    home: &Paths,
    cwd: &std::path::Path,
    project: Option<&Project>,
    accept: bool,
) -> (Vec<(CommandHook, Standing)>, Vec<String>) {
    let consents = Consents::load(&home.home);
    let (own, mut odd) = hook::read(&loaded.config.hooks, From::Person);
    let accept = accept || loaded.config.hooks_auto_accept;
    let mut all: Vec<(CommandHook, Standing)> = own
        .into_iter()
        .map(|hook| {
            let standing = match consents.standing(&hook, cwd) {
                Standing::Unasked if accept => Standing::Allowed,
                standing => standing,
            };
            (hook, standing)
        })
        .collect();
    if let Some(tree) = project.and_then(|project| trust::tree(project, "hooks")) {
        let (theirs, more) = hook::read(&tree, From::Project);
        all.extend(theirs.into_iter().map(|hook| (hook, Standing::Allowed)));
        odd.extend(more);
    }
    (all, odd)
}
