//! Choosing a model where none answers yet: which keys and servers are there, whether a key or an address is good, and what
//! is written down. The card of the screen and `hermes setup` ask the same of it.

use crate::accounts::{Accounts, Known};
use crate::config::load::{Loaded, Place};
use crate::config::paths::Paths;
use crate::config::{Config, ConfigError, dotenv, edit};
use crate::llm::local::{self, LocalServer, ServerRefused};
use crate::llm::{Endpoint, ErrorKind, ModelInfo, catalog, endpoint, http, ready};
use std::sync::Arc;
use std::time::Duration;

/// The variable in `.env` that holds the key of the person's own server.
const SERVER_KEY: &str = "HERMES_SERVER_KEY";
/// How long a key may be tried.
const PATIENCE: Duration = Duration::from_secs(20);

/// Providers with a key or a login, and where each comes from.
pub fn keys(loaded: &Loaded, accounts: &Accounts, paths: &Paths) -> Vec<(String, String)> {
    let dotenv = paths.profile().map_or("~/.hermes/.env", |_| ".env of this profile");
    ready::keys_found(&Known { loaded, accounts }, |name| match loaded.locate(name) {
        Some((_, Place::Dotenv)) => dotenv,
        Some((_, Place::Environment)) | None => "the environment",
    })
}

/// Servers of models on this machine that answered.
pub async fn servers(loaded: &Loaded) -> Vec<LocalServer> {
    let env = |name: &str| loaded.env(name).map(str::to_owned);
    local::scan(&http::client(), &local::usual(&env)).await
}

/// The models of a provider with a key, a login, or no need of one.
///
/// # Errors
/// It can't be asked, or says no: for the person.
pub async fn models(
    loaded: &Arc<Loaded>,
    accounts: &Accounts,
    paths: &Paths,
    provider: &str,
) -> Result<Vec<ModelInfo>, String> {
    let found = endpoint::available(&loaded.config, &Known { loaded, accounts });
    let endpoint = found.into_iter().find(|endpoint| endpoint.provider == provider);
    let endpoint = endpoint.ok_or_else(|| format!("{provider} has no key; run `hermes auth add {provider}`"))?;
    let endpoint = accounts.unlock(loaded, endpoint).await;
    let listed = catalog::list_models(&endpoint, &http::client(), &paths.cache(), true).await;
    listed.map_err(|error| error.message)
}

/// One live call with a key, which advises and never walls: that it answered, in words.
///
/// # Errors
/// It did not answer, and why.
pub async fn try_key(loaded: &Loaded, paths: &Paths, provider: &str, key: &str) -> Result<String, String> {
    let variable = ready::key_variable(provider).ok_or_else(|| format!("{provider} does not use a key"))?;
    let env = |name: &str| {
        if name == variable { Some(key.to_owned()) } else { loaded.env(name).map(str::to_owned) }
    };
    let endpoint = endpoint::available(&loaded.config, &env).into_iter().find(|e| e.provider == provider);
    let mut endpoint = endpoint.ok_or_else(|| format!("could not set up {provider} with this key"))?;
    if endpoint.model.is_empty() {
        // Its own list names one that can be tried.
        let listed = catalog::list_models(&endpoint, &http::client(), &paths.cache(), true).await;
        let listed = listed.map_err(|error| error.message)?;
        let one = listed.iter().find(|model| model.tools == Some(true)).or(listed.first());
        endpoint.model =
            one.map(|model| model.id.clone()).ok_or_else(|| format!("{} lists no models", endpoint.name))?;
    }
    ping(endpoint, &loaded.config).await
}

/// The smallest possible request: an address that lists models without a key would say nothing about one.
async fn ping(endpoint: Endpoint, config: &Config) -> Result<String, String> {
    let info = catalog::model_info(&endpoint, config, None);
    let name = endpoint.label();
    let provider = crate::llm::connect(endpoint, http::client(), info);
    let request = crate::llm::Request {
        system: "Answer with one word.".into(),
        tools: Vec::new().into(),
        messages: vec![crate::llm::message::Message::User { text: "Say ok.".into(), images: Vec::new() }],
        effort: crate::llm::Effort::None,
        max_output: Some(16),
        grammar: None,
        cache_key: String::new(),
    };
    let (sink, _deltas) = tokio::sync::mpsc::channel(1);
    let cancel = tokio_util::sync::CancellationToken::new();
    let asked = provider.stream(&request, sink, cancel);
    match tokio::time::timeout(PATIENCE, asked).await {
        Ok(Ok(_)) => Ok(format!("{name} answered")),
        Ok(Err(error)) => Err(error.message),
        Err(_) => Err(format!("{name} did not answer within {} seconds", PATIENCE.as_secs())),
    }
}

/// Asks the server at an address, as a person writes it, what it offers; `key` may be empty.
///
/// # Errors
/// Why it can't be used as it was given.
pub async fn ask_server(paths: &Paths, address: &str, key: &str) -> Result<LocalServer, ServerRefused> {
    let base_url = local::address(address).map_err(ServerRefused::Other)?;
    let http = http::client();
    if key.is_empty()
        && let Some(found) = local::probe(&http, &base_url).await
    {
        return Ok(found);
    }
    let mut config = Config::default();
    config.model.provider = "custom".into();
    config.model.base_url = base_url.clone();
    config.model.api_key = key.to_owned();
    let endpoint = endpoint::available(&config, &|_: &str| None).into_iter().next();
    let endpoint = endpoint.ok_or_else(|| ServerRefused::Other(format!("{base_url} is not a usable address")))?;
    match catalog::list_models(&endpoint, &http, &paths.cache(), true).await {
        Ok(models) if models.is_empty() => Err(ServerRefused::NoList(base_url)),
        Ok(models) => {
            let models = models.into_iter().map(|model| model.id).collect();
            Ok(LocalServer { kind: local::LocalKind::Other, base_url, models, window: None })
        }
        Err(error) => Err(match error.kind {
            ErrorKind::Auth => ServerRefused::Key(base_url),
            // Something speaks there: a list is not what every server has.
            ErrorKind::Malformed | ErrorKind::ModelNotFound | ErrorKind::BadRequest => ServerRefused::NoList(base_url),
            ErrorKind::Network | ErrorKind::Stalled => {
                ServerRefused::Other(format!("no answer from {base_url}; start the server, or fix the address"))
            }
            _ => ServerRefused::Other(error.message),
        }),
    }
}

/// Puts a key into `.env`, readable by its owner only. Blocks.
///
/// # Errors
/// The provider takes none, or the file can't be written.
pub fn save_key(paths: &Paths, provider: &str, key: &str) -> Result<(), String> {
    let variable = ready::key_variable(provider).ok_or_else(|| format!("{provider} does not use a key"))?;
    dotenv::set(&paths.dotenv(), &variable, key).map_err(|error| error.to_string())
}

/// Makes a model the one of new sessions, in one write; an empty provider stays the one that is configured. Blocks.
///
/// # Errors
/// The config can't be read or written.
pub fn save_model(paths: &Paths, provider: &str, model: &str) -> Result<(), ConfigError> {
    let all = [("model.provider", provider), ("model.default", model)];
    let given: Vec<_> = all.into_iter().filter(|(_, value)| !value.is_empty()).collect();
    edit::set_all(&paths.config(), &given)
}

/// Writes an address and its model into the config, and the key, which may be empty, into `.env`. Blocks.
///
/// # Errors
/// A file can't be read or written.
pub fn save_server(paths: &Paths, before: &Config, base_url: &str, key: &str, model: &str) -> Result<(), ConfigError> {
    let file = paths.config();
    edit::set_all(&file, &[("model.base_url", base_url), ("model.provider", "custom"), ("model.default", model)])?;
    if !key.is_empty() {
        dotenv::set(&paths.dotenv(), SERVER_KEY, key)?;
        return edit::set(&file, "model.api_key", &format!("${{{SERVER_KEY}}}"));
    }
    // A key of the server before it is not for this one.
    if before.model.api_key.is_empty() { Ok(()) } else { edit::remove(&file, "model.api_key") }
}
