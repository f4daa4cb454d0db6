//! Where the panes stand: wide, medium, narrow, tiny.

use crate::app::Model;
use crate::app::model::Pane;
use crate::app::model::TurnStatus;
use crate::app::terminal::pane;
use crate::app::window::borders;
use ratatui::layout::Rect;

/// Smaller screens get a card that says so.
pub use crate::app::model::layout::SMALLEST;

/// How much the screen has room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// The sidebar stands beside the conversation.
    Wide,
    /// The sidebar folds into a line.
    Medium,
    /// Conversation and composer.
    Narrow,
    /// Nothing usable.
    Tiny,
}

/// The places of a frame. Empty rectangles are not drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Places {
    pub title: Rect,
    pub strip: Rect,
    pub banner: Rect,
    pub conversation: Rect,
    pub terminal: Option<Rect>,
    pub queue: Rect,
    pub notices: Rect,
    pub composer: Rect,
    pub status: Rect,
    pub sidebar: Option<Rect>,
    /// Rows that conversation and terminal pane share: the first and the one after the last.
    pub shared: (u16, u16),
}

/// What fits.
pub fn mode(area: Rect) -> Mode {
    match (area.width, area.height) {
        (width, height) if width < SMALLEST.0 || height < SMALLEST.1 => Mode::Tiny,
        (width, height) if width < 80 || height < 20 => Mode::Narrow,
        (width, _) if width < 120 => Mode::Medium,
        _ => Mode::Wide,
    }
}

/// Columns of the sidebar beside the conversation: as the person set them, or by width.
fn sidebar_width(model: &Model, area: Rect) -> u16 {
    let widest = borders::widest(area.width);
    model.tab.sidebar.width.map_or((area.width / 4).clamp(30, 40), |width| width.clamp(borders::NARROWEST, widest))
}

/// Columns of the sidebar over the conversation.
fn overlay_width(model: &Model, area: Rect) -> u16 {
    let width =
        model.tab.sidebar.width.map_or(38, |width| width.clamp(borders::NARROWEST, borders::widest(area.width)));
    width.min(area.width.saturating_sub(2))
}

/// By itself the sidebar stands there once the session has begun and it has something to show.
fn stands_beside(model: &Model) -> bool {
    let begun = !model.tab.transcript.cells.is_empty() && model.first_run.is_none();
    model.tab.sidebar.shown.unwrap_or_else(|| begun && !super::sidebar::is_empty(model))
}

/// The column of the conversation.
pub fn column(model: &Model, area: Rect, mode: Mode) -> Rect {
    let beside = mode == Mode::Wide && stands_beside(model);
    Rect { width: if beside { area.width - sidebar_width(model, area) } else { area.width }, ..area }
}

/// Stacks the panes; `field` is the number of text rows of the composer.
pub fn arrange(model: &Model, area: Rect, mode: Mode, field: u16) -> Places {
    let column = column(model, area, mode);
    let mut places = Places::default();
    let (mut top, mut bottom) = (area.y, area.bottom());
    // With several tabs it must be seen which one is in view and which one asks.
    if mode != Mode::Narrow || !model.parked.is_empty() || model.profile.is_some() {
        places.title = Rect { height: 1, ..area };
        top += 1;
    }
    if mode == Mode::Medium {
        places.strip = Rect { y: top, height: 1, ..area };
        top += 1;
    }
    let rows = super::banner::height(model, area.width);
    if rows > 0 {
        places.banner = Rect { y: top, height: rows, ..area };
        top += rows;
    }
    if area.height >= 28 {
        top += 1;
    }
    if model.config.display.status_bar {
        bottom -= 1;
        places.status = Rect { y: bottom, height: 1, ..area };
    }
    let padding = if area.height >= 28 { 2 } else { 0 };
    // A program that needs a whole screen gets the whole of a small one while it has the keys.
    let large = pane::needs_screen(model);
    let whole = large && mode == Mode::Narrow && model.tab.processes.pane.open && model.tab.focus == Pane::Terminal;
    let height = if whole { 0 } else { (field + padding).min(bottom.saturating_sub(top) / 2).max(1) };
    bottom -= height;
    places.composer = Rect { y: bottom, height, ..column };
    if let Mode::Wide | Mode::Medium = mode {
        // Air over the composer, which the strip of queued prompts may take.
        bottom -= 1;
    }
    let waiting = match model.tab.queue.len() as u16 {
        0 => 0,
        many if model.tab.focus == Pane::Queue => many.min(4),
        _ => 1,
    };
    let waiting = if whole { 0 } else { waiting };
    let waiting = waiting.min(bottom.saturating_sub(top) / 3);
    if waiting > 0 {
        bottom = if mode == Mode::Narrow { bottom } else { bottom + 1 } - waiting;
        places.queue = Rect { y: bottom, height: waiting, ..column };
    }
    let body = bottom.saturating_sub(top);
    places.conversation = Rect { y: top, height: body, ..column };
    places.shared = (top, bottom);
    if model.tab.processes.pane.open {
        let share = if large { model.tab.processes.pane.large } else { model.tab.processes.pane.height };
        let wanted = (u32::from(body) * u32::from(share.clamp(100, 900)) / 1000) as u16;
        if whole || mode == Mode::Narrow && body < 16 {
            // No room for both: the focused one.
            if model.tab.focus == Pane::Terminal {
                places.terminal = Some(places.conversation);
                places.conversation.height = 0;
            }
        } else if body >= 9 {
            let height = wanted.clamp(4, body - 5);
            places.conversation.height = body - height;
            places.terminal = Some(Rect { y: bottom - height, height, ..column });
        }
    }
    let rows = super::notices::height(model, column.width).min(bottom.saturating_sub(top));
    // over the terminal pane, never on the rows of its program
    let floor = places.terminal.map_or(bottom, |terminal| terminal.y);
    let rows = rows.min(floor.saturating_sub(top));
    places.notices = Rect { y: floor - rows, height: rows, ..column };
    // Rows of their own where there is room: a notice must not hide the last words of an answer.
    if places.conversation.height >= rows + 4 {
        places.conversation.height -= rows;
    }
    let sidebar = match (mode, model.tab.sidebar.shown) {
        (Mode::Wide, _) if stands_beside(model) => {
            let width = area.width - column.width;
            let y = places.title.height + places.banner.height;
            let height = area.height.saturating_sub(y + 1);
            Some(Rect { x: column.right(), y: area.y + y, width, height })
        }
        (Mode::Medium | Mode::Narrow, Some(true)) => {
            let width = overlay_width(model, area);
            let y = places.title.height + places.strip.height + places.banner.height;
            let height = area.height.saturating_sub(y + 1);
            Some(Rect { x: area.right() - width, y: area.y + y, width, height })
        }
        _ => None,
    };
    places.sidebar = sidebar;
    places
}

/// Rows of the conversation that a docked question leaves at least.
const LEAST: u16 = 2;

/// Makes room for a question of so many rows at the bottom, in place of the composer: the end of the conversation and the
/// terminal pane stand above it, the pane with its size. `false`: there is no room, and it lies over them.
pub fn dock(places: &mut Places, rows: u16) -> bool {
    let floor = places.composer.bottom();
    let need = (places.shared.1 + rows).saturating_sub(floor);
    if rows == 0 || places.composer.height == 0 || places.conversation.height < need + LEAST {
        return false;
    }
    places.conversation.height -= need;
    if let Some(terminal) = &mut places.terminal {
        terminal.y -= need;
    }
    places.notices.y = places.notices.y.saturating_sub(need);
    places.shared.1 -= need;
    places.composer.height = 0;
    places.queue.height = 0;
    true
}

/// Whether a turn runs.
pub fn is_running(model: &Model) -> bool {
    matches!(model.tab.turn, TurnStatus::Running(_))
}
