//! One server while the program runs: what is known of it, and the calls that go through it. Its task is `driver`.

mod driver;
mod lists;

pub(super) use lists::lists;

use super::catalog::Catalog;
use super::host::Hosted;
use super::link::{About, Ask, Link, LinkError, Stderr, Step};
use super::settings::Settings;
use super::state::{Fact, Life, State};
use super::status::Status;
use super::supervisor::Supervisor;
use super::{messages, names, oauth};
use crate::lock::lock;
use driver::Driver;
use serde_json::Value;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// A configured server.
pub struct Server {
    pub settings: Settings,
    pub(super) house: Arc<Supervisor>,
    pub(super) host: Arc<Hosted>,
    facts: mpsc::UnboundedSender<Fact>,
    link: watch::Sender<Option<Arc<Link>>>,
    face: Mutex<Face>,
    stderr: Stderr,
    running: AtomicUsize,
    /// A person does not want it now.
    switched_off: AtomicBool,
    used: Mutex<Instant>,
    gone: CancellationToken,
    ended: CancellationToken,
}

#[derive(Default)]
struct Face {
    life: Life,
    catalog: Catalog,
    names: Vec<String>,
    tokens: u64,
    about: About,
    took_ms: Option<u64>,
}

impl Server {
    /// A server that does nothing until it is told to; its task ends with [`Self::stop`].
    pub(super) fn new(settings: Settings, house: Arc<Supervisor>) -> Arc<Self> {
        // A handful of facts at most: people and timers make them, and `changed` is told at most once.
        let (facts, heard) = mpsc::unbounded_channel();
        let host = Arc::new(Hosted::new(&settings, Arc::clone(&house)));
        let server = Arc::new(Self {
            settings,
            house,
            host,
            facts,
            link: watch::Sender::new(None),
            face: Mutex::default(),
            stderr: Stderr::default(),
            running: AtomicUsize::new(0),
            switched_off: Default::default(),
            used: Mutex::new(Instant::now()),
            gone: CancellationToken::new(),
            ended: CancellationToken::new(),
        });
        tokio::spawn(Driver::new(Arc::clone(&server)).run(heard));
        server
    }

    /// The name under which its tools are published.
    pub(super) fn source(&self) -> String {
        names::toolset(&self.settings.name)
    }

    pub(super) fn tell(&self, fact: Fact) {
        // Its task is gone only when the program ends.
        let _ = self.facts.send(fact);
    }

    pub(super) fn switch(&self, on: bool) {
        self.switched_off.store(!on, Ordering::Relaxed);
        self.tell(if on { Fact::Wanted } else { Fact::Unwanted });
    }

    pub(super) fn was_switched_off(&self) -> bool {
        self.switched_off.load(Ordering::Relaxed)
    }

    /// Ends its task and its connection.
    pub(super) async fn stop(&self) {
        self.gone.cancel();
        // A program that does not listen has been killed by then.
        let _ = tokio::time::timeout(Duration::from_secs(5), self.ended.cancelled()).await;
    }

    fn face(&self) -> std::sync::MutexGuard<'_, Face> {
        lock(&self.face)
    }

    pub(super) fn state(&self) -> State {
        self.face().life.state.clone()
    }

    /// What a person sees of it.
    pub fn status(&self) -> Status {
        let stderr = messages::text(&self.settings.masked(&self.stderr.tail()), 8_000);
        let face = self.face();
        Status {
            name: self.settings.name.clone(),
            state: face.life.state.clone(),
            why: if face.life.refusing {
                "its last calls all failed; pausing calls for a minute".into()
            } else {
                face.life.why.clone()
            },
            place: self.settings.place(),
            about: face.about.name.clone(),
            protocol: face.about.protocol.clone(),
            tools: face.names.clone(),
            tokens: face.tokens,
            resources: face.catalog.resources,
            prompts: face.catalog.prompts.clone(),
            problems: face.catalog.problems.clone(),
            stderr,
            took_ms: face.took_ms,
        }
    }

    /// A connection to call through: the open one, or the one that is being made.
    async fn ready(&self, cancel: &CancellationToken) -> Result<Arc<Link>, LinkError> {
        if self.face().life.refusing {
            let name = &self.settings.name;
            return Err(LinkError::Refused(format!("the last calls to {name} all failed; pausing calls for a minute")));
        }
        if let Some(link) = self.link.borrow().clone() {
            return Ok(link);
        }
        let mut link = self.link.subscribe();
        self.tell(Fact::Needed);
        let patience = self.settings.connect_timeout;
        tokio::select! {
            biased;
            () = cancel.cancelled() => Err(LinkError::Interrupted),
            found = tokio::time::timeout(patience, link.wait_for(Option::is_some)) => match found {
                Ok(Ok(link)) => link.clone().ok_or(LinkError::Closed),
                Ok(Err(_)) => Err(LinkError::Closed),
                Err(_) => Err(LinkError::Refused(format!("not connected: {}", self.face().life.why))),
            },
        }
    }

    /// Sends a request of a call and tells how it went.
    pub async fn ask(
        &self,
        ask: Ask,
        cancel: &CancellationToken,
        progress: Option<mpsc::Sender<Step>>,
    ) -> Result<Value, LinkError> {
        self.running.fetch_add(1, Ordering::Relaxed);
        let answer = async { self.ready(cancel).await?.ask(ask, self.settings.timeout, cancel, progress).await }.await;
        self.running.fetch_sub(1, Ordering::Relaxed);
        *lock(&self.used) = Instant::now();
        match &answer {
            // A server that answers with an error works.
            Ok(_) | Err(LinkError::Server { .. }) => self.tell(Fact::CallWorked),
            Err(LinkError::Interrupted | LinkError::NeedsLogin { .. }) => {}
            Err(_) => self.tell(Fact::CallFailed),
        }
        if let Err(error @ LinkError::NeedsLogin { challenge, .. }) = &answer {
            if let Some(challenge) = challenge {
                oauth::wants_more(&self.house.tokens, &self.settings.name, challenge);
            }
            // One call that needs more rights than the others leaves them alone; a login that is over ends it all.
            if !challenge.as_deref().is_some_and(|challenge| challenge.contains("insufficient_scope")) {
                self.tell(Fact::Lost { why: error.to_string() });
            }
        }
        answer
    }

    fn idle_at(&self) -> Option<Instant> {
        let idle = self.settings.idle?;
        let busy = self.running.load(Ordering::Relaxed) > 0;
        let from = if busy { Instant::now() } else { *lock(&self.used) };
        Some(from + idle)
    }
}
