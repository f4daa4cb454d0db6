//! The mouse: the wheel scrolls what it points at, clicks follow what the last frame put there, dragging selects or
//! moves a border. A program that was taken over and asked for the mouse gets it, unless Shift is held.

use super::{encode, focus, suggestions};
use crate::app::effect::Effect;
use crate::app::lists::first_run;
use crate::app::model::layout::Hit;
use crate::app::model::notices::About;
use crate::app::model::selection::{Grain, Surface};
use crate::app::model::transcript::{Selection, Spot};
use crate::app::model::{Click, Copying, Model, Pane, Pressed};
use crate::app::msg::{Mouse, MouseKind};
use crate::app::reading::{marking, scroll, select};
use crate::app::session::tabs;
use crate::app::terminal::{pane, split, taking_over};
use crate::app::window::{borders, modals};
use crate::config::keymap::{Code, Key};
use crate::protocol::{Level, Opens};
use crate::text::MouseReports;

/// Rows a wheel step scrolls.
const WHEEL: i32 = 3;
/// Milliseconds within which another press at the same cell counts with the one before.
const CLICK_AGAIN_MS: i64 = 400;

/// The mouse did something.
pub fn mouse(model: &mut Model, out: &mut Vec<Effect>, event: Mouse) {
    match event.kind {
        MouseKind::Wheel(steps) => wheel(model, out, event, steps),
        MouseKind::Press => press(model, out, event),
        MouseKind::Drag => drag(model, out, event),
        MouseKind::Release => match model.pressed.take() {
            Some(Pressed::Program) => tell(model, out, event),
            Some(Pressed::Border(_)) => {}
            Some(Pressed::Conversation(..) | Pressed::Surface(..)) | None => {
                if select::is_active(model) && model.tab.copy_mode.is_none() {
                    model.tab.copying = Some(Copying::Keep);
                }
            }
        },
    }
}

fn wheel(model: &mut Model, out: &mut Vec<Effect>, event: Mouse, steps: i16) {
    let rows = i32::from(steps) * WHEEL;
    let under = pane(model, event);
    if !model.tab.modals.is_empty() {
        // What stands above a docked question is read to answer it.
        let reads = under.filter(|pane| model.layout.docked && matches!(pane, Pane::Conversation | Pane::Terminal));
        return match reads {
            Some(pane) => scroll::by(model, out, pane, rows),
            None => modals::wheel(model, out, i32::from(steps)),
        };
    }
    let pane = under.unwrap_or(model.tab.focus);
    if wants_mouse(model, event, pane) {
        return tell(model, out, event);
    }
    let screen = model.tab.processes.pane.screen.as_ref();
    if pane == Pane::Terminal && model.tab.processes.pane.taken_over && screen.is_some_and(|screen| screen.alternate) {
        // nothing to scroll back to: the program scrolls by itself, as terminals let it
        let code = if rows < 0 { Code::Up } else { Code::Down };
        let arrow = Key { code, ctrl: false, alt: false, shift: false };
        let bytes = encode::key(arrow, taking_over::modes(model).application_cursor);
        return taking_over::write(model, out, bytes.repeat(rows.unsigned_abs().min(60) as usize));
    }
    scroll::by(model, out, pane, rows);
}

fn pane(model: &Model, event: Mouse) -> Option<Pane> {
    let panes = model.layout.panes.iter().rev();
    panes.clone().find(|(_, area)| area.contains(event.column, event.row)).map(|(pane, _)| *pane)
}

/// Whether what the mouse does in a pane is for the program there.
fn wants_mouse(model: &Model, event: Mouse, pane: Pane) -> bool {
    let asked = taking_over::modes(model).mouse != MouseReports::Off;
    let inside = marking::under(model, event.column, event.row).is_some_and(|(on, _)| on == Surface::Terminal);
    pane == Pane::Terminal && model.tab.processes.pane.taken_over && asked && !event.shift && inside
}

/// Tells the program what the mouse did.
fn tell(model: &mut Model, out: &mut Vec<Effect>, event: Mouse) {
    let mut rows = model.layout.flat.iter().filter(|row| row.surface == Surface::Terminal);
    let Some(first) = rows.next().copied() else { return };
    let last = rows.next_back().map_or(first.y, |row| row.y);
    let column = event.column.clamp(first.x, first.x + first.width.saturating_sub(1)) - first.x;
    let row = event.row.clamp(first.y, last) - first.y;
    let bytes = encode::mouse(event.kind, (column, row), taking_over::modes(model));
    taking_over::write(model, out, bytes);
}

/// Counts presses at the same cell.
fn grain(model: &mut Model, event: Mouse) -> Grain {
    let (column, row, at) = (event.column, event.row, model.now);
    let again = model.click.filter(|last| (last.column, last.row) == (column, row) && at - last.at <= CLICK_AGAIN_MS);
    let count = again.map_or(1, |last| last.count % 3 + 1);
    model.click = Some(Click { column, row, at, count });
    match count {
        2 => Grain::Word,
        3 => Grain::Line,
        _ => Grain::Cell,
    }
}

fn press(model: &mut Model, out: &mut Vec<Effect>, event: Mouse) {
    select::clear(model);
    let grain = grain(model, event);
    let hit = model.layout.targets.iter().rev().find(|(area, _)| area.contains(event.column, event.row));
    let hit = hit.map(|(_, hit)| hit.clone());
    if !model.tab.modals.is_empty() {
        if let Some(Hit::ModalRow(row)) = hit {
            modals::click(model, out, row);
        } else {
            begin(model, event, grain);
        }
        return;
    }
    if let Some(Hit::Border(border)) = hit {
        model.pressed = Some(Pressed::Border(border));
        return;
    }
    if let Some(pane) = pane(model, event) {
        if wants_mouse(model, event, pane) {
            model.pressed = Some(Pressed::Program);
            return tell(model, out, event);
        }
        // a click in the conversation selects; the composer keeps the keys until something in it is chosen
        if pane != Pane::Conversation {
            if model.tab.processes.pane.taken_over && pane != Pane::Terminal {
                model.tab.processes.pane.taken_over = false;
            }
            focus::set(model, pane);
        }
    }
    match hit {
        Some(Hit::ToggleCell(cell)) => {
            model.tab.transcript.selected = Some(cell);
            select::toggle(model, cell);
        }
        Some(Hit::ShowProcess(id)) => pane::show_process(model, id),
        Some(Hit::Child(session)) => tabs::open(model, out, Opens::Resume(session)),
        Some(Hit::Session(tab)) => tabs::show(model, out, tab),
        Some(Hit::OtherTerminal) => split::swap(model),
        Some(Hit::Link(target)) => {
            out.push(Effect::Copy(target));
        }
        Some(Hit::ToEnd) => scroll::follow(model),
        Some(Hit::Suggestion(row)) => suggestions::take(model, row),
        Some(Hit::FirstRunRow(row)) => first_run::click(model, out, row),
        Some(Hit::ModalRow(_) | Hit::Border(_)) | None => begin(model, event, grain),
    }
}

/// The button went down on text: dragging selects from here; a word or a line is selected at once.
fn begin(model: &mut Model, event: Mouse, grain: Grain) {
    if let Some((surface, at)) = marking::under(model, event.column, event.row) {
        model.pressed = Some(Pressed::Surface(surface, at, grain));
        if grain != Grain::Cell {
            marking::select(model, surface, at, at, grain);
        }
    } else if let Some(at) = spot(model, event).filter(|_| model.tab.modals.is_empty()) {
        model.pressed = Some(Pressed::Conversation(at, grain));
        if grain != Grain::Cell {
            model.tab.transcript.selection = Some(Selection { from: at, to: at, grain });
        }
    }
}

/// The place of the conversation under the mouse.
fn spot(model: &Model, event: Mouse) -> Option<Spot> {
    let (_, area) = model.layout.panes.iter().find(|(pane, _)| *pane == Pane::Conversation)?;
    let (_, cell, row) = model.layout.rows.iter().find(|(row, _, _)| *row == event.row)?;
    let column = event.column.saturating_sub(area.x);
    area.contains(event.column, event.row).then_some(Spot { cell: *cell, row: *row, column })
}

fn drag(model: &mut Model, out: &mut Vec<Effect>, event: Mouse) {
    match model.pressed {
        Some(Pressed::Conversation(from, grain)) => drag_conversation(model, event, from, grain),
        Some(Pressed::Surface(surface, from, grain)) => {
            beyond(model, out, surface, event.row);
            if let Some(to) = marking::near(model, surface, event.column, event.row)
                && (to != from || model.tab.pane_selection.is_some())
            {
                marking::select(model, surface, from, to, grain);
            }
        }
        Some(Pressed::Border(border)) => borders::drag(model, border, event.column, event.row),
        Some(Pressed::Program) => tell(model, out, event),
        None => {}
    }
}

/// Beyond its edges a pane scrolls along.
fn beyond(model: &mut Model, out: &mut Vec<Effect>, surface: Surface, row: u16) {
    let pane = match surface {
        Surface::Terminal => Pane::Terminal,
        Surface::Sidebar => Pane::Sidebar,
        Surface::Modal => return,
    };
    let mut rows = model.layout.flat.iter().filter(|flat| flat.surface == surface).map(|flat| flat.y);
    let Some(first) = rows.next() else { return };
    let last = rows.next_back().unwrap_or(first);
    if row < first {
        scroll::by(model, out, pane, -1);
    } else if row > last {
        scroll::by(model, out, pane, 1);
    }
}

fn drag_conversation(model: &mut Model, event: Mouse, from: Spot, grain: Grain) {
    let area = model.layout.panes.iter().find(|(pane, _)| *pane == Pane::Conversation).map(|(_, area)| *area);
    let Some(area) = area else { return };
    // beyond the edges the conversation scrolls along
    let bottom = area.y + area.height;
    if event.row < area.y {
        model.tab.transcript.scroll -= 1;
    } else if event.row >= bottom {
        model.tab.transcript.scroll += 1;
    }
    let inside = Mouse {
        row: event.row.clamp(area.y, bottom.saturating_sub(1)),
        column: event.column.clamp(area.x, (area.x + area.width).saturating_sub(1)),
        ..event
    };
    if let Some(to) = spot(model, inside)
        && (to != from || model.tab.transcript.selection.is_some())
    {
        model.tab.transcript.selection = Some(Selection { from, to, grain });
    }
}

/// F6: gives the mouse to the terminal, or takes it back.
pub fn release(model: &mut Model, out: &mut Vec<Effect>) {
    model.mouse_captured = !model.mouse_captured;
    out.push(Effect::Mouse(model.mouse_captured));
    let text = if model.mouse_captured { "mouse capture on" } else { "mouse capture off" };
    model.notices.about(model.now, Level::Info, About::Setting("mouse"), text);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::model::layout::{Area, Layout};
    use crate::app::msg::Msg;
    use crate::app::session::items;
    use crate::app::tests::{ready, user};
    use crate::app::update;

    fn at(column: u16, row: u16, kind: MouseKind) -> Msg {
        Msg::Mouse(Mouse { column, row, kind, shift: false })
    }

    fn shown() -> Model {
        let mut model = ready();
        items::opened(&mut model, vec![user(1, "one"), user(2, "two")]);
        let ids: Vec<_> = model.tab.transcript.cells.iter().map(|cell| cell.id).collect();
        model.layout.panes = vec![
            (Pane::Conversation, Area { x: 1, y: 1, width: 40, height: 10 }),
            (Pane::Sidebar, Area { x: 41, y: 1, width: 20, height: 10 }),
        ];
        model.layout.rows = vec![(3, ids[0], 0), (4, ids[1], 0)];
        model
    }

    #[test]
    fn the_wheel_scrolls_what_it_points_at() {
        let mut model = shown();
        update(&mut model, 0, at(5, 5, MouseKind::Wheel(-2)));
        update(&mut model, 0, at(50, 5, MouseKind::Wheel(1)));
        assert_eq!((model.tab.transcript.scroll, model.tab.sidebar.scroll), (-6, 3));
    }

    #[test]
    fn dragging_selects_and_letting_go_copies_what_the_frame_shows() {
        let mut model = shown();
        let ids: Vec<_> = model.tab.transcript.cells.iter().map(|cell| cell.id).collect();
        update(&mut model, 0, at(2, 3, MouseKind::Press));
        update(&mut model, 0, at(4, 4, MouseKind::Drag));
        let spot = |cell, column| Spot { cell, row: 0, column };
        assert_eq!(
            model.tab.transcript.selection,
            Some(Selection { from: spot(ids[0], 1), to: spot(ids[1], 3), grain: Grain::Cell })
        );
        update(&mut model, 0, at(4, 4, MouseKind::Release));
        let layout = Layout { selected_text: Some("ne\ntwo".into()), ..Layout::default() };
        let effects = update(&mut model, 0, Msg::Drawn(Box::new(layout.clone())));
        assert_eq!(effects, [Effect::Copy("ne\ntwo".into())]);
        assert_eq!(update(&mut model, 0, Msg::Drawn(Box::new(layout))), [], "once");
    }

    #[test]
    fn a_click_takes_the_topmost_target() {
        let mut model = shown();
        let id = model.tab.transcript.cells[0].id;
        let area = Area { x: 1, y: 3, width: 40, height: 1 };
        model.layout.targets = vec![(area, Hit::ToEnd), (area, Hit::ToggleCell(id))];
        update(&mut model, 0, at(2, 3, MouseKind::Press));
        assert!(model.tab.transcript.cells[0].expanded);
    }
}
