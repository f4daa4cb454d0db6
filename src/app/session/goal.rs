//! `/goal`: what the session works towards by itself.

use crate::app::effect::Effect;
use crate::app::model::Model;
use crate::protocol::{AgentCommand, Goal, GoalOrder, GoalState, Level};

/// Sets it, says what becomes of it, or shows it.
pub fn goal(model: &mut Model, out: &mut Vec<Effect>, argument: &str) {
    let order = match argument.trim() {
        "" => return show(model),
        "pause" | "stop" => GoalOrder::Pause,
        "resume" | "continue" => GoalOrder::Resume,
        "clear" | "off" => GoalOrder::Clear,
        text => GoalOrder::Set(text.to_owned()),
    };
    out.push(Effect::Agent(AgentCommand::Goal(order)));
}

/// Whether the session goes on towards a goal by itself.
pub fn works(model: &Model) -> bool {
    model.tab.sidebar.goal.as_ref().is_some_and(|goal| goal.state == GoalState::Working)
}

/// What the status line says of a goal that is not met, with the key that stops: where there is no sidebar, nothing else does.
pub fn sign(goal: &Goal, stop: &str) -> Option<String> {
    match goal.state {
        GoalState::Working if goal.judging => Some(format!("goal: judging, {stop} pauses")),
        GoalState::Working => Some(format!("goal: turn {}", goal.rounds + 1)),
        GoalState::Paused | GoalState::Stuck => Some(format!("goal {}: /goal", goal.state.word())),
        GoalState::Met => None,
    }
}

fn show(model: &mut Model) {
    let text = match &model.tab.sidebar.goal {
        None => "no goal; /goal TEXT sets one, and lines `check: COMMAND` decide when it is met".to_owned(),
        Some(goal) => words(goal),
    };
    model.notices.add(model.now, Level::Info, text);
}

/// `goal working on it after 3 turns: TEXT · missing`.
pub fn words(goal: &Goal) -> String {
    let rounds = crate::text::format::plural(u64::from(goal.rounds), "turn", "turns");
    let why = if goal.why.is_empty() { String::new() } else { format!(" · {}", goal.why) };
    format!("goal {} after {rounds}: {}{why}", goal.state.word(), goal.text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::tests::{ready, script};

    #[test]
    fn its_words_are_orders_and_all_else_is_a_goal() {
        for (typed, order) in [
            ("/goal pause<ret>", GoalOrder::Pause),
            ("/goal resume<ret>", GoalOrder::Resume),
            ("/goal clear<ret>", GoalOrder::Clear),
            ("/goal make it green<ret>", GoalOrder::Set("make it green".into())),
        ] {
            let mut model = ready();
            let effects = script(&mut model, typed);
            assert!(effects.contains(&Effect::Agent(AgentCommand::Goal(order))), "{typed}: {effects:?}");
        }
        let mut model = ready();
        model.tab.sidebar.goal = Some(Goal { text: "g".into(), judging: true, ..Goal::default() });
        let stops = |effects: Vec<Effect>| effects.contains(&Effect::Agent(AgentCommand::Stop { force: false }));
        assert!(stops(script(&mut model, "<esc>")), "no turn runs, and it goes on by itself");
        let shown = model.tab.sidebar.goal.as_ref().and_then(|goal| sign(goal, "F9"));
        assert_eq!(shown.as_deref(), Some("goal: judging, F9 pauses"));
        model.tab.sidebar.goal = Some(Goal { state: GoalState::Paused, ..Goal::default() });
        assert!(!stops(script(&mut model, "<esc>")));
        let mut model = ready();
        script(&mut model, "/goal<ret>");
        assert!(model.notices.shown.last().is_some_and(|notice| notice.text.starts_with("no goal")));
    }
}
