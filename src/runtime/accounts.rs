//! Signing in to a provider for the screen: one at a time, each step told; and the end of logins.

use super::{Context, loads};
use crate::accounts::{Accounts, SignIn, Step, Watch, qr};
use crate::app::Msg;
use crate::app::model::sign_in::{AccountFact, SignInRow, SignInStage, Visit};
use crate::config::Config;
use std::sync::Arc;
use tokio::sync::mpsc;

/// Who offers a sign-in, for the lists of the screen.
pub fn offered(config: &Config) -> Vec<SignInRow> {
    let row = |flow: SignIn| SignInRow {
        provider: flow.name().to_owned(),
        title: flow.title(),
        missing: flow.ready().err().map(|why| why.to_string()).unwrap_or_default(),
        by_browser: flow.is_by_browser(),
    };
    SignIn::all(config).into_iter().map(row).collect()
}

/// A sign-in to its end, each step told; `pasted` hears the address that the browser ended at.
pub async fn sign_in(
    provider: String,
    context: Context,
    replies: mpsc::Sender<Msg>,
    mut pasted: mpsc::Receiver<String>,
) {
    let loaded = Arc::new(loads::fresh(&context));
    let accounts: Accounts = context.engine.services().accounts.clone();
    let (steps, mut told) = mpsc::unbounded_channel();
    let tell = move |step| drop(steps.send(step));
    let watch = Watch { tell: &tell, pasted: Box::pin(async move { pasted.recv().await }) };
    let name = provider.clone();
    let work = accounts.sign_in(&loaded, &name, None, None, watch);
    tokio::pin!(work);
    let result = loop {
        tokio::select! {
            Some(step) = told.recv() => {
                let fact = AccountFact::Step { provider: provider.clone(), stage: stage(step) };
                // The screen is gone: nobody waits.
                let _ = replies.send(Msg::Account(fact)).await;
            }
            done = &mut work => break done,
        }
    };
    let result = match result {
        Ok(saved) => {
            let note = saved.note.map(|note| format!("; {note}")).unwrap_or_default();
            Ok(format!("signed in to {provider}; the login is in {}{note}", saved.place))
        }
        Err(error) => Err(error.to_string()),
    };
    let _ = replies.send(Msg::Account(AccountFact::SignedIn { provider, result })).await;
}

fn stage(step: Step) -> SignInStage {
    match step {
        Step::Code { code, address, complete, ends } => {
            let opens = complete.unwrap_or_else(|| address.clone());
            let qr = qr(&opens).unwrap_or_default();
            SignInStage::Code(Visit { code, address, opens, qr, ends })
        }
        Step::Browser { address, ends } => {
            // Without a browser the person follows the address by hand.
            let _ = crate::exec::browse(&address);
            SignInStage::Browser(Visit { opens: address.clone(), address, ends, ..Visit::default() })
        }
    }
}

/// Throws logins away, and says what became of it.
pub async fn log_out(context: &Context, provider: String) -> Result<String, String> {
    let accounts = context.engine.services().accounts.clone();
    let loaded = loads::fresh(context);
    let work = move || {
        let named = Some(provider.trim()).filter(|provider| !provider.is_empty());
        accounts.log_out(&loaded, named, None).map(|gone| gone.words())
    };
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done.map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    }
}
