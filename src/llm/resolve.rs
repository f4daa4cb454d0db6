//! Which model is called, where, with which key: from the config, the environment and the user's choice.

use super::endpoint::{Endpoint, Keys, Secret, host, is_local, pool_of};
use super::providers::{self, Auth, Dialect, Provider};
use crate::config::{AuxiliaryModel, Config, FallbackConfig, ProviderConfig};
use std::time::Duration;

/// Why no model can be called, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SetupError {
    #[error(
        "no model provider configured; run `hermes models get` for a model on this computer or `hermes login` to sign in, set a key such as OPENROUTER_API_KEY or ANTHROPIC_API_KEY in the environment or in {env_file}, or run `hermes config set model.base_url http://127.0.0.1:11434/v1` for a local server"
    )]
    NoProvider { env_file: String },
    #[error("{name} needs a key; set {} in the environment or in {env_file}{}", .variables.join(" or "), .key_url)]
    MissingKey {
        name: String,
        variables: Vec<String>,
        /// ` (get one at …)`, or empty.
        key_url: String,
        env_file: String,
    },
    #[error("no model selected for {name}; run `hermes config set model.default MODEL` (`hermes models` lists them)")]
    NoModel { name: String },
    #[error("{name} has no address; run `hermes config set {key} https://…`")]
    NoBaseUrl { name: String, key: String },
    #[error("unknown provider {name:?}; use one of {known}, or an entry of `providers` in config.yaml")]
    UnknownProvider { name: String, known: String },
    #[error("{url:?} is not an address ({why}); run `hermes config set {key} https://…`")]
    BadUrl { url: String, why: String, key: String },
    #[error("unknown api_mode {mode:?} in {key}; use chat_completions, codex_responses or anthropic_messages")]
    BadApiMode { mode: String, key: String },
    #[error("{0}")]
    Accounts(String),
    #[error("{key} refers to ${{{variable}}}, which is not set; set it in the environment or in {env_file}")]
    UnsetVariable { variable: String, key: String, env_file: String },
}

/// What one entry of the config says, whatever its place.
#[derive(Default)]
struct Entry<'a> {
    /// `model`, `providers.lab`, `fallback_providers[0]`: for messages.
    place: String,
    base_url: &'a str,
    api_key: &'a str,
    key_env: &'a str,
    api_mode: &'a str,
}

type Env<'a> = &'a dyn Keys;

/// Finds the model to call. `choice` is `MODEL` or `PROVIDER:MODEL` and wins over everything; an empty provider or `auto`
/// means the config's address, else the first provider with a key in `env`, in table order.
pub fn resolve(config: &Config, env: Env<'_>, choice: Option<&str>) -> Result<Endpoint, SetupError> {
    let set = |name: &str| env.variable(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty());
    let choice = choice.map(str::trim).filter(|choice| !choice.is_empty());
    let (chosen_provider, chosen_model) = choice.map_or((None, None), |choice| split_choice(config, choice));

    let own_id = own_provider(config);
    let configured = set("HERMES_INFERENCE_PROVIDER").unwrap_or_else(|| config.model.provider.clone());
    let model = chosen_model
        .map(str::to_owned)
        .or_else(|| set("HERMES_INFERENCE_MODEL").or_else(|| set("HERMES_MODEL")).filter(|_| chosen_provider.is_none()))
        .or_else(|| {
            let is_configured = chosen_provider
                .is_none_or(|chosen| same_provider(chosen, &configured) || same_provider(chosen, own_id));
            is_configured.then(|| config.model.default.clone())
        })
        .unwrap_or_default();
    // A model in the config may carry its provider too.
    let (provider_of_model, model) = match split_choice(config, &model) {
        (Some(provider), rest) if chosen_provider.is_none() => {
            (Some(provider.to_owned()), rest.unwrap_or("").to_owned())
        }
        _ => (None, model.clone()),
    };
    let provider = chosen_provider.map(str::to_owned).or(provider_of_model).unwrap_or(configured.clone());
    let is_own = is_auto(&provider) || same_provider(&provider, own_id);
    let mut endpoint = build(config, env, &provider, &model, entry(config, is_own))?;
    if is_own {
        endpoint.headers.extend(config.model.default_headers.iter().map(|(name, value)| (name.clone(), value.clone())));
        endpoint.max_output = config.model.max_tokens;
        if config.model.default.is_empty() || config.model.default.ends_with(&endpoint.model) {
            endpoint.context = endpoint.context.or(config.model.context_length);
        }
    }
    Ok(endpoint)
}

/// Every provider that could be asked now, for the model picker: the configured one, the entries of `providers`, and those
/// with a key in `env`. `model` is the one that would be used, or empty. Local servers are found by `local::scan`.
pub fn available(config: &Config, env: Env<'_>) -> Vec<Endpoint> {
    let own_id = own_provider(config);
    let with_keys = providers::with_keys(env).into_iter().map(|(provider, _)| provider.id.as_str());
    let names = std::iter::once(own_id).chain(config.providers.keys().map(String::as_str)).chain(with_keys);
    let mut found: Vec<Endpoint> = Vec::new();
    for name in names {
        let entry = || entry(config, same_provider(name, own_id));
        let endpoint = build(config, env, name, "", entry()).or_else(|error| match error {
            SetupError::NoModel { .. } => build(config, env, name, UNKNOWN, entry()),
            other => Err(other),
        });
        let Ok(mut endpoint) = endpoint else { continue };
        if endpoint.model == UNKNOWN {
            endpoint.model.clear();
        }
        if !endpoint.is_served() && !found.iter().any(|known| known.provider == endpoint.provider) {
            found.push(endpoint);
        }
    }
    found
}

/// Stands for a model that is still to be chosen.
const UNKNOWN: &str = "?";

/// The provider that the keys of `model:` speak of; empty when they speak of none.
fn own_provider(config: &Config) -> &str {
    let own = &config.model;
    if is_auto(&own.provider) && !own.base_url.is_empty() {
        return by_host(&own.base_url).map_or("custom", |provider| &provider.id);
    }
    if is_auto(&own.provider) { "" } else { &own.provider }
}

/// What `model:` says, if it speaks of this provider.
fn entry(config: &Config, is_own: bool) -> Entry<'_> {
    let own = &config.model;
    let place = "model".to_owned();
    if !is_own {
        return Entry { place, ..Entry::default() };
    }
    Entry { place, base_url: &own.base_url, api_key: &own.api_key, key_env: "", api_mode: &own.api_mode }
}

/// The models to try when the first fails, in order. Entries that cannot be set up are skipped.
pub fn fallbacks(config: &Config, env: Env<'_>) -> Vec<Endpoint> {
    let usable = |(index, fallback): (usize, &FallbackConfig)| {
        let entry = Entry {
            place: format!("fallback_providers[{index}]"),
            base_url: &fallback.base_url,
            api_key: &fallback.api_key,
            key_env: &fallback.key_env,
            api_mode: &fallback.api_mode,
        };
        match build(config, env, &fallback.provider, &fallback.model, entry) {
            Ok(endpoint) => Some(endpoint),
            Err(error) => {
                tracing::warn!(index, %error, "fallback provider skipped");
                None
            }
        }
    };
    config.fallback_providers.iter().enumerate().filter_map(usable).collect()
}

/// The model that works beside the conversation: as `own` says, which stands at `place` in the configuration, else the
/// session's (`choice`).
pub fn auxiliary(
    config: &Config,
    env: Env<'_>,
    (place, own): (&str, &AuxiliaryModel),
    choice: Option<&str>,
) -> Result<Endpoint, SetupError> {
    let provider = if own.provider.trim() == "main" { "" } else { own.provider.trim() };
    let model = own.model.trim();
    if !own.base_url.is_empty() {
        let entry = Entry { place: place.into(), base_url: &own.base_url, api_key: &own.api_key, ..Entry::default() };
        return build(config, env, provider, model, entry);
    }
    match (is_auto(provider), model.is_empty()) {
        (true, true) => resolve(config, env, choice),
        (true, false) => resolve(config, env, Some(model)),
        (false, _) => resolve(config, env, Some(&format!("{provider}:{model}"))),
    }
}

fn is_auto(provider: &str) -> bool {
    provider.is_empty() || provider.eq_ignore_ascii_case("auto")
}

fn same_provider(a: &str, b: &str) -> bool {
    let (a, b) = (custom_name(a), custom_name(b));
    if a.is_empty() || b.is_empty() {
        return a == b;
    }
    a.eq_ignore_ascii_case(b) || providers::find(a).is_some_and(|provider| provider.is(b))
}

/// `custom:lab` means the entry `lab`.
fn custom_name(provider: &str) -> &str {
    provider.strip_prefix("custom:").unwrap_or(provider)
}

/// Splits `PROVIDER:MODEL`. A colon belongs to the model (`qwen3:8b`, `x/y:free`) unless a provider stands before it.
fn split_choice<'a>(config: &Config, choice: &'a str) -> (Option<&'a str>, Option<&'a str>) {
    let known = |name: &str| config.providers.contains_key(name) || providers::find(name).is_some();
    let model = |rest: &'a str| Some(rest.trim()).filter(|rest| !rest.is_empty());
    if let Some(rest) = choice.strip_prefix("custom:") {
        let name_end = rest.find(':').unwrap_or(rest.len());
        if rest.get(..name_end).is_some_and(|name| config.providers.contains_key(name)) {
            let whole = "custom:".len() + name_end;
            return (choice.get(..whole), choice.get(whole + 1..).and_then(model));
        }
    }
    match choice.split_once(':') {
        Some((name, rest)) if known(name.trim()) => (Some(name.trim()), model(rest)),
        _ if config.providers.contains_key(choice) => (Some(choice), None),
        _ => (None, Some(choice)),
    }
}

fn build(config: &Config, env: Env<'_>, provider: &str, model: &str, entry: Entry<'_>) -> Result<Endpoint, SetupError> {
    let set = |name: &str| env.variable(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty());
    let name = custom_name(provider);
    let named: Option<(&String, &ProviderConfig)> = config.providers.get_key_value(name);
    let base_of = |place: &str, text: &str| expand(text, &format!("{place}.base_url"), &set);
    let own_base = base_of(&entry.place, entry.base_url)?;

    let known: &Provider = if let Some(known) = providers::find(name) {
        known
    } else if let Some((_, named)) = named {
        by_host(&named.base_url).unwrap_or(custom())
    } else if is_auto(provider) && !own_base.is_empty() {
        by_host(&own_base).unwrap_or(custom())
    } else if is_auto(provider) {
        automatic(model, env).ok_or_else(|| SetupError::NoProvider { env_file: env_file(&set) })?
    } else {
        let known: Vec<&str> = providers::all().iter().map(|provider| provider.id.as_str()).collect();
        return Err(SetupError::UnknownProvider { name: provider.to_owned(), known: known.join(", ") });
    };
    let (base, base_key) = [
        (own_base, format!("{}.base_url", entry.place)),
        match named {
            Some((name, named)) => {
                let place = format!("providers.{name}");
                (base_of(&place, &named.base_url)?, format!("{place}.base_url"))
            }
            None => Default::default(),
        },
        (set(&known.base_env).unwrap_or_default(), known.base_env.clone()),
        (known.base_url.clone(), "model.base_url".to_owned()),
    ]
    .into_iter()
    .find(|(base, _)| !base.is_empty())
    .unwrap_or_default();
    let scripted = known.dialect == Dialect::Scripted;
    let placeless = scripted || known.served;
    if base.is_empty() && !placeless {
        let key = named.map_or("model.base_url".to_owned(), |(name, _)| format!("providers.{name}.base_url"));
        return Err(SetupError::NoBaseUrl { name: known.name.clone(), key });
    }
    // `local` with an address is a server of the person's own, as it was before models ran on this computer.
    let own = known.served && !base.is_empty();
    let known = if known.id == "custom" || own { by_host(&base).unwrap_or(custom()) } else { known };
    let id = named.map_or(known.id.as_str(), |(name, _)| name.as_str()).to_owned();
    let label =
        named.filter(|_| known.id == "custom").map_or(known.name.as_str(), |(name, _)| name.as_str()).to_owned();
    let base = if placeless && base.is_empty() { base } else { tidy_base(&base, &base_key)? };
    let is_home = known.base_url.is_empty() || host(&base) == host(&known.base_url);

    let named_mode = named.map(|(_, named)| named.api_mode.as_str()).unwrap_or_default();
    // Moved by its own variable it is still this provider, with its key and its models.
    let is_theirs = is_home || base_key == known.base_env;
    let dialect = match (entry.api_mode.trim(), named_mode.trim()) {
        ("", "") if base.ends_with("/anthropic") => Dialect::AnthropicMessages,
        ("", "") if is_home => known.dialect,
        // A server that only stands in for another is most likely to speak what everybody speaks.
        ("", "") if known.dialect == Dialect::CodexResponses => Dialect::ChatCompletions,
        ("", "") => known.dialect,
        ("", mode) => api_mode(mode, &format!("providers.{id}.api_mode"))?,
        (mode, _) => api_mode(mode, &format!("{}.api_mode", entry.place))?,
    };
    let local = known.local || is_local(&base);
    let (key, key_source, shared) = find_key(&entry, named, known, is_theirs, &set)?;
    // A name of the configuration may be a server's own: its keys are kept under that name.
    let pool = shared.then(|| pool_of(&if known.id == "custom" { format!("custom:{id}") } else { known.id.clone() }));
    let kept = pool.as_deref().is_some_and(|pool| env.account(pool));
    if key.is_empty() && !kept && !local && known.id != "custom" && is_home {
        let key_url = if known.key_url.is_empty() { String::new() } else { format!(" (get one at {})", known.key_url) };
        return Err(SetupError::MissingKey {
            name: label,
            variables: known.keys.clone(),
            key_url,
            env_file: env_file(&set),
        });
    }

    let default_model = named.map(|(_, named)| named.default_model.as_str()).filter(|model| !model.is_empty());
    let model = match model.trim() {
        "" | "auto" => default_model.unwrap_or(if is_theirs { &known.default_model } else { "" }),
        model => model,
    };
    if model.is_empty() {
        return Err(SetupError::NoModel { name: label });
    }
    let mut headers: Vec<(String, String)> = Vec::new();
    if is_home {
        headers.extend(known.headers.iter().map(|(name, value)| (name.clone(), value.clone())));
    }
    if let Some((_, named)) = named {
        headers.extend(named.extra_headers.iter().map(|(name, value)| (name.clone(), value.clone())));
    }
    let stall = named.and_then(|(_, named)| named.stale_timeout_seconds).unwrap_or(if local {
        config.agent.local_stream_stale_timeout
    } else {
        config.agent.stream_stale_timeout
    });
    let context = named.and_then(|(_, named)| named.models.get(model)).and_then(|model| model.context_length);
    let auth = match (dialect, known.auth) {
        (Dialect::AnthropicMessages, Auth::Bearer) if known.dialect != dialect => Auth::XApiKey,
        (Dialect::ChatCompletions | Dialect::CodexResponses, Auth::XApiKey) => Auth::Bearer,
        (_, auth) => auth,
    };
    Ok(Endpoint {
        provider: id,
        name: label,
        model: model.to_owned(),
        base_url: base,
        dialect,
        auth,
        key,
        key_source,
        pool,
        env_file: env_file(&set),
        headers,
        quirks: known.quirks.clone(),
        local,
        stall: Duration::from_secs(stall.max(1)),
        context,
        max_output: None,
        // A whole address is the provider's own: no key goes there from a server that stands in for it.
        models_path: if is_home || !known.models_path.contains("://") {
            known.models_path.clone()
        } else {
            String::new()
        },
    })
}

fn custom() -> &'static Provider {
    static CUSTOM: std::sync::LazyLock<Provider> = std::sync::LazyLock::new(|| Provider {
        id: "custom".into(),
        name: "custom endpoint".into(),
        ..Provider::default()
    });
    providers::find("custom").unwrap_or(&CUSTOM)
}

/// The first provider with a key, the model's own maker before the others.
fn automatic(model: &str, env: Env<'_>) -> Option<&'static Provider> {
    let found = providers::with_keys(env);
    let makes = |provider: &Provider| {
        let model = model.to_ascii_lowercase();
        !model.is_empty() && provider.families.iter().any(|family| model.starts_with(family.as_str()))
    };
    let maker = found.iter().find(|(provider, _)| makes(provider));
    maker.or(found.first()).map(|(provider, _)| *provider)
}

fn by_host(base: &str) -> Option<&'static Provider> {
    let wanted = host(base)?;
    let same = |provider: &&Provider| !provider.local && host(&provider.base_url).is_some_and(|host| host == wanted);
    providers::all().iter().find(same)
}

/// The key, where it is from or would be, and whether the provider's other keys would do as well.
fn find_key(
    entry: &Entry<'_>,
    named: Option<(&String, &ProviderConfig)>,
    known: &Provider,
    is_theirs: bool,
    set: &dyn Fn(&str) -> Option<String>,
) -> Result<(Secret, String, bool), SetupError> {
    let mut places = vec![(entry.place.clone(), entry.api_key, entry.key_env)];
    if let Some((name, named)) = named {
        places.push((format!("providers.{name}"), &named.api_key, &named.key_env));
    }
    for (place, api_key, key_env) in places {
        if !api_key.trim().is_empty() {
            let place = format!("{place}.api_key");
            return Ok((Secret::new(expand(api_key, &place, set)?), place, false));
        }
        if !key_env.is_empty() {
            let key = set(key_env).ok_or_else(|| SetupError::UnsetVariable {
                variable: key_env.to_owned(),
                key: format!("{place}.key_env"),
                env_file: env_file(set),
            })?;
            return Ok((Secret::new(key), key_env.to_owned(), false));
        }
    }
    // A provider's key goes to that provider, not to whatever address the config names.
    let shared = if known.id == "custom" { named.is_some() } else { is_theirs || known.local };
    if is_theirs || known.local {
        for name in &known.keys {
            if let Some(key) = set(name) {
                return Ok((Secret::new(key), name.clone(), true));
            }
        }
    }
    let source = known.keys.first().cloned().unwrap_or_else(|| format!("{}.api_key", entry.place));
    Ok((Secret::default(), source, shared))
}

/// The file of keys in the home that is in use, as people write it.
fn env_file(set: &dyn Fn(&str) -> Option<String>) -> String {
    let home = set("HERMES_HOME").unwrap_or_else(|| "~/.hermes".to_owned());
    let profile = set("HERMES_PROFILE").filter(|name| name != "default");
    let folder = profile.map_or_else(String::new, |name| format!("/profiles/{name}"));
    format!("{}{folder}/.env", home.trim_end_matches('/'))
}

/// Replaces every `${NAME}`.
fn expand(text: &str, key: &str, set: &dyn Fn(&str) -> Option<String>) -> Result<String, SetupError> {
    let mut out = String::new();
    let mut rest = text.trim();
    while let Some((before, after)) = rest.split_once("${") {
        let Some((variable, tail)) = after.split_once('}') else { break };
        let unset = || SetupError::UnsetVariable {
            variable: variable.to_owned(),
            key: key.to_owned(),
            env_file: env_file(set),
        };
        let value = set(variable).ok_or_else(unset)?;
        out.push_str(before);
        out.push_str(&value);
        rest = tail;
    }
    out.push_str(rest);
    Ok(out)
}

fn api_mode(mode: &str, key: &str) -> Result<Dialect, SetupError> {
    Dialect::parse(mode).ok_or_else(|| SetupError::BadApiMode { mode: mode.to_owned(), key: key.to_owned() })
}

/// Takes off what people paste along with a base address.
fn tidy_base(base: &str, key: &str) -> Result<String, SetupError> {
    let bad = |why: String| SetupError::BadUrl { url: base.to_owned(), why, key: key.to_owned() };
    let parsed = url::Url::parse(base).map_err(|error| bad(error.to_string()))?;
    if !matches!(parsed.scheme(), "http" | "https") || parsed.host_str().is_none() {
        return Err(bad("it must start with http:// or https://".into()));
    }
    let mut tidy = base.trim().trim_end_matches('/');
    for tail in ["/chat/completions", "/responses", "/messages"] {
        tidy = tidy.strip_suffix(tail).unwrap_or(tidy);
    }
    Ok(tidy.trim_end_matches('/').to_owned())
}

#[cfg(test)]
mod tests;
