//! What a git worktree holds: its files with their counts, and the hunks of the selected one. Only the lines in view are laid
//! out: a file of ten thousand changed lines costs no more than one of ten.

use super::rewind::{draw_lines, shown, text};
use super::{Frame, last_rows};
use crate::app::Model;
use crate::app::action::Action;
use crate::app::input::hint;
use crate::app::model::layout::{Area, Hit, Layout};
use crate::app::model::types::{FileKind, TreeFile, TreeHunk};
use crate::app::model::worktree::{Busy, WorktreeModal};
use crate::config::theme::Slot;
use crate::text::format::plural;
use crate::text::highlight::{self, Highlighter};
use crate::text::width::{truncate_middle, width};
use crate::text::{Line, Role, Span, diff};
use crate::ui::live;
use crate::ui::paint::{Paint, cells, row};
use ratatui::layout::Rect;

/// Columns from which the hunks stand beside the files.
const BESIDE: u16 = 76;

/// Draws it. It has no caret.
pub fn draw(
    model: &Model,
    state: &WorktreeModal,
    paint: &mut Paint<'_>,
    area: Rect,
    layout: &mut Layout,
) -> Option<(u16, u16)> {
    let branch = state.changes.as_ref().map(|changes| changes.branch.as_ref().unwrap_or(&changes.name));
    let title = match (branch, state.by.is_empty()) {
        (Some(branch), true) => format!("Changes in {branch}"),
        (Some(branch), false) => format!("Changes of {} in {branch}", state.by),
        (None, _) => "Changes in a worktree".to_owned(),
    };
    let columns = area.width.saturating_sub(8).min(170);
    // As the frame has room for it.
    let edge = (columns + 6).min(area.width.saturating_sub(4)).saturating_sub(9);
    let foot = foot(model, state, usize::from(edge));
    let frame = Frame { title: &title, note: &note(state), foot: &foot, ..Frame::default() };
    let place = frame.draw(paint, area, columns, area.height.saturating_sub(4));
    if !state.problem.is_empty() {
        let under = Rect { y: place.y + 1, height: place.height.saturating_sub(1), ..place };
        draw_lines(model, &[text(shown(&state.problem), Role::Bad)], 0, paint, under);
        return None;
    }
    let Some(changes) = &state.changes else {
        paint.put(place.x, place.y, 1, live::spinner(model.now), paint.slot(Slot::Spinner));
        return None;
    };
    let files = state.shown();
    if files.is_empty() {
        let text = if changes.files.is_empty() {
            "It holds nothing that this folder lacks"
        } else {
            "All was dropped from the list"
        };
        paint.fit(place.x, place.y + 1, place.width, text, paint.role(Role::Dim));
        left(state, paint, last_rows(place, 1));
        return None;
    }
    let below = cells(state.left.len()).min(place.height / 4);
    let body = Rect { height: place.height.saturating_sub(below), ..place };
    let (list, view) = split(body, &files);
    draw_files(state, &files, paint, list, layout);
    layout.rest = draw_hunks(model, state, paint, view);
    left(state, paint, last_rows(place, below));
    None
}

/// What the upper edge says: counts, or what is being done.
fn note(state: &WorktreeModal) -> String {
    match state.busy {
        Busy::Looking => return "looking…".into(),
        Busy::Taking => return "taking…".into(),
        Busy::Dropping => return "removing…".into(),
        Busy::No => {}
    }
    let files = state.shown();
    let (added, removed) = files.iter().fold((0, 0), |sum, file| (sum.0 + file.added, sum.1 + file.removed));
    let more = state.changes.as_ref().map_or(0, |changes| changes.more);
    let more = if more > 0 { format!(" of {}", files.len() as u64 + more) } else { String::new() };
    match files.len() {
        0 => String::new(),
        count => format!("{}{more} +{added} −{removed}", plural(count as u64, "file", "files")),
    }
}

/// What the keys do, in as many words as the lower edge has room for.
fn foot(model: &Model, state: &WorktreeModal, room: usize) -> String {
    let key = |action| hint::here(model, action);
    if state.changes.is_none() {
        return hint::list(&[(key(Action::Close), "")]);
    }
    let (what, other) = if state.in_hunks { ("the hunk", "files") } else { ("the file", "hunks") };
    let (takes, drops) = (format!("takes {what}"), format!("drops {what}"));
    let (back, take_key, all_key) = (if state.in_hunks { other } else { "" }, Action::TakeChange, Action::TakeAll);
    let long = [
        (key(take_key), takes.as_str()),
        (key(all_key), "takes all"),
        (key(Action::DropChange), &drops),
        (key(Action::Switch), other),
        (key(Action::DropWorktree), "removes the worktree"),
        (key(Action::Close), back),
    ];
    let short = [
        (key(take_key), "takes"),
        (key(all_key), "all"),
        (key(Action::DropChange), "drops"),
        (key(Action::Switch), other),
        (key(Action::DropWorktree), "removes"),
        (key(Action::Close), ""),
    ];
    let shortest = [
        (key(take_key), "take"),
        (key(all_key), "all"),
        (key(Action::DropChange), "drop"),
        (key(Action::DropWorktree), "remove"),
        (key(Action::Close), ""),
    ];
    let all = [hint::list(&long), hint::list(&short), hint::list(&shortest)];
    all.into_iter().find(|said| width(said) <= room).unwrap_or_default()
}

/// The places of the list and of the hunks.
fn split(body: Rect, files: &[&TreeFile]) -> (Rect, Rect) {
    if body.width >= BESIDE {
        let widest = files.iter().map(|file| width(&file.path) + 18).max().unwrap_or_default();
        let left = cells(widest).clamp(24, body.width * 2 / 5);
        (Rect { width: left, ..body }, Rect { x: body.x + left + 3, width: body.width - left - 3, ..body })
    } else {
        let top = cells(files.len()).min((body.height / 3).max(2));
        (
            Rect { height: top, ..body },
            Rect { y: body.y + top + 1, height: body.height.saturating_sub(top + 1), ..body },
        )
    }
}

fn draw_files(state: &WorktreeModal, files: &[&TreeFile], paint: &mut Paint<'_>, list: Rect, layout: &mut Layout) {
    let window = usize::from(list.height).max(1);
    let skip = (state.selected + 1).saturating_sub(window);
    for (index, file) in files.iter().enumerate().skip(skip).take(window) {
        let line = row(list, cells(index - skip));
        if line.is_empty() {
            break;
        }
        let chosen = index == state.selected;
        if chosen {
            paint.tone(line, Slot::Selection);
            let mark = if state.in_hunks { "·" } else { "▸" };
            paint.put(line.x, line.y, 2, mark, paint.slot(Slot::Prompt));
        }
        let (letter, role) = match file.kind {
            _ if file.here => ("✓", Role::Good),
            FileKind::Modified => ("M", Role::Accent),
            FileKind::Added => ("A", Role::Good),
            FileKind::Deleted => ("D", Role::Bad),
            FileKind::Moved => ("R", Role::Accent),
            FileKind::Mode => ("P", Role::Accent),
        };
        paint.put(line.x + 2, line.y, 2, letter, paint.role(role));
        let counts = counts(file);
        let room: usize = counts.iter().map(|span| width(&span.text)).sum();
        let start = line.right().saturating_sub(cells(room));
        let name = truncate_middle(&shown(&file.path), usize::from(start.saturating_sub(line.x + 5)));
        let role = match (file.here, chosen) {
            (true, _) => Role::Dim,
            (_, true) => Role::Strong,
            (_, false) => Role::Text,
        };
        paint.put(line.x + 4, line.y, start.saturating_sub(line.x + 5), &name, paint.role(role));
        paint.spans(start, line.y, cells(room), &counts);
        layout.targets.push((Area { x: line.x, y: line.y, width: line.width, height: 1 }, Hit::ModalRow(index)));
    }
}

/// `new +3 −1`, as far as there is something to say.
fn counts(file: &TreeFile) -> Vec<Span> {
    let mut spans = Vec::new();
    if file.stuck.is_some() {
        spans.push(Span::new("stuck ", Role::Careful));
    } else if file.loose && !file.here {
        // Nothing but the folder has it.
        spans.push(Span::new("○ ", Role::Careful));
    }
    if file.binary {
        spans.push(Span::new("binary", Role::Dim));
    } else if file.kind == FileKind::Mode {
        spans.push(Span::new("mode", Role::Dim));
    } else {
        spans.push(Span::new(format!("+{}", file.added), Role::Added));
        spans.push(Span::new(format!(" −{}", file.removed), Role::Removed));
    }
    spans
}

/// Draws the lines in view, and returns the first of them.
fn draw_hunks(model: &Model, state: &WorktreeModal, paint: &mut Paint<'_>, view: Rect) -> Option<usize> {
    if view.height == 0 || view.width < 8 {
        return None;
    }
    let file = state.file()?;
    let mut y = 0;
    let mut says = Vec::new();
    if let Some(from) = &file.from {
        says.push((format!("moved from {}", shown(from)), Role::Dim));
    }
    if let Some(stuck) = &file.stuck {
        says.push((format!("can't be taken here: {stuck}"), Role::Careful));
    } else if file.here {
        says.push(("this folder has it as it is".to_owned(), Role::Good));
    } else if file.loose {
        says.push(("○ not committed as it is: nothing but the worktree has it".to_owned(), Role::Careful));
    }
    let Some(hunks) = state.hunks.as_ref().filter(|hunks| hunks.path == file.path) else {
        paint.put(view.x, view.y, 1, live::spinner(model.now), paint.slot(Slot::Spinner));
        return None;
    };
    if !hunks.note.is_empty() {
        says.push((hunks.note.clone(), Role::Dim));
    }
    for (text, role) in says {
        paint.fit(view.x, row(view, y).y, view.width, &text, paint.role(role));
        y += 1;
    }
    let rest = Rect { y: view.y + y.min(view.height), height: view.height.saturating_sub(y), ..view };
    let all = state.hunks_shown();
    // The last page is full.
    let first = state.scroll.min(state.lines().saturating_sub(usize::from(rest.height)));
    lines(state, &all, first, file, paint, rest);
    Some(first)
}

/// The lines from one on, until the place is full.
fn lines(state: &WorktreeModal, all: &[&TreeHunk], first: usize, file: &TreeFile, paint: &mut Paint<'_>, place: Rect) {
    let language = highlight::language_of(&file.path);
    let mut code = Highlighter::default();
    let (mut at, mut y) = (0, 0);
    for (index, hunk) in all.iter().enumerate() {
        let end = at + 1 + hunk.lines.len();
        if end > first && y < place.height {
            if at >= first {
                head(state, hunk, (index, all.len()), paint, row(place, y));
                y += 1;
            }
            let skip = first.saturating_sub(at + 1);
            let take = usize::from(place.height.saturating_sub(y));
            let part = part(hunk, skip, take);
            for line in diff::render(&part, language, usize::from(place.width), take, &mut code) {
                if y >= place.height {
                    break;
                }
                let area = row(place, y);
                paint.ground(area, line.line.ground);
                paint.line(area, &line.line);
                y += 1;
            }
        }
        at = end;
    }
}

/// Some lines of a hunk as a unified diff, with the numbers that they have.
fn part(hunk: &TreeHunk, skip: usize, take: usize) -> String {
    let count = |lines: &[String], not: char| lines.iter().filter(|line| !line.starts_with([not, '\\'])).count();
    let (before, rest) = hunk.lines.split_at(skip.min(hunk.lines.len()));
    let shown = &rest[..take.min(rest.len())];
    let (old, new) = (hunk.old + count(before, '+'), hunk.new + count(before, '-'));
    let mut out = format!("@@ -{old},{} +{new},{} @@\n", count(shown, '+'), count(shown, '-'));
    for line in shown {
        out.push_str(&super::rewind::shown(&line.replace('\t', "    ")));
        out.push('\n');
    }
    out
}

fn head(state: &WorktreeModal, hunk: &TreeHunk, (index, of): (usize, usize), paint: &mut Paint<'_>, line: Rect) {
    let chosen = state.in_hunks && index == state.hunk;
    if chosen {
        paint.tone(line, Slot::Selection);
        paint.put(line.x, line.y, 2, "▸", paint.slot(Slot::Prompt));
    }
    let here = if hunk.here { " · ✓ this folder has it" } else { "" };
    let text = format!("line {} · {} of {of}{here}", hunk.new, index + 1);
    let role = if chosen { Role::Strong } else { Role::Dim };
    let spans = vec![Span::new(text, role)];
    paint.line(Rect { x: line.x + 2, width: line.width.saturating_sub(2), ..line }, &Line { spans, ..Line::default() });
}

/// What was not taken, and why.
fn left(state: &WorktreeModal, paint: &mut Paint<'_>, place: Rect) {
    for (index, (path, why)) in state.left.iter().enumerate().take(usize::from(place.height)) {
        let line = row(place, cells(index));
        let more = state.left.len() - index - 1;
        let last = index + 1 == usize::from(place.height) && more > 0;
        let more = if last { format!(" (and {more} more)") } else { String::new() };
        let text = format!("not taken: {}: {why}{more}", shown(path));
        paint.fit(line.x, line.y, line.width, &text, paint.role(Role::Careful));
    }
}
