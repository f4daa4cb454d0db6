//! Sessions in SQLite: an actor thread that owns the one connection. Items are appended, never rewritten.
//!
//! Owns: schema, durability, full-text search, drafts. Does not own: what an item means to the model.

use crate::llm::message::{Item, ItemId, SessionId};

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
}

/// Work for the store that the UI asks for.
#[derive(Clone, Debug, PartialEq)]
pub enum StoreJob {
    /// Newest first, or best match first when there is a query.
    ListSessions {
        query: String,
        here: Option<String>,
        limit: usize,
    },
    /// The last items of a session, for the preview.
    Preview(SessionId),
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
    /// Earlier prompts of all sessions, newest last.
    LoadHistory {
        limit: usize,
    },
    AddHistory(String),
    DeleteSession(SessionId),
}

/// Answers of the store.
#[derive(Clone, Debug, PartialEq)]
pub enum StoreReply {
    Sessions {
        query: String,
        rows: Vec<SessionRow>,
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
    History(Vec<String>),
    /// Something failed; the text names the file and the remedy.
    Failed(String),
    /// The store was opened; a warning when it stands under another name or was repaired.
    Opened {
        path: String,
        warning: Option<String>,
    },
}
