//! From a refusal to a class: what kind of failure it is, and how long to wait.

use super::ErrorKind;
use chrono::{DateTime, Utc};
use regex::Regex;
use reqwest::header::HeaderMap;
use std::sync::LazyLock;
use std::time::Duration;

/// No provider's wish to wait is followed for longer.
pub const MAX_RETRY_AFTER: Duration = Duration::from_secs(600);

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

/// The longest time that a key rests because of a provider's words: no limit is counted by more than a month.
const MAX_RESET: f64 = 31.0 * 86_400.0;

/// How long until the provider's limit ends, by its headers, else by its words; not bounded by what a turn can wait.
pub fn reset_after(headers: &HeaderMap, body: &str, now: DateTime<Utc>) -> Option<Duration> {
    const HEADERS: [&str; 3] = ["x-ratelimit-reset", "anthropic-ratelimit-unified-reset", "ratelimit-reset"];
    const FIELDS: [&str; 6] = [
        "/error/metadata/headers/X-RateLimit-Reset",
        "/error/reset_at",
        "/error/resets_at",
        "/error/resets_in_seconds",
        "/reset_at",
        "/resets_at",
    ];
    let header =
        |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(|text| text.trim().to_owned());
    let value: serde_json::Value = serde_json::from_str(body).unwrap_or_default();
    let field = |path: &&str| match value.pointer(path)? {
        serde_json::Value::String(text) => Some(text.clone()),
        serde_json::Value::Number(number) => Some(number.to_string()),
        _ => None,
    };
    let told = HEADERS.iter().find_map(|name| header(name)).or_else(|| FIELDS.iter().find_map(field));
    let waits = || {
        let millis = header("retry-after-ms").and_then(|text| text.parse::<f64>().ok()).map(|millis| millis / 1000.0);
        let after = || header("retry-after").and_then(|text| text.parse().ok().or_else(|| seconds_until(&text, now)));
        millis.or_else(after).or_else(|| wait_in_words(body))
    };
    let seconds = told.and_then(|text| until_moment(&text, now)).or_else(waits)?;
    (seconds.is_finite() && seconds > 0.0).then(|| Duration::from_secs_f64(seconds.min(MAX_RESET)))
}

/// Seconds until what a provider writes of a reset: seconds from now, a moment in seconds or milliseconds, or a date.
fn until_moment(text: &str, now: DateTime<Utc>) -> Option<f64> {
    let (this, second) = (now.timestamp() as f64, 1e9);
    match text.parse::<f64>() {
        Ok(number) if number > second * 1000.0 => Some(number / 1000.0 - this),
        Ok(number) if number > second => Some(number - this),
        Ok(number) => Some(number),
        Err(_) => {
            let at = DateTime::parse_from_rfc3339(text).ok()?;
            Some((at.with_timezone(&Utc) - now).num_milliseconds() as f64 / 1000.0)
        }
    }
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
