//! The turn as the screen knows it: sending, queueing, steering, stopping, and what follows its end.

use super::{checkout, goal, items, queue, sessions};
use crate::app::effect::Effect;
use crate::app::input::{composer, drafts, focus, history, paste, slash};
use crate::app::lists::{agents, local_models};
use crate::app::model::transcript::{Cell, CellKind, Position};
use crate::app::model::{Model, Pane, Running, Sent, TurnStatus};
use crate::app::reading::{seek, select};
use crate::app::terminal::processes;
use crate::app::window::{quitting, sidebar};
use crate::protocol::{AgentCommand, Level, NoteKind, Origin, TurnEnd, TurnOutcome};
use crate::store::{QueuedPrompt, StoreJob};

/// Milliseconds from which the end of a turn is worth a notification.
const NOTIFY_FROM_MS: u64 = 10_000;
/// Milliseconds within which the second Ctrl-C quits.
const QUIT_AGAIN: i64 = 2000;
/// Milliseconds in which an Esc after the one that put a question aside is the same press.
const ONE_PRESS: i64 = 600;

/// Whether a turn runs.
pub fn is_running(model: &Model) -> bool {
    matches!(model.tab.turn, TurnStatus::Running(_))
}

/// Whether it runs, and was told to stop.
pub fn is_stopping(model: &Model) -> bool {
    matches!(&model.tab.turn, TurnStatus::Running(running) if running.stopping)
}

/// Enter in the composer: send, queue, steer, run a command, or break the line after a backslash.
pub fn enter(model: &mut Model, out: &mut Vec<Effect>) {
    if composer::is_empty(&model.tab.composer) {
        return enter_on_nothing(model, out);
    }
    if composer::take_backslash(model) {
        model.tab.composer.area.insert_newline();
        composer::changed(model, out);
        return;
    }
    let text = composer::whole(&model.tab.composer);
    if slash::is_command(&text) {
        slash::send(model, out, &text);
    } else {
        send(model, out, text);
    }
}

/// The other key of the composer: what Enter does not do while a turn runs.
pub fn enter_other(model: &mut Model, out: &mut Vec<Effect>) {
    let text = composer::whole(&model.tab.composer);
    if is_running(model) && !composer::is_empty(&model.tab.composer) && !slash::is_command(&text) {
        let busy = Busy::of(model).other();
        queue::wait(model, out, text, busy);
    } else {
        enter(model, out);
    }
}

/// What becomes of a prompt that is sent while a turn runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Busy {
    Queue,
    Steer,
    /// The turn is stopped and the prompt follows it.
    Interrupt,
}

impl Busy {
    /// What Enter does now, as `display.busy_input_mode` has it. A turn that is being stopped hears nothing any more, and who
    /// stopped it wants what comes next: it follows, and waits for nobody's word.
    pub fn of(model: &Model) -> Self {
        match model.config.display.busy_input_mode.as_str() {
            _ if !is_running(model) => Self::Queue,
            _ if is_stopping(model) => Self::Interrupt,
            // A child ends with its turn: a word for it is for this one.
            _ if agents::shows_working_child(model) => Self::Steer,
            "steer" => Self::Steer,
            "interrupt" => Self::Interrupt,
            _ => Self::Queue,
        }
    }

    /// What the other key does then.
    pub fn other(self) -> Self {
        match self {
            Self::Queue => Self::Steer,
            Self::Steer | Self::Interrupt => Self::Queue,
        }
    }

    /// In a word, for the line of keys.
    pub fn word(self) -> &'static str {
        match self {
            Self::Queue => "queues",
            Self::Steer => "steers",
            Self::Interrupt => "sends instead",
        }
    }
}

fn enter_on_nothing(model: &mut Model, out: &mut Vec<Effect>) {
    if let TurnStatus::Running(running) = &model.tab.turn {
        if running.retry.is_some() {
            out.push(Effect::Agent(AgentCommand::SkipWait(true)));
        } else {
            queue::steer_first(model, out);
        }
    } else {
        queue::release(model, out);
    }
}

/// Sends a prompt that the composer holds; queues it while a turn runs, no session is open yet or another opens, or the first
/// model is on its way.
pub fn send(model: &mut Model, out: &mut Vec<Effect>, text: String) {
    if is_running(model) || model.tab.session.is_none() || model.tab.opening {
        // A command is no word for a running turn.
        let waits = text.trim_start().starts_with('!') && !is_stopping(model);
        let busy = if waits { Busy::Queue } else { Busy::of(model) };
        queue::wait(model, out, text, busy);
        return;
    }
    if !text.trim_start().starts_with('!') {
        if local_models::is_awaited(model) {
            return queue::wait(model, out, text, Busy::Queue);
        }
        if !has_model(model) {
            // The keys are the card's again, on which a model is chosen.
            return queue::wait(model, out, text, Busy::Queue);
        }
    }
    if checkout::asks(model) {
        return;
    }
    let images = std::mem::take(&mut model.tab.composer.images);
    composer::clear(model);
    drafts::touch(model);
    drafts::save(model, out);
    submit(model, out, Sent { text, images });
}

/// `/retry`: the last prompt of the session is sent again.
pub fn retry(model: &mut Model, out: &mut Vec<Effect>) {
    let last = model.tab.transcript.cells.iter().rev().find_map(|cell| {
        let CellKind::User { text, images, origin: Origin::Person } = &cell.kind else { return None };
        Some((text.clone(), *images))
    });
    let refused = match (&last, is_running(model)) {
        (_, true) => "a turn is running: stop it first, then /retry",
        (None, _) => "nothing to retry: this session is empty",
        (Some((_, 1..)), _) => "the last prompt had images: attach them again, then send",
        (Some(_), false) => "",
    };
    match last {
        Some((text, 0)) if refused.is_empty() => {
            if has_model(model) {
                submit(model, out, Sent { text, images: Vec::new() });
            }
        }
        _ => model.notices.add(model.now, Level::Info, refused),
    }
}

fn has_model(model: &mut Model) -> bool {
    let has = model.tab.session.as_ref().is_some_and(|session| !session.model.is_empty());
    if !has {
        model.notices.add(model.now, Level::Warning, "no model yet: choose one above; your prompt is sent then");
    }
    has
}

/// Whether a turn could begin now; says what is missing.
pub fn may_start(model: &mut Model) -> bool {
    !is_running(model) && model.tab.session.is_some() && !model.tab.opening && has_model(model)
}

/// Hands a prompt to the agent.
pub fn submit(model: &mut Model, out: &mut Vec<Effect>, sent: Sent) {
    if history::add(model, &sent.text) {
        out.push(Effect::Store(StoreJob::AddHistory(sent.text.clone())));
    }
    out.push(Effect::Agent(AgentCommand::Submit { text: sent.text.clone(), images: sent.images.clone() }));
    model.tab.sent = Some(sent);
    // the turn counts as running at once, so that a second Enter queues
    model.tab.turn = TurnStatus::Running(begun(0, model.now));
    model.tab.transcript.position = Position::Latest;
    model.tab.transcript.scroll = 0;
    model.tab.transcript.unseen = 0;
    sessions::window_title(model, out);
}

fn begun(turn: u32, at: i64) -> Running {
    Running {
        turn,
        step: 0,
        started_at: at,
        step_started_at: at,
        waited: 0,
        waited_before_step: 0,
        waits_since: None,
        stopping: false,
        retry: None,
        waiting: None,
        calls: Vec::new(),
    }
}

/// Notes since when the person is waited for: that is no work of the turn.
pub fn waits(model: &mut Model) {
    let (now, waits) = (model.now, !model.tab.approvals.entries.is_empty());
    let TurnStatus::Running(running) = &mut model.tab.turn else { return };
    match running.waits_since {
        None if waits => running.waits_since = Some(now),
        Some(since) if !waits => {
            running.waited += (now - since).max(0);
            running.waits_since = None;
        }
        _ => {}
    }
}

/// A turn began.
pub fn started(model: &mut Model, turn: u32, at: i64) {
    let stopping = matches!(&model.tab.turn, TurnStatus::Running(running) if running.turn == 0 && running.stopping);
    model.tab.turn = TurnStatus::Running(Running { stopping, ..begun(turn, at) });
    model.tab.sidebar.outside.clear();
}

/// A turn ended.
pub fn finished(model: &mut Model, out: &mut Vec<Effect>, outcome: TurnOutcome) {
    model.tab.turn = TurnStatus::Idle;
    let interrupted = std::mem::take(&mut model.tab.sends_after_stop);
    items::close_open(model);
    give_back(model, out);
    model.tab.failed = false;
    if let TurnEnd::Provider(error) | TurnEnd::Error(error) = &outcome.end {
        error_note(model, error);
        model.tab.failed = true;
    }
    processes::turn_finished(model, out);
    // An answer alone changes no file.
    if outcome.steps != 1 {
        sidebar::look_again(model, out);
    }
    if !model.window_focused && (outcome.duration_ms > NOTIFY_FROM_MS || model.config.display.bell_on_complete) {
        out.push(Effect::Notify(format!("{}: turn finished", sessions::name(model))));
    }
    match outcome.end {
        // Where the budget is used up, the next prompt would only end the same way.
        TurnEnd::Limit if model.tab.budget.as_ref().is_some_and(|budget| budget.hard) => queue::say_it_waits(model),
        TurnEnd::Completed | TurnEnd::Limit => queue::after_turn(model, out),
        TurnEnd::Stopped if interrupted => queue::send_next(model, out),
        TurnEnd::Stopped | TurnEnd::Provider(_) | TurnEnd::Error(_) => queue::say_it_waits(model),
    }
    sessions::window_title(model, out);
}

fn error_note(model: &mut Model, error: &str) {
    let is_end = |cell: &&Cell| matches!(cell.kind, CellKind::TurnEnd { .. });
    let last = model.tab.transcript.cells.iter().rev().find(|cell| !is_end(cell));
    let said = last.is_some_and(|cell| cell.source() == error);
    if !said {
        model.tab.transcript.push(CellKind::Note { kind: NoteKind::Error, text: error.to_owned() }, None, true);
    }
}

/// The agent did not take the prompt that was sent last.
pub fn not_taken(model: &mut Model, out: &mut Vec<Effect>, why: String) {
    model.notices.add(model.now, Level::Error, why);
    if matches!(&model.tab.turn, TurnStatus::Running(running) if running.turn == 0) {
        model.tab.turn = TurnStatus::Idle;
        model.tab.sends_after_stop = false;
        sessions::window_title(model, out);
    }
    give_back(model, out);
}

/// A prompt that never became durable comes back.
pub fn give_back(model: &mut Model, out: &mut Vec<Effect>) {
    let Some(sent) = model.tab.sent.take() else { return };
    model.tab.composer.images.splice(0..0, sent.images);
    if model.tab.composer.area.is_empty() {
        composer::set_text(model, &sent.text);
    } else {
        drafts::push(model, paste::harmless(&sent.text).into_owned());
    }
    drafts::save(model, out);
}

/// Sends a text that was not typed: what the composer holds stays.
pub fn say(model: &mut Model, out: &mut Vec<Effect>, text: String) {
    let sent = Sent { text, images: Vec::new() };
    if is_running(model) || model.tab.session.is_none() || local_models::is_awaited(model) {
        queue::add(model, out, sent);
    } else if has_model(model) {
        submit(model, out, sent);
    }
}

/// `/steer TEXT`.
pub fn steer(model: &mut Model, out: &mut Vec<Effect>, text: &str) {
    if text.is_empty() {
        model.notices.add(model.now, Level::Info, "say what to tell the running turn: /steer TEXT");
    } else if is_running(model) {
        queue::give(model, out, QueuedPrompt { text: text.to_owned(), images: Vec::new() });
    } else {
        send(model, out, text.to_owned());
    }
}

/// Esc: clears a selection, else forgets what is looked for in the pane, else leaves the pane, else ends a retry wait, else
/// stops the turn, or takes back a prompt that waits for a model.
pub fn escape(model: &mut Model, out: &mut Vec<Effect>) {
    if select::is_active(model) {
        select::clear(model);
        return;
    }
    let waits = matches!(&model.tab.turn, TurnStatus::Running(running) if running.retry.is_some());
    if seek::leave(model) {
        // The keys stay where the words were looked for.
    } else if model.tab.focus != Pane::Composer {
        focus::set(model, Pane::Composer);
    } else if model.tab.approvals.aside_at.is_some_and(|at| model.now - at < ONE_PRESS) {
        // The second Esc of a nervous pair was meant for the question, too.
    } else if waits {
        out.push(Effect::Agent(AgentCommand::SkipWait(false)));
    } else if is_running(model) || !queue::take_back(model, out) {
        stop(model, out);
    }
}

/// Asks the turn to stop; the second time without waiting for outcomes.
pub fn stop(model: &mut Model, out: &mut Vec<Effect>) {
    if let TurnStatus::Running(running) = &mut model.tab.turn {
        out.push(Effect::Agent(AgentCommand::Stop { force: running.stopping }));
        running.stopping = true;
    } else if model.tab.compacting.is_some() || goal::works(model) {
        out.push(Effect::Agent(AgentCommand::Stop { force: false }));
    }
}

/// Ctrl-C.
pub fn interrupt(model: &mut Model, out: &mut Vec<Effect>) {
    if select::is_active(model) {
        select::copy(model, out);
    } else if is_running(model) {
        stop(model, out);
    } else if !model.tab.composer.area.is_empty() {
        drafts::put_aside(model, out);
    } else if queue::take_back(model, out) {
        // What was sent comes back before the program is left.
    } else if model.quit_armed.is_some_and(|until| until > model.now) {
        model.quit_armed = None;
        quitting::quit(model, out);
    } else {
        model.quit_armed = Some(model.now + QUIT_AGAIN);
    }
}

#[cfg(test)]
mod tests;
