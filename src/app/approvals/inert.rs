//! Modals that open by themselves take no key until the keys have been quiet: what is typed then was meant for the composer.

use crate::app::action::Action;
use crate::app::effect::Effect;
use crate::app::input::keys::Press;
use crate::app::input::{composer, edit};
use crate::app::model::Model;
use crate::app::model::layout::SMALLEST;
use crate::app::model::modal::Modal;

/// Milliseconds without a key before a modal that opened by itself takes one.
pub const INERT_MS: i64 = 400;

/// Whether the screen is too small to show a modal.
pub fn hidden(model: &Model) -> bool {
    model.size.0 < SMALLEST.0 || model.size.1 < SMALLEST.1
}

/// The screen grew large enough to show modals: their quiet begins anew.
pub fn seen_again(model: &mut Model) {
    let until = model.now + INERT_MS;
    for inert_until in model.tab.modals.iter_mut().filter_map(Modal::inert_until) {
        *inert_until = until;
    }
}

/// A key while a modal is inert: it moves the end of the quiet on, and text goes to the composer. `true`: it was.
///
/// Keys for a masked field are an exception unless the person is in the middle of a prompt: they may be the password, and
/// what the composer holds is shown and kept as a draft. What they write stands in the field, hidden, and goes nowhere
/// without an Enter after the quiet.
pub fn inert(model: &mut Model, out: &mut Vec<Effect>, press: Press) -> bool {
    let now = model.now;
    let too_small = hidden(model);
    let mid_word =
        !composer::is_empty(&model.tab.composer) && model.tab.composer.keyed_at.is_some_and(|at| now - at < INERT_MS);
    let masked = !too_small
        && !mid_word
        && matches!(model.tab.modals.last(), Some(Modal::Input(modal)) if modal.masked && modal.inert_until > now);
    let back = matches!(press.action, Some(Action::DeleteCharBack | Action::DeleteWordBack));
    if masked && (back || edit::printable(press.key).is_some()) {
        return false;
    }
    let Some(until) = model.tab.modals.last_mut().and_then(Modal::inert_until) else {
        // what cannot be seen takes no key at all
        return too_small;
    };
    if *until <= now && !too_small {
        return false;
    }
    *until = now + INERT_MS;
    if !masked {
        composer::key(model, out, press.key);
        model.tab.composer.completion = None;
    }
    true
}
