//! From a failure to what the user reads: who failed, how, and what to do about it.

pub use super::classify::{MAX_RETRY_AFTER, classify, reset_after, retry_after};

use super::endpoint::Endpoint;
use super::{ErrorKind, NextKey, ProviderError, Reply};
use chrono::Utc;
use regex::Regex;
use reqwest::header::HeaderMap;
use serde_json::Value;
use std::sync::LazyLock;

/// Characters of a provider's own words in our message.
const DETAIL: usize = 300;

/// An answer with a status that is not success.
pub(super) fn refused(endpoint: &Endpoint, status: u16, headers: &HeaderMap, body: &str) -> ProviderError {
    let kind = classify(Some(status), body);
    let moved = headers.get("location").filter(|_| (300..400).contains(&status)).and_then(|to| to.to_str().ok());
    let detail = match moved {
        Some(to) => format!("it has moved to {to}"),
        None => own_words(body).unwrap_or_else(|| format!("status {status}")),
    };
    let mut error = provider_error(endpoint, kind, Some(status), &detail);
    error.retry_after = retry_after(headers, body, Utc::now());
    error.reset_after = reset_after(headers, body, Utc::now());
    error
}

/// An error inside a stream that had begun.
pub(super) fn broke_off(endpoint: &Endpoint, code: &str, message: &str) -> ProviderError {
    let text = if message.is_empty() { code.to_owned() } else { format!("{code} {message}") };
    let status = code.parse::<u16>().ok().filter(|status| (400..600).contains(status));
    let mut error =
        provider_error(endpoint, classify(status, &text), status, if message.is_empty() { code } else { message });
    error.retry_after = retry_after(&HeaderMap::new(), message, Utc::now());
    error.reset_after = reset_after(&HeaderMap::new(), message, Utc::now());
    error
}

/// The connection failed before or in the middle of an answer.
pub(super) fn network(endpoint: &Endpoint, error: &reqwest::Error) -> ProviderError {
    let mut causes = Vec::new();
    let mut cause: Option<&dyn std::error::Error> = Some(error);
    while let Some(this) = cause {
        causes.push(this.to_string());
        cause = this.source();
    }
    // The innermost cause is the plain one: `connection refused`.
    let detail = causes.pop().unwrap_or_default();
    if error.is_builder() {
        return provider_error(endpoint, ErrorKind::BadRequest, None, &detail);
    }
    provider_error(endpoint, ErrorKind::Network, None, &detail)
}

/// A failure with its message: who, what, and what to do.
pub(super) fn provider_error(endpoint: &Endpoint, kind: ErrorKind, status: Option<u16>, detail: &str) -> ProviderError {
    let Endpoint { name, model, key_source, .. } = endpoint;
    // Nobody chose a model yet: only the list can have been asked for.
    let model = if model.is_empty() { "its model list" } else { model.as_str() };
    let address = &endpoint.base_url;
    let (what, remedy) = match kind {
        ErrorKind::Auth if endpoint.key.is_empty() => {
            (format!("{name} needs a key for {model}"), key_remedy(endpoint, "set"))
        }
        ErrorKind::Auth => (
            format!("{name} rejected the key from {key_source} for {model}"),
            format!("{}; or the key has no access to this model", key_remedy(endpoint, "correct")),
        ),
        ErrorKind::Quota => (
            format!("credit or quota at {name} is used up for {model}"),
            "add credit there, or choose another model".into(),
        ),
        ErrorKind::RateLimit => {
            (format!("{name} rate-limited requests to {model}"), "wait, or choose another model".into())
        }
        ErrorKind::ContextOverflow => (
            format!("the conversation exceeds the window of {model} at {name}"),
            "start a new session or choose a model with a larger window".into(),
        ),
        ErrorKind::Overloaded => {
            (format!("{name} is unavailable for {model}"), "try again, or choose another model".into())
        }
        ErrorKind::Network if detail.to_lowercase().contains("certificate") => (
            format!("could not verify the certificate of {address}"),
            "install ca-certificates or set SSL_CERT_FILE".into(),
        ),
        ErrorKind::Network if endpoint.local => (
            format!("cannot reach {name} at {address} for {model}"),
            "check that the server is running and model.base_url is correct".into(),
        ),
        ErrorKind::Network => (
            format!("the connection to {name} at {address} failed for {model}"),
            "check the network and HTTPS_PROXY".into(),
        ),
        ErrorKind::Stalled => (
            format!("{name} sent nothing for {} s while {model} answered", endpoint.stall.as_secs()),
            "try again, or raise agent.stream_stale_timeout".into(),
        ),
        ErrorKind::Malformed => (
            format!("{name} answered for {model} with something other than {}", endpoint.dialect.as_str()),
            format!("check base_url ({address}) and api_mode"),
        ),
        ErrorKind::Budget => (
            format!("the budget has no room for a request to {model}"),
            "raise it (/budget), or see `budget` in config.yaml".into(),
        ),
        ErrorKind::ContentFilter => (
            format!("{name} refused the content of a request to {model}"),
            "rephrase it, or choose another model".into(),
        ),
        ErrorKind::ModelNotFound => (
            format!("{name} does not have {model}"),
            format!("`hermes models` lists what it has; check base_url ({address}) too"),
        ),
        ErrorKind::BadRequest => (
            format!("{name} rejected a request to {model} as invalid"),
            "check the model's settings and api_mode".into(),
        ),
        ErrorKind::Cancelled => (format!("stopped while {model} answered"), String::new()),
    };
    let status_text = status.map(|status| format!(" ({status})")).unwrap_or_default();
    let detail = clean(endpoint, detail);
    let mut message = what + &status_text;
    if !detail.is_empty() {
        message.push_str(": ");
        message.push_str(&detail);
    }
    if !remedy.is_empty() {
        message.push_str("; ");
        message.push_str(&remedy);
    }
    ProviderError {
        kind,
        status,
        message,
        retry_after: None,
        reset_after: None,
        next_key: NextKey::Unchanged,
        partial: None,
    }
}

/// How a key is given, by where this endpoint's comes from.
fn key_remedy(endpoint: &Endpoint, verb: &str) -> String {
    let Endpoint { provider, key_source, env_file, .. } = endpoint;
    // Entries of the config have dots in their names, variables have none.
    if key_source.starts_with("model.") {
        format!("/login {provider} in the program, or hermes config set {key_source} KEY")
    } else if key_source.contains('.') {
        format!("{verb} it: hermes config set {key_source} KEY")
    } else {
        format!("/login {provider} in the program, or {verb} {key_source} in the environment or in {env_file}")
    }
}

/// Attaches what had arrived.
pub(super) fn with_partial(mut error: ProviderError, partial: Reply) -> ProviderError {
    let is_empty = partial.text.is_empty() && partial.reasoning.is_empty() && partial.calls.is_empty();
    error.partial = (!is_empty).then(|| Box::new(partial));
    error
}

/// The provider's own message, wherever its dialect puts it.
fn own_words(body: &str) -> Option<String> {
    let Ok(value) = serde_json::from_str::<Value>(body) else {
        let text = body.trim();
        let is_page = text.starts_with('<');
        return (!text.is_empty())
            .then(|| if is_page { "a web page instead of an API response".to_owned() } else { text.to_owned() });
    };
    let value = if let Value::Array(list) = &value { list.first()? } else { &value };
    let raw = value.pointer("/error/metadata/raw").and_then(Value::as_str);
    let places = ["/error/message", "/error", "/message", "/detail", "/error/code", "/detail/0/msg"];
    let said = places.iter().find_map(|place| value.pointer(place).and_then(Value::as_str)).map(str::to_owned);
    // OpenRouter wraps the real reason in its metadata.
    match (said, raw) {
        (Some(said), Some(raw)) => Some(format!("{said}: {}", own_words(raw).unwrap_or_default())),
        (Some(said), None) => Some(said),
        (None, _) => Some(value.to_string()),
    }
}

/// One bounded line without keys, without a full stop.
fn clean(endpoint: &Endpoint, detail: &str) -> String {
    static KEY_SHAPES: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(
            r"\b(?:sk|pk|gsk|xai|hf)[-_][A-Za-z0-9*._-]{8,}|\bAIza[A-Za-z0-9_-]{20,}|\bBearer [A-Za-z0-9._-]{12,}",
        )
        .ok()
    });
    let key = endpoint.key.expose();
    let mut text = if key.len() > 3 { detail.replace(key, "***") } else { detail.to_owned() };
    if let Some(shapes) = KEY_SHAPES.as_ref() {
        text = shapes.replace_all(&text, "***").into_owned();
    }
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut short: String = line.chars().take(DETAIL).collect();
    if short.len() < line.len() {
        short.push('…');
    }
    short.trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests;
