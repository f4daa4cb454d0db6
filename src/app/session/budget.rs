//! `/budget`: what is spent and limited, and a person's word that raises the limits of a session.

use crate::app::effect::{Effect, LoadRequest, Report};
use crate::app::model::Model;
use crate::protocol::{AgentCommand, Level, Raise};

/// Shows the budgets; `+5` or `+200k` raises the hard limits of this session.
pub fn budget(model: &mut Model, out: &mut Vec<Effect>, argument: &str) {
    if argument.is_empty() {
        out.push(Effect::Load(LoadRequest::Report { report: Report::Budget, argument: String::new() }));
        return;
    }
    match Raise::parse(argument) {
        Some(by) => out.push(Effect::Agent(AgentCommand::RaiseBudget(by))),
        None => {
            let text = format!("/budget {argument}: give an amount to add, +5 for dollars or +200k for tokens");
            model.notices.add(model.now, Level::Warning, text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::tests::{ready, script};

    #[test]
    fn an_order_given_before_the_session_is_open_goes_out_with_it() {
        let mut model = crate::app::tests::model();
        let raise = || Effect::Agent(AgentCommand::RaiseBudget(Raise { cost: 5.0, ..Raise::default() }));
        assert!(
            !script(&mut model, "/budget +5<ret>/goal all green<ret>").iter().any(|it| matches!(it, Effect::Agent(_)))
        );
        let tab = model.tab.id;
        let effects = crate::app::update(&mut model, 0, crate::app::msg::Msg::Bound(tab, "s".into()));
        let sent: Vec<&Effect> = effects.iter().filter(|effect| matches!(effect, Effect::Agent(_))).collect();
        assert!(matches!(sent[..], [first, Effect::Agent(AgentCommand::Goal(_))] if *first == raise()), "{sent:?}");
    }

    #[test]
    fn it_is_shown_without_an_amount_and_raised_with_one() {
        for (typed, effect) in [
            (
                "/budget<ret>",
                Some(Effect::Load(LoadRequest::Report { report: Report::Budget, argument: String::new() })),
            ),
            (
                "/budget +5<ret>",
                Some(Effect::Agent(AgentCommand::RaiseBudget(Raise { cost: 5.0, ..Raise::default() }))),
            ),
            (
                "/budget +200k<ret>",
                Some(Effect::Agent(AgentCommand::RaiseBudget(Raise { tokens: 200_000, ..Raise::default() }))),
            ),
            ("/budget 5<ret>", None),
            ("/budget more<ret>", None),
        ] {
            let mut model = ready();
            let effects = script(&mut model, typed);
            match effect {
                Some(effect) => assert!(effects.contains(&effect), "{typed}: {effects:?}"),
                None => {
                    let said = &model.notices.shown.last().expect("a notice").text;
                    assert!(said.contains("+5 for dollars or +200k for tokens"), "{said}");
                    assert!(!effects.iter().any(|effect| matches!(effect, Effect::Agent(_))), "{effects:?}");
                }
            }
        }
    }
}
