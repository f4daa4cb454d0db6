//! The mouse: the wheel scrolls what it points at, clicks follow what the last frame put there, dragging selects.

use super::effect::Effect;
use super::model::layout::Hit;
use super::model::notices::About;
use super::model::transcript::{Copying, Selection, Spot};
use super::model::{Model, Pane};
use super::msg::{Mouse, MouseKind};
use super::{first_run, focus, modals, processes, scroll, select};
use crate::agent::event::Level;

/// Rows a wheel step scrolls.
const WHEEL: i32 = 3;

/// The mouse did something.
pub fn mouse(model: &mut Model, out: &mut Vec<Effect>, event: Mouse) {
    match event.kind {
        MouseKind::Wheel(steps) => {
            let rows = i32::from(steps) * WHEEL;
            if model.modals.is_empty() {
                let pane = pane(model, event).unwrap_or(model.focus);
                scroll::by(model, out, pane, rows);
            } else {
                modals::wheel(model, out, i32::from(steps));
            }
        }
        MouseKind::Press => press(model, out, event),
        MouseKind::Drag => drag(model, event),
        MouseKind::Release => {
            model.transcript.pressed = None;
            if model.transcript.selection.is_some() && model.transcript.copy_mode.is_none() {
                model.transcript.copying = Some(Copying::Keep);
            }
        }
    }
}

fn pane(model: &Model, event: Mouse) -> Option<Pane> {
    let panes = model.layout.panes.iter().rev();
    panes.clone().find(|(_, area)| area.contains(event.column, event.row)).map(|(pane, _)| *pane)
}

fn press(model: &mut Model, out: &mut Vec<Effect>, event: Mouse) {
    select::clear(model);
    let hit = model.layout.targets.iter().rev().find(|(area, _)| area.contains(event.column, event.row));
    let hit = hit.map(|(_, hit)| hit.clone());
    if !model.modals.is_empty() {
        if let Some(Hit::ModalRow(row)) = hit {
            modals::click(model, out, row);
        }
        return;
    }
    if let Some(pane) = pane(model, event) {
        // a click in the conversation selects; the composer keeps the keys until something in it is chosen
        if pane != Pane::Conversation {
            if model.processes.pane.taken_over && pane != Pane::Terminal {
                model.processes.pane.taken_over = false;
            }
            focus::set(model, pane);
        }
    }
    match hit {
        Some(Hit::ToggleCell(cell)) => {
            model.transcript.selected = Some(cell);
            select::toggle(model, cell);
        }
        Some(Hit::ShowProcess(id)) => processes::show_process(model, id),
        Some(Hit::Link(target)) => {
            out.push(Effect::Copy(target));
        }
        Some(Hit::ToEnd) => scroll::follow(model),
        Some(Hit::FirstRunRow(row)) => first_run::click(model, out, row),
        Some(Hit::ModalRow(_)) | None => model.transcript.pressed = spot(model, event),
    }
}

/// The place of the conversation under the mouse.
fn spot(model: &Model, event: Mouse) -> Option<Spot> {
    let (_, area) = model.layout.panes.iter().find(|(pane, _)| *pane == Pane::Conversation)?;
    let (_, cell, row) = model.layout.rows.iter().find(|(row, _, _)| *row == event.row)?;
    let column = event.column.saturating_sub(area.x);
    area.contains(event.column, event.row).then_some(Spot { cell: *cell, row: *row, column })
}

fn drag(model: &mut Model, event: Mouse) {
    let Some(from) = model.transcript.pressed else { return };
    let area = model.layout.panes.iter().find(|(pane, _)| *pane == Pane::Conversation).map(|(_, area)| *area);
    let Some(area) = area else { return };
    // beyond the edges the conversation scrolls along
    let bottom = area.y + area.height;
    if event.row < area.y {
        model.transcript.scroll -= 1;
    } else if event.row >= bottom {
        model.transcript.scroll += 1;
    }
    let inside = Mouse {
        row: event.row.clamp(area.y, bottom.saturating_sub(1)),
        column: event.column.clamp(area.x, (area.x + area.width).saturating_sub(1)),
        ..event
    };
    if let Some(to) = spot(model, inside)
        && (to != from || model.transcript.selection.is_some())
    {
        model.transcript.selection = Some(Selection { from, to });
    }
}

/// F6: gives the mouse to the terminal, or takes it back.
pub fn release(model: &mut Model, out: &mut Vec<Effect>) {
    model.mouse_captured = !model.mouse_captured;
    out.push(Effect::Mouse(model.mouse_captured));
    let text = if model.mouse_captured { "the mouse is ours again" } else { "the mouse is the terminal's" };
    model.notices.about(model.now, Level::Info, About::Setting("mouse"), text);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::model::layout::{Area, Layout};
    use crate::app::msg::Msg;
    use crate::app::tests::{ready, user};
    use crate::app::update;

    fn at(column: u16, row: u16, kind: MouseKind) -> Msg {
        Msg::Mouse(Mouse { column, row, kind, shift: false })
    }

    fn shown() -> Model {
        let mut model = ready();
        crate::app::items::opened(&mut model, vec![user(1, "one"), user(2, "two")]);
        let ids: Vec<_> = model.transcript.cells.iter().map(|cell| cell.id).collect();
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
        assert_eq!((model.transcript.scroll, model.sidebar.scroll), (-6, 3));
    }

    #[test]
    fn dragging_selects_and_letting_go_copies_what_the_frame_shows() {
        let mut model = shown();
        let ids: Vec<_> = model.transcript.cells.iter().map(|cell| cell.id).collect();
        update(&mut model, 0, at(2, 3, MouseKind::Press));
        update(&mut model, 0, at(4, 4, MouseKind::Drag));
        let spot = |cell, column| Spot { cell, row: 0, column };
        assert_eq!(model.transcript.selection, Some(Selection { from: spot(ids[0], 1), to: spot(ids[1], 3) }));
        update(&mut model, 0, at(4, 4, MouseKind::Release));
        let layout = Layout { selected_text: Some("ne\ntwo".into()), ..Layout::default() };
        let effects = update(&mut model, 0, Msg::Drawn(Box::new(layout.clone())));
        assert_eq!(effects, [Effect::Copy("ne\ntwo".into())]);
        assert_eq!(update(&mut model, 0, Msg::Drawn(Box::new(layout))), [], "once");
    }

    #[test]
    fn a_click_takes_the_topmost_target() {
        let mut model = shown();
        let id = model.transcript.cells[0].id;
        let area = Area { x: 1, y: 3, width: 40, height: 1 };
        model.layout.targets = vec![(area, Hit::ToEnd), (area, Hit::ToggleCell(id))];
        update(&mut model, 0, at(2, 3, MouseKind::Press));
        assert!(model.transcript.cells[0].expanded);
    }
}
