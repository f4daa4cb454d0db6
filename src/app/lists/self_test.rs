//! The self-test of a model that was chosen: when it runs, and what is said of it.

use super::local_models;
use crate::app::effect::{Effect, LoadRequest};
use crate::app::model::notices::About;
use crate::app::model::self_test::{SelfTest, TestStage};
use crate::app::model::{Model, TurnStatus};
use crate::protocol::Level;

/// A model was chosen: it is tested where nobody knows it. The demo asks nobody for anything.
pub fn chosen(model: &mut Model, out: &mut Vec<Effect>, name: &str) {
    if model.demo || !model.config.models.self_test || name.is_empty() {
        return;
    }
    if model.self_test.as_ref().is_some_and(|test| test.model == name && test.stage != TestStage::Asked) {
        return;
    }
    give_up(model, out);
    model.self_test = Some(SelfTest { model: name.to_owned(), stage: TestStage::Asked });
    out.push(Effect::Load(LoadRequest::Ability { model: name.to_owned() }));
}

/// Requests that are under way for another model are of no use any more.
fn give_up(model: &mut Model, out: &mut Vec<Effect>) {
    if matches!(&model.self_test, Some(SelfTest { stage: TestStage::Runs { .. }, .. })) {
        out.push(Effect::Load(LoadRequest::SelfTest { model: None }));
    }
    model.self_test = None;
}

/// Nothing is known of a model.
pub fn untested(model: &mut Model, name: &str, is_near: bool) {
    if let Some(test) = model.self_test.as_mut().filter(|test| test.model == name && test.stage == TestStage::Asked) {
        test.stage = TestStage::Waits { is_near };
    }
}

/// Whether a turn runs at this model, in any tab.
fn is_busy(model: &Model, name: &str) -> bool {
    let is_it = |used: &str| used == name || used.rsplit_once(':').is_some_and(|(_, id)| id == name);
    std::iter::once(&model.tab).chain(&model.parked).any(|tab| {
        matches!(tab.turn, TurnStatus::Running(_)) && tab.session.as_ref().is_some_and(|session| is_it(&session.model))
    })
}

/// The test runs once it may. A server of one's own answers one at a time: a turn comes first, and the test after it.
pub fn settle(model: &mut Model, out: &mut Vec<Effect>) {
    let Some(SelfTest { model: name, stage }) = model.self_test.clone() else { return };
    let (next, asked) = match stage {
        TestStage::Waits { is_near } if !(is_near && is_busy(model, &name)) => {
            let text =
                format!("testing {} with two short requests (models.self_test: false skips this)", title(model, &name));
            model.notices.about(model.now, Level::Info, About::SelfTest, text);
            (TestStage::Runs { is_near }, Some(name.clone()))
        }
        TestStage::Runs { is_near: true } if is_busy(model, &name) => (TestStage::Waits { is_near: true }, None),
        TestStage::Asked | TestStage::Waits { .. } | TestStage::Runs { .. } => return,
    };
    model.self_test = Some(SelfTest { model: name, stage: next });
    out.push(Effect::Load(LoadRequest::SelfTest { model: asked }));
}

/// What was found, or why nothing was.
pub fn tested(model: &mut Model, name: &str, result: Result<Vec<String>, String>) {
    // One that was given up says nothing.
    let runs = |test: &SelfTest| test.model == name && matches!(test.stage, TestStage::Runs { .. });
    if !model.self_test.as_ref().is_some_and(runs) {
        return;
    }
    model.self_test = None;
    let title = title(model, name);
    match result {
        Ok(lines) => {
            let mut lines = lines.into_iter();
            let measured = lines.next().unwrap_or_default();
            model.notices.about(model.now, Level::Info, About::SelfTest, format!("{title}: {measured}"));
            let rest: Vec<String> = lines.map(|line| line.trim_end_matches('.').to_owned()).collect();
            if !rest.is_empty() {
                model.notices.add(model.now, Level::Warning, format!("{title}: {}", rest.join("; ")));
            }
        }
        Err(why) => {
            model.notices.settled(&About::SelfTest);
            model.notices.add(model.now, Level::Warning, format!("{title} could not be tested: {why}"));
        }
    }
}

/// What people call a model.
fn title(model: &Model, name: &str) -> String {
    let (provider, id) = name.split_once(':').unwrap_or(("", name));
    let known = (provider == local_models::PROVIDER).then(|| model.local.find(id)).flatten();
    known.map_or_else(|| id.to_owned(), |offer| offer.title.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::msg::{LoadReply, ModelChoice, Msg};
    use crate::app::tests::{ready as open, script};
    use crate::app::update;
    use crate::config::Config;
    use crate::protocol::{AgentEvent, TurnEnd, TurnOutcome};
    use std::sync::Arc;

    /// A model that tests what is chosen.
    fn ready() -> Model {
        let mut model = open();
        model.config = Arc::new(Config::default());
        let big = ModelChoice { provider: "acme".into(), model: "big".into(), detail: String::new(), ready: true };
        model.choices = vec![big];
        model
    }

    fn told(model: &mut Model, msg: Msg) -> Vec<Effect> {
        let now = model.now;
        update(model, now, msg)
    }

    fn untested(model: &mut Model, name: &str, is_near: bool) -> Vec<Effect> {
        told(model, Msg::Loaded(LoadReply::Untested { model: name.into(), is_near }))
    }

    fn asks(model: &str) -> Effect {
        Effect::Load(LoadRequest::Ability { model: model.into() })
    }

    fn tests(model: Option<&str>) -> Effect {
        Effect::Load(LoadRequest::SelfTest { model: model.map(str::to_owned) })
    }

    #[test]
    fn a_chosen_model_that_nobody_knows_is_tested_and_what_was_found_is_said() {
        let mut model = ready();
        assert!(script(&mut model, "/model acme:big<ret>").contains(&asks("acme:big")));
        assert_eq!(untested(&mut model, "acme:big", false), [tests(Some("acme:big"))]);
        assert!(model.notices.shown.iter().any(|notice| notice.text.contains("models.self_test: false")));
        let lines = ["streams · 32K window · calls tools", "a window of 8K is small: raise it.", "fewer tools"];
        let result = Ok(lines.map(str::to_owned).to_vec());
        told(&mut model, Msg::Loaded(LoadReply::SelfTested { model: "acme:big".into(), result }));
        let shown: Vec<&str> = model.notices.shown.iter().map(|notice| notice.text.as_str()).collect();
        let said = "big: streams · 32K window · calls tools";
        assert_eq!(shown, [said, "big: a window of 8K is small: raise it; fewer tools"]);
        assert_eq!(model.self_test, None);
    }

    #[test]
    fn it_is_skipped_where_it_is_not_wanted_and_in_the_demo() {
        let wanted = |change: &dyn Fn(&mut Model)| {
            let mut model = ready();
            change(&mut model);
            script(&mut model, "/model acme:big<ret>").contains(&asks("acme:big"))
        };
        assert!(wanted(&|_| {}));
        assert!(!wanted(&|model| model.demo = true));
        assert!(!wanted(&|model| {
            let mut config = Config::default();
            config.models.self_test = false;
            model.config = Arc::new(config);
        }));
    }

    #[test]
    fn a_turn_at_a_server_of_ones_own_comes_first() {
        for (is_near, waits) in [(true, true), (false, false)] {
            let mut model = ready();
            let used = model.tab.session.as_ref().map(|session| session.model.clone()).unwrap_or_default();
            chosen(&mut model, &mut Vec::new(), &used);
            told(&mut model, Msg::Agent(AgentEvent::TurnStarted { turn: 1, at: 0 }));
            let begun = untested(&mut model, &used, is_near).contains(&tests(Some(&used)));
            assert_eq!(begun, !waits, "near: {is_near}");
            let outcome = TurnOutcome { turn: 1, end: TurnEnd::Completed, steps: 1, duration_ms: 1 };
            let ended = told(&mut model, Msg::Agent(AgentEvent::TurnFinished(outcome)));
            assert_eq!(ended.contains(&tests(Some(&used))), waits, "near: {is_near}");
            // The next turn begins while it is tested.
            let effects = told(&mut model, Msg::Agent(AgentEvent::TurnStarted { turn: 2, at: 0 }));
            assert_eq!(effects.contains(&tests(None)), waits, "near: {is_near}");
            let late = LoadReply::SelfTested { model: used.clone(), result: Ok(vec!["late".into()]) };
            told(&mut model, Msg::Loaded(late));
            assert_eq!(model.self_test.is_some(), waits, "what was given up says nothing");
        }
    }
}
