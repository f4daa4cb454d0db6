//! Which providers can be called now, and which a person could set up.

use super::endpoint::{self, Endpoint};
use super::{ModelInfo, providers};
use crate::config::Config;
use crate::text::format;

type Env<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Endpoints of every provider that has a key or needs none, the configured one first; their model may be empty.
pub fn endpoints(config: &Config, env: Env<'_>) -> Vec<Endpoint> {
    let mut found: Vec<Endpoint> = endpoint::resolve(config, env, None).into_iter().collect();
    let with_keys = providers::with_keys(env).into_iter().map(|(provider, _)| provider.id.clone());
    for name in config.providers.keys().cloned().chain(with_keys) {
        if found.iter().any(|known| known.provider == name) {
            continue;
        }
        // A provider without a model of its own is still asked for its list: any name will do for that.
        let choice = [format!("{name}:"), format!("{name}:any")];
        found.extend(choice.iter().find_map(|choice| endpoint::resolve(config, env, Some(choice)).ok()));
    }
    found
}

/// Provider and where its key comes from, for the first-run card.
pub fn keys_found(env: Env<'_>, place: impl Fn(&str) -> &'static str) -> Vec<(String, String)> {
    providers::with_keys(env)
        .into_iter()
        .map(|(provider, variable)| (provider.id.clone(), format!("{variable} in {}", place(variable))))
        .collect()
}

/// Providers for which a key can be pasted.
pub fn pasteable() -> Vec<String> {
    let takes_key = |p: &&providers::Provider| !p.local && !p.keys.is_empty() && !p.base_url.is_empty();
    providers::all().iter().filter(takes_key).map(|provider| provider.id.clone()).collect()
}

/// The variable that holds a provider's key.
pub fn key_variable(provider: &str) -> Option<String> {
    providers::find(provider).and_then(|provider| provider.keys.first().cloned())
}

/// What a list tells of a model: `200K · $3 / $15`; unknown is `?`, unpriced `no price`.
pub fn detail(model: &ModelInfo) -> String {
    let window = model.context.map_or_else(|| "?".to_owned(), format::context);
    let price = model.price.map_or_else(
        || "no price".to_owned(),
        |p| if p.input == 0.0 && p.output == 0.0 { "free".into() } else { format!("${} / ${}", p.input, p.output) },
    );
    format!("{window} · {price}")
}
