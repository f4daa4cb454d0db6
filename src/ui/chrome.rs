//! The rows around the panes: title, strip, queue, status, and the card for a screen that is too small.

use super::layout::SMALLEST;
use super::paint::{Paint, cells, inset, row};
use super::{hints, to_area};
use crate::app::Model;
use crate::app::input::vi;
use crate::app::lists::local_models;
use crate::app::model::approvals::Entry;
use crate::app::model::layout::Layout;
use crate::app::model::sidebar::{Git, Knowledge};
use crate::app::model::types::{Effort, Origin, ProcessState, TodoStatus};
use crate::app::model::{Pane, TurnStatus};
use crate::app::session::goal;
use crate::config::SandboxMode;
use crate::config::theme::Slot;
use crate::policy::Mode as Approvals;
use crate::text::format;
use crate::text::width::{truncate_middle, width};
use crate::text::{Role, Span};
use ratatui::layout::Rect;

/// Columns from which on the clocks of the status bar are named.
const ROOMY: u16 = 120;
/// Under this width a badge is a word, and a turn has one clock.
const TIGHT: u16 = 60;

/// The word for an effort.
pub fn effort(effort: Effort) -> &'static str {
    match effort {
        Effort::None => "no thinking",
        Effort::Minimal => "minimal",
        Effort::Low => "low",
        Effort::Medium => "medium",
        Effort::High => "high",
        Effort::XHigh => "xhigh",
    }
}

/// `(main ✱3)`.
pub fn branch(git: &Git) -> String {
    if git.dirty == 0 { format!("({})", git.branch) } else { format!("({} ✱{})", git.branch, git.dirty) }
}

/// `8 ready · 1 unavailable`; nothing before they are known.
pub fn tools(knowledge: &Knowledge) -> Option<Vec<Span>> {
    let missing = knowledge.unavailable.len();
    if knowledge.tools + missing == 0 {
        return None;
    }
    let mut out = vec![Span::new(format!("{} ready", knowledge.tools), Role::Text)];
    if missing > 0 {
        out.push(Span::new(format!(" · {missing} unavailable"), Role::Careful));
    }
    Some(out)
}

/// Name, profile, title, model and folder.
pub fn title(model: &Model, paint: &mut Paint<'_>, area: Rect, layout: &mut Layout) {
    if area.is_empty() {
        return;
    }
    let glyph = if model.look.skin.glyph.is_empty() { "☤" } else { &model.look.skin.glyph };
    let mut x = paint.put(area.x + 2, area.y, 2, glyph, paint.role(Role::Accent));
    let several = !model.parked.is_empty();
    let short = several || area.width < TIGHT;
    if !short || model.profile.is_none() && !several {
        x = paint.put(x + 1, area.y, 8, "Hermes", paint.slot(Slot::Title));
    }
    if let Some(profile) = &model.profile {
        // Whose keys and memory these are matters before anything else of the row.
        x = if short { x + 1 } else { paint.put(x, area.y, 3, " · ", paint.role(Role::Dim)) };
        x = paint.fit(x, area.y, (area.width / 4).min(32), profile, paint.role(Role::Accent));
    }
    if several {
        // Half of the row at least: which session it is matters more than its folder.
        let room = area.width.saturating_sub(x - area.x + 2);
        let room = if area.width >= 100 { room * 2 / 3 } else { room };
        x = super::tabs::draw(model, paint, x, area.y, room, layout);
    }
    let mut end = area.right().saturating_sub(2);
    if several && end < x + 24 {
        return;
    }
    if let Some(session) = &model.tab.session {
        let git = model.tab.sidebar.git.as_ref().map(|git| format!(" {}", branch(git))).unwrap_or_default();
        let third = if several { end.saturating_sub(x + 4) } else { area.width / 3 };
        let room = usize::from(third).saturating_sub(width(&git));
        let folder = format!("{}{git}", truncate_middle(&model.shown_folder(&session.cwd), room));
        end = paint.right(end, area.y, &folder, paint.slot(Slot::StatusDim)).saturating_sub(3);
        let name = session.model.rsplit(['/', ':']).next().unwrap_or_default();
        if !name.is_empty() && end > x + 20 {
            let level = format!(" · {}", effort(session.effort));
            end = paint.right(end, area.y, &level, paint.slot(Slot::StatusDim));
            let name = truncate_middle(name, usize::from(end.saturating_sub(x + 4)).min(40));
            end = paint.right(end, area.y, &name, paint.role(Role::Text)).saturating_sub(3);
        }
        if let Some(text) = session.title.as_deref().filter(|_| !several) {
            paint.fit(x + 2, area.y, end.saturating_sub(x + 2), text, paint.role(Role::Text));
        }
    }
}

/// The sidebar in one line, for screens without room for it.
pub fn strip(model: &Model, paint: &mut Paint<'_>, area: Rect) {
    if area.is_empty() {
        return;
    }
    let mut parts: Vec<Span> = Vec::new();
    let plan = &model.tab.sidebar.plan;
    if !plan.is_empty() {
        let done = plan.iter().filter(|todo| todo.status == TodoStatus::Completed).count();
        let now = plan.iter().find(|todo| todo.status == TodoStatus::InProgress).map_or("plan", |todo| &todo.content);
        let now = crate::text::width::truncate_end(now, usize::from(area.width / 3));
        parts.push(Span::new(format!("▸ {now} {done}/{}", plan.len()), Role::Text));
    }
    if model.tab.meter.context > 0 {
        parts.push(Span::new(format!("context {}", context(model).0), Role::Dim));
    }
    let running = {
        let here = model.tab.processes.rows.iter().filter(|row| row.vitals.origin != Origin::Elsewhere);
        here.filter(|row| row.state == ProcessState::Running).count()
    };
    let asking = model.tab.processes.rows.iter().filter(|row| row.state == ProcessState::NeedsInput).count();
    if running > 0 {
        parts.push(Span::new(format!("● {running}"), Role::Good));
    }
    if asking > 0 {
        parts.push(Span::new(format!("⌨ {asking}"), Role::Careful));
    }
    if !model.tab.sidebar.files.is_empty() {
        parts.push(Span::new(format!("M {}", model.tab.sidebar.files.len()), Role::Dim));
    }
    if let Some((percent, _)) = &model.tab.sidebar.knowledge.notes {
        parts.push(Span::new(format!("memory {percent} %"), Role::Dim));
    }
    let mut spans = Vec::with_capacity(parts.len() * 2);
    for part in parts {
        if !spans.is_empty() {
            spans.push(Span::new(" · ", Role::Dim));
        }
        spans.push(part);
    }
    paint.spans(area.x + 4, area.y, area.width.saturating_sub(6), &spans);
}

/// Fill of the window in words, and in percent where the window is known.
pub fn context(model: &Model) -> (String, Option<u64>) {
    let meter = &model.tab.meter;
    match meter.window.filter(|window| *window > 0) {
        Some(window) => {
            let percent = (meter.context * 100 / window).min(999);
            (format!("{percent} %"), Some(percent))
        }
        None => (format!("{} / ?", format::tokens(meter.context as i64)), None),
    }
}

/// Prompts that wait.
pub fn queue(model: &Model, paint: &mut Paint<'_>, area: Rect, layout: &mut Layout) {
    if area.is_empty() {
        return;
    }
    layout.panes.push((Pane::Queue, to_area(area)));
    let focused = model.tab.focus == Pane::Queue;
    let window = usize::from(area.height);
    let chosen = model.tab.queue_selected.min(model.tab.queue.len().saturating_sub(1));
    let skip = if focused { (chosen + 1).saturating_sub(window) } else { 0 };
    for (index, prompt) in model.tab.queue.texts().skip(skip).take(window).enumerate() {
        let place = row(area, index as u16);
        let label = if index == 0 { format!("queued {} ", model.tab.queue.len()) } else { String::new() };
        let x = place.x + 2;
        paint.put(x, place.y, 11, &label, paint.role(Role::Dim));
        let selected = focused && skip + index == chosen;
        if selected {
            paint.tone(inset(place, 11, 2), Slot::Selection);
            paint.put(x + 9, place.y, 2, "▸", paint.slot(Slot::Prompt));
        }
        let mut end = place.right().saturating_sub(3);
        if index == 0 {
            let keys = if focused { String::new() } else { queue_hint(model, area.width) };
            end = paint.right(end, place.y, &keys, paint.role(Role::Dim)).saturating_sub(2);
        }
        let line: String = prompt.split_ascii_whitespace().collect::<Vec<_>>().join(" ");
        let role = if selected { Role::Strong } else { Role::Text };
        paint.fit(x + 11, place.y, end.saturating_sub(x + 11), &line, paint.role(role));
    }
}

/// From this width on the strip has room for more than the word that counts.
const HINTS: u16 = 80;

/// What the first row of the strip says of the keys: that nothing goes out by itself, where prompts came back.
fn queue_hint(model: &Model, width: u16) -> String {
    let strip = hints::key_of(model, "queue-strip");
    let no_model = model.tab.session.as_ref().is_some_and(|session| session.model.is_empty());
    if no_model && model.tab.queue.held == 0 && width >= HINTS {
        return format!("sent when the model is here · {} takes it back", hints::key_of(model, "stop-turn"));
    }
    if model.tab.queue.held == 0 {
        return strip;
    }
    let send = hints::key_of(model, "send");
    let what = if matches!(model.tab.turn, TurnStatus::Running(_)) { "steers" } else { "sends" };
    if width < HINTS { format!("held · {send} {what}") } else { format!("held, not sent · {send} {what} · {strip}") }
}

/// Mode, backend, times, what runs, and keys that work here.
pub fn status(model: &Model, paint: &mut Paint<'_>, area: Rect) {
    if area.is_empty() {
        return;
    }
    paint.tone(area, Slot::StatusBar);
    let end = area.right().saturating_sub(2);
    let hints = hints::footer(model);
    // What is told leaves room for the first key: while a turn runs, the one that stops it.
    let running = matches!(model.tab.turn, TurnStatus::Running(_));
    let status_end = end.saturating_sub(hints.first().filter(|_| running).map_or(0, |hint| wide(hint) + 3));
    let short = area.width < TIGHT;
    let approvals = model.tab.session.as_ref().map_or(model.config.approvals.mode, |session| session.mode);
    let (word, badge) = match approvals {
        Approvals::Plan if short => (" plan ", Slot::BadgeGood),
        Approvals::Plan => (" plan: read-only ", Slot::BadgeGood),
        Approvals::Review => (" review ", Slot::BadgeGood),
        Approvals::Ask => (" ask ", Slot::BadgeGood),
        // Without a model nothing passes: the badge says so.
        Approvals::Auto if model.tab.session.as_ref().is_some_and(|session| session.auto_approver.is_none()) => {
            (if short { " auto: no model " } else { " auto: no model, everything asks " }, Slot::BadgeGood)
        }
        Approvals::Auto => (" auto ", Slot::BadgeCareful),
        Approvals::Yolo if short => (" yolo ", Slot::BadgeBad),
        Approvals::Yolo => (" yolo: almost nothing asks ", Slot::BadgeBad),
    };
    let mut x = paint.put(area.x + 1, area.y, status_end.saturating_sub(1), word, paint.slot(badge)).saturating_sub(1);
    if let Some((word, keys)) = vi::sign(model) {
        x = paint.put(x + 2, area.y, status_end.saturating_sub(x + 2), word, paint.slot(Slot::StatusStrong));
        if !keys.is_empty() {
            x = paint.put(x + 1, area.y, status_end.saturating_sub(x + 1), &keys, paint.role(Role::Accent));
        }
    }
    let dim = paint.slot(Slot::StatusDim);
    let strong = paint.slot(Slot::StatusStrong);
    let mut part = |paint: &mut Paint<'_>, text: &str, style| {
        if x + cells(width(text)) + 2 <= status_end {
            x = paint.put(x + 2, area.y, status_end.saturating_sub(x + 2), text, style);
        }
    };
    part(paint, place(model), dim);
    let sandbox = &model.config.sandbox;
    match sandbox.mode {
        SandboxMode::Off => {}
        SandboxMode::WorkspaceWrite => part(paint, "sandbox rw", paint.role(Role::Good)),
        SandboxMode::ReadOnly => part(paint, "sandbox ro", paint.role(Role::Good)),
    }
    if !sandbox.network {
        part(paint, "no net", paint.role(Role::Good));
    }
    if model.demo {
        part(paint, "demo", strong);
    }
    if let TurnStatus::Running(running) = &model.tab.turn {
        let step = format::clock(running.step_worked(model.now));
        let turn = format::clock(running.worked(model.now));
        let text = if running.step <= 1 || short {
            turn
        } else if area.width >= ROOMY {
            format!("step {step} · turn {turn}")
        } else {
            format!("{step} of {turn}")
        };
        part(paint, &text, strong);
    }
    let live = model.tab.processes.rows.iter().filter(|row| !matches!(row.state, ProcessState::Exited(_))).count();
    if live > 0 {
        part(paint, &format!("▶ {live}"), strong);
    }
    // The card of the first start says more.
    if let Some(download) = model.local.download.as_ref().filter(|_| model.first_run.is_none()) {
        part(paint, &format!("↓ {}", local_models::short(download)), strong);
    }
    let asked = model.tab.approvals.entries.len();
    if asked > 0 && model.tab.modals.is_empty() {
        let approve = model.tab.approvals.entries.iter().filter(|entry| matches!(entry, Entry::Approval(_))).count();
        let kind = match (approve, asked - approve) {
            (_, 0) => "to approve",
            (0, _) => "to answer",
            _ => "questions",
        };
        part(paint, &format!("⚠ {asked} {kind} ({})", hints::key_of(model, "inbox")), paint.role(Role::Careful));
    }
    if !model.tab.policy.changes.is_empty() {
        part(paint, "⚠ policy changed: /policy", paint.role(Role::Careful));
    }
    let goal = model.tab.sidebar.goal.as_ref();
    if let Some(sign) = goal.and_then(|goal| goal::sign(goal, &hints::key_of(model, "stop-turn"))) {
        part(paint, &sign, paint.role(Role::Accent));
    }
    if let Some(budget) = &model.tab.budget {
        let role = if budget.hard { Role::Bad } else { Role::Careful };
        part(paint, &format!("⚠ {}", budget.text), paint.role(role));
    }
    if !model.mouse_captured {
        part(paint, "mouse released", strong);
    }
    keys(hints, paint, Rect { x: x + 3, width: end.saturating_sub(x + 3), ..area });
}

/// Cells of a key and its word.
fn wide((key, word): &hints::Hint) -> u16 {
    cells(width(key) + 1 + width(word))
}

/// Keys that work here, at the right end; where not all fit, the most useful ones.
fn keys(mut shown: Vec<hints::Hint>, paint: &mut Paint<'_>, area: Rect) {
    /// Cells between two.
    const GAP: u16 = 2;
    let mut room = area.width + GAP;
    shown.retain(|hint| {
        let wanted = wide(hint) + GAP;
        let fits = wanted <= room;
        // What comes after one that does not fit is less useful: it takes no place of it.
        room = if fits { room - wanted } else { 0 };
        fits
    });
    let wanted = shown.iter().map(|hint| wide(hint) + GAP).sum::<u16>().saturating_sub(GAP);
    let mut x = area.right().saturating_sub(wanted);
    for (key, word) in &shown {
        let next = paint.put(x, area.y, area.right() - x, key, paint.slot(Slot::StatusStrong));
        x = paint.put(next + 1, area.y, area.right().saturating_sub(next + 1), word, paint.slot(Slot::StatusDim)) + GAP;
    }
}

/// Says that the screen is too small, on whatever there is.
pub fn too_small(model: &Model, paint: &mut Paint<'_>, area: Rect) {
    let waits = !model.tab.approvals.entries.is_empty();
    let lines = [
        format!("Needs {}×{}", SMALLEST.0, SMALLEST.1),
        format!("has {}×{}", area.width, area.height),
        if waits { "a question is waiting" } else { "nothing is lost" }.to_owned(),
    ];
    let top = area.y + area.height.saturating_sub(lines.len() as u16) / 2;
    for (index, text) in lines.iter().enumerate() {
        let y = top + index as u16;
        if y >= area.bottom() {
            break;
        }
        let x = area.x + area.width.saturating_sub(cells(width(text))) / 2;
        let role = if index == 0 { Role::Strong } else { Role::Dim };
        paint.fit(x, y, area.right().saturating_sub(x), text, paint.role(role));
    }
}

/// Where commands run.
fn place(model: &Model) -> &str {
    model.tab.session.as_ref().map_or(model.config.terminal.backend.as_str(), |session| session.place.as_str())
}
