//! Keys and pastes for the topmost modal, and the plain ones: text, yes or no, one line of input.

use super::{quitting, talk};
use crate::app::action::Action;
use crate::app::approvals::{answers, choices, inert, mode, permissions, policy_changed};
use crate::app::effect::{Effect, LoadRequest, ServerOrder};
use crate::app::input::keys::Press;
use crate::app::input::{composer, edit, hint, vi};
use crate::app::lists::{extensions, local_models, own_server, pickers, servers, sign_in};
use crate::app::model::Model;
use crate::app::model::modal::{ApprovalStage, ConfirmThen, InputModal, InputThen, Modal, TextModal};
use crate::app::reading::{find, scroll, seek};
use crate::app::session::sessions::keeping;
use crate::app::session::{replay, rewind, sessions, stats, tabs, undo, worktree};
use crate::app::terminal::{asks, taking_over};
use crate::app::{approvals, run};
use crate::config::keymap::Key;
use crate::exec::ProcessCommand;
use crate::llm::ready::title;
use crate::policy::Mode;
use crate::protocol::{AgentCommand, Opens};

/// A key while a modal is open.
pub fn key(model: &mut Model, out: &mut Vec<Effect>, key: Key) {
    let Some(modal) = model.tab.modals.last() else { return };
    let press = Press::in_modal(model, modal, key);
    let answers = matches!(modal, Modal::Approval(_) | Modal::Question(_));
    match press.action {
        // leaving for the shell answers nothing
        Some(Action::Suspend) => return run::run(model, out, Action::Suspend, ""),
        // The output that a question is about can be looked at: nothing of it is answered by that.
        Some(Action::ToggleTerminal) if matches!(modal, Modal::Approval(_)) => {
            return run::run(model, out, Action::ToggleTerminal, "");
        }
        // stopping answers nothing, so it need not wait for quiet
        Some(Action::Interrupt) => {}
        _ if inert::inert(model, out, press) => return,
        Some(Action::Inbox) if answers => return approvals::next_question(model, out),
        _ => {}
    }
    let Some(press) = vi::modal_key(model, out, press) else { return };
    if asks::key(model, out, press) {
        return;
    }
    if press.action == Some(Action::Interrupt) {
        return interrupt(model, out);
    }
    match model.tab.modals.last() {
        Some(Modal::Approval(_)) => answers::approval_key(model, out, press),
        Some(Modal::Question(_)) => answers::question_key(model, out, press),
        Some(Modal::Picker(_)) => pickers::key(model, out, press),
        Some(Modal::Sessions(_)) => sessions::key(model, out, press),
        Some(Modal::Rewind(_)) => rewind::key(model, out, press),
        Some(Modal::Undo(_)) => undo::act(model, out, press),
        Some(Modal::Worktree(_)) => worktree::act(model, out, press),
        Some(Modal::Replay(_)) => replay::act(model, out, press),
        Some(Modal::Stats(_)) => stats::act(model, out, press),
        Some(Modal::Input(_)) => input_key(model, out, press),
        Some(Modal::Text(_)) => text_act(model, press.action),
        Some(Modal::Confirm(_)) => confirm_act(model, out, press.action),
        Some(Modal::Quit(_)) => quitting::act(model, out, press.action),
        Some(Modal::PolicyChanged(_)) => policy_changed::act(model, out, press.action),
        Some(Modal::Trust(_)) => extensions::act(model, out, press.action),
        Some(Modal::SignIn(_)) => sign_in::act(model, out, press.action),
        None => {}
    }
}

/// Stops what the modal on top is about, and closes it.
fn interrupt(model: &mut Model, out: &mut Vec<Effect>) {
    match model.tab.modals.last() {
        Some(Modal::Approval(_) | Modal::Question(_)) => approvals::interrupt(model, out),
        Some(Modal::Picker(_)) => pickers::cancel(model),
        Some(
            Modal::Sessions(_)
            | Modal::Rewind(_)
            | Modal::Undo(_)
            | Modal::Worktree(_)
            | Modal::Replay(_)
            | Modal::Stats(_)
            | Modal::Text(_)
            | Modal::Confirm(_)
            | Modal::Quit(_),
        ) => {
            model.tab.modals.pop();
        }
        Some(Modal::PolicyChanged(_)) => policy_changed::put_aside(model),
        Some(Modal::Trust(_)) => extensions::put_aside(model),
        Some(Modal::Input(_)) => leave_input(model, out),
        Some(Modal::SignIn(_)) => sign_in::leave(model, out),
        None => {}
    }
}

/// Pasted text goes to the field that is open, to the program taken over, or to the composer.
pub fn paste(model: &mut Model, out: &mut Vec<Effect>, text: String) {
    if inert::hidden(model) && !model.tab.modals.is_empty() {
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
        Some(Modal::SignIn(_)) => sign_in::pasted(model, out, &text),
        Some(modal @ (Modal::Approval(_) | Modal::Question(_))) => {
            if !answers::paste(modal, &text) {
                composer::paste(model, out, text);
            }
        }
        Some(
            Modal::Undo(_)
            | Modal::Worktree(_)
            | Modal::Replay(_)
            | Modal::Stats(_)
            | Modal::Text(_)
            | Modal::Confirm(_)
            | Modal::Input(_)
            | Modal::Trust(_)
            | Modal::PolicyChanged(_)
            | Modal::Quit(_),
        ) => composer::paste(model, out, text),
        None if model.tab.processes.pane.taken_over => taking_over::paste(model, out, &text),
        None => composer::paste(model, out, text),
    }
}

/// Movements that lists and texts share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Move {
    Rows(i32),
    Start,
    End,
}

/// Rows of a page in a modal.
const PAGE: i32 = 10;

/// What an action moves in a modal.
pub fn movement(action: Option<Action>) -> Option<Move> {
    match action? {
        Action::Previous | Action::ScrollUp => Some(Move::Rows(-1)),
        Action::Next | Action::ScrollDown => Some(Move::Rows(1)),
        Action::PageUp => Some(Move::Rows(-PAGE)),
        Action::PageDown => Some(Move::Rows(PAGE)),
        Action::ToStart => Some(Move::Start),
        Action::ToEnd => Some(Move::End),
        _ => None,
    }
}

/// The first line that shows of a text of `count` lines after a movement.
pub fn scrolled(at: usize, count: usize, movement: Move) -> usize {
    let last = count.saturating_sub(1);
    match movement {
        Move::Rows(rows) => scroll::shifted(at, rows).min(last),
        Move::Start => 0,
        Move::End => last,
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

fn text_act(model: &mut Model, action: Option<Action>) {
    let Some(Modal::Text(TextModal { lines, scroll, .. })) = model.tab.modals.last_mut() else { return };
    if let Some(movement) = movement(action) {
        *scroll = scrolled(*scroll, lines.len(), movement);
    } else if matches!(action, Some(Action::Close | Action::Accept | Action::Help)) {
        model.tab.modals.pop();
    }
}

fn confirm_act(model: &mut Model, out: &mut Vec<Effect>, action: Option<Action>) {
    let Some(Modal::Confirm(confirm)) = model.tab.modals.last_mut() else { return };
    match action {
        // What scrolls a longer text chooses here.
        Some(Action::Switch | Action::ScrollUp | Action::ScrollDown | Action::PageUp | Action::PageDown) => {
            confirm.selected_yes = !confirm.selected_yes;
        }
        // A letter marks, as everywhere: another key takes what is marked.
        Some(Action::Yes) => confirm.selected_yes = true,
        Some(Action::No) => confirm.selected_yes = false,
        Some(Action::Close) => {
            model.tab.modals.pop();
        }
        Some(Action::Accept) => {
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
        ConfirmThen::Yolo => mode::set(model, out, Mode::Yolo),
        ConfirmThen::Quit => sessions::leave(model, out),
        ConfirmThen::Clear => tabs::clear(model, out),
        ConfirmThen::CloseTab => tabs::close_for_good(model, out),
        ConfirmThen::ForkOf(id) => keeping::forked(model, out, Opens::Fork(id)),
        ConfirmThen::ForkAt(id, item) => keeping::forked(model, out, Opens::ForkAt(id, item)),
        ConfirmThen::ReadSession(id) => out.push(Effect::Load(LoadRequest::ReadSession { id })),
        ConfirmThen::DeleteSession(id) => sessions::delete(model, out, id),
        ConfirmThen::KillProcess(id) => out.push(Effect::Process(ProcessCommand::Kill(id))),
        ConfirmThen::Allow(id, request) => talk::allowed(model, out, id, *request),
        ConfirmThen::Refuse(id) => talk::refused(model, out, id),
        ConfirmThen::StartServer(idle) => own_server::start(model, out, &idle),
        ConfirmThen::GetModel(name) => local_models::get(model, out, &name),
        ConfirmThen::CancelDownload { keep } => local_models::cancel(model, out, keep),
        ConfirmThen::Revoke(row) => permissions::revoke(out, *row),
        ConfirmThen::Rewind(order) => rewind::order(model, out, order),
        ConfirmThen::DropWorktree { folder, mark } => worktree::remove(model, out, folder, mark),
    }
}

fn input_key(model: &mut Model, out: &mut Vec<Effect>, press: Press) {
    let Some(Modal::Input(input)) = model.tab.modals.last_mut() else { return };
    match press.action {
        Some(Action::Close) => leave_input(model, out),
        _ if input.busy => {}
        Some(Action::Accept) => enter(model, out),
        _ => {
            if edit::line(&mut input.text, &mut input.cursor, press) == edit::Edited::Changed {
                input_changed(model);
            }
        }
    }
}

/// Closes the field on top and what waits for it.
fn leave_input(model: &mut Model, out: &mut Vec<Effect>) {
    let Some(Modal::Input(input)) = model.tab.modals.pop() else { return };
    match input.then {
        InputThen::Find => find::close(model),
        InputThen::Login(_) => out.push(Effect::Server(ServerOrder::LeaveLogin)),
        InputThen::Title
        | InputThen::TitleOf(_)
        | InputThen::TagsOf(_)
        | InputThen::Key(_)
        | InputThen::Server
        | InputThen::ServerKey(_)
        | InputThen::ServerModel(_)
        | InputThen::Ask(_)
        | InputThen::Seek => {}
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
            | Modal::Undo(_)
            | Modal::Worktree(_)
            | Modal::Replay(_)
            | Modal::Stats(_)
            | Modal::Text(_)
            | Modal::Confirm(_)
            | Modal::Trust(_)
            | Modal::Quit(_)
            | Modal::SignIn(_)
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
        | InputThen::TitleOf(_)
        | InputThen::TagsOf(_)
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
        InputThen::TitleOf(id) => {
            let (id, text) = (id.clone(), text.clone());
            model.tab.modals.pop();
            keeping::named(model, out, &id, &text);
        }
        InputThen::TagsOf(id) => {
            let (id, text) = (id.clone(), text.clone());
            model.tab.modals.pop();
            keeping::tagged(model, out, &id, &text);
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
            *message = if again { "storing…".into() } else { "testing it with one call".into() };
            let request =
                if again { LoadRequest::SaveKey { provider, key } } else { LoadRequest::TryKey { provider, key } };
            out.push(Effect::Load(request));
        }
    }
}

/// Opens the masked field for a key.
pub fn ask_key(model: &mut Model, provider: &str) {
    let name = title(provider);
    let tries = hint::field(model, Action::Accept).map(|key| format!("; {key} tries it with one call"));
    let tries = tries.unwrap_or_default();
    let offers = model.sign_ins.iter().any(|row| row.provider == provider && row.missing.is_empty());
    let without = if offers { format!(" Without a key: /login {provider}.") } else { String::new() };
    model.tab.modals.push(Modal::Input(InputModal {
        title: format!("Key for {name}"),
        hint: format!("Paste it{tries}. Nothing is sent before.{without}"),
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
        Some(Modal::Worktree(_)) => worktree::click(model, out, row),
        Some(Modal::Replay(_)) => replay::go(model, out, row),
        Some(Modal::Stats(_)) => stats::click(model, row),
        Some(Modal::Confirm(confirm)) if confirm.inert_until <= quiet => confirm.selected_yes = row == 1,
        // a click only selects
        Some(Modal::Trust(modal)) if modal.inert_until <= quiet => modal.agreed = row == 1,
        Some(Modal::PolicyChanged(modal)) if modal.inert_until <= quiet => {
            modal.selected = policy_changed::ROWS.get(row).copied().unwrap_or(modal.selected);
        }
        Some(Modal::Quit(_)) => quitting::click(model, row),
        Some(Modal::Question(question)) if question.inert_until <= quiet => question.selected = row,
        // a click only selects: an answer takes a key
        Some(Modal::Approval(modal)) if modal.inert_until <= quiet => {
            let id = modal.id;
            let choices = model.tab.approvals.approval(id).map(choices::choices);
            let choice = choices::GRID.get(row).copied();
            if let Some(choice) = choice.filter(|choice| choices.is_some_and(|choices| choices.contains(choice))) {
                modal.selected = choice;
                modal.stage = ApprovalStage::Choosing;
            }
        }
        Some(
            Modal::Approval(_)
            | Modal::Question(_)
            | Modal::Undo(_)
            | Modal::Text(_)
            | Modal::Input(_)
            | Modal::Trust(_)
            | Modal::PolicyChanged(_)
            | Modal::SignIn(_)
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
        Some(Modal::Undo(_)) => undo::wheel(model, rows),
        Some(Modal::Worktree(_)) => worktree::wheel(model, rows),
        Some(Modal::Replay(_)) => replay::wheel(model, out, rows),
        Some(Modal::Stats(_)) => stats::wheel(model, rows),
        Some(Modal::Quit(_)) => quitting::step(model, rows),
        Some(Modal::Question(_) | Modal::Confirm(_) | Modal::Input(_) | Modal::SignIn(_)) | None => {}
    }
}

/// The result of a tried or stored key, for the field that waits for it.
pub fn key_field<'a>(model: &'a mut Model, provider: &str) -> Option<&'a mut InputModal> {
    let Some(Modal::Input(input)) = model.tab.modals.last_mut() else { return None };
    (input.then == InputThen::Key(provider.to_owned())).then_some(input)
}
