//! Who gets a key, and where the focus can go.

use crate::app::model::modal::{ApprovalModal, ApprovalStage, Modal};
use crate::app::model::{Model, Pane};
use crate::config::keymap::Context;

/// The owner of the next key, topmost first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layer {
    Modal,
    /// All keys go to the program in the terminal pane.
    TakeOver,
    /// The popup over the composer; it passes on what it does not know.
    Completion,
    /// The keyboard moves the selection.
    CopyMode,
    /// The find bar; it passes on what it does not know.
    Find,
    Pane(Pane),
}

/// Decides who gets a key.
pub fn layer(model: &Model) -> Layer {
    if !model.tab.modals.is_empty() {
        Layer::Modal
    } else if model.tab.processes.pane.taken_over {
        Layer::TakeOver
    } else if model.tab.copy_mode.is_some() {
        Layer::CopyMode
    } else if model.tab.focus == Pane::Composer && model.tab.composer.completion.is_some() {
        Layer::Completion
    } else if model.tab.transcript.find.is_some() {
        Layer::Find
    } else {
        Layer::Pane(model.tab.focus)
    }
}

/// The keymap context of a pane.
pub fn context(pane: Pane) -> Context {
    match pane {
        Pane::Composer => Context::Composer,
        Pane::Conversation => Context::Conversation,
        Pane::Terminal => Context::Terminal,
        Pane::Sidebar => Context::Sidebar,
        Pane::Queue => Context::Queue,
    }
}

/// The keymap context of a modal.
pub fn modal_context(modal: &Modal) -> Context {
    match modal {
        Modal::Approval(ApprovalModal { stage: ApprovalStage::Reason(_) | ApprovalStage::Editing(_), .. }) => {
            Context::Field
        }
        Modal::Approval(_) => Context::Approval,
        Modal::Question(_) => Context::Question,
        Modal::Picker(_) => Context::Picker,
        Modal::Sessions(_) => Context::Sessions,
        Modal::Rewind(_) | Modal::Undo(_) => Context::Rewind,
        Modal::Worktree(_) => Context::Worktree,
        Modal::Replay(_) => Context::Replay,
        Modal::Stats(_) => Context::Stats,
        Modal::Input(_) => Context::Field,
        Modal::Text(_) | Modal::Confirm(_) | Modal::Trust(_) => Context::Modal,
        Modal::PolicyChanged(_) => Context::Policy,
        Modal::Quit(_) => Context::Quit,
        Modal::SignIn(_) => Context::SignIn,
    }
}

/// Whether letters are written into a modal, masked or not: none of them means an action there.
pub fn writes(modal: &Modal) -> bool {
    modal.has_field() || matches!(modal, Modal::Input(_))
}

/// A way to move the focus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    Left,
    Right,
    Up,
    Down,
}

/// Panes that are on the screen, in the order of Tab.
fn panes(model: &Model) -> Vec<Pane> {
    let mut panes = vec![Pane::Composer, Pane::Conversation];
    if model.tab.processes.pane.open {
        panes.push(Pane::Terminal);
    }
    if model.layout.panes.iter().any(|(pane, _)| *pane == Pane::Sidebar) {
        panes.push(Pane::Sidebar);
    }
    if !model.tab.queue.is_empty() {
        panes.push(Pane::Queue);
    }
    panes
}

/// Focuses the next pane.
pub fn next(model: &mut Model) {
    let panes = panes(model);
    let at = panes.iter().position(|pane| *pane == model.tab.focus).unwrap_or_default();
    set(model, panes[(at + 1) % panes.len()]);
}

/// Focuses the nearest pane in a direction, by what the last frame put where.
pub fn go(model: &mut Model, direction: Direction) {
    let areas = &model.layout.panes;
    let Some((_, here)) = areas.iter().find(|(pane, _)| *pane == model.tab.focus) else { return };
    let (left, top) = (i32::from(here.x), i32::from(here.y));
    let (right, bottom) = (left + i32::from(here.width), top + i32::from(here.height));
    let gap = |area: &crate::app::model::layout::Area| {
        let (x, y) = (i32::from(area.x), i32::from(area.y));
        let (end_x, end_y) = (x + i32::from(area.width), y + i32::from(area.height));
        match direction {
            Direction::Left => left - end_x,
            Direction::Right => x - right,
            Direction::Up => top - end_y,
            Direction::Down => y - bottom,
        }
    };
    let nearest = areas.iter().filter(|(pane, _)| *pane != model.tab.focus).map(|(pane, area)| (gap(area), *pane));
    // neighbours may share their border
    if let Some((_, pane)) = nearest.filter(|(gap, _)| *gap >= -1).min_by_key(|(gap, _)| *gap) {
        set(model, pane);
    }
}

/// Gives a pane the focus.
pub fn set(model: &mut Model, pane: Pane) {
    model.tab.focus = pane;
    model.tab.composer.completion = None;
    if pane == Pane::Queue {
        model.tab.queue_selected = model.tab.queue_selected.min(model.tab.queue.len().saturating_sub(1));
    }
}

/// Moves the focus away from a pane that is gone.
pub fn settle(model: &mut Model) {
    let gone = match model.tab.focus {
        Pane::Composer | Pane::Conversation | Pane::Sidebar => false,
        Pane::Terminal => !model.tab.processes.pane.open,
        Pane::Queue => model.tab.queue.is_empty(),
    };
    if gone {
        model.tab.focus = Pane::Composer;
    }
    model.tab.queue_selected = model.tab.queue_selected.min(model.tab.queue.len().saturating_sub(1));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::input::composer;
    use crate::app::model::layout::Area;
    use crate::app::tests::{model, script};

    #[test]
    fn tab_walks_the_panes_only_from_an_empty_composer() {
        let mut model = model();
        script(&mut model, "<tab>");
        assert_eq!(model.tab.focus, Pane::Conversation);
        script(&mut model, "<tab>");
        assert_eq!(model.tab.focus, Pane::Composer);
        script(&mut model, "x<tab>");
        assert_eq!(model.tab.focus, Pane::Composer);
    }

    #[test]
    fn directions_find_the_nearest_pane() {
        let mut model = model();
        let area = |x, y, width, height| Area { x, y, width, height };
        model.tab.processes.pane.open = true;
        model.layout.panes = vec![
            (Pane::Conversation, area(0, 1, 70, 20)),
            (Pane::Terminal, area(0, 21, 70, 10)),
            (Pane::Sidebar, area(70, 1, 30, 30)),
            (Pane::Composer, area(0, 32, 100, 3)),
        ];
        for (from, keys, to) in [
            (Pane::Composer, "<A-up>", Pane::Terminal),
            (Pane::Conversation, "<A-down>", Pane::Terminal),
            (Pane::Conversation, "<A-right>", Pane::Sidebar),
            (Pane::Sidebar, "<A-left>", Pane::Conversation),
            (Pane::Terminal, "<A-up>", Pane::Conversation),
            (Pane::Conversation, "<A-left>", Pane::Conversation),
        ] {
            model.tab.focus = from;
            script(&mut model, keys);
            assert_eq!(model.tab.focus, to, "{from:?} {keys}");
        }
    }

    #[test]
    fn typing_in_another_pane_goes_to_the_composer() {
        let mut model = model();
        script(&mut model, "<tab>hello");
        assert_eq!(model.tab.focus, Pane::Composer);
        assert_eq!(composer::text(&model.tab.composer), "hello");
    }
}
