//! Yes or no; no is the default.

use super::Frame;
use crate::app::Model;
use crate::app::action::Action;
use crate::app::input::hint;
use crate::app::model::layout::{Area, Hit, Layout};
use crate::app::model::modal::Confirm;
use crate::config::theme::Slot;
use crate::text::wrap::{Wrap, wrap_into};
use crate::text::{Ground, Role, Span};
use crate::ui::paint::{Paint, cells, row};
use ratatui::layout::Rect;

/// Draws it and returns where its caret is.
pub fn draw(
    model: &Model,
    state: &Confirm,
    paint: &mut Paint<'_>,
    area: Rect,
    layout: &mut Layout,
) -> Option<(u16, u16)> {
    let columns = 60.min(area.width.saturating_sub(10)).max(12);
    let mut rows = Vec::new();
    for line in state.text.lines() {
        let how = Wrap { width: usize::from(columns), ..Wrap::default() };
        wrap_into(&mut rows, &[Span::new(line, Role::Text)], Ground::Base, &how);
    }
    let key = |action| hint::here(model, action);
    // Letters for yes and no say nothing about two ways to go on.
    let is_choice = state.no.is_some();
    let marks = [Action::Yes, Action::No].map(|answer| key(answer).filter(|_| !is_choice));
    let foot = if state.inert_until > model.now {
        "keys are ignored for a moment".to_owned()
    } else {
        let either = marks.iter().flatten().map(String::as_str).collect::<Vec<_>>().join(" or ");
        let neither = state.no.as_ref().and_then(|_| key(Action::Close));
        let ways = [Action::Up, Action::Down].map(key).into_iter().flatten().collect::<Vec<_>>().join(" ");
        let marks = Some(if is_choice { ways } else { either }).filter(|keys| !keys.is_empty());
        hint::list(&[(marks, ""), (key(Action::Accept), "confirms"), (neither, "neither")])
    };
    let no = state.no.as_ref().map_or("No", |(label, _)| label);
    let frame = Frame { title: &state.title, title_role: Role::Careful, foot: &foot, ..Frame::default() };
    let place = frame.draw(paint, area, columns, cells(rows.len()) + 5);
    let room = usize::from(place.height.saturating_sub(4));
    for (index, line) in rows.iter().take(room).enumerate() {
        let at = row(place, index as u16 + 1);
        paint.line(at, &line.line);
        if index + 1 == room && rows.len() > room {
            // What does not fit is not left out without a word.
            paint.right(at.right(), at.y, " …", paint.role(Role::Careful));
        }
    }
    let answers = [(no, !state.selected_yes), (state.yes.as_str(), state.selected_yes)];
    let top = place.height.saturating_sub(answers.len() as u16 + 1);
    for (index, (label, chosen)) in answers.into_iter().enumerate() {
        let line = row(place, top + index as u16);
        if chosen {
            paint.tone(line, Slot::Selection);
            paint.put(line.x, line.y, 2, "▸", paint.slot(Slot::Prompt));
        }
        let role = paint.role(if chosen { Role::Strong } else { Role::Text });
        paint.fit(line.x + 2, line.y, line.width.saturating_sub(4), label, role);
        paint.right(line.right(), line.y, marks[1 - index].as_deref().unwrap_or_default(), paint.role(Role::Accent));
        layout.targets.push((Area { x: line.x, y: line.y, width: line.width, height: 1 }, Hit::ModalRow(index)));
    }
    None
}
