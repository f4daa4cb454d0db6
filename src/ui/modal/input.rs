//! One line of input: a title, a key (masked), a search.

use super::{Frame, field};
use crate::app::Model;
use crate::app::model::modal::InputModal;
use crate::config::theme::Slot;
use crate::text::wrap::{Wrap, wrap_into};
use crate::text::{Ground, Role, Span};
use crate::ui::live;
use crate::ui::paint::{Paint, cells, row};
use ratatui::layout::Rect;

/// Draws it and returns where its caret is.
pub fn draw(model: &Model, state: &InputModal, paint: &mut Paint<'_>, area: Rect) -> Option<(u16, u16)> {
    let columns = 64.min(area.width.saturating_sub(10)).max(12);
    let mut message = Vec::new();
    for line in state.message.lines() {
        let how = Wrap { width: usize::from(columns).saturating_sub(2), ..Wrap::default() };
        wrap_into(&mut message, &[Span::new(line, Role::Careful)], Ground::Base, &how);
    }
    let frame = Frame { title: &state.title, foot: "Enter · Esc", ..Frame::default() };
    let hint = u16::from(!state.hint.is_empty());
    let place = frame.draw(paint, area, columns, 3 + hint + cells(message.len()));
    let mut at = 1;
    if hint > 0 {
        let line = row(place, at);
        paint.fit(line.x, line.y, line.width, &state.hint, paint.role(Role::Dim));
        at += 1;
    }
    let line = row(place, at);
    let caret = if state.masked {
        // Length alone is shown.
        let dots = "•".repeat(state.text.chars().count());
        field(model, paint, line, "❯ ", &dots, state.cursor)
    } else {
        field(model, paint, line, "❯ ", &state.text, state.cursor)
    };
    if state.busy && !line.is_empty() {
        let x = line.right().saturating_sub(1);
        paint.put(x, line.y, 1, live::spinner(model.now), paint.slot(Slot::Spinner));
    }
    for (index, text) in message.iter().enumerate() {
        let line = row(place, at + 1 + index as u16);
        if !line.is_empty() {
            paint.line(line, &text.line);
        }
    }
    caret
}
