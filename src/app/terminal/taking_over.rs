//! The keys of the shown program: taken over, handed back, and the bytes that it gets.

use super::pane::{show_tab, shown};
use super::processes::{at_an_ended_one, is_running, says_elsewhere};
use crate::app::action::Action;
use crate::app::effect::Effect;
use crate::app::input::keys::{Bound, bound};
use crate::app::input::{encode, focus};
use crate::app::model::notices::About;
use crate::app::model::{Model, Pane};
use crate::app::reading::select;
use crate::config::keymap::{Context, Key};
use crate::exec::{Origin, ProcessCommand, ProcessState, Scroll};
use crate::protocol::Level;
use crate::text::Modes;

/// Milliseconds within which the key that handed back is meant for the program.
const SEND_AGAIN: i64 = 500;

/// Milliseconds after a command ended within which the key that hands back does nothing.
const HANDED_BACK: i64 = 1000;

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
    select::clear(model);
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
