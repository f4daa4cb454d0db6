//! Choosing the model and how hard it thinks.

use super::{local_models, named, own_server, pickers, self_test, sign_in};
use crate::app::effect::{Effect, LoadRequest};
use crate::app::input::completion::EFFORTS;
use crate::app::model::Model;
use crate::app::model::modal::{PickItem, PickerKind};
use crate::app::model::notices::About;
use crate::app::msg::ModelChoice;
use crate::app::session::turn;
use crate::app::window::modals;
use crate::llm::ready::title;
use crate::protocol::{AgentCommand, Level};

/// Models that are kept for cycling.
const RECENT: usize = 5;

/// The picker, or the model that was named.
pub fn pick(model: &mut Model, out: &mut Vec<Effect>, name: &str) {
    if !name.is_empty() {
        return named::model(model, out, name);
    }
    let items = rows(model);
    let loading = model.choices.is_empty();
    pickers::open(model, PickerKind::Model, "Models", items);
    if let Some(picker) = pickers::top(model, PickerKind::Model) {
        picker.loading = loading;
    }
    out.push(Effect::Load(LoadRequest::Models { refresh: false }));
}

/// The picker, narrowed to a provider.
pub fn pick_of(model: &mut Model, out: &mut Vec<Effect>, provider: &str) {
    pick(model, out, "");
    pickers::paste(model, out, provider);
}

/// A row as `provider:model`.
pub(super) fn value(choice: &ModelChoice) -> String {
    format!("{}:{}", choice.provider, choice.model)
}

fn rows(model: &Model) -> Vec<PickItem> {
    let current = model.tab.session.as_ref().map(|session| session.model.clone()).unwrap_or_default();
    let row = |choice: &ModelChoice| PickItem {
        boost: 0,
        label: choice.model.clone(),
        detail: choice.detail.clone(),
        hint: match choice.ready {
            false => "needs a key".into(),
            true if is_local(choice) => local_models::running(model, &choice.model).into(),
            true => String::new(),
        },
        value: value(choice),
        group: if is_local(choice) { HERE.into() } else { choice.provider.clone() },
        current: value(choice) == current,
        always: false,
    };
    let (here, others): (Vec<&ModelChoice>, Vec<&ModelChoice>) = model.choices.iter().partition(|it| is_local(it));
    let get = way("Get another model for this computer…", "runs here, free", GET_LOCAL, HERE);
    // The demo never asks the network for anything.
    let get = (!model.demo).then_some(get);
    others.into_iter().chain(here).map(row).chain(get).chain(ways()).collect()
}

fn is_local(choice: &ModelChoice) -> bool {
    choice.provider == local_models::PROVIDER
}

/// The group of models that run on this computer.
const HERE: &str = "This computer";

/// Rows that are no models: how to come by one.
const SIGN_IN: &str = "\u{1}provider";
/// Stands before the name of a provider that is signed in to.
const WITHOUT_KEY: &str = "\u{1}sign-in:";
const OWN_SERVER: &str = "\u{1}server";
const GET_LOCAL: &str = "\u{1}local";

/// The last rows of the lists of models and providers: neither is ever a dead end.
fn ways() -> [PickItem; 2] {
    [
        way("A provider…", "sign in, or paste a key (/login)", SIGN_IN, "More models"),
        way("My own server…", "an address, and a key if needed", OWN_SERVER, "More models"),
    ]
}

fn way(label: &str, detail: &str, value: &str, group: &str) -> PickItem {
    PickItem {
        label: label.into(),
        detail: detail.into(),
        value: value.into(),
        group: group.into(),
        always: true,
        ..PickItem::default()
    }
}

/// The list came.
pub fn listed(model: &mut Model, choices: Vec<ModelChoice>, problems: &[String]) {
    model.choices = choices;
    let rows = rows(model);
    if let Some(picker) = pickers::top(model, PickerKind::Model) {
        picker.footnote = problems.join("\n");
        pickers::fill(picker, rows);
    }
}

/// A row was chosen: the key is asked for when there is none.
pub fn chosen(model: &mut Model, out: &mut Vec<Effect>, chosen: &str) {
    match chosen {
        SIGN_IN => return ask_key(model, out, ""),
        OWN_SERVER => return own_server::ask(model),
        GET_LOCAL => return local_models::pick(model, out),
        _ => {}
    }
    let choice = model.choices.iter().find(|choice| value(choice) == chosen);
    match choice.filter(|choice| !choice.ready).map(|choice| choice.provider.clone()) {
        Some(provider) => modals::ask_key(model, &provider),
        None => set(model, out, chosen),
    }
}

/// A model answers from now on, and by default where it is the first one ever.
pub(super) fn set(model: &mut Model, out: &mut Vec<Effect>, name: &str) {
    out.push(Effect::Agent(AgentCommand::SetModel(name.to_owned())));
    // The first model ever is the default from now on; later choices are for this session.
    if std::mem::take(&mut model.first_choice) && model.config.model.default.is_empty() && !model.demo {
        let (provider, id) = name.split_once(':').unwrap_or(("", name));
        let (provider, model) = (provider.to_owned(), id.to_owned());
        out.push(Effect::Load(LoadRequest::SaveModel { provider, model }));
    }
    remember(model, name);
    self_test::chosen(model, out, name);
    if turn::is_running(model) {
        model.notices.add(model.now, Level::Info, format!("{name} from the next step"));
    }
}

/// A model is used: it joins those to cycle through.
pub fn remember(model: &mut Model, name: &str) {
    if name.is_empty() || model.recent_models.iter().any(|known| known == name) {
        return;
    }
    model.recent_models.push(name.to_owned());
    if model.recent_models.len() > RECENT {
        model.recent_models.remove(0);
    }
}

/// The next of the models used lately and the fallbacks of the configuration.
pub fn cycle(model: &mut Model, out: &mut Vec<Effect>) {
    let fallbacks = model.config.fallback_providers.iter();
    let fallbacks = fallbacks.filter(|entry| !entry.model.is_empty() && !entry.provider.is_empty());
    let mut ring = model.recent_models.clone();
    for name in fallbacks.map(|entry| format!("{}:{}", entry.provider, entry.model)) {
        if !ring.contains(&name) {
            ring.push(name);
        }
    }
    let current = model.tab.session.as_ref().map(|session| session.model.as_str()).unwrap_or_default();
    let at = ring.iter().position(|name| name == current);
    match at.map_or(ring.first(), |at| ring.get((at + 1) % ring.len())).filter(|name| *name != current).cloned() {
        Some(name) => set(model, out, &name),
        None => model.notices.add(model.now, Level::Info, "no other model used yet: choose one first"),
    }
}

/// `/login`: asks for the key of a provider, or for the provider first.
pub fn ask_key(model: &mut Model, out: &mut Vec<Effect>, provider: &str) {
    let mut meant = String::new();
    if !provider.is_empty() {
        let Some(id) = named::provider(model, provider) else { return };
        meant = id;
    }
    let signs_in = model.sign_ins.iter().any(|row| row.provider == meant);
    if !meant.is_empty() && !signs_in {
        return provider_chosen(model, out, &meant);
    }
    let ids = named::providers(model);
    let item = |id: String| PickItem {
        label: title(&id).to_owned(),
        value: id,
        group: "Paste a key".into(),
        ..PickItem::default()
    };
    let offers = model.sign_ins.iter().map(|row| PickItem {
        label: row.title.clone(),
        detail: if row.missing.is_empty() {
            "in the browser, or by a code".into()
        } else {
            "needs an OAuth app of yours".into()
        },
        value: format!("{WITHOUT_KEY}{}", row.provider),
        group: "Sign in".into(),
        ..PickItem::default()
    });
    let [_, own] = ways();
    let items = offers.chain(ids.into_iter().map(item)).chain([own]).collect();
    pickers::open(model, PickerKind::Provider, "Providers", items);
    if signs_in {
        // Both ways to this one.
        pickers::paste(model, out, &meant);
    }
}

/// Logins were thrown away.
pub fn logged_out(model: &mut Model, out: &mut Vec<Effect>, result: Result<String, String>) {
    match result {
        Ok(said) => {
            model.notices.add(model.now, Level::Info, said);
            out.push(Effect::Agent(AgentCommand::Reload));
        }
        Err(why) => model.notices.add(model.now, Level::Warning, why),
    }
}

/// A provider was chosen, or named after `/login`.
pub fn provider_chosen(model: &mut Model, out: &mut Vec<Effect>, provider: &str) {
    if let Some(provider) = provider.strip_prefix(WITHOUT_KEY) {
        return sign_in::begin(model, out, provider);
    }
    match provider {
        OWN_SERVER | "custom" => own_server::ask(model),
        provider => modals::ask_key(model, provider),
    }
}

/// One step less or more.
pub fn step_effort(model: &mut Model, out: &mut Vec<Effect>, by: isize) {
    let Some(session) = &model.tab.session else { return };
    let at = EFFORTS.iter().position(|(_, effort)| *effort == session.effort).unwrap_or_default();
    let to = at.saturating_add_signed(by).min(EFFORTS.len() - 1);
    set_effort(model, out, EFFORTS[to].0);
}

/// Sets the effort by name.
pub fn set_effort(model: &mut Model, out: &mut Vec<Effect>, name: &str) {
    let Some((name, effort)) = EFFORTS.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)) else {
        let names = EFFORTS.map(|(name, _)| name).join(", ");
        model.notices.add(model.now, Level::Info, format!("effort must be one of {names}"));
        return;
    };
    if let Some(session) = &mut model.tab.session {
        session.effort = *effort;
    }
    out.push(Effect::Agent(AgentCommand::SetEffort(*effort)));
    model.notices.about(model.now, Level::Info, About::Setting("effort"), format!("effort: {name}"));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::msg::{LoadReply, Msg};
    use crate::app::tests::{ready, script};
    use crate::app::update;
    use crate::protocol::Effort;

    fn choice(provider: &str, model: &str, ready: bool) -> ModelChoice {
        ModelChoice { provider: provider.into(), model: model.into(), detail: "?".into(), ready }
    }

    #[test]
    fn the_picker_fills_when_the_list_comes_and_sets_the_model() {
        let mut model = ready();
        let effects = script(&mut model, "<C-o>");
        assert_eq!(effects, [Effect::Load(LoadRequest::Models { refresh: false })]);
        script(&mut model, "big");
        let choices = vec![choice("local", "small", true), choice("local", "big", true)];
        update(&mut model, 0, Msg::Loaded(LoadReply::Models { choices, problems: vec![] }));
        let effects = script(&mut model, "<ret>");
        assert_eq!(effects, [Effect::Agent(AgentCommand::SetModel("local:big".into()))]);
    }

    #[test]
    fn a_model_without_a_key_asks_for_it() {
        let mut model = ready();
        model.choices = vec![choice("acme", "big", false)];
        script(&mut model, "<C-o><ret>k3y");
        let effects = script(&mut model, "<ret>");
        let wanted = LoadRequest::TryKey { provider: "acme".into(), key: "k3y".into() };
        assert_eq!(effects, [Effect::Load(wanted)]);
    }

    #[test]
    fn a_key_is_asked_for_by_provider() {
        let mut model = ready();
        model.choices = vec![choice("acme", "a", true), choice("zeta", "b", false), choice("acme", "c", true)];
        let effects = script(&mut model, "/login <ret>zeta<ret>k<ret>");
        let wanted = LoadRequest::TryKey { provider: "zeta".into(), key: "k".into() };
        assert!(effects.contains(&Effect::Load(wanted)), "{effects:?}");
    }

    #[test]
    fn providers_are_listed_by_their_names_and_found_by_either() {
        let mut model = ready();
        script(&mut model, "/login <ret>");
        let shown = |model: &Model| {
            let Some(crate::app::model::modal::Modal::Picker(picker)) = model.tab.modals.last() else { return vec![] };
            picker.matches.iter().map(|at| picker.items[*at].label.clone()).collect::<Vec<_>>()
        };
        let all = shown(&model);
        assert!(all.contains(&"OpenRouter".to_owned()) && !all.contains(&"openrouter".to_owned()), "{all:?}");
        let (mut sorted, keys) = (all[..all.len() - 1].to_vec(), &all[..all.len() - 1]);
        sorted.sort_by_key(|name| name.to_lowercase());
        assert_eq!(sorted, keys);
        script(&mut model, "deepseek");
        assert_eq!(shown(&model).first().map(String::as_str), Some("DeepSeek"));
    }

    #[test]
    fn effort_steps_and_stops_at_the_ends() {
        let mut model = ready();
        let effort = |model: &Model| model.tab.session.as_ref().map(|session| session.effort);
        script(&mut model, "<A-.>");
        assert_eq!(effort(&model), Some(Effort::High));
        script(&mut model, "<A-.><A-.><A-.>");
        assert_eq!(effort(&model), Some(Effort::XHigh));
        script(&mut model, "/effort low<ret>");
        assert_eq!(effort(&model), Some(Effort::Low));
    }
}
