//! Running commands: the rows of the list, and what is said when one starts, asks, stops or ends.

use super::pane::{close_if_done, show_tab, shown};
use super::{asks, editor, shown, split};
use crate::app::effect::Effect;
use crate::app::input::focus;
use crate::app::model::modal::{Confirm, ConfirmThen, Modal};
use crate::app::model::notices::About;
use crate::app::model::processes::{Processes, TerminalPane};
use crate::app::model::transcript::{CellKind, ToolState};
use crate::app::model::{Model, Pane};
use crate::app::reading::{marking, seek};
use crate::app::session::undo;
use crate::app::window::{quitting, sidebar};
use crate::exec::{
    ExitReason, LogState, Origin, ProcessCommand, ProcessEvent, ProcessId, ProcessInfo, ProcessState, Vitals,
};
use crate::protocol::{AgentCommand, Level};

/// Ended commands that are kept for looking at.
const ENDED: usize = 20;
/// Thousandths of the height that the pane takes.
const HEIGHT: u16 = 330;
/// The same for a program that needs a whole screen.
const LARGE: u16 = 650;

/// No processes, and a closed pane.
pub fn new() -> Processes {
    let pane = TerminalPane { height: HEIGHT, large: LARGE, ..TerminalPane::default() };
    Processes { pane, ..Processes::default() }
}

/// Whether it has not ended.
pub fn is_running(info: &ProcessInfo) -> bool {
    match info.state {
        // Whether that one runs is not known here, and nothing can be done about it.
        ProcessState::Running | ProcessState::NeedsInput | ProcessState::Stopped => {
            info.vitals.origin != Origin::Elsewhere
        }
        ProcessState::Exited(_) => false,
    }
}

pub(super) fn foreground(model: &Model) -> impl Iterator<Item = &ProcessInfo> {
    model.tab.processes.rows.iter().filter(|row| is_running(row) && !row.background && !editor::is(model, &row.id))
}

/// A process started, changed, ended or drew something.
pub fn event(model: &mut Model, out: &mut Vec<Effect>, event: ProcessEvent) {
    let late = |id: &ProcessId| model.tab.processes.closed.as_ref() == Some(id);
    match event {
        ProcessEvent::Started(info) | ProcessEvent::Changed(info) | ProcessEvent::Exited(info) if late(&info.id) => {}
        ProcessEvent::Started(info) | ProcessEvent::Changed(info) => changed(model, out, info),
        ProcessEvent::Exited(info) => {
            sidebar::look_again(model, out);
            undo::look_again(model, out);
            exited(model, info);
            quitting::ended(model, out);
        }
        ProcessEvent::Lines(id, lines) => {
            if model.tab.processes.pane.shown.as_ref() == Some(&id) {
                marking::lines(model, out, &lines);
            }
        }
        ProcessEvent::Gone(id) => {
            gone(model, &id);
            quitting::ended(model, out);
        }
        ProcessEvent::Asks(ask) => asks::asked(model, out, ask),
        ProcessEvent::AskClosed(_, id) => asks::closed(model, id),
        ProcessEvent::Told(_, text) => model.notices.add(model.now, Level::Warning, text),
        ProcessEvent::Found(id, found) => seek::found(model, &id, found),
        ProcessEvent::Screen(id, screen) => {
            split::screen(model, &id, &screen);
            if model.tab.processes.pane.shown.as_ref() == Some(&id) {
                shown::screen(model, screen);
            }
        }
    }
}

/// A row is of another run than this one, or its process had not ended: what is told later can be true.
fn can_follow(row: &ProcessInfo, info: &ProcessInfo) -> bool {
    let ended = |info: &ProcessInfo| matches!(info.state, ProcessState::Exited(_));
    let run = |info: &ProcessInfo| (info.pid, info.vitals.restarts, info.vitals.origin);
    !ended(row) || ended(info) || run(row) != run(info)
}

/// Takes the rows of a session out of those of another one.
pub fn leave(processes: &mut Processes, session: &str) -> Vec<ProcessInfo> {
    let is_its = |row: &mut ProcessInfo| row.task.split(':').next() == Some(session);
    let rows: Vec<ProcessInfo> = processes.rows.extract_if(.., is_its).collect();
    if processes.pane.shown.as_ref().is_some_and(|shown| rows.iter().any(|row| row.id == *shown)) {
        processes.pane.shown = processes.rows.last().map(|row| row.id.clone());
        processes.pane.open &= processes.pane.shown.is_some();
    }
    rows
}

fn put(model: &mut Model, info: ProcessInfo) -> Option<ProcessInfo> {
    match model.tab.processes.rows.iter_mut().find(|row| row.id == info.id) {
        // What has ended never runs again.
        Some(row) if !can_follow(row, &info) => Some(row.clone()),
        Some(row) => Some(std::mem::replace(row, info)),
        None => {
            model.tab.processes.rows.push(info);
            None
        }
    }
}

fn changed(model: &mut Model, out: &mut Vec<Effect>, info: ProcessInfo) {
    let is_editor = editor::is(model, &info.id);
    let asks = info.state == ProcessState::NeedsInput;
    let stopped = info.state == ProcessState::Stopped;
    let known = model.tab.processes.rows.iter().any(|row| row.id == info.id);
    if !known && !info.background && matches!(info.state, ProcessState::Exited(_)) {
        // Its row has left the list with its turn.
        return;
    }
    let (id, command, background) = (info.id.clone(), info.command.clone(), info.background);
    let before = put(model, info);
    if is_editor {
        return;
    }
    let new = before.is_none();
    let log = model.tab.processes.rows.iter().find(|row| row.id == id).map(|row| row.vitals.log);
    if log == Some(LogState::Failed) && before.as_ref().is_none_or(|before| before.vitals.log != LogState::Failed) {
        let text = format!(
            "disk full: {} keeps running, but only the start and end of its output are kept, in memory",
            short(&command)
        );
        model.notices.add(model.now, Level::Warning, text);
    }
    let row = model.tab.processes.rows.iter().find(|row| row.id == id);
    let was = before.as_ref().map(|before| (before.vitals.origin, before.vitals.unreachable.is_some()));
    let change = row.filter(|row| was != Some((row.vitals.origin, row.vitals.unreachable.is_some()))).and_then(|row| {
        match (row.vitals.origin, &row.vitals.place, &row.vitals.unreachable) {
            (Origin::Ours, ..) => None,
            (Origin::Earlier, None, _) => Some("is still running, from an earlier session".to_owned()),
            (Origin::Earlier, Some(place), _) => Some(format!("is still running on {place}, from an earlier session")),
            // Whether it is there is told when it is known.
            (Origin::Elsewhere, Some(_), None) => None,
            (Origin::Elsewhere, _, Some(unreachable)) => Some(format!("is {unreachable}")),
            (Origin::Elsewhere, None, None) => Some("runs on another host: view only".to_owned()),
        }
    });
    if let Some(change) = change {
        model.notices.add(model.now, Level::Info, format!("{} {change}", short(&command)));
    }
    let asked = before.as_ref().is_some_and(|before| before.state == ProcessState::NeedsInput);
    let was_stopped = before.as_ref().is_some_and(|before| before.state == ProcessState::Stopped);
    let pane = &model.tab.processes.pane;
    if (new && !background && !pane.chosen && !pane.taken_over) || pane.shown.is_none() {
        show_tab(model, Some(id.clone()));
    }
    if stopped {
        if !was_stopped {
            has_stopped(model, &id, &command);
        }
    } else if asks && asks::is_asking(model, &id) {
        // The field says it.
    } else if asks && !asked {
        let text = format!("{} needs input", short(&command));
        if !background && !model.tab.processes.pane.touched {
            show_tab(model, Some(id.clone()));
            model.tab.processes.pane.open = true;
        }
        if !model.window_focused {
            out.push(Effect::Notify(text.clone()));
        }
        // Whose keys it gets already needs no word.
        if !(model.tab.processes.pane.taken_over && model.tab.processes.pane.shown.as_ref() == Some(&id)) {
            let keys = model.keymap.keys_for("take-over");
            let how = keys.first().map(|key| format!(": {key} types into it")).unwrap_or_default();
            model.notices.about(model.now, Level::Info, About::Input(id), format!("{text}{how}"));
        }
    } else if !asks {
        model.notices.settled(&About::Input(id));
    }
}

/// Ctrl-Z: nothing reads the keys any more, and the row says which key continues it.
fn has_stopped(model: &mut Model, id: &ProcessId, command: &str) {
    let pane = &mut model.tab.processes.pane;
    if pane.shown.as_ref() == Some(id) && pane.taken_over {
        pane.taken_over = false;
        focus::set(model, Pane::Composer);
    }
    let keys = model.keymap.keys_for("take-over");
    let how = keys.first().map(|key| format!(": {key} continues it")).unwrap_or_default();
    let text = format!("{} is stopped{how}", short(command));
    model.notices.about(model.now, Level::Info, About::Input(id.clone()), text);
}

/// The table does not have this one.
fn gone(model: &mut Model, id: &ProcessId) {
    let was_shown = model.tab.processes.pane.shown.as_ref() == Some(id);
    model.tab.processes.rows.retain(|row| row.id != *id);
    model.notices.settled(&About::Input(id.clone()));
    if was_shown {
        let newest = model.tab.processes.rows.last().map(|row| row.id.clone());
        if newest.is_none() {
            model.tab.processes.pane.open = false;
        }
        show_tab(model, newest);
    }
    close_if_done(model);
}

fn short(command: &str) -> String {
    let line = command.lines().next().unwrap_or_default();
    let cut: String = line.chars().take(40).collect();
    if cut.len() < command.len() { format!("{cut}…") } else { cut }
}

fn exited(model: &mut Model, info: ProcessInfo) {
    let shown = model.tab.processes.pane.shown.as_ref() == Some(&info.id);
    let (background, command) = (info.background, info.command.clone());
    let exit = match &info.state {
        ProcessState::Exited(exit) => exit.clone(),
        ProcessState::Running | ProcessState::NeedsInput | ProcessState::Stopped => return drop(put(model, info)),
    };
    let known = model.tab.processes.rows.iter().find(|row| row.id == info.id);
    if known.is_some_and(|row| matches!(row.state, ProcessState::Exited(_)) && row.pid == info.pid) {
        // It was told before.
        return drop(put(model, info));
    }
    model.notices.settled(&About::Input(info.id.clone()));
    let is_editor = editor::is(model, &info.id);
    put(model, info);
    if shown && model.tab.processes.pane.taken_over {
        model.tab.processes.pane.taken_over = false;
        model.tab.processes.pane.ended_at = Some(model.now);
        focus::set(model, Pane::Composer);
        if !is_editor {
            model.notices.add(model.now, Level::Info, "the command exited: keys go to Hermes again");
        }
    }
    if background {
        let (level, how) = match exit.reason {
            ExitReason::Unseen => (Level::Warning, " (exit status unknown)".to_owned()),
            ExitReason::HungUp => (Level::Warning, " when the window was closed".to_owned()),
            // By a person's hand, or the agent's: nothing to warn of.
            ExitReason::Killed | ExitReason::Stopped => (Level::Info, String::new()),
            ExitReason::Exited | ExitReason::Signalled | ExitReason::TimedOut | ExitReason::Unwatched => {
                let level = if exit.code == 0 { Level::Info } else { Level::Warning };
                (level, format!(": exit {}", exit.code))
            }
        };
        model.notices.add(model.now, level, format!("{} exited{how}", short(&command)));
    }
    if shown {
        shown::close_if_empty(model);
    }
    let ended = model.tab.processes.rows.iter().filter(|row| !is_running(row)).count();
    if ended > ENDED
        && let Some(oldest) = model.tab.processes.rows.iter().position(|row| !is_running(row))
    {
        model.tab.processes.rows.remove(oldest);
    }
    close_if_done(model);
}

/// The turn ended: its ended foreground commands leave the list, and a pane that opened by itself closes. What the list has
/// as running in the foreground is asked about: nothing should be.
pub fn turn_finished(model: &mut Model, out: &mut Vec<Effect>) {
    let left: Vec<ProcessId> = foreground(model).map(|row| row.id.clone()).collect();
    if !left.is_empty() {
        out.push(Effect::Process(ProcessCommand::Compare(left)));
    }
    let keep = if model.tab.processes.pane.touched { model.tab.processes.pane.shown.clone() } else { None };
    model.tab.processes.rows.retain(|row| row.background || is_running(row) || keep.as_ref() == Some(&row.id));
    close_if_done(model);
    let gone = model.tab.processes.pane.shown.as_ref();
    if gone.is_some_and(|id| !model.tab.processes.rows.iter().any(|row| row.id == *id)) {
        let newest = model.tab.processes.rows.last().map(|row| row.id.clone());
        show_tab(model, newest);
        model.tab.processes.pane.chosen = false;
    }
}

/// Whether a command is being ended, which the rows count down.
pub fn counts_down(model: &Model) -> bool {
    model.tab.processes.rows.iter().any(|row| row.vitals.ending.is_some() && is_running(row))
}

/// Takes the shown command off the list once it has ended. Whether one runs that the list shows as running is for the
/// table to say.
pub fn forget(model: &mut Model, out: &mut Vec<Effect>) {
    let Some(row) = shown(model) else { return };
    let id = row.id.clone();
    if is_running(row) {
        return out.push(Effect::Process(ProcessCommand::Forget(id)));
    }
    model.tab.processes.rows.retain(|row| row.id != id);
    out.push(Effect::Process(ProcessCommand::Forget(id)));
    let newest = model.tab.processes.rows.last().map(|row| row.id.clone());
    if newest.is_none() {
        model.tab.processes.pane.open = false;
    }
    show_tab(model, newest);
}

/// Whether the person looks at a command that has ended: what they ask for is not meant for another one.
pub(super) fn at_an_ended_one(model: &Model) -> bool {
    model.tab.focus == Pane::Terminal
        && model.tab.processes.pane.open
        && shown(model).is_some_and(|row| !is_running(row))
}

/// The running foreground command goes on in the background; so do children that a call waits for.
pub fn background(model: &mut Model, out: &mut Vec<Effect>) {
    let shown = shown(model).filter(|row| is_running(row) && !row.background && !editor::is(model, &row.id));
    // A command of a child is none of this session's, unless the keys go to it.
    let own = |row: &&ProcessInfo| model.tab.of.as_ref().is_none_or(|session| row.task == session.0);
    let waits = waits_for_children(model);
    let meant = |row: &&ProcessInfo| own(row) || !waits;
    let shown = shown.filter(|row| meant(row) || model.tab.focus == Pane::Terminal);
    let found = shown.or_else(|| foreground(model).filter(meant).last()).map(|row| row.id.clone());
    match found {
        Some(id) => out.push(Effect::Process(ProcessCommand::Background(id))),
        None if waits => out.push(Effect::Agent(AgentCommand::ToBackground)),
        None => model.notices.add(model.now, Level::Info, "no foreground command is running"),
    }
}

/// Whether a running call has children that work.
pub fn waits_for_children(model: &Model) -> bool {
    model.tab.transcript.cells.iter().rev().any(|cell| match &cell.kind {
        CellKind::Tool(tool) => {
            tool.state == ToolState::Running && tool.children.iter().any(|child| !child.state.is_over())
        }
        CellKind::User { .. }
        | CellKind::Told { .. }
        | CellKind::Summary { .. }
        | CellKind::Assistant { .. }
        | CellKind::Reasoning { .. }
        | CellKind::Note { .. }
        | CellKind::TurnEnd { .. } => false,
    })
}

/// Says so when the open pane shows a command of another machine: what is asked for must not happen to another one.
pub(super) fn says_elsewhere(model: &mut Model) -> bool {
    let open = model.tab.processes.pane.open;
    let row = shown(model).filter(|row| open && row.vitals.origin == Origin::Elsewhere);
    let Some(Vitals { place, unreachable, .. }) = row.map(|row| row.vitals.clone()) else { return false };
    let text = match (place, unreachable) {
        (_, Some(unreachable)) => format!("it is {unreachable}"),
        (Some(place), None) => format!("it is on {place}, reconnecting"),
        (None, None) => "it runs on another host: view only".to_owned(),
    };
    model.notices.add(model.now, Level::Info, text);
    true
}

/// Asks before the shown command is ended; one that has ended leaves the list.
pub fn ask_kill(model: &mut Model) {
    if says_elsewhere(model) {
        return;
    }
    if at_an_ended_one(model) {
        model.notices.add(model.now, Level::Info, "this command has already exited");
        return;
    }
    let newest = || model.tab.processes.rows.iter().rev().find(|row| is_running(row));
    let Some(row) = shown(model).filter(|row| is_running(row)).or_else(newest) else {
        model.notices.add(model.now, Level::Info, "no command is running");
        return;
    };
    let confirm =
        Confirm::new("Kill a command", row.command.clone(), "Kill it", ConfirmThen::KillProcess(row.id.clone()));
    model.tab.modals.push(Modal::Confirm(confirm));
}

#[cfg(test)]
mod tests;
