//! The keys by which fields, lists and questions know their actions: a rebound key is turned into the usual one, so that
//! each of them is written against one set of keys.

use super::action::Action;
use super::keys::{Bound, bound};
use super::model::Model;
use super::model::modal::{ApprovalModal, ApprovalStage, Modal, QuestionModal};
use crate::config::keymap::{Code, Context, Key};

const fn plain(code: Code) -> Key {
    Key { code, ctrl: false, alt: false, shift: false }
}

const fn ctrl(code: Code) -> Key {
    Key { code, ctrl: true, alt: false, shift: false }
}

const fn alt(code: Code) -> Key {
    Key { code, ctrl: false, alt: true, shift: false }
}

/// The usual key of an action of a field, a list or a question.
pub fn key(action: Action) -> Option<Key> {
    Some(match action {
        Action::LineStart => plain(Code::Home),
        Action::LineEnd => plain(Code::End),
        Action::CharLeft | Action::Left => plain(Code::Left),
        Action::CharRight | Action::Right => plain(Code::Right),
        Action::WordLeft => alt(Code::Char('b')),
        Action::WordRight => alt(Code::Char('f')),
        Action::DeleteChar => plain(Code::Delete),
        Action::DeleteCharBack => plain(Code::Backspace),
        Action::DeleteWord => alt(Code::Char('d')),
        Action::DeleteWordBack => ctrl(Code::Char('w')),
        Action::DeleteToEnd => ctrl(Code::Char('k')),
        Action::DeleteToStart => ctrl(Code::Char('u')),
        Action::Yank => ctrl(Code::Char('y')),
        Action::Accept => plain(Code::Enter),
        Action::Close => plain(Code::Esc),
        Action::Previous | Action::Up | Action::SelectPrevious => plain(Code::Up),
        Action::Next | Action::Down | Action::SelectNext => plain(Code::Down),
        Action::PageUp | Action::ScrollUp => plain(Code::PageUp),
        Action::PageDown | Action::ScrollDown => plain(Code::PageDown),
        Action::Switch | Action::Here => plain(Code::Tab),
        Action::Refresh => ctrl(Code::Char('r')),
        Action::Rename => ctrl(Code::Char('t')),
        Action::DeleteSession => plain(Code::Delete),
        Action::Yes | Action::AllowOnce => plain(Code::Char('y')),
        Action::No => plain(Code::Char('n')),
        Action::Deny => plain(Code::Char('d')),
        Action::AllowSession => plain(Code::Char('s')),
        Action::AllowAlways => plain(Code::Char('a')),
        Action::EditCommand => plain(Code::Char('e')),
        Action::Choose1 => plain(Code::Char('1')),
        Action::Choose2 => plain(Code::Char('2')),
        Action::Choose3 => plain(Code::Char('3')),
        Action::Choose4 => plain(Code::Char('4')),
        Action::Choose5 => plain(Code::Char('5')),
        Action::Choose6 => plain(Code::Char('6')),
        _ => return None,
    })
}

/// The usual key for a key in the modal on top. Keys of a text that is being written stay what they type.
pub fn in_modal(model: &Model, pressed: Key) -> Key {
    let types = super::edit::printable(pressed).is_some();
    let contexts: &[Context] = match model.tab.modals.last() {
        Some(Modal::Approval(ApprovalModal {
            stage: ApprovalStage::Reason(_) | ApprovalStage::Editing(_), ..
        }))
        | Some(Modal::Question(QuestionModal { text: Some(_), .. })) => &[Context::Field],
        Some(Modal::Approval(_)) => &[Context::Approval],
        Some(Modal::Question(_)) => &[Context::Question],
        Some(Modal::Picker(_) | Modal::Rewind(_)) if !types => &[Context::Picker, Context::Field],
        Some(Modal::Sessions(_)) if !types => &[Context::Sessions, Context::Field],
        Some(Modal::Input(_)) if !types => &[Context::Field],
        Some(Modal::Confirm(_) | Modal::Trust(_) | Modal::PolicyChanged(_)) => &[Context::Modal],
        // The quit list moves by rows and turns one over with Space: it reads its movements itself.
        Some(
            Modal::Picker(_)
            | Modal::Sessions(_)
            | Modal::Rewind(_)
            | Modal::Input(_)
            | Modal::Text(_)
            | Modal::Quit(_),
        )
        | None => return pressed,
    };
    translate(model, contexts, pressed)
}

/// The usual key for a key in these contexts; itself when it is not bound there.
pub fn translate(model: &Model, contexts: &[Context], pressed: Key) -> Key {
    match bound(model, contexts, &[pressed]) {
        Bound::Action(action) => key(action).unwrap_or(pressed),
        Bound::Prefix | Bound::None => pressed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::tests::{keys, model};
    use std::sync::Arc;

    #[test]
    fn a_rebound_key_means_the_usual_one() {
        let mut model = model();
        let mut keymap = (*model.keymap).clone();
        keymap.bindings.push(crate::config::keymap::Binding {
            context: Context::Approval,
            keys: keys("p"),
            action: "allow-once".into(),
        });
        model.keymap = Arc::new(keymap);
        assert_eq!(translate(&model, &[Context::Approval], keys("p")[0]), keys("y")[0]);
        assert_eq!(translate(&model, &[Context::Approval], keys("q")[0]), keys("q")[0]);
    }
}
