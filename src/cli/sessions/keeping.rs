//! How sessions are kept: tags, pins, the archive and the trash.

use crate::protocol::SessionId;
use crate::report::sessions::text::{age, one_line};
use crate::store::filter::Filter;
use crate::store::{SessionChange, SessionRow, Shelf, Store, short_id, tags_of};
use serde_json::json;
use std::io::Write;

/// The sessions that are meant, each once. All must be found before anything happens to the first one.
async fn all(store: &Store, queries: &[String]) -> anyhow::Result<Vec<SessionRow>> {
    let mut rows: Vec<SessionRow> = Vec::new();
    for query in queries {
        let session = store.resolve(query).await?;
        if !rows.iter().any(|row| row.id == session.0) {
            rows.push(store.about(&session).await?.row);
        }
    }
    Ok(rows)
}

fn name(row: &SessionRow) -> String {
    one_line(row.title.as_deref().unwrap_or(&row.preview), 60)
}

/// Makes one change to all of them and says so: `word` is the past of what happened.
pub(super) async fn change(
    store: &Store,
    queries: &[String],
    wanted: SessionChange,
    word: &str,
    json: bool,
    out: &mut dyn Write,
) -> anyhow::Result<i32> {
    let rows = all(store, queries).await?;
    for row in &rows {
        store.change_session(&SessionId(row.id.clone()), wanted.clone()).await?;
        if !json {
            writeln!(out, "{word} {}: {}", row.id, name(row))?;
        }
    }
    if json {
        let ids: Vec<&str> = rows.iter().map(|row| row.id.as_str()).collect();
        writeln!(out, "{}", json!({"version": 1, "change": word, "ids": ids}))?;
    }
    Ok(0)
}

/// Adds tags, or takes them away; without any it only shows them.
pub(super) async fn tag(
    store: &Store,
    query: &str,
    words: &[String],
    remove: bool,
    json: bool,
    out: &mut dyn Write,
) -> anyhow::Result<i32> {
    let session = store.resolve(query).await?;
    let mut tags = store.about(&session).await?.row.tags;
    let named = tags_of(&words.join(","));
    if !named.is_empty() {
        tags.retain(|tag| !named.contains(tag));
        if !remove {
            tags.extend(named);
        }
        store.change_session(&session, SessionChange::Tags(tags)).await?;
    }
    let tags = store.about(&session).await?.row.tags;
    if json {
        writeln!(out, "{}", json!({"version": 1, "id": session.0, "tags": tags}))?;
    } else if tags.is_empty() {
        writeln!(out, "{session}: no tags")?;
    } else {
        let tags: Vec<String> = tags.iter().map(|tag| format!("#{}", one_line(tag, 40))).collect();
        writeln!(out, "{session}: {}", tags.join(" "))?;
    }
    Ok(0)
}

/// Moves sessions to the trash, or deletes them for good.
pub(super) async fn delete(
    store: &Store,
    queries: &[String],
    for_good: bool,
    json: bool,
    out: &mut dyn Write,
) -> anyhow::Result<i32> {
    if !for_good {
        return change(store, queries, SessionChange::Trashed(true), "moved to the trash:", json, out).await;
    }
    let rows = all(store, queries).await?;
    for row in &rows {
        store.delete(&SessionId(row.id.clone())).await?;
        if !json {
            writeln!(out, "deleted {}: {} ({} items)", row.id, name(row), row.items)?;
        }
    }
    if json {
        let ids: Vec<&str> = rows.iter().map(|row| row.id.as_str()).collect();
        writeln!(out, "{}", json!({"version": 1, "deleted": ids}))?;
    }
    Ok(0)
}

/// Lists the trash, or empties it.
pub(super) async fn trash(store: &Store, empty: bool, json: bool, out: &mut dyn Write) -> anyhow::Result<i32> {
    if empty {
        let count = store.empty_trash(i64::MAX).await?;
        if json {
            writeln!(out, "{}", json!({"version": 1, "deleted": count}))?;
        } else {
            writeln!(out, "deleted {}", crate::text::format::plural(count as u64, "session", "sessions"))?;
        }
        return Ok(0);
    }
    let rows = store.fitting(Filter { shelf: Shelf::Trashed, ..Filter::default() }, usize::MAX).await?;
    if json {
        let sessions: Vec<_> = rows.iter().map(super::list::session_json).collect();
        writeln!(out, "{}", json!({"version": 1, "sessions": sessions}))?;
        return Ok(0);
    }
    if rows.is_empty() {
        writeln!(out, "the trash is empty")?;
        return Ok(0);
    }
    let now = chrono::Utc::now().timestamp_millis();
    for row in &rows {
        let since = age(row.trashed_at.unwrap_or(now), now);
        writeln!(out, "{}  {since}  {}", one_line(short_id(&row.id), 40), name(row))?;
    }
    writeln!(out, "`hermes sessions restore ID` brings one back; sessions.trash_days says how long they stay")?;
    Ok(0)
}

/// The forks around a session, each under its parent.
pub(super) async fn tree(store: &Store, query: &str, json: bool, out: &mut dyn Write) -> anyhow::Result<i32> {
    let session = store.resolve(query).await?;
    let branches = store.tree(&session).await?;
    if json {
        let rows: Vec<_> = branches
            .iter()
            .map(|branch| json!({"session": super::list::session_json(&branch.row), "depth": branch.depth, "turn": branch.turn}))
            .collect();
        writeln!(out, "{}", json!({"version": 1, "tree": rows}))?;
        return Ok(0);
    }
    for branch in &branches {
        let (row, mark) = (&branch.row, if branch.row.id == session.0 { "*" } else { " " });
        let from = if branch.depth == 0 { String::new() } else { format!("  (after turn {})", branch.turn) };
        writeln!(out, "{mark} {}{}  {}{from}", "  ".repeat(branch.depth), short_id(&row.id), name(row))?;
        if let Some(summary) = &row.summary {
            writeln!(out, "  {}  {}", "  ".repeat(branch.depth), one_line(summary, 100))?;
        }
    }
    Ok(0)
}
