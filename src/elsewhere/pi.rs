//! pi: `~/.pi/agent/sessions/--FOLDER--/TIME_ID.jsonl`, seen as 0.73.1 writes it (version 3).
//!
//! The first line is `session` (id, folder). The others form a tree by `id` and `parentId`; the newest line is where the
//! session stands, and what does not lead to it was left. `message` holds a message with the roles `user`, `assistant`,
//! `toolResult`, `bashExecution`; `compaction` has a summary and the first entry that it keeps; `session_info` the name.

use super::build::{Answer, Builder, Call, image};
use super::files::{self, Ends, Entry, Records};
use super::{Agent, Conversation, Found, Place};
use crate::protocol::Image;
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};
use std::path::Path;

/// Sessions of `~/.pi/agent`, newest first.
pub(super) fn entries(folder: &Path) -> Vec<Entry> {
    files::walk(&folder.join("sessions"), |name| name.ends_with(".jsonl"))
}

/// What a list shows of a file.
pub(super) fn about(entry: &Entry) -> Result<Found, String> {
    let Ends { head, tail, whole } = files::ends(&entry.path)?;
    let nothing = || format!("{} holds no conversation", entry.path.display());
    let first = head.first().filter(|first| first["type"] == "session").ok_or_else(nothing)?;
    let id = first["id"].as_str().unwrap_or_default().to_owned();
    let mut found = Found::new(Agent::Pi, id, Place::File(entry.path.clone()));
    first["cwd"].as_str().unwrap_or_default().clone_into(&mut found.cwd);
    found.started_at = files::time(&first["timestamp"]).unwrap_or(entry.changed_at);
    found.updated_at = entry.changed_at;
    let mut count = 0;
    for record in head.iter().chain(&tail) {
        match record["type"].as_str().unwrap_or_default() {
            "message" => {
                count += 1;
                let message = &record["message"];
                if message["role"] == "user" && found.prompt.is_empty() {
                    found.prompt = content(&message["content"]).0;
                }
                if let Some(model) = message["model"].as_str() {
                    model.clone_into(&mut found.model);
                }
            }
            "session_info" => found.title = record["name"].as_str().map(str::to_owned),
            _ => {}
        }
    }
    if count == 0 {
        return Err(nothing());
    }
    found.messages = whole.then_some(count);
    Ok(found)
}

/// Text and pictures of a message.
fn content(value: &Value) -> (String, Vec<Image>) {
    match value {
        Value::String(text) => (text.clone(), Vec::new()),
        Value::Array(parts) => {
            let texts: Vec<&str> = parts.iter().filter_map(|part| part["text"].as_str()).collect();
            let picture = |part: &Value| image(part["mimeType"].as_str()?, part["data"].as_str()?);
            (texts.join("\n"), parts.iter().filter_map(picture).collect())
        }
        _ => (String::new(), Vec::new()),
    }
}

/// The whole session: what leads to its newest entry.
pub(super) fn read(found: &Found, mut builder: Builder<'_>) -> Result<Conversation, String> {
    let records = Records::open(found.place.path())?;
    let (mut parents, mut at): (HashMap<String, String>, Option<String>) = (HashMap::new(), None);
    records.each(|record| {
        let Some(id) = record["id"].as_str() else { return };
        parents.insert(id.to_owned(), record["parentId"].as_str().unwrap_or_default().to_owned());
        if record["parentId"].is_string() {
            at = Some(id.to_owned());
        }
    })?;
    let mut live = HashSet::new();
    while let Some(id) = at.filter(|id| live.insert(id.clone())) {
        at = parents.get(&id).filter(|parent| !parent.is_empty()).cloned();
    }
    drop(parents);
    // Where the entry of each record stands: a compaction names the first that it keeps.
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut is_first = true;
    records.read(&mut builder, |builder, record| {
        if std::mem::take(&mut is_first) {
            return;
        }
        let id = record["id"].as_str().unwrap_or_default();
        let time = files::time(&record["timestamp"]);
        // The first version had no ids: there all of it is live.
        if !live.is_empty() && !live.contains(id) {
            return builder.leave_out("entries of other branches");
        }
        places.insert(id.to_owned(), builder.len());
        match record["type"].as_str().unwrap_or_default() {
            "message" => message(&record["message"], time, builder),
            "compaction" => {
                let kept = record["firstKeptEntryId"].as_str().and_then(|kept| places.get(kept)).copied();
                let text = record["summary"].as_str().unwrap_or_default();
                builder.compacted(time, text, kept.unwrap_or(builder.len()), &found.model);
            }
            "branch_summary" => {
                let text = record["summary"].as_str().unwrap_or_default();
                builder.text(time, None, "", &format!("Of a branch that was left: {text}"));
            }
            "session_info" | "model_change" | "thinking_level_change" => {}
            "" => builder.leave_out("records without a type"),
            kind => builder.leave_out(kind),
        }
    })?;
    builder.finish(found)
}

fn message(message: &Value, at: Option<i64>, builder: &mut Builder<'_>) {
    let text = |key: &str| message[key].as_str().unwrap_or_default();
    match text("role") {
        "user" => {
            let (text, images) = content(&message["content"]);
            builder.user(at, &text, images);
        }
        "assistant" => {
            // Two answers never stand next to each other without a result or a prompt between them; a key tells them apart all
            // the same.
            let key = message["timestamp"].to_string();
            let (key, model) = (Some(key.as_str()), text("model"));
            for block in message["content"].as_array().into_iter().flatten() {
                let text = |key: &str| block[key].as_str().unwrap_or_default();
                match text("type") {
                    "text" => builder.text(at, key, model, text("text")),
                    "thinking" => builder.reasoning(at, key, model, text("thinking")),
                    "toolCall" => {
                        let call = Call { id: text("id"), name: text("name"), args: block["arguments"].clone() };
                        builder.call(at, key, model, &call);
                    }
                    kind => builder.leave_out(&format!("{kind} blocks")),
                }
            }
            if let Some(error) = message["errorMessage"].as_str() {
                builder.text(at, key, model, &format!("[the answer ended with an error: {error}]"));
            }
        }
        "toolResult" => {
            let (content, images) = content(&message["content"]);
            let answer = Answer { text: content, failed: message["isError"] == true, images, ..Answer::default() };
            builder.result(at, text("toolCallId"), answer);
        }
        "bashExecution" => {
            let exit_code = message["exitCode"].as_i64().and_then(|code| i32::try_from(code).ok());
            let id = format!("bash_{}", message["timestamp"]);
            let args = json!({"command": text("command")});
            builder.call(at, Some(&id), "", &Call { id: &id, name: "bash", args });
            builder.result(at, &id, Answer { text: text("output").to_owned(), exit_code, ..Answer::default() });
        }
        "" => builder.leave_out("messages without a role"),
        role => builder.leave_out(&format!("messages of {role}")),
    }
}
