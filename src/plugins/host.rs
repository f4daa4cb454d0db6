//! All hooks and plugins of a session: found, allowed, started after the first frame, published, stopped.

use super::consent::Standing;
use super::found::Found;
use super::hook::CommandHook;
use super::plugin::{Phase, Plugin};
use super::registered::Registered;
use crate::config::Paths;
use crate::config::load::Loaded;
use crate::config::trust::Project;
use crate::exec::Exec;
use crate::lock::lock;
use crate::tools::spec::Publish;
use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::{mpsc, watch};

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
pub enum PluginNotice {
    /// A row of the session that the hook ran for: `pre_tool_call · ./check.sh · blocked: … · 12 ms`.
    Row(String),
    /// News of the program, for whichever session is in view.
    Notice { serious: bool, text: String },
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
    pub(super) state: Mutex<State>,
    revision: watch::Sender<u64>,
    /// Who listens, by session, the one in view last.
    listeners: Mutex<Vec<(String, mpsc::Sender<PluginNotice>)>>,
    /// News that came while nobody listened.
    unheard: Mutex<Vec<PluginNotice>>,
    /// Somebody wants hooks and plugins to run: without that nothing is looked at and nothing waited for.
    begun: AtomicBool,
    /// One load at a time.
    pub(super) loading: tokio::sync::Mutex<()>,
}

#[derive(Default)]
pub(super) struct State {
    pub(super) loaded: bool,
    /// The configuration as it was read last.
    pub(super) config: Option<Arc<Loaded>>,
    pub(super) hooks: Vec<(CommandHook, Standing)>,
    pub(super) problems: Vec<String>,
    pub(super) project: Option<Project>,
    pub(super) found: Vec<Found>,
    pub(super) plugins: BTreeMap<String, Arc<Plugin>>,
    /// Hooks of which it was told that they fail.
    pub(super) warned: HashSet<String>,
}

impl Extensions {
    /// A host that has not looked at anything yet.
    pub fn new(options: Options) -> Self {
        let host = Host {
            options,
            state: Mutex::default(),
            revision: watch::Sender::new(0),
            listeners: Mutex::default(),
            unheard: Mutex::default(),
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

    /// What is told to a session: rows of its hooks, and the news of the program while it is the one in view.
    pub fn listen(&self, session: &str) -> mpsc::Receiver<PluginNotice> {
        let (tell, heard) = mpsc::channel(TOLD);
        let Some(host) = &self.host else { return heard };
        // There is room: the channel is new and holds more than was kept.
        lock(&host.unheard).drain(..).for_each(|notice| drop(tell.try_send(notice)));
        let mut listeners = lock(&host.listeners);
        listeners.retain(|(known, listener)| known != session && !listener.is_closed());
        listeners.push((session.to_owned(), tell));
        heard
    }

    /// This session is in view from now on.
    pub fn show(&self, session: &str) {
        let Some(host) = &self.host else { return };
        let mut listeners = lock(&host.listeners);
        if let Some(at) = listeners.iter().position(|(known, _)| known == session) {
            let shown = listeners.remove(at);
            listeners.push(shown);
        }
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

    /// Waits for the first look at the disk, once somebody has begun; plugins may still be starting.
    pub async fn looked(&self) {
        if let Some(host) = self.host.as_ref().filter(|host| host.has_begun()) {
            host.looked().await;
        }
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
    /// News for the session in view.
    pub(super) fn tell(&self, notice: PluginNotice) {
        let shown = lock(&self.listeners).iter().rev().find(|(_, listener)| !listener.is_closed()).cloned();
        match shown {
            // Full only when nobody reads.
            Some((_, listener)) => drop(listener.try_send(notice)),
            None => {
                let mut unheard = lock(&self.unheard);
                if unheard.len() < TOLD {
                    unheard.push(notice);
                }
            }
        }
    }

    /// A row for the session that its hook ran for.
    pub(super) fn tell_session(&self, session: &str, row: String) {
        let listener =
            lock(&self.listeners).iter().find(|(known, _)| known == session).map(|(_, listener)| listener.clone());
        if let Some(listener) = listener {
            // Full only when nobody reads; rows are for people.
            let _ = listener.try_send(PluginNotice::Row(row));
        }
    }

    pub(super) fn has_begun(&self) -> bool {
        self.begun.load(Ordering::Acquire)
    }

    pub(super) fn bump(&self) {
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
}
