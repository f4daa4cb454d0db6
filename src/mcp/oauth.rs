//! Logging in to a server: the browser, an address on this machine that it comes back to, and tokens that renew themselves.

mod kept;
mod older;

pub use kept::{Logins, forget, is_logged_in};

use super::link::LinkError;
use super::settings::{Launch, Settings};
use crate::exec::Door;
use futures::future::BoxFuture;
use kept::Kept;
use rmcp::transport::auth::{
    AuthClient, AuthError, AuthorizationManager, AuthorizationMetadata, AuthorizationRequest, AuthorizationSession,
    OAuthClientConfig, OAuthTokenResponse,
};
use std::path::Path;
use std::time::Duration;
use url::Url;

/// How long a person may take in the browser.
const LOGIN_LIMIT: Duration = Duration::from_secs(5 * 60);

/// A client whose requests carry the kept token, renewed when it is old. Without a token they go out bare, and the
/// server's refusal says what it wants.
///
/// # Errors
/// [`LinkError::Refused`] when the login's server cannot be asked, or the kept file cannot be read.
pub async fn client(
    settings: &Settings,
    url: &str,
    tokens: &Logins,
    http: reqwest::Client,
) -> Result<AuthClient<reqwest::Client>, LinkError> {
    let fail = |error: AuthError| LinkError::Refused(settings.masked(&words(&error)));
    let store = Kept::learning(tokens, &settings.name);
    let has_token = store.read().map_err(LinkError::Refused)?.is_some_and(|file| file.token.is_some());
    let mut manager = manager(url, &store).await.map_err(fail)?;
    if has_token {
        discover(&mut manager, &http, url, None).await.map_err(fail)?;
        if manager.initialize_from_store().await.map_err(fail)? {
            with_secret(&mut manager, settings, &store).map_err(fail)?;
        }
    }
    Ok(AuthClient::new(http, manager))
}

async fn manager(url: &str, store: &Kept) -> Result<AuthorizationManager, AuthError> {
    // A second installation answers with an error that means: already there.
    let _already_there = rustls::crypto::ring::default_provider().install_default();
    // A company's login often has a private address.
    let mut manager = AuthorizationManager::new_allowing_private_addresses(url).await?;
    manager.set_credential_store(store.clone());
    Ok(manager)
}

/// Finds the login's server, by what the server of the tools said where it refused.
async fn discover(
    manager: &mut AuthorizationManager,
    http: &reqwest::Client,
    url: &str,
    challenge: Option<&str>,
) -> Result<AuthorizationMetadata, AuthError> {
    let found = match manager.resolve_metadata_from_challenge(challenge).await {
        Ok(found) => found.metadata,
        Err(mismatch @ AuthError::AuthorizationServerMismatch { .. }) => {
            older::metadata(http, url).await.ok_or(mismatch)?
        }
        Err(error) => return Err(error),
    };
    manager.set_metadata(found.clone());
    Ok(found)
}

/// A client with a secret needs it for every renewal too.
fn with_secret(manager: &mut AuthorizationManager, settings: &Settings, store: &Kept) -> Result<(), AuthError> {
    let Ok(Some(file)) = store.read() else { return Ok(()) };
    let configured = Some(settings.config.oauth.client_secret.clone()).filter(|secret| !secret.is_empty());
    let Some(secret) = configured.or(file.client_secret) else { return Ok(()) };
    // Nothing comes back to this address: it only fills the field.
    manager.configure_client(
        OAuthClientConfig::new(file.client_id, "http://127.0.0.1/callback").with_client_secret(secret),
    )
}

/// How the person gets to the address where they log in.
pub type Visit = dyn Fn(String) -> BoxFuture<'static, Option<String>> + Send + Sync;

/// Logs in: registers if need be, sends the person to the browser through `visit` and waits until they come back. What
/// `visit` answers, if anything, is the address that the browser ended at (pasted, where the browser is another machine's).
///
/// # Errors
/// What failed and what to do.
pub async fn login(settings: &Settings, tokens: &Logins, visit: &Visit) -> Result<(), String> {
    let Launch::Http { url, .. } = &settings.launch else {
        return Err(format!("{} is a local program: it needs no login", settings.name));
    };
    let fail = |error: AuthError| settings.masked(&words(&error));
    let config = &settings.config.oauth;
    let store = Kept::learning(tokens, &settings.name);
    let door = Door::open(config.redirect_port).await?;
    let redirect = door.address();
    let challenge = match store.read()?.and_then(|file| file.challenge) {
        Some(challenge) => Some(challenge),
        None => challenge(settings, url).await?,
    };
    let mut manager = manager(url, &store).await.map_err(fail)?;
    let http = super::link::http(settings, url).map_err(|error| error.to_string())?;
    let found = discover(&mut manager, &http, url, challenge.as_deref()).await.map_err(fail)?;
    let by_address = found.additional_fields.get("client_id_metadata_document_supported");
    let by_address = by_address.and_then(serde_json::Value::as_bool).unwrap_or(false);
    let mut scopes: Vec<String> = config.scope.split_whitespace().map(str::to_owned).collect();
    if scopes.is_empty() {
        // What was granted before is asked for again, with what a refused call wanted.
        let before = store.read()?.map(|file| file.granted_scopes).unwrap_or_default();
        scopes = manager.select_initial_scopes(&[]).await;
        if challenge.as_deref().is_some_and(|challenge| challenge.contains("insufficient_scope")) {
            scopes.extend(before);
            scopes.sort();
            scopes.dedup();
        }
    }
    let name = if config.client_name.is_empty() { "Hermes" } else { &config.client_name };
    let mut request = AuthorizationRequest::new(&redirect).with_scopes(&scopes).with_client_name(name);
    let mut secret = None;
    if !config.client_id.is_empty() {
        request = request.with_preregistered_client(&config.client_id);
        secret = Some(config.client_secret.clone()).filter(|secret| !secret.is_empty());
    } else if !config.client_metadata_url.is_empty() && by_address {
        request = request.with_client_metadata_url(&config.client_metadata_url);
    } else {
        let asked: Vec<&str> = scopes.iter().map(String::as_str).collect();
        let registered = manager.register_client(name, &redirect, &asked).await.map_err(|error| {
            format!("{}; register a client by hand and set mcp_servers.{}.oauth.client_id", fail(error), settings.name)
        })?;
        request = request.with_preregistered_client(&registered.client_id);
        secret = registered.client_secret;
    }
    if let Some(secret) = &secret {
        request = request.with_client_secret(secret);
    }
    if scopes.is_empty() {
        request = request.with_initial_scope_selection();
    }
    let session = AuthorizationSession::new(manager, request).await.map_err(|(_, error)| fail(error))?;
    let came_back = come_back(door, &session.auth_url, visit(session.auth_url.clone())).await?;
    let _: OAuthTokenResponse = session.handle_callback_url(&came_back).await.map_err(fail)?;
    store.settle(secret)
}

/// Waits for the browser that was sent to an address at the door, or for the address that was pasted.
async fn come_back(door: Door, sent_to: &str, visit: BoxFuture<'static, Option<String>>) -> Result<String, String> {
    let state_of = |url: &Url| url.query_pairs().find(|(name, _)| name == "state").map(|(_, state)| state.into_owned());
    let state = Url::parse(sent_to).ok().as_ref().and_then(state_of);
    let pasted = async {
        match visit.await {
            Some(address) => address,
            None => std::future::pending().await,
        }
    };
    let found = async {
        tokio::select! {
            address = door.visited(|url| state_of(url) == state) => address,
            address = pasted => Ok(address),
        }
    };
    tokio::time::timeout(LOGIN_LIMIT, found)
        .await
        .unwrap_or_else(|_| Err("no login within five minutes; try again".into()))
}

/// What the server says to a request without a token; `None` when it lets it pass or says nothing.
async fn challenge(settings: &Settings, url: &str) -> Result<Option<String>, String> {
    let http = super::link::http(settings, url).map_err(|error| error.to_string())?;
    let hello = serde_json::json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "hermes", "version": env!("CARGO_PKG_VERSION")},
    }});
    let sent = http.post(url).header("accept", "application/json, text/event-stream").json(&hello).send().await;
    let answer = sent.map_err(|error| format!("cannot reach {}: {error}", settings.place()))?;
    if !matches!(answer.status().as_u16(), 401 | 403) {
        return Ok(None);
    }
    Ok(answer.headers().get("www-authenticate").and_then(|value| value.to_str().ok()).map(str::to_owned))
}

/// Keeps what a refused call wanted, for the next login.
pub fn wants_more(tokens: &Path, server: &str, challenge: &str) {
    if let Err(why) = Kept::of(tokens, server).note(challenge) {
        tracing::warn!("could not save missing details of the login to {server}: {why}");
    }
}

fn words(error: &AuthError) -> String {
    let text = super::link::chain(error);
    text.chars().take(600).collect()
}
