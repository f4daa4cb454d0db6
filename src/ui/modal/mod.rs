//! What covers the screen: one frame, centred and sized to its content; each kind of modal in a file.

mod approval;
mod columns;
mod command;
mod confirm;
mod diffs;
mod input;
mod picker;
mod policy_changed;
mod question;
mod quit;
mod replay;
mod rewind;
mod sessions;
mod sign_in;
mod stats;
mod text;
mod trust;
mod undo;
mod worktree;

use super::paint::{Paint, cells};
use crate::app::Model;
use crate::app::input::vi;
use crate::app::model::layout::Layout;
use crate::app::model::modal::{Modal, PickerKind};
use crate::config::theme::Slot;
use crate::text::width::{fit_end, truncate_end, width};
use crate::text::{Line, Role};
use ratatui::layout::Rect;
use ratatui::style::Modifier;

/// Rows at the bottom that a modal asks the panes for; 0: it lies over them.
pub fn docks(model: &Model, modal: &Modal, area: Rect) -> u16 {
    match modal {
        Modal::Approval(state) => approval::height(model, state, area),
        _ => 0,
    }
}

/// Draws the topmost modal and returns where its caret is. `docked`: the panes have made room for it.
pub fn draw(
    model: &Model,
    modal: &Modal,
    paint: &mut Paint<'_>,
    area: Rect,
    docked: bool,
    layout: &mut Layout,
) -> Option<(u16, u16)> {
    let screen = paint.buffer.area;
    // What one has to read to answer does not step back.
    if !docked {
        backdrop(paint, Rect { height: area.bottom(), ..screen }, modal);
    }
    match modal {
        Modal::Approval(state) => approval::draw(model, state, paint, area, docked, layout),
        Modal::Question(state) => question::draw(model, state, paint, area, layout),
        Modal::Picker(state) => picker::draw(model, state, paint, area, layout),
        Modal::Sessions(state) => sessions::draw(model, state, paint, area, layout),
        Modal::Rewind(state) => rewind::draw(model, state, paint, area, layout),
        Modal::Replay(state) => replay::draw(model, state, paint, area, layout),
        Modal::Stats(state) => stats::draw(model, state, paint, area, layout),
        Modal::Undo(state) => undo::draw(model, state, paint, area, layout),
        Modal::Worktree(state) => worktree::draw(model, state, paint, area, layout),
        Modal::Text(state) => text::draw(model, state, paint, area, layout),
        Modal::Confirm(state) => confirm::draw(model, state, paint, area, layout),
        Modal::Input(state) => input::draw(model, state, paint, area),
        Modal::PolicyChanged(state) => policy_changed::draw(model, state, paint, area, layout),
        Modal::Quit(state) => quit::draw(model, state, paint, area, layout),
        Modal::Trust(state) => trust::draw(model, state, paint, area, layout),
        Modal::SignIn(state) => sign_in::draw(model, state, paint, area),
    }
}

/// What lies behind steps back, but for looks that are being tried on.
fn backdrop(paint: &mut Paint<'_>, area: Rect, modal: &Modal) {
    let tries = |kind| matches!(kind, PickerKind::Skin | PickerKind::Theme);
    if !matches!(modal, Modal::Picker(picker) if tries(picker.kind)) {
        let quiet = Modifier::BOLD | Modifier::ITALIC | Modifier::UNDERLINED | Modifier::REVERSED;
        let style = paint.role(Role::Dim).remove_modifier(quiet);
        paint.buffer.set_style(area, style);
    }
}

/// The line that a text begins with when its end fills a window of so many rows: it scrolls no further. 0: all of it fits.
fn last_first(lines: &[Line], window: usize, rows: impl Fn(&Line) -> usize) -> usize {
    let mut used = 0;
    for (index, line) in lines.iter().enumerate().rev() {
        used += rows(line);
        if used > window {
            // A line that is longer than the window is shown from its beginning.
            return (index + 1).min(lines.len() - 1);
        }
    }
    0
}

/// The last rows of a place.
fn last_rows(place: Rect, rows: u16) -> Rect {
    let rows = rows.min(place.height);
    Rect { y: place.bottom() - rows, height: rows, ..place }
}

/// The frame of a modal: title and note in its upper line, a hint in its lower one.
struct Frame<'a> {
    title: &'a str,
    title_role: Role,
    /// Right end of the upper line.
    note: &'a str,
    note_role: Role,
    /// Right end of the lower line.
    foot: &'a str,
    /// At the right edge, where it leaves the conversation in view.
    aside: bool,
    /// Rows for which its upper edge is chosen: one that grows and shrinks while it is open stays in its place. 0: its own.
    usual: u16,
    /// At the lower edge.
    low: bool,
}

/// Cells beside a frame in which nothing can be read.
const SLIVERS: u16 = 12;
/// Rows under a frame that are no pane any more.
const STRIP: u16 = 3;

impl Default for Frame<'_> {
    fn default() -> Self {
        let (title_role, note_role) = (Role::Strong, Role::Dim);
        Self { title: "", title_role, note: "", note_role, foot: "", aside: false, usual: 0, low: false }
    }
}

impl Frame<'_> {
    /// Draws a frame around `columns` × `rows` cells of content, as far as the screen goes, and returns the place for them.
    fn draw(&self, paint: &mut Paint<'_>, area: Rect, columns: u16, rows: u16) -> Rect {
        let margin = if area.width >= 60 { 4 } else { 0 };
        let width = columns.saturating_add(6).min(area.width.saturating_sub(margin)).max(area.width.min(20));
        let tall = |rows: u16| rows.saturating_add(2).min(area.height.saturating_sub(1)).max(area.height.min(3));
        let height = tall(rows);
        let usual = if self.usual > 0 { tall(self.usual.saturating_add(1)) } else { height };
        let spare = (area.width - width, area.height - height);
        let top = (area.height - usual) * 2 / 5;
        // A tall one stands on the floor: a row of the panes under it would look like its own.
        let low = self.low || area.height - usual - top <= STRIP;
        let (x, y) = match (self.aside, low) {
            (true, _) => (spare.0.saturating_sub(2), spare.1.min(2)),
            (false, true) => (spare.0 / 2, spare.1),
            (false, false) => (spare.0 / 2, top.min(spare.1)),
        };
        let place = Rect { x: area.x + x, y: area.y + y, width, height };
        // A cell of air, so that no text of the panes behind touches the border. What would be left of them at the sides of
        // a wide one is no text any more.
        let air = match spare.0 {
            0..=SLIVERS if !self.aside => Rect { x: area.x, width: area.width, ..place },
            _ => Rect { x: place.x.saturating_sub(1), width: width.saturating_add(2), ..place },
        };
        paint.over = Some(place);
        paint.clear(air.intersection(area), Slot::Base);
        paint.clear(place, Slot::Overlay);
        let line = paint.slot(Slot::BorderFocused);
        let (left, right) = (place.x, place.right().saturating_sub(1));
        let (top, bottom) = (place.y, place.bottom().saturating_sub(1));
        for (y, start, end) in [(top, "╭", "╮"), (bottom, "╰", "╯")] {
            paint.repeat(Rect { x: left, y, width, height: 1 }, "─", line);
            paint.put(left, y, 1, start, line);
            paint.put(right, y, 1, end, line);
        }
        for x in [left, right] {
            paint.repeat(Rect { x, y: top + 1, width: 1, height: height.saturating_sub(2) }, "│", line);
        }
        let mut end = right.saturating_sub(1);
        for (y, text, role) in [(top, self.note, self.note_role), (bottom, self.foot, Role::Dim)] {
            if !text.is_empty() && cells(self::width(text)) + 8 < width {
                let start = paint.right(right.saturating_sub(1), y, &format!(" {text} "), paint.role(role));
                if y == top {
                    end = start;
                }
            }
        }
        let title = format!(" {} ", self.title);
        paint.fit(left + 2, top, end.saturating_sub(left + 3), &title, paint.role(self.title_role));
        Rect { x: left + 3.min(width), y: top + 1, width: width.saturating_sub(6), height: height.saturating_sub(2) }
    }
}

/// A field of one line; returns where its caret is.
fn field(
    model: &Model,
    paint: &mut Paint<'_>,
    place: Rect,
    prompt: &str,
    text: &str,
    cursor: usize,
) -> Option<(u16, u16)> {
    if place.is_empty() {
        return None;
    }
    paint.tone(place, Slot::Raised);
    let x = paint.put(place.x, place.y, place.width, prompt, paint.slot(Slot::Prompt));
    let room = usize::from(place.right().saturating_sub(x + 1));
    let clean: String = text.chars().map(|it| if it.is_control() { '␤' } else { it }).collect();
    let before: String = clean.chars().take(cursor).collect();
    // The end of a long text stays in view with its caret.
    let (mut shown, mut used) = fit_end(&before, room);
    let mut x = x;
    if shown.len() < before.len() {
        // There is more on this side.
        x = paint.put(x, place.y, 1, "…", paint.role(Role::Dim));
        (shown, used) = fit_end(&before, room.saturating_sub(1));
    }
    let next = paint.put(x, place.y, cells(used), shown, paint.role(Role::Text));
    let after: String = clean.chars().skip(cursor).collect();
    let after = truncate_end(&after, usize::from(place.right().saturating_sub(next)));
    paint.put(next, place.y, place.right().saturating_sub(next), &after, paint.role(Role::Text));
    if let Some((from, to)) = vi::marked_field(model, text, cursor) {
        let hidden = before.chars().count() - shown.chars().count();
        let cell = |at: usize| x + cells(width(&clean.chars().take(at).skip(hidden).collect::<String>()));
        let (start, end) = (cell(from), cell(to).min(place.right()));
        paint.tone(Rect { x: start, width: end.saturating_sub(start), ..place }, Slot::Marked);
    }
    Some((next, place.y))
}
