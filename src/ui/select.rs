//! What is marked in the conversation, by mouse or keyboard or by a search, and the text that it stands for.

use super::cells::{self, CellRows};
use super::paint::Paint;
use super::transcript::Walk;
use crate::app::model::selection::Grain;
use crate::app::model::transcript::{Cell, CellId};
use crate::config::theme::Slot;
use crate::text::width::{fit_start, grapheme_width, width};
use crate::text::words::word_at;
use crate::text::{Joint, Row};
use ratatui::layout::Rect;

/// A place in the conversation by index, comparable.
type Spot = (usize, usize, u16);

/// Marks of a frame.
pub struct Marks {
    selection: Option<(Spot, Spot)>,
    /// The lower-cased query and the cell of the current match.
    find: Option<(String, Option<CellId>)>,
}

impl Marks {
    /// What is selected and searched for now. The cells where the selection ends are laid out.
    pub fn new(walk: &mut Walk<'_>) -> Self {
        let selection = selection(walk);
        let model = walk.model;
        let find = model.tab.transcript.find.as_ref().filter(|find| !find.query.is_empty());
        let find = find.map(|find| (find.query.to_lowercase(), find.hits.get(find.current).copied()));
        Self { selection, find }
    }

    /// Marks what is selected or found in a drawn row.
    pub fn paint(&self, paint: &mut Paint<'_>, place: Rect, index: usize, cell: &Cell, laid: &CellRows, row: usize) {
        let Some(shown) = laid.rows().get(row) else { return };
        if let Some((query, current)) = &self.find {
            let slot = if *current == Some(cell.id) { Slot::Marked } else { Slot::Match };
            for (from, to) in found(&shown.line.text(), query) {
                let x = place.x.saturating_add(laid.indent).saturating_add(from);
                paint.tone(Rect { x, width: to - from, ..place }.intersection(place), slot);
            }
        }
        if let Some((from, to)) = columns(self.selection, index, row) {
            let end = laid.indent.saturating_add(super::paint::cells(shown.line.width()));
            let (from, to) = (from.max(laid.indent + shown.lead), to.min(end));
            if from < to {
                let area = Rect { x: place.x + from, width: to - from, ..place };
                paint.tone(area.intersection(place), Slot::Marked);
            }
        }
    }
}

/// Columns of the matches in a row. Lower-casing may change lengths: then only whole characters are compared.
fn found(text: &str, query: &str) -> Vec<(u16, u16)> {
    let lower = text.to_lowercase();
    if lower.len() != text.len() {
        return Vec::new();
    }
    let mut out = Vec::new();
    for (at, matched) in lower.match_indices(query) {
        if let (Some(before), Some(hit)) = (text.get(..at), text.get(at..at + matched.len())) {
            let from = super::paint::cells(width(before));
            out.push((from, from + super::paint::cells(width(hit))));
        }
    }
    out
}

/// First and last place that is selected, with what the grain adds.
fn selection(walk: &mut Walk<'_>) -> Option<(Spot, Spot)> {
    let selection = walk.model.tab.transcript.selection?;
    let index = |id: CellId| walk.model.tab.transcript.cells.iter().rposition(|cell| cell.id == id);
    let one = (index(selection.from.cell)?, selection.from.row, selection.from.column);
    let other = (index(selection.to.cell)?, selection.to.row, selection.to.column);
    let (from, to) = if one <= other { (one, other) } else { (other, one) };
    Some(match selection.grain {
        Grain::Cell => (from, to),
        Grain::Word => (word(walk, from).0, word(walk, to).1),
        Grain::Line => (line(walk, from).0, line(walk, to).1),
    })
}

/// The laid-out rows of the cell at a place.
fn laid<'a>(walk: &'a mut Walk<'_>, at: Spot) -> Option<&'a CellRows> {
    walk.content(at.0);
    let id = walk.model.tab.transcript.cells.get(at.0)?.id;
    walk.cache.rows(id)
}

/// First and last cell of the word at a place.
fn word(walk: &mut Walk<'_>, at: Spot) -> (Spot, Spot) {
    let Some(laid) = laid(walk, at) else { return (at, at) };
    let Some(row) = laid.rows().get(at.1) else { return (at, at) };
    let (from, to) = word_at(&row.line.text(), usize::from(at.2.saturating_sub(laid.indent)));
    let column = |column: usize| super::paint::cells(column).saturating_add(laid.indent);
    ((at.0, at.1, column(from)), (at.0, at.1, column(to.saturating_sub(1))))
}

/// First and last cell of the line at a place, however many rows it has.
fn line(walk: &mut Walk<'_>, at: Spot) -> (Spot, Spot) {
    let Some(laid) = laid(walk, at) else { return (at, at) };
    let goes_on = |row: usize| matches!(laid.rows().get(row).map(|row| row.joint), Some(Joint::Soft(_)));
    let (mut first, mut last) = (at.1, at.1);
    while first > 0 && goes_on(first) {
        first -= 1;
    }
    while goes_on(last + 1) {
        last += 1;
    }
    ((at.0, first, 0), (at.0, last, u16::MAX))
}

/// The selected columns of a row, the last one excluded.
fn columns(selection: Option<(Spot, Spot)>, index: usize, row: usize) -> Option<(u16, u16)> {
    let (from, to) = selection?;
    let here = (index, row);
    if here < (from.0, from.1) || here > (to.0, to.1) {
        return None;
    }
    let start = if here == (from.0, from.1) { from.2 } else { 0 };
    let end = if here == (to.0, to.1) { to.2.saturating_add(1) } else { u16::MAX };
    Some((start, end))
}

/// The selected text: the source of cells that are selected whole, else what the rows show, without the breaks and
/// ornaments of the screen.
pub fn text(walk: &mut Walk<'_>) -> Option<String> {
    let (from, to) = selection(walk)?;
    let mut out = String::new();
    for index in from.0..=to.0 {
        let height = walk.content(index);
        let Some(cell) = walk.model.tab.transcript.cells.get(index) else { break };
        let Some(laid) = walk.cache.rows(cell.id).filter(|_| height > 0) else { continue };
        if !out.is_empty() {
            out.push_str("\n\n");
        }
        let first = columns(Some((from, to)), index, 0);
        let last = columns(Some((from, to)), index, height - 1);
        let whole = first.is_some_and(|(start, _)| start <= laid.indent)
            && last.is_some_and(|(_, end)| usize::from(end) >= usize::from(laid.indent) + last_width(laid));
        match cells::source(cell).filter(|_| whole) {
            Some(source) => out.push_str(source.trim_end()),
            None => rows(&mut out, laid, |row| columns(Some((from, to)), index, row)),
        }
    }
    Some(out).filter(|text| !text.is_empty())
}

fn last_width(laid: &CellRows) -> usize {
    laid.rows().last().map_or(0, |row| row.line.width())
}

fn rows(out: &mut String, laid: &CellRows, columns: impl Fn(usize) -> Option<(u16, u16)>) {
    let mut is_first = true;
    for (index, row) in laid.rows().iter().enumerate() {
        let Some((from, to)) = columns(index) else { continue };
        let (from, to) = (from.saturating_sub(laid.indent), to.saturating_sub(laid.indent));
        is_first &= !append(out, is_first, row, from, to);
    }
}

/// Appends what a row shows between two columns to the rows before it. `false`: there is nothing to copy in it.
pub fn append(out: &mut String, is_first: bool, row: &Row, from: u16, to: u16) -> bool {
    match row.joint {
        Joint::Ornament => return false,
        _ if is_first => {}
        Joint::Line => out.push('\n'),
        Joint::Soft(gap) => out.extend(std::iter::repeat_n(' ', usize::from(gap))),
    }
    match row.raw.as_deref().filter(|_| from <= row.lead && usize::from(to) >= row.line.width()) {
        Some(raw) => out.push_str(raw),
        None => out.push_str(part(row, from, to).trim_end()),
    }
    true
}

/// The text of a row between two columns, ornaments left out.
fn part(row: &Row, from: u16, to: u16) -> String {
    let text = row.line.text();
    let from = usize::from(from.max(row.lead));
    let (before, at) = fit_start(&text, from);
    let mut rest = &text[before.len()..];
    // A wide character that the start cuts is taken whole.
    let room = usize::from(to).saturating_sub(at);
    let (inside, used) = fit_start(rest, room);
    if used < room && inside.len() < rest.len() {
        let next = &rest[inside.len()..];
        let wide = next.chars().next().map_or(0, |first| grapheme_width(first.encode_utf8(&mut [0; 4])));
        if wide == 2 {
            let length = inside.len() + next.chars().next().map_or(0, char::len_utf8);
            rest = &rest[..length];
            return rest.to_owned();
        }
    }
    inside.to_owned()
}
