//! The thread that owns the database: runs jobs in order, writes streamed text on time, and indexes when idle.

use super::db::Db;
use super::durability::check;
use super::journal::pending;
use super::{Opened, index, live, open};
use crate::lock::lock;
use crate::protocol::SessionId;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::{Notify, mpsc, oneshot, watch};
use tokio::time::Instant;

/// Streamed text reaches the disk at least this often.
pub(super) const STREAM_EVERY: Duration = Duration::from_millis(300);
/// Quiet time before the search indexes take in many new items …
const INDEX_AFTER: Duration = Duration::from_millis(400);
/// … and before they take in a few: a batch costs little more to write than one item. A search takes in what is left, after
/// the program ended, too.
const INDEX_FEW_AFTER: Duration = Duration::from_secs(600);

/// Something to do on the thread, in order. Not data, unlike the jobs of the UI: each is private to one method of the handle.
pub(super) type Work = Box<dyn FnOnce(&mut Db) + Send>;

pub(super) enum Order {
    /// Sees every item that was appended before.
    Run(Work),
    /// Needs no item to be in the database yet.
    Beside(Work),
    /// Finish everything and end.
    Close(oneshot::Sender<()>),
}

/// Text of an answer that has not become an item.
#[derive(Clone, Debug, Default)]
pub(super) struct Streamed {
    pub turn: u32,
    pub text: String,
    pub reasoning: String,
}

/// What can't be written now, in words for a person.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Troubles {
    pub database: Option<String>,
    pub journal: Option<String>,
    /// What the check of the database found.
    pub damage: Option<String>,
}

impl Troubles {
    pub fn first(&self) -> Option<String> {
        [&self.database, &self.journal, &self.damage].into_iter().find_map(Clone::clone)
    }
}

/// What the handles and the thread share beside the queue.
#[derive(Default)]
pub(super) struct Shared {
    /// The newest streamed text of each session, not yet written.
    streams: Mutex<HashMap<SessionId, Streamed>>,
    bell: Notify,
    trouble: watch::Sender<Troubles>,
    pub written: super::durability::written::Written,
    /// The outcome of a check that the thread is yet to take over.
    found: Mutex<Option<Option<String>>>,
}

impl Shared {
    /// Puts the newest text in place of an older one that was not written.
    pub fn stream(&self, session: &SessionId, turn: u32, text: &str, reasoning: &str) {
        let mut streams = lock(&self.streams);
        let slot = match streams.get_mut(session) {
            Some(slot) => slot,
            None => streams.entry(session.clone()).or_default(),
        };
        slot.turn = turn;
        slot.text.clear();
        slot.text.push_str(text);
        slot.reasoning.clear();
        slot.reasoning.push_str(reasoning);
        drop(streams);
        self.bell.notify_one();
    }

    /// Forgets streamed text: its item is there.
    pub fn unstream(&self, session: &SessionId) {
        lock(&self.streams).remove(session);
    }

    pub fn take_streams(&self) -> HashMap<SessionId, Streamed> {
        std::mem::take(&mut *lock(&self.streams))
    }

    /// What is wrong now, in words for a person.
    pub fn trouble(&self) -> Option<String> {
        self.trouble.borrow().first()
    }

    /// Follows what is wrong.
    pub fn troubles(&self) -> watch::Receiver<Troubles> {
        self.trouble.subscribe()
    }

    /// What the database refuses now; `None`: it takes everything.
    pub fn set_trouble(&self, trouble: Option<String>) {
        self.tell(|troubles| &mut troubles.database, trouble);
    }

    /// What the journal refuses now.
    pub fn set_journal_trouble(&self, trouble: Option<String>) {
        self.tell(|troubles| &mut troubles.journal, trouble);
    }

    /// Damage that a check found.
    pub fn set_damage(&self, damage: Option<String>) {
        self.tell(|troubles| &mut troubles.damage, damage);
    }

    /// A check of the database is over: what is wrong with it.
    pub fn found(&self, faults: Option<String>) {
        *lock(&self.found) = Some(faults);
        self.bell.notify_one();
    }

    pub fn take_found(&self) -> Option<Option<String>> {
        lock(&self.found).take()
    }

    fn tell(&self, which: impl Fn(&mut Troubles) -> &mut Option<String>, trouble: Option<String>) {
        self.trouble.send_if_modified(|troubles| {
            let place = which(troubles);
            let is_news = *place != trouble;
            *place = trouble;
            is_news
        });
    }
}

/// The thread's whole life. Opening happens here, so that making a handle costs nothing.
pub(super) fn run(
    home: PathBuf,
    orders: mpsc::Receiver<Order>,
    opened: watch::Sender<Option<Opened>>,
    shared: Arc<Shared>,
) {
    // A runtime of its own, for a receive with a deadline.
    let clock = match tokio::runtime::Builder::new_current_thread().enable_time().build() {
        Ok(clock) => clock,
        Err(error) => return refuse(&home, &opened, &error.to_string()),
    };
    match open::open(&home, shared) {
        Err(error) => refuse(&home, &opened, &error.to_string()),
        Ok((mut db, told)) => {
            let taken = super::journal::take_in::after_kills(&mut db);
            live::bury(&mut db);
            opened.send_replace(Some(told));
            check::begin(&mut db, taken.unclean > 0);
            let closed = clock.block_on(serve(&mut db, orders));
            // Whoever waits for the close finds the file as SQLite leaves it.
            drop(db);
            if let Some(closed) = closed {
                // A caller that is gone needs no answer.
                let _ = closed.send(());
            }
        }
    }
}

fn refuse(home: &std::path::Path, opened: &watch::Sender<Option<Opened>>, why: &str) {
    let warning = format!("sessions are not saved: could not start the store in {}: {why}", home.display());
    opened.send_replace(Some(Opened { path: String::new(), warning: Some(warning) }));
}

/// Returns who waits for the end.
async fn serve(db: &mut Db, mut orders: mpsc::Receiver<Order>) -> Option<oneshot::Sender<()>> {
    let shared = db.shared.clone();
    let mut written = Instant::now() - STREAM_EVERY;
    let mut stream_due: Option<Instant> = None;
    let mut index_due = next_index(db);
    loop {
        let due = [stream_due, index_due, db.pending.due()].into_iter().flatten().min();
        let timer = async {
            match due {
                Some(due) => tokio::time::sleep_until(due).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            order = orders.recv() => match order {
                Some(Order::Run(work)) => {
                    pending::flush(db);
                    work(db);
                    index_due = next_index(db);
                }
                Some(Order::Beside(work)) => work(db),
                Some(Order::Close(done)) => {
                    finish(db);
                    return Some(done);
                }
                None => {
                    finish(db);
                    return None;
                }
            },
            () = shared.bell.notified() => {
                check::take_over(db);
                stream_due.get_or_insert(Instant::now().max(written + STREAM_EVERY));
            }
            () = timer => {}
        }
        // Jobs in an unbroken row must not keep the streamed text waiting.
        if stream_due.is_some_and(|due| due <= Instant::now()) {
            live::write_streams(db);
            written = Instant::now();
            stream_due = None;
        }
        if db.pending.due().is_some_and(|due| due <= Instant::now()) {
            pending::flush(db);
            index_due = next_index(db);
        }
        if index_due.is_some_and(|due| due <= Instant::now()) {
            index_due = index_some(db).then(Instant::now);
        }
    }
}

/// When the indexes are to take in what is new, if nothing else comes.
fn next_index(db: &Db) -> Option<Instant> {
    let wait = |behind| if behind >= index::BATCH { INDEX_AFTER } else { INDEX_FEW_AFTER };
    // An index that can't be asked is told of when it is written.
    db.unindexed.then(|| Instant::now() + index::behind(&db.conn).map_or(INDEX_AFTER, wait))
}

/// Whether more is to do.
fn index_some(db: &mut Db) -> bool {
    match index::follow(db) {
        Ok(more) => {
            db.unindexed = more;
            more
        }
        Err(error) => {
            // Nothing is lost: a search tries again and then tells.
            tracing::warn!(%error, "the search index is behind");
            db.unindexed = false;
            false
        }
    }
}

fn finish(db: &mut Db) {
    let is_whole = pending::flush(db);
    live::settle_streams(db, None);
    live::leave(db);
    let is_whole = super::durability::checkpoint(db) && is_whole;
    if is_whole {
        super::journal::leave(db);
    }
}
