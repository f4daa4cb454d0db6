//! What lists and cards tell about providers and models.

use super::ability::{Ability, Called};
use super::endpoint::Keys;
use super::{ModelInfo, providers};
use crate::text::format;

/// Headings of the ways to a model: each says what it costs.
pub mod ways {
    pub const KEYS: &str = "Keys already on this machine · you pay the provider";
    pub const SERVER: &str = "Your own server · free";
    pub const LOCAL: &str = "Run a model on this computer · free";
    pub const PROVIDER: &str = "Set up a provider · you pay the provider";

    /// How a sign-in goes: the browser comes back by itself, or there is a code to type.
    pub fn sign_in(by_browser: bool) -> &'static str {
        if by_browser { "in the browser, without a key" } else { "with a code, without a key" }
    }
}

/// Provider and where its key comes from, for the first-run card.
pub fn keys_found(env: &dyn Keys, place: impl Fn(&str) -> &'static str) -> Vec<(String, String)> {
    providers::with_keys(env)
        .into_iter()
        .map(|(provider, variable)| {
            let source = variable.map(|variable| format!("{variable} in {}", place(variable)));
            (provider.id.clone(), source.unwrap_or_else(|| "signed in".to_owned()))
        })
        .collect()
}

/// Providers for which a key can be pasted.
pub fn pasteable() -> Vec<String> {
    let takes_key = |p: &&providers::Provider| !p.local && !p.keys.is_empty() && !p.base_url.is_empty();
    providers::all().iter().filter(takes_key).map(|provider| provider.id.clone()).collect()
}

/// What people call a provider; its id where it has no other name.
pub fn title(provider: &str) -> &str {
    providers::find(provider).map_or(provider, |known| &known.name)
}

/// Whether there is a provider of this name.
pub fn is_provider(name: &str) -> bool {
    providers::find(name).is_some()
}

/// Where a server of this kind answers: as its variable says, else where it usually does.
pub fn local_base(provider: &str, env: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    let known = providers::find(provider)?;
    Some(env(&known.base_env).filter(|base| !base.trim().is_empty()).unwrap_or_else(|| known.base_url.clone()))
}

/// The variable that holds a provider's key.
pub fn key_variable(provider: &str) -> Option<String> {
    providers::find(provider).and_then(|provider| provider.keys.first().cloned())
}

/// What a list tells of a model: `200K · $3 / $15`; unknown is `?`, unpriced `no price`. Where it was tested also its speed
/// and what it lacks: `32K · free · 12 tok/s · small profile`.
pub fn detail(model: &ModelInfo, tested: Option<&Ability>) -> String {
    let window = model.context.map_or_else(|| "?".to_owned(), format::context);
    let price = model.price.map_or_else(
        || "no price".to_owned(),
        |p| if p.input == 0.0 && p.output == 0.0 { "free".into() } else { format!("${} / ${}", p.input, p.output) },
    );
    let speed = tested.and_then(|ability| ability.rate).map(|rate| format!("{rate:.0} tok/s"));
    let calls = tested.filter(|ability| ability.calls == Called::Not).map(|_| "no tool calls".to_owned());
    let small = tested.filter(|ability| ability.is_small()).map(|_| "small profile".to_owned());
    [Some(window), Some(price), speed, calls, small].into_iter().flatten().collect::<Vec<_>>().join(" · ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::llm::Price;

    #[test]
    fn a_tested_model_shows_its_speed_and_what_it_lacks() {
        let info = ModelInfo { context: Some(32_000), price: Some(Price::default()), ..ModelInfo::default() };
        let able =
            Ability { calls: Called::Natively, types: true, restraint: true, rate: Some(12.4), ..Ability::default() };
        let slow = Ability { prompt_rate: Some(90.0), ..able.clone() };
        let dumb = Ability { calls: Called::Not, rate: None, ..able.clone() };
        for (tested, detail_of_it) in [
            (None, "32K · free"),
            (Some(&able), "32K · free · 12 tok/s"),
            (Some(&slow), "32K · free · 12 tok/s · small profile"),
            (Some(&dumb), "32K · free · no tool calls · small profile"),
        ] {
            assert_eq!(detail(&info, tested), detail_of_it);
        }
    }
}
