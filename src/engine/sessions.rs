//! The open sessions: opened, ordered, told of, closed.

use super::{Engine, Inner, SessionSpec};
use crate::agent::children::Opener;
use crate::agent::policy_snapshot::PolicySnapshot;
use crate::agent::runner::{self, Deps};
use crate::agent::spec::Opens;
use crate::backends::Backends;
use crate::lock::lock;
use crate::protocol::{AgentCommand, AgentEvent, SessionId};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// How long sessions may take to be saved and closed at the end.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// What a session tells; `None`: it is over and tells no more.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionEvent {
    pub session: SessionId,
    pub event: Option<AgentEvent>,
}

/// All that are open.
pub(super) struct Sessions {
    open: Mutex<HashMap<SessionId, Session>>,
    events: mpsc::Sender<SessionEvent>,
    /// Where sessions worked that were closed as the program is left; it leaves them last.
    left: Mutex<Vec<Backends>>,
}

struct Session {
    /// Orders wait here, in their order, while the session is busy; a person types a handful.
    orders: mpsc::UnboundedSender<AgentCommand>,
    backends: Backends,
    policy: Arc<PolicySnapshot>,
    /// Ends with the session, once its backend is left.
    task: JoinHandle<()>,
}

impl Sessions {
    pub(super) fn new() -> (Self, mpsc::Receiver<SessionEvent>) {
        let (events, told) = mpsc::channel(256);
        (Self { open: Mutex::default(), events, left: Mutex::default() }, told)
    }

    pub(super) fn backends(&self, id: &SessionId) -> Option<Backends> {
        lock(&self.open).get(id).map(|session| session.backends.clone())
    }
}

/// Opens children for sessions; the engine is not kept by them.
pub(super) struct OfChildren(pub Weak<Inner>);

impl Opener for OfChildren {
    fn open(&self, spec: SessionSpec) -> (SessionId, mpsc::Receiver<AgentEvent>) {
        let (watch, heard) = mpsc::channel(256);
        match self.0.upgrade() {
            Some(inner) => (Engine { inner }.open_watched(spec, Some(watch)), heard),
            // The program ends: nothing is heard of it.
            None => (crate::store::new_session_id(), heard),
        }
    }

    fn order(&self, id: &SessionId, command: AgentCommand) {
        if let Some(inner) = self.0.upgrade() {
            Engine { inner }.order(id, command);
        }
    }
}

impl Engine {
    /// Opens a session and returns its id at once; [`AgentEvent::SessionOpened`] or [`AgentEvent::NotOpened`] follows.
    pub fn open(&self, spec: SessionSpec) -> SessionId {
        self.open_watched(spec, None)
    }

    /// The same; `watch` hears all of it as well.
    fn open_watched(&self, spec: SessionSpec, watch: Option<mpsc::Sender<AgentEvent>>) -> SessionId {
        let id = match &spec.opens {
            Opens::Resume(id) => id.clone(),
            Opens::New | Opens::Cleared | Opens::Fork(_) | Opens::ForkAt(..) => crate::store::new_session_id(),
        };
        if lock(&self.inner.sessions.open).contains_key(&id) {
            self.order(&id, AgentCommand::Show);
            return id;
        }
        let deps = self.deps(&spec.cwd, spec.parent.as_ref());
        let (backends, policy) = (deps.backends.clone(), Arc::clone(&deps.policy));
        self.be_found();
        let (orders, mut queue) = mpsc::unbounded_channel();
        let handle = runner::spawn(deps, spec, id.clone());
        let commands = handle.commands;
        tokio::spawn(async move {
            while let Some(order) = queue.recv().await {
                if commands.send(order).await.is_err() {
                    break;
                }
            }
        });
        let (engine, session, left) = (self.clone(), id.clone(), backends.clone());
        let mut from_agent = handle.events;
        let task = tokio::spawn(async move {
            let events = engine.inner.sessions.events.clone();
            while let Some(event) = from_agent.recv().await {
                engine.inner.board.heard(&session, &event);
                if let Some(watch) = &watch {
                    // Its parent is gone, and it ends.
                    let _ = watch.send(event.clone()).await;
                }
                // Nobody watches any more: the session goes on to its end all the same.
                let _ = events.send(SessionEvent { session: session.clone(), event: Some(event) }).await;
            }
            let _ = handle.task.await;
            engine.inner.board.gone(&session);
            engine.left(&session, left).await;
            let _ = events.send(SessionEvent { session, event: None }).await;
        });
        lock(&self.inner.sessions.open).insert(id.clone(), Session { orders, backends, policy, task });
        id
    }

    /// Gives an order to a session; one that is over does nothing any more.
    pub fn order(&self, id: &SessionId, command: AgentCommand) {
        if let Some(session) = lock(&self.inner.sessions.open).get(id) {
            // Closed a moment ago.
            let _ = session.orders.send(command);
        }
    }

    /// The policy as a session read it; as the program did where there is no such session.
    pub fn policy(&self, id: Option<&SessionId>) -> Arc<PolicySnapshot> {
        let open = lock(&self.inner.sessions.open);
        let session = id.and_then(|id| open.get(id));
        Arc::clone(session.map_or(&self.inner.newest.policy, |session| &session.policy))
    }

    /// Where a session works; as the configuration says where there is no such session.
    pub fn backends(&self, id: Option<&SessionId>) -> Backends {
        let session = id.and_then(|id| self.inner.sessions.backends(id));
        session.unwrap_or_else(|| self.inner.services.backends.clone())
    }

    /// Nobody waits any longer for places that are not ready yet.
    pub fn give_up_backends(&self) {
        lock(&self.inner.sessions.open).values().for_each(|session| session.backends.give_up());
    }

    /// A session is over. Where it worked is left at once when its tab was closed, else with the program, which can say what
    /// it waits for.
    async fn left(&self, id: &SessionId, backends: Backends) {
        let closed = lock(&self.inner.sessions.open).remove(id).is_some();
        if !closed {
            return lock(&self.inner.sessions.left).push(backends);
        }
        match tokio::task::spawn_blocking(move || backends.leave()).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!("{error}"),
            Err(error) => tracing::error!("could not leave the backend: {error}"),
        }
    }

    /// What one command without a session works with, in the folder it was started in; its backend is left with the program.
    pub fn for_command(&self) -> Deps {
        let deps = self.deps(&self.inner.base.cwd, None);
        lock(&self.inner.sessions.left).push(deps.backends.clone());
        deps
    }

    /// Where closed sessions worked.
    pub(super) fn take_left(&self) -> Vec<Backends> {
        std::mem::take(&mut lock(&self.inner.sessions.left))
    }

    /// Closes a session; `cleared`: a new one took its place.
    pub fn close(&self, id: &SessionId, cleared: bool) {
        self.order(id, AgentCommand::Close { cleared });
    }

    /// Closes every session, within bounds. What is streamed meanwhile is taken from `events`, so that none waits for room.
    pub async fn close_all(&self, events: &mut mpsc::Receiver<SessionEvent>) {
        let tasks: Vec<JoinHandle<()>> = {
            let mut open = lock(&self.inner.sessions.open);
            open.drain()
                .map(|(_, session)| {
                    // Over already.
                    let _ = session.orders.send(AgentCommand::Close { cleared: false });
                    session.task
                })
                .collect()
        };
        let closed = async {
            let mut ended = std::pin::pin!(futures::future::join_all(tasks));
            loop {
                tokio::select! {
                    _ = &mut ended => break,
                    Some(_) = events.recv() => {}
                }
            }
        };
        if tokio::time::timeout(CLOSE_TIMEOUT, closed).await.is_err() {
            tracing::warn!("left before every session was closed");
        }
    }
}
