//! Figures over time: tokens by day as bars, tools, durations, cost and projects as lists with bars.

use super::Frame;
use crate::app::Model;
use crate::app::action::Action;
use crate::app::input::hint;
use crate::app::model::layout::{Hit, Layout};
use crate::app::model::stats::{Range, StatsModal, StatsTab};
use crate::config::theme::Slot;
use crate::protocol::{Figures, Spending};
use crate::text::Role;
use crate::text::format::{self, count, elapsed, percent, plural};
use crate::text::width::{truncate_middle, width};
use crate::ui::hints;
use crate::ui::live;
use crate::ui::paint::{Paint, row};
use crate::ui::to_area;
use ratatui::layout::Rect;

/// Parts of a cell that a bar may end in, from below and from the left.
const UP: [&str; 8] = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];
const RIGHT: [&str; 8] = ["▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"];
/// Columns beside the bars of days, for amounts.
const AXIS: u16 = 7;
/// Columns of the widest bar of a day.
const BROAD: u16 = 6;

/// Draws it. It has no caret.
pub fn draw(
    model: &Model,
    state: &StatsModal,
    paint: &mut Paint<'_>,
    area: Rect,
    layout: &mut Layout,
) -> Option<(u16, u16)> {
    let key = |action| hint::here(model, action);
    let is_list = state.tab != StatsTab::Tokens;
    let foot = hint::list(&[
        (key(Action::Switch), "page"),
        (hints::scrolls(model).filter(|_| is_list), "scroll"),
        (key(Action::Close), ""),
    ]);
    let ranges = ranges(model, state);
    let frame = Frame { title: "Statistics", note: &ranges, foot: &foot, ..Frame::default() };
    let columns = area.width.saturating_sub(10).min(110);
    let place = frame.draw(paint, area, columns, area.height.saturating_sub(6).min(30));
    tabs(state, paint, place, layout);
    let body = Rect { y: place.y + 2, height: place.height.saturating_sub(2), ..place };
    let Some(figures) = &state.figures else {
        let (text, role) = match state.problem.as_str() {
            "" => (live::spinner(model.now), Role::Dim),
            problem => (problem, Role::Bad),
        };
        paint.fit(body.x, body.y, body.width, text, paint.role(role));
        return None;
    };
    let rows = match state.tab {
        StatsTab::Tokens => {
            days(figures, paint, body);
            None
        }
        StatsTab::Tools => Some(tools(figures)),
        StatsTab::Durations => Some(durations(figures)),
        StatsTab::Cost => Some(models(figures)),
        StatsTab::Projects => Some(projects(figures)),
    };
    if let Some(rows) = rows {
        layout.rest = Some(list(&rows, state.scroll, paint, body));
    }
    None
}

/// The ranges with their keys, the shown one in brackets.
fn ranges(model: &Model, state: &StatsModal) -> String {
    let actions = [Action::RangeWeek, Action::RangeMonth, Action::RangeQuarter, Action::RangeAll];
    let words = Range::ALL.iter().zip(actions).map(|(range, action)| {
        let days = range.days().map_or("all".to_owned(), |days| format!("{days} days"));
        let key = hint::here(model, action).map_or(String::new(), |key| format!("{key} "));
        if *range == state.range { format!("[{days}]") } else { format!("{key}{days}") }
    });
    words.collect::<Vec<_>>().join(" · ")
}

/// The names of the pages.
fn tabs(state: &StatsModal, paint: &mut Paint<'_>, place: Rect, layout: &mut Layout) {
    let mut x = place.x;
    for (index, tab) in StatsTab::ALL.iter().enumerate() {
        let role = if *tab == state.tab { Role::Strong } else { Role::Dim };
        let end = paint.fit(x, place.y, place.right().saturating_sub(x), tab.title(), paint.role(role));
        let target = Rect { x, width: end.saturating_sub(x), height: 1, ..place };
        layout.targets.push((to_area(target), Hit::ModalRow(index)));
        if *tab == state.tab {
            let line = Rect { y: place.y + 1, ..target };
            if line.y < place.bottom() {
                paint.repeat(line, "─", paint.slot(Slot::Meter));
            }
        }
        x = end + 2;
    }
}

fn amount(value: u64) -> String {
    format::tokens(i64::try_from(value).unwrap_or(i64::MAX))
}

/// Said where nothing is known.
const NOTHING: &str = "Nothing was used in these days.";

/// Tokens by day as bars; days share a bar where there are more than columns.
fn days(figures: &Figures, paint: &mut Paint<'_>, body: Rect) {
    let sum = figures.sum();
    if sum.tokens() == 0 || body.height < 3 {
        let text =
            if figures.tools.is_empty() && sum.calls == 0 { NOTHING } else { "No tokens were counted in these days." };
        return paint_text(paint, body, text);
    }
    let room = body.width.saturating_sub(AXIS).max(1);
    let each = figures.days.len().div_ceil(usize::from(room)).max(1);
    let bars: Vec<(&str, u64)> = figures
        .days
        .chunks(each)
        .map(|days| (days[0].date.as_str(), days.iter().map(|day| day.spent.tokens()).sum()))
        .collect();
    let wide = (room / bars.len().max(1) as u16).clamp(1, BROAD);
    let gap = u16::from(wide > 1);
    let most = bars.iter().map(|(_, tokens)| *tokens).max().unwrap_or(1).max(1);
    // A row for the dates, one of air and two for the sums.
    let tall = body.height.saturating_sub(4).max(1);
    let chart = Rect { x: body.x + AXIS, height: tall, width: room, ..body };
    let dim = paint.role(Role::Dim);
    let labels = [(0, most), (tall / 2, most / 2), (tall - 1, 0)];
    for (index, (y, value)) in labels.into_iter().enumerate() {
        if index != 1 || tall >= 6 {
            paint.right(chart.x - 1, body.y + y, &amount(value), dim);
        }
    }
    let style = paint.slot(Slot::Meter);
    for (index, (_, tokens)) in bars.iter().enumerate() {
        let x = chart.x + index as u16 * wide;
        let eighths = (*tokens as f64 / most as f64 * f64::from(tall) * 8.0).ceil() as u16;
        for level in 0..tall {
            let part = eighths.saturating_sub(level * 8).min(8);
            if part > 0 {
                let cell = Rect { x, y: chart.bottom() - 1 - level, width: wide - gap, height: 1 };
                paint.repeat(cell, UP[usize::from(part) - 1], style);
            }
        }
    }
    dates(&bars, wide, each, paint, Rect { y: chart.bottom(), height: 1, ..chart });
    let busiest = figures.days.iter().max_by_key(|day| day.spent.tokens());
    let cached = if sum.cached > 0 { format!(" ({} cached)", percent(sum.cached, sum.input)) } else { String::new() };
    let first = format!("{} in{cached} · {} out · {}", amount(sum.input), amount(sum.output), sum.price());
    let second = busiest.map(|day| {
        format!(
            "{} · most on {}: {}",
            plural(sum.calls, "call of a model", "calls of models"),
            day.date,
            amount(day.spent.tokens())
        )
    });
    let under = Rect { y: chart.bottom() + 2, height: body.height.saturating_sub(tall + 2), ..body };
    for (index, line) in [Some(first), second].into_iter().flatten().enumerate() {
        let at = row(under, index as u16);
        if at.is_empty() {
            break;
        }
        paint.fit(at.x, at.y, at.width, &line, paint.role(Role::Text));
    }
}

/// The first and the last date under their bars, and how many days a bar is.
fn dates(bars: &[(&str, u64)], wide: u16, each: usize, paint: &mut Paint<'_>, at: Rect) {
    let dim = paint.role(Role::Dim);
    let short = |date: &str| date.get(5..).unwrap_or(date).to_owned();
    let (Some((first, _)), Some((last, _))) = (bars.first(), bars.last()) else { return };
    let is_long = bars.len() * each > 300;
    let name = |date: &str| if is_long { date.to_owned() } else { short(date) };
    let end = paint.fit(at.x, at.y, at.width, &name(first), dim);
    let right = (at.x + bars.len() as u16 * wide).min(at.right());
    let start = right.saturating_sub(width(&name(last)) as u16);
    if bars.len() > 1 && start > end {
        paint.fit(start, at.y, right.saturating_sub(start), &name(last), dim);
    }
    let middle = format!("a bar: {each} days");
    let spare = start.saturating_sub(end);
    if each > 1 && usize::from(spare) > width(&middle) + 2 {
        paint.fit(end + (spare - width(&middle) as u16) / 2, at.y, spare, &middle, dim);
    }
}

fn paint_text(paint: &mut Paint<'_>, body: Rect, text: &str) {
    paint.fit(body.x, body.y, body.width, text, paint.role(Role::Dim));
}

/// A list with a bar in each row.
struct Rows {
    head: [&'static str; 4],
    rows: Vec<Entry>,
}

struct Entry {
    name: String,
    /// The length of its bar.
    part: f64,
    /// Under the heads.
    cells: [String; 3],
    /// The cell that tells of trouble.
    bad: Option<usize>,
}

fn parts(values: impl Iterator<Item = f64> + Clone) -> impl Iterator<Item = f64> {
    let most = values.clone().fold(0.0, f64::max);
    values.map(move |value| if most > 0.0 { value / most } else { 0.0 })
}

fn tools(figures: &Figures) -> Rows {
    let lengths = parts(figures.tools.iter().map(|tool| tool.calls as f64));
    let entry = |(tool, part): (&crate::protocol::ToolUse, f64)| Entry {
        name: tool.name.clone(),
        part,
        cells: [
            count(tool.calls),
            if tool.failed > 0 { count(tool.failed) } else { "–".into() },
            percent(tool.failed, tool.calls),
        ],
        bad: (tool.failed > 0).then_some(1),
    };
    Rows { head: ["tool", "calls", "failed", "of all"], rows: figures.tools.iter().zip(lengths).map(entry).collect() }
}

fn durations(figures: &Figures) -> Rows {
    let mut tools: Vec<_> = figures.tools.iter().collect();
    tools.sort_by_key(|tool| std::cmp::Reverse(tool.total));
    let lengths = parts(tools.iter().map(|tool| tool.total as f64));
    let entry = |(tool, part): (&&crate::protocol::ToolUse, f64)| Entry {
        name: tool.name.clone(),
        part,
        cells: [elapsed(tool.median), elapsed(tool.p95), elapsed(tool.total)],
        bad: None,
    };
    Rows { head: ["tool", "median", "p95", "all"], rows: tools.iter().zip(lengths).map(entry).collect() }
}

fn models(figures: &Figures) -> Rows {
    // Without any price the bars are of tokens.
    let is_priced = figures.models.iter().any(|(_, spent)| spent.cost > 0.0);
    let lengths =
        parts(figures.models.iter().map(|(_, spent)| if is_priced { spent.cost } else { spent.tokens() as f64 }));
    let entry = |((name, spent), part): (&(String, Spending), f64)| Entry {
        name: if name.is_empty() { "unknown model".to_owned() } else { name.clone() },
        part,
        cells: [spent.price(), amount(spent.input), amount(spent.output)],
        bad: None,
    };
    Rows { head: ["model", "cost", "in", "out"], rows: figures.models.iter().zip(lengths).map(entry).collect() }
}

fn projects(figures: &Figures) -> Rows {
    let lengths = parts(figures.projects.iter().map(|project| project.sessions as f64));
    let entry = |(project, part): (&crate::protocol::Project, f64)| Entry {
        name: if project.folder.is_empty() { "no folder".to_owned() } else { project.folder.clone() },
        part,
        cells: [
            count(project.sessions),
            amount(project.tokens),
            project.cost.map_or_else(|| "$?".to_owned(), format::dollars),
        ],
        bad: None,
    };
    let rows = figures.projects.iter().zip(lengths).map(entry).collect();
    Rows { head: ["project", "sessions", "tokens", "cost"], rows }
}

/// Draws a list and returns the first row that shows.
fn list(list: &Rows, scroll: usize, paint: &mut Paint<'_>, body: Rect) -> usize {
    if list.rows.is_empty() {
        paint_text(paint, body, NOTHING);
        return 0;
    }
    let cell = |at: usize| {
        let widest = list.rows.iter().map(|row| width(&row.cells[at])).max().unwrap_or(0);
        widest.max(width(list.head[at + 1])) as u16
    };
    let cells = [cell(0), cell(1), cell(2)];
    let right: u16 = cells.iter().map(|cell| cell + 2).sum();
    let free = body.width.saturating_sub(right);
    let longest = list.rows.iter().map(|row| width(&row.name)).max().unwrap_or(0) as u16;
    // Where there is little room, the name counts for more than its bar.
    let name = longest.clamp(5, 40).min(if free < 30 { free } else { free * 3 / 5 });
    let bar = free.saturating_sub(name + 2).min(50);
    let dim = paint.role(Role::Dim);
    let ends = |x: u16, at: usize| x + cells[..=at].iter().map(|cell| cell + 2).sum::<u16>();
    let start = body.x + name + if bar > 3 { bar + 2 } else { 0 };
    paint.fit(body.x, body.y, name, list.head[0], dim);
    for at in 0..3 {
        paint.right(ends(start, at), body.y, list.head[at + 1], dim);
    }
    let window = usize::from(body.height.saturating_sub(1)).max(1);
    let first = scroll.min(list.rows.len().saturating_sub(window));
    for (index, entry) in list.rows.iter().skip(first).take(window).enumerate() {
        let at = row(body, index as u16 + 1);
        if at.is_empty() {
            break;
        }
        let shown = truncate_middle(&entry.name, usize::from(name));
        paint.fit(at.x, at.y, name, &shown, paint.role(Role::Text));
        if bar > 3 {
            draw_bar(entry.part, paint, Rect { x: at.x + name + 2, width: bar, ..at });
        }
        for (column, text) in entry.cells.iter().enumerate() {
            let role = if entry.bad == Some(column) { Role::Bad } else { Role::Text };
            paint.right(ends(start, column), at.y, text, paint.role(role));
        }
    }
    first
}

/// A bar of this part of the place.
fn draw_bar(part: f64, paint: &mut Paint<'_>, at: Rect) {
    let eighths = (part * f64::from(at.width) * 8.0).ceil() as u16;
    let (full, rest) = (eighths / 8, eighths % 8);
    let style = paint.slot(Slot::Meter);
    paint.repeat(Rect { width: full, ..at }, "█", style);
    if rest > 0 {
        paint.put(at.x + full, at.y, 1, RIGHT[usize::from(rest) - 1], style);
    }
}
