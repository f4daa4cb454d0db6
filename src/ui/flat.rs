//! What is selected in panes whose rows are numbered: its marks on the screen, and the text that it stands for.

use super::paint::{Paint, cells};
use super::select;
use crate::app::Model;
use crate::app::model::layout::{FlatRow, Layout};
use crate::app::model::selection::{PaneSelection, Point, Surface, columns};
use crate::app::model::types::Place;
use crate::config::theme::Slot;
use crate::text::Row;
use ratatui::layout::Rect;
use std::collections::BTreeMap;

/// The selection on a surface, if there is one.
pub fn selection(model: &Model, surface: Surface) -> Option<&PaneSelection> {
    model.tab.pane_selection.as_ref().filter(|selection| selection.surface == surface)
}

/// Says where a row stands.
pub fn put(layout: &mut Layout, surface: Surface, area: Rect, place: Place, is_blank: bool) {
    layout.flat.push(FlatRow { surface, x: area.x, y: area.y, width: area.width, place, is_blank });
}

/// The rows of a list with their places.
pub fn numbered(rows: impl IntoIterator<Item = Row>) -> BTreeMap<Place, Row> {
    rows.into_iter().enumerate().map(|(index, row)| (nth(index), row)).collect()
}

/// Rows of a list that is drawn top down count from 0.
pub fn nth(index: usize) -> Place {
    Place { line: index as i64, part: 0 }
}

/// Marks the rows of the frame that are selected, hands over the text of all that is, and returns the caret of copy
/// mode. `rows` are all rows of the surface.
pub fn finish(
    model: &Model,
    paint: &mut Paint<'_>,
    surface: Surface,
    rows: &BTreeMap<Place, Row>,
    layout: &mut Layout,
) -> Option<(u16, u16)> {
    let selection = selection(model, surface)?;
    let span = selection.span(|place| rows.get(&place).map(|row| row.line.text()));
    layout.selected_text = text(span, rows);
    let shown: Vec<FlatRow> = layout.flat.iter().filter(|row| row.surface == surface).copied().collect();
    for flat in &shown {
        let (Some((from, to)), Some(row)) = (columns(span, flat.place), rows.get(&flat.place)) else { continue };
        let (from, to) = (from.max(row.lead), to.min(cells(row.line.width())).min(flat.width));
        if from < to {
            paint.tone(Rect { x: flat.x + from, y: flat.y, width: to - from, height: 1 }, Slot::Marked);
        }
    }
    model.tab.copy_mode?;
    layout.words =
        shown.iter().map(|flat| (0, rows.get(&flat.place).map_or_else(String::new, |row| row.line.text()))).collect();
    let caret = selection.to;
    let row = shown.iter().find(|row| row.place == caret.place)?;
    Some((row.x + caret.column.min(row.width.saturating_sub(1)), row.y))
}

fn text(span: (Point, Point), rows: &BTreeMap<Place, Row>) -> Option<String> {
    let mut out = String::new();
    let mut is_first = true;
    for (place, row) in rows.range(span.0.place..=span.1.place) {
        if let Some((from, to)) = columns(span, *place) {
            is_first &= !select::append(&mut out, is_first, row, from, to);
        }
    }
    Some(out).filter(|text| !text.trim().is_empty())
}
