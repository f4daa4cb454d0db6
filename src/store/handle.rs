//! The handle that everybody holds: each call is a job for the actor, answered in order.

use super::actor::{self, Order, Shared};
use super::db::Db;
use super::error::StoreError;
use super::filter::Filter;
use super::journal::{self, pending};
use super::life::Shelf;
use super::{
    Imported, Incoming, Matches, NewSession, Opened, Opening, Page, Repaired, SearchHit, SessionMeta, SessionRow,
    Stats, StoreJob, StoreReply, drafts, durability, index, items, jobs, resolve, resume, search, sessions, transfer,
};
use crate::protocol::{Item, ItemId, SessionId};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot, watch};

/// Jobs that may wait; whoever has more waits itself.
const QUEUE: usize = 256;
/// The thread's stack in bytes: SQLite's and the JSON parser's needs, not the 2 MiB of the default.
const STACK: usize = 1 << 20;

/// The sessions on disk. Cheap to clone; all clones speak to one thread.
#[derive(Clone)]
pub struct Store {
    orders: mpsc::Sender<Order>,
    opened: watch::Receiver<Option<Opened>>,
    shared: Arc<Shared>,
}

impl Store {
    /// Starts the thread that opens the database of this home. Takes microseconds; jobs wait until it is open.
    pub fn spawn(home: impl Into<PathBuf>) -> Self {
        let home = home.into();
        let (orders, queue) = mpsc::channel(QUEUE);
        let (tell, opened) = watch::channel(None);
        let shared = Arc::new(Shared::default());
        let for_thread = shared.clone();
        let run = move || actor::run(home, queue, tell, for_thread);
        if let Err(error) = std::thread::Builder::new().name("store".to_owned()).stack_size(STACK).spawn(run) {
            // The queue's other end is gone with the closure: every call answers that the store is closed.
            shared.set_trouble(Some(format!("sessions are not saved: no thread for the store: {error}")));
        }
        Self { orders, opened, shared }
    }

    /// Waits until the database is open; says where it is and what is unusual about it.
    pub async fn opened(&self) -> Opened {
        let mut opened = self.opened.clone();
        let outcome = opened.wait_for(Option::is_some).await.ok().and_then(|outcome| outcome.clone());
        outcome.unwrap_or_else(|| Opened {
            path: String::new(),
            warning: Some(self.trouble().unwrap_or_else(|| StoreError::Closed.to_string())),
        })
    }

    /// What is wrong with saving now, in words with a remedy; `None` when all is well. Items that went to the journal
    /// count as saved and are told of here.
    pub fn trouble(&self) -> Option<String> {
        self.shared.trouble()
    }

    /// Waits until [`Store::trouble`] is another than this one, and returns it.
    pub async fn trouble_after(&self, last: Option<&str>) -> Option<String> {
        let mut troubles = self.shared.troubles();
        // The sender lives as long as this handle.
        troubles.wait_for(|now| now.first().as_deref() != last).await.ok().and_then(|now| now.first())
    }

    /// Runs a job on the thread and waits for its answer.
    pub(super) async fn ask<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Db) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.asked(Order::Run, work).await
    }

    /// The same for a job that needs no item to be in the database yet.
    pub(super) async fn ask_beside<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Db) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.asked(Order::Beside, work).await
    }

    async fn asked<T: Send + 'static>(
        &self,
        order: fn(actor::Work) -> Order,
        work: impl FnOnce(&mut Db) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (tell, answer) = oneshot::channel();
        let order = order(Box::new(move |db| {
            // A caller that no longer waits still gets its work done.
            let _ = tell.send(work(db));
        }));
        self.orders.send(order).await.map_err(|_| StoreError::Closed)?;
        answer.await.map_err(|_| StoreError::Closed)?
    }

    /// Runs a job on the thread when its turn comes; nobody waits for it, and it needs no item to be in the database. Takes
    /// microseconds.
    pub(super) fn send_soon(&self, work: impl FnOnce(&mut Db) + Send + 'static) {
        match self.orders.try_send(Order::Beside(Box::new(work))) {
            Ok(()) => {}
            Err(mpsc::error::TrySendError::Full(order)) => {
                let orders = self.orders.clone();
                // A queue that is full is rare: this one waits its turn beside.
                match tokio::runtime::Handle::try_current() {
                    Ok(here) => drop(here.spawn(async move { orders.send(order).await.is_ok() })),
                    Err(_) => tracing::error!("lost a job for the store: its queue is full"),
                }
            }
            Err(mpsc::error::TrySendError::Closed(_)) => tracing::error!("lost a job for the store: it is closed"),
        }
    }

    /// Makes a session; it is listed once it has an item. One that exists is left as it is.
    pub async fn create(&self, new: NewSession) -> Result<(), StoreError> {
        self.ask_beside(move |db| sessions::create(db, &new)).await
    }

    /// Appends items; they survive the program's death when this returns. Returns their ids: the given one where it is
    /// greater than the session's last, else the next free one. Usage in assistant items is added to the session's.
    pub async fn append(&self, session: &SessionId, items: Vec<Item>) -> Result<Vec<ItemId>, StoreError> {
        let session = session.clone();
        self.ask_beside(move |db| pending::append(db, &session, &items)).await
    }

    /// The whole answer so far, while it streams. Never waits; the newest text is on disk within 0.3 s and is forgotten
    /// when an item other than a note is appended.
    pub fn streamed(&self, session: &SessionId, turn: u32, text: impl AsRef<str>, reasoning: impl AsRef<str>) {
        self.shared.stream(session, turn, text.as_ref(), reasoning.as_ref());
    }

    /// Opens a session for work: calls without a result and a cut-off answer become items first, unless another process
    /// works in it. `items` is the newest page of at most `limit`. `readers` are the tools whose plain calls the audit log
    /// leaves out.
    pub async fn open_session(
        &self,
        session: &SessionId,
        limit: usize,
        readers: Vec<String>,
    ) -> Result<Opening, StoreError> {
        let session = session.clone();
        self.ask(move |db| resume::open(db, &session, limit, &readers)).await
    }

    /// What the model reads of a session: its items from the last compression on, in time order.
    pub async fn all_items(&self, session: &SessionId) -> Result<Vec<Item>, StoreError> {
        Ok(self.read_from(session, |meta| meta.context_from).await?.items)
    }

    /// Every item of a session in time order, for exports.
    pub async fn whole(&self, session: &SessionId) -> Result<Page, StoreError> {
        self.read_from(session, |_| ItemId(0)).await
    }

    /// Every answer that a session got and paid for, in time order: also those that a rewind left out, without those that
    /// it was forked with.
    pub async fn answers(&self, session: &SessionId) -> Result<Vec<Item>, StoreError> {
        let session = session.clone();
        self.ask(move |db| {
            let found = db.read("read the session", |conn| match sessions::key(conn, &session)? {
                Some(key) => items::answers(conn, key).map(Some),
                None => Ok(None),
            })?;
            found.ok_or_else(|| sessions::missing(&session))
        })
        .await
    }

    async fn read_from(&self, session: &SessionId, first: fn(&SessionMeta) -> ItemId) -> Result<Page, StoreError> {
        let session = session.clone();
        self.ask(move |db| {
            let page = db.read("read the session", |conn| {
                let Some((key, meta)) = sessions::meta(conn, &session)? else { return Ok(None) };
                items::from(conn, key, first(&meta)).map(Some)
            })?;
            page.ok_or_else(|| sessions::missing(&session))
        })
        .await
    }

    /// The newest items before one, at most `limit`, in time order.
    pub async fn older(&self, session: &SessionId, before: ItemId, limit: usize) -> Result<Page, StoreError> {
        let session = session.clone();
        self.ask(move |db| items::page_of(db, &session, before, limit)).await
    }

    /// The same with what rewinds left out, and for each of those the number of its rewind.
    pub async fn recorded(
        &self,
        session: &SessionId,
        before: ItemId,
        limit: usize,
    ) -> Result<(Page, BTreeMap<ItemId, i64>), StoreError> {
        let session = session.clone();
        self.ask(move |db| items::recorded(db, &session, before, limit)).await
    }

    /// The newest items up to one, at most `limit`, in time order, as the conversation was when that one came: with what the
    /// rewind left out that left out the item.
    pub async fn seen_at(&self, session: &SessionId, upto: ItemId, limit: usize) -> Result<Vec<Item>, StoreError> {
        let session = session.clone();
        self.ask(move |db| items::seen_at(db, &session, upto, limit)).await
    }

    /// What is known about a session.
    pub async fn about(&self, session: &SessionId) -> Result<SessionMeta, StoreError> {
        let session = session.clone();
        self.ask(move |db| {
            let found = db.read("read the session", |conn| sessions::meta(conn, &session))?;
            found.map(|(_, meta)| meta).ok_or_else(|| sessions::missing(&session))
        })
        .await
    }

    /// Keeps the system prompt, to be reused byte for byte.
    pub async fn set_prompt(&self, session: &SessionId, prompt: String) -> Result<(), StoreError> {
        self.change("save the system prompt", session, move |tx, key| {
            tx.execute("INSERT OR REPLACE INTO prompts (session, text) VALUES (?1, ?2)", (key, prompt)).map(drop)
        })
        .await
    }

    /// The system prompt as it was assembled once.
    pub async fn prompt(&self, session: &SessionId) -> Result<Option<String>, StoreError> {
        let session = session.clone();
        self.ask(move |db| {
            db.read("read the system prompt", |conn| match sessions::key(conn, &session)? {
                Some(key) => resume::prompt(conn, key),
                None => Ok(None),
            })
        })
        .await
    }

    /// Sets the title and returns it as kept: cleaned, and numbered when another session has it. Clears it when nothing
    /// is left of it.
    pub async fn set_title(&self, session: &SessionId, title: &str) -> Result<Option<String>, StoreError> {
        let (session, title) = (session.clone(), title.to_owned());
        self.ask(move |db| sessions::set_title(db, &session, &title)).await
    }

    /// The model that the session goes on with.
    pub async fn set_model(&self, session: &SessionId, model: &str) -> Result<(), StoreError> {
        let model = model.to_owned();
        self.change("save the model", session, move |tx, key| {
            tx.execute("UPDATE sessions SET model = ?2 WHERE key = ?1", (key, model)).map(drop)
        })
        .await?;
        self.follow_head(session).await
    }

    /// The folder that the session goes on in.
    pub async fn set_cwd(&self, session: &SessionId, cwd: &str) -> Result<(), StoreError> {
        let cwd = cwd.to_owned();
        self.change("save the folder", session, move |tx, key| {
            tx.execute("UPDATE sessions SET cwd = ?2 WHERE key = ?1", (key, cwd)).map(drop)
        })
        .await?;
        self.follow_head(session).await
    }

    /// Keeps a named value of a session: grants, plan, effort. `Null` removes it.
    pub async fn set_meta(&self, session: &SessionId, name: &str, value: serde_json::Value) -> Result<(), StoreError> {
        let (session, name) = (session.clone(), name.to_owned());
        self.ask_beside(move |db| {
            let work = |tx: &rusqlite::Transaction<'_>, key| resume::put_value(tx, key, &name, &value);
            sessions::change(db, "save the session's state", &session, work)?;
            journal::follow_fact(db, &session, name, value);
            Ok(())
        })
        .await
    }

    /// The named values of a session.
    pub async fn meta(&self, session: &SessionId) -> Result<BTreeMap<String, serde_json::Value>, StoreError> {
        let session = session.clone();
        self.ask(move |db| {
            db.read("read the session's state", |conn| match sessions::key(conn, &session)? {
                Some(key) => resume::values(conn, key),
                None => Ok(BTreeMap::new()),
            })
        })
        .await
    }

    /// The journal says what the session's row says.
    async fn follow_head(&self, session: &SessionId) -> Result<(), StoreError> {
        let session = session.clone();
        self.ask_beside(move |db| {
            journal::follow_head(db, &session);
            Ok(())
        })
        .await
    }

    async fn change(
        &self,
        doing: &'static str,
        session: &SessionId,
        work: impl FnOnce(&rusqlite::Transaction<'_>, i64) -> rusqlite::Result<()> + Send + 'static,
    ) -> Result<(), StoreError> {
        let session = session.clone();
        self.ask_beside(move |db| sessions::change(db, doing, &session, work)).await
    }

    /// The session that a person means: an id, its unique start or its last six digits, a title, or
    /// the unique start of a title.
    pub async fn resolve(&self, query: &str) -> Result<SessionId, StoreError> {
        let query = query.to_owned();
        self.ask(move |db| db.read("look for the session", |conn| resolve::resolve(conn, &query))?).await
    }

    /// The session used last, in this folder or anywhere.
    pub async fn latest(&self, cwd: Option<&str>) -> Result<Option<SessionId>, StoreError> {
        let here = cwd.map(str::to_owned);
        self.ask(move |db| db.read("list sessions", |conn| sessions::latest(conn, here.as_deref()))).await
    }

    /// Sessions, pinned ones first, newest first; with a query those that match, best first, with snippets.
    pub async fn list(&self, query: &str, here: Option<&str>, limit: usize) -> Result<Vec<SessionRow>, StoreError> {
        let (query, here) = (query.to_owned(), here.map(str::to_owned));
        self.ask(move |db| {
            if query.trim().is_empty() {
                return db.read("list sessions", |conn| sessions::list(conn, here.as_deref(), limit));
            }
            Ok(search::list(db, &query, here.as_deref(), Shelf::Shown, limit)?.rows)
        })
        .await
    }

    /// Hits in what was said and done, best first; words like `role:tool` narrow it ([`Filter::read`]).
    pub async fn search(
        &self,
        query: &str,
        here: Option<&str>,
        limit: usize,
    ) -> Result<Matches<SearchHit>, StoreError> {
        let (query, filter) = Filter::read(query, here);
        self.hits(&query, filter, limit).await
    }

    /// Hits that a filter holds for, best first.
    pub async fn hits(&self, query: &str, filter: Filter, limit: usize) -> Result<Matches<SearchHit>, StoreError> {
        let query = query.to_owned();
        self.ask(move |db| search::hits(db, &query, &filter, limit)).await
    }

    /// The item of a session, whatever was rewound.
    pub async fn item(&self, session: &SessionId, item: ItemId) -> Result<Option<Item>, StoreError> {
        let session = session.clone();
        self.ask(move |db| items::one(db, &session, item)).await
    }

    /// Deletes a session with all that belongs to it; `false` when there was none.
    pub async fn delete(&self, session: &SessionId) -> Result<bool, StoreError> {
        let session = session.clone();
        self.ask(move |db| sessions::delete(db, &session)).await
    }

    /// Takes sessions in, once each; what became of each, in order.
    pub async fn import(&self, sessions: Vec<Incoming>) -> Result<Vec<Imported>, StoreError> {
        self.ask(move |db| transfer::import(db, &sessions)).await
    }

    /// The value of this name of every session that has it.
    pub async fn facts(&self, name: &str) -> Result<BTreeMap<SessionId, serde_json::Value>, StoreError> {
        let name = name.to_owned();
        self.ask(move |db| transfer::facts(db, &name)).await
    }

    /// Does a job of the UI. `None`: done, nothing to tell.
    pub async fn job(&self, job: StoreJob) -> Option<StoreReply> {
        let order = if jobs::is_beside(&job) { Order::Beside } else { Order::Run };
        match self.asked(order, move |db| Ok(jobs::run(db, job))).await {
            Ok(reply) => reply,
            Err(error) => Some(StoreReply::Failed(error.to_string())),
        }
    }

    /// The last prompts of all sessions, newest last.
    pub async fn history(&self, limit: usize) -> Result<Vec<String>, StoreError> {
        self.ask(move |db| drafts::history(db, limit)).await
    }

    /// Figures over all sessions.
    pub async fn stats(&self) -> Result<Stats, StoreError> {
        self.ask(|db| durability::stats(db)).await
    }

    /// Takes in journals, checks, and saves what a damaged database still holds.
    pub async fn repair(&self) -> Result<Repaired, StoreError> {
        self.ask(durability::repair).await
    }

    /// What is saved now survives a power loss when this returns; for the end of a turn.
    pub async fn sync(&self) -> Result<(), StoreError> {
        self.ask_beside(|db| {
            durability::sync(db);
            Ok(())
        })
        .await
    }

    /// Brings the search index up to date; a search does so by itself.
    pub async fn index(&self) -> Result<(), StoreError> {
        self.ask(index::catch_up).await
    }

    /// Finishes every waiting job and closes the database. Later calls answer that the store is closed.
    pub async fn close(&self) {
        let (tell, closed) = oneshot::channel();
        if self.orders.send(Order::Close(tell)).await.is_ok() {
            // An error means that another clone closed it first.
            let _ = closed.await;
        }
    }
}
