//! From settings to a connection: a program's pipes, or HTTP with its certificates, headers and login.

use super::lines::Lines;
use super::notifications::Ears;
use super::{About, LinkError, MESSAGE, WORDS};
use crate::exec::{ExecError, Piped};
use crate::lock::lock;
use crate::mcp::oauth;
use crate::mcp::settings::{Launch, Settings};
use reqwest::header::{HeaderName, HeaderValue};
use rmcp::service::{ClientInitializeError, Peer, RoleClient, RunningService, ServiceExt as _};
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::streamable_http_client::{
    AuthRequiredError, InsufficientScopeError, StreamableHttpClientTransport, StreamableHttpClientTransportConfig,
};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// How long a program that is gone may take to be gone.
const STDERR_WAIT: Duration = Duration::from_millis(300);

/// The errors of a program that is or was behind a connection.
#[derive(Clone, Debug, Default)]
pub struct Stderr(Arc<Mutex<Option<Arc<Piped>>>>);

impl Stderr {
    /// The last of it.
    pub fn tail(&self) -> String {
        lock(&self.0).as_ref().map(|child| child.tail()).unwrap_or_default()
    }

    fn follow(&self, child: &Arc<Piped>) {
        *lock(&self.0) = Some(Arc::clone(child));
    }
}

type Running = RunningService<RoleClient, Ears>;

/// The program behind a connection.
pub(super) struct Program {
    pub child: Arc<Piped>,
    /// It was given up because of what it writes.
    pub garbled: Arc<AtomicBool>,
}

/// Why such a program is given up.
pub(super) const GARBLED: &str =
    "it wrote more than 1 MiB of non-JSON lines to standard output: a server should log to standard error";

pub(super) async fn open(
    settings: &Settings,
    tokens: &oauth::Logins,
    ears: Ears,
    stderr: &Stderr,
) -> Result<(Running, Option<Program>), LinkError> {
    let patience = settings.connect_timeout;
    match &settings.launch {
        Launch::Stdio { command, args, env, cwd } => {
            let (child, ends) = Piped::spawn(command, args, env, cwd).map_err(not_started)?;
            let child = Arc::new(child);
            stderr.follow(&child);
            let stdout = Lines::new(ends.stdout, MESSAGE);
            let garbled = stdout.garbled();
            let transport = AsyncRwTransport::new_client(stdout, ends.stdin).with_max_line_length(MESSAGE);
            let shake = ears.serve(transport);
            let running = tokio::select! {
                shaken = tokio::time::timeout(patience, shake) => match shaken {
                    Ok(Ok(running)) => Ok(running),
                    Ok(Err(_)) if garbled.load(Ordering::Acquire) => Err(LinkError::Unusable(GARBLED.into())),
                    // Its output closes a moment before it is gone.
                    Ok(Err(error)) => Err(match tokio::time::timeout(STDERR_WAIT, child.wait()).await {
                        Ok(how) => LinkError::Refused(format!("the program exited immediately: {how}")),
                        Err(_) => refused(settings, &error),
                    }),
                    Err(_) => Err(LinkError::TimedOut(patience)),
                },
                how = child.wait() => Err(LinkError::Refused(format!("the program exited immediately: {how}"))),
            };
            match running {
                Ok(running) => Ok((running, Some(Program { child, garbled }))),
                Err(error) => {
                    child.kill();
                    // Its last words explain it.
                    let _ = tokio::time::timeout(STDERR_WAIT, child.wait()).await;
                    Err(error)
                }
            }
        }
        Launch::Http { url, headers, oauth } => {
            let mut custom = HashMap::new();
            for (name, value) in headers {
                let bad =
                    || LinkError::Unusable(format!("header {name} of mcp_servers.{} is not valid", settings.name));
                let key = HeaderName::from_bytes(name.as_bytes()).map_err(|_| bad())?;
                let mut value = HeaderValue::from_str(value).map_err(|_| bad())?;
                value.set_sensitive(true);
                custom.insert(key, value);
            }
            let config = StreamableHttpClientTransportConfig::with_uri(url.as_str())
                .custom_headers(custom)
                .max_sse_event_size(MESSAGE);
            let client = client(settings, url)?;
            // A login that a person made counts, whether or not the configuration foresaw it.
            let shaken = if *oauth || oauth::is_logged_in(tokens, &settings.name) {
                let client = oauth::client(settings, url, tokens, client).await?;
                let transport = StreamableHttpClientTransport::with_client(client, config);
                tokio::time::timeout(patience, ears.serve(transport)).await
            } else {
                let transport = StreamableHttpClientTransport::with_client(client, config);
                tokio::time::timeout(patience, ears.serve(transport)).await
            };
            match shaken {
                Ok(Ok(running)) => Ok((running, None)),
                Ok(Err(error)) => Err(refused(settings, &error)),
                Err(_) => Err(LinkError::TimedOut(patience)),
            }
        }
    }
}

/// A client of its own for each server: certificates and trust differ.
pub(crate) fn client(settings: &Settings, url: &str) -> Result<reqwest::Client, LinkError> {
    // A second installation answers with an error that means: already there.
    let _already_there = rustls::crypto::ring::default_provider().install_default();
    let config = &settings.config;
    let bad = |what: &str, error: &dyn std::fmt::Display| {
        LinkError::Unusable(format!("mcp_servers.{}.{what}: {error}", settings.name))
    };
    let mut builder = reqwest::Client::builder()
        .user_agent(concat!("hermes/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(settings.connect_timeout)
        .tcp_nodelay(true)
        // Headers with keys follow only to the same place.
        .redirect(reqwest::redirect::Policy::custom(|attempt| {
            let same = attempt.previous().first().is_some_and(|first| first.origin() == attempt.url().origin());
            if !same {
                attempt.stop()
            } else if attempt.previous().len() > 5 {
                attempt.error("more than five redirections")
            } else {
                attempt.follow()
            }
        }));
    if crate::llm::http::is_loopback(url) {
        builder = builder.no_proxy();
    }
    let read = |what: &str, file: &str| {
        std::fs::read(crate::config::paths::expand_home(file)).map_err(|error| bad(what, &format!("{file}: {error}")))
    };
    match config.ssl_verify.trim() {
        "" | "true" => {}
        "false" => builder = builder.danger_accept_invalid_certs(true),
        file => {
            let pem = read("ssl_verify", file)?;
            let trusted = reqwest::Certificate::from_pem_bundle(&pem).map_err(|error| bad("ssl_verify", &error))?;
            builder = trusted.into_iter().fold(builder, reqwest::ClientBuilder::add_root_certificate);
        }
    }
    if !config.client_cert.trim().is_empty() {
        let mut pem = read("client_cert", config.client_cert.trim())?;
        if !config.client_key.trim().is_empty() {
            pem.extend(b"\n");
            pem.extend(read("client_key", config.client_key.trim())?);
        }
        let identity = reqwest::Identity::from_pem(&pem).map_err(|error| bad("client_cert", &error))?;
        builder = builder.identity(identity);
    }
    builder.build().map_err(|error| LinkError::Unusable(format!("cannot set up http: {error}")))
}

fn not_started(error: ExecError) -> LinkError {
    match error {
        ExecError::Spawn { command, source } if source.kind() == std::io::ErrorKind::NotFound => {
            LinkError::Unusable(format!("program `{command}` not found; install it, or use its full path"))
        }
        error => LinkError::Unusable(error.to_string()),
    }
}

fn refused(settings: &Settings, error: &ClientInitializeError) -> LinkError {
    if error.is_authorization_required() {
        let challenge = error.auth_challenge().map(str::to_owned);
        return LinkError::NeedsLogin { name: settings.name.clone(), challenge };
    }
    let text = match error {
        ClientInitializeError::TransportError { error, .. } => chain(&*error.error),
        ClientInitializeError::ConnectionClosed(_) => "it closed the connection before answering".into(),
        ClientInitializeError::JsonRpcError(error) => format!("it refused the handshake: {}", error.message),
        other => chain(other),
    };
    let text: String = settings.masked(&text).chars().take(WORDS).collect();
    LinkError::Refused(text)
}

/// What a refused request would have needed, where the server said so.
pub(super) fn challenge(error: &(dyn std::error::Error + 'static)) -> Option<String> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(refused) = error.downcast_ref::<AuthRequiredError>() {
            return Some(refused.www_authenticate_header.clone());
        }
        if let Some(refused) = error.downcast_ref::<InsufficientScopeError>() {
            return Some(refused.www_authenticate_header.clone());
        }
        next = error.source();
    }
    None
}

/// An error with what caused it, each said once.
pub(crate) fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let words = cause.to_string();
        if !text.contains(&words) {
            text.push_str(": ");
            text.push_str(&words);
        }
        next = cause.source();
    }
    text
}

pub(super) fn about(peer: &Peer<RoleClient>) -> About {
    let Some(info) = peer.peer_info() else { return About::default() };
    let name = info.server_info.as_ref().map(|us| format!("{} {}", us.name, us.version)).unwrap_or_default();
    About {
        name: name.chars().filter(|c| !c.is_control()).take(80).collect(),
        protocol: info.protocol_version.to_string(),
        tools: info.capabilities.tools.is_some(),
        resources: info.capabilities.resources.is_some(),
        prompts: info.capabilities.prompts.is_some(),
    }
}
