//! A session as a file: JSONL that comes back in whole, ShareGPT for training, and the readable ones.

use super::text::rfc3339;
use super::{ExportError, Format, html, jsonl, markdown, redacted};
use crate::protocol::{AssistantBody, Body, Item, SessionId, StopReason};
use crate::recordings::{self, Terminal};
use crate::store::{Carried, Page, SessionMeta, Store};
use serde_json::{Value, json};
use std::io::{self, Write};
use std::path::Path;

/// All that an export needs to know.
pub struct Gathered {
    session: SessionId,
    about: SessionMeta,
    page: Page,
    prompt: Option<String>,
    /// Only for the format that comes back in whole.
    carried: Option<Carried>,
    /// Only for the format that is made of them.
    terminals: Vec<Terminal>,
}

impl Gathered {
    fn redact(&mut self) {
        let row = &mut self.about.row;
        row.preview = redacted::text(std::mem::take(&mut row.preview));
        row.title = row.title.take().map(redacted::text);
        self.prompt = self.prompt.take().map(redacted::text);
        self.carried = self.carried.take().map(redacted::whole);
        let items = std::mem::take(&mut self.page.items);
        self.page.items = items.into_iter().map(redacted::item).collect();
    }
}

/// Reads a session for an export, with secrets masked if `redacts`. `terminal` is the number of one, from 1 on; without it
/// all are meant. What terminals showed was masked when it was recorded.
///
/// # Errors
/// It is not there, nothing of its terminals is, or the store fails.
pub async fn gather(
    store: &Store,
    session: &SessionId,
    format: Format,
    terminal: Option<usize>,
    redacts: bool,
) -> Result<Gathered, ExportError> {
    let about = store.about(session).await?;
    let mut gathered = Gathered {
        session: session.clone(),
        about,
        page: Page::default(),
        prompt: None,
        carried: None,
        terminals: vec![],
    };
    if format == Format::Asciicast {
        gathered.terminals = terminals(store, session, terminal).await?;
    } else {
        (gathered.page, gathered.prompt) = (store.whole(session).await?, store.prompt(session).await?);
    }
    if format == Format::Jsonl {
        gathered.carried = Some(store.carried(session).await?);
    }
    if redacts {
        gathered.redact();
    }
    Ok(gathered)
}

/// The recorded terminals that are meant.
async fn terminals(store: &Store, session: &SessionId, number: Option<usize>) -> Result<Vec<Terminal>, ExportError> {
    // They lie beside the database.
    let database = store.opened().await.path;
    let home = Path::new(&database).parent().filter(|home| home.is_absolute());
    let mut found = match home {
        Some(home) => recordings::terminals(home, &session.0)?,
        None => Vec::new(),
    };
    let count = found.len();
    match number {
        _ if found.is_empty() => Err(ExportError::NoRecording(session.clone())),
        None => Ok(found),
        Some(number) if (1..=count).contains(&number) => Ok(vec![found.swap_remove(number - 1)]),
        Some(_) => Err(ExportError::NoTerminal { session: session.clone(), count }),
    }
}

/// Writes what was gathered; `err` gets a warning when something of it can't be read.
///
/// # Errors
/// Only when a writer fails.
pub fn export(from: &Gathered, format: Format, out: &mut dyn Write, err: &mut dyn Write) -> io::Result<()> {
    let Gathered { session, about, page, prompt, carried, terminals } = from;
    if page.skipped > 0 {
        writeln!(err, "warning: skipped {} unreadable items; try `hermes sessions repair`", page.skipped)?;
    }
    match format {
        Format::Jsonl => jsonl::write(session, carried.as_ref(), &page.items, out)?,
        Format::Sharegpt => {
            writeln!(out, "{}", sharegpt(prompt.clone(), &about.row.model, about.row.started_at, &page.items))?;
        }
        Format::Md => markdown::write(about, &page.items, out)?,
        Format::Html => html::write(about, &page.items, out)?,
        Format::Asciicast => {
            let title = about.row.title.as_deref().unwrap_or(&about.row.preview);
            recordings::write_asciicast(&terminals.iter().collect::<Vec<_>>(), title, out)?;
        }
    }
    out.flush()
}

/// One object: conversations of system, human, gpt and tool, with thoughts and calls in tags.
fn sharegpt(prompt: Option<String>, model: &str, started_at: i64, items: &[Item]) -> Value {
    let mut turns: Vec<(&str, String)> = Vec::new();
    turns.extend(prompt.map(|prompt| ("system", prompt)));
    let mut completed = false;
    for item in items {
        match &item.body {
            Body::User { text, .. } => {
                completed = false;
                turns.push(("human", text.clone()));
            }
            Body::Assistant(body) => {
                completed = body.calls.is_empty() && body.stop == StopReason::EndTurn;
                turns.push(("gpt", gpt(body)));
            }
            Body::Tool(body) => {
                let value = json!({"tool_call_id": body.call_id, "name": body.name, "content": body.content});
                let value = format!("<tool_response>\n{value}\n</tool_response>");
                match turns.last_mut() {
                    // The results of one answer belong into one turn.
                    Some(("tool", text)) => *text = format!("{text}\n{value}"),
                    _ => turns.push(("tool", value)),
                }
            }
            Body::Summary(_) | Body::Note { .. } => {}
        }
    }
    let turns: Vec<Value> = turns.into_iter().map(|(from, value)| json!({"from": from, "value": value})).collect();
    json!({"conversations": turns, "timestamp": rfc3339(started_at), "model": model, "completed": completed})
}

fn gpt(body: &AssistantBody) -> String {
    let mut text = format!("<think>\n{}\n</think>\n{}", body.reasoning, body.text);
    for call in &body.calls {
        // Arguments that are no JSON stay text.
        let arguments = serde_json::from_str(&call.args).unwrap_or_else(|_| Value::from(call.args.as_str()));
        let value = json!({"name": call.name, "arguments": arguments});
        text.push_str(&format!("\n<tool_call>\n{value}\n</tool_call>"));
    }
    text
}
