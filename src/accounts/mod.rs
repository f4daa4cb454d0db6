//! Accounts: signing in without a key, what is kept of it, and several keys for one provider.
//!
//! Owns: `auth.json` and the entries in the system's keyring, the flows that fill them, renewal, and which key of a pool a
//! call uses. Does not own: which model is called (`llm::endpoint`), or what follows a failed call (`agent::retry`).

mod device;
mod entry;
mod error;
mod file;
mod flows;
mod helper;
mod keyring;
mod lease;
mod loopback;
mod pool;
mod pooled;
mod qr;
mod sign_in;
mod status;
mod store;
#[cfg(test)]
mod tests;
mod token;

pub use entry::Entry;
pub use error::AccountError;
pub use flows::{Flow, SignIn};
pub use helper::is_here as helper_is_here;
pub use qr::qr;
pub use sign_in::{Step, Watch};
pub use status::{KeyState, KeyStatus};
pub use store::{Known, Saved};

use crate::config::Paths;
use crate::llm::http::{self, Http};
use crate::policy::redact::Secrets;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// The accounts of a home. Cheap to clone; clones share what is known.
#[derive(Clone)]
pub struct Accounts(Arc<Shared>);

struct Shared {
    file: file::AuthFile,
    http: Http,
    /// Learns every token that is got.
    secrets: Secrets,
    /// Tokens that the keyring gave, by their name there, and when they were renewed: asking it starts a program.
    unlocked: Mutex<HashMap<String, (String, entry::Tokens)>>,
    /// The key that each pool gave out last.
    last: Mutex<HashMap<String, String>>,
    /// The token that the last renewal of an entry gave, when a server had refused the one before.
    renewed: Mutex<HashMap<String, String>>,
}

impl Accounts {
    /// The accounts of this home; `secrets` masks what is got. Reads nothing.
    pub fn new(paths: &Paths, secrets: Secrets) -> Self {
        Self(Arc::new(Shared {
            file: file::AuthFile::new(paths.auth()),
            http: http::client(),
            secrets,
            unlocked: Mutex::default(),
            last: Mutex::default(),
            renewed: Mutex::default(),
        }))
    }
}

/// Milliseconds since the epoch.
fn now() -> i64 {
    std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
