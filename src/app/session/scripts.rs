//! The calls that a script makes: each a row in the cell of the script.

use super::items::words;
use crate::app::events;
use crate::app::model::Model;
use crate::app::model::transcript::{CellKind, ToolCell, ToolState};
use crate::protocol::{InnerCall, ToolStart};
use std::sync::Arc;

/// A call of a script began to run.
pub fn started(model: &mut Model, within: &str, start: ToolStart) {
    events::tool(model, within, |script| {
        let call = row(script, &start.call_id);
        call.name = start.name;
        call.emoji = start.emoji;
        call.verb = start.verb;
        call.target = start.target;
        call.started_at = start.at;
        call.state = ToolState::Running;
    });
}

/// A call of a script is over.
pub fn finished(model: &mut Model, within: &str, call: &InnerCall) {
    let done = cell(model, call);
    events::tool(model, within, |script| *row(script, &call.id) = done);
}

/// Changes the row of a call that a script made; a question may come before the call is known.
pub fn inner(model: &mut Model, call_id: &str, change: impl FnOnce(&mut ToolCell)) {
    let Some(cell) = InnerCall::script_of(call_id).and_then(|script| model.tab.transcript.call(script)) else { return };
    cell.change(|kind| {
        if let CellKind::Tool(script) = kind {
            change(row(script, call_id));
        }
    });
}

/// The calls of a script as they are kept.
pub fn cells(model: &Model, calls: &[InnerCall]) -> Vec<ToolCell> {
    calls.iter().map(|call| cell(model, call)).collect()
}

fn cell(model: &Model, call: &InnerCall) -> ToolCell {
    let words = words(model, &call.tool);
    ToolCell {
        call_id: call.id.clone(),
        name: call.tool.clone(),
        emoji: words.emoji,
        verb: words.done,
        target: call.view.target.clone(),
        summary: call.view.summary.clone(),
        state: ToolState::Done(call.outcome),
        duration_ms: Some(call.duration_ms),
        output: Arc::from(call.view.output.as_str()),
        approval: call.view.approval.clone(),
        ..ToolCell::default()
    }
}

/// The row of a call, made when it is new.
fn row<'a>(script: &'a mut ToolCell, call_id: &str) -> &'a mut ToolCell {
    let at = script.inner.iter().position(|call| call.call_id == call_id).unwrap_or_else(|| {
        script.inner.push(ToolCell { call_id: call_id.to_owned(), ..ToolCell::default() });
        script.inner.len() - 1
    });
    &mut script.inner[at]
}
