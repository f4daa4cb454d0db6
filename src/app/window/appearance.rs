//! Skins and themes: live preview while choosing, the old look back on Esc.

use crate::app::effect::{Effect, LoadRequest};
use crate::app::lists::{palette, pickers};
use crate::app::model::Model;
use crate::app::model::modal::{PickItem, PickerKind};
use crate::app::model::notices::About;
use crate::config::skin::Appearance;
use crate::protocol::Level;
use std::sync::Arc;

/// The skin picker, or the skin that was named.
pub fn pick_skin(model: &mut Model, out: &mut Vec<Effect>, name: &str) {
    if !name.is_empty() {
        return take_skin(model, out, name);
    }
    let rows = rows(&model.appearance.skins, &model.look.skin.name);
    open(model, out, PickerKind::Skin, "Skins", rows);
}

/// The theme picker, or the theme that was named.
pub fn pick_theme(model: &mut Model, out: &mut Vec<Effect>, name: &str) {
    if !name.is_empty() {
        return take_theme(model, out, name);
    }
    let rows = rows(&model.appearance.themes, &model.look.theme.name);
    open(model, out, PickerKind::Theme, "Themes", rows);
}

fn open(model: &mut Model, out: &mut Vec<Effect>, kind: PickerKind, title: &str, rows: Vec<PickItem>) {
    let loading = rows.is_empty();
    model.appearance.before = Some(model.look.clone());
    pickers::open(model, kind, title, rows);
    if let Some(picker) = pickers::top(model, kind) {
        picker.loading = loading;
    }
    out.push(Effect::Load(LoadRequest::Looks));
}

fn rows(names: &[(String, String)], current: &str) -> Vec<PickItem> {
    let row = |(name, description): &(String, String)| PickItem {
        label: name.clone(),
        detail: description.clone(),
        value: name.clone(),
        current: name == current,
        ..PickItem::default()
    };
    names.iter().map(row).collect()
}

/// Names came.
pub fn listed(model: &mut Model, out: &mut Vec<Effect>, skins: Vec<(String, String)>, themes: Vec<(String, String)>) {
    model.appearance.skins = skins;
    model.appearance.themes = themes;
    let before = model.appearance.before.clone().unwrap_or_else(|| model.look.clone());
    let (skins, themes) =
        (rows(&model.appearance.skins, &before.skin.name), rows(&model.appearance.themes, &before.theme.name));
    if let Some(picker) = pickers::top(model, PickerKind::Skin) {
        pickers::fill(picker, skins);
    } else if let Some(picker) = pickers::top(model, PickerKind::Theme) {
        pickers::fill(picker, themes);
    }
    palette::refresh(model);
    if std::mem::take(&mut model.appearance.next) {
        next_skin(model, out);
    }
}

fn ask(model: &mut Model, out: &mut Vec<Effect>, skin: Option<&str>, theme: Option<&str>, save: bool) {
    model.appearance.wanted = skin.or(theme).map(str::to_owned);
    let request = LoadRequest::Appearance { skin: skin.map(str::to_owned), theme: theme.map(str::to_owned), save };
    out.push(Effect::Load(request));
}

/// Shows a skin.
pub fn preview_skin(model: &mut Model, out: &mut Vec<Effect>, name: &str) {
    ask(model, out, Some(name), None, false);
}

/// Shows a theme.
pub fn preview_theme(model: &mut Model, out: &mut Vec<Effect>, name: &str) {
    ask(model, out, None, Some(name), false);
}

/// Keeps a skin.
pub fn take_skin(model: &mut Model, out: &mut Vec<Effect>, name: &str) {
    model.appearance.before = None;
    ask(model, out, Some(name), None, true);
}

/// Keeps a theme.
pub fn take_theme(model: &mut Model, out: &mut Vec<Effect>, name: &str) {
    model.appearance.before = None;
    ask(model, out, None, Some(name), true);
}

/// The look from before the preview; answers that are on their way come too late.
pub fn restore(model: &mut Model) {
    model.appearance.wanted = None;
    if let Some(before) = model.appearance.before.take() {
        model.look = before;
    }
}

/// The next skin of the list, for good.
pub fn next_skin(model: &mut Model, out: &mut Vec<Effect>) {
    let skins = &model.appearance.skins;
    if skins.is_empty() {
        model.appearance.next = true;
        out.push(Effect::Load(LoadRequest::Looks));
        return;
    }
    let current = model.appearance.wanted.as_ref().unwrap_or(&model.look.skin.name);
    let at = skins.iter().position(|(name, _)| name == current);
    let name = skins[at.map_or(0, |at| (at + 1) % skins.len())].0.clone();
    take_skin(model, out, &name);
    model.notices.about(model.now, Level::Info, About::Setting("skin"), format!("skin: {name}"));
}

/// A look came.
pub fn loaded(model: &mut Model, name: &str, result: Result<Appearance, String>) {
    if model.appearance.wanted.as_deref() != Some(name) {
        return;
    }
    model.appearance.wanted = None;
    match result {
        Ok(look) => model.look = Arc::new(look),
        Err(error) => model.notices.add(model.now, Level::Warning, error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::msg::{LoadReply, Msg};
    use crate::app::tests::{look, ready, script};
    use crate::app::update;

    fn with_skins() -> Model {
        let mut model = ready();
        model.appearance.skins = ["default", "ares", "mono"].map(|name| (name.to_owned(), String::new())).to_vec();
        model
    }

    fn reply(name: &str) -> Msg {
        let mut shown = look();
        Arc::make_mut(&mut shown.skin).name = name.into();
        Msg::Loaded(LoadReply::Appearance { name: name.into(), result: Ok(shown) })
    }

    #[test]
    fn the_preview_follows_the_selection_and_escape_restores() {
        let mut model = with_skins();
        let effects = script(&mut model, "<f8><down>");
        let wanted = LoadRequest::Appearance { skin: Some("ares".into()), theme: None, save: false };
        assert!(effects.contains(&Effect::Load(wanted)), "{effects:?}");
        update(&mut model, 0, reply("ares"));
        assert_eq!(model.look.skin.name, "ares");
        script(&mut model, "<down><esc>");
        assert_eq!(model.look.skin.name, "default");
        update(&mut model, 0, reply("mono"));
        assert_eq!(model.look.skin.name, "default", "a preview that comes late is dropped");
    }

    #[test]
    fn enter_saves_and_the_next_skin_goes_round() {
        let mut model = with_skins();
        let effects = script(&mut model, "<f8><down><ret>");
        let wanted = LoadRequest::Appearance { skin: Some("ares".into()), theme: None, save: true };
        assert!(effects.contains(&Effect::Load(wanted)));
        update(&mut model, 0, reply("ares"));
        assert_eq!(model.look.skin.name, "ares");
        script(&mut model, "<A-s>");
        assert_eq!(model.appearance.wanted.as_deref(), Some("mono"));
        script(&mut model, "<A-s>");
        assert_eq!(model.appearance.wanted.as_deref(), Some("default"));
    }
}
