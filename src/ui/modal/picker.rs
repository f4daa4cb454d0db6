//! A list to choose from, with a filter: groups, matched letters, keys on the right, a footnote.

use super::{Frame, field};
use crate::app::Model;
use crate::app::action::Action;
use crate::app::input::hint;
use crate::app::model::layout::{Area, Hit, Layout};
use crate::app::model::modal::{PickItem, Picker, PickerKind};
use crate::config::theme::Slot;
use crate::text::width::{grapheme_width, truncate_end, truncate_middle, width};
use crate::text::wrap::{Row, Wrap, wrap_into};
use crate::text::{Ground, Role, Span};
use crate::ui::hints;
use crate::ui::live;
use crate::ui::paint::{Paint, cells, row};
use ratatui::layout::Rect;

/// Cells of keys and of slash commands in the palette.
const KEY: u16 = 13;
const COMMAND: u16 = 16;
/// Where details begin, behind the start of the label.
const DETAIL: u16 = 30;

enum Line {
    Group(usize),
    /// Index into the matches.
    Item(usize),
}

/// Draws it and returns where its caret is.
pub fn draw(
    model: &Model,
    state: &Picker,
    paint: &mut Paint<'_>,
    area: Rect,
    layout: &mut Layout,
) -> Option<(u16, u16)> {
    let aside = matches!(state.kind, PickerKind::Skin | PickerKind::Theme);
    let columns = if aside { 62 } else { wanted(state) }.min(area.width.saturating_sub(10)).max(12);
    // Groups head their items only in the order of the list; a search mixes them.
    let grouped = state.query.is_empty();
    let mut lines = Vec::with_capacity(state.matches.len());
    let mut group: Option<&str> = None;
    for (at, index) in state.matches.iter().enumerate() {
        let Some(item) = state.items.get(*index) else { continue };
        if grouped && !item.group.is_empty() && group != Some(&item.group) {
            group = Some(&item.group);
            lines.push(Line::Group(*index));
        }
        lines.push(Line::Item(at));
    }
    let mut note: Vec<Row> = Vec::new();
    for line in state.footnote.lines() {
        // A cell for the mark of a cut.
        let how = Wrap { width: usize::from(columns).saturating_sub(1), ..Wrap::default() };
        wrap_into(&mut note, &[Span::new(line, Role::Careful)], Ground::Base, &how);
    }
    // The list keeps a few rows on a low screen.
    let fits = usize::from(area.height.saturating_sub(7)).saturating_sub(lines.len().min(6)).clamp(1, 5);
    if note.len() > fits {
        note.truncate(fits);
        if let Some(last) = note.last_mut() {
            last.line.spans.push(Span::new("…", Role::Dim));
        }
    }
    let note_rows = if note.is_empty() { 0 } else { cells(note.len()) + 1 };
    let most = usize::from(area.height.saturating_sub(6 + note_rows)).max(3);
    let body = lines.len().clamp(1, most.min(20));
    let count = format!("{} of {}", state.matches.len(), state.items.len());
    let foot = if state.inert_until > model.now {
        "keys are ignored for a moment".to_owned()
    } else {
        hint::list(&[
            (hints::moves(model), ""),
            (hint::here(model, Action::Accept), ""),
            (hint::here(model, Action::Close), ""),
        ])
    };
    let frame = Frame { title: &state.title, note: &count, foot: &foot, aside, ..Frame::default() };
    let place = frame.draw(paint, area, columns, cells(body) + 2 + note_rows);
    let caret = field(model, paint, row(place, 0), "❯ ", &state.query, state.cursor);
    if state.kind == PickerKind::Permissions && state.query.is_empty() {
        let line = row(place, 0);
        let room = line.width.saturating_sub(4);
        paint.fit(line.x + 2, line.y, room, "type a command to test it", paint.role(Role::Dim));
    }
    let column = column(state, usize::from(place.width));
    if state.loading {
        let line = row(place, 0);
        paint.put(line.right().saturating_sub(1), line.y, 1, live::spinner(model.now), paint.slot(Slot::Spinner));
    }
    let list = Rect { y: place.y + 2, height: place.height.saturating_sub(2 + note_rows), ..place };
    let window = usize::from(list.height);
    let selected = lines.iter().position(|line| matches!(line, Line::Item(at) if *at == state.selected)).unwrap_or(0);
    let skip = (selected + 1 + window / 4).saturating_sub(window).min(lines.len().saturating_sub(window));
    for (index, line) in lines.iter().skip(skip).take(window).enumerate() {
        let line_place = row(list, index as u16);
        match line {
            Line::Group(item) => {
                let title = state.items.get(*item).map_or("", |item| &item.group);
                paint.fit(line_place.x, line_place.y, line_place.width, title, paint.role(Role::Dim));
            }
            Line::Item(at) => {
                let Some(item) = state.matches.get(*at).and_then(|index| state.items.get(*index)) else { continue };
                draw_item(paint, line_place, item, state, *at == state.selected, column);
                let hit = Area { x: line_place.x, y: line_place.y, width: line_place.width, height: 1 };
                layout.targets.push((hit, Hit::ModalRow(*at)));
            }
        }
    }
    if lines.is_empty() && !list.is_empty() {
        let text = match (state.loading, state.items.is_empty()) {
            (true, _) => "loading…",
            (false, true) => nothing(state.kind),
            (false, false) if state.kind == PickerKind::Permissions => "no rule matches; as a command",
            (false, false) => "nothing matches",
        };
        paint.fit(list.x + 2, list.y, list.width.saturating_sub(2), text, paint.role(Role::Dim));
    }
    if note_rows > 0 {
        let top = place.height.saturating_sub(cells(note.len()));
        for (index, line) in note.iter().enumerate() {
            paint.line(row(place, top + index as u16), &line.line);
        }
    }
    caret
}

/// What a list without rows says: what is missing, and the way to it.
fn nothing(kind: PickerKind) -> &'static str {
    match kind {
        PickerKind::Servers => "No MCP servers yet: hermes mcp add NAME",
        PickerKind::Context => "Nothing yet: the session is starting",
        PickerKind::Toolsets => "No toolsets yet: the session is starting",
        PickerKind::Permissions => "no rules yet",
        PickerKind::Inbox => "Nothing is waiting for an answer",
        PickerKind::History => "No prompts yet",
        PickerKind::Model | PickerKind::Served | PickerKind::Provider => "No models yet: /login, or give a server",
        PickerKind::LocalModels => "No models for this computer",
        PickerKind::Skin | PickerKind::Theme => "No skins found",
        PickerKind::Backends => "No backends",
        PickerKind::Checkout => "No such choice",
        PickerKind::Modes => "No such mode",
        PickerKind::Tabs => "No tab fits",
        PickerKind::Tree => "No forks",
        PickerKind::Agents => "Nothing works",
        PickerKind::OtherWindow => "No such choice",
        PickerKind::SessionActions => "No session",
        PickerKind::Turn => "The turn did nothing",
        PickerKind::Palette | PickerKind::Help => "No commands",
    }
}

/// Cells of a list: what is said about its rows is not cut where the screen has room for it.
fn wanted(state: &Picker) -> u16 {
    const USUAL: u16 = 88;
    const MOST: u16 = 128;
    if matches!(state.kind, PickerKind::Palette | PickerKind::Help | PickerKind::Permissions) {
        return USUAL;
    }
    // As [`draw_item`] places them: mark, label, detail, hint, with air between.
    let row = |item: &PickItem| {
        let detail = (width(&item.label) + 4).max(usize::from(DETAIL) + 2) + width(&item.detail);
        let hint = if item.hint.is_empty() { 0 } else { width(&item.hint) + 2 };
        cells(detail + hint + 1)
    };
    state.items.iter().map(row).max().unwrap_or(0).clamp(USUAL, MOST)
}

/// Where details of rules begin: right of the longest rule, as far as both have room.
fn column(state: &Picker, room: usize) -> Option<usize> {
    let longest = state.items.iter().map(|item| width(&item.label)).max()?;
    (state.kind == PickerKind::Permissions).then(|| (longest + 2).min(room * 3 / 5))
}

fn draw_item(
    paint: &mut Paint<'_>,
    place: Rect,
    item: &PickItem,
    state: &Picker,
    chosen: bool,
    details: Option<usize>,
) {
    if chosen {
        paint.tone(place, Slot::Selection);
        paint.put(place.x, place.y, 2, "▸", paint.slot(Slot::Prompt));
    } else if item.current {
        paint.put(place.x, place.y, 2, "•", paint.role(Role::Accent));
    }
    let mut end = place.right().saturating_sub(1);
    if !item.hint.is_empty() {
        end = paint.right(end, place.y, &item.hint, paint.role(Role::Accent)).saturating_sub(2);
    }
    let x = place.x + 2;
    let columns = matches!(state.kind, PickerKind::Palette | PickerKind::Help) && place.width >= 70;
    if columns {
        // Command and key have columns of their own.
        let at = place.right().saturating_sub(KEY + COMMAND);
        paint.fit(at, place.y, COMMAND - 2, &item.detail, paint.role(Role::Dim));
        end = at.saturating_sub(1);
    }
    let room = usize::from(end.saturating_sub(x));
    // A long name leaves something of what is said about it.
    let said = match details {
        Some(at) => room.saturating_sub(at.saturating_sub(2)),
        None if columns || item.detail.is_empty() => 0,
        None => (width(&item.detail) + 2).min(room * 2 / 5),
    };
    let label = match state.kind {
        PickerKind::Servers | PickerKind::Toolsets | PickerKind::Permissions => {
            truncate_middle(&item.label, room - said)
        }
        _ => truncate_end(&item.label, room - said),
    };
    let next = paint.put(x, place.y, cells(room), &label, paint.role(if chosen { Role::Strong } else { Role::Text }));
    for column in matched(&label, &state.query) {
        paint.tone(Rect { x: x + column, width: 1, ..place }, Slot::Match);
    }
    // Details stand in a column of their own where labels leave room.
    let start = if place.width < 70 { 18 } else { DETAIL };
    let column = (x + start).max(next + 2);
    let detail_x = match details {
        Some(at) => x + cells(at),
        None if width(&label) < usize::from(start) - 2 && column + 12 < end => column,
        None => next + 2,
    };
    if detail_x < end && !columns {
        paint.fit(detail_x, place.y, end - detail_x, &item.detail, paint.role(Role::Dim));
    }
}

/// Columns of the letters that match: the query as a whole where it occurs, else its letters in order.
fn matched(label: &str, query: &str) -> Vec<u16> {
    let fold = |character: char| character.to_lowercase().next().unwrap_or(character);
    let wanted: Vec<char> = query.chars().filter(|it| !it.is_whitespace()).map(fold).collect();
    if wanted.is_empty() {
        return Vec::new();
    }
    let mut letters = Vec::new();
    let mut column = 0;
    for character in label.chars() {
        letters.push((fold(character), column));
        column += cells(grapheme_width(character.encode_utf8(&mut [0; 4])));
    }
    let whole = letters.windows(wanted.len()).find(|run| run.iter().map(|(it, _)| it).eq(wanted.iter()));
    if let Some(run) = whole {
        return run.iter().map(|(_, column)| *column).collect();
    }
    let mut out = Vec::new();
    let mut left = wanted.iter().peekable();
    for (letter, column) in letters {
        if left.peek() == Some(&&letter) {
            left.next();
            out.push(column);
        }
    }
    if left.peek().is_some() { Vec::new() } else { out }
}

#[cfg(test)]
mod tests {
    use super::matched;

    #[test]
    fn letters_that_match() {
        assert_eq!(matched("Resume session", "ses"), [7, 8, 9]);
        assert_eq!(matched("Model picker", "mp"), [0, 6]);
        assert_eq!(matched("Model picker", "xyz"), Vec::<u16>::new());
        assert_eq!(matched("日本 x", "x"), [5]);
    }
}
