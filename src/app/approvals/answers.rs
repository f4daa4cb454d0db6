//! Keys of the two modals that open by themselves: the approval and the question.

use super::choices;
use super::inert::INERT_MS;
use crate::app::action::Action;
use crate::app::approvals;
use crate::app::effect::Effect;
use crate::app::input::edit;
use crate::app::input::keys::Press;
use crate::app::model::Model;
use crate::app::model::modal::{ApprovalChoice, ApprovalModal, ApprovalStage, Judged, Modal, QuestionModal, Read};
use crate::policy::{Approval, Decision, Intent};
use crate::protocol::{AgentCommand, Question};

/// Rows of a page until a frame says how many there are.
const PAGE: u16 = 5;
/// More rows than any text has; the frame says where its end is.
const END: u16 = 10_000;

/// A key for the approval modal on top.
pub fn approval_key(model: &mut Model, out: &mut Vec<Effect>, press: Press) {
    let Some(Modal::Approval(mut modal)) = model.tab.modals.pop() else { return };
    let Some(approval) = model.tab.approvals.approval(modal.id).cloned() else { return };
    let id = modal.id;
    let edited = matches!(modal.stage, ApprovalStage::ConfirmingEdit(..));
    modal.stray = false;
    let page = model.layout.reading.as_ref().map_or(PAGE, |reading| reading.rows.saturating_sub(1).max(1));
    let decision = match modal.stage.clone() {
        _ if read(&mut modal, press.action, page) => None,
        ApprovalStage::Choosing => {
            if press.action == Some(Action::Close) {
                model.tab.modals.push(Modal::Approval(modal));
                return approvals::put_aside(model);
            }
            choose(&mut modal, &approval, press);
            None
        }
        ApprovalStage::Confirming => confirm(&mut modal, &approval, press),
        ApprovalStage::Reason(_) | ApprovalStage::Editing(_) => write(&mut modal, press),
        ApprovalStage::ConfirmingEdit(line, judged) => confirm_edit(&mut modal, line, &judged, press, model.now),
        ApprovalStage::ConfirmingYolo => {
            if press.action == Some(Action::Accept) {
                model.tab.modals.push(Modal::Approval(modal));
                return choices::decide_yolo(model, out, id);
            }
            modal.stage = ApprovalStage::Confirming;
            None
        }
    };
    if let (false, ApprovalStage::ConfirmingEdit(line, Judged::Waiting)) = (edited, &modal.stage) {
        out.push(Effect::Agent(AgentCommand::Preview(id, line.clone())));
    }
    if edited != matches!(modal.stage, ApprovalStage::ConfirmingEdit(..)) {
        // another text stands there now: what was read of the one before does not count
        modal.read = Read::default();
        modal.scroll = 0;
        model.layout.reading = None;
    }
    // the modal of an answered question goes with its entry
    model.tab.modals.push(Modal::Approval(modal));
    if let Some(decision) = decision {
        choices::decide(model, out, id, decision);
    }
}

/// A key at the question whether to run the edited line. None is typed into it: who presses `y` means the question, and would
/// allow another line than the one that was written.
fn confirm_edit(modal: &mut ApprovalModal, line: String, judged: &Judged, press: Press, now: i64) -> Option<Decision> {
    if press.action == Some(Action::Close) {
        modal.stage = ApprovalStage::Editing(line);
        return None;
    }
    // What was on its way to the field is for nobody.
    if *judged == Judged::Waiting || modal.held_until > now {
        modal.held_until = now + INERT_MS;
        return None;
    }
    match press.action {
        Some(Action::Accept) => {
            let open = !matches!(judged, Judged::As(preview) if choices::is_barred(preview));
            return (open && allows(modal)).then_some(Decision::Edited(line));
        }
        Some(Action::EditCommand) => modal.stage = ApprovalStage::Editing(line),
        _ => modal.stray = edit::printable(press.key).is_some(),
    }
    None
}

/// Moves through the text to be approved. While something is written these keys are the field's.
fn read(modal: &mut ApprovalModal, action: Option<Action>, page: u16) -> bool {
    if matches!(modal.stage, ApprovalStage::Reason(_) | ApprovalStage::Editing(_)) {
        return false;
    }
    modal.scroll = match action {
        Some(Action::ScrollUp) => modal.scroll.saturating_sub(page),
        Some(Action::ScrollDown) => modal.scroll.saturating_add(page).min(END),
        Some(Action::ToStart) => 0,
        Some(Action::ToEnd) => END,
        _ => return false,
    };
    true
}

/// Whether an answer that allows may be taken: the end of what it allows was on the screen.
fn allows(modal: &mut ApprovalModal) -> bool {
    modal.read.refused = !modal.read.whole;
    modal.read.whole
}

/// The action that names a choice.
pub fn naming(choice: ApprovalChoice) -> Action {
    match choice {
        ApprovalChoice::Deny => Action::Deny,
        ApprovalChoice::Edit => Action::EditCommand,
        ApprovalChoice::Once => Action::AllowOnce,
        ApprovalChoice::Session => Action::AllowSession,
        ApprovalChoice::Always => Action::AllowAlways,
    }
}

fn choose(modal: &mut ApprovalModal, approval: &Approval, press: Press) {
    let offered = choices::choices(approval);
    let at = offered.iter().position(|choice| *choice == modal.selected).unwrap_or_default();
    let last = offered.len() - 1;
    if let Some(choice) = offered.iter().find(|choice| press.action == Some(naming(**choice))) {
        modal.selected = *choice;
        take(modal, approval);
        return;
    }
    match press.action {
        Some(Action::Unfold) if modal.unfolded || modal.read.folded => modal.unfolded = !modal.unfolded,
        Some(Action::Previous) => modal.selected = offered[at.checked_sub(1).unwrap_or(last)],
        Some(Action::Next | Action::Switch) => modal.selected = offered[if at == last { 0 } else { at + 1 }],
        Some(Action::Left) => modal.selected = ApprovalChoice::Deny,
        Some(Action::Right) if matches!(modal.selected, ApprovalChoice::Deny | ApprovalChoice::Edit) => {
            modal.selected = ApprovalChoice::Once;
        }
        Some(Action::Accept) => take(modal, approval),
        // Nothing that was typed vanishes without a word.
        _ => modal.stray = edit::printable(press.key).is_some(),
    }
}

/// Goes to the stage that the selected choice needs; none of them answers yet.
fn take(modal: &mut ApprovalModal, approval: &Approval) {
    let allowing = matches!(modal.selected, ApprovalChoice::Once | ApprovalChoice::Session | ApprovalChoice::Always);
    if allowing && !allows(modal) {
        return;
    }
    modal.stage = match modal.selected {
        ApprovalChoice::Deny => ApprovalStage::Reason(String::new()),
        ApprovalChoice::Once | ApprovalChoice::Session | ApprovalChoice::Always => {
            modal.offer = 0;
            ApprovalStage::Confirming
        }
        ApprovalChoice::Edit => match &approval.intent {
            Intent::Command { line, .. } => {
                modal.cursor = line.chars().count();
                ApprovalStage::Editing(line.clone())
            }
            Intent::Read(_)
            | Intent::Edit(_)
            | Intent::Input { .. }
            | Intent::Remote { .. }
            | Intent::Code { .. }
            | Intent::Talk
            | Intent::Handle => ApprovalStage::Choosing,
        },
    };
    if modal.selected == ApprovalChoice::Deny {
        modal.cursor = 0;
    }
}

fn confirm(modal: &mut ApprovalModal, approval: &Approval, press: Press) -> Option<Decision> {
    let offers = choices::offers(approval, modal.selected);
    // The widest answer for the session is to ask no more in it.
    let rows = offers.len() + usize::from(modal.selected == ApprovalChoice::Session);
    match press.action {
        Some(Action::Accept) => {
            return match modal.selected {
                ApprovalChoice::Once => Some(Decision::Once),
                ApprovalChoice::Session if modal.offer >= offers.len() => {
                    modal.stage = ApprovalStage::ConfirmingYolo;
                    None
                }
                ApprovalChoice::Session | ApprovalChoice::Always => {
                    offers.get(modal.offer).map(|offer| Decision::Grant(offer.grant.clone()))
                }
                // these have stages of their own
                ApprovalChoice::Deny | ApprovalChoice::Edit => None,
            };
        }
        // It goes round forwards alone: one step back from the narrowest answer stands no "everything".
        Some(Action::Previous | Action::Left) if rows > 1 => modal.offer = modal.offer.saturating_sub(1),
        Some(Action::Next | Action::Switch | Action::Right) if rows > 1 => modal.offer = (modal.offer + 1) % rows,
        Some(Action::Close) => modal.stage = ApprovalStage::Choosing,
        _ => {
            modal.stage = ApprovalStage::Choosing;
            choose(modal, approval, press);
        }
    }
    None
}

fn write(modal: &mut ApprovalModal, press: Press) -> Option<Decision> {
    let (text, editing) = match &mut modal.stage {
        ApprovalStage::Reason(text) => (text, false),
        ApprovalStage::Editing(text) => (text, true),
        ApprovalStage::Choosing
        | ApprovalStage::Confirming
        | ApprovalStage::ConfirmingEdit(..)
        | ApprovalStage::ConfirmingYolo => return None,
    };
    match press.action {
        Some(Action::Close) => modal.stage = ApprovalStage::Choosing,
        Some(Action::Accept) if !editing => return Some(Decision::Deny { feedback: text.trim().to_owned() }),
        Some(Action::Accept) if text.trim().is_empty() => {}
        Some(Action::Accept) => {
            modal.stage = ApprovalStage::ConfirmingEdit(std::mem::take(text), Judged::Waiting);
        }
        _ => {
            edit::line(text, &mut modal.cursor, press);
        }
    }
    None
}

/// A key for the question modal on top.
pub fn question_key(model: &mut Model, out: &mut Vec<Effect>, press: Press) {
    let Some(Modal::Question(mut modal)) = model.tab.modals.pop() else { return };
    let Some(question) = model.tab.approvals.question(modal.id).cloned() else { return };
    let id = modal.id;
    let closes = press.action == Some(Action::Close);
    let leaves = closes && (modal.text.is_none() || question.choices.is_empty());
    let answer = if leaves { None } else { respond(&mut modal, &question, press) };
    model.tab.modals.push(Modal::Question(modal));
    if leaves {
        approvals::put_aside(model);
    } else if let Some(answer) = answer {
        choices::answer(model, out, id, answer);
    }
}

fn respond(modal: &mut QuestionModal, question: &Question, press: Press) -> Option<String> {
    if let Some(text) = &mut modal.text {
        match press.action {
            Some(Action::Newline) => edit::put(text, &mut modal.cursor, '\n'),
            Some(Action::Accept) if !text.trim().is_empty() => return modal.text.take(),
            Some(Action::Close) => modal.text = None,
            // the choices are still there while nothing is written
            Some(Action::Previous) if text.is_empty() && !question.choices.is_empty() => {
                modal.text = None;
                modal.selected = question.choices.len() - 1;
            }
            _ => {
                edit::line(text, &mut modal.cursor, press);
            }
        }
        return None;
    }
    let free = question.allow_freetext || question.choices.is_empty();
    let rows = question.choices.len() + usize::from(free);
    match press.action {
        Some(Action::Previous) => modal.selected = modal.selected.checked_sub(1).unwrap_or(rows - 1),
        Some(Action::Next) => modal.selected = (modal.selected + 1) % rows,
        Some(Action::Accept) => return pick(modal, question, modal.selected),
        Some(action) => {
            let at = NUMBERS.iter().position(|number| *number == action).filter(|at| *at < rows);
            return at.and_then(|at| pick(modal, question, at));
        }
        None => {
            if let Some(c) = edit::printable(press.key).filter(|_| free) {
                modal.selected = question.choices.len();
                modal.text = Some(c.to_string());
                modal.cursor = 1;
            }
        }
    }
    None
}

/// The actions that name the rows of a question.
const NUMBERS: [Action; 7] = [
    Action::Choose1,
    Action::Choose2,
    Action::Choose3,
    Action::Choose4,
    Action::Choose5,
    Action::Choose6,
    Action::Choose7,
];

/// The action that names a row of a question.
pub fn numbering(row: usize) -> Option<Action> {
    NUMBERS.get(row).copied()
}

/// Takes a row: a choice is the answer, the last one is written.
fn pick(modal: &mut QuestionModal, question: &Question, at: usize) -> Option<String> {
    if let Some(choice) = question.choices.get(at) {
        return Some(choice.clone());
    }
    modal.selected = at;
    modal.text = Some(String::new());
    None
}

/// Text pasted into a stage that is being written. `false`: the modal takes none.
pub fn paste(modal: &mut Modal, text: &str) -> bool {
    match modal {
        Modal::Approval(ApprovalModal {
            stage: ApprovalStage::Reason(field) | ApprovalStage::Editing(field),
            cursor,
            ..
        }) => edit::insert(field, cursor, text),
        Modal::Question(QuestionModal { text: Some(field), cursor, .. }) => edit::insert(field, cursor, text),
        Modal::Approval(_)
        | Modal::Question(_)
        | Modal::Picker(_)
        | Modal::Sessions(_)
        | Modal::Rewind(_)
        | Modal::Undo(_)
        | Modal::Worktree(_)
        | Modal::Replay(_)
        | Modal::Stats(_)
        | Modal::Text(_)
        | Modal::Confirm(_)
        | Modal::Trust(_)
        | Modal::PolicyChanged(_)
        | Modal::Quit(_)
        | Modal::SignIn(_)
        | Modal::Input(_) => return false,
    }
    true
}
