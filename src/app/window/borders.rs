//! The borders between panes: dragged with the mouse or moved with keys, kept for the life of the program.

use crate::app::model::layout::Border;
use crate::app::model::{Model, Pane};
use crate::app::terminal::pane;
use crate::protocol::Level;

/// Shares of the height that the terminal pane can take, in thousandths.
const SHARES: (u16, u16) = (100, 900);
/// What a key moves the border of the terminal pane by.
const SHARE_STEP: i16 = 50;
/// Columns of the sidebar at least.
pub const NARROWEST: u16 = 24;
/// Columns that the conversation keeps beside it.
pub const CONVERSATION: u16 = 60;
/// What a key moves the border of the sidebar by.
const COLUMNS_STEP: i16 = 4;

/// Columns of the sidebar at most, on a screen of this width, beside the conversation or over it.
pub fn widest(columns: u16) -> u16 {
    let beside = columns.saturating_sub(CONVERSATION);
    beside.max(columns * 2 / 3 * u16::from(columns < 2 * CONVERSATION)).max(NARROWEST)
}

/// The border follows the mouse.
pub fn drag(model: &mut Model, border: Border, column: u16, row: u16) {
    match border {
        Border::Terminal => {
            let (top, bottom) = model.layout.shared;
            let (all, rows) = (u32::from(bottom.saturating_sub(top)), u32::from(bottom.saturating_sub(row)));
            if all > 0 {
                // rounded up, so that rounding down gives these rows again
                set_share(model, (rows * 1000).div_ceil(all).min(1000) as u16);
            }
        }
        Border::Sidebar => {
            let sidebar = model.layout.panes.iter().find(|(pane, _)| *pane == Pane::Sidebar);
            if let Some((_, area)) = sidebar {
                set_columns(model, (area.x + area.width).saturating_sub(column));
            }
        }
    }
}

fn set_share(model: &mut Model, share: u16) {
    let share = share.clamp(SHARES.0, SHARES.1);
    let large = pane::needs_screen(model);
    let pane = &mut model.tab.processes.pane;
    if large {
        pane.large = share;
    } else {
        pane.height = share;
    }
    pane.touched = true;
}

fn set_columns(model: &mut Model, columns: u16) {
    model.tab.sidebar.width = Some(columns.clamp(NARROWEST, widest(model.size.0)));
}

/// Gives the terminal pane more rows, or fewer.
pub fn grow(model: &mut Model, by: i16) {
    let pane = &model.tab.processes.pane;
    let share = if pane::needs_screen(model) { pane.large } else { pane.height };
    set_share(model, share.saturating_add_signed(by * SHARE_STEP));
}

/// Gives the sidebar more columns, or fewer.
pub fn widen(model: &mut Model, by: i16) {
    match model.layout.panes.iter().find(|(pane, _)| *pane == Pane::Sidebar).map(|(_, area)| area.width) {
        Some(columns) => set_columns(model, columns.saturating_add_signed(by * COLUMNS_STEP)),
        None => {
            let keys = model.keymap.keys_for("toggle-sidebar");
            let how = keys.first().map(|key| format!(": {key} shows it")).unwrap_or_default();
            model.notices.add(model.now, Level::Info, format!("the sidebar is hidden{how}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::model::layout::{Area, Hit};
    use crate::app::msg::{Mouse, MouseKind, Msg};
    use crate::app::tests::{ready, script};
    use crate::app::update;

    fn shown() -> Model {
        let mut model = ready();
        model.size = (140, 45);
        model.layout.shared = (2, 42);
        model.layout.panes = vec![
            (Pane::Conversation, Area { x: 0, y: 2, width: 105, height: 27 }),
            (Pane::Terminal, Area { x: 0, y: 29, width: 105, height: 13 }),
            (Pane::Sidebar, Area { x: 105, y: 1, width: 35, height: 43 }),
        ];
        model.layout.targets = vec![
            (Area { x: 0, y: 29, width: 105, height: 1 }, Hit::Border(Border::Terminal)),
            (Area { x: 105, y: 1, width: 1, height: 43 }, Hit::Border(Border::Sidebar)),
        ];
        model
    }

    fn dragged(from: (u16, u16), to: (u16, u16)) -> Model {
        let mut model = shown();
        let at = |(column, row), kind| Msg::Mouse(Mouse { column, row, kind, shift: false });
        update(&mut model, 0, at(from, MouseKind::Press));
        update(&mut model, 0, at(to, MouseKind::Drag));
        update(&mut model, 0, at(to, MouseKind::Release));
        update(&mut model, 0, at((0, 0), MouseKind::Drag));
        model
    }

    #[test]
    fn a_border_follows_the_mouse_within_bounds() {
        for (to, share) in [((9, 22), 500), ((90, 32), 250), ((9, 0), 900), ((9, 44), 100)] {
            let model = dragged((20, 29), to);
            assert_eq!((model.tab.processes.pane.height, model.tab.sidebar.width), (share, None), "{to:?}");
            assert!(model.tab.processes.pane.touched && model.tab.focus == Pane::Composer);
        }
        for (to, columns) in [((90, 7), 50), ((110, 30), 30), ((2, 7), 80), ((139, 7), 24)] {
            let model = dragged((105, 9), to);
            assert_eq!(model.tab.sidebar.width, Some(columns), "{to:?}");
            assert_eq!(model.tab.processes.pane.height, 330);
        }
    }

    #[test]
    fn a_dragged_share_gives_the_rows_that_were_pointed_at() {
        for body in 9..200u16 {
            for rows in (body / 10 + 1)..(body * 9 / 10) {
                let mut model = shown();
                model.layout.shared = (2, 2 + body);
                drag(&mut model, Border::Terminal, 0, 2 + body - rows);
                let share = u32::from(model.tab.processes.pane.height);
                assert_eq!(u32::from(body) * share / 1000, u32::from(rows), "{rows} of {body}");
            }
        }
    }

    #[test]
    fn keys_move_the_borders() {
        let mut model = shown();
        script(&mut model, "<C-x>+<C-x>+<C-x>-");
        assert_eq!(model.tab.processes.pane.height, 380);
        script(&mut model, "<C-x><");
        assert_eq!(model.tab.sidebar.width, Some(39));
        script(&mut model, "<C-x>>");
        assert_eq!(model.tab.sidebar.width, Some(31), "by what the last frame showed");
        model.layout.panes.pop();
        script(&mut model, "<C-x><");
        assert_eq!(model.tab.sidebar.width, Some(31));
        assert!(model.notices.shown.iter().any(|notice| notice.text.contains("F7")));
    }
}
