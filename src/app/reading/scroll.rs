//! Scrolling: the view never moves under the reader, and older items come when the top is reached.

use super::select;
use crate::app::approvals::seen;
use crate::app::effect::Effect;
use crate::app::model::layout::Layout;
use crate::app::model::transcript::{Older, Position};
use crate::app::model::{Model, Pane};
use crate::app::terminal::taking_over;
use crate::app::window::modals;
use crate::exec::{ProcessCommand, Scroll};
use crate::store::StoreJob;

/// Items of an older page.
const PAGE: usize = 200;
/// Rows a page keeps of the one before.
const OVERLAP: i32 = 2;

/// Scrolls a pane by rows; down is positive.
pub fn by(model: &mut Model, out: &mut Vec<Effect>, pane: Pane, rows: i32) {
    match pane {
        Pane::Composer | Pane::Conversation => {
            let transcript = &mut model.tab.transcript;
            transcript.scroll = transcript.scroll.saturating_add(rows);
        }
        Pane::Terminal => terminal(model, out, rows),
        Pane::Sidebar => {
            model.tab.sidebar.scroll = shifted(usize::from(model.tab.sidebar.scroll), rows).min(1000) as u16
        }
        Pane::Queue => {
            let last = model.tab.queue.len().saturating_sub(1);
            model.tab.queue_selected = shifted(model.tab.queue_selected, rows).min(last);
        }
    }
}

/// A position moved by rows, at least 0.
pub fn shifted(at: usize, rows: i32) -> usize {
    at.saturating_add_signed(rows as isize)
}

/// Where it comes to rest is known with the next screen.
fn terminal(model: &mut Model, out: &mut Vec<Effect>, rows: i32) {
    let pane = &mut model.tab.processes.pane;
    let Some(shown) = pane.shown.clone() else { return };
    if rows < 0 || pane.scroll > 0 || model.tab.processes.held_view.is_some() {
        pane.touched = true;
        out.push(Effect::Process(ProcessCommand::Scroll(shown, Scroll::AuditBy(-i64::from(rows)))));
    }
}

/// Scrolls the focused pane by pages.
pub fn page(model: &mut Model, out: &mut Vec<Effect>, pages: i32) {
    let pane = if model.tab.focus == Pane::Composer { Pane::Conversation } else { model.tab.focus };
    let area = model.layout.panes.iter().find(|(other, _)| *other == pane).map(|(_, area)| *area);
    let height = i32::from(area.unwrap_or_default().height);
    by(model, out, pane, pages * (height - OVERLAP).max(1));
}

/// To the first row that is loaded.
pub fn to_start(model: &mut Model, out: &mut Vec<Effect>) {
    match model.tab.focus {
        Pane::Terminal => terminal(model, out, -10_000_000),
        Pane::Sidebar => model.tab.sidebar.scroll = 0,
        Pane::Queue => model.tab.queue_selected = 0,
        Pane::Composer | Pane::Conversation => {
            if let Some(first) = model.tab.transcript.cells.first() {
                model.tab.transcript.position = Position::Anchor { cell: first.id, row: 0 };
                model.tab.transcript.scroll = 0;
            }
        }
    }
}

/// To the end, following what comes.
pub fn to_end(model: &mut Model, out: &mut Vec<Effect>) {
    match model.tab.focus {
        Pane::Terminal => taking_over::follow(model, out),
        Pane::Sidebar => model.tab.sidebar.scroll = 1000,
        Pane::Queue => model.tab.queue_selected = model.tab.queue.len().saturating_sub(1),
        Pane::Composer | Pane::Conversation => follow(model),
    }
}

/// The conversation follows what comes.
pub fn follow(model: &mut Model) {
    model.tab.transcript.position = Position::Latest;
    model.tab.transcript.scroll = 0;
    model.tab.transcript.unseen = 0;
}

/// A frame was drawn: the positions it came to rest at are the truth now.
pub fn drawn(model: &mut Model, out: &mut Vec<Effect>, layout: Layout) {
    model.layout = layout;
    let transcript = &mut model.tab.transcript;
    transcript.position = model.layout.position;
    transcript.scroll = 0;
    if transcript.position == Position::Latest {
        transcript.unseen = 0;
    }
    seen::drawn(model);
    modals::drawn(model);
    select::drawn(model, out);
    if model.layout.at_top {
        load_older(model, out);
    }
}

fn load_older(model: &mut Model, out: &mut Vec<Effect>) {
    if let (Older::Before(before), Some(session)) = (model.tab.transcript.older, &model.tab.session) {
        model.tab.transcript.older = Older::Loading;
        out.push(Effect::Store(StoreJob::LoadOlder { session: session.id.clone(), before, limit: PAGE }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::model::layout::Area;
    use crate::app::model::transcript::CellId;
    use crate::app::msg::Msg;
    use crate::app::session::items;
    use crate::app::tests::{opened, ready, script, user};
    use crate::app::update;
    use crate::protocol::{AgentEvent, ItemId};
    use crate::store::StoreReply;

    #[test]
    fn keys_move_and_the_frame_settles() {
        let mut model = ready();
        model.layout.panes = vec![(Pane::Conversation, Area { x: 0, y: 1, width: 80, height: 20 })];
        script(&mut model, "<pgup>");
        assert_eq!(model.tab.transcript.scroll, -18);
        let position = Position::Anchor { cell: CellId(1), row: 3 };
        update(&mut model, 0, Msg::Drawn(Box::new(Layout { position, ..Layout::default() })));
        assert_eq!((model.tab.transcript.scroll, model.tab.transcript.position), (0, position));
        script(&mut model, "<C-end>");
        assert_eq!(model.tab.transcript.position, Position::Latest);
    }

    #[test]
    fn what_comes_while_reading_is_counted_not_forced() {
        let mut model = ready();
        let position = Position::Anchor { cell: CellId(1), row: 0 };
        model.tab.transcript.position = position;
        update(&mut model, 0, Msg::Agent(AgentEvent::TextDelta("a".into())));
        update(&mut model, 0, Msg::Agent(AgentEvent::TextDelta("b".into())));
        assert_eq!((model.tab.transcript.position, model.tab.transcript.unseen), (position, 1));
        script(&mut model, "<C-end>");
        assert_eq!(model.tab.transcript.unseen, 0);
    }

    #[test]
    fn the_top_brings_older_items_once_and_they_go_above() {
        let mut model = ready();
        opened(&mut model, "s", &[]);
        items::opened(&mut model, vec![user(5, "five"), user(6, "six")]);
        update(&mut model, 0, Msg::Woke);
        let anchor = Position::Anchor { cell: model.tab.transcript.cells[0].id, row: 0 };
        let drawn = || Msg::Drawn(Box::new(Layout { at_top: true, position: anchor, ..Layout::default() }));
        let job = StoreJob::LoadOlder { session: "s".into(), before: ItemId(5), limit: PAGE };
        assert_eq!(update(&mut model, 0, drawn()), [Effect::Store(job)]);
        assert_eq!(update(&mut model, 0, drawn()), []);
        let reply = StoreReply::Older { session: "s".into(), items: vec![user(4, "four")], more: false };
        update(&mut model, 0, Msg::Store(reply));
        let texts: Vec<&str> = model.tab.transcript.cells.iter().map(|cell| cell.source()).collect();
        assert_eq!(texts, ["four", "five", "six"]);
        assert_eq!(model.tab.transcript.position, anchor, "the reader stays");
        assert_eq!(update(&mut model, 0, drawn()), []);
    }
}
