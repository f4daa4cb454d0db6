//! Undoing one command: look at what it changed, and put that back. Nothing happens before Enter.

use super::rewind::is_quiet;
use crate::app::action::Action;
use crate::app::effect::{Effect, LoadRequest};
use crate::app::input::keys::Press;
use crate::app::model::Model;
use crate::app::model::modal::Modal;
use crate::app::model::transcript::CellKind;
use crate::app::model::undo::{UndoModal, Wanted};
use crate::app::reading::scroll;
use crate::app::window::modals::{self, Move};
use crate::protocol::{AgentCommand, Level, Theirs, UndoOrder, UndoPoint, UndoPreview};

/// Rows that a page moves the preview.
const PAGE: i32 = 8;

/// Opens it: at the Nth command counted back, at the selected command, or at the newest.
pub fn open(model: &mut Model, out: &mut Vec<Effect>, argument: &str) {
    let argument = argument.trim();
    let wanted = match argument.parse::<usize>() {
        Ok(number) if number > 0 => Wanted::Nth(number),
        _ if argument.is_empty() => selected_call(model).map_or(Wanted::Newest, Wanted::Call),
        _ => {
            let text = "/undo-command takes a number: 1 is the newest command that changed files";
            return model.notices.add(model.now, Level::Warning, text.to_owned());
        }
    };
    if is_quiet(model) {
        model.tab.modals.push(Modal::Undo(Box::new(UndoModal { wanted, loading: true, ..UndoModal::default() })));
        out.push(Effect::Load(LoadRequest::UndoPoints));
    }
}

/// The call of the selected entry.
fn selected_call(model: &Model) -> Option<String> {
    let id = model.tab.transcript.selected?;
    let cell = model.tab.transcript.cells.iter().find(|cell| cell.id == id)?;
    if let CellKind::Tool(tool) = &cell.kind { Some(tool.call_id.clone()) } else { None }
}

fn modal(model: &mut Model) -> Option<&mut UndoModal> {
    model.tab.modals.iter_mut().rev().find_map(|modal| {
        let Modal::Undo(modal) = modal else { return None };
        Some(&mut **modal)
    })
}

fn close(model: &mut Model) {
    model.tab.modals.retain(|modal| !matches!(modal, Modal::Undo(_)));
}

/// The commands came.
pub fn listed(model: &mut Model, out: &mut Vec<Effect>, points: Result<Vec<UndoPoint>, String>) {
    let Some(modal) = modal(model) else { return };
    modal.loading = false;
    let problem = match points {
        Err(problem) => problem,
        Ok(points) if points.is_empty() => "no command of this session changed a file".to_owned(),
        Ok(points) => {
            let at = match &modal.wanted {
                Wanted::Newest => Some(points.iter().position(|point| point.files > 0).unwrap_or_default()),
                Wanted::Nth(number) => Some(number - 1).filter(|at| *at < points.len()),
                Wanted::Call(call) => points.iter().position(|point| point.call == *call),
            };
            match at {
                Some(at) => {
                    modal.commands = points;
                    return select(model, out, at);
                }
                None if matches!(modal.wanted, Wanted::Call(_)) => "the selected entry changed no file".to_owned(),
                None => format!("only {} of this session changed files", plural_commands(points.len())),
            }
        }
    };
    close(model);
    model.notices.add(model.now, Level::Info, problem);
}

fn plural_commands(count: usize) -> String {
    crate::text::format::plural(count as u64, "command", "commands")
}

/// Selects a command and asks what undoing it would mean.
fn select(model: &mut Model, out: &mut Vec<Effect>, at: usize) {
    let Some(modal) = modal(model) else { return };
    modal.selected = at;
    modal.preview = None;
    modal.overwrite = false;
    modal.scroll = 0;
    modal.problem.clear();
    if let Some(point) = modal.point() {
        out.push(Effect::Load(LoadRequest::UndoPreview { command: point.command }));
    }
}

/// The preview of a command came.
pub fn previewed(model: &mut Model, command: i64, preview: Result<UndoPreview, String>) {
    let Some(modal) = modal(model) else { return };
    if modal.point().is_none_or(|point| point.command != command) {
        return;
    }
    match preview {
        Ok(preview) => modal.preview = Some(preview),
        Err(problem) => modal.problem = problem,
    }
}

/// A command has ended, or what files differ in is known anew: what was said of one that still ran may not hold any more.
pub fn look_again(model: &mut Model, out: &mut Vec<Effect>) {
    let Some(modal) = modal(model) else { return };
    let still = |gap: &String| gap.contains("still runs");
    let is_old = modal.preview.as_ref().is_some_and(|preview| preview.gaps.iter().any(still));
    if let Some(command) = modal.point().filter(|_| is_old).map(|point| point.command) {
        out.push(Effect::Load(LoadRequest::UndoPreview { command }));
    }
}

/// A key for the modal.
pub fn act(model: &mut Model, out: &mut Vec<Effect>, press: Press) {
    let Some(modal) = modal(model) else { return };
    match press.action {
        Some(Action::ScrollUp) => modal.scroll = scroll::shifted(modal.scroll, -PAGE),
        Some(Action::ScrollDown) => modal.scroll = scroll::shifted(modal.scroll, PAGE),
        Some(Action::Close) => close(model),
        Some(Action::OverwriteFiles) if modal.preview.as_ref().is_some_and(|preview| preview.foreign() > 0) => {
            modal.overwrite = !modal.overwrite;
        }
        Some(Action::Accept) => take(model, out),
        action => {
            if let Some(movement) = modals::movement(action) {
                step(model, out, movement);
            }
        }
    }
}

/// Another command.
fn step(model: &mut Model, out: &mut Vec<Effect>, movement: Move) {
    let Some(modal) = modal(model) else { return };
    let last = modal.commands.len().saturating_sub(1);
    let to = match movement {
        Move::Rows(rows) => scroll::shifted(modal.selected, rows).min(last),
        Move::Start | Move::End => modals::moved(modal.selected, modal.commands.len(), movement),
    };
    if to != modal.selected {
        select(model, out, to);
    }
}

/// The wheel scrolls the preview.
pub fn wheel(model: &mut Model, rows: i32) {
    if let Some(modal) = modal(model) {
        modal.scroll = scroll::shifted(modal.scroll, rows);
    }
}

/// Enter: what is shown is done, when there is something to do.
fn take(model: &mut Model, out: &mut Vec<Effect>) {
    let Some(modal) = modal(model) else { return };
    let Some(preview) = &modal.preview else { return };
    if modal.count() == 0 {
        return;
    }
    let theirs = if modal.overwrite { Theirs::Overwrite } else { Theirs::Leave };
    let order = UndoOrder { command: preview.command, theirs };
    close(model);
    if is_quiet(model) {
        out.push(Effect::Agent(AgentCommand::UndoCommand(order)));
    }
}

#[cfg(test)]
mod tests;
