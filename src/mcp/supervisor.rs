//! What all servers share: where their tools go, where logins are kept, who answers for the model, and whose turn it is.

use super::oauth::Logins;
use crate::tools::spec::Publish;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

/// Servers that start at the same time.
const AT_ONCE: usize = 6;
/// After this long the next one may start though an earlier one has not answered.
const TURN: Duration = Duration::from_secs(3);

/// What servers need of the program.
pub struct Needs {
    pub publish: Arc<dyn Publish>,
    /// Folder of the logins.
    pub tokens: Logins,
    /// The environment of this program.
    pub env: BTreeMap<String, String>,
    /// The folder that servers may know of.
    pub root: PathBuf,
}

/// Shared by all servers.
pub(super) struct Supervisor {
    pub publish: Arc<dyn Publish>,
    pub tokens: Logins,
    pub env: BTreeMap<String, String>,
    pub root: PathBuf,
    turns: Arc<Semaphore>,
    starts: AtomicUsize,
    told: watch::Sender<u64>,
}

impl Supervisor {
    pub(super) fn new(needs: Needs) -> Self {
        Self {
            publish: needs.publish,
            tokens: needs.tokens,
            env: needs.env,
            root: needs.root,
            turns: Arc::new(Semaphore::new(AT_ONCE)),
            starts: AtomicUsize::new(0),
            told: watch::Sender::new(0),
        }
    }

    /// Waits for a turn to start; it is given back by itself after a while, so that a dead server holds up nobody.
    pub(super) async fn turn(&self) -> Option<Turn> {
        let permit = Arc::clone(&self.turns).acquire_owned().await.ok()?;
        Some(Turn::of(permit))
    }

    pub(super) fn started(&self) {
        self.starts.fetch_add(1, Ordering::Relaxed);
    }

    /// Connections begun so far.
    pub(super) fn starts(&self) -> usize {
        self.starts.load(Ordering::Relaxed)
    }

    /// Something that people see has changed.
    pub(super) fn tell(&self) {
        self.told.send_modify(|count| *count += 1);
    }

    pub(super) fn changes(&self) -> watch::Receiver<u64> {
        self.told.subscribe()
    }
}

/// The right to start; given back when dropped, or after [`TURN`].
pub(super) struct Turn(tokio::task::JoinHandle<()>);

impl Turn {
    fn of(permit: OwnedSemaphorePermit) -> Self {
        Self(tokio::spawn(async move {
            tokio::time::sleep(TURN).await;
            drop(permit);
        }))
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.0.abort();
    }
}
