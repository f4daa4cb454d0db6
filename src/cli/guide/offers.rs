//! What `hermes setup` offers: the rows of the first-run card, without the demo.

use crate::accounts::{Accounts, SignIn};
use crate::cli::models::local::{of, speed};
use crate::engine::{Base, choose};
use crate::llm::local::LocalServer;
use crate::llm::providers;
use crate::llm::ready::ways;
use crate::local::Local;
use crate::local::engine::Missing;
use crate::local::idle::{self, Idle};
use crate::text::format::{self, plural};
use std::io::{self, Write};
use std::sync::Arc;

/// A way to a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Offer {
    /// A provider with a key or a login, and where that comes from.
    Key(String, String),
    Server(LocalServer),
    /// One that is installed and does not run.
    Start(Idle),
    /// A server that the person gives the address of.
    OwnServer,
    /// A model that is here.
    UseLocal(String),
    /// A model that can be had: name, title, what it takes.
    GetLocal(String, String, String),
    /// Any model for this computer.
    MoreLocal,
    /// Nothing serves models here, and why.
    NoLocal(String),
    /// A provider to sign in to: name, title, whether by the browser.
    SignIn(String, String, bool),
    PasteKey,
}

impl Offer {
    /// Heading, label and detail.
    fn words(&self) -> (&'static str, String, String) {
        match self {
            Self::Key(provider, from) => (ways::KEYS, name(provider), from.clone()),
            Self::Server(server) => {
                let models = match server.models.as_slice() {
                    [] => "no model loaded".to_owned(),
                    [only] => only.clone(),
                    several => plural(several.len() as u64, "model", "models"),
                };
                let kind = server.kind.title();
                let label = if kind.is_empty() { "A server" } else { kind };
                (ways::SERVER, label.to_owned(), format!("{models} · {}", server.base_url))
            }
            Self::Start(idle) => {
                (ways::SERVER, format!("Start {}", idle.title()), format!("installed, not running: {}", idle.line()))
            }
            Self::OwnServer => (ways::SERVER, "My own server…".into(), "an address, and a key if needed".into()),
            Self::UseLocal(name) => (ways::LOCAL, format!("Use {name}"), "on this computer".into()),
            Self::GetLocal(_, title, takes) => (ways::LOCAL, format!("Get {title}"), takes.clone()),
            Self::MoreLocal => (ways::LOCAL, "Other models…".into(), "by name, file or REPO:FILE".into()),
            Self::NoLocal(why) => (ways::LOCAL, "Can't run one yet".into(), why.clone()),
            Self::SignIn(_, title, by_browser) => {
                (ways::PROVIDER, format!("Sign in to {title}"), ways::sign_in(*by_browser).into())
            }
            Self::PasteKey => (ways::PROVIDER, "Paste a key…".into(), String::new()),
        }
    }
}

/// What people call a provider.
pub fn name(provider: &str) -> String {
    providers::find(provider).map_or_else(|| provider.to_owned(), |provider| provider.name.clone())
}

/// Looks for all of it.
pub async fn look(base: &Base, accounts: &Accounts) -> anyhow::Result<Vec<Offer>> {
    let keys = choose::keys(&base.loaded, accounts, &base.paths);
    let sign_ins = SignIn::all(&base.loaded.config).into_iter();
    let sign_ins: Vec<Offer> = sign_ins
        .filter(|flow| flow.ready().is_ok() && !keys.iter().any(|(provider, _)| provider == flow.name()))
        .map(|flow| Offer::SignIn(flow.name().to_owned(), flow.title(), flow.is_by_browser()))
        .collect();
    let local = of(&base.loaded, &base.paths);
    let loaded = Arc::clone(&base.loaded);
    let looks = tokio::task::spawn_blocking(move || (on_this_computer(&local), idle::idle(&loaded)));
    let (servers, here) = tokio::join!(choose::servers(&base.loaded), looks);
    let keys = keys.into_iter().map(|(provider, from)| Offer::Key(provider, from));
    let servers = servers.into_iter().map(Offer::Server);
    let mut all: Vec<Offer> = keys.chain(servers).collect();
    let (here, idle) = here?;
    all.extend(idle.into_iter().map(Offer::Start));
    all.push(Offer::OwnServer);
    all.extend(here);
    all.extend(sign_ins);
    all.push(Offer::PasteKey);
    Ok(all)
}

/// Models that are here, else the one to get; and the way to others, where something can serve them.
fn on_this_computer(local: &Local) -> Vec<Offer> {
    let mut rows: Vec<Offer> = local.shelf().list().into_iter().map(|kept| Offer::UseLocal(kept.name)).collect();
    if let Err(Missing::No(why)) = local.engine() {
        rows.push(Offer::NoLocal(why));
        return rows;
    }
    if rows.is_empty()
        && let Some(best) = local.best()
    {
        let rate =
            local.machine().tokens_per_second(best.bytes_per_token()).map(|rate| format!(" · {} here", speed(rate)));
        let takes = format!("{} · {}{}", format::bytes(best.bytes), best.licence, rate.unwrap_or_default());
        rows.push(Offer::GetLocal(best.name.clone(), best.title.clone(), takes));
    }
    rows.push(Offer::MoreLocal);
    rows
}

/// Prints them with their numbers.
pub fn print(offers: &[Offer], out: &mut dyn Write) -> io::Result<()> {
    let words: Vec<_> = offers.iter().map(Offer::words).collect();
    let wide = words.iter().map(|(_, label, _)| label.chars().count()).max().unwrap_or(0);
    let mut group = "";
    for (at, (heading, label, detail)) in words.iter().enumerate() {
        if *heading != group {
            writeln!(out, "\n{heading}")?;
            group = heading;
        }
        writeln!(out, "{}", format!("{:>4}  {label:wide$}  {detail}", at + 1).trim_end())?;
    }
    writeln!(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::llm::local::LocalKind;

    #[test]
    fn rows_stand_under_what_they_cost() {
        let server = LocalServer {
            kind: LocalKind::Ollama,
            base_url: "http://127.0.0.1:11434/v1".into(),
            models: vec!["a".into(), "b".into()],
            window: None,
        };
        let offers = [
            Offer::Key("openai".into(), "OPENAI_API_KEY in the environment".into()),
            Offer::Server(server),
            Offer::OwnServer,
            Offer::GetLocal("q".into(), "Qwen3.5 4B".into(), "2.7 GB · Apache-2.0 · ~12 tok/s here".into()),
            Offer::MoreLocal,
            Offer::SignIn("openrouter".into(), "OpenRouter".into(), true),
            Offer::SignIn("nous".into(), "Nous Portal".into(), false),
            Offer::PasteKey,
        ];
        let mut out = Vec::new();
        print(&offers, &mut out).unwrap();
        insta::assert_snapshot!(String::from_utf8(out).unwrap());
    }
}
