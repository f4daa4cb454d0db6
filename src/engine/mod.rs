//! One engine in a process: services that are built once, and the sessions that work with them.
//!
//! It is the only caller of `agent::runner::spawn`. A session is opened with a [`SessionSpec`], tells what happens as
//! ([`SessionId`], [`AgentEvent`]), and is gone when it is closed: nothing of it reaches another one.

mod base;
pub mod choose;
mod log;
mod reload;
mod services;
mod sessions;
mod window;

pub use crate::agent::spec::{Answers, Opens, SessionLimits, SessionSpec, Surface};
pub use base::{Base, BaseOptions, base, key_names, paths, profiles, service_keys};
pub use log::logging;
pub use reload::Watch;
pub use services::{Services, leave};
pub use sessions::SessionEvent;
pub use window::{ScreenAsk, ScreenWord, call, listening, windows};

use crate::agent::policy_snapshot::{PolicySnapshot, Snapshots};
use crate::agent::runner::{Deps, Newest};
use crate::backends::Worlds;
use crate::config::OnHangup;
use crate::exec::ProcessEvent;
use crate::llm::Provider;
use crate::lock::lock;
use crate::policy::World;
use crate::tools::dispatch::Dispatch;
use crate::tools::world::LocalWorld;
use sessions::Sessions;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock};
use tokio::sync::mpsc;
use window::{Board, Window};

/// How an engine is started.
#[derive(Clone, Default)]
pub struct EngineOptions {
    /// A scripted model in the place of all others.
    pub script: Option<Arc<dyn Provider>>,
    /// Nobody can type into a command.
    pub headless: bool,
}

/// The handle. Cheap to clone.
#[derive(Clone)]
pub struct Engine {
    inner: Arc<Inner>,
}

struct Inner {
    base: Base,
    services: Services,
    dispatch: Arc<Dispatch>,
    newest: Newest,
    sessions: Sessions,
    board: Board,
    /// Made with the first session.
    window: OnceLock<Option<Window>>,
    /// Who answers what only a screen can.
    screen: Mutex<Option<mpsc::Sender<ScreenAsk>>>,
}

/// What an engine tells, once each.
pub struct Streams {
    pub events: mpsc::Receiver<SessionEvent>,
    pub processes: mpsc::Receiver<ProcessEvent>,
}

impl Engine {
    /// Builds the services. Hooks, plugins and servers do not run before [`Services::start`]. Must be called inside the
    /// runtime.
    pub fn start(base: Base, options: EngineOptions) -> (Self, Streams) {
        let (services, processes) = Services::build(&base, options);
        let dispatch = Dispatch::new(Arc::clone(&services.registry), crate::policy::redact::redact)
            .with_secrets(base.secrets.clone())
            .with_hooks(Arc::new(services.extensions.clone()));
        let policy =
            PolicySnapshot::new(base.paths.clone(), Arc::clone(&base.sources), &Arc::new(Snapshots::default()));
        let newest = Newest { loaded: Arc::new(Mutex::new(Arc::clone(&base.loaded))), policy };
        let (sessions, events) = Sessions::new();
        let inner = Inner {
            base,
            services,
            dispatch: Arc::new(dispatch),
            newest,
            sessions,
            board: Board::default(),
            window: OnceLock::new(),
            screen: Mutex::default(),
        };
        (Self { inner: Arc::new(inner) }, Streams { events, processes })
    }

    /// What it was started from.
    pub fn base(&self) -> &Base {
        &self.inner.base
    }

    /// What all sessions share.
    pub fn services(&self) -> &Services {
        &self.inner.services
    }

    /// What a session in this folder works with; `parent`: it works where that one works now.
    pub fn deps(&self, cwd: &Path, parent: Option<&crate::protocol::SessionId>) -> Deps {
        let (base, services) = (&self.inner.base, &self.inner.services);
        let backends = parent
            .and_then(|id| self.inner.sessions.backends(id))
            .unwrap_or_else(|| services.backends.clone())
            .of_child();
        let here: Arc<dyn World> = Arc::new(LocalWorld::of_user(base.paths.root()).within(base.border(cwd)));
        let loaded = Arc::clone(&lock(&self.inner.newest.loaded));
        Deps {
            models: services.models.reloaded(Arc::clone(&loaded)),
            loaded,
            sources: Arc::clone(&base.sources),
            paths: base.paths.clone(),
            store: services.store.clone(),
            exec: services.exec.clone(),
            dispatch: Arc::clone(&self.inner.dispatch),
            world: Arc::new(Worlds::new(here, backends.clone())),
            backends,
            extensions: services.extensions.clone(),
            policy: self.inner.newest.policy.another(),
            checkpoints: services.checkpoints.clone(),
            newest: self.inner.newest.clone(),
            opener: Some(Arc::new(sessions::OfChildren(Arc::downgrade(&self.inner)))),
        }
    }

    /// Ends the sessions, then the services and with them every process.
    pub async fn shutdown(&self, events: &mut mpsc::Receiver<SessionEvent>) {
        self.close_all(events).await;
        self.end(true).await;
    }

    /// Ends the services once the sessions are closed; `None`: a person left, and said what goes on. When the window was
    /// closed nobody could be asked, so commands in the background do as the settings say.
    pub async fn finish(&self, hung_up: Option<OnHangup>) {
        self.end(hung_up.is_none_or(|on_hangup| on_hangup == OnHangup::End)).await;
    }

    async fn end(&self, kill: bool) {
        if let Some(Some(window)) = self.inner.window.get() {
            window.close();
        }
        let services = &self.inner.services;
        services.end(kill).await;
        for backends in self.take_left() {
            leave(backends).await;
        }
        leave(services.backends.clone()).await;
        services.store.close().await;
    }
}
