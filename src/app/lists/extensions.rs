//! Hooks and plugins on the screen: lists, slash commands of plugins, and the card that asks before a folder's things run.

use crate::app::action::Action;
use crate::app::approvals::inert;
use crate::app::effect::{Effect, LoadRequest};
use crate::app::model::Model;
use crate::app::model::extensions::{Extensions, HookRow, PluginRow, PluginState, TrustCard};
use crate::app::model::modal::{Modal, TrustModal};
use crate::app::run;
use crate::app::session::turn;
use crate::app::window::modals::{movement, scrolled};
use crate::app::window::sidebar;
use crate::config::trust::Standing;
use crate::protocol::{AgentCommand, Level};
use crate::text::width::truncate_middle;
use crate::text::{Line, Role, Span};
use inert::INERT_MS;
use similar::{ChangeTag, TextDiff};

/// Cells of a plugin's name.
const NAME: usize = 40;
/// Titles of the two lists.
const PLUGINS: &str = "Plugins";
const HOOKS: &str = "Hooks";
/// Lines around a change.
const AROUND: usize = 2;

/// Asks for the next state of things.
pub fn ask(model: &Model) -> Effect {
    Effect::Load(LoadRequest::Extensions { seen: model.extensions.revision })
}

/// Something changed. The answer after this one is asked for at once: it waits for the next change.
pub fn changed(model: &mut Model, out: &mut Vec<Effect>, mut new: Extensions) {
    new.aside = model.extensions.aside.take();
    model.extensions = new;
    if model.extensions.card.is_none() {
        model.tab.modals.retain(|modal| !matches!(modal, Modal::Trust(_)));
    }
    // A list that is open shows what is, not what was when it was opened.
    for modal in &mut model.tab.modals {
        let Modal::Text(text) = modal else { continue };
        if text.title == PLUGINS {
            text.lines = plugin_lines(&model.extensions);
        } else if text.title == HOOKS {
            text.lines = hook_lines(&model.extensions);
        }
    }
    out.push(ask(model));
}

/// Opens the card, when there is one that was not put aside and nothing else is open.
pub fn open_waiting(model: &mut Model) {
    if !model.tab.modals.is_empty() || model.tab.processes.pane.taken_over || inert::hidden(model) {
        return;
    }
    let extensions = &model.extensions;
    if extensions.card.is_some() && extensions.card != extensions.aside {
        model.chord = None;
        model.tab.composer.completion = None;
        open(model, model.now + INERT_MS);
    }
}

fn open(model: &mut Model, inert_until: i64) {
    if let Some(card) = model.extensions.card.clone() {
        let lines = lines(&card);
        model.tab.modals.push(Modal::Trust(Box::new(TrustModal {
            card,
            lines,
            scroll: 0,
            inert_until,
            agreed: false,
        })));
    }
}

/// `/trust`: the card again, or that there is nothing to look at.
pub fn trust(model: &mut Model) {
    if model.extensions.card.is_some() {
        open(model, model.now);
    } else {
        model.notices.add(model.now, Level::Info, "nothing here needs review");
    }
}

/// An action in the card. Yes takes two: mark it, then accept it.
pub fn act(model: &mut Model, out: &mut Vec<Effect>, action: Option<Action>) {
    let Some(Modal::Trust(modal)) = model.tab.modals.last_mut() else { return };
    match action {
        Some(Action::Yes) => modal.agreed = true,
        Some(Action::Switch) => modal.agreed = !modal.agreed,
        Some(Action::Accept) if modal.agreed => {
            let card = modal.card.clone();
            model.tab.modals.pop();
            model.extensions.aside = Some(card.clone());
            out.push(Effect::Load(LoadRequest::Trust { card: Box::new(card) }));
        }
        Some(Action::Accept | Action::Close | Action::No) => put_aside(model),
        action => {
            if let Some(movement) = movement(action) {
                modal.scroll = scrolled(modal.scroll, modal.lines.len(), movement);
            }
        }
    }
}

/// Not now: nothing here runs.
pub fn put_aside(model: &mut Model) {
    if let Some(Modal::Trust(modal)) = model.tab.modals.pop() {
        model.extensions.aside = Some(modal.card);
        model.notices.add(model.now, Level::Info, "nothing here runs; /trust shows it again");
    }
}

/// The yes was written, or why not.
pub fn trusted(model: &mut Model, out: &mut Vec<Effect>, result: Result<(), String>) {
    match result {
        Ok(()) => {
            // Settings of the project count from now on, too.
            out.push(Effect::Agent(AgentCommand::Reload));
            model.notices.add(model.now, Level::Info, "trusted as shown");
        }
        Err(error) => model.notices.add(model.now, Level::Error, error),
    }
}

/// Runs a slash command of a plugin; `false` when none has this name.
pub fn command(model: &mut Model, out: &mut Vec<Effect>, word: &str, argument: &str) -> bool {
    let known = model.extensions.commands.iter().any(|command| command.name == word);
    if known {
        let (name, argument) = (word.to_owned(), argument.to_owned());
        out.push(Effect::Load(LoadRequest::PluginCommand { name, argument }));
    }
    known
}

/// A plugin's command has its answer: text for the person, or a prompt for the model.
pub fn answered(model: &mut Model, out: &mut Vec<Effect>, name: &str, result: Result<(String, String), String>) {
    match result {
        Ok((text, prompt)) => {
            if !text.trim().is_empty() {
                sidebar::report(model, &format!("/{name}"), &text);
            }
            if !prompt.trim().is_empty() {
                turn::say(model, out, prompt);
            } else if text.trim().is_empty() {
                model.notices.add(model.now, Level::Info, format!("/{name} finished"));
            }
        }
        Err(error) => model.notices.add(model.now, Level::Error, format!("/{name}: {error}")),
    }
}

/// `/plugins`.
pub fn plugins(model: &mut Model) {
    run::text(model, PLUGINS, plugin_lines(&model.extensions));
}

fn plugin_lines(extensions: &Extensions) -> Vec<Line> {
    let mut lines = Vec::new();
    for row in &extensions.plugins {
        plugin(row, &mut lines);
    }
    if lines.is_empty() {
        let text = "No plugins. Create one with `hermes plugins create NAME`, or install one with `hermes plugins install pip:NAME`.";
        lines.push(words(text, Role::Dim));
    }
    lines
}

fn plugin(row: &PluginRow, lines: &mut Vec<Line>) {
    let (dot, role, word) = match row.state {
        PluginState::Ready => ("●", Role::Good, "ready"),
        PluginState::Starting => ("◐", Role::Careful, "starting"),
        PluginState::Failed => ("✗", Role::Bad, "failed"),
        PluginState::Untrusted => ("○", Role::Careful, "not trusted"),
        PluginState::Off => ("○", Role::Dim, "off"),
    };
    let name = truncate_middle(&row.name, NAME);
    let name = if row.version.is_empty() { name } else { format!("{name} {}", row.version) };
    let spans = vec![
        Span::new(format!("{dot} "), role),
        Span::new(name, Role::Strong),
        Span::new(format!("  {word} · {}  {}", row.from, row.description), Role::Dim),
    ];
    lines.push(Line { spans, ..Line::default() });
    let mut more = |what: &str, list: &[String], role| {
        if !list.is_empty() {
            let spans = vec![Span::new(format!("    {what}"), Role::Dim), Span::new(list.join(", "), role)];
            lines.push(Line { spans, ..Line::default() });
        }
    };
    more("tools     ", &row.tools, Role::Text);
    more("hooks     ", &row.hooks, Role::Text);
    more("commands  ", &row.commands, Role::Text);
    if !row.detail.is_empty() {
        lines.push(words(format!("    {}", row.detail), role));
    }
    lines.extend(row.problems.iter().map(|problem| marked("    ⚠ ", problem)));
    if row.state == PluginState::Failed {
        lines.extend(row.tail.iter().rev().take(5).rev().map(|line| words(format!("      {line}"), Role::Dim)));
    }
}

/// `/hooks`.
pub fn hooks(model: &mut Model) {
    run::text(model, HOOKS, hook_lines(&model.extensions));
}

fn hook_lines(extensions: &Extensions) -> Vec<Line> {
    let mut lines: Vec<Line> = extensions.hooks.iter().flat_map(hook).collect();
    lines.extend(extensions.problems.iter().map(|problem| marked("⚠ ", problem)));
    if lines.is_empty() {
        lines.push(words("No hooks. Add commands under `hooks:` in config.yaml: docs/PLUGINS.md", Role::Dim));
    }
    lines
}

fn hook(row: &HookRow) -> Vec<Line> {
    let (dot, role) = match (row.allowed, row.drift.is_empty()) {
        (true, true) => ("● ", Role::Good),
        (true, false) => ("● ", Role::Careful),
        (false, _) => ("○ ", Role::Careful),
    };
    let matcher = if row.matcher.is_empty() { String::new() } else { format!(" on {}", row.matcher) };
    let from = if row.project { "project" } else { "yours" };
    let mut spans = vec![
        Span::new(dot, role),
        Span::new(row.event.clone(), Role::Strong),
        Span::new(format!("{matcher}  {}", row.command), Role::Text),
        Span::new(format!("  {from}"), Role::Dim),
    ];
    if !row.allowed {
        spans.push(Span::new(" · needs your approval: /trust", Role::Careful));
    }
    let mut lines = vec![Line { spans, ..Line::default() }];
    if !row.drift.is_empty() {
        lines.push(words(format!("    its script changed since you approved it ({})", row.drift), Role::Careful));
    }
    lines
}

/// A sentence that hangs beside its mark.
fn marked(mark: &str, text: &str) -> Line {
    Line { spans: vec![Span::new(mark, Role::Careful), Span::new(text, Role::Careful)], ..Line::default() }
}

fn words(text: impl Into<String>, role: Role) -> Line {
    Line { spans: vec![Span::new(text.into(), role)], ..Line::default() }
}

/// All that the card shows.
fn lines(card: &TrustCard) -> Vec<Line> {
    let mut out = Vec::new();
    if let Some(project) = &card.project {
        out.push(words(project.dir.display().to_string(), Role::Strong));
        out.push(words(
            "Nothing in this folder runs until you trust it, and nothing that changes afterwards.",
            Role::Dim,
        ));
        out.push(Line::default());
        if !project.listed && !project.settings.is_empty() {
            out.push(words("Settings in its hermes.yaml", Role::Heading(2)));
            out.extend(project.settings.iter().map(|text| words(format!("  {}", visible(text)), Role::Text)));
            out.push(Line::default());
        }
        for (thing, standing) in &project.things {
            let (mark, role) = match standing {
                Standing::Trusted => continue,
                _ if !thing.problem.is_empty() => ("never runs", Role::Bad),
                Standing::New => ("new", Role::Careful),
                Standing::Changed { .. } => ("changed", Role::Careful),
            };
            let spans = vec![
                Span::new(format!("{} ", thing.kind.word()), Role::Dim),
                Span::new(visible(&thing.what), Role::Strong),
                Span::new(format!("  {mark}"), role),
            ];
            out.push(Line { spans, ..Line::default() });
            match standing {
                _ if !thing.problem.is_empty() => out.push(words(format!("  {}", thing.problem), Role::Bad)),
                Standing::Changed { before } => difference(before, &thing.text, &mut out),
                Standing::New | Standing::Trusted => {
                    out.extend(thing.text.lines().map(|line| words(format!("  {}", visible(line)), Role::Text)));
                }
            }
            out.push(Line::default());
        }
    }
    if !card.hooks.is_empty() {
        out.push(words("Hooks in your config.yaml that have not run yet", Role::Heading(2)));
        let rows = card.hooks.iter().map(|(event, command)| {
            let spans = vec![Span::new(format!("  {event}  "), Role::Dim), Span::new(visible(command), Role::Text)];
            Line { spans, ..Line::default() }
        });
        out.extend(rows);
    }
    out
}

fn difference(before: &str, after: &str, out: &mut Vec<Line>) {
    let diff = TextDiff::from_lines(before, after);
    if before == after {
        out.push(words("  the change is in a part not shown here", Role::Careful));
    }
    for (index, group) in diff.grouped_ops(AROUND).iter().enumerate() {
        if index > 0 {
            out.push(words("  ⋯", Role::Dim));
        }
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            let (sign, role) = match change.tag() {
                ChangeTag::Insert => ("+", Role::Added),
                ChangeTag::Delete => ("-", Role::Removed),
                ChangeTag::Equal => (" ", Role::Dim),
            };
            out.push(words(format!("  {sign} {}", visible(change.value().trim_end_matches('\n'))), role));
        }
    }
}

/// What could hide something is made visible.
fn visible(text: &str) -> String {
    crate::text::visible::visible(&text.replace('\t', "    ")).text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::tests::{ready, script};
    use crate::app::{Msg, update};
    use crate::config::trust::{Kind, Project, Thing};

    fn card(text: &str, standing: Standing) -> TrustCard {
        let thing = Thing {
            kind: Kind::Hook,
            id: "hooks.pre_tool_call.0".into(),
            what: "pre_tool_call: sh check.sh".into(),
            text: text.into(),
            fingerprint: text.into(),
            problem: String::new(),
        };
        let project = Project {
            dir: "/w".into(),
            listed: false,
            settings: vec!["agent: {}".into()],
            things: vec![(thing, standing)],
        };
        TrustCard { project: Some(project), hooks: vec![("Stop".into(), "bell".into())] }
    }

    fn show(model: &mut Model, card: TrustCard) {
        let new = Extensions { revision: model.extensions.revision + 1, card: Some(card), ..Extensions::default() };
        let now = model.now;
        let effects = update(model, now, Msg::Loaded(crate::app::msg::LoadReply::Extensions(Box::new(new))));
        assert!(effects.contains(&ask(model)), "{effects:?}");
    }

    fn text(lines: &[Line]) -> String {
        lines.iter().map(|line| line.spans.iter().map(|s| s.text.as_str()).collect::<String>() + "\n").collect()
    }

    #[test]
    fn a_list_that_is_open_shows_what_is() {
        let mut model = ready();
        let mut of = |state: PluginState| {
            let row = PluginRow { name: "words".into(), state, ..PluginRow::default() };
            let new =
                Extensions { revision: model.extensions.revision + 1, plugins: vec![row], ..Extensions::default() };
            let now = model.now;
            update(&mut model, now, Msg::Loaded(crate::app::msg::LoadReply::Extensions(Box::new(new))));
            if model.tab.modals.is_empty() {
                plugins(&mut model);
            }
            let Some(Modal::Text(modal)) = model.tab.modals.last() else { panic!("no list") };
            text(&modal.lines)
        };
        assert!(of(PluginState::Starting).contains("◐ words  starting"));
        assert!(of(PluginState::Ready).contains("● words  ready"));
    }

    #[test]
    fn the_card_opens_by_itself_and_yes_takes_quiet_and_two_keys() {
        let mut model = ready();
        show(&mut model, card("exit 0\n", Standing::New));
        assert!(matches!(model.tab.modals.last(), Some(Modal::Trust(_))));
        // Typed into the composer while it is inert.
        let effects = script(&mut model, "y<ret>");
        assert!(!effects.iter().any(|e| matches!(e, Effect::Load(LoadRequest::Trust { .. }))), "{effects:?}");
        model.now += 10 * INERT_MS;
        let effects = script(&mut model, "<ret>");
        assert!(
            model.tab.modals.is_empty()
                && !effects.iter().any(|e| matches!(e, Effect::Load(LoadRequest::Trust { .. })))
        );
        // Put aside: the same card stays closed, a changed one opens.
        show(&mut model, card("exit 0\n", Standing::New));
        assert!(model.tab.modals.is_empty());
        show(&mut model, card("curl evil\n", Standing::Changed { before: "exit 0\n".into() }));
        let Some(Modal::Trust(modal)) = model.tab.modals.last() else { panic!("no card") };
        let shown = text(&modal.lines);
        assert!(shown.contains("  - exit 0\n  + curl evil\n") && shown.contains("Stop  bell"), "{shown}");
        model.now += 10 * INERT_MS;
        let effects = script(&mut model, "y<ret>");
        assert!(effects.iter().any(|e| matches!(e, Effect::Load(LoadRequest::Trust { .. }))), "{effects:?}");
    }
}
