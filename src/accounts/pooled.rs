//! A model whose calls take their key from a pool: each call a lease, each failure its consequence for the key.

use super::Accounts;
use super::lease::{Lease, LeaseError, blocking};
use super::pool::{self, Fate};
use super::status::clock;
use crate::config::Loaded;
use crate::llm::endpoint::{Endpoint, Secret};
use crate::llm::http::Http;
use crate::llm::providers::Dialect;
use crate::llm::{self, Delta, ErrorKind, ModelInfo, NextKey, Provider, ProviderError, Reply, Request};
use crate::lock::lock;
use futures::future::BoxFuture;
use std::sync::{Arc, Mutex};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

struct Pooled {
    accounts: Accounts,
    loaded: Arc<Loaded>,
    endpoint: Endpoint,
    pool: String,
    http: Http,
    info: ModelInfo,
    /// The key that was limited in the last call: the same once more. Other sessions have limits of their own.
    again: Mutex<Option<String>>,
}

impl Accounts {
    /// The model at an endpoint. Its calls take the keys of its pool in turn: what is kept by the time of a call counts, so a
    /// login in another window does, too.
    pub fn connect(&self, loaded: &Arc<Loaded>, endpoint: Endpoint, http: Http, info: ModelInfo) -> Arc<dyn Provider> {
        let Some(pool) = endpoint.pool.clone().filter(|_| endpoint.dialect != Dialect::Scripted) else {
            return llm::connect(endpoint, http, info);
        };
        let (accounts, loaded) = (self.clone(), Arc::clone(loaded));
        Arc::new(Pooled { accounts, loaded, endpoint, pool, http, info, again: Mutex::default() })
    }
}

impl Provider for Pooled {
    fn stream<'a>(
        &'a self,
        request: &'a Request,
        sink: mpsc::Sender<Delta>,
        cancel: CancellationToken,
    ) -> BoxFuture<'a, Result<Reply, ProviderError>> {
        Box::pin(async move {
            let prefer = lock(&self.again).clone();
            let leased = tokio::select! {
                biased;
                () = cancel.cancelled() => return Err(self.error(ErrorKind::Cancelled, "stopped".into(), NextKey::Unchanged)),
                leased = self.accounts.lease(&self.loaded, &self.pool, prefer.as_deref()) => leased,
            };
            let lease = match leased {
                Ok(lease) => lease,
                // It needs none, or the file can't be read and a variable has one.
                Err(error) if error.says_nothing_of(&self.endpoint) => {
                    let plain = llm::connect(self.endpoint.clone(), self.http.clone(), self.info.clone());
                    return plain.stream(request, sink, cancel).await;
                }
                Err(error) => return Err(self.without(error)),
            };
            let mut endpoint = self.endpoint.clone();
            endpoint.key = Secret::new(lease.entry.access_token.clone());
            endpoint.key_source = self.source(&lease);
            let provider = llm::connect(endpoint, self.http.clone(), self.info.clone());
            match provider.stream(request, sink, cancel).await {
                Ok(reply) => {
                    self.worked(lease).await;
                    Ok(reply)
                }
                Err(error) => Err(self.failed(lease, error).await),
            }
        })
    }

    fn model(&self) -> &ModelInfo {
        &self.info
    }
}

impl Pooled {
    fn error(&self, kind: ErrorKind, message: String, next_key: NextKey) -> ProviderError {
        ProviderError { kind, status: None, message, retry_after: None, reset_after: None, next_key, partial: None }
    }

    /// What the message of a refused key calls it.
    fn source(&self, lease: &Lease) -> String {
        match lease.entry.variable() {
            Some(name) => name.to_owned(),
            None => format!("the account {:?}", lease.entry.label),
        }
    }

    /// No key: why, and the next model's turn.
    fn without(&self, error: LeaseError) -> ProviderError {
        let name = &self.endpoint.name;
        match error {
            LeaseError::AllRest { count, until } => {
                let all = if count == 1 { "the only key".to_owned() } else { format!("all {count} keys") };
                let message = format!(
                    "{all} of {name} rest after a limit, the first until {}; wait, choose another model, or `hermes auth reset {}`",
                    clock(until, super::now()),
                    self.endpoint.provider,
                );
                self.error(ErrorKind::RateLimit, message, NextKey::AllRest)
            }
            LeaseError::Empty => {
                let message = format!("{name} needs a key; run `hermes auth add {}`", self.endpoint.provider);
                self.error(ErrorKind::Auth, message, NextKey::AllRest)
            }
            LeaseError::Account(error) => {
                let kind = match error {
                    super::AccountError::Network { .. } => ErrorKind::Network,
                    _ => ErrorKind::Auth,
                };
                self.error(kind, error.to_string(), NextKey::Unchanged)
            }
        }
    }

    async fn worked(&self, lease: Lease) {
        *lock(&self.again) = None;
        let counts = self.loaded.config.credential_pool_strategies.values().any(|word| word == "least_used");
        let was_marked = !matches!(lease.entry.last_status.as_str(), "" | "ok");
        if !counts && !was_marked {
            return;
        }
        self.note(&lease, |entry| {
            entry.request_count += 1;
            entry.clear();
        })
        .await;
    }

    async fn failed(&self, lease: Lease, mut error: ProviderError) -> ProviderError {
        let entry = &lease.entry;
        if error.kind == ErrorKind::Auth && entry.is_login() && error.status == Some(401) {
            // A token that a renewal just gave and that is refused all the same is not renewed again.
            let is_fresh = lock(&self.accounts.0.renewed).get(&entry.id) == Some(&entry.access_token);
            if !is_fresh {
                match self.accounts.renew(&self.loaded, &self.pool, entry, true).await {
                    Ok(renewed) => {
                        lock(&self.accounts.0.renewed).insert(renewed.id, renewed.access_token);
                        error.next_key = NextKey::Renewed;
                        return error;
                    }
                    Err(why @ super::AccountError::Revoked { .. }) => {
                        error.message = why.to_string();
                        error.next_key = self.offer(lease.of);
                        return error;
                    }
                    Err(why) => error.message = why.to_string(),
                }
            }
        }
        if lease.of < 2 {
            // The only key: what was always done after such a failure is right.
            return error;
        }
        let again = lock(&self.again).take().as_ref() == Some(&entry.id);
        let now = super::now();
        match pool::fate(error.kind, error.status, error.reset_after, again, now) {
            Fate::Unchanged => {}
            Fate::Again => *lock(&self.again) = Some(entry.id.clone()),
            Fate::Rests(until) => {
                let (status, message) = (error.status, error.message.clone());
                self.note(&lease, move |entry| entry.mark("exhausted", status, &message, Some(until), now)).await;
                error.next_key = self.offer(lease.of);
                error.message = format!("{}; {} rests until {}", error.message, self.source(&lease), clock(until, now));
                if error.next_key == NextKey::AllRest
                    && let Err(rest) = self.accounts.lease(&self.loaded, &self.pool, None).await
                {
                    error.message = self.without(rest).message;
                }
            }
        }
        error
    }

    /// Whether another key can be used now.
    fn offer(&self, of: usize) -> NextKey {
        if of > 1 && self.accounts.is_any_free(&self.loaded, &self.pool) {
            NextKey::Other { of }
        } else {
            NextKey::AllRest
        }
    }

    /// Writes down what became of a key, so that other programs know.
    async fn note(&self, lease: &Lease, work: impl FnOnce(&mut super::Entry) + Send + 'static) {
        let (accounts, pool, entry) = (self.accounts.clone(), self.pool.clone(), lease.entry.clone());
        let done = blocking(move || accounts.change_entry(&pool, &entry, work)).await;
        if let Err(error) = done {
            tracing::warn!("the state of a key was not saved: {error}");
        }
    }
}
