//! What can go from a home: old sessions with all that belongs to them, and what nobody needs any more.
//!
//! Nothing is looked for twice: a plan says what would go and what that frees, and only what stands in it goes.

mod age;
mod files;
mod start;

pub use age::age;
pub use files::{OLD_BACKUP, STALE};
pub use start::{at_start, words};

use crate::checkpoints::{self, Named, Shelf};
use crate::config::{Config, Paths};
use crate::protocol::SessionId;
use crate::recordings;
use crate::store::{Aged, Blobs, Cut, Pruned, Store, StoreError, aged_at};
use files::{Files, taken};

/// A day in milliseconds.
const DAY: i64 = 24 * 3600 * 1000;
/// Days after which the journal of a session may go when all take more than their budget.
const RESTED: i64 = 30;

/// What of one kind would go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    pub kind: &'static str,
    pub count: u64,
    /// On the disk, about.
    pub bytes: u64,
}

/// What would go.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    pub aged: Aged,
    /// Sessions and journals take more than `sessions.budget_bytes`.
    pub is_over: bool,
    cut: Cut,
    named: Vec<Named>,
    recordings: u64,
    saved: (u64, u64),
    files: Files,
}

/// What went.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// Ids.
    pub sessions: Vec<String>,
    /// Ids or files, and why they are still there.
    pub failed: Vec<(String, String)>,
    /// What the disk has more of now.
    pub freed: u64,
    /// Why the database is as large as it was, in words.
    pub waits: Option<String>,
}

impl Plan {
    /// What would go from this home; with `used_before`, in milliseconds since the epoch, also sessions that were last used
    /// before that time.
    ///
    /// # Errors
    /// The database can't be read.
    pub async fn of(
        store: &Store,
        paths: &Paths,
        config: &Config,
        used_before: Option<i64>,
    ) -> Result<Self, StoreError> {
        let mut cut = cut(config, used_before);
        let mut aged = store.aged(cut).await?;
        let is_over = over(config, &aged);
        if is_over {
            cut.journals_before = Some(now() - RESTED * DAY);
            aged = store.aged(cut).await?;
        }
        Ok(Self::with(paths, cut, aged, is_over))
    }

    /// The same beside everybody who works on it; `None` without a database that can be read. Blocks.
    pub fn beside(paths: &Paths, config: &Config, used_before: Option<i64>) -> Option<Self> {
        let mut cut = cut(config, used_before);
        let mut aged = aged_at(&paths.home, cut)?;
        let is_over = over(config, &aged);
        if is_over {
            cut.journals_before = Some(now() - RESTED * DAY);
            aged = aged_at(&paths.home, cut)?;
        }
        Some(Self::with(paths, cut, aged, is_over))
    }

    fn with(paths: &Paths, cut: Cut, aged: Aged, is_over: bool) -> Self {
        let goes = |id: &str| aged.sessions.iter().any(|row| row.id == id);
        let named: Vec<Named> = Shelf::new(&paths.home)
            .list()
            .into_iter()
            .filter(|named| {
                if goes(&named.session) {
                    cut.used_before.or(cut.trashed_before).is_some_and(|before| named.at < before)
                } else {
                    files::is_orphan(named, &aged.ids)
                }
            })
            .collect();
        let recordings =
            aged.sessions.iter().map(|row| files::bytes_in(&recordings::folder(&paths.home, &row.id))).sum();
        let mut hashes = aged.hashes.clone();
        if !hashes.is_empty() {
            let known = checkpoints::known_hashes(paths, &named);
            hashes.retain(|hash| !known.contains(hash));
        }
        let saved = Blobs::new(paths.history()).spare(hashes);
        let saved = (saved.len() as u64, saved.iter().map(|(_, bytes)| bytes).sum());
        Self { files: Files::spare(paths, &aged.ids), aged, is_over, cut, named, recordings, saved }
    }

    /// What would go, by kind; kinds of which nothing would are left out.
    pub fn parts(&self) -> Vec<Part> {
        let part = |kind, count: usize, bytes| Part { kind, count: count as u64, bytes };
        let aged = &self.aged;
        let spare: u64 = aged.spare_journals.iter().map(|journal| journal.bytes).sum();
        let journals = aged.spare_journals.len() + if aged.journals > 0 { aged.sessions.len() } else { 0 };
        let named = self.named.iter().map(|named| files::bytes_of(&named.path(self.files.home()))).sum();
        let (recorded, recordings) = self.files.recordings();
        let mut parts = vec![
            part("sessions in the database", aged.sessions.len(), aged.bytes),
            part("journals", journals, aged.journals + spare),
            part("recordings", recorded, self.recordings + recordings),
            part("checkpoints", self.named.len(), named),
            Part { kind: "saved files", count: self.saved.0, bytes: self.saved.1 },
        ];
        parts.extend(self.files.parts());
        parts.retain(|part| part.bytes > 0 || part.count > 0);
        parts
    }

    /// What all of it takes on the disk, about.
    pub fn bytes(&self) -> u64 {
        self.parts().iter().map(|part| part.bytes).sum()
    }

    /// Does it. `shrink_below`: a larger database is not written anew; `tell` hears how many of the sessions are done.
    ///
    /// # Errors
    /// The store fails; what went before that is gone.
    pub async fn carry_out(
        self,
        store: &Store,
        paths: &Paths,
        shrink_below: u64,
        tell: &mut (dyn FnMut(usize) + Send),
    ) -> Result<Done, StoreError> {
        let before = taken(paths);
        let (mut done, mut pruned) = (Done::default(), Pruned::default());
        if !self.aged.sessions.is_empty() {
            // Figures over time keep what they were.
            store.count_tools().await?;
        }
        for (at, row) in self.aged.sessions.iter().enumerate() {
            match store.prune(&SessionId(row.id.clone()), self.cut).await {
                Ok(Some(gone)) => {
                    done.sessions.push(row.id.clone());
                    pruned.and(gone);
                }
                // Used, pinned or gone since the plan was made.
                Ok(None) => {}
                Err(error @ StoreError::Closed) => return Err(error),
                Err(error) => done.failed.push((row.id.clone(), error.to_string())),
            }
            tell(at + 1);
        }
        let mut left = Vec::new();
        let mut failed = |what: String, why: std::io::Error| left.push((what, why.to_string()));
        for journal in &self.aged.spare_journals {
            if let Err(error) = journal.remove(&paths.home) {
                failed("a journal".to_owned(), error);
            }
        }
        let shelf = Shelf::new(&paths.home);
        let is_gone = |session: &String| !self.aged.ids.contains(session) || done.sessions.contains(session);
        for named in self.named.into_iter().filter(|named| is_gone(&named.session)) {
            match shelf.remove(&named) {
                Ok(()) => pruned.hashes.extend(named.hashes()),
                Err(error) => failed(format!("checkpoint {}", named.name), error),
            }
        }
        if !pruned.hashes.is_empty() {
            let known = (store.known_hashes().await?, checkpoints::known_hashes(paths, &[]));
            let nobodys = pruned.hashes.iter().filter(|hash| !known.0.contains(*hash) && !known.1.contains(*hash));
            let blobs = Blobs::new(paths.history());
            for (hash, _) in blobs.spare(nobodys.cloned()) {
                if let Err(error) = blobs.forget(&hash) {
                    failed("a saved file".to_owned(), error);
                }
            }
        }
        for (path, error) in self.files.remove() {
            failed(path.display().to_string(), error);
        }
        done.failed.extend(left);
        done.waits = store.shrink(pruned, shrink_below).await?;
        done.freed = before.saturating_sub(taken(paths));
        Ok(done)
    }
}

fn now() -> i64 {
    chrono::Utc::now().timestamp_millis()
}

fn cut(config: &Config, used_before: Option<i64>) -> Cut {
    let days = i64::from(config.sessions.trash_days);
    Cut { used_before, trashed_before: (days > 0).then(|| now() - days * DAY), journals_before: None }
}

/// Whether the database and all journals take more than they may.
fn over(config: &Config, aged: &Aged) -> bool {
    let most = config.sessions.budget_bytes;
    most > 0 && aged.taken > most
}
