//! Items and deltas as cells: what streams grows one cell, what is durable replaces it in place.

use super::{queue, scripts};
use crate::app::events;
use crate::app::model::Model;
use crate::app::model::transcript::{CellId, CellKind, Older, Streaming, Thinking, ToolCell, ToolState};
use crate::app::reading::select;
use crate::app::window::sidebar;
use crate::protocol::{
    AssistantBody, Body, CallRow, Item, ItemId, NoteKind, Origin, Outcome, SessionId, SummaryBody, ToolBody, ToolCall,
};
use crate::text::readable::readable;
use std::collections::HashMap;
use std::sync::Arc;

/// Longest target made from raw arguments, in characters.
const TARGET: usize = 200;

/// A piece of the answer. With its first one the model has thought enough.
pub fn text_delta(model: &mut Model, delta: &str) {
    if model.tab.transcript.streaming.text.is_none() {
        thought(model, model.tab.transcript.streaming.reasoning);
    }
    let id = model.tab.transcript.streaming.text.filter(|id| model.tab.transcript.cell(*id).is_some());
    let id = id.unwrap_or_else(|| model.tab.transcript.push(CellKind::Assistant { text: String::new() }, None, false));
    model.tab.transcript.streaming.text = Some(id);
    if let Some(cell) = model.tab.transcript.cell(id) {
        cell.change(|kind| {
            if let CellKind::Assistant { text } = kind {
                text.push_str(delta);
            }
        });
    }
}

/// Ends the time of the reasoning that streams; how long it took.
pub fn thought(model: &mut Model, reasoning: Option<CellId>) -> Thinking {
    let now = model.now;
    let Some(cell) = reasoning.and_then(|id| model.tab.transcript.cell(id)) else { return Thinking::Unknown };
    let CellKind::Reasoning { time, .. } = cell.kind else { return Thinking::Unknown };
    let Thinking::Since(_) = time else { return time };
    let mut ended = Thinking::Unknown;
    cell.change(|kind| {
        if let CellKind::Reasoning { time, .. } = kind {
            time.end(now);
            ended = *time;
        }
    });
    ended
}

/// A piece of the reasoning.
pub fn reasoning_delta(model: &mut Model, delta: &str) {
    let id = model.tab.transcript.streaming.reasoning.filter(|id| model.tab.transcript.cell(*id).is_some());
    let time = Thinking::Since(model.now);
    let id =
        id.unwrap_or_else(|| model.tab.transcript.push(CellKind::Reasoning { text: String::new(), time }, None, false));
    model.tab.transcript.streaming.reasoning = Some(id);
    if let Some(cell) = model.tab.transcript.cell(id) {
        cell.change(|kind| {
            if let CellKind::Reasoning { text, .. } = kind {
                text.push_str(delta);
            }
        });
    }
}

/// The stream broke: what it had shown goes; what is kept comes as an item.
pub fn stream_reset(model: &mut Model) {
    let Streaming { text, reasoning } = std::mem::take(&mut model.tab.transcript.streaming);
    model.tab.transcript.cells.retain(|cell| Some(cell.id) != text && Some(cell.id) != reasoning);
}

/// A durable item came.
pub fn finished(model: &mut Model, item: Item) {
    let Item { id, body, .. } = item;
    match body {
        Body::User { text, images, origin, gist, .. } => {
            if origin == Origin::Person {
                model.tab.sent = None;
            }
            if origin != Origin::Program {
                queue::heard(model, &text);
            }
            model.tab.transcript.push(said(text, images.len(), origin, gist), Some(id), true);
        }
        Body::Assistant(answer) => answered(model, id, answer),
        Body::Tool(result) => {
            sidebar::changed_files(model, &result.view.diffs);
            if model.tab.transcript.call(&result.call_id).is_none() {
                let tool = ToolCell { call_id: result.call_id.clone(), ..ToolCell::default() };
                model.tab.transcript.push(CellKind::Tool(Box::new(tool)), None, false);
            }
            let (words, inner) = (words(model, &result.name), scripts::cells(model, &result.inner));
            events::tool(model, &result.call_id, |tool| fill(tool, &result, &words, inner));
            if let Some(cell) = model.tab.transcript.call(&result.call_id) {
                cell.item = Some(id);
                cell.finished = true;
            }
        }
        Body::Summary(summary) => {
            model.tab.transcript.push(summarized(&summary), Some(id), true);
        }
        Body::Note { kind, text } => {
            if kind == NoteKind::TurnEnd {
                close_open(model);
            }
            model.tab.transcript.push(note(kind, text), Some(id), true);
        }
    }
}

fn summarized(summary: &SummaryBody) -> CellKind {
    CellKind::Summary { line: summary.line(), text: summary.text.clone() }
}

fn note(kind: NoteKind, text: String) -> CellKind {
    if kind == NoteKind::TurnEnd { CellKind::TurnEnd { text } } else { CellKind::Note { kind, text } }
}

/// A message to the model: the person's as it is, the program's folded. One without a gist shows its first line.
fn said(text: String, images: usize, origin: Origin, gist: String) -> CellKind {
    if origin != Origin::Program {
        return CellKind::User { text, images, origin };
    }
    let first = || text.lines().next().unwrap_or_default().trim_start_matches('[').to_owned();
    CellKind::Told { gist: if gist.is_empty() { first() } else { gist }, text }
}

/// An answer is durable: its cells stay where they streamed.
fn answered(model: &mut Model, id: ItemId, answer: AssistantBody) {
    let Streaming { text, reasoning } = std::mem::take(&mut model.tab.transcript.streaming);
    let seen = thought(model, reasoning);
    // What was measured where it streams is what a resumed session will say.
    let time = answer.thought_ms.map_or(seen, Thinking::For);
    settle(model, reasoning, answer.reasoning, id, |text| CellKind::Reasoning { text, time });
    settle(model, text, answer.text, id, |text| CellKind::Assistant { text });
    for call in &answer.calls {
        // Some servers count their calls from the start with each reply.
        if model.tab.transcript.call(&call.id).is_none_or(|earlier| earlier.finished) {
            let words = words(model, &call.name);
            model.tab.transcript.push(CellKind::Tool(Box::new(proposed(call, &words))), Some(id), false);
        }
    }
    if let crate::app::model::TurnStatus::Running(running) = &mut model.tab.turn {
        running.calls.clear();
    }
}

/// Gives a streamed cell its final text, makes one where nothing streamed, removes one that came to nothing.
fn settle(model: &mut Model, streamed: Option<CellId>, text: String, id: ItemId, kind: impl Fn(String) -> CellKind) {
    match streamed.and_then(|streamed| model.tab.transcript.cell(streamed)) {
        Some(cell) if text.is_empty() => {
            let gone = cell.id;
            model.tab.transcript.cells.retain(|cell| cell.id != gone);
        }
        Some(cell) => {
            cell.change(|shown| *shown = kind(text));
            cell.finished = true;
            cell.item = Some(id);
        }
        None if text.is_empty() => {}
        None => {
            model.tab.transcript.push(kind(text), Some(id), true);
        }
    }
}

/// The turn ended: nothing grows or runs any more.
pub fn close_open(model: &mut Model) {
    let streaming = std::mem::take(&mut model.tab.transcript.streaming);
    thought(model, streaming.reasoning);
    for cell in model.tab.transcript.cells.iter_mut().rev().filter(|cell| !cell.finished) {
        cell.change(|kind| {
            if let CellKind::Tool(tool) = kind
                && !matches!(tool.state, ToolState::Done(_))
            {
                tool.state = ToolState::Done(Outcome::Interrupted);
            }
        });
        cell.finished = true;
    }
}

/// How a tool is shown when only its name is known.
pub(super) struct Words {
    pub(super) emoji: String,
    running: String,
    pub(super) done: String,
    row: CallRow,
}

pub(super) fn words(model: &Model, name: &str) -> Words {
    let known = model.tool_words.get(name);
    let skin = model.look.skin.tool_emojis.get(name);
    Words {
        emoji: skin.or(known.map(|words| &words.emoji)).cloned().unwrap_or_else(|| "⚡".into()),
        running: known.map_or_else(|| name.to_owned(), |words| words.running.clone()),
        done: known.map_or_else(|| name.to_owned(), |words| words.done.clone()),
        row: known.map(|words| words.row).unwrap_or_default(),
    }
}

fn proposed(call: &ToolCall, words: &Words) -> ToolCell {
    ToolCell {
        call_id: call.id.clone(),
        name: call.name.clone(),
        emoji: words.emoji.clone(),
        verb: words.running.clone(),
        target: target(&call.args),
        row: words.row,
        repaired: call.repaired,
        ..ToolCell::default()
    }
}

/// What a call is about, from its raw arguments.
fn target(args: &str) -> String {
    let Ok(args) = serde_json::from_str::<serde_json::Value>(args) else { return String::new() };
    let keys = ["command", "path", "pattern", "question", "action", "query", "url", "name"];
    let text = keys.iter().find_map(|key| args.get(key)?.as_str()).unwrap_or_default();
    text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(TARGET).collect()
}

fn fill(tool: &mut ToolCell, result: &ToolBody, words: &Words, inner: Vec<ToolCell>) {
    tool.name.clone_from(&result.name);
    if tool.emoji.is_empty() {
        tool.emoji.clone_from(&words.emoji);
    }
    tool.verb.clone_from(&words.done);
    tool.row = words.row;
    if !result.view.target.is_empty() {
        tool.target.clone_from(&result.view.target);
    }
    tool.summary.clone_from(&result.view.summary);
    if !result.view.children.is_empty() {
        tool.children.clone_from(&result.view.children);
    }
    tool.state = ToolState::Done(result.outcome);
    tool.duration_ms = Some(result.duration_ms);
    tool.progress.clear();
    let output = if result.view.output.is_empty() { readable(&result.content) } else { result.view.output.clone() };
    // A refusal stands on the line of the approval.
    tool.output = if output == result.view.approval { Arc::default() } else { Arc::from(output) };
    tool.diffs.clone_from(&result.view.diffs);
    tool.changed.clone_from(&result.view.changed);
    tool.exit_code = result.view.exit_code;
    tool.approval.clone_from(&result.view.approval);
    tool.inner = inner;
}

/// Items of the store as cells; results stand with their calls.
fn cells(model: &mut Model, items: Vec<Item>) -> Vec<(CellKind, Option<ItemId>)> {
    let mut cells: Vec<(CellKind, Option<ItemId>)> = Vec::with_capacity(items.len());
    let mut calls: HashMap<String, usize> = HashMap::new();
    for Item { id, body, .. } in items {
        match body {
            Body::User { text, images, origin, gist, .. } => {
                cells.push((said(text, images.len(), origin, gist), Some(id)));
            }
            Body::Assistant(answer) => {
                if !answer.reasoning.is_empty() {
                    let time = answer.thought_ms.map_or(Thinking::Unknown, Thinking::For);
                    cells.push((CellKind::Reasoning { text: answer.reasoning, time }, Some(id)));
                }
                if !answer.text.is_empty() {
                    cells.push((CellKind::Assistant { text: answer.text }, Some(id)));
                }
                for call in &answer.calls {
                    // its result came with the newer page
                    if model.tab.transcript.call(&call.id).is_some() {
                        continue;
                    }
                    calls.insert(call.id.clone(), cells.len());
                    let mut tool = proposed(call, &words(model, &call.name));
                    tool.state = ToolState::Done(Outcome::Interrupted);
                    cells.push((CellKind::Tool(Box::new(tool)), Some(id)));
                }
            }
            Body::Tool(result) => {
                let (words, inner) = (words(model, &result.name), scripts::cells(model, &result.inner));
                let known = calls.get(&result.call_id).and_then(|at| cells.get_mut(*at));
                if let Some((CellKind::Tool(tool), item)) = known {
                    fill(tool, &result, &words, inner);
                    *item = Some(id);
                } else {
                    let mut tool = ToolCell { call_id: result.call_id.clone(), ..ToolCell::default() };
                    fill(&mut tool, &result, &words, inner);
                    cells.push((CellKind::Tool(Box::new(tool)), Some(id)));
                }
            }
            Body::Summary(summary) => cells.push((summarized(&summary), Some(id))),
            Body::Note { kind, text } => cells.push((note(kind, text), Some(id))),
        }
    }
    cells
}

/// A session was opened with its newest items.
pub fn opened(model: &mut Model, items: Vec<Item>) {
    select::clear(model);
    model.tab.transcript.reset();
    let first = items.first().map(|item| item.id);
    for item in &items {
        if let Body::Tool(result) = &item.body {
            sidebar::changed_files(model, &result.view.diffs);
        }
    }
    let cells = cells(model, items);
    model.tab.transcript.prepend(cells);
    model.tab.transcript.older = older_than(first, first.is_some_and(|first| first.0 > 1));
}

/// An older page came: it goes above, and the view stays where it is.
pub fn older(model: &mut Model, session: &SessionId, items: Vec<Item>, more: bool) {
    let here = model.tab.session.as_ref().is_some_and(|current| current.id == *session);
    if !here || model.tab.transcript.older != Older::Loading {
        return;
    }
    let first = items.first().map(|item| item.id);
    let cells = cells(model, items);
    model.tab.transcript.prepend(cells);
    model.tab.transcript.older = older_than(first, more);
}

fn older_than(first: Option<ItemId>, more: bool) -> Older {
    match first {
        Some(first) if more => Older::Before(first),
        _ => Older::None,
    }
}

#[cfg(test)]
mod tests;
