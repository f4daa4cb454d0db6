//! What can go wrong with an account, and what to do about it.

use std::path::PathBuf;

/// Lower case, what failed and what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AccountError {
    #[error("{} is damaged ({why}) and was left as it is; mend it, or move it away and run `hermes login` again", .path.display())]
    Damaged { path: PathBuf, why: String },
    #[error("{} is in use by another program for more than {seconds} s; end that program and try again", .path.display())]
    Busy { path: PathBuf, seconds: u64 },
    #[error("{0}")]
    Write(#[from] crate::fs::WriteError),
    #[error("cannot read {}: {why}; check its permissions", .path.display())]
    Read { path: PathBuf, why: String },
    #[error(
        "{provider} has no sign-in; `hermes login` lists those that have one, `hermes auth add PROVIDER` takes a key, and `accounts.{provider}` in config.yaml sets up your own server"
    )]
    NoFlow { provider: String },
    #[error(
        "signing in to {provider} needs your own OAuth client: {register}; then run `hermes config set accounts.{provider}.client_id ID`"
    )]
    NoClient { provider: String, register: String },
    #[error("accounts.{provider}.{field} is not set; run `hermes config set accounts.{provider}.{field} {example}`")]
    Unset { provider: String, field: &'static str, example: &'static str },
    #[error("accounts.{provider}.{field} must begin with https:// (http:// is for this machine only): {url}")]
    NotSafe { provider: String, field: &'static str, url: String },
    #[error("{provider} could not be reached: {why}; check the network and try again")]
    Network { provider: String, why: String },
    #[error("{provider} refused: {why}")]
    Refused { provider: String, why: String },
    #[error("the code for {provider} expired before it was entered; run `hermes login {provider}` for a new one")]
    Expired { provider: String },
    #[error("access was denied at {provider}; nothing was stored")]
    Denied { provider: String },
    #[error("the login at {provider} took longer than {seconds} s; run `hermes login {provider}` again")]
    TooLate { provider: String, seconds: u64 },
    #[error("that address belongs to another login (its state differs); start again with `hermes login {provider}`")]
    OtherLogin { provider: String },
    #[error("that address has no code in it; paste the whole address that the browser ended at")]
    NoCode,
    #[error("{0}")]
    Door(String),
    #[error("the login to {provider} is no longer valid ({why}); sign in again: `hermes login {provider}`")]
    Revoked { provider: String, why: String },
    #[error("{0}")]
    Keyring(String),
    #[error("no random numbers from the system")]
    NoRandom,
    #[error("no account of {provider} is named {target:?}; `hermes auth list` shows them")]
    NoEntry { provider: String, target: String },
    #[error("no login found; `hermes login` signs in")]
    NoLogin,
    #[error("more than one provider is signed in to; name one of {}", .0.join(", "))]
    Several(Vec<String>),
    #[error("{why}")]
    Helper { why: String },
}
