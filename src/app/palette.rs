//! The palette: every action, every command with an argument, every skill, with its key. What can be done now comes first,
//! then what is used, then the alphabet.

use super::action::{self, ACTIONS, Action, Entry};
use super::effect::Effect;
use super::model::modal::{PickItem, PickerKind};
use super::model::{Model, TurnStatus};
use super::{composer, pickers, run, turn, uses};
use crate::exec::ProcessState;
use std::cmp::Reverse;

/// Rows of the group of what was used.
const USED: usize = 8;
/// What a hit among what is used or useful now is worth beside how well it fits.
const BOOST: u32 = 12;

/// Opens the palette.
pub fn open(model: &mut Model) {
    let items = items(model);
    pickers::open(model, PickerKind::Palette, "Commands", items);
}

/// What is used most came from the store: a palette that is open already takes it in.
pub fn refresh(model: &mut Model) {
    let rows = items(model);
    if let Some(picker) = pickers::top(model, PickerKind::Palette) {
        let moved = picker.selected > 0;
        pickers::fill(picker, rows);
        // Where nobody moved yet the first row is meant, whichever it is.
        picker.selected = if moved { picker.selected } else { 0 };
    }
}

fn items(model: &Model) -> Vec<PickItem> {
    let useful = useful(model);
    let used: Vec<&str> = uses::most(model).into_iter().take(USED).collect();
    let mut rows: Vec<(usize, usize, PickItem)> = Vec::new();
    let place = |name: &str, action: Option<Action>| -> (usize, usize) {
        if let Some(at) = action.and_then(|action| useful.iter().position(|other| *other == action)) {
            (0, at)
        } else if action.is_some_and(|action| is_idle(model, action)) {
            (4, 0)
        } else if let Some(at) = used.iter().position(|other| *other == name) {
            (1, at)
        } else {
            (if action.is_some() { 2 } else { 3 }, 0)
        }
    };
    for entry in ACTIONS.iter().filter(|entry| !entry.scope.is_local()) {
        let (group, at) = place(entry.name, Some(entry.action));
        rows.push((group, at, item(model, entry)));
    }
    for skill in &model.sidebar.knowledge.skills {
        let name = format!("/{skill}");
        let (group, at) = place(&name, None);
        rows.push((
            group,
            at,
            PickItem { label: name.clone(), detail: "skill".into(), value: name, ..PickItem::default() },
        ));
    }
    for command in &model.extensions.commands {
        let name = format!("/{}", command.name);
        let (group, at) = place(&name, None);
        let item = PickItem {
            label: name.clone(),
            detail: command.description.clone(),
            hint: format!("plugin {}", command.plugin),
            value: name,
            ..PickItem::default()
        };
        rows.push((group, at, item));
    }
    rows.sort_by_cached_key(|(group, at, item)| (*group, *at, item.label.to_lowercase()));
    let groups = ["Now", "Used", "All", "Skills and plugins", "Not now"];
    let head = |(group, _, item): (usize, usize, PickItem)| PickItem {
        group: groups.get(group).copied().unwrap_or_default().to_owned(),
        boost: if group < 2 { BOOST } else { 0 },
        ..item
    };
    rows.into_iter().map(head).collect()
}

fn item(model: &Model, entry: &Entry) -> PickItem {
    PickItem {
        label: entry.doc.to_owned(),
        detail: entry.slash.map(|slash| format!("/{}", slash.name)).unwrap_or_default(),
        hint: model.keymap.keys_for(entry.name).first().cloned().unwrap_or_default(),
        value: entry.name.to_owned(),
        ..PickItem::default()
    }
}

/// What the moment asks for, most urgent first.
pub fn useful(model: &Model) -> Vec<Action> {
    let mut list = Vec::new();
    if !model.approvals.entries.is_empty() {
        list.push(Action::Inbox);
    }
    let state = |wanted: &ProcessState| model.processes.rows.iter().any(|row| row.state == *wanted);
    if state(&ProcessState::NeedsInput) {
        list.push(Action::TakeOver);
    }
    if turn::is_running(model) {
        list.extend([Action::StopTurn, Action::Steer, Action::QueuePrompt]);
        if model.processes.rows.iter().any(|row| !row.background && row.state == ProcessState::Running) {
            list.push(Action::BackgroundCommand);
        }
    }
    if !model.queue.is_empty() {
        list.push(Action::QueueStrip);
    }
    if model.transcript.selection.is_some() {
        list.push(Action::CopySelection);
    }
    if model.session.as_ref().is_some_and(|session| session.model.is_empty()) {
        list.extend([Action::ProviderKey, Action::ModelPicker]);
    }
    list
}

/// Whether an action has nothing to act on now.
fn is_idle(model: &Model, action: Action) -> bool {
    let processes = model.processes.rows.is_empty();
    let cells = model.transcript.cells.is_empty();
    match action {
        Action::StopTurn | Action::Steer | Action::BackgroundCommand => matches!(model.turn, TurnStatus::Idle),
        Action::QueueStrip | Action::QueueEdit | Action::QueueSteer | Action::QueueDrop => model.queue.is_empty(),
        Action::Inbox => model.approvals.entries.is_empty(),
        Action::TakeOver | Action::KillProcess | Action::ForgetProcess => processes,
        Action::NextTerminal | Action::PreviousTerminal => model.processes.rows.len() < 2,
        Action::FindNext | Action::FindPrevious => model.transcript.find.is_none(),
        Action::CopySelection => model.transcript.selection.is_none() && model.transcript.selected.is_none(),
        Action::Find | Action::CopyMode | Action::Copy | Action::Expand | Action::ExpandAll | Action::Details => cells,
        Action::SelectPrevious | Action::SelectNext => cells,
        Action::Plan => model.sidebar.plan.is_empty(),
        Action::DraftPrevious => model.composer.drafts.is_empty(),
        _ => false,
    }
}

/// The commands of the popup before anything is typed, in the order of the palette: name, argument, what it does.
pub fn commands(model: &Model) -> Vec<(String, String)> {
    let useful = useful(model);
    let used = uses::most(model);
    let mut rows: Vec<(Reverse<bool>, usize, String, String)> = Vec::new();
    let at = |name: &str| used.iter().position(|other| *other == name).unwrap_or(usize::MAX);
    for entry in ACTIONS {
        let Some(slash) = entry.slash else { continue };
        let detail =
            if slash.argument.is_empty() { entry.doc.to_owned() } else { format!("{}  {}", slash.argument, entry.doc) };
        rows.push((Reverse(useful.contains(&entry.action)), at(entry.name), format!("/{}", slash.name), detail));
    }
    for skill in &model.sidebar.knowledge.skills {
        let name = format!("/{skill}");
        rows.push((Reverse(false), at(&name), name, "skill".into()));
    }
    for command in &model.extensions.commands {
        let name = format!("/{}", command.name);
        let about = format!("{}  {} (plugin {})", command.argument, command.description, command.plugin);
        rows.push((Reverse(false), at(&name), name, about.trim_start().to_owned()));
    }
    for (prompt, about) in super::servers::prompts(model) {
        let name = format!("/{prompt}");
        rows.push((Reverse(false), at(&name), name, about.to_owned()));
    }
    rows.sort();
    rows.into_iter().map(|(_, _, name, detail)| (name, detail)).collect()
}

/// Runs what was chosen. A command that needs text is put before the composer's caret.
pub fn chosen(model: &mut Model, out: &mut Vec<Effect>, value: &str) {
    let Some(action) = action::Action::from_name(value) else {
        return write(model, out, &format!("{value} "));
    };
    match action.entry().and_then(|entry| entry.slash) {
        Some(slash) if slash.argument.starts_with('<') => write(model, out, &format!("/{} ", slash.name)),
        _ => {
            uses::record(model, out, value);
            run::run(model, out, action, "");
        }
    }
}

fn write(model: &mut Model, out: &mut Vec<Effect>, command: &str) {
    let draft = composer::whole(&model.composer);
    composer::set_text(model, &format!("{command}{draft}"));
    composer::changed(model, out);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::tests::{ready, script};

    #[test]
    fn the_palette_runs_actions_and_prepares_commands() {
        let mut model = ready();
        model.sidebar.knowledge.skills = vec!["release-notes".into()];
        let effects = script(&mut model, "<C-p>repaint<ret>");
        assert!(effects.contains(&Effect::Repaint), "{effects:?}");
        assert!(model.modals.is_empty());
        script(&mut model, "text<C-p>release-notes<ret>");
        assert_eq!(composer::text(&model.composer), "/release-notes text");
        script(&mut model, "<C-p>draft<esc>");
        assert_eq!(composer::text(&model.composer), "/release-notes text", "a modal leaves the draft alone");
    }

    fn listed(model: &Model) -> Vec<(String, String)> {
        items(model).into_iter().map(|item| (item.group, item.value)).collect()
    }

    #[test]
    fn what_can_be_done_now_comes_first_then_what_is_used_then_the_alphabet() {
        let mut model = ready();
        let groups = |model: &Model| listed(model).into_iter().map(|(group, _)| group).collect::<Vec<_>>();
        assert_eq!(groups(&model).first().map(String::as_str), Some("All"), "nothing runs, nothing was used");
        assert_eq!(groups(&model).last().map(String::as_str), Some("Not now"));
        let labels: Vec<String> = items(&model)
            .into_iter()
            .filter(|item| item.group == "All")
            .map(|item| item.label.to_lowercase())
            .collect();
        assert!(labels.is_sorted(), "{labels:?}");
        script(&mut model, "<C-p>repaint<ret>/doctor<ret>/doctor<ret>go<ret>");
        let first: Vec<(String, String)> = listed(&model).into_iter().take(5).collect();
        let pair = |group: &str, name: &str| (group.to_owned(), name.to_owned());
        let expected = [
            pair("Now", "stop-turn"),
            pair("Now", "steer"),
            pair("Now", "queue"),
            pair("Used", "doctor"),
            pair("Used", "redraw"),
        ];
        assert_eq!(first, expected);
    }

    #[test]
    fn a_query_finds_names_descriptions_and_commands() {
        for (query, name) in
            [("quit", "quit"), ("/doctor", "doctor"), ("copy-mode", "copy-mode"), ("window fills", "context")]
        {
            let mut model = ready();
            script(&mut model, &format!("<C-p>{query}"));
            let Some(crate::app::model::modal::Modal::Picker(picker)) = model.modals.last() else {
                panic!("no picker")
            };
            let found: Vec<&str> = picker.matches.iter().map(|at| picker.items[*at].value.as_str()).take(3).collect();
            assert!(found.contains(&name), "{query}: {found:?}");
        }
    }
}
