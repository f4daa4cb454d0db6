//! What can fail in the store, with the file and the remedy.

use rusqlite::ErrorCode;
use std::path::Path;

/// A failed request to the store. Messages name the file and what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// The actor has ended: after `close`, or because its thread could not start.
    #[error("the session store is closed; start hermes again")]
    Closed,
    /// SQLite refused. Nothing of the request was kept.
    #[error("could not {doing} in {path}: {reason}; {remedy}")]
    Database { doing: &'static str, path: String, reason: String, remedy: &'static str },
    /// A file beside the database could not be read or written.
    #[error("could not {doing} {path}: {reason}; {remedy}")]
    File { doing: &'static str, path: String, reason: String, remedy: &'static str },
    /// No session has this id, start of an id, or title.
    #[error("no session matches `{query}`{}", near_words(.near))]
    NotFound {
        query: String,
        /// `ID  TITLE` of sessions that look alike, best first.
        near: Vec<String>,
    },
    /// Another process works in it.
    #[error("session {session} is open in another hermes (process {pid}); close it there first")]
    InUse { session: String, pid: i64 },
    /// Several sessions match.
    #[error("`{query}` matches several sessions: {}; give more of the id", .matches.join(", "))]
    Ambiguous { query: String, matches: Vec<String> },
}

fn near_words(near: &[String]) -> String {
    if near.is_empty() {
        "; `hermes sessions list` shows what there is".to_owned()
    } else {
        format!("; similar: {}", near.join(", "))
    }
}

impl StoreError {
    pub(super) fn database(doing: &'static str, path: &Path, error: &rusqlite::Error) -> Self {
        let remedy = match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => "free some disk space",
            Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
                "make the folder and the file writable"
            }
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                "another hermes is writing; try again, or quit it"
            }
            Some(ErrorCode::SystemIoFailure) => "check the disk and its free space",
            _ => "run `hermes sessions repair`",
        };
        Self::Database { doing, path: path.display().to_string(), reason: reason(error), remedy }
    }

    pub(super) fn file(doing: &'static str, path: &Path, error: &std::io::Error) -> Self {
        let remedy = match error.kind() {
            std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => "free some disk space",
            std::io::ErrorKind::NotFound => "check the path",
            _ => "check its permissions and the disk",
        };
        Self::File { doing, path: path.display().to_string(), reason: error.to_string().to_lowercase(), remedy }
    }
}

/// SQLite's own words, lower case.
pub(super) fn reason(error: &rusqlite::Error) -> String {
    match error {
        rusqlite::Error::SqliteFailure(code, None) => code.to_string().to_lowercase(),
        rusqlite::Error::SqliteFailure(_, Some(text)) => text.to_lowercase(),
        other => other.to_string().to_lowercase(),
    }
}

/// Whether another connection holds the lock.
pub(super) fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

/// Whether the file's content is damaged.
pub(super) fn is_damage(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase))
}
