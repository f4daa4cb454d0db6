//! A server of models by its address: what it offers, and its lines in the config.

use super::Context;
use crate::app::model::first_run::{OwnServer, Server};
use crate::app::msg::{LoadReply, ServerRefused};
use crate::config::{Config, ConfigError, dotenv, edit, load};
use crate::llm::local::{self, LocalKind, LocalServer};
use crate::llm::{ErrorKind, catalog, endpoint, http, providers};

/// The variable in `.env` that holds the key of the person's own server.
const KEY: &str = "HERMES_SERVER_KEY";

/// A row of the first-run card.
pub fn row(found: LocalServer) -> Server {
    let name = match found.kind {
        LocalKind::Other => String::new(),
        kind => providers::find(kind.provider()).map(|provider| provider.name.clone()).unwrap_or_default(),
    };
    Server { name, base_url: found.base_url, models: found.models }
}

/// Asks the server at an address what it offers.
pub async fn tried(context: &Context, address: String, key: String) -> LoadReply {
    let outcome = match local::address(&address) {
        Ok(base_url) => asked(context, base_url, &key).await,
        Err(why) => Err(ServerRefused::Other(why)),
    };
    LoadReply::ServerTried { address, key, outcome }
}

async fn asked(context: &Context, base_url: String, key: &str) -> Result<Server, ServerRefused> {
    let http = http::client();
    if key.is_empty()
        && let Some(found) = local::probe(&http, &base_url).await
    {
        return Ok(row(found));
    }
    let mut config = Config::default();
    config.model.provider = "custom".into();
    config.model.base_url = base_url.clone();
    config.model.api_key = key.to_owned();
    let endpoint = endpoint::available(&config, &|_: &str| None).into_iter().next();
    let endpoint = endpoint.ok_or_else(|| ServerRefused::Other(format!("{base_url} is not a usable address")))?;
    match catalog::list_models(&endpoint, &http, &context.paths.cache(), true).await {
        Ok(models) if models.is_empty() => Err(ServerRefused::NoList(base_url)),
        Ok(models) => {
            let models = models.into_iter().map(|model| model.id).collect();
            Ok(Server { name: String::new(), base_url, models })
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

/// Writes the address and the model into the config, and the key into `.env`.
pub fn save(context: &Context, server: &OwnServer, model: String) -> LoadReply {
    let write = || -> Result<(), ConfigError> {
        let file = context.paths.config();
        for (name, value) in
            [("model.base_url", server.base_url.as_str()), ("model.provider", "custom"), ("model.default", &model)]
        {
            edit::set(&file, name, value)?;
        }
        if !server.key.is_empty() {
            dotenv::set(&context.paths.dotenv(), KEY, &server.key)?;
            return edit::set(&file, "model.api_key", &format!("${{{KEY}}}"));
        }
        // A key of the server before it is not for this one.
        let before = load::load(&context.sources).config;
        if before.model.api_key.is_empty() { Ok(()) } else { edit::remove(&file, "model.api_key") }
    };
    let result = context.policy.ours(write).map_err(|error| error.to_string());
    LoadReply::ServerUsed { model, result }
}
