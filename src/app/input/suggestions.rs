//! Prompts to begin with, while nothing was said: taken by the arrows or a click, sent by Enter.

use super::composer;
use crate::app::model::Model;

/// What shows what this program is good for.
const USUAL: [&str; 3] =
    ["Explain how this project is built", "Find out why the tests fail, and fix it", "What changed since yesterday?"];

/// What a small model does well.
const SMALL: [&str; 3] =
    ["What is in this folder?", "Explain the README in three sentences", "Write a shell script that greets me"];

/// The scenes that the scripted model of the demo knows.
const SCENES: [&str; 5] = [
    "tour: build, break and fix a small project",
    "edit: change a file and show the diff",
    "danger: a command that needs approval",
    "process: a background process",
    "ask: the model asks you a question",
];

/// The prompts on offer.
pub fn all(model: &Model) -> &'static [&'static str] {
    let local = model.tab.session.as_ref().is_some_and(|session| session.model.starts_with("local:"));
    match (model.demo, local) {
        (true, _) => &SCENES,
        (false, true) => &SMALL,
        (false, false) => &USUAL,
    }
}

/// Whether they are on the screen.
pub fn are_shown(model: &Model) -> bool {
    model.first_run.is_none() && model.tab.transcript.cells.is_empty()
}

/// The one that stands in the composer.
pub fn taken(model: &Model) -> Option<usize> {
    let text = composer::text(&model.tab.composer);
    all(model).iter().position(|prompt| *prompt == text)
}

/// Puts one into the composer, unless something else is written there.
pub fn take(model: &mut Model, row: usize) {
    let is_free = composer::is_empty(&model.tab.composer) || taken(model).is_some();
    if let Some(prompt) = all(model).get(row).filter(|_| is_free) {
        composer::set_text(model, prompt);
    }
}

/// Down from an empty composer takes the first, then the next; Up goes back, at last to the empty composer. `false`: the
/// key means something else.
pub fn step(model: &mut Model, down: bool) -> bool {
    if !are_shown(model) || model.tab.composer.history.at.is_some() {
        return false;
    }
    match (taken(model), down) {
        (None, true) if composer::is_empty(&model.tab.composer) => take(model, 0),
        (Some(at), true) if at + 1 < all(model).len() => take(model, at + 1),
        (Some(_), true) => {}
        (Some(0), false) => composer::set_text(model, ""),
        (Some(at), false) => take(model, at - 1),
        (None, _) => return false,
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::tests::{empty_session, ready, script};

    fn written(model: &Model) -> String {
        composer::text(&model.tab.composer)
    }

    #[test]
    fn the_arrows_walk_through_the_suggestions_and_back() {
        let mut model = empty_session();
        model.first_run = None;
        script(&mut model, "<down>");
        assert_eq!(written(&model), USUAL[0]);
        script(&mut model, "<down><down><down>");
        assert_eq!(written(&model), USUAL[2], "the last one stays");
        script(&mut model, "<up><up><up>");
        assert_eq!(written(&model), "");
        script(&mut model, "mine<down>");
        assert_eq!(written(&model), "mine", "what is written stays");
    }

    #[test]
    fn a_model_of_this_computer_is_asked_for_what_it_can_do() {
        let mut model = ready();
        if let Some(session) = &mut model.tab.session {
            session.model = "local:small".into();
        }
        script(&mut model, "<down>");
        assert_eq!(written(&model), SMALL[0]);
    }

    #[test]
    fn every_scene_on_offer_is_one_that_the_demo_plays() {
        let demo = include_str!("../../../assets/demo/demo.yaml");
        let when = |line: &str| regex::Regex::new(line.strip_prefix("  - when: '")?.strip_suffix('\'')?).ok();
        let scenes: Vec<regex::Regex> = demo.lines().filter_map(when).collect();
        let plays = |prompt: &str| scenes.iter().position(|scene| scene.is_match(prompt));
        let played: Vec<Option<usize>> = SCENES.iter().map(|prompt| plays(prompt)).collect();
        assert_eq!(played, (0..scenes.len()).map(Some).collect::<Vec<_>>(), "each has one of its own");
        assert!(USUAL.iter().all(|prompt| plays(prompt).is_none()), "what a model can do is nothing for the demo");
    }

    #[test]
    fn the_demo_offers_its_own_scenes_and_a_conversation_none() {
        let mut model = empty_session();
        model.first_run = None;
        model.demo = true;
        script(&mut model, "<down>");
        assert!(written(&model).starts_with("tour"), "{}", written(&model));
        let mut model = ready();
        model.tab.transcript.push(crate::app::model::transcript::CellKind::Assistant { text: "hi".into() }, None, true);
        script(&mut model, "<down>");
        assert_eq!(written(&model), "");
    }
}
