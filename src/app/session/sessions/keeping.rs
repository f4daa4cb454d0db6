//! What can be done with the session that is selected in the browser: title, tags, pin, fork, archive, trash, export.

use super::browser;
use crate::app::action::{ACTIONS, Action};
use crate::app::effect::{Effect, LoadRequest};
use crate::app::input::hint;
use crate::app::lists::{pickers, tree};
use crate::app::model::Model;
use crate::app::model::modal::{
    Confirm, ConfirmThen, InputModal, InputThen, Modal, PickItem, PickerKind, SessionScope,
};
use crate::app::model::notices::About;
use crate::app::session::tabs;
use crate::config::keymap::Context;
use crate::protocol::{AgentCommand, ItemId, Level, Opens, SessionId};
use crate::store::{SessionChange, SessionRow, StoreJob, tags_of};

/// All of it, in the order of the list.
const DOES: [Action; 11] = [
    Action::Accept,
    Action::Rename,
    Action::TagSession,
    Action::PinSession,
    Action::ForkSession,
    Action::SelectedTree,
    Action::ArchiveSession,
    Action::DeleteSession,
    Action::RestoreSession,
    Action::ExportSession,
    Action::Replay,
];

/// The selected row, of a session of ours.
fn selected(model: &mut Model) -> Option<SessionRow> {
    let browser = browser(model)?;
    if browser.scope == SessionScope::Elsewhere {
        let text = "sessions of other agents are only read: take this one over first";
        model.notices.add(model.now, Level::Info, text);
        return None;
    }
    browser.rows.get(browser.selected).cloned()
}

/// Does it, when it is something that can be done with a session.
pub fn act(model: &mut Model, out: &mut Vec<Effect>, action: Action) -> bool {
    // These two are keys of the browser itself.
    let is_its = matches!(action, Action::Accept | Action::Replay);
    if is_its || (!DOES.contains(&action) && action != Action::SessionActions) {
        return false;
    }
    if action == Action::RestoreSession {
        restore(model, out);
        return true;
    }
    let Some(row) = selected(model) else { return true };
    let id = SessionId(row.id.clone());
    match action {
        Action::SessionActions => offer(model, &row),
        Action::Rename => field(model, "Title", row.title.unwrap_or_default(), "sets it", InputThen::TitleOf(id)),
        Action::TagSession => {
            field(
                model,
                "Tags, with commas or spaces between",
                row.tags.join(", "),
                "sets them",
                InputThen::TagsOf(id),
            );
        }
        Action::PinSession => {
            change(model, out, &id, SessionChange::Pinned(!row.pinned), |row| row.pinned = !row.pinned)
        }
        Action::ForkSession => fork(model, out, &row),
        Action::SelectedTree => tree::open_of(model, out, id),
        Action::ArchiveSession => archive(model, out, &row),
        Action::DeleteSession => delete(model, out, &row),
        _ => out.push(Effect::Load(LoadRequest::ExportOf { session: id })),
    }
    true
}

/// The list of what can be done, over the browser.
fn offer(model: &mut Model, row: &SessionRow) {
    let entries = DOES.iter().filter_map(|action| ACTIONS.iter().find(|entry| entry.action == *action));
    let items = entries.map(|entry| PickItem {
        label: match entry.action {
            Action::Accept => "Resume it".to_owned(),
            Action::Replay => "Replay it on a time line".to_owned(),
            Action::ForkSession => "Fork it into a new session".to_owned(),
            Action::SelectedTree => "The tree of its forks".to_owned(),
            Action::ExportSession => "Export it as Markdown".to_owned(),
            Action::PinSession if row.pinned => "Unpin it".to_owned(),
            Action::PinSession => "Pin it to the top".to_owned(),
            Action::ArchiveSession if row.archived => "Bring it back from the archive".to_owned(),
            Action::ArchiveSession => "Archive it".to_owned(),
            Action::DeleteSession if row.trashed_at.is_some() => "Delete it for good".to_owned(),
            Action::DeleteSession => "Move it to the trash".to_owned(),
            Action::Rename => "Set its title".to_owned(),
            Action::TagSession => "Set its tags".to_owned(),
            _ => "Restore it, or what you removed last".to_owned(),
        },
        hint: hint::key_in(model, Context::Sessions, entry.action).unwrap_or_default(),
        value: entry.name.to_owned(),
        ..PickItem::default()
    });
    let items = items.collect();
    pickers::open(model, PickerKind::SessionActions, super::title_of(row), items);
}

/// One of them was chosen.
pub fn chosen(model: &mut Model, out: &mut Vec<Effect>, value: &str) {
    match Action::from_name(value) {
        Some(Action::Accept) => super::accept(model, out),
        Some(Action::Replay) => super::replay_selected(model, out),
        Some(action) => drop(act(model, out, action)),
        None => {}
    }
}

fn field(model: &mut Model, title: &str, text: String, does: &str, then: InputThen) {
    model.tab.modals.push(Modal::Input(InputModal {
        title: title.into(),
        hint: hint::sentence(&[(hint::field(model, Action::Accept), does)]),
        cursor: text.chars().count(),
        text,
        masked: false,
        then,
        message: String::new(),
        busy: false,
        inert_until: 0,
    }));
}

/// The title that was written. An open session keeps its own.
pub fn named(model: &mut Model, out: &mut Vec<Effect>, id: &SessionId, text: &str) {
    let title = text.trim().to_owned();
    if is_open(model, id) {
        out.push(Effect::Of(id.clone(), AgentCommand::SetTitle(title.clone())));
        return shown(model, id, |row| row.title = Some(title));
    }
    change(model, out, id, SessionChange::Title(title.clone()), |row| row.title = Some(title));
}

/// The tags that were written.
pub fn tagged(model: &mut Model, out: &mut Vec<Effect>, id: &SessionId, text: &str) {
    let tags = tags_of(text);
    change(model, out, id, SessionChange::Tags(tags.clone()), |row| row.tags = tags);
}

fn is_open(model: &Model, id: &SessionId) -> bool {
    model.tabs().any(|tab| tab.of.as_ref() == Some(id))
}

/// The row shows a change before the store has it.
fn shown(model: &mut Model, id: &SessionId, does: impl FnOnce(&mut SessionRow)) {
    if let Some(row) = browser(model).and_then(|browser| browser.rows.iter_mut().find(|row| row.id == id.0)) {
        does(row);
    }
}

fn change(
    model: &mut Model,
    out: &mut Vec<Effect>,
    id: &SessionId,
    change: SessionChange,
    does: impl FnOnce(&mut SessionRow),
) {
    shown(model, id, does);
    out.push(Effect::Store(StoreJob::ChangeSession { session: id.clone(), change }));
}

/// The row goes, and the next one is selected.
fn goes(model: &mut Model, out: &mut Vec<Effect>, id: &SessionId, change: SessionChange, undo: Option<SessionChange>) {
    if let Some(browser) = browser(model) {
        browser.rows.retain(|row| row.id != id.0);
        browser.selected = browser.selected.min(browser.rows.len().saturating_sub(1));
        browser.undo = undo.map(|undo| (id.clone(), undo));
    }
    out.push(Effect::Store(StoreJob::ChangeSession { session: id.clone(), change }));
}

fn fork(model: &mut Model, out: &mut Vec<Effect>, row: &SessionRow) {
    let id = SessionId(row.id.clone());
    let Some(hit) = row.hit else { return forked(model, out, Opens::Fork(id)) };
    let text = "The search found an entry in the middle of it. The copy may end there, with the turn of that entry.";
    // A fork at a prompt leaves it behind: one that was found comes along with its turn.
    let after = ItemId(hit.0 + 1);
    let mut confirm = Confirm::new("Fork", text, "Up to what was found", ConfirmThen::ForkAt(id.clone(), after));
    confirm.no = Some(("All of it".into(), ConfirmThen::ForkOf(id)));
    model.tab.modals.push(Modal::Confirm(confirm));
}

/// The copy is opened; a browser that it was asked for in goes.
pub fn forked(model: &mut Model, out: &mut Vec<Effect>, opens: Opens) {
    super::leave_browser(model);
    tabs::open(model, out, opens);
}

fn archive(model: &mut Model, out: &mut Vec<Effect>, row: &SessionRow) {
    let id = SessionId(row.id.clone());
    let back = SessionChange::Archived(row.archived);
    goes(model, out, &id, SessionChange::Archived(!row.archived), Some(back));
    let what = if row.archived { "back from the archive" } else { "archived" };
    told(model, what, if row.archived { "archives it again" } else { "brings it back" });
}

fn delete(model: &mut Model, out: &mut Vec<Effect>, row: &SessionRow) {
    let id = SessionId(row.id.clone());
    if is_open(model, &id) {
        let text = "an open session cannot be deleted: close its tab first";
        return model.notices.add(model.now, Level::Info, text);
    }
    if row.trashed_at.is_some() {
        let title = super::title_of(row).to_owned();
        let then = ConfirmThen::DeleteSession(id);
        return model.tab.modals.push(Modal::Confirm(Confirm::new(
            "Delete a session",
            title,
            "Delete permanently",
            then,
        )));
    }
    goes(model, out, &id, SessionChange::Trashed(true), Some(SessionChange::Trashed(false)));
    told(model, "moved to the trash", "restores it");
}

/// What happened, and the key that undoes it.
fn told(model: &mut Model, what: &str, undoes: &str) {
    let key = hint::key_in(model, Context::Sessions, Action::RestoreSession);
    let how = key.map(|key| format!(": {key} {undoes}")).unwrap_or_default();
    model.notices.about(model.now, Level::Info, About::Kept, format!("{what}{how}"));
}

/// What is selected in the trash comes back; elsewhere what went last.
fn restore(model: &mut Model, out: &mut Vec<Effect>) {
    if let Some(row) = selected(model).filter(|row| row.trashed_at.is_some()) {
        goes(model, out, &SessionId(row.id), SessionChange::Trashed(false), None);
        return model.notices.about(model.now, Level::Info, About::Kept, "restored from the trash");
    }
    match browser(model).and_then(|browser| browser.undo.take()) {
        Some((session, change)) => {
            let text = match change {
                SessionChange::Archived(true) => "archived again",
                SessionChange::Archived(false) => "back from the archive",
                SessionChange::Trashed(_)
                | SessionChange::Title(_)
                | SessionChange::Tags(_)
                | SessionChange::Pinned(_) => "restored from the trash",
            };
            out.push(Effect::Store(StoreJob::ChangeSession { session, change }));
            model.notices.about(model.now, Level::Info, About::Kept, text);
        }
        None => model.notices.add(model.now, Level::Info, "nothing to restore: select a session in the trash"),
    }
}
