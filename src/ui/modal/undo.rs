//! Undoing one command: the command, what would be put back, and what can't be.

use super::rewind::{draw_lines, file_lines, shown, text};
use super::{Frame, diffs};
use crate::app::Model;
use crate::app::action::Action;
use crate::app::input::hint;
use crate::app::model::layout::Layout;
use crate::app::model::types::UndoPreview;
use crate::app::model::undo::UndoModal;
use crate::text::format::{self, plural};
use crate::text::width::{truncate_end, width};
use crate::text::{Line, Role, Span};
use crate::ui::live;
use crate::ui::paint::{Paint, row};
use ratatui::layout::Rect;

/// What no undo of files reaches.
const NEVER: &str = "Never undone: processes, network, databases, and files outside the working folder";

/// Draws it. It has no caret.
pub fn draw(
    model: &Model,
    state: &UndoModal,
    paint: &mut Paint<'_>,
    area: Rect,
    layout: &mut Layout,
) -> Option<(u16, u16)> {
    let note = match state.commands.len() {
        0 => String::new(),
        all => format!("{} of {all}", state.selected + 1),
    };
    let enter = hint::here(model, Action::Accept).filter(|_| state.count() > 0);
    let restores = format!("restores {}", plural(state.count() as u64, "file", "files"));
    let has_theirs = state.preview.as_ref().is_some_and(|preview| preview.foreign() > 0);
    let theirs = if state.overwrite { "skips changed ones" } else { "overwrites changed ones" };
    let (older, newer) = (state.selected + 1 < state.commands.len(), state.selected > 0);
    let foot = hint::list(&[
        (enter, &restores),
        (hint::here(model, Action::OverwriteFiles).filter(|_| has_theirs), theirs),
        (hint::here(model, Action::Next).filter(|_| older), "older"),
        (hint::here(model, Action::Previous).filter(|_| newer), "newer"),
        (hint::here(model, Action::Close), ""),
    ]);
    let frame = Frame { title: "Undo a command", note: &note, foot: &foot, ..Frame::default() };
    let columns = area.width.saturating_sub(14).min(110);
    // As tall as what it holds; the head takes three rows, and one stays free below.
    let line = state.point().map_or("", |point| point.line.as_str());
    let held = state.preview.as_ref().map_or(1, |preview| lines(line, preview, usize::from(columns)).len());
    let rows = u16::try_from(held + 4).unwrap_or(u16::MAX).clamp(10, area.height.saturating_sub(5).max(10));
    let place = frame.draw(paint, area, columns, rows);
    let Some(point) = state.point() else {
        paint.put(place.x, place.y, 1, live::spinner(model.now), paint.role(Role::Dim));
        return None;
    };
    let command = truncate_end(&shown(&point.line), usize::from(place.width).saturating_sub(2));
    let head = Line { spans: vec![Span::new("$ ", Role::Accent), Span::new(command, Role::Strong)], ..Line::default() };
    paint.line(row(place, 0), &head);
    let age = format::age(model.now - point.at);
    paint.fit(place.x + 2, row(place, 1).y, place.width.saturating_sub(2), &age, paint.role(Role::Dim));
    let body = Rect { y: place.y + 3, height: place.height.saturating_sub(3), ..place };
    if !state.problem.is_empty() {
        paint.fit(body.x, body.y, body.width, &state.problem, paint.role(Role::Bad));
        return None;
    }
    let Some(preview) = &state.preview else {
        paint.put(body.x, body.y, 1, live::spinner(model.now), paint.role(Role::Dim));
        return None;
    };
    layout.rest = draw_lines(model, &lines(line, preview, usize::from(body.width)), state.scroll, paint, body);
    None
}

/// `command` is read here in full where its head does not hold it.
fn lines(command: &str, preview: &UndoPreview, columns: usize) -> Vec<Line> {
    let mut out = Vec::new();
    let command = shown(command);
    if width(&command) + 2 > columns {
        out.extend([text(command, Role::Dim), Line::default()]);
    }
    if preview.files.is_empty() {
        out.push(text("No files to restore", Role::Dim));
    } else {
        out.push(text("Files that would be restored", Role::Strong));
        out.extend(file_lines(&preview.files, columns));
    }
    if !preview.gaps.is_empty() {
        out.push(Line::default());
        out.push(text("Can't be restored", Role::Careful));
        out.extend(preview.gaps.iter().map(|gap| text(format!("  {}", shown(gap)), Role::Text)));
    }
    out.push(Line::default());
    out.push(text(NEVER, Role::Dim));
    out.extend(diffs::lines(&preview.files, columns));
    out
}
