//! What a person reads of the keys: which there are, where they are, which rest until when.

use super::Accounts;
use super::entry::Entry;
use super::error::AccountError;
use super::pool::{self, Standing};
use crate::config::Loaded;
use crate::llm::endpoint::pool_of;
use crate::llm::providers;
use chrono::{Local, TimeZone as _};

/// One key.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyStatus {
    /// As `hermes login` takes it.
    pub provider: String,
    pub id: String,
    pub label: String,
    /// `login` or `key`.
    pub kind: &'static str,
    /// `OPENAI_API_KEY`, `auth.json`, `keyring`.
    pub place: String,
    pub state: KeyState,
    /// When its tokens end, in milliseconds since the epoch.
    pub expires_at: Option<i64>,
    pub requests: i64,
    /// Why it rests or is over.
    pub why: String,
}

/// How it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyState {
    Ready,
    /// Until then, in milliseconds since the epoch.
    Resting(i64),
    /// Only a new login mends it.
    Over,
}

impl KeyStatus {
    /// Whether it is kept here, and not in a variable.
    pub fn is_kept(&self) -> bool {
        matches!(self.place.as_str(), "auth.json" | "keyring")
    }

    /// The state in words.
    pub fn words(&self) -> String {
        match self.state {
            KeyState::Ready => "ready".into(),
            KeyState::Resting(until) => format!("rests until {}", clock(until, super::now())),
            KeyState::Over => format!("over: run `hermes login {}`", self.provider),
        }
    }
}

impl Accounts {
    /// Every key there is, a provider after the other. Reads the file.
    ///
    /// # Errors
    /// The file can't be read.
    pub fn status(&self, loaded: &Loaded) -> Result<Vec<KeyStatus>, AccountError> {
        let pools = self.0.file.read()?;
        let mut names: Vec<String> = providers::all().iter().map(|provider| provider.id.clone()).collect();
        for name in pools.names().map(pool_of) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let now = super::now();
        let all = names.iter().flat_map(|pool| {
            self.candidates(loaded, &pools, pool).into_iter().map(move |entry| status(pool, entry, now))
        });
        Ok(all.collect())
    }
}

fn status(pool: &str, entry: Entry, now: i64) -> KeyStatus {
    let place = match entry.variable() {
        Some(name) => name.to_owned(),
        None if entry.is_locked_away() => "keyring".into(),
        None => "auth.json".into(),
    };
    let state = match pool::standing(&entry, now) {
        Standing::Free => KeyState::Ready,
        Standing::Resting(until) => KeyState::Resting(until),
        Standing::Dead => KeyState::Over,
    };
    KeyStatus {
        provider: pool.strip_prefix("custom:").unwrap_or(pool).to_owned(),
        kind: if entry.is_login() { "login" } else { "key" },
        place,
        expires_at: entry.expires_at().filter(|_| entry.is_login()),
        requests: entry.request_count,
        why: if state == KeyState::Ready { String::new() } else { entry.last_error_message },
        id: entry.id,
        label: entry.label,
        state,
    }
}

/// A time of the clock here, with its day when that is another one.
pub fn clock(at: i64, now: i64) -> String {
    let local = |ms: i64| Local.timestamp_millis_opt(ms).single();
    match (local(at), local(now)) {
        (Some(at), Some(now)) if at.date_naive() == now.date_naive() => at.format("%H:%M").to_string(),
        (Some(at), _) => at.format("%Y-%m-%d %H:%M").to_string(),
        (None, _) => "?".into(),
    }
}
