//! Keys and pastes for the topmost modal, and the plain ones: text, yes or no, one line of input.

use super::action::Action;
use super::effect::{Effect, LoadRequest, ServerOrder};
use super::keys::{Bound, bound};
use super::model::Model;
use super::model::modal::{ApprovalStage, ConfirmThen, InputModal, InputThen, Modal, TextModal};
use super::{
    answers, approvals, composer, edit, extensions, find, frozen, own_server, pickers, processes, quitting, rewind,
    scroll, seek, servers, sessions, usual, vi,
};
use crate::config::keymap::{Code, Context, Key};
use crate::exec::ProcessCommand;
use crate::policy::Mode;
use crate::protocol::AgentCommand;

/// A key while a modal is open.
pub fn key(model: &mut Model, out: &mut Vec<Effect>, key: Key) {
    // leaving for the shell answers nothing
    if bound(model, &[Context::Global], &[key]) == Bound::Action(Action::Suspend) {
        return super::run::run(model, out, Action::Suspend, "");
    }
    // stopping answers nothing, so it need not wait for quiet
    let interrupt = key.ctrl && key.code == Code::Char('c');
    if !interrupt && approvals::inert(model, out, key) {
        return;
    }
    if matches!(model.tab.modals.last(), Some(Modal::Approval(_) | Modal::Question(_)))
        && bound(model, &[Context::Global], &[key]) == Bound::Action(Action::Inbox)
    {
        return approvals::next_question(model, out);
    }
    let Some(key) = vi::modal_key(model, out, key) else { return };
    let key = usual::in_modal(model, key);
    if super::asks::key(model, out, key) {
        return;
    }
    match model.tab.modals.last() {
        Some(Modal::Approval(_) | Modal::Question(_)) if interrupt => approvals::interrupt(model, out),
        Some(Modal::Approval(_)) => answers::approval_key(model, out, key),
        Some(Modal::Question(_)) => answers::question_key(model, out, key),
        Some(Modal::Picker(_)) if interrupt => pickers::cancel(model),
        Some(Modal::Picker(_)) => pickers::key(model, out, key),
        Some(Modal::Sessions(_) | Modal::Rewind(_) | Modal::Text(_) | Modal::Confirm(_) | Modal::Quit(_))
            if interrupt =>
        {
            model.tab.modals.pop();
        }
        Some(Modal::Sessions(_)) => sessions::key(model, out, key),
        Some(Modal::Rewind(_)) => rewind::key(model, out, key),
        Some(Modal::Text(_)) => text_key(model, key),
        Some(Modal::Confirm(_)) => confirm_key(model, out, key),
        Some(Modal::Quit(_)) => quitting::key(model, out, key),
        Some(Modal::PolicyChanged(_)) if interrupt => frozen::put_aside(model),
        Some(Modal::PolicyChanged(_)) => frozen::key(model, out, key),
        Some(Modal::Trust(_)) if interrupt => extensions::put_aside(model),
        Some(Modal::Trust(_)) => extensions::key(model, out, key),
        Some(Modal::Input(_)) => {
            input_key(model, out, if interrupt { Key { code: Code::Esc, ctrl: false, ..key } } else { key })
        }
        None => {}
    }
}

/// Pasted text goes to the field that is open, to the program taken over, or to the composer.
pub fn paste(model: &mut Model, out: &mut Vec<Effect>, text: String) {
    if approvals::hidden(model) && !model.tab.modals.is_empty() {
        return composer::paste(model, out, text);
    }
    match model.tab.modals.last_mut() {
        Some(Modal::Input(input)) if !input.busy => {
            edit::insert(&mut input.text, &mut input.cursor, text.trim_end_matches(['\r', '\n']));
            input_changed(model);
        }
        Some(Modal::Picker(_)) => pickers::paste(model, out, &text),
        Some(Modal::Sessions(_)) => sessions::paste(model, &text),
        Some(Modal::Rewind(_)) => rewind::paste(model, out, &text),
        Some(modal @ (Modal::Approval(_) | Modal::Question(_))) => {
            if !answers::paste(modal, &text) {
                composer::paste(model, out, text);
            }
        }
        Some(
            Modal::Text(_)
            | Modal::Confirm(_)
            | Modal::Input(_)
            | Modal::Trust(_)
            | Modal::PolicyChanged(_)
            | Modal::Quit(_),
        ) => composer::paste(model, out, text),
        None if model.tab.processes.pane.taken_over => processes::paste(model, out, &text),
        None => composer::paste(model, out, text),
    }
}

/// Movements that lists and texts share, by their usual keys or the keymap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Move {
    Rows(i32),
    Start,
    End,
}

/// Rows of a page in a modal.
const PAGE: i32 = 10;

/// What a key moves in a modal.
pub fn movement(model: &Model, context: Context, key: Key) -> Option<Move> {
    // a list with a filter takes letters as text, whatever they move elsewhere
    if context == Context::Picker && edit::printable(key).is_some() {
        return None;
    }
    let plain = !key.ctrl && !key.alt;
    match key.code {
        Code::Up if plain => return Some(Move::Rows(-1)),
        Code::Down if plain => return Some(Move::Rows(1)),
        Code::PageUp if plain => return Some(Move::Rows(-PAGE)),
        Code::PageDown if plain => return Some(Move::Rows(PAGE)),
        Code::Char('p') if key.ctrl => return Some(Move::Rows(-1)),
        Code::Char('n') if key.ctrl => return Some(Move::Rows(1)),
        _ => {}
    }
    // Letters are text where a list has a filter: there only the list's own keys may take them.
    let is_text = context == Context::Picker && plain && matches!(key.code, Code::Char(_));
    let contexts = if is_text { &[context][..] } else { &[context, Context::Modal] };
    let Bound::Action(action) = bound(model, contexts, &[key]) else { return None };
    match action {
        Action::SelectPrevious | Action::ScrollUp => Some(Move::Rows(-1)),
        Action::SelectNext | Action::ScrollDown => Some(Move::Rows(1)),
        Action::PageUp => Some(Move::Rows(-PAGE)),
        Action::PageDown => Some(Move::Rows(PAGE)),
        Action::ToStart => Some(Move::Start),
        Action::ToEnd => Some(Move::End),
        _ => None,
    }
}

/// A position in a list of `count` rows after a movement.
pub fn moved(at: usize, count: usize, movement: Move) -> usize {
    let last = count.saturating_sub(1);
    match movement {
        // single steps go round
        Move::Rows(1) if at >= last => 0,
        Move::Rows(-1) if at == 0 => last,
        Move::Rows(rows) => scroll::shifted(at, rows).min(last),
        Move::Start => 0,
        Move::End => last,
    }
}

fn text_key(model: &mut Model, key: Key) {
    let movement = movement(model, Context::Modal, key);
    let Some(Modal::Text(TextModal { lines, scroll, .. })) = model.tab.modals.last_mut() else { return };
    let last = lines.len().saturating_sub(1);
    match (movement, key.code) {
        (Some(Move::Rows(rows)), _) => *scroll = super::scroll::shifted(*scroll, rows).min(last),
        (Some(Move::Start), _) | (None, Code::Home | Code::Char('g')) => *scroll = 0,
        (Some(Move::End), _) | (None, Code::End | Code::Char('G')) => *scroll = last,
        (None, Code::Char('j')) => *scroll = (*scroll + 1).min(last),
        (None, Code::Char('k')) => *scroll = scroll.saturating_sub(1),
        (None, Code::Char(' ')) => *scroll = super::scroll::shifted(*scroll, PAGE).min(last),
        (None, Code::Esc | Code::Enter | Code::Char('q') | Code::F(1)) => {
            model.tab.modals.pop();
        }
        (None, _) => {}
    }
}

fn confirm_key(model: &mut Model, out: &mut Vec<Effect>, key: Key) {
    let Some(Modal::Confirm(confirm)) = model.tab.modals.last_mut() else { return };
    match key.code {
        // What scrolls a longer text (arrows, j and k) chooses here.
        Code::Left
        | Code::Right
        | Code::Up
        | Code::Down
        | Code::PageUp
        | Code::PageDown
        | Code::Tab
        | Code::BackTab => {
            confirm.selected_yes = !confirm.selected_yes;
        }
        // A letter marks, as everywhere: Enter takes what is marked.
        Code::Char('y' | 'Y') if !key.ctrl && !key.alt => confirm.selected_yes = true,
        Code::Char('n' | 'N') if !key.ctrl && !key.alt => confirm.selected_yes = false,
        Code::Esc => {
            model.tab.modals.pop();
        }
        Code::Enter => {
            let yes = confirm.selected_yes;
            answer(model, out, yes);
        }
        _ => {}
    }
}

/// The question of yes or no on top is answered.
fn answer(model: &mut Model, out: &mut Vec<Effect>, yes: bool) {
    let Some(Modal::Confirm(confirm)) = model.tab.modals.pop() else { return };
    let then = if yes { Some(confirm.then) } else { confirm.no.map(|(_, then)| then) };
    if let Some(then) = then {
        confirmed(model, out, then);
    }
}

fn confirmed(model: &mut Model, out: &mut Vec<Effect>, then: ConfirmThen) {
    match then {
        ConfirmThen::Yolo => approvals::set_mode(model, out, Mode::Off),
        ConfirmThen::Quit => sessions::leave(model, out),
        ConfirmThen::Clear => super::tabs::clear(model, out),
        ConfirmThen::CloseTab => super::tabs::close_for_good(model, out),
        ConfirmThen::ForkOf(id) => super::tabs::open(model, out, crate::protocol::Opens::Fork(id)),
        ConfirmThen::ReadSession(id) => out.push(Effect::Load(LoadRequest::ReadSession { id })),
        ConfirmThen::DeleteSession(id) => sessions::delete(model, out, id),
        ConfirmThen::KillProcess(id) => out.push(Effect::Process(ProcessCommand::Kill(id))),
        ConfirmThen::Revoke(row) => super::permissions::revoke(out, *row),
        ConfirmThen::Rewind(order) => rewind::order(model, out, order),
    }
}

fn input_key(model: &mut Model, out: &mut Vec<Effect>, key: Key) {
    let Some(Modal::Input(input)) = model.tab.modals.last_mut() else { return };
    match key.code {
        Code::Esc => {
            let then = input.then.clone();
            model.tab.modals.pop();
            match then {
                InputThen::Find => find::close(model),
                InputThen::Login(_) => out.push(Effect::Server(ServerOrder::LeaveLogin)),
                InputThen::Title
                | InputThen::Key(_)
                | InputThen::Server
                | InputThen::ServerKey(_)
                | InputThen::ServerModel(_)
                | InputThen::Ask(_)
                | InputThen::Seek => {}
            }
        }
        Code::Enter if !input.busy => enter(model, out),
        _ if input.busy => {}
        _ => {
            if edit::line(&mut input.text, &mut input.cursor, key) == edit::Edited::Changed {
                input_changed(model);
            }
        }
    }
}

/// The text of the field on top was changed.
pub fn typed(model: &mut Model, out: &mut Vec<Effect>) {
    match model.tab.modals.last() {
        Some(Modal::Picker(_)) => pickers::typed(model, out),
        Some(Modal::Sessions(_)) => sessions::typed(model),
        Some(Modal::Rewind(_)) => rewind::typed(model, out),
        Some(Modal::Input(_)) => input_changed(model),
        Some(
            Modal::Approval(_)
            | Modal::Question(_)
            | Modal::Text(_)
            | Modal::Confirm(_)
            | Modal::Trust(_)
            | Modal::Quit(_)
            | Modal::PolicyChanged(_),
        )
        | None => {}
    }
}

fn input_changed(model: &mut Model) {
    let Some(Modal::Input(input)) = model.tab.modals.last_mut() else { return };
    match input.then {
        // The address stays in view.
        InputThen::Login(_) | InputThen::Ask(_) => {}
        InputThen::Title
        | InputThen::Key(_)
        | InputThen::Server
        | InputThen::ServerKey(_)
        | InputThen::ServerModel(_)
        | InputThen::Seek => input.message.clear(),
        InputThen::Find => {
            input.message.clear();
            let query = input.text.clone();
            find::query(model, &query);
        }
    }
}

fn enter(model: &mut Model, out: &mut Vec<Effect>) {
    let Some(Modal::Input(InputModal { text, then, message, busy, .. })) = model.tab.modals.last_mut() else { return };
    match then {
        InputThen::Title => {
            let title = text.trim().to_owned();
            model.tab.modals.pop();
            if !title.is_empty() {
                out.push(Effect::Agent(AgentCommand::SetTitle(title)));
            }
        }
        InputThen::Find => {
            model.tab.modals.pop();
            find::done(model);
        }
        // It is answered where its keys are taken.
        InputThen::Ask(_) => {}
        InputThen::Seek => {
            let words = text.clone();
            model.tab.modals.pop();
            seek::begin(model, out, words);
        }
        InputThen::Login(_) => servers::pasted(model, out),
        InputThen::Server | InputThen::ServerKey(_) | InputThen::ServerModel(_) => own_server::entered(model, out),
        InputThen::Key(_) if text.trim().is_empty() => *message = "paste the key first".into(),
        InputThen::Key(provider) => {
            let (provider, key) = (provider.clone(), text.trim().to_owned());
            // a failed try was shown; Enter again means it
            let again = !message.is_empty();
            *busy = true;
            *message = if again { "storing it".into() } else { "trying it with one call".into() };
            let request =
                if again { LoadRequest::SaveKey { provider, key } } else { LoadRequest::TryKey { provider, key } };
            out.push(Effect::Load(request));
        }
    }
}

/// Opens the masked field for a key.
pub fn ask_key(model: &mut Model, provider: &str) {
    let name = model.first_run.as_ref().map_or(provider, |card| card.name(provider)).to_owned();
    model.tab.modals.push(Modal::Input(InputModal {
        title: format!("Key for {name}"),
        hint: "Paste it; Enter tries it with one call. Nothing is sent before.".into(),
        text: String::new(),
        cursor: 0,
        masked: true,
        then: InputThen::Key(provider.to_owned()),
        message: String::new(),
        busy: false,
        inert_until: 0,
    }));
}

/// A click on a row of the topmost modal.
pub fn click(model: &mut Model, out: &mut Vec<Effect>, row: usize) {
    let quiet = model.now;
    match model.tab.modals.last_mut() {
        Some(Modal::Picker(_)) => pickers::click(model, out, row),
        Some(Modal::Sessions(_)) => sessions::click(model, out, row),
        Some(Modal::Rewind(_)) => rewind::click(model, out, row),
        Some(Modal::Confirm(confirm)) if confirm.inert_until <= quiet => confirm.selected_yes = row == 1,
        // a click only selects
        Some(Modal::Trust(modal)) if modal.inert_until <= quiet => modal.agreed = row == 1,
        Some(Modal::PolicyChanged(modal)) if modal.inert_until <= quiet => {
            modal.selected = frozen::ROWS.get(row).copied().unwrap_or(modal.selected);
        }
        Some(Modal::Quit(_)) => quitting::click(model, row),
        Some(Modal::Question(question)) if question.inert_until <= quiet => question.selected = row,
        // a click only selects: an answer takes a key
        Some(Modal::Approval(modal)) if modal.inert_until <= quiet => {
            let id = modal.id;
            let choices = model.tab.approvals.entries.iter().find_map(|entry| match entry {
                super::model::approvals::Entry::Approval(approval) if approval.id == id => {
                    Some(approvals::choices(approval))
                }
                _ => None,
            });
            let choice = approvals::GRID.get(row).copied();
            if let Some(choice) = choice.filter(|choice| choices.is_some_and(|choices| choices.contains(choice))) {
                modal.selected = choice;
                modal.stage = ApprovalStage::Choosing;
            }
        }
        Some(
            Modal::Approval(_)
            | Modal::Question(_)
            | Modal::Text(_)
            | Modal::Input(_)
            | Modal::Trust(_)
            | Modal::PolicyChanged(_)
            | Modal::Confirm(_),
        )
        | None => {}
    }
}

/// A frame was drawn: where the text of the topmost modal came to rest.
pub fn drawn(model: &mut Model) {
    let scroll = model.tab.modals.last_mut().and_then(Modal::scroll);
    if let Some((scroll, rest)) = scroll.zip(model.layout.rest) {
        *scroll = rest;
    }
}

/// The wheel over a modal.
pub fn wheel(model: &mut Model, out: &mut Vec<Effect>, rows: i32) {
    match model.tab.modals.last_mut() {
        Some(Modal::Text(text)) => {
            text.scroll = scroll::shifted(text.scroll, rows).min(text.lines.len().saturating_sub(1));
        }
        Some(Modal::Approval(modal)) => {
            modal.scroll = scroll::shifted(usize::from(modal.scroll), rows).min(10_000) as u16;
        }
        Some(Modal::PolicyChanged(modal)) => {
            modal.scroll = scroll::shifted(modal.scroll, rows).min(modal.lines.len().saturating_sub(1));
        }
        Some(Modal::Trust(modal)) => {
            modal.scroll = scroll::shifted(modal.scroll, rows).min(modal.lines.len().saturating_sub(1));
        }
        Some(Modal::Picker(_)) => pickers::step(model, out, Move::Rows(rows * 2)),
        Some(Modal::Sessions(_)) => sessions::step(model, out, Move::Rows(rows * 2)),
        Some(Modal::Rewind(_)) => rewind::step(model, out, Move::Rows(rows * 2)),
        Some(Modal::Quit(_)) => quitting::step(model, rows),
        Some(Modal::Question(_) | Modal::Confirm(_) | Modal::Input(_)) | None => {}
    }
}

/// The result of a tried or stored key, for the field that waits for it.
pub fn key_field<'a>(model: &'a mut Model, provider: &str) -> Option<&'a mut InputModal> {
    match model.tab.modals.last_mut() {
        Some(Modal::Input(input)) if input.then == InputThen::Key(provider.to_owned()) => Some(input),
        _ => None,
    }
}
