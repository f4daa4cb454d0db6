//! The card of a policy that someone changed on disk: what is different, and two answers. Until one is given nothing
//! passes by a rule or mode.

use super::inert;
use super::inert::INERT_MS;
use crate::app::action::Action;
use crate::app::effect::{Effect, ServerOrder};
use crate::app::input::composer;
use crate::app::lists::servers;
use crate::app::model::Model;
use crate::app::model::modal::{Modal, PolicyChangedModal, PolicyChoice};
use crate::app::model::servers::ReadWhy;
use crate::app::window::modals::{movement, scrolled};
use crate::config::policy_files::version;
use crate::protocol::{AgentCommand, Level, PolicyAnswer, PolicyChange};
use crate::text::{Line, Role, Span};

/// The files changed, or are again as they were.
pub fn changed(model: &mut Model, out: &mut Vec<Effect>, changes: Vec<PolicyChange>) {
    model.tab.policy.changes = changes;
    model.tab.policy.aside = false;
    if std::mem::take(&mut model.tab.policy.taking) && model.tab.policy.changes.is_empty() {
        out.push(Effect::Server(ServerOrder::Reload(ReadWhy::Changed)));
        model.notices.add(model.now, Level::Info, "using the new policy");
    }
    model.tab.modals.retain(|modal| !matches!(modal, Modal::PolicyChanged(_)));
    servers::refresh(model);
    if !model.tab.policy.changes.is_empty() && !model.window_focused {
        out.push(Effect::Notify("policy file changed: everything asks until you review it".into()));
    }
}

/// When the card may open: keys have been quiet until then. `None`: it does not wait, or for something else than quiet.
pub fn opens_at(model: &Model) -> Option<i64> {
    let waits = !model.tab.policy.changes.is_empty() && !model.tab.policy.aside && model.tab.modals.is_empty();
    let at = model.keyed_at.map_or(model.now, |at| at + INERT_MS);
    // Who writes is not interrupted; the status bar says what changed.
    (waits && composer::is_empty(&model.tab.composer)).then_some(at)
}

/// Opens the card, when it was not put aside, nothing else is open and nobody writes.
pub fn open_waiting(model: &mut Model) {
    if !model.tab.modals.is_empty() || model.tab.processes.pane.taken_over || inert::hidden(model) {
        return;
    }
    if opens_at(model).is_some_and(|at| at <= model.now) {
        model.chord = None;
        model.tab.composer.completion = None;
        open(model, model.now + INERT_MS);
    }
}

fn open(model: &mut Model, inert_until: i64) {
    let lines = lines(&model.tab.policy.changes);
    let modal = PolicyChangedModal { lines, scroll: 0, inert_until, selected: PolicyChoice::Later };
    model.tab.modals.push(Modal::PolicyChanged(Box::new(modal)));
}

/// `/policy`: the card again, or that there is nothing to look at.
pub fn show(model: &mut Model) {
    if model.tab.policy.changes.is_empty() {
        model.notices.add(model.now, Level::Info, "the policy has not changed since this session read it");
    } else {
        open(model, model.now);
    }
}

/// An action in the card. An answer takes two: choose it, then accept it.
pub fn act(model: &mut Model, out: &mut Vec<Effect>, action: Option<Action>) {
    let Some(Modal::PolicyChanged(modal)) = model.tab.modals.last_mut() else { return };
    match action {
        Some(Action::TakePolicy) => modal.selected = PolicyChoice::Take,
        Some(Action::KeepPolicy) => modal.selected = PolicyChoice::Keep,
        Some(Action::No) => modal.selected = PolicyChoice::Later,
        Some(Action::Next) => modal.selected = next(modal.selected, 1),
        Some(Action::Previous) => modal.selected = next(modal.selected, 2),
        Some(Action::Close) => put_aside(model),
        Some(Action::Accept) => match modal.selected {
            PolicyChoice::Later => put_aside(model),
            PolicyChoice::Take => answer(model, out, PolicyAnswer::Take),
            PolicyChoice::Keep => answer(model, out, PolicyAnswer::Keep),
        },
        action => {
            if let Some(movement) = movement(action) {
                modal.scroll = scrolled(modal.scroll, modal.lines.len(), movement);
            }
        }
    }
}

/// The answers in the order of their rows.
pub const ROWS: [PolicyChoice; 3] = [PolicyChoice::Later, PolicyChoice::Keep, PolicyChoice::Take];

fn next(choice: PolicyChoice, by: usize) -> PolicyChoice {
    let at = ROWS.iter().position(|row| *row == choice).unwrap_or(0);
    ROWS[(at + by) % ROWS.len()]
}

/// Decides later: until then the old policy asks about everything that it would let pass.
pub fn put_aside(model: &mut Model) {
    if let Some(Modal::PolicyChanged(_)) = model.tab.modals.last() {
        model.tab.modals.pop();
        model.tab.policy.aside = true;
        let text = "every dangerous command asks until you decide; /policy shows the change";
        model.notices.add(model.now, Level::Warning, text);
    }
}

fn answer(model: &mut Model, out: &mut Vec<Effect>, about: fn(String) -> PolicyAnswer) {
    model.tab.modals.pop();
    // What the agent says next counts; until then the card is not shown again.
    model.tab.policy.aside = true;
    // The card is closed when the changes are others: these are what it showed.
    let answer = about(version(&model.tab.policy.changes));
    match &answer {
        // It is told when it was taken.
        PolicyAnswer::Take(_) => model.tab.policy.taking = true,
        PolicyAnswer::Keep(_) => {
            let text = "this session keeps the old policy; /reload applies the new one";
            model.notices.add(model.now, Level::Info, text);
        }
    }
    out.push(Effect::Agent(AgentCommand::Policy(answer)));
}

/// The text of the card. Lines of a difference begin with two blanks: they stand as they are.
fn lines(changes: &[PolicyChange]) -> Vec<Line> {
    let line = |text: &str, role: Role| Line { spans: vec![Span::new(text, role)], ..Line::default() };
    let intro = "Something outside Hermes changed your permissions. Until you decide, rules, auto mode and yolo approve nothing.";
    let mut out = vec![line(intro, Role::Text)];
    for change in changes {
        out.push(Line::default());
        out.push(line(&change.name, Role::Strong));
        for row in change.diff.lines() {
            let role = match row.as_bytes().first() {
                Some(b'+') => Role::Good,
                Some(b'-') => Role::Bad,
                _ => Role::Dim,
            };
            let shown = crate::text::visible::visible(row).text;
            out.push(line(&format!("  {shown}"), role));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::tests::{ready, script};
    use crate::app::window::wake;
    use crate::app::{Msg, update};
    use crate::protocol::AgentEvent;

    fn told() -> Model {
        let mut model = ready();
        let diff = "-  mode: manual\n+  mode: off\n".into();
        let change = PolicyChange { name: "~/.hermes/config.yaml".into(), diff, hash: "h".into() };
        let now = model.now;
        update(&mut model, now, Msg::Agent(AgentEvent::PolicyChanged(vec![change])));
        assert!(matches!(model.tab.modals.last(), Some(Modal::PolicyChanged(_))), "{:?}", model.tab.modals);
        model
    }

    fn answers(keys: &str, quiet: bool) -> (Vec<PolicyAnswer>, Model) {
        let mut model = told();
        if quiet {
            let later = model.now + INERT_MS;
            update(&mut model, later, Msg::Woke);
        }
        let effects = script(&mut model, keys);
        let answered = effects.into_iter().filter_map(|effect| match effect {
            Effect::Agent(AgentCommand::Policy(answer)) => Some(answer),
            _ => None,
        });
        (answered.collect(), model)
    }

    #[test]
    fn an_answer_takes_two_keys_and_none_that_was_meant_for_the_composer() {
        let shown = version(&told().tab.policy.changes);
        assert_eq!(answers("t<ret>", true).0, [PolicyAnswer::Take(shown.clone())]);
        assert_eq!(answers("o<ret>", true).0, [PolicyAnswer::Keep(shown.clone())]);
        assert_eq!(answers("<tab><ret>", true).0, [PolicyAnswer::Keep(shown)]);
        for keys in ["<ret>", "<esc>", "t<esc>", "x<ret>"] {
            let (answered, model) = answers(keys, true);
            assert_eq!((answered, model.tab.policy.aside, model.tab.modals.len()), (vec![], true, 0), "{keys}");
        }
        let (answered, model) = answers("t<ret>", false);
        assert_eq!((answered.len(), model.tab.modals.len()), (0, 1), "the keys went to the composer");
    }

    #[test]
    fn it_waits_until_nothing_is_being_written() {
        let mut model = ready();
        let at = model.now + 1000;
        crate::app::tests::script_at(&mut model, at, "half a sen");
        let change = PolicyChange { name: "permissions.yaml".into(), diff: "+ x\n".into(), hash: "x".into() };
        update(&mut model, at + 50, Msg::Agent(AgentEvent::PolicyChanged(vec![change])));
        update(&mut model, at + 60_000, Msg::Woke);
        assert!(model.tab.modals.is_empty(), "the composer is not empty");
        crate::app::tests::script_at(&mut model, at + 70_000, "<C-u>");
        assert!(model.tab.modals.is_empty(), "a key has just come");
        assert_eq!(opens_at(&model), Some(at + 70_000 + INERT_MS));
        assert!(wake::next_wake(&model) <= opens_at(&model));
        update(&mut model, at + 70_000 + INERT_MS, Msg::Woke);
        assert!(matches!(model.tab.modals.last(), Some(Modal::PolicyChanged(_))), "{:?}", model.tab.modals);
    }

    #[test]
    fn it_closes_when_all_is_as_it_was_and_comes_back_with_news() {
        let mut model = told();
        let now = model.now;
        update(&mut model, now, Msg::Agent(AgentEvent::PolicyChanged(Vec::new())));
        assert!(model.tab.modals.is_empty());
        let (_, mut model) = answers("<esc>", true);
        let change = PolicyChange { name: "permissions.yaml".into(), diff: "+ x\n".into(), hash: "x".into() };
        let later = model.now + INERT_MS;
        update(&mut model, later, Msg::Agent(AgentEvent::PolicyChanged(vec![change])));
        assert!(matches!(model.tab.modals.last(), Some(Modal::PolicyChanged(_))));
    }

    #[test]
    fn servers_are_read_when_the_change_was_taken_and_not_before() {
        let reads = |effects: &[Effect]| effects.contains(&Effect::Server(ServerOrder::Reload(ReadWhy::Changed)));
        for (taken, want) in [(Vec::new(), true), (told().tab.policy.changes, false)] {
            let (_, mut model) = answers("t<ret>", true);
            let now = model.now;
            let effects = update(&mut model, now, Msg::Agent(AgentEvent::PolicyChanged(taken)));
            assert_eq!((reads(&effects), model.tab.policy.taking), (want, false));
        }
        let mut model = told();
        let later = model.now + INERT_MS;
        update(&mut model, later, Msg::Woke);
        assert!(!reads(&script(&mut model, "t<ret>")));
    }
}
