//! The file of a login: `mcp-tokens/NAME.json`, readable by its owner only.

use crate::fs::remove;
use crate::policy::redact::Secrets;
use futures::future::BoxFuture;
use rmcp::transport::auth::{AuthError, CredentialStore, StoredCredentials};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// The folder of the logins, and those who mask what is in them.
#[derive(Clone, Debug, Default)]
pub struct Logins {
    pub dir: PathBuf,
    /// Learns every token that is got.
    pub secrets: Secrets,
}

impl From<PathBuf> for Logins {
    fn from(dir: PathBuf) -> Self {
        Self { dir, secrets: Secrets::default() }
    }
}

impl std::ops::Deref for Logins {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.dir
    }
}

/// Where a login is kept.
#[derive(Clone, Debug)]
pub(super) struct Kept {
    file: PathBuf,
    secrets: Secrets,
}

/// What is kept. The token's own fields stand beside ours, as Python Hermes writes them.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct File {
    #[serde(default)]
    pub client_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_secret: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issuer: Option<String>,
    #[serde(default)]
    pub granted_scopes: Vec<String>,
    /// Seconds since the epoch.
    #[serde(default)]
    pub received_at: Option<u64>,
    /// What a refused call wanted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub challenge: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<Value>,
}

fn file(tokens: &Path, server: &str) -> PathBuf {
    let safe = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' };
    tokens.join(format!("{}.json", server.chars().map(safe).collect::<String>()))
}

/// Whether a token is kept.
pub fn is_logged_in(tokens: &Path, server: &str) -> bool {
    Kept::of(tokens, server).read().is_ok_and(|file| file.is_some_and(|file| file.token.is_some()))
}

/// Throws the login away; `false` when there was none.
///
/// # Errors
/// Why the file is still there.
pub fn forget(tokens: &Path, server: &str) -> Result<bool, String> {
    delete(&file(tokens, server)).map_err(|error| error.to_string())
}

/// `file` lies in `mcp-tokens` of the home.
fn delete(file: &Path) -> Result<bool, remove::RemoveError> {
    let home = file.parent().and_then(Path::parent).unwrap_or(file);
    remove::file(remove::File::Login, home, file)
}

impl Kept {
    pub(super) fn of(tokens: &Path, server: &str) -> Self {
        Self { file: file(tokens, server), secrets: Secrets::default() }
    }

    /// The same, and what is got is masked from then on.
    pub(super) fn learning(logins: &Logins, server: &str) -> Self {
        Self { secrets: logins.secrets.clone(), ..Self::of(logins, server) }
    }

    pub(super) fn read(&self) -> Result<Option<File>, String> {
        match std::fs::read_to_string(&self.file) {
            Ok(text) => serde_json::from_str(&text)
                .map(|file| Some(self.python(&text, file)))
                .map_err(|error| format!("cannot read {} ({error}); delete it and log in again", self.file.display())),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(format!("{}: {error}", self.file.display())),
        }
    }

    /// A file of Python Hermes: the token alone, and the client in a file beside it.
    fn python(&self, text: &str, mut file: File) -> File {
        let whole: Value = serde_json::from_str(text).unwrap_or_default();
        if file.token.is_some() || whole.get("access_token").is_none() {
            return file;
        }
        let beside = self.file.with_extension("client.json");
        let client: Value =
            std::fs::read_to_string(beside).ok().and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
        let text = |key: &str| client.get(key).and_then(Value::as_str).map(str::to_owned);
        (file.client_id, file.client_secret) = (text("client_id").unwrap_or_default(), text("client_secret"));
        let mut token = whole;
        if let Some(fields) = token.as_object_mut() {
            fields.retain(|key, _| {
                ["access_token", "token_type", "expires_in", "refresh_token", "scope"].contains(&key.as_str())
            });
            fields.retain(|_, value| !value.is_null());
        }
        file.token = Some(token);
        file
    }

    fn write(&self, file: &File) -> Result<(), String> {
        let text = serde_json::to_string_pretty(file).map_err(|error| error.to_string())?;
        crate::fs::write_atomic(&self.file, &text).map_err(|error| error.to_string())?;
        // A file that was there before keeps its mode otherwise.
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(&self.file, std::fs::Permissions::from_mode(0o600))
            .map_err(|error| format!("{}: {error}", self.file.display()))
    }

    /// After a login: the client's secret is kept, what was wanted is granted.
    pub(super) fn settle(&self, secret: Option<String>) -> Result<(), String> {
        let mut file = self.read()?.unwrap_or_default();
        (file.client_secret, file.challenge) = (secret, None);
        self.write(&file)
    }

    pub(super) fn note(&self, challenge: &str) -> Result<(), String> {
        let mut file = self.read()?.unwrap_or_default();
        file.challenge = Some(challenge.chars().take(4_000).collect());
        self.write(&file)
    }
}

fn fail(why: String) -> AuthError {
    AuthError::CredentialStoreError(why)
}

impl CredentialStore for Kept {
    fn load<'a, 'b>(&'a self) -> BoxFuture<'b, Result<Option<StoredCredentials>, AuthError>>
    where
        'a: 'b,
        Self: 'b,
    {
        Box::pin(async move {
            let Some(file) = self.read().map_err(fail)? else { return Ok(None) };
            let token = file.token.map(serde_json::from_value).transpose();
            let token = token.map_err(|error| fail(format!("{}: {error}", self.file.display())))?;
            let kept = StoredCredentials::new(file.client_id, token, file.granted_scopes, file.received_at);
            Ok(Some(kept.with_issuer(file.issuer)))
        })
    }

    fn save<'a, 'b>(&'a self, credentials: StoredCredentials) -> BoxFuture<'b, Result<(), AuthError>>
    where
        'a: 'b,
        Self: 'b,
    {
        Box::pin(async move {
            let before = self.read().ok().flatten().unwrap_or_default();
            let same = before.client_id == credentials.client_id;
            let token = credentials.token_response.map(serde_json::to_value).transpose();
            // Known before it is used for the first time.
            let got = token.as_ref().ok().and_then(|token| token.as_ref()?.as_object());
            let values = got.into_iter().flatten().filter(|(name, _)| name.ends_with("_token"));
            self.secrets.add(values.filter_map(|(_, value)| value.as_str().map(str::to_owned)));
            self.write(&File {
                client_secret: before.client_secret.filter(|_| same),
                client_id: credentials.client_id,
                issuer: credentials.issuer,
                granted_scopes: credentials.granted_scopes,
                received_at: credentials.token_received_at,
                challenge: before.challenge,
                token: token.map_err(|error| fail(error.to_string()))?,
            })
            .map_err(fail)
        })
    }

    fn clear<'a, 'b>(&'a self) -> BoxFuture<'b, Result<(), AuthError>>
    where
        'a: 'b,
        Self: 'b,
    {
        Box::pin(async move { delete(&self.file).map(|_| ()).map_err(|error| fail(error.to_string())) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[tokio::test]
    async fn a_login_is_kept_for_its_owner_only() {
        let dir = tempfile::tempdir().unwrap();
        let tokens = dir.path().join("mcp-tokens");
        let kept = Kept::of(&tokens, "my/../server");
        assert!(kept.load().await.unwrap().is_none() && !is_logged_in(&tokens, "my/../server"));
        let token = serde_json::json!({"access_token": "a", "token_type": "bearer", "refresh_token": "r"});
        let token = serde_json::from_value(token).unwrap();
        let stored = StoredCredentials::new("me".into(), Some(token), vec!["read".into()], Some(7));
        kept.save(stored.with_issuer(Some("https://i".into()))).await.unwrap();
        kept.settle(Some("s".into())).unwrap();
        let file = tokens.join("my____server.json");
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&tokens), mode(&file)), (0o700, 0o600));
        let back = kept.load().await.unwrap().unwrap();
        assert_eq!(
            (back.client_id.as_str(), back.issuer.as_deref(), back.token_received_at),
            ("me", Some("https://i"), Some(7))
        );
        assert_eq!(kept.read().unwrap().unwrap().client_secret.as_deref(), Some("s"));
        // A renewal keeps the secret of the same client and what was wanted.
        kept.note("scope=\"write\"").unwrap();
        kept.save(StoredCredentials::new("me".into(), None, Vec::new(), None)).await.unwrap();
        let back = kept.read().unwrap().unwrap();
        assert_eq!((back.client_secret.as_deref(), back.challenge.as_deref()), (Some("s"), Some("scope=\"write\"")));
        assert!(forget(&tokens, "my/../server").unwrap() && !forget(&tokens, "my/../server").unwrap());
    }

    #[tokio::test]
    async fn a_login_of_python_hermes_counts() {
        let dir = tempfile::tempdir().unwrap();
        let token = r#"{"access_token":"a","token_type":"Bearer","expires_in":3600,"scope":null,"refresh_token":"r"}"#;
        std::fs::write(dir.path().join("x.json"), token).unwrap();
        std::fs::write(dir.path().join("x.client.json"), r#"{"client_id":"c","client_secret":"s"}"#).unwrap();
        let back = Kept::of(dir.path(), "x").load().await.unwrap().unwrap();
        assert_eq!((back.client_id.as_str(), back.token_response.is_some()), ("c", true));
    }

    #[test]
    fn a_broken_file_says_what_to_do() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("x.json"), "{").unwrap();
        assert!(Kept::of(dir.path(), "x").read().unwrap_err().contains("delete it"));
    }
}
