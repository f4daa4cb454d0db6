//! What stands beside the conversation: plan, context, files, what runs, memory, skills. Empty sections fold away.

use super::layout::Mode;
use super::paint::{Paint, cells, inset};
use super::{chrome, flat, live, to_area};
use crate::app::Model;
use crate::app::lists::local_models;
use crate::app::model::layout::{Area, Border, Hit, Layout};
use crate::app::model::local::{DownloadState, ServedState};
use crate::app::model::selection::Surface;
use crate::app::model::transcript::{CellKind, ToolState};
use crate::app::model::types::{Origin, ProcessId, ProcessInfo, ProcessState, TodoStatus};
use crate::app::model::{Pane, Pressed};
use crate::config::theme::Slot;
use crate::protocol::{GoalState, OutsideFile};
use crate::text::format;
use crate::text::width::{truncate_end, truncate_middle, width};
use crate::text::wrap::{Wrap, wrap_into};
use crate::text::{Ground, Joint, Line, Role, Row, Span};
use ratatui::layout::Rect;

/// Entries of long lists.
const MAX_FILES: usize = 8;
const MAX_NOTES: usize = 3;
const MAX_SKILLS: usize = 4;

/// One row: text on the left, text on the right, what a click means.
#[derive(Default)]
struct Entry {
    left: Vec<Span>,
    right: Vec<Span>,
    process: Option<ProcessId>,
    /// Filled and all cells of a meter, instead of text.
    meter: Option<u64>,
    /// How it continues the row above.
    joint: Joint,
    /// Columns at the start that are a mark.
    lead: u16,
    /// What was cut to fit: copying the whole row gives it.
    source: Option<String>,
}

impl Entry {
    fn text(text: impl Into<String>, role: Role) -> Self {
        Self { left: vec![Span::new(text, role)], ..Self::default() }
    }

    /// The row as it can be copied.
    fn row(&self, room: u16) -> Row {
        let mut spans = self.left.clone();
        let used: usize = self.left.iter().chain(&self.right).map(|span| width(&span.text)).sum();
        if !self.right.is_empty() {
            spans.push(Span::new(" ".repeat(usize::from(room).saturating_sub(used)), Role::Text));
            spans.extend(self.right.iter().cloned());
        }
        let joint = if self.meter.is_some() { Joint::Ornament } else { self.joint };
        let line = Line { spans, ground: Ground::Base };
        Row { line, lead: self.lead, joint, raw: self.source.as_deref().map(Into::into), ..Row::default() }
    }
}

/// Whether no section has anything to show.
pub fn is_empty(model: &Model) -> bool {
    // Any width will do: it only cuts.
    sections(model, 20).iter().all(|(_, body)| body.is_empty())
}

/// Draws the sidebar on its own tone and returns the caret of copy mode.
pub fn draw(model: &Model, paint: &mut Paint<'_>, area: Rect, mode: Mode, layout: &mut Layout) -> Option<(u16, u16)> {
    if area.width < 8 {
        return None;
    }
    layout.panes.push((Pane::Sidebar, to_area(area)));
    if mode == Mode::Wide {
        paint.tone(area, Slot::Raised);
    } else {
        paint.clear(area, Slot::Overlay);
    }
    let focused = model.tab.focus == Pane::Sidebar;
    let room = inset(area, 2, 2);
    let mut entries: Vec<Entry> = Vec::new();
    for (title, body) in sections(model, usize::from(room.width)) {
        if body.is_empty() {
            continue;
        }
        entries.push(Entry::default());
        entries.push(Entry::text(title, Role::Strong));
        entries.extend(body);
    }
    let skip = usize::from(model.tab.sidebar.scroll).min(entries.len().saturating_sub(usize::from(room.height)));
    layout.targets.push((to_area(Rect { width: 1, ..area }), Hit::Border(Border::Sidebar)));
    if focused || model.pressed == Some(Pressed::Border(Border::Sidebar)) {
        let bar = paint.slot(Slot::BorderFocused);
        paint.repeat(Rect { width: 1, ..area }, "▎", bar);
    }
    for (index, entry) in entries.iter().skip(skip).take(usize::from(room.height)).enumerate() {
        let y = room.y + index as u16;
        let place = Rect { y, height: 1, ..room };
        flat::put(layout, Surface::Sidebar, place, flat::nth(skip + index), entry.left.is_empty());
        if let Some(percent) = entry.meter {
            meter(paint, Rect { y, height: 1, ..room }, percent);
            continue;
        }
        let right = cells(entry.right.iter().map(|span| width(&span.text)).sum::<usize>());
        paint.spans(room.x, y, room.width.saturating_sub(right), &entry.left);
        paint.spans(room.right().saturating_sub(right), y, right, &entry.right);
        if let Some(process) = &entry.process {
            let hit = Area { x: room.x, y, width: room.width, height: 1 };
            layout.targets.push((hit, Hit::ShowProcess(process.clone())));
        }
    }
    flat::selection(model, Surface::Sidebar)?;
    let rows = flat::numbered(entries.iter().map(|entry| entry.row(room.width)));
    flat::finish(model, paint, Surface::Sidebar, &rows, layout)
}

fn sections(model: &Model, room: usize) -> Vec<(&'static str, Vec<Entry>)> {
    vec![
        ("Goal", goal(model, room)),
        ("Plan", plan(model, room)),
        ("Context", context(model)),
        ("Models", models(model, room)),
        ("Running", running(model, room)),
        ("Files", files(model, room)),
        ("Memory", memory(model, room)),
        ("Skills", skills(model, room)),
        ("Tools", tools(model)),
        ("Problems", problems(model, room)),
    ]
}

fn goal(model: &Model, room: usize) -> Vec<Entry> {
    let Some(goal) = &model.tab.sidebar.goal else { return Vec::new() };
    let (mark, role) = match goal.state {
        GoalState::Working => ("▸ ", Role::Accent),
        GoalState::Paused => ("○ ", Role::Careful),
        GoalState::Met => ("✓ ", Role::Good),
        GoalState::Stuck => ("✗ ", Role::Bad),
    };
    let mut out = wrapped(mark, role, &goal.text, Role::Text, room);
    let state = format!("{} · {}", goal.state.word(), format::plural(u64::from(goal.rounds), "turn", "turns"));
    out.extend(wrapped("  ", Role::Dim, &state, role, room));
    if !goal.why.is_empty() {
        out.extend(wrapped("  ", Role::Dim, &goal.why, Role::Dim, room));
    }
    out
}

/// A text behind a mark, in two rows at most.
fn wrapped(mark: &str, mark_role: Role, text: &str, role: Role, room: usize) -> Vec<Entry> {
    let mut rows: Vec<Row> = Vec::new();
    let (first, rest) = ([Span::new(mark.to_owned(), mark_role)], [Span::new("  ", Role::Text)]);
    let how = Wrap { width: room, first: &first, rest: &rest, verbatim: false, ..Wrap::default() };
    wrap_into(&mut rows, &[Span::new(text.to_owned(), role)], Ground::Base, &how);
    let entry = |row: Row| Entry { left: row.line.spans, joint: row.joint, lead: row.lead.max(2), ..Entry::default() };
    rows.into_iter().take(2).map(entry).collect()
}

fn plan(model: &Model, room: usize) -> Vec<Entry> {
    let mut out = Vec::new();
    for todo in &model.tab.sidebar.plan {
        let (mark, mark_role, role) = match todo.status {
            TodoStatus::Completed => ("✓ ", Role::Good, Role::Dim),
            TodoStatus::InProgress => ("▸ ", Role::Accent, Role::Strong),
            TodoStatus::Pending => ("○ ", Role::Dim, Role::Text),
            TodoStatus::Cancelled => ("⊘ ", Role::Dim, Role::Strike),
        };
        // Two rows tell enough of one step.
        out.extend(wrapped(mark, mark_role, &todo.content, role, room));
    }
    out
}

fn context(model: &Model) -> Vec<Entry> {
    let meter = &model.tab.meter;
    let strange = model.tab.session.as_ref().map_or(&[][..], |session| &session.untrusted);
    let strange = strange.iter().map(|origin| Entry::text(format!("text from {origin}"), Role::Careful));
    if meter.context == 0 && meter.window.is_none() {
        return strange.collect();
    }
    let (fill, percent) = chrome::context(model);
    let window = meter.window.map_or("?".to_owned(), format::context);
    let used = format!("{} / {window}", format::tokens(meter.context as i64));
    let mut out = vec![Entry {
        left: vec![Span::new(used, Role::Text)],
        right: vec![Span::new(if percent.is_some() { fill } else { String::new() }, Role::Text)],
        ..Entry::default()
    }];
    if let Some(percent) = percent {
        out.push(Entry { meter: Some(percent), ..Entry::default() });
    }
    let total = &meter.total;
    if total.input > 0 {
        let cached = format!("cached {} %", total.cached * 100 / total.input.max(1));
        let cost = total.cost.map_or("no price".to_owned(), format::dollars);
        out.push(Entry {
            left: vec![Span::new(cached, Role::Dim)],
            right: vec![Span::new(cost, Role::Dim)],
            ..Entry::default()
        });
    }
    let children = &meter.children;
    if children.input + children.output > 0 {
        let tokens = i64::try_from(children.input + children.output).unwrap_or(i64::MAX);
        out.push(Entry {
            left: vec![Span::new(format!("children {}", format::tokens(tokens)), Role::Dim)],
            right: vec![Span::new(children.cost.map_or(String::new(), format::dollars), Role::Dim)],
            ..Entry::default()
        });
    }
    out.extend(strange);
    out
}

/// Models of this computer: the one on its way, and those that are loaded.
fn models(model: &Model, room: usize) -> Vec<Entry> {
    let mut out = Vec::new();
    if let Some(download) = model.local.download.as_ref().filter(|_| model.first_run.is_none()) {
        let (mark, role) = match download.state {
            DownloadState::Running => ("↓", Role::Accent),
            DownloadState::Paused => ("‖", Role::Careful),
            DownloadState::Failed(_) => ("✗", Role::Bad),
        };
        out.push(line(mark, role, &download.title, local_models::short(download), room, None));
        out.push(Entry { meter: Some(local_models::filled(download)), ..Entry::default() });
    }
    for served in &model.local.served {
        let memory = || served.memory.map_or_else(|| "on".to_owned(), format::bytes);
        let (mark, role, end) = match served.state {
            ServedState::Loading => ("◌", Role::Accent, "loading".to_owned()),
            ServedState::On => ("●", Role::Good, memory()),
            ServedState::Asleep => ("○", Role::Dim, "asleep".to_owned()),
        };
        out.push(line(mark, role, &served.name, end, room, None));
    }
    out
}

/// Ten cells or more, filled by percent; the number stands beside it.
pub fn meter(paint: &mut Paint<'_>, place: Rect, percent: u64) {
    let filled = (u64::from(place.width) * percent.min(100)).div_ceil(100) as u16;
    let (full, empty) = (paint.slot(Slot::Meter), paint.slot(Slot::MeterEmpty));
    paint.repeat(Rect { width: filled, ..place }, "━", full);
    paint.repeat(Rect { x: place.x + filled, width: place.width - filled, ..place }, "─", empty);
}

fn running(model: &Model, room: usize) -> Vec<Entry> {
    let mut out = Vec::new();
    let mut seen: Vec<&ProcessId> = Vec::new();
    let cells =
        model.tab.transcript.cells.iter().rev().take_while(|cell| !matches!(cell.kind, CellKind::TurnEnd { .. }));
    for cell in cells {
        let CellKind::Tool(tool) = &cell.kind else { continue };
        if tool.state != ToolState::Running {
            continue;
        }
        seen.extend(tool.process.as_ref());
        let clock = format::clock(live::since(model.now, tool.started_at));
        let waits = model
            .tab
            .processes
            .rows
            .iter()
            .any(|row| Some(&row.id) == tool.process.as_ref() && row.state == ProcessState::NeedsInput);
        let (mark, role) = if waits { ("⌨", Role::Careful) } else { (live::spinner(model.now), Role::Accent) };
        let text = if tool.target.is_empty() { &tool.name } else { &tool.target };
        let end = if waits { "needs input".to_owned() } else { clock };
        out.push(line(mark, role, text, end, room, tool.process.clone()));
    }
    out.reverse();
    // A command of the turn that ended says so in its own line of the conversation.
    let over = |row: &&ProcessInfo| !row.background && matches!(row.state, ProcessState::Exited(_));
    for row in model.tab.processes.rows.iter().filter(|row| !seen.contains(&&row.id) && !over(row)) {
        let port = row.port.map(|port| format!(":{port} ")).unwrap_or_default();
        let age = format::age(model.now - row.started_at);
        let (mark, role, end) = match &row.state {
            _ if row.vitals.ending.is_some() => {
                ("●", Role::Careful, super::terminal::ending(model, row).unwrap_or_default())
            }
            ProcessState::Running if row.vitals.origin == Origin::Earlier => {
                ("○", Role::Careful, format!("{port}detached"))
            }
            ProcessState::Running if row.vitals.origin == Origin::Elsewhere => ("◌", Role::Dim, "elsewhere".to_owned()),
            ProcessState::Running => ("●", Role::Good, format!("{port}{age}")),
            ProcessState::NeedsInput => ("⌨", Role::Careful, "needs input".to_owned()),
            ProcessState::Stopped => ("‖", Role::Careful, "stopped".to_owned()),
            ProcessState::Exited(exit) if exit.code == 0 => ("✓", Role::Dim, "done".to_owned()),
            ProcessState::Exited(exit) if exit.code < 0 => ("✗", Role::Dim, "ended".to_owned()),
            ProcessState::Exited(exit) => ("✗", Role::Bad, format!("exit {}", exit.code)),
        };
        out.push(line(mark, role, &row.command, end, room, Some(row.id.clone())));
    }
    out
}

fn line(mark: &str, role: Role, text: &str, end: String, room: usize, process: Option<ProcessId>) -> Entry {
    let shown: String = text.split_ascii_whitespace().collect::<Vec<_>>().join(" ");
    let shown = truncate_end(&shown, room.saturating_sub(width(&end) + 3));
    Entry {
        left: vec![Span::new(format!("{mark} "), role), Span::new(shown, Role::Text)],
        right: vec![Span::new(end, Role::Dim)],
        process,
        lead: 2,
        source: Some(text.to_owned()),
        ..Entry::default()
    }
}

fn files(model: &Model, room: usize) -> Vec<Entry> {
    let outside = &model.tab.sidebar.outside;
    let is_strange = |path: &str| outside.iter().any(|file| file.path == path);
    // One that others changed, too, has its row with them.
    let files: Vec<&(String, u32, u32)> = model.tab.sidebar.files.iter().filter(|file| !is_strange(&file.0)).collect();
    let skip = files.len().saturating_sub(MAX_FILES);
    let mut out = self::outside(model, room);
    let digits = |pick: fn(&(String, u32, u32)) -> u32| {
        files.iter().skip(skip).map(|file| pick(file).to_string().len()).max().unwrap_or(1)
    };
    let (plus, minus) = (digits(|file| file.1) + 1, digits(|file| file.2) + 2);
    out.extend(files.into_iter().skip(skip).map(|(path, added, removed)| {
        let right = vec![
            Span::new(format!("{:>plus$}", format!("+{added}")), if *added > 0 { Role::Good } else { Role::Dim }),
            Span::new(format!("{:>minus$}", format!("−{removed}")), if *removed > 0 { Role::Bad } else { Role::Dim }),
        ];
        let used: usize = right.iter().map(|span| width(&span.text)).sum();
        let shown = truncate_middle(path, room.saturating_sub(used + 1));
        Entry { left: vec![Span::new(shown, Role::Text)], right, source: Some(path.clone()), ..Entry::default() }
    }));
    if skip > 0 {
        out.push(Entry::text(format!("… {skip} more"), Role::Dim));
    }
    out
}

/// Files that others changed, newest first: who did it where that is known, else what became of them.
fn outside(model: &Model, room: usize) -> Vec<Entry> {
    let files = &model.tab.sidebar.outside;
    let row = |file: &OutsideFile| {
        let word = || file.what.split(' ').next().unwrap_or_default().to_owned();
        let end = file.by.as_ref().map_or_else(word, |by| truncate_end(&format!("by {by}"), room / 2));
        let ours = model.tab.sidebar.files.iter().find(|(path, ..)| *path == file.path);
        let end = ours.map_or(end.clone(), |(_, added, removed)| format!("{end} +{added} −{removed}"));
        line("≠", Role::Careful, &file.path, end, room, None)
    };
    let mut out: Vec<Entry> = files.iter().rev().take(MAX_FILES).map(row).collect();
    if files.len() > MAX_FILES {
        out.push(Entry::text(format!("… {} more changed by others", files.len() - MAX_FILES), Role::Dim));
    }
    out
}

fn memory(model: &Model, room: usize) -> Vec<Entry> {
    let knowledge = &model.tab.sidebar.knowledge;
    let mut fill = Vec::new();
    for (name, part) in [("notes", &knowledge.notes), ("you", &knowledge.profile)] {
        if let Some((percent, _)) = part {
            fill.push(format!("{name} {percent} %"));
        }
    }
    if fill.is_empty() {
        return Vec::new();
    }
    let mut out = vec![Entry::text(fill.join(" · "), Role::Text)];
    for (_, entries) in [&knowledge.notes, &knowledge.profile].into_iter().flatten() {
        for entry in entries.iter().take(MAX_NOTES) {
            let first = entry.lines().next().unwrap_or_default();
            let shown = truncate_end(&format!("+ {first}"), room);
            out.push(Entry { lead: 2, source: Some(entry.clone()), ..Entry::text(shown, Role::Dim) });
        }
    }
    out
}

fn skills(model: &Model, room: usize) -> Vec<Entry> {
    let skills = &model.tab.sidebar.knowledge.skills;
    if skills.is_empty() {
        return Vec::new();
    }
    // One that is left over takes as much room as saying so.
    let shown = if skills.len() <= MAX_SKILLS + 1 { skills.len() } else { MAX_SKILLS };
    let mut out: Vec<Entry> =
        skills.iter().take(shown).map(|name| Entry::text(truncate_end(name, room), Role::Dim)).collect();
    if skills.len() > shown {
        out.push(Entry::text(format!("+{} more", skills.len() - shown), Role::Dim));
    }
    out
}

fn tools(model: &Model) -> Vec<Entry> {
    let words = chrome::tools(&model.tab.sidebar.knowledge);
    words.map(|spans| Entry { left: spans, ..Entry::default() }).into_iter().collect()
}

fn problems(model: &Model, room: usize) -> Vec<Entry> {
    let knowledge = &model.tab.sidebar.knowledge;
    let files = knowledge.context_files.iter().filter_map(|(name, problem)| Some((name, problem.as_ref()?)));
    let tools = knowledge.unavailable.iter().map(|(name, reason)| (name, reason));
    files
        .chain(tools)
        .take(4)
        .map(|(name, reason)| Entry::text(truncate_end(&format!("⚠ {name}: {reason}"), room), Role::Careful))
        .collect()
}
