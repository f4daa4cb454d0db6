//! opencode: `~/.local/share/opencode/opencode.db` (SQLite), seen as 1.18.33 writes it.
//!
//! `session` has a row each (folder, title, times, `parent_id` of subagents, `revert`); `message` and `part` hold JSON in
//! `data`. A message is `user` or `assistant`; its parts are `text`, `reasoning`, `tool` (call and result in one, `state`),
//! `file`, and marks of steps. `revert` names the message that the person went back to. Versions before 1.2 had the same
//! values as files: `opencode_files`.

use super::build::{Answer, Builder, Call, image_of_url};
use super::{Agent, Conversation, Found, Place, db, files};
use rusqlite::Connection;
use serde_json::Value;
use std::path::Path;

/// The database's name.
pub(super) const FILE: &str = "opencode.db";
/// Sessions of a list.
const LISTED: usize = 20_000;

/// Sessions of the database, newest first.
pub(super) fn list(path: &Path) -> Result<Vec<Found>, String> {
    let told = |error: rusqlite::Error| format!("{}: {error}", path.display()).to_lowercase();
    let conn = db::open(path)?;
    let wanted = ["id", "parent_id", "directory", "title", "model", "time_created", "time_updated"];
    let columns = db::select(&conn, "session", &wanted);
    // The first prompt: the first text of the first message.
    let sql = format!(
        "SELECT {columns}, (SELECT count(*) FROM message m WHERE m.session_id = session.id),
           (SELECT p.data FROM part p JOIN message m ON m.id = p.message_id WHERE m.session_id = session.id
             AND json_valid(m.data) AND m.data ->> '$.role' = 'user' AND json_valid(p.data) AND p.data ->> '$.type' = 'text'
             ORDER BY m.id, p.id LIMIT 1)
         FROM session ORDER BY session.time_updated DESC LIMIT {LISTED}"
    );
    let mut statement = conn.prepare(&sql).map_err(told)?;
    let rows = statement.query_map([], |row| {
        let text = |at: usize| row.get::<_, Option<String>>(at).map(Option::unwrap_or_default);
        if !text(1)?.is_empty() {
            // A subagent's.
            return Ok(None);
        }
        let mut found = Found::new(Agent::OpenCode, text(0)?, Place::Database(path.to_owned()));
        (found.cwd, found.title) = (text(2)?, title(&text(3)?));
        let model: Value = serde_json::from_str(&text(4)?).unwrap_or_default();
        model["id"].as_str().unwrap_or_default().clone_into(&mut found.model);
        (found.started_at, found.updated_at) = (row.get(5)?, row.get(6)?);
        found.messages = row.get::<_, i64>(7)?.try_into().ok();
        let part: Value = serde_json::from_str(&text(8)?).unwrap_or_default();
        part["text"].as_str().unwrap_or_default().clone_into(&mut found.prompt);
        Ok(Some(found))
    });
    let rows = rows.map_err(told)?.filter_map(Result::ok).flatten();
    Ok(rows.filter(|found| found.messages != Some(0)).collect())
}

/// A title that was given; that of a new session is none.
pub(super) fn title(text: &str) -> Option<String> {
    let own = !text.is_empty() && !text.starts_with("New session - ") && !text.starts_with("Child session - ");
    own.then(|| text.to_owned())
}

/// The whole session.
pub(super) fn read(found: &Found, builder: Builder<'_>) -> Result<Conversation, String> {
    let told = |error: rusqlite::Error| format!("{}: {error}", found.place.path().display()).to_lowercase();
    let conn = db::open(found.place.path())?;
    let revert = db::select(&conn, "session", &["revert"]);
    let revert: Option<String> = conn
        .query_row(&format!("SELECT {revert} FROM session WHERE id = ?1"), [&found.id], |row| row.get(0))
        .map_err(told)?;
    let revert = revert.and_then(|revert| serde_json::from_str(&revert).ok()).unwrap_or_default();
    let messages =
        rows(&conn, "SELECT id, data FROM message WHERE session_id = ?1 ORDER BY id", &found.id).map_err(told)?;
    let parts =
        |id: &str| rows(&conn, "SELECT id, data FROM part WHERE message_id = ?1 ORDER BY id", id).unwrap_or_default();
    conversation(found, builder, &messages, parts, &revert)
}

/// Ids and values; a value that is no JSON is null.
pub(super) type Rows = Vec<(String, Value)>;

fn rows(conn: &Connection, sql: &str, of: &str) -> rusqlite::Result<Rows> {
    let mut statement = conn.prepare_cached(sql)?;
    let rows = statement.query_map([of], |row| {
        let data: String = row.get(1)?;
        Ok((row.get(0)?, serde_json::from_str(&data).unwrap_or_default()))
    })?;
    rows.collect()
}

/// Messages and their parts as entries of ours.
pub(super) fn conversation(
    found: &Found,
    mut builder: Builder<'_>,
    messages: &Rows,
    parts_of: impl Fn(&str) -> Rows,
    revert: &Value,
) -> Result<Conversation, String> {
    let back_to = revert["messageID"].as_str();
    for (id, message) in messages {
        if back_to.is_some_and(|back_to| id.as_str() >= back_to) {
            builder.leave_out("entries that were rewound");
            continue;
        }
        let at = files::time(&message["time"]["created"]);
        let parts = parts_of(id);
        match message["role"].as_str() {
            Some("user") => user(&parts, at, &mut builder),
            Some("assistant") => {
                let model = message["modelID"].as_str().unwrap_or_default();
                let before = builder.len();
                let summary = message["summary"] == true;
                if summary {
                    let texts: Vec<&str> = parts.iter().filter_map(|(_, part)| part["text"].as_str()).collect();
                    builder.compacted(at, &texts.join("\n\n"), before, model);
                } else {
                    parts.iter().for_each(|(_, part)| answer(part, at, id, model, &mut builder));
                }
                if let Some(error) = message["error"]["data"]["message"].as_str() {
                    builder.text(at, Some(id), model, &format!("[the answer ended with an error: {error}]"));
                }
            }
            _ => builder.leave_out("messages without a role"),
        }
    }
    builder.finish(found)
}

fn user(parts: &Rows, at: Option<i64>, builder: &mut Builder<'_>) {
    let (mut texts, mut images) = (Vec::new(), Vec::new());
    for (_, part) in parts {
        match part["type"].as_str().unwrap_or_default() {
            "text" if part["synthetic"] == true || part["ignored"] == true => builder.leave_out("text of the program"),
            "text" => texts.push(part["text"].as_str().unwrap_or_default()),
            "file" => match part["url"].as_str().and_then(image_of_url) {
                Some(image) => images.push(image),
                None => builder.leave_out("attached files"),
            },
            kind => builder.leave_out(&format!("{kind} parts")),
        }
    }
    builder.user(at, &texts.join("\n"), images);
}

fn answer(part: &Value, at: Option<i64>, key: &str, model: &str, builder: &mut Builder<'_>) {
    let text = |key: &str| part[key].as_str().unwrap_or_default();
    let key = Some(key);
    match text("type") {
        "text" => builder.text(at, key, model, text("text")),
        "reasoning" => builder.reasoning(at, key, model, text("text")),
        "tool" => {
            let (id, state) = (text("callID"), &part["state"]);
            builder.call(at, key, model, &Call { id, name: text("tool"), args: state["input"].clone() });
            let ended = files::time(&state["time"]["end"]).or(at);
            let exit_code = state["metadata"]["exit"].as_i64().and_then(|code| i32::try_from(code).ok());
            let failed = state["status"] == "error";
            let said = if failed { &state["error"] } else { &state["output"] };
            // A call without a result was stopped: it gets the one that says so.
            if let Some(said) = said.as_str() {
                builder.result(ended, id, Answer { text: said.to_owned(), failed, exit_code, ..Answer::default() });
            }
        }
        "step-start" | "step-finish" | "snapshot" | "patch" => {}
        kind => builder.leave_out(&format!("{kind} parts")),
    }
}
