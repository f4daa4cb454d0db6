//! `/agents`: every session of this window that works, and their children; what waits for a person first.

use super::pickers;
use crate::app::action::Action;
use crate::app::effect::Effect;
use crate::app::input::hint;
use crate::app::model::Model;
use crate::app::model::modal::{PickItem, PickerKind};
use crate::app::model::tab::{Tab, TabState};
use crate::app::model::transcript::CellKind;
use crate::app::session::tabs;
use crate::protocol::{ChildRow, ChildState, Level, Opens, SessionId};
use crate::text::format;

/// Shows them.
pub fn open(model: &mut Model) {
    let mut rows: Vec<(u8, PickItem)> = Vec::new();
    for tab in model.tabs() {
        if let Some(row) = of_tab(tab, tab.id == model.tab.id) {
            rows.push(row);
        }
        rows.extend(children(tab).map(|child| of_child(child, &tab.name(), model.now)));
    }
    if rows.is_empty() {
        return model.notices.add(model.now, Level::Info, "no session was begun yet");
    }
    rows.sort_by_key(|(rank, _)| *rank);
    let items = rows.into_iter().map(|(_, item)| item).collect();
    pickers::open(model, PickerKind::Agents, "Agents", items);
    note(model);
}

/// The children of a tab, the newest first.
fn children(tab: &Tab) -> impl Iterator<Item = &ChildRow> {
    let calls = tab.transcript.cells.iter().rev().filter_map(|cell| match &cell.kind {
        CellKind::Tool(tool) => Some(&tool.children),
        CellKind::User { .. }
        | CellKind::Told { .. }
        | CellKind::Summary { .. }
        | CellKind::Assistant { .. }
        | CellKind::Reasoning { .. }
        | CellKind::Note { .. }
        | CellKind::TurnEnd { .. } => None,
    });
    calls.flatten()
}

/// A tab with a session, and how soon it is to be looked at.
fn of_tab(tab: &Tab, current: bool) -> Option<(u8, PickItem)> {
    let id = tab.of.as_ref()?;
    let (rank, state) = match tab.state() {
        TabState::NeedsAnswer => (0, "needs an answer"),
        TabState::NeedsPassword => (0, "needs a password"),
        TabState::Working => (1, "working"),
        TabState::Failed => (2, "failed"),
        TabState::Unread => (2, "done"),
        TabState::Idle => (4, "idle"),
    };
    let item = PickItem {
        label: tab.name(),
        detail: tab.cwd.clone(),
        hint: state.to_owned(),
        value: id.0.clone(),
        current,
        ..PickItem::default()
    };
    Some((rank, item))
}

fn of_child(child: &ChildRow, parent: &str, now: i64) -> (u8, PickItem) {
    let rank = match child.state {
        ChildState::Asks => 0,
        ChildState::Working => 1,
        ChildState::Waiting => 2,
        ChildState::Failed | ChildState::Limit => 3,
        ChildState::Completed | ChildState::Stopped => 5,
    };
    let end = if child.ended == 0 { now } else { child.ended };
    let took = if child.began == 0 { 0 } else { u64::try_from(end - child.began).unwrap_or_default() };
    let goal = child.goal.split_whitespace().collect::<Vec<_>>().join(" ");
    let detail = [format!("of {parent}"), child.doing.clone(), child.figures()];
    let item = PickItem {
        label: format!("└ {}: {goal}", child.name),
        detail: detail.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" · "),
        hint: format!("{} {}", child.state.word(), format::elapsed(took)),
        value: child.session.as_ref().map(|id| id.0.clone()).unwrap_or_default(),
        ..PickItem::default()
    };
    (rank, item)
}

/// What Enter does.
pub fn note(model: &mut Model) {
    let key = hint::picker(model, Action::Accept);
    let Some(picker) = pickers::top(model, PickerKind::Agents) else { return };
    let Some(item) = pickers::chosen(picker) else { return };
    let does = if item.value.is_empty() {
        "it waits for others to end".to_owned()
    } else {
        hint::sentence(&[(key, "opens it in a tab")])
    };
    picker.footnote = format!("{}\n{does}", item.detail);
}

/// Enter: its tab.
pub fn chosen(model: &mut Model, out: &mut Vec<Effect>, value: &str) {
    if !value.is_empty() {
        tabs::open(model, out, Opens::Resume(SessionId::from(value)));
    }
}
