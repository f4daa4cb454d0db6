//! What can't be saved, or is damaged, in red over the conversation for as long as that is so. No key puts it away.

use super::paint::{Paint, cells, row};
use crate::app::Model;
use crate::config::theme::Slot;
use crate::text::width::width;
use crate::text::wrap::{Row, Wrap, wrap_into};
use crate::text::{Ground, Role, Span};
use ratatui::layout::Rect;

/// Rows at most: file, cause and remedy fit on every screen of eighty columns.
const ROWS: usize = 3;
/// Says it where colour alone does not.
const MARK: &str = " ✗ sessions  ";

fn wrapped(text: &str, columns: u16) -> Vec<Row> {
    let text: String = text.split_ascii_whitespace().collect::<Vec<_>>().join(" ");
    let first = [Span::new(MARK, Role::Bad)];
    let rest = [Span::new(" ".repeat(width(MARK)), Role::Text)];
    let room = usize::from(columns.saturating_sub(2)).max(width(MARK) + 8);
    let how = Wrap { width: room, first: &first, rest: &rest, verbatim: false, ..Wrap::default() };
    let mut rows = Vec::new();
    wrap_into(&mut rows, &[Span::new(text, Role::Text)], Ground::Base, &how);
    if rows.len() > ROWS {
        rows.truncate(ROWS);
        if let Some(last) = rows.last_mut() {
            last.line.spans.push(Span::new("…", Role::Dim));
        }
    }
    rows
}

/// How many rows it wants on a screen of this many columns.
pub fn height(model: &Model, columns: u16) -> u16 {
    model.unsaved.as_deref().map_or(0, |text| cells(wrapped(text, columns).len()))
}

/// Draws it over the whole width.
pub fn draw(model: &Model, paint: &mut Paint<'_>, area: Rect) {
    let Some(text) = model.unsaved.as_deref().filter(|_| !area.is_empty()) else { return };
    let style = paint.slot(Slot::BadgeBad);
    for (index, line) in wrapped(text, area.width).iter().take(usize::from(area.height)).enumerate() {
        let place = row(area, index as u16);
        paint.repeat(place, " ", style);
        let words: String = line.line.spans.iter().map(|span| span.text.as_str()).collect();
        paint.put(place.x, place.y, place.width, &words, style);
    }
}
