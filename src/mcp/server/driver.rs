//! The task of a server: hears facts, asks `state` what to do about them, and keeps the connection so.

use super::Server;
use super::lists::lists;
use crate::lock::lock;
use crate::mcp::catalog::Catalog;
use crate::mcp::link::{Ask, Host, Link, LinkError};
use crate::mcp::state::{BREAK, Fact, Order};
use crate::mcp::{messages, tokens, tool};
use futures::future::BoxFuture;
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// How long a ping may take.
const PING: Duration = Duration::from_secs(10);
/// Lists that change again and again are read at most this often.
const LISTS_EVERY: Duration = Duration::from_millis(300);

/// The end of a try to connect.
type Opened = Result<(Arc<Link>, Catalog), LinkError>;

/// The task of a server.
pub(super) struct Driver {
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
    pub(super) fn new(server: Arc<Server>) -> Self {
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

    pub(super) async fn run(mut self, mut facts: mpsc::UnboundedReceiver<Fact>) {
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
                    tracing::warn!("mcp {}: could not read its lists: {error}", self.server.settings.name)
                }
                Next::Ponged(true) => {}
                Next::Ponged(false) => self.fact(Fact::Lost { why: "it did not answer pings".into() }).await,
                Next::PingDue => self.start_ping(),
                Next::ListDue => self.start_list(),
                Next::Changed => self.list_at = self.list_at.or(Some(Instant::now() + LISTS_EVERY)),
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
            let host = Arc::clone(&server.host) as Arc<dyn Host>;
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
                *lock(&self.server.used) = Instant::now();
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
                    why = format!("{why}; last output: {}", messages::line(&self.server.settings.masked(last), 300));
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
            face.tokens = tools.iter().map(|tool| tokens(tool.spec())).sum();
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
