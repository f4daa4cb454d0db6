//! The conversation: lays out and draws only the cells that the screen shows.

use super::cache::{Shown, ViewCache};
use super::cells::{self, CellRows, MARK, TEXT};
use super::paint::{Paint, cells as cell_count, row as row_of};
use super::select::{self, Marks};
use super::{hints, live, to_area};
use crate::app::Model;
use crate::app::action::Action;
use crate::app::input::hint;
use crate::app::model::Pane;
use crate::app::model::layout::{Area, Hit, Layout};
use crate::app::model::transcript::{Cell, CellKind, Position, Thinking, ToolState};
use crate::app::reading::footer;
use crate::config::keymap::Context;
use crate::config::theme::Slot;
use crate::protocol::{ChildRow, ChildState};
use crate::text::format;
use crate::text::width::width;
use crate::text::{Ground, Role, Row};
use ratatui::layout::Rect;

/// A place: index of a cell and one of its rows; the row after the last is the gap below it.
type Place = (usize, usize);

/// The heights of cells, laid out as they are asked for.
pub struct Walk<'a> {
    pub model: &'a Model,
    pub cache: &'a mut ViewCache,
    pub width: u16,
    /// Rows below the last cell.
    footer: usize,
}

impl Walk<'_> {
    fn cells(&self) -> &[Cell] {
        &self.model.tab.transcript.cells
    }

    /// Rows of a cell without its gap.
    pub fn content(&mut self, index: usize) -> usize {
        let transcript = &self.model.tab.transcript;
        let Some(cell) = transcript.cells.get(index).filter(|_| !self.is_hidden(index)) else { return 0 };
        let group = transcript.group(index, self.model.config.display.show_reasoning);
        let shown = Shown { width: self.width, expand_all: transcript.expand_all, group: &group };
        self.cache.ensure(cell, &shown, &self.model.config, &self.model.look)
    }

    /// Whether a cell takes no rows: it has nothing to show, or another one shows it.
    fn is_hidden(&self, index: usize) -> bool {
        let (transcript, config) = (&self.model.tab.transcript, &self.model.config);
        let nothing = transcript.cells.get(index).is_none_or(|cell| cells::is_hidden(cell, config));
        nothing || transcript.is_folded(index, config.display.show_reasoning)
    }

    /// Rows of a cell and the gap below it.
    fn height(&mut self, index: usize) -> usize {
        let content = self.content(index);
        if content == 0 {
            return 0;
        }
        let cells = self.cells();
        let below = (index + 1..cells.len()).find(|at| !self.is_hidden(*at)).and_then(|at| cells.get(at));
        let gap = below.is_some_and(|below| cells.get(index).is_some_and(|above| cells::has_gap(above, below)));
        content + usize::from(gap)
    }

    /// The first place of the last screenful.
    fn latest(&mut self, rows: usize) -> Place {
        let mut have = self.footer;
        let mut index = self.cells().len();
        if have >= rows {
            return (index, have - rows);
        }
        while index > 0 {
            index -= 1;
            have += self.height(index);
            if have >= rows {
                return (index, have - rows);
            }
        }
        (0, 0)
    }

    fn up(&mut self, (mut index, mut row): Place, mut rows: usize) -> Place {
        while rows > row {
            if index == 0 {
                return (0, 0);
            }
            rows -= row;
            index -= 1;
            row = self.height(index);
        }
        (index, row - rows)
    }

    fn down(&mut self, (mut index, mut row): Place, mut rows: usize) -> Place {
        while index < self.cells().len() {
            let left = self.height(index).saturating_sub(row);
            if rows < left {
                return (index, row + rows);
            }
            rows -= left;
            index += 1;
            row = 0;
        }
        (index, row)
    }

    /// Whether everything from a place on fits.
    fn fits(&mut self, (index, row): Place, rows: usize) -> bool {
        let mut used = self.footer;
        for at in index..self.cells().len() {
            used += self.height(at) - if at == index { row.min(self.height(at)) } else { 0 };
            if used > rows {
                return false;
            }
        }
        used <= rows
    }

    /// The first visible place and whether the end is followed.
    fn settle(&mut self, rows: usize) -> (Place, bool) {
        let transcript = &self.model.tab.transcript;
        let scroll = transcript.scroll;
        let anchor = match transcript.position {
            Position::Latest => None,
            Position::Anchor { cell, row } => {
                transcript.cells.iter().rposition(|found| found.id == cell).map(|index| (index, row))
            }
        };
        let start = match anchor {
            None if scroll >= 0 => return (self.latest(rows), true),
            None => self.latest(rows),
            Some((index, row)) => {
                let height = self.height(index);
                (index, row.min(height.saturating_sub(1)))
            }
        };
        let steps = scroll.unsigned_abs() as usize;
        // Far jumps to the start need no layout of what they pass.
        let start = match scroll {
            ..=-1_000_000 => (0, 0),
            1_000_000.. => return (self.latest(rows), true),
            -999_999..0 => self.up(start, steps),
            0..1_000_000 => self.down(start, steps),
        };
        if self.fits(start, rows) { (self.latest(rows), true) } else { (start, false) }
    }
}

/// Draws the pane, reports its rows, its position and what was selected, and returns the caret of copy mode.
pub fn draw(
    model: &Model,
    cache: &mut ViewCache,
    paint: &mut Paint<'_>,
    area: Rect,
    layout: &mut Layout,
) -> Option<(u16, u16)> {
    let transcript = &model.tab.transcript;
    if let Some(first_run) = &model.first_run {
        layout.at_top = true;
        cells::first_run::draw(model, first_run, paint, area, layout);
        return None;
    }
    let activity = live::activity(model);
    if transcript.cells.is_empty() && activity.is_none() {
        layout.at_top = true;
        cells::empty::draw(model, paint, area, layout);
        return None;
    }
    // while scrolled back, a row of its own says how much came
    let back = transcript.position != Position::Latest || transcript.scroll < 0;
    let (area, below) = if back && area.height > 4 {
        (Rect { height: area.height - 1, ..area }, Some(row_of(area, area.height - 1)))
    } else {
        (area, None)
    };
    let rows = usize::from(area.height);
    let footer = if activity.is_some() { 2 } else { 0 };
    let mut walk = Walk { model, cache, width: area.width, footer };
    let (top, follows) = walk.settle(rows);
    layout.at_top = top == (0, 0);
    layout.position = match transcript.cells.get(top.0) {
        Some(cell) if !follows => Position::Anchor { cell: cell.id, row: top.1 },
        _ => Position::Latest,
    };
    let marks = Marks::new(&mut walk);
    let (mut index, mut row) = top;
    let mut at: u16 = 0;
    while at < area.height && index < transcript.cells.len() {
        let height = walk.height(index);
        let Some(cell) = transcript.cells.get(index) else { break };
        if height > 0
            && let Some(laid) = walk.cache.rows(cell.id)
        {
            while row < height && at < area.height {
                if row < laid.height() {
                    let place = row_of(area, at);
                    draw_row(model, paint, place, index, laid, row, layout);
                    marks.paint(paint, place, index, cell, laid, row);
                    layout.rows.push((place.y, cell.id, row));
                    if model.tab.copy_mode.is_some()
                        && transcript.selection.is_some()
                        && let Some(shown) = laid.rows().get(row)
                    {
                        layout.words.push((laid.indent, shown.line.text()));
                    }
                }
                row += 1;
                at += 1;
            }
        }
        index += 1;
        row = 0;
    }
    if let Some(spans) = activity.filter(|_| index >= transcript.cells.len()) {
        // The first row of the footer is air.
        let place = row_of(area, at + u16::from(at > 0));
        if place.height > 0 {
            paint.put(place.x + MARK, place.y, 2, live::spinner(model.now), paint.slot(Slot::Spinner));
            paint.spans(place.x + TEXT, place.y, place.width.saturating_sub(TEXT + 2), &spans);
        }
    }
    if !follows {
        thumb(model, walk.cache, paint, area, top, rows);
        if let Some(place) = below {
            to_end(model, paint, place, layout);
        }
    }
    if transcript.selection.is_some() {
        let mut walk = Walk { model, cache, width: area.width, footer };
        layout.selected_text = select::text(&mut walk);
    }
    let caret = transcript.selection.filter(|_| model.tab.copy_mode.is_some())?.to;
    let (y, _, _) = layout.rows.iter().find(|(_, cell, row)| (*cell, *row) == (caret.cell, caret.row))?;
    Some((area.x + caret.column.min(area.width.saturating_sub(1)), *y))
}

fn draw_row(
    model: &Model,
    paint: &mut Paint<'_>,
    place: Rect,
    at: usize,
    laid: &CellRows,
    index: usize,
    layout: &mut Layout,
) {
    let (Some(row), Some(cell)) = (laid.rows().get(index), model.tab.transcript.cells.get(at)) else { return };
    ground(paint, place, laid, row);
    if laid.bar && !paint.has_tones() {
        paint.put(place.x, place.y, 1, "▎", paint.slot(Slot::UserBar));
    } else if model.tab.transcript.selected == Some(cell.id) && model.tab.focus == Pane::Conversation {
        paint.put(place.x, place.y, 1, "▎", paint.slot(Slot::BorderFocused));
    }
    let x = place.x + laid.indent;
    let right = place.right().saturating_sub(1);
    let mut column = x;
    for span in &row.line.spans {
        if column >= right {
            break;
        }
        let from = column;
        let style = paint.role(span.role);
        column = paint.put(column, place.y, right - column, &span.text, style);
        if let Some(link) = &span.link {
            let area = Area { x: from, y: place.y, width: column - from, height: 1 };
            layout.targets.push((area, Hit::Link(link.to_string())));
        }
    }
    // Its last row has the mark: all of them can be clicked.
    if let CellKind::TurnEnd { text } = &cell.kind
        && footer::leads(text)
    {
        layout.targets.push((to_area(place), Hit::ToggleCell(cell.id)));
    }
    if index > 0 {
        if let CellKind::Tool(tool) = &cell.kind
            && let Some(child) = tool.children.get(index - 1).filter(|_| laid.height() > tool.children.len())
        {
            child_row(paint, layout, model, place, child);
        }
        return;
    }
    if let Some(mark) = laid.mark.as_ref().filter(|_| opens(&model.tab.transcript.cells, at)) {
        let style = paint.role(mark.role);
        paint.put(place.x + MARK, place.y, 2, &mark.text, style);
    }
    match &cell.kind {
        CellKind::Tool(tool) => {
            layout.targets.push((to_area(place), Hit::ToggleCell(cell.id)));
            if tool.state == ToolState::Running {
                let clock = format::clock(live::since(model.now, tool.started_at));
                let end = place.right().saturating_sub(cell_count(cells::tool::AFTER_TIME));
                paint.right(end, place.y, &clock, paint.role(Role::Text));
                // In the column of the fold mark, which a running call has no use for.
                let spinner = end + 1;
                paint.put(spinner, place.y, 1, live::spinner(model.now), paint.slot(Slot::Spinner));
            }
        }
        CellKind::Told { .. } | CellKind::Summary { .. } => {
            layout.targets.push((to_area(place), Hit::ToggleCell(cell.id)))
        }
        CellKind::Reasoning { time, .. } => {
            layout.targets.push((to_area(place), Hit::ToggleCell(cell.id)));
            if let (Thinking::Since(start), false) = (*time, cell.finished) {
                let clock = format::clock(live::since(model.now, start));
                let end = place.right().saturating_sub(cell_count(cells::tool::AFTER_TIME));
                paint.right(end, place.y, &clock, paint.role(Role::Dim));
            }
        }
        CellKind::User { .. } | CellKind::Assistant { .. } | CellKind::Note { .. } | CellKind::TurnEnd { .. } => {}
    }
}

/// The clock of a child that works, and the click that opens it.
fn child_row(paint: &mut Paint<'_>, layout: &mut Layout, model: &Model, place: Rect, child: &ChildRow) {
    if let Some(session) = &child.session {
        layout.targets.push((to_area(place), Hit::Child(session.clone())));
    }
    if matches!(child.state, ChildState::Working | ChildState::Asks) {
        let clock = format::clock(live::since(model.now, child.began));
        let end = place.right().saturating_sub(cell_count(cells::tool::AFTER_TIME));
        paint.right(end, place.y, &clock, paint.role(Role::Text));
    }
}

/// Cells that are looked through for the start of an answer.
const FAR: usize = 256;

/// Whether a mark is due: the glyph of the answerer stands at its first words of a turn only.
fn opens(cells: &[Cell], at: usize) -> bool {
    let Some(cell) = cells.get(at) else { return false };
    if !matches!(cell.kind, CellKind::Assistant { .. }) {
        return true;
    }
    for (steps, cell) in cells[..at].iter().rev().enumerate() {
        match &cell.kind {
            CellKind::User { .. } | CellKind::Told { .. } | CellKind::TurnEnd { .. } => return true,
            CellKind::Assistant { text } if !text.trim().is_empty() => return false,
            CellKind::Assistant { .. }
            | CellKind::Reasoning { .. }
            | CellKind::Summary { .. }
            | CellKind::Tool(_)
            | CellKind::Note { .. } => {}
        }
        if steps > FAR {
            return false;
        }
    }
    true
}

fn ground(paint: &mut Paint<'_>, place: Rect, laid: &CellRows, row: &Row) {
    if row.line.ground == Ground::Base {
        return;
    }
    let from = laid.ground.min(place.width);
    let right = if laid.ground < TEXT { 1 } else { 2 }.min(place.width - from);
    paint.ground(Rect { x: place.x + from, width: place.width - from - right, ..place }, row.line.ground);
}

/// The thumb, by heights that are known or guessed: nothing is laid out for it.
fn thumb(model: &Model, cache: &ViewCache, paint: &mut Paint<'_>, area: Rect, top: Place, rows: usize) {
    let room = usize::from(area.width.saturating_sub(TEXT + 2)).max(1);
    let guess = |cell: &Cell| {
        cache.known_height(cell.id).unwrap_or_else(|| cells::source(cell).map_or(1, |text| text.len() / room + 2)) + 1
    };
    let (mut above, mut total) = (top.1, 0);
    for (index, cell) in model.tab.transcript.cells.iter().enumerate() {
        let height = guess(cell);
        total += height;
        above += if index < top.0 { height } else { 0 };
    }
    if total <= rows || rows == 0 {
        return;
    }
    let length = (rows * rows / total).clamp(1, rows);
    let from = (above * (rows - length) / (total - rows).max(1)).min(rows - length);
    let place =
        Rect { x: area.right().saturating_sub(1), y: area.y + cell_count(from), width: 1, height: cell_count(length) };
    let style = paint.slot(Slot::ScrollThumb);
    paint.repeat(place, "▐", style);
}

fn to_end(model: &Model, paint: &mut Paint<'_>, area: Rect, layout: &mut Layout) {
    let here =
        hint::key_in(model, Context::Conversation, Action::ToEnd).filter(|_| model.tab.focus == Pane::Conversation);
    let global = || hint::key_in(model, Context::Global, Action::ToEnd);
    let key = hints::aside(here.or_else(global));
    let text = match model.tab.transcript.unseen {
        0 => format!(" ↓{key} "),
        unseen => format!(" ↓ {unseen} new{key} "),
    };
    let hit = model.tab.transcript.find.as_ref().filter(|find| !find.hits.is_empty());
    let text = match hit {
        Some(find) => format!(" {}/{} ·{text}", find.current + 1, find.hits.len()),
        None => text,
    };
    let cells = cell_count(width(&text));
    if area.width < cells + 4 {
        return;
    }
    let place = Rect { x: area.right() - 2 - cells, y: area.bottom().saturating_sub(1), width: cells, height: 1 };
    paint.clear(place, Slot::Overlay);
    paint.put(place.x, place.y, cells, &text, paint.role(Role::Accent));
    layout.targets.push((to_area(place), Hit::ToEnd));
}
