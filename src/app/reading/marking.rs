//! Selecting in panes whose rows are numbered, by mouse and by keyboard: terminal, sidebar, text of a modal.

use super::{scroll, select};
use crate::app::effect::Effect;
use crate::app::input::focus;
use crate::app::model::layout::FlatRow;
use crate::app::model::selection::{Grain, PaneSelection, Point, Surface, nearest};
use crate::app::model::{Model, Pane};
use crate::app::terminal::taking_over;
use crate::exec::{ProcessCommand, Scroll};
use crate::text::Place;
use std::collections::BTreeMap;

/// The pane that a surface is in; `None`: a modal.
fn pane(surface: Surface) -> Option<Pane> {
    match surface {
        Surface::Terminal => Some(Pane::Terminal),
        Surface::Sidebar => Some(Pane::Sidebar),
        Surface::Modal => None,
    }
}

/// The cell under the mouse, on the surface that can be selected now.
pub fn under(model: &Model, column: u16, row: u16) -> Option<(Surface, Point)> {
    let inside = |flat: &&FlatRow| {
        let there = flat.y == row && column >= flat.x && column < flat.x + flat.width;
        there && (flat.surface == Surface::Modal) != model.tab.modals.is_empty()
    };
    let flat = model.layout.flat.iter().rev().find(inside)?;
    Some((flat.surface, Point { place: flat.place, column: column - flat.x }))
}

/// The cell of a surface that is nearest to the mouse.
pub fn near(model: &Model, surface: Surface, column: u16, row: u16) -> Option<Point> {
    let flat = nearest(&model.layout.flat, surface, row)?;
    let column = column.saturating_sub(flat.x).min(flat.width.saturating_sub(1));
    Some(Point { place: flat.place, column })
}

/// Selects from a cell to a cell.
pub fn select(model: &mut Model, surface: Surface, from: Point, to: Point, grain: Grain) {
    let process = model.tab.processes.pane.shown.clone().filter(|_| surface == Surface::Terminal);
    let mut selection = model.tab.pane_selection.take().unwrap_or(PaneSelection {
        surface,
        from,
        to,
        grain,
        process,
        modals: model.tab.modals.len(),
        kept: BTreeMap::new(),
        asked: i64::MIN,
    });
    (selection.from, selection.to, selection.grain) = (from, to, grain);
    if surface == Surface::Terminal
        && selection.kept.is_empty()
        && let Some(screen) = &model.tab.processes.pane.screen
    {
        selection.keep(screen);
    }
    model.tab.pane_selection = Some(selection);
}

/// A screen of the terminal came while something is selected in it.
pub fn screen(model: &mut Model) {
    let Some(screen) = model.tab.processes.pane.screen.clone() else { return };
    let caret = model.tab.copy_mode.is_some();
    let Some(selection) = model.tab.pane_selection.as_mut().filter(|it| it.surface == Surface::Terminal) else {
        return;
    };
    selection.keep(&screen);
    // the caret went to a line that is not there
    let places = screen.places();
    let (Some(first), Some(last), true) = (places.first(), places.last(), caret) else { return };
    if screen.scrollback == 0 {
        selection.to.place = selection.to.place.max(*first);
    }
    if screen.below == 0 {
        selection.to.place = selection.to.place.min(*last);
    }
    if !model.tab.copy_mode.is_some_and(|mode| mode.marking) {
        selection.from = selection.to;
    }
}

/// Asks for lines that are to be copied and were never on the screen: the view jumped over them. Whether one must wait.
pub fn wait_for_lines(model: &mut Model, out: &mut Vec<Effect>) -> bool {
    let Some(selection) = model.tab.pane_selection.as_mut().filter(|it| it.surface == Surface::Terminal) else {
        return false;
    };
    let (Some(missing), Some(id)) = (selection.missing(), selection.process.clone()) else { return false };
    let order = Effect::Process(ProcessCommand::Lines(id, missing));
    // one at a time; every frame until the answer comes would ask again
    if model.tab.processes.asked != Some(missing) {
        model.tab.processes.asked = Some(missing);
        out.push(order);
    }
    true
}

/// Lines that were asked for came.
pub fn lines(model: &mut Model, out: &mut Vec<Effect>, lines: &crate::text::Snapshot) {
    let asked = model.tab.processes.asked.take();
    let Some(selection) = model.tab.pane_selection.as_mut().filter(|it| it.surface == Surface::Terminal) else {
        return;
    };
    selection.keep(lines);
    if let Some((_, last)) = asked {
        selection.asked = last + 1;
    }
    if model.tab.copying.is_some() {
        wait_for_lines(model, out);
    }
}

/// Forgets a selection whose rows are gone, and keeps those of a terminal in view.
pub fn settle(model: &mut Model, out: &mut Vec<Effect>) {
    let gone = model.tab.pane_selection.as_ref().is_some_and(|selection| match selection.surface {
        Surface::Terminal => !model.tab.processes.pane.open || selection.process != model.tab.processes.pane.shown,
        Surface::Sidebar => !model.layout.panes.iter().any(|(pane, _)| *pane == Pane::Sidebar),
        Surface::Modal => selection.modals != model.tab.modals.len(),
    });
    if gone {
        select::clear(model);
    }
    let process = model.tab.pane_selection.as_ref().filter(|it| it.surface == Surface::Terminal);
    let process = process.and_then(|selection| selection.process.clone());
    if process == model.tab.processes.held_view.as_ref().map(|(id, _)| id.clone()) {
        return;
    }
    let before = model.tab.processes.held_view.take();
    if let Some(id) = process {
        model.tab.processes.held_view = Some((id.clone(), model.tab.processes.pane.scroll == 0));
        out.push(Effect::Process(ProcessCommand::Scroll(id, Scroll::Hold)));
    } else if let Some((id, true)) = before
        && model.tab.processes.pane.shown.as_ref() == Some(&id)
    {
        taking_over::follow(model, out);
    }
}

/// Begins to select with the keyboard in the focused pane, at the last row with text. `false`: it has no such rows.
pub fn copy_mode(model: &mut Model) -> bool {
    let surface = match model.tab.focus {
        Pane::Terminal => Surface::Terminal,
        Pane::Sidebar => Surface::Sidebar,
        Pane::Composer | Pane::Conversation | Pane::Queue => return false,
    };
    let rows: Vec<FlatRow> = model.layout.flat.iter().filter(|row| row.surface == surface).copied().collect();
    let Some(last) = rows.iter().rev().find(|row| !row.is_blank).or(rows.first()) else { return false };
    let at = Point { place: last.place, column: 0 };
    select(model, surface, at, at, Grain::Cell);
    if let Some(pane) = pane(surface) {
        focus::set(model, pane);
    }
    true
}

/// The caret of copy mode goes to a cell.
pub(super) fn move_to(model: &mut Model, to: Point) {
    let marking = model.tab.copy_mode.is_some_and(|mode| mode.marking);
    if let Some(selection) = &mut model.tab.pane_selection {
        selection.to = to;
        if !marking {
            selection.from = to;
        }
    }
}

/// Columns of the surface of the selection.
fn width(model: &Model) -> u16 {
    let surface = model.tab.pane_selection.as_ref().map(|selection| selection.surface);
    model.layout.flat.iter().find(|row| Some(row.surface) == surface).map_or(1, |row| row.width)
}

/// Moves the caret across; far steps stop at the edges.
pub fn across(model: &mut Model, by: i32) {
    let last = i32::from(width(model).saturating_sub(1));
    let Some(to) = model.tab.pane_selection.as_ref().map(|selection| selection.to) else { return };
    let column = i32::from(to.column).saturating_add(by).clamp(0, last) as u16;
    move_to(model, Point { column, ..to });
}

/// Moves the caret by rows; beyond the edge the pane scrolls along.
pub fn down(model: &mut Model, out: &mut Vec<Effect>, by: i32) {
    let Some((surface, to)) = model.tab.pane_selection.as_ref().map(|selection| (selection.surface, selection.to))
    else {
        return;
    };
    let rows: Vec<FlatRow> = model.layout.flat.iter().filter(|row| row.surface == surface).copied().collect();
    let Some(last) = rows.len().checked_sub(1) else { return };
    if surface == Surface::Terminal && !rows.iter().any(|row| row.place == to.place) {
        // the screen that shows the caret is on its way
        scroll::by(model, out, Pane::Terminal, by);
        let place = Place { line: to.place.line + i64::from(by), part: 0 };
        return move_to(model, Point { place, ..to });
    }
    let at = rows.iter().position(|row| row.place == to.place).unwrap_or(if by < 0 { 0 } else { last });
    let wanted = at as i64 + i64::from(by);
    let beyond = wanted.min(0) + (wanted - last as i64).max(0);
    let row = rows[wanted.clamp(0, last as i64) as usize];
    let mut place = row.place;
    if beyond != 0 {
        match surface {
            Surface::Terminal => {
                scroll::by(model, out, Pane::Terminal, beyond as i32);
                // the next screen brings the caret back if there is no such line
                place.line += beyond;
                place.part = 0;
            }
            Surface::Sidebar => {
                scroll::by(model, out, Pane::Sidebar, beyond as i32);
                if let Some(mode) = &mut model.tab.copy_mode {
                    mode.beyond = by.signum() as i8;
                }
            }
            Surface::Modal => {}
        }
    }
    move_to(model, Point { place, ..to });
}

/// Moves the caret by half pages.
pub fn half_pages(model: &mut Model, out: &mut Vec<Effect>, by: i32) {
    let surface = model.tab.pane_selection.as_ref().map(|selection| selection.surface);
    let rows = model.layout.flat.iter().filter(|row| Some(row.surface) == surface).count();
    down(model, out, (rows / 2).max(1) as i32 * by);
}

/// Moves the caret to the first or the last row that is shown.
pub fn edge(model: &mut Model, first: bool) {
    let surface = model.tab.pane_selection.as_ref().map(|selection| selection.surface);
    let mut rows = model.layout.flat.iter().filter(|row| Some(row.surface) == surface);
    let row = if first { rows.next() } else { rows.next_back() };
    if let Some(place) = row.map(|row| row.place) {
        move_to(model, Point { place, column: 0 });
    }
}

/// Begins or ends marking; `whole`: rows.
pub fn mark(model: &mut Model, whole: bool) {
    let Some(selection) = &mut model.tab.pane_selection else { return };
    selection.from = selection.to;
    selection.grain = if whole { Grain::Line } else { Grain::Cell };
}

/// A frame was drawn after the pane scrolled beyond the caret.
pub fn drawn(model: &mut Model) {
    let Some(beyond) = model.tab.copy_mode.map(|mode| mode.beyond).filter(|beyond| *beyond != 0) else { return };
    let column = model.tab.pane_selection.as_ref().map_or(0, |selection| selection.to.column);
    edge(model, beyond < 0);
    across(model, i32::from(column));
}
