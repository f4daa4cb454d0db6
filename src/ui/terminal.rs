//! The terminal pane: a line of tabs over the screen of one process.

use super::paint::{Paint, cells, inset, row};
use super::{hints, live, to_area};
use crate::app::Model;
use crate::app::model::Pane;
use crate::app::model::layout::{Area, Hit, Layout};
use crate::app::model::types::{ProcessInfo, ProcessState};
use crate::config::theme::Slot;
use crate::text::Role;
use crate::text::format;
use crate::text::width::{truncate_end, width};
use ratatui::layout::Rect;

/// Draws the pane and returns the program's cursor when its keys go there.
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
    for (index, line) in screen.rows.iter().take(usize::from(body.height)).enumerate() {
        paint.line(row(body, index as u16), line);
    }
    if pane.scroll > 0 {
        let text = format!(" ↑ {} rows ", format::count(pane.scroll as u64));
        let style = paint.slot(Slot::Overlay).patch(paint.role(Role::Accent));
        paint.right(body.right(), body.bottom().saturating_sub(1), &text, style);
    }
    let (x, y) = screen.cursor.filter(|_| focused && pane.scroll == 0)?;
    (x < body.width && y < body.height).then_some((body.x + x, body.y + y))
}

/// `Terminal  1 agent ▏2 dev server ● ───`, the line between the panes.
fn tabs(model: &Model, paint: &mut Paint<'_>, area: Rect, focused: bool, layout: &mut Layout) {
    let line = paint.slot(if focused { Slot::BorderFocused } else { Slot::Border });
    paint.repeat(inset(area, 0, 0), "─", line);
    let title = paint.slot(if focused { Slot::TitleFocused } else { Slot::Title });
    let mut x = paint.put(area.x + 1, area.y, area.width.saturating_sub(2), " Terminal ", title);
    let mut end = area.right().saturating_sub(2);
    if model.processes.pane.taken_over {
        let badge = format!(" TAKEN OVER · {} hands back ", hints::key_of(model, "take-over"));
        if x + cells(width(&badge)) < end {
            end = paint.right(end, area.y, &badge, paint.slot(Slot::BadgeCareful)).saturating_sub(1);
        }
    }
    let shown = model.processes.pane.shown.as_ref();
    for (index, process) in model.processes.rows.iter().enumerate() {
        let (mark, role) = state(model, process);
        let room = if Some(&process.id) == shown { 28 } else { 16 };
        let name: String = process.command.split_ascii_whitespace().collect::<Vec<_>>().join(" ");
        let label = format!(" {} {} ", index + 1, truncate_end(&name, room));
        let wanted = cells(width(&label) + width(&mark) + 2);
        if x + wanted >= end {
            paint.put(x, area.y, end.saturating_sub(x), " … ", paint.role(Role::Dim));
            break;
        }
        let from = x;
        let current = Some(&process.id) == shown;
        let style = paint.role(if current { Role::Strong } else { Role::Dim });
        x = paint.put(x, area.y, end - x, &label, style);
        let style = paint.role(role);
        x = paint.put(x, area.y, end - x, &format!("{mark} "), style);
        if current {
            paint.tone(Rect { x: from, width: x - from, ..area }, Slot::Selection);
        }
        let hit = Area { x: from, y: area.y, width: x - from, height: 1 };
        layout.targets.push((hit, Hit::ShowProcess(process.id.clone())));
    }
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
