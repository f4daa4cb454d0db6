//! Going back: choose a prompt, see what that means, choose what is taken back. Nothing happens before the last Enter.

use super::{items, tabs, turn};
use crate::app::action::Action;
use crate::app::approvals::inert;
use crate::app::effect::{Effect, LoadRequest};
use crate::app::input::edit::Edited;
use crate::app::input::keys::Press;
use crate::app::input::{composer, drafts, edit, focus, hint, history, paste};
use crate::app::model::modal::{Confirm, ConfirmThen, Modal};
use crate::app::model::rewind::{Confirming, RewindChoice, RewindModal};
use crate::app::model::{Model, Pane};
use crate::app::reading::scroll;
use crate::app::window::modals::Move;
use crate::app::window::{modals, sidebar};
use crate::protocol::{AgentCommand, ItemId, Level, Opens, RewindOrder, RewindPoint, RewindPreview, Rewound, Theirs};
use crate::text::format::plural;
use crate::text::width::truncate_middle;

/// Rows that a page moves the preview.
const PAGE: i32 = 8;
/// Files that a question names, and cells of a name: a row each on every screen.
const NAMED: usize = 8;
const NAME: usize = 46;

/// Opens the list of prompts.
pub fn open(model: &mut Model, out: &mut Vec<Effect>) {
    show(model, out, RewindModal { loading: true, ..RewindModal::default() });
}

/// Opens it at a prompt.
pub fn open_at(model: &mut Model, out: &mut Vec<Effect>, item: ItemId) {
    show(model, out, RewindModal { loading: true, wanted: Some(item), ..RewindModal::default() });
}

/// `/undo`: the last exchange. Asks only when more than the conversation changes.
pub fn undo(model: &mut Model, out: &mut Vec<Effect>) {
    show(model, out, RewindModal { loading: true, undo: true, ..RewindModal::default() });
}

fn show(model: &mut Model, out: &mut Vec<Effect>, modal: RewindModal) {
    if is_quiet(model) {
        model.tab.modals.push(Modal::Rewind(Box::new(modal)));
        out.push(Effect::Load(LoadRequest::RewindPoints));
    }
}

/// `/redo`: takes the last undo or rewind back.
pub fn redo(model: &mut Model, out: &mut Vec<Effect>) {
    if is_quiet(model) {
        out.push(Effect::Agent(AgentCommand::Redo));
    }
}

/// Whether nothing runs; says so otherwise.
pub fn is_quiet(model: &mut Model) -> bool {
    let running = turn::is_running(model);
    if running {
        let how = hint::key(model, Action::StopTurn).map(|key| format!(" ({key})")).unwrap_or_default();
        model.notices.add(model.now, Level::Warning, format!("a turn is running: stop it first{how}"));
    }
    !running
}

fn modal(model: &mut Model) -> Option<&mut RewindModal> {
    model.tab.modals.iter_mut().rev().find_map(|modal| {
        let Modal::Rewind(modal) = modal else { return None };
        Some(&mut **modal)
    })
}

fn close(model: &mut Model) {
    model.tab.modals.retain(|modal| !matches!(modal, Modal::Rewind(_)));
}

/// The prompts came.
pub fn listed(model: &mut Model, out: &mut Vec<Effect>, points: Result<Vec<RewindPoint>, String>) {
    let Some(modal) = modal(model) else { return };
    modal.loading = false;
    let problem = match points {
        Ok(points) if points.is_empty() => "this session is empty".to_owned(),
        Ok(points) => {
            modal.points = points;
            filter(modal);
            let wanted = modal.wanted.take();
            let at = modal.matches.iter().position(|at| Some(modal.points[*at].item) == wanted);
            modal.selected = at.unwrap_or_default();
            return ask(model, out);
        }
        Err(problem) => problem,
    };
    close(model);
    model.notices.add(model.now, Level::Info, problem);
}

/// Prompts that hold the query, upper and lower case alike.
fn filter(modal: &mut RewindModal) {
    let query = modal.query.trim().to_lowercase();
    let fits = |point: &RewindPoint| query.is_empty() || point.text.to_lowercase().contains(&query);
    modal.matches = (0..modal.points.len()).filter(|at| fits(&modal.points[*at])).collect();
    modal.selected = 0;
}

/// Asks what the selected prompt would mean.
fn ask(model: &mut Model, out: &mut Vec<Effect>) {
    let Some(modal) = modal(model) else { return };
    modal.preview = None;
    modal.scroll = 0;
    modal.problem.clear();
    if let Some(point) = modal.point() {
        out.push(Effect::Load(LoadRequest::RewindPreview { item: point.item }));
    }
}

/// The preview of a prompt came.
pub fn previewed(model: &mut Model, out: &mut Vec<Effect>, item: ItemId, preview: Result<RewindPreview, String>) {
    let Some(modal) = modal(model) else { return };
    if modal.point().is_none_or(|point| point.item != item) {
        return;
    }
    match preview {
        Err(problem) if modal.undo => {
            close(model);
            model.notices.add(model.now, Level::Error, problem);
        }
        Err(problem) => modal.problem = problem,
        Ok(preview) => {
            let plain = preview.files.is_empty() && preview.commands.is_empty();
            modal.preview = Some(preview);
            if modal.undo && plain {
                let order = RewindOrder { item, conversation: true, ..RewindOrder::default() };
                close(model);
                out.push(Effect::Agent(AgentCommand::Rewind(order)));
            } else if modal.undo || modal.accepted {
                confirm(modal);
            }
        }
    }
}

/// Goes on to the choice, when it is known what would happen.
fn confirm(modal: &mut RewindModal) {
    let Some(preview) = &modal.preview else {
        modal.accepted = modal.problem.is_empty() && (modal.loading || modal.point().is_some());
        return;
    };
    modal.accepted = false;
    let selected = if preview.ready() > 0 { RewindChoice::Both } else { RewindChoice::Conversation };
    modal.confirm = Some(Confirming { selected, overwrite: false });
}

/// A key for the modal.
pub fn key(model: &mut Model, out: &mut Vec<Effect>, press: Press) {
    let Some(Modal::Rewind(modal)) = model.tab.modals.last_mut() else { return };
    match press.action {
        Some(Action::ForkSession) => fork(model, out),
        // The preview scrolls: the list is narrowed by typing.
        Some(Action::ScrollUp) => modal.scroll = scroll::shifted(modal.scroll, -PAGE),
        Some(Action::ScrollDown) => modal.scroll = scroll::shifted(modal.scroll, PAGE),
        action if modal.confirm.is_some() => choice_act(model, out, action),
        Some(Action::Close) => close(model),
        Some(Action::Accept) => confirm(modal),
        action => match modals::movement(action) {
            Some(movement) => step(model, out, movement),
            None => {
                if edit::line(&mut modal.query, &mut modal.cursor, press) == Edited::Changed {
                    typed(model, out);
                }
            }
        },
    }
}

/// A new tab with what was said before the selected prompt, which comes into its composer. This session stays as it is.
fn fork(model: &mut Model, out: &mut Vec<Effect>) {
    let item = modal(model).and_then(|modal| modal.point()).map(|point| point.item);
    if let Some((item, id)) = item.zip(drafts::key(model)) {
        close(model);
        tabs::open(model, out, Opens::ForkAt(id, item));
    }
}

/// The query changed.
pub fn typed(model: &mut Model, out: &mut Vec<Effect>) {
    let Some(Modal::Rewind(modal)) = model.tab.modals.last_mut() else { return };
    modal.accepted = false;
    filter(modal);
    ask(model, out);
}

fn choice_act(model: &mut Model, out: &mut Vec<Effect>, action: Option<Action>) {
    let Some(Modal::Rewind(modal)) = model.tab.modals.last_mut() else { return };
    let choices = modal.choices();
    let undo = modal.undo;
    let Some(confirm) = &mut modal.confirm else { return };
    let at = choices.iter().position(|choice| *choice == confirm.selected).unwrap_or_default();
    let named = action.and_then(choice).filter(|choice| choices.contains(choice));
    match (modals::movement(action), named, action) {
        (Some(movement), _, _) => confirm.selected = choices[modals::moved(at, choices.len(), movement)],
        (None, Some(RewindChoice::Overwrite), _) => confirm.overwrite = !confirm.overwrite,
        (None, Some(choice), _) => confirm.selected = choice,
        (None, None, Some(Action::Close)) if undo => close(model),
        (None, None, Some(Action::Close)) => modal.confirm = None,
        (None, None, Some(Action::Accept)) if confirm.selected == RewindChoice::Overwrite => {
            confirm.overwrite = !confirm.overwrite;
        }
        (None, None, Some(Action::Accept)) => take(model, out),
        (None, None, _) => {}
    }
}

/// The choice that an action names.
fn choice(action: Action) -> Option<RewindChoice> {
    match action {
        Action::RewindBoth => Some(RewindChoice::Both),
        Action::RewindConversation => Some(RewindChoice::Conversation),
        Action::RewindFiles => Some(RewindChoice::Files),
        Action::OverwriteFiles => Some(RewindChoice::Overwrite),
        _ => None,
    }
}

/// The choice is confirmed.
fn take(model: &mut Model, out: &mut Vec<Effect>) {
    let Some(modal) = modal(model) else { return };
    let (Some(confirm), Some(preview)) = (modal.confirm, &modal.preview) else { return };
    let (conversation, files) = match confirm.selected {
        RewindChoice::Both => (true, true),
        RewindChoice::Conversation => (true, false),
        RewindChoice::Files => (false, true),
        RewindChoice::Overwrite => return,
    };
    let theirs = if files && confirm.overwrite { Theirs::Overwrite } else { Theirs::Ask };
    let asked = RewindOrder { item: preview.item, conversation, files, theirs };
    close(model);
    order(model, out, asked);
}

/// Gives an order to go back, unless something runs.
pub fn order(model: &mut Model, out: &mut Vec<Effect>, order: RewindOrder) {
    if is_quiet(model) {
        out.push(Effect::Agent(AgentCommand::Rewind(order)));
    }
}

/// The order would touch files that somebody else changed: the person says what becomes of them, by name.
pub fn asks(model: &mut Model, asked: RewindOrder, files: &[String]) {
    let head = plural(files.len() as u64, "file was", "files were");
    let clean = |file: &String| truncate_middle(&paste::harmless(file).replace('\n', "␤"), NAME);
    let shown = files.iter().take(NAMED).map(|file| format!("\n  {}", clean(file)));
    let mut text = format!(
        "{head} changed elsewhere since; nothing has been rewound yet. /redo restores what you overwrite.{}",
        shown.collect::<String>()
    );
    if files.len() > NAMED {
        text.push_str(&format!("\n  … {} more", files.len() - NAMED));
    }
    let overwrite = ConfirmThen::Rewind(RewindOrder { theirs: Theirs::Overwrite, ..asked });
    let leave = ConfirmThen::Rewind(RewindOrder { theirs: Theirs::Leave, ..asked });
    model.tab.modals.push(Modal::Confirm(Confirm {
        no: Some(("Keep them, rewind the rest".into(), leave)),
        inert_until: model.now + inert::INERT_MS,
        ..Confirm::new("Files changed elsewhere", text, "Overwrite them too", overwrite)
    }));
}

/// Moves the selection in the list, or among the choices.
pub fn step(model: &mut Model, out: &mut Vec<Effect>, movement: Move) {
    let Some(Modal::Rewind(modal)) = model.tab.modals.last_mut() else { return };
    if modal.confirm.is_some() {
        // the wheel: the choices are taken by key
        if let Move::Rows(rows) = movement {
            modal.scroll = scroll::shifted(modal.scroll, rows);
        }
        return;
    }
    // It does not go round: beside the newest prompt stands no return to the first.
    let last = modal.matches.len().saturating_sub(1);
    let to = match movement {
        Move::Rows(rows) => scroll::shifted(modal.selected, rows).min(last),
        Move::Start | Move::End => modals::moved(modal.selected, modal.matches.len(), movement),
    };
    if to != modal.selected {
        modal.selected = to;
        modal.accepted = false;
        ask(model, out);
    }
}

/// A click selects: a row of the list, or a choice.
pub fn click(model: &mut Model, out: &mut Vec<Effect>, row: usize) {
    let Some(Modal::Rewind(modal)) = model.tab.modals.last_mut() else { return };
    let choices = modal.choices();
    match &mut modal.confirm {
        Some(confirm) => {
            if let Some(choice) = choices.get(row) {
                confirm.selected = *choice;
            }
        }
        None if row == modal.selected => confirm(modal),
        None if row < modal.matches.len() => {
            modal.selected = row;
            modal.accepted = false;
            ask(model, out);
        }
        None => {}
    }
}

/// Pasted text joins the query.
pub fn paste(model: &mut Model, out: &mut Vec<Effect>, text: &str) {
    let Some(Modal::Rewind(modal)) = model.tab.modals.last_mut() else { return };
    if modal.confirm.is_none() {
        edit::insert(&mut modal.query, &mut modal.cursor, text.trim_end());
        filter(modal);
        ask(model, out);
    }
}

/// The conversation is another one now. The prompt comes back to the composer; what stood there goes on the ring.
pub fn rewound(model: &mut Model, out: &mut Vec<Effect>, rewound: Rewound) {
    model.tab.sidebar.files.clear();
    items::opened(model, rewound.items);
    if let Some((text, images)) = rewound.prompt {
        history::chosen(model, out, &text);
        model.tab.composer.images = images;
        focus::set(model, Pane::Composer);
    }
    // A redo takes its prompt out of the composer, unless it was worked on.
    if rewound.taken.is_some_and(|taken| taken == composer::whole(&model.tab.composer)) {
        composer::clear(model);
        composer::changed(model, out);
    }
    sidebar::look_again(model, out);
    drafts::save(model, out);
}

#[cfg(test)]
mod tests;
