//! A session on a time line: the conversation as it was, a terminal of that moment, plan, files and figures, and the line.

use super::Frame;
use crate::app::Model;
use crate::app::action::Action;
use crate::app::input::hint;
use crate::app::model::layout::{Hit, Layout};
use crate::app::model::replay::{ReplayModal, State};
use crate::app::model::types::TodoStatus;
use crate::config::theme::Slot;
use crate::text::format::{self, plural};
use crate::text::width::truncate_middle;
use crate::text::wrap::wrap;
use crate::text::{Line, Role, Span};
use crate::ui::live;
use crate::ui::paint::{Paint, row};
use crate::ui::to_area;
use ratatui::layout::Rect;

/// Columns that a column of figures needs beside the conversation, and its own.
const WIDE: u16 = 84;
const ASIDE: u16 = 30;
/// Rows of a screen below which none is shown.
const FEW: u16 = 4;

/// Draws it over everything. It has no caret.
pub fn draw(
    model: &Model,
    state: &ReplayModal,
    paint: &mut Paint<'_>,
    area: Rect,
    layout: &mut Layout,
) -> Option<(u16, u16)> {
    let stop = state.stop();
    let of = state.beats.last().map_or(0, |beat| beat.turn);
    let begin = state.track.stops.first().map_or(0, |first| first.at);
    let (now, since) = (model.now, |at: i64| format::clock(u64::try_from(at - begin).unwrap_or_default()));
    let when =
        stop.map(|it| format!("turn {} of {of} · {} in · {} ago", it.turn, since(it.at), format::age(now - it.at)));
    let mut when = when.unwrap_or_default();
    if state.is_left_out() {
        when.push_str(" · rewound later");
    }
    let title = format!("Replay · {}", state.title);
    let foot = if stop.is_some() { state.problem.as_str() } else { "" };
    let frame = Frame { title: &title, note: &when, foot, ..Frame::default() };
    let place = frame.draw(paint, area, area.width, area.height);
    if stop.is_none() {
        let text = if state.problem.is_empty() { live::spinner(model.now) } else { state.problem.as_str() };
        paint.fit(place.x, place.y, place.width, text, paint.role(Role::Dim));
        return None;
    }
    let figures = state.state();
    let body = Rect { height: place.height.saturating_sub(2), ..place };
    let body = if area.width >= WIDE {
        let side = Rect { x: body.right() - ASIDE, width: ASIDE, ..body };
        aside(state, &figures, paint, side);
        Rect { width: body.width - ASIDE - 2, ..body }
    } else {
        let line = summary(state, &figures);
        paint.fit(body.x, body.y, body.width, &line, paint.role(Role::Dim));
        Rect { y: body.y + 1, height: body.height.saturating_sub(1), ..body }
    };
    let screens = !state.screens.is_empty() && body.height >= 3 * FEW;
    let tall = if screens { body.height / 2 } else { 0 };
    conversation(state, paint, Rect { height: body.height - tall, ..body });
    if screens {
        terminal(model, state, paint, Rect { y: body.bottom() - tall, height: tall, ..body });
    }
    line(state, paint, Rect { y: place.bottom().saturating_sub(2), height: 2, ..place }, layout);
    None
}

/// The end of what was said up to the moment.
fn conversation(state: &ReplayModal, paint: &mut Paint<'_>, area: Rect) {
    let width = usize::from(area.width.max(1));
    let mut rows: Vec<Line> = Vec::new();
    for line in state.lines.iter().rev() {
        let wrapped = wrap(line, width);
        rows.extend(wrapped.into_iter().rev().map(|row| row.line));
        if rows.len() >= usize::from(area.height) {
            break;
        }
    }
    rows.truncate(usize::from(area.height));
    for (index, line) in rows.iter().rev().enumerate() {
        paint.line(row(area, index as u16), line);
    }
}

/// The screen of one terminal of the moment, under a line with the commands.
fn terminal(model: &Model, state: &ReplayModal, paint: &mut Paint<'_>, area: Rect) {
    let shown = state.terminal % state.screens.len().max(1);
    let border = paint.slot(Slot::Border);
    paint.repeat(row(area, 0), "─", border);
    let mut x = area.x + 1;
    for (index, (terminal, _)) in state.screens.iter().enumerate() {
        let Some(terminal) = state.terminals.get(*terminal) else { continue };
        let role = if index == shown { Role::Strong } else { Role::Dim };
        let words = terminal.command.split_ascii_whitespace().collect::<Vec<_>>().join(" ");
        let ended = state.stop().is_some_and(|stop| terminal.ended_at <= stop.at);
        let mark = match terminal.code.filter(|_| ended) {
            Some(0) => " ✓".to_owned(),
            Some(code) => format!(" ✗ {code}"),
            None => String::new(),
        };
        let name = format!(" {} {}{mark} ", index + 1, truncate_middle(&words, 40));
        x = paint.fit(x, area.y, area.right().saturating_sub(x), &name, paint.role(role));
    }
    if state.screens.len() > 1
        && let Some(key) = hint::here(model, Action::Switch)
    {
        paint.right(area.right(), area.y, &format!(" {key} next "), paint.role(Role::Dim));
    }
    let Some((_, lines)) = state.screens.get(shown) else { return };
    let room = usize::from(area.height.saturating_sub(1));
    // The end of a screen that has no room is what is being printed.
    let last = lines.iter().rposition(|line| !line.spans.is_empty()).map_or(0, |last| last + 1);
    let first = last.saturating_sub(room);
    for (index, line) in lines[first..last].iter().enumerate() {
        paint.line(row(area, index as u16 + 1), line);
    }
}

/// Tokens and money so far, as far as a provider reported them.
fn meter(loading: bool, figures: &State) -> Vec<String> {
    let sum = |count: u64| format::tokens(i64::try_from(count).unwrap_or(i64::MAX));
    let usage = &figures.usage;
    let mut lines = Vec::new();
    if figures.context > 0 {
        lines.push(format!("{} context", sum(figures.context)));
    }
    // Sums are known once all that came before is there.
    if loading {
        lines.push("…".to_owned());
    } else if usage.input + usage.output > 0 {
        let cost = usage.cost.map_or_else(|| "$?".to_owned(), format::dollars);
        lines.push(format!("{} in · {} out · {cost}", sum(usage.input), sum(usage.output)));
    } else if lines.is_empty() {
        lines.push("no tokens reported".to_owned());
    }
    lines
}

fn done(figures: &State) -> usize {
    figures.plan.iter().filter(|todo| todo.status == TodoStatus::Completed).count()
}

/// Everything in a line, where there is no room beside.
fn summary(state: &ReplayModal, figures: &State) -> String {
    let plan = format!("plan {}/{}", done(figures), figures.plan.len());
    let files = plural(figures.files.len() as u64, "file", "files");
    let mut parts = meter(state.loading, figures);
    parts.push(files);
    if !figures.plan.is_empty() {
        parts.push(plan);
    }
    parts.join(" · ")
}

/// Plan, files and figures of the moment.
fn aside(state: &ReplayModal, figures: &State, paint: &mut Paint<'_>, area: Rect) {
    let room = usize::from(area.width);
    let head = |text: String| Line { spans: vec![Span::new(text, Role::Strong)], ..Line::default() };
    let mut lines = vec![head("Figures".to_owned())];
    lines.extend(meter(state.loading, figures).into_iter().map(|text| Line::plain(text, Role::Dim)));
    if !figures.plan.is_empty() {
        lines.push(Line::default());
        lines.push(head(format!("Plan {}/{}", done(figures), figures.plan.len())));
        for todo in &figures.plan {
            let (mark, role) = match todo.status {
                TodoStatus::Completed => ("✓ ", Role::Dim),
                TodoStatus::InProgress => ("▸ ", Role::Strong),
                TodoStatus::Pending => ("○ ", Role::Text),
                TodoStatus::Cancelled => ("⊘ ", Role::Strike),
            };
            lines.push(Line::plain(format!("{mark}{}", todo.content), role));
        }
    }
    if !figures.files.is_empty() {
        lines.push(Line::default());
        lines.push(head(format!("Files {}", figures.files.len())));
        for (path, added, removed) in &figures.files {
            let counts = if added + removed > 0 { format!(" +{added} −{removed}") } else { String::new() };
            let name = truncate_middle(path, room.saturating_sub(counts.chars().count()));
            lines.push(Line::plain(format!("{name}{counts}"), Role::Text));
        }
    }
    for (index, line) in lines.iter().enumerate().take(usize::from(area.height)) {
        let at = row(area, index as u16);
        let (text, role) = (line.text(), line.spans.first().map_or(Role::Text, |span| span.role));
        paint.fit(at.x, at.y, at.width, &text, paint.role(role));
    }
}

/// The time line: turns as marks, what has passed in another colour, and a click for each cell.
fn line(state: &ReplayModal, paint: &mut Paint<'_>, area: Rect, layout: &mut Layout) {
    let playing = if state.plays.is_some() { "▶" } else { "‖" };
    let end =
        paint.right(area.right(), area.y + 1, &format!("{playing} {}×", state.speed.times()), paint.role(Role::Dim));
    if state.loading {
        paint.fit(area.x, area.y + 1, end.saturating_sub(area.x), "reading earlier turns…", paint.role(Role::Dim));
    }
    let cells = usize::from(area.width);
    let here = state.track.cell(state.at, cells);
    let mut marks = vec![("─", Role::Dim); cells];
    for mark in marks.iter_mut().take(here) {
        *mark = ("━", Role::Accent);
    }
    let mut turn = None;
    for (index, stop) in state.track.stops.iter().enumerate() {
        if turn != Some(stop.turn) && stop.is_item {
            turn = Some(stop.turn);
            let cell = state.track.cell(index, cells);
            if let Some(mark) = marks.get_mut(cell) {
                mark.0 = "┼";
            }
        }
    }
    if let Some(mark) = marks.get_mut(here) {
        *mark = ("●", Role::Strong);
    }
    for (index, (mark, role)) in marks.into_iter().enumerate() {
        let x = area.x + index as u16;
        paint.put(x, area.y, 1, mark, paint.role(role));
        let part = index as i64 * 1000 / (cells.saturating_sub(1).max(1) as i64);
        let target = Rect { x, width: 1, height: 1, ..area };
        layout.targets.push((to_area(target), Hit::ModalRow(state.track.nearest(part))));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::Usage;

    #[test]
    fn figures_that_no_provider_reported_are_left_out() {
        assert_eq!(meter(false, &State::default()), ["no tokens reported"]);
        assert_eq!(meter(true, &State::default()), ["…"]);
        let usage = Usage { input: 1200, output: 30, ..Usage::default() };
        let told = State { usage, context: 1200, ..State::default() };
        assert_eq!(meter(false, &told), ["1.2K context", "1.2K in · 30 out · $?"]);
    }
}
