//! Past sessions: search, list, and the end of the selected one.

use super::Frame;
use super::columns::Columns;
use crate::app::Model;
use crate::app::action::Action;
use crate::app::input::hint;
use crate::app::model::layout::Layout;
use crate::app::model::modal::{SessionBrowser, SessionScope};
use crate::app::model::types::SessionRow;
use crate::app::session::sessions;
use crate::text::format;
use crate::text::width::{truncate_end, truncate_middle, width};
use crate::text::wrap::{Row, Wrap, wrap_into};
use crate::text::{Role, Span};
use crate::ui::paint::{Paint, row};
use ratatui::layout::Rect;

/// Columns from which more keys are named.
const WIDE: u16 = 112;
/// Columns below which the usual keys go unnamed: the line under the screen has them.
const NARROW: u16 = 66;

/// Draws it and returns where its caret is.
pub fn draw(
    model: &Model,
    state: &SessionBrowser,
    paint: &mut Paint<'_>,
    area: Rect,
    layout: &mut Layout,
) -> Option<(u16, u16)> {
    let title = match state.scope {
        SessionScope::All => "Sessions of all folders",
        SessionScope::Here => "Sessions of this folder",
        SessionScope::Elsewhere => "Sessions of other agents",
        SessionScope::Archived => "Archived sessions",
        SessionScope::Trashed => "Sessions in the trash",
    };
    let mut count = format::plural(state.rows.len() as u64, "session", "sessions");
    if let Some(of) = &state.of {
        count = format!("{count} of {of}");
    }
    let key = |action| hint::here(model, action);
    let is_ours = state.scope != SessionScope::Elsewhere;
    // What the width has room for; the list of actions names the others.
    let mut hints = vec![
        (key(Action::Accept), if is_ours { "resumes" } else { "takes over" }),
        (key(Action::Here), next(state.scope)),
    ];
    if area.width < NARROW {
        hints.remove(0);
    }
    if area.width >= WIDE && is_ours {
        hints.extend([
            (key(Action::TagSession), "tags"),
            (key(Action::PinSession), "pins"),
            (key(Action::SelectedTree), "forks"),
        ]);
    }
    let removes = match (state.scope, &state.undo) {
        (SessionScope::Trashed, _) | (_, Some(_)) => (key(Action::RestoreSession), "restores"),
        (_, None) => (key(Action::DeleteSession), "trash"),
    };
    if is_ours {
        hints.extend([removes, (key(Action::SessionActions), "more")]);
    } else {
        hints.push((key(Action::Close), ""));
    }
    let foot = hint::list(&hints);
    let columns = area.width.saturating_sub(14).min(140);
    // Other agents have no filters.
    let fault = state.fault.as_ref().filter(|_| is_ours).map(|fault| {
        let whole = fault.to_string();
        let room = usize::from(columns).saturating_sub(width(title) + 4);
        if width(&whole) <= room { whole } else { fault.remedy.to_owned() }
    });
    let note_role = if fault.is_some() { Role::Careful } else { Role::Dim };
    let frame = Frame { title, note: fault.as_ref().unwrap_or(&count), note_role, foot: &foot, ..Frame::default() };
    let place = frame.draw(paint, area, columns, area.height.saturating_sub(5));
    let empty = match (state.loading, state.query.is_empty(), state.scope) {
        (true, ..) => "looking…",
        (false, true, SessionScope::All | SessionScope::Here) => "no sessions yet",
        (false, true, SessionScope::Elsewhere) => "no other agent left sessions here",
        (false, true, SessionScope::Archived) => "nothing is archived",
        (false, true, SessionScope::Trashed) => "the trash is empty",
        (false, false, _) => "nothing matches",
    };
    let columns = Columns {
        query: &state.query,
        cursor: state.cursor,
        busy: state.loading,
        count: state.rows.len(),
        selected: state.selected,
        empty,
    };
    let (preview, caret) = columns.draw(model, paint, place, layout, |paint, first, second, index| {
        if let Some(session) = state.rows.get(index) {
            draw_session(model, paint, (first, second), session, index == state.selected, state.scope);
        }
    });
    draw_preview(state, paint, preview);
    caret
}

/// The summary on one line, without the title that stands above it and without marks of Markdown.
fn about(session: &SessionRow) -> String {
    let summary = one_line(session.summary.as_deref().unwrap_or_default()).replace("**", "");
    let title = one_line(sessions::title_of(session));
    let rest = summary.strip_prefix(&title).map(|rest| rest.trim_start_matches([' ', '→', '.', ':', ',']));
    rest.filter(|rest| !rest.is_empty()).map(str::to_owned).unwrap_or(summary)
}

fn draw_session(
    model: &Model,
    paint: &mut Paint<'_>,
    (first, second): (Rect, Rect),
    session: &SessionRow,
    chosen: bool,
    scope: SessionScope,
) {
    let age = format::age(model.now - session.updated_at);
    let end = paint.right(first.right().saturating_sub(1), first.y, &age, paint.role(Role::Dim)).saturating_sub(1);
    let role = if chosen { Role::Strong } else { Role::Text };
    let mut x = first.x + 2;
    if model.tabs().any(|tab| tab.of.as_ref().is_some_and(|id| id.0 == session.id)) {
        x = paint.put(x, first.y, end.saturating_sub(x), "● ", paint.role(Role::Accent));
    }
    if session.pinned {
        x = paint.put(x, first.y, end.saturating_sub(x), "◆ ", paint.role(Role::Accent));
    }
    let tags: String = session.tags.iter().map(|tag| format!(" #{tag}")).collect();
    let room = usize::from(end.saturating_sub(x));
    // A long title leaves the first tags in view.
    let tags = truncate_end(&tags, room * 2 / 5);
    let name = truncate_end(&one_line(sessions::title_of(session)), room.saturating_sub(width(&tags)));
    let next = paint.put(x, first.y, end.saturating_sub(x), &name, paint.role(role));
    paint.fit(next, first.y, end.saturating_sub(next), &tags, paint.role(Role::Accent));
    if second.is_empty() {
        return;
    }
    let room = second.width.saturating_sub(3);
    match &session.snippet {
        Some(snippet) => {
            paint.spans(second.x + 2, second.y, room, &snippet_spans(&near_hit(snippet, usize::from(room))));
        }
        None if session.summary.is_some() => {
            let about = about(session);
            // In one folder all rows would say the same.
            let folder = session.cwd.rsplit('/').next().filter(|name| scope != SessionScope::Here && !name.is_empty());
            let line = folder.map_or_else(|| about.clone(), |name| format!("{} · {about}", truncate_end(name, 24)));
            paint.fit(second.x + 2, second.y, room, &line, paint.role(Role::Dim));
        }
        None => {
            let name = session.model.rsplit(['/', ':']).next().unwrap_or_default();
            // How many a session of another agent has is known only where counting them is cheap.
            let items = match session.items {
                0 => String::new(),
                items => format!(" · {}", format::plural(items, "item", "items")),
            };
            let (before, after) = match scope {
                SessionScope::All | SessionScope::Here | SessionScope::Archived | SessionScope::Trashed => {
                    (String::new(), format!("{items} · {name}"))
                }
                // Whose it is comes first.
                SessionScope::Elsewhere => (format!("{} · ", session.model), items),
            };
            let taken = width(&before) + width(&after);
            let folder = truncate_middle(&session.cwd, usize::from(room).saturating_sub(taken).max(8));
            paint.fit(second.x + 2, second.y, room, &format!("{before}{folder}{after}"), paint.role(Role::Dim));
        }
    }
}

/// What the key of the scope shows next.
fn next(scope: SessionScope) -> &'static str {
    match scope.next() {
        SessionScope::All => "all",
        SessionScope::Here => "here",
        SessionScope::Elsewhere => "other agents",
        SessionScope::Archived => "archive",
        SessionScope::Trashed => "trash",
    }
}

fn one_line(text: &str) -> String {
    text.split_ascii_whitespace().collect::<Vec<_>>().join(" ")
}

/// A snippet that begins shortly before its first hit, where that would lie outside of so many cells.
fn near_hit(snippet: &str, room: usize) -> String {
    let text = one_line(snippet);
    let Some((before, _)) = text.split_once(">>>") else { return text };
    let count = before.chars().count();
    if count <= room / 2 {
        return text;
    }
    let cut = before.char_indices().nth(count - room / 4).map_or(before.len(), |(at, _)| at);
    let word = before[cut..].find(' ').map_or(cut, |at| cut + at + 1);
    format!("…{}", &text[word..])
}

/// A snippet with the words between `>>>` and `<<<` set off.
fn snippet_spans(snippet: &str) -> Vec<Span> {
    let mut spans = Vec::new();
    for (index, part) in one_line(snippet).split(">>>").enumerate() {
        match part.split_once("<<<") {
            Some((hit, rest)) if index > 0 => {
                spans.push(Span::new(hit, Role::Accent));
                spans.push(Span::new(rest, Role::Dim));
            }
            _ => spans.push(Span::new(part, Role::Dim)),
        }
    }
    spans
}

/// The end of the session, as far as it fits; a hit stays in view, a third from the top.
fn draw_preview(state: &SessionBrowser, paint: &mut Paint<'_>, area: Rect) {
    let window = usize::from(area.height);
    if window == 0 || area.width < 8 {
        return;
    }
    let mut rows: Vec<Row> = Vec::new();
    // As many of the last lines as can show: a line takes a row at least.
    let end = state.preview.len().saturating_sub(window);
    let skip = state.preview_hit.map_or(end, |hit| hit.saturating_sub(window / 3).min(end));
    let mut hit = None;
    for (index, line) in state.preview.iter().enumerate().skip(skip) {
        if Some(index) == state.preview_hit {
            hit = Some(rows.len());
        }
        let how = Wrap { width: usize::from(area.width), ..Wrap::default() };
        wrap_into(&mut rows, &line.spans, line.ground, &how);
    }
    let end = rows.len().saturating_sub(window);
    let skip = hit.map_or(end, |hit| hit.saturating_sub(window / 3).min(end));
    for (index, line) in rows.iter().skip(skip).take(window).enumerate() {
        paint.line(row(area, index as u16), &line.line);
    }
}

#[cfg(test)]
mod tests {
    use super::near_hit;

    #[test]
    fn a_hit_is_in_view() {
        let long = "read_file content: 1|from shop.>>>cart<<< import Cart";
        assert_eq!(near_hit(long, 24), "…shop.>>>cart<<< import Cart");
        assert_eq!(near_hit(long, 80), long);
        assert_eq!(near_hit("no hit at all", 4), "no hit at all");
    }
}
