//! What the user typed: drafts and queued prompts by session or folder, and the history of prompts.

use super::QueuedPrompt;
use super::db::Db;
use super::error::StoreError;
use crate::protocol::SessionId;
use rusqlite::OptionalExtension;
use std::sync::Arc;

/// Prompts that are kept.
pub const HISTORY_KEPT: i64 = 5000;

/// Where a draft belongs.
pub(super) fn place(session: Option<&SessionId>, cwd: &str) -> String {
    session.map_or_else(|| format!("folder:{cwd}"), |session| format!("session:{session}"))
}

/// Where prompts wait that belong to the same session or folder.
pub(super) fn queue_place(session: Option<&SessionId>, cwd: &str) -> String {
    format!("queue:{}", place(session, cwd))
}

/// Keeps the composer's text; an empty one removes the draft.
pub(super) fn save(db: &mut Db, session: Option<&SessionId>, cwd: &str, text: &str) -> Result<(), StoreError> {
    put(db, "save the draft", place(session, cwd), text)
}

/// The kept text; empty when there is none.
pub(super) fn load(db: &Db, session: Option<&SessionId>, cwd: &str) -> Result<String, StoreError> {
    get(db, "read the draft", place(session, cwd))
}

/// Keeps the prompts that wait; none removes them.
pub(super) fn save_queue(
    db: &mut Db,
    session: Option<&SessionId>,
    cwd: &str,
    prompts: &[Arc<QueuedPrompt>],
) -> Result<(), StoreError> {
    let prompts: Vec<&QueuedPrompt> = prompts.iter().map(AsRef::as_ref).collect();
    // Plain text and base64: nothing of it can fail to be JSON.
    let text = if prompts.is_empty() { String::new() } else { serde_json::to_string(&prompts).unwrap_or_default() };
    put(db, "save the queued prompts", queue_place(session, cwd), &text)
}

/// The prompts that wait, in order.
pub(super) fn load_queue(db: &Db, session: Option<&SessionId>, cwd: &str) -> Result<Vec<QueuedPrompt>, StoreError> {
    let text = get(db, "read the queued prompts", queue_place(session, cwd))?;
    if text.is_empty() {
        return Ok(Vec::new());
    }
    Ok(serde_json::from_str(&text).unwrap_or_else(|error| {
        tracing::warn!(%error, "could not read queued prompts");
        // As written by a version that keeps more than this one reads: the words at least come back.
        vec![QueuedPrompt { text, images: Vec::new() }]
    }))
}

fn put(db: &mut Db, doing: &'static str, place: String, text: &str) -> Result<(), StoreError> {
    db.write(doing, |tx| {
        if text.is_empty() {
            tx.prepare_cached("DELETE FROM drafts WHERE place = ?1")?.execute([place])?;
        } else {
            tx.prepare_cached("INSERT OR REPLACE INTO drafts (place, at, text) VALUES (?1, ?2, ?3)")?.execute((
                place,
                super::now(),
                text,
            ))?;
        }
        Ok(())
    })
}

fn get(db: &Db, doing: &'static str, place: String) -> Result<String, StoreError> {
    let text = db.read(doing, |conn| {
        conn.prepare_cached("SELECT text FROM drafts WHERE place = ?1")?.query_row([place], |row| row.get(0)).optional()
    })?;
    Ok(text.unwrap_or_default())
}

/// Adds a prompt unless it is the last one again; the oldest beyond [`HISTORY_KEPT`] go.
pub(super) fn add_history(db: &mut Db, prompt: &str) -> Result<(), StoreError> {
    if prompt.trim().is_empty() {
        return Ok(());
    }
    db.write("save the prompt history", |tx| {
        let last: Option<String> = tx
            .prepare_cached("SELECT text FROM history ORDER BY key DESC LIMIT 1")?
            .query_row([], |row| row.get(0))
            .optional()?;
        if last.as_deref() == Some(prompt) {
            return Ok(());
        }
        tx.prepare_cached("INSERT INTO history (text) VALUES (?1)")?.execute([prompt])?;
        let key = tx.last_insert_rowid();
        tx.prepare_cached("DELETE FROM history WHERE key <= ?1")?.execute([key - HISTORY_KEPT])?;
        Ok(())
    })
}

/// The last prompts, newest last.
pub(super) fn history(db: &Db, limit: usize) -> Result<Vec<String>, StoreError> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut prompts: Vec<String> = db.read("read the prompt history", |conn| {
        conn.prepare_cached("SELECT text FROM history ORDER BY key DESC LIMIT ?1")?
            .query_map([limit], |row| row.get(0))?
            .collect()
    })?;
    prompts.reverse();
    Ok(prompts)
}
