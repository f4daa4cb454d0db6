//! Facts that reach the screen, each to the tab of its session. A tab that is not in view is swapped in for it.

use super::Tab;
use crate::app::effect::Effect;
use crate::app::lists::agents;
use crate::app::model::Model;
use crate::app::msg::Msg;
use crate::app::session::{queue, turn};
use crate::app::terminal::processes;
use crate::app::update;
use crate::exec::{ProcessEvent, ProcessId};
use crate::protocol::SessionId;
use crate::store::StoreReply;

/// A fact of one session: for the tab in view, or for one behind it. One whose tab is closed is nobody's.
pub fn of(model: &mut Model, out: &mut Vec<Effect>, session: &SessionId, msg: Msg) {
    if model.tab.of.as_ref() == Some(session) {
        update::route(model, out, msg);
    } else if let Some(at) = model.parked.iter().position(|tab| tab.of.as_ref() == Some(session)) {
        behind(model, out, at, |model, out| update::route(model, out, msg));
    }
}

/// A fact of a process, for the tab whose it is; what is nobody's is shown in the one in view.
pub fn process(model: &mut Model, out: &mut Vec<Effect>, event: ProcessEvent) {
    let id = event.process().clone();
    let task = match &event {
        ProcessEvent::Started(info) | ProcessEvent::Changed(info) | ProcessEvent::Exited(info) => {
            info.task.split(':').next().unwrap_or_default().to_owned()
        }
        ProcessEvent::Screen(..)
        | ProcessEvent::Lines(..)
        | ProcessEvent::Asks(_)
        | ProcessEvent::AskClosed(..)
        | ProcessEvent::Told(..)
        | ProcessEvent::Gone(_)
        | ProcessEvent::Found(..) => String::new(),
    };
    let has = |tab: &Tab, id: &ProcessId| tab.processes.rows.iter().any(|row| row.id == *id);
    let own = |tab: &Tab| tab.of.as_ref().is_some_and(|session| session.0 == task);
    let at = if has(&model.tab, &id) || own(&model.tab) {
        None
    } else {
        model
            .parked
            .iter()
            .position(|tab| has(tab, &id))
            .or_else(|| model.parked.iter().position(own))
            .or_else(|| parent_of(model, &task))
    };
    match at {
        Some(at) => behind(model, out, at, |model, out| processes::event(model, out, event)),
        None => processes::event(model, out, event),
    }
}

/// The tab behind the one in view in which the parent of this session works.
fn parent_of(model: &Model, session: &str) -> Option<usize> {
    let (tab, _) = agents::as_child(model, Some(&SessionId::from(session)))?;
    model.parked.iter().position(|parked| parked.id == tab.id)
}

/// An answer of the store, for the tab of the session that it is about.
pub fn store(model: &mut Model, out: &mut Vec<Effect>, reply: StoreReply) {
    let session = match &reply {
        StoreReply::Older { session, .. }
        | StoreReply::Draft { session: Some(session), .. }
        | StoreReply::Queue { session: Some(session), .. } => session.clone(),
        StoreReply::Draft { session: None, .. }
        | StoreReply::Queue { session: None, .. }
        | StoreReply::Sessions { .. }
        | StoreReply::Preview { .. }
        | StoreReply::SessionChanged(_)
        | StoreReply::Tree { .. }
        | StoreReply::History(_)
        | StoreReply::Uses(_)
        | StoreReply::Failed(_)
        | StoreReply::Saving(_)
        | StoreReply::Opened { .. } => return update::store(model, out, reply),
    };
    match model.parked.iter().position(|tab| tab.of.as_ref() == Some(&session)) {
        Some(at) => behind(model, out, at, |model, out| update::store(model, out, reply)),
        None => update::store(model, out, reply),
    }
}

/// Work on every tab, each as if it were in view.
pub fn each(model: &mut Model, out: &mut Vec<Effect>, work: impl Fn(&mut Model, &mut Vec<Effect>)) {
    for at in 0..model.parked.len() {
        behind(model, out, at, &work);
    }
    work(model, out);
}

/// Lets something happen in a parked tab. Its orders go to its own session; what it says names it; what only a tab in view
/// orders (lists, titles) is dropped, since it is asked for anew when the tab is shown.
fn behind(model: &mut Model, out: &mut Vec<Effect>, at: usize, happens: impl FnOnce(&mut Model, &mut Vec<Effect>)) {
    std::mem::swap(&mut model.tab, &mut model.parked[at]);
    let (title, notices, layout) =
        (model.window_title.clone(), std::mem::take(&mut model.notices), std::mem::take(&mut model.layout));
    let (ran, cells) = (turn::is_running(model), model.tab.transcript.cells.len());
    let mut own = Vec::new();
    happens(model, &mut own);
    turn::waits(model);
    queue::settle(model, &mut own);
    address(model.tab.of.as_ref(), &mut own);
    let name = model.tab.name();
    let said = std::mem::replace(&mut model.notices, notices);
    model.window_title = title;
    model.layout = layout;
    model.tab.unread |= ran && !turn::is_running(model) || model.tab.transcript.cells.len() > cells;
    std::mem::swap(&mut model.tab, &mut model.parked[at]);
    for notice in said.shown {
        model.notices.about(model.now, notice.level, notice.about, format!("{name}: {}", notice.text));
    }
    own.retain(|effect| !matches!(effect, Effect::Title(_) | Effect::Load(_) | Effect::WakeAt(_)));
    out.append(&mut own);
}

/// What was ordered so far is for this session, whichever is in view later.
pub(super) fn address(session: Option<&SessionId>, out: &mut [Effect]) {
    let Some(session) = session else { return };
    for effect in out {
        if let Effect::Agent(command) = effect {
            *effect = Effect::Of(session.clone(), command.clone());
        }
    }
}
