//! `/compact`: a summary in place of old entries, read, edited and undone.

use crate::app::effect::Effect;
use crate::app::model::Model;
use crate::app::model::processes::Edits;
use crate::app::run;
use crate::app::terminal::editor;
use crate::protocol::{AgentCommand, CompactOrder, ItemId, LeftOut, SummaryBody};
use crate::text::{Ground, Line, Role, Span};

/// Compacts with the argument in view; `show`, `edit` and `undo` are about the summary that there is.
pub fn compact(out: &mut Vec<Effect>, argument: &str) {
    let order = match argument.trim() {
        "undo" => CompactOrder::Undo,
        "edit" => CompactOrder::Read { edit: true },
        "show" => CompactOrder::Read { edit: false },
        focus => CompactOrder::Now(focus.to_owned()),
    };
    out.push(Effect::Agent(AgentCommand::Compact(order)));
}

/// A summary is being written, or no longer.
pub fn compacting(model: &mut Model, begun: bool) {
    model.tab.compacting = begun.then_some(model.now);
}

/// The summary that counts came: to edit it, or to read what it stands for.
pub fn read(model: &mut Model, out: &mut Vec<Effect>, edit: Option<ItemId>, summary: SummaryBody, left: &[LeftOut]) {
    if let Some(of) = edit {
        return editor::edit(model, out, Edits::Summary(of), summary.text);
    }
    run::text(model, "What the summary stands for", diff(&summary, left));
}

/// What went and what came, as a diff.
fn diff(summary: &SummaryBody, left: &[LeftOut]) -> Vec<Line> {
    let line = |text: String, role, ground| Line { spans: vec![Span::new(text, role)], ground };
    let mut lines = vec![line(summary.line(), Role::Dim, Ground::Base), Line::default()];
    let text = summary.text.lines().map(|text| line(format!("+ {text}"), Role::Added, Ground::Added));
    lines.extend(text);
    lines.push(Line::default());
    for LeftOut { who, text } in left {
        lines.push(line(format!("- {}{text}", who.before()), Role::Removed, Ground::Removed));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::model::modal::Modal;
    use crate::app::msg::Msg;
    use crate::app::tests::{ready, script};
    use crate::app::update;
    use crate::protocol::{AgentEvent, Who};

    #[test]
    fn each_word_is_an_order() {
        for (typed, order) in [
            ("/compact<ret>", CompactOrder::Now(String::new())),
            ("/compress the parser<ret>", CompactOrder::Now("the parser".into())),
            ("/compact undo<ret>", CompactOrder::Undo),
            ("/compact show<ret>", CompactOrder::Read { edit: false }),
            ("/compact edit<ret>", CompactOrder::Read { edit: true }),
        ] {
            let mut model = ready();
            let effects = script(&mut model, typed);
            assert!(effects.contains(&Effect::Agent(AgentCommand::Compact(order.clone()))), "{typed}: {effects:?}");
        }
    }

    fn summary() -> Box<SummaryBody> {
        let (text, to) = ("## Goal\nall of it".to_owned(), ItemId(9));
        Box::new(SummaryBody {
            text,
            from: ItemId(1),
            to,
            entries: 1,
            before: 9000,
            after: 1000,
            ..SummaryBody::default()
        })
    }

    #[test]
    fn what_went_and_what_came_is_a_diff() {
        let mut model = ready();
        let left = vec![LeftOut { who: Who::Person, text: "#1 do it".into() }];
        update(
            &mut model,
            0,
            Msg::Agent(AgentEvent::SummaryRead { edit: false, of: ItemId(9), summary: summary(), left }),
        );
        let Some(Modal::Text(modal)) = model.tab.modals.last() else { panic!("a text") };
        let lines: Vec<String> = modal.lines.iter().map(Line::text).collect();
        let expected = [
            "compacted 1 entry · 9,000 → 1,000 tokens · an extract",
            "",
            "+ ## Goal",
            "+ all of it",
            "",
            "- you: #1 do it",
        ];
        assert_eq!(lines, expected);
    }

    #[test]
    fn an_edited_summary_goes_to_the_agent_and_not_to_the_composer() {
        let mut model = ready();
        script(&mut model, "draft");
        let read = AgentEvent::SummaryRead { edit: true, of: ItemId(9), summary: summary(), left: Vec::new() };
        assert!(update(&mut model, 0, Msg::Agent(read)).contains(&Effect::Edit("## Goal\nall of it".into())));
        let effects = update(&mut model, 0, Msg::Edited(Ok("## Goal\nless\n".into())));
        let order = AgentCommand::Compact(CompactOrder::Edit { of: ItemId(9), text: "## Goal\nless".into() });
        assert!(effects.contains(&Effect::Agent(order)), "{effects:?}");
        assert_eq!(crate::app::input::composer::text(&model.tab.composer), "draft");
    }

    #[test]
    fn escape_stops_it_and_nothing_wakes_afterwards() {
        let mut model = ready();
        update(&mut model, 1000, Msg::Agent(AgentEvent::Compacting(true)));
        assert!(model.tab.compacting.is_some() && crate::app::window::wake::next_wake(&model).is_some());
        let effects = script(&mut model, "<esc>");
        assert!(effects.contains(&Effect::Agent(AgentCommand::Stop { force: false })), "{effects:?}");
        update(&mut model, 2000, Msg::Agent(AgentEvent::Compacting(false)));
        assert_eq!(crate::app::window::wake::next_wake(&model), None);
    }
}
