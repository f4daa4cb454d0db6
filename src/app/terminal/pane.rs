//! The terminal pane: what opens by itself closes by itself, what the user touched stays.

use super::processes::foreground;
use super::{editor, split};
use crate::app::effect::Effect;
use crate::app::input::focus;
use crate::app::model::processes::Passing;
use crate::app::model::{Model, Pane};
use crate::app::session::turn;
use crate::exec::{ProcessCommand, ProcessId, ProcessInfo};
use crate::protocol::Level;

/// Milliseconds that a foreground command runs before the pane opens by itself.
const OPEN_AFTER: i64 = 1000;

pub(super) fn close_if_done(model: &mut Model) {
    let idle = !turn::is_running(model) && foreground(model).next().is_none();
    let pane = &mut model.tab.processes.pane;
    if idle && pane.open && !pane.touched {
        pane.open = false;
        pane.taken_over = false;
    }
}

/// When the pane opens by itself.
pub fn opens_at(model: &Model) -> Option<i64> {
    let pane = &model.tab.processes.pane;
    if pane.open || pane.touched {
        return None;
    }
    foreground(model).map(|row| row.started_at + OPEN_AFTER).min()
}

/// A wake-up: a command that has run for a while gets its pane.
pub fn woke(model: &mut Model) {
    if opens_at(model).is_none_or(|at| at > model.now) {
        return;
    }
    let newest = foreground(model).last().map(|row| row.id.clone());
    if !model.tab.processes.pane.chosen {
        show_tab(model, newest);
    }
    model.tab.processes.pane.open = true;
}

/// Shows a tab; scroll and screen of the one before do not belong to it.
pub fn show_tab(model: &mut Model, id: Option<ProcessId>) {
    if split::is_other(model, id.as_ref()) {
        return split::swap(model);
    }
    let pane = &mut model.tab.processes.pane;
    if pane.shown != id {
        pane.shown = id;
        pane.screen = None;
        pane.scroll = 0;
        pane.taken_over = false;
        pane.find = None;
        pane.passing = Passing::default();
    }
}

/// Tells the process table which screens are wanted, at which size, when that changed.
pub fn watch(model: &mut Model, out: &mut Vec<Effect>) {
    split::watch(model, out);
    let pane = &model.tab.processes.pane;
    let wanted = match (pane.open, model.layout.terminal, &pane.shown) {
        (true, Some(size), Some(id)) if size.0 > 0 && size.1 > 0 => Some((id.clone(), size)),
        _ => None,
    };
    if wanted == model.tab.processes.watching {
        return;
    }
    let command = match &wanted {
        Some((id, size)) => ProcessCommand::Watch(Some(id.clone()), *size),
        None => ProcessCommand::Watch(None, model.tab.processes.watching.as_ref().map_or((0, 0), |(_, size)| *size)),
    };
    out.push(Effect::Process(command));
    model.tab.processes.watching = wanted;
}

/// Opens or closes the pane; from now on it stays as the person left it.
pub fn toggle(model: &mut Model) {
    let open = !model.tab.processes.pane.open;
    if open && model.tab.processes.rows.is_empty() {
        model.notices.add(model.now, Level::Info, "no command is running");
        return;
    }
    let pane = &mut model.tab.processes.pane;
    pane.open = open;
    pane.touched = true;
    pane.taken_over = false;
}

/// Shows the next tab, or the one before.
pub fn next(model: &mut Model, by: isize) {
    let rows = &model.tab.processes.rows;
    if rows.is_empty() {
        model.notices.add(model.now, Level::Info, "no command is running");
        return;
    }
    let at = rows.iter().position(|row| Some(&row.id) == model.tab.processes.pane.shown.as_ref());
    let at = if model.tab.processes.pane.open {
        at.map_or(0, |at| (at + rows.len()).saturating_add_signed(by) % rows.len())
    } else {
        at.unwrap_or(0)
    };
    let id = rows[at].id.clone();
    show_process(model, id);
}

/// Whether the shown program needs a whole screen: an editor, or one that was taken over and draws everywhere.
pub fn needs_screen(model: &Model) -> bool {
    let pane = &model.tab.processes.pane;
    let full = pane.taken_over && pane.screen.as_ref().is_some_and(|screen| screen.alternate);
    full || pane.shown.as_ref().is_some_and(|id| editor::is(model, id))
}

/// Shows a process in the pane, as the person asked.
pub fn show_process(model: &mut Model, id: ProcessId) {
    show_tab(model, Some(id));
    let pane = &mut model.tab.processes.pane;
    pane.open = true;
    pane.touched = true;
    pane.chosen = true;
}

/// `/processes`: the pane, with the focus.
pub fn show(model: &mut Model) {
    if model.tab.processes.rows.is_empty() {
        model.notices.add(model.now, Level::Info, "no command is running");
        return;
    }
    model.tab.processes.pane.open = true;
    model.tab.processes.pane.touched = true;
    focus::set(model, Pane::Terminal);
}

/// The command that the pane shows.
pub fn shown(model: &Model) -> Option<&ProcessInfo> {
    let id = model.tab.processes.pane.shown.as_ref()?;
    model.tab.processes.rows.iter().find(|row| row.id == *id)
}
