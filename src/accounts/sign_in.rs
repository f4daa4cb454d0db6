//! Signing in, from the first question to what is kept. Knows no screen: whoever asked is told each step.

use super::error::AccountError;
use super::flows::{Flow, SignIn};
use super::lease::blocking;
use super::store::Saved;
use super::token::Granted;
use super::{Accounts, device, helper, loopback};
use crate::config::Loaded;
use futures::future::BoxFuture;
use std::sync::Arc;
use std::time::Duration;

/// How long a person may take in the browser.
const BROWSER: Duration = Duration::from_secs(5 * 60);

/// What the person has to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Types a code at an address.
    Code {
        code: String,
        address: String,
        /// The address with the code in it.
        complete: Option<String>,
        /// Milliseconds since the epoch.
        ends: i64,
    },
    /// Visits an address; the browser comes back by itself, or the person pastes where it ended.
    Browser { address: String, ends: i64 },
}

/// Who watches.
pub struct Watch<'a> {
    pub tell: &'a (dyn Fn(Step) + Send + Sync),
    /// The address that the browser of another machine ended at.
    pub pasted: BoxFuture<'a, Option<String>>,
}

impl Accounts {
    /// Signs in to a provider and keeps what it gives. Dropped, it leaves nothing behind.
    ///
    /// # Errors
    /// What failed and what to do; nothing that was kept before is changed then.
    pub async fn sign_in(
        &self,
        loaded: &Arc<Loaded>,
        provider: &str,
        label: Option<&str>,
        limit: Option<Duration>,
        watch: Watch<'_>,
    ) -> Result<Saved, AccountError> {
        let flow = SignIn::find(&loaded.config, provider)
            .ok_or_else(|| AccountError::NoFlow { provider: provider.to_owned() })?;
        flow.ready()?;
        // A file that can't be written is told before the person has gone to the browser.
        if let Some(trouble) = self.trouble() {
            return Err(trouble);
        }
        let (granted, source) = match flow.flow {
            Flow::Device => (self.by_code(&flow, limit, watch).await?, "manual:device_code"),
            Flow::LoopbackPkce | Flow::OpenrouterPkce => {
                (self.by_browser(&flow, limit, watch).await?, "manual:loopback_pkce")
            }
        };
        let entry = Self::entry_of(label, source, granted);
        let (this, with) = (self.clone(), Arc::clone(loaded));
        blocking(move || this.put(&with.config, &flow.provider, entry)).await
    }

    async fn by_code(&self, flow: &SignIn, limit: Option<Duration>, watch: Watch<'_>) -> Result<Granted, AccountError> {
        let mut code = device::begin(&self.0.http, flow).await?;
        code.life = limit.map_or(code.life, |limit| limit.min(code.life));
        (watch.tell)(Step::Code {
            code: code.user_code.clone(),
            address: code.address.clone(),
            complete: code.complete.clone(),
            ends: ends(code.life),
        });
        device::wait(&self.0.http, flow, &code, Duration::from_secs(1)).await
    }

    async fn by_browser(
        &self,
        flow: &SignIn,
        limit: Option<Duration>,
        watch: Watch<'_>,
    ) -> Result<Granted, AccountError> {
        let limit = limit.unwrap_or(BROWSER);
        let visit = loopback::begin(flow).await?;
        (watch.tell)(Step::Browser { address: visit.address.clone(), ends: ends(limit) });
        let late = AccountError::TooLate { provider: flow.name().to_owned(), seconds: limit.as_secs() };
        tokio::time::timeout(limit, visit.finish(&self.0.http, flow, watch.pasted)).await.unwrap_or(Err(late))
    }

    /// Takes the token of a program that is signed in already. Only after the person said so. Blocks.
    ///
    /// # Errors
    /// The program is not there or not signed in.
    pub fn from_helper(&self, loaded: &Loaded, flow: &SignIn) -> Result<Saved, AccountError> {
        let token = helper::ask(&flow.helper)?;
        let name = flow.helper.first().cloned().unwrap_or_default();
        self.add_key(&loaded.config, &flow.provider, Some(&name), &format!("manual:{name}"), &token)
    }
}

fn ends(after: Duration) -> i64 {
    super::now().saturating_add(i64::try_from(after.as_millis()).unwrap_or(i64::MAX))
}
