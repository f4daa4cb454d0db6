//! Wake-ups: asked for only while something will change by itself. Nothing is scheduled when idle.

use crate::app::approvals::policy_changed;
use crate::app::effect::Effect;
use crate::app::input::{drafts, keys};
use crate::app::model::modal::Modal;
use crate::app::model::transcript::{CellKind, ToolState};
use crate::app::model::{Model, TurnStatus};
use crate::app::session::{replay, sessions};
use crate::app::terminal::{pane, processes};

/// Milliseconds between the frames of a spinner.
const SPINNER: i64 = 100;
/// Milliseconds between the ticks of a clock or countdown.
const CLOCK: i64 = 1000;

/// The next time at which something changes by itself; `None` when idle.
pub fn next_wake(model: &Model) -> Option<i64> {
    let chord = model.chord.as_ref().filter(|chord| !chord.shown).map(|chord| chord.since + keys::CHORD_POPUP);
    let modal = model.tab.modals.last().and_then(|modal| match modal {
        Modal::Approval(approval) => {
            Some(approval.inert_until.max(approval.held_until)).filter(|until| *until > model.now)
        }
        Modal::Question(question) => Some(question.inert_until).filter(|until| *until > model.now),
        Modal::Sessions(browser) => browser.ask_at,
        Modal::Trust(trust) => Some(trust.inert_until).filter(|until| *until > model.now),
        Modal::PolicyChanged(modal) => Some(modal.inert_until).filter(|until| *until > model.now),
        Modal::Picker(picker) => Some(picker.inert_until).filter(|until| *until > model.now),
        Modal::Confirm(confirm) => Some(confirm.inert_until).filter(|until| *until > model.now),
        Modal::Input(input) => Some(input.inert_until).filter(|until| *until > model.now),
        // The time that is left counts down.
        Modal::SignIn(_) => Some(model.now - model.now.rem_euclid(CLOCK) + CLOCK),
        Modal::Replay(replay) => replay.plays,
        Modal::Rewind(_) | Modal::Undo(_) | Modal::Worktree(_) | Modal::Stats(_) | Modal::Text(_) | Modal::Quit(_) => {
            None
        }
    });
    let candidates = [
        motion(model),
        chord,
        modal,
        model.notices.next_wake(),
        model.tab.composer.save_at.filter(|_| !model.tab.opening),
        model.quit_armed,
        pane::opens_at(model),
        policy_changed::opens_at(model).filter(|at| *at > model.now),
        processes::counts_down(model).then(|| model.now - model.now.rem_euclid(CLOCK) + CLOCK),
    ];
    candidates.into_iter().flatten().min()
}

/// The next frame of what moves on the screen.
fn motion(model: &Model) -> Option<i64> {
    let TurnStatus::Running(running) = &model.tab.turn else {
        return model.tab.compacting.map(|_| model.now - model.now.rem_euclid(SPINNER) + SPINNER);
    };
    let after = if running.retry.is_some() || waits_for_person(model) { CLOCK } else { SPINNER };
    Some(model.now - model.now.rem_euclid(after) + after)
}

/// Everything that the turn does is to wait for an answer.
fn waits_for_person(model: &Model) -> bool {
    let running = |kind: &CellKind| matches!(kind, CellKind::Tool(tool) if tool.state == ToolState::Running);
    // calls of the running step stand at the end
    !model.tab.approvals.entries.is_empty()
        && !model.tab.transcript.cells.iter().rev().take(64).any(|cell| running(&cell.kind))
}

/// Asks for the next wake-up unless an earlier one is on its way.
pub fn schedule(model: &mut Model, out: &mut Vec<Effect>) {
    let Some(at) = next_wake(model) else { return };
    if model.wake.is_none_or(|wake| wake > at || wake <= model.now) {
        model.wake = Some(at);
        out.push(Effect::WakeAt(at));
    }
}

/// A wake-up came: everything that is due happens.
pub fn woke(model: &mut Model, out: &mut Vec<Effect>) {
    let now = model.now;
    model.wake = None;
    if let Some(chord) = &mut model.chord {
        chord.shown |= chord.since + keys::CHORD_POPUP <= now;
    }
    if model.quit_armed.is_some_and(|until| until <= now) {
        model.quit_armed = None;
    }
    model.notices.woke(now);
    drafts::woke(model, out);
    pane::woke(model);
    sessions::woke(model, out);
    replay::woke(model, out);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::msg::Msg;
    use crate::app::tests::{key, model, ready, script};
    use crate::app::update;
    use crate::protocol::{AgentEvent, Level, TurnEnd, TurnOutcome};

    fn wakes(effects: &[Effect]) -> usize {
        effects.iter().filter(|effect| matches!(effect, Effect::WakeAt(_))).count()
    }

    #[test]
    fn an_idle_screen_schedules_nothing() {
        let mut model = model();
        assert_eq!(crate::app::update::start(&mut model).iter().filter(|e| matches!(e, Effect::WakeAt(_))).count(), 0);
        let mut ready = ready();
        for msg in [Msg::FocusChanged(false), Msg::Resized(80, 24), Msg::FocusChanged(true), key("<C-l>")] {
            assert_eq!(wakes(&update(&mut ready, 5000, msg)), 0);
        }
    }

    #[test]
    fn a_turn_moves_until_it_ends() {
        let mut model = ready();
        let effects = update(&mut model, 1050, Msg::Agent(AgentEvent::TurnStarted { turn: 1, at: 1050 }));
        assert!(effects.contains(&Effect::WakeAt(1100)), "{effects:?}");
        assert_eq!(update(&mut model, 1100, Msg::Woke), [Effect::WakeAt(1200)]);
        assert_eq!(wakes(&update(&mut model, 1110, Msg::Agent(AgentEvent::TextDelta("x".into())))), 0);
        let outcome = TurnOutcome { turn: 1, end: TurnEnd::Completed, steps: 1, duration_ms: 60 };
        assert_eq!(wakes(&update(&mut model, 1150, Msg::Agent(AgentEvent::TurnFinished(outcome)))), 0);
        assert_eq!(update(&mut model, 1200, Msg::Woke), [], "the wake-up that was on its way is the last");
        assert_eq!(next_wake(&model), None);
    }

    #[test]
    fn notices_expire_and_leave_nothing_behind() {
        let mut model = ready();
        model.notices.add(model.now, Level::Info, "x");
        let effects = script(&mut model, "<C-l>");
        assert_eq!(wakes(&effects), 1);
        let at = next_wake(&model).expect("a time");
        assert_eq!(update(&mut model, at, Msg::Woke), []);
        assert!(model.notices.shown.is_empty());
    }
}
