//! Text to read: help, reports, the whole of something.

use super::{Frame, last_first};
use crate::app::Model;
use crate::app::action::Action;
use crate::app::input::hint;
use crate::app::model::layout::Layout;
use crate::app::model::modal::TextModal;
use crate::app::model::selection::Surface;
use crate::text::width::width;
use crate::text::wrap::{Row, Wrap, wrap_into};
use crate::text::{Line, Place, Role, Span};
use crate::ui::flat;
use crate::ui::hints;
use crate::ui::paint::{Paint, cells, row};
use ratatui::layout::Rect;

/// Draws it and returns where its caret is.
pub fn draw(
    model: &Model,
    state: &TextModal,
    paint: &mut Paint<'_>,
    area: Rect,
    layout: &mut Layout,
) -> Option<(u16, u16)> {
    let natural = state.lines.iter().map(|line| line.width()).max().unwrap_or(0);
    let columns = cells(natural).clamp(30, 100).min(area.width.saturating_sub(10)).max(12);
    let mut rows: Vec<Row> = Vec::new();
    let mut places: Vec<Place> = Vec::new();
    let window = usize::from(area.height.saturating_sub(4)).max(1);
    // Only what may be seen is wrapped: the end of the text, to know how far it scrolls, and what is in view.
    let last = last_first(&state.lines, window, |line| wrapped(line, columns).len());
    let first = state.scroll.min(last);
    layout.rest = Some(first);
    for (number, line) in state.lines.iter().enumerate().skip(first) {
        if rows.len() > window {
            break;
        }
        let parts = wrapped(line, columns);
        let count = parts.len() as i32;
        places.extend((1..=count).map(|row| Place { line: number as i64, part: row - count }));
        rows.extend(parts);
    }
    let leave = hint::here(model, Action::Close);
    let foot = if last > 0 {
        // Lines that are on the screen to their end.
        let shown = places.iter().take(window).filter(|place| place.part == 0).count();
        let percent = (first + shown) * 100 / state.lines.len().max(1);
        format!("{} % · {}", percent.min(100), hint::list(&[(hints::scrolls(model), "scroll"), (leave, "")]))
    } else {
        hint::list(&[(leave, "")])
    };
    let frame = Frame { title: &state.title, foot: &foot, ..Frame::default() };
    let all = if last > 0 { window } else { rows.len() + 1 };
    let place = frame.draw(paint, area, columns, cells(all).saturating_add(1));
    // A blank row above.
    let place = Rect { y: place.y + 1, height: place.height.saturating_sub(1), ..place };
    for (index, line) in rows.iter().take(usize::from(place.height)).enumerate() {
        let at = row(place, index as u16);
        paint.line(at, &line.line);
        flat::put(layout, Surface::Modal, at, places[index], line.line.spans.is_empty());
    }
    if flat::selection(model, Surface::Modal).is_some() {
        flat::finish(model, paint, Surface::Modal, &places.into_iter().zip(rows).collect(), layout);
    }
    None
}

/// The rows of a line.
fn wrapped(line: &Line, columns: u16) -> Vec<Row> {
    // The words after a key or a mark hang in their own column, others where their line begins.
    let hang = match line.spans.as_slice() {
        [first, _, ..] if first.text.ends_with(' ') => width(&first.text),
        [first, ..] => column(&first.text, usize::from(columns) / 2),
        [] => 0,
    };
    let hang = if hang * 2 < usize::from(columns) { hang } else { 0 };
    let rest = [Span::new(" ".repeat(hang), Role::Text)];
    let how = Wrap { width: usize::from(columns), rest: &rest, ..Wrap::default() };
    let mut rows = Vec::new();
    wrap_into(&mut rows, &line.spans, line.ground, &how);
    rows
}

/// Where the last column of a line of plain text begins, when that is left of a limit: columns stand two blanks apart.
fn column(text: &str, limit: usize) -> usize {
    let lead = text.len() - text.trim_start_matches(' ').len();
    let apart = text.match_indices("  ").map(|(at, _)| at + 2).filter(|at| text[*at..].starts_with(|next| next != ' '));
    let columns = std::iter::once(lead).chain(apart).map(|at| width(&text[..at]));
    columns.filter(|column| *column < limit).last().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::column;

    #[test]
    fn plain_text_hangs_under_its_last_column() {
        for (text, limit, at) in [
            ("ok    home          /tmp/x", 25, 20),
            ("ok    home          /tmp/x", 12, 6),
            ("    indented words", 25, 4),
            ("日本  語", 25, 6),
            ("words  ", 25, 0),
            ("plain", 25, 0),
            ("", 25, 0),
        ] {
            assert_eq!(column(text, limit), at, "{text:?} {limit}");
        }
    }
}
