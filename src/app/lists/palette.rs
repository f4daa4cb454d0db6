//! The palette: every action, look, skill and command of a plugin, with its key. What can be done now comes first, then
//! what is used, then all in the groups of the action table. Help is the same list with every key that exists.

use super::{pickers, servers, uses};
use crate::app::action::{ACTIONS, Action, Entry, Scope};
use crate::app::effect::{Effect, LoadRequest};
use crate::app::input::composer;
use crate::app::model::modal::{PickItem, PickerKind};
use crate::app::model::{Model, TurnStatus};
use crate::app::session::turn;
use crate::app::terminal::processes;
use crate::app::window::appearance;
use crate::app::{action, docs, run};
use crate::exec::{ProcessInfo, ProcessState};
use crate::text::width::width;
use std::cmp::Reverse;

/// Rows of the group of what was used.
const USED: usize = 8;
/// What a hit among what is used or useful now is worth beside how well it fits.
const BOOST: u32 = 12;
/// Cells that all keys of an action may take in help.
const KEYS: usize = 12;
/// What rows that stand for a look begin with.
const SKIN: &str = "skin ";
const THEME: &str = "theme ";

/// The headings, in their order; a number is the place below one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Group {
    Now(usize),
    Used(usize),
    Of(Scope),
    Skins,
    Themes,
    Added,
    Idle,
}

impl Group {
    fn title(self) -> &'static str {
        match self {
            Self::Now(_) => "Now",
            Self::Used(_) => "Used",
            Self::Of(scope) => scope.title(),
            Self::Skins => "Skins",
            Self::Themes => "Themes",
            Self::Added => "Skills and plugins",
            Self::Idle => "Not now",
        }
    }
}

/// Opens the palette.
pub fn open(model: &mut Model, out: &mut Vec<Effect>) {
    let items = items(model);
    pickers::open(model, PickerKind::Palette, "Commands", items);
    if model.appearance.skins.is_empty() {
        out.push(Effect::Load(LoadRequest::Looks));
    }
}

/// Opens help: every action with its keys, also where they mean something only in a list or a field.
pub fn help(model: &mut Model) {
    let items = help_items(model);
    pickers::open(model, PickerKind::Help, "Help", items);
}

/// What is used most came from the store, or the names of looks: a palette that is open already takes it in.
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
    let used = |name: &str| used.iter().position(|other| *other == name).map(Group::Used);
    let mut rows: Vec<(Group, PickItem)> = Vec::new();
    for entry in ACTIONS.iter().filter(|entry| !entry.scope.is_local()) {
        let group = match useful.iter().position(|action| *action == entry.action) {
            Some(at) => Group::Now(at),
            None if is_idle(model, entry.action) => Group::Idle,
            None => used(entry.name).unwrap_or(Group::Of(entry.scope)),
        };
        rows.push((group, item(model, entry)));
    }
    for (group, title, prefix, names) in [
        (Group::Skins, "Skin", SKIN, &model.appearance.skins),
        (Group::Themes, "Theme", THEME, &model.appearance.themes),
    ] {
        let look = |(name, _): &(String, String)| PickItem {
            label: format!("{title}: {name}"),
            detail: format!("/{}", prefix.trim_end()),
            value: format!("{prefix}{name}"),
            ..PickItem::default()
        };
        rows.extend(names.iter().map(|name| (group, look(name))));
    }
    for skill in &model.tab.sidebar.knowledge.skills {
        let name = format!("/{skill}");
        let group = used(&name).unwrap_or(Group::Added);
        rows.push((
            group,
            PickItem { label: name.clone(), detail: "skill".into(), value: name, ..PickItem::default() },
        ));
    }
    for command in &model.extensions.commands {
        let name = format!("/{}", command.name);
        let group = used(&name).unwrap_or(Group::Added);
        let item = PickItem {
            label: name.clone(),
            detail: command.description.clone(),
            hint: format!("plugin {}", command.plugin),
            value: name,
            ..PickItem::default()
        };
        rows.push((group, item));
    }
    // A stable sort: within a group the order of the table stays.
    rows.sort_by_key(|(group, _)| *group);
    let head = |(group, item): (Group, PickItem)| PickItem {
        group: group.title().to_owned(),
        boost: if group < Group::Of(Scope::ALL[0]) { BOOST } else { 0 },
        ..item
    };
    rows.into_iter().map(head).collect()
}

fn help_items(model: &Model) -> Vec<PickItem> {
    let mut rows = Vec::new();
    // Those between the first and the last tab say nothing new.
    let tabs = [Action::Tab2, Action::Tab3, Action::Tab4, Action::Tab5, Action::Tab6, Action::Tab7, Action::Tab8];
    for scope in Scope::ALL {
        for entry in ACTIONS.iter().filter(|entry| entry.scope == scope && !tabs.contains(&entry.action)) {
            let keys = model.keymap.keys_for(entry.name);
            let all = keys.join(", ");
            let hint = if width(&all) <= KEYS { all } else { keys.first().cloned().unwrap_or_default() };
            let value = if scope.is_local() { String::new() } else { entry.name.to_owned() };
            rows.push(PickItem { hint, value, group: scope.title().to_owned(), ..item(model, entry) });
        }
        if scope == Scope::Prompt {
            rows.extend(docs::TYPED.iter().map(|(typed, what)| PickItem {
                label: (*what).to_owned(),
                detail: (*typed).to_owned(),
                group: scope.title().to_owned(),
                ..PickItem::default()
            }));
        }
    }
    rows.extend(docs::VI.iter().map(|(keys, what)| PickItem {
        label: format!("{keys}: {what}"),
        detail: "/vi".into(),
        group: "vi keys, in every text field".into(),
        ..PickItem::default()
    }));
    rows
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
    if !model.tab.approvals.entries.is_empty() {
        list.push(Action::Inbox);
    }
    let state = |wanted: &ProcessState| model.tab.processes.rows.iter().any(|row| row.state == *wanted);
    if state(&ProcessState::NeedsInput) {
        list.push(Action::TakeOver);
    }
    if turn::is_running(model) {
        list.extend([Action::StopTurn, Action::Steer, Action::QueuePrompt]);
        let in_front = |row: &ProcessInfo| !row.background && row.state == ProcessState::Running;
        if model.tab.processes.rows.iter().any(in_front) || processes::waits_for_children(model) {
            list.push(Action::BackgroundCommand);
        }
    }
    if !model.tab.queue.is_empty() {
        list.push(Action::QueueStrip);
    }
    if model.tab.transcript.selection.is_some() {
        list.push(Action::CopySelection);
    }
    if model.tab.session.as_ref().is_some_and(|session| session.model.is_empty()) {
        list.extend([Action::ProviderKey, Action::ModelPicker]);
    }
    list
}

/// Whether an action has nothing to act on now.
fn is_idle(model: &Model, action: Action) -> bool {
    let processes = model.tab.processes.rows.is_empty();
    let cells = model.tab.transcript.cells.is_empty();
    match action {
        Action::StopTurn | Action::Steer | Action::BackgroundCommand => matches!(model.tab.turn, TurnStatus::Idle),
        Action::QueueStrip | Action::QueueEdit | Action::QueueSteer | Action::QueueDrop => model.tab.queue.is_empty(),
        Action::Inbox => model.tab.approvals.entries.is_empty(),
        Action::TakeOver | Action::KillProcess | Action::ForgetProcess => processes,
        Action::NextTerminal | Action::PreviousTerminal => model.tab.processes.rows.len() < 2,
        Action::FindNext | Action::FindPrevious => model.tab.transcript.find.is_none(),
        Action::CopySelection => model.tab.transcript.selection.is_none() && model.tab.transcript.selected.is_none(),
        Action::Find | Action::CopyMode | Action::Copy | Action::Expand | Action::ExpandAll | Action::Details => cells,
        Action::SelectPrevious | Action::SelectNext | Action::UndoCommand => cells,
        Action::Plan => model.tab.sidebar.plan.is_empty(),
        Action::DraftPrevious => model.tab.composer.drafts.is_empty(),
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
    for skill in &model.tab.sidebar.knowledge.skills {
        let name = format!("/{skill}");
        rows.push((Reverse(false), at(&name), name, "skill".into()));
    }
    for command in &model.extensions.commands {
        let name = format!("/{}", command.name);
        let about = format!("{}  {} (plugin {})", command.argument, command.description, command.plugin);
        rows.push((Reverse(false), at(&name), name, about.trim_start().to_owned()));
    }
    for (prompt, about) in servers::prompts(model) {
        let name = format!("/{prompt}");
        rows.push((Reverse(false), at(&name), name, about.to_owned()));
    }
    rows.sort();
    rows.into_iter().map(|(_, _, name, detail)| (name, detail)).collect()
}

/// Runs what was chosen. A command that needs text is put before the composer's caret.
pub fn chosen(model: &mut Model, out: &mut Vec<Effect>, value: &str) {
    if let Some(name) = value.strip_prefix(SKIN) {
        return appearance::take_skin(model, out, name);
    }
    if let Some(name) = value.strip_prefix(THEME) {
        return appearance::take_theme(model, out, name);
    }
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
    let draft = composer::whole(&model.tab.composer);
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
        model.tab.sidebar.knowledge.skills = vec!["release-notes".into()];
        let effects = script(&mut model, "<C-p>repaint<ret>");
        assert!(effects.contains(&Effect::Repaint), "{effects:?}");
        assert!(model.tab.modals.is_empty());
        script(&mut model, "text<C-p>release-notes<ret>");
        assert_eq!(composer::text(&model.tab.composer), "/release-notes text");
        script(&mut model, "<C-p>draft<esc>");
        assert_eq!(composer::text(&model.tab.composer), "/release-notes text", "a modal leaves the draft alone");
    }

    fn listed(model: &Model) -> Vec<(String, String)> {
        items(model).into_iter().map(|item| (item.group, item.value)).collect()
    }

    #[test]
    fn what_can_be_done_now_comes_first_then_what_is_used_then_the_groups() {
        let mut model = ready();
        let groups = |model: &Model| {
            let mut groups: Vec<String> = listed(model).into_iter().map(|(group, _)| group).collect();
            groups.dedup();
            groups
        };
        let scopes = Scope::ALL.iter().filter(|scope| !scope.is_local()).map(|scope| scope.title().to_owned());
        let expected: Vec<String> = scopes.chain(["Not now".to_owned()]).collect();
        assert_eq!(groups(&model), expected, "nothing runs, nothing was used");
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
    fn looks_are_in_the_palette() {
        let mut model = ready();
        let effects = script(&mut model, "<C-p>");
        assert!(effects.contains(&Effect::Load(LoadRequest::Looks)), "{effects:?}");
        let named = |name: &str| vec![(name.to_owned(), String::new())];
        appearance::listed(&mut model, &mut Vec::new(), named("ares"), named("daylight"));
        let effects = script(&mut model, "daylight<ret>");
        let look = LoadRequest::Appearance { skin: None, theme: Some("daylight".into()), save: true };
        assert_eq!(effects.last(), Some(&Effect::Load(look)));
    }

    #[test]
    fn help_is_a_list_to_search_and_to_run_from() {
        let mut model = ready();
        let rows = help_items(&model);
        for entry in ACTIONS.iter().filter(|entry| entry.slash.is_some()) {
            assert!(rows.iter().any(|row| row.value == entry.name), "{}", entry.name);
        }
        assert!(rows.iter().any(|row| row.group == Scope::Lists.title() && !row.hint.is_empty()));
        assert!(rows.iter().any(|row| row.detail == "@path") && rows.iter().any(|row| row.label.starts_with("gg G")));
        let effects = script(&mut model, "<f1>repaint<ret>");
        assert!(effects.contains(&Effect::Repaint) && model.tab.modals.is_empty(), "{effects:?}");
        // A key finds what it does, and what belongs to a field does nothing here.
        script(&mut model, "<f1>shift-tab");
        let found = pickers::top(&mut model, PickerKind::Help).and_then(|picker| pickers::chosen(picker)).cloned();
        assert_eq!(found.map(|item| item.value).as_deref(), Some("approval-mode"));
        assert_eq!(script(&mut model, "<esc><f1>text object<ret>"), []);
        assert!(model.tab.modals.is_empty());
    }

    #[test]
    fn a_query_finds_names_descriptions_and_commands() {
        for (query, name) in
            [("quit", "quit"), ("/doctor", "doctor"), ("copy-mode", "copy-mode"), ("window fills", "context")]
        {
            let mut model = ready();
            script(&mut model, &format!("<C-p>{query}"));
            let Some(crate::app::model::modal::Modal::Picker(picker)) = model.tab.modals.last() else {
                panic!("no picker")
            };
            let found: Vec<&str> = picker.matches.iter().map(|at| picker.items[*at].value.as_str()).take(3).collect();
            assert!(found.contains(&name), "{query}: {found:?}");
        }
    }
}
