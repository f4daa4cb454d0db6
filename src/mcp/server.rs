//! One server while the program runs: a task that keeps its connection as `state` orders, and the calls that go through it.

use super::catalog::{self, Catalog};
use super::host::Hosted;
use super::house::House;
use super::link::{Ask, Link, LinkError, Stderr, Step};
use super::settings::Settings;
use super::state::{BREAK, Fact, Life, Order, State};
use super::{names, oauth, tool, words};
use futures::future::BoxFuture;
use serde_json::Value;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Pages of one list.
const PAGES: usize = 50;
/// How long a ping and a list may take.
const PING: Duration = Duration::from_secs(10);
const LIST: Duration = Duration::from_secs(30);
/// Lists that change again and again are read at most this often.
const QUIET: Duration = Duration::from_millis(300);

/// What a person sees of a server.
#[derive(Clone, Debug, PartialEq)]
pub struct Status {
    pub name: String,
    pub state: State,
    /// Why it is not ready; empty when it is.
    pub why: String,
    /// Program or address.
    pub place: String,
    /// Name and version, as it says.
    pub about: String,
    pub protocol: String,
    /// Names of its tools as the model sees them.
    pub tools: Vec<String>,
    /// Tokens of their schemas, estimated.
    pub tokens: u64,
    pub resources: usize,
    pub prompts: Vec<super::catalog::RemotePrompt>,
    /// What could not be used.
    pub problems: Vec<String>,
    /// The last of its standard error.
    pub stderr: String,
    /// Milliseconds from the start to the first lists.
    pub took_ms: Option<u64>,
}

impl Status {
    /// A server whose configuration cannot be used.
    pub(super) fn broken(name: &str, why: &str) -> Self {
        Self {
            name: name.to_owned(),
            state: State::Failed,
            why: why.to_owned(),
            place: String::new(),
            about: String::new(),
            protocol: String::new(),
            tools: Vec::new(),
            tokens: 0,
            resources: 0,
            prompts: Vec::new(),
            problems: Vec::new(),
            stderr: String::new(),
            took_ms: None,
        }
    }
}

/// A configured server.
pub struct Server {
    pub settings: Settings,
    pub(super) house: Arc<House>,
    pub(super) host: Arc<Hosted>,
    facts: mpsc::UnboundedSender<Fact>,
    link: watch::Sender<Option<Arc<Link>>>,
    face: Mutex<Face>,
    stderr: Stderr,
    running: AtomicUsize,
    /// A person does not want it now.
    switched_off: std::sync::atomic::AtomicBool,
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
    about: super::link::About,
    took_ms: Option<u64>,
}

/// The end of a try to connect.
type Opened = Result<(Arc<Link>, Catalog), LinkError>;

impl Server {
    /// A server that does nothing until it is told to; its task ends with [`Self::stop`].
    pub(super) fn new(settings: Settings, house: Arc<House>) -> Arc<Self> {
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
        self.face.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn state(&self) -> State {
        self.face().life.state.clone()
    }

    /// What a person sees of it.
    pub fn status(&self) -> Status {
        let stderr = words::text(&self.settings.masked(&self.stderr.tail()), 8_000);
        let face = self.face();
        Status {
            name: self.settings.name.clone(),
            state: face.life.state.clone(),
            why: if face.life.refusing {
                "its last calls all failed; calls wait a minute".into()
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
            return Err(LinkError::Refused(format!(
                "the last calls to {name} all failed; it is left alone for a minute"
            )));
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
        *self.used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        match &answer {
            // A server that answers with an error works.
            Ok(_) | Err(LinkError::Server { .. }) => self.tell(Fact::CallWorked),
            Err(LinkError::Interrupted | LinkError::NeedsLogin { .. }) => {}
            Err(_) => self.tell(Fact::CallFailed),
        }
        if let Err(LinkError::NeedsLogin { challenge: Some(challenge), .. }) = &answer {
            oauth::wants_more(&self.house.tokens, &self.settings.name, challenge);
        }
        answer
    }

    fn idle_at(&self) -> Option<Instant> {
        let idle = self.settings.idle?;
        let busy = self.running.load(Ordering::Relaxed) > 0;
        let from = if busy { Instant::now() } else { *self.used.lock().unwrap_or_else(PoisonError::into_inner) };
        Some(from + idle)
    }
}

/// The task of a server.
struct Driver {
    server: Arc<Server>,
    opening: Option<BoxFuture<'static, Opened>>,
    listing: Option<BoxFuture<'static, Result<Catalog, LinkError>>>,
    closed: Option<BoxFuture<'static, String>>,
    ping: Option<BoxFuture<'static, Result<Value, LinkError>>>,
    wait: Option<Instant>,
    broken_until: Option<Instant>,
    ping_at: Option<Instant>,
    old_at: Option<Instant>,
    list_at: Option<Instant>,
    began: Instant,
}

enum Next {
    Fact(Fact),
    Opened(Opened),
    Listed(Result<Catalog, LinkError>),
    Ponged(bool),
    PingDue,
    ListDue,
    Changed,
    End,
}

impl Driver {
    fn new(server: Arc<Server>) -> Self {
        Self {
            server,
            opening: None,
            listing: None,
            closed: None,
            ping: None,
            wait: None,
            broken_until: None,
            ping_at: None,
            old_at: None,
            list_at: None,
            began: Instant::now(),
        }
    }

    async fn run(mut self, mut facts: mpsc::UnboundedReceiver<Fact>) {
        let host = Arc::clone(&self.server.host);
        loop {
            let ready = self.server.link.borrow().is_some();
            let idle_at = if ready { self.server.idle_at() } else { None };
            let old_at = self.old_at.filter(|_| ready && self.server.running.load(Ordering::Relaxed) == 0);
            let next = tokio::select! {
                fact = facts.recv() => fact.map_or(Next::End, Next::Fact),
                opened = pending(&mut self.opening) => Next::Opened(opened),
                listed = pending(&mut self.listing) => Next::Listed(listed),
                why = pending(&mut self.closed) => Next::Fact(Fact::Lost { why }),
                pong = pending(&mut self.ping) => Next::Ponged(pong.is_ok() || matches!(pong, Err(LinkError::Server { .. }))),
                () = until(self.wait) => Next::Fact(Fact::WaitOver),
                () = until(self.broken_until) => Next::Fact(Fact::BreakOver),
                () = until(self.ping_at) => Next::PingDue,
                () = until(self.list_at) => Next::ListDue,
                () = until(idle_at) => Next::Fact(Fact::Idle),
                () = until(old_at) => Next::Fact(Fact::Old),
                () = host.changed.notified() => Next::Changed,
                () = self.server.gone.cancelled() => Next::End,
            };
            match next {
                Next::End => {
                    self.fact(Fact::Unwanted).await;
                    self.server.ended.cancel();
                    break;
                }
                Next::Fact(fact) => self.fact(fact).await,
                Next::Opened(opened) => self.opened(opened).await,
                Next::Listed(Ok(catalog)) => self.publish(catalog),
                Next::Listed(Err(error)) => {
                    tracing::warn!("mcp {}: its lists were not read: {error}", self.server.settings.name)
                }
                Next::Ponged(true) => {}
                Next::Ponged(false) => self.fact(Fact::Lost { why: "it does not answer pings".into() }).await,
                Next::PingDue => self.start_ping(),
                Next::ListDue => self.start_list(),
                Next::Changed => self.list_at = self.list_at.or(Some(Instant::now() + QUIET)),
            }
        }
    }

    async fn fact(&mut self, fact: Fact) {
        match &fact {
            Fact::WaitOver => self.wait = None,
            Fact::BreakOver => self.broken_until = None,
            _ => {}
        }
        let orders = self.server.face().life.on(fact, fastrand::f64());
        for order in orders {
            match order {
                Order::Open => self.open(),
                Order::Close => self.close().await,
                Order::Withdraw => self.withdraw(),
                Order::Wait(delay) => self.wait = Some(Instant::now() + delay),
                Order::Refuse => self.broken_until = Some(Instant::now() + BREAK),
            }
        }
        self.server.house.tell();
    }

    fn open(&mut self) {
        let (server, house) = (Arc::clone(&self.server), Arc::clone(&self.server.house));
        (self.wait, self.began) = (None, Instant::now());
        self.opening = Some(Box::pin(async move {
            // Many programs that start at once would take the machine from the person.
            let _turn = house.turn().await;
            house.started();
            let host = Arc::clone(&server.host) as Arc<dyn super::link::Host>;
            let link = Link::open(&server.settings, &house.tokens, host, &server.stderr).await?;
            let patience = server.settings.connect_timeout;
            let catalog = match tokio::time::timeout(patience, lists(&link)).await {
                Ok(listed) => listed?,
                Err(_) => return Err(LinkError::TimedOut(patience)),
            };
            Ok((Arc::new(link), catalog))
        }));
    }

    async fn opened(&mut self, opened: Opened) {
        match opened {
            Ok((link, catalog)) => {
                let watched = Arc::clone(&link);
                self.closed = Some(Box::pin(async move { watched.closed().await }));
                self.ping_at = Some(Instant::now() + self.server.settings.keepalive);
                self.old_at = self.server.settings.lifetime.map(|most| Instant::now() + most);
                {
                    let mut face = self.server.face();
                    face.about = link.about.clone();
                    face.took_ms = Some(self.began.elapsed().as_millis().try_into().unwrap_or(u64::MAX));
                }
                *self.server.used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
                // Whoever waits for the state finds the tools.
                self.publish(catalog);
                self.server.link.send_replace(Some(link));
                self.fact(Fact::Opened).await;
            }
            Err(error) => {
                let (login, lasting) =
                    (matches!(error, LinkError::NeedsLogin { .. }), matches!(error, LinkError::Unusable(_)));
                let mut why = error.to_string();
                if let Some(last) = self.server.stderr.tail().lines().rev().find(|line| !line.trim().is_empty()) {
                    why = format!("{why}; its last words: {}", words::line(&self.server.settings.masked(last), 300));
                }
                self.fact(Fact::Refused { why, login, lasting }).await;
            }
        }
    }

    async fn close(&mut self) {
        (self.opening, self.listing, self.closed, self.ping) = (None, None, None, None);
        (self.ping_at, self.old_at, self.list_at, self.wait) = (None, None, None, None);
        if let Some(link) = self.server.link.send_replace(None) {
            link.close().await;
        }
    }

    fn withdraw(&mut self) {
        self.server.house.publish.withdraw(&self.server.source());
        let mut face = self.server.face();
        (face.catalog, face.names, face.tokens) = (Catalog::default(), Vec::new(), 0);
    }

    fn publish(&mut self, catalog: Catalog) {
        let mut problems = catalog.problems.clone();
        let tools = tool::tools(&self.server, &catalog, &mut problems);
        {
            let mut face = self.server.face();
            face.names = tools.iter().map(|tool| tool.spec().name.to_string()).collect();
            face.tokens = tools.iter().map(|tool| super::tokens(tool.spec())).sum();
            face.catalog = Catalog { problems: problems.clone(), ..catalog };
        }
        let source = self.server.source();
        self.server.house.publish.publish(&source, tools);
        if !problems.is_empty() {
            self.server.house.publish.report(&source, problems);
        }
        self.server.house.tell();
    }

    fn start_ping(&mut self) {
        self.ping_at = Some(Instant::now() + self.server.settings.keepalive);
        let Some(link) = self.server.link.borrow().clone() else { return };
        self.ping = Some(Box::pin(async move { link.ask(Ask::Ping, PING, &CancellationToken::new(), None).await }));
    }

    fn start_list(&mut self) {
        self.list_at = None;
        let Some(link) = self.server.link.borrow().clone() else { return };
        self.listing = Some(Box::pin(async move { lists(&link).await }));
    }
}

/// Everything that a server offers.
pub(super) async fn lists(link: &Link) -> Result<Catalog, LinkError> {
    let mut catalog =
        Catalog { has_resources: link.about.resources, has_prompts: link.about.prompts, ..Catalog::default() };
    if link.about.tools {
        pages(link, |cursor| Ask::Tools { cursor }, |page| catalog.add_tools(page)).await?;
    }
    // A server whose other lists are broken still has its tools.
    if link.about.resources
        && let Err(error) = pages(link, |cursor| Ask::Resources { cursor }, |page| catalog.add_resources(page)).await
    {
        catalog.problems.push(format!("its resources cannot be listed: {error}"));
    }
    if link.about.prompts
        && let Err(error) = pages(link, |cursor| Ask::Prompts { cursor }, |page| catalog.add_prompts(page)).await
    {
        catalog.problems.push(format!("its prompts cannot be listed: {error}"));
    }
    let most = catalog::MOST;
    if catalog.tools.len() > most {
        catalog.problems.push(format!("only the first {most} of {} tools are taken", catalog.tools.len()));
        catalog.tools.truncate(most);
    }
    Ok(catalog)
}

async fn pages(link: &Link, ask: fn(Option<String>) -> Ask, mut take: impl FnMut(&Value)) -> Result<(), LinkError> {
    let mut cursor = None;
    for _ in 0..PAGES {
        let page = link.ask(ask(cursor.clone()), LIST, &CancellationToken::new(), None).await?;
        take(&page);
        let next = catalog::next(&page);
        // The same mark again would go round for ever.
        if next.is_none() || next == cursor {
            break;
        }
        cursor = next;
    }
    Ok(())
}

/// The end of a future, once; or never.
async fn pending<T>(slot: &mut Option<BoxFuture<'static, T>>) -> T {
    match slot {
        Some(future) => {
            let done = future.as_mut().await;
            *slot = None;
            done
        }
        None => std::future::pending().await,
    }
}

async fn until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}
