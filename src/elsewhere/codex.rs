//! Codex: `~/.codex/sessions/YYYY/MM/DD/rollout-TIME-ID.jsonl`, seen as 0.169.0 writes it.
//!
//! A line is `{timestamp, type, payload}`. `session_meta` comes first (id, folder, version, instructions); `response_item`
//! holds items of the Responses API: `message`, `reasoning`, `function_call` and its output, `custom_tool_call` (patches),
//! `local_shell_call`. Messages of `user` that the program wrote (`<environment_context>`, `AGENTS.md`) are marked by
//! `content_item_kinds`, in older versions by their first words only. `compacted` begins a new window; the event
//! `thread_rolled_back` takes turns back. Versions before 0.32 had the items bare, without `payload`.

use super::build::{Answer, Builder, Call, image_of_url};
use super::files::{self, Ends, Entry, Records};
use super::{Agent, Conversation, Found, Place};
use crate::protocol::Image;
use serde_json::Value;
use std::path::Path;

/// How texts begin that the program wrote in the person's place.
const OF_PROGRAM: [&str; 11] = [
    "<environment_context>",
    "<user_instructions>",
    "<permissions instructions>",
    "<skills_instructions>",
    "<collaboration_mode>",
    "<model_switch>",
    "<turn_aborted>",
    "<subagent_notification>",
    "<user_shell_command>",
    "<skill>",
    "# AGENTS.md instructions",
];

/// Sessions of `~/.codex`, newest first.
pub(super) fn entries(folder: &Path) -> Vec<Entry> {
    files::walk(&folder.join("sessions"), |name| name.starts_with("rollout-") && name.ends_with(".jsonl"))
}

/// What a list shows of a file.
pub(super) fn about(entry: &Entry) -> Result<Found, String> {
    let Ends { head, tail, whole } = files::ends(&entry.path)?;
    let stem = entry.path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    // `rollout-2025-05-07T17-24-21-` before the id.
    let id = stem.get(28..).filter(|id| !id.is_empty()).unwrap_or(&stem).to_owned();
    let mut found = Found::new(Agent::Codex, id, Place::File(entry.path.clone()));
    found.updated_at = entry.changed_at;
    let (mut count, mut spoken) = (0, false);
    for (line, record) in head.iter().chain(&tail).enumerate() {
        let (kind, payload) = parts(record);
        if found.started_at == 0 {
            found.started_at = files::time(&record["timestamp"]).unwrap_or_default();
        }
        match kind {
            "session_meta" => facts(payload, &mut found),
            "turn_context" => {
                let model = payload["model"].as_str().unwrap_or_default();
                model.clone_into(&mut found.model);
                if found.cwd.is_empty() {
                    payload["cwd"].as_str().unwrap_or_default().clone_into(&mut found.cwd);
                }
            }
            "" if line == 0 => facts(payload, &mut found),
            "response_item" if payload["type"] == "message" => match payload["role"].as_str() {
                Some("user") => {
                    let (text, _) = said(payload);
                    if !text.is_empty() {
                        (count, spoken) = (count + 1, true);
                        if found.prompt.is_empty() {
                            found.prompt = text;
                        }
                    }
                }
                Some("assistant") => (count, spoken) = (count + 1, true),
                _ => {}
            },
            "response_item" if is_result(payload) => count += 1,
            _ => {}
        }
    }
    if !spoken && whole {
        return Err(format!("{} holds no conversation", entry.path.display()));
    }
    found.messages = whole.then_some(count);
    Ok(found)
}

fn facts(meta: &Value, found: &mut Found) {
    if let Some(id) = meta["id"].as_str().filter(|id| !id.is_empty()) {
        id.clone_into(&mut found.id);
    }
    meta["cwd"].as_str().unwrap_or_default().clone_into(&mut found.cwd);
    if let Some(at) = files::time(&meta["timestamp"]) {
        found.started_at = at;
    }
}

/// A record's kind and what it holds, also of the versions that had items bare.
fn parts(record: &Value) -> (&str, &Value) {
    let kind = record["type"].as_str().unwrap_or_default();
    if record["payload"].is_object() {
        return (kind, &record["payload"]);
    }
    let bare = matches!(
        kind,
        "message"
            | "reasoning"
            | "function_call"
            | "function_call_output"
            | "local_shell_call"
            | "custom_tool_call"
            | "custom_tool_call_output"
    );
    (if bare { "response_item" } else { kind }, record)
}

fn is_result(payload: &Value) -> bool {
    payload["type"].as_str().is_some_and(|kind| kind.ends_with("_output"))
}

/// What the person wrote, and pictures.
fn said(payload: &Value) -> (String, Vec<Image>) {
    let kinds = payload["internal_chat_message_metadata_passthrough"]["content_item_kinds"].as_array();
    let parts = payload["content"].as_array().map(Vec::as_slice).unwrap_or_default();
    let (mut texts, mut images) = (Vec::new(), Vec::new());
    for (at, part) in parts.iter().enumerate() {
        let kind = kinds.and_then(|kinds| kinds.get(at)).and_then(Value::as_str);
        if kind.is_some_and(|kind| !kind.starts_with("user.") && kind != "unknown") {
            continue;
        }
        if let Some(image) = part["image_url"].as_str().and_then(image_of_url) {
            images.push(image);
        }
        let text = part["text"].as_str().unwrap_or_default();
        if !text.is_empty() && !OF_PROGRAM.iter().any(|start| text.trim_start().starts_with(start)) {
            texts.push(text);
        }
    }
    (texts.join("\n"), images)
}

/// The whole session.
pub(super) fn read(found: &Found, mut builder: Builder<'_>) -> Result<Conversation, String> {
    let (mut model, mut line) = (String::new(), 0);
    Records::open(found.place.path())?.read(&mut builder, |builder, record| {
        line += 1;
        let at = files::time(&record["timestamp"]);
        let (kind, payload) = parts(record);
        match kind {
            "session_meta" => {}
            "" if line == 1 => {}
            "turn_context" => payload["model"].as_str().unwrap_or_default().clone_into(&mut model),
            "response_item" => item(payload, at, &model, builder),
            "compacted" => {
                let text = payload["message"].as_str().filter(|text| !text.trim().is_empty()).map(str::to_owned);
                let text = text.or_else(|| last_text(&payload["replacement_history"])).unwrap_or_default();
                builder.compacted(at, &text, builder.len(), &model);
            }
            "event_msg" => match payload["type"].as_str().unwrap_or_default() {
                "thread_rolled_back" => {
                    let turns = payload["num_turns"].as_u64().and_then(|turns| u32::try_from(turns).ok());
                    builder.back_to_turn((builder.turn() + 1).saturating_sub(turns.unwrap_or_default()));
                }
                // What is said and done stands in the items, too.
                _ => builder.leave_out("events"),
            },
            "" => builder.leave_out("records without a type"),
            kind => builder.leave_out(kind),
        }
    })?;
    builder.finish(found)
}

/// The text of the last message of a list.
fn last_text(history: &Value) -> Option<String> {
    let messages = history.as_array()?.iter().rev();
    let text = |message: &Value| {
        let parts = message["content"].as_array()?.iter();
        let texts: Vec<&str> = parts.filter_map(|part| part["text"].as_str()).collect();
        (!texts.is_empty()).then(|| texts.join("\n"))
    };
    messages.filter(|message| message["type"] == "message").find_map(text)
}

fn item(payload: &Value, at: Option<i64>, model: &str, builder: &mut Builder<'_>) {
    let text = |key: &str| payload[key].as_str().unwrap_or_default();
    match text("type") {
        "message" => match text("role") {
            "user" => {
                let (said, images) = said(payload);
                if said.is_empty() && images.is_empty() {
                    builder.leave_out("text of the program");
                }
                builder.user(at, &said, images);
            }
            "assistant" => {
                for part in payload["content"].as_array().into_iter().flatten() {
                    builder.text(at, None, model, part["text"].as_str().unwrap_or_default());
                }
            }
            _ => builder.leave_out("text of the program"),
        },
        "reasoning" => {
            let summary = payload["summary"].as_array().into_iter().flatten();
            let whole = payload["content"].as_array().into_iter().flatten();
            let texts: Vec<&str> = summary.chain(whole).filter_map(|part| part["text"].as_str()).collect();
            if texts.is_empty() {
                builder.leave_out("reasoning that only its provider can read");
            }
            builder.reasoning(at, None, model, &texts.join("\n\n"));
        }
        "function_call" => {
            // Arguments are JSON as text; what is no JSON stays text.
            let args = serde_json::from_str(text("arguments")).unwrap_or_else(|_| text("arguments").into());
            builder.call(at, None, model, &Call { id: text("call_id"), name: text("name"), args });
        }
        "custom_tool_call" => {
            let call = Call { id: text("call_id"), name: text("name"), args: text("input").into() };
            builder.call(at, None, model, &call);
        }
        "local_shell_call" => {
            let id = payload["call_id"].as_str().unwrap_or(text("id"));
            builder.call(at, None, model, &Call { id, name: "local_shell", args: payload["action"].clone() });
        }
        kind if kind.ends_with("_call_output") => builder.result(at, text("call_id"), output(&payload["output"])),
        kind => builder.leave_out(&format!("{kind} items")),
    }
}

/// What came of a call: text, text with a code in JSON (older versions), or parts.
fn output(output: &Value) -> Answer {
    let mut answer = Answer::default();
    match output {
        Value::String(text) => {
            let inner: Option<Value> =
                serde_json::from_str(text).ok().filter(|inner: &Value| inner["output"].is_string());
            match inner {
                Some(inner) => {
                    inner["output"].as_str().unwrap_or_default().clone_into(&mut answer.text);
                    answer.exit_code = code(&inner["metadata"]["exit_code"]);
                }
                None => {
                    answer.exit_code = text.lines().take(6).find_map(|line| {
                        let code =
                            line.strip_prefix("Process exited with code ").or(line.strip_prefix("Exit code: "))?;
                        code.trim().parse().ok()
                    });
                    answer.text.clone_from(text);
                }
            }
        }
        Value::Array(parts) => {
            let texts: Vec<&str> = parts.iter().filter_map(|part| part["text"].as_str()).collect();
            answer.text = texts.join("\n");
            answer.images = parts.iter().filter_map(|part| part["image_url"].as_str().and_then(image_of_url)).collect();
        }
        Value::Object(_) => {
            answer.failed = output["success"] == false;
            output["content"].as_str().unwrap_or_default().clone_into(&mut answer.text);
        }
        _ => {}
    }
    answer
}

fn code(value: &Value) -> Option<i32> {
    value.as_i64().and_then(|code| i32::try_from(code).ok())
}
