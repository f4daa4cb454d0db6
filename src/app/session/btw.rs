//! `/btw`: a question beside the turn, whose answer is shown and forgotten.

use crate::app::effect::Effect;
use crate::app::input::composer;
use crate::app::model::Model;
use crate::app::run;
use crate::protocol::{AgentCommand, Level};
use crate::text::{Line, Role, Span};

/// Asks it.
pub fn ask(model: &mut Model, out: &mut Vec<Effect>, question: &str) {
    let question = question.trim();
    if question.is_empty() {
        return model.notices.add(model.now, Level::Warning, "/btw needs a question behind it");
    }
    if model.tab.of.is_some() || model.tab.session.is_some() {
        model.notices.add(model.now, Level::Info, "asked; the answer comes here, and is not kept");
        out.push(Effect::Agent(AgentCommand::ByTheWay(question.to_owned())));
    } else {
        composer::set_text(model, &format!("/btw {question}"));
        model.notices.add(model.now, Level::Info, "the session is still starting; send it again in a moment");
    }
}

/// Shows the answer.
pub fn answered(model: &mut Model, question: &str, answer: &str) {
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
    use crate::app::model::modal::Modal;
    use crate::app::tests::{ready, script};

    #[test]
    fn it_is_asked_at_any_time_and_shown_once() {
        let mut model = ready();
        let effects = script(&mut model, "/btw why so<ret>");
        assert!(effects.contains(&Effect::Agent(AgentCommand::ByTheWay("why so".into()))), "{effects:?}");
        answered(&mut model, "why so", "because\nof that");
        assert!(matches!(model.tab.modals.last(), Some(Modal::Text(text)) if text.lines.len() == 4));
    }
}
