//! A key for one call: the next of its pool, renewed before it ends. One renewal at a time, whatever the number of sessions
//! and programs: it happens while the file is held, and whoever waited finds the new tokens there.

use super::Accounts;
use super::entry::{Entry, Tokens};
use super::error::AccountError;
use super::flows::SignIn;
use super::pool::{self, Strategy};
use super::store;
use super::token::{self, TokenError};
use crate::config::Loaded;
use crate::llm::Endpoint;
use crate::llm::endpoint::Secret;
use crate::lock::lock;
use std::sync::Arc;

/// Why there is no key now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeaseError {
    /// Nothing is kept and no variable is set.
    Empty,
    /// All have to rest; until when the first does, in milliseconds since the epoch.
    AllRest {
        count: usize,
        until: i64,
    },
    Account(AccountError),
}

impl LeaseError {
    /// Whether a call may go out with the key that the endpoint has, or without any.
    pub fn says_nothing_of(&self, endpoint: &Endpoint) -> bool {
        match self {
            Self::Empty => true,
            Self::AllRest { .. } => false,
            Self::Account(error) => {
                let unread = matches!(error, AccountError::Damaged { .. } | AccountError::Read { .. });
                unread && (!endpoint.key.is_empty() || endpoint.local)
            }
        }
    }
}

impl From<AccountError> for LeaseError {
    fn from(error: AccountError) -> Self {
        Self::Account(error)
    }
}

/// A key that is lent, and how many there are beside it.
#[derive(Clone, Debug)]
pub struct Lease {
    /// With its tokens in it.
    pub entry: Entry,
    /// Keys of the pool, this one too.
    pub of: usize,
}

impl Accounts {
    /// The next key of a pool; `prefer` is taken where it is free.
    pub(super) async fn lease(
        &self,
        loaded: &Arc<Loaded>,
        pool: &str,
        prefer: Option<&str>,
    ) -> Result<Lease, LeaseError> {
        loop {
            let (this, with, name) = (self.clone(), Arc::clone(loaded), pool.to_owned());
            let wanted = prefer.map(str::to_owned);
            let found = blocking(move || this.next(&with, &name, wanted.as_deref())).await?;
            if !pool::is_old(&found.entry, super::now()) {
                return Ok(found);
            }
            match self.renew(loaded, pool, &found.entry, false).await {
                Ok(entry) => return Ok(Lease { entry, of: found.of }),
                // It is marked: another one may do.
                Err(AccountError::Revoked { .. }) if found.of > 1 => {}
                // It may still be good for a moment.
                Err(AccountError::Network { .. })
                    if found.entry.expires_at().is_some_and(|at| at > super::now() + 1_000) =>
                {
                    return Ok(found);
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Whether a key of the pool could be lent now. Reads a file of a few lines.
    pub(super) fn is_any_free(&self, loaded: &Loaded, pool: &str) -> bool {
        let Ok(pools) = self.0.file.read() else { return false };
        let all = self.candidates(loaded, &pools, pool);
        all.iter().any(|entry| pool::standing(entry, super::now()) == pool::Standing::Free)
    }

    /// Chooses and unlocks one. Blocks.
    fn next(&self, loaded: &Loaded, pool: &str, prefer: Option<&str>) -> Result<Lease, LeaseError> {
        let pools = self.0.file.read()?;
        let now = super::now();
        let all = self.candidates(loaded, &pools, pool);
        let strategies = &loaded.config.credential_pool_strategies;
        let strategy = strategies.iter().find(|(name, _)| crate::llm::endpoint::pool_of(name) == pool);
        let strategy = strategy.map(|(_, word)| Strategy::parse(word)).unwrap_or_default();
        let last = lock(&self.0.last).get(pool).cloned();
        let preferred = prefer.and_then(|id| all.iter().position(|entry| entry.id == id));
        let preferred = preferred.filter(|at| pool::standing(&all[*at], now) == pool::Standing::Free);
        let chosen = preferred.or_else(|| pool::choose(&all, strategy, last.as_deref(), now, fastrand::usize(..)));
        let Some(chosen) = chosen else {
            let dead = all.iter().find(|entry| pool::standing(entry, now) == pool::Standing::Dead);
            return Err(match (pool::earliest(&all, now), dead) {
                (Some(until), _) => LeaseError::AllRest { count: all.len(), until },
                (None, Some(dead)) => AccountError::Revoked {
                    provider: pool.strip_prefix("custom:").unwrap_or(pool).to_owned(),
                    why: dead.last_error_message.clone(),
                }
                .into(),
                (None, None) => LeaseError::Empty,
            });
        };
        let mut entry = all[chosen].clone();
        let Tokens { access_token, refresh_token } = self.reveal(pool, &entry)?;
        (entry.access_token, entry.refresh_token) = (access_token, refresh_token);
        lock(&self.0.last).insert(pool.to_owned(), entry.id.clone());
        Ok(Lease { entry, of: all.len() })
    }

    /// Renews a login, unless somebody did meanwhile. `refused`: the server did not take the token, whatever its time.
    pub(super) async fn renew(
        &self,
        loaded: &Arc<Loaded>,
        pool: &str,
        old: &Entry,
        refused: bool,
    ) -> Result<Entry, AccountError> {
        let (this, loaded, pool, old) = (self.clone(), Arc::clone(loaded), pool.to_owned(), old.clone());
        // A person who stops the turn must not lose the login: the server may have taken the old renewal token already, so
        // what it gives is written down whether or not anybody still waits for it.
        let renewal = tokio::spawn(async move { this.renew_to_the_end(&loaded, &pool, &old, refused).await });
        renewal.await.unwrap_or_else(|error| Err(broken_off(&error)))
    }

    async fn renew_to_the_end(
        &self,
        loaded: &Arc<Loaded>,
        pool: &str,
        old: &Entry,
        refused: bool,
    ) -> Result<Entry, AccountError> {
        let provider = pool.strip_prefix("custom:").unwrap_or(pool).to_owned();
        let flow =
            SignIn::find(&loaded.config, pool).ok_or_else(|| AccountError::NoFlow { provider: provider.clone() })?;
        let this = self.clone();
        let held = blocking(move || this.0.file.hold()).await?;
        let (this, name, id) = (self.clone(), pool.to_owned(), old.id.clone());
        let gone = AccountError::NoEntry { provider: provider.clone(), target: old.label.clone() };
        let mut entry = blocking(move || {
            let pools = this.0.file.read()?;
            let mut entry = pools.pool(&name).iter().find(|entry| entry.id == id).cloned().ok_or(gone)?;
            let tokens = this.reveal(&name, &entry)?;
            (entry.access_token, entry.refresh_token) = (tokens.access_token, tokens.refresh_token);
            Ok::<_, AccountError>(entry)
        })
        .await?;
        let now = super::now();
        let other = entry.access_token != old.access_token;
        if other && !pool::is_old(&entry, now) || !refused && !pool::is_old(&entry, now) {
            return Ok(entry);
        }
        if entry.refresh_token.is_empty() {
            let why = "it has ended and can't be renewed".to_owned();
            return self.died(held, pool, entry, AccountError::Revoked { provider, why }).await;
        }
        match token::refresh(&self.0.http, &flow, &entry.refresh_token).await {
            Ok(granted) => {
                let now = super::now();
                let ends = granted.expires_in.and_then(|after| i64::try_from(after.as_millis()).ok());
                self.mask(&granted.tokens);
                entry.take(granted.tokens, ends.map(|ms| now + ms), now);
                let (this, name, with) = (self.clone(), pool.to_owned(), Arc::clone(loaded));
                // The old renewal token is worth nothing from here on: what is written now must not be lost.
                blocking(move || {
                    let mut kept = entry.clone();
                    if kept.is_locked_away()
                        && let Some(note) = this.lock_away(&with.config, &name, &mut kept)
                    {
                        tracing::warn!("{note}");
                    }
                    let is_moved = !kept.is_locked_away();
                    this.write_entry(&held, &name, kept)?;
                    if is_moved {
                        store::forget([entry.keyring.as_str()]);
                    }
                    Ok(entry)
                })
                .await
            }
            Err(TokenError::Refused { error, why }) if is_final(&error) => {
                let why = if why.is_empty() { error } else { why };
                self.died(held, pool, entry, AccountError::Revoked { provider, why }).await
            }
            Err(error) => Err(error.of(&provider)),
        }
    }

    /// Marks a login that is over, and says so.
    async fn died(
        &self,
        held: super::file::Held,
        pool: &str,
        mut entry: Entry,
        error: AccountError,
    ) -> Result<Entry, AccountError> {
        let (this, name) = (self.clone(), pool.to_owned());
        let why = match &error {
            AccountError::Revoked { why, .. } => why.clone(),
            other => other.to_string(),
        };
        let now = super::now();
        entry.mark("dead", Some(400), &why, None, now);
        if entry.is_locked_away() {
            entry.access_token.clear();
            entry.refresh_token.clear();
        }
        blocking(move || this.write_entry(&held, &name, entry)).await?;
        Err(error)
    }

    fn write_entry(&self, held: &super::file::Held, pool: &str, entry: Entry) -> Result<(), AccountError> {
        let mut pools = (*self.0.file.read()?).clone();
        // One that is gone was removed by somebody: it stays so.
        let Some(known) = pools.pool_mut(pool).iter_mut().find(|known| known.id == entry.id) else { return Ok(()) };
        *known = entry;
        self.0.file.write(held, &pools)
    }

    /// The endpoint with a key of its pool in it, where it has none: for lists of models.
    pub async fn unlock(&self, loaded: &Arc<Loaded>, mut endpoint: Endpoint) -> Endpoint {
        let Some(pool) = endpoint.pool.clone().filter(|_| endpoint.key.is_empty()) else { return endpoint };
        match self.lease(loaded, &pool, None).await {
            Ok(lease) => endpoint.key = Secret::new(lease.entry.access_token),
            Err(error) => tracing::info!(?error, pool, "no key for a list of models"),
        }
        endpoint
    }
}

/// Words after which no renewal can succeed.
fn is_final(error: &str) -> bool {
    matches!(error, "invalid_grant" | "invalid_token" | "unauthorized_client" | "access_denied" | "expired_token")
}

/// Work that may wait for a disk, a lock or a program.
pub(super) async fn blocking<T: Send + 'static, E: From<AccountError> + Send + 'static>(
    work: impl FnOnce() -> Result<T, E> + Send + 'static,
) -> Result<T, E> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => Err(broken_off(&error).into()),
    }
}

fn broken_off(error: &tokio::task::JoinError) -> AccountError {
    AccountError::Helper { why: format!("the work on auth.json broke off: {error}") }
}
