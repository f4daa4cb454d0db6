//! The answer to a dangerous command: what it would run, why it is asked, what it would touch, and the choices.

mod body;
mod choices;
mod grants;

use super::{Frame, field};
use crate::app::Model;
use crate::app::action::Action;
use crate::app::approvals::choices::{GRID, is_barred};
use crate::app::input::hint;
use crate::app::model::approvals::Entry;
use crate::app::model::layout::{Area, Hit, Layout, Reading};
use crate::app::model::modal::{ApprovalChoice, ApprovalModal, ApprovalStage, Judged};
use crate::app::model::selection::Surface;
use crate::app::model::transcript::{CellKind, ToolState};
use crate::config::theme::Slot;
use crate::policy::{Approval, Intent};
use crate::text::width::{truncate_end, width};
use crate::text::wrap::Row;
use crate::text::{Role, format};
use crate::ui::flat;
use crate::ui::hints;
use crate::ui::layout::is_running;
use crate::ui::paint::{Paint, cells, row};
use body::{Body, Room};
use choices::Part;
use ratatui::layout::Rect;

/// Cells of content at most.
const WIDEST: u16 = 100;
/// Rows of a very long command that show at least.
const SHORTEST: usize = 6;

/// What an open question needs of the screen.
struct Measured<'a> {
    approval: &'a Approval,
    columns: u16,
    body: Body,
    below: Vec<Part>,
}

fn measure<'a>(model: &'a Model, state: &ApprovalModal, area: Rect) -> Option<Measured<'a>> {
    let approval = model.tab.approvals.approval(state.id)?;
    let columns = WIDEST.min(area.width.saturating_sub(10)).max(area.width.min(24).saturating_sub(6));
    let room = usize::from(columns);
    let below = choices::below(model, approval, state, room);
    // What the frame and the row above it leave.
    let height = usize::from(area.height.saturating_sub(3));
    let body = fitted(model, approval, state, room, height.saturating_sub(below.len()));
    Some(Measured { approval, columns, body, below })
}

/// Rows of its frame, for a screen of this size.
pub fn height(model: &Model, state: &ApprovalModal, area: Rect) -> u16 {
    let rows = measure(model, state, area).map_or(0, |measured| measured.body.rows.len() + measured.below.len() + 3);
    cells(rows).min(area.height)
}

/// Draws it and returns where its caret is. `docked`: the panes have made room for it at the bottom.
pub fn draw(
    model: &Model,
    state: &ApprovalModal,
    paint: &mut Paint<'_>,
    area: Rect,
    docked: bool,
    layout: &mut Layout,
) -> Option<(u16, u16)> {
    let Measured { approval, columns, body, below } = measure(model, state, area)?;
    let room = usize::from(columns);
    let inert = state.inert_until > model.now;
    let note = number(model, state, room < choices::WIDE);
    let rows = cells(body.rows.len() + below.len());
    // The upper edge stays where the first stage put it, whatever the others need; a docked one has a fixed lower edge.
    let first = choices::choices(model, approval, room).len();
    let usual = match state.stage {
        ApprovalStage::ConfirmingEdit(..) => rows,
        _ => cells(body.rows.len() + first),
    };
    let frame = Frame {
        title: title(&approval.intent),
        title_role: Role::Careful,
        note: &note,
        foot: &foot(model, approval, state, inert),
        usual,
        low: docked,
        ..Frame::default()
    };
    let place = frame.draw(paint, area, columns, rows.saturating_add(1));
    // A blank row below, where there is room for one.
    let place = Rect { height: place.height.min(rows), ..place };
    // The choices always show; what is to be read scrolls, and says what of it is hidden.
    let fixed = cells(below.len()).min(place.height.saturating_sub(1));
    let room_for_text = place.height - fixed;
    let reading = Rect { height: room_for_text, ..place };
    let whole = read(model, state, paint, reading, &body, layout);
    let mut caret = None;
    let base = Rect { y: place.y + room_for_text, height: fixed, ..place };
    let draws = Choices { model, state, inert, whole };
    for (index, part) in below.iter().take(usize::from(fixed)).enumerate() {
        let line = row(base, index as u16);
        match part {
            Part::Line(text) => paint.line(line, text),
            Part::Field(prompt, text) => caret = field(model, paint, line, prompt, text, state.cursor),
            Part::Choices(columns) => {
                let half = if columns.len() > 1 { line.width / 2 } else { line.width };
                for (at, choice) in columns.iter().enumerate() {
                    if let Some((index, label)) = choice {
                        let place = Rect { x: line.x + half * at as u16, width: half, ..line };
                        draws.row(paint, place, *index, label, true, layout);
                    }
                }
            }
            Part::More(index, label) => draws.row(paint, line, *index, label, false, layout),
        }
    }
    caret
}

fn title(intent: &Intent) -> &'static str {
    match intent {
        Intent::Command { background: true, .. } => "⚠ Approve a background command",
        Intent::Command { .. } => "⚠ Approve a command",
        Intent::Edit(edits) if edits.iter().any(|edit| edit.removes) => "⚠ Approve removing files",
        Intent::Edit(_) => "⚠ Approve an edit",
        Intent::Input { .. } => "⚠ Approve typing into a program",
        Intent::Read(_) => "⚠ Approve reading",
        Intent::Remote { .. } => "⚠ Approve an external tool",
        Intent::Code { .. } => "⚠ Approve a script",
        Intent::Talk | Intent::Handle => "⚠ Approve",
    }
}

/// Which of the open questions it is, and how many calls of this step may become one.
fn number(model: &Model, state: &ApprovalModal, short: bool) -> String {
    let all = &model.tab.approvals.entries;
    let at = all.iter().position(|entry| matches!(entry, Entry::Approval(found) if found.id == state.id));
    let waiting = waiting(model);
    match all.len() {
        0 | 1 if waiting > 0 => format!("1 of up to {}", waiting + 1),
        0 | 1 => String::new(),
        count => {
            let key = hints::key_of(model, "inbox");
            let next = if key.is_empty() { key } else { format!(" · {key} next") };
            let place = if short { "" } else { " waiting" };
            format!("{} of {count}{place}{next}", at.map_or(1, |at| at + 1))
        }
    }
}

/// Calls of the running step that are not yet judged: each may ask as well.
fn waiting(model: &Model) -> usize {
    if !is_running(model) {
        return 0;
    }
    let tools = model.tab.transcript.cells.iter().rev().map_while(|cell| match &cell.kind {
        CellKind::Tool(tool) => Some(tool),
        _ => None,
    });
    tools.filter(|tool| tool.state == ToolState::Proposed).count()
}

/// The keys of a stage. They are said nowhere else.
fn foot(model: &Model, approval: &Approval, state: &ApprovalModal, inert: bool) -> String {
    let command = matches!(approval.intent, Intent::Command { .. });
    let key = |action| hint::here(model, action);
    let enter = |does| hint::list(&[(key(Action::Accept), does), (key(Action::Close), "goes back")]);
    let back = || hint::list(&[(key(Action::Close), "goes back to the field")]);
    match &state.stage {
        _ if inert => "keys are ignored for a moment".to_owned(),
        ApprovalStage::ConfirmingEdit(_, Judged::Waiting) => back(),
        ApprovalStage::ConfirmingEdit(_, Judged::As(preview)) if is_barred(preview) => back(),
        ApprovalStage::ConfirmingEdit(..) if state.held_until > model.now => "keys are ignored for a moment".to_owned(),
        _ if state.read.refused && !state.read.whole => "scroll to the end to approve".to_owned(),
        ApprovalStage::Choosing if state.stray => {
            let edit = key(Action::EditCommand).filter(|_| command);
            hint::list(&[(key(Action::Deny), "denies with a reason"), (edit, "edits it")])
        }
        ApprovalStage::Choosing => later(model),
        ApprovalStage::Confirming if choices::widths(approval, state) > 1 => {
            hint::list(&[(key(Action::Switch), "switches"), (Some(enter("confirms")), "")])
        }
        ApprovalStage::Confirming => enter("confirms"),
        ApprovalStage::ConfirmingYolo => enter("turns it on"),
        ApprovalStage::Reason(_) => enter("denies"),
        ApprovalStage::Editing(_) => enter("shows it again"),
        ApprovalStage::ConfirmingEdit(..) => {
            let does = if state.stray { "edits it" } else { "goes back to the field" };
            hint::list(&[(key(Action::Accept), "allows it"), (key(Action::Close), does)])
        }
    }
}

/// The key that puts a question aside, and the one that brings it back.
pub fn later(model: &Model) -> String {
    match hint::here(model, Action::Close) {
        Some(close) => format!("{close}: decide later{}", hints::aside(hint::key(model, Action::Inbox))),
        None => String::new(),
    }
}

/// What is to be read, with air where there is room for it, and without the middle of a very long command where not.
fn fitted(model: &Model, approval: &Approval, state: &ApprovalModal, columns: usize, height: usize) -> Body {
    let loose = Room { columns, tight: false, most: usize::MAX };
    let body = body::of(model, approval, state, loose);
    if body.rows.len() <= height {
        return body;
    }
    let tight = Room { tight: true, ..loose };
    let body = body::of(model, approval, state, tight);
    if body.rows.len() <= height || state.unfolded {
        return body;
    }
    let others = body.rows.len() - body.command;
    let most = height.saturating_sub(others + 1).max(SHORTEST);
    body::of(model, approval, state, Room { most, ..tight })
}

/// The text, from the row that is scrolled to. Whether all that must be seen is or was on the screen.
fn read(
    model: &Model,
    state: &ApprovalModal,
    paint: &mut Paint<'_>,
    place: Rect,
    body: &Body,
    layout: &mut Layout,
) -> bool {
    // What does not fit scrolls, and a row of its own says what is hidden.
    let says = usize::from(place.height) < body.rows.len() && place.height > 1;
    let window = place.height - u16::from(says);
    let rows = usize::from(window);
    let most = body.rows.len().saturating_sub(rows);
    let skip = if state.read.begun { usize::from(state.scroll) } else { first_reason(body, rows) }.min(most);
    let shape = (place.width, cells(body.rows.len()));
    layout.reading = Some(Reading {
        id: state.id,
        edited: matches!(state.stage, ApprovalStage::ConfirmingEdit(..)),
        first: cells(skip),
        rows: window,
        folded: body.folded,
        shape,
        must: body.must.iter().map(|(row, _)| cells(*row)).collect(),
    });
    for (index, line) in body.rows.iter().skip(skip).take(rows).enumerate() {
        let at = row(place, index as u16);
        paint.line(at, &line.line);
        flat::put(layout, Surface::Modal, at, flat::nth(skip + index), line.line.spans.is_empty());
    }
    if flat::selection(model, Surface::Modal).is_some() {
        flat::finish(model, paint, Surface::Modal, &flat::numbered(body.rows.iter().cloned()), layout);
    }
    let was = |row: usize| {
        let row = cells(row);
        state.read.shape == shape && state.read.seen.iter().any(|(from, to)| (*from..*to).contains(&row))
    };
    let unseen = |row: usize| !state.read.whole && !(skip..skip + rows).contains(&row) && !was(row);
    let mut missing: Vec<&str> = Vec::new();
    for (_, what) in body.must.iter().filter(|(row, _)| unseen(*row)) {
        if !missing.contains(what) {
            missing.push(what);
        }
    }
    if says {
        let left = most - skip;
        let hidden = format::plural(left as u64, "more row", "more rows");
        let up = hints::aside(hint::here(model, Action::ScrollUp));
        let down = hint::here(model, Action::ScrollDown);
        let (text, role) = match (left, missing.is_empty()) {
            (0, true) => (format!("↑ above{up}"), Role::Dim),
            (0, false) => (format!("↑ above{up}: {}", missing.join(", ")), Role::Careful),
            (_, true) => (format!("↓ {hidden}{}", hints::aside(down.clone())), Role::Dim),
            (_, false) => (format!("↓ {hidden}{}: {}", hints::aside(down.clone()), missing.join(", ")), Role::Careful),
        };
        // A narrow screen names the key and what is missing before it counts.
        let text = match (left, missing.is_empty()) {
            (1.., false) if width(&text) > usize::from(place.width) => {
                format!("↓ {}: {}", down.unwrap_or_default(), missing.join(", "))
            }
            _ => text,
        };
        let text = truncate_end(&text, usize::from(place.width));
        paint.right(place.right(), place.y + window, &text, paint.role(role));
    }
    missing.is_empty()
}

/// The row to begin at, so that the first words with a reason and the reason itself are in view.
fn first_reason(body: &Body, window: usize) -> usize {
    let careful = |row: &Row| row.line.spans.iter().any(|span| span.role == Role::Careful);
    match body.rows.iter().position(careful) {
        Some(at) if at + 3 > window => at.saturating_sub(window / 3),
        _ => 0,
    }
}

/// How choices are drawn in one frame.
struct Choices<'a> {
    model: &'a Model,
    state: &'a ApprovalModal,
    inert: bool,
    /// All that must be seen was seen: until then nothing can be allowed.
    whole: bool,
}

impl Choices<'_> {
    /// A row of a label: its first one has the mark and the key.
    fn row(&self, paint: &mut Paint<'_>, place: Rect, index: usize, label: &str, first: bool, layout: &mut Layout) {
        let Some(choice) = GRID.get(index) else { return };
        let chosen = *choice == self.state.selected;
        let place = Rect { width: place.width.saturating_sub(1), ..place };
        if chosen {
            paint.tone(place, Slot::Selection);
        }
        let allows = matches!(choice, ApprovalChoice::Once | ApprovalChoice::Session | ApprovalChoice::Always);
        let closed = self.inert || (allows && !self.whole);
        let role = match (closed, chosen) {
            (true, _) => Role::Dim,
            (false, true) => Role::Strong,
            (false, false) => Role::Text,
        };
        if first {
            if chosen {
                paint.put(place.x, place.y, 2, "▸", paint.slot(Slot::Prompt));
            }
            let key = if closed { Role::Dim } else { Role::Accent };
            let name = choices::key(self.model, *choice);
            paint.right(place.right().saturating_sub(1), place.y, &name, paint.role(key));
        }
        let indent = if first { 2 } else { 4 };
        let room = place.width.saturating_sub(choices::margin(self.model) - u16::from(first));
        paint.fit(place.x + indent, place.y, room, label, paint.role(role));
        layout.targets.push((Area { x: place.x, y: place.y, width: place.width, height: 1 }, Hit::ModalRow(index)));
    }
}
