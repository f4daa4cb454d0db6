//! The HTTP client: built when the first call needs it, then shared.

use super::{ErrorKind, NextKey, ProviderError};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// From the first packet to a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);

/// A client to be. Cheap to make and to clone; clones share their connections.
#[derive(Clone, Debug, Default)]
pub struct Http(Arc<Clients>);

#[derive(Debug, Default)]
struct Clients {
    outside: OnceLock<reqwest::Client>,
    /// For this machine: no proxy can reach it.
    loopback: OnceLock<reqwest::Client>,
}

/// A client that costs nothing until it is used: loading certificates takes milliseconds, which no start can spare.
pub fn client() -> Http {
    Http::default()
}

impl Http {
    /// The client for an address, built now if nobody did before. Honours `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and
    /// `NO_PROXY`, except for loopback addresses, which are always reached directly.
    pub fn to(&self, address: &str) -> Result<&reqwest::Client, ProviderError> {
        let is_loopback = is_loopback(address);
        let slot = if is_loopback { &self.0.loopback } else { &self.0.outside };
        if let Some(client) = slot.get() {
            return Ok(client);
        }
        // A second installation answers with an error that means: already there.
        let _already_there = rustls::crypto::ring::default_provider().install_default();
        let builder = reqwest::Client::builder()
            .user_agent(concat!("hermes/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(CONNECT_TIMEOUT)
            .tcp_keepalive(Duration::from_secs(30))
            // A key goes to the address that was set up and nowhere else.
            .redirect(reqwest::redirect::Policy::none())
            .tcp_nodelay(true);
        let builder = if is_loopback { builder.no_proxy() } else { builder };
        let built = builder.build().map_err(|error| ProviderError {
            kind: ErrorKind::Network,
            status: None,
            message: format!("cannot set up https: {error}; install the package ca-certificates or set SSL_CERT_FILE"),
            retry_after: None,
            reset_after: None,
            next_key: NextKey::Unchanged,
            partial: None,
        })?;
        Ok(slot.get_or_init(|| built))
    }
}

/// Whether an address is on this machine.
pub fn is_loopback(address: &str) -> bool {
    match url::Url::parse(address).ok().as_ref().and_then(url::Url::host) {
        Some(url::Host::Ipv4(ip)) => ip.is_loopback(),
        Some(url::Host::Ipv6(ip)) => ip.is_loopback(),
        Some(url::Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_are_built_once_and_shared_by_clones() {
        let http = client();
        assert!(http.0.outside.get().is_none() && http.0.loopback.get().is_none());
        http.clone().to("http://localhost:1").unwrap();
        assert!(http.0.outside.get().is_none() && http.0.loopback.get().is_some());
        let first = std::ptr::from_ref(http.to("https://llm.example").unwrap());
        assert_eq!(first, std::ptr::from_ref(http.to("http://192.168.0.1").unwrap()));
    }

    #[test]
    fn only_this_machine_is_loopback() {
        for (address, expected) in [
            ("http://127.0.0.1:1/v1", true),
            ("http://[::1]:1", true),
            ("http://localhost", true),
            ("http://192.168.1.1", false),
            ("https://localhost.example", false),
            ("nonsense", false),
        ] {
            assert_eq!(is_loopback(address), expected, "{address}");
        }
    }
}
