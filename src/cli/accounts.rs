//! `hermes login`, `logout` and `auth`: accounts of model providers, and the keys of each.

use super::{ChatArgs, hidden, setup};
use crate::accounts::{Accounts, KeyState, KeyStatus, SignIn, Step, Watch, helper_is_here, qr};
use crate::config::Loaded;
use crate::llm::endpoint::pool_of;
use crate::llm::providers;
use crate::report::keys;
use anyhow::{Context as _, Result, ensure};
use clap::{Args, Subcommand};
use serde_json::json;
use std::io::{self, BufRead as _, IsTerminal as _, Write};
use std::sync::Arc;
use std::time::Duration;

/// Version of the JSON shape.
const VERSION: u32 = 1;

/// Flags of `hermes login`.
#[derive(Debug, Args)]
pub struct LoginArgs {
    /// Provider; without it the ones that offer a sign-in are listed
    provider: Option<String>,
    /// Do not open a browser
    #[arg(long)]
    no_browser: bool,
    /// Name of the account, for more than one with a provider
    #[arg(long)]
    label: Option<String>,
    /// Give up after this many seconds
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=3600))]
    timeout: Option<u64>,
    /// Take the token of the provider's own command line, such as `gh`
    #[arg(long)]
    from_cli: bool,
}

/// Arguments of `hermes logout`.
#[derive(Debug, Args)]
pub struct LogoutArgs {
    /// Provider; needed when there is more than one account
    provider: Option<String>,
    /// Label or id of the account; without it all of the provider's
    label: Option<String>,
}

/// Subcommands of `hermes auth`.
#[derive(Debug, Subcommand)]
pub enum Auth {
    /// List keys and logins
    List {
        #[arg(long)]
        json: bool,
    },
    /// Which keys are ready, which rest and until when
    Status {
        provider: Option<String>,
        #[arg(long)]
        json: bool,
    },
    /// Store a key, typed or from standard input
    Add {
        provider: String,
        #[arg(long)]
        label: Option<String>,
    },
    /// Remove a key or login by label, id or number
    Remove { provider: String, target: String },
    /// Let keys that rest be used again
    Reset { provider: String },
}

/// What every command here needs.
struct Here {
    accounts: Accounts,
    loaded: Arc<Loaded>,
}

fn here() -> Result<Here> {
    let base = setup::base(&ChatArgs::default())?;
    Ok(Here { accounts: Accounts::new(&base.paths, base.secrets.clone()), loaded: Arc::clone(&base.loaded) })
}

/// Signs in: 0 done, 1 failed.
pub async fn login(args: LoginArgs, out: &mut dyn Write) -> Result<i32> {
    let here = here()?;
    let provider = match &args.provider {
        Some(provider) => provider.clone(),
        None => match ask_provider(&here, out)? {
            Some(provider) => provider,
            None => return Ok(1),
        },
    };
    let flow = SignIn::find(&here.loaded.config, &provider);
    if let Some(flow) = flow.filter(|flow| !flow.helper.is_empty()) {
        let program = flow.helper.first().cloned().unwrap_or_default();
        let offered = || flow.ready().is_err() && helper_is_here(&flow.helper) && asks_yes(&program);
        if args.from_cli || offered() {
            let saved = here.accounts.from_helper(&here.loaded, &flow)?;
            return signed_in(out, &flow.title(), &saved);
        }
    } else {
        ensure!(!args.from_cli, "{provider} has no command line whose token could be used");
    }
    let title = SignIn::find(&here.loaded.config, &provider).map_or(provider.clone(), |flow| flow.title());
    let no_browser = args.no_browser;
    let tell = move |step: Step| show(step, no_browser);
    let watch = Watch { tell: &tell, pasted: Box::pin(pasted()) };
    let limit = args.timeout.map(Duration::from_secs);
    let saved = here.accounts.sign_in(&here.loaded, &provider, args.label.as_deref(), limit, watch).await?;
    signed_in(out, &title, &saved)
}

/// Says that it is done, and where the login is.
pub(super) fn signed_in(out: &mut dyn Write, title: &str, saved: &crate::accounts::Saved) -> Result<i32> {
    if let Some(note) = &saved.note {
        writeln!(out, "{note}")?;
    }
    writeln!(out, "signed in to {title} as {:?}; the login is in {}", saved.label, saved.place)?;
    Ok(0)
}

/// Lists what can be signed in to, and asks a person which.
fn ask_provider(here: &Here, out: &mut dyn Write) -> Result<Option<String>> {
    let all = SignIn::all(&here.loaded.config);
    let wide = all.iter().map(|flow| flow.name().chars().count()).max().unwrap_or_default();
    for (number, flow) in all.iter().enumerate() {
        let note = flow.ready().err().map(|why| format!("  ({why})")).unwrap_or_default();
        writeln!(out, "{}  {:wide$}  {}{note}", number + 1, flow.name(), flow.title())?;
    }
    if !io::stdin().is_terminal() {
        writeln!(out, "choose one: hermes login PROVIDER")?;
        return Ok(None);
    }
    write!(out, "Number or name: ")?;
    out.flush()?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    let answer = answer.trim();
    let by_number = answer.parse::<usize>().ok().and_then(|number| all.get(number.checked_sub(1)?));
    Ok(by_number.map(|flow| flow.name().to_owned()).or_else(|| Some(answer.to_owned()).filter(|a| !a.is_empty())))
}

fn asks_yes(program: &str) -> bool {
    if !io::stdin().is_terminal() {
        return false;
    }
    let _ = write!(io::stderr(), "{program} is installed. Use its token for this? It is stored here as well. [y/N] ");
    let mut answer = String::new();
    let read = io::stdin().lock().read_line(&mut answer);
    read.is_ok() && matches!(answer.trim(), "y" | "Y" | "yes")
}

/// Shows what has to be done.
pub(super) fn show(step: Step, no_browser: bool) {
    let mut err = io::stderr();
    let (address, paste) = match &step {
        Step::Code { code, address, complete, ends } => {
            let visit = complete.as_ref().unwrap_or(address);
            let minutes = (ends - crate::agent::now()).max(0) / 60_000 + 1;
            let _ = writeln!(err, "Open {address}\nand type the code  {code}\n");
            // Narrow terminals break its rows, and a pipe reads none.
            if let Some(rows) = qr(visit).filter(|_| io::stderr().is_terminal()) {
                for row in rows {
                    let _ = writeln!(err, "  {row}");
                }
            }
            let _ = writeln!(err, "Waiting for up to {minutes} min. Ctrl-C cancels.");
            (visit.clone(), false)
        }
        Step::Browser { address, .. } => {
            let _ = writeln!(err, "Sign in here:\n\n  {address}\n");
            (address.clone(), io::stdin().is_terminal())
        }
    };
    if paste {
        let _ = writeln!(err, "If your browser is on another machine, paste the address it ends at here.");
    }
    if !no_browser {
        // Without a browser the person follows the address by hand.
        let _ = crate::exec::browse(&address);
    }
}

/// The address that a browser of another machine ended at.
async fn pasted() -> Option<String> {
    if !io::stdin().is_terminal() {
        return None;
    }
    let mut lines = tokio::io::AsyncBufReadExt::lines(tokio::io::BufReader::new(tokio::io::stdin()));
    while let Ok(Some(line)) = lines.next_line().await {
        if line.trim().starts_with("http") {
            return Some(line.trim().to_owned());
        }
    }
    None
}

/// Removes logins: 0 done, 1 there was none.
pub fn logout(args: &LogoutArgs, out: &mut dyn Write) -> Result<i32> {
    let here = here()?;
    let gone = here.accounts.log_out(&here.loaded, args.provider.as_deref(), args.label.as_deref())?;
    writeln!(out, "{}", gone.words())?;
    Ok(0)
}

/// Runs `hermes auth`: 0 done, 1 failed.
pub fn auth(command: Auth, out: &mut dyn Write) -> Result<i32> {
    let here = here()?;
    match command {
        Auth::List { json } => list(&here, None, json, out),
        Auth::Status { provider, json } => list(&here, provider.as_deref(), json, out),
        Auth::Add { provider, label } => {
            let pool = known_pool(&here.loaded, &provider)?;
            let key = hidden::read(&format!("Key for {provider}"))?;
            let saved = here.accounts.add_key(&here.loaded.config, &pool, label.as_deref(), "manual", &key)?;
            if let Some(note) = &saved.note {
                writeln!(out, "{note}")?;
            }
            writeln!(out, "stored the key {:?} of {provider} in {}", saved.label, saved.place)?;
            Ok(0)
        }
        Auth::Remove { provider, target } => {
            let gone = here.accounts.remove(&pool_of(&provider), Some(&target))?;
            writeln!(out, "removed {} of {provider}", gone.join(", "))?;
            Ok(0)
        }
        Auth::Reset { provider } => {
            let count = here.accounts.reset(&pool_of(&provider))?;
            let keys = if count == 1 { "key" } else { "keys" };
            writeln!(out, "{count} {keys} of {provider} can be used again")?;
            Ok(0)
        }
    }
}

/// The pool of a provider that there is.
fn known_pool(loaded: &Loaded, provider: &str) -> Result<String> {
    let bare = provider.strip_prefix("custom:").unwrap_or(provider);
    let known = providers::find(bare).is_some() || loaded.config.providers.contains_key(bare);
    known.then(|| pool_of(provider)).with_context(|| {
        format!("unknown provider {provider:?}; use one of the list in docs/MODELS.md, or an entry of `providers` in config.yaml")
    })
}

fn list(here: &Here, provider: Option<&str>, json: bool, out: &mut dyn Write) -> Result<i32> {
    let mut all = here.accounts.status(&here.loaded)?;
    all.retain(|key| provider.is_none_or(|wanted| pool_of(wanted) == pool_of(&key.provider)));
    if json {
        let rows: Vec<_> = all.iter().map(row).collect();
        writeln!(out, "{}", json!({ "version": VERSION, "keys": rows }))?;
        return Ok(0);
    }
    if all.is_empty() {
        writeln!(out, "no keys and no logins; sign in: hermes login, or store a key: hermes auth add PROVIDER")?;
        return Ok(0);
    }
    write!(out, "{}", keys::text(&all))?;
    Ok(0)
}

fn row(key: &KeyStatus) -> serde_json::Value {
    let (state, until) = match key.state {
        KeyState::Ready => ("ready", None),
        KeyState::Resting(until) => ("resting", Some(until)),
        KeyState::Over => ("over", None),
    };
    json!({
        "provider": key.provider, "id": key.id, "label": key.label, "kind": key.kind, "place": key.place,
        "state": state, "rests_until": until, "expires_at": key.expires_at, "requests": key.requests, "why": key.why,
    })
}
