//! Sessions and hits in lists, and one session as text.

use crate::protocol::{Body, Item, NoteKind, Origin, SessionId};
use crate::report::sessions::text::{age, local, one_line, padded, plain, rfc3339, width};
use crate::store::filter::Filter;
use crate::store::{SessionRow, Store, short_id};
use serde_json::{Value, json};
use std::io::Write;

/// Sessions that a person gets to see at once.
const LISTED: usize = 50;
/// Columns of a title or prompt.
const NAME: usize = 80;

pub(super) async fn list(
    store: &Store,
    here: Option<&str>,
    filter: Option<Filter>,
    limit: Option<usize>,
    json: bool,
    out: &mut dyn Write,
) -> anyhow::Result<i32> {
    let limit = limit.unwrap_or(if json { usize::MAX } else { LISTED });
    let rows = match filter {
        Some(filter) => store.fitting(filter, limit).await?,
        None => store.list("", here, limit).await?,
    };
    if json {
        let sessions: Vec<Value> = rows.iter().map(session_json).collect();
        writeln!(out, "{}", json!({"version": 1, "sessions": sessions}))?;
    } else if rows.is_empty() {
        writeln!(out, "no sessions{}", if here.is_some() { " in this folder" } else { "" })?;
    } else {
        table(&rows, out)?;
    }
    Ok(0)
}

/// The shape of a session in all JSON.
pub(super) fn session_json(row: &SessionRow) -> Value {
    json!({
        "id": row.id, "title": row.title, "cwd": row.cwd, "model": row.model, "started_at": rfc3339(row.started_at),
        "updated_at": rfc3339(row.updated_at), "items": row.items, "preview": row.preview,
        "summary": row.summary, "tags": row.tags, "pinned": row.pinned, "archived": row.archived,
        "trashed_at": row.trashed_at.map(rfc3339),
    })
}

fn table(rows: &[SessionRow], out: &mut dyn Write) -> std::io::Result<()> {
    let now = chrono::Utc::now().timestamp_millis();
    let head = ["ID", "AGE", "ITEMS", "FOLDER", "TITLE"].map(str::to_owned);
    let cells: Vec<[String; 5]> = std::iter::once(head)
        .chain(rows.iter().map(|row| {
            [
                one_line(short_id(&row.id), 40),
                age(row.updated_at, now),
                row.items.to_string(),
                folder(&row.cwd),
                format!("{}{}", one_line(row.title.as_deref().unwrap_or(&row.preview), NAME), marks(row)),
            ]
        }))
        .collect();
    let columns: [usize; 4] =
        std::array::from_fn(|at| cells.iter().map(|row| width(&row[at])).max().unwrap_or_default());
    for [id, age, items, folder, name] in &cells {
        let id = padded(id, columns[0]);
        let (age, items) = (format!("{age:>0$}", columns[1]), format!("{items:>0$}", columns[2]));
        writeln!(out, "{id}  {age}  {items}  {}  {name}", padded(folder, columns[3]))?;
    }
    Ok(())
}

/// What stands behind a title: tags, and whether it is pinned.
fn marks(row: &SessionRow) -> String {
    let pinned = row.pinned.then(|| " (pinned)".to_owned());
    let tags = row.tags.iter().map(|tag| format!(" #{}", one_line(tag, 40)));
    pinned.into_iter().chain(tags).collect()
}

/// The last part of a path.
fn folder(cwd: &str) -> String {
    one_line(cwd.trim_end_matches('/').rsplit('/').next().unwrap_or(cwd), 24)
}

pub(super) async fn search(
    store: &Store,
    query: &str,
    here: Option<&str>,
    limit: usize,
    json: bool,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> anyhow::Result<i32> {
    if let Some(fault) = Filter::fault(query) {
        anyhow::bail!("{fault}");
    }
    let found = store.search(query, here, limit).await?;
    let bound = found.bound();
    let hits = found.rows;
    if json {
        let rows: Vec<Value> = hits
            .iter()
            .map(|hit| {
                json!({
                    "session_id": hit.session.id, "title": hit.session.title, "item_id": hit.item.0, "role": hit.role,
                    "snippet": hit.session.snippet.as_deref().unwrap_or_default(), "at": rfc3339(hit.at),
                })
            })
            .collect();
        writeln!(out, "{}", Value::Array(rows))?;
        return Ok(0);
    }
    if hits.is_empty() {
        writeln!(err, "no matches for `{}`", one_line(query, NAME))?;
        return Ok(0);
    }
    let now = chrono::Utc::now().timestamp_millis();
    for hit in &hits {
        let row = &hit.session;
        let name = one_line(row.title.as_deref().unwrap_or(&row.preview), NAME);
        writeln!(out, "{}  {}  {}  {name}", short_id(&row.id), age(hit.at, now), hit.role)?;
        writeln!(out, "    {}", one_line(row.snippet.as_deref().unwrap_or_default(), 300))?;
    }
    if let Some(bound) = bound {
        writeln!(err, "ranked {bound} only: add a word, or narrow it with words like in:FOLDER or before:DATE")?;
    }
    Ok(0)
}

pub(super) async fn show(store: &Store, session: &SessionId, json: bool, out: &mut dyn Write) -> anyhow::Result<i32> {
    let about = store.about(session).await?;
    let page = store.whole(session).await?;
    if json {
        let value = json!({
            "version": 1, "session": session_json(&about.row),
            "items": page.items.iter().map(item_json).collect::<Result<Vec<_>, _>>()?,
            "unreadable": page.skipped,
        });
        writeln!(out, "{value}")?;
        return Ok(0);
    }
    let row = &about.row;
    writeln!(out, "{}", one_line(row.title.as_deref().unwrap_or(&row.preview), NAME))?;
    writeln!(out, "{} · {} · {} · {} items", row.id, plain(&row.cwd), row.model, row.items)?;
    for item in &page.items {
        write_item(item, out)?;
    }
    if page.skipped > 0 {
        writeln!(out, "\n{} items can't be read; try `hermes sessions repair`", page.skipped)?;
    }
    Ok(0)
}

/// The item as the store keeps it, its time in words.
fn item_json(item: &Item) -> serde_json::Result<Value> {
    let mut value = serde_json::to_value(&item.body)?;
    if let Value::Object(fields) = &mut value {
        fields.insert("item_id".to_owned(), item.id.0.into());
        fields.insert("turn".to_owned(), item.turn.into());
        fields.insert("at".to_owned(), rfc3339(item.at).into());
    }
    Ok(value)
}

fn write_item(item: &Item, out: &mut dyn Write) -> std::io::Result<()> {
    match &item.body {
        Body::User { text, origin: Origin::Program, .. } => {
            writeln!(out, "\n── sent to the model · {} ──\n{}", local(item.at), plain(text))?;
        }
        Body::User { text, images, .. } => {
            writeln!(out, "\n── you · {} ──\n{}", local(item.at), plain(text))?;
            if !images.is_empty() {
                writeln!(out, "[{} images]", images.len())?;
            }
        }
        Body::Assistant(body) => {
            if !body.text.trim().is_empty() {
                writeln!(out, "\n── hermes · {} ──\n{}", local(item.at), plain(body.text.trim()))?;
            }
            for call in &body.calls {
                writeln!(out, "\n▸ {} {}", plain(&call.name), one_line(&call.args, 200))?;
            }
        }
        Body::Tool(body) => {
            for line in plain(&body.content).lines() {
                writeln!(out, "  │ {line}")?;
            }
        }
        Body::Summary(summary) => writeln!(out, "\n[{}]\n{}", summary.line(), plain(&summary.text))?,
        Body::Note { kind, text } => {
            let mark = match kind {
                NoteKind::Info => "note",
                NoteKind::Warning => "warning",
                NoteKind::Error => "error",
                NoteKind::Interrupted => "interrupted",
                NoteKind::Hook => "hook",
                NoteKind::TurnEnd => "turn",
            };
            writeln!(out, "\n[{mark}: {}]", plain(text))?;
        }
    }
    Ok(())
}
