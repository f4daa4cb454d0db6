//! `/permissions`: the rules that hold here, what they would say to a command that is typed, and taking one back.

use super::mode;
use crate::app::action::Action;
use crate::app::effect::{Effect, LoadRequest};
use crate::app::input::hint;
use crate::app::lists::pickers;
use crate::app::model::Model;
use crate::app::model::modal::{Confirm, ConfirmThen, Modal, PickItem, PickerKind};
use crate::app::model::permissions::{Permissions, RuleRow};
use crate::protocol::{AgentCommand, Level};

/// `/permissions`: the list; what follows it is a command to try.
pub fn open(model: &mut Model, out: &mut Vec<Effect>, argument: &str) {
    let title = format!("Permissions · {}", mode::now(model).word());
    pickers::open(model, PickerKind::Permissions, &title, items(&model.permissions.rows));
    if let Some(picker) = pickers::top(model, PickerKind::Permissions) {
        picker.loading = picker.items.is_empty();
        picker.query = argument.to_owned();
        picker.cursor = argument.chars().count();
    }
    out.push(Effect::Load(LoadRequest::Permissions));
    pickers::typed(model, out);
}

/// The list came.
pub fn listed(model: &mut Model, new: Permissions) {
    let tried = model.permissions.tried.take();
    model.permissions = Permissions { tried, ..new };
    let items = items(&model.permissions.rows);
    if let Some(picker) = pickers::top(model, PickerKind::Permissions) {
        pickers::fill(picker, items);
    }
    note(model);
}

/// All that is known of a rule: its row may be too short for that.
fn described(row: &RuleRow, takes: Option<&str>) -> String {
    let parts: Vec<&str> = [&row.scope, &row.end, &row.who].into_iter().map(String::as_str).collect();
    let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    let last = if row.of_session {
        "ends with the session; /new starts one without it".to_owned()
    } else {
        match takes {
            Some(key) => format!("{key} revokes it · {}", row.place),
            None => row.place.clone(),
        }
    };
    [format!("{} {}", row.action, row.rule), parts.join(" · "), last]
        .into_iter()
        .filter(|line| !line.is_empty())
        .collect::<Vec<_>>()
        .join("\n")
}

fn items(rows: &[RuleRow]) -> Vec<PickItem> {
    rows.iter().map(item).collect()
}

fn item(row: &RuleRow) -> PickItem {
    // The sign differs too: colour is never the only one.
    let sign = match row.action.as_str() {
        "allow" => "✓",
        "deny" => "✗",
        _ => "?",
    };
    let parts = [&row.scope, &row.end, &row.who];
    let parts: Vec<&str> = parts.into_iter().map(String::as_str).filter(|part| !part.is_empty()).collect();
    PickItem {
        label: format!("{sign} {:<5} {}", row.action, row.rule),
        detail: parts.join(" · "),
        value: row.number.to_string(),
        group: row.file.clone(),
        ..PickItem::default()
    }
}

/// The query was changed: it is tried as a command.
pub fn typed(model: &mut Model, out: &mut Vec<Effect>) {
    let Some(picker) = pickers::top(model, PickerKind::Permissions) else { return };
    let command = picker.query.trim().to_owned();
    if model.permissions.tried.as_ref().is_none_or(|(tried, _)| *tried != command) {
        model.permissions.tried = None;
        if !command.is_empty() {
            out.push(Effect::Load(LoadRequest::TryCommand { command }));
        }
    }
    note(model);
}

/// The verdict on a command came; one on an older text is dropped.
pub fn tried(model: &mut Model, command: String, verdict: String) {
    let now = pickers::top(model, PickerKind::Permissions).map(|picker| picker.query.trim().to_owned());
    if now.as_deref() == Some(&command) {
        model.permissions.tried = Some((command, verdict));
        note(model);
    }
}

/// What is known of the selected rule, or the verdict on what is typed, below the list.
pub fn note(model: &mut Model) {
    let known = std::mem::take(&mut model.permissions);
    let takes = hint::picker(model, Action::Accept);
    if let Some(picker) = pickers::top(model, PickerKind::Permissions) {
        let query = picker.query.trim();
        picker.footnote = match (&known.tried, query.is_empty()) {
            (Some((command, verdict)), false) if command == query => verdict.clone(),
            (_, false) => String::new(),
            (_, true) => {
                let row = pickers::chosen(picker)
                    .and_then(|item| known.rows.iter().find(|row| row.number.to_string() == item.value));
                match (row, known.problems.first()) {
                    (_, Some(problem)) => format!("⚠ {problem}"),
                    (Some(row), None) => described(row, takes.as_deref()),
                    (None, None) => "no rules: risky commands ask; answering \"always\" adds a rule".into(),
                }
            }
        };
    }
    model.permissions = known;
}

/// Enter: takes a rule back, after a yes.
pub fn chosen(model: &mut Model, value: &str) {
    let Some(row) = model.permissions.rows.iter().find(|row| row.number.to_string() == value).cloned() else { return };
    if row.of_session {
        let text = format!("{} was allowed for this session and ends with it; /new starts one without it", row.rule);
        return model.notices.add(model.now, Level::Info, text);
    }
    let text = format!("{}: {}\n{} · {}", row.rule, row.action, row.scope, row.place);
    let loosens = if row.action == "allow" { "" } else { "\nWithout it, commands it blocked may run." };
    let then = ConfirmThen::Revoke(Box::new(row));
    model.tab.modals.push(Modal::Confirm(Confirm::new("Revoke a rule", format!("{text}{loosens}"), "Revoke", then)));
}

/// A yes.
pub fn revoke(out: &mut Vec<Effect>, row: RuleRow) {
    out.push(Effect::Load(LoadRequest::Revoke { row: Box::new(row) }));
}

/// It went, or why it stays.
pub fn revoked(model: &mut Model, out: &mut Vec<Effect>, result: Result<String, String>) {
    match result {
        Ok(text) => {
            model.notices.add(model.now, Level::Info, text);
            out.push(Effect::Agent(AgentCommand::Reload));
        }
        Err(text) => model.notices.add(model.now, Level::Warning, text),
    }
    out.push(Effect::Load(LoadRequest::Permissions));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::msg::{LoadReply, Msg};
    use crate::app::tests::{ready, script};
    use crate::app::update;

    fn row(number: usize, action: &str, rule: &str) -> RuleRow {
        RuleRow {
            number,
            action: action.into(),
            rule: rule.into(),
            place: format!("/h/permissions.yaml:{number}"),
            file: "permissions.yaml".into(),
            scope: "everywhere".into(),
            ..RuleRow::default()
        }
    }

    fn shown() -> Model {
        let mut model = ready();
        assert!(script(&mut model, "/permissions<ret>").contains(&Effect::Load(LoadRequest::Permissions)));
        let session = RuleRow { of_session: true, place: "this session".into(), ..row(3, "allow", "recursive delete") };
        let rows = vec![row(1, "allow", "terminal(git push *)"), row(2, "deny", "browser.*"), session];
        let reply = LoadReply::Permissions(Permissions { rows, ..Permissions::default() });
        update(&mut model, 0, Msg::Loaded(reply));
        model
    }

    fn footnote(model: &Model) -> &str {
        let Some(Modal::Picker(picker)) = model.tab.modals.last() else { panic!("{:?}", model.tab.modals) };
        &picker.footnote
    }

    #[test]
    fn rules_are_listed_with_where_they_stand() {
        let model = shown();
        let Some(Modal::Picker(picker)) = model.tab.modals.last() else { panic!("{:?}", model.tab.modals) };
        let labels: Vec<&str> = picker.items.iter().map(|item| item.label.as_str()).collect();
        assert_eq!(labels, ["✓ allow terminal(git push *)", "✗ deny  browser.*", "✓ allow recursive delete"]);
        let described = "allow terminal(git push *)\neverywhere\nEnter revokes it · /h/permissions.yaml:1";
        assert_eq!(footnote(&model), described);
    }

    #[test]
    fn what_is_typed_is_tried_and_an_old_answer_is_dropped() {
        let mut model = shown();
        let effects = script(&mut model, "git push");
        let last = Effect::Load(LoadRequest::TryCommand { command: "git push".into() });
        assert_eq!(effects.last(), Some(&last));
        let described = |model: &mut Model, command: &str| {
            let verdict = format!("verdict on {command}");
            update(model, 0, Msg::Loaded(LoadReply::Tried { command: command.into(), verdict }));
        };
        described(&mut model, "git pus");
        assert_eq!(footnote(&model), "");
        described(&mut model, "git push");
        assert_eq!(footnote(&model), "verdict on git push");
        let argument = script(&mut ready(), "/permissions rm -rf x<ret>");
        assert!(argument.contains(&Effect::Load(LoadRequest::TryCommand { command: "rm -rf x".into() })));
    }

    #[test]
    fn a_rule_goes_after_a_yes_and_the_session_hears_of_it() {
        let mut model = shown();
        script(&mut model, "<ret>");
        assert!(matches!(model.tab.modals.last(), Some(Modal::Confirm(_))), "{:?}", model.tab.modals);
        let nothing = script(&mut model, "<ret>");
        assert!(
            !nothing.iter().any(|effect| matches!(effect, Effect::Load(LoadRequest::Revoke { .. }))),
            "no is first"
        );
        script(&mut model, "<ret>");
        let yes = script(&mut model, "y<ret>");
        let wanted = Effect::Load(LoadRequest::Revoke { row: Box::new(row(1, "allow", "terminal(git push *)")) });
        assert!(yes.contains(&wanted), "{yes:?}");
        let effects = update(&mut model, 0, Msg::Loaded(LoadReply::Revoked(Ok("gone".into()))));
        assert!(effects.contains(&Effect::Agent(AgentCommand::Reload)));
        assert!(effects.contains(&Effect::Load(LoadRequest::Permissions)), "the list is read again");
    }

    #[test]
    fn a_grant_of_the_session_is_not_taken_back() {
        let mut model = shown();
        script(&mut model, "<down><down><ret>");
        assert!(matches!(model.tab.modals.last(), Some(Modal::Picker(_))));
        assert!(model.notices.shown.iter().any(|notice| notice.text.contains("ends with it")));
    }
}
