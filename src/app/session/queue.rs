//! Prompts that wait: put in while a turn runs, sent one after another, kept by the store as long as they wait.
//!
//! Those that come back with a session are held: nothing of them is sent before the person says so.

use super::{sessions, turn};
use crate::app::action::Action;
use crate::app::effect::Effect;
use crate::app::input::{composer, drafts, focus, hint, history, paste};
use crate::app::model::notices::About;
use crate::app::model::{Model, Pane, Sent};
use crate::config::keymap::Context;
use crate::protocol::{AgentCommand, Image, Level, SessionId};
use crate::store::{QueuedPrompt, StoreJob};
use std::sync::Arc;

/// Puts a prompt at the end.
pub fn add(model: &mut Model, out: &mut Vec<Effect>, prompt: Sent) {
    if history::add(model, &prompt.text) {
        out.push(Effect::Store(StoreJob::AddHistory(prompt.text.clone())));
    }
    let Sent { text, images } = prompt;
    model.tab.queue.prompts.push(Arc::new(QueuedPrompt { text, images }));
}

/// Tells the store of changes. While no session is open, or another one opens, it waits: the place is not known yet.
pub fn settle(model: &mut Model, out: &mut Vec<Effect>) {
    if model.tab.session.is_some() && !model.tab.opening {
        let prompts = model.tab.queue.unheard().cloned().collect();
        save(model, out, prompts);
    }
}

/// Makes the store have these prompts for the session that is open, and no others.
fn save(model: &mut Model, out: &mut Vec<Effect>, prompts: Vec<Arc<QueuedPrompt>>) {
    let key = drafts::key(model);
    let (before, saved) = &model.tab.queue.saved;
    let same = saved.len() == prompts.len() && prompts.iter().all(|prompt| model.tab.queue.is_saved(prompt));
    let moved = *before != key;
    if same && (!moved || saved.is_empty()) {
        model.tab.queue.saved.0 = key;
        return;
    }
    let cwd = sessions::cwd(model).to_owned();
    if moved && !saved.is_empty() {
        // the first prompt of a session is durable: what waits is the session's from now on
        out.push(job(before.clone(), cwd.clone(), Vec::new()));
    }
    out.push(job(key.clone(), cwd, prompts.clone()));
    model.tab.queue.saved = (key, prompts);
}

fn job(session: Option<SessionId>, cwd: String, prompts: Vec<Arc<QueuedPrompt>>) -> Effect {
    Effect::Store(StoreJob::SaveQueue { session, cwd, prompts })
}

/// Asks for the prompts that wait here.
pub fn load(model: &Model) -> Effect {
    Effect::Store(StoreJob::LoadQueue { session: drafts::key(model), cwd: sessions::cwd(model).to_owned() })
}

/// Stored prompts came: they go before all others, and are held.
pub fn loaded(model: &mut Model, session: Option<SessionId>, prompts: Vec<QueuedPrompt>) {
    if prompts.is_empty() || session != drafts::key(model) || model.tab.queue.held > 0 {
        return;
    }
    let queue = &mut model.tab.queue;
    let prompts: Vec<Arc<QueuedPrompt>> = prompts.into_iter().map(Arc::new).collect();
    queue.held = prompts.len();
    queue.saved = (session, prompts.clone());
    queue.prompts.splice(0..0, prompts);
    to_draft(model);
    say_it_waits(model);
}

/// Without a model nothing that came back can be sent: the oldest prompt is the draft again, unless a newer one is there.
pub fn to_draft(model: &mut Model) {
    let can_send = model.tab.session.as_ref().is_none_or(|session| !session.model.is_empty());
    if can_send || model.tab.queue.held == 0 || !composer::is_empty(&model.tab.composer) {
        return;
    }
    if let Some(prompt) = model.tab.queue.take(0) {
        composer::set_text(model, &prompt.text);
        model.tab.composer.images = prompt.images;
        drafts::touch(model);
    }
}

/// The session of this tab is open and has prompts: what the store has for it comes first.
pub fn opened(model: &mut Model, out: &mut Vec<Effect>) {
    model.tab.queue.saved.0 = drafts::key(model);
    out.push(load(model));
}

/// Starts the oldest prompt that is not held, if nothing runs.
pub fn send_next(model: &mut Model, out: &mut Vec<Effect>) {
    let at = model.tab.queue.held;
    if model.tab.queue.len() > at && turn::may_start(model) {
        start(model, out, at);
    }
}

/// A turn went well: the next prompt starts, unless it is held.
pub fn after_turn(model: &mut Model, out: &mut Vec<Effect>) {
    if model.tab.queue.len() > model.tab.queue.held { send_next(model, out) } else { say_it_waits(model) }
}

/// The person says that the queue goes on: the oldest prompt starts, the others follow by themselves.
pub fn release(model: &mut Model, out: &mut Vec<Effect>) {
    if !model.tab.queue.is_empty() && turn::may_start(model) {
        model.tab.queue.held = 0;
        start(model, out, 0);
    }
}

fn start(model: &mut Model, out: &mut Vec<Effect>, at: usize) {
    if let Some(QueuedPrompt { text, images }) = model.tab.queue.take(at) {
        turn::submit(model, out, Sent { text, images });
    }
}

/// Gives the oldest prompt to the running turn.
pub fn steer_first(model: &mut Model, out: &mut Vec<Effect>) {
    if let Some(prompt) = model.tab.queue.take(0) {
        give(model, out, prompt);
        say_it_is_given(model);
    }
}

fn say_it_is_given(model: &mut Model) {
    model.notices.about(model.now, Level::Info, About::Steer, "sends to the running turn at its next step");
}

/// Gives a prompt to the running turn. It is kept until the turn has heard it.
pub fn give(model: &mut Model, out: &mut Vec<Effect>, prompt: QueuedPrompt) {
    let QueuedPrompt { text, images } = prompt.clone();
    model.tab.queue.given.push(Arc::new(prompt));
    out.push(Effect::Agent(AgentCommand::Steer { text, images }));
}

/// The person's words are durable. Several that came too late for a turn begin the next one together.
pub fn heard(model: &mut Model, text: &str) {
    model.tab.queue.given.retain(|given| !text.contains(&given.text));
    if model.tab.queue.given.is_empty() {
        model.notices.settled(&About::Steer);
    }
}

/// The turn was stopped before it heard these: they go before all others, and are held.
pub fn undelivered(model: &mut Model, prompts: Vec<(String, Vec<Image>)>) {
    model.notices.settled(&About::Steer);
    let queue = &mut model.tab.queue;
    let back: Vec<Arc<QueuedPrompt>> = prompts
        .into_iter()
        .map(|(text, images)| {
            let at = queue.given.iter().position(|given| given.text == text && given.images == images);
            at.map_or_else(|| Arc::new(QueuedPrompt { text, images }), |at| queue.given.remove(at))
        })
        .collect();
    queue.held += back.len();
    if model.tab.focus == Pane::Queue {
        model.tab.queue_selected += back.len();
    }
    queue.prompts.splice(0..0, back);
}

/// Says that prompts wait, and what sends them.
pub fn say_it_waits(model: &mut Model) {
    let key = hint::key_in(model, Context::Composer, Action::Send);
    let how = |which: &str| match &key {
        Some(key) => format!(": {key} on an empty composer sends {which}"),
        None => String::new(),
    };
    let no_model = model.tab.session.as_ref().is_some_and(|session| session.model.is_empty());
    let text = match model.tab.queue.len() {
        0 => return,
        _ if model.tab.opening => return,
        1 if no_model => "1 queued prompt waits for a model".to_owned(),
        n if no_model => format!("{n} queued prompts wait for a model"),
        1 => format!("1 queued prompt waits{}", how("it")),
        n => format!("{n} queued prompts wait{}", how("the first")),
    };
    model.notices.add(model.now, Level::Info, text);
}

/// `/queue TEXT`; without text the strip gets the keys.
pub fn command(model: &mut Model, out: &mut Vec<Effect>, text: &str) {
    if text.is_empty() {
        strip(model);
    } else if turn::is_running(model) || model.tab.session.is_none() {
        add(model, out, Sent { text: text.to_owned(), images: Vec::new() });
    } else {
        turn::send(model, out, text.to_owned());
    }
}

/// The strip of queued prompts gets the keys.
pub fn strip(model: &mut Model) {
    if model.tab.queue.is_empty() {
        model.notices.add(model.now, Level::Info, "the queue is empty");
    } else {
        focus::set(model, Pane::Queue);
    }
}

/// The selected prompt goes back into the composer; what stood there goes on the drafts ring.
pub fn edit(model: &mut Model, out: &mut Vec<Effect>) {
    let at = model.tab.queue_selected;
    edit_at(model, out, at);
}

/// The newest prompt that waits for a model goes back into the composer; `false`: none does.
pub fn take_back(model: &mut Model, out: &mut Vec<Effect>) -> bool {
    let waits = model.tab.session.as_ref().is_some_and(|session| session.model.is_empty());
    let newest = model.tab.queue.len().checked_sub(1).filter(|at| waits && *at >= model.tab.queue.held);
    if let Some(at) = newest {
        edit_at(model, out, at);
    }
    newest.is_some()
}

fn edit_at(model: &mut Model, out: &mut Vec<Effect>, at: usize) {
    if let Some(prompt) = model.tab.queue.take(at) {
        focus::set(model, Pane::Composer);
        let replaces = !model.tab.composer.area.is_empty();
        history::chosen(model, out, &prompt.text);
        model.tab.composer.images.extend(prompt.images);
        if replaces {
            drafts::said_aside(model);
        }
    }
}

/// The selected prompt goes to the running turn, or begins one.
pub fn steer(model: &mut Model, out: &mut Vec<Effect>) {
    let at = model.tab.queue_selected;
    if !turn::is_running(model) {
        if turn::may_start(model) {
            start(model, out, at);
        }
    } else if let Some(prompt) = model.tab.queue.take(at) {
        give(model, out, prompt);
    }
}

/// The selected prompt goes on the drafts ring; its images stay attached.
pub fn discard(model: &mut Model) {
    let at = model.tab.queue_selected;
    if let Some(prompt) = model.tab.queue.take(at) {
        drafts::push(model, paste::harmless(&prompt.text).into_owned());
        model.tab.composer.images.extend(prompt.images);
    }
}

/// The composer's prompt, which can't be sent now: queued, said to the running turn, or sent in its place.
pub fn wait(model: &mut Model, out: &mut Vec<Effect>, text: String, busy: turn::Busy) {
    let images = std::mem::take(&mut model.tab.composer.images);
    composer::clear(model);
    match busy {
        // images alone go with the next prompt
        _ if text.trim().is_empty() => model.tab.composer.images = images,
        turn::Busy::Steer => {
            give(model, out, QueuedPrompt { text, images });
            say_it_is_given(model);
        }
        turn::Busy::Interrupt => {
            add(model, out, Sent { text, images });
            model.tab.queue.last_to(model.tab.queue.held);
            model.tab.sends_after_stop = true;
            if !turn::is_stopping(model) {
                turn::stop(model, out);
            }
        }
        turn::Busy::Queue => add(model, out, Sent { text, images }),
    }
    drafts::touch(model);
    drafts::save(model, out);
}

#[cfg(test)]
mod tests;
