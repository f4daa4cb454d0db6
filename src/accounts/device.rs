//! Signing in with a code that is typed on another device (RFC 8628).

use super::error::AccountError;
use super::flows::SignIn;
use super::token::{self, Granted, TokenError};
use crate::llm::http::Http;
use serde_json::Value;
use std::time::Duration;
use tokio::time::Instant;

const GRANT: &str = "urn:ietf:params:oauth:grant-type:device_code";
/// Between two questions, where the server says nothing of it.
const INTERVAL: u64 = 5;
/// The longest time between two questions.
const SLOWEST: u64 = 60;
/// What `slow_down` adds.
const SLOWER: u64 = 5;
/// A code lives this long where the server does not say.
const LIFE: u64 = 900;

/// A code and where to type it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Code {
    pub user_code: String,
    pub address: String,
    /// The address with the code in it.
    pub complete: Option<String>,
    pub life: Duration,
    device_code: String,
    interval: u64,
}

/// Asks for a code.
pub async fn begin(http: &Http, flow: &SignIn) -> Result<Code, AccountError> {
    let fail = |error: TokenError| error.of(flow.name());
    let form = [("client_id", flow.client_id.as_str()), ("scope", flow.scope.as_str())];
    let asked = form.into_iter().filter(|(_, value)| !value.is_empty()).collect::<Vec<_>>();
    let value = token::post_form(http, &flow.device_url, &asked).await.map_err(fail)?;
    if let Some(refused) = token::refused(&value) {
        return Err(fail(refused));
    }
    let text = |key: &str| value.get(key).and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned);
    let number = |key: &str| value.get(key).and_then(Value::as_u64);
    let missing = |what: &str| AccountError::Refused {
        provider: flow.name().to_owned(),
        why: format!("its answer has no {what}"),
    };
    let page = |address: String| address.starts_with("https://") || address.starts_with("http://");
    Ok(Code {
        user_code: text("user_code").ok_or_else(|| missing("user_code"))?,
        // The draft of the RFC called it so, and some servers still do.
        address: text("verification_uri")
            .or_else(|| text("verification_url"))
            .filter(|a| page(a.clone()))
            .ok_or_else(|| missing("verification_uri"))?,
        complete: text("verification_uri_complete").filter(|a| page(a.clone())),
        life: Duration::from_secs(number("expires_in").unwrap_or(LIFE).clamp(1, 3600)),
        device_code: text("device_code").ok_or_else(|| missing("device_code"))?,
        interval: number("interval").unwrap_or(INTERVAL).clamp(1, SLOWEST),
    })
}

/// What follows one question.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Next {
    /// Asks again after so many seconds.
    Ask(u64),
    Done(Granted),
    Fail(AccountError),
}

/// Decides after an answer. The interval only grows.
fn next(provider: &str, answer: Result<Granted, TokenError>, interval: u64) -> Next {
    let provider = || provider.to_owned();
    match answer {
        Ok(granted) => Next::Done(granted),
        // A network that comes and goes is no reason to type the code again.
        Err(TokenError::Network(_)) => Next::Ask((interval * 2).min(SLOWEST)),
        Err(TokenError::Refused { error, why }) => match error.as_str() {
            "authorization_pending" => Next::Ask(interval),
            "slow_down" => Next::Ask((interval + SLOWER).min(SLOWEST)),
            "expired_token" => Next::Fail(AccountError::Expired { provider: provider() }),
            "access_denied" => Next::Fail(AccountError::Denied { provider: provider() }),
            _ => Next::Fail(TokenError::Refused { error, why }.of(&provider())),
        },
    }
}

/// Asks until the person has typed the code, or it is over. `second` is the unit of waiting.
pub async fn wait(http: &Http, flow: &SignIn, code: &Code, second: Duration) -> Result<Granted, AccountError> {
    let ends = Instant::now() + code.life;
    let mut interval = code.interval;
    let mut last = None;
    loop {
        let pause = second.saturating_mul(u32::try_from(interval).unwrap_or(u32::MAX));
        if Instant::now() + pause >= ends {
            // Why nothing came is more to the point than that time ran out.
            return Err(last.unwrap_or_else(|| AccountError::Expired { provider: flow.name().to_owned() }));
        }
        tokio::time::sleep(pause).await;
        let answer = token::ask(http, flow, &[("grant_type", GRANT), ("device_code", &code.device_code)]).await;
        last = match &answer {
            Err(network @ TokenError::Network(_)) => Some(network.clone().of(flow.name())),
            _ => None,
        };
        match next(flow.name(), answer, interval) {
            Next::Ask(again) => interval = again,
            Next::Done(granted) => return Ok(granted),
            Next::Fail(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_answer_has_its_own_consequence() {
        let refused = |error: &str| Err(TokenError::Refused { error: error.into(), why: String::new() });
        let p = || "p".to_owned();
        for (answer, interval, expected) in [
            (refused("authorization_pending"), 5, Next::Ask(5)),
            (refused("slow_down"), 5, Next::Ask(10)),
            (refused("slow_down"), 58, Next::Ask(60)),
            (Err(TokenError::Network("no route".into())), 5, Next::Ask(10)),
            (Err(TokenError::Network("no route".into())), 50, Next::Ask(60)),
            (refused("expired_token"), 5, Next::Fail(AccountError::Expired { provider: p() })),
            (refused("access_denied"), 5, Next::Fail(AccountError::Denied { provider: p() })),
            (
                refused("unsupported_grant_type"),
                5,
                Next::Fail(AccountError::Refused { provider: p(), why: "unsupported_grant_type".into() }),
            ),
        ] {
            assert_eq!(next("p", answer.clone(), interval), expected, "{answer:?} after {interval}");
        }
    }
}
