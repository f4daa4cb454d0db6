//! `/agents`: every session of this window that works, their children, and what is open in other windows of the same home;
//! what waits for a person first.

use super::pickers;
use crate::app::action::Action;
use crate::app::effect::{Effect, LoadRequest};
use crate::app::input::hint;
use crate::app::model::Model;
use crate::app::model::modal::{PickItem, PickerKind};
use crate::app::model::tab::{Tab, TabState};
use crate::app::model::transcript::CellKind;
use crate::app::msg::OtherSession;
use crate::app::session::{sessions, tabs, worktree};
use crate::protocol::{ChildRow, ChildState, Level, Opens, SessionId, SessionState};
use crate::text::format;

/// What the value of a row begins with: a worktree that a child left, then the session of the child.
const TREE: &str = "worktree\n";
/// The same of a session of another window, then its number and its folder.
const OTHER: &str = "window\n";
/// What can be done with one of those, each before its id.
const FOCUS: &str = "focus\n";
const READ: &str = "read\n";
const FORK: &str = "fork\n";
const RESUME: &str = "resume\n";

/// Shows them; those of other windows come a moment later.
pub fn open(model: &mut Model, out: &mut Vec<Effect>) {
    let items = sorted(own(model));
    pickers::open(model, PickerKind::Agents, "Agents", items);
    if let Some(picker) = pickers::top(model, PickerKind::Agents) {
        picker.loading = true;
    }
    note(model);
    out.push(Effect::Load(LoadRequest::OtherWindows));
}

/// What is open in other windows came.
pub fn others(model: &mut Model, sessions: Vec<OtherSession>) {
    let mut rows = own(model);
    rows.extend(sessions.iter().map(|other| of_other(other, model)));
    let items = sorted(rows);
    let Some(picker) = pickers::top(model, PickerKind::Agents) else { return };
    picker.loading = false;
    pickers::fill(picker, items);
    note(model);
}

fn sorted(mut rows: Vec<(u8, PickItem)>) -> Vec<PickItem> {
    rows.sort_by_key(|(rank, _)| *rank);
    rows.into_iter().map(|(_, item)| item).collect()
}

/// Those of this window.
fn own(model: &Model) -> Vec<(u8, PickItem)> {
    let mut rows: Vec<(u8, PickItem)> = Vec::new();
    for tab in model.tabs() {
        rows.extend(of_tab(tab, tab.id == model.tab.id));
        // Whose it is needs no word where there is one tab.
        let parent = if model.parked.is_empty() { String::new() } else { format!("of {}", tab.name()) };
        rows.extend(children(tab).map(|child| of_child(child, &parent, model.now)));
    }
    rows
}

/// The children of a tab, the newest first.
pub fn children(tab: &Tab) -> impl Iterator<Item = &ChildRow> {
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

/// What a tab of this window knows of a session as a child.
pub fn as_child<'a>(model: &'a Model, session: Option<&SessionId>) -> Option<(&'a Tab, &'a ChildRow)> {
    let session = session?;
    let of = |tab: &'a Tab| Some((tab, children(tab).find(|row| row.session.as_ref() == Some(session))?));
    model.tabs().find_map(of)
}

/// Whether the tab in view shows a child that has not ended.
pub fn shows_working_child(model: &Model) -> bool {
    as_child(model, model.tab.of.as_ref()).is_some_and(|(_, row)| !row.state.is_over())
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
    let left = child.worktree.as_ref().filter(|_| child.state.is_over());
    let branch = child.worktree.as_ref().map(|tree| tree.branch.clone()).unwrap_or_default();
    let session = child.session.as_ref().map(|id| id.0.clone()).unwrap_or_default();
    let detail = [parent.to_owned(), branch, child.doing.clone(), child.figures()];
    let item = PickItem {
        label: format!("└ {}: {goal}", child.name),
        detail: detail.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" · "),
        hint: format!("{} {}", child.state.word(), format::elapsed(took)),
        value: match left {
            Some(tree) => format!("{TREE}{}\n{}\n{session}", tree.folder, child.name),
            None => session,
        },
        ..PickItem::default()
    };
    (rank, item)
}

/// A session that is open in another window.
fn of_other(other: &OtherSession, model: &Model) -> (u8, PickItem) {
    let session = &other.session;
    let rank = match session.state {
        SessionState::NeedsAnswer => 0,
        SessionState::Working => 1,
        SessionState::Failed => 2,
        SessionState::Idle => 4,
    };
    let title = session.title.clone().filter(|title| !title.is_empty());
    let place = place(other, model);
    let waits = session.waiting.first().map(|waiting| format!(" · {}", one_line(&waiting.text))).unwrap_or_default();
    let item = PickItem {
        label: title.clone().unwrap_or_else(|| "untitled".into()),
        detail: format!("{place}{waits}"),
        hint: format!("{} · other window", session.state.word()),
        value: format!("{OTHER}{}\n{}\n{place}", session.session.0, title.unwrap_or_default()),
        ..PickItem::default()
    };
    (rank, item)
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Where a session of another window runs, in words.
fn place(other: &OtherSession, model: &Model) -> String {
    let on = if other.terminal.is_empty() { String::new() } else { format!(" on {}", other.terminal) };
    format!("{}, process {}{on}", model.shown_folder(&other.session.cwd), other.pid)
}

/// What Enter does.
pub fn note(model: &mut Model) {
    let (key, tab) = (hint::picker(model, Action::Accept), hint::picker(model, Action::OpenTab));
    let Some(picker) = pickers::top(model, PickerKind::Agents) else { return };
    let Some(item) = pickers::chosen(picker) else {
        picker.footnote.clear();
        return;
    };
    let does = if item.value.is_empty() {
        "it waits for others to end".to_owned()
    } else if item.value.starts_with(TREE) {
        hint::sentence(&[(key, "shows its changes, to take or drop"), (tab, "opens it in a tab")])
    } else if item.value.starts_with(OTHER) {
        hint::sentence(&[(key, "says what can be done with it from here")])
    } else {
        hint::sentence(&[(key, "opens it in a tab")])
    };
    picker.footnote = format!("{}\n{does}", item.detail);
}

/// Enter: its tab, or the changes in the worktree that it left, or what can be done with one of another window.
pub fn chosen(model: &mut Model, out: &mut Vec<Effect>, value: &str) {
    if let Some(rest) = value.strip_prefix(TREE) {
        let mut parts = rest.splitn(3, '\n');
        let (folder, by) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        return worktree::show(model, out, folder.to_owned(), by.to_owned());
    }
    if let Some(rest) = value.strip_prefix(OTHER) {
        return offer(model, rest);
    }
    if !value.is_empty() {
        tabs::open(model, out, Opens::Resume(SessionId::from(value)));
    }
}

/// The other key: its tab, whatever else it has.
pub fn in_tab(model: &mut Model, out: &mut Vec<Effect>) {
    let Some(picker) = pickers::top(model, PickerKind::Agents) else { return };
    let Some(value) = pickers::chosen(picker).map(|item| item.value.clone()) else { return };
    let id = match value.strip_prefix(TREE) {
        Some(rest) => rest.rsplit('\n').next().unwrap_or_default().to_owned(),
        None => value,
    };
    if !id.is_empty() && !id.starts_with(OTHER) {
        model.tab.modals.pop();
        tabs::open(model, out, Opens::Resume(SessionId::from(id.as_str())));
    }
}

/// A session of another window: where it runs, and what can be done from here.
fn offer(model: &mut Model, about: &str) {
    let mut parts = about.splitn(3, '\n');
    let (id, title, place) =
        (parts.next().unwrap_or_default(), parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let item = |label: &str, detail: &str, kind: &str| PickItem {
        label: label.into(),
        detail: detail.into(),
        value: format!("{kind}{id}"),
        ..PickItem::default()
    };
    let items = vec![
        item("Show it in its window", "answer it and write to it there", FOCUS),
        item("Read it here", "as it is now; nothing is changed", READ),
        item("Fork it here", "go on with a copy of the conversation", FORK),
        item("Resume it here", "once it is closed there", RESUME),
    ];
    let title = if title.is_empty() { "A session of another window".to_owned() } else { format!("“{title}”") };
    pickers::open(model, PickerKind::OtherWindow, &title, items);
    if let Some(picker) = pickers::top(model, PickerKind::OtherWindow) {
        picker.footnote = format!("Runs in {place}");
    }
}

/// What was chosen for it.
pub fn with_other(model: &mut Model, out: &mut Vec<Effect>, value: &str) {
    let id = |kind: &str| value.strip_prefix(kind).map(SessionId::from);
    if let Some(session) = id(FOCUS) {
        out.push(Effect::Load(LoadRequest::FocusWindow { session }));
    } else if let Some(id) = id(READ) {
        out.push(Effect::Load(LoadRequest::ReadSession { id }));
    } else if let Some(id) = id(FORK) {
        sessions::keeping::forked(model, out, Opens::Fork(id));
    } else if let Some(id) = id(RESUME) {
        tabs::open(model, out, Opens::Resume(id));
    }
}

/// It is in view in its window, or why not.
pub fn focused(model: &mut Model, result: Result<(), String>) {
    match result {
        Ok(()) => model.notices.add(model.now, Level::Info, "it is in view in its window now"),
        Err(why) => model.notices.add(model.now, Level::Warning, why),
    }
}

#[cfg(test)]
mod tests;
