//! `/goal`: what the session works towards by itself.

use crate::app::effect::Effect;
use crate::app::input::composer;
use crate::app::model::Model;
use crate::protocol::{AgentCommand, Goal, GoalOrder, Level};

/// Sets it, says what becomes of it, or shows it.
pub fn goal(model: &mut Model, out: &mut Vec<Effect>, argument: &str) {
    let order = match argument.trim() {
        "" => return show(model),
        "pause" | "stop" => GoalOrder::Pause,
        "resume" | "continue" => GoalOrder::Resume,
        "clear" | "off" => GoalOrder::Clear,
        text => GoalOrder::Set(text.to_owned()),
    };
    // An order waits until its session is open.
    if model.tab.of.is_some() || model.tab.session.is_some() {
        out.push(Effect::Agent(AgentCommand::Goal(order)));
    } else {
        composer::set_text(model, &format!("/goal {argument}"));
        model.notices.add(model.now, Level::Info, "the session is still starting; send it again in a moment");
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
        script(&mut model, "/goal<ret>");
        assert!(model.notices.shown.last().is_some_and(|notice| notice.text.starts_with("no goal")));
    }
}
