//! Which keys work here: the footer, and the popup of what follows the leader.

use super::layout::is_running;
use super::paint::{Paint, cells, row};
use crate::app::Model;
use crate::app::action::Action;
use crate::app::input::{focus, hint, keys};
use crate::app::model::modal::{ApprovalStage, InputModal, InputThen, Modal};
use crate::app::model::{Pane, TurnStatus};
use crate::app::session::turn::Busy;
use crate::app::terminal::processes;
use crate::config::keymap::{Context, display};
use crate::config::theme::Slot;
use crate::exec::Origin;
use crate::text::Role;
use crate::text::width::width;
use ratatui::layout::Rect;

/// A key and what it does.
pub type Hint = (String, &'static str);

/// The first key of an action as the live keymap has it; empty when it has none.
pub fn key_of(model: &Model, action: &str) -> String {
    model.keymap.keys_for(action).into_iter().next().unwrap_or_default()
}

/// Keys that work in this state, the most useful first: the last ones are left out where there is little room.
pub fn footer(model: &Model) -> Vec<Hint> {
    if let Some(modal) = model.tab.modals.last() {
        return in_modal(model, modal);
    }
    if model.quit_armed.is_some() {
        return vec![(key_of(model, "interrupt"), "again to quit")];
    }
    let (running, taken_over) = (is_running(model), model.tab.processes.pane.taken_over);
    let mut actions: Vec<(&str, &'static str)> = match model.tab.focus {
        Pane::Terminal if taken_over => vec![("take-over", "return")],
        Pane::Terminal => terminal(model),
        _ if model.tab.copy_mode.is_some() => {
            return in_copy_mode(model);
        }
        Pane::Conversation if model.tab.transcript.find.is_some() => {
            let find = |action| hint::key_in(model, Context::Find, action);
            return said(&[
                (find(Action::FindNext), "older hit"),
                (find(Action::FindPrevious), "newer hit"),
                (hint::key_in(model, Context::Conversation, Action::Expand), "open"),
                (find(Action::Close), "back"),
            ]);
        }
        Pane::Conversation => vec![("expand", "open"), ("expand-all", "all"), ("copy-cell", "copy")],
        Pane::Queue => vec![("edit-queued", "edit"), ("steer-queued", "steer"), ("drop-queued", "drop")],
        Pane::Sidebar => vec![("scroll-down", "scroll")],
        Pane::Composer => Vec::new(),
    };
    if running && model.tab.focus == Pane::Composer {
        actions.push(("stop-turn", "stop"));
        let waits = matches!(&model.tab.turn, TurnStatus::Running(running) if running.retry.is_some());
        let (busy, empty) = (Busy::of(model), model.tab.composer.area.is_empty());
        match (waits && empty, empty && !model.tab.queue.is_empty()) {
            (true, _) => actions.push(("send", "try now")),
            (false, true) => actions.push(("send", "steer with the first")),
            (false, false) => {
                actions.push(("send", busy.word()));
                actions.push(("send-other", busy.other().word()));
            }
        }
    }
    match model.tab.focus {
        Pane::Composer => {
            let usual = [("command-palette", "palette"), ("help", "keys"), ("session-browser", "sessions")];
            let usual = usual.into_iter().take(if running || !model.tab.composer.area.is_empty() { 2 } else { 3 });
            // A pane that is open right above the prompt: how to get there.
            let is_next = model.tab.processes.pane.open && model.tab.queue.is_empty();
            let there = is_next.then_some(("focus-up", "terminal"));
            actions.extend(there.into_iter().chain(usual));
        }
        // It comes back to the prompt first: there it stops the turn.
        _ if !taken_over => actions.push(("stop-turn", "back")),
        _ => {}
    }
    let here = if taken_over { Context::TakenOver } else { focus::context(model.tab.focus) };
    let key = |action| model.keymap.key_in(here, action).unwrap_or_else(|| key_of(model, action));
    let hints = actions.into_iter().map(|(action, word)| (key(action), word));
    hints.filter(|(key, _)| !key.is_empty()).collect()
}

/// Hints for those keys that are bound.
fn said(keys: &[(Option<String>, &'static str)]) -> Vec<Hint> {
    keys.iter().filter_map(|(key, word)| Some((key.clone()?, *word))).collect()
}

/// Keys of the modal on top.
fn in_modal(model: &Model, modal: &Modal) -> Vec<Hint> {
    let key = |action| hint::here(model, action);
    let (enter, leave) = (key(Action::Accept), key(Action::Close));
    let list = |does, leaves| said(&[(moves(model), "choose"), (enter.clone(), does), (leave.clone(), leaves)]);
    let now = model.now;
    match modal {
        Modal::Approval(approval) if approval.inert_until > now => Vec::new(),
        Modal::Question(question) if question.inert_until > now => Vec::new(),
        Modal::Approval(approval) => match &approval.stage {
            ApprovalStage::Choosing => {
                let (all, more) = (key(Action::Unfold), key(Action::ScrollDown));
                let folds = approval.read.folded || approval.unfolded;
                let last = match (approval.read.whole, approval.unfolded) {
                    (false, _) => (more, "more"),
                    (true, true) => (all, "less"),
                    (true, false) => (all.filter(|_| folds), "show all"),
                };
                said(&[(moves(model), "choose"), (enter, "answers"), last])
            }
            // The edge of the card says them, where the eyes are.
            ApprovalStage::Confirming
            | ApprovalStage::Reason(_)
            | ApprovalStage::Editing(_)
            | ApprovalStage::ConfirmingYolo
            | ApprovalStage::ConfirmingEdit(..) => Vec::new(),
        },
        Modal::Trust(trust) if trust.inert_until > now => Vec::new(),
        Modal::Trust(_) => {
            let yes = key(Action::Yes).zip(enter).map(|(yes, enter)| format!("{yes} {enter}"));
            said(&[(scrolls(model), "scroll"), (yes, "trusts"), (leave, "not now")])
        }
        Modal::PolicyChanged(modal) if modal.inert_until > now => Vec::new(),
        Modal::Quit(_) => said(&[
            (key(Action::KeepProcess), "keep or kill"),
            (key(Action::KeepAll), "all"),
            (enter, "quits"),
            (leave, "stays"),
        ]),
        // The edge of the card says them.
        Modal::SignIn(_) => Vec::new(),
        Modal::PolicyChanged(_) => said(&[(key(Action::Next), "choose"), (enter, "select"), (leave, "later")]),
        Modal::Text(_) => said(&[(scrolls(model), "scroll"), (leave, "close")]),
        Modal::Confirm(confirm) if confirm.inert_until > now => Vec::new(),
        Modal::Confirm(_) => said(&[(enter, "select"), (key(Action::Yes), "mark yes"), (leave, "close")]),
        Modal::Rewind(state) if state.confirm.is_some() => list("confirm", if state.undo { "close" } else { "back" }),
        Modal::Rewind(_) => list("continue", "close"),
        // The edge of the card says them.
        Modal::Undo(_) | Modal::Stats(_) | Modal::Worktree(_) => Vec::new(),
        Modal::Replay(_) => said(&[
            (hint::pair(key(Action::Left), key(Action::Right)), "item"),
            (hint::pair(key(Action::Up), key(Action::Down)), "screen"),
            (hint::pair(key(Action::PageUp), key(Action::PageDown)), "turn"),
            (key(Action::Play), "plays"),
            (key(Action::PlaySpeed), "speed"),
            (key(Action::Fork), "forks here"),
            (key(Action::Rewind), "rewinds"),
            (key(Action::Export), "exports"),
            (leave, "close"),
        ]),
        // The edge of the card says how to leave it.
        Modal::Question(question) if question.text.is_some() => said(&[(enter, "answers")]),
        Modal::Picker(_) | Modal::Sessions(_) | Modal::Question(_) => list("select", "close"),
        Modal::Input(input) if input.inert_until > now => Vec::new(),
        Modal::Input(InputModal { then: InputThen::Ask(_), .. }) => {
            said(&[(enter, "answers"), (leave, "later"), (hint::key(model, Action::Interrupt), "no answer")])
        }
        Modal::Input(_) => said(&[(enter, "sends"), (leave, "close")]),
    }
}

/// The keys that choose in the modal on top.
pub fn moves(model: &Model) -> Option<String> {
    hint::pair(hint::here(model, Action::Previous), hint::here(model, Action::Next))
}

/// The keys that scroll in the modal on top.
pub fn scrolls(model: &Model) -> Option<String> {
    hint::pair(hint::here(model, Action::ScrollUp), hint::here(model, Action::ScrollDown))
}

/// A key after the words that it belongs to: ` (PgDn)`.
pub fn aside(key: Option<String>) -> String {
    key.map(|key| format!(" ({key})")).unwrap_or_default()
}

/// Keys of copy mode.
fn in_copy_mode(model: &Model) -> Vec<Hint> {
    let key = |action| hint::key_in(model, Context::Copy, action);
    let moves: String = [Action::Left, Action::Down, Action::Up, Action::Right].into_iter().filter_map(key).collect();
    let moves = Some(moves).filter(|keys| !keys.is_empty());
    said(&[
        (moves, "move"),
        (key(Action::Mark), "mark"),
        (key(Action::CopyMarked), "copy"),
        (key(Action::Close), "leave"),
    ])
}

/// What a person can do with the command that the pane shows.
fn terminal(model: &Model) -> Vec<(&'static str, &'static str)> {
    let pane = &model.tab.processes.pane;
    let rows = &model.tab.processes.rows;
    let shown = rows.iter().find(|row| Some(&row.id) == pane.shown.as_ref());
    let mut actions = Vec::new();
    if pane.find.is_some() {
        actions.extend([("find-next", "up"), ("find-previous", "down")]);
    } else if pane.scroll > 0 {
        actions.push(("to-end", "to the end"));
    }
    match shown {
        Some(row) if processes::is_running(row) => {
            if row.vitals.origin == Origin::Ours {
                actions.push(("take-over", "take over"));
            }
            if row.vitals.origin != Origin::Elsewhere {
                actions.push(("kill-process", "kill it"));
            }
            if !row.background {
                actions.push(("background-command", "to the background"));
            }
        }
        Some(row) if row.vitals.origin == Origin::Elsewhere => {}
        Some(_) => actions.push(("forget-process", "remove")),
        None => {}
    }
    actions.push(("find", "find"));
    if rows.len() > 1 {
        actions.push(("next-terminal", "next"));
        actions.push(("split-terminal", if pane.second.is_some() { "one pane" } else { "two" }));
    }
    actions.push(("toggle-terminal", "close"));
    actions
}

/// Cells between the columns of the popup.
const GAP: u16 = 3;
/// Cells of a key of one letter and of the air after it.
const KEY: u16 = 3;
/// The narrowest column in which words can be read.
const WORDS: u16 = 20;
/// Rows that the popup may take on the smallest screen.
const LEAST: u16 = 6;

/// What the popup says of an action.
struct Follows {
    keys: String,
    /// What it does, and the same in a word or two.
    words: &'static str,
    brief: String,
    /// It has a key without the leader too.
    direct: bool,
}

/// The popup over the status bar, once the leader waited: every key that may follow, from the live keymap, and what it does.
/// It leaves half of the screen in view; the leader turns its pages, on the first of which stands what has no other key.
/// Whether it is shown.
pub fn which_key(model: &Model, paint: &mut Paint<'_>, area: Rect) -> bool {
    let Some(chord) = model.chord.as_ref().filter(|chord| chord.shown) else { return false };
    let mut list = following(model);
    let most = (area.height / 2).max(LEAST).min(area.height.saturating_sub(4)).max(1);
    let room = area.width.saturating_sub(4);
    // as few columns as will do, as many as can be read
    let readable = ((room + GAP) / (KEY + WORDS + GAP)).max(1);
    let columns = cells(list.len()).div_ceil(most).clamp(1, readable);
    let places = usize::from(most) * usize::from(columns);
    let left = if list.len() > places {
        list.sort_by_key(|entry| entry.direct);
        let page = places.saturating_sub(1).max(1);
        let from = chord.page % list.len().div_ceil(page) * page;
        let all = list.len();
        list = list.into_iter().skip(from).take(page).collect();
        all - list.len()
    } else {
        0
    };
    let rows = cells(list.len() + usize::from(left > 0)).div_ceil(columns).min(most).max(1);
    let column = (room + GAP) / columns;
    // A blank row above and below.
    let place = Rect { x: area.x, y: area.bottom().saturating_sub(3 + rows), width: area.width, height: rows + 2 };
    paint.clear(place, Slot::Overlay);
    // keys of a column end in one line; most of them are one letter
    let keys: Vec<u16> = list
        .chunks(usize::from(rows))
        .map(|part| cells(part.iter().map(|entry| width(&entry.keys)).max().unwrap_or(1)))
        .collect();
    let at = |index: usize| {
        let line = row(place, cells(index) % rows + 1);
        let cell = Rect { x: place.x + 2 + cells(index) / rows * column, width: column.saturating_sub(GAP), ..line };
        let key = keys.get(index / usize::from(rows)).copied().unwrap_or(1);
        (cell, cell.x + key, cell.x + key + 2)
    };
    for (index, entry) in list.iter().enumerate() {
        let (cell, end, start) = at(index);
        let room = cell.right().saturating_sub(start);
        paint.right(end, cell.y, &entry.keys, paint.role(Role::Accent));
        let words = if cells(width(entry.words)) <= room { entry.words } else { &entry.brief };
        paint.fit(start, cell.y, room, words, paint.role(Role::Text));
    }
    if left > 0 {
        let (cell, _, start) = at(list.len());
        let leader = chord.keys.first().map(|key| display(std::slice::from_ref(key))).unwrap_or_default();
        let more = format!("{left} more: {leader}");
        paint.fit(start, cell.y, cell.right().saturating_sub(start), &more, paint.role(Role::Dim));
    }
    true
}

fn following(model: &Model) -> Vec<Follows> {
    let rows = keys::following(model).into_iter();
    rows.filter_map(|(keys, action)| {
        let entry = Action::from_name(action)?.entry()?;
        let direct = model.keymap.bindings.iter().any(|binding| binding.action == action && binding.keys.len() == 1);
        Some(Follows { keys, words: first_part(entry.doc), brief: named(action), direct })
    })
    .collect()
}

/// A description up to where it begins to explain.
fn first_part(doc: &'static str) -> &'static str {
    doc.split([';', ':']).next().unwrap_or(doc).trim_end()
}

/// The name of an action as words: `Toggle terminal`.
fn named(action: &str) -> String {
    let mut letters = action.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    first.into_iter().chain(letters).map(|letter| if letter == '-' { ' ' } else { letter }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptions_end_where_they_explain_and_names_are_words() {
        assert_eq!(first_part("Select with the keyboard: h j k l, v, y"), "Select with the keyboard");
        assert_eq!(first_part("Quit"), "Quit");
        assert_eq!(named("toggle-terminal"), "Toggle terminal");
    }
}
