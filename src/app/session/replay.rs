//! A session on a time line, to read: what each moment was. Leaves for a fork at it, or for a rewind to it.

use super::sessions::excerpt;
use super::{rewind, tabs};
use crate::app::action::Action;
use crate::app::effect::{Effect, LoadRequest};
use crate::app::input::drafts;
use crate::app::input::keys::Press;
use crate::app::model::Model;
use crate::app::model::modal::Modal;
use crate::app::model::replay::{ReplayModal, Track};
use crate::protocol::{Level, Opens, ReplayMoment, ReplayPage, SessionId, Stop};

/// Milliseconds between two screens while it plays: what comes faster is left out.
const FRAME: i64 = 60;

/// The digits of the time line, in order.
const TENTHS: [Action; 10] = [
    Action::Jump0,
    Action::Jump1,
    Action::Jump2,
    Action::Jump3,
    Action::Jump4,
    Action::Jump5,
    Action::Jump6,
    Action::Jump7,
    Action::Jump8,
    Action::Jump9,
];

/// `/replay`: the session in view.
pub fn here(model: &mut Model, out: &mut Vec<Effect>) {
    match drafts::key(model) {
        Some(id) => open(model, out, id),
        None => model.notices.add(model.now, Level::Info, "nothing to replay yet: this session has no prompt"),
    }
}

/// Opens a session at its end.
pub fn open(model: &mut Model, out: &mut Vec<Effect>, session: SessionId) {
    out.push(Effect::Load(LoadRequest::Replay { session: session.clone(), before: None }));
    model.tab.modals.push(Modal::Replay(Box::new(ReplayModal::new(session))));
}

fn modal(model: &mut Model) -> Option<&mut ReplayModal> {
    model.tab.modals.iter_mut().rev().find_map(|modal| {
        let Modal::Replay(modal) = modal else { return None };
        Some(&mut **modal)
    })
}

fn close(model: &mut Model) {
    model.tab.modals.retain(|modal| !matches!(modal, Modal::Replay(_)));
}

/// A part of the time line came: the newest first, then what is older.
pub fn loaded(model: &mut Model, out: &mut Vec<Effect>, session: &SessionId, page: Result<ReplayPage, String>) {
    let Some(modal) = modal(model).filter(|modal| modal.session == *session) else { return };
    let page = match page {
        Ok(page) => page,
        Err(problem) => {
            modal.loading = false;
            modal.problem = problem;
            return;
        }
    };
    let is_first = modal.beats.is_empty();
    if is_first {
        (modal.title, modal.terminals, modal.changed) = (page.title, page.terminals, page.changed);
    }
    let before = modal.stop();
    let oldest = page.beats.first().map(|beat| beat.item);
    modal.beats.splice(0..0, page.beats);
    modal.loading = page.more && oldest.is_some();
    modal.track = Track::of(&modal.beats, &modal.terminals);
    modal.at = match before {
        Some(stop) => modal.track.find_again(stop),
        None => modal.track.stops.len().saturating_sub(1),
    };
    if modal.beats.is_empty() {
        modal.problem = "this session is empty".to_owned();
    }
    if modal.loading {
        out.push(Effect::Load(LoadRequest::Replay { session: session.clone(), before: oldest }));
    }
    if is_first {
        ask(model, out);
    }
}

/// Asks what the moment shows.
fn ask(model: &mut Model, out: &mut Vec<Effect>) {
    let Some(modal) = modal(model) else { return };
    let Some(stop) = modal.stop().filter(|stop| modal.shown != Some(*stop)) else { return };
    let until = modal.track.screens_until(modal.at);
    let terminals = modal.terminals_at(until);
    let of = |at: usize| Some((at, modal.terminals.get(at)?.key.clone()));
    out.push(Effect::Load(LoadRequest::ReplayMoment {
        session: modal.session.clone(),
        stop,
        until,
        terminals: terminals.into_iter().filter_map(of).collect(),
    }));
}

/// What a moment shows came.
pub fn shown(model: &mut Model, session: &SessionId, stop: Stop, moment: Result<ReplayMoment, String>) {
    let Some(modal) = modal(model).filter(|modal| modal.session == *session) else { return };
    match moment {
        Ok(moment) => {
            (modal.lines, _) = excerpt::of(&moment.items, None, "");
            modal.screens = moment.screens;
            modal.shown = Some(stop);
        }
        Err(problem) => modal.problem = problem,
    }
}

/// A key for the view.
pub fn act(model: &mut Model, out: &mut Vec<Effect>, press: Press) {
    let now = model.now;
    let Some(modal) = modal(model) else { return };
    modal.problem.clear();
    let (track, at) = (&modal.track, modal.at);
    let last = track.stops.len().saturating_sub(1);
    let to = match press.action {
        Some(Action::Close) => return close(model),
        Some(Action::Fork) => return fork(model, out),
        Some(Action::Rewind) => return rewind(model, out),
        Some(Action::Export) => {
            return out.push(Effect::Load(LoadRequest::ExportOf { session: modal.session.clone() }));
        }
        Some(Action::Play) => {
            if modal.plays.take().is_none() {
                if at == last {
                    modal.at = 0;
                }
                (modal.plays, modal.starts) = (Some(now), true);
                woke(model, out);
            }
            return;
        }
        Some(Action::PlaySpeed) => {
            modal.speed = modal.speed.next();
            return;
        }
        Some(Action::Switch) => {
            modal.terminal = modal.terminal.wrapping_add(1);
            return;
        }
        Some(Action::Left) => track.item_from(at, false),
        Some(Action::Right) => track.item_from(at, true),
        Some(Action::Up) => at.checked_sub(1),
        Some(Action::Down) => Some(at + 1),
        Some(Action::PageUp) => track.turn_from(at, false).or(Some(0)),
        Some(Action::PageDown) => track.turn_from(at, true).or(Some(last)),
        Some(Action::ToStart) => Some(0),
        Some(Action::ToEnd) => Some(last),
        Some(action) => {
            let tenth = TENTHS.iter().position(|it| *it == action);
            tenth.map(|tenth| track.nearest(i64::try_from(tenth).unwrap_or_default() * 100))
        }
        None => None,
    };
    if let Some(to) = to {
        go(model, out, to);
    }
}

/// Goes to a stop; playing ends.
pub fn go(model: &mut Model, out: &mut Vec<Effect>, to: usize) {
    let Some(modal) = modal(model) else { return };
    modal.plays = None;
    modal.at = to.min(modal.track.stops.len().saturating_sub(1));
    ask(model, out);
}

/// The wheel: an item at a time.
pub fn wheel(model: &mut Model, out: &mut Vec<Effect>, rows: i32) {
    let Some(modal) = modal(model) else { return };
    if let Some(to) = modal.track.item_from(modal.at, rows > 0) {
        go(model, out, to);
    }
}

/// While it plays: goes on when the time has come.
pub fn woke(model: &mut Model, out: &mut Vec<Effect>) {
    let now = model.now;
    let Some(Modal::Replay(modal)) = model.tab.modals.last_mut() else { return };
    if modal.plays.is_none_or(|due| due > now) {
        return;
    }
    // The first stop stays for as long as it did; what comes faster than frames is left out.
    let speed = modal.speed.times();
    let mut wait = modal.track.pause(modal.at).map_or(0, |pause| pause / speed);
    if !std::mem::take(&mut modal.starts) {
        loop {
            if modal.track.pause(modal.at).is_none() {
                modal.plays = None;
                return ask(model, out);
            }
            modal.at += 1;
            wait = modal.track.pause(modal.at).map_or(0, |pause| pause / speed);
            if wait >= FRAME {
                break;
            }
        }
    }
    modal.plays = Some(now + wait.max(FRAME));
    ask(model, out);
}

/// Enter: goes on in a copy of the session, as it was at this moment.
fn fork(model: &mut Model, out: &mut Vec<Effect>) {
    let Some(modal) = modal(model) else { return };
    let Some(item) = modal.stop().and_then(|stop| stop.item) else { return };
    let session = modal.session.clone();
    if modal.is_left_out() {
        modal.problem = "a rewind left this moment out: fork at one that is in the conversation".to_owned();
        return;
    }
    if rewind::is_quiet(model) {
        model.tab.modals.clear();
        tabs::open(model, out, Opens::ForkAt(session, item));
    }
}

/// The rewind of the session in view, at the prompt after this moment.
fn rewind(model: &mut Model, out: &mut Vec<Effect>) {
    let here = drafts::key(model);
    let Some(modal) = modal(model) else { return };
    let problem = match modal.prompt_after() {
        _ if here.as_ref() != Some(&modal.session) => "resume the session first, or fork it here",
        None => "nothing to take back: this is the last turn",
        Some(item) => {
            close(model);
            return rewind::open_at(model, out, item);
        }
    };
    modal.problem = problem.to_owned();
}

#[cfg(test)]
mod tests;
