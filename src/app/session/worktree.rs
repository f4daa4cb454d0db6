//! The changes that a git worktree holds: look at them, take them into the folder of the session, drop them. Nothing of the
//! worktree goes without a yes that names what is lost.

use super::rewind::is_quiet;
use crate::app::action::Action;
use crate::app::effect::{Effect, LoadRequest};
use crate::app::input::hint;
use crate::app::input::keys::Press;
use crate::app::lists::agents;
use crate::app::model::Model;
use crate::app::model::modal::{Confirm, ConfirmThen, Modal};
use crate::app::model::transcript::CellKind;
use crate::app::model::worktree::{Busy, WorktreeModal};
use crate::app::reading::scroll;
use crate::app::window::modals::{self, Move};
use crate::protocol::{AgentCommand, ChildRow, Level, Pick, Swap, TakeOrder, Taken, TreeChanges, TreeFile, TreeHunks};
use crate::text::format::plural;

/// Lines that a page moves the hunks.
const PAGE: i32 = 10;
/// Files that the question before a worktree goes names.
const NAMED: usize = 6;

/// `/diff NAME`: of a child of this session by its name, or of any worktree by that of its folder or branch.
pub fn open(model: &mut Model, out: &mut Vec<Effect>, name: &str) {
    let name = name.trim();
    let of_child = rows(model).find(|row| row.name == name || row.name.strip_prefix("child ") == Some(name));
    match of_child.map(|row| (row.worktree.clone(), row.name.clone())) {
        Some((Some(tree), by)) => show(model, out, tree.folder, by),
        Some((None, by)) => {
            model.notices.add(model.now, Level::Info, format!("{by} has no worktree: its changes are in this folder"));
        }
        None => show(model, out, name.to_owned(), String::new()),
    }
}

/// The key: of the child in the selected entry, or of the only one that left a worktree; else the list of children.
pub fn of_children(model: &mut Model, out: &mut Vec<Effect>) {
    let selected = model.tab.transcript.selected;
    let of_cell = model.tab.transcript.cells.iter().find(|cell| Some(cell.id) == selected);
    let mut found: Vec<ChildRow> = Vec::new();
    if let Some(CellKind::Tool(tool)) = of_cell.map(|cell| &cell.kind) {
        found.extend(tool.children.iter().filter(|row| row.worktree.is_some()).cloned());
    }
    if found.is_empty() {
        found = rows(model).filter(|row| row.worktree.is_some()).cloned().collect();
    }
    match &found[..] {
        [] => {
            let text = "no child of this session has a worktree; /diff NAME looks at any other one";
            model.notices.add(model.now, Level::Info, text);
        }
        [one] => {
            let folder = one.worktree.clone().unwrap_or_default().folder;
            show(model, out, folder, one.name.clone());
        }
        _ => agents::open(model, out),
    }
}

/// Opens it for a worktree with this folder or name.
pub fn show(model: &mut Model, out: &mut Vec<Effect>, wanted: String, by: String) {
    out.push(Effect::Load(LoadRequest::TreeChanges { wanted: wanted.clone() }));
    let modal = WorktreeModal { wanted, by, busy: Busy::Looking, ..WorktreeModal::default() };
    model.tab.modals.push(Modal::Worktree(Box::new(modal)));
}

/// The children of the session in view, newest first.
fn rows(model: &Model) -> impl Iterator<Item = &ChildRow> {
    agents::children(&model.tab)
}

fn modal(model: &mut Model) -> Option<&mut WorktreeModal> {
    model.tab.modals.iter_mut().rev().find_map(|modal| {
        let Modal::Worktree(modal) = modal else { return None };
        Some(&mut **modal)
    })
}

fn close(model: &mut Model) {
    model.tab.modals.retain(|modal| !matches!(modal, Modal::Worktree(_)));
}

/// What is in it came.
pub fn listed(model: &mut Model, out: &mut Vec<Effect>, wanted: &str, found: Result<TreeChanges, String>) {
    let Some(modal) = modal(model).filter(|modal| modal.wanted == wanted) else { return };
    if modal.busy == Busy::Looking {
        modal.busy = Busy::No;
    }
    match found {
        Ok(changes) => {
            let before = modal.file().map(|file| file.path.clone());
            modal.changes = Some(changes);
            modal.problem.clear();
            let at = modal.shown().iter().position(|file| Some(&file.path) == before.as_ref());
            modal.selected = at.unwrap_or(modal.selected).min(modal.shown().len().saturating_sub(1));
            ask(model, out);
        }
        Err(problem) => (modal.problem, modal.changes, modal.hunks) = (problem, None, None),
    }
}

/// Asks for the hunks of the selected file.
fn ask(model: &mut Model, out: &mut Vec<Effect>) {
    let Some(modal) = modal(model) else { return };
    let (Some(file), Some(changes)) = (modal.file(), &modal.changes) else {
        modal.hunks = None;
        modal.in_hunks = false;
        return;
    };
    out.push(Effect::Load(LoadRequest::TreeHunks {
        folder: changes.folder.clone(),
        base: changes.base.clone(),
        path: file.path.clone(),
        from: file.from.clone(),
    }));
}

/// The hunks of a file came.
pub fn hunks(model: &mut Model, path: &str, found: Result<TreeHunks, String>) {
    let Some(modal) = modal(model) else { return };
    if modal.file().is_none_or(|file| file.path != path) {
        return;
    }
    let is_same = modal.hunks.as_ref().is_some_and(|hunks| hunks.path == path);
    modal.hunks = Some(match found {
        Ok(hunks) => hunks,
        Err(note) => TreeHunks { path: path.to_owned(), note, ..TreeHunks::default() },
    });
    if !is_same {
        (modal.hunk, modal.scroll) = (0, 0);
    }
    modal.hunk = modal.hunk.min(modal.hunks_shown().len().saturating_sub(1));
    modal.in_hunks &= !modal.hunks_shown().is_empty();
}

/// A key for the modal.
pub fn act(model: &mut Model, out: &mut Vec<Effect>, press: Press) {
    let Some(modal) = modal(model) else { return };
    let is_free = modal.busy == Busy::No;
    match press.action {
        Some(Action::Close) if modal.in_hunks => modal.in_hunks = false,
        Some(Action::Close) => close(model),
        Some(Action::Left) => modal.in_hunks = false,
        Some(Action::Right | Action::Accept) => modal.in_hunks = modal.may_enter(),
        Some(Action::Switch) => modal.in_hunks = !modal.in_hunks && modal.may_enter(),
        Some(Action::ScrollUp) => modal.scroll = scroll::shifted(modal.scroll, -PAGE),
        Some(Action::ScrollDown) => modal.scroll = scroll::shifted(modal.scroll, PAGE),
        Some(Action::TakeChange) if is_free => take_one(model, out),
        Some(Action::TakeAll) if is_free => take_all(model, out),
        Some(Action::DropChange) if is_free => drop_one(model, out),
        Some(Action::DropWorktree) if is_free => ask_drop(model),
        Some(Action::Refresh) if is_free => {
            modal.dropped.clear();
            modal.parts.clear();
            modal.left.clear();
            reload(model, out);
        }
        action => {
            if let Some(movement) = modals::movement(action) {
                step(model, out, movement);
            }
        }
    }
}

fn reload(model: &mut Model, out: &mut Vec<Effect>) {
    let Some(modal) = modal(model) else { return };
    modal.busy = Busy::Looking;
    out.push(Effect::Load(LoadRequest::TreeChanges { wanted: modal.wanted.clone() }));
}

/// Its tab is in view again: what was asked for behind it was asked by nobody.
pub fn shown_again(model: &mut Model, out: &mut Vec<Effect>) {
    if modal(model).is_some_and(|modal| modal.busy == Busy::Looking) {
        reload(model, out);
    }
}

/// Another file, or another hunk.
fn step(model: &mut Model, out: &mut Vec<Effect>, movement: Move) {
    let Some(modal) = modal(model) else { return };
    if modal.in_hunks {
        modal.hunk = modals::moved(modal.hunk, modal.hunks_shown().len(), movement);
        modal.scroll = modal.line_of(modal.hunk);
        return;
    }
    let to = modals::moved(modal.selected, modal.shown().len(), movement);
    select(model, out, to);
}

fn select(model: &mut Model, out: &mut Vec<Effect>, to: usize) {
    let Some(modal) = modal(model) else { return };
    if to != modal.selected {
        modal.selected = to;
        (modal.hunk, modal.scroll) = (0, 0);
        ask(model, out);
    }
}

/// A click on a file.
pub fn click(model: &mut Model, out: &mut Vec<Effect>, row: usize) {
    let Some(modal) = modal(model) else { return };
    if row < modal.shown().len() {
        modal.in_hunks = false;
        select(model, out, row);
    }
}

/// The wheel scrolls the hunks.
pub fn wheel(model: &mut Model, rows: i32) {
    if let Some(modal) = modal(model) {
        modal.scroll = scroll::shifted(modal.scroll, rows);
    }
}

/// Takes the selected hunk, or the selected file.
fn take_one(model: &mut Model, out: &mut Vec<Effect>) {
    let Some(modal) = modal(model) else { return };
    let Some(file) = modal.file() else { return };
    if let Some(why) = file.stuck.clone() {
        let text = format!("{} can't be taken here: {why}", file.path);
        return model.notices.add(model.now, Level::Warning, text);
    }
    let mut pick = modal.pick(file);
    if modal.in_hunks {
        let Some(swaps) = modal.hunks_shown().get(modal.hunk).map(|hunk| hunk.swaps.clone()) else { return };
        let seen = modal.hunks.as_ref().map(|hunks| hunks.seen.clone()).unwrap_or_default();
        pick.part = Some((seen, swaps));
    }
    take(model, out, vec![pick]);
}

fn take_all(model: &mut Model, out: &mut Vec<Effect>) {
    let Some(modal) = modal(model) else { return };
    let picks: Vec<Pick> = modal.open().into_iter().map(|file| modal.pick(file)).collect();
    if picks.is_empty() {
        return model.notices.add(model.now, Level::Info, "nothing left to take");
    }
    take(model, out, picks);
}

fn take(model: &mut Model, out: &mut Vec<Effect>, picks: Vec<Pick>) {
    if !is_quiet(model) {
        return;
    }
    let Some(modal) = modal(model) else { return };
    let Some(changes) = &modal.changes else { return };
    let order = TakeOrder { folder: changes.folder.clone(), base: changes.base.clone(), picks };
    modal.left.clear();
    modal.busy = Busy::Taking;
    out.push(Effect::Agent(AgentCommand::Take(Box::new(order))));
}

/// What came of it.
pub fn taken(model: &mut Model, out: &mut Vec<Effect>, taken: Taken) {
    if !taken.files.is_empty() {
        let text = match &taken.files[..] {
            [one] => format!("took {one}"),
            files => format!("took {}", plural(files.len() as u64, "file", "files")),
        };
        let undo = hint::key(model, Action::UndoCommand).map(|key| format!("; {key} undoes it")).unwrap_or_default();
        model.notices.add(model.now, Level::Info, format!("{text}{undo}"));
    }
    let Some(modal) = modal(model) else {
        // It was closed meanwhile.
        for (path, why) in taken.left {
            model.notices.add(model.now, Level::Warning, format!("{path} was not taken: {why}"));
        }
        return;
    };
    modal.left = taken.left;
    out.push(Effect::Load(LoadRequest::Files));
    reload(model, out);
}

/// Drops the selected hunk or file from the list: the worktree keeps it.
fn drop_one(model: &mut Model, out: &mut Vec<Effect>) {
    let Some(modal) = modal(model) else { return };
    let Some(path) = modal.file().map(|file| file.path.clone()) else { return };
    let whole = !modal.in_hunks || modal.hunks_shown().len() < 2;
    if !whole {
        let gone = modal.hunks_shown().get(modal.hunk).map(|hunk| hunk.swaps.clone()).unwrap_or_default();
        let kept: Vec<Swap> = modal.hunks_shown().iter().flat_map(|hunk| hunk.swaps.clone()).collect();
        let kept = kept.into_iter().filter(|swap| !gone.contains(swap)).collect();
        let seen = modal.hunks.as_ref().map(|hunks| hunks.seen.clone()).unwrap_or_default();
        modal.parts.insert(path, (seen, kept));
        modal.hunk = modal.hunk.min(modal.hunks_shown().len().saturating_sub(1));
        modal.scroll = modal.line_of(modal.hunk);
        return;
    }
    modal.dropped.insert(path);
    modal.in_hunks = false;
    modal.selected = modal.selected.min(modal.shown().len().saturating_sub(1));
    (modal.hunk, modal.scroll) = (0, 0);
    ask(model, out);
}

/// Asks before the worktree and its branch go, and names what goes with them.
fn ask_drop(model: &mut Model) {
    let Some(modal) = modal(model) else { return };
    let Some(changes) = &modal.changes else { return };
    let mut text = match &changes.stays[..] {
        [] => "Nothing in it is lost: all of it is committed and merged, pushed or on another branch.".to_owned(),
        stays => format!("This is lost for good: {}.", stays.join(", ")),
    };
    let open: Vec<&TreeFile> = changes.files.iter().filter(|file| !file.here).collect();
    if !open.is_empty() && !changes.stays.is_empty() {
        let names: Vec<&str> = open.iter().take(NAMED).map(|file| file.path.as_str()).collect();
        let more = open.len().saturating_sub(NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        text.push_str(&format!("\nNot in this folder: {}{more}.", names.join(", ")));
    }
    text.push_str(&format!("\n{} is deleted.", changes.folder));
    let what = changes.branch.clone().unwrap_or_else(|| changes.name.clone());
    let then = ConfirmThen::DropWorktree { folder: changes.folder.clone(), mark: changes.mark.clone() };
    let confirm = Confirm::new(format!("Remove the worktree and branch {what}?"), text, "Remove it", then);
    model.tab.modals.push(Modal::Confirm(confirm));
}

/// The yes.
pub fn remove(model: &mut Model, out: &mut Vec<Effect>, folder: String, mark: String) {
    if let Some(modal) = modal(model) {
        modal.busy = Busy::Dropping;
    }
    out.push(Effect::Load(LoadRequest::DropWorktree { folder, mark }));
}

/// It is gone, in words, or why not.
pub fn removed(model: &mut Model, out: &mut Vec<Effect>, folder: &str, result: Result<String, String>) {
    match result {
        Ok(text) => {
            close(model);
            for cell in &mut model.tab.transcript.cells {
                let CellKind::Tool(tool) = &mut cell.kind else { continue };
                let is_it = |row: &ChildRow| row.worktree.as_ref().is_some_and(|tree| tree.folder == folder);
                if tool.children.iter().any(is_it) {
                    tool.children.iter_mut().filter(|row| is_it(row)).for_each(|row| row.worktree = None);
                    cell.revision += 1;
                }
            }
            model.notices.add(model.now, Level::Info, text);
        }
        Err(why) => {
            model.notices.add(model.now, Level::Error, why);
            reload(model, out);
        }
    }
}

#[cfg(test)]
mod tests;
