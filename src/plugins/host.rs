//! All hooks and plugins of a session: found, allowed, started after the first frame, published, stopped.

use super::consent::{Consents, Standing};
use super::found::{self, Found, May};
use super::hook::{self, CommandHook, From};
use super::plugin::{Phase, Plugin, Setting};
use super::registered::Registered;
use super::tool::PluginTool;
use crate::config::load::Loaded;
use crate::config::trust::{self, Project};
use crate::config::{Paths, paths};
use crate::exec::Exec;
use crate::tools::spec::{Publish, Tool};
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{mpsc, watch};

/// The runner of Python plugins.
const RUNNER: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/assets/plugins/runner.py"));
/// What is told and not yet heard.
const TOLD: usize = 256;

/// What a host works with.
pub struct Options {
    pub paths: Paths,
    pub cwd: PathBuf,
    pub loaded: Arc<Loaded>,
    pub exec: Exec,
    pub publish: Arc<dyn Publish>,
    /// `--accept-hooks`: the person's own hooks run without a yes to each.
    pub accept_hooks: bool,
}

/// A run of a hook, or news of a plugin, for the transcript.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Told {
    /// A row: `pre_tool_call · ./check.sh · blocked: … · 12 ms`.
    Row(String),
    Notice {
        serious: bool,
        text: String,
    },
}

/// What is known of everything, for lists and cards.
#[derive(Clone, Debug, Default)]
pub struct View {
    /// Counts changes.
    pub revision: u64,
    pub plugins: Vec<PluginView>,
    pub hooks: Vec<(CommandHook, Standing)>,
    pub project: Option<Project>,
    pub problems: Vec<String>,
}

/// One plugin.
#[derive(Clone, Debug)]
pub struct PluginView {
    pub found: Found,
    /// `None` when it is not run at all.
    pub phase: Option<Phase>,
    pub registered: Arc<Registered>,
    /// The end of its standard error.
    pub tail: Vec<String>,
}

/// The handle. Cheap to clone; one without a host has no hooks and no plugins.
#[derive(Clone, Default)]
pub struct Extensions {
    pub(super) host: Option<Arc<Host>>,
}

pub(super) struct Host {
    pub(super) options: Options,
    state: Mutex<State>,
    revision: watch::Sender<u64>,
    tell: mpsc::Sender<Told>,
    /// Until somebody listens.
    heard: Mutex<Option<mpsc::Receiver<Told>>>,
    /// Somebody wants hooks and plugins to run: without that nothing is looked at and nothing waited for.
    begun: AtomicBool,
    /// One load at a time.
    loading: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct State {
    loaded: bool,
    /// The configuration as it was read last.
    config: Option<Arc<Loaded>>,
    hooks: Vec<(CommandHook, Standing)>,
    problems: Vec<String>,
    project: Option<Project>,
    found: Vec<Found>,
    plugins: BTreeMap<String, Arc<Plugin>>,
}

impl Extensions {
    /// A host that has not looked at anything yet.
    pub fn new(options: Options) -> Self {
        let (tell, heard) = mpsc::channel(TOLD);
        let host = Host {
            options,
            state: Mutex::default(),
            revision: watch::Sender::new(0),
            tell,
            heard: Mutex::new(Some(heard)),
            begun: AtomicBool::new(false),
            loading: tokio::sync::Mutex::default(),
        };
        Self { host: Some(Arc::new(host)) }
    }

    /// Looks at the disk and starts what may run, in the background. Must be called inside the runtime.
    pub fn start(&self) {
        if let Some(host) = self.host.clone() {
            host.begun.store(true, Ordering::Release);
            tokio::spawn(async move { host.load(None).await });
        }
    }

    /// Looks again, with a configuration that was read anew: what may run now is started, what may not is stopped.
    pub async fn reload(&self, loaded: Option<Arc<Loaded>>) {
        if let Some(host) = &self.host {
            host.begun.store(true, Ordering::Release);
            host.load(loaded).await;
        }
    }

    /// What is told, to the first who asks; a closed channel to everybody else.
    pub fn listen(&self) -> mpsc::Receiver<Told> {
        let heard = self.host.as_ref().and_then(|host| lock(&host.heard).take());
        heard.unwrap_or_else(|| mpsc::channel(1).1)
    }

    /// Waits until everything has been looked at and no plugin is still starting, at most this long.
    pub async fn settled(&self, limit: Duration) {
        let Some(host) = self.host.as_ref().filter(|host| host.has_begun()) else { return };
        let mut revision = host.revision.subscribe();
        let ready = async {
            while !host.is_settled() {
                if revision.changed().await.is_err() {
                    break;
                }
            }
        };
        // What is late comes later.
        let _ = tokio::time::timeout(limit, ready).await;
    }

    /// Waits for a change after `seen`, and gives what is known then.
    pub async fn changed(&self, seen: u64) -> View {
        let Some(host) = &self.host else { return std::future::pending().await };
        let mut revision = host.revision.subscribe();
        // The sender lives as long as the host.
        let _ = revision.wait_for(|now| *now > seen).await;
        host.view()
    }

    /// What is known now.
    pub fn view(&self) -> View {
        self.host.as_ref().map(|host| host.view()).unwrap_or_default()
    }

    /// Sections that plugins add to the system prompt, in the order of their names.
    pub fn prompt(&self) -> Vec<String> {
        let plugins = self.host.as_ref().map(|host| host.plugins()).unwrap_or_default();
        plugins.iter().flat_map(|plugin| plugin.now().registered.prompt.clone()).collect()
    }

    /// Ends every plugin.
    pub async fn shutdown(&self) {
        let Some(host) = &self.host else { return };
        let plugins = std::mem::take(&mut lock(&host.state).plugins);
        futures::future::join_all(plugins.values().map(|plugin| plugin.stop())).await;
    }
}

impl Host {
    pub(super) fn tell(&self, told: Told) {
        // Full only when nobody reads; rows are for people.
        let _ = self.tell.try_send(told);
    }

    pub(super) fn has_begun(&self) -> bool {
        self.begun.load(Ordering::Acquire)
    }

    fn bump(&self) {
        self.revision.send_modify(|revision| *revision += 1);
    }

    fn is_settled(&self) -> bool {
        let state = lock(&self.state);
        state.loaded && state.plugins.values().all(|plugin| plugin.now().phase != Phase::Starting)
    }

    /// Waits for the first look at the disk; plugins may still be starting.
    pub(super) async fn looked(&self) {
        let mut revision = self.revision.subscribe();
        while !lock(&self.state).loaded && revision.changed().await.is_ok() {}
    }

    pub(super) fn is_loaded(&self) -> bool {
        lock(&self.state).loaded
    }

    pub(super) fn plugins(&self) -> Vec<Arc<Plugin>> {
        lock(&self.state).plugins.values().cloned().collect()
    }

    pub(super) fn plugin(&self, name: &str) -> Option<Arc<Plugin>> {
        lock(&self.state).plugins.get(name).cloned()
    }

    /// Hooks that may run.
    pub(super) fn hooks(&self) -> Vec<CommandHook> {
        let state = lock(&self.state);
        state
            .hooks
            .iter()
            .filter(|(_, standing)| *standing != Standing::Unasked)
            .map(|(hook, _)| hook.clone())
            .collect()
    }

    fn view(&self) -> View {
        // Before the state, so that a change between the two is told again.
        let revision = *self.revision.borrow();
        let state = lock(&self.state);
        let plugins = state.found.iter().map(|found| {
            let live =
                state.plugins.get(&found.name).filter(|plugin| plugin.found == *found).map(|plugin| plugin.now());
            PluginView {
                found: found.clone(),
                phase: live.as_ref().map(|live| live.phase.clone()),
                tail: live.as_ref().and_then(|live| Some(live.peer.as_ref()?.tail())).unwrap_or_default(),
                registered: live.map(|live| live.registered).unwrap_or_default(),
            }
        });
        View {
            revision,
            plugins: plugins.collect(),
            hooks: state.hooks.clone(),
            project: state.project.clone(),
            problems: state.problems.clone(),
        }
    }

    /// What is on disk, judged.
    async fn load(self: &Arc<Self>, loaded: Option<Arc<Loaded>>) {
        let _one = self.loading.lock().await;
        let config =
            loaded.or_else(|| lock(&self.state).config.clone()).unwrap_or_else(|| Arc::clone(&self.options.loaded));
        let (home, cwd, accept) = (self.options.paths.clone(), self.options.cwd.clone(), self.options.accept_hooks);
        let given = Arc::clone(&config);
        let looked = tokio::task::spawn_blocking(move || {
            let project = trust::look(&home, &cwd);
            let (hooks, problems) = hooks(&given, &home, &cwd, project.as_ref(), accept);
            let found = found::find(&home, &given.config.plugins, project.as_ref());
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
            self.tell(Told::Notice { serious: true, text: problem.clone() });
        }
        let wanted: Vec<Found> =
            found.iter().filter(|found| found.may == May::Run && found.manifest.is_ok()).cloned().collect();
        for found in &wanted {
            self.options.publish.expect(&super::tool::toolset(&found.name));
        }
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
            self.options.publish.withdraw(&super::tool::toolset(&plugin.found.name));
            plugin.stop().await;
        }
        let fresh: Vec<Found> =
            wanted.into_iter().filter(|found| !lock(&self.state).plugins.contains_key(&found.name)).collect();
        let mut plugins = Vec::new();
        if !fresh.is_empty() {
            let base = self.options.exec.environment().await;
            for found in fresh {
                plugins.push(Arc::new(Plugin::new(found.clone(), self.setting(&found, &base, &config))));
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

    fn setting(&self, found: &Found, base: &BTreeMap<String, String>, config: &Loaded) -> Setting {
        setting(&self.options.paths, found, base, config)
    }

    /// Keeps a plugin alive and its tools published.
    fn supervise(self: &Arc<Self>, plugin: Arc<Plugin>) {
        let (tell, mut told) = mpsc::channel(64);
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
                    Some(said) = told.recv() => {
                        let Some(host) = host.upgrade() else { return };
                        host.said(&plugin, &said.method, &said.params);
                    }
                }
            }
        });
    }

    fn follow(&self, plugin: &Arc<Plugin>, phase: &Phase, registered: &Registered) {
        let name = &plugin.found.name;
        let source = super::tool::toolset(name);
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
                self.remember(name, registered);
            }
            Phase::Restarting(how) => {
                let text = format!("plugin {name}: {how}; it is started again");
                self.tell(Told::Notice { serious: false, text });
            }
            Phase::Failed(how) => {
                self.options.publish.withdraw(&source);
                let text = format!("plugin {name} is off: {how}. hermes plugins check {name} says more");
                self.tell(Told::Notice { serious: true, text });
            }
            Phase::Stopped => self.options.publish.withdraw(&source),
            Phase::Starting => {}
        }
        self.bump();
    }

    fn said(&self, plugin: &Plugin, method: &str, params: &Value) {
        let text = params.get("text").and_then(Value::as_str).unwrap_or_default();
        let text: String = text.chars().filter(|c| !c.is_control()).take(300).collect();
        let name = &plugin.found.name;
        match method {
            "notify" if !text.is_empty() => {
                self.tell(Told::Notice { serious: false, text: format!("{name}: {text}") });
            }
            "log" => tracing::info!(plugin = %name, "{text}"),
            _ => tracing::debug!(plugin = %name, method, "a plugin told something that means nothing here"),
        }
    }

    /// Which subcommands there are, so that the command line knows them without starting anything.
    fn remember(&self, plugin: &str, registered: &Registered) {
        let file = known_commands(&self.options.paths);
        let mut known = read_known(&self.options.paths);
        known.retain(|_, owner| owner != plugin);
        for command in &registered.cli {
            known.entry(command.name.clone()).or_insert_with(|| plugin.to_owned());
        }
        let before = std::fs::read_to_string(&file).unwrap_or_default();
        let text = format!("{}\n", json!(known));
        if (known.is_empty() && before.is_empty()) || before == text {
            return;
        }
        if let Err(error) = paths::write_atomic(&file, &text) {
            tracing::warn!("subcommands of plugins were not kept: {error}");
        }
    }
}

/// What a plugin starts with. Keys of model providers never reach it; what it names itself does.
pub fn setting(paths: &Paths, found: &Found, base: &BTreeMap<String, String>, loaded: &Loaded) -> Setting {
    let mut env = base.clone();
    let needed = found.manifest.iter().flat_map(|manifest| &manifest.requires_env);
    for name in needed.filter(|name| !is_provider_key(name, loaded)) {
        if let Some(value) = loaded.env(name) {
            env.insert(name.clone(), value.to_owned());
        }
    }
    let data = paths.plugin_data().join(&found.name);
    for dir in [&data, &paths.cache().join("plugins")] {
        if let Err(error) = paths::ensure_dir(dir) {
            tracing::warn!("{error}");
        }
    }
    let config = loaded.config.plugins.config.get(&found.name).cloned().unwrap_or_else(|| json!({}));
    Setting { env, runner: runner(paths), data, config }
}

/// The runner on disk, written anew when it is not the one of this program.
fn runner(paths: &Paths) -> PathBuf {
    let file = paths.cache().join("plugins").join("runner.py");
    if std::fs::read_to_string(&file).is_ok_and(|text| text == RUNNER) {
        return file;
    }
    if let Err(error) = paths::write_atomic(&file, RUNNER) {
        tracing::warn!("{error}");
    }
    file
}

fn is_provider_key(name: &str, loaded: &Loaded) -> bool {
    let of_table = crate::llm::providers::all().iter().any(|provider| provider.keys.iter().any(|key| key == name));
    let config = &loaded.config;
    let named = config.providers.values().map(|provider| &provider.key_env);
    let fallback = config.fallback_providers.iter().map(|fallback| &fallback.key_env);
    of_table || named.chain(fallback).any(|key| key == name)
}

/// The file of [`read_known`].
fn known_commands(paths: &Paths) -> PathBuf {
    paths.cache().join("plugins").join("commands.json")
}

/// Subcommands that plugins registered when they ran last, with the plugin.
pub fn read_known(paths: &Paths) -> HashMap<String, String> {
    let bytes = std::fs::read(known_commands(paths)).unwrap_or_default();
    serde_json::from_slice(&bytes).unwrap_or_default()
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

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
