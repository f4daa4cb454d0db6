//! Sessions from JSONL files: one item a line, one session a file.

mod ours;

use super::elsewhere;
use crate::elsewhere::{clean, image_of_url, plain_id};
use crate::policy::redact::Secrets;
use crate::policy::taint::{UNTRUSTED, Untrusted};
use crate::protocol::{AssistantBody, Body, Image, Item, ItemId, Origin, SessionId, StopReason, ToolBody, ToolCall};
use crate::store::{Carried, Imported, Incoming, NewSession, Store};
use crate::text::format::plural;
use serde_json::{Value, json};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Files read before they are written, so that a thousand of them don't stand in memory together.
const BATCH: usize = 50;
/// The source that imported sessions name.
const SOURCE: &str = "import";

/// What a file holds.
#[derive(Debug)]
pub(in crate::cli) struct Parsed {
    pub session: String,
    pub items: Vec<Item>,
    /// What a file of ours says of the session itself.
    pub carried: Option<Carried>,
    /// Lines that were left out, with the reason of the first.
    pub skipped: usize,
    pub why: Option<String>,
}

impl Parsed {
    /// The session for the store. `other` says what it is where the file does not; 0: it started with its first item.
    pub fn incoming(self, other: Carried, facts: Vec<(String, Value)>) -> Incoming {
        let is_ours = self.carried.is_some();
        let mut carried = self.carried.unwrap_or(other);
        let first = self.items.first().map_or(0, |item| item.at);
        let new = NewSession {
            id: SessionId(self.session),
            cwd: carried.folder.clone(),
            model: carried.model.clone(),
            // A child stands in no list: without its parent nobody would find it.
            source: if matches!(carried.source.as_str(), "" | "child") {
                SOURCE.to_owned()
            } else {
                carried.source.clone()
            },
            started_at: if is_ours || carried.started_at != 0 { carried.started_at } else { first },
        };
        let title = carried.title.take();
        Incoming { new, items: self.items, title, facts, carried: is_ours.then(|| Box::new(carried)) }
    }
}

/// Marks what tools brought: it may be text of strangers.
fn untrusted(items: &[Item]) -> Option<(String, Value)> {
    let mut untrusted = Untrusted::default();
    untrusted.entered("tools in an imported file");
    let has_results = items.iter().any(|item| matches!(item.body, Body::Tool(_)));
    has_results.then(|| (UNTRUSTED.to_owned(), serde_json::to_value(untrusted).unwrap_or_default()))
}

/// Takes the files in. What can't be taken is told and does not keep the others out; then the code is 1.
pub(super) async fn import(
    store: &Store,
    from: &[String],
    cwd: &str,
    secrets: &Secrets,
    json: bool,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> anyhow::Result<i32> {
    let mut results: Vec<Value> = Vec::new();
    let (mut taken, mut items, mut failed) = (0u64, 0, 0);
    let (others, files): (Vec<&String>, Vec<&String>) = from.iter().partition(|from| elsewhere::is_of_another(from));
    for other in others {
        let (value, went_well) = elsewhere::import(store, other, cwd, json, out, err).await?;
        failed += usize::from(!went_well);
        results.push(value);
    }
    let files: Vec<PathBuf> = files.into_iter().map(PathBuf::from).collect();
    for files in files.chunks(BATCH) {
        let mut batch = Vec::new();
        let mut names = Vec::new();
        for file in files {
            let now = chrono::Utc::now().timestamp_millis();
            match read(file, now, secrets) {
                Ok(parsed) => {
                    if let Some(why) = &parsed.why {
                        writeln!(err, "{}: skipped {} lines: {why}", file.display(), parsed.skipped)?;
                    }
                    names.push((file, SessionId(parsed.session.clone())));
                    let origin = ("origin".to_owned(), json!({"file": file.to_string_lossy()}));
                    let facts = std::iter::once(origin).chain(untrusted(&parsed.items)).collect();
                    let here = Carried { folder: cwd.to_owned(), ..Carried::default() };
                    batch.push(parsed.incoming(here, facts));
                }
                Err(why) => {
                    failed += 1;
                    writeln!(err, "{}: {why}", file.display())?;
                    results.push(json!({"file": file.to_string_lossy(), "result": "failed", "why": why}));
                }
            }
        }
        for ((file, id), outcome) in names.into_iter().zip(store.import(batch).await?) {
            let (word, count) = match outcome {
                Imported::New(count) => ("new", count),
                Imported::Extended(count) => ("extended", count),
                Imported::Same => {
                    writeln!(err, "{}: session {id} already exists", file.display())?;
                    ("same", 0)
                }
                Imported::Differs => {
                    failed += 1;
                    writeln!(
                        err,
                        "{}: a different session {id} exists; remove it first with `hermes sessions delete {id}`",
                        file.display()
                    )?;
                    ("differs", 0)
                }
            };
            taken += u64::from(count > 0);
            items += count;
            results.push(json!({"file": file.to_string_lossy(), "session_id": id.0, "result": word, "items": count}));
        }
    }
    store.index().await?;
    if json {
        writeln!(out, "{}", json!({"version": 1, "files": results}))?;
    } else if !files.is_empty() {
        let (items, sessions) = (plural(items as u64, "item", "items"), plural(taken, "session", "sessions"));
        writeln!(out, "imported {items} from {sessions}")?;
    }
    Ok(i32::from(failed > 0))
}

/// Reads a file; the error says what is wrong with it.
fn read(file: &Path, now: i64, secrets: &Secrets) -> Result<Parsed, String> {
    let bytes = std::fs::read(file).map_err(|error| format!("can't be read: {}", error.to_string().to_lowercase()))?;
    let stem = file.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    parse(&String::from_utf8_lossy(&bytes), &stem, now, secrets)
}

/// Understands the lines of one session. `name` is its id when no line has one, `now` its time when no line has one. Whatever
/// wrote them: `secrets` are masked, and results bounded.
pub(in crate::cli) fn parse(text: &str, name: &str, now: i64, secrets: &Secrets) -> Result<Parsed, String> {
    let mut parsed = Parsed { session: String::new(), items: Vec::new(), carried: None, skipped: 0, why: None };
    let mut times: Vec<Option<i64>> = Vec::new();
    // Calls of the last answer that have no result yet: id and name.
    let mut open: Vec<(String, String)> = Vec::new();
    let mut turn = 0;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let row = match serde_json::from_str::<Value>(line) {
            Ok(row @ Value::Object(_)) => row,
            Ok(_) => {
                skip(&mut parsed, number, "not a JSON object");
                continue;
            }
            Err(error) => {
                skip(&mut parsed, number, &error.to_string());
                continue;
            }
        };
        if let Some(id) = row["session_id"].as_str().map(|id| plain_id(id.trim())).filter(|id| !id.is_empty()) {
            if parsed.session.is_empty() {
                parsed.session = id;
            } else if parsed.session != id {
                return Err(format!("line {}: a second session, {id}; one file holds one session", number + 1));
            }
        }
        if row["role"] == "session" {
            parsed.carried = ours::session(&row, secrets);
            continue;
        }
        let mut body = match body(&row, number, &mut open) {
            Ok(Some(body)) => body,
            Ok(None) => continue,
            Err(why) => {
                skip(&mut parsed, number, &why);
                continue;
            }
        };
        clean(&mut body, secrets);
        let (id, said) = ours::numbers(&row, parsed.items.last());
        turn = said.unwrap_or(turn + u32::from(matches!(body, Body::User { .. })));
        times.push(time(&row["at"]));
        let id = id.unwrap_or_else(|| ItemId(parsed.items.last().map_or(0, |item| item.id.0) + 1));
        parsed.items.push(Item { id, at: 0, turn: turn.max(1), body });
    }
    if parsed.items.is_empty() {
        return Err(parsed.why.unwrap_or_else(|| "contains no items".to_owned()));
    }
    if parsed.session.is_empty() {
        parsed.session = plain_id(name.trim());
    }
    if parsed.session.is_empty() {
        return Err("has no session_id".to_owned());
    }
    // An item without a time has that of the one before it.
    let mut at = times.iter().flatten().next().copied().unwrap_or(now);
    for (item, time) in parsed.items.iter_mut().zip(times) {
        at = time.unwrap_or(at);
        item.at = at;
    }
    Ok(parsed)
}

fn skip(parsed: &mut Parsed, number: usize, why: &str) {
    parsed.skipped += 1;
    parsed.why.get_or_insert_with(|| format!("line {}: {why}", number + 1));
}

/// What a line says; `None` for lines that are no item of ours.
fn body(row: &Value, number: usize, open: &mut Vec<(String, String)>) -> Result<Option<Body>, String> {
    let role = row["role"].as_str().ok_or("role is missing")?;
    Ok(match role {
        "system" | "developer" | "session_meta" => None,
        "user" => {
            let (text, images) = content(&row["content"]);
            let ours = ours::body(row, &text, images.clone(), &[]);
            ours.or(Some(Body::User {
                text,
                images,
                context: String::new(),
                origin: Origin::Person,
                gist: String::new(),
            }))
        }
        "assistant" => {
            let calls = calls(&row["tool_calls"], number);
            *open = calls.iter().map(|call| (call.id.clone(), call.name.clone())).collect();
            let stop = if calls.is_empty() { StopReason::EndTurn } else { StopReason::ToolCalls };
            let reasoning = row["reasoning"].as_str().unwrap_or_default().to_owned();
            let text = content(&row["content"]).0;
            let ours = ours::body(row, &text, Vec::new(), &calls);
            ours.or(Some(Body::Assistant(AssistantBody { text, reasoning, calls, stop, ..AssistantBody::default() })))
        }
        "tool" => {
            let name = row["tool_name"].as_str().or(row["name"].as_str()).unwrap_or_default();
            let (call_id, name) = answered(open, row["tool_call_id"].as_str(), name);
            let content = content(&row["content"]).0;
            let ours = ours::body(row, &content, Vec::new(), &[]);
            ours.or(Some(Body::Tool(ToolBody { call_id, name, content, ..ToolBody::default() })))
        }
        "summary" | "note" if row["entry"].is_object() => {
            let text = row["content"].as_str().unwrap_or_default();
            Some(ours::body(row, text, Vec::new(), &[]).ok_or("an entry that this version does not know")?)
        }
        other => return Err(format!("unknown role `{other}`")),
    })
}

/// Which open call a result belongs to: the one of its id, else the first of its name, else the first.
fn answered(open: &mut Vec<(String, String)>, id: Option<&str>, name: &str) -> (String, String) {
    let by_id = id.and_then(|id| open.iter().position(|(open, _)| open == id));
    let by_name = || open.iter().position(|(_, open)| open == name);
    let first = || (name.is_empty() && !open.is_empty()).then_some(0);
    match by_id.or_else(by_name).or_else(first) {
        Some(at) => {
            let (call, named) = open.remove(at);
            (call, if name.is_empty() { named } else { name.to_owned() })
        }
        None => (id.unwrap_or_default().to_owned(), name.to_owned()),
    }
}

/// Calls as the Chat Completions dialect has them, or flat with `args` or `arguments`.
fn calls(value: &Value, number: usize) -> Vec<ToolCall> {
    // Some programs keep them as text.
    let text = value.as_str().and_then(|text| serde_json::from_str(text).ok());
    let value = text.as_ref().unwrap_or(value);
    let calls = value.as_array().into_iter().flatten().enumerate().filter_map(|(index, call)| {
        let inner = if call["function"].is_object() { &call["function"] } else { call };
        let name = inner["name"].as_str()?.to_owned();
        let args = if inner["arguments"].is_null() { &inner["args"] } else { &inner["arguments"] };
        let args = match args {
            Value::Null => "{}".to_owned(),
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let id = call["id"].as_str().map_or_else(|| format!("call_{}_{index}", number + 1), str::to_owned);
        Some(ToolCall { id, name, args, repaired: false, via: String::new() })
    });
    calls.collect()
}

/// Text, and images given as data: a string, or a list of parts; any other value as JSON.
fn content(value: &Value) -> (String, Vec<Image>) {
    match value {
        Value::Null => (String::new(), Vec::new()),
        Value::String(text) => (text.clone(), Vec::new()),
        Value::Array(parts) if parts.iter().all(|part| part["type"].is_string()) => {
            let texts: Vec<&str> = parts.iter().filter_map(|part| part["text"].as_str()).collect();
            let images = parts.iter().filter_map(|part| {
                let url = part["image_url"]["url"].as_str().or(part["image_url"].as_str())?;
                image_of_url(url)
            });
            (texts.join("\n"), images.collect())
        }
        other => (other.to_string(), Vec::new()),
    }
}

/// RFC 3339, or seconds since the epoch (milliseconds when they would lie beyond the year 5000), in milliseconds.
fn time(value: &Value) -> Option<i64> {
    const BEYOND: f64 = 1e11;
    match value {
        Value::String(text) => chrono::DateTime::parse_from_rfc3339(text.trim())
            .map(|time| time.timestamp_millis())
            .ok()
            .or_else(|| text.trim().parse().ok().and_then(|seconds: f64| time(&json!(seconds)))),
        Value::Number(number) => {
            let seconds = number.as_f64().filter(|seconds| seconds.is_finite())?;
            let millis = if seconds.abs() < BEYOND { seconds * 1000.0 } else { seconds };
            // Rounded: 0.001 has no exact binary form.
            Some(millis.round() as i64)
        }
        _ => None,
    }
}
