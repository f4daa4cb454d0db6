//! One credential of a pool, as Python Hermes writes it; what is not ours to know stays as it was.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

/// What a server gave.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Tokens {
    pub access_token: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub refresh_token: String,
}

/// An entry of `credential_pool.PROVIDER`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Entry {
    /// Six hexadecimal digits.
    #[serde(deserialize_with = "text")]
    pub id: String,
    #[serde(deserialize_with = "text")]
    pub label: String,
    /// `api_key` or `oauth`.
    #[serde(deserialize_with = "text")]
    pub auth_type: String,
    #[serde(deserialize_with = "number")]
    pub priority: i64,
    /// `manual`, `manual:device_code`, `env:NAME`.
    #[serde(deserialize_with = "text")]
    pub source: String,
    /// Empty where another place keeps it: the environment, the keyring.
    #[serde(deserialize_with = "text")]
    pub access_token: String,
    #[serde(deserialize_with = "text", skip_serializing_if = "String::is_empty")]
    pub refresh_token: String,
    /// The name of the tokens in the system's keyring; empty: they are not there. It says nothing of where this file is: a
    /// home may get another name.
    #[serde(deserialize_with = "text", skip_serializing_if = "String::is_empty")]
    pub keyring: String,
    /// Milliseconds since the epoch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at_ms: Option<i64>,
    /// RFC 3339, of the last tokens.
    #[serde(deserialize_with = "text", skip_serializing_if = "String::is_empty")]
    pub last_refresh: String,
    /// `ok`, `exhausted`, `dead`; empty: never used.
    #[serde(deserialize_with = "text", skip_serializing_if = "String::is_empty")]
    pub last_status: String,
    /// Seconds since the epoch.
    #[serde(deserialize_with = "moment", skip_serializing_if = "Option::is_none")]
    pub last_status_at: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_error_code: Option<u16>,
    #[serde(deserialize_with = "text", skip_serializing_if = "String::is_empty")]
    pub last_error_message: String,
    /// Seconds since the epoch.
    #[serde(deserialize_with = "moment", skip_serializing_if = "Option::is_none")]
    pub last_error_reset_at: Option<f64>,
    #[serde(deserialize_with = "number")]
    pub request_count: i64,
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

impl Entry {
    /// Whether it is a login that can be renewed.
    pub fn is_login(&self) -> bool {
        self.auth_type == "oauth"
    }

    /// Whether the tokens are in the system's keyring.
    pub fn is_locked_away(&self) -> bool {
        !self.keyring.is_empty()
    }

    /// The variable that holds it.
    pub fn variable(&self) -> Option<&str> {
        self.source.strip_prefix("env:")
    }

    /// When the tokens end, in milliseconds since the epoch.
    pub fn expires_at(&self) -> Option<i64> {
        // Python Hermes writes one or the other.
        let written = || self.rest.get("expires_at").and_then(read_moment).map(|seconds| (seconds * 1000.0) as i64);
        self.expires_at_ms.or_else(written)
    }

    /// Takes new tokens; a server that gives no new renewal token means the one before.
    pub fn take(&mut self, tokens: Tokens, expires_at_ms: Option<i64>, now: i64) {
        self.access_token = tokens.access_token;
        if !tokens.refresh_token.is_empty() {
            self.refresh_token = tokens.refresh_token;
        }
        self.expires_at_ms = expires_at_ms;
        self.rest.remove("expires_at");
        self.last_refresh = rfc3339(now);
        self.clear();
    }

    /// It may be used again.
    pub fn clear(&mut self) {
        self.last_status = "ok".into();
        self.last_status_at = None;
        self.last_error_code = None;
        self.last_error_message.clear();
        self.last_error_reset_at = None;
        self.rest.remove("last_error_reason");
    }

    /// It failed.
    pub fn mark(&mut self, status: &str, code: Option<u16>, message: &str, until: Option<i64>, now: i64) {
        status.clone_into(&mut self.last_status);
        self.last_status_at = Some(now as f64 / 1000.0);
        self.last_error_code = code;
        self.last_error_message = message.chars().take(300).collect();
        self.last_error_reset_at = until.map(|until| until as f64 / 1000.0);
    }
}

/// The time as people and Python read it.
pub fn rfc3339(ms: i64) -> String {
    chrono::DateTime::from_timestamp_millis(ms).map(|at| at.to_rfc3339()).unwrap_or_default()
}

/// Text, or nothing where another program wrote `null`.
fn text<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    Ok(match Value::deserialize(from)? {
        Value::String(text) => text,
        Value::Number(number) => number.to_string(),
        _ => String::new(),
    })
}

fn number<'de, D: Deserializer<'de>>(from: D) -> Result<i64, D::Error> {
    Ok(Value::deserialize(from)?.as_i64().unwrap_or_default())
}

fn moment<'de, D: Deserializer<'de>>(from: D) -> Result<Option<f64>, D::Error> {
    Ok(read_moment(&Value::deserialize(from)?))
}

/// Seconds since the epoch of a number (milliseconds are larger) or of a date.
fn read_moment(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64().map(|number| if number > 1e11 { number / 1000.0 } else { number }),
        Value::String(text) => match text.parse::<f64>() {
            Ok(number) => Some(number),
            Err(_) => chrono::DateTime::parse_from_rfc3339(text).ok().map(|at| at.timestamp_millis() as f64 / 1000.0),
        },
        _ => None,
    }
}
