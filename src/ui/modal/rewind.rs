//! Going back: the prompts, what the selected one would take back, and the choice.

use super::columns::Columns;
use super::{Frame, diffs};
use crate::app::Model;
use crate::app::action::Action;
use crate::app::input::{hint, paste};
use crate::app::model::layout::{Area, Hit, Layout};
use crate::app::model::rewind::{Confirming, RewindChoice, RewindModal};
use crate::app::model::types::{Fate, FileBack, FileKind, LeftOut, RewindPoint, RewindPreview, Who};
use crate::config::theme::Slot;
use crate::text::format::{self, plural};
use crate::text::width::{truncate_end, truncate_middle, width};
use crate::text::wrap::{Row, Wrap, wrap_into};
use crate::text::{Line, Role, Span};
use crate::ui::hints;
use crate::ui::paint::{Paint, cells, row};
use ratatui::layout::Rect;

/// Files that the preview names; each frame lays them out.
const MAX_FILES: usize = 200;

/// Draws it and returns where its caret is.
pub fn draw(
    model: &Model,
    state: &RewindModal,
    paint: &mut Paint<'_>,
    area: Rect,
    layout: &mut Layout,
) -> Option<(u16, u16)> {
    let title = if state.undo { "Undo the last exchange" } else { "Go back to a prompt" };
    let count = plural(state.matches.len() as u64, "prompt", "prompts");
    let note = if state.undo { "" } else { &count };
    let on = (hint::here(model, Action::ScrollDown), "reads on");
    let foot = if state.confirm.is_some() {
        hint::list(&[on, (Some("nothing has changed yet".into()), "")])
    } else {
        hint::list(&[
            on,
            (hint::here(model, Action::ForkSession), "forks here"),
            (hint::here(model, Action::Close), ""),
        ])
    };
    let frame = Frame { title, note, foot: &foot, ..Frame::default() };
    let place = frame.draw(paint, area, area.width.saturating_sub(14).min(140), area.height.saturating_sub(5));
    if let Some(confirm) = &state.confirm {
        draw_confirm(model, state, confirm, paint, place, layout);
        return None;
    }
    let columns = Columns {
        query: &state.query,
        cursor: state.cursor,
        busy: state.loading || (state.preview.is_none() && state.problem.is_empty() && state.point().is_some()),
        count: state.matches.len(),
        selected: state.selected,
        empty: if state.loading { "looking…" } else { "nothing matches" },
    };
    let (preview, caret) = columns.draw(model, paint, place, layout, |paint, first, second, index| {
        if let Some(point) = state.matches.get(index).and_then(|at| state.points.get(*at)) {
            draw_point(model, paint, first, second, point, index == state.selected);
        }
    });
    layout.rest = draw_preview(model, state, paint, preview);
    caret
}

fn draw_point(model: &Model, paint: &mut Paint<'_>, first: Rect, second: Rect, point: &RewindPoint, chosen: bool) {
    let age = format::age(model.now - point.at);
    let end = paint.right(first.right().saturating_sub(1), first.y, &age, paint.role(Role::Dim)).saturating_sub(1);
    let role = if chosen { Role::Strong } else { Role::Text };
    paint.fit(first.x + 2, first.y, end.saturating_sub(first.x + 2), &shown(&point.text), paint.role(role));
    if second.is_empty() {
        return;
    }
    paint.fit(second.x + 2, second.y, second.width.saturating_sub(3), &since(point), paint.role(Role::Dim));
}

/// What happened since a prompt. Commands come first: what they changed nobody knows.
fn since(point: &RewindPoint) -> String {
    let files = match point.files {
        0 => "no file".to_owned(),
        files => plural(files, "file", "files"),
    };
    match point.commands {
        0 => format!("{files} changed since"),
        commands => format!("{} ran · {files} edited", plural(commands, "command", "commands")),
    }
}

/// What the choice is about, and the choices under it.
fn draw_confirm(
    model: &Model,
    state: &RewindModal,
    confirm: &Confirming,
    paint: &mut Paint<'_>,
    place: Rect,
    layout: &mut Layout,
) {
    let Some(preview) = &state.preview else { return };
    let choices = state.choices();
    let rows = cells(choices.len()).min(place.height);
    let text = Rect { height: place.height.saturating_sub(rows + 1), ..place };
    let head = Line {
        spans: vec![Span::new("❯ ", Role::Accent), Span::new(shown(&preview.text), Role::Strong)],
        ..Line::default()
    };
    paint.line(row(text, 0), &head);
    let place_of_text = Rect { y: text.y + 2, height: text.height.saturating_sub(2), ..text };
    layout.rest = draw_preview(model, state, paint, place_of_text);
    for (index, choice) in choices.iter().enumerate() {
        let line = row(place, place.height - rows + index as u16);
        if *choice == confirm.selected {
            paint.tone(line, Slot::Selection);
            paint.put(line.x, line.y, 2, "▸", paint.slot(Slot::Prompt));
        }
        let (label, action) = label(*choice, confirm, preview);
        let role = match (choice, *choice == confirm.selected) {
            (RewindChoice::Overwrite, _) => Role::Careful,
            (_, true) => Role::Strong,
            (_, false) => Role::Text,
        };
        paint.fit(line.x + 2, line.y, line.width.saturating_sub(4), &label, paint.role(role));
        if choices.len() > 1 {
            let key = hint::here(model, action).unwrap_or_default();
            paint.right(line.right(), line.y, &key, paint.role(Role::Accent));
        }
        layout.targets.push((Area { x: line.x, y: line.y, width: line.width, height: 1 }, Hit::ModalRow(index)));
    }
}

fn label(choice: RewindChoice, confirm: &Confirming, preview: &RewindPreview) -> (String, Action) {
    let count = preview.ready() + if confirm.overwrite { preview.foreign() } else { 0 };
    let files = plural(count as u64, "file", "files");
    match choice {
        RewindChoice::Both => (format!("Conversation and {files}"), Action::RewindBoth),
        RewindChoice::Conversation if preview.files.is_empty() => {
            ("Rewind the conversation".into(), Action::RewindConversation)
        }
        RewindChoice::Conversation => ("Conversation only, files stay as they are".into(), Action::RewindConversation),
        RewindChoice::Files => (format!("Only {files}, the conversation stays"), Action::RewindFiles),
        RewindChoice::Overwrite => {
            let mark = if confirm.overwrite { "[x]" } else { "[ ]" };
            let what = plural(preview.foreign() as u64, "file", "files");
            (format!("{mark} also overwrite {what} changed elsewhere"), Action::OverwriteFiles)
        }
    }
}

/// Draws the part of the preview that is in view, and returns its first row.
fn draw_preview(model: &Model, state: &RewindModal, paint: &mut Paint<'_>, area: Rect) -> Option<usize> {
    if area.height == 0 || area.width < 8 {
        return None;
    }
    if !state.problem.is_empty() {
        paint.fit(area.x, area.y, area.width, &state.problem, paint.role(Role::Bad));
        return None;
    }
    let preview = state.preview.as_ref()?;
    draw_lines(model, &lines(preview, usize::from(area.width)), state.scroll, paint, area)
}

/// Draws the part of some lines that is in view, and returns its first row.
pub(super) fn draw_lines(
    model: &Model,
    lines: &[Line],
    scroll: usize,
    paint: &mut Paint<'_>,
    area: Rect,
) -> Option<usize> {
    if area.height == 0 || area.width < 8 {
        return None;
    }
    let how = Wrap { width: usize::from(area.width), ..Wrap::default() };
    let mut rows: Vec<Row> = Vec::new();
    for line in lines {
        wrap_into(&mut rows, &line.spans, line.ground, &how);
    }
    // What does not fit scrolls, and a row of its own says how much is hidden.
    let all = usize::from(area.height);
    let says = rows.len() > all && all > 1;
    let window = all - usize::from(says);
    let most = rows.len().saturating_sub(window);
    let skip = scroll.min(most);
    for (index, line) in rows.iter().skip(skip).take(window).enumerate() {
        paint.line(row(area, index as u16), &line.line);
    }
    if says {
        let last = row(area, area.height - 1);
        let text = match most - skip {
            0 => format!("↑ the end{}", hints::aside(hint::here(model, Action::ScrollUp))),
            more => {
                let key = hints::aside(hint::here(model, Action::ScrollDown));
                format!("↓ {}{key}", plural(more as u64, "more row", "more rows"))
            }
        };
        paint.fit(last.x, last.y, last.width, &text, paint.role(Role::Careful));
    }
    Some(skip)
}

/// Files first, what needs care at their head; then commands that stay done; then what is left out.
fn lines(preview: &RewindPreview, columns: usize) -> Vec<Line> {
    let mut out = Vec::new();
    if preview.files.is_empty() {
        out.push(text("No changed files to restore", Role::Dim));
    } else {
        out.push(text("Files that would be restored", Role::Strong));
        out.extend(file_lines(&preview.files, columns));
    }
    if !preview.commands.is_empty() {
        out.push(Line::default());
        out.push(text("Not undone, or not all: changes by these commands", Role::Careful));
        for ran in &preview.commands {
            out.push(text(format!("  {}", shown(&ran.prompt)), Role::Dim));
            out.extend(ran.commands.iter().map(|command| text(format!("    $ {}", shown(command)), Role::Text)));
        }
    }
    out.push(Line::default());
    let head = format!(
        "Left out of the conversation: {}, {}",
        plural(preview.prompts as u64, "prompt", "prompts"),
        plural(preview.items as u64, "entry", "entries")
    );
    out.push(text(head, Role::Strong));
    out.extend(preview.left_out.iter().map(|entry| left_out(entry, columns)));
    out.extend(diffs::lines(&preview.files, columns));
    out
}

/// A line for each file, those that need care first.
pub(super) fn file_lines(files: &[FileBack], columns: usize) -> Vec<Line> {
    let mut files: Vec<&FileBack> = files.iter().collect();
    files.sort_by_key(|file| match file.fate {
        Fate::Foreign(_) => 0,
        Fate::Lost(_) => 1,
        Fate::Ready => 2,
        Fate::Already => 3,
    });
    let mut out: Vec<Line> = files.iter().take(MAX_FILES).map(|file| file_line(file, columns)).collect();
    let more = files.len().saturating_sub(MAX_FILES);
    if more > 0 {
        out.push(text(format!("  … {more} more files"), Role::Dim));
    }
    out
}

pub(super) fn text(text: impl Into<String>, role: Role) -> Line {
    Line { spans: vec![Span::new(text.into(), role)], ..Line::default() }
}

fn left_out(entry: &LeftOut, columns: usize) -> Line {
    let (mark, role) = match entry.who {
        Who::Person => ("❯ ", Role::Text),
        Who::Model => ("  ", Role::Text),
        Who::Tool => ("  · ", Role::Dim),
    };
    let text = truncate_end(&shown(&entry.text), columns.saturating_sub(width(mark)));
    Line { spans: vec![Span::new(mark, Role::Dim), Span::new(text, role)], ..Line::default() }
}

fn file_line(file: &FileBack, columns: usize) -> Line {
    let (letter, role) = match file.kind {
        FileKind::Modified => ("M ", Role::Accent),
        FileKind::Added => ("A ", Role::Good),
        FileKind::Deleted => ("D ", Role::Bad),
        FileKind::Moved => ("R ", Role::Accent),
        FileKind::Mode => ("P ", Role::Accent),
    };
    let counts =
        [Span::new(format!(" +{}", file.added), Role::Added), Span::new(format!(" −{}", file.removed), Role::Removed)];
    let (letter, role, more) = match &file.fate {
        Fate::Ready if file.added + file.removed == 0 => (letter, role, Vec::new()),
        Fate::Ready => (letter, role, counts.to_vec()),
        Fate::Already => ("  ", Role::Dim, vec![Span::new(" restored", Role::Dim)]),
        Fate::Foreign(how) => {
            let mut more = counts.to_vec();
            more.push(Span::new(format!(" {how}"), Role::Careful));
            ("! ", Role::Careful, more)
        }
        Fate::Lost(why) => ("× ", Role::Bad, vec![Span::new(format!(" kept: {why}"), Role::Bad)]),
    };
    let used: usize = more.iter().map(|span| width(&span.text)).sum();
    let path = truncate_middle(&shown(&file.path), columns.saturating_sub(used + 4).max(12));
    let mut spans = vec![Span::new("  ", Role::Dim), Span::new(letter, role), Span::new(path, Role::Text)];
    spans.extend(more);
    Line { spans, ..Line::default() }
}

/// Text of others on one line, with nothing in it that a terminal obeys.
pub(super) fn shown(text: &str) -> String {
    paste::harmless(text).replace(['\n', '\t'], " ")
}
