//! Pins, tags, the archive and the trash. What lies in the trash is deleted by itself after a while.

use crate::protocol::SessionId;
use crate::store::db::Db;
use crate::store::error::StoreError;
use crate::store::filter::Filter;
use crate::store::{SessionRow, Store, live, sessions};
use rusqlite::Row;

/// Characters of a tag.
pub const TAG_CHARS: usize = 32;
/// Tags of a session.
const TAGS: usize = 16;

/// Which sessions are meant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shelf {
    /// Those that are neither archived nor in the trash.
    #[default]
    Shown,
    Archived,
    Trashed,
    /// All, wherever they lie.
    All,
}

impl Shelf {
    /// The test over `sessions s`.
    pub(in crate::store) fn condition(self) -> &'static str {
        match self {
            // Children stand under the call of their parent.
            Self::Shown => "s.archived_at IS NULL AND s.trashed_at IS NULL AND s.source <> 'child'",
            Self::Archived => "s.archived_at IS NOT NULL AND s.trashed_at IS NULL",
            Self::Trashed => "s.trashed_at IS NOT NULL",
            Self::All => "1",
        }
    }
}

/// What a person changes about a session from outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionChange {
    Title(String),
    /// In place of those it had.
    Tags(Vec<String>),
    Pinned(bool),
    Archived(bool),
    Trashed(bool),
}

/// The tags in a text: parted by commas or blanks, with or without `#`, in small letters, each once.
pub fn tags_of(text: &str) -> Vec<String> {
    let mut tags: Vec<String> = Vec::new();
    for word in text.split(|c: char| c == ',' || c.is_whitespace()) {
        let tag: String = word.trim_start_matches('#').to_lowercase();
        let tag: String = tag.chars().filter(|c| !c.is_control()).take(TAG_CHARS).collect();
        if !tag.is_empty() && !tags.contains(&tag) && tags.len() < TAGS {
            tags.push(tag);
        }
    }
    tags
}

/// As the table has them: `,red,blue,`.
pub(in crate::store) fn stored(tags: &[String]) -> String {
    let clean = tags_of(&tags.join(","));
    if clean.is_empty() { String::new() } else { format!(",{},", clean.join(",")) }
}

/// Whether sessions of this kind are in the usual lists.
pub(in crate::store) fn is_shown(filter: &Filter) -> bool {
    filter.shelf == Shelf::Shown
}

/// Fields of a row that tell how it is kept; the columns follow those of a list, from `at` on.
pub(in crate::store) fn fields(row: &Row<'_>, at: usize, into: &mut SessionRow) -> rusqlite::Result<()> {
    into.summary = row.get(at)?;
    into.tags = tags_of(row.get_ref(at + 1)?.as_str().unwrap_or_default());
    into.pinned = row.get(at + 2)?;
    into.archived = row.get(at + 3)?;
    into.trashed_at = row.get(at + 4)?;
    Ok(())
}

/// Changes one session. One that another program works in does not go into the trash.
pub(in crate::store) fn change(db: &mut Db, session: &SessionId, change: SessionChange) -> Result<(), StoreError> {
    let (me, now, home) = ((db.pid, db.born), crate::store::now(), db.home.clone());
    let (column, on) = match change {
        SessionChange::Title(title) => return sessions::set_title(db, session, &title).map(drop),
        SessionChange::Tags(tags) => {
            return sessions::change(db, "save the tags", session, |tx, key| {
                tx.execute("UPDATE sessions SET tags = ?2 WHERE key = ?1", (key, stored(&tags))).map(drop)
            });
        }
        SessionChange::Pinned(on) => ("pinned_at", on),
        SessionChange::Archived(on) => ("archived_at", on),
        SessionChange::Trashed(on) => ("trashed_at", on),
    };
    let busy = sessions::change(db, "save the session", session, |tx, key| {
        if column == "trashed_at"
            && on
            && let Some(pid) = live::other(tx, &home, key, me)?
        {
            return Ok(Some(pid));
        }
        let sql = format!("UPDATE sessions SET {column} = CASE WHEN ?2 THEN coalesce({column}, ?3) END WHERE key = ?1");
        tx.execute(&sql, (key, on, now))?;
        Ok(None)
    })?;
    busy.map_or(Ok(()), |pid| Err(StoreError::InUse { session: session.0.clone(), pid }))
}

impl Store {
    /// Changes what a person says about a session: title, tags, pin, archive, trash.
    pub async fn change_session(&self, session: &SessionId, wanted: SessionChange) -> Result<(), StoreError> {
        let session = session.clone();
        self.ask(move |db| change(db, &session, wanted)).await
    }

    /// Sessions that a filter holds for, newest first.
    pub async fn fitting(&self, filter: Filter, limit: usize) -> Result<Vec<SessionRow>, StoreError> {
        self.ask(move |db| db.read("list sessions", |conn| sessions::fitting(conn, &filter, limit))).await
    }

    /// Deletes for good what lies in the trash since before this time, in milliseconds since the epoch. What any program
    /// works in, this one too, stays. Returns how many went.
    pub async fn empty_trash(&self, before: i64) -> Result<usize, StoreError> {
        self.ask(move |db| {
            let trash = Filter { shelf: Shelf::Trashed, ..Filter::default() };
            let rows = db.read("list sessions", |conn| sessions::fitting(conn, &trash, usize::MAX))?;
            let mut gone = 0;
            for row in rows.into_iter().filter(|row| row.trashed_at.is_some_and(|at| at < before)) {
                let session = SessionId(row.id);
                let is_open = db.read("look who works in the session", |conn| {
                    let key = sessions::key(conn, &session)?;
                    Ok(key.map(|key| live::worker(conn, &db.home, key)).transpose()?.flatten().is_some())
                })?;
                if is_open {
                    continue;
                }
                match sessions::delete(db, &session) {
                    Ok(was_there) => gone += usize::from(was_there),
                    Err(StoreError::InUse { .. }) => {}
                    Err(error) => return Err(error),
                }
            }
            Ok(gone)
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use super::tags_of;

    #[test]
    fn tags_are_small_words_each_once() {
        assert_eq!(tags_of(" #Red, blue,,red\tto do "), ["red", "blue", "to", "do"]);
        assert_eq!(tags_of(" , # "), Vec::<String>::new());
        assert_eq!(tags_of(&"x".repeat(99))[0].len(), super::TAG_CHARS);
    }
}
