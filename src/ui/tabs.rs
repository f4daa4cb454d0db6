//! The tabs of the title row, and the colour that tells in which one the person writes.

use super::paint::Paint;
use crate::app::Model;
use crate::app::model::layout::{Area, Hit, Layout};
use crate::app::model::tab::{Tab, TabState};
use crate::config::theme::Slot;
use crate::text::Role;
use crate::text::width::{truncate_end, width};
use ratatui::layout::Rect;

/// Columns of a name at least, where not all have room.
const SHORTEST: usize = 6;
/// Columns of a name at most.
const LONGEST: usize = 28;
/// Columns around a name: a blank, the number, a blank, the sign, a blank, and one behind it.
const AROUND: usize = 6;
/// Columns of the count of tabs that have no room.
const HIDDEN: usize = 8;
/// The colours of tabs, by their number.
const COLOURS: [Role; 6] = [Role::Accent, Role::Good, Role::Code, Role::Careful, Role::Quote, Role::Bad];

/// The colour of a tab: of its number in the title row, and of the composer's edge while it is in view.
pub fn colour(tab: &Tab) -> Role {
    COLOURS[(tab.id.0.saturating_sub(1) % COLOURS.len() as u64) as usize]
}

/// Sign and colour of a state.
fn sign(state: TabState) -> (&'static str, Role) {
    match state {
        TabState::Idle => (" ", Role::Dim),
        TabState::Working => ("●", Role::Good),
        TabState::NeedsAnswer => ("?", Role::Careful),
        TabState::NeedsPassword => ("⌨", Role::Careful),
        TabState::Unread => ("✓", Role::Accent),
        TabState::Failed => ("✗", Role::Bad),
    }
}

/// Draws the tabs from column `x` on, `room` columns wide; returns where they end.
pub fn draw(model: &Model, paint: &mut Paint<'_>, x: u16, y: u16, room: u16, layout: &mut Layout) -> u16 {
    let tabs: Vec<&Tab> = model.tabs().collect();
    let names: Vec<String> = tabs.iter().map(|tab| tab.name()).collect();
    let widths: Vec<usize> = names.iter().map(|name| width(name).min(LONGEST)).collect();
    let room = usize::from(room);
    let most = share(&widths, room);
    // Where not even short names have room, those around the one in view are shown.
    let fits = (room.saturating_sub(HIDDEN) / (most.min(SHORTEST) + AROUND)).max(1);
    let wide: usize = widths.iter().map(|width| width.min(&most) + AROUND).sum();
    let first = if wide <= room { 0 } else { (model.at + 1).saturating_sub(fits) };
    let mut at = x;
    if first > 0 {
        at = hidden(paint, at, y, "‹", &tabs[..first]);
    }
    for (index, tab) in tabs.iter().enumerate().skip(first) {
        let name = truncate_end(&names[index], most);
        let end = usize::from(at - x) + width(&name) + AROUND;
        let rest = if index + 1 < tabs.len() && wide > room { HIDDEN } else { 0 };
        if end + rest > room {
            at = hidden(paint, at, y, "›", &tabs[index..]);
            break;
        }
        let shown = index == model.at;
        let area = Rect { x: at, y, width: (width(&name) + AROUND) as u16, height: 1 };
        if shown {
            paint.tone(area, Slot::Raised);
        }
        let (mark, role) = sign(tab.state());
        let mut column = paint.put(at + 1, y, 2, &(index + 1).to_string(), paint.role(colour(tab))) + 1;
        column = paint.put(column, y, 1, mark, paint.role(role)) + 1;
        paint.put(column, y, name.len() as u16, &name, paint.role(if shown { Role::Strong } else { Role::Dim }));
        layout.targets.push((Area { x: area.x, y, width: area.width, height: 1 }, Hit::Session(tab.id)));
        at += area.width;
    }
    at
}

/// How many tabs have no room on this side, and whether one of them waits for the user.
fn hidden(paint: &mut Paint<'_>, x: u16, y: u16, side: &str, tabs: &[&Tab]) -> u16 {
    let waits = |tab: &&&Tab| matches!(tab.state(), TabState::NeedsAnswer | TabState::NeedsPassword);
    let waiting = tabs.iter().filter(waits).count();
    let (text, style) = if waiting > 0 {
        (format!(" {side}{} {waiting}? ", tabs.len()), paint.role(Role::Careful))
    } else {
        (format!(" {side}{} ", tabs.len()), paint.slot(Slot::StatusDim))
    };
    paint.put(x, y, width(&text) as u16, &text, style)
}

/// Columns that a name may have so that all fit: short ones keep theirs, long ones share what is left.
fn share(widths: &[usize], room: usize) -> usize {
    let total = |most: usize| widths.iter().map(|width| width.min(&most) + AROUND).sum::<usize>();
    (SHORTEST..=LONGEST).rev().find(|most| total(*most) <= room).unwrap_or(SHORTEST)
}

#[cfg(test)]
mod tests {
    use super::share;

    #[test]
    fn names_share_the_room() {
        for (widths, room, most) in [(&[5, 5, 5][..], 60, 28), (&[28, 28, 5], 60, 18), (&[28; 9], 80, 6), (&[], 10, 28)]
        {
            assert_eq!(share(widths, room), most, "{widths:?} in {room}");
        }
    }
}
