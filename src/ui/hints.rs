//! Which keys work here: the footer, and the popup of what follows the leader.

use super::layout::is_running;
use super::paint::{Paint, cells, row};
use crate::app::Model;
use crate::app::model::Pane;
use crate::app::model::modal::{ApprovalStage, Modal};
use crate::config::keymap::Context;
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
            Modal::Approval(approval) => match approval.stage {
                ApprovalStage::Choosing if !approval.read.whole => {
                    fixed(&[("↑↓", "choose"), ("Enter", "answers"), ("PgDn", "more")])
                }
                ApprovalStage::Choosing => fixed(&[("↑↓", "choose"), ("Enter", "answers")]),
                ApprovalStage::Confirming => fixed(&[("Enter", "confirms"), ("Esc", "back")]),
                ApprovalStage::Reason(_) => fixed(&[("Enter", "denies"), ("Esc", "back")]),
                ApprovalStage::Editing(_) => fixed(&[("Enter", "shows it once more"), ("Esc", "back")]),
                ApprovalStage::ConfirmingEdit(_) => fixed(&[("Enter", "runs this instead"), ("Esc", "back")]),
            },
            Modal::Trust(trust) if trust.inert_until > model.now => Vec::new(),
            Modal::Trust(_) => fixed(&[("↑↓", "scroll"), ("y Enter", "trusts"), ("Esc", "not now")]),
            Modal::Text(_) => fixed(&[("↑↓", "scroll"), ("Esc", "close")]),
            Modal::Confirm(_) => fixed(&[("↑↓", "choose"), ("Enter", "takes it"), ("Esc", "no")]),
            Modal::Rewind(state) if state.confirm.is_some() => {
                fixed(&[("↑↓", "choose"), ("Enter", "does it"), ("Esc", if state.undo { "close" } else { "back" })])
            }
            Modal::Rewind(_) => fixed(&[("↑↓", "choose"), ("Enter", "goes on"), ("Esc", "close")]),
            Modal::Picker(_) | Modal::Sessions(_) | Modal::Question(_) => {
                fixed(&[("↑↓", "choose"), ("Enter", "takes it"), ("Esc", "close")])
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
        Pane::Conversation if model.transcript.copy_mode.is_some() => {
            return fixed(&[("hjkl", "move"), ("v", "mark"), ("y", "copy"), ("Esc", "leave")]);
        }
        Pane::Conversation => vec![("expand", "open"), ("expand-all", "all"), ("copy-cell", "copy")],
        Pane::Queue => vec![("edit-queued", "edit"), ("steer-queued", "steer"), ("drop-queued", "drop")],
        Pane::Sidebar => vec![("scroll-down", "scroll")],
        Pane::Composer => vec![("command-palette", "palette"), ("help", "keys")],
    };
    if running && model.focus != Pane::Queue && !model.processes.pane.taken_over {
        actions.push(("stop-turn", "stop"));
    } else if model.focus == Pane::Composer && model.composer.area.is_empty() {
        actions.push(("session-browser", "sessions"));
    }
    let hints = actions.into_iter().map(|(action, word)| (key_of(model, action), word));
    hints.filter(|(key, _)| !key.is_empty()).collect()
}

/// The popup over the status bar, once the leader waited: every key that may follow, from the live keymap. Whether it is
/// shown.
pub fn which_key(model: &Model, paint: &mut Paint<'_>, area: Rect) -> bool {
    let Some(chord) = model.chord.as_ref().filter(|chord| chord.shown) else { return false };
    let list = model.keymap.following(Context::Global, &chord.keys);
    let list: Vec<(String, String)> = list.into_iter().map(|(keys, action)| (keys, action.replace('-', " "))).collect();
    let key = list.iter().map(|(keys, _)| width(keys)).max().unwrap_or(1);
    let word = list.iter().map(|(_, words)| width(words)).max().unwrap_or(1);
    let column = cells(key + word + 4);
    let columns = (area.width.saturating_sub(2) / column).clamp(1, 6);
    let rows = cells(list.len()).div_ceil(columns).min(area.height.saturating_sub(4));
    // A blank row above and below.
    let place = Rect { x: area.x, y: area.bottom().saturating_sub(3 + rows), width: area.width, height: rows + 2 };
    paint.clear(place, Slot::Overlay);
    for (index, (keys, words)) in list.iter().enumerate() {
        let (line, at) = (cells(index) % rows.max(1), cells(index) / rows.max(1));
        let place = row(place, line + 1);
        let end = place.x + 2 + at * column + cells(key);
        if at >= columns || end >= place.right() {
            break;
        }
        paint.right(end, place.y, keys, paint.role(Role::Accent));
        paint.fit(end + 2, place.y, place.right().saturating_sub(end + 2), words, paint.role(Role::Text));
    }
    true
}
