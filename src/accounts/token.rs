//! The token endpoint of a login's server: forms out, tokens or an error word back. Knows no file and no screen.

use super::entry::Tokens;
use super::error::AccountError;
use super::flows::SignIn;
use crate::llm::http::Http;
use reqwest::header::{ACCEPT, CONTENT_TYPE};
use serde_json::Value;
use std::time::Duration;

/// A server may take this long; less than another program waits for the file.
const PATIENCE: Duration = Duration::from_secs(10);
/// Bytes of an answer.
const LONGEST: usize = 256 * 1024;

/// What the server gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Granted {
    pub tokens: Tokens,
    /// `None`: they do not end.
    pub expires_in: Option<Duration>,
    /// A key instead of a login: nothing to renew.
    pub is_key: bool,
}

/// Why there is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TokenError {
    /// The word of the protocol (`authorization_pending`, `invalid_grant`) and the server's explanation.
    Refused { error: String, why: String },
    /// It was not reached, or is not working: worth another try.
    Network(String),
}

impl TokenError {
    /// The same for a person.
    pub fn of(self, provider: &str) -> AccountError {
        let provider = provider.to_owned();
        match self {
            Self::Refused { error, why } if why.is_empty() => AccountError::Refused { provider, why: error },
            Self::Refused { error, why } => AccountError::Refused { provider, why: format!("{error}: {why}") },
            Self::Network(why) => AccountError::Network { provider, why },
        }
    }
}

/// Sends a form, with the client's name and, where it has one, its secret.
pub async fn ask(http: &Http, flow: &SignIn, fields: &[(&str, &str)]) -> Result<Granted, TokenError> {
    let mut form: Vec<(&str, &str)> = fields.to_vec();
    form.push(("client_id", &flow.client_id));
    if !flow.client_secret.is_empty() {
        form.push(("client_secret", &flow.client_secret));
    }
    granted(&post_form(http, &flow.token_url, &form).await?)
}

/// Renews a login.
pub async fn refresh(http: &Http, flow: &SignIn, refresh_token: &str) -> Result<Granted, TokenError> {
    ask(http, flow, &[("grant_type", "refresh_token"), ("refresh_token", refresh_token)]).await
}

/// A form to an address; the JSON that comes back, whatever its status.
pub async fn post_form(http: &Http, url: &str, fields: &[(&str, &str)]) -> Result<Value, TokenError> {
    let form = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
    post(http, url, "application/x-www-form-urlencoded", form).await
}

/// The same with any body.
pub async fn post(http: &Http, url: &str, kind: &str, body: String) -> Result<Value, TokenError> {
    let client = http.to(url).map_err(|error| TokenError::Network(error.message))?;
    let request = client.post(url).header(ACCEPT, "application/json").header(CONTENT_TYPE, kind).timeout(PATIENCE);
    let mut answer = request.body(body).send().await.map_err(|error| TokenError::Network(innermost(&error)))?;
    let status = answer.status();
    let mut bytes = Vec::new();
    while let Some(part) = answer.chunk().await.map_err(|error| TokenError::Network(innermost(&error)))? {
        bytes.extend_from_slice(&part);
        if bytes.len() > LONGEST {
            return Err(TokenError::Network("its answer is too large".into()));
        }
    }
    let value: Option<Value> = serde_json::from_slice(&bytes).ok().filter(Value::is_object);
    match value {
        // GitHub says no with 200; RFC 6749 says it with 400.
        Some(value) if status.is_success() || value.get("error").is_some() => Ok(value),
        _ if status.is_server_error() || status.as_u16() == 429 => Err(TokenError::Network(format!("status {status}"))),
        _ if status.is_success() => Err(TokenError::Network("its answer is no JSON object".into())),
        _ => Err(TokenError::Refused { error: format!("status {status}"), why: String::new() }),
    }
}

/// Reads an answer of a token endpoint.
pub fn granted(value: &Value) -> Result<Granted, TokenError> {
    if let Some(refused) = refused(value) {
        return Err(refused);
    }
    let text = |key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (access, key) = (text("access_token"), text("key"));
    let is_key = access.is_empty() && !key.is_empty();
    let access_token = if is_key { key } else { access };
    if access_token.is_empty() {
        return Err(TokenError::Refused { error: "no token in its answer".into(), why: String::new() });
    }
    let seconds = value.get("expires_in").and_then(|seconds| match seconds {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.parse().ok(),
        _ => None,
    });
    let expires_in = seconds.filter(|seconds| *seconds > 0.0 && *seconds < 1e10).map(Duration::from_secs_f64);
    Ok(Granted { tokens: Tokens { access_token, refresh_token: text("refresh_token") }, expires_in, is_key })
}

/// The error in an answer, in one line.
pub fn refused(value: &Value) -> Option<TokenError> {
    let error = value.get("error")?;
    let line = |text: &str| text.chars().filter(|c| !c.is_control()).take(200).collect::<String>();
    let word = error.as_str().or_else(|| error.get("message")?.as_str()).unwrap_or("unknown error");
    let why = value.get("error_description").and_then(Value::as_str).unwrap_or_default();
    Some(TokenError::Refused { error: line(word), why: line(why) })
}

/// The innermost cause is the plain one.
fn innermost(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}
