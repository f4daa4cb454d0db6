//! One line of input: a title, a key (masked), a search.

use super::{Frame, field};
use crate::app::Model;
use crate::app::action::Action;
use crate::app::input::hint;
use crate::app::model::modal::{InputModal, InputThen};
use crate::config::theme::Slot;
use crate::text::wrap::{Wrap, wrap_into};
use crate::text::{Ground, Role, Span};
use crate::ui::live;
use crate::ui::paint::{Paint, cells, row};
use ratatui::layout::Rect;

/// Rows that the hint takes at most.
const HINT: usize = 8;

/// Draws it and returns where its caret is.
pub fn draw(model: &Model, state: &InputModal, paint: &mut Paint<'_>, area: Rect) -> Option<(u16, u16)> {
    let columns = 64.min(area.width.saturating_sub(10)).max(12);
    let mut message = Vec::new();
    for line in state.message.lines() {
        let how = Wrap { width: usize::from(columns).saturating_sub(2), ..Wrap::default() };
        wrap_into(&mut message, &[Span::new(line, Role::Careful)], Ground::Base, &how);
    }
    let mut hint = Vec::new();
    for line in state.hint.lines() {
        let how = Wrap { width: usize::from(columns), ..Wrap::default() };
        wrap_into(&mut hint, &[Span::new(line, Role::Dim)], Ground::Base, &how);
    }
    hint.truncate(HINT);
    let asks = matches!(state.then, InputThen::Ask(_));
    let (enter, leave) = (hint::here(model, Action::Accept), hint::here(model, Action::Close));
    let foot = if asks && state.inert_until > model.now {
        "keys are ignored for a moment".to_owned()
    } else if asks {
        hint::list(&[(enter, ""), (leave, "later"), (hint::key(model, Action::Interrupt), "no answer")])
    } else {
        hint::list(&[(enter, ""), (leave, "")])
    };
    let title_role = if asks { Role::Careful } else { Role::Strong };
    let frame = Frame { title: &state.title, title_role, foot: &foot, ..Frame::default() };
    let place = frame.draw(paint, area, columns, 3 + cells(hint.len()) + cells(message.len()));
    let mut at = 1;
    for text in &hint {
        let line = row(place, at);
        if !line.is_empty() {
            paint.line(line, &text.line);
        }
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
