//! What lists and cards tell about providers and models.

use super::endpoint::Keys;
use super::{ModelInfo, providers};
use crate::text::format;

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
