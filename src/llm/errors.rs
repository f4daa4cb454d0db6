//! From a refusal to a class: what kind of failure it is, how long to wait, and what a person should do.

use super::endpoint::Endpoint;
use super::{ErrorKind, ProviderError, Reply};
use chrono::{DateTime, Utc};
use regex::Regex;
use reqwest::header::HeaderMap;
use serde_json::Value;
use std::sync::LazyLock;
use std::time::Duration;

/// No provider's wish to wait is followed for longer.
pub const MAX_RETRY_AFTER: Duration = Duration::from_secs(600);

/// Characters of a provider's own words in our message.
const DETAIL: usize = 300;

const OVERFLOW: &[&str] = &[
    "context length",
    "context_length",
    "context window",
    "context size",
    "exceed_context_size",
    "maximum context",
    "prompt is too long",
    "input is too long",
    "too many tokens",
    "maximum prompt length",
    "input token count",
    "input tokens exceed",
    "reduce the length",
    "exceeds the maximum number of tokens",
    "exceeds the model's maximum",
    "model_context_window_exceeded",
    "token limit exceeded",
    "request too large",
    "request_too_large",
];
const QUOTA: &[&str] = &[
    "insufficient_quota",
    "insufficient credit",
    "insufficient balance",
    "insufficient funds",
    "credit balance",
    "out of credits",
    "more credits",
    "billing",
    "payment required",
    "spending limit",
    "exceeded your current quota",
    "arrearage",
];
const RATE: &[&str] = &[
    "rate limit",
    "rate_limit",
    "ratelimit",
    "too many requests",
    "try again in",
    "retry in",
    "resource_exhausted",
    "throttl",
    "tokens per minute",
    "requests per minute",
    "quota exceeded",
];
const OVERLOADED: &[&str] = &[
    "overloaded",
    "at capacity",
    "over capacity",
    "service unavailable",
    "temporarily unavailable",
    "server_error",
    "internal server error",
    "internal_error",
    "loading model",
    "bad gateway",
    "no healthy upstream",
];
const FILTER: &[&str] = &[
    "content_filter",
    "content filter",
    "content policy",
    "content_policy",
    "flagged as potentially violating",
    "usage policy",
    "safety system",
    "responsibleaipolicy",
    "data_inspection_failed",
    "moderation",
];
const AUTH: &[&str] = &[
    "invalid api key",
    "invalid_api_key",
    "incorrect api key",
    "api key not valid",
    "api_key_invalid",
    "invalid x-api-key",
    "authentication_error",
    "unauthorized",
    "no auth credentials",
    "permission_error",
    "permission denied",
    "user not found",
];
const NO_MODEL: &[&str] = &[
    "model not found",
    "model_not_found",
    "no such model",
    "unknown model",
    "is not a valid model",
    "invalid model",
    "not_found_error",
    "model does not exist",
    "no endpoints found",
    "try pulling it first",
];
const NETWORK: &[&str] = &[
    "connection reset",
    "connection refused",
    "connection closed",
    "broken pipe",
    "timed out",
    "timeout",
    "dns error",
    "name resolution",
    "certificate",
    "unexpected eof",
];

/// The class of a refusal. `text` is the body, or the message of an error inside a stream.
pub fn classify(status: Option<u16>, text: &str) -> ErrorKind {
    let text = text.to_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| text.contains(word));
    let missing_model = says(NO_MODEL) || (text.contains("model") && says(&["does not exist", "not found"]));
    match status {
        Some(401) => ErrorKind::Auth,
        Some(402) if says(RATE) => ErrorKind::RateLimit,
        Some(402) => ErrorKind::Quota,
        Some(403) if says(QUOTA) => ErrorKind::Quota,
        Some(403) if says(FILTER) => ErrorKind::ContentFilter,
        Some(403) => ErrorKind::Auth,
        Some(404) => ErrorKind::ModelNotFound,
        Some(408) => ErrorKind::Network,
        Some(413) => ErrorKind::ContextOverflow,
        Some(429)
            if says(&[
                "insufficient_quota",
                "insufficient credit",
                "insufficient balance",
                "exceeded your current quota",
            ]) =>
        {
            ErrorKind::Quota
        }
        Some(429) if says(OVERLOADED) => ErrorKind::Overloaded,
        Some(429) => ErrorKind::RateLimit,
        Some(500..) if says(OVERFLOW) => ErrorKind::ContextOverflow,
        Some(500..) => ErrorKind::Overloaded,
        Some(400..500) | None => {
            // Most telling first: a prompt that is too long is often called an invalid request, too.
            if says(OVERFLOW) {
                ErrorKind::ContextOverflow
            } else if says(FILTER) {
                ErrorKind::ContentFilter
            } else if says(AUTH) {
                ErrorKind::Auth
            } else if says(RATE) {
                ErrorKind::RateLimit
            } else if says(QUOTA) {
                ErrorKind::Quota
            } else if missing_model {
                ErrorKind::ModelNotFound
            } else if status.is_some() || text.contains("invalid_request") {
                ErrorKind::BadRequest
            } else if says(OVERLOADED) {
                ErrorKind::Overloaded
            } else if says(NETWORK) {
                ErrorKind::Network
            } else {
                // A stream that breaks off with words that nobody knows: worth another try.
                ErrorKind::Overloaded
            }
        }
        Some(_) => ErrorKind::Malformed,
    }
}

/// How long the provider asks to wait: from its headers, else from its words; at most [`MAX_RETRY_AFTER`].
pub fn retry_after(headers: &HeaderMap, body: &str, now: DateTime<Utc>) -> Option<Duration> {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    let seconds = |text: &str| text.parse::<f64>().ok();
    let asked = header("retry-after-ms")
        .and_then(seconds)
        .map(|millis| millis / 1000.0)
        .or_else(|| header("retry-after").and_then(|text| seconds(text).or_else(|| seconds_until(text, now))))
        .or_else(|| wait_in_words(body))?;
    let bounded = asked.clamp(0.0, MAX_RETRY_AFTER.as_secs_f64());
    (asked.is_finite()).then(|| Duration::from_secs_f64(bounded))
}

fn seconds_until(date: &str, now: DateTime<Utc>) -> Option<f64> {
    let at = DateTime::parse_from_rfc2822(date).ok()?;
    Some((at.with_timezone(&Utc) - now).num_milliseconds() as f64 / 1000.0)
}

/// `try again in 1m2.5s`, `retry in 20 seconds`, `"retryDelay": "32s"`.
fn wait_in_words(body: &str) -> Option<f64> {
    static WAIT: LazyLock<Option<Regex>> = LazyLock::new(|| {
        let lead = r#"(?:(?:try again|retry)(?: after| in)|"retryDelay":\s*")\s*"#;
        let millis = r"(\d+(?:\.\d+)?)\s*ms";
        let seconds = r"(?:(\d+)m(?:in\w*)?\s*)?(?:(\d+(?:\.\d+)?)\s*s?)?";
        Regex::new(&format!("(?i){lead}(?:{millis}|{seconds})")).ok()
    });
    let found = WAIT.as_ref()?.captures(body)?;
    let number = |index: usize| found.get(index).and_then(|part| part.as_str().parse::<f64>().ok());
    match (number(1), number(2), number(3)) {
        (Some(millis), ..) => Some(millis / 1000.0),
        (None, None, None) => None,
        (None, minutes, seconds) => Some(minutes.unwrap_or(0.0) * 60.0 + seconds.unwrap_or(0.0)),
    }
}

/// An answer with a status that is not success.
pub(super) fn refused(endpoint: &Endpoint, status: u16, headers: &HeaderMap, body: &str) -> ProviderError {
    let kind = classify(Some(status), body);
    let detail = own_words(body).unwrap_or_else(|| format!("status {status}"));
    let mut error = told(endpoint, kind, Some(status), &detail);
    error.retry_after = retry_after(headers, body, Utc::now());
    error
}

/// An error inside a stream that had begun.
pub(super) fn broke_off(endpoint: &Endpoint, code: &str, message: &str) -> ProviderError {
    let text = if message.is_empty() { code.to_owned() } else { format!("{code} {message}") };
    let status = code.parse::<u16>().ok().filter(|status| (400..600).contains(status));
    let mut error = told(endpoint, classify(status, &text), status, if message.is_empty() { code } else { message });
    error.retry_after = retry_after(&HeaderMap::new(), message, Utc::now());
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
        return told(endpoint, ErrorKind::BadRequest, None, &detail);
    }
    told(endpoint, ErrorKind::Network, None, &detail)
}

/// A failure with its message: who, what, and what to do.
pub(super) fn told(endpoint: &Endpoint, kind: ErrorKind, status: Option<u16>, detail: &str) -> ProviderError {
    let Endpoint { name, model, key_source, provider, .. } = endpoint;
    let address = &endpoint.base_url;
    let (what, remedy) = match kind {
        ErrorKind::Auth if endpoint.key.is_empty() => (
            format!("{name} wants a key for {model}"),
            format!("set {key_source} in the environment or in ~/.hermes/.env, or `hermes config set model.api_key …`"),
        ),
        ErrorKind::Auth => (
            format!("{name} does not accept the key from {key_source} for {model}"),
            format!("check {key_source}, and that the key may use this model"),
        ),
        ErrorKind::Quota => (
            format!("credit or quota at {name} is used up for {model}"),
            "add credit there, or choose another model".into(),
        ),
        ErrorKind::RateLimit => {
            (format!("{name} limits the rate of requests to {model}"), "wait, or choose another model".into())
        }
        ErrorKind::ContextOverflow => (
            format!("the conversation does not fit the window of {model} at {name}"),
            "start a new session or choose a model with a larger window".into(),
        ),
        ErrorKind::Overloaded => {
            (format!("{name} cannot answer for {model} now"), "try again, or choose another model".into())
        }
        ErrorKind::Network if detail.to_lowercase().contains("certificate") => (
            format!("the certificate of {address} was not accepted"),
            "install ca-certificates or set SSL_CERT_FILE".into(),
        ),
        ErrorKind::Network if endpoint.local => (
            format!("cannot reach {name} at {address} for {model}"),
            "check that the server is running and that model.base_url is right".into(),
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
            format!("{name} answered for {model} in a form that is not {}", endpoint.dialect.as_str()),
            format!("check base_url ({address}) and api_mode"),
        ),
        ErrorKind::ContentFilter => (
            format!("{name} refused the content of a request to {model}"),
            "say it differently, or choose another model".into(),
        ),
        ErrorKind::ModelNotFound => (
            format!("{name} does not have {model}"),
            format!("`hermes models --provider {provider}` lists what it has; check base_url ({address}) too"),
        ),
        ErrorKind::BadRequest => {
            (format!("{name} refused a request to {model} as wrong"), "check the model's settings and api_mode".into())
        }
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
    ProviderError { kind, status, message, retry_after: None, partial: None }
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
            .then(|| if is_page { "a web page instead of an answer".to_owned() } else { text.to_owned() });
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
#[path = "errors_tests.rs"]
mod tests;
