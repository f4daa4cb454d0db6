//! Running commands and the terminal pane: what opens by itself closes by itself, what the user touched stays.

use super::action::Action;
use super::editor;
use super::effect::Effect;
use super::encode;
use super::focus;
use super::keys::{Bound, bound};
use super::model::modal::{Confirm, ConfirmThen, Modal};
use super::model::notices::About;
use super::model::processes::{Passing, Processes, TerminalPane};
use super::model::{Model, Pane};
use crate::config::keymap::{Context, Key};
use crate::exec::{
    ExitReason, LogState, Origin, ProcessCommand, ProcessEvent, ProcessId, ProcessInfo, ProcessState, Scroll, Vitals,
};
use crate::protocol::Level;
use crate::text::Modes;

/// Milliseconds that a foreground command runs before the pane opens by itself.
const OPEN_AFTER: i64 = 1000;
/// Milliseconds within which the key that handed back is meant for the program.
const SEND_AGAIN: i64 = 500;
/// Milliseconds after a command ended within which the key that hands back does nothing.
const HANDED_BACK: i64 = 1000;
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

fn foreground(model: &Model) -> impl Iterator<Item = &ProcessInfo> {
    model.tab.processes.rows.iter().filter(|row| is_running(row) && !row.background && !editor::is(model, &row.id))
}

/// A process started, changed, ended or drew something.
pub fn event(model: &mut Model, out: &mut Vec<Effect>, event: ProcessEvent) {
    let late = |id: &ProcessId| model.tab.processes.closed.as_ref() == Some(id);
    match event {
        ProcessEvent::Started(info) | ProcessEvent::Changed(info) | ProcessEvent::Exited(info) if late(&info.id) => {}
        ProcessEvent::Started(info) | ProcessEvent::Changed(info) => changed(model, out, info),
        ProcessEvent::Exited(info) => {
            super::sidebar::look_again(model, out);
            exited(model, info);
            super::quitting::ended(model, out);
        }
        ProcessEvent::Lines(id, lines) => {
            if model.tab.processes.pane.shown.as_ref() == Some(&id) {
                super::marking::lines(model, out, &lines);
            }
        }
        ProcessEvent::Gone(id) => {
            gone(model, &id);
            super::quitting::ended(model, out);
        }
        ProcessEvent::Asks(ask) => super::asks::asked(model, out, ask),
        ProcessEvent::AskClosed(_, id) => super::asks::closed(model, id),
        ProcessEvent::Told(_, text) => model.notices.add(model.now, Level::Warning, text),
        ProcessEvent::Found(id, found) => super::seek::found(model, &id, found),
        ProcessEvent::Screen(id, screen) => {
            super::split::screen(model, &id, &screen);
            if model.tab.processes.pane.shown.as_ref() == Some(&id) {
                super::shown::screen(model, screen);
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
    let was = before.as_ref().map(|before| (before.vitals.origin, before.vitals.away.is_some()));
    let told = row.filter(|row| was != Some((row.vitals.origin, row.vitals.away.is_some()))).and_then(|row| {
        match (row.vitals.origin, &row.vitals.place, &row.vitals.away) {
            (Origin::Ours, ..) => None,
            (Origin::Earlier, None, _) => Some("is still running, from an earlier session".to_owned()),
            (Origin::Earlier, Some(place), _) => Some(format!("is still running on {place}, from an earlier session")),
            // Whether it is there is told when it is known.
            (Origin::Elsewhere, Some(_), None) => None,
            (Origin::Elsewhere, _, Some(away)) => Some(format!("is {away}")),
            (Origin::Elsewhere, None, None) => Some("runs on another host: view only".to_owned()),
        }
    });
    if let Some(told) = told {
        model.notices.add(model.now, Level::Info, format!("{} {told}", short(&command)));
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
    } else if asks && super::asks::is_asking(model, &id) {
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
            _ if exit.code == 0 => (Level::Info, ": exit 0".to_owned()),
            _ => (Level::Warning, format!(": exit {}", exit.code)),
        };
        model.notices.add(model.now, level, format!("{} exited{how}", short(&command)));
    }
    if shown {
        super::shown::close_if_empty(model);
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

fn close_if_done(model: &mut Model) {
    let idle = !super::turn::is_running(model) && foreground(model).next().is_none();
    let pane = &mut model.tab.processes.pane;
    if idle && pane.open && !pane.touched {
        pane.open = false;
        pane.taken_over = false;
    }
}

/// When the pane opens by itself.
pub fn opens_at(model: &Model) -> Option<i64> {
    let pane = &model.tab.processes.pane;
    if pane.open || pane.touched {
        return None;
    }
    foreground(model).map(|row| row.started_at + OPEN_AFTER).min()
}

/// A wake-up: a command that has run for a while gets its pane.
pub fn woke(model: &mut Model) {
    if opens_at(model).is_none_or(|at| at > model.now) {
        return;
    }
    let newest = foreground(model).last().map(|row| row.id.clone());
    if !model.tab.processes.pane.chosen {
        show_tab(model, newest);
    }
    model.tab.processes.pane.open = true;
}

/// Whether a command is being ended, which the rows count down.
pub fn counts_down(model: &Model) -> bool {
    model.tab.processes.rows.iter().any(|row| row.vitals.ending.is_some() && is_running(row))
}

/// Shows a tab; scroll and screen of the one before do not belong to it.
pub fn show_tab(model: &mut Model, id: Option<ProcessId>) {
    if super::split::is_other(model, id.as_ref()) {
        return super::split::swap(model);
    }
    let pane = &mut model.tab.processes.pane;
    if pane.shown != id {
        pane.shown = id;
        pane.screen = None;
        pane.scroll = 0;
        pane.taken_over = false;
        pane.find = None;
        pane.passing = Passing::default();
    }
}

/// Tells the process table which screens are wanted, at which size, when that changed.
pub fn watch(model: &mut Model, out: &mut Vec<Effect>) {
    super::split::watch(model, out);
    let pane = &model.tab.processes.pane;
    let wanted = match (pane.open, model.layout.terminal, &pane.shown) {
        (true, Some(size), Some(id)) if size.0 > 0 && size.1 > 0 => Some((id.clone(), size)),
        _ => None,
    };
    if wanted == model.tab.processes.watching {
        return;
    }
    let command = match &wanted {
        Some((id, size)) => ProcessCommand::Watch(Some(id.clone()), *size),
        None => ProcessCommand::Watch(None, model.tab.processes.watching.as_ref().map_or((0, 0), |(_, size)| *size)),
    };
    out.push(Effect::Process(command));
    model.tab.processes.watching = wanted;
}

/// Opens or closes the pane; from now on it stays as the person left it.
pub fn toggle(model: &mut Model) {
    let open = !model.tab.processes.pane.open;
    if open && model.tab.processes.rows.is_empty() {
        model.notices.add(model.now, Level::Info, "no command is running");
        return;
    }
    let pane = &mut model.tab.processes.pane;
    pane.open = open;
    pane.touched = true;
    pane.taken_over = false;
}

/// Shows the next tab, or the one before.
pub fn next(model: &mut Model, by: isize) {
    let rows = &model.tab.processes.rows;
    if rows.is_empty() {
        model.notices.add(model.now, Level::Info, "no command is running");
        return;
    }
    let at = rows.iter().position(|row| Some(&row.id) == model.tab.processes.pane.shown.as_ref());
    let at = if model.tab.processes.pane.open {
        at.map_or(0, |at| (at + rows.len()).saturating_add_signed(by) % rows.len())
    } else {
        at.unwrap_or(0)
    };
    let id = rows[at].id.clone();
    show_process(model, id);
}

/// Whether the shown program needs a whole screen: an editor, or one that was taken over and draws everywhere.
pub fn needs_screen(model: &Model) -> bool {
    let pane = &model.tab.processes.pane;
    let full = pane.taken_over && pane.screen.as_ref().is_some_and(|screen| screen.alternate);
    full || pane.shown.as_ref().is_some_and(|id| editor::is(model, id))
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

/// Shows a process in the pane, as the person asked.
pub fn show_process(model: &mut Model, id: ProcessId) {
    show_tab(model, Some(id));
    let pane = &mut model.tab.processes.pane;
    pane.open = true;
    pane.touched = true;
    pane.chosen = true;
}

/// `/processes`: the pane, with the focus.
pub fn show(model: &mut Model) {
    if model.tab.processes.rows.is_empty() {
        model.notices.add(model.now, Level::Info, "no command is running");
        return;
    }
    model.tab.processes.pane.open = true;
    model.tab.processes.pane.touched = true;
    focus::set(model, Pane::Terminal);
}

/// The command that the pane shows.
pub fn shown(model: &Model) -> Option<&ProcessInfo> {
    let id = model.tab.processes.pane.shown.as_ref()?;
    model.tab.processes.rows.iter().find(|row| row.id == *id)
}

/// Whether the person looks at a command that has ended: what they ask for is not meant for another one.
fn at_an_ended_one(model: &Model) -> bool {
    model.tab.focus == Pane::Terminal
        && model.tab.processes.pane.open
        && shown(model).is_some_and(|row| !is_running(row))
}

/// All keys go to the shown program.
pub fn take_over(model: &mut Model, out: &mut Vec<Effect>) {
    if at_an_ended_one(model) {
        model.notices.add(model.now, Level::Info, "this command has exited; it can't take input");
        return;
    }
    if says_elsewhere(model) {
        return focus::set(model, Pane::Terminal);
    }
    if !shown(model).is_some_and(is_running) {
        let newest = model.tab.processes.rows.iter().rev().find(|row| is_running(row)).map(|row| row.id.clone());
        let Some(id) = newest else {
            model.notices.add(model.now, Level::Info, "no running command takes input");
            return;
        };
        show_tab(model, Some(id));
    }
    let earlier = shown(model).is_some_and(|row| row.vitals.origin == Origin::Earlier);
    let stopped = shown(model).is_some_and(|row| row.state == ProcessState::Stopped);
    let pane = &mut model.tab.processes.pane;
    pane.passing.stays |= pane.open && pane.touched;
    pane.open = true;
    pane.touched = true;
    if earlier {
        model.notices.add(model.now, Level::Info, "it is from an earlier session: no typing");
        return focus::set(model, Pane::Terminal);
    }
    if let Some(id) = pane.shown.clone().filter(|_| stopped) {
        out.push(Effect::Process(ProcessCommand::Continue(id)));
    }
    pane.taken_over = true;
    pane.handed_back = None;
    if pane.scroll > 0 {
        follow(model, out);
    }
    let pane = &model.tab.processes.pane;
    if let Some(id) = pane.shown.clone() {
        model.notices.settled(&About::Input(id));
    }
    focus::set(model, Pane::Terminal);
}

/// A key while a program has the keys.
pub fn taken_over_key(model: &mut Model, out: &mut Vec<Effect>, key: Key) {
    if bound(model, &[Context::TakenOver], &[key]) == Bound::Action(Action::TakeOver) {
        let pane = &mut model.tab.processes.pane;
        pane.taken_over = false;
        pane.handed_back = Some((key, model.now));
        focus::set(model, Pane::Composer);
        return;
    }
    super::select::clear(model);
    let application = modes(model).application_cursor;
    write(model, out, encode::key(key, application));
}

/// The command that had the keys has just ended: the key that hands back was meant for it.
pub fn just_ended(model: &Model) -> bool {
    model.tab.processes.pane.ended_at.is_some_and(|at| model.now - at < HANDED_BACK)
}

/// The key that handed back, at once again: it is sent to the program, which keeps the keys.
pub fn send_again(model: &mut Model, out: &mut Vec<Effect>, key: Key) -> bool {
    let now = model.now;
    let again =
        model.tab.processes.pane.handed_back.take().is_some_and(|(last, at)| last == key && now - at <= SEND_AGAIN);
    if again {
        take_over(model, out);
        let application = modes(model).application_cursor;
        write(model, out, encode::key(key, application));
    }
    again
}

/// Bytes for the shown program.
pub fn write(model: &mut Model, out: &mut Vec<Effect>, bytes: Vec<u8>) {
    if bytes.is_empty() {
        return;
    }
    if model.tab.processes.pane.scroll > 0 {
        follow(model, out);
    }
    if let Some(id) = model.tab.processes.pane.shown.clone() {
        out.push(Effect::Process(ProcessCommand::Write(id, bytes)));
    }
}

/// Shows the end of the shown program's output, and goes along with it.
pub fn follow(model: &mut Model, out: &mut Vec<Effect>) {
    let pane = &mut model.tab.processes.pane;
    pane.scroll = 0;
    pane.find = None;
    if let Some(id) = pane.shown.clone() {
        out.push(Effect::Process(ProcessCommand::Scroll(id, Scroll::Follow)));
    }
}

/// What the shown program asked its terminal for.
pub fn modes(model: &Model) -> Modes {
    model.tab.processes.pane.screen.as_ref().map(|screen| screen.modes).unwrap_or_default()
}

/// Text pasted into the shown program.
pub fn paste(model: &mut Model, out: &mut Vec<Effect>, text: &str) {
    let bracketed = modes(model).bracketed_paste;
    write(model, out, encode::paste(text, bracketed));
}

/// The running foreground command goes on in the background.
pub fn background(model: &mut Model, out: &mut Vec<Effect>) {
    let shown = shown(model)
        .filter(|row| is_running(row) && !row.background && !editor::is(model, &row.id))
        .map(|row| row.id.clone());
    match shown.or_else(|| foreground(model).last().map(|row| row.id.clone())) {
        Some(id) => out.push(Effect::Process(ProcessCommand::Background(id))),
        None => model.notices.add(model.now, Level::Info, "no foreground command is running"),
    }
}

/// Says so when the open pane shows a command of another machine: what is asked for must not happen to another one.
fn says_elsewhere(model: &mut Model) -> bool {
    let open = model.tab.processes.pane.open;
    let row = shown(model).filter(|row| open && row.vitals.origin == Origin::Elsewhere);
    let Some(Vitals { place, away, .. }) = row.map(|row| row.vitals.clone()) else { return false };
    let told = match (place, away) {
        (_, Some(away)) => format!("it is {away}"),
        (Some(place), None) => format!("it is on {place}, reconnecting"),
        (None, None) => "it runs on another host: view only".to_owned(),
    };
    model.notices.add(model.now, Level::Info, told);
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
