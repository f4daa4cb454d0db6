//! Python Hermes: `state.db` in its home, which may be ours too, seen as 0.19.0 writes it (schema 22); and the files
//! `sessions/ID.jsonl` of its first releases, which it no longer reads.
//!
//! `sessions` has a row each, `messages` the conversation in the order of `id`. The visible one is `active = 1`;
//! `active = 0, compacted = 1` are the originals that a summary stands for; `active = 0, compacted = 0` were rewound. Content is
//! text, or `\0json:` and JSON; `tool_calls` is JSON of the Chat Completions kind. Older schemas lack columns. Sources
//! `subagent` and `tool`, and rows whose `model_config` has `_delegate_from`, are work of the program. The file is read-only
//! for us; a log next to it is read, too.

use super::build::{Answer, Builder, Call, image_of_url};
use super::files::{self, Entry, Records};
use super::{Agent, Conversation, Found, Place, db};
use crate::protocol::Image;
use rusqlite::Connection;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// The database's name.
pub(super) const FILE: &str = "state.db";
/// What stands before content that is no plain text.
const JSON: &str = "\0json:";

/// A session and what an importer has to know of it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Row {
    pub found: Found,
    /// Why it is none of a person's: `of subagents`.
    pub hidden: Option<&'static str>,
    /// How much of it there is: count and last number of its rows, or bytes and time of its file.
    pub mark: Value,
    pub lineage: Value,
}

/// The database of a home, when it is that program's and not ours.
pub(super) fn database(home: &Path) -> Option<PathBuf> {
    let path = home.join(FILE);
    (path.is_file() && crate::store::is_foreign(&path)).then_some(path)
}

/// All sessions of a home, newest first: those of the database, then files that it does not know.
pub(super) fn list(home: &Path) -> Result<Vec<Row>, String> {
    let mut rows = match database(home) {
        Some(path) => of_database(&path)?,
        None => Vec::new(),
    };
    let known: std::collections::HashSet<String> = rows.iter().map(|row| row.found.id.clone()).collect();
    rows.extend(entries(home).iter().filter_map(of_file).filter(|row| !known.contains(&row.found.id)));
    rows.sort_by_key(|row| std::cmp::Reverse(row.found.updated_at));
    Ok(rows)
}

/// The files of its first releases.
pub(super) fn entries(home: &Path) -> Vec<Entry> {
    files::walk(&home.join("sessions"), |name| name.ends_with(".jsonl"))
}

/// What a list shows of such a file.
pub(super) fn about(entry: &Entry) -> Result<Found, String> {
    of_file(entry).map(|row| row.found).ok_or_else(|| format!("{} holds no conversation", entry.path.display()))
}

/// The sessions of a database.
pub(super) fn of_database(path: &Path) -> Result<Vec<Row>, String> {
    let told = |error: rusqlite::Error| format!("{}: {error}", path.display()).to_lowercase();
    let conn = db::open(path)?;
    let wanted = [
        "id",
        "source",
        "model",
        "model_config",
        "parent_session_id",
        "started_at",
        "ended_at",
        "cwd",
        "title",
        "archived",
        "end_reason",
    ];
    let columns = db::select(&conn, "sessions", &wanted);
    let has_active = db::columns(&conn, "messages").iter().any(|name| name == "active");
    let active = if has_active { "AND coalesce(m.active, 1) = 1" } else { "" };
    let sql = format!(
        "SELECT {columns}, (SELECT count(*) FROM messages m WHERE m.session_id = sessions.id {active}),
           (SELECT count(*) FROM messages m WHERE m.session_id = sessions.id),
           (SELECT max(m.id) FROM messages m WHERE m.session_id = sessions.id),
           (SELECT max(m.timestamp) FROM messages m WHERE m.session_id = sessions.id),
           (SELECT substr(m.content, 1, 400) FROM messages m WHERE m.session_id = sessions.id AND m.role = 'user' {active}
             ORDER BY m.id LIMIT 1)
         FROM sessions"
    );
    let mut statement = conn.prepare(&sql).map_err(told)?;
    let rows = statement.query_map([], |row| {
        let text = |at: usize| row.get::<_, Option<String>>(at).map(Option::unwrap_or_default);
        let seconds = |at: usize| row.get::<_, Option<f64>>(at).map(|time| (time.unwrap_or_default() * 1000.0) as i64);
        let mut found = Found::new(Agent::HermesPy, text(0)?, Place::Database(path.to_owned()));
        let source = text(1)?;
        (found.model, found.cwd) = (text(2)?, text(7)?);
        let config: Value = serde_json::from_str(&text(3)?).unwrap_or_default();
        found.title = Some(text(8)?).filter(|title| !title.is_empty());
        found.started_at = seconds(5)?;
        found.updated_at = seconds(14)?.max(seconds(6)?).max(found.started_at);
        found.messages = row.get::<_, i64>(11)?.try_into().ok();
        let prompt = text(15)?;
        found.prompt = prompt.strip_prefix(JSON).map_or(prompt.clone(), |_| "(a prompt with attachments)".to_owned());
        let hidden = match source.as_str() {
            "subagent" => Some("sessions of subagents"),
            "tool" => Some("sessions of tools"),
            _ if !config["_delegate_from"].is_null() => Some("sessions of subagents"),
            _ if found.messages == Some(0) => Some("sessions without messages"),
            _ => None,
        };
        let mark = json!({"rows": row.get::<_, i64>(12)?, "last": row.get::<_, Option<i64>>(13)?});
        let parent = text(4)?;
        let kind = if config["_branched_from"].is_null() { "continued" } else { "branched" };
        let mut lineage = json!({"source": source});
        if !parent.is_empty() {
            (lineage["parent"], lineage["kind"]) = (parent.into(), kind.into());
        }
        if row.get::<_, Option<i64>>(9)? == Some(1) {
            lineage["archived"] = true.into();
        }
        Ok(Row { found, hidden, mark, lineage })
    });
    // A row that can't be read is no reason to lose the others.
    Ok(rows.map_err(told)?.filter_map(Result::ok).collect())
}

fn of_file(entry: &Entry) -> Option<Row> {
    let id = entry.path.file_stem()?.to_str()?.to_owned();
    let mut found = Found::new(Agent::HermesPy, id, Place::File(entry.path.clone()));
    let ends = files::ends(&entry.path).ok()?;
    let is_message = |line: &&Value| line["role"].is_string();
    let prompt = ends.head.iter().filter(is_message).find(|line| line["role"] == "user")?;
    found.prompt = content(&prompt["content"]).0;
    found.started_at = files::time(&ends.head.first()?["timestamp"]).unwrap_or(entry.changed_at);
    found.updated_at = entry.changed_at;
    found.messages = ends.whole.then(|| ends.head.iter().filter(is_message).count() as u64);
    let mark = json!({"bytes": entry.size, "changed_at": entry.changed_at});
    Some(Row { found, hidden: None, mark, lineage: json!({}) })
}

/// The whole session.
pub(super) fn read(found: &Found, mut builder: Builder<'_>) -> Result<Conversation, String> {
    match &found.place {
        Place::Database(path) => rows(path, &found.id, &found.model, &mut builder)?,
        Place::File(path) | Place::Folder(path) => {
            Records::open(path)?.read(&mut builder, |builder, line| {
                message(line, files::time(&line["timestamp"]), &found.model, builder);
            })?;
        }
    }
    builder.finish(found)
}

fn rows(path: &Path, id: &str, model: &str, builder: &mut Builder<'_>) -> Result<(), String> {
    let told = |error: rusqlite::Error| format!("{}: {error}", path.display()).to_lowercase();
    let conn: Connection = db::open(path)?;
    let wanted = [
        "role",
        "content",
        "tool_call_id",
        "tool_calls",
        "tool_name",
        "timestamp",
        "reasoning",
        "reasoning_content",
        "active",
        "compacted",
        "observed",
    ];
    let columns = db::select(&conn, "messages", &wanted);
    let sql = format!("SELECT {columns} FROM messages WHERE session_id = ?1 ORDER BY messages.id");
    let mut statement = conn.prepare(&sql).map_err(told)?;
    let mut rows = statement.query([id]).map_err(told)?;
    // How many entries a compaction stands for that has not been put down yet.
    let mut archived = 0;
    while let Some(row) = rows.next().map_err(told)? {
        let text = |at: usize| row.get::<_, Option<String>>(at).ok().flatten();
        let flag = |at: usize| row.get::<_, Option<i64>>(at).ok().flatten();
        let (active, compacted) = (flag(8) != Some(0), flag(9) == Some(1));
        if !active && !compacted {
            builder.leave_out("entries that were rewound");
            continue;
        }
        if flag(10) == Some(1) {
            // Said in a group, and not to the agent.
            builder.leave_out("messages of others in a group");
            continue;
        }
        if active && archived > 0 {
            let text =
                "Python Hermes compacted the entries before this one. Its summary is among the entries that follow.";
            builder.compacted(None, text, archived, model);
            archived = 0;
        }
        let reasoning = text(6).filter(|text| !text.is_empty()).or(text(7));
        let calls = text(3).and_then(|calls| serde_json::from_str(&calls).ok()).unwrap_or(Value::Null);
        let content = text(1).unwrap_or_default();
        let content = match content.strip_prefix(JSON) {
            Some(inner) => serde_json::from_str(inner).unwrap_or_else(|_| inner.into()),
            None => Value::String(content),
        };
        let value = json!({
            "role": text(0), "content": content, "tool_call_id": text(2), "tool_calls": calls, "tool_name": text(4),
            "reasoning": reasoning,
        });
        let at = row.get::<_, Option<f64>>(5).ok().flatten().map(|seconds| (seconds * 1000.0) as i64);
        message(&value, at, model, builder);
        if !active {
            archived = builder.len();
        }
    }
    Ok(())
}

/// Text and pictures: text, or a list of parts.
fn content(value: &Value) -> (String, Vec<Image>) {
    match value {
        Value::String(text) => (text.clone(), Vec::new()),
        Value::Array(parts) => {
            let texts: Vec<&str> = parts.iter().filter_map(|part| part["text"].as_str().or(part.as_str())).collect();
            let picture =
                |part: &Value| image_of_url(part["image_url"]["url"].as_str().or(part["image_url"].as_str())?);
            (texts.join("\n"), parts.iter().filter_map(picture).collect())
        }
        Value::Null => (String::new(), Vec::new()),
        other => (other.to_string(), Vec::new()),
    }
}

fn message(value: &Value, at: Option<i64>, model: &str, builder: &mut Builder<'_>) {
    let (text, images) = content(&value["content"]);
    match value["role"].as_str().unwrap_or_default() {
        "user" => builder.user(at, &text, images),
        "assistant" => {
            // Each row is an answer of its own.
            let key = format!("{}", builder.len());
            let key = Some(key.as_str());
            builder.reasoning(at, key, model, value["reasoning"].as_str().unwrap_or_default());
            builder.text(at, key, model, &text);
            let calls = value["tool_calls"].as_str().and_then(|calls| serde_json::from_str(calls).ok());
            let calls: &Value = calls.as_ref().unwrap_or(&value["tool_calls"]);
            for call in calls.as_array().into_iter().flatten() {
                let inner = if call["function"].is_object() { &call["function"] } else { call };
                let args = match &inner["arguments"] {
                    Value::String(text) => serde_json::from_str(text).unwrap_or_else(|_| text.as_str().into()),
                    other => other.clone(),
                };
                let (id, name) = (call["id"].as_str().unwrap_or_default(), inner["name"].as_str().unwrap_or_default());
                builder.call(at, key, model, &Call { id, name, args });
            }
        }
        "tool" => {
            let mut answer = Answer { text, images, ..Answer::default() };
            // Its terminal answers as ours does.
            if let Ok(inner) = serde_json::from_str::<Value>(&answer.text)
                && let Some(output) = inner["output"].as_str()
            {
                output.clone_into(&mut answer.output);
                answer.exit_code = inner["exit_code"].as_i64().and_then(|code| i32::try_from(code).ok());
            }
            builder.result(at, value["tool_call_id"].as_str().unwrap_or_default(), answer);
        }
        "system" | "developer" | "session_meta" => builder.leave_out("text of the program"),
        "" => builder.leave_out("lines without a role"),
        role => builder.leave_out(&format!("messages of {role}")),
    }
}
