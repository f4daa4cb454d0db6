//! The view: what the screen shows for a state. It changes only its cache, and returns a layout that says what is where.

mod banner;
mod cache;
mod cells;
mod chrome;
mod composer;
mod flat;
mod hints;
mod layout;
mod live;
mod modal;
mod notices;
mod paint;
mod select;
mod sidebar;
mod tabs;
mod terminal;
#[cfg(test)]
mod tests;
mod transcript;

pub use cache::{Counters, ViewCache};

use crate::app::Model;
use crate::app::model::layout::{Area, Layout};
use crate::app::model::modal::Modal;
use crate::config::theme::Slot;
use layout::Mode;
use paint::Paint;
use ratatui::Frame;
use ratatui::layout::Rect;

/// Draws a state and says what was put where. An unchanged state lays nothing out again.
pub fn draw(model: &Model, cache: &mut ViewCache, frame: &mut Frame) -> Layout {
    let area = frame.area();
    let mut layout = Layout { position: model.tab.transcript.position, ..Layout::default() };
    if area.is_empty() {
        return layout;
    }
    cache.begin(&model.look);
    let mut cursor = None;
    {
        let mut paint = Paint::new(frame.buffer_mut(), &model.look.theme);
        paint.tone(area, Slot::Base);
        let mode = layout::mode(area);
        if mode == Mode::Tiny {
            chrome::too_small(model, &mut paint, area);
        } else {
            cursor = screen(model, cache, &mut paint, area, mode, &mut layout);
        }
    }
    if let Some((x, y)) = cursor.filter(|(x, y)| *x < area.right() && *y < area.bottom()) {
        frame.set_cursor_position((x, y));
    }
    cache.end();
    layout
}

/// Draws everything and returns where the terminal's cursor belongs.
fn screen(
    model: &Model,
    cache: &mut ViewCache,
    paint: &mut Paint<'_>,
    area: Rect,
    mode: Mode,
    layout: &mut Layout,
) -> Option<(u16, u16)> {
    let field = composer::measure(model, cache, layout::column(model, area, mode).width);
    let mut places = layout::arrange(model, area, mode, field.rows);
    let place = model.tab.modals.last().map(|top| modal_place(model, top, area, mode, places.status));
    let docked = match (model.tab.modals.last(), place) {
        (Some(top), Some(place)) => layout::dock(&mut places, modal::docks(model, top, place)),
        _ => false,
    };
    layout.shared = places.shared;
    layout.docked = docked;
    chrome::title(model, paint, places.title, layout);
    chrome::strip(model, paint, places.strip);
    banner::draw(model, paint, places.banner);
    let mut cursor = None;
    if !places.conversation.is_empty() {
        layout.panes.push((crate::app::model::Pane::Conversation, to_area(places.conversation)));
        cursor = transcript::draw(model, cache, paint, places.conversation, layout);
    }
    if let Some(place) = places.terminal {
        cursor = terminal::draw(model, paint, place, layout).or(cursor);
    }
    chrome::queue(model, paint, places.queue, layout);
    let caret = composer::draw(model, paint, places.composer, &field, layout);
    if model.tab.focus == crate::app::model::Pane::Composer {
        cursor = caret;
    }
    chrome::status(model, paint, places.status);
    if let Some(place) = places.sidebar {
        cursor = sidebar::draw(model, paint, place, mode, layout).or(cursor);
    }
    if model.tab.modals.is_empty() {
        notices::draw(model, paint, places.notices);
    }
    composer::completion(model, paint, places.composer, places.conversation);
    if hints::which_key(model, paint, area) {
        cursor = None;
    }
    if let Some((top, place)) = model.tab.modals.last().zip(place) {
        cursor = modal::draw(model, top, paint, place, docked, layout);
        // Half of a notice beside the frame would be noise.
        notices::draw(model, paint, beside(places.notices, paint.over));
    }
    cursor
}

/// The rows of `area` below what lies over the panes, or above it where none are left.
fn beside(area: Rect, over: Option<Rect>) -> Rect {
    let Some(over) = over.filter(|over| over.y < area.bottom() && over.bottom() > area.y) else { return area };
    if over.bottom() < area.bottom() {
        return Rect { y: over.bottom(), height: area.bottom() - over.bottom(), ..area };
    }
    let height = area.height.min(over.y.saturating_sub(1));
    Rect { y: over.y - height, height, ..area }
}

/// Where a modal is placed: over the status bar, which says the keys that it takes, and beside the sidebar where that leaves
/// enough room, so that both can be read.
fn modal_place(model: &Model, modal: &Modal, area: Rect, mode: Mode, status: Rect) -> Rect {
    let column = layout::column(model, area, mode);
    let width = match modal {
        Modal::Sessions(_) | Modal::Rewind(_) | Modal::Undo(_) | Modal::Replay(_) => area.width,
        _ if column.width < 96 => area.width,
        _ => column.width,
    };
    Rect { width, height: area.height - status.height, ..area }
}

fn to_area(rect: Rect) -> Area {
    Area { x: rect.x, y: rect.y, width: rect.width, height: rect.height }
}
