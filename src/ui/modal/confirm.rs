//! Yes or no; no is the default.

use super::Frame;
use crate::app::model::layout::{Area, Hit, Layout};
use crate::app::model::modal::Confirm;
use crate::config::theme::Slot;
use crate::text::width::width;
use crate::text::wrap::{Wrap, wrap_into};
use crate::text::{Ground, Role, Span};
use crate::ui::paint::{Paint, cells, row};
use ratatui::layout::Rect;

/// Draws it and returns where its caret is.
pub fn draw(state: &Confirm, paint: &mut Paint<'_>, area: Rect, layout: &mut Layout) -> Option<(u16, u16)> {
    let columns = 60.min(area.width.saturating_sub(10)).max(12);
    let mut rows = Vec::new();
    for line in state.text.lines() {
        let how = Wrap { width: usize::from(columns), ..Wrap::default() };
        wrap_into(&mut rows, &[Span::new(line, Role::Text)], Ground::Base, &how);
    }
    let frame = Frame { title: &state.title, title_role: Role::Careful, ..Frame::default() };
    let place = frame.draw(paint, area, columns, cells(rows.len()) + 4);
    for (index, line) in rows.iter().take(usize::from(place.height.saturating_sub(2))).enumerate() {
        paint.line(row(place, index as u16 + 1), &line.line);
    }
    let buttons = row(place, place.height.saturating_sub(2));
    let mut x = buttons.x;
    for (index, (label, chosen)) in
        [("No", !state.selected_yes), (state.yes.as_str(), state.selected_yes)].iter().enumerate()
    {
        let text = format!(" {} {label} ", if *chosen { "▸" } else { " " });
        let wide = cells(width(&text)).min(buttons.right().saturating_sub(x));
        let place = Rect { x, width: wide, ..buttons };
        if *chosen {
            paint.tone(place, Slot::Selection);
        }
        paint.put(x, place.y, wide, &text, paint.role(if *chosen { Role::Strong } else { Role::Dim }));
        layout.targets.push((Area { x, y: place.y, width: wide, height: 1 }, Hit::ModalRow(index)));
        x = place.right() + 2;
    }
    None
}
