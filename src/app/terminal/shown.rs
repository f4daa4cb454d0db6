//! The screen of the shown command: where its reader is, and what becomes of the pane when nothing is left on it.

use super::{pane, processes};
use crate::app::model::Model;
use crate::app::reading::marking;
use crate::text::Snapshot;
use std::sync::Arc;

/// The screen of the shown command came.
pub fn screen(model: &mut Model, screen: Arc<Snapshot>) {
    let pane = &mut model.tab.processes.pane;
    let end = screen.last_line.saturating_add(screen.below as i64);
    if screen.below == 0 {
        pane.end = end;
    }
    pane.fresh = usize::try_from(end - pane.end).unwrap_or(0).min(screen.below);
    pane.scroll = screen.below;
    pane.passing.full |= pane.taken_over && screen.alternate;
    pane.screen = Some(screen);
    marking::screen(model);
    close_if_empty(model);
}

/// A program that had the whole screen has ended and left nothing on it: the pane that it was given goes.
pub fn close_if_empty(model: &mut Model) {
    let ended = pane::shown(model).is_some_and(|row| !processes::is_running(row));
    let pane = &mut model.tab.processes.pane;
    let blank = pane.screen.as_ref().is_some_and(|screen| screen.is_blank());
    if ended && blank && pane.open && pane.passing.full && !pane.passing.stays {
        (pane.open, pane.touched) = (false, false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::model::Pane;
    use crate::app::msg::Msg;
    use crate::app::tests::{process, ready, script};
    use crate::app::update;
    use crate::exec::{Exit, ExitReason, ProcessEvent, ProcessId, ProcessState};
    use crate::text::{Line, Role};

    fn came(model: &mut Model, snapshot: Snapshot) {
        let event = ProcessEvent::Screen(ProcessId("a".into()), Arc::new(snapshot));
        update(model, 0, Msg::Process(event));
    }

    fn with_text(last_line: i64, below: usize) -> Snapshot {
        Snapshot { rows: vec![Line::plain("text", Role::Text)], last_line, below, ..Snapshot::default() }
    }

    fn watched() -> Model {
        let mut model = ready();
        update(&mut model, 0, Msg::Process(ProcessEvent::Started(process("a", false))));
        model
    }

    #[test]
    fn what_comes_while_reading_back_is_counted_apart() {
        let mut model = watched();
        let (mut at, steps) = (Vec::new(), [(100, 0), (40, 60), (40, 65), (90, 15), (103, 2), (105, 0), (80, 25)]);
        for (last_line, below) in steps {
            came(&mut model, with_text(last_line, below));
            at.push((model.tab.processes.pane.scroll, model.tab.processes.pane.fresh));
        }
        assert_eq!(at, [(0, 0), (60, 0), (65, 5), (15, 5), (2, 2), (0, 0), (25, 0)]);
    }

    #[test]
    fn the_pane_of_an_editor_goes_with_it_unless_it_was_there_before() {
        for (opened, full, left, stays) in [
            (false, true, false, false),
            (true, true, false, true),
            (false, true, true, true),
            (false, false, false, true),
        ] {
            let mut model = watched();
            if opened {
                script(&mut model, "<C-t>");
            }
            script(&mut model, "<f9>");
            assert!(model.tab.processes.pane.open && model.tab.focus == Pane::Terminal);
            came(&mut model, Snapshot { alternate: full, ..with_text(1, 0) });
            let exit = Exit { code: 0, reason: ExitReason::Exited, duration: std::time::Duration::ZERO };
            let ended = crate::exec::ProcessInfo { state: ProcessState::Exited(exit), ..process("a", false) };
            update(&mut model, 0, Msg::Process(ProcessEvent::Exited(ended)));
            came(&mut model, if left { with_text(1, 0) } else { Snapshot::default() });
            assert_eq!(model.tab.processes.pane.open, stays, "{opened} {full} {left}");
        }
    }
}
