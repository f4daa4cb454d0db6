//! The client of hubs: it follows where they send it, unlike the one that carries keys to model servers.

use crate::llm::http::is_loopback;
use futures::{Stream, StreamExt};
use reqwest::header::{CONTENT_RANGE, CONTENT_TYPE, ETAG, RANGE};
use std::pin::Pin;
use std::time::Duration;

/// From the first packet to a connection.
const CONNECT: Duration = Duration::from_secs(15);
/// Time without a byte after which a host is given up.
pub(super) const STALL: Duration = Duration::from_secs(45);
/// Answers that send elsewhere.
const REDIRECTS: usize = 8;
/// Bytes of what a hub tells about a repository.
const MOST: usize = 8 << 20;
/// The hub that knows its token.
const HUB: &str = "huggingface.co";

/// A client, and the token for the hub.
pub(super) struct Client {
    outside: reqwest::Client,
    /// For this machine: no proxy can reach it.
    loopback: reqwest::Client,
    token: Option<String>,
}

/// An answer with a body.
pub(super) struct Answer {
    /// The body begins where we asked for; else at the start.
    pub goes_on: bool,
    /// Bytes of the whole file.
    pub total: Option<u64>,
    /// What the host calls this version of it; empty: it does not say.
    pub etag: String,
    pub body: Pin<Box<dyn Stream<Item = Result<Vec<u8>, String>> + Send>>,
}

impl Client {
    pub(super) fn new(token: Option<&str>) -> Result<Self, String> {
        // A second installation answers with an error that means: already there.
        let _already_there = rustls::crypto::ring::default_provider().install_default();
        let follow = reqwest::redirect::Policy::custom(|attempt| {
            let from = attempt.previous().last().map(|url| url.scheme().to_owned());
            if attempt.previous().len() > REDIRECTS {
                attempt.error("too many redirects")
            } else if from.as_deref() == Some("https") && attempt.url().scheme() != "https" {
                attempt.error("it redirects from https to an unprotected address")
            } else {
                attempt.follow()
            }
        });
        let builder = || {
            reqwest::Client::builder()
                .user_agent(concat!("hermes/", env!("CARGO_PKG_VERSION")))
                .connect_timeout(CONNECT)
                .no_gzip()
        };
        let failed = |error: reqwest::Error| {
            format!("cannot set up https: {error}; install the package ca-certificates or set SSL_CERT_FILE")
        };
        Ok(Self {
            outside: builder().redirect(follow).build().map_err(failed)?,
            loopback: builder().no_proxy().build().map_err(failed)?,
            token: token.map(str::to_owned),
        })
    }

    fn request(&self, method: reqwest::Method, address: &str) -> reqwest::RequestBuilder {
        let client = if is_loopback(address) { &self.loopback } else { &self.outside };
        let request = client.request(method, address);
        let is_hub = url::Url::parse(address).is_ok_and(|url| url.scheme() == "https" && url.host_str() == Some(HUB));
        // Dropped by the client where the hub sends it to another host.
        match self.token.as_ref().filter(|_| is_hub) {
            Some(token) => request.bearer_auth(token),
            None => request,
        }
    }

    /// A file from this byte on.
    pub(super) async fn get(&self, address: &str, from: u64) -> Result<Answer, String> {
        let mut request = self.request(reqwest::Method::GET, address);
        if from > 0 {
            request = request.header(RANGE, format!("bytes={from}-"));
        }
        let answer = tokio::time::timeout(STALL, request.send()).await;
        let answer = answer.map_err(|_| "no answer".to_owned())?.map_err(|error| why(&error))?;
        let status = answer.status();
        let host = super::host_of(address);
        let header = |name| answer.headers().get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let (range, kind) = (header(CONTENT_RANGE), header(CONTENT_TYPE));
        let etag = header(ETAG).to_owned();
        let begins = range.trim_start_matches("bytes ").split('-').next().and_then(|first| first.parse::<u64>().ok());
        let goes_on = from == 0 || status.as_u16() == 206 && begins == Some(from);
        let total = match range.rsplit('/').next() {
            Some(total) if !range.is_empty() => total.parse().ok(),
            _ => answer.content_length(),
        };
        if status.is_success() && kind.starts_with("text/html") {
            return Err(format!("{host} answers with a web page: a login or a proxy may be in between"));
        }
        if status.as_u16() == 206 && !goes_on {
            return Err(format!("{host} gave another part than was asked for"));
        }
        match status.as_u16() {
            200 | 206 => {}
            401 | 403 => {
                return Err(format!("{host} wants a login for this file: set HF_TOKEN, or choose another model"));
            }
            404 => return Err(format!("{host} does not have this file")),
            416 => return Err(format!("{host} has less of it than came before")),
            code => return Err(format!("{host} answered {code}")),
        }
        let body = answer.bytes_stream().map(|piece| piece.map(|piece| piece.to_vec()).map_err(|error| why(&error)));
        Ok(Answer { goes_on, total, etag, body: Box::pin(body) })
    }

    /// What a hub tells about a repository.
    pub(super) async fn json(&self, address: &str) -> Result<serde_json::Value, String> {
        let request = self.request(reqwest::Method::GET, address).timeout(STALL);
        let answer = request.send().await.map_err(|error| why(&error))?;
        let host = super::host_of(address);
        match answer.status().as_u16() {
            200 => {
                let (mut text, mut body) = (Vec::new(), answer.bytes_stream());
                while let Some(piece) = body.next().await {
                    text.extend(piece.map_err(|error| format!("{host}: {}", why(&error)))?);
                    if text.len() > MOST {
                        return Err(format!("{host} answered with more than 8 MiB"));
                    }
                }
                serde_json::from_slice(&text).map_err(|error| format!("{host}: {error}"))
            }
            401 | 403 => Err(format!("{host} wants a login for it: set HF_TOKEN")),
            404 => Err(format!("{host} does not have it")),
            code => Err(format!("{host} answered {code}")),
        }
    }
}

/// The innermost reason: what the system said.
fn why(error: &reqwest::Error) -> String {
    let mut at: &dyn std::error::Error = error;
    while let Some(inner) = at.source() {
        at = inner;
    }
    at.to_string()
}
