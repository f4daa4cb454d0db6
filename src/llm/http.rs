//! The HTTP client: built when the first call needs it, then shared.

use super::{ErrorKind, ProviderError};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// From the first packet to a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);

/// A client to be. Cheap to make and to clone; clones share one connection pool.
#[derive(Clone, Debug, Default)]
pub struct Http(Arc<OnceLock<reqwest::Client>>);

/// A client that costs nothing until it is used: loading certificates takes milliseconds, which no start can spare.
pub fn client() -> Http {
    Http::default()
}

impl Http {
    /// The client, built now if nobody did before. Honours `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY`.
    pub fn get(&self) -> Result<&reqwest::Client, ProviderError> {
        if let Some(client) = self.0.get() {
            return Ok(client);
        }
        // A second installation answers with an error that means: already there.
        let _already_there = rustls::crypto::ring::default_provider().install_default();
        let built = reqwest::Client::builder()
            .user_agent(concat!("hermes/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(CONNECT_TIMEOUT)
            .tcp_keepalive(Duration::from_secs(30))
            .tcp_nodelay(true)
            .build()
            .map_err(|error| ProviderError {
                kind: ErrorKind::Network,
                status: None,
                message: format!(
                    "cannot set up https: {error}; install the package ca-certificates or set SSL_CERT_FILE"
                ),
                retry_after: None,
                partial: None,
            })?;
        Ok(self.0.get_or_init(|| built))
    }
}
