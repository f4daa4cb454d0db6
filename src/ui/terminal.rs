//! The terminal pane: a line of tabs over the screen of one process.

use super::paint::{Paint, cells, inset, row};
use super::{flat, hints, live, to_area};
use crate::app::model::layout::{Area, Border, Hit, Layout};
use crate::app::model::selection::Surface;
use crate::app::model::types::{ProcessInfo, ProcessState};
use crate::app::model::{Pane, Pressed};
use crate::app::{Model, editor};
use crate::config::theme::Slot;
use crate::text::Role;
use crate::text::format;
use crate::text::width::{truncate_end, width};
use ratatui::layout::Rect;

/// Draws the pane and returns the caret of copy mode, or the program's cursor when its keys go there.
pub fn draw(model: &Model, paint: &mut Paint<'_>, area: Rect, layout: &mut Layout) -> Option<(u16, u16)> {
    layout.panes.push((Pane::Terminal, to_area(area)));
    let pane = &model.processes.pane;
    let focused = model.focus == Pane::Terminal;
    let body = Rect { y: area.y + 1, height: area.height.saturating_sub(1), ..inset(area, 2, 2) };
    layout.terminal = Some((body.width, body.height));
    tabs(model, paint, row(area, 0), focused, layout);
    if pane.shown.is_none() {
        paint.fit(body.x, body.y, body.width, "No command runs here yet.", paint.role(Role::Dim));
        return None;
    }
    let screen = pane.screen.as_ref()?;
    let rows = screen.rows.iter().zip(screen.places()).take(usize::from(body.height));
    for (index, (line, place)) in rows.enumerate() {
        let at = row(body, index as u16);
        paint.line(at, line);
        flat::put(layout, Surface::Terminal, at, place, line.spans.is_empty());
    }
    let kept = flat::selection(model, Surface::Terminal).map(|selection| &selection.kept);
    let caret = kept.and_then(|rows| flat::finish(model, paint, Surface::Terminal, rows, layout));
    if pane.scroll > 0 {
        let text = format!(" ↑ {} ", format::plural(pane.scroll as u64, "line", "lines"));
        let style = paint.slot(Slot::Overlay).patch(paint.role(Role::Accent));
        paint.right(body.right(), body.bottom().saturating_sub(1), &text, style);
    }
    if caret.is_some() {
        return caret;
    }
    let (x, y) = screen.cursor.filter(|_| focused && pane.scroll == 0)?;
    (x < body.width && y < body.height).then_some((body.x + x, body.y + y))
}

/// A tab: its number and name, and the state of its process.
struct Tab<'a> {
    process: &'a ProcessInfo,
    label: String,
    mark: String,
    role: Role,
}

impl Tab<'_> {
    fn width(&self) -> u16 {
        cells(width(&self.label) + width(&self.mark) + 1)
    }
}

/// `Terminal  1 agent  2 dev server ●  ───`, the line between the panes. The tab that is shown is always on it.
fn tabs(model: &Model, paint: &mut Paint<'_>, area: Rect, focused: bool, layout: &mut Layout) {
    layout.targets.push((to_area(area), Hit::Border(Border::Terminal)));
    let moves = model.pressed == Some(Pressed::Border(Border::Terminal));
    let line = paint.slot(if focused || moves { Slot::BorderFocused } else { Slot::Border });
    paint.repeat(inset(area, 0, 0), "─", line);
    let title = paint.slot(if focused { Slot::TitleFocused } else { Slot::Title });
    let mut x = area.x + 1;
    let mut end = area.right().saturating_sub(2);
    // On a small screen the tabs need the room of the word.
    if area.width >= 50 {
        x = paint.put(x, area.y, end.saturating_sub(x), " Terminal ", title);
    }
    if model.processes.pane.taken_over {
        let key = hints::key_of(model, "take-over");
        let badge =
            if area.width >= 80 { format!(" TAKEN OVER · {key} hands back ") } else { format!(" {key} hands back ") };
        end = paint.right(end, area.y, &badge, paint.slot(Slot::BadgeCareful)).saturating_sub(1);
    }
    let shown = model.processes.pane.shown.as_ref();
    let room = end.saturating_sub(x);
    let tabs: Vec<Tab<'_>> = model
        .processes
        .rows
        .iter()
        .enumerate()
        .map(|(index, process)| tab(model, index, process, room, Some(&process.id) == shown))
        .collect();
    let current = tabs.iter().position(|tab| Some(&tab.process.id) == shown).unwrap_or(0);
    let (from, to) = window(&tabs, current, room);
    let dim = paint.role(Role::Dim);
    if from > 0 {
        x = paint.put(x, area.y, end.saturating_sub(x), &format!("‹{from} "), dim);
    }
    for (index, tab) in tabs.iter().enumerate().take(to).skip(from) {
        let start = x;
        let style = paint.role(if index == current { Role::Strong } else { Role::Dim });
        x = paint.put(x, area.y, end.saturating_sub(x), &tab.label, style);
        let style = paint.role(tab.role);
        x = paint.put(x, area.y, end.saturating_sub(x), &format!("{} ", tab.mark), style);
        if index == current {
            paint.tone(Rect { x: start, width: x - start, ..area }, Slot::Selection);
        }
        let hit = Area { x: start, y: area.y, width: x - start, height: 1 };
        layout.targets.push((hit, Hit::ShowProcess(tab.process.id.clone())));
    }
    if to < tabs.len() {
        paint.put(x, area.y, end.saturating_sub(x), &format!(" {}› ", tabs.len() - to), dim);
    }
}

fn tab<'a>(model: &Model, index: usize, process: &'a ProcessInfo, room: u16, current: bool) -> Tab<'a> {
    let (mark, role) = state(model, process);
    let name: String = if editor::is(model, &process.id) {
        "prompt".to_owned()
    } else {
        process.command.split_ascii_whitespace().collect::<Vec<_>>().join(" ")
    };
    // Number, mark and blanks around them, and the counts at both ends.
    let most = usize::from(room).saturating_sub(width(&mark) + 14).max(4);
    let name = truncate_end(&name, if current { 28 } else { 16 }.min(most));
    Tab { process, label: format!(" {} {name} ", index + 1), mark, role }
}

/// The tabs that fit around the one that is shown: the first and the one after the last.
fn window(tabs: &[Tab<'_>], current: usize, room: u16) -> (usize, usize) {
    /// Cells of a count of hidden tabs.
    const COUNT: u16 = 5;
    let fits = |from: usize, to: usize| {
        let counts = COUNT * (u16::from(from > 0) + u16::from(to < tabs.len()));
        tabs[from..to].iter().fold(counts, |sum, tab| sum.saturating_add(tab.width())) <= room
    };
    let (mut from, mut to) = (current.min(tabs.len()), (current + 1).min(tabs.len()));
    // Earlier ones first, so that the tabs stand still while they fit.
    while from > 0 && fits(from - 1, to) {
        from -= 1;
    }
    while to < tabs.len() && fits(from, to + 1) {
        to += 1;
    }
    (from, to)
}

fn state(model: &Model, process: &ProcessInfo) -> (String, Role) {
    match &process.state {
        ProcessState::Running if process.background => ("●".to_owned(), Role::Good),
        ProcessState::Running => (live::spinner(model.now).to_owned(), Role::Accent),
        ProcessState::NeedsInput => ("⌨".to_owned(), Role::Careful),
        ProcessState::Exited(exit) if exit.code == 0 => ("✓".to_owned(), Role::Dim),
        ProcessState::Exited(exit) => (format!("✗ {}", exit.code), Role::Bad),
    }
}
