//! A model at an address: what a request needs to know to get there.

pub use super::resolve::{SetupError, auxiliary, available, fallbacks, resolve};

use super::providers::{self, Auth, Dialect, Quirks};
use std::fmt;
use std::time::Duration;

/// Where keys are looked for. A function from names of variables is one that knows no accounts.
pub trait Keys {
    /// A variable of the environment or of `.env`.
    fn variable(&self, name: &str) -> Option<String>;

    /// Whether keys of this pool are kept among the accounts: a provider's id, or `custom:NAME`.
    fn account(&self, _pool: &str) -> bool {
        false
    }
}

impl<F: Fn(&str) -> Option<String>> Keys for F {
    fn variable(&self, name: &str) -> Option<String> {
        self(name)
    }
}

/// The pool that a provider's keys are kept in: its id, or `custom:NAME` for an entry of the configuration.
pub fn pool_of(provider: &str) -> String {
    let name = provider.trim();
    let bare = name.strip_prefix("custom:").unwrap_or(name);
    match providers::find(bare) {
        Some(known) if known.id != "custom" => known.id.clone(),
        _ => format!("custom:{bare}"),
    }
}

/// A key. Prints as `***` everywhere.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps a key.
    pub fn new(key: impl Into<String>) -> Self {
        Self(key.into())
    }

    /// The key itself, for the request header.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_empty() { "none" } else { "***" })
    }
}

/// A model at an address.
#[derive(Clone, Debug, PartialEq)]
pub struct Endpoint {
    /// Id of the provider, or the name of a `providers.<name>` entry.
    pub provider: String,
    /// For people.
    pub name: String,
    pub model: String,
    /// Without a slash at the end.
    pub base_url: String,
    pub dialect: Dialect,
    pub auth: Auth,
    pub key: Secret,
    /// Where the key came from, or would: `OPENROUTER_API_KEY`, `model.api_key`.
    pub key_source: String,
    /// The pool whose keys may be used here; `None`: the configuration names the key, or the address is another's.
    pub pool: Option<String>,
    /// The file that holds keys: `~/.hermes/.env`, or where the home is.
    pub env_file: String,
    pub headers: Vec<(String, String)>,
    pub quirks: Quirks,
    /// On this machine or network.
    pub local: bool,
    /// Time without a byte after which the stream is given up.
    pub stall: Duration,
    /// Tokens, from the config.
    pub context: Option<u64>,
    /// Tokens, from the config.
    pub max_output: Option<u32>,
    /// Path of the model list under the base, or its whole address; empty: the dialect's usual one.
    pub models_path: String,
}

impl Endpoint {
    /// `PROVIDER:MODEL`, as the screen shows it and `resolve` takes it.
    pub fn label(&self) -> String {
        format!("{}:{}", self.provider, self.model)
    }

    /// Whether this program starts the server itself: it has no address before.
    pub fn is_served(&self) -> bool {
        self.base_url.is_empty() && self.dialect != Dialect::Scripted
    }

    /// Where requests go.
    pub fn url(&self) -> String {
        match self.dialect {
            Dialect::ChatCompletions | Dialect::Scripted => self.under_v1("chat/completions"),
            Dialect::CodexResponses => self.under_v1("responses"),
            Dialect::AnthropicMessages => self.under_v1("messages"),
        }
    }

    /// Where the list of models is.
    pub fn models_url(&self) -> String {
        if self.models_path.is_empty() {
            return self.under_v1("models");
        }
        if self.models_path.starts_with("https://") {
            return self.models_path.clone();
        }
        format!("{}{}", self.root(), self.models_path)
    }

    /// The base without a version at its end, for the native interfaces of local servers.
    pub fn root(&self) -> &str {
        self.base_url.strip_suffix("/v1").unwrap_or(&self.base_url)
    }

    fn under_v1(&self, path: &str) -> String {
        let base = &self.base_url;
        let bare = url::Url::parse(base).is_ok_and(|url| url.path() == "/");
        let versioned = base.ends_with("/v1");
        match self.dialect {
            Dialect::AnthropicMessages if !versioned => format!("{base}/v1/{path}"),
            _ if bare => format!("{base}/v1/{path}"),
            _ => format!("{base}/{path}"),
        }
    }
}

/// Loopback, private networks, and names that only a local network resolves.
pub fn is_local(base: &str) -> bool {
    match url::Url::parse(base).ok().as_ref().and_then(url::Url::host) {
        Some(url::Host::Ipv4(ip)) => {
            // 100.64.0.0/10 is shared address space: overlay networks such as Tailscale.
            let [a, b, ..] = ip.octets();
            ip.is_loopback()
                || ip.is_private()
                || ip.is_link_local()
                || ip.is_unspecified()
                || (a == 100 && b & 0xc0 == 64)
        }
        Some(url::Host::Ipv6(ip)) => ip.is_loopback() || ip.is_unique_local() || ip.is_unspecified(),
        Some(url::Host::Domain(name)) => {
            let name = name.to_ascii_lowercase();
            !name.contains('.') || [".local", ".lan", ".internal", ".localhost"].iter().any(|end| name.ends_with(end))
        }
        None => false,
    }
}

/// The host of an address.
pub(super) fn host(base: &str) -> Option<String> {
    url::Url::parse(base).ok()?.host_str().map(str::to_owned)
}
