//! Which keys work here: the footer, and the popup of what follows the leader.

use super::layout::is_running;
use super::paint::{Paint, cells, row};
use crate::app::Model;
use crate::app::model::Pane;
use crate::app::model::modal::{ApprovalStage, Modal};
use crate::config::theme::Slot;
use crate::text::Role;
use crate::text::width::width;
use ratatui::layout::Rect;

/// A key and what it does.
pub type Hint = (&'static str, &'static str);

/// What follows the leader.
const LEADER: [Hint; 12] = [
    ("p", "palette"),
    ("o", "model"),
    ("s", "sessions"),
    ("n", "next session"),
    ("t", "terminal"),
    ("b", "to the background"),
    ("q", "queue"),
    ("r", "search prompts"),
    ("u", "rewind"),
    ("i", "inbox"),
    ("h", "help"),
    ("←↑→↓", "focus a pane"),
];

/// Keys that work in this state, the most useful first.
pub fn footer(model: &Model) -> Vec<Hint> {
    if let Some(modal) = model.modals.last() {
        return match modal {
            Modal::Approval(approval) => match approval.stage {
                ApprovalStage::Choosing => vec![("↑↓", "choose"), ("Enter", "answers"), ("PgDn", "more")],
                ApprovalStage::Confirming => vec![("Enter", "confirms"), ("Esc", "back")],
                ApprovalStage::Reason(_) | ApprovalStage::Editing(_) => vec![("Enter", "sends"), ("Esc", "back")],
            },
            Modal::Text(_) => vec![("↑↓", "scroll"), ("Esc", "close")],
            Modal::Picker(_) | Modal::Sessions(_) | Modal::Question(_) | Modal::Confirm(_) => {
                vec![("↑↓", "choose"), ("Enter", "takes it"), ("Esc", "close")]
            }
            Modal::Input(_) => vec![("Enter", "sends"), ("Esc", "close")],
        };
    }
    if model.quit_armed.is_some() {
        return vec![("Ctrl-C", "again quits")];
    }
    let mut keys = match model.focus {
        Pane::Terminal if model.processes.pane.taken_over => return vec![("F9", "hand back")],
        Pane::Terminal => vec![("Enter", "take over"), ("Alt-]", "next"), ("Ctrl-T", "close")],
        Pane::Conversation => vec![("o", "open"), ("O", "all"), ("y", "copy")],
        Pane::Queue => vec![("e", "edit"), ("s", "steer"), ("x", "drop"), ("Esc", "back")],
        Pane::Sidebar => vec![("↑↓", "scroll")],
        Pane::Composer => vec![("Ctrl-P", "palette"), ("F1", "keys")],
    };
    if is_running(model) && model.focus != Pane::Queue {
        keys.push(("Esc", "stop"));
    } else if model.focus == Pane::Composer && model.composer.area.is_empty() {
        keys.push(("Ctrl-R", "sessions"));
    }
    keys
}

/// The popup over the status bar, once the leader waited.
pub fn which_key(model: &Model, paint: &mut Paint<'_>, area: Rect) {
    if !model.chord.as_ref().is_some_and(|chord| chord.shown) {
        return;
    }
    let key = LEADER.iter().map(|(key, _)| width(key)).max().unwrap_or(1);
    let word = LEADER.iter().map(|(_, word)| width(word)).max().unwrap_or(1);
    let column = cells(key + word + 5);
    let columns = (area.width / column).clamp(1, 4);
    let rows = cells(LEADER.len()).div_ceil(columns).min(area.height.saturating_sub(2));
    let place = Rect { x: area.x, y: area.bottom() - 1 - rows, width: area.width, height: rows };
    paint.clear(place, Slot::Overlay);
    for (index, (keys, words)) in LEADER.iter().enumerate() {
        let (line, at) = (cells(index) % rows.max(1), cells(index) / rows.max(1));
        let place = row(place, line);
        let x = place.x + 2 + at * column;
        paint.put(x, place.y, place.right().saturating_sub(x), keys, paint.role(Role::Accent));
        let x = x + cells(key) + 2;
        paint.put(x, place.y, place.right().saturating_sub(x), words, paint.role(Role::Text));
    }
}
