//! Sessions in SQLite: an actor thread owns the one connection. Items are appended, never rewritten.
//!
//! Owns: schema, durability, full-text search, drafts. Does not own: what an item means to the model.

mod actor;
pub mod audit;
mod blobs;
mod commands;
mod db;
mod drafts;
mod durability;
mod error;
mod handle;
mod items;
mod jobs;
mod journal;
mod life;
mod live;
mod open;
mod resolve;
mod resume;
mod rewind;
mod salvage;
mod schema;
mod search;
mod sessions;
#[cfg(test)]
mod tests;
mod title;
mod transfer;
mod uses;

pub use blobs::{Blobs, LARGEST, hash};
pub use commands::{Command, Wrote};
pub use drafts::HISTORY_KEPT;
pub use error::StoreError;
pub use handle::Store;
pub use journal::SpareJournal;
pub use life::{
    Aged, Branch, Calls, Claim, Cut, DayOf, Pruned, SessionChange, Shelf, Spent, Summary, TAG_CHARS, Tally, Worst,
    aged_at, on_disk, tags_of,
};
pub use resolve::short_id;
pub use resume::INTERRUPTED_RESULT;
pub use rewind::{FOLDER, FileChange, FileState, LINK, Prompt, Rewind, RewoundFile, Since};
pub use schema::APPLICATION_ID;
pub use search::{Matches, filter, sanitize_query};
pub use title::{TITLE_CHARS, sanitize_title};
pub use transfer::{Carried, Charge, Incoming, Parent, is_foreign, new_session_id};

use crate::protocol::{Image, Item, ItemId, SessionId, Usage};
use search::{index, query};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Milliseconds since the epoch.
fn now() -> i64 {
    chrono::Utc::now().timestamp_millis()
}

/// How the database was opened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Opened {
    /// The file; `:memory:` when nothing is saved, empty when there is no store.
    pub path: String,
    /// Why it is not the usual one, and what to do.
    pub warning: Option<String>,
}

impl From<Opened> for StoreReply {
    fn from(opened: Opened) -> Self {
        Self::Opened { path: opened.path, warning: opened.warning }
    }
}

/// A session that is about to exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewSession {
    pub id: SessionId,
    pub cwd: String,
    /// `PROVIDER:MODEL`; empty when none is set up.
    pub model: String,
    /// `tui`, `print` or `import`.
    pub source: String,
    /// Milliseconds since the epoch.
    pub started_at: i64,
}

impl NewSession {
    /// A session of which nothing but its id is known.
    fn bare(id: SessionId, started_at: i64) -> Self {
        Self { id, cwd: String::new(), model: String::new(), source: "tui".to_owned(), started_at }
    }
}

/// Everything about a session but its items.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionMeta {
    pub row: SessionRow,
    /// `tui`, `print` or `import`.
    pub source: String,
    /// The highest number given to an item; 0 when there is none.
    pub last_item: ItemId,
    pub last_turn: u32,
    /// The first item that the model reads: 1 in sessions of today, where an entry of its own says what a summary stands
    /// for.
    pub context_from: ItemId,
    /// Sums over the session.
    pub usage: Usage,
    /// The branch of its repository at its last prompt.
    pub branch: Option<String>,
}

/// Some items in time order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Page {
    pub items: Vec<Item>,
    /// Older ones exist.
    pub more: bool,
    /// Rows that could not be read or understood.
    pub skipped: u64,
}

/// A session as it is opened for work.
#[derive(Clone, Debug, PartialEq)]
pub struct Opening {
    pub meta: SessionMeta,
    /// The newest page in time order, with the items that were added to end what was cut off.
    pub items: Vec<Item>,
    pub more: bool,
    /// Rows of this page that could not be read or understood.
    pub skipped: u64,
    /// The system prompt as it was assembled once.
    pub prompt: Option<String>,
    /// Grants, plan, effort: what `set_meta` kept.
    pub values: BTreeMap<String, serde_json::Value>,
    /// The process that works in this session now, when it is another one. Then calls may lack results.
    pub live_elsewhere: Option<i64>,
}

/// One hit of a search.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchHit {
    /// Its snippet shows the hit.
    pub session: SessionRow,
    pub item: ItemId,
    /// `user`, `assistant` or `tool`.
    pub role: String,
    /// Milliseconds since the epoch.
    pub at: i64,
}

/// What became of an imported session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Imported {
    /// This many items.
    New(usize),
    /// It was there; this many items came after those it had.
    Extended(usize),
    /// All of it was there.
    Same,
    /// Another session has this id; nothing was changed.
    Differs,
}

/// Figures over all sessions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stats {
    pub path: String,
    /// The database and its log.
    pub bytes: u64,
    /// Written to journals, and to the log of the database, since they are counted: by programs that ended, and this one.
    pub journal_bytes: u64,
    pub log_bytes: u64,
    pub turns: u64,
    pub sessions: u64,
    pub items: u64,
    /// Milliseconds since the epoch.
    pub first_at: Option<i64>,
    pub last_at: Option<i64>,
    /// Tokens.
    pub input: u64,
    pub cached: u64,
    pub output: u64,
    /// US dollars, of the calls with a known price.
    pub cost: Option<f64>,
}

/// What a repair did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Repaired {
    /// One line a step.
    pub done: Vec<String>,
    /// Files that were replaced, under their new names.
    pub kept: Vec<String>,
}

/// A session in a list.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionRow {
    pub id: String,
    pub title: Option<String>,
    /// Start of the first prompt.
    pub preview: String,
    pub cwd: String,
    pub model: String,
    /// Milliseconds since the epoch.
    pub started_at: i64,
    pub updated_at: i64,
    pub items: u64,
    /// Where a search hit it, with `>>>` and `<<<` around the words.
    pub snippet: Option<String>,
    /// The item of that hit.
    pub hit: Option<ItemId>,
    /// What it says in short.
    pub summary: Option<String>,
    /// Words in small letters.
    pub tags: Vec<String>,
    pub pinned: bool,
    pub archived: bool,
    /// Since when it lies in the trash, in milliseconds since the epoch.
    pub trashed_at: Option<i64>,
}

/// A prompt that waits for its turn.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct QueuedPrompt {
    pub text: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Image>,
}

/// Work for the store that the UI asks for.
#[derive(Clone, Debug, PartialEq)]
pub enum StoreJob {
    /// Newest first, or best match first when there is a query.
    ListSessions {
        query: String,
        here: Option<String>,
        /// The usual ones, or what is archived or in the trash; words like `is:archived` win over it.
        shelf: Shelf,
        limit: usize,
    },
    /// The end of a session, or what stands around a hit.
    Preview {
        session: SessionId,
        hit: Option<ItemId>,
    },
    /// Items before this one, newest page first in time order.
    LoadOlder {
        session: SessionId,
        before: ItemId,
        limit: usize,
    },
    /// The composer's text; `None` session: the draft of a new session in this folder.
    SaveDraft {
        session: Option<SessionId>,
        cwd: String,
        text: String,
    },
    LoadDraft {
        session: Option<SessionId>,
        cwd: String,
    },
    /// Prompts that wait, in order; none removes them. The place is as that of the draft.
    SaveQueue {
        session: Option<SessionId>,
        cwd: String,
        prompts: Vec<Arc<QueuedPrompt>>,
    },
    LoadQueue {
        session: Option<SessionId>,
        cwd: String,
    },
    /// Earlier prompts of all sessions, newest last.
    LoadHistory {
        limit: usize,
    },
    AddHistory(String),
    /// How much each command is used, as the screen counts it.
    LoadUses,
    SaveUse {
        name: String,
        rank: i64,
    },
    /// Deletes it for good.
    DeleteSession(SessionId),
    /// Changes a title, tags, a pin; answered when it is done.
    ChangeSession {
        session: SessionId,
        change: SessionChange,
    },
    /// The forks around a session.
    Tree(SessionId),
}

/// Answers of the store.
#[derive(Clone, Debug, PartialEq)]
pub enum StoreReply {
    Sessions {
        query: String,
        rows: Vec<SessionRow>,
        /// What was ranked, when that is not every match: `the newest 5,000 matches`.
        of: Option<String>,
    },
    Preview {
        session: SessionId,
        items: Vec<Item>,
    },
    Older {
        session: SessionId,
        items: Vec<Item>,
        more: bool,
    },
    Draft {
        session: Option<SessionId>,
        text: String,
    },
    Queue {
        session: Option<SessionId>,
        prompts: Vec<QueuedPrompt>,
    },
    History(Vec<String>),
    /// Commands and their numbers.
    Uses(Vec<(String, i64)>),
    /// A change of a session was kept.
    SessionChanged(SessionId),
    /// A session with its relatives, each after its parent.
    Tree {
        session: SessionId,
        branches: Vec<Branch>,
    },
    /// Something failed; the text names the file and the remedy.
    Failed(String),
    /// What can't be saved now and what to do, in words; `None`: everything can be again.
    Saving(Option<String>),
    /// The store was opened; a warning when it stands under another name or was repaired.
    Opened {
        path: String,
        warning: Option<String>,
    },
}
