//! What becomes of each command that still runs.

use super::Frame;
use crate::app::Model;
use crate::app::action::Action;
use crate::app::input::hint;
use crate::app::model::layout::{Area, Hit, Layout};
use crate::app::model::modal::QuitModal;
use crate::config::theme::Slot;
use crate::text::Role;
use crate::text::width::truncate_end;
use crate::ui::paint::{Paint, cells, row};
use ratatui::layout::Rect;

/// Cells of a word on the right.
const WORD: u16 = 12;

/// Draws it and returns where its caret is.
pub fn draw(
    model: &Model,
    state: &QuitModal,
    paint: &mut Paint<'_>,
    area: Rect,
    layout: &mut Layout,
) -> Option<(u16, u16)> {
    let columns = 68.min(area.width.saturating_sub(10)).max(20);
    let keeps = state.rows.iter().filter(|row| row.keep).count();
    let (keep, quit) = match keeps {
        // On a narrow screen the border has no room for more.
        0 if columns < 56 => ("keeps", "quits"),
        0 => ("keeps one", "ends them and quits"),
        _ => ("", "quits"),
    };
    let foot = hint::list(&[
        (hint::here(model, Action::KeepProcess), keep),
        (hint::here(model, Action::KeepAll), "all"),
        (hint::here(model, Action::Accept), quit),
    ]);
    let title = "Still running";
    let frame = Frame { title, title_role: Role::Careful, note: "", foot: &foot, ..Frame::default() };
    let place = frame.draw(paint, area, columns, cells(state.rows.len()) + 4);
    let room = usize::from(place.height.saturating_sub(4)).max(1);
    let skip = (state.selected + 1).saturating_sub(room);
    for (index, one) in state.rows.iter().enumerate().skip(skip).take(room) {
        let line = row(place, (index - skip) as u16 + 1);
        let chosen = index == state.selected;
        if chosen {
            paint.tone(line, Slot::Selection);
            paint.put(line.x, line.y, 2, "▸", paint.slot(Slot::Prompt));
        }
        let (word, role) = match (one.keep, one.can_stay) {
            (true, _) => ("● keeps running", Role::Good),
            (false, true) => ("✗ killed", Role::Bad),
            (false, false) => ("ends", Role::Dim),
        };
        let text = truncate_end(&one.text, usize::from(line.width.saturating_sub(WORD + 4)));
        paint.fit(
            line.x + 2,
            line.y,
            line.width.saturating_sub(WORD + 3),
            &text,
            paint.role(if chosen { Role::Strong } else { Role::Text }),
        );
        paint.right(line.right(), line.y, word, paint.role(role));
        layout.targets.push((Area { x: line.x, y: line.y, width: line.width, height: 1 }, Hit::ModalRow(index)));
    }
    let last = row(place, place.height.saturating_sub(2));
    let said = match keeps {
        0 => "All of them will be killed.".to_owned(),
        _ => "What keeps running writes to its log; the next start lists it.".to_owned(),
    };
    paint.fit(last.x, last.y, last.width, &said, paint.role(Role::Dim));
    None
}
