//! The palette: every action, every command with an argument, every skill, with its key.

use super::action::{self, ACTIONS};
use super::effect::Effect;
use super::model::Model;
use super::model::modal::{PickItem, PickerKind};
use super::{composer, pickers, run};

/// Opens the palette.
pub fn open(model: &mut Model) {
    let mut items: Vec<PickItem> = ACTIONS
        .iter()
        .filter(|entry| !entry.scope.is_local())
        .map(|entry| PickItem {
            label: entry.doc.to_owned(),
            detail: entry.slash.map(|slash| format!("/{}", slash.name)).unwrap_or_default(),
            hint: model.keymap.keys_for(entry.name).first().cloned().unwrap_or_default(),
            value: entry.name.to_owned(),
            group: entry.scope.title().to_owned(),
            current: false,
        })
        .collect();
    items.extend(model.sidebar.knowledge.skills.iter().map(|skill| PickItem {
        label: format!("/{skill}"),
        detail: "skill".into(),
        value: format!("/{skill}"),
        group: "Skills".into(),
        ..PickItem::default()
    }));
    items.extend(model.extensions.commands.iter().map(|command| PickItem {
        label: format!("/{}", command.name),
        detail: command.description.clone(),
        value: format!("/{}", command.name),
        group: format!("Plugin {}", command.plugin),
        ..PickItem::default()
    }));
    pickers::open(model, PickerKind::Palette, "Commands", items);
}

/// Runs what was chosen. A command that needs text is put before the composer's caret.
pub fn chosen(model: &mut Model, out: &mut Vec<Effect>, value: &str) {
    let Some(action) = action::Action::from_name(value) else {
        return write(model, out, &format!("{value} "));
    };
    match action.entry().and_then(|entry| entry.slash) {
        Some(slash) if slash.argument.starts_with('<') => write(model, out, &format!("/{} ", slash.name)),
        _ => run::run(model, out, action, ""),
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
}
