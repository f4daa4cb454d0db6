//! Two sessions in one checkout: before the second one's first prompt, a card offers to go on, to work in a worktree, or to
//! change nothing. A window asks once about a checkout.

use super::{tabs, turn};
use crate::app::approvals::mode;
use crate::app::effect::{Effect, LoadRequest};
use crate::app::input::composer;
use crate::app::lists::pickers;
use crate::app::model::Model;
use crate::app::model::modal::{PickItem, PickerKind};
use crate::app::model::tab::Neighbours;
use crate::protocol::Level;

/// The values of the rows.
const GO_ON: &str = "go-on";
const WORKTREE: &str = "worktree";
const READ_ONLY: &str = "read-only";

/// Asks who else works in the checkout of a session in which nothing was said yet.
pub fn look(model: &Model, out: &mut Vec<Effect>) {
    if model.tab.session.is_some() && model.tab.transcript.cells.is_empty() {
        out.push(Effect::Load(LoadRequest::Neighbours));
    }
}

/// Who else works there.
pub fn found(model: &mut Model, neighbours: Option<Neighbours>) {
    model.tab.neighbours = neighbours.filter(|found| !found.names.is_empty());
}

/// Before the first prompt: whether the card is shown instead of sending it.
pub fn asks(model: &mut Model) -> bool {
    if !model.tab.transcript.cells.is_empty() {
        return false;
    }
    let Some(found) = &model.tab.neighbours else { return false };
    if model.shared_checkouts.contains(&found.checkout) {
        return false;
    }
    let who = match &found.names[..] {
        [one] => format!("“{one}” works"),
        names => format!("{} other sessions work", names.len()),
    };
    let item = |label: &str, detail: &str, value: &str| PickItem {
        label: label.into(),
        detail: detail.into(),
        value: value.into(),
        ..PickItem::default()
    };
    let items = vec![
        item("Go on here", "both change the same files", GO_ON),
        item("Work in a worktree", "a new branch from the last commit, in a folder next to this one", WORKTREE),
        item("Change nothing", "plan mode: reads and proposes", READ_ONLY),
    ];
    let title = format!("{who} in {} too", model.shown_folder(&found.checkout));
    pickers::open(model, PickerKind::Checkout, &title, items);
    true
}

/// A row of the card was taken.
pub fn chosen(model: &mut Model, out: &mut Vec<Effect>, value: &str) {
    let Some(found) = model.tab.neighbours.take() else { return };
    match value {
        WORKTREE => {
            model.notices.add(model.now, Level::Info, "making a worktree");
            out.push(Effect::Load(LoadRequest::Worktree { checkout: found.checkout }));
        }
        READ_ONLY => {
            mode::choose(model, out, "plan");
            turn::enter(model, out);
        }
        _ => {
            model.shared_checkouts.push(found.checkout);
            turn::enter(model, out);
        }
    }
}

/// The worktree is there, or why not: the session begins anew in it, with what was typed.
pub fn made(model: &mut Model, out: &mut Vec<Effect>, result: Result<(String, String), String>) {
    match result {
        Ok((folder, branch)) => {
            let typed = std::mem::take(&mut model.tab.composer.area);
            tabs::open_in(model, out, folder.clone());
            model.tab.composer.area = typed;
            composer::changed(model, out);
            let text = format!("works in {} on branch {branch}; send when ready", model.shown_folder(&folder));
            model.notices.add(model.now, Level::Info, text);
        }
        Err(why) => model.notices.add(model.now, Level::Error, format!("no worktree: {why}")),
    }
}
