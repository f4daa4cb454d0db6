//! What a name after `/model`, `/login` or `/local` means: something that exists, or a refusal that says what does.

use super::{local_models, models};
use crate::app::effect::{Effect, LoadRequest};
use crate::app::model::Model;
use crate::app::model::local::Offers;
use crate::app::model::notices::About;
use crate::app::msg::ModelChoice;
use crate::config::suggest::nearest;
use crate::llm::ready::{is_provider, key_variable, pasteable, title};
use crate::protocol::{AgentCommand, Level};

/// So many names are told in full.
const FEW: usize = 4;
/// The provider whose models take a variant behind their name: `a/b:nitro`.
const VARIANTS: &str = "openrouter";

/// `/model NAME`: taken at once where it is known, else the list is asked for anew.
pub fn model(model: &mut Model, out: &mut Vec<Effect>, name: &str) {
    if model.demo {
        return models::set(model, out, name);
    }
    match known(model, name) {
        Some(value) => models::chosen(model, out, &value),
        None => {
            model.notices.about(model.now, Level::Info, About::Setting("model"), format!("looking for {name}"));
            out.push(Effect::Load(LoadRequest::NamedModel { name: name.to_owned() }));
        }
    }
}

/// The list came that a name was looked for in.
pub fn model_listed(
    model: &mut Model,
    out: &mut Vec<Effect>,
    name: &str,
    choices: Vec<ModelChoice>,
    problems: &[String],
) {
    model.notices.settled(&About::Setting("model"));
    models::listed(model, choices, problems);
    if let Some(value) = known(model, name) {
        return models::chosen(model, out, &value);
    }
    let provider = name.split_once(':').map_or("", |(provider, _)| provider);
    let provider = if providers(model).iter().any(|id| id == provider) || is_provider(provider) {
        provider.to_owned()
    } else {
        model.config.model.provider.clone()
    };
    let lists = model.choices.iter().any(|choice| choice.provider == provider);
    let is_served = provider == local_models::PROVIDER;
    if is_served || provider.is_empty() {
        let values = model.choices.iter().map(models::value);
        let all: Vec<String> = values.chain(model.choices.iter().map(|choice| choice.model.clone())).collect();
        return refuse(model, "model", name, &all, "/model");
    }
    if lists {
        // Aliases and private models are in no list: only the provider can tell.
        let text = format!("{name} is not in the list of {}: trying it", title(&provider));
        model.notices.add(model.now, Level::Warning, text);
        return models::set(model, out, name);
    }
    // The agent says what is missing before this provider can be asked.
    out.push(Effect::Agent(AgentCommand::SetModel(name.to_owned())));
}

/// The model that a name means, as `provider:model`: that of the configured provider first.
fn known(model: &Model, name: &str) -> Option<String> {
    let values = || model.choices.iter().map(models::value);
    let usual = format!("{}:{name}", model.config.model.provider);
    let exact = values().find(|value| value == name).or_else(|| values().find(|value| *value == usual));
    let by_id = || model.choices.iter().find(|choice| choice.model == name).map(models::value);
    let of_variant = || {
        let (plain, _) = name.rsplit_once(':')?;
        let is_it = |choice: &&ModelChoice| {
            choice.provider == VARIANTS && (choice.model == plain || models::value(choice) == plain)
        };
        model.choices.iter().find(is_it).map(|_| name.to_owned())
    };
    exact.or_else(by_id).or_else(of_variant)
}

/// `/login NAME`: the provider that is meant, or a refusal.
pub fn provider(model: &mut Model, name: &str) -> Option<String> {
    let all = providers(model);
    let signs_in = model.sign_ins.iter().map(|row| row.provider.clone());
    let is_it = |id: &String| id.eq_ignore_ascii_case(name) || title(id).eq_ignore_ascii_case(name);
    let by_table = || key_variable(name).map(|_| name.to_owned());
    let found = all.iter().cloned().chain(signs_in).chain(["custom".to_owned()]).find(is_it).or_else(by_table);
    if found.is_none() {
        let ids = all.iter().cloned().chain(model.sign_ins.iter().map(|row| row.provider.clone()));
        let all: Vec<String> = ids.collect();
        refuse(model, "provider", name, &all, "/login");
    }
    found
}

/// Providers that take a pasted key, by what people call them.
pub fn providers(model: &Model) -> Vec<String> {
    let mut ids = pasteable();
    ids.extend(model.choices.iter().map(|choice| choice.provider.clone()));
    ids.extend(model.config.providers.keys().cloned());
    ids.retain(|id| !id.is_empty() && id != "custom" && id != local_models::PROVIDER);
    ids.sort_by_key(|id| (title(id).to_lowercase(), id.clone()));
    ids.dedup();
    ids
}

/// `/local NAME`: looked for in what is here now.
pub fn local(model: &mut Model, out: &mut Vec<Effect>, name: &str) {
    if name.is_empty() || model.demo {
        return local_models::pick(model, out);
    }
    out.push(Effect::Load(LoadRequest::NamedLocal { name: name.to_owned() }));
}

/// The list came that a name was looked for in: the model that is here answers, one that could be had is shown.
pub fn local_listed(model: &mut Model, out: &mut Vec<Effect>, name: &str, offers: Offers) {
    local_models::listed(model, offers);
    match model.local.find(name).map(|offer| offer.state.is_here()) {
        Some(true) => local_models::use_it(model, out, name),
        Some(false) => local_models::show(model, name),
        None => {
            let rows = model.local.offers.iter().flat_map(|offers| &offers.rows);
            let all: Vec<String> = rows.map(|row| row.name.clone()).collect();
            refuse(model, "model for this computer", name, &all, "/local");
        }
    }
}

/// There is none of this name: what is meant perhaps, or all there is, and where the rest is listed.
fn refuse(model: &mut Model, what: &str, name: &str, all: &[String], list: &str) {
    let near = nearest(name, all.iter().map(String::as_str));
    let more = match near {
        Some(near) => format!("did you mean {near}? {list} lists all"),
        None if !all.is_empty() && all.len() <= FEW => format!("there is {}", all.join(", ")),
        None => format!("{list} lists all"),
    };
    model.notices.add(model.now, Level::Warning, format!("no {what} is named {name}: {more}"));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::model::local::{Offer, OfferState};
    use crate::app::model::modal::Modal;
    use crate::app::msg::{LoadReply, Msg};
    use crate::app::tests::{ready as open, script};
    use crate::app::update;

    fn choice(provider: &str, model: &str) -> ModelChoice {
        ModelChoice { provider: provider.into(), model: model.into(), detail: String::new(), ready: true }
    }

    fn listed(model: &mut Model, name: &str, choices: &[(&str, &str)], problems: &[&str]) -> Vec<Effect> {
        let choices = choices.iter().map(|(provider, model)| choice(provider, model)).collect();
        let problems = problems.iter().map(|text| (*text).to_owned()).collect();
        update(model, 0, Msg::Loaded(LoadReply::NamedModel { name: name.into(), choices, problems }))
    }

    fn sets(effects: &[Effect]) -> Option<&str> {
        effects.iter().find_map(|effect| match effect {
            Effect::Agent(AgentCommand::SetModel(name)) => Some(name.as_str()),
            _ => None,
        })
    }

    fn said(model: &Model) -> &str {
        model.notices.shown.last().map_or("", |notice| notice.text.as_str())
    }

    #[test]
    fn a_model_that_does_not_exist_is_refused_once_the_list_is_fresh() {
        let mut model = open();
        let effects = script(&mut model, "/model tinny<ret>");
        assert!(effects.contains(&Effect::Load(LoadRequest::NamedModel { name: "tinny".into() })), "{effects:?}");
        assert_eq!(sets(&effects), None);
        let effects = listed(&mut model, "tinny", &[("local", "tiny"), ("acme", "big")], &[]);
        assert_eq!(sets(&effects), None);
        assert_eq!(said(&model), "no model is named tinny: did you mean tiny? /model lists all");
        // It came meanwhile.
        let mut model = open();
        let effects = listed(&mut model, "tiny", &[("local", "tiny")], &[]);
        assert_eq!(sets(&effects), Some("local:tiny"));
    }

    #[test]
    fn what_nobody_can_tell_is_taken_and_what_is_known_at_once() {
        let all = [("openrouter", "a/b"), ("acme", "big")];
        for (name, problems, taken) in [
            ("acme:new", &["no answer"][..], Some("acme:new")),
            // Aliases and private models are in no list.
            ("acme:new", &[], Some("acme:new")),
            ("local:none", &["no answer"], None),
            ("openrouter:a/b:nitro", &[], Some("openrouter:a/b:nitro")),
            // Without a key: what is missing is the agent's word.
            ("anthropic:x", &[], Some("anthropic:x")),
        ] {
            let mut model = open();
            assert_eq!(sets(&listed(&mut model, name, &all, problems)), taken, "{name} {problems:?}");
        }
        let mut model = open();
        model.choices = vec![choice("acme", "big")];
        assert_eq!(sets(&script(&mut model, "/model big<ret>")), Some("acme:big"));
    }

    #[test]
    fn a_provider_is_found_by_id_or_name_or_refused() {
        for (name, title) in [("openrouter", "Key for OpenRouter"), ("OpenRouter", "Key for OpenRouter")] {
            let mut model = open();
            script(&mut model, &format!("/login {name}<ret>"));
            assert!(matches!(model.tab.modals.last(), Some(Modal::Input(asked)) if asked.title == title), "{name}");
        }
        let mut model = open();
        script(&mut model, "/login opnrouter<ret>");
        assert!(model.tab.modals.is_empty());
        assert_eq!(said(&model), "no provider is named opnrouter: did you mean openrouter? /login lists all");
    }

    #[test]
    fn a_local_model_is_used_shown_or_refused() {
        let offer = |name: &str, state| Offer { name: name.into(), title: name.into(), state, ..Offer::default() };
        let named = |name: &str| {
            let mut model = open();
            let effects = script(&mut model, &format!("/local {name}<ret>"));
            assert!(effects.contains(&Effect::Load(LoadRequest::NamedLocal { name: name.into() })), "{effects:?}");
            let rows = vec![offer("tiny", OfferState::Here), offer("small", OfferState::Fits)];
            let offers = Offers { rows, ..Offers::default() };
            let effects = update(&mut model, 0, Msg::Loaded(LoadReply::NamedLocal { name: name.into(), offers }));
            (model, effects)
        };
        assert_eq!(sets(&named("tiny").1), Some("local:tiny"));
        let (model, effects) = named("small");
        assert!(!effects.iter().any(|effect| matches!(effect, Effect::Local(_))), "nothing without a yes");
        let Some(Modal::Picker(picker)) = model.tab.modals.last() else { panic!("no picker") };
        assert_eq!(crate::app::lists::pickers::chosen(picker).map(|item| item.value.as_str()), Some("small"));
        assert_eq!(said(&named("nosuch").0), "no model for this computer is named nosuch: there is tiny, small");
    }
}
