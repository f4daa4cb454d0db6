//! The card of a policy that changed on disk: what is different, and three answers of which *later* is the default.

use super::trust::Card;
use crate::app::Model;
use crate::app::action::Action;
use crate::app::approvals::policy_changed::ROWS;
use crate::app::input::hint;
use crate::app::model::layout::Layout;
use crate::app::model::modal::{PolicyChangedModal, PolicyChoice};
use crate::ui::paint::Paint;
use ratatui::layout::Rect;

/// Draws it and returns where its caret is.
pub fn draw(
    model: &Model,
    state: &PolicyChangedModal,
    paint: &mut Paint<'_>,
    area: Rect,
    layout: &mut Layout,
) -> Option<(u16, u16)> {
    let key = |action| hint::here(model, action);
    let answers = ROWS.map(|choice| {
        let (label, action) = match choice {
            PolicyChoice::Later => ("Decide later: dangerous commands ask", Action::No),
            PolicyChoice::Keep => ("Keep the old policy for this session", Action::KeepPolicy),
            PolicyChoice::Take => ("Use the new policy", Action::TakePolicy),
        };
        (label, key(action), choice == state.selected)
    });
    let marks = [key(Action::KeepPolicy), key(Action::TakePolicy)];
    let card = Card {
        title: "⚠ The policy changed on disk",
        lines: &state.lines,
        scroll: state.scroll,
        inert: state.inert_until > model.now,
        foot: hint::marks_then(&marks, key(Action::Accept)),
        answers: &answers,
    };
    card.draw(model, paint, area, layout);
    None
}
