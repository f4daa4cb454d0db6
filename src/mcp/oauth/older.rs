//! Where a server of the protocol's edition of March 2025 has its login. Such a server names no login in a document about
//! itself; the document about the login stands at the root of its own origin, and may call itself by an address below it
//! (`https://x/oauth`), which later editions forbid. Everything in it must be of that origin: who answers there answers for
//! all of it, so nothing is believed that another could have written.

use rmcp::transport::auth::AuthorizationMetadata;
use url::Url;

/// Bytes of such a document.
const LONGEST: usize = 64 * 1024;

/// Asks the origin of `server`; `None` when it is no server of that edition.
pub(super) async fn metadata(http: &reqwest::Client, server: &str) -> Option<AuthorizationMetadata> {
    let server = Url::parse(server).ok()?;
    let about = |path: &str| server.join(&format!("/.well-known/{path}")).ok();
    let path = server.path().trim_end_matches('/');
    for newer in [format!("oauth-protected-resource{path}"), "oauth-protected-resource".to_owned()] {
        if get(http, about(&newer)?).await.is_some() {
            return None;
        }
    }
    let text = get(http, about("oauth-authorization-server")?).await?;
    let found: AuthorizationMetadata = serde_json::from_str(&text).ok()?;
    is_of(&found, &server).then_some(found)
}

/// The text at an address, where it answers with one.
async fn get(http: &reqwest::Client, address: Url) -> Option<String> {
    let mut answer = http.get(address).header("accept", "application/json").send().await.ok()?;
    if !answer.status().is_success() {
        return None;
    }
    let mut text = Vec::new();
    while let Some(part) = answer.chunk().await.ok()? {
        text.extend_from_slice(&part);
        if text.len() > LONGEST {
            return None;
        }
    }
    String::from_utf8(text).ok()
}

/// Whether all that the document names is of the server's origin.
fn is_of(found: &AuthorizationMetadata, server: &Url) -> bool {
    let ours = |address: &str| Url::parse(address).is_ok_and(|address| address.origin() == server.origin());
    found.issuer.as_deref().is_some_and(ours)
        && ours(&found.authorization_endpoint)
        && ours(&found.token_endpoint)
        && found.registration_endpoint.as_deref().is_none_or(ours)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn all_of_it_is_of_one_origin() {
        let server = Url::parse("https://x.example/mcp").unwrap();
        let own = json!({
            "issuer": "https://x.example/oauth",
            "authorization_endpoint": "https://x.example/oauth/authorize",
            "token_endpoint": "https://x.example/oauth/token",
            "registration_endpoint": "https://x.example/oauth/register",
        });
        let fits = |key: &str, value: serde_json::Value| {
            let mut document = own.clone();
            document[key] = value;
            is_of(&serde_json::from_value(document).unwrap(), &server)
        };
        assert!(fits("scopes_supported", json!([])));
        for key in ["issuer", "authorization_endpoint", "token_endpoint", "registration_endpoint"] {
            for other in ["https://y.example/oauth", "http://x.example/oauth", "https://x.example:8443/", "oauth"] {
                assert!(!fits(key, json!(other)), "{key} {other}");
            }
        }
        assert!(!fits("issuer", json!(null)), "one that does not say who it is");
    }
}
