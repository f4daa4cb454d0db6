//! Leaving: what still runs is shown, and for each command in the background the user says whether it goes on.

use super::modals;
use super::modals::Move;
use crate::app::action::Action;
use crate::app::effect::Effect;
use crate::app::model::modal::{Confirm, ConfirmThen, Modal, QuitModal, QuitRow};
use crate::app::model::{Model, TurnStatus};
use crate::app::session::sessions;
use crate::app::terminal::processes;
use crate::exec::{ProcessCommand, ProcessId, ProcessInfo};

/// Quits; what still runs is said first.
pub fn quit(model: &mut Model, out: &mut Vec<Effect>) {
    let mut rows: Vec<QuitRow> = Vec::new();
    let several = !model.parked.is_empty();
    for tab in model.tabs().filter(|tab| tab.turn != TurnStatus::Idle) {
        let text =
            if several { format!("the turn of “{}”", tab.name()) } else { "the turn of this session".to_owned() };
        rows.push(QuitRow { id: None, text, can_stay: false, keep: false });
    }
    let running = all(model).filter(|row| processes::is_running(row));
    rows.extend(running.map(|row| QuitRow {
        id: Some(row.id.clone()),
        text: row.command.lines().next().unwrap_or_default().to_owned(),
        can_stay: row.background,
        // A server that went off by itself would go on without this program, too.
        keep: row.vitals.apart,
    }));
    if rows.is_empty() {
        return sessions::leave(model, out);
    }
    let Some(selected) = rows.iter().position(|row| row.can_stay) else {
        let text = rows.into_iter().map(|row| row.text).collect::<Vec<_>>().join("\n");
        model.tab.modals.push(Modal::Confirm(Confirm::new(
            "Quit",
            format!("Still running; quitting kills them:\n{text}"),
            "Kill them and quit",
            ConfirmThen::Quit,
        )));
        return;
    };
    model.tab.modals.push(Modal::Quit(QuitModal { rows, selected }));
}

/// The processes of all tabs.
fn all(model: &Model) -> impl Iterator<Item = &ProcessInfo> {
    model.tabs().flat_map(|tab| &tab.processes.rows)
}

/// Something has ended while it was asked what becomes of it: its row goes, and without another one nothing is left to ask.
pub fn ended(model: &mut Model, out: &mut Vec<Effect>) {
    let turn = model.tabs().any(|tab| tab.turn != TurnStatus::Idle);
    let running: Vec<ProcessId> =
        all(model).filter(|process| processes::is_running(process)).map(|process| process.id.clone()).collect();
    let is_open = |row: &QuitRow| match &row.id {
        None => turn,
        Some(id) => running.contains(id),
    };
    let top = model.tab.modals.last_mut();
    let over = if let Some(Modal::Quit(modal)) = top {
        modal.rows.retain(is_open);
        modal.selected = modal.selected.min(modal.rows.len().saturating_sub(1));
        modal.rows.is_empty()
    } else {
        let asks = matches!(top, Some(Modal::Confirm(Confirm { then: ConfirmThen::Quit, .. })));
        asks && !turn && running.is_empty()
    };
    if over {
        model.tab.modals.pop();
        sessions::leave(model, out);
    }
}

/// An action in the modal.
pub fn act(model: &mut Model, out: &mut Vec<Effect>, action: Option<Action>) {
    let Some(Modal::Quit(modal)) = model.tab.modals.last_mut() else { return };
    match action {
        Some(Action::KeepProcess) => turn_over(modal),
        Some(Action::KeepAll) => {
            let keep = modal.rows.iter().any(|row| row.can_stay && !row.keep);
            modal.rows.iter_mut().filter(|row| row.can_stay).for_each(|row| row.keep = keep);
        }
        Some(Action::Close) => {
            model.tab.modals.pop();
        }
        Some(Action::Accept) => leave(model, out),
        action => {
            if let Some(movement) = modals::movement(action) {
                modal.selected = modals::moved(modal.selected, modal.rows.len(), movement);
            }
        }
    }
}

/// A click on a row: it is selected, and a second one turns it over.
pub fn click(model: &mut Model, row: usize) {
    let Some(Modal::Quit(modal)) = model.tab.modals.last_mut() else { return };
    if modal.selected == row {
        turn_over(modal);
    }
    modal.selected = row.min(modal.rows.len().saturating_sub(1));
}

/// The wheel.
pub fn step(model: &mut Model, rows: i32) {
    let Some(Modal::Quit(modal)) = model.tab.modals.last_mut() else { return };
    modal.selected = modals::moved(modal.selected, modal.rows.len(), Move::Rows(rows));
}

fn turn_over(modal: &mut QuitModal) {
    if let Some(row) = modal.rows.get_mut(modal.selected).filter(|row| row.can_stay) {
        row.keep = !row.keep;
    }
}

fn leave(model: &mut Model, out: &mut Vec<Effect>) {
    let Some(Modal::Quit(modal)) = model.tab.modals.pop() else { return };
    let kept = modal.rows.iter().filter(|row| row.keep).filter_map(|row| {
        let process = all(model).find(|process| row.id.as_ref() == Some(&process.id))?;
        let at =
            process.vitals.place.as_ref().map_or_else(|| format!("pid {}", process.pid), |place| format!("on {place}"));
        Some((row.text.clone(), at))
    });
    let kept = kept.collect();
    model.tab.processes.kept = kept;
    for row in modal.rows {
        if let Some(id) = row.id.filter(|_| row.can_stay) {
            out.push(Effect::Process(ProcessCommand::Keep(id, row.keep)));
        }
    }
    sessions::leave(model, out);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::msg::Msg;
    use crate::app::tests::{process, ready, script};
    use crate::app::update;
    use crate::exec::{Exit, ExitReason, ProcessEvent, ProcessState};
    use std::time::Duration;

    fn running(names: &[(&str, bool)]) -> Model {
        let mut model = ready();
        for (name, background) in names {
            let info = process(name, *background);
            update(&mut model, 0, Msg::Process(ProcessEvent::Started(info)));
        }
        model
    }

    fn keep(id: &str, keep: bool) -> Effect {
        Effect::Process(ProcessCommand::Keep(ProcessId(id.into()), keep))
    }

    #[test]
    fn each_command_goes_on_or_ends_as_the_person_says() {
        let mut model = running(&[("a", true), ("b", true), ("c", false)]);
        script(&mut model, "<C-d>");
        let effects = script(&mut model, "<down><space><ret>");
        let kept: Vec<&Effect> = effects.iter().filter(|effect| matches!(effect, Effect::Process(_))).collect();
        assert_eq!(kept, [&keep("a", false), &keep("b", true)]);
        assert_eq!(effects.last(), Some(&Effect::Quit(0)));
        assert_eq!(model.tab.processes.kept, [("b".to_owned(), "pid 1".to_owned())], "the farewell names it");
    }

    #[test]
    fn ending_is_the_default_all_are_kept_by_one_key_and_escape_stays() {
        let mut model = running(&[("a", true), ("b", true)]);
        let effects = script(&mut model, "<C-d><ret>");
        assert!(effects.contains(&keep("a", false)) && effects.contains(&keep("b", false)), "{effects:?}");
        let mut model = running(&[("a", true), ("b", true)]);
        let effects = script(&mut model, "<C-d>a<ret>");
        assert!(effects.contains(&keep("a", true)) && effects.contains(&keep("b", true)), "{effects:?}");
        let mut model = running(&[("a", true)]);
        let effects = script(&mut model, "<C-d><space><esc>");
        assert!(!effects.contains(&Effect::Quit(0)) && model.tab.modals.is_empty());
    }

    #[test]
    fn what_ends_meanwhile_is_asked_about_no_more() {
        let ended = |id: &str| {
            let exit = Exit { code: 0, reason: ExitReason::Exited, duration: Duration::ZERO };
            let info = ProcessInfo { state: ProcessState::Exited(exit), ..process(id, true) };
            Msg::Process(ProcessEvent::Exited(info))
        };
        let mut model = running(&[("a", true), ("b", true)]);
        script(&mut model, "<C-d><down>");
        let effects = update(&mut model, 0, ended("b"));
        assert!(!effects.contains(&Effect::Quit(0)), "{effects:?}");
        let Some(Modal::Quit(modal)) = model.tab.modals.last() else { panic!("no card") };
        assert_eq!((modal.rows.len(), modal.selected), (1, 0));
        let effects = update(&mut model, 0, ended("a"));
        assert_eq!(effects.last(), Some(&Effect::Quit(0)), "{effects:?}");
        let mut model = running(&[("c", false)]);
        script(&mut model, "<C-d>");
        let effects = update(&mut model, 0, ended("c"));
        assert_eq!(effects.last(), Some(&Effect::Quit(0)), "{effects:?}");
    }

    #[test]
    fn what_only_ends_is_asked_about_as_before() {
        let mut model = running(&[("c", false)]);
        script(&mut model, "<C-d>");
        assert!(matches!(model.tab.modals.last(), Some(Modal::Confirm(_))));
    }
}
