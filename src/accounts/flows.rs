//! Sign-in flows as data: which provider offers one, where, for which client. What the person configured wins.

use super::error::AccountError;
use crate::config::Config;
use crate::llm::{endpoint::pool_of, http, providers};
use crate::yaml;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// How a person signs in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Flow {
    /// A code to type on any device (RFC 8628).
    #[default]
    Device,
    /// A browser that comes back to this machine (RFC 8252, RFC 7636).
    LoopbackPkce,
    /// The same at OpenRouter, which answers with a key.
    OpenrouterPkce,
}

impl Flow {
    /// The word of `accounts.*.flow`.
    fn parse(word: &str) -> Option<Self> {
        match word {
            "device" => Some(Self::Device),
            "loopback_pkce" => Some(Self::LoopbackPkce),
            "openrouter_pkce" => Some(Self::OpenrouterPkce),
            _ => None,
        }
    }
}

/// One row of `assets/sign-in.yaml`, with what the person configured.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SignIn {
    /// The pool that it fills: a provider's id, or `custom:NAME`.
    pub provider: String,
    pub flow: Flow,
    pub device_url: String,
    pub authorize_url: String,
    pub token_url: String,
    /// Public; empty: the person registers one.
    pub client_id: String,
    /// Of a client that the person registered, where the vendor wants it back.
    pub client_secret: String,
    pub scope: String,
    /// More parameters of the address that the browser is sent to.
    pub authorize: BTreeMap<String, String>,
    /// How a person comes by a client of their own.
    pub register: String,
    /// A program that is signed in already, and its arguments.
    pub helper: Vec<String>,
    /// Port that the browser comes back to; 0: any.
    pub port: u16,
}

static TABLE: LazyLock<Vec<SignIn>> = LazyLock::new(|| table().unwrap_or_default());

fn table() -> Result<Vec<SignIn>, String> {
    let node = yaml::parse(include_str!("../../assets/sign-in.yaml"), "assets/sign-in.yaml");
    let value = node.map_err(|error| error.to_string())?.to_json();
    serde_json::from_value(value).map_err(|error| format!("assets/sign-in.yaml: {error}"))
}

impl SignIn {
    /// The flow of a provider, whether or not it is ready to be used; `None` where there is none.
    pub fn find(config: &Config, provider: &str) -> Option<Self> {
        let pool = pool_of(provider);
        let row = TABLE.iter().find(|row| row.provider == pool).cloned();
        let own = config.accounts.providers.iter().find(|(name, _)| pool_of(name) == pool);
        let mut row = match (row, own) {
            (None, None) => return None,
            (row, _) => row.unwrap_or_else(|| Self { provider: pool, ..Self::default() }),
        };
        if let Some((_, own)) = own {
            row.flow = Flow::parse(&own.flow).unwrap_or(row.flow);
            for (field, value) in [
                (&mut row.device_url, &own.device_url),
                (&mut row.authorize_url, &own.authorize_url),
                (&mut row.token_url, &own.token_url),
                (&mut row.client_id, &own.client_id),
                (&mut row.client_secret, &own.client_secret),
                (&mut row.scope, &own.scope),
            ] {
                if !value.trim().is_empty() {
                    value.trim().clone_into(field);
                }
            }
            row.port = own.redirect_port;
        }
        Some(row)
    }

    /// All that could be used here, the configured ones among them, in the order of the table.
    pub fn all(config: &Config) -> Vec<Self> {
        let names = TABLE.iter().map(|row| row.provider.clone()).chain(config.accounts.providers.keys().cloned());
        let mut all: Vec<Self> = Vec::new();
        for row in names.filter_map(|name| Self::find(config, &name)) {
            if !all.iter().any(|known| known.provider == row.provider) {
                all.push(row);
            }
        }
        all
    }

    /// The name as a person writes it after `hermes login`.
    pub fn name(&self) -> &str {
        self.provider.strip_prefix("custom:").unwrap_or(&self.provider)
    }

    /// The name for people.
    pub fn title(&self) -> String {
        providers::find(self.name()).map_or_else(|| self.name().to_owned(), |provider| provider.name.clone())
    }

    /// Whether the browser comes back by itself; else there is a code to type.
    pub fn is_by_browser(&self) -> bool {
        self.flow != Flow::Device
    }

    /// Whether it can be begun.
    ///
    /// # Errors
    /// What is missing and how it is set.
    pub fn ready(&self) -> Result<(), AccountError> {
        let provider = || self.name().to_owned();
        let urls = match self.flow {
            Flow::Device => [("device_url", &self.device_url), ("token_url", &self.token_url)],
            Flow::LoopbackPkce | Flow::OpenrouterPkce => {
                [("authorize_url", &self.authorize_url), ("token_url", &self.token_url)]
            }
        };
        for (field, url) in urls {
            if url.is_empty() {
                return Err(AccountError::Unset { provider: provider(), field, example: "https://…" });
            }
            // A token in the clear is anybody's.
            let is_here = url.starts_with("http://") && http::is_loopback(url);
            if !url.starts_with("https://") && !is_here {
                return Err(AccountError::NotSafe { provider: provider(), field, url: url.clone() });
            }
        }
        if self.client_id.is_empty() && self.flow != Flow::OpenrouterPkce {
            if self.register.is_empty() {
                return Err(AccountError::Unset { provider: provider(), field: "client_id", example: "ID" });
            }
            return Err(AccountError::NoClient { provider: provider(), register: self.register.clone() });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::AccountConfig;

    #[test]
    fn every_row_names_a_provider_and_says_how_to_begin() {
        let config = Config::default();
        let rows = table().unwrap();
        assert_eq!(rows, *TABLE);
        for row in &rows {
            let provider = providers::find(&row.provider).unwrap_or_else(|| panic!("{}", row.provider));
            assert_eq!(provider.id, row.provider, "rows name ids");
            match row.ready() {
                Ok(()) => {}
                Err(AccountError::NoClient { register, .. }) => assert!(register.contains("https://"), "{register}"),
                Err(other) => panic!("{}: {other}", row.provider),
            }
        }
        for ready in ["nous", "OpenRouter", "or"] {
            assert_eq!(SignIn::find(&config, ready).unwrap().ready(), Ok(()), "{ready}");
        }
        for other in ["anthropic", "openai", "xai", "alibaba", "minimax", "nobody"] {
            assert_eq!(SignIn::find(&config, other), None, "{other}");
        }
    }

    #[test]
    fn what_is_configured_wins_and_makes_rows_of_its_own() {
        let mut config = Config::default();
        let own = AccountConfig { client_id: "mine".into(), ..AccountConfig::default() };
        config.accounts.providers.insert("hf".into(), own);
        let row = SignIn::find(&config, "huggingface").unwrap();
        assert_eq!((row.client_id.as_str(), row.ready()), ("mine", Ok(())));
        let lab = AccountConfig {
            flow: "device".into(),
            device_url: "http://login.lab.example/device".into(),
            token_url: "https://login.lab.example/token".into(),
            client_id: "x".into(),
            ..AccountConfig::default()
        };
        config.accounts.providers.insert("lab".into(), lab);
        let row = SignIn::find(&config, "custom:lab").unwrap();
        assert_eq!((row.provider.as_str(), row.name()), ("custom:lab", "lab"));
        assert!(matches!(row.ready(), Err(AccountError::NotSafe { field: "device_url", .. })));
        assert!(SignIn::all(&config).iter().any(|row| row.provider == "custom:lab"));
    }
}
