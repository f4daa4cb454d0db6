//! JSONL: a line that says what the session is, then one a line for each item. `role`, `content`, `tool_name`, `tool_calls`
//! and `at` are for whatever reads such files; what only this program knows stands in `session` and `entry`.

use super::text::rfc3339;
use crate::protocol::{Body, Image, Item, SessionId, ToolCall};
use crate::store::Carried;
use serde_json::{Value, json};
use std::io::{self, Write};

/// Writes a session; one without items is no line at all.
pub(super) fn write(
    session: &SessionId,
    carried: Option<&Carried>,
    items: &[Item],
    out: &mut dyn Write,
) -> io::Result<()> {
    if items.is_empty() {
        return Ok(());
    }
    if let Some(carried) = carried {
        let title = carried.title.as_deref().map_or(Value::Null, Value::from);
        let mut line = row(session, "session", title, carried.started_at);
        line["session"] = serde_json::to_value(carried)?;
        writeln!(out, "{line}")?;
    }
    for item in items {
        writeln!(out, "{}", line(session, item)?)?;
    }
    Ok(())
}

fn row(session: &SessionId, role: &str, content: Value, at: i64) -> Value {
    json!({
        "session_id": session.0, "role": role, "content": content, "tool_name": null, "tool_calls": null,
        "at": rfc3339(at),
    })
}

fn line(session: &SessionId, item: &Item) -> serde_json::Result<Value> {
    let (role, content) = match &item.body {
        Body::User { text, images, .. } => ("user", user_content(text, images)),
        Body::Assistant(body) => ("assistant", body.text.as_str().into()),
        Body::Tool(body) => ("tool", body.content.as_str().into()),
        Body::Summary(body) => ("summary", body.text.as_str().into()),
        Body::Note { text, .. } => ("note", text.as_str().into()),
    };
    let mut line = row(session, role, content, item.at);
    match &item.body {
        Body::Tool(body) => line["tool_name"] = body.name.as_str().into(),
        Body::Assistant(body) if !body.calls.is_empty() => {
            line["tool_calls"] = body.calls.iter().map(call_json).collect()
        }
        _ => {}
    }
    line["entry"] = entry(item)?;
    Ok(line)
}

/// The item without what the line says already.
fn entry(item: &Item) -> serde_json::Result<Value> {
    let mut entry = json!({"id": item.id, "turn": item.turn});
    let said: &[&str] = match &item.body {
        Body::User { .. } => &["role", "text", "images"],
        // Signed for an account of the provider: it is of no use elsewhere.
        Body::Assistant(body) if is_plain(&body.calls) => &["role", "text", "calls", "opaque"],
        Body::Assistant(_) => &["role", "text", "opaque"],
        Body::Tool(_) => &["role", "content", "name"],
        Body::Summary(_) | Body::Note { .. } => &["role", "text"],
    };
    if let (Some(entry), Value::Object(body)) = (entry.as_object_mut(), serde_json::to_value(&item.body)?) {
        entry.extend(body.into_iter().filter(|(name, _)| !said.contains(&name.as_str())));
    }
    Ok(entry)
}

/// Whether the usual form of a call says all of these.
fn is_plain(calls: &[ToolCall]) -> bool {
    calls.iter().all(|call| !call.repaired && call.via.is_empty())
}

/// Text, or parts as the Chat Completions dialect has them when there are images.
fn user_content(text: &str, images: &[Image]) -> Value {
    if images.is_empty() {
        return text.into();
    }
    let images = images.iter().map(|image| {
        json!({"type": "image_url", "image_url": {"url": format!("data:{};base64,{}", image.media_type, image.data)}})
    });
    std::iter::once(json!({"type": "text", "text": text})).chain(images).collect()
}

/// A call as the Chat Completions dialect has it: the arguments are text.
fn call_json(call: &ToolCall) -> Value {
    json!({"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.args}})
}
