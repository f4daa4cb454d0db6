//! What is kept: entries come, change and go, their secrets in the file or in the keyring. Blocks, but for questions of what
//! there is.

use super::Accounts;
use super::entry::{Entry, Tokens};
use super::error::AccountError;
use super::file::Pools;
use super::flows::SignIn;
use super::keyring::{self, KeyringError};
use super::pool;
use super::status::KeyStatus;
use crate::config::{Config, Loaded};
use crate::llm::endpoint::{Keys, pool_of};
use crate::llm::providers;
use crate::lock::lock;
use sha2::{Digest as _, Sha256};

/// The label of an account that a person gave none.
const DEFAULT: &str = "default";
/// Where a fingerprint of a variable's value stands: another value has not failed yet.
const FINGERPRINT: &str = "fingerprint";

/// Variables and accounts, for `llm::endpoint`.
pub struct Known<'a> {
    pub loaded: &'a Loaded,
    pub accounts: &'a Accounts,
}

impl Keys for Known<'_> {
    fn variable(&self, name: &str) -> Option<String> {
        self.loaded.env(name).map(str::to_owned)
    }

    fn account(&self, pool: &str) -> bool {
        self.accounts.has(&self.loaded.config, pool)
    }
}

/// Something was kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Saved {
    pub label: String,
    /// In words: where it is.
    pub place: String,
    /// Why it is not where the person wanted it.
    pub note: Option<String>,
}

/// Logins and keys that were thrown away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoggedOut {
    pub provider: String,
    pub labels: Vec<String>,
}

impl LoggedOut {
    /// The same for a person.
    pub fn words(&self) -> String {
        format!("logged out of {}: {}", self.provider, self.labels.join(", "))
    }
}

impl Accounts {
    /// Throws away what is kept of a provider, or of the only one there is; of one account, when it is named. Blocks.
    ///
    /// # Errors
    /// There is none, more than one provider is kept and none was named, or the file can't be changed.
    pub fn log_out(
        &self,
        loaded: &Loaded,
        provider: Option<&str>,
        label: Option<&str>,
    ) -> Result<LoggedOut, AccountError> {
        let provider = match provider {
            Some(provider) => provider.to_owned(),
            None => {
                let mut kept: Vec<String> =
                    self.status(loaded)?.into_iter().filter(KeyStatus::is_kept).map(|key| key.provider).collect();
                kept.dedup();
                match kept.as_slice() {
                    [] => return Err(AccountError::NoLogin),
                    [one] => one.clone(),
                    _ => return Err(AccountError::Several(kept)),
                }
            }
        };
        let labels = self.remove(&pool_of(&provider), label)?;
        if labels.is_empty() { Err(AccountError::NoLogin) } else { Ok(LoggedOut { provider, labels }) }
    }

    /// Whether a key or a login of this pool is kept. A file that can't be read holds none; [`Self::trouble`] says why.
    pub fn has(&self, config: &Config, pool: &str) -> bool {
        self.0.file.read().is_ok_and(|pools| pools.pool(pool).iter().any(|entry| usable(config, pool, entry)))
    }

    /// Why nothing kept can be used.
    pub fn trouble(&self) -> Option<AccountError> {
        self.0.file.read().err()
    }

    /// Every key of a pool: those of variables first, then those that are kept. Tokens in the keyring are not in them.
    pub(super) fn candidates(&self, loaded: &Loaded, pools: &Pools, pool: &str) -> Vec<Entry> {
        let stored = pools.pool(pool);
        let variables = providers::find(pool).map_or(&[][..], |provider| &provider.keys);
        let mut all: Vec<Entry> = Vec::new();
        for (at, name) in variables.iter().enumerate() {
            let Some(value) = loaded.env(name).map(str::trim).filter(|value| !value.is_empty()) else { continue };
            if all.iter().any(|entry| entry.access_token == value) {
                continue;
            }
            let fresh = of_variable(name, value);
            let before = stored.iter().find(|entry| entry.variable() == Some(name));
            let mut entry = match before {
                Some(before) if before.rest.get(FINGERPRINT) == fresh.rest.get(FINGERPRINT) => before.clone(),
                _ => fresh,
            };
            value.clone_into(&mut entry.access_token);
            // What the person set for this start comes before what is kept.
            entry.priority = i64::MIN + i64::try_from(at).unwrap_or_default();
            all.push(entry);
        }
        let kept = stored.iter().filter(|entry| usable(&loaded.config, pool, entry));
        for entry in kept {
            if entry.access_token.is_empty() || !all.iter().any(|known| known.access_token == entry.access_token) {
                all.push(entry.clone());
            }
        }
        all
    }

    /// Changes the stored entry with this id; one of a variable is stored when there is something to tell of it, without its
    /// value. Blocks.
    pub(super) fn change_entry(
        &self,
        pool: &str,
        like: &Entry,
        work: impl FnOnce(&mut Entry),
    ) -> Result<(), AccountError> {
        self.0.file.change(|pools| {
            let entries = pools.pool_mut(pool);
            pool::bury(entries, super::now());
            let at = match (entries.iter().position(|entry| entry.id == like.id), like.variable()) {
                (Some(at), None) => at,
                (found, Some(name)) => {
                    let mut bare = of_variable(name, &like.access_token);
                    bare.access_token.clear();
                    match found {
                        Some(at) => {
                            if entries[at].rest.get(FINGERPRINT) != bare.rest.get(FINGERPRINT) {
                                entries[at] = bare;
                            }
                            at
                        }
                        None => {
                            entries.push(bare);
                            entries.len() - 1
                        }
                    }
                }
                // Removed meanwhile.
                (None, None) => return Ok(()),
            };
            work(&mut entries[at]);
            Ok(())
        })
    }

    /// Keeps an entry with its tokens. One with the same label takes its place. Blocks.
    ///
    /// # Errors
    /// Why it could not be written; nothing is lost then.
    pub(super) fn put(&self, config: &Config, pool: &str, mut new: Entry) -> Result<Saved, AccountError> {
        self.mask(&Tokens { access_token: new.access_token.clone(), refresh_token: new.refresh_token.clone() });
        let mut before = String::new();
        let saved = self.0.file.change(|pools| {
            let entries = pools.pool_mut(pool);
            let at = entries.iter().position(|entry| entry.label == new.label && entry.variable().is_none());
            new.id = match at {
                Some(at) => entries[at].id.clone(),
                None => fresh_id(entries),
            };
            new.priority = match at {
                Some(at) => entries[at].priority,
                None => entries.iter().map(|entry| entry.priority + 1).max().unwrap_or_default(),
            };
            before = at.map(|at| entries[at].keyring.clone()).unwrap_or_default();
            new.keyring.clone_from(&before);
            let note = self.lock_away(config, pool, &mut new);
            if new.is_locked_away() {
                before.clear();
            }
            let place = if new.is_locked_away() { "the system's keyring".into() } else { self.place() };
            let label = new.label.clone();
            match at {
                Some(at) => entries[at] = new,
                None => entries.push(new),
            }
            Ok(Saved { label, place, note })
        })?;
        forget([before.as_str()]);
        Ok(saved)
    }

    /// Keeps a key that a person gave. Blocks.
    ///
    /// # Errors
    /// Why it could not be written.
    pub fn add_key(
        &self,
        config: &Config,
        pool: &str,
        label: Option<&str>,
        source: &str,
        key: &str,
    ) -> Result<Saved, AccountError> {
        let pools = self.0.file.read()?;
        let taken = |label: &str| pools.pool(pool).iter().any(|entry| entry.label == label);
        let next = || (1..).map(|n| format!("key {n}")).find(|label| !taken(label)).unwrap_or_default();
        let mut entry = Entry {
            label: label.map_or_else(next, str::to_owned),
            auth_type: "api_key".into(),
            source: source.into(),
            access_token: key.trim().into(),
            ..Entry::default()
        };
        entry.clear();
        self.put(config, pool, entry)
    }

    /// An entry for what a server gave.
    pub(super) fn entry_of(label: Option<&str>, source: &str, granted: super::token::Granted) -> Entry {
        let now = super::now();
        let ends = granted.expires_in.and_then(|after| i64::try_from(after.as_millis()).ok()).map(|ms| now + ms);
        let mut entry = Entry {
            label: label.unwrap_or(DEFAULT).to_owned(),
            auth_type: if granted.is_key { "api_key" } else { "oauth" }.into(),
            source: source.into(),
            ..Entry::default()
        };
        entry.take(granted.tokens, ends, now);
        entry
    }

    /// Throws an entry away, by label, id or place in the list (from 1), or all of them. Blocks.
    ///
    /// # Errors
    /// There is none like that, or the file can't be changed.
    pub fn remove(&self, pool: &str, target: Option<&str>) -> Result<Vec<String>, AccountError> {
        let mut gone = Vec::new();
        self.0.file.change(|pools| {
            let entries = pools.pool_mut(pool);
            let kept = entries.iter().filter(|entry| entry.variable().is_none()).map(|entry| entry.id.clone());
            let nth =
                target.and_then(|target| target.parse::<usize>().ok()).and_then(|n| kept.clone().nth(n.max(1) - 1));
            let is_meant = |entry: &Entry| match target {
                None => entry.variable().is_none(),
                Some(target) if entries_named(entries, target) => entry.label == target || entry.id == target,
                Some(_) => Some(&entry.id) == nth.as_ref(),
            };
            gone = entries.iter().filter(|entry| is_meant(entry)).cloned().collect();
            if gone.is_empty() && target.is_some() {
                let provider = pool.strip_prefix("custom:").unwrap_or(pool).to_owned();
                return Err(AccountError::NoEntry { provider, target: target.unwrap_or_default().to_owned() });
            }
            entries.retain(|entry| !gone.iter().any(|gone| gone.id == entry.id));
            Ok(())
        })?;
        // Nothing refers to them any more.
        forget(gone.iter().map(|entry| entry.keyring.as_str()));
        Ok(gone.into_iter().map(|entry| entry.label).collect())
    }

    /// Lets every key of a pool be used again; how many had to rest. Blocks.
    ///
    /// # Errors
    /// The file can't be changed.
    pub fn reset(&self, pool: &str) -> Result<usize, AccountError> {
        self.0.file.change(|pools| {
            let mut count = 0;
            for entry in pools.pool_mut(pool).iter_mut().filter(|entry| entry.last_status == "exhausted") {
                entry.clear();
                count += 1;
            }
            Ok(count)
        })
    }

    /// Moves the tokens of an entry to the keyring, where the configuration and the system allow it; why not, when the person
    /// should know. What the keyring had under its name before is forgotten by the caller, once the entry is written.
    pub(super) fn lock_away(&self, config: &Config, pool: &str, entry: &mut Entry) -> Option<String> {
        let before = std::mem::take(&mut entry.keyring);
        let wanted = config.accounts.keyring.as_str();
        if wanted == "file" {
            return None;
        }
        let name = if before.is_empty() { new_name(pool, &entry.id) } else { before };
        let tokens = Tokens { access_token: entry.access_token.clone(), refresh_token: entry.refresh_token.clone() };
        let secret = serde_json::to_string(&tokens).unwrap_or_default();
        match keyring::keep(&name, &secret) {
            Ok(()) => {
                entry.access_token.clear();
                entry.refresh_token.clear();
                lock(&self.0.unlocked).insert(name.clone(), (entry.last_refresh.clone(), tokens));
                entry.keyring = name;
                None
            }
            Err(KeyringError::NotHere) if wanted == "keyring" => Some(format!(
                "no keyring found (secret-tool or security); it is kept in {}, readable by you only",
                self.place()
            )),
            Err(KeyringError::NotHere) => None,
            Err(KeyringError::Failed(why)) => Some(format!(
                "the keyring could not be used ({why}); it is kept in {}, readable by you only",
                self.place()
            )),
        }
    }

    /// The tokens of an entry, wherever they are. Blocks.
    pub(super) fn reveal(&self, pool: &str, entry: &Entry) -> Result<Tokens, AccountError> {
        if !entry.is_locked_away() {
            return Ok(Tokens { access_token: entry.access_token.clone(), refresh_token: entry.refresh_token.clone() });
        }
        if let Some((at, tokens)) = lock(&self.0.unlocked).get(&entry.keyring)
            && *at == entry.last_refresh
        {
            return Ok(tokens.clone());
        }
        let provider = pool.strip_prefix("custom:").unwrap_or(pool);
        let found = keyring::find(&entry.keyring).map_err(|error| {
            AccountError::Keyring(match error {
                KeyringError::NotHere => format!(
                    "the login to {provider} is in the system's keyring, and secret-tool or security is not installed; install it, or sign in again: `hermes login {provider}`"
                ),
                KeyringError::Failed(why) => format!(
                    "the keyring with the login to {provider} can't be read ({why}); unlock it and try again, nothing is lost"
                ),
            })
        })?;
        let tokens = found.and_then(|text| serde_json::from_str::<Tokens>(&text).ok()).ok_or_else(|| {
            AccountError::Keyring(format!(
                "the keyring has no login to {provider} any more; sign in again: `hermes login {provider}`"
            ))
        })?;
        self.mask(&tokens);
        lock(&self.0.unlocked).insert(entry.keyring.clone(), (entry.last_refresh.clone(), tokens.clone()));
        Ok(tokens)
    }

    /// From now on they are masked wherever they stand, even when no file holds them.
    pub(super) fn mask(&self, tokens: &Tokens) {
        for token in [&tokens.access_token, &tokens.refresh_token] {
            self.0.secrets.keep(token.clone());
        }
    }

    /// The file, as people write it.
    pub fn place(&self) -> String {
        self.0.file.path().display().to_string()
    }

    /// What the system's keyring holds of this home, to be forgotten when the home is gone. Blocks.
    ///
    /// # Errors
    /// The file can't be read.
    pub fn locked_away(&self) -> Result<LockedAway, AccountError> {
        let pools = self.0.file.read()?;
        Ok(LockedAway(pools.entries().filter(|entry| entry.is_locked_away()).map(|e| e.keyring.clone()).collect()))
    }
}

/// Names in the system's keyring.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockedAway(Vec<String>);

impl LockedAway {
    /// Throws away what is under them; how many could not be. Blocks.
    pub fn forget(&self) -> usize {
        forget(self.0.iter().map(String::as_str))
    }
}

/// Throws away what is under these names in the keyring; how many could not be.
pub(super) fn forget<'a>(names: impl IntoIterator<Item = &'a str>) -> usize {
    let failed = |name: &&str| match keyring::forget(name) {
        Ok(()) => false,
        Err(error) => {
            tracing::warn!(?error, "a login that was removed is still in the keyring");
            true
        }
    };
    names.into_iter().filter(|name| !name.is_empty()).filter(failed).count()
}

/// A new name in the keyring: two homes may hold entries of one pool and id.
fn new_name(pool: &str, id: &str) -> String {
    format!("{pool}/{id}@{:016x}", fastrand::u64(..))
}

fn entries_named(entries: &[Entry], target: &str) -> bool {
    entries.iter().any(|entry| entry.variable().is_none() && (entry.label == target || entry.id == target))
}

/// Whether an entry is ours to use: a login needs a flow that renews it.
fn usable(config: &Config, pool: &str, entry: &Entry) -> bool {
    let has_secret = entry.is_locked_away() || !entry.access_token.is_empty() || !entry.refresh_token.is_empty();
    entry.variable().is_none() && has_secret && (!entry.is_login() || SignIn::find(config, pool).is_some())
}

/// The key of a variable.
fn of_variable(name: &str, value: &str) -> Entry {
    let mut entry = Entry {
        id: short(&format!("env:{name}")).chars().take(6).collect(),
        label: name.to_owned(),
        auth_type: "api_key".into(),
        source: format!("env:{name}"),
        access_token: value.to_owned(),
        ..Entry::default()
    };
    entry.rest.insert(FINGERPRINT.into(), short(value).into());
    entry
}

/// Eight digits that tell texts apart and tell nothing of them.
fn short(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().take(4).map(|byte| format!("{byte:02x}")).collect()
}

fn fresh_id(entries: &[Entry]) -> String {
    loop {
        let id = format!("{:06x}", fastrand::u32(..1 << 24));
        if !entries.iter().any(|entry| entry.id == id) {
            return id;
        }
    }
}
