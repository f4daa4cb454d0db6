//! `/btw`: a question beside the turn, whose answer is shown and forgotten.

use crate::app::effect::Effect;
use crate::app::model::Model;
use crate::app::run;
use crate::protocol::{AgentCommand, Level};
use crate::text::{Line, Role, Span};

/// Cells of a question in a notice.
const SHORT: usize = 40;

/// Asks it.
pub fn ask(model: &mut Model, out: &mut Vec<Effect>, question: &str) {
    let question = question.trim();
    if question.is_empty() {
        return match model.tab.by_the_way.take() {
            Some((question, answer)) => show(model, &question, &answer),
            None => model.notices.add(model.now, Level::Warning, "/btw needs a question behind it"),
        };
    }
    model.notices.add(model.now, Level::Info, "asked; the answer comes here, and is not kept");
    out.push(Effect::Agent(AgentCommand::ByTheWay(question.to_owned())));
}

/// The answer came: it is shown where nobody writes, for its keys would be those of the writer.
pub fn answered(model: &mut Model, question: String, answer: String) {
    if model.tab.modals.is_empty() && model.tab.composer.area.is_empty() {
        return show(model, &question, &answer);
    }
    let short = crate::text::width::truncate_end(question.lines().next().unwrap_or_default(), SHORT);
    model.notices.add(model.now, Level::Info, format!("answered: “{short}”; /btw shows it"));
    model.tab.by_the_way = Some((question, answer));
}

fn show(model: &mut Model, question: &str, answer: &str) {
    let line = |text: &str, role| Line { spans: vec![Span::new(text.to_owned(), role)], ..Line::default() };
    let clean = |text: &str| crate::text::visible::visible(text).text.to_string();
    let mut lines: Vec<Line> = question.lines().map(|text| line(&clean(text), Role::Dim)).collect();
    lines.push(Line::default());
    lines.extend(answer.trim().lines().map(|text| line(&clean(text), Role::Text)));
    run::text(model, "By the way", lines);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::input::composer;
    use crate::app::model::modal::Modal;
    use crate::app::tests::{ready, script};

    #[test]
    fn it_is_asked_at_any_time_and_shown_once() {
        let mut model = ready();
        let effects = script(&mut model, "/btw why so<ret>");
        assert!(effects.contains(&Effect::Agent(AgentCommand::ByTheWay("why so".into()))), "{effects:?}");
        answered(&mut model, "why so".into(), "because\nof that".into());
        assert!(matches!(model.tab.modals.last(), Some(Modal::Text(text)) if text.lines.len() == 4));
        // Who writes is not disturbed.
        let mut model = ready();
        script(&mut model, "please re");
        answered(&mut model, "why so".into(), "because".into());
        assert!(model.tab.modals.is_empty());
        assert!(model.notices.shown.last().is_some_and(|notice| notice.text == "answered: “why so”; /btw shows it"));
        composer::set_text(&mut model, "/btw ");
        script(&mut model, "<ret>");
        assert!(matches!(model.tab.modals.last(), Some(Modal::Text(_))));
    }
}
