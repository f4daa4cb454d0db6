//! Which keys work here: the footer, and the popup of what follows the leader.

use super::layout::is_running;
use super::paint::{Paint, cells, row};
use crate::app::Model;
use crate::app::action::Action;
use crate::app::model::modal::{ApprovalStage, InputModal, InputThen, Modal};
use crate::app::model::{Pane, TurnStatus};
use crate::app::turn::Busy;
use crate::config::theme::Slot;
use crate::text::Role;
use crate::text::width::width;
use ratatui::layout::Rect;

/// A key and what it does.
pub type Hint = (String, &'static str);

/// The first key of an action as the live keymap has it; empty when it has none.
pub fn key_of(model: &Model, action: &str) -> String {
    model.keymap.keys_for(action).into_iter().next().unwrap_or_default()
}

/// Keys that work in this state, the most useful first.
pub fn footer(model: &Model) -> Vec<Hint> {
    let fixed = |keys: &[(&str, &'static str)]| keys.iter().map(|(key, word)| ((*key).to_owned(), *word)).collect();
    // Modals read these keys themselves.
    if let Some(modal) = model.modals.last() {
        return match modal {
            Modal::Approval(approval) if approval.inert_until > model.now => Vec::new(),
            Modal::Question(question) if question.inert_until > model.now => Vec::new(),
            Modal::Approval(approval) => match &approval.stage {
                ApprovalStage::Choosing if !approval.read.whole => {
                    fixed(&[("↑↓", "choose"), ("Enter", "answers"), ("PgDn", "more")])
                }
                ApprovalStage::Choosing => {
                    let mut keys: Vec<Hint> = fixed(&[("↑↓", "choose"), ("Enter", "answers")]);
                    if approval.read.folded || approval.unfolded {
                        keys.push(("m".into(), if approval.unfolded { "less" } else { "all of it" }));
                    }
                    keys
                }
                // The edge of the card says them, where the eyes are.
                ApprovalStage::Confirming
                | ApprovalStage::Reason(_)
                | ApprovalStage::Editing(_)
                | ApprovalStage::ConfirmingYolo
                | ApprovalStage::ConfirmingEdit(..) => Vec::new(),
            },
            Modal::Trust(trust) if trust.inert_until > model.now => Vec::new(),
            Modal::Trust(_) => fixed(&[("↑↓", "scroll"), ("y Enter", "trusts"), ("Esc", "not now")]),
            Modal::Frozen(frozen) if frozen.inert_until > model.now => Vec::new(),
            Modal::Quit(_) => fixed(&[("Space", "keep or end"), ("a", "all"), ("Enter", "quits"), ("Esc", "stays")]),
            Modal::Frozen(_) => fixed(&[("Tab", "choose"), ("Enter", "takes it"), ("Esc", "later")]),
            Modal::Text(_) => fixed(&[("↑↓", "scroll"), ("Esc", "close")]),
            Modal::Confirm(confirm) if confirm.inert_until > model.now => Vec::new(),
            Modal::Confirm(_) => fixed(&[("y", "yes"), ("n", "no"), ("↑↓", "choose"), ("Enter", "takes it")]),
            Modal::Rewind(state) if state.confirm.is_some() => {
                fixed(&[("↑↓", "choose"), ("Enter", "does it"), ("Esc", if state.undo { "close" } else { "back" })])
            }
            Modal::Rewind(_) => fixed(&[("↑↓", "choose"), ("Enter", "goes on"), ("Esc", "close")]),
            Modal::Picker(_) | Modal::Sessions(_) | Modal::Question(_) => {
                fixed(&[("↑↓", "choose"), ("Enter", "takes it"), ("Esc", "close")])
            }
            Modal::Input(input) if input.inert_until > model.now => Vec::new(),
            Modal::Input(InputModal { then: InputThen::Ask(_), .. }) => {
                fixed(&[("Enter", "answers"), ("Esc", "later"), ("Ctrl-C", "gives none")])
            }
            Modal::Input(_) => fixed(&[("Enter", "sends"), ("Esc", "close")]),
        };
    }
    if model.quit_armed.is_some() {
        return vec![(key_of(model, "interrupt"), "again quits")];
    }
    let running = is_running(model);
    let mut actions: Vec<(&str, &'static str)> = match model.focus {
        Pane::Terminal if model.processes.pane.taken_over => vec![("take-over", "hand back")],
        Pane::Terminal => vec![("take-over", "take over"), ("next-terminal", "next"), ("toggle-terminal", "close")],
        _ if model.copy_mode.is_some() => {
            return fixed(&[("hjkl", "move"), ("v", "mark"), ("y", "copy"), ("Esc", "leave")]);
        }
        Pane::Conversation => vec![("expand", "open"), ("expand-all", "all"), ("copy-cell", "copy")],
        Pane::Queue => vec![("edit-queued", "edit"), ("steer-queued", "steer"), ("drop-queued", "drop")],
        Pane::Sidebar => vec![("scroll-down", "scroll")],
        Pane::Composer => vec![("command-palette", "palette"), ("help", "keys")],
    };
    if running && model.focus == Pane::Composer {
        let waits = matches!(&model.turn, TurnStatus::Running(running) if running.retry.is_some());
        let (busy, empty) = (Busy::of(model), model.composer.area.is_empty());
        match (waits && empty, empty && !model.queue.is_empty()) {
            (true, _) => actions.push(("send", "tries now")),
            (false, true) => actions.push(("send", "steers with the first")),
            (false, false) => {
                actions.push(("send", busy.word()));
                actions.push(("send-other", busy.other().word()));
            }
        }
    }
    if running && model.focus != Pane::Queue && !model.processes.pane.taken_over {
        actions.push(("stop-turn", "stop"));
    } else if model.focus == Pane::Composer && model.composer.area.is_empty() {
        actions.push(("session-browser", "sessions"));
    }
    let hints = actions.into_iter().map(|(action, word)| (key_of(model, action), word));
    hints.filter(|(key, _)| !key.is_empty()).collect()
}

/// Cells between the columns of the popup.
const GAP: u16 = 3;
/// Cells of a key of one letter and of the air after it.
const KEY: u16 = 3;
/// The narrowest column in which words can be read.
const WORDS: u16 = 22;

/// The popup over the status bar, once the leader waited: every key that may follow, from the live keymap, and what it does.
/// Where not all fit, those go first that have a key of their own. Whether it is shown.
pub fn which_key(model: &Model, paint: &mut Paint<'_>, area: Rect) -> bool {
    if model.chord.as_ref().is_none_or(|chord| !chord.shown) {
        return false;
    }
    let list = following(model);
    let most = area.height.saturating_sub(4).max(1);
    let room = area.width.saturating_sub(4);
    // as few columns as leave half of the screen in view, as many as can be read
    let readable = ((room + GAP) / (KEY + WORDS + GAP)).max(1);
    let columns = cells(list.len()).div_ceil((area.height / 2).max(1)).clamp(1, readable);
    let (list, left) = fit(list, usize::from(most) * usize::from(columns));
    let rows = cells(list.len() + usize::from(left > 0)).div_ceil(columns).min(most).max(1);
    let column = (room + GAP) / columns;
    // A blank row above and below.
    let place = Rect { x: area.x, y: area.bottom().saturating_sub(3 + rows), width: area.width, height: rows + 2 };
    paint.clear(place, Slot::Overlay);
    // keys of a column end in one line; most of them are one letter
    let keys: Vec<u16> = list
        .chunks(usize::from(rows))
        .map(|part| cells(part.iter().map(|(keys, ..)| width(keys)).max().unwrap_or(1)))
        .collect();
    let at = |index: usize| {
        let line = row(place, cells(index) % rows + 1);
        let cell = Rect { x: place.x + 2 + cells(index) / rows * column, width: column.saturating_sub(GAP), ..line };
        let key = keys.get(index / usize::from(rows)).copied().unwrap_or(1);
        (cell, cell.x + key, cell.x + key + 2)
    };
    for (index, (keys, words, _)) in list.iter().enumerate() {
        let (cell, end, start) = at(index);
        paint.right(end, cell.y, keys, paint.role(Role::Accent));
        paint.fit(start, cell.y, cell.right().saturating_sub(start), words, paint.role(Role::Text));
    }
    if left > 0 {
        let (cell, _, start) = at(list.len());
        let more = format!("{left} more: {}", key_of(model, "help"));
        paint.fit(start, cell.y, cell.right().saturating_sub(start), &more, paint.role(Role::Dim));
    }
    true
}

/// Keys, what they do in words, and whether the action has a key without the leader.
fn following(model: &Model) -> Vec<(String, &'static str, bool)> {
    let rows = crate::app::keys::following(model).into_iter();
    rows.filter_map(|(keys, action)| {
        let entry = Action::from_name(action)?.entry()?;
        let direct = model.keymap.bindings.iter().any(|binding| binding.action == action && binding.keys.len() == 1);
        Some((keys, brief(entry.doc), direct))
    })
    .collect()
}

/// A description up to where it begins to explain.
fn brief(doc: &'static str) -> &'static str {
    doc.split([';', ':']).next().unwrap_or(doc).trim_end()
}

/// What fits into a number of places, and how many do not: one place says so.
fn fit(mut list: Vec<(String, &'static str, bool)>, places: usize) -> (Vec<(String, &'static str, bool)>, usize) {
    if list.len() <= places {
        return (list, 0);
    }
    let surplus = (list.len() + 1).saturating_sub(places);
    let mut left = 0;
    for wanted in [true, false] {
        while left < surplus
            && let Some(at) = list.iter().rposition(|(_, _, direct)| *direct == wanted)
        {
            list.remove(at);
            left += 1;
        }
    }
    (list, left)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_a_key_of_its_own_gives_way_first() {
        let list =
            |names: &[(&str, bool)]| names.iter().map(|(name, direct)| ((*name).to_owned(), "", *direct)).collect();
        let names = |list: &[(String, &str, bool)]| list.iter().map(|(name, ..)| name.clone()).collect::<Vec<_>>();
        let all = [("a", true), ("b", false), ("c", true), ("d", false)];
        let (kept, left) = fit(list(&all), 4);
        assert_eq!((names(&kept).len(), left), (4, 0));
        let (kept, left) = fit(list(&all), 3);
        assert_eq!((names(&kept), left), (vec!["b".to_owned(), "d".to_owned()], 2));
        let (kept, left) = fit(list(&all), 2);
        assert_eq!((names(&kept), left), (vec!["b".to_owned()], 3));
    }

    #[test]
    fn descriptions_end_where_they_explain() {
        assert_eq!(brief("Select with the keyboard: h j k l, v, y"), "Select with the keyboard");
        assert_eq!(brief("Quit"), "Quit");
    }
}
