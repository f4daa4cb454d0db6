//! Keys of the two modals that open by themselves: the approval and the question.

use super::approvals::{self, QUIET};
use super::edit;
use super::effect::Effect;
use super::model::Model;
use super::model::approvals::Entry;
use super::model::modal::{ApprovalChoice, ApprovalModal, ApprovalStage, Judged, Modal, QuestionModal, Read};
use crate::config::keymap::{Code, Key};
use crate::policy::{Approval, Decision, Intent};
use crate::protocol::{AgentCommand, Question};

/// Rows of a page until a frame says how many there are.
const PAGE: u16 = 5;
/// More rows than any text has; the frame says where its end is.
const END: u16 = 10_000;

/// A key for the approval modal on top.
pub fn approval_key(model: &mut Model, out: &mut Vec<Effect>, key: Key) {
    let Some(Modal::Approval(mut modal)) = model.tab.modals.pop() else { return };
    let entry = model.tab.approvals.entries.iter().find_map(|entry| match entry {
        Entry::Approval(approval) if approval.id == modal.id => Some(approval.clone()),
        _ => None,
    });
    let Some(approval) = entry else { return };
    let id = modal.id;
    let edited = matches!(modal.stage, ApprovalStage::ConfirmingEdit(..));
    modal.stray = false;
    let page = model.layout.reading.as_ref().map_or(PAGE, |reading| reading.rows.saturating_sub(1).max(1));
    let decision = match modal.stage.clone() {
        _ if read(&mut modal, key, page) => None,
        ApprovalStage::Choosing => {
            if key.code == Code::Esc {
                model.tab.modals.push(Modal::Approval(modal));
                return approvals::put_aside(model);
            }
            choose(&mut modal, &approval, key);
            None
        }
        ApprovalStage::Confirming => confirm(&mut modal, &approval, key),
        ApprovalStage::Reason(_) | ApprovalStage::Editing(_) => write(&mut modal, key),
        ApprovalStage::ConfirmingEdit(line, judged) => confirm_edit(&mut modal, line, &judged, key, model.now),
        ApprovalStage::ConfirmingYolo => {
            if key.code == Code::Enter && !key.ctrl && !key.alt {
                model.tab.modals.push(Modal::Approval(modal));
                return approvals::decide_yolo(model, out, id);
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
        approvals::decide(model, out, id, decision);
    }
}

/// A key at the question whether to run the edited line. None is typed into it: who presses `y` means the question, and would
/// allow another line than the one that was written.
fn confirm_edit(modal: &mut ApprovalModal, line: String, judged: &Judged, key: Key, now: i64) -> Option<Decision> {
    let plain = !key.ctrl && !key.alt;
    if key.code == Code::Esc {
        modal.stage = ApprovalStage::Editing(line);
        return None;
    }
    // What was on its way to the field is for nobody.
    if *judged == Judged::Waiting || modal.held_until > now {
        modal.held_until = now + QUIET;
        return None;
    }
    match key.code {
        Code::Enter if plain => {
            let open = !matches!(judged, Judged::As(preview) if approvals::is_barred(preview));
            return (open && allows(modal)).then_some(Decision::Edited(line));
        }
        Code::Char('e' | 'E') if plain => modal.stage = ApprovalStage::Editing(line),
        _ => modal.stray = edit::printable(key).is_some(),
    }
    None
}

/// A key that moves through the text to be approved.
fn read(modal: &mut ApprovalModal, key: Key, page: u16) -> bool {
    if matches!(modal.stage, ApprovalStage::Reason(_) | ApprovalStage::Editing(_)) || key.ctrl || key.alt {
        return false;
    }
    modal.scroll = match key.code {
        Code::PageUp => modal.scroll.saturating_sub(page),
        Code::PageDown => modal.scroll.saturating_add(page).min(END),
        Code::Home => 0,
        Code::End => END,
        _ => return false,
    };
    true
}

/// Whether an answer that allows may be taken: the end of what it allows was on the screen.
fn allows(modal: &mut ApprovalModal) -> bool {
    modal.read.refused = !modal.read.whole;
    modal.read.whole
}

fn choice(key: Key) -> Option<ApprovalChoice> {
    match (key.ctrl || key.alt, key.code) {
        (false, Code::Char('d' | 'D')) => Some(ApprovalChoice::Deny),
        (false, Code::Char('y' | 'Y')) => Some(ApprovalChoice::Once),
        (false, Code::Char('s' | 'S')) => Some(ApprovalChoice::Session),
        (false, Code::Char('e' | 'E')) => Some(ApprovalChoice::Edit),
        (false, Code::Char('a' | 'A')) => Some(ApprovalChoice::Always),
        _ => None,
    }
}

fn choose(modal: &mut ApprovalModal, approval: &Approval, key: Key) {
    let offered = approvals::choices(approval);
    let at = offered.iter().position(|choice| *choice == modal.selected).unwrap_or_default();
    let last = offered.len() - 1;
    if let Some(choice) = choice(key).filter(|choice| offered.contains(choice)) {
        modal.selected = choice;
        take(modal, approval);
        return;
    }
    match key.code {
        Code::Char('m' | 'M') if !key.ctrl && !key.alt && (modal.unfolded || modal.read.folded) => {
            modal.unfolded = !modal.unfolded;
        }
        Code::Up | Code::BackTab => modal.selected = offered[at.checked_sub(1).unwrap_or(last)],
        Code::Down | Code::Tab => modal.selected = offered[if at == last { 0 } else { at + 1 }],
        Code::Left => modal.selected = ApprovalChoice::Deny,
        Code::Right if matches!(modal.selected, ApprovalChoice::Deny | ApprovalChoice::Edit) => {
            modal.selected = ApprovalChoice::Once;
        }
        Code::Enter => take(modal, approval),
        // Nothing that was typed vanishes without a word.
        _ => modal.stray = edit::printable(key).is_some(),
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
            Intent::Read(_) | Intent::Edit(_) | Intent::Input { .. } | Intent::Remote { .. } | Intent::Talk => {
                ApprovalStage::Choosing
            }
        },
    };
    if modal.selected == ApprovalChoice::Deny {
        modal.cursor = 0;
    }
}

fn confirm(modal: &mut ApprovalModal, approval: &Approval, key: Key) -> Option<Decision> {
    let offers = approvals::offers(approval, modal.selected);
    // The widest answer for the session is to ask no more in it.
    let rows = offers.len() + usize::from(modal.selected == ApprovalChoice::Session);
    match key.code {
        Code::Enter if !key.ctrl && !key.alt => {
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
        Code::Tab | Code::BackTab | Code::Up | Code::Down | Code::Left | Code::Right if rows > 1 => {
            // It goes round forwards alone: one step back from the narrowest answer stands no "everything".
            let back = matches!(key.code, Code::BackTab | Code::Up | Code::Left);
            modal.offer = if back { modal.offer.saturating_sub(1) } else { (modal.offer + 1) % rows };
        }
        Code::Esc => modal.stage = ApprovalStage::Choosing,
        _ => {
            modal.stage = ApprovalStage::Choosing;
            choose(modal, approval, key);
        }
    }
    None
}

fn write(modal: &mut ApprovalModal, key: Key) -> Option<Decision> {
    let (text, editing) = match &mut modal.stage {
        ApprovalStage::Reason(text) => (text, false),
        ApprovalStage::Editing(text) => (text, true),
        ApprovalStage::Choosing
        | ApprovalStage::Confirming
        | ApprovalStage::ConfirmingEdit(..)
        | ApprovalStage::ConfirmingYolo => return None,
    };
    match key.code {
        Code::Esc => modal.stage = ApprovalStage::Choosing,
        Code::Enter if !editing => return Some(Decision::Deny { feedback: text.trim().to_owned() }),
        Code::Enter if text.trim().is_empty() => {}
        Code::Enter => modal.stage = ApprovalStage::ConfirmingEdit(std::mem::take(text), Judged::Waiting),
        _ => {
            edit::line(text, &mut modal.cursor, key);
        }
    }
    None
}

/// A key for the question modal on top.
pub fn question_key(model: &mut Model, out: &mut Vec<Effect>, key: Key) {
    let Some(Modal::Question(mut modal)) = model.tab.modals.pop() else { return };
    let entry = model.tab.approvals.entries.iter().find_map(|entry| match entry {
        Entry::Question(question) if question.id == modal.id => Some(question.clone()),
        _ => None,
    });
    let Some(question) = entry else { return };
    let id = modal.id;
    let leaves = key.code == Code::Esc && (modal.text.is_none() || question.choices.is_empty());
    let answer = if leaves { None } else { respond(&mut modal, &question, key) };
    model.tab.modals.push(Modal::Question(modal));
    if leaves {
        approvals::put_aside(model);
    } else if let Some(answer) = answer {
        approvals::answer(model, out, id, answer);
    }
}

fn respond(modal: &mut QuestionModal, question: &Question, key: Key) -> Option<String> {
    if let Some(text) = &mut modal.text {
        match key.code {
            Code::Enter if key.alt || key.shift => edit::put(text, &mut modal.cursor, '\n'),
            Code::Enter if !text.trim().is_empty() => return modal.text.take(),
            Code::Esc => modal.text = None,
            // the choices are still there while nothing is written
            Code::Up if text.is_empty() && !question.choices.is_empty() => {
                modal.text = None;
                modal.selected = question.choices.len() - 1;
            }
            _ => {
                edit::line(text, &mut modal.cursor, key);
            }
        }
        return None;
    }
    let free = question.allow_freetext || question.choices.is_empty();
    let rows = question.choices.len() + usize::from(free);
    match key.code {
        Code::Up | Code::BackTab => modal.selected = modal.selected.checked_sub(1).unwrap_or(rows - 1),
        Code::Down | Code::Tab => modal.selected = (modal.selected + 1) % rows,
        Code::Enter => match question.choices.get(modal.selected) {
            Some(choice) => return Some(choice.clone()),
            None => modal.text = Some(String::new()),
        },
        Code::Char(c) if !key.ctrl && !key.alt => {
            let digit = c.to_digit(10).and_then(|digit| (digit as usize).checked_sub(1));
            match digit.filter(|at| *at < rows) {
                Some(at) if at < question.choices.len() => return question.choices.get(at).cloned(),
                Some(at) => {
                    modal.selected = at;
                    modal.text = Some(String::new());
                }
                None if free && digit.is_none() => {
                    modal.selected = question.choices.len();
                    modal.text = Some(c.to_string());
                    modal.cursor = 1;
                }
                None => {}
            }
        }
        _ => {}
    }
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
        | Modal::Text(_)
        | Modal::Confirm(_)
        | Modal::Trust(_)
        | Modal::PolicyChanged(_)
        | Modal::Quit(_)
        | Modal::Input(_) => return false,
    }
    true
}
