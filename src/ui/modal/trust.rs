//! The card before a folder's things run: what they are, what changed, and two answers of which no is the default; and
//! the drawing that it shares with other cards.

use super::{Frame, last_first};
use crate::app::Model;
use crate::app::action::Action;
use crate::app::input::hint;
use crate::app::model::layout::{Area, Hit, Layout};
use crate::app::model::modal::TrustModal;
use crate::config::theme::Slot;
use crate::text::wrap::{Row, Wrap, wrap_into};
use crate::text::{Line, Role};
use crate::ui::hints;
use crate::ui::paint::{Paint, cells, row};
use ratatui::layout::Rect;

/// Draws it and returns where its caret is.
pub fn draw(
    model: &Model,
    state: &TrustModal,
    paint: &mut Paint<'_>,
    area: Rect,
    layout: &mut Layout,
) -> Option<(u16, u16)> {
    let key = |action| hint::here(model, action);
    let answers = [
        ("Not now: nothing here runs", key(Action::No), !state.agreed),
        ("Trust it as shown", key(Action::Yes), state.agreed),
    ];
    let yes = hint::marks_then(&[key(Action::Yes)], key(Action::Accept));
    let card = Card {
        title: "⚠ Trust this folder?",
        lines: &state.lines,
        scroll: state.scroll,
        inert: state.inert_until > model.now,
        foot: if yes.is_empty() { yes } else { format!("{yes} to trust") },
        answers: &answers,
    };
    card.draw(model, paint, area, layout);
    None
}

/// Text to look at, and answers of which one is chosen.
pub struct Card<'a> {
    pub title: &'a str,
    /// Lines that begin with two blanks stand as they are written; the others break between words.
    pub lines: &'a [Line],
    /// The first line that is shown.
    pub scroll: usize,
    /// Keys are not taken yet.
    pub inert: bool,
    /// How it is answered.
    pub foot: String,
    /// Words, key, and whether it is chosen.
    pub answers: &'a [(&'a str, Option<String>, bool)],
}

impl Card<'_> {
    /// Draws it.
    pub fn draw(&self, model: &Model, paint: &mut Paint<'_>, area: Rect, layout: &mut Layout) {
        let columns = 96.min(area.width.saturating_sub(10)).max(12);
        // The answers, a blank row over them and one at the top.
        let window = usize::from(area.height).saturating_sub(6 + self.answers.len()).max(1);
        let last = last_first(self.lines, window, |line| wrapped(line, columns).len());
        let first = self.scroll.min(last);
        layout.rest = Some(first);
        let more = last > 0;
        let mut rows: Vec<Row> = Vec::new();
        for line in self.lines.iter().skip(first) {
            if rows.len() >= window {
                break;
            }
            rows.extend(wrapped(line, columns));
        }
        let foot = match (self.inert, more) {
            (true, _) => "keys are ignored for a moment".to_owned(),
            (false, true) => hint::list(&[(hints::scrolls(model), "more"), (Some(self.foot.clone()), "")]),
            (false, false) => self.foot.clone(),
        };
        let frame = Frame { title: self.title, title_role: Role::Careful, foot: &foot, ..Frame::default() };
        let height = if more { window } else { rows.len() };
        let place = frame.draw(paint, area, columns, cells(height + self.answers.len()) + 2);
        let room = place.height.saturating_sub(2 + self.answers.len() as u16);
        for (index, line) in rows.iter().take(usize::from(room)).enumerate() {
            paint.line(row(place, index as u16 + 1), &line.line);
        }
        let top = place.height.saturating_sub(self.answers.len() as u16);
        for (index, (label, key, chosen)) in self.answers.iter().enumerate() {
            let line = row(place, top + index as u16);
            if *chosen {
                paint.tone(line, Slot::Selection);
                paint.put(line.x, line.y, 2, "▸", paint.slot(Slot::Prompt));
            }
            let role = paint.role(if *chosen { Role::Strong } else { Role::Text });
            paint.fit(line.x + 2, line.y, line.width.saturating_sub(4), label, role);
            paint.right(line.right(), line.y, key.as_deref().unwrap_or_default(), paint.role(Role::Accent));
            layout.targets.push((Area { x: line.x, y: line.y, width: line.width, height: 1 }, Hit::ModalRow(index)));
        }
    }
}

/// The rows of a line.
fn wrapped(line: &Line, columns: u16) -> Vec<Row> {
    // What would run stands as it is written, sentences break between words.
    let verbatim = line.spans.first().is_some_and(|span| span.text.starts_with("  "));
    let how = Wrap { width: usize::from(columns), verbatim, ..Wrap::default() };
    let mut rows = Vec::new();
    wrap_into(&mut rows, &line.spans, line.ground, &how);
    rows
}
