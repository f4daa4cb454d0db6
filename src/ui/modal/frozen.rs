//! The card of a policy that changed on disk: what is different, and three answers of which *later* is the default.

use super::trust::Card;
use crate::app::frozen::ROWS;
use crate::app::model::layout::Layout;
use crate::app::model::modal::{FrozenChoice, FrozenModal};
use crate::ui::paint::Paint;
use ratatui::layout::Rect;

/// Draws it and returns where its caret is.
pub fn draw(
    state: &FrozenModal,
    now: i64,
    paint: &mut Paint<'_>,
    area: Rect,
    layout: &mut Layout,
) -> Option<(u16, u16)> {
    let answers = ROWS.map(|choice| {
        let (label, key) = match choice {
            FrozenChoice::Later => ("Later: what is dangerous asks", "n"),
            FrozenChoice::Keep => ("Keep the old policy for this session", "o"),
            FrozenChoice::Take => ("Take the new policy", "t"),
        };
        (label, key, choice == state.selected)
    });
    let card = Card {
        title: "⚠ The policy changed on disk",
        lines: &state.lines,
        scroll: state.scroll,
        inert: state.inert_until > now,
        foot: "o or t, then Enter",
        answers: &answers,
    };
    card.draw(paint, area, layout);
    None
}
