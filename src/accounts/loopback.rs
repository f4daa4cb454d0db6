//! Signing in with a browser that comes back to this machine (RFC 8252), with proof that it was sent from here (RFC 7636).

use super::error::AccountError;
use super::flows::{Flow, SignIn};
use super::token::{self, Granted, TokenError};
use crate::exec::Door;
use crate::llm::http::Http;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use futures::future::BoxFuture;
use serde_json::json;
use sha2::{Digest as _, Sha256};
use url::Url;

/// A login that waits for its browser.
pub struct Visit {
    door: Door,
    verifier: String,
    state: String,
    redirect: String,
    /// Where the browser is sent.
    pub address: String,
}

/// Opens the door and makes the address.
pub async fn begin(flow: &SignIn) -> Result<Visit, AccountError> {
    let door = Door::open(flow.port).await.map_err(AccountError::Door)?;
    let (verifier, state) = (random()?, random()?);
    let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(verifier.as_bytes()));
    let bad = |error: url::ParseError| AccountError::Refused {
        provider: flow.name().to_owned(),
        why: format!("{} is no address ({error})", flow.authorize_url),
    };
    let mut address = Url::parse(&flow.authorize_url).map_err(bad)?;
    let redirect = match flow.flow {
        // It takes no state and knows this machine by its name: the state is a part of the path.
        Flow::OpenrouterPkce => format!("{}/{state}", door.address().replace("127.0.0.1", "localhost")),
        Flow::LoopbackPkce | Flow::Device => door.address(),
    };
    {
        let mut query = address.query_pairs_mut();
        match flow.flow {
            Flow::OpenrouterPkce => {
                query.append_pair("callback_url", &redirect);
            }
            Flow::LoopbackPkce | Flow::Device => {
                query.append_pair("response_type", "code").append_pair("client_id", &flow.client_id);
                query.append_pair("redirect_uri", &redirect).append_pair("state", &state);
                if !flow.scope.is_empty() {
                    query.append_pair("scope", &flow.scope);
                }
            }
        }
        query.append_pair("code_challenge", &challenge).append_pair("code_challenge_method", "S256");
        query.extend_pairs(&flow.authorize);
    }
    Ok(Visit { door, verifier, state, redirect, address: address.into() })
}

impl Visit {
    /// Waits for the browser, or for the address that a person pasted, and gets the tokens.
    pub async fn finish(
        self,
        http: &Http,
        flow: &SignIn,
        pasted: BoxFuture<'_, Option<String>>,
    ) -> Result<Granted, AccountError> {
        let pasted = async {
            match pasted.await {
                Some(address) => address,
                None => std::future::pending().await,
            }
        };
        let came = tokio::select! {
            came = self.door.visited(|url| self.is_ours(flow, url)) => came.map_err(|why| {
                if why.contains("access_denied") {
                    AccountError::Denied { provider: flow.name().to_owned() }
                } else {
                    AccountError::Door(why)
                }
            })?,
            came = pasted => came,
        };
        let code = self.code(flow, &came)?;
        self.exchange(http, flow, &code).await.map_err(|error| error.of(flow.name()))
    }

    /// The code in an address that the browser ended at.
    fn code(&self, flow: &SignIn, address: &str) -> Result<String, AccountError> {
        let url = Url::parse(address.trim()).map_err(|_| AccountError::NoCode)?;
        let find = |key: &str| url.query_pairs().find(|(name, _)| name == key).map(|(_, value)| value.into_owned());
        let error = find("error");
        let code = find("code").filter(|code| !code.is_empty());
        if code.is_none() && error.is_none() {
            return Err(AccountError::NoCode);
        }
        if !self.is_ours(flow, &url) {
            return Err(AccountError::OtherLogin { provider: flow.name().to_owned() });
        }
        if error.as_deref() == Some("access_denied") {
            return Err(AccountError::Denied { provider: flow.name().to_owned() });
        }
        code.ok_or(AccountError::NoCode)
    }

    /// Whether the browser was sent from here: only then it knows the state.
    fn is_ours(&self, flow: &SignIn, url: &Url) -> bool {
        let state = match flow.flow {
            Flow::OpenrouterPkce => url.path_segments().and_then(|mut parts| parts.next_back().map(str::to_owned)),
            Flow::LoopbackPkce | Flow::Device => {
                url.query_pairs().find(|(name, _)| name == "state").map(|(_, value)| value.into_owned())
            }
        };
        state.as_deref() == Some(&self.state)
    }

    async fn exchange(&self, http: &Http, flow: &SignIn, code: &str) -> Result<Granted, TokenError> {
        if flow.flow == Flow::OpenrouterPkce {
            let body = json!({"code": code, "code_verifier": self.verifier, "code_challenge_method": "S256"});
            let value = token::post(http, &flow.token_url, "application/json", body.to_string()).await?;
            return token::granted(&value);
        }
        let fields = [
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", &self.redirect),
            ("code_verifier", &self.verifier),
        ];
        token::ask(http, flow, &fields).await
    }
}

/// 256 bits that nobody can guess, as text.
pub fn random() -> Result<String, AccountError> {
    let mut bytes = [0; 32];
    let provider = rustls::crypto::ring::default_provider();
    provider.secure_random.fill(&mut bytes).map_err(|_| AccountError::NoRandom)?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}
