//! Two terminals side by side: one has the keys, the other is watched, and they change places by one key.

use super::processes;
use crate::app::effect::Effect;
use crate::app::model::Model;
use crate::app::model::processes::SecondTerminal;
use crate::exec::{ProcessCommand, ProcessId};
use crate::protocol::Level;
use crate::text::Snapshot;
use std::sync::Arc;

/// Shows a second terminal beside the first, or one again.
pub fn toggle(model: &mut Model) {
    if model.tab.processes.pane.second.take().is_some() {
        return;
    }
    let shown = model.tab.processes.pane.shown.clone();
    // The tab to the right, else the one to the left, and so on; of those that still run before the others.
    let rows = &model.tab.processes.rows;
    let at = rows.iter().position(|row| Some(&row.id) == shown.as_ref()).unwrap_or(rows.len());
    let others = || rows.iter().skip(at + 1).chain(rows.iter().take(at).rev());
    let other = others().find(|row| processes::is_running(row)).or_else(|| others().next());
    let Some(id) = other.map(|row| row.id.clone()).filter(|_| shown.is_some()) else {
        model.notices.add(model.now, Level::Info, "splitting needs two commands");
        return;
    };
    let pane = &mut model.tab.processes.pane;
    pane.second = Some(SecondTerminal { id, screen: None, first: false });
    (pane.open, pane.touched, pane.chosen) = (true, true, true);
}

/// The keys go to the other of two terminals; nothing moves on the screen.
pub fn swap(model: &mut Model) {
    let pane = &mut model.tab.processes.pane;
    let Some(second) = &mut pane.second else { return };
    let Some(shown) = pane.shown.replace(second.id.clone()) else { return };
    second.id = shown;
    std::mem::swap(&mut pane.screen, &mut second.screen);
    second.first = !second.first;
    (pane.scroll, pane.taken_over, pane.find) = (0, false, None);
}

/// Whether this is the second of two.
pub fn is_other(model: &Model, id: Option<&ProcessId>) -> bool {
    model.tab.processes.pane.second.as_ref().is_some_and(|second| Some(&second.id) == id)
}

/// A screen came.
pub fn screen(model: &mut Model, id: &ProcessId, screen: &Arc<Snapshot>) {
    if let Some(second) = model.tab.processes.pane.second.as_mut().filter(|second| second.id == *id) {
        second.screen = Some(Arc::clone(screen));
    }
}

/// Tells which second screen is wanted, when that changed; one whose command left the list is shown no more.
pub fn watch(model: &mut Model, out: &mut Vec<Effect>) {
    let all = &mut model.tab.processes;
    let listed = |second: &SecondTerminal| all.rows.iter().any(|row| row.id == second.id);
    if all.pane.second.as_ref().is_some_and(|second| !listed(second)) {
        all.pane.second = None;
    }
    let wanted = match (all.pane.open, model.layout.second, &all.pane.second) {
        (true, Some(size), Some(second)) if size.0 > 0 && size.1 > 0 => Some((second.id.clone(), size)),
        _ => None,
    };
    if wanted == all.watching_second {
        return;
    }
    let (id, size) = match &wanted {
        Some((id, size)) => (Some(id.clone()), *size),
        None => (None, (0, 0)),
    };
    out.push(Effect::Process(ProcessCommand::WatchSecond(id, size)));
    all.watching_second = wanted;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::model::layout::Layout;
    use crate::app::msg::Msg;
    use crate::app::tests::{process, ready, script};
    use crate::app::update;
    use crate::exec::ProcessEvent;

    fn started(model: &mut Model, id: &str) {
        update(model, 0, Msg::Process(ProcessEvent::Started(process(id, true))));
    }

    fn shown(model: &Model, id: &str, rows: usize) -> Msg {
        let rows = vec![crate::text::Line::default(); rows];
        assert!(model.tab.processes.pane.open);
        Msg::Process(ProcessEvent::Screen(ProcessId(id.into()), Arc::new(Snapshot { rows, ..Snapshot::default() })))
    }

    #[test]
    fn the_tab_to_the_right_comes_beside_the_one_that_is_shown() {
        for (shown, second) in [("a", "b"), ("b", "c"), ("c", "b")] {
            let mut model = ready();
            for id in ["a", "b", "c"] {
                started(&mut model, id);
            }
            model.tab.processes.pane.shown = Some(ProcessId(shown.into()));
            toggle(&mut model);
            let got = model.tab.processes.pane.second.as_ref().map(|second| second.id.0.as_str());
            assert_eq!(got, Some(second), "beside {shown}");
        }
    }

    #[test]
    fn two_are_watched_and_change_places() {
        let mut model = ready();
        started(&mut model, "a");
        script(&mut model, "<C-x>|");
        assert_eq!(model.tab.processes.pane.second, None, "one is not two");
        started(&mut model, "b");
        script(&mut model, "<C-t><C-x>|");
        let layout = Layout { terminal: Some((40, 9)), second: Some((39, 9)), ..Layout::default() };
        let effects = update(&mut model, 0, Msg::Drawn(Box::new(layout)));
        let watch = |id: &str, size| Effect::Process(ProcessCommand::Watch(Some(ProcessId(id.into())), size));
        let watch_second =
            |id: &str, size| Effect::Process(ProcessCommand::WatchSecond(Some(ProcessId(id.into())), size));
        assert!(effects.contains(&watch("a", (40, 9))) && effects.contains(&watch_second("b", (39, 9))), "{effects:?}");
        let (first, second) = (shown(&model, "a", 1), shown(&model, "b", 2));
        update(&mut model, 0, first);
        update(&mut model, 0, second);
        let rows = |screen: &Option<Arc<Snapshot>>| screen.as_ref().map(|screen| screen.rows.len());
        let pane = &model.tab.processes.pane;
        assert_eq!((rows(&pane.screen), rows(&pane.second.as_ref().unwrap().screen)), (Some(1), Some(2)));
        let effects = script(&mut model, "<C-x>\\");
        assert!(effects.contains(&watch("b", (40, 9))) && effects.contains(&watch_second("a", (39, 9))), "{effects:?}");
        let pane = &model.tab.processes.pane;
        assert_eq!(rows(&pane.screen), Some(2), "its screen goes along");
        assert!(pane.second.as_ref().unwrap().first, "nothing moves");
        let effects = script(&mut model, "<C-x>|");
        assert!(effects.contains(&Effect::Process(ProcessCommand::WatchSecond(None, (0, 0)))), "{effects:?}");
    }
}
