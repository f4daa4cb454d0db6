//! Notices over the status bar. They wrap: the remedy stands at the end of a message, and is read on every width.

use super::paint::{Paint, cells, inset, row};
use crate::app::Model;
use crate::app::model::notices::{About, Notice};
use crate::app::model::types::Level;
use crate::config::theme::Slot;
use crate::text::width::width;
use crate::text::wrap::{Row, Wrap, wrap_into};
use crate::text::{Ground, Role, Span};
use ratatui::layout::Rect;

/// Notices that are shown, the newest ones.
const SHOWN: usize = 3;
/// Rows of all of them together: more would push the conversation away.
const ROWS: usize = 5;

/// Glyph and word say how grave it is, where colour alone does not.
fn mark(notice: &Notice) -> (&'static str, Role) {
    match notice.level {
        // A command that waits is no fault.
        Level::Info if matches!(notice.about, About::Input(_)) => ("⌨ ", Role::Careful),
        Level::Info => ("· ", Role::Accent),
        Level::Warning => ("⚠ warning  ", Role::Careful),
        Level::Error => ("✗ error  ", Role::Bad),
    }
}

/// The rows of a notice in a column of this many cells.
fn wrapped(notice: &Notice, columns: u16) -> Vec<Row> {
    let text: String = notice.text.split_ascii_whitespace().collect::<Vec<_>>().join(" ");
    let (mark, role) = mark(notice);
    let first = [Span::new(mark, role)];
    let rest = [Span::new(" ".repeat(width(mark)), Role::Text)];
    // Margins of three cells, and one for the mark of a cut.
    let room = usize::from(columns.saturating_sub(7)).max(width(mark) + 8);
    let how = Wrap { width: room, first: &first, rest: &rest, verbatim: false, ..Wrap::default() };
    let mut rows = Vec::new();
    wrap_into(&mut rows, &[Span::new(text, Role::Text)], Ground::Base, &how);
    rows
}

/// The rows of each notice that is shown, oldest first. The newest ones get the rows that are to spare.
fn arranged(model: &Model, columns: u16) -> Vec<Vec<Row>> {
    let shown = &model.notices.shown;
    let latest = shown.iter().skip(shown.len().saturating_sub(SHOWN));
    let mut all: Vec<Vec<Row>> = latest.map(|notice| wrapped(notice, columns)).collect();
    let mut spare = ROWS.saturating_sub(all.len());
    for rows in all.iter_mut().rev() {
        let granted = rows.len().min(1 + spare);
        spare -= granted.saturating_sub(1);
        let is_cut = rows.len() > granted;
        rows.truncate(granted);
        if let Some(last) = rows.last_mut().filter(|_| is_cut) {
            last.line.spans.push(Span::new("…", Role::Dim));
        }
    }
    all
}

/// How many rows they want in a column of this many cells.
pub fn height(model: &Model, columns: u16) -> u16 {
    if model.notices.shown.is_empty() { 0 } else { cells(arranged(model, columns).iter().map(Vec::len).sum()) }
}

/// Draws them, the newest at the bottom.
pub fn draw(model: &Model, paint: &mut Paint<'_>, area: Rect) {
    if area.is_empty() {
        return;
    }
    let all = arranged(model, area.width);
    let mut skip = all.iter().map(Vec::len).sum::<usize>().saturating_sub(usize::from(area.height));
    let mut y = 0;
    for rows in all {
        let wanted = rows.iter().map(|row| row.line.width()).max().unwrap_or(0) + 2;
        for line in rows {
            if skip > 0 {
                skip -= 1;
                continue;
            }
            let place = inset(row(area, y), 2, 2);
            let place = Rect { width: cells(wanted).min(place.width), ..place };
            paint.clear(place, Slot::Overlay);
            paint.spans(place.x + 1, place.y, place.width.saturating_sub(2), &line.line.spans);
            y += 1;
        }
    }
}
