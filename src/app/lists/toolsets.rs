//! Toolsets of the session: the list with what each costs and its switch, which holds from the next turn on.

use super::pickers;
use crate::app::action::Action;
use crate::app::effect::{Effect, LoadRequest};
use crate::app::input::hint;
use crate::app::model::Model;
use crate::app::model::modal::{PickItem, PickerKind};
use crate::app::model::toolsets::ToolsetRow;
use crate::protocol::{AgentCommand, Level};
use crate::text::format;

/// What a switch means, below the list.
const SWITCHES: &str = "toggles it from the next turn; this resets the prompt cache";

/// `/toolsets`: the list; with names only these, with `default` those of the configuration.
pub fn open(model: &mut Model, out: &mut Vec<Effect>, argument: &str) {
    if !argument.is_empty() {
        let named = argument.split([',', ' ']).map(str::trim).filter(|name| !name.is_empty() && *name != "default");
        return out.push(Effect::Agent(AgentCommand::SetToolsets(named.map(str::to_owned).collect())));
    }
    pickers::open(model, PickerKind::Toolsets, "Toolsets of this session", items(&model.toolsets));
    if let Some(picker) = pickers::top(model, PickerKind::Toolsets) {
        picker.loading = picker.items.is_empty();
    }
    note(model);
    out.push(Effect::Load(LoadRequest::Toolsets));
}

/// The list came.
pub fn listed(model: &mut Model, rows: Vec<ToolsetRow>) {
    model.toolsets = rows;
    let items = items(&model.toolsets);
    if let Some(picker) = pickers::top(model, PickerKind::Toolsets) {
        pickers::fill(picker, items);
    }
    note(model);
}

/// Facts of the session changed: an open list is read again.
pub fn changed(model: &mut Model, out: &mut Vec<Effect>) {
    if pickers::top(model, PickerKind::Toolsets).is_some() {
        out.push(Effect::Load(LoadRequest::Toolsets));
    }
}

fn items(rows: &[ToolsetRow]) -> Vec<PickItem> {
    rows.iter().map(item).collect()
}

fn item(row: &ToolsetRow) -> PickItem {
    let broken = row.unavailable == row.tools;
    // The sign differs too: colour is never the only one.
    let (dot, state) = match (row.on, broken) {
        (0, _) => ("○", "off"),
        (_, true) => ("✗", "unavailable"),
        (on, false) if on < row.tools => ("◐", "partly on"),
        _ => ("●", "on"),
    };
    let mut parts = vec![format::plural(row.tools as u64, "tool", "tools")];
    if row.unavailable > 0 && !broken {
        parts.push(format!("{} unavailable", row.unavailable));
    }
    if broken {
        parts.push(row.why.clone());
    } else {
        parts.push(format!("≈ {} tokens", format::tokens(i64::try_from(row.tokens).unwrap_or(i64::MAX))));
    }
    PickItem {
        label: format!("{dot} {}", row.name),
        detail: parts.join(" · "),
        hint: state.to_owned(),
        value: row.name.clone(),
        ..PickItem::default()
    }
}

/// What is known of the selected set, and what Enter does, below the list.
pub fn note(model: &mut Model) {
    let rows = std::mem::take(&mut model.toolsets);
    let switches = hint::sentence(&[(hint::picker(model, Action::Accept), SWITCHES)]);
    if let Some(picker) = pickers::top(model, PickerKind::Toolsets) {
        let row = pickers::chosen(picker).and_then(|item| rows.iter().find(|row| row.name == item.value));
        picker.footnote = match row {
            Some(row) if !row.why.is_empty() => format!("{switches}. Unavailable: {}", row.why),
            Some(_) => switches,
            None => String::new(),
        };
    }
    model.toolsets = rows;
}

/// Enter: on or off, and the list stays.
pub fn switched(model: &mut Model, out: &mut Vec<Effect>, name: &str) {
    let Some(at) = model.toolsets.iter().position(|row| row.name == name) else { return };
    let others = model.toolsets.iter().enumerate().any(|(other, row)| other != at && row.on > 0);
    let row = &mut model.toolsets[at];
    if row.on > 0 && !others {
        let text = "at least one toolset must stay on; /toolsets default restores the configuration";
        return model.notices.add(model.now, Level::Info, text);
    }
    // Shown at once: a second key may come before the answer.
    row.on = if row.on > 0 { 0 } else { row.tools };
    let named = model.toolsets.iter().filter(|row| row.on > 0).map(|row| row.name.clone()).collect();
    out.push(Effect::Agent(AgentCommand::SetToolsets(named)));
    let rows = std::mem::take(&mut model.toolsets);
    listed(model, rows);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::model::modal::Modal;
    use crate::app::msg::{LoadReply, Msg};
    use crate::app::tests::{ready, script};
    use crate::app::update;

    fn row(name: &str, tools: usize, on: usize) -> ToolsetRow {
        ToolsetRow { name: name.into(), tools, on, tokens: 1234, ..ToolsetRow::default() }
    }

    fn shown() -> Model {
        let mut model = ready();
        let asked = Effect::Load(LoadRequest::Toolsets);
        assert!(script(&mut model, "/toolsets<ret>").contains(&asked));
        let web = ToolsetRow { unavailable: 2, why: "no key".into(), ..row("web", 2, 2) };
        let rows = vec![row("file", 4, 4), row("terminal", 2, 0), row("todo", 3, 1), web];
        update(&mut model, 0, Msg::Loaded(LoadReply::Toolsets(rows)));
        model
    }

    fn set(names: &[&str]) -> Effect {
        Effect::Agent(AgentCommand::SetToolsets(names.iter().map(|name| (*name).to_owned()).collect()))
    }

    #[test]
    fn the_list_says_what_is_on_and_why_something_is_not_usable() {
        let model = shown();
        let Some(Modal::Picker(picker)) = model.tab.modals.last() else { panic!("{:?}", model.tab.modals) };
        let rows: Vec<(&str, &str, &str)> =
            picker.items.iter().map(|it| (it.label.as_str(), it.hint.as_str(), it.detail.as_str())).collect();
        assert_eq!(
            rows,
            [
                ("● file", "on", "4 tools · ≈ 1.23K tokens"),
                ("○ terminal", "off", "2 tools · ≈ 1.23K tokens"),
                ("◐ todo", "partly on", "3 tools · ≈ 1.23K tokens"),
                ("✗ web", "unavailable", "2 tools · no key"),
            ]
        );
        assert!(picker.footnote.contains("this resets the prompt cache"), "{}", picker.footnote);
    }

    #[test]
    fn enter_switches_and_the_list_stays() {
        let mut model = shown();
        assert!(script(&mut model, "<ret>").contains(&set(&["todo", "web"])));
        assert!(script(&mut model, "<down><ret>").contains(&set(&["terminal", "todo", "web"])), "at once, too");
        assert!(matches!(model.tab.modals.last(), Some(Modal::Picker(_))));
        // the last one stays
        script(&mut model, "<ret><down><ret>");
        let effects = script(&mut model, "<down><ret>");
        assert!(!effects.iter().any(|effect| matches!(effect, Effect::Agent(_))), "{effects:?}");
        assert!(model.notices.shown.iter().any(|notice| notice.text.contains("must stay on")));
    }

    #[test]
    fn names_choose_and_default_goes_back() {
        for (keys, names) in [("/toolsets file, web<ret>", vec!["file", "web"]), ("/toolsets default<ret>", vec![])] {
            assert!(script(&mut ready(), keys).contains(&set(&names)), "{keys}");
        }
    }
}
