//! A question of the model: its text, its choices, room for an own answer.

use super::{Frame, field};
use crate::app::Model;
use crate::app::action::Action;
use crate::app::approvals::answers;
use crate::app::input::hint;
use crate::app::model::layout::{Area, Hit, Layout};
use crate::app::model::modal::QuestionModal;
use crate::config::keymap::Context;
use crate::config::theme::Slot;
use crate::text::wrap::{Row, Wrap, wrap_into};
use crate::text::{Ground, Role, Span};
use crate::ui::paint::{Paint, cells, row};
use ratatui::layout::Rect;

/// Draws it and returns where its caret is.
pub fn draw(
    model: &Model,
    state: &QuestionModal,
    paint: &mut Paint<'_>,
    area: Rect,
    layout: &mut Layout,
) -> Option<(u16, u16)> {
    let question = model.tab.approvals.question(state.id)?;
    let columns = 76.min(area.width.saturating_sub(10)).max(12);
    let room = usize::from(columns);
    let mut rows: Vec<(Row, Option<usize>)> = vec![(Row::blank(), None)];
    let mut wrapped = Vec::new();
    for line in question.text.lines() {
        let how = Wrap { width: room, ..Wrap::default() };
        wrap_into(&mut wrapped, &[Span::new(line, Role::Text)], Ground::Base, &how);
    }
    rows.extend(wrapped.drain(..).map(|row| (row, None)));
    rows.push((Row::blank(), None));
    // Without choices there is nothing but the field.
    let usual = if question.own_answer.is_empty() { "Answer in your own words" } else { &question.own_answer };
    let own = (question.allow_freetext && !question.choices.is_empty()).then_some(usual);
    let choices = question.choices.iter().map(String::as_str).chain(own);
    for (index, choice) in choices.enumerate() {
        let chosen = index == state.selected;
        let key = answers::numbering(index).and_then(|action| hint::key_in(model, Context::Question, action));
        let number = format!("{}{} ", if chosen { "▸ " } else { "  " }, key.unwrap_or_else(|| "·".into()));
        let first = [Span::new(number.clone(), Role::Accent)];
        let rest = [Span::new(" ".repeat(crate::text::width::width(&number)), Role::Text)];
        let how = Wrap { width: room, first: &first, rest: &rest, verbatim: false, ..Wrap::default() };
        let role = if chosen { Role::Strong } else { Role::Text };
        wrap_into(&mut wrapped, &[Span::new(choice, role)], Ground::Base, &how);
        rows.extend(wrapped.drain(..).map(|row| (row, Some(index))));
    }
    // A blank row over the field, where the text above leaves none.
    let blank = u16::from(!question.choices.is_empty());
    let fields = state.text.as_ref().map_or(0, |_| 1 + blank);
    let foot = if state.inert_until > model.now {
        "keys are ignored for a moment".to_owned()
    } else if state.text.is_some() && !question.choices.is_empty() {
        hint::list(&[(hint::here(model, Action::Close), "goes back")])
    } else {
        super::approval::later(model)
    };
    let count = model.tab.approvals.entries.len();
    let note = if count > 1 { format!("{count} waiting") } else { String::new() };
    let frame = Frame { title: "? A question", title_role: Role::Accent, note: &note, foot: &foot, ..Frame::default() };
    let place = frame.draw(paint, area, columns, cells(rows.len()) + fields + 1);
    let window = place.height.saturating_sub(fields);
    // On a low screen the chosen answer stays in view.
    let chosen = rows.iter().rposition(|(_, index)| *index == Some(state.selected)).unwrap_or(0);
    let skip = (chosen + 1).saturating_sub(usize::from(window));
    for (at, (line, index)) in rows.iter().skip(skip).take(usize::from(window)).enumerate() {
        let line_place = row(place, at as u16);
        if *index == Some(state.selected) && index.is_some() {
            paint.tone(line_place, Slot::Selection);
        }
        paint.line(line_place, &line.line);
        if let Some(index) = index {
            let hit = Area { x: line_place.x, y: line_place.y, width: line_place.width, height: 1 };
            layout.targets.push((hit, Hit::ModalRow(*index)));
        }
    }
    let text = state.text.as_ref()?;
    let last = row(place, place.height.saturating_sub(1));
    field(model, paint, last, "❯ ", text, state.cursor)
}
